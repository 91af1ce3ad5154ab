/*
 * gpu_order_proof.c: orders of jobs that were damaged when they had been made: the engine proves those that were not,
 * and refuses the others.
 */
#include "engine.h"
#include "table.h"
#include "tests.h"

#include "kernels/cuda/base/sort_testing.h"

#include <math.h>

/* What columns hold. */
typedef enum look
{
	MANY,
	FEW,
	EQUAL,
	LOOKS
} look;

/* A table, what is asked of it, and the right answer. */
typedef struct asked
{
	const table *t;
	gs_job_spec spec;
	uint32_t *order;
	uint64_t n;
} asked;

/* ---------------------------------------------------------------- tables */

/* A string: with a prefix that all have, of any bytes, zeros among them, some the beginning of others. */
static uint64_t
make_string(uint64_t row, uint8_t *out, void *arg)
{
	const look *of = arg;
	const uint64_t prefix = *of == EQUAL ? 40 : 19, more = *of == MANY ? rnd_below(21) : *of == FEW ? rnd_below(3) : 0;

	(void) row;
	memset(out, 'p', prefix);
	for (uint64_t i = 0; i < more; i++)
		out[prefix + i] = (uint8_t) (*of == MANY ? rnd() >> rnd_below(8) : 0);
	return prefix + more;
}

/* Bits of a float, with special ones among them, of which some are equal. */
static uint64_t
float_bits(gs_type type, look of)
{
	static const double special[] = {0.0, -0.0, NAN, -NAN, INFINITY, -INFINITY, 5e-324, -1.5};
	const bool odd = of == FEW || rnd_below(9) == 0;
	const double d = of == EQUAL ? 1 : odd ? special[rnd_below(8)] : (double) (int64_t) rnd();
	const float f = (float) d;
	uint64_t bits = 0;

	memcpy(&bits, type == GS_F64 ? (const void *) &d : (const void *) &f, gs_type_width(type));
	return bits;
}

/* Fills a column. */
static void
fill(column *c, look of, uint64_t rows)
{
	if (c->spec.type == GS_BYTES)
	{
		column_strings(c, rows, make_string, &of);
		return;
	}
	for (uint64_t r = 0; r < rows; r++)
	{
		const uint64_t few = rnd_below(5) * 0x4040404040404040u;

		if (c->spec.type == GS_F32 || c->spec.type == GS_F64)
			column_set(c, r, float_bits(c->spec.type, of));
		else
			column_set(c, r, of == MANY ? rnd() : of == FEW ? few : 7);
		if (c->spec.type == GS_U128 && of == FEW) /* equal upper halves */
			((uint64_t *) c->values)[2 * r] = rnd();
	}
}

/* Adds a column with some NULLs or none. */
static void
add(table *t, gs_type type, look of, uint32_t way, double nulls)
{
	column *c = table_add(t, type, way & 1, way & 2);

	fill(c, of, t->rows);
	if (nulls > 0)
		column_nulls(c, t->rows, nulls);
}

/* ---------------------------------------------------------------- jobs */

/* Runs a job with n numbers of its order replaced; with out, returns that. */
static gs_status
run_job(const asked *a, const uint32_t *numbers, uint64_t at, uint64_t n, uint32_t *out)
{
	uint64_t got = 0;
	gs_status status;
	gs_job *job;

	ok(gs_job_begin(engine, &a->spec, NULL, &job), "gs_job_begin");
	ok(feed(job, a->t, 65536), "gs_job_add");
	gs_cuda_order_damage(engine, numbers, at, n);
	status = gs_job_finish(job, a->t->rows);
	gs_cuda_order_damage(engine, NULL, 0, 0);
	if (status == GS_OK && out != NULL)
		ok(gs_job_next(job, out, a->n, &got), "gs_job_next");
	gs_job_end(job);
	return status == GS_OK && out != NULL && got != a->n ? GS_PROTOCOL : status;
}

