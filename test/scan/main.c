/*
 * main.c: tests of the scan family on one engine against plain C; output in TAP.
 *
 *   scan-test [cpu | gpu] [small] [tiny] [large] [groups...]
 *
 * "small" keeps to sizes that a memory checker gets through, "tiny" also to every ninth case; "large" runs only the sizes of
 * 2^28 and beyond 2^32.
 */
#include "scan_test.h"

#include <stdarg.h>

#ifdef WITH_CUDA
#include "../../kernels/cuda/stall.h"
#endif

gs_engine *engine;
bool on_gpu, small_only, tiny;

static int groups, failed_groups, failures, cases;
static char group_name[128];

/* A tile has 3072 to 15360 items; warps of the GPU have 20 x 32 of 4 bytes, vectors 16 bytes. */
const uint64_t sizes[] = {0,	 1,		2,	   3,	  4,	 5,		7,	   8,	  15,	 16,	17,	   19,	  20,	 21,	31,
						  32,	 33,	63,	   64,	  65,	 127,	128,   129,	  255,	 256,	639,   640,	  641,	 1023,	1024,
						  1025,	 1279,	1280,  1281,  2047,	 2048,	2559,  2560,  2561,	 3071,	3072,  3073,  4095,	 4096,	4097,
						  5119,	 5120,	5121,  6144,  8191,	 8192,	8193,  10239, 10240, 10241, 12287, 12288, 12289, 15361, 20481,
						  40961, 65535, 65536, 65537, 100003, 262144, 1000003};
const int nsizes = sizeof(sizes) / sizeof(sizes[0]);

static void
end_group(void)
{
	if (groups > 0)
	{
		printf("%s %d - %s (%d cases)\n", failures ? "not ok" : "ok", groups, group_name, cases);
		fflush(stdout);
		failed_groups += failures != 0;
	}
}

void
group(const char *name)
{
	end_group();
	groups++;
	failures = cases = 0;
	snprintf(group_name, sizeof(group_name), "%s", name);
}

bool
skipped(void)
{
	static unsigned cases_asked;

	return tiny && cases_asked++ % 9 != 0;
}

void
check(bool good, const char *format, ...)
{
	va_list list;

	cases++;
	if (good)
		return;
	if (failures++ < 8)
	{
		va_start(list, format);
		printf("# ");
		vprintf(format, list);
		printf("\n");
		va_end(list);
	}
}

int
finish(void)
{
	end_group();
	printf("1..%d\n", groups);
	return failed_groups != 0;
}

/* ---------------------------------------------------------------- arrays */

void
ok(gs_status status, const char *what)
{
	if (status != GS_OK)
	{
		printf("Bail out! %s: %s\n", what, gs_status_text(status));
		exit(2);
	}
}

array
make_array(size_t bytes, size_t offset)
{
	array a = {bytes, offset, NULL, NULL, malloc(bytes + offset + 2 * GUARD)};

	ok(a.copy == NULL ? GS_NOMEM : gs_alloc(engine, bytes + offset + 2 * GUARD, &a.block), "gs_alloc");
	a.data = (char *) a.block + GUARD + offset;
	poison(&a);
	return a;
}

void
poison(array *a)
{
	ok(gs_fill(engine, a->block, 0xa5, a->bytes + a->offset + 2 * GUARD), "gs_fill");
}

void
put(array *a, const void *from, size_t bytes)
{
	ok(gs_upload(engine, a->data, from, bytes), "gs_upload");
}

const void *
fetch(array *a, size_t used, const char *what)
{
	const uint8_t *begin = a->copy + GUARD + a->offset;
	size_t whole = a->bytes + a->offset + 2 * GUARD;
	size_t bad = 0;

	ok(gs_download(engine, a->copy, a->block, whole), "gs_download");
	ok(gs_sync(engine), what);
	if (used > a->bytes)
		used = a->bytes;
	for (const uint8_t *p = a->copy; p < begin; p++)
		bad += *p != 0xa5;
	for (const uint8_t *p = begin + used; p < a->copy + whole; p++)
		bad += *p != 0xa5;
	if (bad)
		check(false, "%s: %zu bytes changed outside of the result of %zu", what, bad, used);
	return begin;
}

