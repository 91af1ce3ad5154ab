/*
 * sorter_job.h: the state of a sort, for the files of the sorter.
 */
#ifndef GPUSORT_SORTER_JOB_H
#define GPUSORT_SORTER_JOB_H

#include "src/base/bigmem.h"
#include "src/base/guc.h"
#include "src/keys/keyplace.h"
#include "src/rows/roworder.h"
#include "src/rows/rowmarks.h"
#include "src/rows/rowstore.h"
#include "spill_runs.h"
#include "sorter.h"
#include "src/engine/progress.h"
#include "src/keys/sortkey.h"

/*
 * What a sort is doing, like tuplesort's TSS_*.  A sort goes down this list and may skip states, but not SS_FINISHING:
 * rows come before it, and are returned behind it, in one of three states.  While it finishes, the one of tuplesort,
 * runs and job that is set says which way it goes.
 */
typedef enum SorterState
{
	SS_LOADING_FEW,				/* few rows have come, and nothing but the store is there for them */
	SS_LOADING_IN_ORDER,		/* rows come, in order so far, and no key is encoded */
	SS_LOADING,					/* rows come, and are in memory */
	SS_LOADING_RUNS,			/* rows come; earlier ones are in sorted runs on disk */
	SS_LOADING_TUPLESORT,		/* rows come, and go into tuplesort */
	SS_FINISHING,				/* all rows have come, and are put in order */
	SS_SORTED_IN_MEMORY,		/* rows go out of memory, by the order */
	SS_SORTED_ON_DISK,			/* rows go out of the merge of all runs, or of what it wrote */
	SS_SORTED_BY_TUPLESORT		/* rows go out of tuplesort */
} SorterState;

/* How the values of keys are read from rows. */
typedef enum KeyAccess
{
	KEYS_BY_SLOT,				/* by slot_getattr */
	KEYS_IN_PLACE,				/* at their places, in rows without NULLs */
	KEYS_COPIED					/* as these, and they need no encoding: column by column, of uniform rows */
} KeyAccess;

/* What rows have shown about costly keys (sorter_adapt.c): deferred ones are empty to the engine, prefixes grow. */
typedef struct AdaptiveKeys
{
	int			deferred;		/* the first deferred key; nkeys: none */
	int			resumed;		/* keys before this one are not deferred for their length */
	uint32		defer_from;		/* the first row of the sample that decides about deferred keys */
	uint32		defer_check;	/* number of rows at which deferred keys are sampled */
	uint32		lead_check;		/* number of marks at which prefixes are sampled */
	bool		marked;			/* the job's rows have marks, because a key is a prefix of long strings */
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

	/* the request, unchanged from sorter_begin on */
	SortColumns columns;
	TupleDesc	desc;
	bool		random_access;
	bool		draft;			/* nothing is compared to prove the order: sorter_begin_draft */
	double		rows_expected;
	uint32		few;			/* rows up to which they are compared and keys are not opened */
	int64		bound;			/* rows wanted, 0: all */
	uint64		heap_from;		/* beyond this number of rows the bound is one for tuplesort's heap */
	Size		limit;
	Size		kept;			/* of a draft: the memory that it may have while rows are returned */

	MemoryContext cxt;			/* everything of this sort */
	MemoryContext scratch;		/* for encoding, reset with every chunk */
	BigMem	   *mem;
	RowStore   *rows;
	TupleTableSlot *row_slot;	/* to read rows back */
	TupleTableSlot *page_slot;	/* to take rows of a page one by one */

	SortKey    *keys;			/* NULL until more than a few rows have come */
	KeyPlace   *places;			/* one per key */
	KeyAccess	access;
	int			ncolumns;		/* keys that the engine sorts by, up to the first empty one */
	AdaptiveKeys adaptive;
	gs_column_spec *specs;
	KeyWriter	writer;

	const EngineOps *engine;
	EngineJob  *job;
	gs_op		op;				/* of the job: GS_TOPK finds the first job_bound rows alone */
	int64		job_bound;		/* the bound of jobs: 0 once a key has become coarse in a job that had one */
	Size		held;			/* bytes of the job, also those that it will need when it is finished */
	Size		rows_limit;		/* bytes of rows from which on over_limit has to look closer */

	SpillRuns  *runs;			/* NULL until memory did not suffice */
	uint64		run_bytes;		/* the memory of all runs before they were written */
	bool		limit_no_help;	/* a run was written that a higher memory limit would not have avoided */
	uint64		left_out;		/* rows behind the bound that are in no run */
	uint64		merged;			/* rows in memory that the merge has taken */
	Tuplesortstate *tuplesort;	/* NULL until it was handed the sort */

	RowOrder	order;			/* of the rows in memory, after the job has finished */
	RowComparer *comparer;		/* NULL until one is needed: sorter_comparer */
	struct Verifier *verifier;
	SorterPlace at;				/* before the next row */
	SorterPlace mark;

	Progress	progress;
	instr_time	started;
	SorterStats stats;
	SorterStats shown;			/* stats with the job that still runs */
};

