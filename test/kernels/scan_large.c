/*
 * scan_large.c: 2^28 - 1, 2^28 + 1, and more than 2^32 items of one byte: counts and positions that need more than 31
 * and 32 bits. The input repeats a pattern whose answers are known, so that nothing of that size has to be worked out
 * on the host.
 */
#include "scan_test.h"

#define PATTERN 65536

static uint64_t
count_of(array *count)
{
	return *(const uint64_t *) fetch(count, 8, "count");
}

/* Part of an engine's array. */
static void
piece(const array *a, uint64_t at, void *to, size_t bytes)
{
	ok(gs_download(engine, to, (const char *) a->data + at, bytes), "gs_download");
	ok(gs_sync(engine), "gs_sync");
}

static array
bare(size_t bytes)
{
	array a = {bytes, 0, NULL, NULL, NULL};

	ok(gs_alloc(engine, bytes, &a.block), "gs_alloc");
	a.data = a.block;
	ok(gs_fill(engine, a.data, 0xa5, bytes), "gs_fill");
	return a;
}

/* Fills by doubling; the pattern goes on across n. */
static void
repeat(array *a, const uint8_t *pattern, uint64_t n)
{
	uint8_t *block = malloc(1 << 26);

	for (size_t i = 0; i < 1 << 26; i += PATTERN)
		memcpy(block + i, pattern, PATTERN);
	for (uint64_t at = 0; at < n; at += 1 << 26)
		ok(gs_upload(engine, (char *) a->data + at, block, n - at < 1 << 26 ? n - at : 1 << 26), "gs_upload");
	ok(gs_sync(engine), "gs_sync");
	free(block);
}

/* Bytes in runs of 1 to 9; every period ends as a new run begins, so runs and kept items per period are constant. */
static void
bytes(uint64_t n)
{
	uint8_t *pattern = malloc(PATTERN), *out = malloc(PATTERN);
	uint32_t kept = 0, runs = 0, *prefix_kept = malloc((PATTERN + 1) * 4), *prefix_runs = malloc((PATTERN + 1) * 4);
	uint32_t *begins = malloc(PATTERN * 4);
	array a = bare(n), o = bare(n), l = bare(8 * (n / 4 + 100)), s = bare(8 * (n / 4 + 100)), count = make_array(8, 0);
	size_t temp;
	uint8_t limit = 100;
	gs_filter f = {GS_BY_VALUE, NULL, GS_LT, &limit, NULL};
	uint64_t whole = n / PATTERN, rest = n % PATTERN, want, bad = 0;
	void *t;

	seed(n);
	for (uint32_t i = 0; i < PATTERN;)
	{
		uint32_t len = 1 + (uint32_t) (rnd() % 9);
		uint8_t v = (uint8_t) rnd();

		while (i > 0 && v == pattern[i - 1])
			v++;
		for (; len > 0 && i < PATTERN; len--)
			pattern[i++] = v;
	}
	if (pattern[PATTERN - 1] == pattern[0])
		pattern[PATTERN - 1] ^= 0x55;
	for (uint32_t i = 0; i < PATTERN; i++)
	{
		prefix_kept[i] = kept, prefix_runs[i] = runs;
		if (pattern[i] < limit)
			out[kept++] = pattern[i];
		if (i == 0 || pattern[i] != pattern[i - 1])
			begins[runs++] = i;
	}
	repeat(&a, pattern, n);

	temp = gs_select_temp_bytes(engine, GS_U8, n);
	t = temp_of(temp);
	ok(gs_select(engine, GS_U8, a.data, n, &f, o.data, count.data, t, temp), "gs_select");
	want = whole * kept + (rest ? prefix_kept[rest] : 0);
	check(count_of(&count) == want, "select of %llu bytes: count", (unsigned long long) n);
	for (uint64_t p = 0; p < whole; p += p < 3 || p + 4 > whole ? 1 : whole / 97 + 1)
	{
		uint8_t got[PATTERN];

		piece(&o, p * kept, got, kept);
		bad += memcmp(got, out, kept) != 0;
	}
	check(bad == 0, "select of %llu bytes: items", (unsigned long long) n);

	temp = gs_runs_temp_bytes(engine, GS_U8, n);
	t = temp_of(temp);
	ok(gs_runs(engine, GS_U8, a.data, n, o.data, GS_U64, l.data, s.data, count.data, t, temp), "gs_runs");
	want = whole * runs + (rest ? prefix_runs[rest] : 0);
	check(count_of(&count) == want, "runs of %llu bytes: count", (unsigned long long) n);
	bad = 0;
	for (uint64_t p = 0; p < whole; p += p < 3 || p + 4 > whole ? 1 : whole / 97 + 1)
	{
		static uint64_t starts[PATTERN], lengths[PATTERN];
		uint8_t values[PATTERN];

		piece(&s, p * runs * 8, starts, runs * 8);
		piece(&l, p * runs * 8, lengths, runs * 8);
		piece(&o, p * runs, values, runs);
		for (uint32_t r = 0; r < runs; r++)
		{
			uint64_t end = r + 1 < runs ? begins[r + 1] : PATTERN;

			bad += starts[r] != p * PATTERN + begins[r] || values[r] != pattern[begins[r]];
			if (p + 1 < whole || r + 1 < runs)
				bad += lengths[r] != end - begins[r];
		}
	}
	check(bad == 0, "runs of %llu bytes: %llu wrong", (unsigned long long) n, (unsigned long long) bad);

	/* one run of everything */
	ok(gs_fill(engine, a.data, 7, n), "gs_fill");
	t = temp_of(temp);
	ok(gs_runs(engine, GS_U8, a.data, n, o.data, GS_U64, l.data, s.data, count.data, t, temp), "gs_runs");
	piece(&l, 0, &want, 8);
	check(count_of(&count) == 1 && want == n, "one run of %llu bytes", (unsigned long long) n);

	/* in place */
	repeat(&a, pattern, n);
	temp = gs_select_temp_bytes(engine, GS_U8, n);
	t = temp_of(temp);
	ok(gs_unique(engine, GS_U8, a.data, n, a.data, count.data, t, temp), "gs_unique");
	check(count_of(&count) == whole * runs + (rest ? prefix_runs[rest] : 0), "unique of %llu bytes: count",
		  (unsigned long long) n);
	bad = 0;
	for (uint64_t p = 0; p < whole; p += p < 3 || p + 4 > whole ? 1 : whole / 97 + 1)
	{
		uint8_t values[PATTERN];

		piece(&a, p * runs, values, runs);
		for (uint32_t r = 0; r < runs; r++)
			bad += values[r] != pattern[begins[r]];
	}
	check(bad == 0, "unique of %llu bytes in place: items", (unsigned long long) n);
	gs_free(engine, a.block), gs_free(engine, o.block), gs_free(engine, l.block), gs_free(engine, s.block);
	drop(&count);
	free(pattern), free(out), free(prefix_kept), free(prefix_runs), free(begins);
}