/* Says that a job with such numbers in its order ends like this. */
static void
ends(const asked *a, const uint32_t *numbers, uint64_t at, uint64_t n, gs_status with, const char *what)
{
	const gs_status status = run_job(a, numbers, at, n, NULL);
	const column *c = &a->t->columns[0];

	check(status == with, "%s at %llu of %llu, of %llu rows, %u columns, first %s%s%s%s: %s", what,
		  (unsigned long long) at, (unsigned long long) a->n, (unsigned long long) a->t->rows, a->t->ncolumns,
		  type_name(c->spec.type), c->spec.desc ? ", descending" : "", c->null != NULL ? ", NULLs " : "",
		  c->null == NULL ? "" : c->spec.nulls_first ? "first" : "last", gs_status_text(status));
}

/* Damages the order at a place. */
static void
damage_at(const asked *a, uint64_t at)
{
	const uint32_t *order = a->order;
	const uint32_t none[] = {(uint32_t) a->t->rows, UINT32_MAX};

	ends(a, &none[rnd_below(2)], at, 1, GS_WRONG_ORDER, "a number of no row");
	if (at + 1 >= a->n)
		return;

	const uint32_t swapped[] = {order[at + 1], order[at]}, twice[] = {order[at], order[at]};

	ends(a, swapped, at, 2, GS_WRONG_ORDER,
		 row_compare(a->t, order[at], order[at + 1]) == 0 ? "equal rows swapped" : "two rows swapped");
	ends(a, twice, at, 2, GS_WRONG_ORDER, "a row twice");
}

/* Returns a place from which on two rows are equal, or n. */
static uint64_t
equal_pair(const asked *a)
{
	uint64_t at = 0;

	while (at + 1 < a->n && row_compare(a->t, a->order[at], a->order[at + 1]) != 0)
		at++;
	return at + 1 < a->n ? at : a->n;
}

/* Takes rows of the whole order out of its first n: the next ones follow, up to one that does not belong there. */
static void
lose_rows(const asked *a, const uint32_t *whole)
{
	const uint64_t places[] = {0, rnd_below(a->n), a->n - 1};

	for (int i = 0; i < 3; i++)
		ends(a, whole + places[i] + 1, places[i], a->n - places[i], GS_WRONG_ORDER, "a row that belongs there lost");
}

/* Returns the order of a job that nothing damages; NULL if that is wrong. */
static uint32_t *
right_order(const asked *a)
{
	uint32_t *order = malloc((a->n + 1) * sizeof(uint32_t));
	const gs_status status = run_job(a, NULL, 0, 0, order);
	const bool right = status == GS_OK && first_right(a->t, order, a->n);

	check(right, "%llu of %llu rows, %u columns, first %s, without damage: %s", (unsigned long long) a->n,
		  (unsigned long long) a->t->rows, a->t->ncolumns, type_name(a->t->specs[0].type), gs_status_text(status));
	if (right)
		return order;
	free(order);
	return NULL;
}

/* Has a table's order, or the first rows of it, damaged in all ways, at its ends and in between. */
static void
every_damage(const table *t, uint64_t limit, int places)
{
	asked a = {.t = t, .spec = {.op = GS_ORDER, .ncolumns = t->ncolumns, .columns = t->specs}, .n = t->rows};
	uint32_t *whole = right_order(&a), *first = NULL;
	uint64_t equal;

	a.order = whole;
	if (whole != NULL && limit > 0)
	{
		a.spec.op = GS_TOPK;
		a.spec.limit = limit;
		a.n = limit < t->rows ? limit : t->rows;
		a.order = first = right_order(&a);
	}
	if (a.order == NULL)
		a.n = 0;
	for (int i = 0; i < places && a.n > 0; i++)
		damage_at(&a, i == 0 ? a.n - (a.n > 1 ? 2 : 1) : i == 1 ? 0 : rnd_below(a.n));
	equal = equal_pair(&a);
	if (equal < a.n)
		damage_at(&a, equal);
	if (a.n > 0 && a.n < t->rows)
		lose_rows(&a, whole);
	free(first);
	free(whole);
}

/* ---------------------------------------------------------------- tests */

/* Every type, direction, place of NULLs and look. */
static void
one_column(gs_type type)
{
	for (look of = MANY; of < LOOKS; of++)
		for (uint32_t way = 0; way < 8; way++)
		{
			table t;

			if (skipped())
				continue;
			table_start(&t, 300 + rnd_below(600));
			add(&t, type, of, way, way < 4 ? 0 : (double[]){0.01, 0.5, 1}[rnd_below(3)]);
			every_damage(&t, rnd_below(2) ? 1 + rnd_below(t.rows) : 0, small_only ? 1 : 3);
			table_free(&t);
		}
}

