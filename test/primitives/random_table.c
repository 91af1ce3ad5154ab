/*
 * random_table.c: tables and limits of the engine at random, whatever rnd() stands for.
 */
#include "random_table.h"

#include <math.h>

/* The look of one column's strings. */
typedef struct strings
{
	uint64_t alphabet, longest, prefix;
	uint8_t first;
} strings;

static uint64_t
make_string(uint64_t row, uint8_t *out, void *arg)
{
	const strings *s = arg;
	uint64_t n = s->prefix + rnd_below(s->longest + 1);

	(void) row;
	for (uint64_t i = 0; i < n; i++)
		out[i] = (uint8_t) (i < s->prefix ? 'p' : s->first + rnd_below(s->alphabet));
	return n;
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
	uint64_t kind = rnd_below(6), bits = rnd_below(65), high = rnd();

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
		column_set(c, r, v);
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
			strings s = {1 + rnd_below(rnd_below(2) ? 4 : 255), random_size(60), rnd_below(2) ? 0 : random_size(50),
						 (uint8_t) (rnd_below(2) ? 0 : rnd())};

			column_strings(c, t->rows, make_string, &s);
		}
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

	tuning.vector = rnd_below(2);
	tuning.lanes = rnd_below(2);
	if (rnd_below(2))
		tuning.cache_rows = 64 + (uint32_t) random_size(10000);
	if (rnd_below(2))
		tuning.even_rows = (uint32_t) random_size(10000);
	if (rnd_below(2))
		tuning.combine_rows = (uint32_t) random_size(10000);
	tuning.bucket_log = (uint32_t) rnd_below(14);
	tuning.slack = (uint32_t) rnd_below(5);
	return tuning;
}
