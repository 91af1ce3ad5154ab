/*
 * worker.h: the background worker that starts gpusortd, looks after it, and ends it.
 */
#ifndef GPUSORT_WORKER_H
#define GPUSORT_WORKER_H

#include "engine.h"

/* A missing GPU, whose driver may have come up after the server, is looked for again. */
#define NO_DEVICE_MS 600000

/* In _PG_init: registers the worker with the postmaster where a GPU is likely to be. */
extern void gpusort_worker_init(void);

/* What the worker's last word on the service means for who would use it; ENGINE_OK: there may be one, or may come. */
extern EngineFailure service_verdict(void);

/* Asks for the worker unless there is one; ENGINE_OK if one is on its way or here. */
extern EngineFailure service_demand(void);

/* True if this machine seems to have a GPU, or tests say so. */
extern bool gpu_likely(void);

#endif
