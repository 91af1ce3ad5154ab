/*
 * scan_test.h: what the tests of the scan family share.
 */
#ifndef GPUSORT_TEST_SCAN_H
#define GPUSORT_TEST_SCAN_H

#include "engine.h"
#include "tests.h"
#include "kernels/scan.h"

#include <math.h>
#include <time.h>

/* Values of any type with runs of the given mean length; special: the type's corners among them. */
void fill_runs(gs_type type, void *to, uint64_t n, double mean, bool special);

/* ---- sizes around every boundary that matters */

extern const uint64_t sizes[];
extern const int nsizes;

#endif
