/*
 * steps_table.c: see steps_table.h.
 */
#include "steps_table.h"

#include "scan_test.h"

#include "../../kernels/common/divisors.h"
#include "../../kernels/common/steps_row.h"
#include "../../kernels/cpu/cpu.h"

#include <pthread.h>

#define MOST_THREADS 8

uint32_t most_segment_rows = UINT32_MAX;

/* Returns how many rows a segment has. */
static uint32_t
some_length(bool any)
{
	static const uint32_t lengths[] = {1, 63, 64, 65, 127, 128, 1000, 1023, 1024, 1025, 2047, 2049, 4096, 9000, 70000};
	uint32_t n = sizeof(lengths) / sizeof(lengths[0]) - !any;

	while (lengths[n - 1] > most_segment_rows)
		n--;
	return lengths[rnd() % n];
}

/* Values that are small, of all of the type's bits, or corners; those of 128 bits can be added up. */
static void
fill(gs_type type, uint8_t *to, uint32_t rows)
{
	size_t width = gs_type_width(type);
	int kind = (int) (rnd() % 3);

	if (kind == 0 || type == GS_F32 || type == GS_F64)
	{
		fill_runs(type, to, rows, 1 + kind, kind != 0);
		/* no overflow of sums, and no sum whose order matters much */
		for (uint32_t r = 0; r < rows && type == GS_F64; r++)
			if (((double *) to)[r] > 1e300 && !isinf(((double *) to)[r]))
				((double *) to)[r] = 1e300;
	}
	else
		for (uint32_t r = 0; r < rows; r++)
		{
			bool sign = type >= GS_I16 || type == GS_U128;
			wide v = (wide) (rnd() % 200) - (sign ? 100 : 0);

			memcpy(to + r * width, &v, width);
		}
	for (uint32_t r = 0; r < rows && type == GS_U128; r++)
	{
		wide v;

		memcpy(&v, to + r * 16, 16);
		v >>= 20;
		memcpy(to + r * 16, &v, 16);
	}
}

void
make_table(table *t, uint32_t ncolumns, const gs_type *types)
{
	*t = (table){.ncolumns = ncolumns};
	for (uint32_t c = 0; c < ncolumns; c++)
		t->types[c] = types != NULL ? types[c] : (gs_type) (rnd() % GS_BYTES);
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		uint32_t rows = some_length(!small_only && s == 0);
		plain_segment *p = &t->plain[s];

		p->rows = rows;
		for (uint32_t c = 0; c < ncolumns; c++)
		{
			size_t bytes = rows * gs_type_width(t->types[c]), words = (rows + 63) / 64;

			p->values[c] = malloc(bytes);
			fill(t->types[c], p->values[c], rows);
			t->values[s][c] = make_array(bytes, 0);
			put(&t->values[s][c], p->values[c], bytes);
			t->held[s * ncolumns + c] = (gs_held){t->values[s][c].data, NULL};
			if (rnd() % 2)
				continue;
			p->nulls[c] = malloc(words * 8);
			for (size_t w = 0; w < words; w++)
				p->nulls[c][w] = rnd() % 4 == 0 ? ~(uint64_t) 0 : rnd() % 3 == 0 ? 0 : rnd() & rnd();
			t->nulls[s][c] = make_array(words * 8, 0);
			put(&t->nulls[s][c], p->nulls[c], words * 8);
			t->held[s * ncolumns + c].nulls = t->nulls[s][c].data;
		}
	}
}

void
put_table(table *t)
{
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t c = 0; c < t->ncolumns; c++)
		{
			put(&t->values[s][c], t->plain[s].values[c], t->plain[s].rows * gs_type_width(t->types[c]));
			if (t->plain[s].nulls[c] != NULL)
				put(&t->nulls[s][c], t->plain[s].nulls[c], (t->plain[s].rows + 63) / 64 * 8);
		}
}

void
drop_nulls(table *t, uint32_t segment, uint32_t c)
{
	if (t->plain[segment].nulls[c] == NULL)
		return;
	drop(&t->nulls[segment][c]);
	free(t->plain[segment].nulls[c]);
	t->plain[segment].nulls[c] = NULL;
	t->held[segment * t->ncolumns + c].nulls = NULL;
}

