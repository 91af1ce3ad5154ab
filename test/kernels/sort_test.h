/*
 * sort_test.h: what the tests of the sort family share.
 */
#ifndef GPUSORT_TEST_SORT_H
#define GPUSORT_TEST_SORT_H

#include "engine.h"
#include "tests.h"
#include "kernels/scan.h"

/* ---- hostile distributions */

enum
{
	SHAPE_UNIFORM = 0,
	SHAPE_EXTREMES = 9,
	SHAPE_BITS27 = 10,
	SHAPE_BITS45 = 11,
	SHAPE_BITS20 = 14,
	SHAPE_BITS30 = 15,
	SHAPES = 16
};
extern const char *const shape_name[SHAPES];

/* A value of a distribution, to be cut to the type's width. */
uint64_t shape_value(int shape, uint64_t row, uint64_t rows);
void fill_shape(gs_type type, int shape, void *to, uint64_t n);

/* ---- a plain reference */

/* A value as an unsigned number in its type's order. */
uint64_t key_number(gs_type type, const void *p);
/* The stable order of numbers: a counting sort by each byte in which they differ, lowest first. */
void reference_order(const uint64_t *numbers, uint64_t n, uint32_t *order);

#endif
