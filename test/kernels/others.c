/*
 * others.c: split, gather, sequence, extent; and arguments that must be refused.
 */
#include "scan_test.h"

static const gs_type types[] = {GS_U8, GS_U16, GS_U32, GS_U64, GS_U128, GS_I16, GS_I32, GS_I64, GS_F32, GS_F64};

/* skew: 0 uniform labels, 1 nearly all the same, 2 some labels of k and more, to be dropped */
static void
split(gs_type type, uint64_t n, uint32_t k, int skew, size_t offset)
{
	if (skipped())
		return;
	size_t width = gs_type_width(type), temp = gs_split_temp_bytes(engine, type, n, k);
	uint8_t *in = malloc(n * width + 16), *labels = malloc(n + 16), *want = malloc(n * width + 16);
	uint64_t starts[257] = {0}, place[256], bad = 0, kept = 0;
	array a = make_array(n * width, offset * width), l = make_array(n, offset), o = make_array(n * width, 0);
	array s = make_array((k + 1) * 8, 0);

	fill_runs(type, in, n, 1, false);
	for (uint64_t i = 0; i < n; i++)
	{
		labels[i] = (uint8_t) (rnd() % k);
		if (skew == 1 && rnd() % 50)
			labels[i] = (uint8_t) (k - 1);
		if (skew == 2 && rnd() % 4 == 0)
			labels[i] = (uint8_t) rnd();
		if (labels[i] < k)
			starts[labels[i] + 1]++, kept++;
	}
	for (uint32_t g = 0; g < k; g++)
	{
		starts[g + 1] += starts[g];
		place[g] = starts[g];
	}
	for (uint64_t i = 0; i < n; i++)
		if (labels[i] < k)
			memcpy(want + place[labels[i]]++ * width, in + i * width, width);
	put(&a, in, n * width), put(&l, labels, n);
	ok(gs_split(engine, type, a.data, l.data, n, k, o.data, s.data, temp_of(temp), temp), "gs_split");
	const uint64_t *gs = fetch(&s, (k + 1) * 8, "split, starts");
	const uint8_t *p = fetch(&o, kept * width, "split");
	bad += memcmp(gs, starts, (k + 1) * 8) != 0;
	bad += memcmp(p, want, kept * width) != 0;
	check(bad == 0, "split %s n=%llu k=%u skew %d", type_name(type), (unsigned long long) n, k, skew);
	drop(&a), drop(&l), drop(&o), drop(&s);
	free(in), free(labels), free(want);
}

static void
gather(gs_type type, uint64_t n, bool wide)
{
	if (skipped())
		return;
	size_t width = gs_type_width(type), iw = wide ? 8 : 4;
	uint64_t from = n / 2 + 1, bad = 0;
	uint8_t *in = malloc(from * width), *index = malloc(n * iw + 16);
	array a = make_array(from * width, width), x = make_array(n * iw, iw), o = make_array(n * width, 2 * width);

	fill_runs(type, in, from, 1, false);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t at = rnd() % from;

		memcpy(index + i * iw, &at, iw);
	}
	put(&a, in, from * width), put(&x, index, n * iw);
	ok(gs_gather(engine, type, a.data, wide ? GS_U64 : GS_U32, x.data, n, o.data), "gs_gather");
	const uint8_t *p = fetch(&o, n * width, "gather");
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t at = 0;

		memcpy(&at, index + i * iw, iw);
		bad += memcmp(p + i * width, in + at * width, width) != 0;
	}
	check(bad == 0, "gather %s n=%llu", type_name(type), (unsigned long long) n);
	drop(&a), drop(&x), drop(&o);
	free(in), free(index);
}

static void
sequence(gs_type type, uint64_t n)
{
	size_t width = gs_type_width(type);
	array o = make_array(n * width, width);
	uint64_t start = rnd(), step = rnd() % 1000, bad = 0;

	ok(gs_sequence(engine, type, o.data, n, start, step), "gs_sequence");
	const uint8_t *p = fetch(&o, n * width, "sequence");
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t x = start + i * step;

		bad += memcmp(p + i * width, &x, width) != 0;
	}
	check(bad == 0, "sequence %s n=%llu", type_name(type), (unsigned long long) n);
	drop(&o);
}

#define EXTENT(E, T, LEAST, GREATEST)                                                                                  \
	case E:                                                                                                            \
	{                                                                                                                  \
		T min = GREATEST, max = LEAST, x;                                                                              \
		for (uint64_t i = 0; i < n; i++)                                                                               \
		{                                                                                                              \
			memcpy(&x, in + i * sizeof(T), sizeof(T));                                                                 \
			min = LESS(x, min) ? x : min;                                                                              \
			max = LESS(max, x) ? x : max;                                                                              \
		}                                                                                                              \
		memcpy(want, &min, sizeof(T)), memcpy(want + sizeof(T), &max, sizeof(T));                                      \
		break;                                                                                                         \
	}

