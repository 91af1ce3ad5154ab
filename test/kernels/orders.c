/*
 * orders.c: row orders of fixed-width columns: types, directions, NULLs, distributions, sizes around every limit
 * of the CPU engine.  Orders are checked against the definition: each row once, every neighbour less by comparison of
 * the raw values, then by arrival.
 */
#include "kernels/cpu/cpu.h"
#include "engine.h"
#include "table.h"
#include "tests.h"

#include <math.h>

typedef enum shape
{
	UNIFORM,
	FEW,
	EQUAL,
	ZIPF,
	SORTED,
	REVERSED,
	SAWTOOTH,
	DISPLACED,
	OUTLIER,
	EXTREMES,
	GAPS,
	SHAPES
} shape;

static const char *const shape_name[] = {"uniform",	 "few distinct",  "all equal", "zipf",	   "sorted", "reversed",
										 "sawtooth", "1 % displaced", "outlier",   "extremes", "gaps"};

/*
 * A value of a distribution, to be cut to the type's width.
 */
static uint64_t
shape_value(shape s, uint64_t row, uint64_t rows)
{
	switch (s)
	{
		case FEW:
			return rnd_below(5) * 50;
		case EQUAL:
			return 77;
		case ZIPF:
			return (uint64_t) exp((double) (rnd() >> 11) / 9007199254740992.0 * 20);
		case SORTED:
			return row / 2;
		case REVERSED:
			return rows - row;
		case SAWTOOTH:
			return row % 1000;
		case DISPLACED:
			return rnd_below(100) ? row : rnd_below(rows);
		case OUTLIER:
			return row == rows / 3 ? (uint64_t) 1 << 62 : rnd_below(1000);
		case EXTREMES:
			return (uint64_t[]){0, 1, (uint64_t) 1 << 63, ((uint64_t) 1 << 63) - 1, ~(uint64_t) 0}[rnd_below(5)] >>
				   (rnd_below(2) ? 0 : rnd_below(64));
		case GAPS:
			return (rnd() & 0x00f000f000f00f00u) | 0x1000000000000001u;
		default:
			return rnd();
	}
}

/*
 * Doubles and floats: the bits of the values, with the special ones among them.
 */
static uint64_t
float_bits(gs_type type, uint64_t value)
{
	static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 1.0, -1.0, 5e-324, 1e308};
	double d = rnd_below(8) == 0 ? special[rnd_below(10)] : (double) (int64_t) value;
	float f = (float) d;
	uint64_t bits = 0;

	if (rnd_below(50) == 0)
		return type == GS_F64 ? rnd() | 0x7ff0000000000001u : rnd() | 0x7f800001u;
	memcpy(&bits, type == GS_F64 ? (void *) &d : (void *) &f, type == GS_F64 ? 8 : 4);
	return bits;
}

/*
 * Fills a column with a distribution.
 */
static void
fill(column *c, shape s, uint64_t rows)
{
	for (uint64_t r = 0; r < rows; r++)
	{
		uint64_t v = shape_value(s, r, rows);

		if (c->spec.type == GS_F32 || c->spec.type == GS_F64)
			v = s == SORTED || s == REVERSED ? v : float_bits(c->spec.type, v);
		column_set(c, r, v);
	}
}

/*
 * One column of every type, shape, direction and share of NULLs.
 */
static void
one_column(gs_type type)
{
	static const uint64_t sizes[] = {2000, 40000};
	static const double shares[] = {0, 0.01, 0.5, 1};

	for (shape s = UNIFORM; s < SHAPES; s++)
	{
		bool good = true;

		for (int i = 0; i < 2; i++)
			for (int v = 0; v < 16; v++)
			{
				table t;
				column *c;

				if (i == 1 && v % 5 != 0)
					continue;
				table_start(&t, sizes[i]);
				c = table_add(&t, type, v & 1, v & 2);
				fill(c, s, t.rows);
				if (shares[v / 4] > 0)
					column_nulls(c, t.rows, shares[v / 4]);
				good &= order_job_right(engine, &t, 997, 1013, NULL);
				table_free(&t);
			}
		tap_ok(good, "%s, %s: directions, NULLs", type_name(type), shape_name[s]);
	}
}

/*
 * Sizes around every limit, narrow and wide keys.
 */
