/*
 * engine.h: the backend's side of a job, whichever engine does the work.
 */
#ifndef GPUSORT_ENGINE_H
#define GPUSORT_ENGINE_H

#include "kernels/gs.h"

#include "src/base/bigmem.h"

typedef struct EngineJob EngineJob;

/* Where the work of a job is done, as it is counted. */
typedef enum EngineKind
{
	ENGINE_CPU,
	ENGINE_GPU,
	ENGINE_CPU_SERVICE,			/* the service with its CPU engine, for tests */
	ENGINE_KINDS
} EngineKind;

/* Why a job that might have run in the service did not, or not to its end. */
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
	ENGINE_NO_SHARE,
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
 * begin → (chunk → fill it → add)… → finish → next… → end.  Statuses are those of kernels/gs.h; any but GS_OK means
 * that the job can only be ended, and that the rows have to go another way.  Calls may leave by longjmp; all memory
 * belongs to the BigMem.
 */
typedef struct EngineOps
{
	const char *name;			/* as EXPLAIN shows it where machines must not matter */

	gs_status	(*begin) (const gs_job_spec *spec, BigMem *mem, EngineJob **job);

	/*
	 * An empty chunk to fill next, with room for a string of at least heap_bytes in every GS_BYTES column; GS_TOO_BIG
	 * when the engine has none that large.  It belongs to the job and is valid until add.  Its arrays lie in memory,
	 * which may be another place than its header, and one that another process can write to.
	 */
	gs_status	(*chunk) (EngineJob *job, Size heap_bytes, gs_chunk **header, char **memory);
	gs_status	(*add) (EngineJob *job);

	/* In place of all chunks: gs_job_lend.  NULL, or GS_INVALID, after which chunks may follow. */
	gs_status	(*lend) (EngineJob *job, const gs_column *columns, uint64 rows);
	gs_status	(*finish) (EngineJob *job, uint64 rows);

	/* Up to room elements of the result (gs_job_result_bytes) and how many they are; 0 at the end. */
	gs_status	(*next) (EngineJob *job, void *out, uint64 room, uint64 *got);

	/*
	 * Memory of this process that the job, or the one that takes its place if it fails, holds at most if finish comes
	 * now.
	 */
	uint64		(*host_bytes) (const EngineJob *job);
	void		(*info) (const EngineJob *job, gs_job_info *info);
	void		(*end) (EngineJob *job);

	/*
	 * The engine that takes over after a status other than GS_OK, and why it has to, asked once for each such status
	 * and before any other call.  Without a fallback there is no why: the status is all that can be said.
	 */
	const struct EngineOps *fallback;
	EngineFailure (*why) (gs_status status);
} EngineOps;

/* What every engine's job begins with. */
struct EngineJob
{
	const EngineOps *ops;
	EngineKind	kind;
	const char *name;			/* of the device; lives as long as the session */
	uint32		device;			/* in the service: its place in gpusort_devices */
	uint64		max_rows;		/* more do not fit; may become smaller with every add */
	double		wait_in_ms;		/* time that the backend waited: for a free chunk, */
	double		wait_sort_ms;	/* after the last one, */
	double		wait_out_ms;	/* for parts of the order */
};

/* kernels/cpu inside the backend, one thread. */
extern const EngineOps engine_cpu;

/* Jobs in gpusortd. */
extern const EngineOps engine_service;

/* The words for them. */
extern const char *engine_kind_text(EngineKind kind);
extern const char *engine_failure_text(EngineFailure why);

#endif
