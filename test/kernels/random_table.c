/*
 * random_table.c: tables and limits of the engine at random, whatever rnd() stands for.
 */
#include "random_table.h"

#include <math.h>

#define MOST_POSITIONS 24

/* The look of one column's strings. */
typedef struct strings
{
	uint64_t kind, alphabet, shortest, longest, prefix, distinct;
	uint8_t first, gap, gap_from; /* characters from gap_from on are gap higher */
	uint8_t least[MOST_POSITIONS], range[MOST_POSITIONS];
	uint64_t state;
} strings;

/* The next number of a string that is one of a few. */
static uint64_t
next_below(strings *s, uint64_t limit)
{
	s->state = s->state * 6364136223846793005u + 1442695040888963407u;
	return (s->state >> 33) % limit;
}

/*
 * Characters of a range, one of its own at each of the first positions, with a gap.
 */
static uint8_t
ranged_character(strings *s, uint64_t at)
{
	uint64_t k = at % MOST_POSITIONS;
	uint32_t c = s->least[k] + (uint32_t) next_below(s, s->range[k] + 1u);

	return (uint8_t) (c >= s->gap_from && c + s->gap < 256 ? c + s->gap : c);
}

/*
 * A string: 0 of any characters, 1 of ranges, 2 the begin of one long string, 3 the same and something behind it.
 */
static uint64_t
make_string(uint64_t row, uint8_t *out, void *arg)
{
	strings *s = arg;
	uint64_t n;

	(void) row;
	s->state = (s->distinct > 0 ? rnd_below(s->distinct) : rnd()) * 0x9e3779b97f4a7c15u;
	n = s->prefix + s->shortest + next_below(s, s->longest - s->shortest + 1);
	for (uint64_t i = 0; i < n; i++)
		if (i < s->prefix)
			out[i] = 'p';
		else if (s->kind == 1)
			out[i] = ranged_character(s, i - s->prefix);
		else if (s->kind >= 2)
			out[i] = (uint8_t) (s->first + i / 7 % 3);
		else
			out[i] = (uint8_t) (s->first + next_below(s, s->alphabet));
	if (s->kind == 3 && n > 0)
		out[n - 1] = (uint8_t) (s->first + next_below(s, s->alphabet));
	return n;
}

/*
 * A random look; strings are longer where rows are few.
 */
static strings
random_strings(uint64_t rows)
{
	strings s = {.kind = rnd_below(4), .alphabet = 1 + rnd_below(rnd_below(2) ? 4 : 255), .longest = random_size(60)};

	if (rnd_below(8) == 0 && rows < 4000)
		s.longest = random_size(3000);
	s.prefix = rnd_below(2) ? 0 : random_size(50);
	s.first = (uint8_t) (rnd_below(2) ? 0 : rnd());
	s.distinct = rnd_below(2) ? 0 : 1 + random_size(rows);
	if (s.kind == 1)
	{
		uint64_t each = 1 + rnd_below(MOST_POSITIONS);

		s.longest = rnd_below(30);
		s.gap = (uint8_t) (rnd_below(3) ? rnd_below(127) : 0);
		s.gap_from = (uint8_t) rnd();
		for (uint64_t k = 0; k < MOST_POSITIONS; k++)
		{
			s.least[k] = k % each ? s.least[k - 1] : (uint8_t) rnd();
			s.range[k] = k % each ? s.range[k - 1] : (uint8_t) rnd_below(1 + rnd_below(50));
			s.range[k] = s.least[k] + s.range[k] > 255 ? 255 - s.least[k] : s.range[k];
		}
	}
	s.shortest = rnd_below(3) == 0 ? s.longest : rnd_below(s.longest + 1);
	return s;
}

/*
 * A random size: mostly small, sometimes large.
 */
uint64_t
random_size(uint64_t limit)
{
	return (uint64_t) exp((double) (rnd() >> 11) / 9007199254740992.0 * log((double) limit + 1)) - 1;
}

