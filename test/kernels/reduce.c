/*
 * reduce.c: reduce-by-key against a loop: every combination of key, value, operation and result that gs_arrays.h lists.
 */
#include "scan_test.h"

typedef __int128 wide;

static double
value_float(gs_type type, const void *p)
{
	return type == GS_F32 ? *(const float *) p : *(const double *) p;
}

static wide
value_int(gs_type type, const void *p)
{
	switch (type)
	{
		case GS_I32:
			return *(const int32_t *) p;
		case GS_U32:
			return *(const uint32_t *) p;
		case GS_I64:
			return *(const int64_t *) p;
		default:
			return *(const uint64_t *) p;
	}
}

static bool
fits(gs_type type, wide x)
{
	switch (type)
	{
		case GS_I32:
			return x == (int32_t) x;
		case GS_U32:
			return x == (uint32_t) x;
		case GS_I64:
			return x == (int64_t) x;
		case GS_U64:
			return x == (wide) (uint64_t) x;
		default:
			return true;
	}
}

static bool
float_less(double a, double b)
{
	return isnan(a) ? false : isnan(b) || a < b;
}

/* The fixed tree of gs_arrays.h in its plainest form, for a run [a, b). */
static void
tree(gs_type type, const uint8_t *v, uint64_t a, uint64_t b, void *to)
{
	double d0 = -0.0;
	float f0 = -0.0f;

#define TREE(T, all)                                                                                                   \
	for (uint64_t i = a; i < b;)                                                                                       \
	{                                                                                                                  \
		T s4096 = -0.0;                                                                                                \
		for (uint64_t e = i / 4096 * 4096 + 4096; i < b && i < e;)                                                     \
		{                                                                                                              \
			T s256 = -0.0;                                                                                             \
			for (uint64_t f = i / 256 * 256 + 256; i < b && i < f;)                                                    \
			{                                                                                                          \
				T s16 = -0.0;                                                                                          \
				for (uint64_t g = i / 16 * 16 + 16; i < b && i < g; i++)                                               \
					s16 += ((const T *) v)[i];                                                                         \
				s256 += s16;                                                                                           \
			}                                                                                                          \
			s4096 += s256;                                                                                             \
		}                                                                                                              \
		all += s4096;                                                                                                  \
	}
	if (type == GS_F32)
	{
		TREE(float, f0)
		memcpy(to, &f0, 4);
	}
	else
	{
		TREE(double, d0)
		memcpy(to, &d0, 8);
	}
}

enum { WHOLE_NUMBERS, ANY, EXTREME };

static void
one(gs_type key, gs_reduction d, uint64_t n, double mean, size_t offset, bool flag, bool in_place, int data)
{
	if (skipped())
		return;
	size_t kw = gs_type_width(key), vw = gs_type_width(d.values), ow = gs_type_width(d.result);
	size_t temp = gs_reduce_by_key_temp_bytes(engine, key, &d, n);
	uint8_t *keys = malloc(n * kw + 16), *values = malloc(n * vw + 16), *want = malloc((n + 1) * 16);
	uint64_t *at = malloc((n + 1) * 8);
	array a = make_array(n * kw, offset % 5 * kw), v = make_array(n * vw, offset % 3 * vw);
	array k = make_array(n * kw, (offset * 3) % 4 * kw), o = make_array(n * ow, (offset * 5) % 4 * ow);
	array count = make_array(8, 0), over = make_array(8, 0);
	array *to_keys = in_place ? &a : &k, *to = in_place && ow == vw && d.op != GS_COUNT ? &v : &o;
	uint64_t runs = 0, got, overs = 0, bad = 0, where = 0;

	fill_runs(key, keys, n, mean, gs_type_is_float(key));
	fill_runs(d.values, values, n, 1, data == EXTREME);
	for (uint64_t i = 0; i < n && data == WHOLE_NUMBERS; i++)
		if (d.values == GS_F32)
			((float *) values)[i] = (float) (rnd() % 8) - 3;
		else if (d.values == GS_F64)
			((double *) values)[i] = (double) (rnd() % 1000) - 500;
	for (uint64_t i = 0, j; i < n; i = j)
	{
		for (j = i + 1; j < n && equal(key, keys + i * kw, keys + j * kw);)
			j++;
		if (d.op == GS_COUNT)
		{
			uint64_t c = j - i;

			memcpy(want + runs * ow, &c, ow);
		}
		else if (d.fixed_tree)
			tree(d.values, values, i, j, want + runs * ow);
		else if (gs_type_is_float(d.values))
		{
			double s = value_float(d.values, values + i * vw);
			float f;

			for (uint64_t m = i + 1; m < j; m++)
			{
				double x = value_float(d.values, values + m * vw);

				if (d.op == GS_SUM)
					s += x;
				else if (d.op == GS_MIN ? float_less(x, s) : float_less(s, x))
					s = x;
			}
			f = (float) s;
			memcpy(want + runs * ow, ow == 4 ? (void *) &f : (void *) &s, ow);
		}
		else
		{
			wide s = value_int(d.values, values + i * vw);

			for (uint64_t m = i + 1; m < j; m++)
			{
				wide x = value_int(d.values, values + m * vw);

				if (d.op == GS_SUM)
					s += x;
				else if (d.op == GS_MIN ? x < s : x > s)
					s = x;
			}
			overs += !fits(d.result, s);
			memcpy(want + runs * ow, &s, ow);
		}
		at[runs++] = i;
	}
	put(&a, keys, n * kw);
	put(&v, values, n * vw);
	ok(gs_reduce_by_key(engine, key, a.data, d.op == GS_COUNT ? NULL : v.data, n, &d, to_keys->data, to->data,
						count.data, flag ? over.data : NULL, temp_of(temp), temp),
	   "gs_reduce_by_key");
	got = *(const uint64_t *) fetch(&count, 8, "count");
	if (flag)
	{
		uint64_t seen = *(const uint64_t *) fetch(&over, 8, "overflows");

		check(seen == overs, "overflows %llu of %llu, values %s result %s n=%llu", (unsigned long long) seen,
			  (unsigned long long) overs, type_name(d.values), type_name(d.result), (unsigned long long) n);
	}
	const uint8_t *pk = fetch(to_keys, in_place ? n * kw : runs * kw, "reduce, keys");
	const uint8_t *po = fetch(to, to == &v ? n * ow : runs * ow, "reduce, results");
	for (uint64_t i = runs; i-- > 0;)
		if (memcmp(pk + i * kw, keys + at[i] * kw, kw) != 0 ||
			(d.fixed_tree ? memcmp(po + i * ow, want + i * ow, ow) != 0 && !equal(d.result, po + i * ow, want + i * ow)
						  : !equal(d.result, po + i * ow, want + i * ow)))
			bad++, where = i;
	check(
		got == runs && bad == 0,
		"key %s values %s op %d result %s%s n=%llu runs of %g offset %zu%s%s: %llu runs of %llu, %llu wrong from %llu",
		type_name(key), type_name(d.values), d.op, type_name(d.result), d.fixed_tree ? " fixed" : "",
		(unsigned long long) n, mean, offset, flag ? " checked" : "", in_place ? " in place" : "",
		(unsigned long long) got, (unsigned long long) runs, (unsigned long long) bad, (unsigned long long) where);
	drop(&a), drop(&v), drop(&k), drop(&o), drop(&count), drop(&over);
	free(keys), free(values), free(want), free(at);
}

