/*
 * vector.c: a column of values of one type.  Blocks below BIG_BYTES come from the memory context, where a hash
 * aggregate accounts for them; larger ones grow by moving pages.  Capacity doubles up to the limit.
 */
#include "postgres.h"

#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/base/guc.h"
#include "src/base/keptmem.h"
#include "vector.h"

/* Smaller blocks would take a mapping of this size. */
#define BIG_BYTES HUGE_PAGE
#define FIRST_BYTES ((Size) 64)
#define FIRST_OFFSETS 8

void
vector_type(VectorType *vtype, Oid type)
{
	vtype->type = type;
	get_typlenbyvalalign(type, &vtype->len, &vtype->byval, &vtype->align);
	vtype->stride = vtype->len > 0 ? att_align_nominal((Size) vtype->len, vtype->align) : 0;
	vtype->limit = gpusort_memory_limit();
}

void
vector_init(Vector *vector, const VectorType *vtype, void *room, Size room_bytes)
{
	memset(vector, 0, sizeof(Vector));
	vector->type = vtype;
	vector->context = CurrentMemoryContext;
	vector->data = room;
	vector->size = room ? room_bytes : 0;
	vector->borrowed = room != NULL;
	vector->plain = vtype->byval ? (uint8) vtype->len : 0;
	if (vtype->stride && room)
		vector->room = (uint32) (room_bytes / vtype->stride);
}

/* Returns the bytes of a null bitmap. */
static inline Size
nulls_bytes(Size rows)
{
	return (rows + 63) / 64 * sizeof(uint64);
}

/* Frees a block of this size. */
static void
release(Vector *vector, void *block, Size bytes)
{
	if (block == NULL)
		return;
	if (bytes >= BIG_BYTES)
		bigmem_free(vector->big, block);
	else
		pfree(block);
}

void
vector_free(Vector *vector)
{
	if (!vector->borrowed)
		release(vector, vector->data, vector->size);
	release(vector, vector->nulls, nulls_bytes(vector->room));
	release(vector, vector->offsets, vector->room * sizeof(uint32));
	vector->data = NULL;
	vector->nulls = NULL;
	vector->offsets = NULL;
	vector->rows = vector->room = 0;
	vector->used = vector->size = 0;
}

/* Enlarges a block.  Unless owned, copies the old one and leaves it alone. */
static void *
grow_block(Vector *vector, void *old, Size old_bytes, Size bytes, bool owned)
{
	void	   *block;

	if (bytes < BIG_BYTES)
	{
		if (old && owned)
			return repalloc(old, bytes);
		block = MemoryContextAlloc(vector->context, bytes);
	}
	else
	{
		if (vector->big == NULL)
			vector->big = bigmem_create(vector->context);
		if (old && owned && old_bytes >= BIG_BYTES)
			block = bigmem_resize(vector->big, old, bytes);
		else
			block = bigmem_alloc(vector->big, bytes);
		if (block == NULL)
			ereport(ERROR,
					(errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory"),
					 errdetail("Failed on request of size %zu for values to be sorted.", bytes)));
		if (old && owned && old_bytes >= BIG_BYTES)
			return block;
	}
	if (old)
	{
		memcpy(block, old, old_bytes);
		if (owned)
			release(vector, old, old_bytes);
	}
	return block;
}

/* Creates or enlarges the null bitmap.  New bits are clear. */
static void
grow_nulls(Vector *vector, uint32 room)
{
	Size		old = vector->nulls ? nulls_bytes(vector->room) : 0;
	Size		bytes = nulls_bytes(room);

	vector->nulls = grow_block(vector, vector->nulls, old, bytes, true);
	memset((char *) vector->nulls + old, 0, bytes - old);
}

/* Enlarges data. */
static void
grow_data(Vector *vector, Size bytes)
{
	Size		keep = vector->type->stride ? (Size) vector->rows * vector->type->stride : vector->used;

	vector->data = grow_block(vector, vector->data, vector->borrowed ? keep : vector->size, bytes, !vector->borrowed);
	vector->size = bytes;
	vector->borrowed = false;
}

