/*
 * groups.c: lists of steps with groups, against plain C: keys of every type, NULLs, zeros of both signs, every
 * aggregate with and without terms, HAVING and TOP, several workers, numbers of groups from one to one for each row.
 */
#include "groups_reference.h"
#include "scan_test.h"

#include "../../kernels/common/steps_row.h"
#include "../../kernels/cpu/cpu.h"
#include "../../kernels/gs_groups.h"
#include "steps_table.h"

#ifdef WITH_CUDA
#include "../../kernels/cuda/base/sort_testing.h"
#endif

#define MOST_WORKERS 3

/* ---- one list */

/* Carries out a list over some spans with some workers, each of which has every so manyth span. */
static gs_status
by_engine(const table *t, const gs_steps *steps, const gs_range *ranges, const gs_span *spans, uint32_t nspans,
		  uint32_t workers, gs_reduced **out, uint64_t *n)
{
	gs_groups *groups;
	uint64_t rows = 0;
	gs_status status;

	*out = NULL;
	for (uint32_t i = 0; i < nspans; i++)
		rows += spans[i].rows;
	status = gs_groups_open(engine, steps, ranges, rows, workers, &groups);
	if (status != GS_OK)
		return status;
	for (uint32_t i = 0; i < nspans && status == GS_OK && workers > 1; i++)
	{
		gs_held_rows some = {t->types, t->ncolumns, SEGMENTS, t->held, 1, spans + i};

		status = gs_groups_rows(groups, i % workers, engine, &some);
	}
	if (workers == 1)
	{
		gs_held_rows all = {t->types, t->ncolumns, SEGMENTS, t->held, nspans, spans};

		status = gs_groups_rows(groups, 0, engine, &all);
	}
	if (status == GS_OK)
		status = do_parts(groups, workers);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, n);
	if (status == GS_OK)
	{
		uint64_t half = *n / 2;

		*out = malloc((*n + 1) * gs_steps_result_bytes(steps));
		status = gs_groups_read(groups, engine, 0, half, *out);
		if (status == GS_OK)
			status = gs_groups_read(groups, engine, half, *n - half,
									(gs_reduced *) ((char *) *out + half * gs_steps_result_bytes(steps)));
	}
	gs_groups_close(groups, engine);
	return status;
}

/*
 * True if a status is right: of a key of more than 128 bits, on a GPU also of keys of more than 64 together, or of sums
 * and results that leave their ranges.
 */
static bool
status_right(const gs_steps *steps, const gs_range *ranges, expected_groups *e, bool fits, gs_status status)
{
	uint32_t bits = 0, most = 0;

	for (uint32_t k = 0; k < gs_steps_group(steps)->nkeys; k++)
	{
		uint32_t c = gs_group_key(steps, k), some = range_bits(&ranges[c], (gs_type) steps->types[c]);

		bits += some;
		most = some > most ? some : most;
	}
	if (most > 128 || (on_gpu && bits > GS_GROUPS_KEY_BITS))
		return status == GS_TOO_BIG;
	if (!fits)
		return status == GS_OVERFLOW;
	return status == GS_OK || (status == GS_OVERFLOW && expect_overflow(e));
}

/* True if an aggregate needs all values of an expression whose range has more than 64 bits: too big on a device. */
static bool
wide_values(const gs_steps *steps, const gs_range *ranges)
{
	const gs_group_step *group = gs_steps_group(steps);

	for (uint32_t i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *a = &group->aggregates[i];
		const gs_instruction *code = (const gs_instruction *) gs_steps_at(steps, a->code);
		const gs_range *r = &ranges[code->operand];

		if (a->operation <= (uint32_t) GS_COUNT || code[a->ncode - 1].result != GS_NUMBER_I128)
			continue;
		if (a->ncode > 1 || code->code != GS_CODE_COLUMN ||
			(gs_unsigned_wide) gs_constant_scalar(&r->high, false).integer -
					(gs_unsigned_wide) gs_constant_scalar(&r->low, false).integer > UINT64_MAX)
			return true;
	}
	return false;
}

