/*
 * radix.c: gs_sort: keys and pairs of all types, directions, bit ranges and distributions, around the tiles' sizes.
 */
#include "sort_test.h"
#include "kernels/cpu/cpu.h"
#ifdef WITH_CUDA
#include "kernels/cuda/base/sort_testing.h"
#endif

static const gs_type types[] = {GS_U32, GS_I32, GS_F32, GS_U64, GS_I64, GS_F64};
static const size_t value_widths[] = {0, 4, 8};

/* What some keys of a case are made instead. */
enum twist
{
	NONE,
	ALIKE,	 /* so many of 8 bytes differ in their 16 lowest bits only */
	BUCKET,	 /* just so many of 4 bytes share their 16 leading bits */
	CROWD,	 /* so many of 4 bytes differ in their 8 lowest bits only */
	DISTINCT /* all are one of so many */
};

typedef struct sort_case
{
	gs_type type;
	size_t value_width;
	bool desc;
	uint32_t begin, end;
	int shape;
	uint64_t n;
	size_t offset; /* elements by which the arrays are off their alignment */
	enum twist twist;
	uint64_t amount;
} sort_case;

/* What a case must give: the stable order of the bits that it sorts by. */
static void
expected(const sort_case *c, const uint8_t *keys, uint32_t *order)
{
	size_t width = gs_type_width(c->type);
	uint64_t *numbers = malloc(c->n * 8 + 8);

	for (uint64_t i = 0; i < c->n; i++)
	{
		uint64_t x = key_number(c->type, keys + i * width);

		if (c->desc)
			x = ~x;
		if (c->end < 64)
			x &= ((uint64_t) 1 << c->end) - 1;
		numbers[i] = x >> c->begin;
	}
	reference_order(numbers, c->n, order);
	free(numbers);
}

/* Where one array stops to hold what another does in a given order; n if nowhere. */
static uint64_t
wrong_at(const uint8_t *got, const uint8_t *from, size_t width, const uint32_t *order, uint64_t n)
{
	uint64_t i = 0;

	while (i < n && memcmp(got + i * width, from + order[i] * width, width) == 0)
		i++;
	return i;
}

static void
check_array(const sort_case *c, const char *what, const uint8_t *got, const uint8_t *from, size_t width,
			const uint32_t *order)
{
	uint64_t at = wrong_at(got, from, width, order, c->n);

	check(at == c->n, "%s: %s (%d, %llu) %s%s [%u, %u) n %llu offset %zu: wrong at %llu", what, shape_name[c->shape],
		  c->twist, (unsigned long long) c->amount, type_name(c->type), c->desc ? " desc" : "", c->begin, c->end,
		  (unsigned long long) c->n, c->offset, (unsigned long long) at);
}

static void
twist_keys(const sort_case *c, uint8_t *keys)
{
	const size_t width = gs_type_width(c->type);
	const uint64_t step = c->amount > 0 ? c->n / c->amount : 0;
	uint32_t *narrow = (uint32_t *) (void *) keys;

	if (c->twist == ALIKE)
		for (uint64_t i = 0; i < c->amount; i++)
			memcpy(keys + rnd_below(c->n) * width, &(uint64_t){0x4123456789ab0000ull + (rnd() >> 48)}, width);
	if (c->twist == DISTINCT)
		for (uint64_t i = 0; i < c->n; i++)
			narrow[i] = (uint32_t) (rnd_below(c->amount) * 2654435761u);
	if (c->twist == BUCKET)
		for (uint64_t i = 0; i < c->n; i++)
			narrow[i] ^= narrow[i] >> 16 == 0x4123 ? 0x20000000 : 0;
	for (uint64_t i = 0; i < c->amount && (c->twist == BUCKET || c->twist == CROWD); i++)
		narrow[i * step] =
			c->twist == BUCKET ? 0x41230000u | (uint32_t) (rnd() >> 48) : 0x41235600u | (uint32_t) (rnd() >> 56);
}

