/*
 * steps_filter.c: the rows of a block that pass a filter, as a mask, 64 rows at a time.
 */
#include "steps.h"

#define TOP_BIT ((uint64_t) 1 << 63)
/* With more ranges than these, each row looks its own up. */
#define MOST_RANGES 16

uint64_t
gs_null_bits(const uint64_t *nulls, uint64_t first, uint32_t n)
{
	uint32_t at = first % 64;
	uint64_t bits = nulls[first / 64] >> at;

	if (at + n > 64)
		bits |= nulls[first / 64 + 1] << (64 - at);
	return bits & gs_mask(n);
}

/* Returns the values of 64 rows, copied if less than that are there, or as their order if they are floats. */
static const void *
group_of(const gs_steps_plan *plan, gs_type type, const char *from, uint32_t n, uint64_t *room)
{
	uint64_t real[64];

	if (!gs_type_is_float(type))
		return n == 64 ? from : memcpy(room, from, n * gs_width_of(type));
	if (type == GS_F32)
		plan->reduce->widen(GS_F32, from, n, real);
	plan->loops->encode(GS_F64, room, NULL, type == GS_F32 ? (const void *) real : from, n);
	return room;
}

/* Computes the keys of values that group_of has returned. */
static void
keys_of(const gs_steps_plan *plan, gs_type type, const void *group, uint32_t n, int64_t *keys)
{
	uint64_t flip = type == GS_I64 ? 0 : TOP_BIT;

	if (gs_width_of(type) < 8 && type != GS_F32)
		plan->reduce->widen(type, group, n, keys);
	else
		for (uint32_t i = 0; i < n; i++)
			keys[i] = (int64_t) (((const uint64_t *) group)[i] ^ flip);
}

/* Looks keys up in the ranges: finds the last one that begins at or below the key. */
static uint64_t
look_up(const gs_steps_plan *plan, const gs_term_plan *t, const void *group, uint32_t n)
{
	int64_t keys[64];
	uint64_t bits = 0;

	keys_of(plan, t->type, group, n, keys);
	for (uint32_t i = 0; i < n; i++)
	{
		int64_t key = keys[i];
		const gs_key_range *range = t->ranges;

		for (uint32_t left = t->nranges; left > 1;)
		{
			uint32_t half = left / 2;

			range = range[half].low <= key ? range + half : range;
			left -= half;
		}
		bits |= (uint64_t) ((uint64_t) key - (uint64_t) range->low <= range->span) << i;
	}
	return bits;
}

/* Returns the comparison of a range, with values as group_of returns them. */
static gs_select_rule
rule_of(const gs_term_plan *t, const gs_key_range *range)
{
	bool flipped = gs_type_is_float(t->type) || t->type == GS_U64;

	return (gs_select_rule){.low = (uint64_t) range->low ^ (flipped ? TOP_BIT : 0), .span = range->span};
}

/* Returns which of up to 64 rows have a value in the term's ranges. */
static uint64_t
in_ranges(const gs_steps_plan *plan, const gs_term_plan *t, const char *from, uint32_t n)
{
	uint64_t room[64], bits = 0;
	const void *group = group_of(plan, t->type, from, n, room);
	int width = gs_type_is_float(t->type) ? 3 : gs_log_width(t->type);

	if (t->nranges > MOST_RANGES)
		return look_up(plan, t, group, n);
	for (uint32_t i = 0; i < t->nranges; i++)
	{
		gs_select_rule rule = rule_of(t, &t->ranges[i]);

		bits |= plan->select->range[width](group, &rule);
	}
	return bits;
}

/* Returns which of up to 64 rows have a value whose bit is set. */
static uint64_t
in_bits(const gs_steps_plan *plan, const gs_term_plan *t, const char *from, uint32_t n)
{
	const uint64_t *set = gs_steps_at(plan->steps, t->term->constants);
	const uint64_t end = (uint64_t) t->term->nconstants * 128;
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		uint64_t x = t->type == GS_U8 ? ((const uint8_t *) from)[i] : t->type == GS_U16 ? ((const uint16_t *) from)[i]
																			: ((const uint32_t *) from)[i];

		bits |= (x < end ? set[x / 64] >> x % 64 & 1 : 0) << i;
	}
	return bits;
}

/* Returns which of up to 64 rows pass a term that is tested row by row. */
static uint64_t
by_rows(const gs_steps_plan *plan, const gs_term_plan *t, const gs_held *columns, uint64_t first, uint32_t n)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < n; i++)
		bits |= (uint64_t) gs_term_passes(plan->steps, t->term, columns, first + i) << i;
	return bits;
}

