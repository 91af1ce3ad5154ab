/*
 * engine.c: see engine.h.
 */
#include "engine.h"

#include <math.h>

#ifdef WITH_CUDA
#include "kernels/cuda/base/stall.h"
#endif

gs_engine *engine;
bool on_gpu, small_only, tiny;

static char **arguments; /* of the program, up to a NULL */
static unsigned every;	 /* of so many cases one is run */
static void *temp;		 /* of temp_of */
static size_t temp_bytes;

/* ---------------------------------------------------------------- arguments and tests */

static bool
named(const char *name)
{
	for (char **a = arguments; *a != NULL; a++)
		if (strcmp(*a, name) == 0)
			return true;
	return false;
}

uint64_t
option(const char *name, uint64_t otherwise)
{
	size_t n = strlen(name);

	for (char **a = arguments; *a != NULL; a++)
		if (strncmp(*a, name, n) == 0 && (*a)[n] == '=')
			return strtoull(*a + n + 1, NULL, 10);
	return otherwise;
}

bool
skipped(void)
{
	static unsigned cases_asked;

	return cases_asked++ % every != 0;
}

/* Opens the engine that the arguments ask for; false if this program has none for a GPU. */
static bool
open_engine(void)
{
	if (!on_gpu)
		ok(gs_cpu_open(1, NULL, &engine), "gs_cpu_open");
#ifdef WITH_CUDA
	else if (gs_cuda_open(0, NULL, &engine) != GS_OK)
	{
		printf("Bail out! no device: %s\n", gs_cuda_open_failure());
		exit(2);
	}
#endif
	return engine != NULL;
}

/* Gives a test an engine of its own. */
static void
run_test(const test *t)
{
	if (!open_engine())
	{
		tap_skip("built without CUDA");
		return;
	}
	printf("# %s on %s\n", t->name, gs_engine_name(engine));
	t->run();
	gs_free(engine, temp);
	temp = NULL;
	temp_bytes = 0;
	gs_engine_close(engine);
	engine = NULL;
}

/* Whether the arguments ask for a test: by its name, or, unless it runs only by its name, its family's or nobody's. */
static bool
wanted(const test *t, bool any_named)
{
	if (on_gpu ? t->where == CPU_ONLY : t->where == GPU_ONLY)
		return false;
	if (named(t->name))
		return true;
	return t->size == (named("large") ? LARGE : USUAL) && (!any_named || named(t->family));
}

/* Whether a word of the arguments is the name or the family of a test; one that is nothing at all ends the program. */
static bool
names_test(const char *word, const test *all, int n)
{
	static const char *const others[] = {"cpu", "gpu", "small", "tiny", "large"};

	for (int t = 0; t < n; t++)
		if (strcmp(word, all[t].name) == 0 || strcmp(word, all[t].family) == 0)
			return true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(word, others[i]) == 0)
			return false;
	if (strchr(word, '=') != NULL)
		return false;
	printf("Bail out! There is no test \"%s\".\n", word);
	exit(2);
}

int
run_tests(char **argv, const test *all, int n)
{
	bool any_named = false;

	arguments = argv + 1;
	on_gpu = named("gpu");
	small_only = named("small");
	every = (unsigned) option("every", named("tiny") ? 9 : 1);
	every = every < 1 ? 1 : every;
	tiny = every > 1;
	for (char **a = arguments; *a != NULL; a++)
		any_named |= names_test(*a, all, n);
	for (int t = 0; t < n; t++)
		if (wanted(&all[t], any_named))
			run_test(&all[t]);
	return tap_done();
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

void *
temp_of(size_t bytes)
{
	if (bytes > temp_bytes)
	{
		gs_free(engine, temp);
		temp_bytes = bytes * 2;
		ok(gs_alloc(engine, temp_bytes, &temp), "gs_alloc");
	}
	if (bytes > 0)
		ok(gs_fill(engine, temp, 0xc3, bytes), "gs_fill");
	return temp;
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
