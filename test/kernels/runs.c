/*
 * runs.c: run-length encode, long runs, decode, against a loop.
 */
#include "scan_test.h"

static const gs_type types[] = {GS_U8, GS_U16, GS_U32, GS_U64, GS_U128, GS_I16, GS_I32, GS_I64, GS_F32, GS_F64};

static uint64_t
count_at(const void *p, bool wide, uint64_t i)
{
	return wide ? ((const uint64_t *) p)[i] : ((const uint32_t *) p)[i];
}

/* shape: bit 0 no values, bit 1 no lengths, bit 2 no starts */
static void
one(gs_type type, bool only_long, uint64_t n, double mean, size_t offset, bool wide, bool in_place, int shape)
{
	if (skipped())
		return;
	size_t width = gs_type_width(type), temp = gs_runs_temp_bytes(engine, type, n), cw = wide ? 8 : 4;
	uint8_t *in = malloc(n * width + 16);
	uint64_t *at = malloc((n + 1) * 8), *len = malloc((n + 1) * 8);
	array a = make_array(n * width, offset * width), v = make_array(n * width, (offset * 3) % 5 * width);
	array l = make_array(n * cw, (offset % 3) * cw), s = make_array(n * cw, (offset % 4) * cw),
		  count = make_array(8, 0);
	array *to = in_place ? &a : &v;
	uint64_t runs = 0, got, bad = 0, where = 0;
	gs_type counts = wide ? GS_U64 : GS_U32;

	fill_runs(type, in, n, mean, gs_type_is_float(type));
	for (uint64_t i = 0, j; i < n; i = j)
	{
		for (j = i + 1; j < n && equal(type, in + i * width, in + j * width);)
			j++;
		if (j - i > 1 || !only_long)
			at[runs] = i, len[runs++] = j - i;
	}
	put(&a, in, n * width);
	ok((only_long ? gs_long_runs : gs_runs)(engine, type, a.data, n, shape & 1 ? NULL : to->data, counts,
											shape & 2 ? NULL : l.data, shape & 4 ? NULL : s.data, count.data,
											temp_of(temp), temp),
	   "gs_runs");
	got = *(const uint64_t *) fetch(&count, 8, "count");
	const uint8_t *pv = fetch(to, in_place ? n * width : (shape & 1 ? 0 : runs * width), "runs, values");
	const void *pl = fetch(&l, shape & 2 ? 0 : runs * cw, "runs, lengths");
	const void *ps = fetch(&s, shape & 4 ? 0 : runs * cw, "runs, starts");
	for (uint64_t i = runs; i-- > 0;)
		if ((!(shape & 1) && memcmp(pv + i * width, in + at[i] * width, width) != 0) ||
			(!(shape & 2) && count_at(pl, wide, i) != len[i]) || (!(shape & 4) && count_at(ps, wide, i) != at[i]))
			bad++, where = i;
	check(got == runs && bad == 0, "%s%s n=%llu runs of %g offset %zu%s%s: %llu runs of %llu, %llu wrong from %llu",
		  type_name(type), only_long ? " long" : "", (unsigned long long) n, mean, offset, wide ? " wide" : "",
		  in_place ? " in place" : "", (unsigned long long) got, (unsigned long long) runs, (unsigned long long) bad,
		  (unsigned long long) where);
	drop(&a), drop(&v), drop(&l), drop(&s), drop(&count);
	free(in), free(at), free(len);
}

/* Runs of random lengths, zeros among them, to n items and back; room may be too small. */
static void
decode(gs_type type, uint64_t runs, double mean, bool wide, uint64_t cut)
{
	if (skipped())
		return;
	size_t width = gs_type_width(type), cw = wide ? 8 : 4, temp;
	uint8_t *values = malloc(runs * width + 16), *lengths = malloc(runs * cw + 16), *want;
	uint64_t total = 0, room, bad = 0, where = 0, got;

	fill_runs(type, values, runs, 1, false);
	for (uint64_t r = 0; r < runs; r++)
	{
		uint64_t x = mean <= 1 ? 1 : rnd() % (uint64_t) (2 * mean);

		if (runs > 3 && r == runs / 2)
			x += 30000;
		if (wide)
			((uint64_t *) lengths)[r] = x;
		else
			((uint32_t *) lengths)[r] = (uint32_t) x;
		total += x;
	}
	want = malloc(total * width + 16);
	for (uint64_t r = 0, i = 0; r < runs; r++)
		for (uint64_t k = count_at(lengths, wide, r); k > 0; k--)
			memcpy(want + i++ * width, values + r * width, width);
	room = total > cut ? total - cut : 0;

	array v = make_array(runs * width, width), l = make_array(runs * cw, cw), o = make_array(room * width, width);
	array count = make_array(8, 0);

	put(&v, values, runs * width), put(&l, lengths, runs * cw);
	temp = gs_decode_temp_bytes(engine, wide ? GS_U64 : GS_U32, runs, room);
	ok(gs_decode(engine, type, v.data, wide ? GS_U64 : GS_U32, l.data, runs, o.data, room, count.data, temp_of(temp),
				 temp),
	   "gs_decode");
	got = *(const uint64_t *) fetch(&count, 8, "count");
	const uint8_t *p = fetch(&o, room * width, "decode");
	for (uint64_t i = room; i-- > 0;)
		if (memcmp(p + i * width, want + i * width, width) != 0)
			bad++, where = i;
	check(got == total && bad == 0, "decode %s runs=%llu of %g: %llu of %llu, %llu wrong from %llu", type_name(type),
		  (unsigned long long) runs, mean, (unsigned long long) got, (unsigned long long) total,
		  (unsigned long long) bad, (unsigned long long) where);
	drop(&v), drop(&l), drop(&o), drop(&count);
	free(values), free(lengths), free(want);
}

void
test_runs(void)
{
	static const double means[] = {1, 2, 5, 500, 1e18};
	int step = small_only ? 9 : 1, upto = small_only ? nsizes - 7 : nsizes - 1;

	for (int t = 0; t < 10; t++)
		for (int only_long = 0; only_long < 2; only_long++)
		{
			char name[64];

			snprintf(name, sizeof(name), "%s, %s", only_long ? "long runs" : "run-length encode", type_name(types[t]));
			group(name);
			for (int m = 0; m < 5; m++)
				for (int s = m % step; s < upto; s += step)
					one(types[t], only_long, sizes[s], means[m], s % 6, s % 3 == 0, !only_long && s % 2,
						(s / 5 + m) % 8);
			for (int m = 0; m < 5; m++)
				for (int place = 0; place < 2 - only_long; place++)
					for (int wide = 0; wide < 2; wide++)
						one(types[t], only_long, small_only ? 40000 : 400001, means[m], 1 + wide, wide, place, 0);
		}
	group("decode");
	for (int t = 0; t < 5; t++)
		for (int m = 0; m < 4; m++)
		{
			for (int s = 0; s < upto && sizes[s] <= 5121; s += step)
				decode(types[t], sizes[s], means[m] > 100 ? 100 : means[m], s % 2, s % 3 == 0 ? sizes[s] % 100 : 0);
			decode(types[t], 20000, means[m] > 100 ? 20 : means[m], m % 2, m);
		}
	if (!small_only)
	{
		group("runs of millions, in place, many times");
		for (int i = 0; i < 10; i++)
			one(GS_U32, false, 3000000 + rnd() % 1000000, means[i % 5], i % 4, false, i % 2, 0);
	}
}
