/*
 * partial.c: states of aggregates that a parallel worker, or a partition, hands over: as bytes, and combined.
 *
 * All aggregates have one form: a header, and the rows one after another, in the order of the first column where the
 * final function will need an order, so that it has only to merge.  Bytes are read when they are combined, because only
 * then it is known of what types they are; the deserialize function just hands them on.
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "collect.h"
#include "src/compat.h"
#include "src/keys/sortkey.h"
#include "vectordirect.h"

PG_FUNCTION_INFO_V1(gpusort_serialize_sorted);
PG_FUNCTION_INFO_V1(gpusort_serialize_values);
PG_FUNCTION_INFO_V1(gpusort_serialize_distinct);
PG_FUNCTION_INFO_V1(gpusort_deserialize);
PG_FUNCTION_INFO_V1(gpusort_combine_all);
PG_FUNCTION_INFO_V1(gpusort_combine_values);
PG_FUNCTION_INFO_V1(gpusort_combine_fraction);
PG_FUNCTION_INFO_V1(gpusort_combine_pairs);

#define STATE_VERSION 1

/* Rows between two looks at interrupts. */
#define BLOCK_ROWS 4096

/* Fewer rows than this are written as they came: the final function puts them in order anyway. */
#define FEW_ROWS 256

/* Rows from one that is written to one that is fetched from memory meanwhile. */
#define AHEAD 16

/* What a state's bytes begin with; integers are in the machine's order. */
typedef struct StateHeader
{
	uint8		version;
	uint8		encoding;		/* of text */
	uint8		ncolumns;
	uint8		unused;			/* 0, as all that is not used */
	struct
	{
		uint8		how;		/* as in ValueForm */
		uint8		nullable;	/* 1: a byte before each value says whether there is one */
		uint16		width;
	}			columns[COLLECT_MAX_COLUMNS];
	uint32		byte_order;		/* BYTE_ORDER_MARK */
	double		fraction;
	uint64		rows;
} StateHeader;

#define BYTE_ORDER_MARK 0x01020304

/* A state in bytes, before it is combined.  Where a Collected has its call there is NULL. */
typedef struct StateBytes
{
	CollectCall *call;
	ByteSource	source;
} StateBytes;

/* What an aggregate's states hold. */
typedef struct StateKind
{
	int			ncolumns;
	int			key;			/* the argument to sort by */
	bool		stable;			/* it counts in which order equal rows came */
	bool		nulls;
	bool		fraction;
} StateKind;

static const StateKind kind_all = {.ncolumns = 1, .stable = true, .nulls = true};
static const StateKind kind_values = {.ncolumns = 1};
static const StateKind kind_fraction = {.ncolumns = 1, .stable = true, .fraction = true};
static const StateKind kind_pairs = {.ncolumns = 2, .key = 1, .stable = true, .nulls = true};

/* How the columns of a call's states are written. */
static ValueForm *
forms_of(CollectCall *call)
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

/*
 * Send and receive functions convert text from and to the client's encoding.  For the time of such calls that is the
 * server's own, as it is in parallel workers anyway.
 */
static int
begin_conversion(const CollectCall *call)
{
	int			encoding = pg_get_client_encoding();

	for (int i = 0; i < call->ncolumns; i++)
		if (valueform_converts(&call->forms[i]) && encoding != GetDatabaseEncoding())
		{
			if (SetClientEncoding(GetDatabaseEncoding()) < 0)
				elog(ERROR, "SetClientEncoding(%d) failed", GetDatabaseEncoding());
			return encoding;
		}
	return -1;
}

static void
end_conversion(int encoding)
{
	if (encoding >= 0 && SetClientEncoding(encoding) < 0)
		elog(FATAL, "SetClientEncoding(%d) failed", encoding);
}

/* ---------------------------------------------------------------- a state's bytes */

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

