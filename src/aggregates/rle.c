/*
 * rle.c: the aggregates gpu_rle(value), whose rows arrive in order, and gpu_rle(value, sort_key), which sorts them.
 * The first keeps a group's runs, not its rows; the second collects rows, and a job sorts them and finds the runs, but
 * for keys that come in order: sorted_runs.h.
 * Both return an array of a composite type (value, run_length, first_row).
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/typcache.h"

#include "collect.h"
#include "sorted_runs.h"
#include "src/base/compat.h"
#include "src/arrays/equality.h"
#include "src/base/guc.h"

PG_FUNCTION_INFO_V1(gpusort_rle_add);
PG_FUNCTION_INFO_V1(gpusort_rle_collect);
PG_FUNCTION_INFO_V1(gpusort_rle_enum);
PG_FUNCTION_INFO_V1(gpusort_rle_final);
PG_FUNCTION_INFO_V1(gpusort_rle_sorted_final);

/* State shared by all groups of a call. */
typedef struct RleCall
{
	Equality	equality;
	VectorType	value_type;
	VectorType	length_type;
	Size		run_bytes;		/* lower bound per run in the result */
} RleCall;

/* The runs of one group.  A small one is a single allocation. */
typedef struct RunList
{
	const RleCall *call;
	int64		length;			/* of the current run */
	Vector	   *lengths;		/* of the runs before it; NULL: none */
	Vector		values;			/* of all runs */
} RunList;

#define LIST_BYTES ((Size) 128)
#define LENGTHS_BYTES ((Size) 128)

/* Bytes of a composite value's header, with or without a bitmap for three columns. */
#define ROW_BYTES MAXALIGN(SizeofHeapTupleHeader + 1)

StaticAssertDecl(ROW_BYTES == MAXALIGN(SizeofHeapTupleHeader), "a bitmap of three columns must fit the padding");

/* Initializes what all lists of a type share.  A list may use limit bytes; the result has a higher limit of its own. */
static void
open_call(RleCall *call, Oid type, Oid collation, Size limit)
{
	equality_open(&call->equality, type, collation);
	vector_type(&call->value_type, type);
	vector_type(&call->length_type, INT8OID);
	call->value_type.limit = call->length_type.limit = limit / 2;
	call->run_bytes = ROW_BYTES + MAXALIGN(call->value_type.stride) + 2 * sizeof(int64);
}

/* Creates an empty list in the current memory context. */
static RunList *
list_create(const RleCall *call)
{
	RunList    *list = palloc(LIST_BYTES);

	list->call = call;
	list->length = 0;
	list->lengths = NULL;
	vector_init(&list->values, &call->value_type, list + 1, LIST_BYTES - sizeof(RunList));
	return list;
}

/* Raises an error if the result would not fit a datum. */
static void
too_large(uint64 runs)
{
	ereport(ERROR,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("result of gpu_rle is too large"),
			 errdetail("A group has " UINT64_FORMAT " runs or more, which take more than 1 GB as one array.", runs),
			 errhint("Make the groups smaller, or number the runs with gpu_run_id() and group by the number.")));
}

/* Stores the length of the current run before the next one starts. */
static void
close_run(RunList *list)
{
	const RleCall *call = list->call;
	uint32		runs = list->values.rows;

	if (runs * call->run_bytes + list->values.used > MaxAllocSize)
		too_large(runs);
	if (list->lengths == NULL)
	{
		list->lengths = MemoryContextAlloc(list->values.context, LENGTHS_BYTES);
		vector_init(list->lengths, &call->length_type, list->lengths + 1, LENGTHS_BYTES - sizeof(Vector));
		list->lengths->context = list->values.context;
	}
	if (!vector_append(list->lengths, Int64GetDatum(list->length), false))
		vector_limit_error(list->lengths);
}

