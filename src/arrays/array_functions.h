/*
 * array_functions.h: shared by the array functions.
 */
#ifndef GPUSORT_ARRAY_FUNCTIONS_H
#define GPUSORT_ARRAY_FUNCTIONS_H

#include "fmgr.h"

#include "src/base/compat.h"
#include "vector.h"
#include "vectorjob.h"

/* An array argument, of one dimension or empty. */
typedef struct ArrayArgument
{
	ArrayType  *array;
	VectorType	type;			/* of the elements */
	Vector		values;			/* in place, on array */
} ArrayArgument;

/* State of a function call, freed at its end or by an error, but for what comes after array_call_result. */
typedef struct ArrayCall
{
	MemoryContext caller;
	MemoryContext cxt;			/* current memory context between begin and result */
	BigMem	   *mem;			/* in cxt */
} ArrayCall;

/* Begin a call, switch to the caller's memory context for the result, end the call.  The result may be left out. */
extern void array_call_begin(ArrayCall *call);
extern void array_call_result(ArrayCall *call);
extern void array_call_end(ArrayCall *call);

/* Opens an array argument. */
extern void array_argument(ArrayArgument *argument, FunctionCallInfo fcinfo, int number);

/* Opens arguments 0 and 1, two arrays.  Raises an error unless they have equal lengths. */
extern void array_arguments(ArrayArgument *a, ArrayArgument *b, FunctionCallInfo fcinfo);

/* Values of scattered rows, loaded in batches, so that cache misses overlap. */
#define VALUE_BLOCK 512

typedef struct ValueBlock
{
	Datum		values[VALUE_BLOCK];
	bool		nulls[VALUE_BLOCK];
} ValueBlock;

/* Loads the values of count rows, whose numbers are stride bytes apart. */
extern void load_values(ValueBlock *block, const Vector *vector, const uint32 *rows, Size stride, uint64 count);

/* Returns an array as a column of a question, ascending, with the call's collation. */
static inline VectorColumn
array_column(FunctionCallInfo fcinfo, const ArrayArgument *argument)
{
	return (VectorColumn) {&argument->values, PG_GET_COLLATION(), false, false};
}

#endif