static void
extent(gs_type type, uint64_t n, size_t offset, bool special)
{
	if (skipped())
		return;
	size_t width = gs_type_width(type), temp = gs_extent_temp_bytes(engine, type, n);
	uint8_t *in = malloc(n * width + 16), want[32];
	uint64_t any = 0, all = ~(uint64_t) 0;
	array a = make_array(n * width, offset * width), o = make_array(4 * width, 0);

	fill_runs(type, in, n, 1, special);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t x = 0;

		memcpy(&x, in + i * width, width);
		any |= x, all &= x;
	}
	switch (type)
	{
#define LESS(a, b) ((a) < (b))
		EXTENT(GS_U8, uint8_t, 0, UINT8_MAX)
		EXTENT(GS_U16, uint16_t, 0, UINT16_MAX)
		EXTENT(GS_U32, uint32_t, 0, UINT32_MAX)
		EXTENT(GS_U64, uint64_t, 0, UINT64_MAX)
		EXTENT(GS_I16, int16_t, INT16_MIN, INT16_MAX)
		EXTENT(GS_I32, int32_t, INT32_MIN, INT32_MAX)
		EXTENT(GS_I64, int64_t, INT64_MIN, INT64_MAX)
#undef LESS
#define LESS(a, b) (!isnan(a) && (isnan(b) || (a) < (b)))
		EXTENT(GS_F32, float, -INFINITY, NAN)
		EXTENT(GS_F64, double, -INFINITY, NAN)
		default:
			break;
	}
	memcpy(want + 2 * width, &any, width), memcpy(want + 3 * width, &all, width);
	put(&a, in, n * width);
	ok(gs_extent(engine, type, a.data, n, o.data, temp_of(temp), temp), "gs_extent");
	const uint8_t *p = fetch(&o, 4 * width, "extent");
	check(equal(type, p, want) && equal(type, p + width, want + width) &&
			  memcmp(p + 2 * width, want + 2 * width, 2 * width) == 0,
		  "extent %s n=%llu offset %zu", type_name(type), (unsigned long long) n, offset);
	drop(&a), drop(&o);
	free(in);
}

/* Bad input gives a status, never a crash. */
static void
refused(void)
{
	array a = make_array(4096, 0), b = make_array(4096, 0), c = make_array(8, 0), d = make_array(4096, 0);
	void *temp = temp_of(1 << 20);
	size_t room = 1 << 20;
	gs_filter f = {GS_BY_VALUE, NULL, GS_EQ, NULL, NULL};
	gs_reduction r = {GS_I32, GS_SUM, GS_I32, false};
	char *p = a.data;
	int v = 0;

#define REFUSED(call) check((call) == GS_INVALID, "accepted: %s", #call)
#define TOO_BIG(call) check((call) == GS_TOO_BIG, "accepted: %s", #call)
	REFUSED(gs_scan(NULL, GS_I32, GS_SUM, true, p, b.data, 10, temp, room));
	REFUSED(gs_scan(engine, GS_U8, GS_SUM, true, p, b.data, 10, temp, room));
	REFUSED(gs_scan(engine, GS_I32, GS_COUNT, true, p, b.data, 10, temp, room));
	REFUSED(gs_scan(engine, GS_I32, GS_COMPOSE, true, p, b.data, 10, temp, room));
	REFUSED(gs_scan(engine, GS_I32, GS_SUM, true, NULL, b.data, 10, temp, room));
	REFUSED(gs_scan(engine, GS_I32, GS_SUM, true, p + 2, b.data, 10, temp, room));
	REFUSED(gs_scan(engine, GS_I32, GS_SUM, true, p, p + 4, 10, temp, room));
	TOO_BIG(gs_scan(engine, GS_I32, GS_SUM, true, p, b.data, (uint64_t) 1 << 60, temp, room));
	if (gs_scan_temp_bytes(engine, GS_I32, 10) > 0)
	{
		REFUSED(gs_scan(engine, GS_I32, GS_SUM, true, p, b.data, 10, temp, 16));
		REFUSED(gs_scan(engine, GS_I32, GS_SUM, true, p, b.data, 10, NULL, room));
	}
	REFUSED(gs_select(engine, GS_I32, p, 10, NULL, b.data, c.data, temp, room));
	REFUSED(gs_select(engine, GS_I32, p, 10, &f, b.data, c.data, temp, room));
	f.value = &v, f.comparison = GS_BETWEEN;
	REFUSED(gs_select(engine, GS_I32, p, 10, &f, b.data, c.data, temp, room));
	f.comparison = (gs_comparison) 99;
	REFUSED(gs_select(engine, GS_I32, p, 10, &f, b.data, c.data, temp, room));
	f.comparison = GS_EQ;
	REFUSED(gs_select(engine, GS_BYTES, p, 10, &f, b.data, c.data, temp, room));
	REFUSED(gs_select(engine, GS_I32, p, 10, &f, p + 4, c.data, temp, room));
	REFUSED(gs_select(engine, GS_I32, p, 10, &f, b.data, NULL, temp, room));
	REFUSED(gs_partition(engine, GS_I32, p, 10, &f, p, b.data, c.data, temp, room));
	REFUSED(gs_partition(engine, GS_I32, p, 10, &f, b.data, NULL, c.data, temp, room));
	f.by = GS_BY_BITS, f.mask = p + 4;
	REFUSED(gs_select(engine, GS_I32, p, 10, &f, b.data, c.data, temp, room));
	REFUSED(gs_unique(engine, GS_BYTES, p, 10, b.data, c.data, temp, room));
	REFUSED(gs_split(engine, GS_I32, p, b.data, 10, 257, d.data, b.data, temp, room));
	REFUSED(gs_split(engine, GS_I32, p, b.data, 10, 4, p, d.data, temp, room));
	REFUSED(gs_runs(engine, GS_I32, p, 10, b.data, GS_I32, d.data, NULL, c.data, temp, room));
	REFUSED(gs_long_runs(engine, GS_I32, p, 10, p, GS_U32, d.data, NULL, c.data, temp, room));
	TOO_BIG(gs_runs(engine, GS_I32, p, (uint64_t) 1 << 33, b.data, GS_U32, d.data, NULL, c.data, temp, room));
	REFUSED(gs_decode(engine, GS_I32, p, GS_U32, NULL, 10, b.data, 10, c.data, temp, room));
	REFUSED(gs_reduce_by_key(engine, GS_U16, p, b.data, 10, &r, d.data, b.data, c.data, NULL, temp, room));
	r.result = GS_U128;
	REFUSED(gs_reduce_by_key(engine, GS_I32, p, b.data, 10, &r, d.data, b.data, c.data, NULL, temp, room));
	r.result = GS_I32, r.fixed_tree = true;
	REFUSED(gs_reduce_by_key(engine, GS_I32, p, b.data, 10, &r, d.data, b.data, c.data, NULL, temp, room));
	r.fixed_tree = false, r.result = GS_I64;
	REFUSED(gs_reduce_by_key(engine, GS_I32, p, b.data, 10, &r, d.data, b.data, c.data, NULL, temp, room));
	REFUSED(gs_gather(engine, GS_I32, p, GS_I32, b.data, 10, d.data));
	REFUSED(gs_sequence(engine, GS_F32, p, 10, 0, 1));
	REFUSED(gs_extent(engine, GS_U128, p, 10, b.data, temp, room));
	drop(&a), drop(&b), drop(&c), drop(&d);
}

