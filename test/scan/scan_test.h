/*
 * scan_test.h: what the tests of the scan family share: output in TAP, arrays with guard words on an engine, random numbers.
 */
#ifndef SCAN_TEST_H
#define SCAN_TEST_H

#include "../../kernels/scan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern gs_engine *engine;
extern bool on_gpu, small_only, tiny;

/* True for all but some of the cases when a slow checker looks on ("tiny"). */
bool skipped(void);

/* ---- results: one line per group of cases; the first failures of a group are explained */

void group(const char *name);
void check(bool ok, const char *format, ...) __attribute__((format(printf, 2, 3)));
int finish(void);

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

/* ---- data */

uint64_t random64(void);
void seed(uint64_t s);
/* Values of any type with runs of the given mean length; special: the type's corners among them. */
void fill_runs(gs_type type, void *to, uint64_t n, double mean, bool special);
bool equal(gs_type type, const void *a, const void *b);
const char *type_name(gs_type type);

/* ---- sizes around every boundary that matters */

extern const uint64_t sizes[];
extern const int nsizes;

void test_scan(void);
void test_select(void);
void test_runs(void);
void test_reduce(void);
void test_others(void);
void test_stall(void);
void test_large(void);

#endif