/* Computes the keys of up to 64 rows of a column.  Returns which are NULL. */
static uint64_t
column_keys(const gs_steps_plan *plan, gs_type type, const gs_held *column, uint64_t first, uint32_t n, int64_t *keys)
{
	const char *from = (const char *) column->values + first * gs_width_of(type);
	uint64_t room[64] = {0};

	keys_of(plan, type, group_of(plan, type, from, n, room), n, keys);
	return column->nulls != NULL ? gs_null_bits(column->nulls, first, n) : 0;
}

/* Returns which of up to 64 rows pass a term that compares two columns. */
static uint64_t
compare_columns(const gs_steps_plan *plan, const gs_term_plan *t, const gs_held *columns, uint64_t first, uint32_t n)
{
	const uint32_t other = t->term->constants;
	int64_t a[64], b[64];
	uint64_t a_nulls = column_keys(plan, t->type, &columns[t->term->column], first, n, a), less = 0, same = 0, both;
	uint64_t b_nulls = column_keys(plan, (gs_type) plan->steps->types[other], &columns[other], first, n, b);

	for (uint32_t i = 0; i < n; i++)
	{
		less |= (uint64_t) (a[i] < b[i]) << i;
		same |= (uint64_t) (a[i] == b[i]) << i;
	}
	both = ~(a_nulls | b_nulls);
	switch (t->term->test)
	{
		case GS_TEST_EQ_COLUMN:
			return same & both;
		case GS_TEST_NE_COLUMN:
			return ~same & both;
		case GS_TEST_LT_COLUMN:
			return less & both;
		case GS_TEST_LE_COLUMN:
			return (less | same) & both;
		case GS_TEST_GT_COLUMN:
			return ~(less | same) & both;
		case GS_TEST_GE_COLUMN:
			return ~less & both;
		case GS_TEST_DISTINCT_COLUMN:
			return (~same & both) | (a_nulls ^ b_nulls);
		default: /* GS_TEST_SAME_COLUMN */
			return (same & both) | (a_nulls & b_nulls);
	}
}

/* Returns which of up to 64 rows pass a term. */
static uint64_t
passes(const gs_steps_plan *plan, const gs_term_plan *t, const gs_held *columns, uint64_t first, uint32_t n)
{
	const gs_held *column = &columns[t->term->column];
	uint64_t nulls = column->nulls != NULL ? gs_null_bits(column->nulls, first, n) : 0;

	switch (t->kind)
	{
		case GS_TERM_COLUMNS:
			return compare_columns(plan, t, columns, first, n);
		case GS_TERM_RANGES:
			return (in_ranges(plan, t, (const char *) column->values + first * gs_width_of(t->type), n) ^
					(t->outside ? ~(uint64_t) 0 : 0)) & ~nulls;
		case GS_TERM_BITS:
			return in_bits(plan, t, (const char *) column->values + first * gs_width_of(t->type), n) & ~nulls;
		case GS_TERM_ROWS:
			return by_rows(plan, t, columns, first, n);
		case GS_TERM_ALL:
			return ~nulls;
		case GS_TERM_NULLS:
			return nulls;
		default: /* GS_TERM_NONE */
			return 0;
	}
}

/* Tests integers without NULLs against a range, as long as there are 64 rows.  Returns how many rows it has tested. */
static uint32_t
test_range(const gs_steps_plan *plan, const gs_term_plan *t, const gs_held *column, uint64_t first, uint32_t n,
		   uint64_t *mask)
{
	size_t width = gs_width_of(t->type);
	const char *from = (const char *) column->values + first * width;
	uint64_t (*range)(const void *, const gs_select_rule *);
	gs_select_rule rule;

	if (t->kind != GS_TERM_RANGES || t->nranges > 1 || gs_type_is_float(t->type) || column->nulls != NULL)
		return 0;
	rule = rule_of(t, t->ranges);
	range = plan->select->range[gs_log_width(t->type)];
	for (uint32_t w = 0; w < n / 64; w++)
		mask[w] &= range(from + w * 64 * width, &rule) ^ (t->outside ? ~(uint64_t) 0 : 0);
	return n / 64 * 64;
}

uint32_t
gs_steps_mask(const gs_steps_plan *plan, const gs_term_plan *terms, uint32_t nterms, const gs_held *columns,
			  uint64_t first, uint32_t n, uint64_t *mask)
{
	uint32_t passed = 0;

	for (uint32_t at = 0; at < n; at += 64)
		mask[at / 64] = gs_mask(n - at < 64 ? n - at : 64);
	for (const gs_term_plan *t = terms; t < terms + nterms; t++)
		for (uint32_t at = test_range(plan, t, &columns[t->term->column], first, n, mask); at < n; at += 64)
			if (mask[at / 64] != 0)
				mask[at / 64] &= passes(plan, t, columns, first + at, n - at < 64 ? n - at : 64);
	for (uint32_t w = 0; w * 64 < n; w++)
		passed += (uint32_t) __builtin_popcountll(mask[w]);
	return passed;
}
