/*
 * refine.c: resolves ties.  Rows whose words are equal are sorted by the next bits of their keys.  A few rows are
 * sorted by comparing the rest of their keys.  More rows get new words in place: the next bits, after the common prefix
 * of their strings, above the row number.  Recursion handles all subgroups but the largest, so its depth is at most
 * log2 of the rows.
 */
#include "cpu.h"

#include <string.h>

#define FEW_ROWS	  12				   /* sorted by comparison */
#define SOME_ROWS	  256				   /* larger groups are not prefetched */
#define SCAN_SLICE	  ((size_t) 1 << 20)   /* untied words between polls */
#define SAMPLE		  16				   /* strings sampled from a group */
#define COMPARE_SLICE ((uint64_t) 4 << 20) /* bytes compared between polls */

/* A group of rows that are equal up to a place of the key. */
typedef struct group
{
	size_t start;
	size_t n;
	gs_place place;
} group;

/* Returns the depth in a string that corresponds to a place. */
static uint64_t
string_depth(const gs_field *field, gs_place place)
{
	return place.at > field->column->prefix ? place.at : field->column->prefix;
}

/* ---------------------------------------------------------------- a few rows */

/* Compares bytes as memcmp does, polling in between. */
static gs_status
compare_bytes(gs_work *work, const uint8_t *a, const uint8_t *b, uint64_t n, int *result)
{
	*result = 0;
	for (uint64_t at = 0; at < n && *result == 0; at += COMPARE_SLICE)
	{
		uint64_t m = n - at < COMPARE_SLICE ? n - at : COMPARE_SLICE;

		*result = memcmp(a + at, b + at, m);
		GS_TRY(gs_work_add(work, 8 + m / 16));
	}
	return GS_OK;
}

/* Compares a string field of two rows from a depth on. */
static gs_status
compare_strings(gs_work *work, const gs_field *field, uint64_t depth, uint64_t a, uint64_t b, int *result)
{
	uint64_t length_a, length_b, shorter;
	const uint8_t *string_a = gs_string(field, a, &length_a);
	const uint8_t *string_b = gs_string(field, b, &length_b);

	*result = 0;
	shorter = length_a < length_b ? length_a : length_b;
	if (shorter > depth)
		GS_TRY(compare_bytes(work, string_a + depth, string_b + depth, shorter - depth, result));
	if (*result == 0)
		*result = (length_a > length_b) - (length_a < length_b);
	if (field->column->spec.desc)
		*result = *result > 0 ? -1 : *result < 0;
	return GS_OK;
}

/* Compares two rows from a place of the key on. */
static gs_status
compare_rows(const gs_order *order, gs_place place, uint64_t a, uint64_t b, int *result)
{
	*result = 0;
	for (; place.field < order->key->nfields && *result == 0; place = (gs_place){place.field + 1, 0})
	{
		const gs_field *field = &order->key->fields[place.field];

		if (field->kind == GS_FIELD_BYTES)
			GS_TRY(compare_strings(order->work, field, string_depth(field, place), a, b, result));
		else
		{
			uint64_t code_a = gs_field_code(field, a), code_b = gs_field_code(field, b);

			*result = (code_a > code_b) - (code_a < code_b);
		}
	}
	return GS_OK;
}

/* Sorts a few rows by comparison.  They arrive in order of their row numbers; equal rows keep it. */
static gs_status
sort_few(const gs_order *order, uint64_t *words, size_t n, gs_place place)
{
	uint64_t mask = gs_mask(order->row_bits);

	for (size_t i = 1; i < n; i++)
	{
		uint64_t word = words[i];
		size_t j = i;

		for (; j > 0; j--)
		{
			int result;

			GS_TRY(compare_rows(order, place, words[j - 1] & mask, word & mask, &result));
			if (result <= 0)
				break;
			words[j] = words[j - 1];
		}
		words[j] = word;
	}
	return gs_work_add(order->work, 8 * n);
}

/* ---------------------------------------------------------------- groups */

static gs_status refine_group(gs_order *order, group g, uint32_t round);

/* Prefetches, ahead of a scan, the rows that will turn out to be tied. */
static inline void
look_ahead(const gs_order *order, const gs_field *field, uint64_t depth, const uint64_t *words, size_t i, size_t n)
{
	uint64_t mask = gs_mask(order->row_bits);
	const uint64_t *far = words + i + GS_FAR_AHEAD, *near = words + i + GS_AHEAD;

	if (i + GS_FAR_AHEAD + 1 >= n)
		return;
	if (field->kind != GS_FIELD_BYTES)
	{
		if ((near[0] ^ near[1]) <= mask || (near[0] ^ near[-1]) <= mask)
			__builtin_prefetch((const char *) field->values + (near[0] & mask) * field->width);
		return;
	}
	if ((far[0] ^ far[1]) <= mask || (far[0] ^ far[-1]) <= mask)
		gs_prefetch_offsets(field, far[0] & mask);
	if ((near[0] ^ near[1]) <= mask || (near[0] ^ near[-1]) <= mask)
		gs_prefetch_string(field, near[0] & mask, depth);
}

