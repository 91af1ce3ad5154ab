/*
 * merge.c: gs_merge_sort and gs_merge_runs: keys of every size, values, row numbers, distributions, and sizes around
 * tiles and runs.
 */
#include "sort_test.h"

static const size_t key_sizes[] = {4, 8, 16, 24, 32};
static const size_t value_widths[] = {0, 4, 8};

/* Which words of a key vary: all alike, the last alone, the first few values and the others, the first one alone. */
enum { ALL_WORDS, LAST_WORD, FEW_FIRST, FIRST_WORD, WORD_KINDS };

typedef struct merge_case
{
	size_t key, value;
	bool numbers;  /* no values given: row numbers */
	int shape, words;
	uint64_t n;
	size_t offset; /* elements by which the arrays are off their alignment */
	uint64_t runs; /* 0: sort */
	int cut;	   /* how runs are cut */
} merge_case;

enum { CUT_RANDOM, CUT_EVEN, CUT_ONE, CUT_TINY, CUTS };

static void
fill_keys(const merge_case *c, uint8_t *keys)
{
	size_t width = c->key == 4 ? 4 : 8, words = c->key / width;

	for (uint64_t i = 0; i < c->n; i++)
		for (size_t w = 0; w < words; w++)
		{
			uint64_t x = shape_value(c->shape, i, c->n);

			if (w + 1 < words && c->words == LAST_WORD)
				x = 7;
			if (w == 0 && words > 1 && c->words == FEW_FIRST)
				x = rnd_below(3);
			if (w > 0 && c->words == FIRST_WORD)
				x = 9;
			memcpy(keys + i * c->key + w * width, &x, width);
		}
}

/* The stable order by all words: sorted by the last word, then by the one before, and so on. */
static void
expected(size_t key, const uint8_t *keys, uint64_t n, uint32_t *order)
{
	size_t width = key == 4 ? 4 : 8;
	uint64_t *numbers = calloc(n + 1, 8);
	uint32_t *by = malloc(n * 4 + 4), *old = malloc(n * 4 + 4);

	for (uint64_t i = 0; i < n; i++)
		order[i] = (uint32_t) i;
	for (size_t w = key / width; w-- > 0;)
	{
		for (uint64_t i = 0; i < n; i++)
			memcpy(numbers + i, keys + order[i] * key + w * width, width);
		reference_order(numbers, n, by);
		memcpy(old, order, n * 4);
		for (uint64_t i = 0; i < n; i++)
			order[i] = old[by[i]];
	}
	free(numbers), free(by), free(old);
}

static int
by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return (x > y) - (x < y);
}

/* Where runs begin. */
static uint64_t *
cut_runs(const merge_case *c)
{
	uint64_t *starts = calloc(c->runs + 1, 8);

	starts[c->runs] = c->n;
	for (uint64_t r = 1; r < c->runs; r++)
		switch (c->cut)
		{
			case CUT_RANDOM:
				starts[r] = rnd_below(4) ? rnd_below(c->n + 1) : starts[r - 1]; /* some are empty */
				break;
			case CUT_EVEN:
				starts[r] = c->n * r / c->runs;
				break;
			case CUT_ONE:
				starts[r] = r > c->runs / 2 ? c->n : 0;
				break;
			default:
				starts[r] = r < c->n ? r : c->n; /* one item each, and the rest */
		}
	qsort(starts, c->runs + 1, 8, by_number);
	return starts;
}

/* Puts runs in order, each for itself. */
static void
sort_runs(const merge_case *c, uint8_t *keys, const uint64_t *starts)
{
	uint8_t *old = malloc(c->n * c->key + 8);
	uint32_t *order = malloc(c->n * 4 + 4);

	memcpy(old, keys, c->n * c->key);
	for (uint64_t r = 0; r < c->runs; r++)
	{
		expected(c->key, old + starts[r] * c->key, starts[r + 1] - starts[r], order);
		for (uint64_t i = starts[r]; i < starts[r + 1]; i++)
			memcpy(keys + i * c->key, old + (starts[r] + order[i - starts[r]]) * c->key, c->key);
	}
	free(old), free(order);
}