/* Returns the next capacity in rows, within the limit; the current one if that is exhausted. */
static uint32
next_room(const Vector *vector)
{
	Size		stride = vector->type->stride;
	Size		row_bits = stride ? stride * BITS_PER_BYTE : sizeof(uint32) * BITS_PER_BYTE;
	Size		fixed = stride ? 0 : vector->size;
	Size		most;
	Size		room;

	/* the bitmap, even if there is none yet, with its last word */
	row_bits++;
	fixed += sizeof(uint64);
	most = vector->type->limit > fixed ? (vector->type->limit - fixed) * BITS_PER_BYTE / row_bits : 0;
	room = Max((Size) vector->room * 2, stride ? Max(FIRST_BYTES / stride, 1) : FIRST_OFFSETS);
	return (uint32) Min(Min(room, most), VECTOR_MAX_ROWS);
}

/* Makes room for more rows.  Returns false at the limit. */
static bool
grow_rows(Vector *vector)
{
	uint32		room = next_room(vector);

	if (room <= vector->room)
		return false;
	if (vector->type->stride)
		grow_data(vector, (Size) room * vector->type->stride);
	else
		vector->offsets = grow_block(vector, vector->offsets, vector->room * sizeof(uint32), room * sizeof(uint32),
									 true);
	if (vector->nulls)
		grow_nulls(vector, room);
	vector->room = room;
	return true;
}

/* Makes room for data up to `end`.  Returns false at the limit. */
static bool
grow_values(Vector *vector, Size end)
{
	Size		others = vector->room * sizeof(uint32) + nulls_bytes(vector->room);
	Size		limit = vector->type->limit;
	Size		most = limit > others ? limit - others : 0;
	Size		wanted = Max(FIRST_BYTES, Max(end, vector->size) * 2);
	double		fraction = (double) end / (end + (vector->rows + 1.0) * sizeof(uint32));

	/* offsets have 32 bits */
	most = Min(most, (Size) PG_UINT32_MAX);
	if (end > most)
		return false;
	/* reserve the rest of the limit for the offsets of as many values */
	wanted = Max(end + end / 16, Min(wanted, (Size) (fraction * limit)));
	grow_data(vector, Min(most, wanted));
	return true;
}

/* Appends a fixed-width value passed by reference, and zeros in the gap after it, since arrays may take it over. */
static void
append_fixed(Vector *vector, const char *value)
{
	const VectorType *vtype = vector->type;
	char	   *to = vector->data + (Size) vector->rows * vtype->stride;

	memcpy(to, value, vtype->len);
	memset(to + vtype->len, 0, vtype->stride - vtype->len);
}

/* Reserves room for a varying-width value as the next row.  Returns NULL at the limit. */
static inline char *
varying_room(Vector *vector, Size bytes, bool aligned)
{
	Size		start = aligned ? att_align_nominal(vector->used, vector->type->align) : vector->used;

	if (start + bytes > vector->size && !grow_values(vector, start + bytes))
		return NULL;
	vector->offsets[vector->rows] = (uint32) start;
	vector->used = start + bytes;
	return vector->data + start;
}

/* Appends a varying-width value. */
static bool
append_varying(Vector *vector, Datum value)
{
	const VectorType *vtype = vector->type;
	Pointer		source;
	Size		bytes;
	char	   *to;

	if (vtype->len == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	source = DatumGetPointer(value);
	bytes = att_addlength_datum((Size) 0, vtype->len, value);
	to = varying_room(vector, bytes, vtype->len != -1 || !VARATT_IS_SHORT(source));
	if (to)
		memcpy(to, source, bytes);
	return to != NULL;
}

bool
vector_append_bytes(Vector *vector, const char *data, Size length)
{
	bool		packed = length + VARHDRSZ_SHORT <= VARATT_SHORT_MAX;
	Size		bytes = length + (packed ? VARHDRSZ_SHORT : VARHDRSZ);
	char	   *to;

	if (vector->rows == vector->room && !grow_rows(vector))
		return false;
	to = varying_room(vector, bytes, !packed);
	if (to == NULL)
		return false;
	if (packed)
		SET_VARSIZE_SHORT(to, bytes);
	else
		SET_VARSIZE(to, bytes);
	memcpy(to + bytes - length, data, length);
	vector->rows++;
	return true;
}

uint64
vector_append_fixed(Vector *vector, const char *values, uint64 count)
{
	Size		stride = vector->type->stride;
	uint64		done = 0;

	for (uint64 n; done < count && (vector->rows < vector->room || grow_rows(vector)); done += n)
	{
		n = Min((uint64) (vector->room - vector->rows), count - done);
		memcpy(vector->data + (Size) vector->rows * stride, values + done * stride, n * stride);
		vector->rows += (uint32) n;
	}
	return done;
}

bool
vector_append_slow(Vector *vector, Datum value, bool isnull)
{
	const VectorType *vtype = vector->type;

	if (vector->rows == vector->room && !grow_rows(vector))
		return false;
	if (isnull)
	{
		if (vector->nulls == NULL)
			grow_nulls(vector, vector->room);
		vector->nulls[vector->rows / 64] |= UINT64CONST(1) << (vector->rows % 64);
		if (vtype->stride)
			memset(vector->data + (Size) vector->rows * vtype->stride, 0, vtype->stride);
		else
			vector->offsets[vector->rows] = (uint32) vector->used;
	}
	else if (vtype->byval)
		store_att_byval(vector->data + (Size) vector->rows * vtype->stride, value, vtype->len);
	else if (vtype->stride)
		append_fixed(vector, DatumGetPointer(value));
	else if (!append_varying(vector, value))
		return false;
	vector->rows++;
	return true;
}

void
vector_limit_error(const Vector *vector)
{
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("a group's values take too much memory"),
			 errdetail("The limit that follows from \"gpusort.work_mem\" is %zu kB here; %u values fit.",
					   vector->type->limit / 1024, vector->rows),
			 errhint("Raise \"gpusort.work_mem\", or make the groups smaller.")));
}

