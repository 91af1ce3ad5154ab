/*
 * array_reduce.c: SQL functions that compute with elements of arrays: running results, and results by key.  Types that
 * are no engine's go through the types' own functions, one value at a time.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/tuplestore.h"

#include "array_functions.h"
#include "reducer.h"
#include "src/base/sql_function.h"

/* Rows between checks for interrupts. */
#define BLOCK_ROWS 65536

/* Converts a name to an operation. */
static gs_operation
operation_of(const text *name)
{
	char	   *word = text_to_cstring(name);

	if (pg_strcasecmp(word, "sum") == 0)
		return GS_SUM;
	if (pg_strcasecmp(word, "min") == 0)
		return GS_MIN;
	if (pg_strcasecmp(word, "max") == 0)
		return GS_MAX;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("unrecognized operation: \"%s\"", word),
			 errhint("Use \"sum\", \"min\" or \"max\".")));
}

/* ---------------------------------------------------------------- running results */

/* Returns the number of leading NULLs. */
static uint64
leading_nulls(const Vector *vector)
{
	uint64		row = 0;

	while (row < vector->rows && vector_is_null(vector, row))
		row++;
	return row;
}

/* Narrows the 64-bit values of a running result to the width of its type. */
static void
narrow(void *results, uint64 rows, int16 len)
{
	const uint64 *from = results;

	for (uint64 i = 0; i < rows; i++)
		if (len == sizeof(uint32))
			((uint32 *) results)[i] = (uint32) from[i];
		else if (len == sizeof(uint16))
			((uint16 *) results)[i] = (uint16) from[i];
		else
			((uint8 *) results)[i] = (uint8) from[i];
}

/* Makes an array of an engine's results, the first nulls of which are NULL. */
static ArrayType *
array_of_results(ArrayCall *call, void *results, uint64 rows, Oid type, uint64 nulls)
{
	VectorType	vtype;
	Vector		vector;

	vector_type(&vtype, type);
	vector_init(&vector, &vtype, results, rows * vtype.stride);
	vector.rows = (uint32) rows;
	if (nulls > 0)
	{
		vector.nulls = palloc0((rows + 63) / 64 * sizeof(uint64));
		for (uint64 i = 0; i < nulls; i++)
			vector.nulls[i / 64] |= UINT64CONST(1) << (i % 64);
	}
	array_call_result(call);
	return vector_to_array(&vector, NULL, rows, 1);
}

/* Computes a running result with the type's functions. */
static ArrayType *
scan_by_function(ArrayCall *call, const Vector *values, Reducer *reducer, bool exclusive, Oid type)
{
	Datum	   *results = MemoryContextAllocHuge(call->cxt, Max(values->rows, 1) * sizeof(Datum));
	bool	   *nulls = palloc(Max(values->rows, 1));
	int			dims[1] = {(int) values->rows};
	int			bounds[1] = {1};
	VectorType	vtype;

	reducer->keep = true;
	for (uint64 i = 0; i < values->rows; i++)
	{
		bool		isnull;
		Datum		value = vector_get(values, i, &isnull);

		if (i % BLOCK_ROWS == 0)
			CHECK_FOR_INTERRUPTS();
		if (exclusive)
			results[i] = reducer_result(reducer, &nulls[i]);
		/* an exclusive one leaves out the last value, which may overflow */
		if (!isnull && !(exclusive && i == values->rows - 1))
			reducer_add(reducer, value);
		if (!exclusive)
			results[i] = reducer_result(reducer, &nulls[i]);
	}
	vector_type(&vtype, type);
	array_call_result(call);
	if (values->rows == 0)
		return construct_empty_array(type);
	return construct_md_array(results, nulls, 1, dims, bounds, type, vtype.len, vtype.byval, vtype.align);
}