void
drop_table(table *t)
{
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t c = 0; c < t->ncolumns; c++)
		{
			drop(&t->values[s][c]);
			if (t->plain[s].nulls[c] != NULL)
				drop(&t->nulls[s][c]);
			free(t->plain[s].values[c]), free(t->plain[s].nulls[c]);
		}
}

void
make_key(table *t, uint32_t c, uint64_t groups)
{
	size_t width = gs_type_width(t->types[c]);
	int kind = (int) (rnd() % 4);
	uint64_t factor = kind == 2 ? 1 + rnd() % 100000 : 1;

	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
		{
			uint64_t g = rnd() % groups;
			wide v;
			double d;
			float f;

			g = kind == 1 && rnd() % 4 ? g % 3 : g;
			v = (wide) (g * factor) - (kind == 3 ? (wide) (groups / 2) : 0);
			d = g == 1 ? -0.0 : g == 2 && kind == 1 ? NAN : (double) (v / 2) * 0.5;
			f = (float) d;
			memcpy(t->plain[s].values[c] + r * width,
				   t->types[c] == GS_F64 ? (void *) &d : t->types[c] == GS_F32 ? (void *) &f : (void *) &v, width);
		}
}

/* Returns how far a column's integers of 8 bytes are apart, some divisor of that, or 0, as if it were not known. */
static uint64_t
some_apart(const table *t, uint32_t c, int64_t low)
{
	const uint64_t kind = rnd() % 4, from = (uint64_t) low;
	uint64_t apart = 0;

	if (t->types[c] != GS_I64 || kind == 0)
		return 0;
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
			if (t->plain[s].nulls[c] == NULL || (t->plain[s].nulls[c][r / 64] >> r % 64 & 1) == 0)
				apart = gs_common_divisor(apart, (uint64_t) ((const int64_t *) t->plain[s].values[c])[r] - from);
	while (kind == 1 && apart > 0 && apart % 2 == 0 && rnd() % 4 > 0)
		apart /= 2;
	return apart;
}

gs_range
column_range(const table *t, uint32_t c)
{
	gs_steps *steps = calloc(1, sizeof(gs_steps) + 8);
	gs_wide low = gs_number_greatest(GS_NUMBER_I128), high = gs_number_least(GS_NUMBER_I128);
	plain_segment moved = {0};
	gs_range range = {.nulls = false};

	steps->types[0] = (uint8_t) t->types[c];
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		moved.values[0] = t->plain[s].values[c];
		moved.nulls[0] = t->plain[s].nulls[c];
		range.nulls |= moved.nulls[0] != NULL;
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
		{
			value v = column_value(steps, &moved, 0, r);
			gs_wide code = v.real ? (gs_wide) gs_float_order64(gs_real_bits(v.d), true) : v.i;

			if (v.null)
				continue;
			low = code < low ? code : low;
			high = code > high ? code : high;
		}
	}
	range.low = (gs_constant){{(uint64_t) low, (uint64_t) (low >> 64)}};
	range.high = (gs_constant){{(uint64_t) high, (uint64_t) (high >> 64)}};
	range.apart = low <= high ? some_apart(t, c, (int64_t) low) : 0;
	free(steps);
	return range;
}

uint32_t
range_bits(const gs_range *range, gs_type type)
{
	gs_wide low = gs_constant_scalar(&range->low, false).integer;
	gs_wide high = gs_constant_scalar(&range->high, false).integer;
	gs_unsigned_wide span = low > high ? 0 : (gs_unsigned_wide) high - (gs_unsigned_wide) low;
	uint32_t bits = 0;

	if (type == GS_F32 && low <= high)
		span = (gs_unsigned_wide) ((high >> 29) - (low >> 29));
	if (range->nulls && span == (gs_unsigned_wide) -1)
		return 129;
	for (span += range->nulls; span > 0; span >>= 1)
		bits++;
	return bits;
}

/* ---- lists */

