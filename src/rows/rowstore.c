/*
 * rowstore.c: the rows of one sort in arrival order, fetched by row number.  A row is copied once, straight from the
 * scan's buffer page or from a slot's values into the arena: no allocation per row, and neighbours in arrival order are
 * neighbours in memory.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/tuptable.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "rowstore.h"

#define ARENA_START_BYTES ((Size) 64 * 1024)
#define ARENA_EXPECTED_BYTES ((Size) 256 * 1024)
#define ARENA_MAX_BYTES ((Size) UINT32_MAX * MAXIMUM_ALIGNOF)
#define OFFSETS_START 1024

/* The infomask bits that describe a row's layout.  The others are about transactions and differ from row to row. */
#define LAYOUT_BITS (HEAP_HASNULL | HEAP_HASVARWIDTH | HEAP_HASEXTERNAL)

RowStore *
rowstore_create(BigMem *mem, int natts)
{
	RowStore   *store = bigmem_alloc(mem, sizeof(RowStore));

	if (store == NULL)
		ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("out of memory")));
	memset(store, 0, sizeof(RowStore));
	store->mem = mem;
	store->natts = (uint16) natts;
	return store;
}

void
rowstore_reset(RowStore *store, bool keep)
{
	if (store->uniform)
		bigmem_free(store->mem, store->uniform);
	if (store->offsets && !keep)
		bigmem_free(store->mem, store->offsets);
	if (store->arena && !keep)
		bigmem_free(store->mem, store->arena);
	if (!keep)
	{
		store->offsets = NULL;
		store->offsets_size = 0;
		store->arena = NULL;
		store->size = 0;
	}
	store->uniform = NULL;
	store->used = 0;
	store->rows = 0;
	store->stride = 0;
	store->bare = false;
}

void
rowstore_end(RowStore *store)
{
	if (store->arena == NULL)
		return;
	bigmem_trim(store->arena, store->used);
	store->size = store->used;
}

/* Returns the arena's first size for rows like the first.  Small sorts that grow it take longer than they sort. */
static Size
arena_start(const RowStore *store, Size row_bytes)
{
	Size		size = ARENA_START_BYTES;

	while (size < ARENA_EXPECTED_BYTES && (double) size < store->rows_expected * (double) row_bytes)
		size *= 2;
	return size;
}

/* Makes the arena at least as large as asked, at least doubling it.  The first call is for one row. */
static bool
grow_arena(RowStore *store, Size bytes)
{
	Size		size = Max(store->arena ? store->size * 2 : arena_start(store, bytes), bytes);
	char	   *arena;

	if (bytes > ARENA_MAX_BYTES)
		return false;
	arena = store->arena ? bigmem_resize(store->mem, store->arena, size) : bigmem_alloc(store->mem, size);
	if (arena == NULL)
		return false;
	store->arena = arena;
	store->size = size;
	return true;
}

void
rowstore_expect(RowStore *store, double rows)
{
	Size		size;

	store->rows_expected = rows;
	if (store->rows == 0)
		return;
	size = arena_start(store, store->used / store->rows);
	/* without memory the rows that need it will find none */
	if (size > store->size)
		(void) grow_arena(store, size);
}

/* Makes room for the offsets of that many rows. */
static bool
grow_offsets(RowStore *store, uint32 rows)
{
	Size		size = Max(Max((Size) OFFSETS_START, (Size) store->offsets_size * 2), (Size) rows);
	uint32	   *offsets;

	size = Min(size, (Size) GS_MAX_ROWS);
	offsets = store->offsets ? bigmem_resize(store->mem, store->offsets, size * sizeof(uint32))
		: bigmem_alloc(store->mem, size * sizeof(uint32));
	if (offsets == NULL)
		return false;
	store->offsets = offsets;
	store->offsets_size = (uint32) size;
	return true;
}

