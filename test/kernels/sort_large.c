/*
 * sort_large.c: 2^28 - 1 to 2^32 items: positions, counts and launches that small sizes never see.
 *
 * Keys repeat a random pattern of about a million, whose answers need not be worked out: with row numbers for values, a
 * result is right if every value is less than n, every key is what the pattern has there, and (key, value) strictly
 * rises; then no value can be missing.
 */
#include "sort_test.h"

#define PATTERN ((uint64_t) 1000003)
#define PIECE	((uint64_t) 1 << 22)

/* Keys on the engine: pattern, pattern, ... */
static void *
repeated(const void *pattern, size_t width, uint64_t n)
{
	void *keys;

	ok(gs_alloc(engine, n * width, &keys), "gs_alloc");
	for (uint64_t at = 0; at < n; at += PATTERN)
		ok(gs_upload(engine, (char *) keys + at * width, pattern, (n - at < PATTERN ? n - at : PATTERN) * width),
		   "gs_upload");
	ok(gs_sync(engine), "gs_sync");
	return keys;
}

/* Filled with rubbish, so that what was not written cannot look right. */
static void *
poisoned(size_t bytes)
{
	void *p;

	ok(gs_alloc(engine, bytes, &p), "gs_alloc");
	ok(gs_fill(engine, p, 0xa5, bytes), "gs_fill");
	return p;
}

/*
 * Counts what is wrong; keys NULL: those that the pattern has for the values.  shift: leading bits that were sorted by.
 */
static uint64_t
count_wrong(gs_type type, const uint8_t *pattern, const void *keys, const void *values, uint64_t n)
{
	size_t width = gs_type_width(type);
	uint8_t *k = malloc(PIECE * width);
	uint32_t *v = malloc(PIECE * 4);
	uint64_t *numbers = malloc(PATTERN * 8), last = 0, wrong = 0;
	uint32_t last_value = 0;

	for (uint64_t i = 0; i < PATTERN; i++)
		numbers[i] = key_number(type, pattern + i * width);
	for (uint64_t at = 0; at < n; at += PIECE)
	{
		uint64_t m = n - at < PIECE ? n - at : PIECE;

		if (keys != NULL)
			ok(gs_download(engine, k, (const char *) keys + at * width, m * width), "gs_download");
		ok(gs_download(engine, v, (const uint32_t *) values + at, m * 4), "gs_download");
		ok(gs_sync(engine), "gs_sync");
		for (uint64_t i = 0; i < m; i++)
		{
			uint64_t p = v[i] % PATTERN, number = numbers[p];

			wrong += v[i] >= n || (at + i > 0 && (number < last || (number == last && v[i] <= last_value)));
			if (keys != NULL && memcmp(k + i * width, pattern + p * width, width) != 0)
				wrong++;
			last = number;
			last_value = v[i];
		}
	}
	free(k), free(v), free(numbers);
	return wrong;
}

static void
sort_large(gs_type type, int shape, uint64_t n)
{
	size_t width = gs_type_width(type), bytes = gs_sort_temp_bytes(engine, type, 4, n);
	uint8_t *pattern = malloc(PATTERN * width);
	void *keys, *values, *out, *out_values, *temp;
	uint64_t wrong;

	seed(n + type);
	fill_shape(type, shape, pattern, PATTERN);
	keys = repeated(pattern, width, n);
	values = poisoned(n * 4), out = poisoned(n * width), out_values = poisoned(n * 4), temp = poisoned(bytes);
	ok(gs_sequence(engine, GS_U32, values, n, 0, 1), "gs_sequence");
	ok(gs_sort(engine,
			   &(gs_sort_request){.key = type,
								  .keys = keys,
								  .out_keys = out,
								  .value_width = 4,
								  .values = values,
								  .out_values = out_values,
								  .n = n},
			   temp, bytes),
	   "gs_sort");
	wrong = count_wrong(type, pattern, out, out_values, n);
	check(wrong == 0, "%s, %s, n %llu: %llu wrong", type_name(type), shape_name[shape], (unsigned long long) n,
		  (unsigned long long) wrong);
	gs_free(engine, keys), gs_free(engine, values), gs_free(engine, out), gs_free(engine, out_values),
		gs_free(engine, temp);
	free(pattern);
}

