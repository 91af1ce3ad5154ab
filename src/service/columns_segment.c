/*
 * columns_segment.c: segments, read from a slot of a ring.
 *
 * The slot's owner may write to it at any time, so that all that decides what is read where is copied before it is
 * checked: the chunk's header, the pages, their bitmaps.  Values and null bits may still change, which changes answers
 * about that owner's table and nothing else.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* Blocks are numbered below this. */
#define LAST_BLOCK (UINT32_MAX - 1)

/*
 * Returns the bytes of a bitmap of lines.
 */
static uint64_t
bitmap_bytes(uint32_t lines)
{
	return (lines + 7) / 8;
}

/*
 * Returns true if a bitmap has as many bits as the page has rows, and ends with one.
 */
static bool
bitmap_valid(const uint8_t *bits, const gsd_page *page)
{
	uint32_t found = 0, last = page->lines - 1u;

	for (uint32_t i = 0; i < bitmap_bytes(page->lines); i++)
		found += (uint32_t) __builtin_popcount(bits[i]);
	return found == page->rows && bits[last / 8] >> last % 8 == 1;
}

/*
 * Returns true if pages ascend, and adds up their rows and the bytes of their bitmaps.
 */
static bool
pages_valid(const gsd_page *pages, uint32_t npages, uint64_t *rows, uint64_t *bitmaps)
{
	*rows = *bitmaps = 0;
	for (uint32_t p = 0; p < npages; p++)
	{
		const gsd_page *page = &pages[p];

		if (page->block > LAST_BLOCK || page->rows > 1u << GSD_POSITION_BITS ||
			(p > 0 && page->block <= pages[p - 1].block) ||
			(page->lines > 0 && (page->rows == 0 || page->rows > page->lines)))
			return false;
		*rows += page->rows;
		*bitmaps += bitmap_bytes(page->lines);
	}
	return *rows <= UINT32_MAX && *bitmaps <= UINT32_MAX;
}

/*
 * Allocates a segment's own memory in a place of the host's: itself, its ranges, what there is of copies, its pages,
 * and bitmaps if some page has gaps.
 */
static segment *
alloc_segment(place *own, uint32_t ncolumns, uint32_t npages, uint64_t bitmaps)
{
	uint64_t head = gsd_aligned(sizeof(segment) + ncolumns * sizeof(gs_held)), ranges = ncolumns * sizeof(gs_range);
	uint64_t copies = sizeof(segment_copies) + ncolumns * sizeof(column_copy);
	uint64_t pages = npages * sizeof(held_page), lines = bitmaps > 0 ? npages * sizeof(held_lines) : 0;
	char *block;
	segment *s;

	if (gsd_place_alloc(own, head + ranges + copies + pages + lines + bitmaps, &block) != GS_OK)
		return NULL;
	s = (segment *) block;
	memset(s, 0, head + ranges + copies);
	s->own = own;
	s->own_bytes = head + ranges + copies + pages + lines + bitmaps;
	s->npages = npages;
	s->ranges = (gs_range *) (block + head);
	s->copies = (segment_copies *) (block + head + ranges);
	s->copies->ncolumns = ncolumns;
	block += head + ranges + copies;
	s->pages = (held_page *) block;
	if (lines > 0)
		s->lines = (held_lines *) (block + pages);
	s->bitmaps = (uint8_t *) (block + pages + lines);
	for (uint32_t c = 0; c < ncolumns; c++)
		s->ranges[c] = gsd_no_range;
	return s;
}

/*
 * Fills in pages, and bitmaps from the slot.
 */
static bool
fill_pages(segment *s, const gsd_page *pages, const char *from)
{
	uint32_t first = 0, at = 0;

	for (uint32_t p = 0; p < s->npages; p++)
	{
		uint32_t bytes = (uint32_t) bitmap_bytes(pages[p].lines);

		s->pages[p] = (held_page){pages[p].block, first};
		first += pages[p].rows;
		if (s->lines == NULL)
			continue;
		s->lines[p] = (held_lines){at, pages[p].lines};
		memcpy(s->bitmaps + at, from + at, bytes);
		if (bytes > 0 && !bitmap_valid(s->bitmaps + at, &pages[p]))
			return false;
		at += bytes;
	}
	s->rows = first;
	return true;
}