static void
one_list(const table *t, const steps_list *l, const gs_span *spans, uint32_t nspans, const char *what)
{
	expected_groups *e = expect_groups(&l->head);
	gs_range ranges[MOST_COLUMNS];
	bool fits = true;

	check(gs_steps_check(&l->head, l->head.bytes) == GS_OK, "%s: the list is right", what);
	for (uint32_t c = 0; c < t->ncolumns; c++)
		ranges[c] = column_range(t, c);
	for (uint32_t i = 0; i < nspans && fits; i++)
		fits = expect_rows(e, &t->plain[spans[i].segment], spans[i].first, spans[i].rows);
	for (uint32_t workers = 1; workers <= (on_gpu ? 1 : MOST_WORKERS); workers += 2)
	{
		gs_reduced *out;
		uint64_t n = 0;
		gs_status status = by_engine(t, &l->head, ranges, spans, nspans, workers, &out, &n);
		const char *wrong = status == GS_OK && fits ? groups_wrong(e, out, n) : NULL;

		if (on_gpu && status == GS_TOO_BIG && wide_values(&l->head, ranges))
			break;
		check(status_right(&l->head, ranges, e, fits, status), "%s, %u workers: %s", what, workers,
			  gs_status_text(status));
		check(wrong == NULL, "%s, %u workers, %llu groups of %llu: %s", what, workers, (unsigned long long) n,
			  (unsigned long long) expected_number(e), wrong);
		free(out);
	}
	drop_expected(e);
}

/* ---- random lists */

/* Adds an aggregate, and perhaps terms. */
static void
add_aggregate(steps_list *l, const table *t)
{
	uint32_t operation = rnd() % 2 ? (uint32_t) (rnd() % 4) : GS_DISTINCT + (uint32_t) (rnd() % 5);
	static const double fractions[] = {0, 1, 0.5, 0.25, 0.9};
	double some = rnd() % 2 ? fractions[rnd() % 5] : (double) (rnd() % 1000) / 999;
	double fraction = operation >= GS_RANK_DISC ? some : 0;
	uint32_t c = (uint32_t) (rnd() % t->ncolumns), n, nterms = rnd() % 3 ? 0 : 1 + (uint32_t) (rnd() % 2);
	gs_instruction code[16];
	gs_term terms[2];

	if (rnd() % 4 == 0 && (n = some_code(l, t, code)) > 0)
		list_aggregate(l, GS_COUNT, code, n);
	else if (operation == GS_COUNT && rnd() % 2)
		list_aggregate(l, GS_COUNT, NULL, 0);
	else
		list_column(l, GS_COUNT, c, number_of(t->types[c]));
	for (uint32_t i = 0; i < nterms; i++)
		terms[i] = some_term(l, t, (uint32_t) (rnd() % t->ncolumns), (gs_test) (rnd() % GS_TEST_NEVER));
	list_refine(l, operation, fraction, terms, nterms);
}

/* True if a member's values are exact. */
static bool
exact(const steps_list *l, uint32_t member)
{
	const gs_group_step *group = gs_steps_group(&l->head);

	return member < group->nkeys || gs_member_number(&l->head, member) != GS_NUMBER_F64 ||
		   group->aggregates[member - group->nkeys].operation != (uint32_t) GS_SUM;
}

/* Adds a term of HAVING. */
static void
add_having(steps_list *l, uint32_t members)
{
	uint32_t m = (uint32_t) (rnd() % members);
	gs_test test = (gs_test) (rnd() % GS_TEST_NEVER);
	wide integers[2] = {(wide) (rnd() % 20) - 5, 30};
	double doubles[2] = {(double) (rnd() % 20) - 5, 30};
	bool real = gs_member_number(&l->head, m) == GS_NUMBER_F64;
	uint32_t n = test >= GS_TEST_IS_NULL ? 0 : test >= GS_TEST_BETWEEN ? 2 : 1;

	if (!exact(l, m) || (real && test == GS_TEST_IN_BITS))
		test = GS_TEST_NOT_NULL, n = 0;
	list_term(l, m, test, real ? list_doubles(l, doubles, n) : list_integers(l, integers, n), n);
}

