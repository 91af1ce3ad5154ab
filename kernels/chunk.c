/*
 * chunk.c: layout and validation of chunks.  The producer lays a chunk out; every receiver validates it.
 */
#include "engine.h"

#include <string.h>

/* Rounds up to the alignment of a chunk's arrays. */
static uint64_t
aligned(uint64_t bytes)
{
	return (bytes + GS_ALIGN - 1) & ~(uint64_t) (GS_ALIGN - 1);
}

/* Returns the bytes of a column's values.  Byte strings have rows + 1 offsets. */
static uint64_t
values_bytes(gs_type type, uint64_t rows)
{
	return type == GS_BYTES ? (rows + 1) * sizeof(uint32_t) : rows * gs_type_width(type);
}

/* Returns the bytes reserved for string data, capped because offsets have 32 bits. */
static uint64_t
heap_room(gs_type type, uint64_t rows, uint32_t bytes_per_string)
{
	uint64_t bytes = rows * bytes_per_string;

	if (type != GS_BYTES)
		return 0;
	return bytes < UINT32_MAX ? bytes : UINT32_MAX;
}

/* Returns the bytes of the null bitmap, in whole 64-bit words. */
static uint64_t
nulls_bytes(uint64_t rows)
{
	return (rows + 63) / 64 * sizeof(uint64_t);
}

uint64_t
gs_chunk_header_bytes(uint64_t ncolumns)
{
	return sizeof(gs_chunk) + ncolumns * sizeof(gs_chunk_column);
}

/* Returns the bytes that gs_chunk_init needs for a number of rows, so that the producer can choose a buffer size. */
size_t
gs_chunk_bytes(const gs_column_spec *columns, uint32_t ncolumns, uint32_t rows, uint32_t bytes_per_string)
{
	uint64_t bytes = aligned(gs_chunk_header_bytes(ncolumns));

	for (uint32_t c = 0; c < ncolumns; c++)
		bytes += aligned(values_bytes(columns[c].type, rows)) + aligned(nulls_bytes(rows)) +
				 aligned(heap_room(columns[c].type, rows, bytes_per_string));
	return bytes;
}

/* Returns the largest multiple of 64 rows whose chunk fits into the buffer. */
static uint32_t
rows_that_fit(size_t buffer_bytes, const gs_column_spec *columns, uint32_t ncolumns, uint32_t max_rows,
			  uint32_t bytes_per_string)
{
	uint32_t low = 0, high = max_rows / 64;

	while (low < high)
	{
		uint32_t middle = low + (high - low + 1) / 2;

		if (gs_chunk_bytes(columns, ncolumns, middle * 64, bytes_per_string) <= buffer_bytes)
			low = middle;
		else
			high = middle - 1;
	}
	return low * 64;
}

/* Fills in the header of an empty chunk. */
gs_status
gs_chunk_layout(gs_chunk *chunk, size_t buffer_bytes, const gs_column_spec *columns, uint32_t ncolumns,
				uint32_t max_rows, uint32_t bytes_per_string)
{
	uint64_t at = aligned(gs_chunk_header_bytes(ncolumns));
	uint32_t rows;

	if (chunk == NULL || columns == NULL || ncolumns == 0 || ncolumns > GS_MAX_COLUMNS || (uintptr_t) chunk % 8 != 0)
		return GS_INVALID;
	rows = rows_that_fit(buffer_bytes, columns, ncolumns, max_rows, bytes_per_string);
	if (rows == 0)
		return GS_INVALID;
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		gs_chunk_column *column = &chunk->columns[c];

		memset(column, 0, sizeof(*column));
		column->values = at;
		at += aligned(values_bytes(columns[c].type, rows));
		column->nulls = at;
		at += aligned(nulls_bytes(rows));
		column->heap = at;
		column->heap_bytes = heap_room(columns[c].type, rows, bytes_per_string);
		at += aligned(column->heap_bytes);
	}
	chunk->magic = GS_CHUNK_MAGIC;
	chunk->ncolumns = ncolumns;
	chunk->rows = 0;
	chunk->capacity = rows;
	chunk->bytes = at;
	return GS_OK;
}