/*
 * Makes a segment from a copy of its pages, and from their bitmaps in the slot.
 */
static gs_status
make_of_pages(const table *t, const gsd_page *pages, uint32_t npages, const char *from, uint64_t room, segment **made)
{
	uint64_t rows, bitmaps;

	if (!pages_valid(pages, npages, &rows, &bitmaps) || bitmaps > room)
		return GS_INVALID;
	*made = alloc_segment(gsd_place_host(), t->ncolumns, npages, bitmaps);
	if (*made == NULL)
		return GS_NOMEM;
	return fill_pages(*made, pages, from) ? GS_OK : GS_INVALID;
}

/*
 * Reads pages and bitmaps, which lie behind the chunk.
 */
static gs_status
read_layout(const table *t, const char *slot, uint64_t slot_bytes, const gsd_store *m, segment **made)
{
	uint64_t bytes = m->npages * sizeof(gsd_page);
	gsd_page *pages;
	gs_status status;

	if (bytes > slot_bytes || m->pages_at > slot_bytes - bytes)
		return GS_INVALID;
	pages = malloc(bytes);
	if (pages == NULL)
		return GS_NOMEM;
	memcpy(pages, slot + m->pages_at, bytes);
	status = make_of_pages(t, pages, m->npages, slot + m->pages_at + bytes, slot_bytes - m->pages_at - bytes, made);
	free(pages);
	return status;
}

/* Columns of a segment that is being made. */
typedef struct layout
{
	place *place;
	const uint8_t *types;
	uint32_t ncolumns;
	gs_chunk_column columns[GSD_TABLE_COLUMNS]; /* a checked copy */
	const new_codes *added; /* by column; NULL: values stay what they are */
} layout;

/*
 * Returns the bytes of a column's values.
 */
static uint64_t
value_bytes(const layout *l, const segment *s, uint32_t c)
{
	return s->rows * (uint64_t) gs_type_width((gs_type) l->types[c]);
}

/*
 * Returns the bytes of a column's null bits.
 */
static uint64_t
null_bytes(const layout *l, const segment *s, uint32_t c)
{
	return l->columns[c].has_nulls ? ((uint64_t) s->rows + 63) / 64 * sizeof(uint64_t) : 0;
}

/*
 * Returns the bytes of a segment's arrays.
 */
static uint64_t
data_bytes(const layout *l, const segment *s)
{
	uint64_t bytes = 0;

	for (uint32_t c = 0; c < l->ncolumns; c++)
		bytes += gsd_aligned(value_bytes(l, s, c)) + gsd_aligned(null_bytes(l, s, c));
	return bytes;
}

/*
 * Copies the arrays to host memory, from where they go to the segment's block, and computes the ranges there, since the
 * slot may change.
 */
static void
copy_arrays(const layout *l, segment *s, const char *slot, char *to)
{
	uint64_t at = 0;

	for (uint32_t c = 0; c < l->ncolumns; c++)
	{
		const char *values = to + at;
		uint64_t bytes = value_bytes(l, s, c), nulls = null_bytes(l, s, c);

		s->columns[c].values = s->data + at;
		memcpy(to + at, slot + l->columns[c].values, bytes);
		if (l->added != NULL)
			gsd_strings_to_codes(&l->added[c], (gs_type) l->types[c], to + at, s->rows);
		at += gsd_aligned(bytes);
		if (nulls > 0)
		{
			s->columns[c].nulls = (uint64_t *) (s->data + at);
			memcpy(to + at, slot + l->columns[c].nulls, nulls);
		}
		s->ranges[c] = gsd_range_of((gs_type) l->types[c], values, nulls > 0 ? (const uint64_t *) (to + at) : NULL,
									s->rows);
		at += gsd_aligned(nulls);
	}
}

/*
 * Copies the arrays into the segment's block.
 */