/* Adds TOP. */
static void
add_top(steps_list *l, uint32_t members)
{
	static const uint64_t limits[] = {1, 2, 10, 100, 5000, UINT64_MAX};
	gs_top_order orders[3];
	uint32_t n = 0;

	for (int i = 0; i < 3; i++)
	{
		uint32_t m = (uint32_t) (rnd() % members);

		if (exact(l, m))
			orders[n++] = (gs_top_order){m, rnd() % 2, rnd() % 2, 0};
	}
	if (n > 0)
		list_top(l, limits[rnd() % 6], orders, n);
}

/* A random list with some keys. */
static void
random_list(const table *t, uint32_t nkeys, const char *what)
{
	static steps_list l;
	uint32_t naggregates = (nkeys == 0) + (uint32_t) (rnd() % 5), nterms = rnd() % 3 ? 0 : 1;
	uint32_t keys[3] = {0, 1, 2}, nspans;
	gs_span spans[6];

	nspans = some_spans(t, spans, 6);
	list_begin(&l, t->types, t->ncolumns);
	if (nterms > 0)
	{
		gs_term term;

		list_filter(&l, 1);
		term = some_term(&l, t, (uint32_t) (rnd() % t->ncolumns), (gs_test) (rnd() % GS_TEST_NEVER));
		list_term(&l, term.column, (gs_test) term.test, term.constants, term.nconstants);
	}
	list_group(&l, naggregates);
	for (uint32_t i = 0; i < naggregates; i++)
		add_aggregate(&l, t);
	list_keys(&l, keys, nkeys);
	if (nkeys > 0 && rnd() % 3 == 0)
	{
		uint32_t having = 1 + (uint32_t) (rnd() % 2);

		list_having(&l, having);
		for (uint32_t i = 0; i < having; i++)
			add_having(&l, nkeys + naggregates);
	}
	if (nkeys > 0 && rnd() % 3 == 0)
		add_top(&l, nkeys + naggregates);
	one_list(t, &l, spans, nspans, what);
}

/* Random lists over tables whose first columns are keys of a number of groups. */
static void
random_lists(uint64_t groups)
{
	static table t;
	uint32_t ncolumns = 1 + (uint32_t) (rnd() % MOST_COLUMNS);
	uint32_t nkeys = (uint32_t) (rnd() % (ncolumns < 3 ? ncolumns + 1 : 4));
	char what[64];

	snprintf(what, sizeof(what), "%u keys, %llu groups", nkeys, (unsigned long long) groups);
	make_table(&t, ncolumns, NULL);
	for (uint32_t c = 0; c < nkeys; c++)
		if (rnd() % 8)
			make_key(&t, c, c == 0 ? groups : 1 + rnd() % 5);
	put_table(&t);
	for (int turn = 0; turn < 6; turn++)
		random_list(&t, nkeys, what);
	drop_table(&t);
}

/* Spreads the values of a key over its type's range, as many different ones as there were. */
static void
spread_key(table *t, uint32_t c)
{
	size_t width = gs_type_width(t->types[c]);

	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
		{
			uint8_t *at = t->plain[s].values[c] + r * width;
			uint64_t halves[2] = {0, 0};

			memcpy(halves, at, width);
			halves[1] = halves[0] * 0xbf58476d1ce4e5b9u;
			halves[0] *= 0x94d049bb133111ebu;
			memcpy(at, halves, width);
		}
}