/* Returns a constant to compare an integer column with: a value, a corner of some type, or one near either. */
static wide
some_integer(const table *t, uint32_t c)
{
	static const int corners[] = {7, 8, 15, 16, 31, 32, 63, 64, 127};
	size_t width = gs_type_width(t->types[c]);
	const plain_segment *s = &t->plain[rnd() % SEGMENTS];
	bool sign = t->types[c] >= GS_I16 || t->types[c] == GS_U128;
	const uint8_t *p = s->values[c] + rnd() % s->rows * width;
	wide v = sign && p[width - 1] >> 7 ? -1 : 0;

	memcpy(&v, p, width);
	if (rnd() % 3 == 0)
		v = (wide) ((unsigned __int128) 1 << corners[rnd() % 9]);
	return (wide) ((unsigned __int128) v + rnd() % 3 - 1);
}

static double
some_double(const table *t, uint32_t c)
{
	static const double corners[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 5e-324, -5e-324, 1e-45, 0.1, 1e39, -1e39};
	const plain_segment *s = &t->plain[rnd() % SEGMENTS];
	uint32_t r = (uint32_t) rnd() % s->rows;

	if (rnd() % 2)
		return corners[rnd() % 11];
	return t->types[c] == GS_F32 ? (double) ((float *) s->values[c])[r] : ((double *) s->values[c])[r];
}

static int
integer_order(const void *a, const void *b)
{
	return (*(const wide *) a > *(const wide *) b) - (*(const wide *) a < *(const wide *) b);
}

static int
double_order(const void *a, const void *b)
{
	return compare_doubles(*(const double *) a, *(const double *) b);
}

gs_term
some_term(steps_list *l, const table *t, uint32_t c, gs_test test)
{
	uint32_t most = rnd() % 2 ? 6 : 60;
	uint32_t some = 1 + (uint32_t) (rnd() % most);
	uint32_t n = test == GS_TEST_BETWEEN ? 2 : test == GS_TEST_IN ? some : test < GS_TEST_BETWEEN;
	bool real = t->types[c] == GS_F32 || t->types[c] == GS_F64;
	wide integers[60];
	double doubles[60];

	if (test == GS_TEST_IN_BITS && real)
		return some_term(l, t, c, GS_TEST_IN);
	if (test == GS_TEST_IN_BITS)
		n = some;

	for (uint32_t i = 0; i < n; i++)
		if (test == GS_TEST_IN_BITS)
			integers[i] = (wide) ((unsigned __int128) rnd() << 64 | rnd());
		else if (real)
			doubles[i] = some_double(t, c);
		else
			integers[i] = test == GS_TEST_IN && i > 0 && rnd() % 2 ? (wide) ((unsigned __int128) integers[i - 1] + 1)
																	: some_integer(t, c);
	if (real && (test == GS_TEST_IN || rnd() % 8))
		qsort(doubles, n, sizeof(double), double_order);
	else if (!real && test != GS_TEST_IN_BITS && (test == GS_TEST_IN || rnd() % 8))
		qsort(integers, n, sizeof(wide), integer_order);
	return (gs_term){c, test, real ? list_doubles(l, doubles, n) : list_integers(l, integers, n), n};
}

gs_number
number_of(gs_type type)
{
	static const gs_number numbers[] = {GS_NUMBER_I32,	GS_NUMBER_I32, GS_NUMBER_I64, GS_NUMBER_I128, GS_NUMBER_I128,
										GS_NUMBER_I16,	GS_NUMBER_I32, GS_NUMBER_I64, GS_NUMBER_F64,  GS_NUMBER_F64};

	return numbers[type];
}

uint32_t
some_code(steps_list *l, const table *t, gs_instruction *code)
{
	bool widest = rnd() % 4 != 0;
	uint32_t n = 0, depth = 0, values = 1 + (uint32_t) (rnd() % 4);

	while (values > 0 || depth > 1)
	{
		uint32_t c = (uint32_t) (rnd() % t->ncolumns);
		gs_number number = number_of(t->types[c]);

		if (values > 0 && (depth < 2 || rnd() % 2))
		{
			if (rnd() % 4 == 0)
			{
				wide v = (wide) (rnd() % 2000) - 1000;

				code[n++] = (gs_instruction){GS_CODE_CONSTANT, GS_NUMBER_I16 + rnd() % 4, 0, list_integers(l, &v, 1)};
			}
			else if (number == GS_NUMBER_F64)
				return 0;
			else
				code[n++] = (gs_instruction){GS_CODE_COLUMN, (uint8_t) (number + rnd() % (4 - number)), 0, c};
			values--;
			depth++;
			continue;
		}
		number = widest ? GS_NUMBER_I128 : (gs_number) (rnd() % 4);
		code[n++] = (gs_instruction){(uint8_t) (GS_CODE_ADD + rnd() % 3), (uint8_t) number, 0, 0};
		depth--;
	}
	return n;
}

