/*
 * scan_data.c: sizes and values of the scan family's tests.
 */
#include "scan_test.h"

/* A tile has 3072 to 15360 items; warps of the GPU have 20 x 32 of 4 bytes, vectors 16 bytes. */
const uint64_t sizes[] = {0,	 1,		2,	   3,	  4,	 5,		7,	   8,	   15,	   16,	   17,	  19,
						  20,	 21,	31,	   32,	  33,	 63,	64,	   65,	   127,	   128,	   129,	  255,
						  256,	 639,	640,   641,	  1023,	 1024,	1025,  1279,   1280,   1281,   2047,  2048,
						  2559,	 2560,	2561,  3071,  3072,	 3073,	4095,  4096,   4097,   4479,   4480,  4481,
						  5119,	 5120,	5121,  6144,  8191,	 8192,	8193,  10239,  10240,  10241,  12287, 12288,
						  12289, 15361, 20481, 40961, 65535, 65536, 65537, 100003, 262144, 1000003};
const int nsizes = sizeof(sizes) / sizeof(sizes[0]);

void
fill_runs(gs_type type, void *to, uint64_t n, double mean, bool special)
{
	static const float corner32[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-45f, -1e-45f, 3.4e38f, 1.0f};
	static const double corner64[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 5e-324, -5e-324, 1.7e308, 1.0};
	size_t width = gs_type_width(type);
	uint64_t threshold = mean <= 1 ? UINT64_MAX : (uint64_t) (18446744073709551615.0 / mean);
	uint64_t v[2] = {rnd(), rnd()};
	uint8_t *p = to;

	for (uint64_t i = 0; i < n; i++)
	{
		if (rnd() <= threshold)
		{
			v[0] = rnd(), v[1] = rnd();
			if (mean > 1)
				v[0] &= 0xffff0000ffffff7full, v[1] &= 3; /* some runs meet an equal one */
			if (type == GS_F32 || type == GS_F64)
			{
				double d = (double) (int64_t) (v[0] >> 40) / 1024 - 4096;
				float f = (float) d;

				if (type == GS_F32)
					v[0] = 0, memcpy(v, &f, 4);
				else
					memcpy(v, &d, 8);
			}
		}
		if (special && (i + v[1]) % 7 == 0)
		{
			uint64_t r = rnd();

			if (type == GS_F32)
				memcpy(v, &corner32[r % 10], 4);
			else if (type == GS_F64)
				memcpy(v, &corner64[r % 10], 8);
			else
				v[0] =
					r % 3 == 0 ? 0 : (r % 3 == 1 ? ~(uint64_t) 0 : (uint64_t) 1 << (8 * (width > 8 ? 8 : width) - 1));
		}
		else if (special && type == GS_F32 && (v[0] & 0x7fffffff) > 0x7f800000)
			v[0] ^= 0x80000001u; /* another NaN */
		memcpy(p + i * width, v, width);
	}
}
