/*
 * segments.c: gs_sort_segments: keys and values of all types, segments of every size and mixture.
 */
#include "sort_test.h"

static const gs_type types[] = {GS_U32, GS_I32, GS_F32, GS_U64, GS_I64, GS_F64};

enum mixture { TINY, THOUSANDS, POWERS, EMPTY, HUGE, ONE, MIXED, TEN_THOUSANDS, MIXTURES };
static const char *const mixture_name[] = {"tiny", "thousands", "powers of two", "mostly empty",
										   "huge", "one",		"mixed",		 "ten thousands"};

/* What is done to keys of a distribution; so many of them are told with it. */
enum twist
{
	NONE,
	ALIKE,	  /* so many of the first segment differ in their lowest bits only */
	BUCKET,	  /* just so many of the first segment have the same highest byte */
	DISTINCT, /* so many different ones */
	SPECIAL	  /* so many of a hundred are 0, -0 or some NaN */
};

typedef struct segments_case
{
	gs_type type;
	size_t value_width;
	bool desc;
	int shape;
	enum mixture mixture;
	uint64_t n;
	size_t offset;	/* elements by which the arrays are off their alignment */
	uint64_t first; /* item with which the first segment begins */
	enum twist twist;
	uint64_t amount;
} segments_case;

/* A length of a segment of some mixture. */
static uint64_t
some_length(enum mixture mixture, uint64_t n)
{
	switch (mixture)
	{
		case TINY:
			return rnd_below(22);
		case THOUSANDS:
			return 500 + rnd_below(1001);
		case POWERS:
			return ((uint64_t) 1 << rnd_below(15)) + rnd_below(3) - 1;
		case EMPTY:
			return rnd_below(20) ? 0 : rnd_below(3000);
		case HUGE:
			return n / 7 + rnd_below(n / 7 + 1);
		case ONE:
			return n;
		case TEN_THOUSANDS:
			return 4000 + rnd_below(12000);
		default:
			return rnd_below(4)	   ? rnd_below(3000) >> rnd_below(12)
				   : rnd_below(40) ? rnd_below(9000)
								   : rnd_below(n / 3 + 1);
	}
}

/* Begins of segments: the first ones of n items, some gaps where gaps are asked for. */
static uint64_t
make_starts(enum mixture mixture, uint64_t n, uint64_t first, uint64_t **starts)
{
	uint64_t room = 64, segments = 0, at = first;

	*starts = malloc(room * 8);
	(*starts)[0] = at;
	while (at < n && segments < 200000)
	{
		uint64_t length = some_length(mixture, n - first);

		at = length < n - at ? at + length : n;
		if (++segments + 1 > room)
			*starts = realloc(*starts, (room *= 2) * 8);
		(*starts)[segments] = at;
	}
	return segments;
}

/* Changes keys; first: how many the first segment has. */
static void
twist_keys(const segments_case *c, uint8_t *k, uint64_t first)
{
	static const uint32_t special32[] = {0, 0x80000000, 0x7fc00000, 0xffc00001, 0x7f800001};
	static const uint64_t special64[] = {0, 1ull << 63, 0x7ff8ull << 48, 0xfff8ull << 48 | 1, 0x7ff0ull << 48 | 1};
	const size_t width = gs_type_width(c->type);
	const unsigned high = 8 * (unsigned) width - 8;

	if (c->twist == ALIKE)
		for (uint64_t i = 0; i < c->amount; i++)
		{
			uint64_t x = width == 8 ? 0x4123456789ab0000ull + (rnd() >> 48) : 0x41234500 + (rnd() >> 56);

			memcpy(k + (c->first + rnd_below(first)) * width, &x, width);
		}
	for (uint64_t i = 0; i < c->n && c->twist > ALIKE; i++)
	{
		uint64_t x = 0, in_first = i - c->first;

		memcpy(&x, k + i * width, width);
		if (c->twist == DISTINCT)
			x = (rnd_below(c->amount) + 1) * 0x9e3779b97f4a7c15ull >> (64 - 8 * width);
		else if (c->twist == SPECIAL && rnd_below(100) < c->amount)
			x = width == 4 ? special32[rnd_below(5)] : special64[rnd_below(5)];
		else if (c->twist == BUCKET && in_first < first)
		{
			/* spread over the segment, by a step that has no divisor in common with its length */
			const bool inside = in_first * 7919 % first < c->amount;

			x &= ((uint64_t) 1 << high) - 1;
			x |= (inside ? 0x41ull : (0x42 + rnd_below(255)) & 0xff) << high;
		}
		memcpy(k + i * width, &x, width);
	}
}

