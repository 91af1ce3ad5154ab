/*
 * rows.c: heads, comparisons and values of rows of columns, of every type, with NULLs, in an order.
 */
#include "scan_test.h"

#define MOST_BYTES 3 /* of a string */

/* A column in host memory. */
typedef struct rows_column
{
	gs_type type;
	uint64_t n;
	uint8_t *values, *heap; /* GS_BYTES: values are offsets */
	uint64_t *nulls;		/* NULL: none */
	array on_values, on_nulls, on_heap;
	gs_column there;
} rows_column;

static size_t
values_bytes(gs_type type, uint64_t n)
{
	return type == GS_BYTES ? (n + 1) * sizeof(uint32_t) : n * gs_type_width(type);
}

static void
make_column(rows_column *c, gs_type type, uint64_t n, bool nulls)
{
	size_t bytes = values_bytes(type, n), words = (n + 63) / 64;
	uint32_t at = 0;

	*c = (rows_column){.type = type, .n = n, .values = calloc(bytes + 16, 1), .heap = malloc(n * MOST_BYTES + 1)};
	if (type != GS_BYTES)
		fill_runs(type, c->values, n, 3, true);
	for (uint64_t r = 0; type == GS_BYTES && r < n; r++)
	{
		for (uint64_t length = rnd() % 3 ? 0 : rnd() % (MOST_BYTES + 1); length > 0; length--)
			c->heap[at++] = (uint8_t) (rnd() % 2 * 200);
		((uint32_t *) c->values)[r + 1] = at;
	}
	c->on_values = make_array(bytes, 0);
	put(&c->on_values, c->values, bytes);
	c->there = (gs_column){{type, false, false}, c->on_values.data, NULL, NULL};
	c->on_heap = make_array(at, 0);
	put(&c->on_heap, c->heap, at);
	if (type == GS_BYTES)
		c->there.heap = c->on_heap.data;
	if (!nulls)
		return;
	c->nulls = malloc(words * 8 + 8);
	for (uint64_t w = 0; w < words; w++)
		c->nulls[w] = rnd() & rnd();
	c->on_nulls = make_array(words * 8, 0);
	put(&c->on_nulls, c->nulls, words * 8);
	c->there.nulls = c->on_nulls.data;
}

static void
drop_column(rows_column *c)
{
	drop(&c->on_values), drop(&c->on_heap);
	if (c->nulls != NULL)
		drop(&c->on_nulls);
	free(c->values), free(c->heap), free(c->nulls);
}

static bool
null_at(const rows_column *c, uint64_t r)
{
	return c->nulls != NULL && (c->nulls[r / 64] >> r % 64 & 1);
}

/* A value as a number in its type's order. */
static unsigned __int128
number(gs_type type, const uint8_t *p)
{
	size_t width = gs_type_width(type);
	unsigned __int128 x = 0;

	memcpy(&x, p, width);
	if (type == GS_F32)
		return gs_float_order32((uint32_t) x, true);
	if (type == GS_F64)
		return gs_float_order64((uint64_t) x, true);
	return gs_type_is_signed(type) ? x ^ (unsigned __int128) 1 << (8 * width - 1) : x;
}

/* How a row's value compares with another value, or a string of some bytes. */
static int
sign(const rows_column *c, uint64_t r, const uint8_t *value, size_t bytes)
{
	const uint32_t *offsets = (const uint32_t *) c->values;
	size_t width = gs_type_width(c->type), length, common;
	int s;

	if (width > 0)
	{
		unsigned __int128 a = number(c->type, c->values + r * width), b = number(c->type, value);

		return (a > b) - (a < b);
	}
	length = offsets[r + 1] - offsets[r];
	common = length < bytes ? length : bytes;
	s = memcmp(c->heap + offsets[r], value, common);
	return s != 0 ? (s > 0) - (s < 0) : (length > bytes) - (length < bytes);
}

