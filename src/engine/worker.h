/*
 * worker.h: the background worker that starts, supervises and stops gpusortd.
 */
#ifndef GPUSORT_WORKER_H
#define GPUSORT_WORKER_H

#include "engine.h"

/* Interval of looking for a missing GPU, whose driver may have started after the server. */
#define NO_DEVICE_MS 600000

/* Registers the worker with the postmaster if a GPU is likely, in _PG_init. */
extern void gpusort_worker_init(void);

/* Returns what the worker last reported of the service.  ENGINE_OK: it runs or may be started. */
extern EngineFailure service_verdict(void);

/* Requests the worker unless there is one.  ENGINE_OK: it runs or is starting. */
extern EngineFailure service_demand(void);

/* The same for a service that holds columns: also where there is no GPU, and it then takes no sorts. */
extern EngineFailure columns_verdict(void);
extern EngineFailure columns_demand_service(void);

/* Returns true if this machine seems to have a GPU, or if tests say so. */
extern bool gpu_likely(void);

#endif
