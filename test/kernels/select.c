/*
 * select.c: select by bytes, bits and comparison, partition, unique: every item size, selectivity and comparison, in
 * place too.
 */
#include "scan_test.h"

static const gs_type types[] = {GS_U8, GS_U16, GS_U32, GS_U64, GS_U128, GS_I16, GS_I32, GS_I64, GS_F32, GS_F64};

/* -1, 0, 1 as PostgreSQL compares. */
static int
compare(gs_type type, const void *a, const void *b)
{
#define CASE(E, T)                                                                                                     \
	case E:                                                                                                            \
	{                                                                                                                  \
		T x, y;                                                                                                        \
		memcpy(&x, a, sizeof(T)), memcpy(&y, b, sizeof(T));                                                            \
		return x < y ? -1 : x > y;                                                                                     \
	}
#define FLOAT(E, T)                                                                                                    \
	case E:                                                                                                            \
	{                                                                                                                  \
		T x, y;                                                                                                        \
		memcpy(&x, a, sizeof(T)), memcpy(&y, b, sizeof(T));                                                            \
		if (isnan(x) || isnan(y))                                                                                      \
			return isnan(x) - isnan(y);                                                                                \
		return x < y ? -1 : x > y;                                                                                     \
	}
	switch (type)
	{
		CASE(GS_U8, uint8_t)
		CASE(GS_U16, uint16_t)
		CASE(GS_U32, uint32_t)
		CASE(GS_U64, uint64_t)
		CASE(GS_U128, unsigned __int128)
		CASE(GS_I16, int16_t)
		CASE(GS_I32, int32_t)
		CASE(GS_I64, int64_t)
		FLOAT(GS_F32, float)
		FLOAT(GS_F64, double)
		default:
			abort();
	}
}

static bool
keeps(gs_type type, gs_comparison c, const void *x, const void *v, const void *u)
{
	int k = compare(type, x, v);

	switch (c)
	{
		case GS_EQ:
			return k == 0;
		case GS_NE:
			return k != 0;
		case GS_LT:
			return k < 0;
		case GS_LE:
			return k <= 0;
		case GS_GT:
			return k > 0;
		case GS_GE:
			return k >= 0;
		default:
			return k >= 0 && compare(type, x, u) <= 0;
	}
}

enum { SELECT, PARTITION, UNIQUE };

/*
 * One call.  by: a gs_filter_kind; percent: how many are kept (flags), or the comparison (values).
 */
static void
one(gs_type type, int mode, int by, int percent, uint64_t n, double mean, size_t offset, bool in_place)
{
	if (skipped())
		return;
	size_t width = gs_type_width(type), temp = gs_select_temp_bytes(engine, type, n);
	uint8_t *in = malloc(n * width + 16), *want = malloc(n * width + 16), *rest = malloc(n * width + 16);
	size_t mask_bytes = by == GS_BY_BYTES ? n : (n + 63) / 64 * 8;
	uint8_t *mask = calloc(mask_bytes + 8, 1);
	array a = make_array(n * width, offset * width), b = make_array(n * width, (3 * offset) % 7 * width);
	array r = make_array(n * width, (5 * offset) % 4 * width),
		  m = make_array(mask_bytes, by == GS_BY_BITS ? 8 * offset : offset);
	array count = make_array(8, 0);
	array *to = in_place ? &a : &b;
	gs_filter filter = {by, m.data, percent, NULL, NULL};
	uint8_t value[16], upper[16];
	uint64_t kept = 0, dropped = 0, got, bad = 0, where = 0;
	const uint8_t *p;

	fill_runs(type, in, n, mean, mode == UNIQUE || by == GS_BY_VALUE);
	memset(value, 0, 16), memset(upper, 0, 16);
	if (n > 0)
	{
		memcpy(value, in + rnd() % n * width, width);
		memcpy(upper, in + rnd() % n * width, width);
	}
	filter.value = value, filter.upper = upper;
	for (uint64_t i = 0; i < n; i++)
	{
		bool keep;

		if (mode == UNIQUE)
			keep = i == 0 || !equal(type, in + i * width, in + (i - 1) * width);
		else if (by == GS_BY_VALUE)
			keep = keeps(type, percent, in + i * width, value, upper);
		else
		{
			keep = (int) (rnd() % 100) < percent;
			if (by == GS_BY_BYTES)
				mask[i] = keep ? (uint8_t) (1 + rnd() % 255) : 0;
			else
				mask[i / 8] |= (uint8_t) (keep << i % 8);
		}
		if (keep)
			memcpy(want + kept++ * width, in + i * width, width);
		else
			memcpy(rest + dropped++ * width, in + i * width, width);
	}
	put(&a, in, n * width);
	put(&m, mask, mask_bytes);
	if (mode == UNIQUE)
		ok(gs_unique(engine, type, a.data, n, to->data, count.data, temp_of(temp), temp), "gs_unique");
	else if (mode == SELECT)
		ok(gs_select(engine, type, a.data, n, &filter, to->data, count.data, temp_of(temp), temp), "gs_select");
	else
		ok(gs_partition(engine, type, a.data, n, &filter, to->data, r.data, count.data, temp_of(temp), temp),
		   "gs_partition");
	got = *(const uint64_t *) fetch(&count, 8, "count");
	p = fetch(to, in_place ? n * width : kept * width, "select");
	for (uint64_t i = kept; i-- > 0;)
		if (memcmp(p + i * width, want + i * width, width) != 0)
			bad++, where = i;
	if (mode == PARTITION)
	{
		p = fetch(&r, dropped * width, "partition, rest");
		for (uint64_t i = dropped; i-- > 0;)
			if (memcmp(p + i * width, rest + i * width, width) != 0)
				bad++, where = n + i;
	}
	check(got == kept && bad == 0,
		  "%s mode %d by %d %d n=%llu runs of %g offset %zu%s: kept %llu of %llu, %llu wrong from %llu",
		  type_name(type), mode, by, percent, (unsigned long long) n, mean, offset, in_place ? " in place" : "",
		  (unsigned long long) got, (unsigned long long) kept, (unsigned long long) bad, (unsigned long long) where);
	drop(&a), drop(&b), drop(&r), drop(&m), drop(&count);
	free(in), free(want), free(rest), free(mask);
}

