/*
 * stat.h: what all sessions know together: counters, and how the GPU service fares.
 */
#ifndef GPUSORT_STAT_H
#define GPUSORT_STAT_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/s_lock.h"

#include "engine.h"
#include "src/service/protocol.h"

/* What becomes of the service, as the worker sees it. */
typedef enum ServiceState
{
	SERVICE_NONE,				/* never asked for */
	SERVICE_STARTING,
	SERVICE_RUNNING,
	SERVICE_WAITING,			/* it ended; the next start is a moment away */
	SERVICE_NO_DEVICE,			/* nothing to sort on */
	SERVICE_GAVE_UP				/* it ended too often; attempts are few and far between */
} ServiceState;

/* Words for a state, with what ends them. */
#define SERVICE_REASON_BYTES 256

typedef struct ServiceShared
{
	ServiceState state;
	int			worker_pid;		/* 0: none; -1: asked for */
	int			service_pid;
	int			restarts;
	TimestampTz since;			/* of state, to be shown */
	int64		since_ms;		/* as gsd_now_ms said */
	TimestampTz next_attempt;	/* to start it, as far as is known; 0: none is planned */
	int64		demanded_ms;	/* when the worker was asked for, too */
	char		reason[SERVICE_REASON_BYTES];	/* of state, where it is not the best one */
} ServiceShared;

/* What is known of a device's answers: trust.c. */
typedef struct DeviceRecord
{
	int			wrong;			/* answers, counted up to the one that sets it aside */
	TimestampTz last;			/* when it gave one */
} DeviceRecord;

/* What is counted of jobs of one operation and engine. */
typedef enum JobCount
{
	COUNT_JOBS,
	COUNT_ROWS,
	COUNT_BYTES,				/* sent to the service */
	COUNT_DEVICE_US,
	COUNT_COARSE,				/* jobs by coarse keys */
	COUNT_COMPARED,				/* rows compared with the next one because of that */
	COUNT_REFUSED,				/* coarse keys that turned out to be wrong */
	JOB_COUNTS
} JobCount;

typedef pg_atomic_uint64 JobCounters[JOB_COUNTS];

/* Operations of jobs, which are counted apart. */
#define JOB_OPS GS_OPS

/* In shared memory; in a session of its own where none can be had. */
typedef struct GpusortShared
{
	slock_t		mutex;			/* of service and devices */
	ServiceShared service;
	DeviceRecord devices[GSD_MAX_DEVICES];
	pg_atomic_uint64 broken_until;	/* until gsd_now_ms says so nobody tries the service: it did not answer */
	JobCounters done[JOB_OPS][ENGINE_KINDS];
	pg_atomic_uint64 left[JOB_OPS][ENGINE_FAILURES];
} GpusortShared;

extern GpusortShared *gpusort_shared(void);

/* True if gpusort_shared is really shared. */
extern bool gpusort_shared_by_all(void);

/* In _PG_init: asks the postmaster for memory. */
extern void gpusort_stat_init(void);

/* Counts a job that an engine did, or one that left the service. */
extern void stat_count_job(gs_op op, EngineKind kind, const gs_job_info *info, uint64 rows);
extern void stat_count_left(gs_op op, EngineFailure why);

/* Counts what coarse keys of a sort took: rows compared, and whether the keys were wrong. */
extern void stat_count_coarse(EngineKind kind, uint64 compared, bool refused);

/* A copy of what is known of the service. */
extern ServiceShared service_state(void);

/* Notes what the worker sees: the state, its reason (NULL: none), and in how many milliseconds the next start comes
 * (0: none will). */
extern void service_set_state(ServiceState state, int service_pid, const char *reason, long delay);

#endif
