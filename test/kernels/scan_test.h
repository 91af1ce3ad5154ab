/*
 * scan_test.h: what the tests of the scan family share.
 */
#ifndef SCAN_TEST_H
#define SCAN_TEST_H

#include "../engine_test.h"
#include "../../kernels/scan.h"

#include <math.h>
#include <time.h>

/* Values of any type with runs of the given mean length; special: the type's corners among them. */
void fill_runs(gs_type type, void *to, uint64_t n, double mean, bool special);

/* ---- sizes around every boundary that matters */

extern const uint64_t sizes[];
extern const int nsizes;

void test_scan(void);
void test_select(void);
void test_runs(void);
void test_reduce(void);
void test_others(void);
void test_rows(void);
void test_stall(void);
void test_large(void);

#endif
