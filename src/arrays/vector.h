/*
 * vector.h: values of one type in a column of their own: an aggregate's state, an array's elements.
 *
 * Values lie as they lie in rows: of fixed width at a fixed stride, others one after another with a table of their
 * offsets.  A vector either grows (vector_append) or stands on memory of somebody else (vector_from_array).  A small
 * one is one allocation; a large one grows by having its pages moved (bigmem.h), never by being copied.
 */
#ifndef GPUSORT_VECTOR_H
#define GPUSORT_VECTOR_H

#include "access/tupmacs.h"
#include "utils/array.h"

#include "src/base/bigmem.h"
#include "src/base/compat.h"

/* What all vectors of a type share, so that thousands of small ones stay small. */
typedef struct VectorType
{
	Oid			type;
	int16		len;			/* as pg_type.typlen */
	bool		byval;
	char		align;
	uint16		stride;			/* bytes from one value to the next, 0 if that varies */
	Size		limit;			/* bytes that one vector may hold */
} VectorType;

typedef struct Vector
{
	const VectorType *type;
	MemoryContext context;		/* of what has been allocated */
	BigMem	   *big;			/* of large blocks, NULL as long as there are none */
	char	   *data;			/* a NULL of fixed width is zeros, others take no room */
	uint64	   *nulls;			/* a set bit is a NULL; NULL if there are none */
	uint32	   *offsets;		/* of each value in data; NULL if the stride is fixed */
	Size		used;			/* bytes of data, if there are offsets */
	Size		size;			/* bytes there is room for in data */
	uint32		rows;
	uint32		room;			/* rows there is room for */
	bool		borrowed;		/* data is not ours to give back */
	uint8		plain;			/* bytes of a by-value value, 0 if it is not passed so */
} Vector;

/* No more rows than row numbers of kernels/gs.h. */
#define VECTOR_MAX_ROWS GS_MAX_ROWS

/* Looks the type up; the limit is gpusort.work_mem. */
extern void vector_type(VectorType *vtype, Oid type);

/*
 * An empty vector in the current memory context.  Its first values go to room, of room_bytes and aligned as the
 * strictest type, if that is not NULL: small ones need nothing else.
 */
extern void vector_init(Vector *vector, const VectorType *vtype, void *room, Size room_bytes);

/* Gives back what was allocated; the vector may be used again after vector_init. */
extern void vector_free(Vector *vector);

/*
 * The elements of an array, which must stay where it is: used in place if they lie at a fixed stride, else through a
 * table of offsets; with NULLs among them, by-value ones are spread out.  An array of several dimensions is an error.
 * vtype must be of the array's element type.
 */
extern void vector_from_array(Vector *vector, const VectorType *vtype, ArrayType *array);

/* Takes the last value away again. */
extern void vector_drop_last(Vector *vector);

/* Any value, with growth, NULLs and forms that vector_put knows nothing of; false at the vector's limit. */
extern bool vector_append_slow(Vector *vector, Datum value, bool isnull);

/* Stops with an error that says how to go on: a vector has reached its limit. */
pg_noreturn extern void vector_limit_error(const Vector *vector);

/*
 * An array of the values whose numbers are given (all in their order if rows is NULL), with PostgreSQL's error if it
 * would be too large; in the current memory context.
 */
extern ArrayType *vector_to_array(const Vector *vector, const uint32 *rows, uint64 count, int lower_bound);

/*
 * Begins an array of one dimension with room for so many bytes of elements, or stops with PostgreSQL's error if it
 * would be too large. padded: there are gaps between elements, which are zeros.  A bitmap, if asked for, says that
 * all elements are NULL.
 */
extern ArrayType *array_begin(Oid type, uint64 count, Size data_bytes, bool padded, bool has_nulls, int lower_bound);

/* Where an array's elements begin. */
static inline char *
array_elements(ArrayType *array)
{
	return (char *) array + (array->dataoffset ? (Size) array->dataoffset : ARR_OVERHEAD_NONULLS(array->ndim));
}

/* Most vectors have no NULLs, and then no bits. */
static inline bool
vector_is_null(const Vector *vector, uint64 row)
{
	return vector->nulls != NULL && (vector->nulls[row / 64] >> (row % 64) & 1) != 0;
}

/* Where a value lies that is not NULL. */
static inline char *
vector_address(const Vector *vector, uint64 row)
{
	return vector->data + (vector->offsets ? vector->offsets[row] : row * vector->type->stride);
}

/* Is a boolean true, not false nor NULL? */
static inline bool
vector_is_true(const Vector *flags, uint64 row)
{
	return !vector_is_null(flags, row) && *vector_address(flags, row);
}

/* A value; one that is passed by reference stays in the vector. */
static inline Datum
vector_get(const Vector *vector, uint64 row, bool *isnull)
{
	*isnull = vector_is_null(vector, row);
	if (*isnull)
		return (Datum) 0;
	return fetch_att(vector_address(vector, row), vector->type->byval, vector->type->len);
}

/* Is there room for this value as it is? */
static inline bool
vector_has_room(const Vector *vector, bool isnull)
{
	return vector->rows < vector->room && vector->plain && !isnull;
}

/* Appends a value for which there is room. */
static inline void
vector_put(Vector *vector, Datum value)
{
	uint32		row = vector->rows++;

	switch (vector->plain)
	{
		case 8:
			((uint64 *) vector->data)[row] = (uint64) value;
			break;
		case 4:
			((uint32 *) vector->data)[row] = (uint32) value;
			break;
		case 2:
			((uint16 *) vector->data)[row] = (uint16) value;
			break;
		default:
			((uint8 *) vector->data)[row] = (uint8) value;
			break;
	}
}

/*
 * Appends bytes as a value of a variable-length type, with a short header if it can have one.  False, and nothing
 * appended, if that would take the vector beyond its limit.
 */
extern bool vector_append_bytes(Vector *vector, const char *data, Size length);

/* Appends a copy of a value.  False, and nothing appended, if that would take the vector beyond its limit. */
static inline bool
vector_append(Vector *vector, Datum value, bool isnull)
{
	if (unlikely(!vector_has_room(vector, isnull)))
		return vector_append_slow(vector, value, isnull);
	vector_put(vector, value);
	return true;
}

#endif
