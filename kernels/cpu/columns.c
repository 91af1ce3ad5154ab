/*
 * columns.c: a job's columns.  Copies each column from chunks into one array, encodes its values and tracks their
 * range.
 */
#include "cpu.h"

#include <string.h>

#define HEAP_SLICE ((uint64_t) 16 << 20) /* bytes copied between polls */

/* Grows a block by doubling: the host grows blocks without copying, and untouched pages cost no memory. */
gs_status
gs_block_reserve(gs_work *work, gs_block *block, size_t bytes)
{
	size_t wanted = bytes > 2 * block->bytes ? bytes : 2 * block->bytes;
	void *data;

	if (bytes <= block->bytes)
		return GS_OK;
	wanted = (wanted + GS_ALIGN - 1) & ~(size_t) (GS_ALIGN - 1);
	if (block->data == NULL)
		data = work->host.alloc(work->host.arg, wanted);
	else
		data = work->host.resize(work->host.arg, block->data, block->bytes, wanted);
	if (data == NULL)
		return GS_NOMEM;
	block->data = data;
	block->bytes = wanted;
	return GS_OK;
}

/*
 * Returns the bytes to reserve for an array of the given rows.  Where the host may use huge pages, reserves for the
 * expected rows, less the host's header, so that an array below two megabytes does not move.
 */
static size_t
room_for(const gs_table *table, uint64_t rows, size_t width)
{
	uint64_t least = rows * width, expected = table->expected * width;

	expected = expected < GS_HUGE_PAGE - 2 * GS_ALIGN ? expected : GS_HUGE_PAGE - 2 * GS_ALIGN;
	return least >= GS_HUGE_PAGE / 8 && least < expected ? expected : least;
}

/* Frees a block.  Safe to repeat. */
void
gs_block_release(gs_work *work, gs_block *block)
{
	if (block->data != NULL)
		work->host.release(work->host.arg, block->data, block->bytes);
	*block = (gs_block){0};
}

/* Polls the host.  May leave by longjmp, so all memory must be reachable from the job. */
gs_status
gs_work_poll(gs_work *work)
{
	work->done = 0;
	return work->host.poll != NULL && work->host.poll(work->host.arg) ? GS_CANCELLED : GS_OK;
}

/* Initializes an empty column. */
void
gs_column_init(gs_cpu_column *column, const gs_column_spec *spec)
{
	*column = (gs_cpu_column){.spec = *spec};
	column->width = spec->type == GS_BYTES || spec->type == GS_U128 ? 8 : gs_type_width(spec->type);
}

/* Initializes an empty table.  The caller provides the array of columns. */
void
gs_table_init(gs_table *table, gs_work *work, const gs_loops *loops, gs_cpu_column *columns,
			  const gs_column_spec *specs, uint32_t ncolumns)
{
	*table = (gs_table){.work = work, .loops = loops, .ncolumns = ncolumns, .columns = columns};
	for (uint32_t c = 0; c < ncolumns; c++)
		gs_column_init(&columns[c], &specs[c]);
}

/* Frees all columns. */
void
gs_table_release(gs_table *table)
{
	for (uint32_t c = 0; c < table->ncolumns; c++)
	{
		gs_block_release(table->work, &table->columns[c].values);
		gs_block_release(table->work, &table->columns[c].low);
		gs_block_release(table->work, &table->columns[c].nulls);
		gs_block_release(table->work, &table->columns[c].heap);
	}
}

/* Returns the bytes of the table that were written, which is what the host pays for. */
uint64_t
gs_table_bytes(const gs_table *table)
{
	uint64_t bytes = 0;

	for (uint32_t c = 0; c < table->ncolumns; c++)
	{
		const gs_cpu_column *column = &table->columns[c];

		if (column->values.data != NULL)
			bytes += table->rows * column->width + (column->spec.type == GS_BYTES ? 8 : 0);
		if (column->low.data != NULL)
			bytes += table->rows * 8;
		if (column->heap.data != NULL)
			bytes += column->heap_bytes + GS_HEAP_PAD;
		bytes += column->null_words * 8;
	}
	return bytes;
}

/* Returns true if some bit is set.  A producer may fill in the null bits of a chunk without NULLs. */
static bool
any_null(const uint64_t *nulls, uint64_t rows)
{
	uint64_t any = 0;

	for (uint64_t i = 0; i < rows / 64; i++)
		any |= nulls[i];
	if (rows % 64 != 0)
		any |= nulls[rows / 64] & gs_mask(rows % 64);
	return any != 0;
}

