/*
 * array_functions.c: SQL functions that sort arrays in place, filter them, remove duplicates, by row numbers.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "array_functions.h"

PG_FUNCTION_INFO_V1(gpu_sort);
PG_FUNCTION_INFO_V1(gpu_argsort);
PG_FUNCTION_INFO_V1(gpu_sort_by_key);
PG_FUNCTION_INFO_V1(gpu_select_if);
PG_FUNCTION_INFO_V1(gpu_select_if_compare);
PG_FUNCTION_INFO_V1(gpu_partition_if);
PG_FUNCTION_INFO_V1(gpu_dedup);
PG_FUNCTION_INFO_V1(gpu_distinct);

void
array_call_begin(ArrayCall *call)
{
	call->cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort function", ALLOCSET_DEFAULT_SIZES);
	call->caller = MemoryContextSwitchTo(call->cxt);
	call->mem = bigmem_create(call->cxt);
}

void
array_call_result(ArrayCall *call)
{
	MemoryContextSwitchTo(call->caller);
}

void
array_call_end(ArrayCall *call)
{
	MemoryContextSwitchTo(call->caller);
	MemoryContextDelete(call->cxt);
}

void
array_argument(ArrayArgument *argument, FunctionCallInfo fcinfo, int number)
{
	argument->array = PG_GETARG_ARRAYTYPE_P(number);
	vector_type(&argument->type, ARR_ELEMTYPE(argument->array));
	vector_from_array(&argument->values, &argument->type, argument->array);
}

void
array_arguments(ArrayArgument *a, ArrayArgument *b, FunctionCallInfo fcinfo)
{
	array_argument(a, fcinfo, 0);
	array_argument(b, fcinfo, 1);
	if (a->values.rows != b->values.rows)
		ereport(ERROR,
				(errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
				 errmsg("arrays must have the same number of elements"),
				 errdetail("The first array has %u elements, the second one %u.", a->values.rows, b->values.rows)));
}

void
load_values(ValueBlock *block, const Vector *vector, const uint32 *rows, Size stride, uint64 count)
{
	const char *row = (const char *) rows;

	CHECK_FOR_INTERRUPTS();
	for (uint64 i = 0; i < count; i++, row += stride)
	{
		block->values[i] = vector_get(vector, *(const uint32 *) row, &block->nulls[i]);
		if (!vector->type->byval)
			__builtin_prefetch(DatumGetPointer(block->values[i]));
	}
}

/* Makes a row of two arrays. */
static Datum
array_pair(FunctionCallInfo fcinfo, ArrayType *first, ArrayType *second)
{
	TupleDesc	desc;
	Datum		values[2] = {PointerGetDatum(first), PointerGetDatum(second)};
	bool		nulls[2] = {false, false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (!AllocSizeIsValid((Size) VARSIZE(first) + VARSIZE(second) + MAXIMUM_ALIGNOF * 8))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row of two arrays exceeds the maximum size allowed (%d bytes)", (int) MaxAllocSize),
				 errhint("Work on parts of the array, or on a table with ORDER BY.")));
	return HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

/* Returns the sort order of an array, from arguments `number` (descending) and the next (nulls_first). */
static VectorColumn
order_column(FunctionCallInfo fcinfo, const ArrayArgument *array, int number)
{
	VectorColumn column = array_column(fcinfo, array);

	column.desc = PG_GETARG_BOOL(number);
	column.nulls_first = PG_NARGS() > number + 1 ? PG_GETARG_BOOL(number + 1) : column.desc;
	return column;
}

/* Returns the order of an array's elements.  The element type must be sortable even if there are fewer than two. */
static uint32 *
order_of(ArrayCall *call, FunctionCallInfo fcinfo, const ArrayArgument *array, int number)
{
	VectorColumn column = order_column(fcinfo, array, number);

	return vectorjob_order(call->mem, &column, 1);
}

/* Returns the lower bound, which a result takes from its array. */
static int
lower_bound_of(const ArrayArgument *argument)
{
	return ARR_NDIM(argument->array) == 1 ? ARR_LBOUND(argument->array)[0] : 1;
}