/* Keys of several columns, which are looked at one by one: the first of few values, any behind it. */
static void
several_columns(void)
{
	for (uint32_t n = 2; n <= MAX_COLUMNS; n++)
		for (int i = 0; i < 4; i++)
		{
			table t;

			if (skipped())
				continue;
			table_start(&t, 2000);
			for (uint32_t c = 0; c < n; c++)
				add(&t, (gs_type) rnd_below(GS_BYTES + 1), c + 1 == n ? MANY : i < 2 ? FEW : (look) rnd_below(LOOKS),
					(uint32_t) rnd_below(4), rnd_below(2) ? 0 : 0.3);
			every_damage(&t, i % 2 == 0 ? 0 : 1 + rnd_below(1999), small_only ? 1 : 4);
			table_free(&t);
		}
}

/* Sizes around warps, blocks, and orders in one launch; the first rows of each. */
static void
sizes(void)
{
	static const uint64_t limits[] = {0,	1,	  2,	31,	   32,	  33,	 255,	 256,	 257,
									  2047, 2048, 2049, 65535, 65536, 65537, 1000000, 1048577};

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
		for (int wide = 0; wide < 2; wide++)
			for (int top = 0; top < 2; top++)
			{
				const uint64_t rows = limits[i];
				table t;

				if ((small_only && rows > 70000) || skipped())
					continue;
				table_start(&t, rows);
				add(&t, wide ? GS_BYTES : GS_I64, wide ? FEW : MANY, top == 0 ? 0 : 1, rows % 2 == 0 ? 0 : 0.1);
				every_damage(&t, top == 0 || rows < 2 ? 0 : rows % 2 == 0 ? rows - 1 : 1 + rows / 20, 6);
				table_free(&t);
			}
}

/* All places of an order, which lie everywhere in warps and in what these look at. */
static void
every_place(void)
{
	const uint64_t rows = small_only ? 70 : 2100;
	table t;
	asked a = {.t = &t, .spec = {.op = GS_ORDER, .ncolumns = 1, .columns = t.specs}, .n = rows};

	table_start(&t, rows);
	add(&t, GS_I32, MANY, 0, 0);
	a.order = right_order(&a);
	for (uint64_t at = 0; a.order != NULL && at < rows; at++)
		damage_at(&a, at);
	free(a.order);
	table_free(&t);
}

/* Orders that other operations need are proved, too; one that is trusted is not. */
static void
other_jobs(void)
{
	table t;
	asked a = {.t = &t, .n = 1000};
	uint32_t *order;

	table_start(&t, 1000);
	add(&t, GS_I64, MANY, 0, 0);
	add(&t, GS_I64, MANY, 0, 0);
	a.spec = (gs_job_spec){.op = GS_ORDER, .ncolumns = 2, .columns = t.specs};
	a.order = order = right_order(&a);
	if (order == NULL)
		return;
	a.spec = (gs_job_spec){.op = GS_RUNS, .ncolumns = 2, .columns = t.specs, .order_columns = 1, .key_columns = 1};
	damage_at(&a, 500);
	a.spec.op = GS_REDUCE;
	damage_at(&a, 500);
	a.spec = (gs_job_spec){.op = GS_ORDER, .ncolumns = 2, .columns = t.specs};
	gs_cuda_order_trust(engine, true);
	ends(&a, order + 1, 0, 2, GS_OK, "an order that is trusted");
	gs_cuda_order_trust(engine, false);
	ends(&a, order + 1, 0, 2, GS_WRONG_ORDER, "one that is not trusted any longer");
	free(order);
	table_free(&t);
}

void
test_order_proof(void)
{
	rnd_seed(5151);
	for (gs_type type = GS_U8; type <= GS_BYTES; type++)
	{
		char name[100];

		snprintf(name, sizeof(name), "orders of %s that were damaged", type_name(type));
		group(name);
		one_column(type);
	}
	group("orders by several columns that were damaged");
	several_columns();
	group("orders of all sizes that were damaged");
	sizes();
	group("orders that were damaged at every place");
	every_place();
	group("orders of other operations that were damaged");
	other_jobs();
}