static bytea *
end_bytes(StringInfo bytes, StateHeader *header, uint64 rows)
{
	header->rows = rows;
	memcpy(bytes->data + VARHDRSZ, header, sizeof(*header));
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

		if (i % BLOCK_ROWS == 0)
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

		if (i % BLOCK_ROWS == 0)
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
	ValueForm  *forms = forms_of(state->call);
	StringInfoData bytes;
	StateHeader header = begin_bytes(&bytes, state, forms);
	int			encoding = begin_conversion(state->call);
	uint64		count;

	PG_TRY();
	{
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
	}
	PG_FINALLY();
	{
		end_conversion(encoding);
	}
	PG_END_TRY();
	PG_RETURN_BYTEA_P(end_bytes(&bytes, &header, count));
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

/* Deserialize function: bytes for a combine function, which is called next, while the argument is still there. */
Datum
gpusort_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	StateBytes *state = palloc(sizeof(StateBytes));

	state->call = NULL;
	state->source.at = VARDATA_ANY(bytes);
	state->source.end = state->source.at + VARSIZE_ANY_EXHDR(bytes);
	PG_RETURN_POINTER(state);
}

/* ---------------------------------------------------------------- combining */

/* Is this the header of such a state, with columns of these forms, before so many bytes? */
static void
check_header(const StateHeader *header, const StateKind *kind, const ValueForm *forms, Size bytes)
{
	Size		least = 0;

	if (header->version != STATE_VERSION || header->byte_order != BYTE_ORDER_MARK)
		valueform_broken("It is of another version, or of a machine with another byte order.");
	if (header->encoding != GetDatabaseEncoding())
		valueform_broken("Its text has another encoding than the database.");
	if (header->ncolumns != kind->ncolumns)
		valueform_broken("It is of another aggregate.");
	for (int i = 0; i < kind->ncolumns; i++)
	{
		if (header->columns[i].how != forms[i].how || header->columns[i].width != forms[i].width)
			valueform_broken("Its values are of another type.");
		if (header->columns[i].nullable > 1)
			valueform_broken("A flag is neither set nor clear.");
		least += header->columns[i].nullable ? 1 : valueform_least(&forms[i]);
	}
	if (kind->fraction ? header->fraction < 0 || header->fraction > 1 : header->fraction != 0)
		valueform_broken("Its fraction is out of range.");
	if (header->rows > bytes / least || (header->rows == 0 && !kind->fraction))
		valueform_broken("It has another number of rows.");
}

/* Reads a column's value in a row. */
static inline void
get_value(ByteSource *source, ValueForm *form, bool nullable, bool may_be_null, NullableDatum *value)
{
	value->isnull = false;
	if (nullable)
	{
		uint8		flag = (uint8) *take_bytes(source, 1);

		if (flag > 1 || (flag == 1 && !may_be_null))
			valueform_broken("A value is NULL that cannot be.");
		value->isnull = flag == 1;
	}
	value->value = value->isnull ? (Datum) 0 : valueform_get(form, source);
}

/* Takes a row into a state. */
static inline void
take_row(FunctionCallInfo fcinfo, Collected *state, const NullableDatum *row)
{
	if (state->call->ncolumns == 1)
		collect_put(fcinfo, state, row);
	else
		collect_put_pair(fcinfo, state, row);
}

/* Takes values of fixed width, which lie in their vector as in the bytes, until the state spills; returns how many. */
static uint64
take_fixed(FunctionCallInfo fcinfo, Collected *state, ValueForm *form, uint64 rows, ByteSource *source)
{
	Vector	   *vector = &state->columns[0];
	uint64		done = 0;

	while (done < rows && state->spill == NULL)
	{
		Size		count = Min((uint64) (vector->room - vector->rows), rows - done);

		CHECK_FOR_INTERRUPTS();
		if (count == 0)
		{
			NullableDatum value = {.value = valueform_get(form, source)};

			collect_put(fcinfo, state, &value);
			done++;
			continue;
		}
		memcpy(vector->data + (Size) vector->rows * form->width, take_bytes(source, count * form->width),
			   count * form->width);
		vector->rows += (uint32) count;
		done += count;
	}
	return done;
}