static void
run_case(const sort_case *c)
{
	size_t width = gs_type_width(c->type), vw = c->value_width;
	array keys = make_array(c->n * width, c->offset * width), out = make_array(c->n * width, c->offset * width);
	array values = make_array(c->n * vw, c->offset * vw), out_values = make_array(c->n * vw, c->offset * vw);
	uint8_t *k = malloc(c->n * width + 8), *v = malloc(c->n * vw + 8);
	uint32_t *order = malloc(c->n * 4 + 4);
	size_t bytes = gs_sort_temp_bytes(engine, c->type, vw, c->n);
	void *temp = temp_of(bytes);

	fill_shape(c->type, c->shape, k, c->n);
	twist_keys(c, k);
	for (uint64_t i = 0; i < c->n; i++)
	{
		uint64_t x = vw == 4 ? i : i * 0x100000001ull;

		memcpy(v + i * vw, &x, vw);
	}
	put(&keys, k, c->n * width);
	put(&values, v, c->n * vw);
	ok(gs_sort(engine,
			   &(gs_sort_request){.key = c->type,
								  .desc = c->desc,
								  .begin_bit = c->begin,
								  .end_bit = c->end,
								  .keys = keys.data,
								  .out_keys = out.data,
								  .value_width = vw,
								  .values = vw ? values.data : NULL,
								  .out_values = vw ? out_values.data : NULL,
								  .n = c->n},
			   temp, bytes),
	   "gs_sort");
	expected(c, k, order);
	check_array(c, "keys", fetch(&out, c->n * width, "keys"), k, width, order);
	check_array(c, "values", fetch(&out_values, c->n * vw, "values"), v, vw, order);
	check(memcmp(fetch(&keys, c->n * width, "input"), k, c->n * width) == 0 &&
			  memcmp(fetch(&values, c->n * vw, "input"), v, c->n * vw) == 0,
		  "the input was written to");
	drop(&keys), drop(&out), drop(&values), drop(&out_values);
	free(k), free(v), free(order);
}

/* Sizes: every one of the small ones, and of tiles (see kernels/cuda/tuning/), one less and one more. */
static uint64_t
some_size(void)
{
	static const uint64_t small[] = {0, 1, 2, 3, 5, 31, 32, 33, 255, 256, 257, 1000, 4095, 4097};
	static const uint64_t tiles[] = {4224,	4576,  5760,  7040,	 7296,	8064,  8192,  9600,	 11904, 12288, 13440,
									 14080, 15232, 15360, 16000, 16384, 19840, 20480, 23808, 24576, 28672, 32768};
	uint64_t which = rnd_below(4);

	if (which == 0)
		return small[rnd_below(sizeof(small) / sizeof(small[0]))];
	if (which == 1)
		return tiles[rnd_below(sizeof(tiles) / sizeof(tiles[0]))] * (1 + rnd_below(3)) + rnd_below(3) - 1;
	return rnd_below(small_only ? 40000 : 300000);
}

static void
all_of(gs_type type, size_t value_width)
{
	uint32_t bits = 8 * (uint32_t) gs_type_width(type);
	char name[64];

	snprintf(name, sizeof(name), "%s, values of %zu bytes", type_name(type), value_width);
	group(name);
	seed(type * 64 + value_width);
	for (int round = 0; round < (small_only ? 30 : 150); round++)
	{
		sort_case c = {type,		 value_width,
					   rnd_below(2), 0,
					   bits,		 round % SHAPES,
					   some_size(),	 rnd_below(3) ? 0 : rnd_below(5),
					   NONE,		 0};

		if (rnd_below(2))
		{
			c.begin = (uint32_t) rnd_below(bits);
			c.end = c.begin + 1 + (uint32_t) rnd_below(bits - c.begin);
		}
		if (!skipped())
			run_case(&c);
	}
}

/* Every distribution, with so many items that leading digits may do; and with groups of keys that these leave tied. */
static void
many_items(void)
{
	static const gs_type wide[] = {GS_U64, GS_F64, GS_I64};
	static const uint64_t alike[] = {2, 40, 63, 64, 65, 1000, 100000};

	group("many items");
	for (int shape = 0; shape < SHAPES; shape++)
	{
		gs_type type = shape % 2 ? types[shape % 3] : wide[shape % 3];

		run_case(&(sort_case){type, value_widths[(shape / 2 + 1) % 3], shape & 1, 0, 8 * (uint32_t) gs_type_width(type),
							  shape, 4200000 + rnd_below(99999), rnd_below(2), NONE, 0});
	}
	for (int i = 0; i < 4; i++)
		run_case(&(sort_case){types[i & 1], i & 2 ? 4 : 0, i & 1, 0, 32, SHAPE_UNIFORM, 4194303 + (uint64_t) i % 3, 0,
							  NONE, 0});
	group("many items, some nearly alike");
	for (int i = 0; i < 7; i++)
		run_case(&(sort_case){wide[i % 3], value_widths[i % 3], i & 1, i == 3 ? 5 : 0, i == 4 ? 63 : 64, SHAPE_UNIFORM,
							  4200000 + rnd_below(99999), 0, ALIKE, alike[i]});
}

