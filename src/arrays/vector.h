/*
 * vector.h: a column of values of one type: an aggregate's state, or an array's elements.  Values are stored as in
 * tuples: at a fixed stride, or one after another with a table of offsets.  A vector either grows (vector_append) or
 * stands on foreign memory (vector_from_array).  A large one moves its pages (bigmem.h).
 */
#ifndef GPUSORT_VECTOR_H
#define GPUSORT_VECTOR_H

#include "access/tupmacs.h"
#include "utils/array.h"

#include "src/base/bigmem.h"
#include "src/base/compat.h"
#include "src/keys/sortkey.h"

/* Properties shared by all vectors of a type, which keeps small vectors small. */
typedef struct VectorType
{
	Oid			type;
	int16		len;			/* as pg_type.typlen */
	bool		byval;
	char		align;
	uint16		stride;			/* bytes from one value to the next, 0 if varying */
	Size		limit;			/* of one vector, in bytes */
} VectorType;

typedef struct Vector
{
	const VectorType *type;
	MemoryContext context;		/* owner of the allocations */
	BigMem	   *big;			/* for large blocks; NULL until there is one */
	char	   *data;			/* fixed-width NULLs are zeros, others take no room */
	uint64	   *nulls;			/* bitmap; NULL if no value is NULL */
	uint32	   *offsets;		/* of values in data; NULL if the stride is fixed */
	Size		used;			/* bytes of data, if there are offsets */
	Size		size;			/* capacity of data in bytes */
	uint32		rows;
	uint32		room;			/* capacity in rows */
	bool		borrowed;		/* data is foreign memory */
	uint8		plain;			/* bytes of a by-value value; 0: by reference */
} Vector;

/* Values and their order. */
typedef struct VectorColumn
{
	const Vector *values;
	Oid			collation;
	bool		desc;			/* independent of the place of NULLs */
	bool		nulls_first;
} VectorColumn;

/* Limit of rows, that of row numbers in kernels/gs.h. */
#define VECTOR_MAX_ROWS GS_MAX_ROWS

/* Initializes a type.  The limit is gpusort.work_mem. */
extern void vector_type(VectorType *vtype, Oid type);

/* Initializes an empty vector, the first values to go to aligned room, if not NULL, in the current context. */
extern void vector_init(Vector *vector, const VectorType *vtype, void *room, Size room_bytes);

/* Frees the allocations.  The vector may be used again after vector_init. */
extern void vector_free(Vector *vector);

/* Stands a vector on a one-dimensional array, which must stay in place.  vtype must be that of the element type. */
extern void vector_from_array(Vector *vector, const VectorType *vtype, ArrayType *array);

/* Removes the last value. */
extern void vector_drop_last(Vector *vector);

/* Appends any value, as vector_put does not: growth, NULLs, other forms.  Returns false at the limit. */
extern bool vector_append_slow(Vector *vector, Datum value, bool isnull);

/* Raises the error for a vector at its limit, with a hint. */
pg_noreturn extern void vector_limit_error(const Vector *vector);

/*
 * vectorarray.c: makes an array of these rows (NULL: all) in the current context.  Raises PostgreSQL's error if it is
 * too large.
 */
extern ArrayType *vector_to_array(const Vector *vector, const uint32 *rows, uint64 count, int lower_bound);

/*
 * Starts a one-dimensional array with room for data_bytes of elements.  Raises PostgreSQL's error if it would be too
 * large.  padded: zeros the gaps between elements.  has_nulls: adds a bitmap in which all elements are NULL.
 */
extern ArrayType *array_begin(Oid type, uint64 count, Size data_bytes, bool padded, bool has_nulls, int lower_bound);

/* Returns the start of an array's elements. */
static inline char *
array_elements(ArrayType *array)
{
	return (char *) array + (array->dataoffset ? (Size) array->dataoffset : ARR_OVERHEAD_NONULLS(array->ndim));
}

/* Returns true if a row is NULL.  Most vectors have no bitmap. */
static inline bool
vector_is_null(const Vector *vector, uint64 row)
{
	return vector->nulls != NULL && (vector->nulls[row / 64] >> (row % 64) & 1) != 0;
}

/* Returns the address of a non-NULL value. */
static inline char *
vector_address(const Vector *vector, uint64 row)
{
	return vector->data + (vector->offsets ? vector->offsets[row] : row * vector->type->stride);
}

/* Returns true if a boolean is true, neither false nor NULL. */
static inline bool
vector_is_true(const Vector *flags, uint64 row)
{
	return !vector_is_null(flags, row) && *vector_address(flags, row);
}

/* Returns a value.  One passed by reference points into the vector. */
static inline Datum
vector_get(const Vector *vector, uint64 row, bool *isnull)
{
	*isnull = vector_is_null(vector, row);
	if (*isnull)
		return (Datum) 0;
	return fetch_att(vector_address(vector, row), vector->type->byval, vector->type->len);
}

/* Prefetch distance in rows of an order; of the places of values that have a table of offsets twice as far. */
#define VECTOR_AHEAD 16

/* Prefetches a value, and the place of another one.  Inlined: gcc drops calls of a function that only prefetches. */
static pg_attribute_always_inline void
vector_prefetch(const Vector *vector, uint64 value, uint64 place)
{
	if (vector->offsets)
		__builtin_prefetch(&vector->offsets[place]);
	__builtin_prefetch(vector_address(vector, value));
}

/* Returns true if vector_put can append the value. */
static inline bool
vector_has_room(const Vector *vector, bool isnull)
{
	return vector->rows < vector->room && vector->plain && !isnull;
}

/* Appends a value for which there is room. */
static inline void
vector_put(Vector *vector, Datum value)
{
	sortkey_put_plain(vector->data, value, vector->plain, vector->rows++);
}

/* Appends non-NULL fixed-width values, one after another, until the limit.  Returns how many. */
extern uint64 vector_append_fixed(Vector *vector, const char *values, uint64 count);

/* Appends bytes as a varlena value, with a short header if possible.  Returns false at the limit. */
extern bool vector_append_bytes(Vector *vector, const char *data, Size length);

/* Appends a copy of a value.  Returns false, with nothing appended, at the limit. */
static inline bool
vector_append(Vector *vector, Datum value, bool isnull)
{
	if (unlikely(!vector_has_room(vector, isnull)))
		return vector_append_slow(vector, value, isnull);
	vector_put(vector, value);
	return true;
}

#endif
