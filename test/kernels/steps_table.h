/*
 * steps_table.h: random tables in segments, and random terms and expressions over them, for tests of lists of steps.
 */
#ifndef GPUSORT_TEST_STEPS_TABLE_H
#define GPUSORT_TEST_STEPS_TABLE_H

#include "../../kernels/gs_groups.h"
#include "engine.h"
#include "steps_reference.h"

#define SEGMENTS 4

typedef struct table
{
	gs_type types[MOST_COLUMNS];
	uint32_t ncolumns;
	plain_segment plain[SEGMENTS];
	array values[SEGMENTS][MOST_COLUMNS], nulls[SEGMENTS][MOST_COLUMNS];
	gs_held held[SEGMENTS * MOST_COLUMNS];
} table;

extern uint32_t most_segment_rows; /* of make_table; UINT32_MAX, unless a program wants small tables */

/* Makes a table of random values, of given types or any. */
void make_table(table *t, uint32_t ncolumns, const gs_type *types);
/* Takes over what was changed in the plain segments. */
void put_table(table *t);
void drop_table(table *t);
/* Leaves a segment's column without NULLs. */
void drop_nulls(table *t, uint32_t segment, uint32_t c);

/* Makes a column's values those of some number of groups: even, with a few frequent ones, or far from each other. */
void make_key(table *t, uint32_t c, uint64_t groups);
/* Finds the range of a column's values, which may be wider than need be. */
gs_range column_range(const table *t, uint32_t c);
/* Returns the bits that a key of a range needs. */
uint32_t range_bits(const gs_range *range, gs_type type);

/* Adds the constants of a test with a column to a step, and returns the term. */
gs_term some_term(steps_list *l, const table *t, uint32_t c, gs_test test);

/* The least number that holds a type's values. */
gs_number number_of(gs_type type);

/* Writes an expression over integer columns, which may overflow.  Returns its length; 0: it would take doubles. */
uint32_t some_code(steps_list *l, const table *t, gs_instruction *code);

/* Does all rounds of parts of a list to which all rows are given, in turns by workers. */
gs_status do_parts(gs_groups *groups, uint32_t workers);

/* Does calls of rows, of a span each, and all rounds of parts, by threads, as a service's workers do them. */
gs_status do_threads(gs_groups *groups, const table *t, const gs_span *spans, uint32_t nspans, uint32_t threads);

/* Some spans, also none, of rows that begin anywhere. */
uint32_t some_spans(const table *t, gs_span *spans, uint32_t most);

#endif