/* Adds a row: extends the current run or starts a new one. */
static inline void
list_add(RunList *list, Datum value, bool isnull)
{
	Vector	   *values = &list->values;

	if (values->rows > 0)
	{
		bool		last_null;
		Datum		last = vector_get(values, values->rows - 1, &last_null);

		if (last_null == isnull && (isnull || equality_holds(&list->call->equality, last, value)))
		{
			list->length++;
			return;
		}
		close_run(list);
	}
	if (!vector_append(values, value, isnull))
		vector_limit_error(values);
	list->length = 1;
}

/* Creates the list at the first row of a group. */
static RunList *
begin_list(FunctionCallInfo fcinfo)
{
	RleCall    *call = fcinfo->flinfo->fn_extra;
	MemoryContext context;
	MemoryContext old;
	RunList    *list;

	if (!AggCheckCallContext(fcinfo, &context))
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (call == NULL)
	{
		call = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(RleCall));
		open_call(call, get_fn_expr_argtype(fcinfo->flinfo, 1), PG_GET_COLLATION(),
				  gpusort_memory_limit());
		fcinfo->flinfo->fn_extra = call;
	}
	old = MemoryContextSwitchTo(context);
	list = list_create(call);
	MemoryContextSwitchTo(old);
	return list;
}

/* Transition function of gpu_rle(value). */
Datum
gpusort_rle_add(PG_FUNCTION_ARGS)
{
	RunList    *list = PG_ARGISNULL(0) ? begin_list(fcinfo) : (RunList *) PG_GETARG_POINTER(0);

	list_add(list, PG_GETARG_DATUM(1), PG_ARGISNULL(1));
	PG_RETURN_POINTER(list);
}

/*
 * Transition function of gpu_rle of an enum, which has no composite type for its runs: raises an error.  The parser's
 * own, without this aggregate, names no other way.
 */
Datum
gpusort_rle_enum(PG_FUNCTION_ARGS)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("gpu_rle takes no values of type %s",
					format_type_be(get_fn_expr_argtype(fcinfo->flinfo, 1))),
			 errhint("Cast the values to text, or number the runs with gpu_run_id() and group by the number.")));
}

/* Transition function of gpu_rle(value, sort_key).  The key is the sort column. */
Datum
gpusort_rle_collect(PG_FUNCTION_ARGS)
{
	Collected  *state = collect_state(fcinfo, 2, 1, COLLECT_STABLE);
	NullableDatum row[2];

	row[0] = fcinfo->args[2];
	row[1] = fcinfo->args[1];
	if (state->runs != NULL)
	{
		if (sortedruns_add(state, row))
			PG_RETURN_POINTER(state);
		sortedruns_expand(fcinfo, state);
	}
	collect_put_pair(fcinfo, state, row);
	if (state->columns[0].rows == SORTEDRUNS_ROWS && state->runs == NULL)
		sortedruns_try(state);
	PG_RETURN_POINTER(state);
}

/* Where an array's runs come from: a list, or a job over collected rows. */
typedef struct RunSource
{
	const Vector *values;
	uint64		count;
	const RunList *list;		/* or NULL: */
	const gs_run *runs;
} RunSource;

/* Prefetches the values of runs behind this one, which are scattered in collected rows. */
static pg_attribute_always_inline void
prefetch_runs(const RunSource *source, uint64 number)
{
	if (source->list == NULL && number + 2 * VECTOR_AHEAD < source->count)
		vector_prefetch(source->values, source->runs[number + VECTOR_AHEAD].row,
						source->runs[number + 2 * VECTOR_AHEAD].row);
}

/* Returns a run's value. */
static inline Datum
get_value(const RunSource *source, uint64 number, bool *isnull)
{
	return vector_get(source->values, source->list ? number : source->runs[number].row, isnull);
}

/* Returns a run's length. */
static inline int64
get_length(const RunSource *source, uint64 number)
{
	const RunList *list = source->list;

	if (list == NULL)
		return source->runs[number].length;
	return number + 1 == source->count ? list->length : ((const int64 *) list->lengths->data)[number];
}

