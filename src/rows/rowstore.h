/*
 * rowstore.h: the rows of one sort in arrival order, fetched by row number.
 */
#ifndef GPUSORT_ROWSTORE_H
#define GPUSORT_ROWSTORE_H

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "storage/bufpage.h"

#include "src/base/bigmem.h"

/* Bytes of a MinimalTuple before the data of a row without NULLs. */
#define ROW_HEADER_BYTES MAXALIGN(SizeofMinimalTupleHeader)

StaticAssertDecl(sizeof(MinimalTupleData) == ROW_HEADER_BYTES,
				 "a MinimalTupleData holds a header that can be compared whole");

/* Rows with more data than this keep their headers: copying them on the way out would cost more than 16 bytes save. */
#define BARE_BYTES 48

/*
 * Rows lie back to back in an arena, as MinimalTuples.  A store begins in the uniform form: all headers are equal, so
 * rows have a fixed stride.  Small uniform rows are bare: one header for all, which saves 16 bytes per row.  The first
 * row with another header turns the store into the general form.
 */
typedef struct RowStore
{
	BigMem	   *mem;
	char	   *arena;
	Size		used;			/* bytes of rows in the arena */
	Size		size;			/* bytes of the arena */
	double		rows_expected;	/* 0: unknown */
	uint16		natts;			/* columns of a row; old rows of a table may lack the last ones */
	uint32		rows;
	uint32		stride;			/* bytes from row to row in the uniform form, 0 in the general form */
	bool		bare;			/* uniform form without headers */
	uint32	   *offsets;		/* general form: each row's place in units of MAXIMUM_ALIGNOF */
	uint32		offsets_size;	/* entries there is room for */
	MinimalTuple uniform;		/* uniform form: the common header; bare also room for the row given out last */
} RowStore;

/* A store without rows, whose form is known with the first one. */
extern RowStore *rowstore_create(BigMem *mem, int natts);

/* Makes room for about that many rows, now or with the first one. */
extern void rowstore_expect(RowStore *store, double rows);

/* Appends a copy of a slot's row; false if memory or row numbers are used up. */
extern bool rowstore_put(RowStore *store, TupleTableSlot *slot);

/* rowstore_put of a row whose header has zeros in all bits that do not describe its layout. */
extern bool rowstore_put_row(RowStore *store, MinimalTuple row);

/* Appends tuples of a heap page; returns how many.  The first row, and the one behind these, use rowstore_put. */
extern uint32 rowstore_put_page(RowStore *store, Page page, const OffsetNumber *items, uint32 count);

/* Uniform form: where count more rows may be written before rowstore_advance appends them; NULL without memory. */
extern char *rowstore_room(RowStore *store, uint32 count);

/* Appends rows that were written to rowstore_room. */
static inline void
rowstore_advance(RowStore *store, uint32 count)
{
	store->used += (Size) count * store->stride;
	store->rows += count;
}

/* General form: an aligned place for a row, until rowstore_keep appends it; NULL if it has to use rowstore_put_row. */
static inline MinimalTuple
rowstore_place(const RowStore *store, Size bytes)
{
	if (store->stride != 0 || store->rows >= store->offsets_size || bytes > store->size - store->used)
		return NULL;
	return (MinimalTuple) (store->arena + store->used);
}

/* Appends a row that was formed at rowstore_place, whose bytes include those of its alignment. */
static inline void
rowstore_keep(RowStore *store, MinimalTuple row)
{
	store->offsets[store->rows++] = (uint32) (store->used / MAXIMUM_ALIGNOF);
	store->used += MAXALIGN(row->t_len);
}

/* Ends input: gives back the memory behind the last row. */
extern void rowstore_end(RowStore *store);

/* Forgets all rows; their memory is given back, or kept for the rows of the next run. */
extern void rowstore_reset(RowStore *store, bool keep);

/* Memory in use. */
static inline Size
rowstore_bytes(const RowStore *store)
{
	return store->used + (store->stride ? 0 : (Size) store->rows * sizeof(uint32));
}

/* Where a row lies. */
static inline const char *
rowstore_address(const RowStore *store, uint32 row)
{
	return store->arena + (store->stride ? (Size) row * store->stride : (Size) store->offsets[row] * MAXIMUM_ALIGNOF);
}

