/*
 * progress.h: what running sorts tell of themselves, for gpusort_progress.
 */
#ifndef GPUSORT_PROGRESS_H
#define GPUSORT_PROGRESS_H

#include "port/atomics.h"
#include "portability/instr_time.h"
#include "utils/palloc.h"
#include "utils/resowner.h"

/* What a sort does at the moment. */
typedef enum ProgressPhase
{
	PROGRESS_READING,			/* takes rows */
	PROGRESS_ORDERING,			/* sorts what is in memory */
	PROGRESS_WRITING,			/* writes that as a run */
	PROGRESS_MERGING,			/* merges runs into one */
	PROGRESS_OUT				/* gives rows out */
} ProgressPhase;

/* The sort is PostgreSQL's own, behind all EngineKinds. */
#define PROGRESS_CORE ENGINE_KINDS

/* What changes while a sort runs; of PostgreSQL's own sort only phase and rows are known. */
typedef struct ProgressFigures
{
	ProgressPhase phase;
	int			engine;			/* EngineKind or PROGRESS_CORE */
	int			runs;			/* on disk */
	int64		rows;			/* that the phase has done */
	int64		rows_expected;	/* of it in all; -1: not known */
	int64		memory_bytes;
	int64		disk_bytes;
} ProgressFigures;

/* So many rows lie between two looks at whether others are told. */
#define PROGRESS_ROWS 4096

/* What does not change while a sort runs. */
typedef struct ProgressSort
{
	int			pid;
	int			leader_pid;		/* of a parallel worker, else 0 */
	Oid			database;
	Oid			user;			/* who logged in: as in pg_stat_activity */
	uint64		query_id;
	instr_time	started;
} ProgressSort;

/* Where a sort tells; its process alone writes it. */
typedef struct ProgressSlot
{
	uint32		changes;		/* odd: it is being written */
	bool		taken;			/* by a sort; else the rest is what one has left */
	ProgressFigures figures;
	ProgressSort sort;
} ProgressSlot;

/* A sort's own end of that; part of what describes the sort. */
typedef struct Progress
{
	ProgressSlot *slot;			/* NULL: all were taken when the sort began, or it has ended */
	struct Progress **place;	/* where the process has noted whose the slot is */
	ResourceOwner owner;
	MemoryContextCallback forget;
} Progress;

/* Begins a change of a slot, where an error may have left one that was not ended. */
static inline void
progress_begin_change(ProgressSlot *slot)
{
	*(volatile uint32 *) &slot->changes = (slot->changes + 1) | 1;
	pg_write_barrier();
}

/* Ends it. */
static inline void
progress_end_change(ProgressSlot *slot)
{
	pg_write_barrier();
	*(volatile uint32 *) &slot->changes += 1;
}

/*
 * Makes a sort known until the current memory context ends or the current resource owner is released by an error.  Of
 * more than PROGRESS_SORTS that a process runs at once the rest are not known: NULL.  The slot that is returned is
 * being changed: the figures have to be written, without an error, and the change has to be ended.
 */
#define PROGRESS_SORTS 8
extern ProgressSlot *progress_begin(Progress *progress, instr_time started);

/* Bytes of shared memory, and taking them: called by stat.c where the postmaster preloads the library. */
extern Size progress_shared_bytes(void);
extern void progress_attach(void);

/* In _PG_init: to hear of errors. */
extern void progress_init(void);

#endif
