/*
 * sorted_runs.c: states of gpu_rle(value, sort_key) that came in order of their keys.
 *
 * The merge takes from one piece what lies before the first key of all others, and looks for that place from the last
 * row of a run: where runs of one piece alternate with those of another it compares two keys a run.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type_d.h"
#include "lib/binaryheap.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "sorted_runs.h"

/* Runs of an answer to begin with. */
#define FIRST_RUNS 1024

/* Rows of a piece, on average, before another one begins. */
#define LEAST_PIECE 4096

bool
sortedruns_can_order(const VectorColumn *keys)
{
	gs_type		type;

	return keys->values->nulls == NULL && vectorjob_numbers(keys, &type);
}

/* ---------------------------------------------------------------- pieces */

/* Creates the runs of a state without rows. */
static void
create_runs(Collected *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->columns[0].context);
	SortedRuns *runs = palloc0(sizeof(SortedRuns));

	vector_type(&runs->end_type, INT4OID);
	runs->end_type.limit = state->call->types[1].limit;
	vector_init(&runs->ends, &runs->end_type, NULL, 0);
	runs->room = 4;
	runs->pieces = palloc_array(uint32, runs->room);
	state->runs = runs;
	MemoryContextSwitchTo(old);
}

bool
sortedruns_begin_piece(Collected *state)
{
	SortedRuns *runs;

	if (state->runs == NULL && collect_rows(state) > 0)
		return false;
	if (state->runs == NULL)
		create_runs(state);
	runs = state->runs;
	if (runs->npieces == runs->room)
	{
		runs->room *= 2;
		runs->pieces = repalloc_array(runs->pieces, uint32, runs->room);
	}
	runs->pieces[runs->npieces++] = runs->ends.rows;
	return true;
}

/* Returns the bytes of a value of a vector's type, which is no compressed one; its header counts. */
static inline Size
bytes_of(const VectorType *type, const char *value)
{
	return type->len > 0 ? (Size) type->len : type->len == -2 ? strlen(value) + 1 : VARSIZE_ANY(value);
}

/* Returns true if two of them are the same. */
static inline bool
same_bytes(const VectorType *type, const char *x, const char *y)
{
	Size		bytes = bytes_of(type, x);

	return bytes == bytes_of(type, y) && memcmp(x, y, bytes) == 0;
}

bool
sortedruns_same(const Vector *vector, uint32 a, uint32 b)
{
	bool		isnull = vector_is_null(vector, a);

	if (isnull || vector_is_null(vector, b))
		return isnull && vector_is_null(vector, b);
	return same_bytes(vector->type, vector_address(vector, a), vector_address(vector, b));
}

/* Returns true if a value is the same as a vector's last one; compressed ones are not looked at. */
static inline bool
same_as_last(const Vector *vector, const NullableDatum *value)
{
	const VectorType *type = vector->type;
	bool		isnull;
	Datum		last = vector_get(vector, vector->rows - 1, &isnull);
	const char *x = DatumGetPointer(last);
	const char *y = DatumGetPointer(value->value);

	if (isnull || value->isnull)
		return isnull && value->isnull;
	if (type->byval)
		return last == value->value;
	if (type->len != -1)
		return same_bytes(type, x, y);
	if (VARATT_IS_EXTERNAL(y) || VARATT_IS_COMPRESSED(y) || VARSIZE_ANY_EXHDR(x) != VARSIZE_ANY_EXHDR(y))
		return false;
	return memcmp(VARDATA_ANY(x), VARDATA_ANY(y), VARSIZE_ANY_EXHDR(x)) == 0;
}

/* Returns true if the keys of a state's rows are in order, and enough of their neighbours' values are the same. */
static bool
has_sorted_runs(const Collected *state)
{
	const Vector *keys = &state->columns[0];
	VectorColumn column = collect_column(state, 0);
	uint32		same = 0;
	bool		isnull;

	if (!sortedruns_can_order(&column))
		return false;
	for (uint32 row = 1; row < keys->rows; row++)
	{
		if (ApplySortComparator(vector_get(keys, row - 1, &isnull), false, vector_get(keys, row, &isnull), false,
								state->call->small.full) > 0)
			return false;
		same += sortedruns_same(&state->columns[1], row - 1, row);
	}
	return same >= keys->rows / SORTEDRUNS_LEAST_SAME;
}

void
sortedruns_try(Collected *state)
{
	Vector		values = state->columns[1];
	Vector	   *ends;
	MemoryContext old;

	if (!has_sorted_runs(state))
		return;
	old = MemoryContextSwitchTo(values.context);
	vector_init(&state->columns[1], values.type, NULL, 0);
	create_runs(state);
	MemoryContextSwitchTo(old);
	ends = &state->runs->ends;
	state->runs->pieces[state->runs->npieces++] = 0;
	for (uint32 row = 0; row < values.rows; row++)
	{
		bool		isnull;
		Datum		value = vector_get(&values, row, &isnull);

		/* the rows themselves are within the limit */
		if ((row == 0 || !sortedruns_same(&values, row - 1, row)) &&
			(!vector_append(&state->columns[1], value, isnull) || !vector_append(ends, Int32GetDatum(0), false)))
			vector_limit_error(&state->columns[1]);
		((uint32 *) ends->data)[ends->rows - 1] = row + 1;
	}
	vector_free(&values);
}

