/*
 * spill_runs.c: sorted runs in a temporary file, and their merge, which writes to the pieces that it has read.
 *
 * Invariant: runs stay in the order in which they were written, and a merge only combines neighbours.  With ties going
 * to the earlier run, equal rows stay in order of arrival.
 */
#include "postgres.h"

#include "commands/tablespace.h"
#include "miscadmin.h"

#include "spill_runs.h"
#include "src/engine/progress.h"

/* A piece's fraction of the memory limit, and most bytes.  A merge has half of the limit for its runs' pieces. */
#define PIECE_FRACTION 64
#define MOST_PIECE ((Size) 256 * 1024)
#define MIN_FAN_IN 6
#define MAX_FAN_IN 512

struct SpillRuns
{
	SortColumns columns;
	MergeKeys  *keys;
	SpillFile  *file;
	int			fan_in;

	RowTape   **tapes;			/* runs not yet merged, in arrival order */
	int			ntapes;
	int			tapes_size;
	int			written;		/* runs ever written by spill_begin */

	SpillProgress progress;
	void	   *progress_arg;
	uint64		merged;			/* rows written by merges */

	Merge	   *merge;			/* under way */
	RowTape    *result;			/* materialised, for random access */
	TapePlace	mark;
};

SpillRuns *
spill_create(const SortColumns *columns, TupleDesc desc, Size memory_limit)
{
	SpillRuns  *runs = palloc0(sizeof(SpillRuns));
	Size		piece_bytes = Max(Min(memory_limit / PIECE_FRACTION, MOST_PIECE) / BLCKSZ, 1) * BLCKSZ;

	PrepareTempTablespaces();
	runs->columns = *columns;
	runs->keys = mergekeys_open(columns, desc);
	runs->file = spillfile_open(piece_bytes);
	runs->fan_in = (int) Min(Max(memory_limit / 2 / piece_bytes, MIN_FAN_IN), MAX_FAN_IN);
	return runs;
}

void
spill_begin(SpillRuns *runs, const MinimalTupleData *header)
{
	if (runs->ntapes == runs->tapes_size)
	{
		runs->tapes_size = Max(8, runs->tapes_size * 2);
		runs->tapes = runs->tapes ? repalloc(runs->tapes, runs->tapes_size * sizeof(RowTape *))
			: palloc(runs->tapes_size * sizeof(RowTape *));
	}
	runs->tapes[runs->ntapes++] = rowtape_create(runs->file, header, false);
	runs->written++;
}

void
spill_append(SpillRuns *runs, MinimalTuple tuple)
{
	rowtape_write(runs->tapes[runs->ntapes - 1], tuple);
}

void
spill_end(SpillRuns *runs)
{
	rowtape_end(runs->tapes[runs->ntapes - 1]);
}

void
spill_add_weights(SpillRuns *runs, const SortKey *keys)
{
	mergekeys_add_weights(runs->keys, keys);
}

/* Returns header if all rows of some runs have it, else NULL. */
static const MinimalTupleData *
common_header(const MinimalTupleData *header, RowTape **tapes, int count)
{
	for (int i = 0; header != NULL && i < count; i++)
		if (!tapes[i]->uniform || memcmp(&tapes[i]->header, header, sizeof(MinimalTupleData)) != 0)
			return NULL;
	return header;
}

/* Writes the rows of a merge to a tape, and ends both. */
static void
write_merged(SpillRuns *runs, Merge *merge, RowTape *to)
{
	MinimalTuple row;

	while ((row = merge_next(merge)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		rowtape_write(to, row);
		if (++runs->merged % PROGRESS_ROWS == 0)
			runs->progress(runs->progress_arg, runs->merged);
	}
	merge_end(merge);
	rowtape_end(to);
}

/* Frees tapes that have been read. */
static void
close_tapes(RowTape **tapes, int count)
{
	for (int i = 0; i < count; i++)
		rowtape_close(tapes[i]);
}

/* Merges some runs into one. */
static RowTape *
merge_runs(SpillRuns *runs, RowTape **tapes, int count)
{
	RowTape    *to = rowtape_create(runs->file, common_header(&tapes[0]->header, tapes, count), false);

	write_merged(runs, merge_begin(runs->keys, tapes, count, NULL, NULL), to);
	close_tapes(tapes, count);
	return to;
}

/* Merges neighbouring runs, in the last round no more than needed, until one merge can take all that are left. */
static void
reduce_runs(SpillRuns *runs)
{
	while (runs->ntapes > runs->fan_in)
	{
		int			goal = Max(runs->fan_in, (runs->ntapes + runs->fan_in - 1) / runs->fan_in);
		int			from = 0;
		int			to = 0;

		while (from < runs->ntapes)
		{
			int			surplus = to + (runs->ntapes - from) - goal;
			int			count = Min(Min(surplus + 1, runs->fan_in), runs->ntapes - from);

			runs->tapes[to++] = count > 1 ? merge_runs(runs, runs->tapes + from, count) : runs->tapes[from];
			from += count;
		}
		runs->ntapes = to;
	}
}

void
spill_merge(SpillRuns *runs, bool random_access, const MinimalTupleData *header, SpillNext next,
			SpillProgress progress, void *arg)
{
	runs->progress = progress;
	runs->progress_arg = arg;
	reduce_runs(runs);
	runs->merge = merge_begin(runs->keys, runs->tapes, runs->ntapes, next, arg);
	if (!random_access)
		return;
	runs->result = rowtape_create(runs->file, common_header(header, runs->tapes, runs->ntapes), true);
	write_merged(runs, runs->merge, runs->result);
	runs->merge = NULL;
	close_tapes(runs->tapes, runs->ntapes);
	runs->ntapes = 0;
	spill_rewind(runs);
}

MinimalTuple
spill_get(SpillRuns *runs, uint64 position)
{
	if (runs->result == NULL)
		return merge_next(runs->merge);
	while (position < runs->result->next)
		(void) rowtape_back(runs->result);
	Assert(position == runs->result->next);
	return rowtape_read(runs->result);
}

void
spill_mark(SpillRuns *runs)
{
	Assert(runs->result);
	rowtape_tell(runs->result, &runs->mark);
}

void
spill_restore(SpillRuns *runs)
{
	rowtape_seek(runs->result, &runs->mark);
}

void
spill_rewind(SpillRuns *runs)
{
	runs->mark = (TapePlace) {0};
	spill_restore(runs);
}

void
spill_drain(SpillRuns *runs, void (*take) (void *arg, MinimalTuple tuple), void *arg)
{
	MinimalTuple row;

	for (int i = 0; i < runs->ntapes; i++)
	{
		while ((row = rowtape_read(runs->tapes[i])) != NULL)
		{
			CHECK_FOR_INTERRUPTS();
			take(arg, row);
		}
		rowtape_close(runs->tapes[i]);
	}
	runs->ntapes = 0;
}

void
spill_close(SpillRuns *runs)
{
	if (runs->merge)
		merge_end(runs->merge);
	close_tapes(runs->tapes, runs->ntapes);
	if (runs->result)
		rowtape_close(runs->result);
	spillfile_close(runs->file);
	mergekeys_close(runs->keys);
	pfree(runs);
}

int
spill_count(const SpillRuns *runs)
{
	return runs->written + 1;
}

uint64
spill_disk_bytes(const SpillRuns *runs)
{
	return spillfile_bytes(runs->file);
}
