/*
 * sorter_job.h: a sort as its two halves see it: sorter.c the rows, sorter_job.c the engine.
 */
#ifndef GPUSORT_SORTER_JOB_H
#define GPUSORT_SORTER_JOB_H

#include "src/base/bigmem.h"
#include "src/keys/keyplace.h"
#include "roworder.h"
#include "rowmarks.h"
#include "rowstore.h"
#include "spill_runs.h"
#include "sorter.h"
#include "src/engine/progress.h"
#include "src/keys/sortkey.h"

/*
 * What a sort is doing, in the manner of tuplesort's TSS_*.  A sort goes down this list and may pass states over; it
 * comes through SS_FINISHING and stays in one of the three behind that.  Rows come before SS_FINISHING and go out
 * behind it.  core is set in the two states of tuplesort, runs in those of rows on disk, job in SS_LOADING and
 * SS_LOADING_RUNS; while a sort finishes, whichever of the three is set says which way it goes.
 */
typedef enum SorterState
{
	SS_LOADING_IN_ORDER,		/* rows come, in order so far, and no key is encoded */
	SS_LOADING,					/* rows come, and are in memory */
	SS_LOADING_RUNS,			/* rows come; earlier ones are in sorted runs on disk */
	SS_LOADING_CORE,			/* rows come, and go into tuplesort */
	SS_FINISHING,				/* all rows have come, and are put in order */
	SS_SORTED_IN_MEMORY,		/* rows go out of memory, by the order */
	SS_SORTED_ON_DISK,			/* rows go out of the merge of all runs, or of what it wrote */
	SS_SORTED_BY_CORE			/* rows go out of tuplesort */
} SorterState;

/* How the values of keys are read from rows. */
typedef enum KeyAccess
{
	KEYS_BY_SLOT,				/* by slot_getattr */
	KEYS_IN_PLACE,				/* at their places, in rows without NULLs */
	KEYS_COPIED					/* as these, and they need no encoding: column by column, of uniform rows */
} KeyAccess;

/*
 * What the first rows have taught about keys that cost much to encode.  Keys behind others are deferred, which makes
 * them empty, until a sample says that those before them leave many rows tied (sorter_defer.c).  Long strings are
 * sorted by a prefix, of more bytes once a sample says so (sorter_lead.c).  Guessed forms, the third kind, widen by
 * themselves: sortkey_put says KEY_WIDEN.
 */
typedef struct AdaptiveKeys
{
	int			deferred;		/* the first key that is deferred; nkeys: none */
	int			taken;			/* keys before this one are not deferred for their length */
	uint32		defer_from;		/* the first row of the sample that decides about them */
	uint32		defer_check;	/* number of rows at which it is decided about the deferred keys again */
	uint32		lead_check;		/* number of marks at which prefixes are looked at */
	bool		marked;			/* rows of the job have marks, as long strings are sorted by a prefix */
	RowMarks	marks;
} AdaptiveKeys;

/* A place between two rows of the result.  Positions are tuplesort's: see sorter_get. */
typedef struct SorterPlace
{
	uint64		row;			/* rows before it */
	bool		eof;			/* a fetch has come past the end */
} SorterPlace;

struct Sorter
{
	SorterState state;

	/* what is asked, unchanged from sorter_begin on */
	SortColumns columns;
	TupleDesc	desc;
	bool		random_access;
	double		rows_expected;
	int64		bound;			/* rows wanted, 0: all */
	uint64		heap_from;		/* beyond this number of rows the bound is one for tuplesort's heap */
	Size		limit;

	MemoryContext cxt;			/* everything of this sort */
	MemoryContext scratch;		/* for encoding, reset with every chunk */
	BigMem	   *mem;
	RowStore   *rows;
	TupleTableSlot *row_slot;	/* to read rows back */
	TupleTableSlot *page_slot;	/* to take rows of a page one by one */

	SortKey    *keys;
	KeyPlace   *places;			/* one per key */
	KeyAccess	access;
	int			ncolumns;		/* keys that the engine sorts by, up to one that tells nothing */
	AdaptiveKeys adaptive;
	gs_column_spec *specs;
	KeyWriter	writer;

