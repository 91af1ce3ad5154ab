/*
 * row_places.c: the rows that answer a question about rows, as TIDs.
 *
 * The service names rows of its pages by their TIDs, and added rows by the number that they have in the question, as
 * TIDs of these are known here alone.  What is checked: rows are of pages that were asked about, or were added; none
 * comes twice (store_ask.c looks at ordered ones).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "row_places.h"
#include "store.h"

const char *const row_places_too_many = "its rows are more than work_mem has room for";
static const char *const impossible = "the service's answer is impossible";

/* Bytes of a row: of one that is found, in two arrays while they are sorted. */
#define ROW_BYTES (2 * sizeof(uint64))

bool
row_places_fit(double rows)
{
	return rows * ROW_BYTES <= (double) get_hash_memory_limit();
}

/* Makes an array larger. */
static void *
enlarge(void *array, Size bytes)
{
	return array == NULL ? MemoryContextAllocHuge(CurrentMemoryContext, bytes) : repalloc_huge(array, bytes);
}

void
row_places_begin(RowPlaces *places, const PageProof *proof)
{
	places->proof = proof;
	places->count = places->nadded = places->npages = 0;
}

bool
row_places_note(RowPlaces *places, const HeapPageRows *rows)
{
	if (!row_places_fit((double) (places->nadded + (uint64) rows->count) * sizeof(uint16) / ROW_BYTES))
		return false;
	if (places->npages == places->pages_room)
	{
		places->pages_room = Max(2 * places->pages_room, 256);
		places->pages = enlarge(places->pages, places->pages_room * sizeof(AddedPage));
	}
	if (places->nadded + (uint64) rows->count > places->added_room)
	{
		places->added_room = Max(2 * places->added_room, 16 * MaxHeapTuplesPerPage);
		places->lines = enlarge(places->lines, places->added_room * sizeof(uint16));
	}
	places->pages[places->npages++] = (AddedPage) {rows->block, places->nadded};
	memcpy(places->lines + places->nadded, rows->lines, sizeof(uint16) * (Size) rows->count);
	places->nadded += (uint64) rows->count;
	return true;
}

/* Returns the TID of an added row. */
static uint64
added_tid(const RowPlaces *places, uint64 row)
{
	uint32		low = 0;
	uint32		high = places->npages - 1;

	while (low < high)
	{
		uint32		middle = low + (high - low + 1) / 2;

		if (places->pages[middle].first > row)
			high = middle - 1;
		else
			low = middle;
	}
	return (uint64) places->pages[low].block << 16 | places->lines[row];
}

/* Returns true if a TID can be that of a row of a page that was asked about. */
static bool
is_asked(const PageProof *proof, uint64 tid)
{
	uint64		block = tid >> 16;
	uint64		line = tid & 0xffff;

	return block < proof->nblocks && (proof->proved[block / 64] >> block % 64 & 1) && line >= FirstOffsetNumber &&
		line <= MaxHeapTuplesPerPage;
}

const char *
row_places_take(RowPlaces *places, const uint64 *given, uint64 n)
{
	if (!row_places_fit((double) (places->count + n)))
		return row_places_too_many;
	if (places->count + n > places->room)
	{
		places->room = Max(2 * places->room, Max(n, 256));
		places->tids = enlarge(places->tids, places->room * sizeof(uint64));
	}
	for (uint64 i = 0; i < n; i++)
	{
		uint64		row = given[i] & ~STORE_ADDED_ROW;

		if (row == given[i] ? !is_asked(places->proof, row) : row >= places->nadded)
			return impossible;
		places->tids[places->count++] = row == given[i] ? row : added_tid(places, row);
	}
	return NULL;
}

/* Returns true if TIDs ascend. */
static bool
ascends(const RowPlaces *places)
{
	for (uint64 i = 1; i < places->count; i++)
		if (places->tids[i] <= places->tids[i - 1])
			return false;
	return true;
}

/*
 * Puts the TIDs of each block together, in the order of blocks.  Within a block they keep their order.  Returns false
 * if a block has more than there can be.
 */
static bool
distribute(RowPlaces *places)
{
	Size		nblocks = places->proof->nblocks;
	uint64	   *sorted = MemoryContextAllocHuge(CurrentMemoryContext, places->room * sizeof(uint64));
	uint64	   *next = MemoryContextAllocExtended(CurrentMemoryContext, (nblocks + 1) * sizeof(uint64),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	for (uint64 i = 0; i < places->count; i++)
		if (++next[(places->tids[i] >> 16) + 1] > MaxHeapTuplesPerPage)
			return false;
	for (Size block = 1; block < nblocks; block++)
		next[block] += next[block - 1];
	for (uint64 i = 0; i < places->count; i++)
		sorted[next[places->tids[i] >> 16]++] = places->tids[i];
	pfree(next);
	pfree(places->tids);
	places->tids = sorted;
	return true;
}

/* Sorts TIDs of which those of each block are together, and mostly ascend. */
static void
sort_in_blocks(RowPlaces *places)
{
	for (uint64 i = 1; i < places->count; i++)
	{
		uint64		tid = places->tids[i];
		uint64		at = i;

		for (; at > 0 && places->tids[at - 1] > tid; at--)
			places->tids[at] = places->tids[at - 1];
		places->tids[at] = tid;
	}
}

const char *
row_places_end(RowPlaces *places)
{
	if (places->ordered || ascends(places))
		return NULL;
	if (!distribute(places))
		return impossible;
	sort_in_blocks(places);
	return ascends(places) ? NULL : impossible;
}
