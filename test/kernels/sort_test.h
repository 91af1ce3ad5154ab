/*
 * sort_test.h: what the tests of the sort family share.
 */
#ifndef SORT_TEST_H
#define SORT_TEST_H

#include "../engine_test.h"
#include "../../kernels/scan.h"

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

uint64_t below(uint64_t n);
/* A value of a distribution, to be cut to the type's width. */
uint64_t shape_value(int shape, uint64_t row, uint64_t rows);
void fill_shape(gs_type type, int shape, void *to, uint64_t n);

/* ---- a plain reference */

/* A value as an unsigned number in its type's order. */
uint64_t key_number(gs_type type, const void *p);
/* The stable order of numbers, by merging. */
void reference_order(const uint64_t *numbers, uint64_t n, uint32_t *order);

/* ---- one file per primitive; the large ones run on their own */

void test_radix(void);
void test_radix_buckets(void);
void test_plans(void);
void test_topk(void);
void test_segments(void);
void test_segments_stall(void);
void test_radix_stall(void);
void test_radix_large(void);
void test_order_large(void);
void test_merge(void);
void test_merge_large(void);

#endif
