/*
 * vectorarray.c: arrays made of a vector's values.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "vector.h"

/* Values gathered between checks for interrupts. */
#define GATHER_BLOCK 65536

/* Raises an error if an array of this size is impossible. */
static void
check_array_size(uint64 count, uint64 bytes)
{
	if (count > MaxArraySize || !AllocSizeIsValid(bytes))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 count > MaxArraySize
				 ? errmsg("array size exceeds the maximum allowed (%d elements)", (int) MaxArraySize)
				 : errmsg("array size exceeds the maximum allowed (%d bytes)", (int) MaxAllocSize),
				 errhint("Have the result as rows of a query: ORDER BY sorts them, and gpu_run_id() numbers their "
						 "runs.")));
}

/* Returns the bytes of a value as an array element, whose varlena header is always long. */
static inline Size
element_bytes(const VectorType *vtype, const char *value)
{
	if (vtype->len == -1 && VARATT_IS_SHORT(value))
		return VARSIZE_SHORT(value) - VARHDRSZ_SHORT + VARHDRSZ;
	return att_addlength_pointer((Size) 0, vtype->len, value);
}

/* Writes a value as an array element. */
static inline void
put_element(const VectorType *vtype, char *to, const char *value, Size bytes)
{
	if (vtype->len == -1 && VARATT_IS_SHORT(value))
	{
		SET_VARSIZE(to, bytes);
		memcpy(VARDATA(to), VARDATA_SHORT(value), bytes - VARHDRSZ);
	}
	else
		memcpy(to, value, bytes);
}

ArrayType *
array_begin(Oid type, uint64 count, Size data_bytes, bool padded, bool has_nulls, int lower_bound)
{
	Size		head = has_nulls ? ARR_OVERHEAD_WITHNULLS(1, count) : ARR_OVERHEAD_NONULLS(1);
	ArrayType  *array;

	check_array_size(count, head + data_bytes);
	array = padded ? palloc0(head + data_bytes) : palloc(head + data_bytes);
	memset(array, 0, head);
	SET_VARSIZE(array, head + data_bytes);
	array->ndim = 1;
	array->dataoffset = has_nulls ? (int32) head : 0;
	array->elemtype = type;
	ARR_DIMS(array)[0] = (int) count;
	ARR_LBOUND(array)[0] = lower_bound;
	return array;
}

/* Copies non-NULL values at a fixed stride, in a given order. */
static void
gather_fixed(const Vector *vector, const uint32 *rows, uint64 count, char *to)
{
	Size		stride = vector->type->stride;

/* copies of constant width; some types have less alignment, such as macaddr */
#define GATHER(width) \
	for (uint64 i = from; i < end; i++) \
		memcpy(to + i * (width), vector->data + rows[i] * (Size) (width), width)

	for (uint64 from = 0; from < count; from += GATHER_BLOCK)
	{
		uint64		end = Min(from + GATHER_BLOCK, count);

		CHECK_FOR_INTERRUPTS();
		if (stride == 8)
			GATHER(8);
		else if (stride == 4)
			GATHER(4);
		else if (stride == 2)
			GATHER(2);
		else if (stride == 1)
			GATHER(1);
		else
			GATHER(stride);
	}
#undef GATHER
}

/* Makes an array of values without a fixed stride, or with NULLs. */
static ArrayType *
gather_general(const Vector *vector, const uint32 *rows, uint64 count, int lower_bound)
{
	const VectorType *vtype = vector->type;
	Size		bytes = 0;
	bool		has_nulls = false;
	ArrayType  *array;
	char	   *to;

	for (uint64 i = 0; i < count; i++)
	{
		uint64		row = rows ? rows[i] : i;

		if (i % GATHER_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
		if (vector_is_null(vector, row))
			has_nulls = true;
		else
		{
			bytes += element_bytes(vtype, vector_address(vector, row));
			bytes = att_align_nominal(bytes, vtype->align);
		}
	}
	array = array_begin(vtype->type, count, bytes, true, has_nulls, lower_bound);
	to = array_elements(array);
	for (uint64 i = 0; i < count; i++)
	{
		uint64		row = rows ? rows[i] : i;
		const char *value;

		if (i % GATHER_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
		if (vector_is_null(vector, row))
			continue;
		value = vector_address(vector, row);
		bytes = element_bytes(vtype, value);
		put_element(vtype, to, value, bytes);
		to += att_align_nominal(bytes, vtype->align);
		if (has_nulls)
			ARR_NULLBITMAP(array)[i / 8] |= 1 << (i % 8);
	}
	return array;
}

/* Makes an array of by-value elements at a fixed stride, with NULLs. */
static ArrayType *
gather_nullable(const Vector *vector, const uint32 *rows, uint64 count, int lower_bound)
{
	const VectorType *vtype = vector->type;
	uint64		nulls = 0;
	uint8	   *bitmap;
	ArrayType  *array;
	char	   *to;

	for (uint64 i = 0; i < count; i++)
		nulls += vector_is_null(vector, rows ? rows[i] : i);
	array = array_begin(vtype->type, count, (count - nulls) * vtype->stride, false, nulls > 0, lower_bound);
	to = array_elements(array);
	bitmap = ARR_NULLBITMAP(array);
	if (nulls == 0 && rows)
	{
		gather_fixed(vector, rows, count, to);
		return array;
	}

#define GATHER(width) \
	for (uint64 i = from; i < end; i++) \
	{ \
		uint64		row = rows ? rows[i] : i; \
		\
		if (vector_is_null(vector, row)) \
			continue; \
		if (bitmap) \
			bitmap[i / 8] |= 1 << (i % 8); \
		memcpy(to, vector->data + row * (width), width); \
		to += (width); \
	}

	for (uint64 from = 0; from < count; from += GATHER_BLOCK)
	{
		uint64		end = Min(from + GATHER_BLOCK, count);

		CHECK_FOR_INTERRUPTS();
		if (vtype->stride == 8)
			GATHER(8)
		else if (vtype->stride == 4)
			GATHER(4)
		else if (vtype->stride == 2)
			GATHER(2)
		else
			GATHER(1)
	}
#undef GATHER
	return array;
}

ArrayType *
vector_to_array(const Vector *vector, const uint32 *rows, uint64 count, int lower_bound)
{
	const VectorType *vtype = vector->type;
	ArrayType  *array;

	if (count == 0)
		return construct_empty_array(vtype->type);
	check_array_size(count, 0);
	if (vector->nulls && vtype->byval)
		return gather_nullable(vector, rows, count, lower_bound);
	if (vtype->stride == 0 || vector->offsets || vector->nulls)
		return gather_general(vector, rows, count, lower_bound);
	array = array_begin(vtype->type, count, count * vtype->stride, vtype->stride != vtype->len, false, lower_bound);
	if (rows)
		gather_fixed(vector, rows, count, array_elements(array));
	else
		memcpy(array_elements(array), vector->data, count * vtype->stride);
	return array;
}