static void
sizes(void)
{
	static const uint64_t limits[] = {0,	1,	  2,	 12,	24,	   63,	   64,	   1023,
									  1024, 8192, 32767, 32768, 65536, 262143, 262144, 1 << 20};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (int wide = 0; wide < 2; wide++)
		{
			bool good = true;

			for (uint64_t rows = limits[i]; rows < limits[i] + 2; rows++)
			{
				table t;

				table_start(&t, rows);
				fill(table_add(&t, wide ? GS_U128 : GS_I32, false, false), wide ? ZIPF : UNIFORM, rows);
				good &= order_job_right(engine, &t, 65536, 100000, NULL);
				table_free(&t);
			}
			tap_ok(good, "%lu rows and one more, %s", (unsigned long) limits[i], wide ? "wide key" : "narrow key");
		}
}

/*
 * A million rows of each shape, and what the job says about them.
 */
static void
millions(void)
{
	for (shape s = UNIFORM; s < SHAPES; s++)
	{
		table t;
		gs_job_info info;
		bool good;

		table_start(&t, 1000000);
		fill(table_add(&t, GS_I64, false, false), s, t.rows);
		good = order_job_right(engine, &t, 65536, 65536, &info);
		tap_ok(good, "a million rows, %s: %u key bits, %u rounds of ties", shape_name[s], info.order.key_bits,
			   info.order.refined);
		if (s == SORTED || s == REVERSED || s == EQUAL)
			tap_ok(info.order.input == (s == REVERSED ? GS_DESCENDING : GS_ASCENDING), "and its order is noticed");
		table_free(&t);
	}
}

/*
 * Ties of every size in keys of several columns: giant groups, and a great many tiny ones.
 */
static void
ties(void)
{
	static const uint64_t distinct[] = {1, 2, 100, 50000, 150000, 300000};

	for (size_t i = 0; i < sizeof(distinct) / sizeof(distinct[0]); i++)
	{
		table t;
		gs_job_info info;
		uint64_t *values;
		bool good;

		table_start(&t, 300000);
		values = table_add(&t, GS_U64, false, false)->values;
		fill(table_add(&t, GS_I64, true, false), UNIFORM, t.rows);
		for (uint64_t r = 0; r < t.rows; r++)
			values[r] = rnd_below(distinct[i]) * 0x9e3779b97f4a7c15u;
		good = order_job_right(engine, &t, 65536, 65536, &info);
		tap_ok(good, "two 64-bit columns, %lu groups", (unsigned long) distinct[i]);
		table_free(&t);
	}
}

/*
 * Two columns that rise or fall together, whose leading bits alone leave ties: the job says so, but not where two rows
 * fall back or are equal, in the middle of a block or at its start.
 */
static void
wide_keys_in_order(void)
{
	static const char *const how[] = {"in order", "but for one row", "but for two equal rows"};
	static const uint64_t places[] = {5003, 4 * GS_BLOCK_ROWS};

	for (int v = 0; v < 12; v++)
	{
		bool reversed = v / 6;
		int flaw = v / 2 % 3;
		uint64_t at = places[v % 2];
		table t;
		gs_job_info info;
		uint64_t *a, *b;
		bool good, seen;

		table_start(&t, 10000);
		a = table_add(&t, GS_U64, false, false)->values;
		b = table_add(&t, GS_I64, true, false)->values;
		for (uint64_t r = 0; r < t.rows; r++)
		{
			uint64_t x = reversed ? t.rows - r : r;

			a[r] = (x + 4) / 8 * 0x193001000193u;
			b[r] = (uint64_t) -(int64_t) (x * 0x1000193001u);
		}
		if (flaw == 1)
			b[at] += 2 * (b[at - 1] - b[at]);
		if (flaw == 2)
			b[at] = b[at - 1];
		good = order_job_right(engine, &t, 4096, 65536, &info);
		seen = flaw == 0 || (flaw == 2 && !reversed);
		good &= info.order.input == (!seen ? GS_UNORDERED : reversed ? GS_DESCENDING : GS_ASCENDING);
		tap_ok(good, "wide keys, %s %s, row %lu", reversed ? "reversed" : "sorted", how[flaw], (unsigned long) at);
		table_free(&t);
	}
}

/*
 * Values and NULLs that rise and take more bits than a word has room for: the job sees it without refining them.
 */