/* Keys alone: every key of the pattern comes as often as it did, all in order. */
static void
sort_keys_large(gs_type type, uint64_t n)
{
	size_t width = gs_type_width(type), bytes = gs_sort_temp_bytes(engine, type, 0, n);
	uint8_t *pattern = malloc(PATTERN * width), *k = malloc(PIECE * width);
	uint64_t *numbers = malloc(PATTERN * 8), wrong = 0, p = 0, left = 0;
	uint32_t *order = malloc(PATTERN * 4);
	void *keys, *out, *temp;

	seed(n + type);
	fill_shape(type, SHAPE_UNIFORM, pattern, PATTERN);
	for (uint64_t i = 0; i < PATTERN; i++)
		numbers[i] = key_number(type, pattern + i * width);
	reference_order(numbers, PATTERN, order);
	keys = repeated(pattern, width, n), out = poisoned(n * width), temp = poisoned(bytes);
	ok(gs_sort(engine, &(gs_sort_request){.key = type, .keys = keys, .out_keys = out, .n = n}, temp, bytes), "gs_sort");
	for (uint64_t at = 0; at < n; at += PIECE)
	{
		uint64_t m = n - at < PIECE ? n - at : PIECE;

		ok(gs_download(engine, k, (const char *) out + at * width, m * width), "gs_download");
		ok(gs_sync(engine), "gs_sync");
		for (uint64_t i = 0; i < m; i++)
		{
			if (left == 0)
			{
				uint32_t place = order[at + i > 0 ? ++p : 0];

				left = n / PATTERN + (place < n % PATTERN);
			}
			left--;
			wrong += memcmp(k + i * width, pattern + order[p] * width, width) != 0;
		}
	}
	check(wrong == 0, "keys alone, %s, n %llu: %llu wrong", type_name(type), (unsigned long long) n,
		  (unsigned long long) wrong);
	gs_free(engine, keys), gs_free(engine, out), gs_free(engine, temp);
	free(pattern), free(k), free(numbers), free(order);
}

void
test_radix_large(void)
{
	group("radix sort of 2^28 items, one less and one more");
	sort_large(GS_U64, SHAPE_UNIFORM, ((uint64_t) 1 << 28) - 1);
	sort_large(GS_I32, SHAPE_UNIFORM, ((uint64_t) 1 << 28) + 1);
	sort_keys_large(GS_U32, (uint64_t) 1 << 28);
	sort_keys_large(GS_U64, ((uint64_t) 1 << 28) + 1);
	group("radix sort of 2^30 items, one more");
	sort_large(GS_F64, SHAPE_UNIFORM, ((uint64_t) 1 << 30) + 1);
	sort_keys_large(GS_U32, ((uint64_t) 1 << 30) - 1);
	group("radix sort beyond 2^31");
	sort_large(GS_I64, SHAPE_UNIFORM, ((uint64_t) 1 << 31) + 12345);
	sort_keys_large(GS_I32, ((uint64_t) 1 << 31) + 12345);
	group("radix sort of 2^32 items");
	sort_large(GS_U32, SHAPE_UNIFORM, (uint64_t) 1 << 32);
}

static void
order_large(gs_type type, int shape, uint64_t n)
{
	size_t width = gs_type_width(type), bytes;
	uint8_t *pattern = malloc(PATTERN * width);
	gs_column column = {{type, false, false}, NULL, NULL, NULL};
	void *order, *temp;
	gs_order_facts facts;
	uint64_t wrong;
	gs_plan *plan;

	seed(n + type);
	fill_shape(type, shape, pattern, PATTERN);
	column.values = repeated(pattern, width, n);
	order = poisoned(n * 4);
	ok(gs_order_plan(engine, &column, 1, n, &plan), "gs_order_plan");
	bytes = gs_order_temp_bytes(plan);
	temp = poisoned(bytes);
	ok(gs_order_run(engine, plan, temp, bytes, order, &facts), "gs_order_run");
	wrong = count_wrong(type, pattern, NULL, order, n);
	printf("# %s, %s, n %llu: %u bits, %u passes, refined %u, temp %.1f bytes a row\n", type_name(type),
		   shape_name[shape], (unsigned long long) n, facts.key_bits, facts.passes, facts.refined,
		   (double) bytes / (double) n);
	check(wrong == 0, "order of %s, %s, n %llu: %llu wrong", type_name(type), shape_name[shape], (unsigned long long) n,
		  (unsigned long long) wrong);
	gs_plan_free(engine, plan);
	gs_free(engine, (void *) column.values), gs_free(engine, order), gs_free(engine, temp);
	free(pattern);
}

/* The key of a row, all over the range. */
static uint64_t
spread_key(uint64_t row, uint32_t bits)
{
	uint64_t z = (row + 1) * 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	return ((z ^ (z >> 27)) * 0x94d049bb133111eb) >> (64 - bits);
}

