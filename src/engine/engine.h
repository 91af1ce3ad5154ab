/*
 * engine.h: a job as the backend sees it, whichever engine executes it.
 */
#ifndef GPUSORT_ENGINE_H
#define GPUSORT_ENGINE_H

#include "kernels/gs.h"

#include "src/base/bigmem.h"

typedef struct EngineJob EngineJob;

/* Where a job is executed.  Jobs are counted by it. */
typedef enum EngineKind
{
	ENGINE_CPU,
	ENGINE_GPU,
	ENGINE_CPU_SERVICE,			/* the service with its CPU engine, for tests */
	ENGINE_KINDS
} EngineKind;

/* Why a job did not run in the service, or not to its end. */
typedef enum EngineFailure
{
	ENGINE_OK,
	ENGINE_NO_DEVICE,
	ENGINE_NO_WORKER,
	ENGINE_STARTING,
	ENGINE_GAVE_UP,
	ENGINE_DOWN,
	ENGINE_LOST,
	ENGINE_TIMEOUT,
	ENGINE_PROTOCOL,
	ENGINE_VERSION,
	ENGINE_NO_RING,
	ENGINE_NO_QUOTA,
	ENGINE_NO_FILE,
	ENGINE_NO_MEMORY,
	ENGINE_TOO_BIG,
	ENGINE_DEVICE,
	ENGINE_WRONG_ORDER,
	ENGINE_SET_ASIDE,
	ENGINE_INVALID,
	ENGINE_FAILURES
} EngineFailure;

/*
 * begin → (chunk → fill it → add)… → finish → next… → end.  After any status but GS_OK the job can only be ended.
 * Calls may leave by longjmp; the BigMem owns all memory.
 */
typedef struct EngineOps
{
	const char *name;			/* name in EXPLAIN when the machine must not matter */

	gs_status	(*begin) (const gs_job_spec *spec, BigMem *mem, EngineJob **job);

	/*
	 * Returns an empty chunk with room for heap_bytes in every GS_BYTES column; GS_TOO_BIG if there is none.  The job
	 * owns it until add.  Its arrays are at memory, possibly writable by another process.
	 */
	gs_status	(*chunk) (EngineJob *job, Size heap_bytes, gs_chunk **header, char **memory);
	gs_status	(*add) (EngineJob *job);

	/* Replaces all chunks; see gs_job_lend.  If NULL or GS_INVALID, chunks may follow. */
	gs_status	(*lend) (EngineJob *job, const gs_column *columns, uint64 rows);
	gs_status	(*finish) (EngineJob *job, uint64 rows);

	/* Returns up to room result elements (gs_job_result_bytes) and their number, which is 0 at the end. */
	gs_status	(*next) (EngineJob *job, void *out, uint64 room, uint64 *got);

	/* Returns the most memory here that the job, or one in its place after a failure, holds if finish comes next. */
	uint64		(*host_bytes) (const EngineJob *job);
	void		(*info) (const EngineJob *job, gs_job_info *info);
	void		(*end) (EngineJob *job);

	/* The engine that takes over after a failure, and its reason, asked once, at once; or NULL. */
	const struct EngineOps *fallback;
	EngineFailure (*why) (gs_status status);
} EngineOps;

/* The head of every engine's job. */
struct EngineJob
{
	const EngineOps *ops;
	EngineKind	kind;
	const char *name;			/* of the device; valid for the session */
	uint32		device;			/* in the service: index in gpusort_devices */
	uint64		max_rows;		/* upper limit of rows; add may lower it */
	double		wait_in_ms;		/* time the backend waited: for a free chunk, */
	double		wait_sort_ms;	/* after the last chunk, */
	double		wait_out_ms;	/* for parts of the result */
};

/* kernels/cpu inside the backend, single-threaded. */
extern const EngineOps engine_cpu;

/* Jobs in gpusortd. */
extern const EngineOps engine_service;

/* Raises the error of any status but GS_OK. */
extern void engine_check(gs_status status);

/* Returns the reason of a status that the service sent. */
extern EngineFailure engine_failure_of(gs_status status);

/* Their names, as text. */
extern const char *engine_kind_text(EngineKind kind);
extern const char *engine_failure_text(EngineFailure why);

#endif