/* Partitions within partitions on the CPU, which few items need where its limits are low. */
static void
low_limits(void)
{
	gs_cpu_tuning tuning = gs_cpu_tuning_default();

	if (on_gpu)
		return;
	group("low limits");
	for (int round = 0; round < (small_only ? 60 : 300); round++)
	{
		gs_type type = types[rnd_below(6)];
		sort_case c = {type,
					   value_widths[rnd_below(3)],
					   rnd_below(2),
					   0,
					   8 * (uint32_t) gs_type_width(type),
					   round % SHAPES,
					   some_size(),
					   rnd_below(3) ? 0 : rnd_below(5),
					   ALIKE,
					   rnd_below(2) * rnd_below(300)};

		c.amount = gs_type_width(type) == 8 && c.n > 0 ? c.amount : 0;
		if (rnd_below(3) == 0)
			c.begin = (uint32_t) rnd_below(c.end);
		tuning.cache_rows = 64 << rnd_below(8);
		tuning.even_rows = tuning.cache_rows << rnd_below(4);
		tuning.combine_rows = 64 << rnd_below(8);
		tuning.bucket_log = (uint32_t) rnd_below(14);
		/* vectors take what they may, which is most of it, or give it back soon */
		tuning.quick_rows = rnd_below(2) ? 0 : 64 << rnd_below(10);
		tuning.quick_bits = (uint32_t) rnd_below(20);
		tuning.quick_depth = (uint32_t) rnd_below(3);
		gs_cpu_tune(engine, &tuning);
		run_case(&c);
	}
	tuning = gs_cpu_tuning_default();
	gs_cpu_tune(engine, &tuning);
}

static void
refused(void)
{
	array a = make_array(4096, 0), b = make_array(4096, 0), v = make_array(4096, 0), w = make_array(4096, 0);
	size_t bytes = gs_sort_temp_bytes(engine, GS_U32, 4, 1000);
	char *temp = temp_of(bytes + 256);

#define REFUSED(status, temp, bytes, ...)                                                                              \
	check(gs_sort(engine, &(gs_sort_request){__VA_ARGS__}, temp, bytes) == status, "gs_sort(%s)", #__VA_ARGS__)
	group("arguments that are refused");
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U16, .end_bit = 16, .keys = a.data, .out_keys = b.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .end_bit = 33, .keys = a.data, .out_keys = b.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .begin_bit = 8, .end_bit = 8, .keys = a.data, .out_keys = b.data,
			.n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .out_keys = b.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = a.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = (char *) a.data + 400, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = (char *) a.data + 2, .out_keys = b.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .value_width = 4,
			.out_values = w.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .value_width = 4,
			.values = v.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .value_width = 4,
			.values = v.data, .out_values = a.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .value_width = 4,
			.values = v.data, .out_values = b.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .value_width = 2,
			.values = v.data, .out_values = w.data, .n = 1000);
	REFUSED(GS_INVALID, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .values = v.data,
			.out_values = w.data, .n = 1000);
	REFUSED(GS_TOO_BIG, temp, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .n = GS_MAX_SORT + 1);
	if (bytes > 0)
	{
		REFUSED(GS_INVALID, temp, bytes - 1, .key = GS_U32, .keys = a.data, .out_keys = b.data, .value_width = 4,
				.values = v.data, .out_values = w.data, .n = 1000);
		REFUSED(GS_INVALID, temp + 8, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .value_width = 4,
				.values = v.data, .out_values = w.data, .n = 1000);
		REFUSED(GS_INVALID, NULL, bytes, .key = GS_U32, .keys = a.data, .out_keys = b.data, .value_width = 4,
				.values = v.data, .out_values = w.data, .n = 1000);
	}
	drop(&a), drop(&b), drop(&v), drop(&w);
}