bool
sortedruns_add(Collected *state, const NullableDatum *row)
{
	Vector	   *keys = &state->columns[0];
	Vector	   *ends = &state->runs->ends;
	Datum		key = row[0].value;
	bool		isnull;
	bool		follows;
	Datum		plain;

	if (row[0].isnull)
		return false;
	follows = ApplySortComparator(vector_get(keys, keys->rows - 1, &isnull), false, key, false,
								  state->call->small.full) <= 0;
	/* a scan that begins in the middle of a table has one such place; pieces that get short are no order */
	if (!follows && (keys->rows < (uint64) LEAST_PIECE * state->runs->npieces || !sortedruns_begin_piece(state)))
		return false;
	if (!follows || !same_as_last(&state->columns[1], &row[1]))
	{
		store_att_byval(&plain, key, keys->type->len);
		return sortedruns_put(state, &row[1], (char *) &plain, 1) == 1;
	}
	if (!vector_append(keys, key, false))
		return false;
	((uint32 *) ends->data)[ends->rows - 1] = keys->rows;
	return true;
}

uint64
sortedruns_put(Collected *state, const NullableDatum *value, const char *keys, uint64 count)
{
	Vector	   *ends = &state->runs->ends;
	uint64		done;

	if (!vector_append(&state->columns[1], value->value, value->isnull))
		return 0;
	if (!vector_append(ends, Int32GetDatum((int32) state->columns[0].rows), false))
	{
		vector_drop_last(&state->columns[1]);
		return 0;
	}
	done = vector_append_fixed(&state->columns[0], keys, count);
	((uint32 *) ends->data)[ends->rows - 1] = state->columns[0].rows;
	return done;
}

void
sortedruns_expand(FunctionCallInfo fcinfo, Collected *state)
{
	SortedRuns *runs = state->runs;
	const uint32 *ends = (const uint32 *) runs->ends.data;
	MemoryContext old = MemoryContextSwitchTo(state->columns[0].context);
	Vector		columns[2];
	NullableDatum row[2];
	uint32		at = 0;

	for (int i = 0; i < 2; i++)
	{
		columns[i] = state->columns[i];
		vector_init(&state->columns[i], columns[i].type, NULL, 0);
	}
	MemoryContextSwitchTo(old);
	state->runs = NULL;
	for (uint32 run = 0; run < runs->ends.rows; run++)
	{
		CHECK_FOR_INTERRUPTS();
		row[1].value = vector_get(&columns[1], run, &row[1].isnull);
		for (; at < ends[run]; at++)
		{
			row[0].value = vector_get(&columns[0], at, &row[0].isnull);
			collect_put_pair(fcinfo, state, row);
		}
	}
	vector_free(&columns[0]);
	vector_free(&columns[1]);
	vector_free(&runs->ends);
	pfree(runs->pieces);
	pfree(runs);
}

/* ---------------------------------------------------------------- merge */

/* A piece being merged: its present run, and the rest of that run's rows. */
typedef struct MergePiece
{
	uint32		run;
	uint32		last_run;		/* behind the piece */
	uint32		row;
	uint32		end;
} MergePiece;

typedef struct Merge
{
	const Collected *state;
	SortSupport compare;
	const uint32 *ends;
	MergePiece *pieces;
	binaryheap *heap;			/* of pieces with rows; the first has the first row */
} Merge;

/* The runs found so far. */
typedef struct FoundRuns
{
	BigMem	   *mem;
	gs_run	   *runs;
	uint64		count;
	uint64		room;
} FoundRuns;

/* Returns true if a row of a piece comes before a row of another.  Equal ones come in order of the pieces. */
static inline bool
comes_before(const Merge *merge, int a, uint32 a_row, int b, uint32 b_row)
{
	const Vector *keys = &merge->state->columns[0];
	const VectorType *type = keys->type;
	Datum		x = fetch_att(keys->data + (Size) a_row * type->stride, true, type->len);
	Datum		y = fetch_att(keys->data + (Size) b_row * type->stride, true, type->len);
	int			order = ApplySortComparator(x, false, y, false, merge->compare);

	return order < 0 || (order == 0 && a < b);
}

/* Comparator of the heap, whose first node is the greatest. */
static int
compare_pieces(Datum a, Datum b, void *arg)
{
	const Merge *merge = arg;
	int			x = DatumGetInt32(a);
	int			y = DatumGetInt32(b);

	return comes_before(merge, x, merge->pieces[x].row, y, merge->pieces[y].row) ? 1 : -1;
}