/* gpu_sort(array, descending [, nulls_first]): the elements in order.  Keeps the lower bound. */
Datum
gpu_sort(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument array;
	VectorColumn column;
	ArrayType  *result;

	array_call_begin(&call);
	array_argument(&array, fcinfo, 0);
	column = order_column(fcinfo, &array, 1);
	result = vectorjob_sorted_array(call.mem, &column, false, lower_bound_of(&array), call.caller);
	array_call_end(&call);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* gpu_argsort(array, descending [, nulls_first]): positions of the elements in order, counted from 1. */
Datum
gpu_argsort(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument array;
	VectorType	int4;
	Vector		positions;
	uint32	   *order;
	ArrayType  *result;

	array_call_begin(&call);
	array_argument(&array, fcinfo, 0);
	order = order_of(&call, fcinfo, &array, 1);
	for (uint32 i = 0; i < array.values.rows; i++)
		order[i]++;
	vector_type(&int4, INT4OID);
	vector_init(&positions, &int4, order, array.values.rows * sizeof(uint32));
	array_call_result(&call);
	result = vector_to_array(&positions, NULL, array.values.rows, 1);
	array_call_end(&call);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* gpu_sort_by_key(keys, vals, descending [, nulls_first]): both arrays in the order of the keys. */
Datum
gpu_sort_by_key(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument keys;
	ArrayArgument vals;
	uint32	   *order;
	ArrayType  *sorted_keys;
	ArrayType  *sorted_vals;
	Datum		result;

	array_call_begin(&call);
	array_arguments(&keys, &vals, fcinfo);
	order = order_of(&call, fcinfo, &keys, 2);
	sorted_keys = vector_to_array(&keys.values, order, keys.values.rows, 1);
	sorted_vals = vector_to_array(&vals.values, order, vals.values.rows, 1);
	array_call_result(&call);
	result = array_pair(fcinfo, sorted_keys, sorted_vals);
	array_call_end(&call);
	PG_RETURN_DATUM(result);
}

/* gpu_select_if(array, mask): elements whose mask is true. */
Datum
gpu_select_if(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument array;
	ArrayArgument mask;
	uint32	   *rows;
	uint64		selected;
	ArrayType  *result;

	array_call_begin(&call);
	array_arguments(&array, &mask, fcinfo);
	rows = vectorjob_partition(call.mem, &mask.values, false, &selected);
	array_call_result(&call);
	result = vector_to_array(&array.values, rows, selected, 1);
	array_call_end(&call);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* Converts an operator's name to a comparison. */
static gs_comparison
comparison_of(const text *op)
{
	static const struct
	{
		const char *name;
		gs_comparison comparison;
	}			names[] = {
		{"=", GS_EQ}, {"<>", GS_NE}, {"!=", GS_NE}, {"<", GS_LT}, {"<=", GS_LE}, {">", GS_GT}, {">=", GS_GE},
	};

	for (size_t i = 0; i < lengthof(names); i++)
		if (strlen(names[i].name) == VARSIZE_ANY_EXHDR(op) &&
			memcmp(names[i].name, VARDATA_ANY(op), VARSIZE_ANY_EXHDR(op)) == 0)
			return names[i].comparison;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized comparison operator: \"%s\"", text_to_cstring(op)),
			 errhint("Use one of =, <>, !=, <, <=, > and >=.")));
}

/* gpu_select_if(array, op, value): elements that satisfy the comparison with the value. */
Datum
gpu_select_if_compare(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument array;
	VectorColumn column;
	gs_comparison comparison = comparison_of(PG_GETARG_TEXT_PP(1));
	Datum		value = PG_GETARG_DATUM(2);
	uint32	   *rows;
	uint64		selected;
	ArrayType  *result;

	array_call_begin(&call);
	array_argument(&array, fcinfo, 0);
	column = array_column(fcinfo, &array);
	if (array.type.len == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	rows = vectorjob_select(call.mem, &column, comparison, value, &selected);
	array_call_result(&call);
	result = vector_to_array(&array.values, rows, selected, 1);
	array_call_end(&call);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* gpu_partition_if(array, mask): elements whose mask is true, and all others. */
Datum
gpu_partition_if(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument array;
	ArrayArgument mask;
	uint32	   *rows;
	uint64		selected;
	ArrayType  *kept;
	ArrayType  *rejected;
	Datum		result;

	array_call_begin(&call);
	array_arguments(&array, &mask, fcinfo);
	rows = vectorjob_partition(call.mem, &mask.values, true, &selected);
	kept = vector_to_array(&array.values, rows, selected, 1);
	rejected = vector_to_array(&array.values, rows + selected, array.values.rows - selected, 1);
	array_call_result(&call);
	result = array_pair(fcinfo, kept, rejected);
	array_call_end(&call);
	PG_RETURN_DATUM(result);
}

/* gpu_dedup(array): the array without elements that equal their predecessor. */
Datum
gpu_dedup(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument array;
	VectorColumn column;
	ArrayType  *result;

	array_call_begin(&call);
	array_argument(&array, fcinfo, 0);
	column = array_column(fcinfo, &array);
	result = vectorjob_dedup_array(call.mem, &column, call.caller);
	array_call_end(&call);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* gpu_distinct(array): distinct elements, in order. */
Datum
gpu_distinct(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument array;
	VectorColumn column;
	ArrayType  *result;

	array_call_begin(&call);
	array_argument(&array, fcinfo, 0);
	column = array_column(fcinfo, &array);
	result = vectorjob_sorted_array(call.mem, &column, true, 1, call.caller);
	array_call_end(&call);
	PG_RETURN_ARRAYTYPE_P(result);
}