static void
wide_values_in_order(void)
{
	for (int nulls_first = 0; nulls_first < 2; nulls_first++)
	{
		table t;
		column *c;
		gs_job_info info;
		bool good;

		table_start(&t, 3000);
		c = table_add(&t, GS_I64, false, nulls_first);
		column_nulls(c, t.rows, 0);
		for (uint64_t r = 0; r < t.rows; r++)
		{
			/* close together, then far apart, from the least one on */
			column_set(c, r, (r < 2000 ? r / 2 : r * 0x15555555555555u) ^ (uint64_t) 1 << 63);
			c->null[r] = nulls_first ? r < 300 : r >= 2700;
		}
		good = order_job_right(engine, &t, 997, 1013, &info);
		tap_ok(good && info.order.input == GS_ASCENDING && info.order.refined == 0, "wide values in order, NULLs %s",
			   nulls_first ? "first" : "last");
		table_free(&t);
	}
}

/*
 * Every loop version and the paths of large inputs, forced on small ones.
 */
static void
tunings(void)
{
	gs_cpu_tuning normal = gs_cpu_tuning_default();

	for (int v = 0; v < 12; v++)
	{
		gs_cpu_tuning tuning = normal;
		bool good = true;

		tuning.vector = (gs_vectors) (v >> 2);
		tuning.lanes = v & 1;
		tuning.combine_rows = v & 2 ? 64 : UINT32_MAX;
		tuning.cache_rows = 64;
		tuning.even_rows = v & 1 ? 0 : 512;
		tuning.bucket_log = 3;
		tuning.quick_rows = v & 1 ? 0 : 300;
		tuning.quick_bits = 8;
		tuning.quick_depth = v & 2 ? 2 : 0;
		gs_cpu_tune(engine, &tuning);
		for (shape s = UNIFORM; s < SHAPES; s++)
			for (uint64_t rows = 60; rows < 100000; rows = rows * 5 + 1)
			{
				table t;

				table_start(&t, rows);
				fill(table_add(&t, s % 2 ? GS_F32 : GS_I32, v & 1, false), (shape) ((s + 1) % SHAPES), rows);
				fill(table_add(&t, GS_F64, v & 2, false), s, rows);
				good &= order_job_right(engine, &t, 4096, 65536, NULL);
				table_free(&t);
			}
		tap_ok(good, "vector %d, lanes %d, combining %d, tiny buckets", v >> 2, v & 1, v >> 1 & 1);
	}
	gs_cpu_tune(engine, &normal);
}

/*
 * Values close together and some far away, below or above or both: more than are sorted by comparison, equal ones,
 * NULLs.
 */
static void
far_away(void)
{
	static const uint64_t counts[] = {1, 5, 13, 3000};

	for (int where = 1; where < 4; where++)
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
		{
			bool good = true;

			for (int v = 0; v < 12; v++)
			{
				table t;
				column *c;
				uint64_t *values;

				table_start(&t, 40000 + 31 * (uint64_t) v);
				c = table_add(&t, v / 4 == 0 ? GS_I64 : v / 4 == 1 ? GS_U64 : GS_F64, v & 1, v & 2);
				values = c->values;
				for (uint64_t r = 0; r < t.rows; r++)
					values[r] = ((uint64_t) 1 << 62) + rnd_below(1 << 27);
				for (uint64_t k = 0; k < counts[i]; k++)
					values[rnd_below(t.rows)] = (where == 3 ? k & 1 : where == 1) ? rnd_below(4) << 40 | rnd_below(3)
																				  : ((uint64_t) 7 << 60) - rnd_below(5);
				if (v % 3 > 0)
					column_nulls(c, t.rows, v % 3 == 1 ? 0.01 : 0.5);
				good &= order_job_right(engine, &t, 997, 1013, NULL);
				table_free(&t);
			}
			tap_ok(good, "%lu values far away, %s", (unsigned long) counts[i],
				   where == 1 ? "below" : where == 2 ? "above" : "below and above");
		}
}

/*
 * Leading bits that fall unevenly: values of all magnitudes, clusters, steps of rarer and rarer leading digits.
 */
static void
uneven(void)
{
	for (int how = 0; how < 5; how++)
		for (uint64_t rows = 33000; rows < 700000; rows *= 4)
		{
			table t;
			uint64_t *values;
			bool good;

			table_start(&t, rows);
			values = table_add(&t, how == 0 ? GS_F64 : GS_U64, false, false)->values;
			for (uint64_t r = 0; r < rows; r++)
			{
				double d = ((double) (rnd() >> 11) / 9007199254740992.0 - 0.5) * 1e6;

				if (how == 0)
					memcpy(&values[r], &d, 8);
				else if (how == 1)
					values[r] = rnd() >> rnd_below(64);
				else if (how == 2)
					values[r] = (rnd_below(4) << 60) + rnd_below(rows / 2);
				else if (how == 3)
					values[r] = (rnd_below(50) == 0 ? rnd() : (uint64_t) 0x7ff << 40) + rnd_below(rows);
				else
					values[r] = rnd_below(1 << 20) << (rnd_below(100) == 0 ? 40 : 0);
			}
			good = order_job_right(engine, &t, 65536, 65536, NULL);
			tap_ok(good, "uneven leading bits %d, %lu rows", how, (unsigned long) rows);
			table_free(&t);
		}
}

