/*
 * progress.h: what running sorts tell of themselves, for gpusort_progress.
 */
#ifndef GPUSORT_PROGRESS_H
#define GPUSORT_PROGRESS_H

#include "portability/instr_time.h"
#include "utils/palloc.h"
#include "utils/resowner.h"

/* What a sort does at the moment. */
typedef enum ProgressPhase
{
	PROGRESS_READING,			/* takes rows */
	PROGRESS_ORDERING,			/* sorts what is in memory */
	PROGRESS_WRITING,			/* writes that as a run */
	PROGRESS_MERGING,			/* merges runs into one, or the rows of several processes */
	PROGRESS_OUT				/* gives rows out */
} ProgressPhase;

/* The sort is PostgreSQL's own, behind all EngineKinds. */
#define PROGRESS_CORE ENGINE_KINDS

/* What changes while a sort runs; -1: not known. */
typedef struct ProgressFigures
{
	ProgressPhase phase;
	int			engine;			/* EngineKind or PROGRESS_CORE */
	int			runs;			/* on disk */
	int			workers;		/* started for a merge of what several processes sort */
	int64		rows;			/* that the phase has done */
	int64		rows_expected;	/* of it in all */
	int64		memory_bytes;
	int64		disk_bytes;
} ProgressFigures;

/* So many rows lie between two looks at whether others are told. */
#define PROGRESS_ROWS 4096

/* A sort's own end: where it tells; part of what describes the sort. */
typedef struct Progress
{
	struct ProgressSlot *slot;	/* NULL: all were taken when the sort began, or it has ended */
	ResourceOwner owner;
	MemoryContextCallback forget;
} Progress;

/*
 * Makes a sort known until the current memory context ends or the current resource owner is released by an error.  Of
 * more than PROGRESS_SORTS that a process runs at once the rest are not known.
 */
#define PROGRESS_SORTS 8
extern void progress_begin(Progress *progress, instr_time started, const ProgressFigures *figures);

/* Tells what has become of it. */
extern void progress_tell(Progress *progress, const ProgressFigures *figures);

/* Bytes of shared memory, and taking them: called by stat.c where the postmaster preloads the library. */
extern Size progress_shared_bytes(void);
extern void progress_attach(void);

/* In _PG_init: to hear of errors. */
extern void progress_init(void);

#endif