void
test_reduce(void)
{
	static const gs_type keys[] = {GS_I32, GS_F32, GS_U64, GS_F64, GS_U128};
	static const double means[] = {1, 2, 5, 500, 1e18};
	static const gs_reduction all[] = {
		{GS_I32, GS_SUM, GS_I32, false}, {GS_U32, GS_SUM, GS_U32, false}, {GS_I32, GS_SUM, GS_I64, false},
		{GS_U32, GS_SUM, GS_U64, false}, {GS_I64, GS_SUM, GS_I64, false}, {GS_U64, GS_SUM, GS_U64, false},
		{GS_I64, GS_SUM, GS_U128, false}, {GS_U64, GS_SUM, GS_U128, false}, {GS_F32, GS_SUM, GS_F32, false},
		{GS_F64, GS_SUM, GS_F64, false}, {GS_I32, GS_MIN, GS_I32, false}, {GS_U32, GS_MAX, GS_U32, false},
		{GS_I64, GS_MAX, GS_I64, false}, {GS_U64, GS_MIN, GS_U64, false}, {GS_F32, GS_MIN, GS_F32, false},
		{GS_F64, GS_MAX, GS_F64, false}, {GS_I32, GS_COUNT, GS_U32, false}, {GS_I32, GS_COUNT, GS_U64, false},
		{GS_F32, GS_SUM, GS_F32, true},	 {GS_F64, GS_SUM, GS_F64, true},
	};
	int step = small_only ? 13 : 4, upto = small_only ? nsizes - 7 : nsizes - 2;

	for (int k = 0; k < 5; k++)
		for (size_t r = 0; r < sizeof(all) / sizeof(all[0]); r++)
		{
			gs_reduction d = all[r];
			bool flags = d.op == GS_SUM && !gs_type_is_float(d.values);
			int data = d.op == GS_SUM && !d.fixed_tree ? WHOLE_NUMBERS : (d.fixed_tree ? ANY : EXTREME);
			char name[96];

			snprintf(name, sizeof(name), "reduce-by-key, keys %s, values %s, op %d, result %s%s", type_name(keys[k]),
					 type_name(d.values), d.op, type_name(d.result), d.fixed_tree ? ", fixed tree" : "");
			group(name);
			for (int m = 0; m < 5; m++)
			{
				for (int s = (m + k) % step; s < upto; s += step)
					one(keys[k], d, sizes[s], means[m], s % 6, flags && s % 2, !d.fixed_tree && s / 2 % 2, data);
				for (int f = 0; f < 2 && !small_only; f++)
					one(keys[k], d, 150001, means[m], f, flags && f, !d.fixed_tree && m % 2, data);
				one(keys[k], d, small_only ? 20000 : 60000, means[m], 0, flags, false, data);
			}
		}
	if (!small_only)
	{
		gs_reduction d = {GS_I32, GS_SUM, GS_I32, false}, f = {GS_F64, GS_SUM, GS_F64, true},
					 w = {GS_I64, GS_SUM, GS_I64, false};

		group("reduce-by-key of millions, in place, many times");
		for (int i = 0; i < 10; i++)
		{
			one(GS_I32, d, 2000000 + rnd() % 1000000, means[i % 5], i % 4, false, i % 2, WHOLE_NUMBERS);
			one(GS_I32, f, 1000000 + rnd() % 1000000, means[i % 5], 0, false, false, ANY);
			/* with and without the shape for few items */
			one(GS_I64, w, 1000000 + rnd() % 1000000, means[i % 5], i % 4, false, i % 2, WHOLE_NUMBERS);
		}
	}
}