/* A row's bytes. */
static const uint8_t *
value_of(const rows_column *c, uint64_t r, size_t *bytes)
{
	const uint32_t *offsets = (const uint32_t *) c->values;

	*bytes = gs_type_width(c->type);
	if (*bytes > 0)
		return c->values + r * *bytes;
	*bytes = offsets[r + 1] - offsets[r];
	return c->heap + offsets[r];
}

/* ---------------------------------------------------------------- the calls */

static void
heads(const rows_column *columns, uint32_t ncolumns, const uint32_t *order, const array *on_order)
{
	uint64_t n = columns->n, bad = 0;
	gs_column there[2] = {columns[0].there, columns[1].there};
	array o = make_array((n + 63) / 64 * 8, 0);
	const uint64_t *bits;

	ok(gs_heads(engine, there, ncolumns, order != NULL ? on_order->data : NULL, n, (uint64_t *) o.data), "gs_heads");
	bits = fetch(&o, (n + 63) / 64 * 8, "heads");
	for (uint64_t i = 0; i < (n + 63) / 64 * 64; i++)
	{
		bool head = i == 0;

		for (uint32_t c = 0; i > 0 && i < n && c < ncolumns; c++)
		{
			uint64_t a = order != NULL ? order[i - 1] : i - 1, b = order != NULL ? order[i] : i;
			bool null_a = null_at(&columns[c], a), null_b = null_at(&columns[c], b);
			size_t bytes;
			const uint8_t *value = value_of(&columns[c], b, &bytes);

			head |= null_a != null_b || (!null_a && sign(&columns[c], a, value, bytes) != 0);
		}
		bad += (bits[i / 64] >> i % 64 & 1) != head;
	}
	check(bad == 0, "heads %s, %u columns, n=%llu, NULLs %d, order %d: %llu wrong", type_name(columns->type), ncolumns,
		  (unsigned long long) n, columns->nulls != NULL, order != NULL, (unsigned long long) bad);
	drop(&o);
}

static void
compare(const rows_column *c, gs_comparison comparison)
{
	static const uint8_t none[16];
	size_t bytes = gs_type_width(c->type);
	const uint8_t *value = c->n > 0 ? value_of(c, rnd() % c->n, &bytes) : none;
	array o = make_array((c->n + 63) / 64 * 8, 0), constant = make_array(bytes, 0);
	const uint64_t *bits;
	uint64_t bad = 0;

	put(&constant, value, bytes);
	ok(gs_compare(engine, &c->there, c->n, comparison, c->type == GS_BYTES ? constant.data : value, bytes,
				  (uint64_t *) o.data),
	   "gs_compare");
	bits = fetch(&o, (c->n + 63) / 64 * 8, "compare");
	for (uint64_t r = 0; r < (c->n + 63) / 64 * 64; r++)
	{
		int s = r < c->n ? sign(c, r, value, bytes) : 0;
		bool holds[] = {s == 0, s != 0, s < 0, s <= 0, s > 0, s >= 0};

		bad += (bits[r / 64] >> r % 64 & 1) != (r < c->n && !null_at(c, r) && holds[comparison]);
	}
	check(bad == 0, "compare %s, comparison %d, n=%llu, NULLs %d: %llu wrong", type_name(c->type), (int) comparison,
		  (unsigned long long) c->n, c->nulls != NULL, (unsigned long long) bad);
	drop(&o), drop(&constant);
}

/* Values as they are, or widened to 64 bits. */
static void
values(const rows_column *c, bool widened, const uint32_t *order, const array *on_order)
{
	gs_type result = !widened ? c->type : gs_type_is_signed(c->type) ? GS_I64 : GS_U64;
	size_t from = gs_type_width(c->type), to = gs_type_width(result);
	array o = make_array(c->n * to, 0);
	uint8_t null_value[16], want[16];
	const uint8_t *got;
	uint64_t bad = 0;

	memset(null_value, 0x5a, sizeof(null_value));
	ok(gs_values(engine, &c->there, order != NULL ? on_order->data : NULL, c->n, result, null_value, o.data),
	   "gs_values");
	got = fetch(&o, c->n * to, "values");
	for (uint64_t i = 0; i < c->n; i++)
	{
		uint64_t r = order != NULL ? order[i] : i;

		memset(want, gs_type_is_signed(c->type) && c->values[(r + 1) * from - 1] & 0x80 ? 0xff : 0, sizeof(want));
		memcpy(want, c->values + r * from, from);
		bad += memcmp(got + i * to, null_at(c, r) ? null_value : want, to) != 0;
	}
	check(bad == 0, "values %s as %s, n=%llu, NULLs %d, order %d: %llu wrong", type_name(c->type), type_name(result),
		  (unsigned long long) c->n, c->nulls != NULL, order != NULL, (unsigned long long) bad);
	drop(&o);
}