/* sorter_tuplesort.c: hands the sort over to tuplesort, with all rows that have come so far. */
extern void sorter_go_tuplesort(Sorter *sorter, SorterFallback why);

/* sorter_bound.c: notes the bound of a sort whose columns and expected rows are known. */
extern void sorter_note_bound(Sorter *sorter, int64 bound);

/* sorter_few.c: begins a sort without opening keys, if it is one of those whose first rows may be all. */
extern bool sorter_begin_few(Sorter *sorter);

/* sorter_finish_job of a sort whose keys were never opened. */
extern gs_status sorter_finish_few(Sorter *sorter);

/* sorter_job.c: finds how keys are read from rows; once, before the first job. */
extern void sorter_find_key_access(Sorter *sorter);

/* Begins a job with an empty chunk; one that cannot begin in the service begins on the CPU. */
extern gs_status sorter_begin_job(Sorter *sorter);

/* Ends the job, if there is one. */
extern void sorter_end_job(Sorter *sorter);

/* Begins the first job and encodes the keys of all rows in memory. */
extern gs_status sorter_encode_all(Sorter *sorter);

/* Writes the keys of the last row in the store, which is also in a slot. */
extern gs_status sorter_put_keys(Sorter *sorter, TupleTableSlot *slot);

/* Writes the keys of the last count rows in the store, at most as many as the chunk has room for. */
extern gs_status sorter_put_page_keys(Sorter *sorter, uint32 count);

/* Has the engine sort, fetches the first rows of the order, or all rows of a run, and checks them. */
extern gs_status sorter_finish_job(Sorter *sorter);

/* Returns the comparer of the rows in memory. */
extern RowComparer *sorter_comparer(Sorter *sorter);

/* sorter_verify.c: how much of the job's order is checked.  That of a draft need not be right. */
extern GpusortVerify sorter_verify_how(const Sorter *sorter);

/* Do rows follow each other, and all others the last one wanted?  The follows of a RowOrder. */
extern bool sorter_rows_follow(void *sorter, const uint32 *rows, uint64 count);

/* Rows in the samples that decide about deferred keys and about prefixes. */
#define SAMPLE_ROWS 1024

/* sorter_adapt.c: defers keys behind others whose encoding is costly. */
extern void sorter_begin_adaptive(Sorter *sorter);

/* Puts all keys off until a row comes out of order; false if they are encoded as fast as compared. */
extern bool sorter_expect_order(Sorter *sorter);

/* sorter_put_keys and sorter_put_page_keys of a sort whose rows have come in order so far. */
extern gs_status sorter_put_in_order(Sorter *sorter, uint32 count);

/* sorter_finish_job of a sort whose rows all came in order. */
extern gs_status sorter_finish_in_order(Sorter *sorter);

/* Allows keys to take another form, or forbids it. */
extern void sorter_fix_keys(Sorter *sorter, bool fixed);

/* At defer_check rows: resumes deferred keys that a sample shows to matter; true if any. */
extern bool sorter_resume_deferred(Sorter *sorter);

/* Defers keys behind one that has just left its dictionary, because its values no longer repeat. */
extern void sorter_defer_again(Sorter *sorter, int key);

/* At lead_check marks: lengthens prefixes if a sample shows that this tells strings apart; true if any. */
extern bool sorter_lengthen_prefixes(Sorter *sorter);

/* Defers long strings that are not the first key, before rows are encoded anew. */
extern void sorter_defer_long_keys(Sorter *sorter);

/* sorter_stats.c: adds what the running job did. */
extern void sorter_note_job(Sorter *sorter, SorterStats *stats);

/* sorter_progress.c: makes the sort known to gpusort_progress. */
extern void sorter_report_begin(Sorter *sorter);

/* Reports what the sort does and how many rows of that are done. */
extern void sorter_report(Sorter *sorter, ProgressPhase phase, uint64 rows);

/* Reports how many rows the merge of a sort's runs has written; a SpillProgress. */
extern void sorter_report_merged(void *sorter, uint64 rows);

#endif
