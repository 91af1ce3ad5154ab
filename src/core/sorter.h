/*
 * sorter.h: one sort, from its first row to its last.  The legal order of calls: sorter_begin or sorter_begin_draft;
 * sorter_put, sorter_put_page, sorter_recheck_bound, as often as rows come; sorter_finish; sorter_get or sorter_next,
 * with random_access also sorter_mark, sorter_restore, sorter_rewind. sorter_end may follow any of them, and functions
 * that return what a sort has done may be called before it.
 */
#ifndef GPUSORT_SORTER_H
#define GPUSORT_SORTER_H

#include "executor/tuptable.h"
#include "portability/instr_time.h"
#include "utils/tuplesort.h"

#include "src/engine/engine.h"
#include "src/rows/rowgather.h"
#include "src/keys/sortcolumns.h"
#include "src/keys/sortkey.h"
#include "src/rows/tied_runs.h"

/* Is a bound small relative to the rows of the input? */
extern bool bound_is_small(double bound, double rows);

/* Does a sort with this bound (0: none) go to tuplesort's top-N heap?  Not if the engine finds that many first rows. */
extern bool bound_goes_to_heap(const SortColumns *columns, double bound, double rows);

/* Why tuplesort has a sort, for EXPLAIN. */
typedef enum SorterFallback
{
	SORTER_OURS,
	SORTER_DISABLED,			/* gpusort.enabled is off */
	SORTER_BOUND,				/* only the first few rows are wanted */
	SORTER_LARGE_KEYS,			/* memory holds the keys of few rows only */
	SORTER_THEIR_KEYS,			/* abbreviated keys of the type have a strange order */
	SORTER_LONG_TEXT,			/* PostgreSQL's abbreviated keys of long text take less time */
	SORTER_NO_MEMORY,			/* not enough for rows and keys */
	SORTER_WRONG_ORDER,			/* an order failed its check */
	SORTER_CONTRADICTION		/* coarse keys contradict the comparison function */
} SorterFallback;

/* Returns that in words. */
extern const char *sorter_fallback_text(SorterFallback fallback);

/* Where the time of sorts went, and what went to the GPU service. */
typedef struct SorterStages
{
	double		in_ms;			/* from sorter_begin to sorter_finish, the child's time included */
	double		sort_ms;		/* in sorter_finish */
	double		wait_in_ms;		/* for the service, in these stages and at output */
	double		wait_sort_ms;
	double		wait_out_ms;
	uint64		upload_bytes;	/* of all jobs in the service, like the two members below */
	uint64		upload_ns;
	uint64		device_ns;
} SorterStages;

/* What one sort did, for EXPLAIN. */
typedef struct SorterStats
{
	SorterFallback fallback;
	EngineFailure left;			/* why the GPU service did not sort, or not all rows */
	EngineKind	kind;
	const char *engine;			/* its name */
	int			strings;		/* keys that are byte strings */
	gs_job_info job;			/* of the last job */
	SorterStages stages;
	TiedStats	tied;			/* of coarse keys */
	bool		top;			/* the job found the first rows only */
	uint64		rows;
	const char *tuplesort;		/* tuplesort's method, NULL: it did not have the sort */
	uint64		memory_bytes;	/* the most that was held; 0 of a tuplesort on disk */
	uint64		disk_bytes;		/* of temporary files, 0 if none */
	int			runs;			/* sorted runs on disk */
	uint64		wanted_bytes;	/* the memory limit that would have avoided runs; 0: none did, or none would */
} SorterStats;

typedef struct Sorter Sorter;

/*
 * Begins a sort of rows of that descriptor, of which the first bound are wanted (0: all).  tuplesort has it from the
 * start if fallback or bound_goes_to_heap say so.  Memory and files belong to the current context and resource owner.
 */
extern Sorter *sorter_begin(const SortColumns *columns, TupleDesc desc, bool random_access, double rows_expected,
							SorterFallback fallback, int64 bound);

/*
 * Begins a sort whose rows another sort puts in order again, so that a wrong order only takes that one's time: of rows
 * with coarse keys, only those that these leave tied are compared.  limit, kept: its memory while rows come, and while
 * they are returned.  One more key follows those of columns: it breaks ties where rows would not stay in order of
 * arrival.
 */
extern Sorter *sorter_begin_draft(const SortColumns *columns, TupleDesc desc, double rows_expected, Size limit,
								  Size kept);

/* Takes a copy of a row. */
extern void sorter_put(Sorter *sorter, TupleTableSlot *slot);

/*
 * Takes copies of visible tuples of a pinned heap page; returns how many.  With gather, rows have only those columns,
 * and the first tuple that it cannot convert ends them: the caller projects that one for sorter_put.
 */
extern uint32 sorter_put_page(Sorter *sorter, Page page, const OffsetNumber *items, uint32 count,
							  RowGather *gather);

/* Hands the sort over to tuplesort's heap once more rows have come than estimated, for which the bound is small. */
extern void sorter_recheck_bound(Sorter *sorter);

/* May rows behind the bound be missing, so that a greater bound needs another sort? */
extern bool sorter_ends_at_bound(Sorter *sorter);

/* Ends input. */
extern void sorter_finish(Sorter *sorter);

/*
 * Stores the next row in a direction in slot, which holds MinimalTuples; clears it past either end.  As in tuplesort,
 * the first fetch backward from the end returns the last row.  Everything but going forward needs random_access.
 */
extern TupleTableSlot *sorter_get(Sorter *sorter, bool forward, TupleTableSlot *slot);

/* The next row forward without a slot, valid until the next call; NULL at the end. */
extern MinimalTuple sorter_next(Sorter *sorter);
extern void sorter_mark(Sorter *sorter);
extern void sorter_restore(Sorter *sorter);
extern void sorter_rewind(Sorter *sorter);

/* Frees everything; slots that hold rows must have been cleared. */
extern void sorter_end(Sorter *sorter);

/* Returns what the sort has done so far; valid until the next call. */
extern const SorterStats *sorter_stats(Sorter *sorter);

/* Returns the keys of the sort as they are encoded now, NULL if they are not. */
extern const SortKey *sorter_keys(const Sorter *sorter);

/* Adds the stages of one sort to those of others. */
extern void sorter_add_stages(SorterStages *sum, const SorterStages *one);

/* Returns the form that a key without an exact encoding was sorted in, for EXPLAIN; NULL for other keys. */
extern const char *sorter_key_form(const Sorter *sorter, int key);

#endif