/* Takes the first row's header as the one that all rows are expected to have. */
static bool
begin_uniform(RowStore *store, MinimalTuple header)
{
	store->uniform = bigmem_alloc(store->mem, MAXALIGN(header->t_len));
	if (store->uniform == NULL)
		return false;
	memcpy(store->uniform, header, ROW_HEADER_BYTES);
	store->bare = header->t_len - ROW_HEADER_BYTES <= BARE_BYTES;
	store->stride = MAXALIGN(store->bare ? header->t_len - ROW_HEADER_BYTES : header->t_len);
	return true;
}

/* Gives bare rows their headers, from the last row to the first in place. */
static bool
add_headers(RowStore *store)
{
	Size		stride = store->stride;
	Size		full = stride + ROW_HEADER_BYTES;

	if ((Size) store->rows * full > store->size && !grow_arena(store, (Size) store->rows * full))
		return false;
	for (uint32 row = store->rows; row-- > 0;)
	{
		char	   *place = store->arena + row * full;

		memmove(place + ROW_HEADER_BYTES, store->arena + row * stride, stride);
		memcpy(place, store->uniform, ROW_HEADER_BYTES);
	}
	store->used = (Size) store->rows * full;
	store->stride = (uint32) full;
	store->bare = false;
	return true;
}

/* Turns the uniform form into the general one. */
static bool
leave_uniform(RowStore *store)
{
	if (store->bare && !add_headers(store))
		return false;
	if (store->rows + 1 > store->offsets_size && !grow_offsets(store, store->rows + 1))
		return false;
	for (uint32 row = 0; row < store->rows; row++)
		store->offsets[row] = (uint32) ((Size) row * store->stride / MAXIMUM_ALIGNOF);
	store->stride = 0;
	return true;
}

/* Writes a row's fixed header by member, as a copy would wait for stores to the members; returns its end. */
static inline char *
write_header(char *place, const MinimalTupleData *header)
{
	MinimalTuple row = (MinimalTuple) place;

	row->t_len = header->t_len;
	memset(row->mt_padding, 0, sizeof(row->mt_padding));
	row->t_infomask2 = header->t_infomask2;
	row->t_infomask = header->t_infomask;
	row->t_hoff = header->t_hoff;
	return place + SizeofMinimalTupleHeader;
}

/*
 * Makes room for one more row with that header, t_bits not included, and writes the header unless rows are bare.
 * Returns the place behind the fixed header, where t_bits or the data of a bare row belong; NULL without memory.
 */
static char *
begin_row(RowStore *store, MinimalTuple header)
{
	bool		plain = !(header->t_infomask & HEAP_HASNULL) && header->t_infomask2 == store->natts &&
		header->t_len > ROW_HEADER_BYTES && header->t_hoff == ROW_HEADER_BYTES + MINIMAL_TUPLE_OFFSET;
	Size		bytes;
	char	   *place;

	if (store->rows >= GS_MAX_ROWS)
		return NULL;
	if (store->rows == 0 && plain && !begin_uniform(store, header))
		return NULL;
	if (store->stride && !(plain && memcmp(store->uniform, header, ROW_HEADER_BYTES) == 0) && !leave_uniform(store))
		return NULL;
	bytes = store->stride ? store->stride : MAXALIGN(header->t_len);
	if (store->used + bytes > store->size && !grow_arena(store, store->used + bytes))
		return NULL;
	place = store->arena + store->used;
	if (store->stride == 0)
	{
		if (store->rows >= store->offsets_size && !grow_offsets(store, store->rows + 1))
			return NULL;
		store->offsets[store->rows] = (uint32) (store->used / MAXIMUM_ALIGNOF);
	}
	if (!store->bare)
		place = write_header(place, header);
	store->used += bytes;
	store->rows++;
	return place;
}