/* Where the place of a row is stored, for prefetches; in the uniform form something that is in the cache anyway. */
static inline const void *
rowstore_offset_address(const RowStore *store, uint32 row)
{
	return store->stride ? (const void *) store->uniform : &store->offsets[row];
}

/* How many positions ahead rows are prefetched at least, and how many positions before them their offsets. */
#define PREFETCH_ROWS 16
#define PREFETCH_PLACES 16
#define CACHE_LINE 64
#define PREFETCH_BYTES (4 * CACHE_LINE)

/* Bytes of a row and its header; of the last row in the general form those of the first. */
static inline Size
rowstore_row_bytes(const RowStore *store, uint32 row)
{
	if (store->stride)
		return store->stride;
	row = row + 1 < store->rows ? row : 0;
	return (Size) (store->offsets[row + 1] - store->offsets[row]) * MAXIMUM_ALIGNOF;
}

/*
 * Prefetches the row rows_ahead positions behind one of an order of count rows.  Always inline: gcc drops calls of a
 * function that only prefetches.
 */
static pg_attribute_always_inline void
rowstore_prefetch(const RowStore *store, const uint32 *order, uint64 index, uint64 count, uint32 rows_ahead)
{
	uint64		at = index + rows_ahead;
	const char *ahead;
	Size		bytes;

	if (unlikely(at + PREFETCH_PLACES >= count))
		return;
	__builtin_prefetch(rowstore_offset_address(store, order[at + PREFETCH_PLACES]));
	ahead = rowstore_address(store, order[at]);
	bytes = Min(rowstore_row_bytes(store, order[at]), PREFETCH_BYTES);
	for (Size i = 0; i < bytes; i += CACHE_LINE)
		__builtin_prefetch(ahead + i);
	/* its end may lie in one line more */
	__builtin_prefetch(ahead + bytes - 1);
}

/* Copies the data of a bare row.  There are few sizes, and a switch over them costs less than a call of memcpy. */
static inline void
rowstore_copy_bare(char *to, const char *from, uint32 stride)
{
	switch (stride)
	{
		case 8:
			memcpy(to, from, 8);
			break;
		case 16:
			memcpy(to, from, 16);
			break;
		case 24:
			memcpy(to, from, 24);
			break;
		case 32:
			memcpy(to, from, 32);
			break;
		case 40:
			memcpy(to, from, 40);
			break;
		default:
			Assert(stride == BARE_BYTES);
			memcpy(to, from, BARE_BYTES);
			break;
	}
}

/* The data of the first of the last count rows in the uniform form, else NULL. */
static inline const char *
rowstore_last_data(const RowStore *store, uint32 count)
{
	if (store->stride == 0)
		return NULL;
	return store->arena + store->used - (Size) count * store->stride + (store->bare ? 0 : ROW_HEADER_BYTES);
}

/* The header of every row in the uniform form, else NULL. */
static inline const MinimalTupleData *
rowstore_header(const RowStore *store)
{
	return store->stride ? store->uniform : NULL;
}

/* Bytes of the data of every row in the uniform form. */
static inline uint32
rowstore_data_bytes(const RowStore *store)
{
	return store->uniform->t_len - ROW_HEADER_BYTES;
}

/* The data of a row and its length; NULL if the row has NULLs or lacks columns. */
static inline const char *
rowstore_data(const RowStore *store, uint32 row, Size *bytes)
{
	const char *address = rowstore_address(store, row);
	MinimalTuple tuple;
	Size		header;

	if (store->stride)
	{
		*bytes = rowstore_data_bytes(store);
		return store->bare ? address : address + ROW_HEADER_BYTES;
	}
	tuple = (MinimalTuple) address;
	if ((tuple->t_infomask & HEAP_HASNULL) != 0 || HeapTupleHeaderGetNatts(tuple) < store->natts)
		return NULL;
	header = tuple->t_hoff - MINIMAL_TUPLE_OFFSET;
	*bytes = tuple->t_len - header;
	return address + header;
}

/* The row as a tuple, valid until the next call or rowstore_put. */
static inline MinimalTuple
rowstore_get(RowStore *store, uint32 row)
{
	const char *row_data = rowstore_address(store, row);

	if (!store->bare)
		return (MinimalTuple) row_data;
	rowstore_copy_bare((char *) store->uniform + ROW_HEADER_BYTES, row_data, store->stride);
	return store->uniform;
}

#endif
