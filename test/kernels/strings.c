/*
 * strings.c: row orders of byte strings, alone and between columns of fixed width.
 */
#include "kernels/cpu/cpu.h"
#include "engine.h"
#include "table.h"
#include "tests.h"

/* How a test's strings look. */
typedef struct recipe
{
	const char *name;
	uint64_t rows;
	uint32_t alphabet; /* number of different characters, the least of them at first */
	uint8_t first;
	uint32_t prefix; /* bytes that all have in common */
	uint32_t shortest, longest;
	uint32_t distinct; /* number of different strings; 0: as they fall */
	uint32_t block;	   /* strings of a block of rows share a prefix of their own, this many bytes long */
} recipe;

static const recipe recipes[] = {
	{"empty strings", 5000, 1, 'a', 0, 0, 0, 0, 0},
	{"equal strings", 5000, 1, 'a', 9, 0, 0, 0, 0},
	{"one character", 5000, 256, 0, 0, 1, 1, 0, 0},
	{"none or one character", 5000, 256, 0, 0, 0, 1, 0, 0},
	{"prefixes of each other", 20000, 1, 'x', 0, 0, 100, 0, 0},
	{"zero bytes and prefixes of each other", 20000, 1, 0, 0, 0, 40, 0, 0},
	{"zero bytes and ones", 20000, 2, 0, 0, 0, 24, 0, 0},
	{"the highest bytes", 20000, 2, 254, 0, 0, 24, 0, 0},
	{"any bytes", 50000, 256, 0, 0, 0, 20, 0, 0},
	{"hexadecimal-like", 50000, 16, '0', 0, 16, 16, 0, 0},
	{"200 bytes in common", 20000, 10, '0', 200, 0, 30, 0, 0},
	{"common prefixes by block", 20000, 26, 'a', 10, 0, 6, 0, 70},
	{"ten distinct long strings", 20000, 26, 'a', 0, 100, 100, 10, 0},
	{"two distinct long strings", 40000, 26, 'a', 100, 300, 300, 2, 0},
	{"tiny groups", 200000, 26, 'a', 3, 20, 40, 70000, 0},
	{"groups of a hundred", 100000, 26, 'a', 3, 20, 40, 1000, 0},
	{"two characters, long", 3000, 2, 'a', 0, 0, 3000, 0, 0},
};

/*
 * Makes a string by a recipe.
 */
static uint64_t
by_recipe(uint64_t row, uint8_t *out, void *arg)
{
	const recipe *p = arg;
	uint64_t seed = p->distinct ? rnd_below(p->distinct) : rnd();
	uint64_t n = 0, length;

	for (; n < p->prefix; n++)
		out[n] = (uint8_t) ('A' + n % 7);
	for (uint64_t i = 0; i < p->block; i++)
		out[n++] = (uint8_t) ('a' + (row / 50 * 7 + i) % 26);
	seed = (seed + 1) * 0x9e3779b97f4a7c15u;
	length = p->shortest + (seed >> 40) % (p->longest - p->shortest + 1);
	for (uint64_t i = 0; i < length; i++)
	{
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		out[n++] = (uint8_t) (p->first + (seed >> 33) % p->alphabet);
	}
	return n;
}

/*
 * All recipes, in both directions, with and without NULLs.
 */
static void
all_recipes(void)
{
	for (size_t i = 0; i < sizeof(recipes) / sizeof(recipes[0]); i++)
	{
		recipe p = recipes[i];
		bool good = true;

		for (int v = 0; v < 6; v++)
		{
			table t;
			column *c;

			table_start(&t, v < 4 ? p.rows : p.rows / (v == 4 ? 100 : 1000));
			c = table_add(&t, GS_BYTES, v & 1, v & 2);
			column_strings(c, t.rows, by_recipe, &p);
			if (v & 2)
				column_nulls(c, t.rows, 0.1);
			good &= order_job_right(engine, &t, 1009, 65536, NULL);
			table_free(&t);
		}
		tap_ok(good, "%s", p.name);
	}
}

/* Strings of characters out of a few ranges, which the CPU engine counts from the least of their position. */
typedef struct ranges
{
	const char *name;
	const char *characters;
	uint32_t prefix, shortest, longest;
	uint8_t odd;	/* a character of one row, where no sample looks */
	uint32_t steps; /* so many positions begin, each with a range of its own below those before */
} ranges;