static gs_status
copy_data(const layout *l, segment *s, const char *slot)
{
	gs_status status;
	char *stage;

	if (l->place->dev == NULL)
	{
		copy_arrays(l, s, slot, s->data);
		return GS_OK;
	}
	if (posix_memalign((void **) &stage, GS_ALIGN, s->bytes) != 0)
		return GS_NOMEM;
	copy_arrays(l, s, slot, stage);
	status = gsd_place_put(l->place, s->data, stage, s->bytes);
	if (status == GS_OK)
		status = gsd_place_done(l->place);
	explicit_bzero(stage, s->bytes);
	free(stage);
	return status;
}

/*
 * Copies what a chunk has, of which the header's copy is checked.
 */
static gs_status
read_arrays(layout *l, segment *s, const gs_view *view, const char *slot)
{
	for (uint32_t c = 0; c < l->ncolumns; c++)
		GS_TRY(gs_view_column(view, c, (gs_type) l->types[c], &l->columns[c]));
	if (s->rows == 0)
		return GS_OK;
	s->bytes = data_bytes(l, s);
	GS_TRY(gsd_place_alloc(l->place, s->bytes, &s->data));
	return copy_data(l, s, slot);
}

/*
 * Reads the chunk of a segment that has its pages.
 */
static gs_status
read_chunk(const table *t, segment *s, const char *slot, uint64_t slot_bytes, const new_codes *added)
{
	layout l = {.place = t->place, .types = t->types, .ncolumns = t->ncolumns, .added = added};
	gs_view view;

	GS_TRY(gs_view_open(&view, (const gs_chunk *) slot, slot_bytes, t->ncolumns));
	return view.rows == s->rows ? read_arrays(&l, s, &view, slot) : GS_INVALID;
}

gs_status
gsd_segment_of_chunk(place *p, const uint8_t *types, uint32_t ncolumns, const char *slot, uint64_t slot_bytes,
					 segment **made)
{
	layout l = {.place = p, .types = types, .ncolumns = ncolumns};
	gs_view view;
	gs_status status;
	segment *s;

	GS_TRY(gs_view_open(&view, (const gs_chunk *) slot, slot_bytes, ncolumns));
	s = alloc_segment(gsd_place_scratch(gsd_place_host()), ncolumns, 0, 0);
	if (s == NULL)
		return GS_NOMEM;
	s->rows = view.rows;
	status = read_arrays(&l, s, &view, slot);
	if (status == GS_OK)
		*made = s;
	else
		gsd_segment_free(p, s);
	return status;
}

gs_status
gsd_segment_make(const table *t, char *slot, uint64_t slot_bytes, const gsd_store *m, const new_codes *added,
				 segment **made, const char **why)
{
	segment *s = NULL;
	gs_status status = read_layout(t, slot, slot_bytes, m, &s);

	if (status == GS_OK)
		status = read_chunk(t, s, slot, slot_bytes, added);
	*why = status == GS_INVALID ? "the segment breaks the rules" : gs_status_text(status);
	if (status == GS_NOMEM)
		*why = t->place->dev != NULL ? "gpusort.columns_device_memory is used up" : "gpusort.columns_memory is used up";
	if (status == GS_OK)
	{
		s->stored_ns = gsd_now_ns();
		*made = s;
	}
	else if (s != NULL)
		gsd_segment_free(t->place, s);
	return status;
}

void
gsd_segment_free(place *p, segment *s)
{
	gsd_copies_free(s);
	gsd_place_free(p, s->data, s->bytes);
	gsd_place_free(s->own, (char *) s, s->own_bytes);
}

bool
gsd_segment_page(const segment *s, uint32_t block, uint32_t *first, uint32_t *rows)
{
	uint32_t low = 0, high = s->npages;

	while (low < high)
	{
		uint32_t middle = low + (high - low) / 2;

		if (s->pages[middle].block < block)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->npages || s->pages[low].block != block)
		return false;
	*first = s->pages[low].first;
	*rows = (low + 1 < s->npages ? s->pages[low + 1].first : s->rows) - *first;
	return true;
}
