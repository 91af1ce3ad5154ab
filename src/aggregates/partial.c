/*
 * partial.c: serializes states for parallel workers and partitions, values sorted or distinct as their use allows.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_control.h"
#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "partial.h"
#include "sorted_runs.h"
#include "src/base/compat.h"
#include "src/base/sql_function.h"
#include "statefile.h"
#include "src/arrays/vectordirect.h"

/* Fewer rows are not sorted here, as the final function sorts them anyway. */
#define FEW_ROWS 256

/* Sample size for estimating the number of distinct values. */
#define SAMPLE_ROWS 4096

ValueForm *
partial_forms(CollectCall *call)
{
	MemoryContext cxt = call->small.full->ssup_cxt;

	if (call->forms == NULL)
	{
		ValueForm  *forms = MemoryContextAlloc(cxt, call->ncolumns * sizeof(ValueForm));

		for (int i = 0; i < call->ncolumns; i++)
			valueform_open(&forms[i], &call->types[i], cxt);
		call->forms = forms;
	}
	return call->forms;
}

uint64
partial_seal(const CollectCall *call, const char *bytes, Size length)
{
	const PGPROC *leader = MyProc->lockGroupLeader ? MyProc->lockGroupLeader : MyProc;
	const unsigned char *secret = (const unsigned char *) GetMockAuthenticationNonce();
	uint64		key = hash_bytes_extended(secret, MOCK_AUTH_NONCE_LEN, 0);
	bool		sealed = bytes[offsetof(StateHeader, content)] == STATE_IN_FILE;

	key = hash_combine64(key, (uint64) leader->pid);
	for (int i = 0; i < call->ncolumns; i++)
		if (call->forms[i].how == VALUE_DATUM)
		{
			key = hash_combine64(key, call->types[i].type);
			sealed = true;
		}
	if (!sealed)
		return 0;
	return hash_bytes_extended((const unsigned char *) bytes + sizeof(uint64), (int) (length - sizeof(uint64)), key);
}

/* A state being serialized to bytes, or to pieces of a file, each of which is a complete state. */
typedef struct StateWriter
{
	const Collected *state;
	StateHeader header;
	StringInfoData bytes;		/* starts with room for a varlena header */
	uint64		rows;			/* rows in bytes */
	Size		piece_bytes;	/* limit of bytes, above which they go to a file */
	StateFile  *file;			/* NULL: none so far */
} StateWriter;

/* Starts a piece, with room for its header. */
static void
begin_bytes(StateWriter *writer)
{
	resetStringInfo(&writer->bytes);
	appendStringInfoSpaces(&writer->bytes, VARHDRSZ + sizeof(StateHeader));
	writer->rows = 0;
}

/* Completes a piece. */
static void
seal_bytes(StateWriter *writer)
{
	char	   *state = writer->bytes.data + VARHDRSZ;
	StateHeader *header = &writer->header;

	header->rows = writer->rows;
	header->seal = 0;
	memcpy(state, header, sizeof(*header));
	header->seal = partial_seal(writer->state->call, state, (Size) writer->bytes.len - VARHDRSZ);
	memcpy(state, &header->seal, sizeof(header->seal));
}

/* Starts a state with the header that the reader checks: version, encoding, byte order, forms of values. */
static void
open_writer(StateWriter *writer, FunctionCallInfo fcinfo, const Collected *state)
{
	const ValueForm *forms = partial_forms(state->call);
	StateHeader *header = &writer->header;

	memset(writer, 0, sizeof(*writer));
	writer->state = state;
	writer->piece_bytes = statefile_may_be_used(fcinfo) ? statefile_piece_bytes() : MaxAllocSize;
	header->version = STATE_VERSION;
	header->encoding = (uint8) GetDatabaseEncoding();
	header->ncolumns = (uint8) state->call->ncolumns;
	header->byte_order = BYTE_ORDER_MARK;
	header->fraction = state->call->ncolumns == 1 ? state->fraction : 0;
	for (int i = 0; i < state->call->ncolumns; i++)
	{
		header->columns[i].how = (uint8) forms[i].how;
		header->columns[i].width = forms[i].width;
		header->columns[i].nullable = state->spill || state->columns[i].nulls;
	}
	initStringInfo(&writer->bytes);
	begin_bytes(writer);
}

/* Writes the current piece to the file. */
static void
put_piece(StateWriter *writer)
{
	if (writer->file == NULL)
		writer->file = statefile_create();
	seal_bytes(writer);
	statefile_put(writer->file, writer->bytes.data + VARHDRSZ, (Size) writer->bytes.len - VARHDRSZ);
	begin_bytes(writer);
}

/* Counts complete rows, and starts a new piece if this one is large enough. */
static inline void
rows_are_put(StateWriter *writer, uint64 rows)
{
	writer->rows += rows;
	if (unlikely((Size) writer->bytes.len > writer->piece_bytes))
		put_piece(writer);
}

