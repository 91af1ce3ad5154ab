/*
 * spill_runs.c: sorted runs in temporary files, and their merge.
 *
 * A record is the row's normalised key and the row, so that merging compares bytes and never calls a comparator; where
 * a key has no exact form it is the row alone, and rows are compared.  Files are BufFiles: they obey temp_tablespaces
 * and temp_file_limit, are logged by log_temp_files, and are gone after an abort.  Runs are merged in the order in
 * which they were written and ties go to the earlier one, so the sort stays in arrival order.
 */
#include "postgres.h"

#include "commands/tablespace.h"
#include "executor/tuptable.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "src/compat.h"
#include "rowcompare.h"
#include "spill_file.h"
#include "spill_runs.h"
#include "src/keys/sortkey.h"

/* A merge takes at least so many runs at a time, and one more for every MERGE_BYTES of memory. */
#define MIN_FAN_IN 6
#define MAX_FAN_IN 512
#define MERGE_BYTES ((Size) 64 * 1024)

/* The head of a record; key and the row from MINIMAL_TUPLE_DATA_OFFSET on follow. */
typedef struct RecordHeader
{
	uint32		key_bytes;
	uint32		row_bytes;		/* t_len */
} RecordHeader;

/* One run being read. */
typedef struct Source
{
	BufFile    *file;			/* NULL: the run in memory */
	RecordHeader head;
	uint64		prefix;			/* the key's first bytes, most significant first */
	char	   *data;			/* the key, and behind it a row that was read */
	Size		data_bytes;
	MinimalTuple row;
	TupleTableSlot *slot;		/* the row again, where rows are compared */
} Source;

/* A place in the materialised result. */
typedef struct Position
{
	int			file;
	off_t		offset;
	bool		eof;
} Position;

struct SpillRuns
{
	SortColumns columns;
	TupleDesc	desc;
	SortKey    *keys;			/* NULL where rows are compared */
	SortSupport comparators;	/* then */
	TupleTableSlot *slot;		/* to take keys from rows */
	MemoryContext scratch;		/* for encoding one row */
	Size		memory_limit;

	BufFile   **files;			/* runs not yet merged, in arrival order */
	int			nfiles;
	int			files_size;
	int			written;		/* runs ever written by spill_begin */
	uint64		disk_bytes;
	StringInfoData key;			/* of the row being written or merged */

	Source	   *sources;		/* of the merge under way */
	int			nsources;
	binaryheap *heap;			/* of source numbers */
	int			current;		/* source of the row given out last, -1 before the first */
	SpillNext	next_in_memory;
	void	   *next_arg;

	BufFile    *result;			/* materialised, for random access */
	Position	mark;
	bool		eof;
	Source		reader;			/* of the result */
};

/* Opens the keys in their exact form, which fits rows of all runs, or comparison functions. */
static void
open_keys(SpillRuns *runs)
{
	if (!sortkeys_are_exact(runs->columns.nkeys, runs->columns.sortops, runs->columns.collations))
	{
		runs->comparators = open_comparators(&runs->columns);
		return;
	}
	runs->keys = palloc0(sizeof(SortKey) * runs->columns.nkeys);
	for (int i = 0; i < runs->columns.nkeys; i++)
		sortkey_open(&runs->keys[i], runs->columns.sortops[i], runs->columns.collations[i],
					 runs->columns.nulls_first[i], true);
}

SpillRuns *
spill_create(const SortColumns *columns, TupleDesc desc, Size memory_limit)
{
	SpillRuns  *runs = palloc0(sizeof(SpillRuns));

	PrepareTempTablespaces();
	runs->columns = *columns;
	runs->desc = desc;
	open_keys(runs);
	runs->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	runs->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort run keys", ALLOCSET_SMALL_SIZES);
	runs->memory_limit = memory_limit;
	initStringInfo(&runs->key);
	runs->current = -1;
	return runs;
}

/* Opens the file of one more run. */
static BufFile *
add_file(SpillRuns *runs)
{
	if (runs->nfiles == runs->files_size)
	{
		runs->files_size = Max(8, runs->files_size * 2);
		runs->files = runs->files ? repalloc(runs->files, runs->files_size * sizeof(BufFile *))
			: palloc(runs->files_size * sizeof(BufFile *));
	}
	return runs->files[runs->nfiles++] = BufFileCreateTemp(false);
}