void
drop(array *a)
{
	gs_free(engine, a->block);
	free(a->copy);
}

/* Temporary memory, with rubbish in it. */
void *
temp_of(size_t bytes)
{
	static void *block;
	static size_t have;

	if (bytes > have)
	{
		gs_free(engine, block);
		have = bytes * 2;
		ok(gs_alloc(engine, have, &block), "gs_alloc");
	}
	if (bytes > 0)
		ok(gs_fill(engine, block, 0xc3, bytes), "gs_fill");
	return block;
}

/* ---------------------------------------------------------------- data */

static uint64_t state = 1;

void
seed(uint64_t s)
{
	state = s;
}

uint64_t
random64(void)
{
	uint64_t z = (state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

const char *
type_name(gs_type type)
{
	static const char *const names[] = {"u8", "u16", "u32", "u64", "u128", "i16", "i32", "i64", "f32", "f64", "bytes"};

	return names[type];
}

void
fill_runs(gs_type type, void *to, uint64_t n, double mean, bool special)
{
	static const float corner32[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, -NAN, 1e-45f, -1e-45f, 3.4e38f, 1.0f};
	static const double corner64[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, -NAN, 5e-324, -5e-324, 1.7e308, 1.0};
	size_t width = gs_type_width(type);
	uint64_t threshold = mean <= 1 ? UINT64_MAX : (uint64_t) (18446744073709551615.0 / mean);
	uint64_t v[2] = {random64(), random64()};
	uint8_t *p = to;

	for (uint64_t i = 0; i < n; i++)
	{
		if (random64() <= threshold)
		{
			v[0] = random64(), v[1] = random64();
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
			uint64_t r = random64();

			if (type == GS_F32)
				memcpy(v, &corner32[r % 10], 4);
			else if (type == GS_F64)
				memcpy(v, &corner64[r % 10], 8);
			else
				v[0] = r % 3 == 0 ? 0 : (r % 3 == 1 ? ~(uint64_t) 0 : (uint64_t) 1 << (8 * (width > 8 ? 8 : width) - 1));
		}
		else if (special && type == GS_F32 && (v[0] & 0x7fffffff) > 0x7f800000)
			v[0] ^= 0x80000001u; /* another NaN */
		memcpy(p + i * width, v, width);
	}
}

bool
equal(gs_type type, const void *a, const void *b)
{
	if (type == GS_F32)
	{
		float x, y;

		memcpy(&x, a, 4), memcpy(&y, b, 4);
		return x == y || (isnan(x) && isnan(y));
	}
	if (type == GS_F64)
	{
		double x, y;

		memcpy(&x, a, 8), memcpy(&y, b, 8);
		return x == y || (isnan(x) && isnan(y));
	}
	return memcmp(a, b, gs_type_width(type)) == 0;
}

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		void (*run)(void);
	} all[] = {{"scan", test_scan},		{"select", test_select}, {"runs", test_runs},
			   {"reduce", test_reduce}, {"others", test_others}, {"stall", test_stall}};
	bool large = false, chosen = false;

	for (int i = 1; i < argc; i++)
	{
		on_gpu |= strcmp(argv[i], "gpu") == 0;
		small_only |= strcmp(argv[i], "small") == 0;
		large |= strcmp(argv[i], "large") == 0;
		tiny |= strcmp(argv[i], "tiny") == 0;
		for (size_t t = 0; t < sizeof(all) / sizeof(all[0]); t++)
			chosen |= strcmp(argv[i], all[t].name) == 0;
	}
	if (on_gpu)
	{
#ifdef WITH_CUDA
		ok(gs_cuda_open(0, NULL, &engine), "gs_cuda_open");
#else
		printf("1..0 # SKIP built without CUDA\n");
		return 0;
#endif
	}
	else
		ok(gs_cpu_open(1, NULL, &engine), "gs_cpu_open");
	printf("# %s\n", gs_engine_name(engine));
	if (large)
		test_large();
	for (size_t t = 0; t < sizeof(all) / sizeof(all[0]) && !large; t++)
	{
		bool mine = !chosen;

		for (int i = 1; i < argc; i++)
			mine |= strcmp(argv[i], all[t].name) == 0;
		if (mine)
			all[t].run();
	}
	gs_engine_close(engine);
	return finish();
}
