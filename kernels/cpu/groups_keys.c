/*
 * groups_keys.c: packed keys of a block's rows, those of groups and those of orders of rows.
 */
#include "groups.h"

#define HASH_FACTOR 0x9e3779b97f4a7c15u

void
gs_put_nulls(const gs_rows_block *b, const gs_held *column, const uint64_t *mask, uint64_t *part, uint64_t code)
{
	uint32_t before = 0;

	for (uint32_t w = 0; w * 64 < b->n; w++)
	{
		uint32_t some = b->n - w * 64 < 64 ? b->n - w * 64 : 64;
		uint64_t rows = mask != NULL ? mask[w] : gs_mask(some);
		uint64_t nulls = gs_null_bits(column->nulls, b->first + w * 64, some) & rows;

		for (; nulls != 0; nulls &= nulls - 1)
			part[before + (uint32_t) __builtin_popcountll(rows & ((nulls & -nulls) - 1))] = code;
		before += (uint32_t) __builtin_popcountll(rows);
	}
}

/* Computes the parts of a key of 128 bits.  Values outside of its range become the greatest part. */
static void
wide_parts(const gs_packed_key *key, const gs_held_wide *values, uint32_t n, uint64_t *part)
{
	for (uint32_t i = 0; i < n; i++)
	{
		gs_unsigned_wide x = (gs_unsigned_wide) values[i] - (gs_unsigned_wide) key->low;

		part[i] = x > key->span ? UINT64_MAX : (uint64_t) x;
	}
}

/* Computes a key's parts of n rows.  Returns false if a value is outside of its range. */
static bool
key_parts(const gs_packed_key *key, const gs_group_loops *loops, const gs_steps_plan *plan, const gs_rows_block *b,
		  const uint64_t *mask, const void *values, uint32_t n, uint64_t *part)
{
	const gs_held *column = &b->columns[key->column];
	uint64_t room[GS_STEP_ROWS];

	if (key->type == GS_U128)
		wide_parts(key, values, n, part);
	else if (!gs_type_is_float(key->type))
		loops->less(key->type, values, n, (uint64_t) key->low, part);
	else
	{
		if (key->type == GS_F32)
			plan->reduce->widen(GS_F32, values, n, room);
		loops->order(key->type == GS_F32 ? room : values, n, true, key->drop, (uint64_t) key->low, part);
	}
	if (column->nulls != NULL)
		gs_put_nulls(b, column, mask, part, 0);
	if (key->apart > 1)
		loops->divide(part, n, key->inverse, key->even);
	if (loops->most(part, n) > key->span)
		return false;
	if (key->descending || key->bump > 0)
		loops->turn(part, n, key->descending, key->bump + (key->descending ? key->span : 0));
	if (column->nulls != NULL)
		gs_put_nulls(b, column, mask, part, key->null_code);
	return true;
}

bool
gs_pack_keys(const gs_packed_keys *keys, const gs_group_loops *loops, gs_steps_plan *plan, gs_rows_block *b,
			 const uint64_t *mask, uint32_t n, uint64_t *packed)
{
	const void *at[GS_STEPS_MAX_COLUMNS];
	uint64_t part[GS_STEP_ROWS];

	for (uint32_t k = 0; k < keys->n; k++)
	{
		const gs_packed_key *key = &keys->keys[k];

		gs_block_gather(plan, b, (uint64_t) 1 << key->column, mask, at);
		if (!key_parts(key, loops, plan, b, mask, at[key->column], n, k == 0 ? packed : part))
			return false;
		if (k > 0)
			loops->append(packed, n, key->bits, part);
	}
	if (keys->n == 0)
		memset(packed, 0, n * sizeof(*packed));
	return true;
}