uint32_t
some_spans(const table *t, gs_span *spans, uint32_t most)
{
	uint32_t n = (uint32_t) (rnd() % (most + 1));

	for (uint32_t i = 0; i < n; i++)
	{
		const plain_segment *s = &t->plain[spans[i].segment = (uint32_t) (rnd() % SEGMENTS)];

		spans[i].first = rnd() % 3 ? (uint32_t) (rnd() % s->rows) : 0;
		spans[i].rows = rnd() % 3 ? (uint32_t) (rnd() % (s->rows - spans[i].first + 1)) : s->rows - spans[i].first;
	}
	return n;
}

gs_status
do_parts(gs_groups *groups, uint32_t workers)
{
	gs_status status = GS_OK;

	for (uint32_t n; status == GS_OK && (n = gs_groups_parts(groups)) > 0;)
		for (uint32_t p = 0; p < n && status == GS_OK; p++)
			status = gs_groups_part(groups, (p + 1) % workers, engine, p);
	return status;
}

/* ---- threads */

typedef struct team
{
	gs_groups *groups;
	gs_held_rows rows; /* all spans */
	uint32_t next, parts;
	bool giving; /* rows; then parts are done */
	gs_status status;
	pthread_barrier_t barrier;
} team;

typedef struct member
{
	team *of;
	uint32_t number;
	gs_status status;
} member;

/* Does calls of rows, or parts, as long as there are some. */
static void
do_some(member *m, gs_engine *own)
{
	team *of = m->of;
	const uint32_t n = of->giving ? (uint32_t) of->rows.nspans : of->parts;

	for (uint32_t i; m->status == GS_OK && (i = __atomic_fetch_add(&of->next, 1, __ATOMIC_RELAXED)) < n;)
	{
		gs_held_rows some = of->rows;

		some.nspans = 1;
		some.spans += i;
		m->status = of->giving ? gs_groups_rows(of->groups, m->number, own, &some)
							   : gs_groups_part(of->groups, m->number, own, i);
	}
}

/* What a thread does, with an engine of its own: rows, then round after round of parts. */
static void *
work(void *arg)
{
	member *m = arg;
	team *of = m->of;
	gs_engine *own = NULL;

	m->status = gs_cpu_open(1, NULL, &own);
	if (own != NULL)
		gs_cpu_tune(own, &((const gs_cpu_engine *) engine)->tuning);
	do
	{
		do_some(m, own);
		if (m->status != GS_OK)
			__atomic_store_n(&of->status, m->status, __ATOMIC_RELAXED);
		pthread_barrier_wait(&of->barrier);
		if (m->number == 0)
		{
			of->next = 0;
			of->giving = false;
			of->parts = of->status == GS_OK ? gs_groups_parts(of->groups) : 0;
		}
		pthread_barrier_wait(&of->barrier);
	} while (of->parts > 0);
	/* what groups have is of this engine's host */
	gs_engine_close(own);
	return NULL;
}

gs_status
do_threads(gs_groups *groups, const table *t, const gs_span *spans, uint32_t nspans, uint32_t threads)
{
	team all = {.groups = groups,
				.rows = {t->types, t->ncolumns, SEGMENTS, t->held, nspans, spans},
				.giving = true,
				.status = GS_OK};
	member members[MOST_THREADS];
	pthread_t ids[MOST_THREADS];

	pthread_barrier_init(&all.barrier, NULL, threads);
	for (uint32_t i = 0; i < threads; i++)
	{
		members[i] = (member){&all, i, GS_OK};
		pthread_create(&ids[i], NULL, work, &members[i]);
	}
	for (uint32_t i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	pthread_barrier_destroy(&all.barrier);
	return all.status;
}
