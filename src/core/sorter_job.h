/*
 * sorter_job.h: a sort as its two halves see it: sorter.c the rows, sorter_job.c the engine.
 */
#ifndef GPUSORT_SORTER_JOB_H
#define GPUSORT_SORTER_JOB_H

#include "src/base/bigmem.h"
#include "coresort.h"
#include "src/keys/keyplace.h"
#include "roworder.h"
#include "rowmarks.h"
#include "rowstore.h"
#include "spill_runs.h"
#include "sorter.h"
#include "src/engine/progress.h"
#include "src/keys/sortkey.h"

struct Sorter
{
	SortColumns columns;
	TupleDesc	desc;
	bool		random_access;
	double		rows_expected;
	int64		bound;			/* so many rows are wanted, 0: all */
	bool		leaves_small;	/* where they are few against all, they are PostgreSQL's */
	bool		top;			/* the job finds these alone */
	bool		cut;			/* runs on disk hold no more of them, whatever the keys are now */
	MemoryContext cxt;			/* everything of this sort */
	MemoryContext scratch;		/* for encoding, reset with every chunk */
	Size		limit;

	BigMem	   *mem;
	RowStore   *rows;
	TupleTableSlot *row_slot;	/* to read rows back */
	TupleTableSlot *page_slot;	/* to take rows of a page one by one */
	SortKey    *keys;
	KeyPlace   *places;			/* one per key */
	bool		placed;			/* none of them varies */
	bool		plain;			/* nor has to be encoded */
	int			ncolumns;		/* keys that the engine sorts by, up to one that tells nothing */
	/* the first key that is deferred until it is known whether those before it suffice; nkeys: none */
	int			deferred;
	double		different;		/* estimated keys before the deferred ones, 0: none yet */
	bool		all_taken;		/* none is put off any longer */
	uint32		defer_check;	/* rows at which it is decided about them again */
	bool		contradicted;	/* coarse keys have turned out to be wrong */
	bool		in_order;		/* all rows so far came in order, and no key has been encoded */
	gs_column_spec *specs;
	KeyWriter	writer;
	RowMarks	marks;			/* of the job's rows, if long strings are sorted by their first bytes */
	bool		marked;
	uint32		lead_check;		/* rows with marks at which their first bytes are looked at */
	const EngineOps *engine;
	EngineJob  *job;
	Size		held;			/* bytes that the job holds, or will hold when it is finished */
	Size		rows_limit;		/* bytes of rows at which the memory limit is looked at */

	SpillRuns	   *runs;			/* once memory did not suffice */
	CoreSort   *core;			/* once PostgreSQL's own sort took over */

	RowOrder	order;			/* of the rows in memory, once input has ended */
	RowComparer *comparer;		/* of its rows, once one was needed */
	struct Verifier *verifier;
	uint64		merged;			/* rows in memory that the merge has taken */
	uint64		current;		/* rows before the next one */
	bool		eof;
	uint64		mark;
	bool		mark_eof;

	uint64		run_bytes;		/* of memory that all runs took */
	bool		unlimited;		/* one of them was written for another reason than the memory limit */
	bool		ended;			/* input has */
	Progress	progress;
	instr_time	started;
	SorterStats stats;
	SorterStats shown;			/* the same with the job that still runs */
};

/* How many of the rows in memory are wanted. */
static inline uint32
rows_wanted(const Sorter *sorter)
{
	return sorter->top ? (uint32) Min((uint64) sorter->bound, (uint64) sorter->rows->rows) : sorter->rows->rows;
}

/* What the job is counted as. */
static inline gs_op
job_op(const Sorter *sorter)
{
	return sorter->top ? GS_TOPK : GS_ORDER;
}

/* Adds what the running job did. */
extern void note_job(Sorter *sorter, SorterStats *stats);

/* Notes that the service has not done its work. */
extern void note_left(Sorter *sorter, EngineFailure why);

/* Finds where the keys lie in rows; once, before the first job. */
extern void find_key_places(Sorter *sorter);

