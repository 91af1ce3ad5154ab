/*
 * partial.c: states of aggregates that a parallel worker, or a partition, hands over: written as bytes.
 *
 * In order where the final function takes the values from where they lie, each value once where it only counts them.
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
#include "src/compat.h"
#include "src/keys/sortkey.h"
#include "vectordirect.h"

PG_FUNCTION_INFO_V1(gpusort_serialize_sorted);
PG_FUNCTION_INFO_V1(gpusort_serialize_values);
PG_FUNCTION_INFO_V1(gpusort_serialize_distinct);

/* Fewer rows than this are written as they came: the final function puts them in order anyway. */
#define FEW_ROWS 256

/* Rows from one that is written to one that is fetched from memory meanwhile. */
#define AHEAD 16

ValueForm *
partial_forms(CollectCall *call)
{
	MemoryContext cxt = call->comparison->ssup_cxt;

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
	bool		sealed = false;

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

/* Bytes with a header in which the number of rows is still to come; the first are for the length of a bytea. */
static StateHeader
begin_bytes(StringInfo bytes, const Collected *state, const ValueForm *forms)
{
	StateHeader header;

	memset(&header, 0, sizeof(header));
	header.version = STATE_VERSION;
	header.encoding = (uint8) GetDatabaseEncoding();
	header.ncolumns = (uint8) state->call->ncolumns;
	header.byte_order = BYTE_ORDER_MARK;
	header.fraction = state->fraction;
	for (int i = 0; i < state->call->ncolumns; i++)
	{
		header.columns[i].how = (uint8) forms[i].how;
		header.columns[i].width = forms[i].width;
		header.columns[i].nullable = state->spill || state->columns[i].nulls;
	}
	initStringInfo(bytes);
	appendStringInfoSpaces(bytes, VARHDRSZ + sizeof(header));
	return header;
}

/* The bytes as a datum, with their number of rows and their seal. */
static bytea *
end_bytes(StringInfo bytes, StateHeader *header, const CollectCall *call, uint64 rows)
{
	char	   *state = bytes->data + VARHDRSZ;

	header->rows = rows;
	memcpy(state, header, sizeof(*header));
	header->seal = partial_seal(call, state, (Size) bytes->len - VARHDRSZ);
	memcpy(state, &header->seal, sizeof(header->seal));
	SET_VARSIZE(bytes->data, bytes->len);
	return (bytea *) bytes->data;
}

/* Appends a column's value in a row. */
static inline void
put_value(StringInfo bytes, ValueForm *form, bool nullable, Datum value, bool isnull)
{
	if (nullable)
	{
		valueform_reserve(bytes, 1);
		bytes->data[bytes->len++] = isnull;
	}
	if (!isnull)
		valueform_put(form, bytes, value);
}

/* Copies a value of fixed width. */
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

/* Appends so many rows of vectors whose values all have a fixed width, in an order or as they came. */
static void
put_fixed_rows(StringInfo bytes, const StateHeader *header, const Collected *state, const uint32 *order, uint64 count)
{
	int			ncolumns = state->call->ncolumns;
	Size		row_bytes = 0;
	char	   *to;

	for (int c = 0; c < ncolumns; c++)
		row_bytes += header->columns[c].nullable + header->columns[c].width;
	valueform_reserve(bytes, row_bytes * count);
	to = bytes->data + bytes->len;
	for (uint64 i = 0; i < count; i++)
	{
		uint32		row = order ? order[i] : (uint32) i;

		if (i % PARTIAL_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
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
	bytes->len = (int) (to - bytes->data);
}

/* Appends so many rows of the vectors, in an order or as they came. */
static void
put_rows(StringInfo bytes, const StateHeader *header, const Collected *state, const uint32 *order, uint64 count)
{
	int			ncolumns = state->call->ncolumns;
	ValueForm  *forms = state->call->forms;

	if (forms[0].how == VALUE_FIXED && forms[ncolumns - 1].how == VALUE_FIXED)
	{
		put_fixed_rows(bytes, header, state, order, count);
		return;
	}
	for (uint64 i = 0; i < count; i++)
	{
		uint32		row = order ? order[i] : (uint32) i;

		if (i % PARTIAL_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
		if (order && i + AHEAD < count)
			for (int c = 0; c < ncolumns; c++)
				__builtin_prefetch(vector_address(&state->columns[c], order[i + AHEAD]));
		for (int c = 0; c < ncolumns; c++)
		{
			bool		isnull;
			Datum		value = vector_get(&state->columns[c], row, &isnull);

			put_value(bytes, &forms[c], header->columns[c].nullable, value, isnull);
		}
	}
}

/* Appends all rows of a state that has spilled; or of its first column each value once.  Returns how many. */
static uint64
put_spilled_rows(StringInfo bytes, const StateHeader *header, Collected *state, bool distinct)
{
	ValueForm  *forms = state->call->forms;
	CollectDistinct reader;
	TupleTableSlot *slot;
	uint64		count = 0;

	if (distinct)
	{
		collect_distinct_begin(&reader, state);
		for (; collect_distinct_next(&reader, state); count++)
			put_value(bytes, &forms[0], header->columns[0].nullable, reader.last, false);
		return count;
	}
	collect_rewind(state);
	for (; slot = collect_next(state), !TupIsNull(slot); count++)
	{
		slot_getallattrs(slot);
		for (int c = 0; c < state->call->ncolumns; c++)
			put_value(bytes, &forms[c], header->columns[c].nullable, slot->tts_values[c], slot->tts_isnull[c]);
	}
	return count;
}

/* How a state's rows are to be written. */
typedef enum RowsWanted
{
	ROWS_SORTED,				/* in order: the final function takes all of them from where they lie */
	ROWS_AS_THEY_CAME,
	ROWS_DISTINCT				/* each value once, unless that saves little */
} RowsWanted;

/* Writes the first rows of runs to the place of the runs, and returns it. */
static const uint32 *
first_rows(gs_run *runs, uint64 count)
{
	uint32	   *rows = (uint32 *) runs;

	for (uint64 i = 0; i < count; i++)
		rows[i] = runs[i].row;
	return rows;
}

/* The rows of a state in memory that are to be written, and how many they are; NULL for all as they came. */
static const uint32 *
choose_rows(BigMem *mem, const Collected *state, RowsWanted wanted, uint64 *count)
{
	VectorColumn column = collect_column(state, 0);
	uint64		rows = state->columns[0].rows;
	const char *why;
	gs_run	   *runs;

	*count = rows;
	if (rows < FEW_ROWS || wanted == ROWS_AS_THEY_CAME)
		return NULL;
	if (wanted == ROWS_SORTED)
		return vectorjob_order(mem, &column, 1);
	if (vectordirect_can(&column) && vectordirect_distinct(mem, &column) > rows / 2)
		return NULL;
	runs = vectorjob_runs(mem, &column, 1, 1, 1, count);
	if (*count <= rows / 2 || !sortkey_is_exact(state->call->sortop, state->call->collation, &why))
		return first_rows(runs, *count);
	*count = rows;
	return NULL;
}

/* The state of argument 0 as bytes. */
static Datum
serialize(FunctionCallInfo fcinfo, RowsWanted wanted)
{
	Collected  *state = (Collected *) PG_GETARG_POINTER(0);
	ValueForm  *forms = partial_forms(state->call);
	StringInfoData bytes;
	StateHeader header = begin_bytes(&bytes, state, forms);
	uint64		count;

	if (state->spill)
		count = put_spilled_rows(&bytes, &header, state, wanted == ROWS_DISTINCT);
	else
	{
		BigMem	   *mem = bigmem_create(AllocSetContextCreate(CurrentMemoryContext, "gpusort state",
															  ALLOCSET_SMALL_SIZES));
		const uint32 *rows = choose_rows(mem, state, wanted, &count);

		put_rows(&bytes, &header, state, rows, count);
		MemoryContextDelete(bigmem_context(mem));
	}
	PG_RETURN_BYTEA_P(end_bytes(&bytes, &header, state->call, count));
}

/* Serialize functions: of gpu_sort_agg and gpu_rle, of the percentiles, and of gpu_count_distinct. */
Datum
gpusort_serialize_sorted(PG_FUNCTION_ARGS)
{
	return serialize(fcinfo, ROWS_SORTED);
}

Datum
gpusort_serialize_values(PG_FUNCTION_ARGS)
{
	return serialize(fcinfo, ROWS_AS_THEY_CAME);
}

Datum
gpusort_serialize_distinct(PG_FUNCTION_ARGS)
{
	return serialize(fcinfo, ROWS_DISTINCT);
}