/* Returns the bytes of a value in a composite value.  Vectors hold no compressed ones; short ones get short headers. */
static inline Size
value_bytes(const VectorType *vtype, Datum value)
{
	const char *data = DatumGetPointer(value);

	if (vtype->len > 0)
		return vtype->len;
	return VARATT_CAN_MAKE_SHORT(data) ? VARATT_CONVERTED_SHORT_SIZE(data) : VARSIZE_ANY(data);
}

/* Returns the bytes of a composite value: its header, the value, and two bigints. */
static inline Size
row_bytes(const VectorType *vtype, Datum value, bool isnull)
{
	return ROW_BYTES + (isnull ? 0 : MAXALIGN(value_bytes(vtype, value))) + 2 * sizeof(int64);
}

/* Returns the bytes of all composite values. */
static Size
measure_runs(const RunSource *source)
{
	const Vector *values = source->values;
	Size		bytes = 0;

	if (values->type->len > 0 && values->nulls == NULL)
		bytes = source->count * row_bytes(values->type, (Datum) 0, false);
	else
		for (uint64 i = 0; i < source->count; i++)
		{
			bool		isnull;
			Datum		value;

			if (i % 65536 == 0)
				CHECK_FOR_INTERRUPTS();
			prefetch_runs(source, i);
			value = get_value(source, i, &isnull);
			bytes += row_bytes(values->type, value, isnull);
		}
	if (bytes > MaxAllocSize)
		too_large(source->count);
	return bytes;
}

/* Headers of composite values, formed by the server, whose value is not NULL and is NULL. */
typedef union RowHeader
{
	HeapTupleHeaderData tuple;
	char		bytes[ROW_BYTES];	/* with the bitmap */
} RowHeader;

/* State shared by the calls of a final function. */
typedef struct RleResult
{
	Oid			type;			/* the composite type */
	RowHeader	headers[2];
} RleResult;

/* Writes a value as heap_fill_tuple does. */
static inline void
write_value(char *to, const VectorType *vtype, Datum value)
{
	const char *data = DatumGetPointer(value);
	Size		bytes = value_bytes(vtype, value);

	if (vtype->byval)
		store_att_byval(to, value, vtype->len);
	else if (vtype->len < 0 && VARATT_CAN_MAKE_SHORT(data))
	{
		SET_VARSIZE_SHORT(to, bytes);
		memcpy(to + VARHDRSZ_SHORT, VARDATA(data), bytes - VARHDRSZ_SHORT);
	}
	else
		memcpy(to, data, bytes);
}

/* Writes a run as a composite value; returns its size.  first is the number of rows before it. */
static inline Size
write_run(char *to, const RleResult *result, const RunSource *source, uint64 number, int64 first, int64 length)
{
	const VectorType *vtype = source->values->type;
	bool		isnull;
	Datum		value = get_value(source, number, &isnull);
	Size		bytes = row_bytes(vtype, value, isnull);
	int64		counts[3] = {0, length, first + 1};

	memcpy(to, &result->headers[isnull], ROW_BYTES);
	HeapTupleHeaderSetDatumLength((HeapTupleHeader) to, bytes);
	/* the first zeros overlap the value's last word, or are behind the header's bitmap */
	if (isnull)
		memcpy(to + ROW_BYTES, &counts[1], 2 * sizeof(int64));
	else
	{
		memcpy(to + bytes - sizeof(counts), counts, sizeof(counts));
		write_value(to + ROW_BYTES, vtype, value);
	}
	return bytes;
}

