/*
 * engine_test.c: see engine_test.h.
 */
#include "engine_test.h"
#include "seed.h"

#include <math.h>
#include <stdarg.h>
#include <time.h>

#ifdef WITH_CUDA
#include "../kernels/cuda/base/stall.h"
#endif

gs_engine *engine;
bool on_gpu, small_only, tiny;

static int groups, failed_groups, failures, cases;
static unsigned every = 1; /* of so many cases one is run */
static time_t began;
static char group_name[128];

static void
end_group(void)
{
	if (groups > 0)
	{
		printf("%s %d - %s (%d cases, %d s)\n", failures ? "not ok" : "ok", groups, group_name, cases,
			   (int) (time(NULL) - began));
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
	began = time(NULL);
	snprintf(group_name, sizeof(group_name), "%s", name);
}

bool
skipped(void)
{
	static unsigned cases_asked;

	return cases_asked++ % every != 0;
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

static int
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

/* ---------------------------------------------------------------- stalled tiles */

#ifdef WITH_CUDA

/* Makes a call with stalled tiles; says how many were stepped in for, and how many gave up. */
static void
stall_once(const uint32_t *tiles, uint32_t ntiles, uint64_t patience, void (*call)(void *), void *arg,
		   uint32_t *fallbacks, uint32_t *given_up)
{
	uint32_t f, g;

	ok(gs_cuda_stall(engine, tiles, ntiles, patience), "gs_cuda_stall");
	ok(gs_cuda_stall_counts(engine, &f, &g), "gs_cuda_stall_counts");
	call(arg);
	ok(gs_cuda_stall_counts(engine, fallbacks, given_up), "gs_cuda_stall_counts");
	*fallbacks -= f;
	*given_up -= g;
	ok(gs_cuda_stall(engine, NULL, 0, 2000000), "gs_cuda_stall");
}

void
stalled_call(const uint32_t *tiles, uint32_t ntiles, uint64_t patience, void (*call)(void *), void *arg,
			 const char *what)
{
	uint32_t fallbacks, given_up = 1;

	for (int turn = 0; turn < 3 && given_up != 0; turn++)
	{
		stall_once(tiles, ntiles, patience, call, arg, &fallbacks, &given_up);
		printf("# %s: %u fallbacks, %u tiles gave up\n", what, fallbacks, given_up);
	}
	check(fallbacks > 0 && given_up == 0, "%s: ends by fallback", what);
}

void
hanging_call(uint32_t tile, void (*call)(void *), void *arg, const char *what)
{
	uint32_t fallbacks, given_up;

	stall_once(&tile, 1, 0, call, arg, &fallbacks, &given_up);
	check(fallbacks == 0 && given_up > 0, "%s: would hang", what);
}

#endif

/* ---------------------------------------------------------------- data */

static uint64_t state = 1;

/* Begins a test's random data: s tells the tests of one run apart. */
void
seed(uint64_t s)
{
	state = s + test_seed() * 0xd1342543de82ef95ull;
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

static bool
named(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return false;
}

int
run_groups(int argc, char **argv, const test_group *all, int n)
{
	bool large = named(argc, argv, "large"), chosen = false;

	on_gpu = named(argc, argv, "gpu");
	small_only = named(argc, argv, "small");
	every = named(argc, argv, "tiny") ? 9 : 1;
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "every=", 6) == 0 && atoi(argv[i] + 6) > 0)
			every = (unsigned) atoi(argv[i] + 6);
	tiny = every > 1;
	for (int t = 0; t < n; t++)
		chosen |= named(argc, argv, all[t].name);
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
	for (int t = 0; t < n; t++)
		if (all[t].large == large && (!chosen || named(argc, argv, all[t].name)))
			all[t].run();
	gs_engine_close(engine);
	return finish();
}