static const ranges all_ranges[] = {
	{"hexadecimal", "0123456789abcdef", 0, 16, 16, 0, 0},
	{"hexadecimal, eight", "0123456789abcdef", 0, 8, 8, 0, 0},
	{"hexadecimal, 9 to 15, behind others", "0123456789abcdef", 5, 9, 15, 0, 0},
	{"hexadecimal, one has a character of the gap", "0123456789abcdef", 0, 16, 16, 'A', 0},
	{"hexadecimal, one has a character below", "0123456789abcdef", 0, 12, 40, '!', 0},
	{"hexadecimal, one has a character above", "0123456789abcdef", 0, 16, 16, 250, 0},
	{"digits", "0123456789", 0, 12, 12, 0, 0},
	{"base64", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 3, 10, 30, 0, 0},
	{"two ranges far apart", "\x01\x02\x03\xf0\xf1\xf2", 0, 14, 16, 0, 0},
	{"two ranges 127 apart", "\x10\x11\x8e\x8f", 0, 16, 16, 0, 0},
	{"positions far below the gap of others", "\xa0\xa4\xa8\xac\xaf\xe0\xe8\xef", 0, 16, 16, 0, 5},
	{"positions far below the gap of others, behind a prefix", "\xa0\xa4\xa8\xac\xaf\xe0\xe8\xef", 2, 9, 15, 0, 5},
	{"half of all bytes", "\x80\x90\xa0\xb0\xc0\xd0\xe0\xf0\xff", 0, 16, 24, 0, 0},
};

static uint64_t
by_ranges(uint64_t row, uint8_t *out, void *arg)
{
	const ranges *r = arg;
	uint64_t n = r->prefix + r->shortest + rnd_below(r->longest - r->shortest + 1), characters = strlen(r->characters);

	for (uint64_t i = 0; i < n; i++)
		if (i < r->prefix)
			out[i] = 'p';
		else if (i < r->prefix + r->steps)
			out[i] = (uint8_t) (0x20 + 24 * (r->prefix + r->steps - 1 - i) + rnd_below(16));
		else
			out[i] = (uint8_t) r->characters[rnd_below(characters)];
	if (r->odd != 0 && row == 4321)
		out[r->prefix + 3] = r->odd;
	return n;
}

/*
 * All ranges, both ways, of few rows and many.
 */
static void
by_distances(void)
{
	static const uint64_t sizes[] = {600, 4500, 50000, 140000};

	for (size_t i = 0; i < sizeof(all_ranges) / sizeof(all_ranges[0]); i++)
	{
		ranges r = all_ranges[i];
		bool good = true;

		for (int v = 0; v < 8; v++)
		{
			table t;

			table_start(&t, sizes[v / 2]);
			column_strings(table_add(&t, GS_BYTES, v & 1, false), t.rows, by_ranges, &r);
			good &= order_job_right(engine, &t, 1009, 65536, NULL);
			table_free(&t);
		}
		tap_ok(good, "%s", r.name);
	}
}

/* Strings of which a sample tells which characters they have, all but one. */
typedef struct odd_one
{
	const char *characters;
	uint64_t row, at;
	uint8_t odd;
	bool eight; /* characters, all of them */
	bool alike; /* the first eight characters are two */
} odd_one;

static uint64_t
by_odd_one(uint64_t row, uint8_t *out, void *arg)
{
	const odd_one *o = arg;
	uint64_t n = o->eight ? 8 : 16 + row % 5, characters = strlen(o->characters);

	for (uint64_t i = 0; i < n; i++)
		out[i] = (uint8_t) o->characters[rnd_below(o->alike && i < 8 ? 2 : characters)];
	if (row == o->row)
		out[o->at] = o->odd;
	return n;
}

/*
 * One table: strings of eight characters stand before numbers that words hold whole as well.
 */
static bool
odd_one_right(const odd_one *o, uint64_t rows, bool desc)
{
	bool good;
	table t;

	table_start(&t, rows);
	column_strings(table_add(&t, GS_BYTES, desc, false), rows, by_odd_one, (void *) o);
	if (o->eight)
	{
		column *numbers = table_add(&t, GS_I64, false, false);

		for (uint64_t r = 0; r < rows; r++)
			column_set(numbers, r, rnd_below(1000));
	}
	good = order_job_right(engine, &t, 1009, 65536, NULL) && top_job_right(engine, &t, 20, 1009, 1013);
	table_free(&t);
	return good;
}

/*
 * Every character as the odd one, at any position, where no sample looks: early and late, with all loops.
 */
