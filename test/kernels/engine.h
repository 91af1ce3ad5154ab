/*
 * engine.h: what the tests of the primitives share: arguments, an engine for each test, arrays with guard words on it,
 * tiles that stand still.
 *
 * The program takes: [cpu | gpu] [small] [tiny | every=N] [large] [NAME=N]... [TEST or FAMILY]...
 * "small" keeps to sizes that a memory checker gets through, "tiny" also to every ninth of the cases, every=N to every
 * N-th; "large" runs the tests that are too large for a quick one, and only them.  Other numbers are a test's own.
 */
#ifndef GPUSORT_TEST_ENGINE_H
#define GPUSORT_TEST_ENGINE_H

#include "kernels/gs_library.h"
#include "tap.h"

typedef struct test
{
	const char *family, *name;
	void (*run)(void);
	enum
	{
		ANYWHERE,
		CPU_ONLY,
		GPU_ONLY
	} where;
	enum
	{
		USUAL,
		LARGE,
		BY_NAME
	} size; /* run unless told otherwise, by "large", or only by its name */
} test;

/* main: runs the tests that the arguments ask for, and prints the plan. */
int run_tests(char **argv, const test *all, int n);

extern gs_engine *engine; /* the test's own */
extern bool on_gpu, small_only, tiny;

/* The number of the argument name=N. */
uint64_t option(const char *name, uint64_t otherwise);

/* True for all but some of the cases when a slow checker looks on ("tiny", every=N). */
bool skipped(void);

/* ---- arrays: guarded on both sides, poisoned before each use, at a chosen offset to the alignment of 256 */

typedef struct array
{
	size_t bytes, offset;
	void *block;   /* on the engine */
	void *data;	   /* on the engine: block + guard + offset */
	uint8_t *copy; /* on the host, guards included */
} array;

#define GUARD 256

array make_array(size_t bytes, size_t offset);
void poison(array *a);
void put(array *a, const void *from, size_t bytes);
/* Fetches the array, checks both guards and, beyond used bytes, the poison; returns the data. */
const void *fetch(array *a, size_t used, const char *what);
void drop(array *a);

/* Temporary memory, with rubbish in it. */
void *temp_of(size_t bytes);
/* Ends the program unless a call was right. */
void ok(gs_status status, const char *what);

/* ---- stalled tiles (kernels/cuda/base/stall.h) */

/*
 * Makes a call in which tiles stand still until the last one is done, and checks that others stepped in for them.  (The
 * block of such a tile may have the last tile, too, if others got on much faster than it did, as where several programs
 * share the GPU: then it waits for itself and has to give up.  Such a call says nothing, and is made again; without a
 * fallback that works all give up.)
 */
void stalled_call(const uint32_t *tiles, uint32_t ntiles, uint64_t patience, void (*call)(void *), void *arg,
				  const char *what);

/* Makes a call in which a tile stands still and nobody steps in, and checks that the tile gave up. */
void hanging_call(uint32_t tile, void (*call)(void *), void *arg, const char *what);

/* ---- data */

bool equal(gs_type type, const void *a, const void *b);
const char *type_name(gs_type type);

#endif
