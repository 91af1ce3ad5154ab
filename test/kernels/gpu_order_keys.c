/*
 * gpu_order_keys.c: keys made to measure: of so many bits, and of buckets of all kinds.
 */
#include "gpu_orders.h"
#include "kernels/cuda/base/sort_testing.h"

/* A column of keys of so many bits, from a base on that is no multiple of 2^bits. */
static void
make_narrow(column *c, gs_type type, uint32_t bits, int kind, uint64_t rows)
{
	static const char *const kinds[] = {
		"uniform", "few", "mostly one", "lowest digit alike", "highest digit alike", "nearly in order"};
	const uint64_t mask = ((uint64_t) 1 << bits) - 1, base = mask / 3 + (rnd_below(2) ? mask + 1 : 0);
	size_t width = gs_type_width(type);
	uint8_t *v = malloc(rows * width + 16);

	memset(c, 0, sizeof(*c));
	c->host.spec = (gs_column_spec){type, rnd_below(2), false};
	for (uint64_t r = 0; r < rows; r++)
	{
		uint64_t x = rnd() & mask;

		if (kind == 1)
			x = x % 5 * (mask / 5);
		else if (kind == 2)
			x = rnd_below(30) ? mask / 7 : x;
		else if (kind == 3)
			x = rnd_below(100) ? x & ~(uint64_t) 1023 : x;
		else if (kind == 4)
			x = rnd_below(100) ? x & mask >> 8 : x;
		else if (kind == 5)
			x = rnd_below(1000) ? (uint64_t) ((double) r / (double) rows * (double) mask) : x;
		x = base + (r == 0 ? mask : r == rows / 2 ? 0 : x);
		memcpy(v + r * width, &x, width);
	}
	c->host.values = v;
	c->values_bytes = rows * width;
	sprintf(c->text, "type %d of %u bits, %s", type, bits, kinds[kind]);
}

/*
 * Keys of which digits of 10 bits save a pass, and their neighbours, around the tiles' sizes; and that they do save it,
 * if the device has room for such passes, which 10 bits in one pass show.
 */
int
narrow_keys(gs_engine *cpu, gs_engine *gpu, uint64_t most, int each)
{
	static const struct { uint32_t bits, passes[3]; } keys[] = {
		{10, {1, 2, 2}}, {9, {1, 1, 2}}, {11, {2, 2, 2}}, {18, {2, 2, 3}}, {19, {2, 3, 3}}, {20, {2, 3, 3}},
		{21, {3, 3, 3}}, {27, {3, 3, 4}}, {28, {3, 4, 4}}, {29, {3, 4, 4}}, {30, {3, 4, 4}}, {31, {4, 4, 4}}};
	static const uint64_t tiles[] = {15232, 15360, 16000, 22400};
	int widest = 2; /* digits of the device: 0 of up to 10 bits, 1 of 9, 2 of 8 */
	int failed = 0;

	/* for slow checkers: the first two, which tell what the device has, and every third */
	for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++)
		for (int i = 0; i < each && (each > 1 || k < 2 || k % 3 == 0); i++)
		{
			gs_type type = i % 2 ? GS_I32 : GS_I64;
			uint64_t tiled = tiles[rnd_below(4)] * (1 + rnd_below(each > 1 ? 5 : 2)) + rnd_below(3) - 1;
			uint64_t rows = i < 6 ? tiled : 2 + rnd_below(most - 1);
			gs_order_facts facts;
			column c;

			make_narrow(&c, type, keys[k].bits, i % 6, rows);
			sprintf(now, "%s, %llu rows", c.text, (unsigned long long) rows);
			failed += compare(cpu, gpu, &c, 1, rows, "few bits");
			if (i == 0)
			{
				free(order_on(gpu, &c, 1, rows, &facts));
				if (k < 2 && widest == 2 && facts.passes == 1)
					widest = (int) k;
				check(facts.passes == keys[k].passes[widest], "%u passes for %u bits", facts.passes, keys[k].bits);
				failed += facts.passes != keys[k].passes[widest];
			}
			free((void *) c.host.values);
		}
	printf("# digits of up to %d bits\n", 10 - widest);
	return failed;
}

/*
 * A column of keys that buckets by leading digits can trip over (kernels/cuda/order/buckets.cu): evenly spread but for
 * what the kind says.
 */