/* Appends a row that exists as a tuple; its bytes behind the fixed header begin at bits. */
static inline bool
put_formed(RowStore *store, MinimalTuple header, const char *bits)
{
	char	   *place;

	/* the common case: one more bare row; reading up to its aligned end stays in its page or chunk */
	if (likely(store->bare && memcmp(store->uniform, header, ROW_HEADER_BYTES) == 0 &&
			   store->used + store->stride <= store->size && store->rows < GS_MAX_ROWS))
	{
		rowstore_copy_bare(store->arena + store->used, bits + (ROW_HEADER_BYTES - SizeofMinimalTupleHeader),
						   store->stride);
		store->used += store->stride;
		store->rows++;
		return true;
	}
	place = begin_row(store, header);
	if (place == NULL)
		return false;
	if (store->bare)
		memcpy(place, bits + (ROW_HEADER_BYTES - SizeofMinimalTupleHeader), header->t_len - ROW_HEADER_BYTES);
	else
		memcpy(place, bits, header->t_len - SizeofMinimalTupleHeader);
	return true;
}

/* Fills in a row's fixed header, and zeroes what follows up to ROW_HEADER_BYTES, so that headers compare whole. */
static inline void
make_header(MinimalTuple header, uint32 len, uint16 infomask2, uint16 infomask, uint8 hoff)
{
	memset(header, 0, ROW_HEADER_BYTES);
	header->t_len = len;
	header->t_infomask2 = infomask2 & HEAP_NATTS_MASK;
	header->t_infomask = infomask & LAYOUT_BITS;
	header->t_hoff = hoff;
}

/* The infomask that heap_fill_tuple will return, which is needed before that runs. */
static uint16
infomask_of(TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	uint16		infomask = 0;

	for (int i = 0; i < desc->natts; i++)
	{
		int16		len = TupleDescAttr(desc, i)->attlen;

		if (slot->tts_isnull[i])
			infomask |= HEAP_HASNULL;
		else if (len < 0)
		{
			infomask |= HEAP_HASVARWIDTH;
			if (len == -1 && VARATT_IS_EXTERNAL(DatumGetPointer(slot->tts_values[i])) &&
				!VARATT_IS_EXTERNAL_EXPANDED(DatumGetPointer(slot->tts_values[i])))
				infomask |= HEAP_HASEXTERNAL;
		}
	}
	return infomask;
}

/* Forms a row from a slot's values in the arena itself. */
static bool
put_values(RowStore *store, TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	MinimalTupleData header;
	uint16		infomask;
	Size		hoff = SizeofMinimalTupleHeader;
	Size		behind;			/* bytes of t_bits, with those that align the data */
	Size		data_len;
	char	   *place;
	uint8	   *bits = NULL;

	slot_getallattrs(slot);
	infomask = infomask_of(slot);
	if (infomask & HEAP_HASNULL)
		hoff += BITMAPLEN(desc->natts);
	hoff = MAXALIGN(hoff);
	data_len = heap_compute_data_size(desc, slot->tts_values, slot->tts_isnull);
	if (hoff + data_len > MaxAllocSize)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too big: size %zu, maximum size %zu", hoff + data_len, (Size) MaxAllocSize)));
	make_header(&header, hoff + data_len, desc->natts, infomask, hoff + MINIMAL_TUPLE_OFFSET);
	place = begin_row(store, &header);
	if (place == NULL)
		return false;
	behind = store->bare ? 0 : hoff - SizeofMinimalTupleHeader;
	memset(place, 0, behind + data_len);
	if (infomask & HEAP_HASNULL)
		bits = (uint8 *) place;
	place += behind;
	heap_fill_tuple(desc, slot->tts_values, slot->tts_isnull, place, data_len, &infomask, bits);
	Assert((infomask & LAYOUT_BITS) == header.t_infomask);
	return true;
}

bool
rowstore_put_row(RowStore *store, MinimalTuple row)
{
	return put_formed(store, row, (char *) row->t_bits);
}

