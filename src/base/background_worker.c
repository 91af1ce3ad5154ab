/*
 * background_worker.c: background workers of this library.
 */
#include "postgres.h"

#include "background_worker.h"

void
background_worker_describe(BackgroundWorker *worker, const char *name, const char *function)
{
	memset(worker, 0, sizeof(*worker));
	strlcpy(worker->bgw_name, name, BGW_MAXLEN);
	strlcpy(worker->bgw_type, name, BGW_MAXLEN);
	strlcpy(worker->bgw_library_name, "gpusort", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, function, BGW_MAXLEN);
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker->bgw_restart_time = BGW_NEVER_RESTART;
}