	const EngineOps *engine;
	EngineJob  *job;
	gs_op		op;				/* of the job: GS_TOPK finds the first job_bound rows alone */
	int64		job_bound;		/* the bound of jobs: 0 once a key has become coarse in a job that had one */
	Size		held;			/* bytes that the job holds, or will hold when it is finished */
	Size		rows_limit;		/* bytes of rows at which the memory limit is looked at */

	SpillRuns  *runs;			/* once memory did not suffice */
	uint64		run_bytes;		/* of memory that all runs took */
	bool		limit_no_help;	/* a run was written that a higher memory limit would not have spared */
	uint64		left_out;		/* rows behind the bound that are in no run */
	uint64		merged;			/* rows in memory that the merge has taken */
	Tuplesortstate *core;		/* once PostgreSQL's own sort took over */

	RowOrder	order;			/* of the rows in memory, once the job is finished */
	RowComparer *comparer;		/* of its rows, once one was needed */
	struct Verifier *verifier;
	SorterPlace at;				/* before the next row */
	SorterPlace mark;

	Progress	progress;
	instr_time	started;
	SorterStats stats;
	SorterStats shown;			/* stats with the job that still runs */
};

/* How many of the rows in memory are wanted. */
static inline uint32
rows_wanted(const Sorter *sorter)
{
	uint32		rows = sorter->rows->rows;

	return sorter->op == GS_TOPK ? (uint32) Min((uint64) sorter->job_bound, (uint64) rows) : rows;
}

/* Adds what the running job did. */
extern void note_job(Sorter *sorter, SorterStats *stats);

/* Finds where the keys lie in rows; once, before the first job. */
extern void find_key_places(Sorter *sorter);

/* Says whether keys may take another form. */
extern void fix_keys(Sorter *sorter, bool fixed);

/* Rows in the sample that decides whether keys are worth encoding that follow others. */
#define DEFER_ROWS 1024

/* sorter_defer.c: decides about the keys that are deferred, at defer_check rows; true if they are taken in. */
extern bool take_deferred(Sorter *sorter);

/* Defers the keys behind one again that has just left its dictionary: its values repeat no longer. */
extern void defer_again(Sorter *sorter, int key);

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

/* Ends the input of a sort whose rows all came in order: finish_job. */
extern gs_status finish_in_order(Sorter *sorter);

/* sorter_job.c: encodes the keys of all rows, which came in order so far. */
extern gs_status encode_all(Sorter *sorter);

/* Compares rows of this sort. */
extern RowComparer *comparer_of(Sorter *sorter);

/* Begins a job with an empty chunk, or ends it; a job that cannot begin in the service begins on the CPU. */
extern gs_status begin_job(Sorter *sorter);
extern void end_job(Sorter *sorter);

/* Writes the keys of a row that is the last one in the store. */
extern gs_status put_keys(Sorter *sorter, TupleTableSlot *slot);

/* The same for the count rows that were stored last, not more than the chunk has room for. */
extern gs_status put_page_keys(Sorter *sorter, uint32 count);

/*
 * Has the engine sort what it was given.  The first rows of the order are here and checked then; of a run all of them,
 * for which nobody waits.
 */
extern gs_status finish_job(Sorter *sorter);

/*
 * sorter_progress.c: makes the sort known to gpusort_progress, and tells what it does and how many rows of that are
 * done.
 */
extern void sorter_tell_begin(Sorter *sorter);
extern void sorter_tell(Sorter *sorter, ProgressPhase phase, uint64 rows);

/* The merge of a sort's runs has moved that many rows; SpillMoved. */
extern void sorter_tell_merged(void *sorter, uint64 rows);

/* sorter_bound.c: notes the bound of a sort whose columns and expected rows are known. */
extern void note_bound(Sorter *sorter, int64 bound);

/* sorter.c: hands the sort over to PostgreSQL's own, with all rows that have come so far. */
extern void go_core(Sorter *sorter, SorterFallback why);

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
		sorter->at.row++;
	else if (got && sorter->at.row > 0)
		sorter->at.row--;
	if (unlikely(!got || sorter->at.row % PROGRESS_ROWS == 0))
		sorter_tell(sorter, PROGRESS_OUT, sorter->at.row);
}

#endif