/* Handles a group found by a scan: small ones at once, larger ones recursively except for the largest. */
static gs_status
handle_group(gs_order *order, const gs_key_step *step, group g, group *largest, uint32_t round)
{
	uint64_t row = order->words[g.start] & gs_mask(order->row_bits);
	group smaller = g;

	g.place = gs_step_end(step, row);
	if (g.n <= FEW_ROWS)
		return sort_few(order, order->words + g.start, g.n, g.place);
	smaller = g;
	if (g.n > largest->n)
	{
		smaller = *largest;
		*largest = g;
	}
	return smaller.n > 0 ? refine_group(order, smaller, round) : GS_OK;
}

/* Finds groups of equal bits among sorted words and refines them, except for the largest, which the caller handles. */
static gs_status
scan_groups(gs_order *order, const gs_key_step *step, group range, group *largest, uint32_t round)
{
	const uint64_t *words = order->words + range.start;
	const gs_part *last = &step->parts[step->nparts - 1];
	const gs_field *next = step->open ? last->field : &order->key->fields[step->end.field];
	uint64_t depth = step->open ? last->depth : next->kind == GS_FIELD_BYTES ? next->column->prefix : 0;
	uint32_t low = order->row_bits;
	size_t looked = 0;

	*largest = (group){0, 0, {0, 0}};
	for (size_t i = 0; i < range.n;)
	{
		size_t end;

		if (i >= looked)
		{
			size_t n = range.n - i < SCAN_SLICE ? range.n - i : SCAN_SLICE;
			size_t alone = order->loops->untied(words + i, n, gs_mask(low));

			/* then one by one, from the word whose rows are prefetched */
			looked = i + alone + GS_TIE_WORDS;
			i += alone > GS_FAR_AHEAD ? alone - GS_FAR_AHEAD : 0;
			GS_TRY(gs_work_add(order->work, alone / 4));
		}
		end = i + 1;
		look_ahead(order, next, depth, words, i, range.n);
		for (; end < range.n && (words[end] ^ words[i]) >> low == 0; end++)
			if (end - i < SOME_ROWS)
				look_ahead(order, next, depth, words, end, range.n);
		if (end - i > 1)
			GS_TRY(handle_group(order, step, (group){range.start + i, end - i, {0, 0}}, largest, round));
		GS_TRY(gs_work_add(order->work, end - i));
		i = end;
	}
	return GS_OK;
}

/* Returns the length of two strings' common prefix from a depth on, up to limit, in growing slices. */
static uint64_t
common_from(const uint8_t *a, const uint8_t *b, uint64_t limit)
{
	uint64_t at = 0;

	while (limit - at >= 64 && memcmp(a + at, b + at, 64) == 0)
		at += 64;
	while (at < limit && a[at] == b[at])
		at++;
	return at;
}

/* Finds the length of a group's common prefix from a depth on, and whether the strings end with it. */
static gs_status
common_string(const gs_order *order, const gs_field *field, group g, uint64_t depth, uint64_t *common, bool *whole)
{
	const uint64_t *words = order->words + g.start;
	uint64_t mask = gs_mask(order->row_bits), length;
	const uint8_t *first = gs_string(field, words[0] & mask, &length);

	*common = length > depth ? length - depth : 0;
	*whole = true;
	for (size_t i = 1; i < g.n && (*common > 0 || *whole); i++)
	{
		const uint8_t *s;
		uint64_t left;

		if (i + GS_FAR_AHEAD < g.n)
		{
			gs_prefetch_offsets(field, words[i + GS_FAR_AHEAD] & mask);
			gs_prefetch_string(field, words[i + GS_AHEAD] & mask, depth);
		}
		s = gs_string(field, words[i] & mask, &length);
		left = length > depth ? length - depth : 0;
		if (left != *common)
			*whole = false;
		*common = common_from(first + depth, s + depth, left < *common ? left : *common);
		if (left != *common)
			*whole = false;
		GS_TRY(gs_work_add(order->work, 16 + *common / 16));
	}
	return GS_OK;
}

/* Returns true if a sample of a large group differs early: an alphabet then separates more than a prefix. */
static bool
differ_soon(const gs_order *order, const gs_field *field, group g, uint64_t depth)
{
	const uint64_t *words = order->words + g.start;
	uint64_t mask = gs_mask(order->row_bits), length;
	const uint8_t *first = gs_string(field, words[0] & mask, &length);
	uint64_t left = length > depth ? length - depth : 0;

	for (size_t i = 1; i < SAMPLE && g.n >= GS_ALPHABET_ROWS; i++)
	{
		const uint8_t *s = gs_string(field, words[g.n / SAMPLE * i] & mask, &length);
		uint64_t limit = length > depth ? length - depth : 0;

		limit = limit < left ? limit : left;
		if (limit < GS_POSITIONS || common_from(first + depth, s + depth, GS_POSITIONS) < GS_POSITIONS)
			return true;
	}
	return false;
}