/* Takes values of variable length into their vector, as many as fit there; returns how many. */
static uint64
take_varying(Collected *state, ValueForm *form, uint64 rows, ByteSource *source)
{
	Vector	   *vector = &state->columns[0];

	for (uint64 i = 0; i < rows; i++)
	{
		ByteSource	before = *source;
		Size		length;
		const char *data = valueform_get_bytes(form, source, &length);

		if (i % BLOCK_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (!vector_append_bytes(vector, data, length))
		{
			*source = before;
			return i;
		}
	}
	return rows;
}

/* Takes the rows of bytes into a state. */
static void
take_rows(FunctionCallInfo fcinfo, Collected *state, const StateKind *kind, const StateHeader *header,
		  ByteSource *source)
{
	ValueForm  *forms = state->call->forms;
	NullableDatum row[COLLECT_MAX_COLUMNS];
	uint64		done = 0;

	if (kind->ncolumns == 1 && !header->columns[0].nullable && state->spill == NULL)
	{
		if (forms[0].how == VALUE_FIXED && forms[0].width == state->call->types[0].stride)
			done = take_fixed(fcinfo, state, &forms[0], header->rows, source);
		else if (valueform_is_bytes(&forms[0]))
			done = take_varying(state, &forms[0], header->rows, source);
	}
	for (uint64 i = done; i < header->rows; i++)
	{
		if (i % BLOCK_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		for (int c = 0; c < kind->ncolumns; c++)
			get_value(source, &forms[c], header->columns[c].nullable, kind->nulls, &row[c]);
		take_row(fcinfo, state, row);
	}
	if (source->at != source->end)
		valueform_broken("There are bytes left behind its last row.");
}

/* Notes a percentile's fraction: the same for all of a group. */
static void
take_fraction(Collected *state, double fraction, bool first)
{
	if (first)
		state->fraction = fraction;
	else if (fraction != state->fraction && !(isnan(fraction) && isnan(state->fraction)))
		collect_fraction_error(state->fraction, fraction);
}

/* Takes a state in bytes into another one. */
static void
take_bytes_state(FunctionCallInfo fcinfo, Collected *state, const StateKind *kind, const StateBytes *other)
{
	ByteSource	source = other->source;
	StateHeader header;
	int			encoding;

	memcpy(&header, take_bytes(&source, sizeof(header)), sizeof(header));
	check_header(&header, kind, forms_of(state->call), (Size) (source.end - source.at));
	take_fraction(state, header.fraction, PG_ARGISNULL(0));
	encoding = begin_conversion(state->call);
	PG_TRY();
	{
		take_rows(fcinfo, state, kind, &header, &source);
	}
	PG_FINALLY();
	{
		end_conversion(encoding);
	}
	PG_END_TRY();
}

/* Takes a state of this process into another one. */
static void
take_state(FunctionCallInfo fcinfo, Collected *state, Collected *other)
{
	NullableDatum row[COLLECT_MAX_COLUMNS];
	TupleTableSlot *slot;

	take_fraction(state, other->fraction, PG_ARGISNULL(0));
	if (other->spill == NULL)
	{
		for (uint32 i = 0; i < other->columns[0].rows; i++)
		{
			collect_row(other, i, row);
			take_row(fcinfo, state, row);
		}
		return;
	}
	collect_rewind(other);
	while (slot = collect_next(other), !TupIsNull(slot))
	{
		for (int c = 0; c < state->call->ncolumns; c++)
			row[c].value = slot_getattr(slot, c + 1, &row[c].isnull);
		take_row(fcinfo, state, row);
	}
}

/* The state of argument 0, or a new one, with that of argument 1 taken into it. */
static Datum
combine(FunctionCallInfo fcinfo, const StateKind *kind)
{
	Collected  *other;
	Collected  *state;

	if (PG_ARGISNULL(1))
	{
		if (PG_ARGISNULL(0))
			PG_RETURN_NULL();
		PG_RETURN_DATUM(PG_GETARG_DATUM(0));
	}
	other = (Collected *) PG_GETARG_POINTER(1);
	state = collect_state(fcinfo, kind->ncolumns, kind->key, kind->stable);
	if (other->call == NULL)
		take_bytes_state(fcinfo, state, kind, (StateBytes *) other);
	else
		take_state(fcinfo, state, other);
	PG_RETURN_POINTER(state);
}

/* Combine functions, one for each transition function. */
Datum
gpusort_combine_all(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, &kind_all);
}

Datum
gpusort_combine_values(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, &kind_values);
}

Datum
gpusort_combine_fraction(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, &kind_fraction);
}

Datum
gpusort_combine_pairs(PG_FUNCTION_ARGS)
{
	return combine(fcinfo, &kind_pairs);
}