/* Returns the piece that has the first row of all but the heap's first; -1: there is no other. */
static int
second_piece(const Merge *merge)
{
	const binaryheap *heap = merge->heap;
	int			left;
	int			right;

	if (heap->bh_size < 2)
		return -1;
	left = DatumGetInt32(heap->bh_nodes[1]);
	if (heap->bh_size == 2)
		return left;
	right = DatumGetInt32(heap->bh_nodes[2]);
	return compare_pieces(Int32GetDatum(left), Int32GetDatum(right), (void *) merge) > 0 ? left : right;
}

/* Returns the end of a piece's rows, of its present run, that come before another's.  The first one does. */
static uint32
rows_before(const Merge *merge, int number, int other)
{
	const MergePiece *piece = &merge->pieces[number];
	uint32		before = piece->row;
	uint32		behind = piece->end;
	uint32		limit;
	uint32		step = 1;

	if (other < 0)
		return behind;
	limit = merge->pieces[other].row;
	if (comes_before(merge, number, behind - 1, other, limit))
		return behind;
	behind--;
	/* steps that double, then halves of the last */
	for (; behind - before > step && comes_before(merge, number, before + step, other, limit); step *= 2)
		before += step;
	behind = Min(behind, before + step);
	while (behind - before > 1)
	{
		uint32		middle = before + (behind - before) / 2;

		if (comes_before(merge, number, middle, other, limit))
			before = middle;
		else
			behind = middle;
	}
	return behind;
}

/* Adds rows of a run to the answer: to its last run, if the values are equal. */
static void
found_rows(FoundRuns *found, const Collected *state, uint32 run, uint32 length)
{
	const Vector *values = &state->columns[1];
	bool		isnull;
	bool		last_null;
	Datum		value = vector_get(values, run, &isnull);

	if (found->count > 0)
	{
		gs_run	   *last = &found->runs[found->count - 1];
		Datum		last_value = vector_get(values, last->row, &last_null);

		if (last->row == run ||
			(isnull == last_null && (isnull || equality_holds(&state->call->equality, last_value, value))))
		{
			last->length += length;
			return;
		}
	}
	if (found->count == found->room)
	{
		found->room *= 2;
		found->runs = bigmem_resize(found->mem, found->runs, found->room * sizeof(gs_run));
		if (found->runs == NULL)
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	}
	found->runs[found->count++] = (gs_run) {run, length};
}

/* Moves a piece to a row.  Returns false at its end. */
static bool
move_piece(const Merge *merge, MergePiece *piece, uint32 row)
{
	piece->row = row;
	if (row < piece->end)
		return true;
	if (++piece->run == piece->last_run)
		return false;
	piece->end = merge->ends[piece->run];
	return true;
}

/* Starts a merge of all pieces. */
static void
open_merge(Merge *merge, const Collected *state)
{
	const SortedRuns *runs = state->runs;

	merge->state = state;
	merge->compare = state->call->small.full;
	merge->ends = (const uint32 *) runs->ends.data;
	merge->pieces = palloc_array(MergePiece, runs->npieces);
	merge->heap = binaryheap_allocate(runs->npieces, compare_pieces, merge);
	for (int i = 0; i < runs->npieces; i++)
	{
		uint32		first = runs->pieces[i];

		merge->pieces[i] = (MergePiece) {first, i + 1 < runs->npieces ? runs->pieces[i + 1] : runs->ends.rows,
		first == 0 ? 0 : merge->ends[first - 1], merge->ends[first]};
		binaryheap_add_unordered(merge->heap, Int32GetDatum(i));
	}
	binaryheap_build(merge->heap);
}

const gs_run *
sortedruns_merge(BigMem *mem, const Collected *state, uint64 *count)
{
	MemoryContext old = MemoryContextSwitchTo(bigmem_context(mem));
	FoundRuns	found = {.mem = mem, .room = FIRST_RUNS};
	Merge		merge;

	found.runs = bigmem_alloc(mem, found.room * sizeof(gs_run));
	if (found.runs == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	for (open_merge(&merge, state); !binaryheap_empty(merge.heap);)
	{
		int			number = DatumGetInt32(binaryheap_first(merge.heap));
		MergePiece *piece = &merge.pieces[number];
		int			other = second_piece(&merge);
		bool		more;

		do
		{
			uint32		end = rows_before(&merge, number, other);

			CHECK_FOR_INTERRUPTS();
			found_rows(&found, state, piece->run, end - piece->row);
			more = move_piece(&merge, piece, end);
		} while (more && (other < 0 || comes_before(&merge, number, piece->row, other, merge.pieces[other].row)));
		if (more)
			binaryheap_replace_first(merge.heap, Int32GetDatum(number));
		else
			(void) binaryheap_remove_first(merge.heap);
	}
	MemoryContextSwitchTo(old);
	*count = found.count;
	return found.runs;
}