/* Random lists with keys that do not fit 64 bits together, whose hashes have some bits. */
static void
wide_lists(uint64_t groups, uint64_t hash_mask)
{
	static const gs_type wide[] = {GS_U128, GS_I64, GS_U64, GS_F64};
	static table t;
	gs_cpu_tuning normal = ((const gs_cpu_engine *) engine)->tuning, tuning = normal;
	uint32_t nkeys = 1 + (uint32_t) (rnd() % 3);
	gs_type types[4];
	char what[96];

	for (uint32_t c = 0; c < 4; c++)
		types[c] = c < 3 ? wide[c == 0 && nkeys == 1 ? 0 : rnd() % 4] : (gs_type) (rnd() % GS_BYTES);
	snprintf(what, sizeof(what), "%u wide keys, %llu groups, hashes of %llx", nkeys, (unsigned long long) groups,
			 (unsigned long long) hash_mask);
	make_table(&t, 4, types);
	for (uint32_t c = 0; c < nkeys; c++)
	{
		make_key(&t, c, c == 0 ? groups : 1 + rnd() % 5);
		spread_key(&t, c);
	}
	put_table(&t);
	tuning.hash_mask = hash_mask;
	if (!on_gpu)
		gs_cpu_tune(engine, &tuning);
	for (int turn = 0; turn < 6; turn++)
		random_list(&t, nkeys, what);
	if (!on_gpu)
		gs_cpu_tune(engine, &normal);
	drop_table(&t);
}

/*
 * Different values of few groups, too many for bitmaps of all: dense and sparse ones, those of terms, and beside
 * aggregates whose values come in a second pass.
 */
static void
distinct_lists(bool sparse)
{
	static const gs_type types[] = {GS_I32, GS_I64, GS_F64, GS_I16};
	static const uint32_t beside[] = {GS_RANK_DISC, GS_SUM, GS_MODE};
	static table t;
	static steps_list l;
	gs_span spans[SEGMENTS];
	uint64_t rows = 0;

	while (rows < 30000)
	{
		if (rows > 0)
			drop_table(&t);
		make_table(&t, 4, types);
		rows = 0;
		for (uint32_t s = 0; s < SEGMENTS; s++)
		{
			spans[s] = (gs_span){s, 0, t.plain[s].rows};
			rows += t.plain[s].rows;
		}
	}
	make_key(&t, 0, 1 + rnd() % 300);
	make_key(&t, 1, sparse ? 1000 : 3000000);
	if (sparse)
		spread_key(&t, 1);
	put_table(&t);
	for (uint32_t nkeys = 0; nkeys < 2; nkeys++)
		for (int more = 0; more < 2; more++)
		{
			gs_term term;

			list_begin(&l, types, 4);
			list_group(&l, 2 + 3 * (uint32_t) more);
			list_column(&l, GS_COUNT, 1, GS_NUMBER_I64);
			list_refine(&l, GS_DISTINCT, 0, NULL, 0);
			term = some_term(&l, &t, 3, GS_TEST_GE);
			list_column(&l, GS_COUNT, 1, GS_NUMBER_I64);
			list_refine(&l, GS_DISTINCT, 0, &term, 1);
			for (int i = 0; i < 3 * more; i++)
			{
				list_column(&l, GS_COUNT, 2, GS_NUMBER_F64);
				list_refine(&l, beside[i], i == 0 ? 0.5 : 0, NULL, 0);
			}
			list_keys(&l, (uint32_t[]){0}, nkeys);
			one_list(&t, &l, spans, SEGMENTS, sparse ? "sparse different values" : "different values");
		}
	drop_table(&t);
}

/* Adds a group step of every aggregate of a column. */
static void
nine_aggregates(steps_list *l, uint32_t column, gs_type type)
{
	list_group(l, 9);
	for (uint32_t i = 0; i < 9; i++)
	{
		uint32_t operation = i < 4 ? i : GS_DISTINCT + i - 4;

		list_column(l, GS_COUNT, column, number_of(type));
		list_refine(l, operation, operation >= GS_RANK_DISC ? 0.5 : 0, NULL, 0);
	}
}