/* Computes the parts of a key of n rows, which with NULL have more than 64 bits.  Returns false as above. */
static bool
key_parts_above(const gs_packed_key *key, const gs_group_loops *loops, const gs_rows_block *b, const uint64_t *mask,
				const void *values, uint32_t n, gs_unsigned_wide *part)
{
	const gs_held *column = &b->columns[key->column];
	const gs_unsigned_wide span = gs_key_span(key), null = gs_key_null(key);
	uint64_t nulls[GS_STEP_ROWS] = {0}, x[GS_STEP_ROWS];
	bool good = true;

	if (column->nulls != NULL)
		gs_put_nulls(b, column, mask, nulls, 1);
	if (key->type == GS_F64)
		loops->order(values, n, true, 0, (uint64_t) key->low, x);
	else if (key->type != GS_U128)
		loops->less(key->type, values, n, (uint64_t) key->low, x);
	for (uint32_t i = 0; i < n; i++)
	{
		part[i] = x[i];
		if (key->type == GS_U128)
			part[i] = (gs_unsigned_wide) ((const gs_held_wide *) values)[i] - (gs_unsigned_wide) key->low;
		good &= nulls[i] || part[i] <= span;
		part[i] = nulls[i] ? null : (key->descending ? span - part[i] : part[i]) + key->bump;
	}
	return good;
}

/* Adds a key's parts to words, those of the next one GS_STEP_ROWS behind each. */
static void
add_parts(const gs_packed_key *key, const gs_unsigned_wide *part, uint32_t n, uint64_t *words)
{
	const uint32_t at = key->shift % 64;

	words += (size_t) (key->shift / 64) * GS_STEP_ROWS;
	for (uint32_t below = 0; below < at + key->bits; below += 64, words += GS_STEP_ROWS)
		for (uint32_t i = 0; i < n; i++)
			words[i] |= (uint64_t) (below < at ? part[i] << at : part[i] >> (below - at));
}

bool
gs_pack_wide_keys(const gs_packed_keys *keys, const gs_group_loops *loops, gs_steps_plan *plan, gs_rows_block *b,
				  const uint64_t *mask, uint32_t n, uint64_t *words)
{
	const void *at[GS_STEPS_MAX_COLUMNS];
	gs_unsigned_wide part[GS_STEP_ROWS];
	uint64_t narrow[GS_STEP_ROWS];

	memset(words, 0, (size_t) keys->words * GS_STEP_ROWS * sizeof(*words));
	for (uint32_t k = 0; k < keys->n; k++)
	{
		const gs_packed_key *key = &keys->keys[k];
		bool good;

		gs_block_gather(plan, b, (uint64_t) 1 << key->column, mask, at);
		if (key->bits > 64)
			good = key_parts_above(key, loops, b, mask, at[key->column], n, part);
		else
		{
			good = key_parts(key, loops, plan, b, mask, at[key->column], n, narrow);
			for (uint32_t i = 0; i < n; i++)
				part[i] = narrow[i];
		}
		if (!good)
			return false;
		add_parts(key, part, n, words);
	}
	return true;
}

void
gs_hash_words(const uint64_t *words, uint32_t nwords, uint32_t n, uint64_t *hashes)
{
	for (uint32_t i = 0; i < n; i++)
		hashes[i] = words[i] * HASH_FACTOR;
	for (uint32_t w = 1; w < nwords; w++)
		for (uint32_t i = 0; i < n; i++)
			hashes[i] = (hashes[i] ^ hashes[i] >> 32 ^ words[(size_t) w * GS_STEP_ROWS + i]) * HASH_FACTOR;
	for (uint32_t i = 0; i < n; i++)
		hashes[i] = (hashes[i] ^ hashes[i] >> 32) * HASH_FACTOR;
}

bool
gs_nulls_known(const gs_steps_plan *plan, const gs_range *ranges, const gs_span *span, const gs_held *columns)
{
	for (uint32_t c = 0; c < plan->steps->ncolumns; c++)
	{
		if (columns[c].nulls == NULL || ranges[c].nulls || plan->packed[c] == NULL)
			continue;
		for (uint32_t at = 0; at < span->rows; at += 64)
		{
			uint32_t n = span->rows - at < 64 ? span->rows - at : 64;

			if (gs_null_bits(columns[c].nulls, (uint64_t) span->first + at, n) != 0)
				return false;
		}
	}
	return true;
}