void
test_select(void)
{
	static const int percents[] = {0, 1, 50, 99, 100};
	static const double means[] = {1, 2, 5, 500, 1e18};
	int step = small_only ? 9 : 1, upto = small_only ? nsizes - 7 : nsizes - 2;

	for (int t = 0; t < 10; t++)
	{
		gs_type type = types[t];
		bool plain = type <= GS_U128;
		char name[64];

		if (plain)
		{
			snprintf(name, sizeof(name), "select and partition by flags, %s", type_name(type));
			group(name);
			for (int by = GS_BY_BYTES; by <= GS_BY_BITS; by++)
				for (int s = by; s < upto; s += step)
				{
					one(type, SELECT, by, percents[s % 5], sizes[s], 1, s % 5, false);
					one(type, SELECT, by, percents[s % 5], sizes[s], 1, s % 3, true);
					one(type, PARTITION, by, percents[(s + 1) % 5], sizes[s], 1, s % 5, false);
				}
			for (int by = GS_BY_BYTES; by <= GS_BY_BITS; by++)
				for (int p = 0; p < 5; p++)
					for (size_t o = 0; o < 17; o += small_only ? 5 : 1)
					{
						one(type, SELECT, by, percents[p], small_only ? 16000 : 70001, 1, o, o % 2);
						one(type, PARTITION, by, percents[p], small_only ? 16000 : 70001, 1, o, false);
					}
		}
		snprintf(name, sizeof(name), "select and partition by comparison, %s", type_name(type));
		group(name);
		for (int c = GS_EQ; c <= GS_BETWEEN; c++)
			for (int s = c % step; s < upto; s += step * 2)
			{
				one(type, SELECT, GS_BY_VALUE, c, sizes[s], s % 2 ? 1 : 9, s % 5, s % 2);
				one(type, PARTITION, GS_BY_VALUE, c, sizes[s], s % 2 ? 1 : 9, s % 4, false);
			}
		snprintf(name, sizeof(name), "unique, %s", type_name(type));
		group(name);
		for (int m = 0; m < 5; m++)
			for (int s = m % step; s < upto; s += step)
				one(type, UNIQUE, 0, 0, sizes[s], means[m], s % 6, s % 2);
		for (int m = 0; m < 5; m++)
			for (int place = 0; place < 2; place++)
				one(type, UNIQUE, 0, 0, small_only ? 40000 : 400001, means[m], 3, place);
	}
	if (!small_only)
	{
		group("select of millions, in place, many times");
		for (int i = 0; i < 12; i++)
		{
			one(GS_U32, SELECT, GS_BY_BYTES, percents[i % 5], 3000000 + rnd() % 1000000, 1, i, true);
			one(GS_U8, SELECT, GS_BY_BITS, percents[i % 5], 3000000 + rnd() % 1000000, 1, i, true);
			one(GS_U64, UNIQUE, 0, 0, 2000000 + rnd() % 1000000, means[i % 5], i, true);
		}
	}
}