void
test_radix(void)
{
	array a = make_array(4096, 0), b = make_array(4096, 0);
	size_t bytes = gs_sort_temp_bytes(engine, GS_U32, 0, 1000);

	/* the engine may not have it */
	if (bytes == 0 && gs_sort(engine, &(gs_sort_request){.key = GS_U32, .keys = a.data, .out_keys = b.data, .n = 1000},
							  NULL, 0) == GS_INVALID)
	{
		drop(&a), drop(&b);
		return;
	}
	drop(&a), drop(&b);
	for (int t = 0; t < 6; t++)
		for (int w = 0; w < 3; w++)
			all_of(types[t], value_widths[w]);
	if (!small_only)
		many_items();
	low_limits();
	refused();
}

#ifdef WITH_CUDA

/*
 * Integers of 4 bytes in buckets that blocks put in order (arrays/keys_buckets.cu): as long as blocks of each kind
 * hold, and one more or less; crowded ones among others; few different keys; every distribution.  Also where that does
 * not pay.
 */
void
test_radix_buckets(void)
{
	/* of keys alone, with values, with values whatever the estimate says */
	static const uint64_t rooms[][2] = {{5120, 20480}, {4608, 13824}, {5120, 15360}};
	static const uint64_t crowds[] = {60, 4000}, distinct[] = {1, 3, 1000, 100000};

	for (uint32_t way = 2; way <= 3; way++)
	{
		group(way == 2 ? "buckets of 4-byte integers" : "buckets of 4-byte integers, whatever the estimate says");
		gs_cuda_sort_force(engine, 0, way);
		for (int i = 0; i < 4; i++)
		{
			sort_case c = {types[i % 2], i < 2 ? 0 : 4, i & 1, 0, 32, SHAPE_UNIFORM, 524288 + rnd_below(9999),
						   rnd_below(2), BUCKET,		0};

			if (small_only) /* sanitizers: a block of each kind, fewer items are never sorted so */
			{
				if (tiny && i % 2)
					continue;
				c.amount = rooms[i < 2 ? 0 : way - 1][1];
				run_case(&c);
				continue;
			}
			for (int r = 0; r < 2; r++)
				for (uint64_t d = 0; d < 3; d++)
				{
					c.amount = rooms[i < 2 ? 0 : way - 1][r] - 1 + d;
					run_case(&c);
				}
			c.twist = CROWD;
			for (int j = 0; j < 2; j++)
			{
				c.amount = crowds[j];
				run_case(&c);
			}
			c.twist = DISTINCT;
			for (int j = 0; j < 4; j++)
			{
				c.amount = distinct[j];
				run_case(&c);
			}
			c.twist = NONE;
			c.amount = 0;
			for (c.shape = 0; c.shape < SHAPES; c.shape++)
				run_case(&c);
		}
	}
	gs_cuda_sort_force(engine, 0, 0);
}

static void
call_case(void *arg)
{
	run_case((const sort_case *) arg);
}

/*
 * Tiles that stand still until the last one is done: with the fallback others count their digits; without it, that
 * they give up is all that ends the call.
 */
void
test_radix_stall(void)
{
	static const uint32_t tiles[] = {0, 3, 4, 40, 41, 42, 200, 250};
	static const size_t widths[] = {4, 0, 8, 4};
	static const gs_type kinds[] = {GS_U64, GS_U32, GS_F64, GS_I32};
	sort_case c = {GS_U64, 4, false, 0, 64, SHAPE_UNIFORM, 8000001, 0, NONE, 0};

	if (small_only)
		return;
	group("stalled tiles, with fallback");
	for (int round = 0; round < 4; round++)
	{
		c.type = kinds[round];
		c.value_width = widths[round];
		c.end = 8 * (uint32_t) gs_type_width(c.type);
		stalled_call(tiles, 8, 200000, call_case, &c, type_name(c.type));
	}
	group("stalled tiles, without fallback");
	c.begin = 9;
	c.end = 17; /* one pass */
	hanging_call(4, call_case, &c, "one pass");
}

#endif