/* Writes the header into the chunk itself and the first offset of each string column.  Touches nothing else. */
gs_status
gs_chunk_init(gs_chunk *chunk, size_t buffer_bytes, const gs_column_spec *columns, uint32_t ncolumns, uint32_t max_rows,
			  uint32_t bytes_per_string)
{
	gs_status status = gs_chunk_layout(chunk, buffer_bytes, columns, ncolumns, max_rows, bytes_per_string);

	for (uint32_t c = 0; c < ncolumns && status == GS_OK; c++)
		if (columns[c].type == GS_BYTES)
			memset((char *) chunk + chunk->columns[c].values, 0, sizeof(uint32_t));
	return status;
}

/* Returns true if an array lies behind the header, is aligned, and ends within the chunk.  No sum here can overflow. */
static bool
array_inside(uint64_t offset, uint64_t bytes, uint64_t header, uint64_t chunk_bytes)
{
	return offset % GS_ALIGN == 0 && offset >= header && offset <= chunk_bytes && bytes <= chunk_bytes - offset;
}

/* Returns true if offsets start at 0, never decrease and stay within the heap.  Every string can then be read. */
static bool
offsets_valid(const uint32_t *offsets, uint32_t rows, uint64_t heap_bytes)
{
	uint32_t falling = 0;

	for (uint32_t r = 0; r < rows; r++)
		falling |= offsets[r] > offsets[r + 1];
	return offsets[0] == 0 && !falling && offsets[rows] <= heap_bytes;
}

/* Copies and checks the part of the header that does not depend on columns. */
gs_status
gs_view_open(gs_view *view, const gs_chunk *chunk, size_t available, uint32_t ncolumns)
{
	uint64_t header = gs_chunk_header_bytes(ncolumns);
	gs_chunk head;

	if (chunk == NULL || (uintptr_t) chunk % 8 != 0 || available < header)
		return GS_INVALID;
	memcpy(&head, (const void *) chunk, sizeof(head));
	if (head.magic != GS_CHUNK_MAGIC || head.ncolumns != ncolumns || head.rows > head.capacity || head.bytes < header ||
		head.bytes > available)
		return GS_INVALID;
	*view = (gs_view){chunk, head.rows, header, head.bytes};
	return GS_OK;
}

/* Copies and checks the offsets of one column's arrays. */
gs_status
gs_view_column(const gs_view *view, uint32_t c, gs_type type, gs_chunk_column *column)
{
	memcpy(column, (const void *) &view->chunk->columns[c], sizeof(*column));
	if (!array_inside(column->values, values_bytes(type, view->rows), view->header, view->bytes))
		return GS_INVALID;
	if (column->has_nulls && !array_inside(column->nulls, nulls_bytes(view->rows), view->header, view->bytes))
		return GS_INVALID;
	if (type == GS_BYTES && !array_inside(column->heap, column->heap_bytes, view->header, view->bytes))
		return GS_INVALID;
	return GS_OK;
}

/* Returns GS_OK if a chunk follows all rules at this moment.  Of shared memory, engines check a gs_view instead. */
gs_status
gs_chunk_check(const gs_chunk *chunk, size_t available, const gs_column_spec *columns, uint32_t ncolumns)
{
	gs_view view;
	gs_status status;

	if (columns == NULL || ncolumns == 0 || ncolumns > GS_MAX_COLUMNS)
		return GS_INVALID;
	status = gs_view_open(&view, chunk, available, ncolumns);
	for (uint32_t c = 0; c < ncolumns && status == GS_OK; c++)
	{
		gs_chunk_column column;
		const char *base = (const char *) chunk;

		status = gs_view_column(&view, c, columns[c].type, &column);
		if (status == GS_OK && columns[c].type == GS_BYTES &&
			!offsets_valid((const uint32_t *) (base + column.values), view.rows, column.heap_bytes))
			status = GS_INVALID;
	}
	return status;
}
