/*
 * background_worker.h: background workers of this library.
 */
#ifndef GPUSORT_BACKGROUND_WORKER_H
#define GPUSORT_BACKGROUND_WORKER_H

#include "postmaster/bgworker.h"

/*
 * Describes a worker by its name and its main function: it has shared memory and nothing else, and starts once.  It
 * starts with the postmaster, unless bgw_start_time is set to a later state.
 */
extern void background_worker_describe(BackgroundWorker *worker, const char *name, const char *function);

#endif