bool
rowstore_put(RowStore *store, TupleTableSlot *slot)
{
	MinimalTupleData header;

	if ((TTS_IS_BUFFERTUPLE(slot) || TTS_IS_HEAPTUPLE(slot)) && ((HeapTupleTableSlot *) slot)->tuple != NULL)
	{
		HeapTuple	tuple = ((HeapTupleTableSlot *) slot)->tuple;

		make_header(&header, tuple->t_len - MINIMAL_TUPLE_OFFSET, tuple->t_data->t_infomask2,
					tuple->t_data->t_infomask, tuple->t_data->t_hoff);
		return put_formed(store, &header, (char *) tuple->t_data->t_bits);
	}
	if (TTS_IS_MINIMALTUPLE(slot) && ((MinimalTupleTableSlot *) slot)->mintuple != NULL)
	{
		MinimalTuple tuple = ((MinimalTupleTableSlot *) slot)->mintuple;

		make_header(&header, tuple->t_len, tuple->t_infomask2, tuple->t_infomask, tuple->t_hoff);
		return put_formed(store, &header, (char *) tuple->t_bits);
	}
	return put_values(store, slot);
}

/* Copies a page's tuples up to the first one that does not have the uniform header; returns how many. */
static uint32
copy_rows(const RowStore *store, char *to, Page page, const OffsetNumber *items, uint32 count)
{
	MinimalTuple like = store->uniform;
	uint32		len = like->t_len + MINIMAL_TUPLE_OFFSET;
	uint32		taken;

	for (taken = 0; taken < count; taken++)
	{
		ItemId		item = PageGetItemId(page, items[taken]);
		HeapTupleHeader tuple = (HeapTupleHeader) PageGetItem(page, item);

		if (unlikely(ItemIdGetLength(item) != len || (tuple->t_infomask & LAYOUT_BITS) != like->t_infomask ||
					 HeapTupleHeaderGetNatts(tuple) != like->t_infomask2 || tuple->t_hoff != like->t_hoff))
			break;
		if (store->bare)
			rowstore_copy_bare(to, (char *) tuple + ROW_HEADER_BYTES + MINIMAL_TUPLE_OFFSET, store->stride);
		else
		{
			memcpy(to, like, ROW_HEADER_BYTES);
			memcpy(to + ROW_HEADER_BYTES, (char *) tuple + ROW_HEADER_BYTES + MINIMAL_TUPLE_OFFSET,
				   like->t_len - ROW_HEADER_BYTES);
		}
		to += store->stride;
	}
	return taken;
}

/* Appends a page's tuples in the general form, all or, without memory, none. */
static uint32
copy_any_rows(RowStore *store, Page page, const OffsetNumber *items, uint32 count)
{
	Size		most = store->used + BLCKSZ + (Size) count * MAXIMUM_ALIGNOF;

	if ((most > store->size && !grow_arena(store, most)) ||
		(store->rows + count > store->offsets_size && !grow_offsets(store, store->rows + count)))
		return 0;
	for (uint32 i = 0; i < count; i++)
	{
		ItemId		item = PageGetItemId(page, items[i]);
		HeapTupleHeader tuple = (HeapTupleHeader) PageGetItem(page, item);
		MinimalTuple row = (MinimalTuple) (store->arena + store->used);

		make_header(row, ItemIdGetLength(item) - MINIMAL_TUPLE_OFFSET, tuple->t_infomask2, tuple->t_infomask,
					tuple->t_hoff);
		memcpy(row->t_bits, tuple->t_bits, row->t_len - SizeofMinimalTupleHeader);
		store->offsets[store->rows++] = (uint32) (store->used / MAXIMUM_ALIGNOF);
		store->used += MAXALIGN(row->t_len);
	}
	return count;
}

char *
rowstore_room(RowStore *store, uint32 count)
{
	Size		wanted = store->used + (Size) count * store->stride;

	if (wanted > store->size && !grow_arena(store, wanted))
		return NULL;
	return store->arena + store->used;
}

uint32
rowstore_put_page(RowStore *store, Page page, const OffsetNumber *items, uint32 count)
{
	char	   *to;
	uint32		taken;

	count = Min(count, GS_MAX_ROWS - store->rows);
	if (count == 0 || store->rows == 0)
		return 0;
	if (store->stride == 0)
		return copy_any_rows(store, page, items, count);
	to = rowstore_room(store, count);
	if (to == NULL)
		return 0;
	taken = copy_rows(store, to, page, items, count);
	rowstore_advance(store, taken);
	return taken;
}
