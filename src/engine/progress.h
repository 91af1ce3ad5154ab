/*
 * progress.h: progress of running sorts, for gpusort_progress.
 */
#ifndef GPUSORT_PROGRESS_H
#define GPUSORT_PROGRESS_H

#include "port/atomics.h"
#include "portability/instr_time.h"
#include "utils/palloc.h"
#include "utils/resowner.h"

/* Phase of a sort. */
typedef enum ProgressPhase
{
	PROGRESS_READING,			/* reads its input */
	PROGRESS_ORDERING,			/* sorts the rows in memory */
	PROGRESS_WRITING,			/* writes these as a run */
	PROGRESS_MERGING,			/* merges runs into one */
	PROGRESS_OUT				/* returns rows */
} ProgressPhase;

/* The engine of PostgreSQL's own sorts, after all EngineKinds. */
#define PROGRESS_CORE ENGINE_KINDS

/* Figures that change while a sort runs.  For PostgreSQL's own sorts only phase and rows are known. */
typedef struct ProgressFigures
{
	ProgressPhase phase;
	int			engine;			/* EngineKind or PROGRESS_CORE */
	int			runs;			/* on disk */
	int64		rows;			/* rows the phase has processed */
	int64		rows_expected;	/* of the phase in total; -1: unknown */
	int64		memory_bytes;
	int64		disk_bytes;
} ProgressFigures;

/* Rows between updates of the figures. */
#define PROGRESS_ROWS 4096

/* Members that do not change while a sort runs. */
typedef struct ProgressSort
{
	int			pid;
	int			leader_pid;		/* of a parallel worker; otherwise 0 */
	Oid			database;
	Oid			user;			/* session user, as in pg_stat_activity */
	uint64		query_id;
	instr_time	started;
} ProgressSort;

/* A sort's slot, written only by its own process. */
typedef struct ProgressSlot
{
	uint32		changes;		/* odd while the slot is being written */
	bool		taken;			/* in use; otherwise the other members are stale */
	ProgressFigures figures;
	ProgressSort sort;
} ProgressSlot;

/* A sort's reference to its slot, embedded in the sort's state. */
typedef struct Progress
{
	ProgressSlot *slot;			/* NULL: no slot was free at the start, or the sort has ended */
	struct Progress **place;	/* where the process records the slot's owner */
	ResourceOwner owner;
	MemoryContextCallback forget;
} Progress;

/* Begins a change of a slot.  Works even if an error has interrupted the previous change. */
static inline void
progress_begin_change(ProgressSlot *slot)
{
	*(volatile uint32 *) &slot->changes = (slot->changes + 1) | 1;
	pg_write_barrier();
}

/* Ends a change. */
static inline void
progress_end_change(ProgressSlot *slot)
{
	pg_write_barrier();
	*(volatile uint32 *) &slot->changes += 1;
}

/*
 * Takes a slot for a sort, until the current memory context is deleted or an error releases its resource owner; NULL if
 * all PROGRESS_SORTS are taken.  It has a change in progress, which the caller must end without an error.
 */
#define PROGRESS_SORTS 8
extern ProgressSlot *progress_begin(Progress *progress, instr_time started);

/* Requests shared memory, and registers for errors, in _PG_init. */
extern void progress_init(void);

#endif