/* Returns the serialized state: the bytes, or their place in a file. */
static bytea *
close_writer(StateWriter *writer)
{
	if (writer->file)
	{
		StatePlace	place;

		if (writer->rows > 0)
			put_piece(writer);
		place = statefile_finish(writer->file);
		writer->header.content = STATE_IN_FILE;
		writer->header.version = STATE_VERSION;
		appendBinaryStringInfo(&writer->bytes, (const char *) &place, sizeof(place));
	}
	seal_bytes(writer);
	SET_VARSIZE(writer->bytes.data, writer->bytes.len);
	return (bytea *) writer->bytes.data;
}

/* Appends a column's value. */
static inline void
put_value(StateWriter *writer, int column, Datum value, bool isnull)
{
	StringInfo	bytes = &writer->bytes;

	if (writer->header.columns[column].nullable)
	{
		valueform_reserve(bytes, 1);
		bytes->data[bytes->len++] = isnull;
	}
	if (!isnull)
		valueform_put(&writer->state->call->forms[column], bytes, value);
}

/* Copies a fixed-width value. */
static inline char *
copy_fixed(char *to, const char *from, Size width)
{
	if (width == 8)
		memcpy(to, from, 8);
	else if (width == 4)
		memcpy(to, from, 4);
	else
		memcpy(to, from, width);
	return to + width;
}

/* Copies rows whose columns all have a fixed width, in an order or as they arrived. */
static char *
copy_fixed_rows(const StateWriter *writer, char *to, const uint32 *order, uint64 begin, uint64 end)
{
	const StateHeader *header = &writer->header;
	const Collected *state = writer->state;
	int			ncolumns = state->call->ncolumns;

	for (uint64 i = begin; i < end; i++)
	{
		uint32		row = order ? order[i] : (uint32) i;

		if (order && i + VECTOR_AHEAD < end)
			for (int c = 0; c < ncolumns; c++)
				vector_prefetch(&state->columns[c], order[i + VECTOR_AHEAD], row);
		for (int c = 0; c < ncolumns; c++)
		{
			const Vector *vector = &state->columns[c];
			bool		isnull = vector_is_null(vector, row);

			if (header->columns[c].nullable)
				*to++ = isnull;
			if (!isnull)
				to = copy_fixed(to, vector->data + (Size) row * vector->type->stride, header->columns[c].width);
		}
	}
	return to;
}

/* Appends such rows, block by block. */
static void
put_fixed_rows(StateWriter *writer, const uint32 *order, uint64 count)
{
	StringInfo	bytes = &writer->bytes;
	Size		row_bytes = 0;
	uint64		n;

	for (int c = 0; c < writer->state->call->ncolumns; c++)
		row_bytes += writer->header.columns[c].nullable + writer->header.columns[c].width;
	/* reserve once for all rows that stay in memory */
	valueform_reserve(bytes, row_bytes * Min(count, writer->piece_bytes / row_bytes + PARTIAL_BLOCK));
	for (uint64 done = 0; done < count; done += n)
	{
		CHECK_FOR_INTERRUPTS();
		n = Min(count - done, PARTIAL_BLOCK);
		valueform_reserve(bytes, row_bytes * n);
		bytes->len = (int) (copy_fixed_rows(writer, bytes->data + bytes->len, order, done, done + n) - bytes->data);
		rows_are_put(writer, n);
	}
}