/* Keys that hardly repeat, which leading digits and buckets may sort; (key, row) must strictly rise. */
static void
order_spread(uint32_t bits, uint64_t n)
{
	uint64_t *piece = malloc(PIECE * 8), wrong = 0, last_key = 0, last_row = 0;
	gs_column column = {{GS_I64, false, false}, NULL, NULL, NULL};
	void *values, *order, *temp;
	gs_order_facts facts;
	gs_plan *plan;
	size_t bytes;

	ok(gs_alloc(engine, n * 8, &values), "gs_alloc");
	for (uint64_t at = 0; at < n; at += PIECE)
	{
		uint64_t m = n - at < PIECE ? n - at : PIECE;

		for (uint64_t i = 0; i < m; i++)
			piece[i] = spread_key(at + i, bits);
		ok(gs_upload(engine, (char *) values + at * 8, piece, m * 8), "gs_upload");
		ok(gs_sync(engine), "gs_sync");
	}
	column.values = values;
	order = poisoned(n * 4);
	ok(gs_order_plan(engine, &column, 1, n, &plan), "gs_order_plan");
	bytes = gs_order_temp_bytes(plan);
	temp = poisoned(bytes);
	ok(gs_order_run(engine, plan, temp, bytes, order, &facts), "gs_order_run");
	for (uint64_t at = 0; at < n; at += PIECE)
	{
		uint64_t m = n - at < PIECE ? n - at : PIECE;
		const uint32_t *rows = (const uint32_t *) piece;

		ok(gs_download(engine, piece, (const char *) order + at * 4, m * 4), "gs_download");
		ok(gs_sync(engine), "gs_sync");
		for (uint64_t i = 0; i < m; i++)
		{
			uint64_t row = rows[i], key = spread_key(row, bits);

			wrong += row >= n || (at + i > 0 && (key < last_key || (key == last_key && row <= last_row)));
			last_key = key, last_row = row;
		}
	}
	printf("# %u bits, n %llu: %u passes\n", bits, (unsigned long long) n, facts.passes);
	check(wrong == 0, "order of spread keys of %u bits, n %llu: %llu wrong", bits, (unsigned long long) n,
		  (unsigned long long) wrong);
	gs_plan_free(engine, plan);
	gs_free(engine, values), gs_free(engine, order), gs_free(engine, temp);
	free(piece);
}

void
test_order_large(void)
{
	static const int64_t near[] = {-1, 1};

	for (int i = 0; i < 2; i++)
	{
		group("row order of about 2^28 rows");
		order_large(GS_I64, SHAPE_BITS27, (uint64_t) (((int64_t) 1 << 28) + near[i]));
		order_large(GS_I64, SHAPE_UNIFORM, (uint64_t) (((int64_t) 1 << 28) + near[i]));
		order_large(GS_I64, SHAPE_BITS20, (uint64_t) (((int64_t) 1 << 28) + near[i]));
		group("row order of about 2^30 rows");
		order_large(GS_I32, SHAPE_UNIFORM, (uint64_t) (((int64_t) 1 << 30) + near[i]));
		order_large(GS_I64, SHAPE_BITS45, (uint64_t) (((int64_t) 1 << 30) + near[i]));
		order_large(GS_I64, SHAPE_BITS30, (uint64_t) (((int64_t) 1 << 30) + near[i]));
		order_large(GS_I64, SHAPE_BITS27, (uint64_t) (((int64_t) 1 << 30) + near[i]));
	}
	group("row order of spread keys, to 2^31 rows");
	order_spread(36, ((uint64_t) 1 << 28) - 1);
	order_spread(40, ((uint64_t) 1 << 28) + 1);
	order_spread(36, ((uint64_t) 1 << 28) + ((uint64_t) 1 << 26) + 1);
	order_spread(40, (uint64_t) 1 << 31);
	order_large(GS_I64, SHAPE_BITS27, (uint64_t) 1 << 31);
	order_large(GS_I64, SHAPE_BITS27, ((uint64_t) 1 << 31) - 12345);
	group("row order of more than 2^31 rows");
	order_spread(40, ((uint64_t) 1 << 31) + 1);
	order_large(GS_I32, SHAPE_UNIFORM, ((uint64_t) 1 << 31) + 12345);
	order_large(GS_I64, SHAPE_BITS27, ((uint64_t) 1 << 31) + 12345);
	order_large(GS_I64, SHAPE_UNIFORM, ((uint64_t) 1 << 31) + 12345);
}