/* Whether an array holds what another does in a given order. */
static void
check_array(const merge_case *c, const char *what, const uint8_t *got, const uint8_t *from, size_t width,
			const uint32_t *order)
{
	uint64_t i = 0;

	while (i < c->n && memcmp(got + i * width, from + order[i] * width, width) == 0)
		i++;
	check(i == c->n, "%s: key %zu value %zu%s %s words %d n %llu offset %zu runs %llu cut %d: wrong at %llu", what,
		  c->key, c->value, c->numbers ? " numbers" : "", shape_name[c->shape], c->words, (unsigned long long) c->n,
		  c->offset, (unsigned long long) c->runs, c->cut, (unsigned long long) i);
}

static void
run_case(const merge_case *c)
{
	size_t align = c->key == 4 ? 4 : 8, key_bytes = c->n * c->key, value_bytes = c->n * c->value;
	array keys = make_array(key_bytes, c->offset * align), out = make_array(key_bytes, c->offset * align);
	array values = make_array(value_bytes, c->offset * c->value),
		  out_values = make_array(value_bytes, c->offset * c->value);
	uint8_t *k = malloc(key_bytes + 8), *v = malloc(value_bytes + 8);
	uint32_t *order = malloc(c->n * 4 + 4);
	uint64_t *starts = c->runs ? cut_runs(c) : NULL;
	size_t bytes = c->runs ? gs_merge_runs_temp_bytes(engine, c->key, c->value, c->n, c->runs)
						   : gs_merge_sort_temp_bytes(engine, c->key, c->value, c->n);
	void *temp = temp_of(bytes), *in_values = c->value && !c->numbers ? values.data : NULL;
	void *values_to = c->value ? out_values.data : NULL;

	fill_keys(c, k);
	if (c->runs)
		sort_runs(c, k, starts);
	for (uint64_t i = 0; i < c->n; i++)
	{
		uint64_t x = c->numbers ? i : c->value == 4 ? ~i : i * 0x100000001ull;

		memcpy(v + i * c->value, &x, c->value);
	}
	put(&keys, k, key_bytes);
	put(&values, v, value_bytes);
	ok(c->runs ? gs_merge_runs(engine,
							   &(gs_sort_request){.key_bytes = c->key,
												  .keys = keys.data,
												  .out_keys = out.data,
												  .value_width = c->value,
												  .values = in_values,
												  .out_values = values_to,
												  .starts = starts,
												  .parts = c->runs,
												  .n = c->n},
							   temp, bytes)
			   : gs_merge_sort(engine,
							   &(gs_sort_request){.key_bytes = c->key,
												  .keys = keys.data,
												  .out_keys = out.data,
												  .value_width = c->value,
												  .values = in_values,
												  .out_values = values_to,
												  .n = c->n},
							   temp, bytes),
	   c->runs ? "gs_merge_runs" : "gs_merge_sort");
	expected(c->key, k, c->n, order);
	check_array(c, "keys", fetch(&out, key_bytes, "keys"), k, c->key, order);
	check_array(c, "values", fetch(&out_values, value_bytes, "values"), v, c->value, order);
	check(memcmp(fetch(&keys, key_bytes, "input"), k, key_bytes) == 0 &&
			  memcmp(fetch(&values, value_bytes, "input"), v, value_bytes) == 0,
		  "the input was written to");
	drop(&keys), drop(&out), drop(&values), drop(&out_values);
	free(k), free(v), free(order), free(starts);
}

/*
 * Sizes: every one of the small ones; tiles (see kernels/cuda/tuning/), and 2 to 33 of them, one less and one more; in
 * between.
 */
static uint64_t
some_size(void)
{
	static const uint64_t small[] = {0, 1, 2, 3, 7, 8, 9, 31, 32, 33, 255, 256, 257, 1407, 1409};
	static const uint64_t tiles[] = {1408, 1920, 3328, 3840, 4864, 5888, 8192};
	static const uint64_t times[] = {1, 2, 3, 4, 8, 9, 16, 17, 33};
	uint64_t which = rnd_below(4);

	if (which == 0)
		return small[rnd_below(sizeof(small) / sizeof(small[0]))];
	if (which == 1)
		return tiles[rnd_below(7)] * times[rnd_below(small_only ? 4 : 9)] + rnd_below(3) - 1;
	return rnd_below(small_only ? 30000 : 200000);
}

