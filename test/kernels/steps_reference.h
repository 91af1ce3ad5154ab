/*
 * steps_reference.h: lists of steps in plain C, value by value, for the tests of steps.c.
 */
#ifndef GPUSORT_TEST_STEPS_REFERENCE_H
#define GPUSORT_TEST_STEPS_REFERENCE_H

#include "steps_list.h"

#define MOST_COLUMNS 6
#define MOST_PLAIN 20 /* those of windows included */

/* A segment's columns in host memory. */
typedef struct plain_segment
{
	uint32_t rows;
	uint8_t *values[MOST_PLAIN];
	uint64_t *nulls[MOST_PLAIN]; /* NULL: none */
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

typedef struct value
{
	bool null, real;
	wide i;
	double d;
} value;

/* Reads a value byte by byte. */
value column_value(const gs_steps *steps, const plain_segment *s, uint32_t c, uint32_t row);
bool term_holds(const gs_steps *steps, const gs_term *t, value v);
/* Whether a row passes all terms, also those that compare columns. */
bool terms_hold(const gs_steps *steps, const gs_term *terms, uint32_t n, const plain_segment *s, uint32_t row);
/* Computes an expression.  Returns false if a result leaves its range. */
bool expression(const gs_steps *steps, const gs_aggregate *a, const plain_segment *s, uint32_t row, value *out);
/* A computed column's value in a row.  Returns false if a result leaves its range. */
bool computed_value(const gs_steps *steps, const gs_computed *c, const plain_segment *s, uint32_t row, value *out);
/* Adds a value. */
void take(gs_operation operation, expected *e, value v);
int compare_values(value a, value b);

/* Adds rows of a segment.  Returns false if a result of the list's expressions leaves its range. */
bool reference_rows(const gs_steps *steps, const plain_segment *s, uint32_t first, uint32_t rows, expected *out);

/* True if a result is what is expected of an operation. */
bool reference_agrees(gs_operation operation, const expected *e, const gs_reduced *r);

/* The order of doubles: NaN is equal to NaN and greatest, zeros are equal. */
int compare_doubles(double a, double b);

#endif