void
spill_begin(SpillRuns *runs)
{
	(void) add_file(runs);
	runs->written++;
}

/* Appends the row's normalised key over all columns to runs->key, nothing where rows are compared. */
static void
append_key(SpillRuns *runs, MinimalTuple tuple)
{
	MemoryContext old;

	if (runs->comparators)
		return;
	old = MemoryContextSwitchTo(runs->scratch);

	ExecStoreMinimalTuple(tuple, runs->slot, false);
	for (int i = 0; i < runs->columns.nkeys; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(runs->slot, runs->columns.attnos[i], &isnull);

		sortkey_normalise(&runs->keys[i], value, isnull, &runs->key);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(runs->scratch);
}

/* Writes what follows the length of a row. */
static void
write_row(SpillRuns *runs, BufFile *file, MinimalTuple row)
{
	Size		bytes = row->t_len - MINIMAL_TUPLE_DATA_OFFSET;

	BufFileWrite(file, (char *) row + MINIMAL_TUPLE_DATA_OFFSET, bytes);
	runs->disk_bytes += bytes;
}

/* Writes a record. */
static void
write_record(SpillRuns *runs, BufFile *file, char *key, uint32 key_bytes, MinimalTuple row)
{
	RecordHeader head = {key_bytes, row->t_len};

	BufFileWrite(file, (void *) &head, sizeof(head));
	BufFileWrite(file, key, key_bytes);
	runs->disk_bytes += sizeof(head) + key_bytes;
	write_row(runs, file, row);
}

void
spill_append(SpillRuns *runs, MinimalTuple tuple)
{
	resetStringInfo(&runs->key);
	append_key(runs, tuple);
	write_record(runs, runs->files[runs->nfiles - 1], runs->key.data, runs->key.len, tuple);
}

void
spill_end(SpillRuns *runs)
{
	rewind_file(runs->files[runs->nfiles - 1]);
	ExecClearTuple(runs->slot);
}

/* Makes room in a source's buffer; what it held is lost. */
static void
make_room(SpillRuns *runs, Source *source, Size bytes)
{
	if (bytes <= source->data_bytes)
		return;
	if (source->data)
		pfree(source->data);
	source->data_bytes = Max(bytes, source->data_bytes * 2);
	source->data = MemoryContextAllocHuge(GetMemoryChunkContext(runs), source->data_bytes);
}

/* Reads the next record of a run on disk; false at its end. */
static bool
read_record(SpillRuns *runs, Source *source)
{
	RecordHeader *head = &source->head;
	Size		row_offset;

	if (!read_start(source->file, head, sizeof(*head)))
		return false;
	row_offset = MAXALIGN(head->key_bytes);
	make_room(runs, source, row_offset + head->row_bytes);
	read_exact(source->file, source->data, head->key_bytes);
	source->row = read_row(source->file, source->data + row_offset, head->row_bytes);
	return true;
}

/* Takes the next row of the run in memory; false at its end. */
static bool
take_record(SpillRuns *runs, Source *source)
{
	source->row = runs->next_in_memory(runs->next_arg);
	if (source->row == NULL)
		return false;
	resetStringInfo(&runs->key);
	append_key(runs, source->row);
	source->head.key_bytes = runs->key.len;
	source->head.row_bytes = source->row->t_len;
	make_room(runs, source, runs->key.len);
	memcpy(source->data, runs->key.data, runs->key.len);
	return true;
}

/* Moves a source to its next record; false at its end. */
static bool
advance(SpillRuns *runs, Source *source)
{
	if (!(source->file ? read_record(runs, source) : take_record(runs, source)))
		return false;
	if (runs->comparators)
	{
		ExecStoreMinimalTuple(source->row, source->slot, false);
		return true;
	}
	source->prefix = 0;
	memcpy(&source->prefix, source->data, Min(sizeof(uint64), source->head.key_bytes));
	source->prefix = pg_ntoh64(source->prefix);
	return true;
}

/* Orders two sources by their keys. */
static int
compare_keys(const SpillRuns *runs, const Source *x, const Source *y)
{
	if (runs->comparators)
		return compare_slots(runs->comparators, runs->columns.nkeys, x->slot, y->slot);
	if (x->prefix != y->prefix)
		return x->prefix < y->prefix ? -1 : 1;
	return memcmp(x->data, y->data, Min(x->head.key_bytes, y->head.key_bytes));
}

/* Orders two sources by key, then by age; reversed, since binaryheap keeps the greatest on top. */
static int
compare_sources(Datum a, Datum b, void *arg)
{
	SpillRuns  *runs = arg;
	int			order = compare_keys(runs, &runs->sources[DatumGetInt32(a)], &runs->sources[DatumGetInt32(b)]);

	if (order != 0)
		return order < 0 ? 1 : -1;
	return DatumGetInt32(a) < DatumGetInt32(b) ? 1 : -1;
}

/* Begins a merge of the first count runs, and of the one in memory if asked. */
static void
begin_merge(SpillRuns *runs, int count, bool with_memory)
{
	int			nsources = count + (with_memory ? 1 : 0);

	runs->sources = palloc0(sizeof(Source) * nsources);
	runs->nsources = nsources;
	runs->heap = binaryheap_allocate(nsources, compare_sources, runs);
	runs->current = -1;
	for (int i = 0; i < nsources; i++)
	{
		runs->sources[i].file = i < count ? runs->files[i] : NULL;
		if (runs->comparators)
			runs->sources[i].slot = MakeSingleTupleTableSlot(runs->desc, &TTSOpsMinimalTuple);
		if (advance(runs, &runs->sources[i]))
			binaryheap_add_unordered(runs->heap, Int32GetDatum(i));
	}
	binaryheap_build(runs->heap);
}

/* The source with the next record of the merge, NULL at the end.  The record before it is gone then. */
static Source *
next_merged(SpillRuns *runs)
{
	if (runs->current >= 0)
	{
		if (advance(runs, &runs->sources[runs->current]))
			binaryheap_replace_first(runs->heap, Int32GetDatum(runs->current));
		else
			(void) binaryheap_remove_first(runs->heap);
		runs->current = -1;
	}
	if (binaryheap_empty(runs->heap))
		return NULL;
	runs->current = DatumGetInt32(binaryheap_first(runs->heap));
	return &runs->sources[runs->current];
}

/* Ends a merge: its input files are done with. */
static void
end_merge(SpillRuns *runs)
{
	int			files = 0;

	for (int i = 0; i < runs->nsources; i++)
	{
		if (runs->sources[i].slot)
			ExecDropSingleTupleTableSlot(runs->sources[i].slot);
		if (runs->sources[i].data)
			pfree(runs->sources[i].data);
		if (runs->sources[i].file)
		{
			BufFileClose(runs->sources[i].file);
			files++;
		}
	}
	binaryheap_free(runs->heap);
	pfree(runs->sources);
	memmove(runs->files, runs->files + files, (runs->nfiles - files) * sizeof(BufFile *));
	runs->nfiles -= files;
	runs->sources = NULL;
	runs->heap = NULL;
	runs->nsources = 0;
	runs->current = -1;
}

/* Merges count runs, which begin at the first, into one that takes their place in the order. */
static BufFile *
merge_into_file(SpillRuns *runs, int count)
{
	BufFile    *file = BufFileCreateTemp(false);
	Source	   *source;

	begin_merge(runs, count, false);
	while ((source = next_merged(runs)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		write_record(runs, file, source->data, source->head.key_bytes, source->row);
	}
	end_merge(runs);
	rewind_file(file);
	return file;
}

/* Merges neighbouring runs, a whole round at a time, until one merge can take all that are left. */
static void
reduce_runs(SpillRuns *runs, int fan_in)
{
	while (runs->nfiles > fan_in)
	{
		int			left = runs->nfiles;
		BufFile   **merged = palloc(sizeof(BufFile *) * left);
		int			nmerged = 0;

		while (left > 0)
		{
			int			count = Min(left, fan_in);

			merged[nmerged++] = merge_into_file(runs, count);
			left -= count;
		}
		memcpy(runs->files, merged, sizeof(BufFile *) * nmerged);
		runs->nfiles = nmerged;
		pfree(merged);
	}
}

/* Writes the merged rows between two copies of their length, so that they can be read in both directions. */
static void
materialise(SpillRuns *runs)
{
	Source	   *source;

	runs->result = BufFileCreateTemp(false);
	while ((source = next_merged(runs)) != NULL)
	{
		uint32		len = source->head.row_bytes;

		CHECK_FOR_INTERRUPTS();
		BufFileWrite(runs->result, &len, sizeof(len));
		write_row(runs, runs->result, source->row);
		BufFileWrite(runs->result, &len, sizeof(len));
		runs->disk_bytes += 2 * sizeof(len);
	}
	end_merge(runs);
	spill_rewind(runs);
}

void
spill_merge(SpillRuns *runs, bool random_access, SpillNext next, void *arg)
{
	int			fan_in = (int) Min(Max(runs->memory_limit / MERGE_BYTES, MIN_FAN_IN), MAX_FAN_IN);

	reduce_runs(runs, fan_in);
	runs->next_in_memory = next;
	runs->next_arg = arg;
	begin_merge(runs, runs->nfiles, true);
	if (random_access)
		materialise(runs);
}

/* Reads the materialised row that begins here and moves behind it; NULL at the end. */
static MinimalTuple
read_result(SpillRuns *runs)
{
	MinimalTuple row;
	uint32		len;

	if (!read_start(runs->result, &len, sizeof(len)))
		return NULL;
	make_room(runs, &runs->reader, len);
	row = read_row(runs->result, runs->reader.data, len);
	read_exact(runs->result, &len, sizeof(len));
	return row;
}

/* Moves from behind a materialised row to its beginning; false at the beginning of all. */
static bool
step_back(SpillRuns *runs)
{
	int			file;
	off_t		offset;
	uint32		len;

	BufFileTell(runs->result, &file, &offset);
	if (file == 0 && offset == 0)
		return false;
	if (BufFileSeek(runs->result, 0, -(off_t) sizeof(len), SEEK_CUR) != 0)
		elog(ERROR, "could not seek in gpusort temporary file");
	read_exact(runs->result, &len, sizeof(len));
	if (BufFileSeek(runs->result, 0, -(off_t) (len - MINIMAL_TUPLE_DATA_OFFSET + 2 * sizeof(len)), SEEK_CUR) != 0)
		elog(ERROR, "could not seek in gpusort temporary file");
	return true;
}

/* A backward fetch: the row before the one given out last, or the last row after the end was reached. */
static MinimalTuple
get_backward(SpillRuns *runs)
{
	if (runs->eof)
		runs->eof = false;
	else if (!step_back(runs))
		return NULL;
	return step_back(runs) ? read_result(runs) : NULL;
}

MinimalTuple
spill_get(SpillRuns *runs, bool forward)
{
	MinimalTuple row;

	if (runs->result == NULL)
	{
		Source	   *source = next_merged(runs);

		Assert(forward);
		return source ? source->row : NULL;
	}
	if (!forward)
		return get_backward(runs);
	row = read_result(runs);
	runs->eof = row == NULL;
	return row;
}

void
spill_mark(SpillRuns *runs)
{
	Assert(runs->result);
	BufFileTell(runs->result, &runs->mark.file, &runs->mark.offset);
	runs->mark.eof = runs->eof;
}

void
spill_restore(SpillRuns *runs)
{
	if (BufFileSeek(runs->result, runs->mark.file, runs->mark.offset, SEEK_SET) != 0)
		elog(ERROR, "could not seek in gpusort temporary file");
	runs->eof = runs->mark.eof;
}

void
spill_rewind(SpillRuns *runs)
{
	rewind_file(runs->result);
	runs->eof = false;
	memset(&runs->mark, 0, sizeof(runs->mark));
}

void
spill_drain(SpillRuns *runs, void (*take) (void *arg, MinimalTuple tuple), void *arg)
{
	for (int i = 0; i < runs->nfiles; i++)
	{
		Source		source = {.file = runs->files[i]};

		while (read_record(runs, &source))
		{
			CHECK_FOR_INTERRUPTS();
			take(arg, source.row);
		}
		if (source.data)
			pfree(source.data);
		BufFileClose(source.file);
	}
	runs->nfiles = 0;
}

void
spill_close(SpillRuns *runs)
{
	if (runs->heap)
		end_merge(runs);
	for (int i = 0; i < runs->nfiles; i++)
		BufFileClose(runs->files[i]);
	if (runs->result)
		BufFileClose(runs->result);
	runs->nfiles = 0;
	runs->result = NULL;
	ExecDropSingleTupleTableSlot(runs->slot);
	MemoryContextDelete(runs->scratch);
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
	return runs->disk_bytes;
}