void
vector_drop_last(Vector *vector)
{
	vector->rows--;
	if (vector->nulls)
		vector->nulls[vector->rows / 64] &= ~(UINT64CONST(1) << (vector->rows % 64));
	if (vector->offsets)
		vector->used = vector->offsets[vector->rows];
}

/* Builds the table of elements' offsets and the null bitmap. */
static void
index_elements(Vector *vector, const uint8 *bitmap)
{
	const VectorType *vtype = vector->type;
	Size		at = 0;

	vector->offsets = grow_block(vector, NULL, 0, vector->room * sizeof(uint32), true);
	if (bitmap)
		grow_nulls(vector, vector->room);
	for (uint32 i = 0; i < vector->rows; i++)
	{
		vector->offsets[i] = (uint32) at;
		if (bitmap && (bitmap[i / 8] >> (i % 8) & 1) == 0)
			vector->nulls[i / 64] |= UINT64CONST(1) << (i % 64);
		else
		{
			at = att_addlength_pointer(at, vtype->len, vector->data + at);
			at = att_align_nominal(at, vtype->align);
		}
	}
	vector->used = at;
}

/* Spreads by-value elements out, adding places for NULLs, which take no room in an array. */
static void
spread_elements(Vector *vector, const uint8 *bitmap)
{
	Size		stride = vector->type->stride;
	const char *from = vector->data;
	char	   *to = grow_block(vector, NULL, 0, (Size) vector->room * stride, true);

	grow_nulls(vector, vector->room);
	vector->data = to;
	vector->size = (Size) vector->room * stride;
	vector->borrowed = false;

#define SPREAD(element) \
	for (uint32 i = 0; i < vector->rows; i++) \
	{ \
		bool		valid = (bitmap[i / 8] >> (i % 8) & 1) != 0; \
		\
		vector->nulls[i / 64] |= (uint64) !valid << (i % 64); \
		((element *) to)[i] = valid ? *(const element *) from : 0; \
		from += valid ? sizeof(element) : 0; \
	}

	if (stride == 8)
		SPREAD(uint64)
	else if (stride == 4)
		SPREAD(uint32)
	else if (stride == 2)
		SPREAD(uint16)
	else
		SPREAD(uint8)
#undef SPREAD
}

void
vector_from_array(Vector *vector, const VectorType *vtype, ArrayType *array)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("multidimensional arrays are not supported"),
				 errdetail("The array has %d dimensions.", ARR_NDIM(array)),
				 errhint("unnest() takes all its elements, and array_agg() makes an array of one dimension.")));
	Assert(ARR_ELEMTYPE(array) == vtype->type);
	vector_init(vector, vtype, NULL, 0);
	vector->data = array_elements(array);
	vector->size = VARSIZE(array) - (Size) (vector->data - (char *) array);
	vector->borrowed = true;
	vector->rows = vector->room = (uint32) ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	if (vector->rows > 0 && ARR_HASNULL(array) && vtype->byval)
		spread_elements(vector, ARR_NULLBITMAP(array));
	else if (vector->rows > 0 && (ARR_HASNULL(array) || vtype->stride == 0))
		index_elements(vector, ARR_NULLBITMAP(array));
}