static void
run_case(const segments_case *c)
{
	const gs_type type = c->type;
	const bool desc = c->desc;
	const uint64_t n = c->n;
	const size_t vw = c->value_width, offset = c->offset;
	size_t width = gs_type_width(type), bytes;
	array keys = make_array(n * width, offset * width), out = make_array(n * width, offset * width);
	array values = make_array(n * vw, offset * vw), out_values = make_array(n * vw, offset * vw);
	uint8_t *k = malloc(n * width + 8), *v = malloc(n * vw + 8), *want = malloc(n * 8 + 8);
	uint64_t *numbers = malloc(n * 8 + 8), *starts, segments, bad = 0;
	uint32_t *order = malloc(n * 4 + 4);
	array offsets, temp;

	segments = make_starts(c->mixture, n, c->first, &starts);
	offsets = make_array((segments + 1) * 8, 0);
	bytes = gs_sort_segments_temp_bytes(engine, type, vw, n, segments);
	temp = make_array(bytes, 0);
	fill_shape(type, c->shape, k, n);
	twist_keys(c, k, starts[1] - c->first);
	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t x = vw == 4 ? i : i * 0x100000001ull;

		memcpy(v + i * vw, &x, vw);
		numbers[i] = key_number(type, k + i * width) ^ (desc ? ~(uint64_t) 0 : 0);
	}
	put(&keys, k, n * width);
	put(&values, v, n * vw);
	put(&offsets, starts, (segments + 1) * 8);
	ok(gs_sort_segments(engine,
						&(gs_sort_request){.key = type,
										   .desc = desc,
										   .keys = keys.data,
										   .out_keys = out.data,
										   .value_width = vw,
										   .values = vw ? values.data : NULL,
										   .out_values = vw ? out_values.data : NULL,
										   .n = n,
										   .starts = offsets.data,
										   .parts = segments},
						temp.data, bytes),
	   "gs_sort_segments");
	memset(order, 0, n * 4);
	for (uint64_t s = 0; s < segments; s++)
	{
		reference_order(numbers + starts[s], starts[s + 1] - starts[s], order + starts[s]);
		for (uint64_t i = starts[s]; i < starts[s + 1]; i++)
			order[i] += (uint32_t) starts[s];
	}
	/* what lies in no segment stays as it was: poisoned */
	for (int array_of = 0; array_of < (vw ? 2 : 1); array_of++)
	{
		size_t w = array_of ? vw : width;
		const uint8_t *from = array_of ? v : k, *got = fetch(array_of ? &out_values : &out, n * w, "output");

		memset(want, 0xa5, n * w);
		for (uint64_t i = starts[0]; i < starts[segments]; i++)
			memcpy(want + i * w, from + order[i] * w, w);
		for (bad = 0; bad < n && memcmp(want + bad * w, got + bad * w, w) == 0; bad++)
			;
		check(
			bad == n,
			"%s of %s%s, values of %zu, %s (%d, %llu), %s segments: %llu items, %llu segments, "
			"offset %zu: wrong at %llu",
			array_of ? "values" : "keys", type_name(type), desc ? " desc" : "", vw, shape_name[c->shape], c->twist,
			(unsigned long long) c->amount, mixture_name[c->mixture], (unsigned long long) n,
			(unsigned long long) segments, offset, (unsigned long long) bad);
	}
	fetch(&temp, bytes, "temp");
	check(memcmp(fetch(&keys, n * width, "input"), k, n * width) == 0, "the input was written to");
	drop(&keys), drop(&out), drop(&values), drop(&out_values), drop(&offsets), drop(&temp);
	free(k), free(v), free(want), free(numbers), free(starts), free(order);
}

static void
all_of(gs_type type, size_t vw)
{
	char name[64];

	snprintf(name, sizeof(name), "segments of %s, values of %zu bytes", type_name(type), vw);
	group(name);
	seed(type * 64 + vw + 5);
	for (int round = 0; round < MIXTURES * (small_only ? 2 : 6); round++)
	{
		enum mixture mixture = (enum mixture) (round % MIXTURES);
		uint64_t most = small_only ? 20000 : rnd_below(4) ? 60000 : 900000, n = 1 + rnd_below(most);
		bool desc = rnd_below(2);
		int shape = (int) rnd_below(SHAPES);
		size_t offset = rnd_below(2) ? 0 : rnd_below(5);
		uint64_t first = rnd_below(3) ? 0 : rnd_below(n);

		if (!skipped())
			run_case(&(segments_case){type, vw, desc, shape, mixture, n, offset, first, NONE, 0});
	}
}

/* One segment of each size around the limits of the ways to sort one. */
static void
limits(void)
{
	/* from 4097 on: tiles, and whole numbers of items to each thread, as in kernels/cuda/tuning/ */
	static const uint64_t sizes[] = {1,		2,	   8,	  16,	 32,	64,	   128,	  256,	 512,  1024,
									 2048,	4096,  4480,  4608,	 5120,	5760,  7040,  8064,	 9600, 9984,
									 10880, 11520, 11904, 13440, 16000, 19840, 23808, 32000, 47616};

	group("segments around limits");
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (int d = -1; d <= 1; d++)
			for (int i = 0; i < 3; i++)
				if (sizes[s] + (uint64_t) d > 0 && !skipped())
					run_case(&(segments_case){types[(s + (size_t) i * 3) % 6], (size_t[]){0, 4, 8}[i],
											  (s + (size_t) i) & 1, (int) rnd_below(SHAPES), ONE,
											  sizes[s] + (uint64_t) d, 0, 0, NONE, 0});
}