/*
 * Ties of two rows whose numbers differ in all bits, among others without ties.
 */
static void
ties_far_apart(void)
{
	bool good = true;

	for (uint64_t rows = 128; rows < 70000; rows *= 4)
		for (uint64_t pair = 0; pair < rows / 2; pair += rows / 7)
		{
			table t;
			uint64_t *a, *b;

			table_start(&t, rows);
			a = table_add(&t, GS_U64, false, false)->values;
			b = table_add(&t, GS_U64, true, false)->values;
			for (uint64_t r = 0; r < rows; r++)
			{
				uint64_t x = r == rows - 1 - pair ? pair : r;

				a[r] = x * 0x100003u % rows * (UINT64_MAX / rows);
				b[r] = r * 0x10000100001u;
			}
			good &= order_job_right(engine, &t, 4096, 65536, NULL);
			table_free(&t);
		}
	tap_ok(good, "a tie of rows whose numbers have no bit in common");
}

/*
 * The first rows of keys that fall within each block of rows, but not from one to the next: key bits that fit a word,
 * and ones that do not.
 */
static void
first_of_falling_blocks(void)
{
	static const char *const how[] = {"fall", "stay", "rise"};

	for (int wide = 0; wide < 2; wide++)
		for (uint64_t step = 0; step < 3; step++)
		{
			table t;
			uint64_t *values;
			bool good = true;

			table_start(&t, 41 * GS_BLOCK_ROWS);
			values = table_add(&t, GS_U64, false, false)->values;
			if (wide)
				fill(table_add(&t, GS_I64, true, false), UNIFORM, t.rows);
			for (uint64_t r = 0; r < t.rows; r++)
				values[r] = (t.rows - r + r / GS_BLOCK_ROWS * (step == 2 ? 1500 : step)) << (wide ? 40 : 0);
			for (uint64_t k = 1; k <= t.rows / 8; k *= 4)
				good &= top_job_right(engine, &t, k, 4096, 65536);
			tap_ok(good, "first rows, %s keys that %s from block to block", wide ? "wide" : "short", how[step]);
			table_free(&t);
		}
}

/*
 * The primitive on columns in the engine's memory.
 */
static void
plans(void)
{
	bool good = true;

	for (uint64_t rows = 0; rows < 200000; rows = rows * 4 + 1)
	{
		table t;
		gs_column columns[2];
		gs_order_facts facts;
		gs_plan *plan;
		void *temp, *order;

		table_start(&t, rows);
		fill(table_add(&t, GS_I16, true, false), UNIFORM, rows);
		fill(table_add(&t, GS_F64, false, false), UNIFORM, rows);
		for (int i = 0; i < 2; i++)
			columns[i] = (gs_column){t.specs[i], t.columns[i].values, NULL, NULL};
		good &= gs_order_plan(engine, columns, 2, rows, &plan) == GS_OK;
		good &= gs_alloc(engine, gs_order_temp_bytes(plan), &temp) == GS_OK && (uintptr_t) temp % 256 == 0;
		good &= gs_alloc(engine, rows * 4 + 4, &order) == GS_OK;
		good &= gs_order_run(engine, plan, temp, gs_order_temp_bytes(plan) - 1, order, NULL) == GS_INVALID;
		good &= gs_order_run(engine, plan, temp, gs_order_temp_bytes(plan), order, &facts) == GS_OK;
		good &= gs_sync(engine) == GS_OK && order_right(&t, order);
		gs_free(engine, temp);
		gs_free(engine, order);
		gs_plan_free(engine, plan);
		table_free(&t);
	}
	tap_ok(good, "plan and run");
}

void
test_orders(void)
{
	for (gs_type type = GS_U8; type < GS_BYTES; type++)
		one_column(type);
	sizes();
	millions();
	ties();
	wide_keys_in_order();
	wide_values_in_order();
	tunings();
	far_away();
	uneven();
	ties_far_apart();
	first_of_falling_blocks();
	plans();
}