/* Appends null bits at any row.  The bitmap is created at the first NULL. */
static gs_status
append_nulls(gs_table *table, gs_cpu_column *column, const uint64_t *nulls, uint64_t rows)
{
	uint64_t words = (table->rows + rows + 63) / 64 + 1;
	uint64_t *bits;

	if (column->nulls.data == NULL && (nulls == NULL || !any_null(nulls, rows)))
		return GS_OK;
	GS_TRY(gs_block_reserve(table->work, &column->nulls, words * 8));
	bits = column->nulls.data;
	if (words > column->null_words)
		memset(bits + column->null_words, 0, (words - column->null_words) * 8);
	column->null_words = words;
	for (uint64_t i = 0; nulls != NULL && i < (rows + 63) / 64; i++)
	{
		uint64_t word = nulls[i] & gs_mask(rows - 64 * i < 64 ? (uint32_t) (rows - 64 * i) : 64);
		uint64_t at = table->rows + 64 * i;

		bits[at / 64] |= word << at % 64;
		if (at % 64 != 0)
			bits[at / 64 + 1] |= word >> (64 - at % 64);
	}
	return GS_OK;
}

/* Loads an encoded value. */
static uint64_t
value_at(const void *values, size_t width, uint64_t row)
{
	switch (width)
	{
		case 8:
			return ((const uint64_t *) values)[row];
		case 4:
			return ((const uint32_t *) values)[row];
		case 2:
			return ((const uint16_t *) values)[row];
		default:
			return ((const uint8_t *) values)[row];
	}
}

/* Overwrites the values of NULLs in a block with a value of the column, so that they do not widen its range. */
static void
hide_nulls(void *values, size_t width, const uint64_t *nulls, uint64_t row, size_t n, uint64_t fill)
{
	for (uint64_t r = row; r < row + n; r++)
	{
		if (r % 64 == 0 && nulls[r / 64] == 0)
		{
			r += 63;
			continue;
		}
		if (!gs_is_null(nulls, r))
			continue;
		if (width == 8)
			((uint64_t *) values)[r] = fill;
		else if (width == 4)
			((uint32_t *) values)[r] = (uint32_t) fill;
		else if (width == 2)
			((uint16_t *) values)[r] = (uint16_t) fill;
		else
			((uint8_t *) values)[r] = (uint8_t) fill;
	}
}

/* Returns the first non-NULL row in [row, end), or end. */
static uint64_t
first_valid(const uint64_t *nulls, uint64_t row, uint64_t end)
{
	while (row < end && gs_is_null(nulls, row))
		row++;
	return row;
}

/* Extends the range of one half by a block, or starts it at the column's first value. */
static void
extend_range(const gs_table *table, gs_cpu_column *column, int half, uint64_t row, size_t n, uint64_t valid)
{
	char *values = half ? column->low.data : column->values.data;
	gs_value_range *range = &column->range[half];

	if (!column->has_values)
	{
		uint64_t v = value_at(values, column->width, valid);

		*range = (gs_value_range){v, v, 0, v};
	}
	if (column->nulls.data != NULL)
		hide_nulls(values, column->width, column->nulls.data, row, n, range->first);
	table->loops->range(column->width, values + row * column->width, n, range);
}

/* Encodes a block of values and extends the range while the block is in the cache. */
static void
append_block(gs_table *table, gs_cpu_column *column, const char *from, uint64_t row, size_t n)
{
	gs_type type = column->spec.type;
	uint64_t valid = row;
	char *low = column->low.data;

	table->loops->encode(type, (char *) column->values.data + row * column->width, low ? low + row * 8 : NULL, from, n);
	if (!column->has_values)
		valid = first_valid(column->nulls.data, row, row + n);
	if (valid == row + n)
		return;
	extend_range(table, column, 0, row, n, valid);
	if (type == GS_U128)
		extend_range(table, column, 1, row, n, valid);
	column->has_values = true;
}

/* Appends values of a fixed width. */
static gs_status
append_fixed(gs_table *table, gs_cpu_column *column, const gs_piece *piece, uint64_t rows)
{
	size_t width = gs_type_width(column->spec.type);

	GS_TRY(gs_block_reserve(table->work, &column->values, room_for(table, table->rows + rows, column->width)));
	if (column->spec.type == GS_U128)
		GS_TRY(gs_block_reserve(table->work, &column->low, room_for(table, table->rows + rows, 8)));
	for (uint64_t at = 0; at < rows; at += GS_BLOCK_ROWS)
	{
		uint64_t n = rows - at < GS_BLOCK_ROWS ? rows - at : GS_BLOCK_ROWS;

		append_block(table, column, (const char *) piece->values + at * width, table->rows + at, n);
		GS_TRY(gs_work_add(table->work, n));
	}
	return GS_OK;
}