/* Advances a group's place past the common prefix of its strings, or past the whole string if they are equal. */
static gs_status
skip_common(const gs_order *order, group *g)
{
	while (g->place.field < order->key->nfields)
	{
		const gs_field *field = &order->key->fields[g->place.field];
		uint64_t common;
		bool whole;

		if (field->kind != GS_FIELD_BYTES)
			break;
		g->place.at = string_depth(field, g->place);
		if (differ_soon(order, field, *g, g->place.at))
			break;
		GS_TRY(common_string(order, field, *g, g->place.at, &common, &whole));
		g->place.at += common;
		if (!whole)
			break;
		g->place = (gs_place){g->place.field + 1, 0};
	}
	return GS_OK;
}

/* Returns true if words ascend already. */
static bool
words_rise(const uint64_t *words, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (words[i] < words[i - 1])
			return false;
	return true;
}

/* Chooses the next bits of a group's keys, with an alphabet of its own if the group is large. */
static gs_status
next_step(gs_order *order, group *g, gs_key_step *step)
{
	const gs_key *key = order->key;
	gs_alphabet *alphabet = NULL;

	GS_TRY(skip_common(order, g));
	if (g->n >= GS_ALPHABET_ROWS && g->place.field < key->nfields && key->fields[g->place.field].kind == GS_FIELD_BYTES)
	{
		alphabet = &order->alphabet;
		GS_TRY(gs_alphabet_of_group(alphabet, key, g->place, order->words + g->start, g->n, order->row_bits));
	}
	gs_step_make(key, alphabet, g->place, 64 - order->row_bits, step);
	return GS_OK;
}

/* Sorts a group by a step. */
static gs_status
sort_group(gs_order *order, const group *g, const gs_key_step *step)
{
	uint64_t *words = order->words + g->start, *other = order->other + g->start;
	uint32_t low = order->row_bits;
	bool rise = true;

	for (size_t at = 0; at < g->n; at += GS_BLOCK_ROWS)
	{
		size_t n = g->n - at < GS_BLOCK_ROWS ? g->n - at : GS_BLOCK_ROWS;

		gs_step_gather(step, words + at, n, low);
		rise = rise && words_rise(words + at, n) && (at == 0 || words[at - 1] < words[at]);
		GS_TRY(gs_work_add(order->work, 8 * n * step->nparts));
	}
	if (rise)
		return GS_OK;
	return gs_sort_words(&order->sorter, &words, &other, g->n, low, low + step->bits, false);
}

/* Refines a group and its subgroups. */
static gs_status
refine_group(gs_order *order, group g, uint32_t round)
{
	gs_key_step step;

	for (; g.n > 0; round++)
	{
		group largest = g;

		order->facts.refined = round > order->facts.refined ? round : order->facts.refined;
		GS_TRY(next_step(order, &g, &step));
		if (step.nparts == 0)
			break;
		if (step.bits > 0)
			GS_TRY(sort_group(order, &g, &step));
		if (!step.open && step.end.field == order->key->nfields)
			break;
		if (step.bits > 0)
			GS_TRY(scan_groups(order, &step, g, &largest, round + 1));
		else
			largest.place = gs_step_end(&step, order->words[g.start] & gs_mask(order->row_bits));
		g = largest;
	}
	return GS_OK;
}

/* Sorts a group from the start of its keys. */
static gs_status
refine_whole(gs_order *order, size_t start, size_t n)
{
	group g = {start, n, {0, 0}};

	if (n < 2)
		return GS_OK;
	return n <= FEW_ROWS ? sort_few(order, order->words + start, n, g.place) : refine_group(order, g, 1);
}

/* Refines the outliers at both ends.  Between them, equal codes are equal keys. */
static gs_status
refine_ends(gs_order *order)
{
	size_t low = 0, high = order->rows;

	while (low < high && order->words[low] >> order->row_bits == 0)
		low++;
	while (high > low && order->words[high - 1] >> order->row_bits == order->usual_span + 2)
		high--;
	GS_TRY(gs_work_add(order->work, low + order->rows - high));
	GS_TRY(refine_whole(order, 0, low));
	return refine_whole(order, high, order->rows - high);
}

/* Refines all rows that the first step left tied. */
gs_status
gs_refine(gs_order *order)
{
	group largest;

	if (order->clipped)
		return refine_ends(order);
	GS_TRY(scan_groups(order, &order->step, (group){0, order->rows, {0, 0}}, &largest, 1));
	return refine_group(order, largest, 1);
}
