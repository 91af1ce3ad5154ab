/*
 * steps_reference.h: lists of steps in plain C, value by value, for the tests of steps.c.
 */
#ifndef GPUSORT_TEST_STEPS_REFERENCE_H
#define GPUSORT_TEST_STEPS_REFERENCE_H

#include "steps_list.h"

#define MOST_COLUMNS 6

/* A segment's columns in host memory. */
typedef struct plain_segment
{
	uint32_t rows;
	uint8_t *values[MOST_COLUMNS];
	uint64_t *nulls[MOST_COLUMNS]; /* NULL: none */
} plain_segment;

/* What an aggregate should give. */
typedef struct expected
{
	uint64_t count;
	wide integer;
	double real;
	double magnitude;  /* of doubles that were added */
	bool real_numbers; /* its values are doubles */
	bool plus, minus;  /* zeros of which signs were there */
	unsigned __int128 distance; /* sum of absolute values; if it leaves 127 bits, the order of additions matters */
	bool far;
} expected;

/* Adds rows of a segment.  Returns false if a result of the list's expressions leaves its range. */
bool reference_rows(const gs_steps *steps, const plain_segment *s, uint32_t first, uint32_t rows, expected *out);

/* True if a result is what is expected of an operation. */
bool reference_agrees(gs_operation operation, const expected *e, const gs_reduced *r);

/* The order of doubles: NaN is equal to NaN and greatest, zeros are equal. */
int compare_doubles(double a, double b);

#endif