/* Appends count rows of the vectors, in an order or as they arrived. */
static void
put_rows(StateWriter *writer, const uint32 *order, uint64 count)
{
	const Collected *state = writer->state;
	int			ncolumns = state->call->ncolumns;
	const ValueForm *forms = state->call->forms;

	if (forms[0].how == VALUE_FIXED && forms[ncolumns - 1].how == VALUE_FIXED)
	{
		put_fixed_rows(writer, order, count);
		return;
	}
	for (uint64 i = 0; i < count; i++)
	{
		uint32		row = order ? order[i] : (uint32) i;

		if (i % PARTIAL_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
		if (order && i + 2 * VECTOR_AHEAD < count)
			for (int c = 0; c < ncolumns; c++)
				vector_prefetch(&state->columns[c], order[i + VECTOR_AHEAD], order[i + 2 * VECTOR_AHEAD]);
		for (int c = 0; c < ncolumns; c++)
		{
			bool		isnull;
			Datum		value = vector_get(&state->columns[c], row, &isnull);

			put_value(writer, c, value, isnull);
		}
		rows_are_put(writer, 1);
	}
}

/* Returns true if enough neighbours of a sample are the same that runs are less work than rows (measured). */
static bool
has_runs(const Vector *values, const uint32 *order)
{
	uint32		step = Max(values->rows / SAMPLE_ROWS, 1);
	uint32		compared = 0;
	uint32		same = 0;

	for (uint32 i = 1; i < values->rows; i += step, compared++)
		same += sortedruns_same(values, order[i - 1], order[i]);
	return same >= compared / SORTEDRUNS_LEAST_SAME;
}

/* Returns the end of the run that begins at a place of an order: of rows whose last column is the same. */
static uint64
end_of_run(const Collected *state, const uint32 *order, uint64 begin, uint64 count)
{
	uint64		end = begin + 1;

	for (; end < count && end - begin < PARTIAL_BLOCK; end++)
	{
		if (end + 2 * VECTOR_AHEAD < count)
			for (int c = 0; c < 2; c++)
				vector_prefetch(&state->columns[c], order[end + VECTOR_AHEAD], order[end + 2 * VECTOR_AHEAD]);
		if (!sortedruns_same(&state->columns[1], order[end - 1], order[end]))
			break;
	}
	return end;
}

/* Appends a run: its value, its length, and room for its rows' keys, which is returned. */
static char *
put_run(StateWriter *writer, uint32 value_row, uint32 length)
{
	bool		isnull;
	Datum		value = vector_get(&writer->state->columns[1], value_row, &isnull);
	Size		key_bytes = length * writer->header.columns[0].width;
	StringInfo	bytes = &writer->bytes;

	CHECK_FOR_INTERRUPTS();
	put_value(writer, 1, value, isnull);
	valueform_reserve(bytes, sizeof(length) + key_bytes);
	memcpy(bytes->data + bytes->len, &length, sizeof(length));
	bytes->len += (int) (sizeof(length) + key_bytes);
	return bytes->data + bytes->len - key_bytes;
}

/* Has runs follow. */
static void
begin_runs(StateWriter *writer)
{
	writer->header.version = STATE_VERSION_RUNS;
	writer->header.content = STATE_RUNS;
}

/* Appends pairs in order of their keys: each run's value once, and the keys of its rows. */
static void
put_runs(StateWriter *writer, const uint32 *order, uint64 count)
{
	const Vector *keys = &writer->state->columns[0];
	Size		width = writer->header.columns[0].width;
	uint64		end;

	begin_runs(writer);
	for (uint64 begin = 0; begin < count; begin = end)
	{
		char	   *to;

		end = end_of_run(writer->state, order, begin, count);
		to = put_run(writer, order[begin], (uint32) (end - begin));
		for (uint64 i = begin; i < end; i++)
			to = copy_fixed(to, keys->data + (Size) order[i] * width, width);
		rows_are_put(writer, end - begin);
	}
}

/* Appends the runs that a state has. */
static void
put_own_runs(StateWriter *writer)
{
	const Collected *state = writer->state;
	const uint32 *ends = (const uint32 *) state->runs->ends.data;
	Size		width = writer->header.columns[0].width;
	uint32		row = 0;

	begin_runs(writer);
	for (uint32 run = 0; run < state->runs->ends.rows; run++)
		while (row < ends[run])
		{
			uint32		length = Min(ends[run] - row, PARTIAL_BLOCK);

			memcpy(put_run(writer, run, length), state->columns[0].data + (Size) row * width, length * width);
			rows_are_put(writer, length);
			row += length;
		}
}

/* Appends all rows of a spilled state, or the distinct values of its first column. */
static void
put_spilled_rows(StateWriter *writer, Collected *state, bool distinct)
{
	CollectDistinct reader;
	TupleTableSlot *slot;

	if (distinct)
	{
		collect_distinct_begin(&reader, state);
		while (collect_distinct_next(&reader, state))
		{
			put_value(writer, 0, reader.last, false);
			rows_are_put(writer, 1);
		}
		return;
	}
	vectorsort_rewind(state->spill);
	while (slot = vectorsort_next(state->spill), !TupIsNull(slot))
	{
		slot_getallattrs(slot);
		for (int c = 0; c < state->call->ncolumns; c++)
			put_value(writer, c, slot->tts_values[c], slot->tts_isnull[c]);
		rows_are_put(writer, 1);
	}
}

/* Which rows to write, and in which order. */
typedef enum RowsWanted
{
	ROWS_SORTED,				/* in order: the final function uses all of them in place */
	ROWS_AS_THEY_CAME,
	ROWS_DISTINCT				/* distinct values, unless that saves little */
} RowsWanted;

/* Appends distinct numbers. */
static void
put_numbers(StateWriter *writer, const VectorColumn *column, const uint64 *numbers, uint64 count)
{
	StringInfo	bytes = &writer->bytes;
	Size		width = writer->header.columns[0].width;
	uint64		n;

	for (uint64 done = 0; done < count; done += n)
	{
		CHECK_FOR_INTERRUPTS();
		n = Min(count - done, PARTIAL_BLOCK);
		valueform_reserve(bytes, width * n);
		vectordirect_store(column, numbers + done, n, bytes->data + bytes->len);
		bytes->len += (int) (width * n);
		rows_are_put(writer, n);
	}
}

/* Returns true if at most a quarter of the values seem distinct: of n sampled, n² / 2d pairs are equal. */
static bool
values_repeat(BigMem *mem, const VectorColumn *column)
{
	const Vector *values = column->values;
	VectorType	vtype = *values->type;
	Vector		sample;
	VectorColumn sampled = *column;
	uint64		rows = values->rows;
	uint64		step = rows / SAMPLE_ROWS;
	uint64		different;
	MemoryContext old;

	if (step < 2)
		return true;
	old = MemoryContextSwitchTo(bigmem_context(mem));
	vtype.limit = MaxAllocSize;
	vector_init(&sample, &vtype, NULL, 0);
	for (uint64 i = 0; i < SAMPLE_ROWS; i++)
	{
		bool		isnull;
		Datum		value = vector_get(values, (uint32) (i * step + i % step), &isnull);

		if (!vector_append(&sample, value, isnull))
			break;
	}
	sampled.values = &sample;
	(void) vectorjob_runs(mem, &sampled, 1, true, &different);
	MemoryContextSwitchTo(old);
	return sample.rows - different >= (double) sample.rows * sample.rows / (rows / 4 * 2);
}

/* Appends the distinct values of a state in memory, or all if that saves little. */
static void
put_distinct(StateWriter *writer, BigMem *mem)
{
	const Collected *state = writer->state;
	VectorColumn column = collect_equal_column(state);
	uint64		rows = state->columns[0].rows;
	uint64		count = rows;
	const uint32 *first = NULL;

	if (vectordirect_can(&column) && state->call->forms[0].how == VALUE_FIXED)
	{
		uint64	   *numbers;

		count = vectordirect_distinct(mem, &column, &numbers);
		if (count <= rows / 2)
		{
			put_numbers(writer, &column, numbers, count);
			return;
		}
	}
	else if (values_repeat(mem, &column))
		first = vectorjob_first_rows(mem, &column, true, &count);
	put_rows(writer, first, first ? count : rows);
}

/* Appends pairs in order of their keys. */
static void
put_pairs(StateWriter *writer, BigMem *mem)
{
	const Vector *columns = writer->state->columns;
	VectorColumn keys = collect_column(writer->state, 0);
	const uint32 *order = vectorjob_order(mem, &keys, 1);

	if (sortedruns_can_order(&keys) && has_runs(&columns[1], order))
		put_runs(writer, order, columns[0].rows);
	else
		put_rows(writer, order, columns[0].rows);
}

/* Appends the rows of a state in memory. */
static void
put_collected(StateWriter *writer, RowsWanted wanted)
{
	const Vector *values = &writer->state->columns[0];
	BigMem	   *mem = collect_begin_work();
	VectorColumn column = collect_column(writer->state, 0);

	if (values->rows < FEW_ROWS || wanted == ROWS_AS_THEY_CAME)
		put_rows(writer, NULL, values->rows);
	else if (writer->state->call->ncolumns == 2)
		put_pairs(writer, mem);
	else if (wanted == ROWS_SORTED)
		put_rows(writer, vectorjob_order(mem, &column, 1), values->rows);
	else
		put_distinct(writer, mem);
	collect_end_work(mem);
}

/* Serializes the state in argument 0. */
static Datum
serialize(FunctionCallInfo fcinfo, RowsWanted wanted)
{
	Collected  *state = (Collected *) PG_GETARG_POINTER(0);
	StateWriter writer;

	bool		runs = state->call->ncolumns == 2 && state->runs != NULL;

	if (runs && state->runs->npieces > 1)
	{
		sortedruns_expand(fcinfo, state);
		runs = false;
	}
	open_writer(&writer, fcinfo, state);
	if (runs)
		put_own_runs(&writer);
	else if (state->spill)
		put_spilled_rows(&writer, state, wanted == ROWS_DISTINCT);
	else
		put_collected(&writer, wanted);
	PG_RETURN_BYTEA_P(close_writer(&writer));
}

/* Serialize function of gpu_sort_agg and gpu_rle, whose values are sorted. */
SQL_FUNCTION(gpusort_serialize_sorted, serialize(fcinfo, ROWS_SORTED));

/* Serialize function of percentiles, whose values need no order yet. */
SQL_FUNCTION(gpusort_serialize_values, serialize(fcinfo, ROWS_AS_THEY_CAME));

/* Serialize function of gpu_count_distinct, which needs distinct values. */
SQL_FUNCTION(gpusort_serialize_distinct, serialize(fcinfo, ROWS_DISTINCT));
