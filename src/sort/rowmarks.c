/*
 * rowmarks.c: which rows of a sort may be tied where long strings are sorted by their first bytes.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "rowmarks.h"

#define MARKS_START 1024

/* The mark of the row that is being written. */
static uint32
mark_of(const SortKey *keys, const KeyWriter *writer, int nkeys)
{
	for (int i = 0; i < nkeys; i++)
	{
		const KeyColumn *column = &writer->columns[i];
		volatile uint32 *offsets;
		uint32		start;

		if (keys[i].leading == 0)
			continue;
		/* another process can write there: nothing is read twice, or behind the heap */
		offsets = (volatile uint32 *) column->values + writer->row;
		start = offsets[0];
		if (offsets[1] - start >= keys[i].leading && (Size) start + keys[i].leading <= column->heap_bytes)
			return hash_bytes(column->heap + start, keys[i].leading) | 1;
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

void
rowmarks_free(RowMarks *marks)
{
	if (marks->marks)
		bigmem_free(marks->mem, marks->marks);
	marks->marks = NULL;
	marks->rows = marks->room = 0;
}