static void
make_buckets(column *c, gs_type type, int kind, uint64_t rows)
{
	static const char *const kinds[] = {"even",
										"one crowded bucket",
										"clumps",
										"few rows of each value",
										"a little over a power of two",
										"two clusters and an outlier",
										"words tie",
										"many words tie",
										"one value often",
										"bell",
										"two clusters, between them half of all values",
										"one bucket, and a row at the other end",
										"the upper half, and a row at the other end"};
	static const uint64_t crowds[] = {700, 1500, 2900, 3072, 3073, 6000, 50000};
	static const uint64_t alike[] = {2, 3, 8, 40, 70, 300};
	const uint32_t bits = gs_type_width(type) == 4 ? 24 + (uint32_t) rnd_below(8) : 30 + (uint32_t) rnd_below(34);
	const uint64_t mask = ((uint64_t) 1 << bits) - 1, crowd = crowds[rnd_below(7)], each = alike[rnd_below(6)],
				   place = rnd() & mask;
	const uint64_t values = rows / each + 1, base = rnd_below(2) ? mask / 3 : 0;
	uint8_t *v = malloc(rows * gs_type_width(type) + 16);

	memset(c, 0, sizeof(*c));
	c->host.spec = (gs_column_spec){type, rnd_below(2), false};
	for (uint64_t r = 0; r < rows; r++)
	{
		uint64_t x = rnd() & mask, some = rnd_below(values) * 0x9e3779b97f4a7c15 & mask;

		if (kind == 1 && rnd_below(rows) < crowd)
			x = place ^ (rnd() & mask >> 20);
		else if (kind == 2)
			x = some ^ (rnd() & 3);
		else if (kind == 3)
			x = some;
		else if (kind == 4)
			x = x % (mask / 2 + mask / 64);
		else if (kind == 5)
			x = r == 0 ? mask : (x >> 2) + (rnd_below(2) ? mask / 2 : 0);
		else if (kind == 6 || kind == 7)
			x = (some & ~(mask >> (kind == 6 ? bits - 6 : bits - 16))) |
				(x & mask >> (kind == 6 ? bits - 6 : bits - 16));
		else if (kind == 8 && rnd_below(rows) < each)
			x = place;
		else if (kind == 9)
			x = (x + (rnd() & mask) + (rnd() & mask) + (rnd() & mask)) / 4;
		else if (kind == 10)
			x = (x >> 2) + (rnd_below(2) ? mask - mask / 4 : 0);
		x += base;
		if (kind >= 11) /* of all bits, by their order, whichever it is: a tile from one end to the other */
		{
			const uint64_t whole = gs_type_width(type) == 4 ? UINT32_MAX : UINT64_MAX;

			x = kind == 11 ? whole / 4 * 3 - (rnd() & whole >> 11) : whole - (rnd() & whole / 2);
			x = r == 0 ? 0 : x;
			x = (c->host.spec.desc ? ~x : x) ^ (whole / 2 + 1);
		}
		memcpy(v + r * gs_type_width(type), &x, gs_type_width(type));
	}
	c->host.values = v;
	c->values_bytes = rows * gs_type_width(type);
	sprintf(c->text, "type %d of %u bits, %s; crowd %llu, alike %llu", type, bits, kinds[kind],
			(unsigned long long) crowd, (unsigned long long) each);
}

/*
 * Such keys, alone and behind a column of few values, at sizes around tiles and where the way by leading digits begins.
 */
int
bucket_keys(gs_engine *cpu, gs_engine *gpu, uint64_t most, int each)
{
	static const uint64_t sizes[] = {3071,	 3072,	 3073,	 6143,	 6145,	  46080,   131071, 131072,
									 131073, 163840, 163841, 327681, 1310720, 1310721, 2621441};
	int failed = 0;

	for (int kind = 0; kind < 13; kind++)
		for (int i = 0; i < each; i++)
		{
			uint64_t rows = rnd_below(3) ? sizes[rnd_below(15)] : 2 + rnd_below(most - 1);
			column c[2];

			rows = rows > most ? most : rows;
			make_buckets(&c[1], i % 3 == 2 ? GS_I32 : GS_I64, kind, rows);
			make_narrow(&c[0], GS_I32, 1 + (uint32_t) rnd_below(4), 0, rows);
			sprintf(now, "%s, %llu rows", c[1].text, (unsigned long long) rows);
			failed += compare(cpu, gpu, i % 4 == 3 ? c : c + 1, i % 4 == 3 ? 2 : 1, rows, "buckets");
			free((void *) c[0].host.values);
			free((void *) c[1].host.values);
		}
	return failed;
}

