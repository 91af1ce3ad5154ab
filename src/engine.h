/*
 * engine.h: the backend's side of a job, whichever engine does the work.
 */
#ifndef GPUSORT_ENGINE_H
#define GPUSORT_ENGINE_H

#include "kernels/gs.h"

#include "bigmem.h"

typedef struct EngineJob EngineJob;

/*
 * begin → (chunk → fill it → add)… → finish → next… → end.  Statuses are those of kernels/gs.h; any but GS_OK means that the job can
 * only be ended, and that the rows have to go another way.  Calls may leave by longjmp; all memory belongs to the BigMem.
 */
typedef struct EngineOps
{
	const char *name;			/* as EXPLAIN shows it */

	gs_status	(*begin) (const gs_job_spec *spec, BigMem *mem, EngineJob **job);

	/*
	 * An empty chunk to fill next, with room for a string of at least heap_bytes in every GS_BYTES column; GS_TOO_BIG when the engine
	 * has none that large.  It belongs to the job and is valid until add.
	 */
	gs_status	(*chunk) (EngineJob *job, Size heap_bytes, gs_chunk **chunk);
	gs_status	(*add) (EngineJob *job);
	gs_status	(*finish) (EngineJob *job, uint64 rows);

	/* Up to room row numbers and how many they are; 0 at the end. */
	gs_status	(*next) (EngineJob *job, uint32 *out, uint64 room, uint64 *got);

	/* Memory of this process that the job holds at most if finish comes now. */
	uint64		(*host_bytes) (const EngineJob *job);
	void		(*info) (const EngineJob *job, gs_job_info *info);
	void		(*end) (EngineJob *job);
} EngineOps;

/* What every engine's job begins with. */
struct EngineJob
{
	const EngineOps *ops;
};

/* kernels/cpu inside the backend, one thread. */
extern const EngineOps engine_cpu;

#endif