static merge_case
some_case(size_t key, int round)
{
	merge_case c = {.key = key, .value = value_widths[round % 3], .shape = round % SHAPES};

	c.numbers = c.value == 4 && rnd_below(2);
	c.words = (int) rnd_below(WORD_KINDS);
	c.n = some_size();
	c.offset = rnd_below(3) ? 0 : rnd_below(5);
	return c;
}

static void
sorts(size_t key)
{
	char name[64];

	snprintf(name, sizeof(name), "sort, keys of %zu bytes", key);
	group(name);
	seed(key);
	for (int round = 0; round < (small_only ? 24 : 120); round++)
	{
		merge_case c = some_case(key, round);

		if (!skipped())
			run_case(&c);
	}
}

static void
merges(size_t key)
{
	static const uint64_t runs[] = {1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 255, 256, 257, 479, 480, 481, 1000, 5000};
	char name[64];

	snprintf(name, sizeof(name), "runs, keys of %zu bytes", key);
	group(name);
	seed(key + 100);
	for (int round = 0; round < (small_only ? 20 : 114); round++)
	{
		merge_case c = some_case(key, round);

		c.runs = runs[round % (sizeof(runs) / sizeof(runs[0]))];
		c.cut = (int) rnd_below(CUTS);
		if (!skipped())
			run_case(&c);
	}
}

/* Every distribution once, with many tiles and several passes. */
static void
many_tiles(void)
{
	group("many tiles");
	for (int shape = 0; shape < SHAPES; shape++)
		for (int k = 0; k < 5; k += 1 + shape % 2)
		{
			merge_case c = {.key = key_sizes[k],
							.value = value_widths[(shape + k) % 3],
							.shape = shape,
							.words = shape % WORD_KINDS};

			c.n = 600000 + rnd_below(99999);
			c.offset = rnd_below(2);
			run_case(&c);
			c.runs = 3 + rnd_below(40);
			c.cut = (int) rnd_below(CUTS);
			run_case(&c);
		}
}