/* Ones of 32 bits: every prefix is its position; sums by key of 64 bits. */
static void
ones(uint64_t n)
{
	array a = bare(n * 4), o = bare(n * 8), k = bare(n * 4), count = make_array(8, 0);
	size_t temp = gs_scan_temp_bytes(engine, GS_U32, n);
	gs_reduction d = {GS_U32, GS_SUM, GS_U64, false};
	uint64_t bad = 0, total;
	void *t = temp_of(temp);

	ok(gs_sequence(engine, GS_U32, a.data, n, 1, 0), "gs_sequence");
	ok(gs_scan(engine, GS_U32, GS_SUM, true, a.data, o.data, n, t, temp), "gs_scan");
	for (uint64_t at = 0; at < n; at += n / 1009)
	{
		uint32_t x;

		piece(&o, at * 4, &x, 4);
		bad += x != at + 1;
	}
	piece(&o, (n - 1) * 4, &total, 4);
	check(bad == 0 && (uint32_t) total == (uint32_t) n, "scan of %llu", (unsigned long long) n);

	temp = gs_reduce_by_key_temp_bytes(engine, GS_U32, &d, n);
	t = temp_of(temp);
	ok(gs_reduce_by_key(engine, GS_U32, a.data, a.data, n, &d, k.data, o.data, count.data, NULL, t, temp), "reduce");
	piece(&o, 0, &total, 8);
	check(count_of(&count) == 1 && total == n, "one key, %llu values", (unsigned long long) n);
	gs_free(engine, a.block), gs_free(engine, o.block), gs_free(engine, k.block);
	drop(&count);
}

/* Positions of every fourth bit, of which there are too many for one turn of the sum over groups. */
static void
fourths(uint64_t n)
{
	const uint64_t words = (n + 63) / 64, found = (n + 3) / 4;
	const uint64_t last = 0x1111111111111111 & ~(uint64_t) 0 >> (64 - n % 64) % 64; /* bits from n on are 0 */
	array bits = bare(words * 8), out = bare(n * 4), count = make_array(8, 0);
	size_t temp = gs_select_temp_bytes(engine, GS_U32, n);
	uint64_t bad = 0;
	uint32_t x;

	ok(gs_fill(engine, bits.data, 0x11, words * 8), "gs_fill");
	ok(gs_upload(engine, (char *) bits.data + (words - 1) * 8, &last, 8), "gs_upload");
	ok(gs_positions(engine, bits.data, n, out.data, count.data, temp_of(temp), temp), "gs_positions");
	check(count_of(&count) == found, "%llu bits: count", (unsigned long long) n);
	for (uint64_t at = 0; at < found; at += at < 100000 ? 999 : found / 10007)
	{
		piece(&out, at * 4, &x, 4);
		bad += x != 4 * at;
	}
	piece(&out, (found - 1) * 4, &x, 4);
	bad += x != 4 * (found - 1);
	check(bad == 0, "%llu bits: positions", (unsigned long long) n);
	gs_free(engine, bits.block), gs_free(engine, out.block);
	drop(&count);
}

void
test_scan_large(void)
{
	static const int64_t near[] = {-1, 0, 1};

	for (int i = 0; i < 3; i++)
	{
		group("around 2^28");
		bytes((uint64_t) (((int64_t) 1 << 28) + near[i]));
		ones((uint64_t) (((int64_t) 1 << 28) + near[i]));
		fourths((uint64_t) (((int64_t) 1 << 28) + near[i]));
	}
	group("positions up to the last row");
	fourths(GS_MAX_ROWS);
	group("beyond 2^32");
	bytes(((uint64_t) 1 << 32) + 12345);
}
