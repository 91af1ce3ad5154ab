/*
 * check.c: sums over columns in segments on the CPU, a block of rows at a time, column by column.
 */
#include "../common/check_hash.h"
#include "select.h"

#include <string.h>

#define BLOCK 512 /* rows */

/* Extends the hashes of up to BLOCK rows by one column, or by one half of its values.  Returns the sum. */
static uint64_t
mix_column(gs_type type, const gs_held *column, uint32_t first, uint32_t rows, int half, uint64_t *hashes)
{
	uint64_t sum = 0;

#define MIX(READ, NULL_AT)                                                                                             \
	for (uint32_t r = 0; r < rows; r++)                                                                                \
	{                                                                                                                  \
		bool null = NULL_AT;                                                                                           \
		uint64_t value = READ;                                                                                         \
                                                                                                                       \
		sum += null ? 0 : value;                                                                                       \
		hashes[r] = gs_check_mix(hashes[r], value, null);                                                              \
	}                                                                                                                  \
	return sum
#define MIX_AS(TYPE)                                                                                                   \
	case TYPE:                                                                                                         \
		if (column->nulls == NULL)                                                                                     \
		{                                                                                                              \
			MIX(gs_check_value(TYPE, column->values, first + r, half), false);                                         \
		}                                                                                                              \
		MIX(gs_check_value(TYPE, column->values, first + r, half), gs_is_null(column->nulls, first + r))
	switch (type)
	{
		MIX_AS(GS_U8);
		MIX_AS(GS_U16);
		MIX_AS(GS_I16);
		MIX_AS(GS_U32);
		MIX_AS(GS_I32);
		MIX_AS(GS_U128);
		default:
			MIX_AS(GS_U64);
	}
#undef MIX_AS
#undef MIX
}

/* Adds up to BLOCK rows of a segment to the sums. */
static void
check_block(const gs_held_rows *rows, const gs_held *columns, uint32_t first, uint32_t n, uint64_t *out)
{
	uint64_t hashes[BLOCK], hash = 0;

	memset(hashes, 0, n * sizeof(uint64_t));
	for (uint32_t c = 0; c < rows->ncolumns; c++)
	{
		gs_type type = rows->types[c] == GS_F32 ? GS_U32 : rows->types[c];
		uint64_t sum = mix_column(type, &columns[c], first, n, 0, hashes);

		if (c == 0)
			out[0] += sum;
		if (type == GS_U128)
			(void) mix_column(type, &columns[c], first, n, 1, hashes);
	}
	for (uint32_t r = 0; r < n; r++)
		hash ^= hashes[r];
	out[1] ^= hash;
}

/* Implements gs_check. */
gs_status
gs_cpu_check(gs_engine *engine, const gs_held_rows *rows, uint64_t *out, void *temp)
{
	gs_work *work = &((gs_cpu_engine *) engine)->work;

	(void) temp;
	out[0] = out[1] = 0;
	for (uint64_t i = 0; i < rows->nspans; i++)
	{
		const gs_span *span = &rows->spans[i];

		for (uint32_t done = 0; done < span->rows; done += BLOCK)
		{
			uint32_t n = span->rows - done < BLOCK ? span->rows - done : BLOCK;

			check_block(rows, &rows->columns[(uint64_t) span->segment * rows->ncolumns], span->first + done, n, out);
			GS_TRY(gs_work_add(work, (uint64_t) n * rows->ncolumns));
		}
	}
	return GS_OK;
}

/* The lists are read where they are. */
size_t
gs_cpu_check_temp_bytes(const gs_held_rows *rows)
{
	(void) rows;
	return 0;
}