static void
refused(void)
{
	array a = make_array(4096, 0), b = make_array(4096, 0), v = make_array(4096, 0), w = make_array(4096, 0);
	uint64_t starts[4] = {0, 10, 20, 100}, falls[4] = {0, 20, 10, 100}, late[4] = {1, 10, 20, 100};
	size_t bytes = gs_merge_sort_temp_bytes(engine, 8, 8, 100), more = gs_merge_runs_temp_bytes(engine, 8, 8, 100, 3);
	char *temp = temp_of((bytes > more ? bytes : more) + 256);

#define SORT(status, temp, bytes, ...)                                                                                 \
	check(gs_merge_sort(engine, &(gs_sort_request){__VA_ARGS__}, temp, bytes) == status, "gs_merge_sort(%s)",          \
		  #__VA_ARGS__)
#define RUNS(status, temp, bytes, ...)                                                                                 \
	check(gs_merge_runs(engine, &(gs_sort_request){__VA_ARGS__}, temp, bytes) == status, "gs_merge_runs(%s)",          \
		  #__VA_ARGS__)
	group("arguments that are refused");
	SORT(GS_INVALID, temp, bytes, .keys = a.data, .out_keys = b.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 12, .keys = a.data, .out_keys = b.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 40, .keys = a.data, .out_keys = b.data, .n = 10);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .out_keys = b.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = a.data, .value_width = 8, .values = v.data,
		 .out_values = w.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = a.data, .out_keys = a.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = a.data, .out_keys = (char *) a.data + 80, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = (char *) a.data + 4, .out_keys = b.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .value_width = 2,
		 .values = v.data, .out_values = w.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .value_width = 8,
		 .out_values = w.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .value_width = 8,
		 .values = v.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .value_width = 8,
		 .values = v.data, .out_values = v.data, .n = 100);
	SORT(GS_INVALID, temp, bytes, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .value_width = 8,
		 .values = v.data, .out_values = b.data, .n = 100);
	SORT(GS_TOO_BIG, temp, bytes, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .n = GS_MAX_SORT + 1);
	RUNS(GS_INVALID, temp, more, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .parts = 3, .n = 100);
	RUNS(GS_INVALID, temp, more, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .starts = falls, .parts = 3,
		 .n = 100);
	RUNS(GS_INVALID, temp, more, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .starts = late, .parts = 3,
		 .n = 100);
	RUNS(GS_INVALID, temp, more, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .starts = starts, .parts = 3,
		 .n = 99);
	RUNS(GS_INVALID, temp, more, .key_bytes = 8, .keys = a.data, .out_keys = a.data, .starts = starts, .parts = 3,
		 .n = 100);
	RUNS(GS_OK, temp, more, .key_bytes = 8, .keys = a.data, .out_keys = b.data, .starts = starts);
	drop(&a), drop(&b), drop(&v), drop(&w);
}

void
test_merge(void)
{
	for (int k = 0; k < 5; k++)
	{
		sorts(key_sizes[k]);
		merges(key_sizes[k]);
	}
	if (!small_only)
		many_tiles();
	refused();
}

/* ---------------------------------------------------------------- large */

/* A key of a row: scattered, or in order but for few. */
static uint64_t
large_key(uint64_t row, bool nearly)
{
	uint64_t x = (row + 1) * 0x9e3779b97f4a7c15ull;

	x ^= x >> 31;
	return nearly ? (x % 1000 == 0 ? x >> 36 : row) : x % 100003 * (x >> 60);
}

/* Sorts n keys of 8 bytes with their row numbers, or merges them as runs, and looks at the whole result. */
static void
large(uint64_t n, bool nearly)
{
	size_t bytes = gs_merge_sort_temp_bytes(engine, 8, 4, n);
	void *keys, *out, *order, *temp;
	uint64_t *k = malloc(n * 8), bad = 0;
	uint8_t *seen = calloc(n, 1);
	uint32_t *o = malloc(n * 4);

	ok(gs_alloc(engine, n * 8, &keys), "gs_alloc");
	ok(gs_alloc(engine, n * 8, &out), "gs_alloc");
	ok(gs_alloc(engine, n * 4, &order), "gs_alloc");
	ok(gs_alloc(engine, bytes, &temp), "gs_alloc");
	for (uint64_t i = 0; i < n; i++)
		k[i] = large_key(i, nearly);
	ok(gs_upload(engine, keys, k, n * 8), "gs_upload");
	ok(gs_merge_sort(engine,
					 &(gs_sort_request){
						 .key_bytes = 8, .keys = keys, .out_keys = out, .value_width = 4, .out_values = order, .n = n},
					 temp, bytes),
	   "gs_merge_sort");
	ok(gs_download(engine, k, out, n * 8), "gs_download");
	ok(gs_download(engine, o, order, n * 4), "gs_download");
	ok(gs_sync(engine), "gs_sync");
	for (uint64_t i = 0; i < n; i++)
	{
		bad += o[i] >= n || seen[o[i]]++ || k[i] != large_key(o[i], nearly);
		bad += i > 0 && (k[i - 1] > k[i] || (k[i - 1] == k[i] && o[i - 1] > o[i]));
	}
	check(bad == 0, "%llu rows%s: %llu wrong", (unsigned long long) n, nearly ? ", nearly in order" : "",
		  (unsigned long long) bad);
	gs_free(engine, keys), gs_free(engine, out), gs_free(engine, order), gs_free(engine, temp);
	free(k), free(seen), free(o);
}

void
test_merge_large(void)
{
	static const int64_t near[] = {-1, 0, 1};

	group("merge sort around 2^28");
	for (int i = 0; i < 3; i++)
		large((uint64_t) (((int64_t) 1 << 28) + near[i]), i == 1);
}
