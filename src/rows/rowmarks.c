/*
 * rowmarks.c: which rows may be tied when long strings are sorted by a prefix, or keys are deferred.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"

#include "rowmarks.h"

#define MARKS_START 1024

/* A key's string in the chunk; NULL if offsets, read once as others may write them, point outside the heap. */
static const uint8 *
string_of(const KeyColumn *column, uint32 row, uint32 *len)
{
	volatile uint32 *offsets = (volatile uint32 *) column->values + row;
	uint32		start = offsets[0];

	*len = offsets[1] - start;
	return (Size) start + *len <= column->heap_bytes ? column->heap + start : NULL;
}

/* The hash of a value of fixed width.  All zeros of a float are equal, and all NaNs. */
static uint32
hash_fixed(gs_type type, const uint8 *bytes, uint32 width)
{
	double		number = 0;
	float		single = 0;

	if (type == GS_F64)
		memcpy(&number, bytes, sizeof(number));
	else if (type == GS_F32)
	{
		memcpy(&single, bytes, sizeof(single));
		number = single;
	}
	else
		return hash_bytes(bytes, (int) width);
	if (isnan(number))
		return 1;
	if (number == 0)
		number = 0;
	return hash_bytes((const unsigned char *) &number, sizeof(number));
}

/* The mark of the row that is being written. */
static uint32
mark_of(const SortKey *keys, const KeyWriter *writer, int nkeys)
{
	uint32		hash = 0;

	for (int i = 0; i < nkeys; i++)
	{
		const KeyColumn *column = &writer->columns[i];
		uint32		len = keys[i].width;
		const uint8 *bytes = (uint8 *) column->values + (Size) writer->row * len;

		if (keys[i].empty)
			return hash | 1;
		if (len == 0)
			bytes = string_of(column, writer->row, &len);
		if (bytes != NULL)
			hash = hash_combine(hash, keys[i].width > 0 ? hash_fixed(keys[i].spec.type, bytes, len) :
								hash_bytes(bytes, len));
		if (keys[i].leading > 0 ? len >= keys[i].leading : keys[i].coarse)
			return hash | 1;
	}
	return 0;
}

/* Makes room for twice as many marks. */
static bool
grow(RowMarks *marks)
{
	Size		room = Min(Max((Size) marks->room * 2, MARKS_START), (Size) GS_MAX_ROWS);
	uint32	   *larger = marks->marks ? bigmem_resize(marks->mem, marks->marks, room * sizeof(uint32))
		: bigmem_alloc(marks->mem, room * sizeof(uint32));

	if (larger == NULL)
		return false;
	marks->marks = larger;
	marks->room = (uint32) room;
	return true;
}

bool
rowmarks_put(RowMarks *marks, const SortKey *keys, const KeyWriter *writer, int nkeys)
{
	if (unlikely(marks->rows == marks->room) && !grow(marks))
		return false;
	marks->marks[marks->rows++] = mark_of(keys, writer, nkeys);
	return true;
}

uint32
count_different(const uint32 *hashes, uint32 count)
{
	bool	   *seen = palloc0(PG_UINT16_MAX + 1);
	uint32		different = 0;

	for (uint32 i = 0; i < count; i++)
	{
		bool	   *this = &seen[hashes[i] >> 16];

		different += !*this;
		*this = true;
	}
	pfree(seen);
	return different;
}

void
rowmarks_free(RowMarks *marks)
{
	if (marks->marks)
		bigmem_free(marks->mem, marks->marks);
	marks->marks = NULL;
	marks->rows = marks->room = 0;
}