/* Every aggregate of every type, by a key of every type. */
static void
every_type(gs_type key, gs_type type)
{
	static table t;
	static steps_list l;
	const gs_type types[2] = {key, type};
	gs_span spans[SEGMENTS];
	char what[64];

	snprintf(what, sizeof(what), "every aggregate of %s by %s", type_name(type), type_name(key));
	make_table(&t, 2, types);
	make_key(&t, 0, 1 + rnd() % 300);
	if (rnd() % 2)
		make_key(&t, 1, 1 + rnd() % 30);
	put_table(&t);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		spans[s] = (gs_span){s, 0, t.plain[s].rows};
	for (uint32_t nkeys = 0; nkeys < 2; nkeys++)
	{
		list_begin(&l, types, 2);
		nine_aggregates(&l, 1, type);
		list_keys(&l, (uint32_t[]){0}, nkeys);
		one_list(&t, &l, spans, SEGMENTS, what);
	}
	drop_table(&t);
}

/* All nine aggregates of values of which there are only the two ends of 64 bits, whose codes are 0 and 2^64 - 1. */
static void
ends_of_64_bits(gs_type type)
{
	static table t;
	static steps_list l;
	const uint64_t low = type == GS_I64 ? (uint64_t) INT64_MIN : 0;
	gs_span spans[SEGMENTS];

	make_table(&t, 1, &type);
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		spans[s] = (gs_span){s, 0, t.plain[s].rows};
		for (uint32_t r = 0; r < t.plain[s].rows; r++)
			((uint64_t *) t.plain[s].values[0])[r] = r % 3 == 0 ? low : low - 1;
	}
	put_table(&t);
	list_begin(&l, &type, 1);
	nine_aggregates(&l, 0, type);
	one_list(&t, &l, spans, SEGMENTS, "the ends of 64 bits");
	drop_table(&t);
}

/* More groups than a result has room for, of narrow keys and of wide ones, and the first of them. */
static void
too_many(gs_type type)
{
	static steps_list l;
	const uint32_t rows = GS_GROUPS_MOST_BYTES / sizeof(gs_reduced) + 1;
	const size_t width = gs_type_width(type);
	const gs_top_order order = {0, 1, 0, 0};
	gs_range range = {.low = {{0, 0}}, .high = {{rows - 1, type == GS_U128 ? rows - 1 : 0}}};
	table t = {.ncolumns = 1, .types = {type}};
	gs_span span = {0, 0, rows};
	gs_reduced *out;
	uint64_t n = 0;
	gs_status status;
	char *values;

	t.values[0][0] = make_array(rows * width, 0);
	values = t.values[0][0].data;
	for (uint64_t r = 0; r < rows; r++)
		for (size_t i = 0; i < width; i += 8)
			memcpy(values + r * width + i, &r, width < 8 ? width : 8);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		t.held[s].values = values;
	list_begin(&l, &type, 1);
	list_group(&l, 0);
	list_keys(&l, (uint32_t[]){0}, 1);
	check(by_engine(&t, &l.head, &range, &span, 1, 1, &out, &n) == GS_TOO_BIG, "%u groups are too many", rows);
	free(out);
	list_top(&l, 3, &order, 1);
	status = by_engine(&t, &l.head, &range, &span, 1, 1, &out, &n);
	check(status == GS_OK && n == 3 && out[2].value[0] == rows - 3, "the first of %s are not: %s, %llu",
		  type_name(type), gs_status_text(status), (unsigned long long) n);
	free(out);
	drop(&t.values[0][0]);
}