static void
odd_ones(void)
{
	static const char *const characters[] = {
		"0123456789",
		"0123456789abcdef",
		"01ab",
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		"\x81\x90\xa0\xaf",
		"\xd0\xd3\xd6\xd9\xdc\xdf\xe2\xe5\xe8\xeb\xee\xf1\xf4\xf7\xfa\xff",
		"\x41\x52\x63\x74\x85\x96\xa7\xb8\xc9\xda\xeb\xfc",
	};
	gs_cpu_tuning normal = gs_cpu_tuning_default(), tuning = normal;

	for (int v = GS_NO_VECTORS; v <= GS_AVX512; v++)
		for (size_t i = 0; i < sizeof(characters) / sizeof(characters[0]); i++)
		{
			bool good = true;

			tuning.vector = (gs_vectors) v;
			gs_cpu_tune(engine, &tuning);
			for (uint32_t odd = 0; odd < 256; odd++)
			{
				uint64_t rows = odd % 8 < 2 ? 8500 : 1500, row = odd & 1 ? 1 : rows - 2;
				odd_one o = {characters[i], row, 0, (uint8_t) odd, odd % 16 >= 12, odd % 16 < 6};

				o.at = rnd_below(o.eight ? 8 : 16);
				good &= odd_one_right(&o, rows, odd & 2);
			}
			tap_ok(good, "one odd character among others, %u, loops %d", (unsigned) i, v);
		}
	gs_cpu_tune(engine, &normal);
}

/* Strings of which each position has two ranges of its own. */
typedef struct patterns
{
	uint64_t shortest, more, distinct; /* 0: as they fall */
	uint8_t least[32], range[32], gap[32];
} patterns;

static uint64_t
by_pattern(uint64_t row, uint8_t *out, void *arg)
{
	const patterns *p = arg;
	uint64_t seed = p->distinct ? rnd_below(p->distinct) + 1 : rnd(), n;

	(void) row;
	seed *= 0x9e3779b97f4a7c15u;
	n = p->shortest + (seed >> 40) % (p->more + 1);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t k = i % 32;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		out[i] = (uint8_t) (p->least[k] + (seed >> 40) % (p->range[k] + 1u));
		if (seed >> 63 && out[i] + p->gap[k] < 256)
			out[i] += p->gap[k];
	}
	return n;
}

/*
 * Random tables of such strings, often of one length, and of whatever is to be sorted by before or after them.
 */
static void
by_patterns(uint64_t tables)
{
	uint64_t bad = 0;

	for (uint64_t i = 0; i < tables; i++)
	{
		patterns p = {.shortest = 6 + rnd_below(14)};
		uint64_t each = 1 + rnd_below(5);
		bool before = rnd_below(4) == 0, after = rnd_below(2);
		table t;

		p.more = rnd_below(2) ? 0 : rnd_below(12);
		p.distinct = rnd_below(2) ? 0 : 1 + rnd_below(2000);
		for (uint64_t k = 0; k < 32; k++)
		{
			p.least[k] = k % each ? p.least[k - 1] : (uint8_t) rnd();
			p.range[k] = k % each ? p.range[k - 1] : (uint8_t) rnd_below(1 + rnd_below(50));
			p.gap[k] = k % each ? p.gap[k - 1] : rnd_below(3) ? (uint8_t) rnd_below(127) : 0;
			p.range[k] = p.least[k] + p.range[k] > 255 ? 255 - p.least[k] : p.range[k];
		}
		table_start(&t, 400 + rnd_below(6000));
		for (int c = 0; c < 2; c++)
		{
			column *few = (c ? after : before) ? table_add(&t, GS_I32, rnd_below(2), false) : NULL;

			for (uint64_t r = 0; few != NULL && r < t.rows; r++)
				column_set(few, r, rnd_below(20));
			if (c == 0)
				column_strings(table_add(&t, GS_BYTES, rnd_below(2), false), t.rows, by_pattern, &p);
		}
		bad += !order_job_right(engine, &t, 1009, 65536, NULL);
		table_free(&t);
	}
	tap_ok(bad == 0, "%lu of %lu tables of strings with ranges of each position's own are out of order",
		   (unsigned long) bad, (unsigned long) tables);
}

/*
 * Strings longer than anything, one of them the beginning of the other.
 */
static uint64_t
megabyte(uint64_t row, uint8_t *out, void *arg)
{
	uint64_t length = (1 << 20) - row % 3;

	(void) arg;
	memset(out, 'm', length);
	if (row % 4 == 3)
		out[length - 1 - row % 5] = (uint8_t) row;
	return length;
}

/*
 * a, aa, aaa, ...: every round of refining could part one string from the others.
 */