/*
 * A column of few bits, whose range is guessed from a sample, and what that can trip over: values that a sample does
 * not see, digits that are missing or crowded in some tiles, ends of the type.
 */
static void
make_sampled(column *c, gs_type type, uint32_t bits, int kind, uint64_t rows)
{
	static const char *const kinds[] = {"even",
										"few",
										"one far off",
										"one a little outside",
										"one with a lower bit",
										"digits that come late",
										"clumps",
										"at the least value",
										"at the greatest value",
										"mostly one",
										"one far below",
										"few, then many",
										"at the least value, one at the greatest",
										"at the greatest value, one at the least",
										"lowest digit: one often, all others seldom"};
	const bool wide = gs_type_width(type) == 8, is_signed = type == GS_I32 || type == GS_I64;
	const uint64_t all = wide ? UINT64_MAX : UINT32_MAX, mask = ((uint64_t) 1 << bits) - 1, odd = rnd_below(rows),
				   least = is_signed ? all ^ all >> 1 : 0;
	uint64_t base = kind == 7 || kind == 12	  ? least
					: kind == 8 || kind == 13 ? least - 1 - mask
											  : least + (all >> 2) + (rnd() & mask);
	uint8_t *v = malloc(rows * gs_type_width(type) + 16);

	memset(c, 0, sizeof(*c));
	c->host.spec = (gs_column_spec){type, rnd_below(2), false};
	for (uint64_t r = 0; r < rows; r++)
	{
		uint64_t x = rnd() & mask;

		if (kind == 1)
			x = x % 7 * (mask / 7);
		else if (kind == 2 && r == odd)
			x += mask << (wide ? 20 : 3);
		else if (kind == 3 && r == odd)
			x = mask + 1 + rnd_below(5);
		else if (kind == 4)
			x = (x & ~(uint64_t) 7) | (r == odd);
		else if (kind == 5)
			x = r < rows / 2 ? (x & ~(uint64_t) 511) | x % 3 : x;
		else if (kind == 6)
			x = (r / 700 * 0x9e3779b97f4a7c15 & mask & ~(uint64_t) 63) | (x & 3);
		else if (kind == 9)
			x = rnd_below(20) ? mask / 3 : x;
		else if (kind == 10 && r == odd)
			x -= mask << (wide ? 30 : 2);
		else if (kind == 11)
			x = r < rows / 3 ? x & 7 : x;
		else if (kind == 12 && r == odd)
			x = UINT64_MAX - rnd_below(3);
		else if (kind == 13 && r == odd)
			x = mask + 1 + rnd_below(3);
		else if (kind == 14)
			x = rnd_below(3) ? x & ~(uint64_t) 511 : x;
		x += base;
		memcpy(v + r * gs_type_width(type), &x, gs_type_width(type));
	}
	c->host.values = v;
	c->values_bytes = rows * gs_type_width(type);
	sprintf(c->text, "type %d of %u bits, %s", type, bits, kinds[kind]);
}

/* Such keys, at sizes around the passes' tiles. */
int
sampled_keys(gs_engine *cpu, gs_engine *gpu, uint64_t most, int each)
{
	static const uint64_t sizes[] = {16383, 16384, 16385, 32768, 49153, 15232,
									 15233, 15360, 15361, 30720, 76799, 150000};
	static const uint32_t widths[] = {19, 21, 22, 24, 25, 26, 27, 27, 27, 28};
	static const gs_type types[] = {GS_I64, GS_I32, GS_U64, GS_U32};
	int failed = 0;

	for (int kind = 0; kind < 15; kind += each > 1 ? 1 : 3)
		for (int i = 0; i < each; i++)
		{
			uint64_t rows = rnd_below(3) ? sizes[rnd_below(12)] : 2 + rnd_below(most - 1);
			column c;

			rows = rows > most ? most : rows;
			make_sampled(&c, types[rnd_below(3) ? 0 : rnd_below(4)], widths[rnd_below(10)], kind, rows);
			sprintf(now, "%s, %llu rows", c.text, (unsigned long long) rows);
			failed += compare(cpu, gpu, &c, 1, rows, "sampled");
			free((void *) c.host.values);
		}
	return failed;
}
