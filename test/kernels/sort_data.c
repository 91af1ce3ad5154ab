/*
 * sort_data.c: hostile distributions, and a plain stable sort to compare with.
 */
#include "sort_test.h"

#include <math.h>

const char *const shape_name[SHAPES] = {"uniform",	"few",		 "equal",	"zipf",		"sorted",  "reversed",
										"sawtooth", "displaced", "outlier", "extremes", "bits 27", "bits 45",
										"clusters", "floats",	 "bits 20", "bits 30"};

uint64_t
shape_value(int shape, uint64_t row, uint64_t rows)
{
	static const uint64_t extremes[] = {
		0, 1, 1ull << 63, (1ull << 63) - 1, ~0ull, 0x7ff8000000000000ull, 0x7fc00000, 0x80000000};

	switch (shape)
	{
		case 0:
			return rnd();
		case 1:
			return rnd_below(5) * 50;
		case 2:
			return 77;
		case 3:
			return (uint64_t) exp((double) (rnd() >> 11) / 9007199254740992.0 * 20);
		case 4:
			return row / 2;
		case 5:
			return rows - row;
		case 6:
			return row % 1000;
		case 7:
			return rnd_below(100) ? row : rnd_below(rows);
		case 8:
			return row == rows / 3 ? 1ull << 62 : rnd_below(1000);
		case 9:
			return extremes[rnd_below(8)] >> (rnd_below(2) ? 0 : rnd_below(64));
		case 10:
			return 123456789012ull + (rnd() >> 37);
		case 11:
			return rnd() >> 19;
		case 12:
			return (rnd_below(40) << 50) + rnd_below(100000);
		case SHAPE_BITS20:
			return 987654321 + (rnd() >> 44);
		case SHAPE_BITS30:
			return rnd() >> 34;
		default:
		{
			double d = (double) (int64_t) rnd() / (double) (1ull << rnd_below(64));
			float f = (float) d;
			uint64_t x;
			uint32_t y;

			memcpy(&x, &d, 8);
			memcpy(&y, &f, 4);
			return rows & 1 ? x : y;
		}
	}
}

void
fill_shape(gs_type type, int shape, void *to, uint64_t n)
{
	static const float corner32[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-45f, -1e-45f, 3.4e38f, 1.0f};
	static const double corner64[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 5e-324, -5e-324, 1.7e308, 1.0};
	size_t width = gs_type_width(type);

	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t x = shape_value(shape, i, n);

		if (shape == SHAPE_EXTREMES && type == GS_F32)
			memcpy(&x, &corner32[rnd_below(10)], 4);
		else if (shape == SHAPE_EXTREMES && type == GS_F64)
			memcpy(&x, &corner64[rnd_below(10)], 8);
		else if (shape == SHAPE_UNIFORM && width == 4)
			x >>= 32;
		memcpy((char *) to + i * width, &x, width);
	}
}

uint64_t
key_number(gs_type type, const void *p)
{
	uint32_t small;
	uint64_t x;

	if (gs_type_width(type) == 4)
	{
		memcpy(&small, p, 4);
		return type == GS_F32 ? gs_float_order32(small, true) : type == GS_I32 ? small ^ 1u << 31 : small;
	}
	memcpy(&x, p, 8);
	return type == GS_F64 ? gs_float_order64(x, true) : type == GS_I64 ? x ^ 1ull << 63 : x;
}

void
reference_order(const uint64_t *numbers, uint64_t n, uint32_t *order)
{
	uint32_t *other = malloc(n * 4 + 4), *from = order, *to = other;
	uint64_t differ = 0;

	for (uint64_t i = 0; i < n; i++)
	{
		order[i] = (uint32_t) i;
		differ |= numbers[i] ^ numbers[0];
	}
	for (int shift = 0; shift < 64; shift += 8)
	{
		uint64_t places[257] = {0};
		uint32_t *swap = from;

		if ((differ >> shift & 255) == 0)
			continue;
		for (uint64_t i = 0; i < n; i++)
			places[(numbers[i] >> shift & 255) + 1]++;
		for (int digit = 0; digit < 256; digit++)
			places[digit + 1] += places[digit];
		for (uint64_t i = 0; i < n; i++)
			to[places[numbers[from[i]] >> shift & 255]++] = from[i];
		from = to;
		to = swap;
	}
	if (from != order)
		memcpy(order, from, n * 4);
	free(other);
}