/* Computes a running result, of type bigint or of the element type. */
static Datum
scan(FunctionCallInfo fcinfo, bool widen)
{
	gs_operation operation = operation_of(PG_GETARG_TEXT_PP(1));
	bool		exclusive = PG_GETARG_BOOL(2);
	ArrayCall	call;
	ArrayArgument array;
	VectorColumn column;
	Reducer		reducer;
	Oid			type;
	void	   *results = NULL;
	ArrayType  *result;

	array_call_begin(&call);
	array_argument(&array, fcinfo, 0);
	column = array_column(fcinfo, &array);
	type = widen ? INT8OID : array.type.type;
	reducer_open(&reducer, &column, operation, false);
	if (!reducer.one_by_one)
		results = vectorjob_scan(call.mem, &column, operation, exclusive);
	if (results == NULL)
		result = scan_by_function(&call, &array.values, &reducer, exclusive, type);
	else
	{
		uint64		rows = array.values.rows;
		uint64		nulls = leading_nulls(&array.values);

		if (!widen && array.type.len < (int16) sizeof(uint64) && type != FLOAT4OID)
			narrow(results, rows, array.type.len);
		if (exclusive && nulls < rows)
			nulls++;
		result = array_of_results(&call, results, rows, type, nulls);
	}
	array_call_end(&call);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* gpu_scan(array, op, exclusive): the operation over each element and those before it. */
SQL_FUNCTION(gpu_scan, scan(fcinfo, false));

/* gpu_scan of smallint[] and integer[], which returns bigint[]. */
SQL_FUNCTION(gpu_scan_bigint, scan(fcinfo, true));

/* ---------------------------------------------------------------- results for each key */

/* A reduction of values by keys. */
typedef struct KeyReduction
{
	ArrayCall	call;
	FunctionCallInfo fcinfo;
	ArrayArgument keys;
	ArrayArgument vals;
	VectorColumn columns[2];	/* keys, values */
	bool		presorted;
	bool		widen;			/* minima and maxima are bigint as well */
	Reducer		reducer;
} KeyReduction;

/* Appends the result of a group. */
static void
put_group(KeyReduction *r, Datum key, bool isnull)
{
	ReturnSetInfo *result = (ReturnSetInfo *) r->fcinfo->resultinfo;
	Datum		values[2] = {key};
	bool		nulls[2] = {isnull};

	values[1] = reducer_result(&r->reducer, &nulls[1]);
	if (r->widen && r->reducer.operation != GS_SUM && !nulls[1])
		values[1] = Int64GetDatum(r->vals.type.len == sizeof(int16) ?
								  DatumGetInt16(values[1]) : DatumGetInt32(values[1]));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* Returns all row numbers in arrival order. */
static uint32 *
as_they_came(KeyReduction *r)
{
	uint32		rows = r->keys.values.rows;
	uint32	   *order = MemoryContextAllocHuge(r->call.cxt, Max((Size) rows, 1) * sizeof(uint32));

	for (uint32 i = 0; i < rows; i++)
		order[i] = i;
	return order;
}

/* Reduces with the type's functions, by runs of equal keys among the rows, in order or as they arrived. */
static void
reduce_by_function(KeyReduction *r)
{
	uint32	   *order = r->presorted ? as_they_came(r) : vectorjob_order(r->call.mem, r->columns, 1);
	uint64		nruns;
	gs_run	   *runs = vectorjob_runs(r->call.mem, r->columns, 1, !r->presorted, &nruns);
	MemoryContext group = AllocSetContextCreate(CurrentMemoryContext, "gpusort group", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(group);
	uint64		at = 0;
	ValueBlock	block;
	Datum		key;
	bool		isnull;

	for (uint64 i = 0; i < nruns; i++)
	{
		reducer_reset(&r->reducer);
		for (uint64 end = at + runs[i].length; at < end; at++)
		{
			if (at % VALUE_BLOCK == 0)
				load_values(&block, r->columns[1].values, &order[at], sizeof(uint32),
							Min(r->keys.values.rows - at, VALUE_BLOCK));
			if (!block.nulls[at % VALUE_BLOCK])
				reducer_add(&r->reducer, block.values[at % VALUE_BLOCK]);
		}
		key = vector_get(&r->keys.values, runs[i].row, &isnull);
		put_group(r, key, isnull);
		MemoryContextReset(group);
	}
	MemoryContextSwitchTo(old);
}

/* Lets an engine reduce.  Returns false if none can. */
static bool
reduce_by_engine(KeyReduction *r)
{
	ValueBlock	block;
	uint64		ngroups;
	gs_group   *groups = vectorjob_reduce(r->call.mem, r->columns, r->presorted, r->reducer.operation, &ngroups);
	MemoryContext results;
	MemoryContext old;

	if (groups == NULL)
		return false;
	results = AllocSetContextCreate(CurrentMemoryContext, "gpusort groups", ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(results);
	for (uint64 i = 0; i < ngroups; i++)
	{
		if (i % VALUE_BLOCK == 0)
		{
			MemoryContextReset(results);
			load_values(&block, &r->keys.values, &groups[i].row, sizeof(gs_group), Min(ngroups - i, VALUE_BLOCK));
		}
		reducer_set(&r->reducer, &groups[i]);
		put_group(r, block.values[i % VALUE_BLOCK], block.nulls[i % VALUE_BLOCK]);
	}
	MemoryContextSwitchTo(old);
	return true;
}

/* Converts the values to float8, in which PostgreSQL computes an average of float4. */
static void
widen_floats(KeyReduction *r, VectorType *vtype, Vector *wide)
{
	const Vector *values = &r->vals.values;

	vector_type(vtype, FLOAT8OID);
	vector_init(wide, vtype, MemoryContextAllocHuge(r->call.cxt, Max(values->rows, 1) * sizeof(float8)),
				values->rows * sizeof(float8));
	wide->rows = values->rows;
	wide->nulls = values->nulls;
	for (uint64 i = 0; i < values->rows; i++)
	{
		bool		isnull;
		Datum		value = vector_get(values, i, &isnull);

		((float8 *) wide->data)[i] = isnull ? 0 : DatumGetFloat4(value);
	}
	r->columns[1].values = wide;
}

/* Reduces the second array by the keys in the first. */
static Datum
reduce(FunctionCallInfo fcinfo, gs_operation operation, bool average, bool presorted, bool widen)
{
	KeyReduction r = {.fcinfo = fcinfo, .presorted = presorted, .widen = widen};
	VectorType	wide_type;
	Vector		wide;

	InitMaterializedSRF(fcinfo, 0);
	array_call_begin(&r.call);
	array_arguments(&r.keys, &r.vals, fcinfo);
	r.columns[0] = array_column(fcinfo, &r.keys);
	r.columns[1] = array_column(fcinfo, &r.vals);
	if (average && r.vals.type.type == FLOAT4OID)
		widen_floats(&r, &wide_type, &wide);
	reducer_open(&r.reducer, &r.columns[1], operation, average);
	if (r.reducer.one_by_one || !reduce_by_engine(&r))
		reduce_by_function(&r);
	array_call_end(&r.call);
	return (Datum) 0;
}

/* gpu_reduce_by_key(keys, vals, op, presorted): the operation over each key's values. */
SQL_FUNCTION(gpu_reduce_by_key, reduce(fcinfo, operation_of(PG_GETARG_TEXT_PP(2)), false, PG_GETARG_BOOL(3), false));

/* gpu_reduce_by_key of smallint[] and integer[], which returns bigint. */
SQL_FUNCTION(gpu_reduce_by_key_bigint,
			 reduce(fcinfo, operation_of(PG_GETARG_TEXT_PP(2)), false, PG_GETARG_BOOL(3), true));

/* gpu_avg_by_key(keys, vals, presorted): each key's average, computed as avg() does. */
SQL_FUNCTION(gpu_avg_by_key, reduce(fcinfo, GS_SUM, true, PG_GETARG_BOOL(2), false));