/* Says whether keys may take another form. */
extern void fix_keys(Sorter *sorter, bool fixed);

/* Rows in the sample that decides whether keys are worth encoding that follow others. */
#define DEFER_ROWS 1024

/* sorter_defer.c: decides about the keys that are deferred, at defer_check rows; true if they are taken in. */
extern bool take_deferred(Sorter *sorter);

/* Rows in the sample that says how many bytes of long strings it takes to tell them apart. */
#define LEAD_ROWS 1024

/* sorter_lead.c: takes more of long strings if that tells them apart, at lead_check rows; true if so. */
extern bool take_longer(Sorter *sorter);

/* Puts long strings off that are not the first key, before rows are encoded anew. */
extern void defer_long_keys(Sorter *sorter);

/*
 * sorter_ordered.c: puts the keys off until a row comes out of order, before the first one; false if they are encoded
 * as fast as compared.
 */
extern bool expect_order(Sorter *sorter);

/* Takes the count rows that were stored last: put_keys as long as rows come in order. */
extern gs_status put_in_order(Sorter *sorter, uint32 count);

/* Encodes the keys of all rows that have come. */
extern gs_status encode_all(Sorter *sorter);

/* Ends the input of a sort whose rows all came in order: finish_job. */
extern gs_status finish_in_order(Sorter *sorter);

/* Compares rows of this sort. */
extern RowComparer *comparer_of(Sorter *sorter);

/* What encoding came to, once keys that widened have been encoded anew and a service that failed has been left. */
extern gs_status settle_keys(Sorter *sorter, gs_status status, bool widened);

/* Begins a job with an empty chunk, or ends it; a job that cannot begin in the service begins on the CPU. */
extern gs_status begin_job(Sorter *sorter);
extern void end_job(Sorter *sorter);

/* Writes the keys of a row that is the last one in the store. */
extern gs_status put_keys(Sorter *sorter, TupleTableSlot *slot);

/* The same for the count rows that were stored last, not more than the chunk has room for. */
extern gs_status put_page_keys(Sorter *sorter, uint32 count);

/*
 * Has the engine sort what it was given; the first rows of the order are here and checked then, and with whole all of
 * them, as far as they are checked.
 */
extern gs_status finish_job(Sorter *sorter, bool whole);

/*
 * sorter_progress.c: makes the sort known to gpusort_progress, and tells what it does and how many rows of that are
 * done.
 */
extern void sorter_tell_begin(Sorter *sorter);
extern void sorter_tell(Sorter *sorter, ProgressPhase phase, uint64 rows);

/* The merge of a sort's runs has moved that many rows; SpillMoved. */
extern void sorter_tell_merged(void *sorter, uint64 rows);

/* sorter_bound.c: notes the bound, of a sort whose columns are known. */
extern void sorter_set_bound(Sorter *sorter, int64 bound);

/* Has the bound turned out to be one that is left to PostgreSQL's sort?  Asked for every row. */
extern bool sorter_bound_is_small(const Sorter *sorter);

/* The next row of PostgreSQL's sort, which must not be asked for more than it was told. */
extern TupleTableSlot *sorter_get_core(Sorter *sorter, bool forward, TupleTableSlot *slot);

/* Counts rows that have come. */
static inline void
sorter_took(Sorter *sorter, uint64 rows)
{
	uint64		before = sorter->stats.rows;

	sorter->stats.rows = before + rows;
	if (unlikely((before ^ sorter->stats.rows) >= PROGRESS_ROWS))
		sorter_tell(sorter, PROGRESS_READING, sorter->stats.rows);
}

/* Counts a row given out that came from runs or from PostgreSQL's sort; got: there was one. */
static inline void
sorter_gave(Sorter *sorter, bool forward, bool got)
{
	if (likely(forward && got))
		sorter->current++;
	else if (got && sorter->current > 0)
		sorter->current--;
	if (unlikely(!got || sorter->current % PROGRESS_ROWS == 0))
		sorter_tell(sorter, PROGRESS_OUT, sorter->current);
}

#endif