/* Values outside of the ranges that were told. */
static void
outside(void)
{
	static table t;
	static steps_list l;
	const gs_type type = GS_I32;
	gs_range range = {.low = {{0, 0}}, .high = {{10, 0}}, .nulls = true};
	gs_reduced *out;
	uint64_t n;
	gs_span span = {0, 0, 0};

	/* room for a key at each end of the range */
	do
	{
		if (span.rows > 0)
			drop_table(&t);
		make_table(&t, 1, &type);
		span.rows = t.plain[0].rows;
	} while (span.rows < 10);
	for (uint32_t r = 0; r < span.rows; r++)
		((int32_t *) t.plain[0].values[0])[r] = (int32_t) (r % 5);
	((int32_t *) t.plain[0].values[0])[span.rows / 2] = 11;
	if (t.plain[0].nulls[0] != NULL)
		memset(t.plain[0].nulls[0], 0, (span.rows + 63) / 64 * 8);
	put_table(&t);
	list_begin(&l, &type, 1);
	list_group(&l, 0);
	list_keys(&l, (uint32_t[]){0}, 1);
	check(by_engine(&t, &l.head, &range, &span, 1, 1, &out, &n) == GS_INVALID, "a key beyond its range");
	free(out);
	range.high.half[0] = 11;
	check(by_engine(&t, &l.head, &range, &span, 1, 1, &out, &n) == GS_OK, "a key at the end of its range");
	free(out);
	range.low.half[0] = 1;
	check(by_engine(&t, &l.head, &range, &span, 1, 1, &out, &n) == GS_INVALID, "a key below its range");
	free(out);
	drop_table(&t);
}

void
test_groups(void)
{
	static const uint64_t numbers[] = {1, 2, 50, 1000, 30000, 1000000, (uint64_t) 1 << 40};
	static const char *const names[] = {"groups, plain", "groups, AVX2", "groups, AVX-512"};
#ifdef WITH_CUDA
	static const gs_cuda_groups_way ways[] = {GS_CUDA_GROUPS_CHOSEN, GS_CUDA_GROUPS_DENSE, GS_CUDA_GROUPS_SORTED};
#endif
	gs_cpu_tuning normal = gs_cpu_tuning_default();

	rnd_seed(4242);
	/* on a GPU, the ways of rows to groups take the vectors' place: first the chosen ones */
	for (int vector = GS_AVX512; vector >= GS_NO_VECTORS; vector--)
	{
		gs_cpu_tuning tuning = normal;

		group(on_gpu ? "groups" : names[vector]);
		tuning.vector = (gs_vectors) vector;
		if (vector == GS_AVX512) /* lines of records */
			tuning.combine_rows = 64;
		if (!on_gpu)
			gs_cpu_tune(engine, &tuning);
#ifdef WITH_CUDA
		else
			gs_cuda_groups_force(engine, ways[GS_AVX512 - vector]);
#endif
		outside();
		for (int type = 0; type < GS_BYTES; type++)
			for (int turn = 0; turn < 2; turn++)
				if (!skipped())
					every_type((gs_type) (turn ? rnd() % GS_BYTES : (uint64_t) type),
							   (gs_type) (turn ? (uint64_t) type : rnd() % GS_BYTES));
		for (int turn = 0; turn < (small_only ? 14 : 70); turn++)
			if (!skipped())
				random_lists(numbers[turn % 7]);
		/* each key is compared with all others of its hash */
		for (int turn = 0; turn < (small_only ? 6 : 24); turn++)
			if (!skipped())
				wide_lists(turn % 2 ? numbers[turn % 6] : numbers[turn / 2 % 4],
						   turn % 2 ? UINT64_MAX : turn % 4 ? 0 : 0x8000000000000003u);
		for (int turn = 0; turn < (small_only ? 0 : 6); turn++)
			if (!skipped())
				distinct_lists(turn % 2);
		if (!on_gpu && !small_only && vector == GS_AVX512)
		{
			too_many(GS_I32);
			too_many(GS_U128);
		}
		ends_of_64_bits(GS_U64);
		ends_of_64_bits(GS_I64);
		if (!on_gpu)
			gs_cpu_tune(engine, &normal);
	}
}