/* Forms the headers once: the server forms the one of a NULL value, from which the other one differs in a few bits. */
static RleResult *
get_result(FunctionCallInfo fcinfo, const VectorType *vtype)
{
	RleResult  *result = fcinfo->flinfo->fn_extra;
	Datum		values[3] = {0};
	bool		isnull[3] = {true, false, false};
	TupleDesc	desc;
	HeapTuple	model;

	if (result)
		return result;
	result = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(RleResult));
	result->type = get_element_type(get_fn_expr_rettype(fcinfo->flinfo));
	desc = lookup_rowtype_tupdesc(result->type, -1);
	if (desc->natts != 3)
		elog(ERROR, "type %u is not one of gpu_rle", result->type);
	model = heap_form_tuple(desc, values, isnull);
	ReleaseTupleDesc(desc);
	Assert(model->t_data->t_hoff == ROW_BYTES);
	memcpy(&result->headers[true], model->t_data, ROW_BYTES);
	memcpy(&result->headers[false], model->t_data, SizeofHeapTupleHeader);
	result->headers[false].tuple.t_infomask &= ~HEAP_HASNULL;
	if (vtype->len < 0)
		result->headers[false].tuple.t_infomask |= HEAP_HASVARWIDTH;
	fcinfo->flinfo->fn_extra = result;
	return result;
}

/* Makes the result array from runs. */
static ArrayType *
make_array(FunctionCallInfo fcinfo, const RunSource *source)
{
	const RleResult *result = get_result(fcinfo, source->values->type);
	ArrayType  *array = array_begin(result->type, source->count, measure_runs(source), false, false, 1);
	char	   *to = array_elements(array);
	int64		first = 0;

	for (uint64 i = 0; i < source->count; i++)
	{
		int64		length = get_length(source, i);

		if (i % 65536 == 0)
			CHECK_FOR_INTERRUPTS();
		prefetch_runs(source, i);
		to += write_run(to, result, source, i, first, length);
		first += length;
	}
	return array;
}

/* Makes the result array from a list. */
static ArrayType *
list_array(FunctionCallInfo fcinfo, const RunList *list)
{
	RunSource	source = {.values = &list->values, .count = list->values.rows, .list = list};

	return make_array(fcinfo, &source);
}

/* gpu_rle(value): runs of equal values in arrival order. */
Datum
gpusort_rle_final(PG_FUNCTION_ARGS)
{
	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	PG_RETURN_ARRAYTYPE_P(list_array(fcinfo, (RunList *) PG_GETARG_POINTER(0)));
}

/* Finds the runs of a spilled state. */
static ArrayType *
spilled_runs(FunctionCallInfo fcinfo, Collected *state)
{
	MemoryContext work = AllocSetContextCreate(CurrentMemoryContext, "gpusort runs", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(work);
	RleCall		call;
	RunList    *list;
	TupleTableSlot *slot;
	ArrayType  *array;

	open_call(&call, state->call->types[1].type, state->call->collation, 4 * MaxAllocSize);
	list = list_create(&call);
	vectorsort_rewind(state->spill);
	while (slot = vectorsort_next(state->spill), !TupIsNull(slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, 2, &isnull);

		list_add(list, value, isnull);
	}
	MemoryContextSwitchTo(old);
	array = list_array(fcinfo, list);
	MemoryContextDelete(work);
	return array;
}

/* gpu_rle(value, sort_key): runs of equal values in order of the key.  Rows with equal keys stay in arrival order. */
Datum
gpusort_rle_sorted_final(PG_FUNCTION_ARGS)
{
	Collected  *state;
	CollectRuns found;
	RunSource	source;
	ArrayType  *array;

	if (PG_ARGISNULL(0))
		PG_RETURN_NULL();
	state = (Collected *) PG_GETARG_POINTER(0);
	if (state->spill)
		PG_RETURN_ARRAYTYPE_P(spilled_runs(fcinfo, state));
	if (state->runs == NULL)
		collect_runs_begin(&found, state, false);
	else
	{
		found.mem = collect_begin_work();
		found.runs = sortedruns_merge(found.mem, state, &found.count);
	}
	source = (RunSource) {.values = &state->columns[1], .count = found.count, .runs = found.runs};
	array = make_array(fcinfo, &source);
	collect_runs_end(&found);
	PG_RETURN_ARRAYTYPE_P(array);
}
