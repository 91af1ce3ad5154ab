/*
 * array_functions.h: what the files of array functions share.
 */
#ifndef GPUSORT_ARRAY_FUNCTIONS_H
#define GPUSORT_ARRAY_FUNCTIONS_H

#include "fmgr.h"

#include "src/base/compat.h"
#include "vector.h"
#include "vectorjob.h"

/* An array that was passed to a function, of one dimension or empty. */
typedef struct ArrayArgument
{
	ArrayType  *array;
	VectorType	type;			/* of the elements */
	Vector		values;			/* stands on array */
} ArrayArgument;

/*
 * A call in the making: what it allocates goes when it ends, also by an error, but for what is made between
 * array_call_result and array_call_end.
 */
typedef struct ArrayCall
{
	MemoryContext caller;
	MemoryContext cxt;			/* current between begin and result */
	BigMem	   *mem;			/* in cxt */
} ArrayCall;

/* Begin a call, go back to the caller's memory for the result, end the call; end also does without result. */
extern void array_call_begin(ArrayCall *call);
extern void array_call_result(ArrayCall *call);
extern void array_call_end(ArrayCall *call);

/* Opens an array argument. */
extern void array_argument(ArrayArgument *argument, FunctionCallInfo fcinfo, int number);

/* Stops unless two arrays have the same number of elements. */
extern void check_same_length(const ArrayArgument *a, const ArrayArgument *b);

/* A row of two arrays. */
extern Datum array_pair(FunctionCallInfo fcinfo, ArrayType *first, ArrayType *second);

/* Values of rows that lie anywhere, taken out many at a time: so the processor waits for many of them at once. */
#define VALUE_BLOCK 512

typedef struct ValueBlock
{
	Datum		values[VALUE_BLOCK];
	bool		nulls[VALUE_BLOCK];
} ValueBlock;

/* Takes out the values of count rows, whose numbers are stride bytes apart. */
extern void load_values(ValueBlock *block, const Vector *vector, const uint32 *rows, Size stride, uint64 count);

/* A column of a question in ascending order, under the call's collation. */
static inline VectorColumn
array_column(FunctionCallInfo fcinfo, const ArrayArgument *argument)
{
	return (VectorColumn) {&argument->values, PG_GET_COLLATION(), false, false};
}

#endif