/*
 * Fills a column of fixed width in one of several ways.
 */
static void
fill_values(column *c, uint64_t rows)
{
	uint64_t kind = rnd_below(10), bits = rnd_below(65), high = rnd(), block = 1 + random_size(rows);

	for (uint64_t r = 0; r < rows; r++)
	{
		uint64_t v = bits == 0 ? 0 : rnd() >> (64 - bits);

		if (kind == 1)
			v = r;
		else if (kind == 2)
			v = rows - r;
		else if (kind == 3)
			v = (v % 3) << bits / 2;
		else if (kind == 4 && rnd_below(rows) == 0)
			v = rnd();
		else if (kind == 5)
			v = v ^ high;
		else if (kind == 6)
			v >>= rnd_below(64);
		else if (kind == 7)
			v = r / block << bits / 2;
		else if (kind == 8)
			v = (high & ~(uint64_t) 0xffff) + (rnd_below(50) ? v & 0xff : v);
		else if (kind == 9)
			v = r % block * 0x100000001u;
		column_set(c, r, v);
	}
}

/*
 * Floats as queries have them, and the special ones among them.
 */
static void
fill_floats(column *c, uint64_t rows)
{
	static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 5e-324, -1e308};
	uint64_t odd = random_size(100);
	double scale = exp((double) rnd_below(80) - 40), offset = rnd_below(2) ? 0 : (double) (int64_t) rnd();

	for (uint64_t r = 0; r < rows; r++)
	{
		double d = offset + scale * ((double) (rnd() >> 11) / 9007199254740992.0 - 0.5);
		uint64_t bits = 0;

		d = odd > 0 && rnd_below(odd) == 0 ? special[rnd_below(8)] : d;
		if (c->spec.type == GS_F64)
			memcpy(&bits, &d, 8);
		else
			memcpy(&bits, &(float){(float) d}, 4);
		column_set(c, r, bits);
	}
}

/*
 * A random table.
 */
void
random_table(table *t, uint64_t most_rows)
{
	uint64_t columns = 1 + random_size(MAX_COLUMNS - 1);

	table_start(t, random_size(most_rows));
	for (uint64_t i = 0; i < columns; i++)
	{
		column *c = table_add(t, (gs_type) rnd_below(GS_BYTES + 1), rnd_below(2), rnd_below(2));

		if (c->spec.type == GS_BYTES)
		{
			strings s = random_strings(t->rows);

			column_strings(c, t->rows, make_string, &s);
		}
		else if ((c->spec.type == GS_F64 || c->spec.type == GS_F32) && rnd_below(2))
			fill_floats(c, t->rows);
		else
			fill_values(c, t->rows);
		if (rnd_below(2))
			column_nulls(c, t->rows, (double[]){0, 0.01, 0.5, 1}[rnd_below(4)]);
	}
}

/*
 * Random limits, so that small tables go through what large ones go through.
 */
gs_cpu_tuning
random_tuning(void)
{
	gs_cpu_tuning tuning = gs_cpu_tuning_default();

	tuning.vector = (gs_vectors) rnd_below(GS_AVX512 + 1);
	tuning.lanes = rnd_below(2);
	if (rnd_below(2))
		tuning.cache_rows = 64 + (uint32_t) random_size(10000);
	if (rnd_below(2))
		tuning.even_rows = (uint32_t) random_size(10000);
	if (rnd_below(2))
		tuning.combine_rows = (uint32_t) random_size(10000);
	tuning.bucket_log = (uint32_t) rnd_below(14);
	tuning.slack = (uint32_t) rnd_below(5);
	if (rnd_below(2))
		tuning.quick_rows = (uint32_t) random_size(10000);
	tuning.quick_bits = (uint32_t) rnd_below(20);
	tuning.quick_depth = (uint32_t) rnd_below(3);
	return tuning;
}
