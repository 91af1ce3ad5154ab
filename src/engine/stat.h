/*
 * stat.h: shared state of all sessions: counters, and the state of the GPU service.
 */
#ifndef GPUSORT_STAT_H
#define GPUSORT_STAT_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/s_lock.h"

#include "engine.h"
#include "src/service/protocol.h"

/* State of the service, as its worker sees it. */
typedef enum ServiceState
{
	SERVICE_NONE,				/* never requested */
	SERVICE_STARTING,
	SERVICE_RUNNING,
	SERVICE_WAITING,			/* it ended and will be restarted shortly */
	SERVICE_NO_DEVICE,			/* it found no device */
	SERVICE_GAVE_UP,			/* it ended too often; restarts are infrequent */
	SERVICE_COLUMNS				/* it found no device, and holds columns in host memory */
} ServiceState;

/* A reason for a state, as text. */
#define SERVICE_REASON_BYTES 256

typedef struct ServiceShared
{
	ServiceState state;
	int			worker_pid;		/* 0: none; -1: requested */
	int			service_pid;
	int			restarts;
	TimestampTz since;			/* of state, for display */
	int64		since_ms;		/* of state, on the clock of gsd_now_ms */
	TimestampTz next_attempt;	/* time of the next start, if known; 0: none planned */
	int64		demanded_ms;	/* when the worker was requested */
	bool		columns_wanted; /* the service is to stay where there is no device */
	char		reason[SERVICE_REASON_BYTES];	/* of state, unless it is the best one */
} ServiceShared;

/* Reliability of a device; see trust.c. */
typedef struct DeviceRecord
{
	int			wrong;			/* wrong answers, up to the one that excludes it */
	TimestampTz last;			/* time of the last one */
} DeviceRecord;

/* Counters of jobs, per operation and engine. */
typedef enum JobCount
{
	COUNT_JOBS,
	COUNT_ROWS,
	COUNT_BYTES,				/* sent to the service */
	COUNT_DEVICE_US,
	COUNT_COARSE,				/* jobs with coarse keys */
	COUNT_COMPARED,				/* rows compared with their successor for that reason */
	COUNT_REFUSED,				/* coarse keys found to be wrong */
	JOB_COUNTS
} JobCount;

typedef pg_atomic_uint64 JobCounters[JOB_COUNTS];

/*
 * Operations with separate counters: gs_op's; questions of resident columns, of which only failures are counted; builds
 * of indexes, of whose sorts the jobs are counted, too.
 */
#define JOB_COLUMNS GS_OPS
#define JOB_INDEXES (GS_OPS + 1)
#define JOB_OPS (GS_OPS + 2)

/* In shared memory, or private to the session if that is not available. */
typedef struct GpusortShared
{
	slock_t		mutex;			/* protects service and devices */
	ServiceShared service;
	DeviceRecord devices[GSD_MAX_DEVICES];
	pg_atomic_uint64 broken_until;	/* the circuit breaker is open until then (gsd_now_ms) */
	JobCounters done[JOB_OPS][ENGINE_KINDS];
	pg_atomic_uint64 left[JOB_OPS][ENGINE_FAILURES];
} GpusortShared;

extern GpusortShared *gpusort_shared(void);

/* Returns true if gpusort_shared is in shared memory. */
extern bool gpusort_shared_by_all(void);

/* Requests shared memory, in _PG_init. */
extern void gpusort_stat_init(void);

/* Count a job that an engine executed, and one that could not use the service. */
extern void stat_count_job(gs_op op, const EngineJob *job, uint64 rows);
extern void stat_count_left(int op, EngineFailure why);

/* Counts an index that was built from rows sorted by an engine. */
extern void stat_count_index(EngineKind kind, uint64 rows);

/* Counts the comparisons of a sort with coarse keys, and whether the keys were wrong. */
extern void stat_count_coarse(EngineKind kind, uint64 compared, bool refused);

/* Returns a copy of the service's state. */
extern ServiceShared service_state(void);

/* Records the worker's view: the state, its reason (or NULL), and the delay before the next start (0: none planned). */
extern void service_set_state(ServiceState state, int service_pid, const char *reason, long delay);

#endif
