/*
 * array_runs.c: SQL functions that convert between arrays and runs, and count values.
 */
#include "postgres.h"

#include "funcapi.h"
#include "utils/tuplestore.h"

#include "array_functions.h"
#include "src/base/sql_function.h"

PG_FUNCTION_INFO_V1(gpu_rle_decode);

/* Returns the runs of an array's elements, in order or as they are: value, length, perhaps first position. */
static Datum
put_runs(FunctionCallInfo fcinfo, bool in_order)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	ArrayCall	call;
	ArrayArgument array;
	VectorColumn column;
	gs_run	   *runs;
	uint64		nruns;
	ValueBlock	block;

	InitMaterializedSRF(fcinfo, 0);
	array_call_begin(&call);
	array_argument(&array, fcinfo, 0);
	column = array_column(fcinfo, &array);
	runs = vectorjob_runs(call.mem, &column, 1, in_order, &nruns);
	for (uint64 i = 0; i < nruns; i++)
	{
		Datum		values[3];
		bool		nulls[3] = {false, false, false};

		if (i % VALUE_BLOCK == 0)
			load_values(&block, &array.values, &runs[i].row, sizeof(gs_run), Min(nruns - i, VALUE_BLOCK));
		values[0] = block.values[i % VALUE_BLOCK];
		nulls[0] = block.nulls[i % VALUE_BLOCK];
		values[1] = Int64GetDatum(runs[i].length);
		values[2] = Int64GetDatum((int64) runs[i].row + 1);
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	array_call_end(&call);
	return (Datum) 0;
}

/* gpu_rle_runs(array): value, length and first position of each run of equal neighbours. */
SQL_FUNCTION(gpu_rle_runs, put_runs(fcinfo, false));

/* gpu_count_by_key(keys, presorted): the number of occurrences of each key. */
SQL_FUNCTION(gpu_count_by_key, put_runs(fcinfo, !PG_GETARG_BOOL(1)));

/* Returns a run's length. */
static int64
run_length(const Vector *lengths, uint32 run)
{
	bool		isnull;
	int64		length = DatumGetInt64(vector_get(lengths, run, &isnull));

	if (isnull)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("run length must not be null"),
				 errdetail("Run length number %u is null.", run + 1)));
	if (length < 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("run length must not be negative"),
				 errdetail("Run length number %u is " INT64_FORMAT ".", run + 1, length)));
	return length;
}

/* Returns the number of elements that runs expand to.  Raises an error if an array cannot hold them. */
static uint64
decoded_length(const Vector *lengths)
{
	uint64		sum = 0;

	for (uint32 run = 0; run < lengths->rows; run++)
	{
		int64		length = run_length(lengths, run);

		if ((uint64) length > MaxArraySize - sum)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("array size exceeds the maximum allowed (%d elements)", (int) MaxArraySize),
					 errdetail("The runs up to number %u have more elements than that.", run + 1),
					 errhint("Have the elements as rows: generate_series(1, run_length) repeats each value.")));
		sum += (uint64) length;
	}
	return sum;
}

/* gpu_rle_decode(vals, run_lengths): each value repeated by its run length. */
Datum
gpu_rle_decode(PG_FUNCTION_ARGS)
{
	ArrayCall	call;
	ArrayArgument array;
	ArrayArgument lengths;
	uint64		count;
	ArrayType  *result;

	array_call_begin(&call);
	array_arguments(&array, &lengths, fcinfo);
	count = decoded_length(&lengths.values);
	result = vector_decoded_array(call.mem, &array.values, &lengths.values, count, call.caller);
	array_call_end(&call);
	PG_RETURN_ARRAYTYPE_P(result);
}