static void
all_of(gs_type type, uint64_t n, bool nulls)
{
	bool integer = type != GS_BYTES && type != GS_U128 && !gs_type_is_float(type);
	uint32_t *order = malloc(n * 4 + 4);
	array on_order = make_array(n * 4, 0);
	rows_column columns[2];

	make_column(&columns[0], type, n, nulls);
	make_column(&columns[1], GS_I16, n, !nulls);
	for (uint64_t i = 0; i < n; i++)
		order[i] = (uint32_t) (rnd() % 4 ? i : rnd() % n);
	put(&on_order, order, n * 4);
	for (uint32_t ncolumns = 1; ncolumns <= 2; ncolumns++)
	{
		heads(columns, ncolumns, NULL, NULL);
		heads(columns, ncolumns, order, &on_order);
	}
	for (gs_comparison c = GS_EQ; c <= GS_GE; c++)
		compare(columns, c);
	for (int widened = 0; widened <= integer && type != GS_BYTES; widened++)
	{
		values(columns, widened, NULL, NULL);
		values(columns, widened, order, &on_order);
	}
	drop(&on_order), drop_column(&columns[0]), drop_column(&columns[1]);
	free(order);
}

/* Positions of bits that are set one in so many times (0: none). */
static void
positions(uint64_t n, uint32_t one_in)
{
	uint64_t words = (n + 63) / 64, found = 0, *bits = calloc(words + 1, 8);
	uint32_t *expected = malloc(n * 4 + 4);
	array on_bits = make_array(words * 8, 8), out = make_array(n * 4, 4), count = make_array(8, 0);
	size_t temp = gs_select_temp_bytes(engine, GS_U32, n);

	for (uint64_t i = 0; i < n; i++)
		if (one_in > 0 && rnd() % one_in == 0)
			bits[i / 64] |= (uint64_t) 1 << i % 64;
	for (uint64_t i = 0; i < n; i++)
		if (bits[i / 64] >> i % 64 & 1)
			expected[found++] = (uint32_t) i;
	put(&on_bits, bits, words * 8);
	poison(&out), poison(&count);
	ok(gs_positions(engine, on_bits.data, n, out.data, count.data, temp_of(temp), temp), "gs_positions");
	check(*(const uint64_t *) fetch(&count, 8, "count") == found, "%llu positions, one in %u: count",
		  (unsigned long long) n, one_in);
	check(memcmp(fetch(&out, n * 4, "positions"), expected, found * 4) == 0, "%llu positions, one in %u",
		  (unsigned long long) n, one_in);
	drop(&on_bits), drop(&out), drop(&count);
	free(bits), free(expected);
}

void
test_rows(void)
{
	static const uint64_t some[] = {0, 1, 2, 63, 64, 65, 128, 1000, 5001};

	group("rows of columns");
	seed(77);
	for (gs_type type = GS_U8; type <= GS_BYTES; type++)
		for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++)
			for (int nulls = 0; nulls < 2; nulls++)
				if (!skipped())
					all_of(type, some[i], nulls);
	group("positions of bits");
	for (int i = 0; i < nsizes; i++)
		for (uint32_t one_in = 0; one_in < 400; one_in = 7 * one_in + 1)
			if (!skipped() && (sizes[i] <= 20000 || !small_only))
				positions(sizes[i], one_in);
}
