/*
 * columns_rows.c: questions whose results are rows: which segments a gs_row names, and where in the table its row is.
 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/*
 * Makes an array larger.  Returns false without memory.
 */
static bool
enlarge(void *array, uint64_t bytes, uint64_t more)
{
	void *larger;

	if (!gsd_work_take(more))
		return false;
	larger = realloc(*(void **) array, bytes + more);
	if (larger == NULL)
		gsd_work_give(more);
	else
		*(void **) array = larger;
	return larger != NULL;
}

/*
 * Makes room for another segment.
 */
static bool
segments_room(row_segments *r, const page_job *j)
{
	uint64_t more = r->room > 0 ? r->room : 64;
	uint64_t each = j->ncolumns * sizeof(gs_held);

	if (r->n < r->room)
		return true;
	if (!enlarge(&r->of, r->room * sizeof(*r->of), more * sizeof(*r->of)))
		return false;
	r->bytes += more * sizeof(*r->of);
	if (!enlarge(&r->columns, r->room * each, more * each))
		return false;
	r->bytes += more * each;
	r->room += more;
	return true;
}

/*
 * Returns where the search for a segment begins.
 */
static uint64_t
hash_of(const row_segments *r, const segment *s)
{
	return (s->number * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (r->index_room - 1);
}

/*
 * Finds a segment, or the end of the search for it.
 */
static uint32_t *
find(const row_segments *r, const segment *s)
{
	uint64_t at = hash_of(r, s);

	while (r->index[at] != 0 && r->of[r->index[at] - 1] != s)
		at = (at + 1) & (r->index_room - 1);
	return &r->index[at];
}

/*
 * Makes the index twice as large once it is half full.
 */
static bool
index_room(row_segments *r)
{
	uint64_t room = r->index_room > 0 ? 2 * r->index_room : 256;

	if (2 * (uint64_t) r->n < r->index_room)
		return true;
	if (!enlarge(&r->index, r->index_room * sizeof(*r->index), (room - r->index_room) * sizeof(*r->index)))
		return false;
	r->bytes += (room - r->index_room) * sizeof(*r->index);
	r->index_room = room;
	memset(r->index, 0, room * sizeof(*r->index));
	for (uint32_t i = 0; i < r->n; i++)
		*find(r, r->of[i]) = i + 1;
	return true;
}

/*
 * Appends a segment.
 */
static bool
append(row_segments *r, const page_job *j, const segment *s, const uint32_t *columns)
{
	if (!segments_room(r, j))
		return false;
	for (uint32_t c = 0; c < j->ncolumns; c++)
		r->columns[(uint64_t) r->n * j->ncolumns + c] = columns == NULL ? s->columns[c] :
			columns[c] != GSD_POSITIONS ? s->columns[columns[c]] : (gs_held){0};
	r->of[r->n++] = s;
	return true;
}

bool
gsd_rows_add(row_segments *r, const page_job *j, const segment *s)
{
	uint32_t *at;

	if (!index_room(r))
		return false;
	at = find(r, s);
	if (*at != 0)
		return true;
	if (!append(r, j, s, j->columns))
		return false;
	*at = r->held = r->n;
	return true;
}

bool
gsd_rows_add_added(row_segments *r, const page_job *j)
{
	for (uint32_t i = 0; i < j->nadded; i++)
		if (!append(r, j, j->added[i], NULL))
			return false;
	return true;
}

uint32_t
gsd_rows_place(const row_segments *r, const segment *s)
{
	return *find(r, s) - 1;
}

uint32_t
gsd_rows_page(const segment *s, uint32_t row)
{
	uint32_t low = 0, high = s->npages - 1;

	while (low < high)
	{
		uint32_t middle = low + (high - low + 1) / 2;

		if (s->pages[middle].first > row)
			high = middle - 1;
		else
			low = middle;
	}
	return low;
}

/*
 * Returns the row behind a page's.
 */
static uint32_t
page_end(const segment *s, uint32_t page)
{
	return page + 1 < s->npages ? s->pages[page + 1].first : s->rows;
}

/*
 * Finds a row's page.  Rows of a page mostly follow each other.
 */
static uint32_t
page_of(row_segments *r, const segment *s, uint32_t row)
{
	if (r->last == s && row >= s->pages[r->page].first && row < page_end(s, r->page))
		return r->page;
	r->last = s;
	r->page = gsd_rows_page(s, row);
	return r->page;
}

/*
 * Returns the line pointer of a page's row, counted from 0.
 */
static uint32_t
line_of(const segment *s, uint32_t page, uint32_t row)
{
	const uint8_t *bits;
	uint32_t byte, at = 0;

	if (s->lines == NULL || s->lines[page].lines == 0)
		return row + 1;
	bits = s->bitmaps + s->lines[page].at;
	for (byte = bits[0]; row >= (uint32_t) __builtin_popcount(byte); byte = bits[++at])
		row -= (uint32_t) __builtin_popcount(byte);
	for (; row > 0; row--)
		byte &= byte - 1;
	return at * 8 + (uint32_t) __builtin_ctz(byte) + 1;
}

gs_status
gsd_rows_tids(row_segments *r, const gs_row *rows, uint64_t n, uint64_t *tids)
{
	for (uint64_t i = 0; i < n; i++)
	{
		uint32_t row = rows[i].row, page;
		const segment *s;

		if (rows[i].segment >= r->n || row >= r->of[rows[i].segment]->rows)
			return GS_PROTOCOL;
		s = r->of[rows[i].segment];
		if (rows[i].segment >= r->held)
		{
			tids[i] = GSD_ADDED_ROW | (s->added_before + row);
			continue;
		}
		page = page_of(r, s, row);
		tids[i] = (uint64_t) s->pages[page].block << 16 | line_of(s, page, row - s->pages[page].first);
	}
	return GS_OK;
}

void
gsd_rows_free(row_segments *r)
{
	free(r->of);
	free(r->columns);
	free(r->index);
	gsd_work_give(r->bytes);
}