/*
 * Buckets of one leading digit, which blocks put in order (arrays/segments_buckets.cu): as long as blocks of each kind
 * hold, and one more or less; crowded ones among others; few different keys; floats that are alike; keys in order,
 * backwards.
 */
static void
buckets(void)
{
	static const uint64_t rooms[] = {4608, 5120, 13824, 20480}, crowds[] = {30, 60, 300, 4000},
						  distinct[] = {2, 3, 64, 1000, 30000}, specials[] = {1, 20, 95};
	static const gs_type types4[] = {GS_U32, GS_I32, GS_F32};
	const uint64_t n = small_only ? 20000 : 150000;

	group("segments' buckets");
	for (int i = 0; i < 6; i++)
	{
		const gs_type type = types4[i % 3];
		const size_t vw = i < 3 ? 0 : 4;

		for (size_t r = 0; r < 4; r++)
			for (uint64_t d = 0; d < 3; d++)
				if (!skipped())
					run_case(&(segments_case){type, vw, r & 1, SHAPE_UNIFORM, ONE, rooms[r] + 3000, d, 0, BUCKET,
											  rooms[r] - 1 + d});
		for (size_t c = 0; c < 4; c++)
			if (!skipped())
				run_case(&(segments_case){type, vw, c & 1, SHAPE_UNIFORM, HUGE, n, 0, 77, ALIKE, crowds[c]});
		for (size_t f = 0; f < 5; f++)
			if (!skipped())
				run_case(&(segments_case){type, vw, f & 1, SHAPE_UNIFORM, HUGE, n, 1, 0, DISTINCT, distinct[f]});
		for (size_t s = 0; s < 3 && type == GS_F32; s++)
			if (!skipped())
				run_case(
					&(segments_case){type, vw, s & 1, SHAPE_UNIFORM, TEN_THOUSANDS, n, 0, 0, SPECIAL, specials[s]});
		for (int shape = 0; shape < SHAPES; shape++)
			if (!skipped())
				run_case(&(segments_case){type, vw, shape & 1, shape, HUGE, n, 0, 0, NONE, 0});
	}
}

/* Every distribution, with so many items that leading digits may do; and with groups of keys that these leave tied. */
static void
many_items(void)
{
	static const uint64_t alike[] = {2, 40, 63, 64, 65, 66, 1000, 100000};
	static const enum mixture large[] = {HUGE, TEN_THOUSANDS, ONE};

	group("segments of many items");
	for (int i = 0; i < 2 * SHAPES; i++)
		run_case(&(segments_case){types[i % 6], (size_t[]){0, 4, 8}[i / 6 % 3], i & 1, i % SHAPES, large[i % 3],
								  4300000 + rnd_below(99999), rnd_below(2), i % 4 ? 0 : 777, NONE, 0});
	group("segments of many items, some nearly alike");
	for (size_t i = 0; i < 24; i++)
		run_case(&(segments_case){types[i % 6], (size_t[]){0, 4, 8}[i / 8], i & 1, SHAPE_UNIFORM, HUGE,
								  5500000 + rnd_below(99999), 0, 0, ALIKE, alike[i % 8]});
}

void
test_segments(void)
{
	if (gs_sort_segments_temp_bytes(engine, GS_U32, 0, 1000, 1) == 0)
		return; /* the engine does not have it */
	for (int t = 0; t < 6; t++)
		for (int w = 0; w < 3; w++)
			all_of(types[t], (size_t[]){0, 4, 8}[w]);
	limits();
	buckets();
	if (!small_only)
		many_items();
}

#ifdef WITH_CUDA

static void
call_case(void *arg)
{
	run_case((const segments_case *) arg);
}

/*
 * Tiles that stand still until the last one is done, the first one of a segment among them: others count their digits.
 * The last tile is of another segment and waits for none of them.  So there are more tiles than multiprocessors, and
 * patience is short: some microseconds, in which none of the tiles of the second round can be done.
 */
void
test_segments_stall(void)
{
	static const uint32_t tiles[] = {0, 1, 3, 4, 20, 21, 22, 40};

	if (small_only)
		return;
	group("stalled tiles of segments, with fallback");
	for (int round = 0; round < 9; round++)
	{
		segments_case c = {types[round % 6], (size_t[]){0, 4, 8}[round / 3], round & 1, SHAPE_UNIFORM, HUGE, 5000000, 0,
						   0, NONE, 0};

		stalled_call(tiles, 8, 10000, call_case, &c, type_name(c.type));
	}
}

#endif