#ifdef WITH_CUDA
/* Makes an engine's device the current one. */
static void
use(gs_engine *other)
{
	void *block;

	ok(gs_alloc(other, 1, &block), "gs_alloc");
	gs_free(other, block);
}

/* Calls of an engine while another one's device is current, if there are two: copies, and a call in place. */
static void
two_devices(void)
{
	enum { N = 100000 };
	size_t temp_bytes = gs_select_temp_bytes(engine, GS_U32, N);
	array a = make_array(N * 4, 0), count = make_array(8, 0), temp = make_array(temp_bytes, 0);
	uint32_t *values = malloc(N * 4);
	gs_engine *other;
	bool good = true;

	if (on_gpu && gs_cuda_open(1, NULL, &other) == GS_OK)
	{
		for (uint32_t i = 0; i < N; i++)
			values[i] = i / 4;
		use(other);
		ok(gs_fill(engine, a.data, 0, N * 4), "gs_fill");
		use(other);
		put(&a, values, N * 4);
		use(other);
		ok(gs_unique(engine, GS_U32, a.data, N, a.data, count.data, temp.data, temp_bytes), "gs_unique");
		use(other);
		check(*(const uint64_t *) fetch(&count, 8, "count") == N / 4, "as many as differ");
		fetch(&a, N * 4, "items");
		for (uint32_t i = 0; i < N / 4; i++)
			good &= ((const uint32_t *) (a.copy + GUARD))[i] == i;
		check(good, "each of them once");
		gs_engine_close(other);
	}
	else
		printf("# one device\n");
	free(values);
	drop(&a), drop(&count), drop(&temp);
}
#endif

void
test_others(void)
{
	static const uint32_t ks[] = {1, 2, 3, 7, 16, 100, 255, 256};
	int step = small_only ? 9 : 3, upto = small_only ? nsizes - 7 : nsizes - 1;

	group("split");
	for (int t = 0; t < 5; t++)
		for (int k = 0; k < 8; k++)
		{
			for (int s = (t + k) % step; s < upto; s += step)
				split(types[t], sizes[s], ks[k], (s + k) % 3, s % 3);
			split(types[t], small_only ? 9000 : 200001, ks[k], k % 3, 1);
		}
	group("gather");
	for (int t = 0; t < 5; t++)
		for (int s = 0; s < upto; s += 2 * step)
			gather(types[t], sizes[s], s % 2);
	group("sequence");
	for (int t = 0; t < 8; t++)
		for (int s = 0; s < upto && types[t] != GS_U128; s += 2 * step)
			sequence(types[t], sizes[s]);
	group("minimum, maximum, OR and AND");
	for (int t = 0; t < 10; t++)
		for (int s = 0; s < upto && types[t] != GS_U128; s += small_only ? 5 : 1)
			extent(types[t], sizes[s], s % 5, s % 2);
	group("arguments that are refused");
	refused();
#ifdef WITH_CUDA
	group("two devices");
	two_devices();
#endif
}
