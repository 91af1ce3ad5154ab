/*
 * engine_test.h: what the tests of the primitives share: output in TAP, arrays with guard words on an engine, random
 * numbers.
 *
 * A test program takes: [cpu | gpu] [small] [tiny | every=N] [large] [groups...].  "small" keeps to sizes that a
 * memory checker gets through, "tiny" also to every ninth of the cases, every=N to every N-th; "large" runs the groups
 * that are too large for a quick test, and only them.
 */
#ifndef ENGINE_TEST_H
#define ENGINE_TEST_H

#include "../kernels/gs_library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct test_group
{
	const char *name;
	void (*run)(void);
	bool large;
} test_group;

/* main: opens the engine, runs the groups that the arguments ask for, prints the plan. */
int run_groups(int argc, char **argv, const test_group *all, int n);

extern gs_engine *engine;
extern bool on_gpu, small_only, tiny;

/* True for all but some of the cases when a slow checker looks on ("tiny", every=N). */
bool skipped(void);

/* ---- results: one line per group of cases; the first failures of a group are explained */

void group(const char *name);
void check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));

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

void *temp_of(size_t bytes);
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

uint64_t random64(void);
void seed(uint64_t s);
bool equal(gs_type type, const void *a, const void *b);
const char *type_name(gs_type type);

#endif