/* Returns the length of the common prefix of two strings, up to limit.  Tuned for prefixes that reach limit. */
static uint64_t
common_bytes(const uint8_t *a, const uint8_t *b, uint64_t limit)
{
	uint64_t i = 0;

	if (memcmp(a, b, limit) == 0)
		return limit;
	while (i + 8 <= limit && memcmp(a + i, b + i, 8) == 0)
		i += 8;
	while (i < limit && a[i] == b[i])
		i++;
	return i;
}

/* Tracks the range of lengths and the common prefix of the strings appended, whose lengths all count. */
static gs_status
extend_strings(gs_table *table, gs_cpu_column *column, uint64_t rows, const gs_lengths *lengths)
{
	const uint64_t *offsets = column->values.data;
	const uint8_t *heap = column->heap.data;
	bool all = column->nulls.data == NULL;

	for (uint64_t r = table->rows; r < table->rows + rows; r++)
	{
		uint64_t length = offsets[r + 1] - offsets[r];

		if (all && column->has_values && column->prefix == 0)
			break;
		if (gs_is_null(column->nulls.data, r))
			continue;
		if (!column->has_values)
		{
			column->has_values = true;
			column->first_string = r;
			column->prefix = column->shortest = column->longest = length;
		}
		column->shortest = length < column->shortest ? length : column->shortest;
		column->longest = length > column->longest ? length : column->longest;
		if (column->prefix > 0)
			column->prefix = common_bytes(heap + offsets[column->first_string], heap + offsets[r],
										  length < column->prefix ? length : column->prefix);
		GS_TRY(gs_work_add(table->work, 2 + column->prefix / 8));
	}
	if (all && rows > 0)
	{
		column->shortest = lengths->least < column->shortest ? lengths->least : column->shortest;
		column->longest = lengths->most > column->longest ? lengths->most : column->longest;
	}
	return GS_OK;
}

/* Copies and widens offsets, and finds their range.  A decrease, as chunks may change, is above every bound. */
static gs_status
append_offsets(gs_table *table, gs_cpu_column *column, const gs_piece *piece, uint64_t rows, gs_lengths *lengths)
{
	const uint32_t *from = piece->values;
	const uint64_t base = column->heap_bytes;
	uint64_t *to;

	GS_TRY(gs_block_reserve(table->work, &column->values, room_for(table, table->rows + rows + 1, 8) + 8));
	to = (uint64_t *) column->values.data + table->rows;
	*lengths = (gs_lengths){UINT64_MAX, 0};
	table->loops->widen(to, from, 1, base);
	for (uint64_t r = 0; r < rows; r += GS_BLOCK_ROWS)
	{
		uint64_t n = rows - r < GS_BLOCK_ROWS ? rows - r : GS_BLOCK_ROWS;

		table->loops->widen(to + r + 1, from + r + 1, n, base);
		table->loops->lengths(to + r, n, lengths);
		GS_TRY(gs_work_add(table->work, n));
	}
	return to[0] != base || lengths->most > UINT32_MAX || to[rows] - base > piece->heap_bytes ? GS_INVALID : GS_OK;
}

/* Appends byte strings. */
static gs_status
append_strings(gs_table *table, gs_cpu_column *column, const gs_piece *piece, uint64_t rows)
{
	gs_lengths lengths;
	uint64_t used;

	GS_TRY(append_offsets(table, column, piece, rows, &lengths));
	used = ((uint64_t *) column->values.data)[table->rows + rows] - column->heap_bytes;
	GS_TRY(gs_block_reserve(table->work, &column->heap, column->heap_bytes + used + GS_HEAP_PAD));
	for (uint64_t at = 0; at < used; at += HEAP_SLICE)
	{
		uint64_t n = used - at < HEAP_SLICE ? used - at : HEAP_SLICE;

		memcpy((char *) column->heap.data + column->heap_bytes + at, piece->heap + at, n);
		GS_TRY(gs_work_add(table->work, n / 8));
	}
	column->heap_bytes += used;
	return extend_strings(table, column, rows, &lengths);
}

/* Appends rows to one column.  The caller appends to every column, then advances table->rows. */
gs_status
gs_table_append(gs_table *table, uint32_t c, const gs_piece *piece, uint64_t rows)
{
	gs_cpu_column *column = &table->columns[c];

	GS_TRY(append_nulls(table, column, piece->nulls, rows));
	if (column->spec.type == GS_BYTES)
		return append_strings(table, column, piece, rows);
	return append_fixed(table, column, piece, rows);
}