static uint64_t
triangle(uint64_t row, uint8_t *out, void *arg)
{
	uint64_t length = (row * 7919) % 2000;

	(void) arg;
	memset(out, 'a', length);
	return length;
}

/*
 * Strings that differ in their last byte, alternately: the whole of each has to be read.
 */
static uint64_t
last_byte(uint64_t row, uint8_t *out, void *arg)
{
	(void) arg;
	memset(out, 'q', 500);
	out[499] = (uint8_t) (row * 31);
	return 500;
}

/*
 * Runs one table of one string column.
 */
static void
special(const char *name, uint64_t rows, uint64_t (*make)(uint64_t, uint8_t *, void *))
{
	table t;

	table_start(&t, rows);
	column_strings(table_add(&t, GS_BYTES, false, false), rows, make, NULL);
	tap_ok(order_job_right(engine, &t, 65536, 65536, NULL), "%s", name);
	table_free(&t);
}

/*
 * The examples of the header: "a" < "a\0" < "ab", "" first.
 */
static void
exact(void)
{
	static const struct
	{
		const char *s;
		uint64_t n;
	} sorted[] = {{"", 0},		   {"\0", 1},		  {"\0\0", 2},	  {"\0\1", 2},
				  {"a", 1},		   {"a\0", 2},		  {"a\0\0", 3},	  {"a\0\0\0\0\0\0\0\0", 9},
				  {"a\0b", 3},	   {"ab", 2},		  {"abcdefg", 7}, {"abcdefg\0", 8},
				  {"abcdefgh", 8}, {"abcdefgh\0", 9}, {"b", 1},		  {"\xff", 1},
				  {"\xff\xff", 2}};
	uint32_t n = sizeof(sorted) / sizeof(sorted[0]);
	table t;
	column *c;
	gs_column column;
	uint32_t offsets[32] = {0}, order[32];
	gs_plan *plan;
	void *temp;
	bool good = true;

	table_start(&t, n);
	c = table_add(&t, GS_BYTES, false, false);
	c->heap = calloc(1, 256);
	c->offsets = calloc(n + 1, 8);
	for (uint32_t i = 0; i < n; i++)
	{
		uint32_t k = (i * 5 + 3) % n;

		memcpy(c->heap + c->offsets[i], sorted[k].s, sorted[k].n);
		c->offsets[i + 1] = c->offsets[i] + sorted[k].n;
		offsets[i + 1] = (uint32_t) c->offsets[i + 1];
	}
	tap_ok(order_job_right(engine, &t, 5, 3, NULL), "zero bytes and prefixes, by job");
	column = (gs_column){c->spec, offsets, NULL, c->heap};
	good = gs_order_plan(engine, &column, 1, n, &plan) == GS_OK;
	good = good && gs_alloc(engine, gs_order_temp_bytes(plan), &temp) == GS_OK;
	good = good && gs_order_run(engine, plan, temp, gs_order_temp_bytes(plan), order, NULL) == GS_OK;
	for (uint32_t i = 0; i < n && good; i++)
		good = (order[i] * 5 + 3) % n == i;
	tap_ok(good, "zero bytes and prefixes, by plan");
	gs_free(engine, temp);
	gs_plan_free(engine, plan);
	table_free(&t);
}

/*
 * Strings before, between and behind other columns.
 */
static void
mixed(void)
{
	for (int v = 0; v < 24; v++)
	{
		recipe p = {"", 0, 3, 'a', (uint32_t) v % 5, 0, (uint32_t) (v % 2 ? 3 : 12), 0, 0};
		table t;
		bool good;

		table_start(&t, v % 3 == 0 ? 50000 : 900);
		for (int c = 0; c < 4; c++)
		{
			bool string = (v >> c & 1) != (c == 2);
			column *made = table_add(&t, string ? GS_BYTES : c == 1 ? GS_U128 : GS_I16, v % 7 == c, c == 2);

			if (string)
				column_strings(made, t.rows, by_recipe, &p);
			else
				for (uint64_t r = 0; r < t.rows; r++)
					column_set(made, r, rnd_below(40));
			if (v % 4 == c)
				column_nulls(made, t.rows, 0.3);
		}
		good = order_job_right(engine, &t, 3001, 65536, NULL);
		tap_ok(good, "four columns, strings among them, %d", v);
		table_free(&t);
	}
}

void
test_strings(void)
{
	exact();
	all_recipes();
	by_distances();
	odd_ones();
	by_patterns(1200);
	special("strings of a megabyte", 40, megabyte);
	special("a, aa, aaa and so on", 10000, triangle);
	special("different in the last byte", 20000, last_byte);
	mixed();
}
