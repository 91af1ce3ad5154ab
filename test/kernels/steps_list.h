/*
 * steps_list.h: makes lists of steps, for tests: a filter with its terms, then a group with its aggregates.
 */
#ifndef GPUSORT_TEST_STEPS_LIST_H
#define GPUSORT_TEST_STEPS_LIST_H

#include "kernels/gs_steps.h"

typedef __int128 wide;

/* Bytes of a list, less than GS_STEPS_MAX_BYTES. */
#define LIST_BYTES (256 * 1024)

typedef struct steps_list
{
	union
	{
		gs_steps head;
		uint8_t bytes[LIST_BYTES];
	};
	uint32_t step; /* offset of the step that is being made */
	uint32_t next; /* its next term or aggregate */
} steps_list;

void list_begin(steps_list *l, const gs_type *types, uint32_t ncolumns);
void list_filter(steps_list *l, uint32_t nterms);
void list_group(steps_list *l, uint32_t naggregates);
/* Adds COMPUTE with one column, whose code refers to constants by their numbers. */
void list_compute(steps_list *l, const wide *constants, uint32_t nconstants, gs_instruction *code, uint32_t ncode);
/* Adds COMPUTE with one column of choices, which are added then; the constants of each are in the step. */
void list_choices(steps_list *l, uint32_t n);
void list_choice(steps_list *l, const gs_term *terms, uint32_t nterms, gs_instruction value);

/* Adds constants to the step, and returns the offset of the first. */
uint32_t list_integers(steps_list *l, const wide *values, uint32_t n);
uint32_t list_doubles(steps_list *l, const double *values, uint32_t n);

/* Adds a term, of constants that lie at an offset. */
void list_term(steps_list *l, uint32_t column, gs_test test, uint32_t constants, uint32_t n);
/* Adds a term of one integer. */
void list_compare(steps_list *l, uint32_t column, gs_test test, wide value);

/* Adds an aggregate. */
void list_aggregate(steps_list *l, gs_operation operation, const gs_instruction *code, uint32_t ncode);
/* Adds an aggregate of a column. */
void list_column(steps_list *l, gs_operation operation, uint32_t column, gs_number number);

/* Gives the group keys, when all aggregates are there. */
void list_keys(steps_list *l, const uint32_t *keys, uint32_t n);
/* Changes the last aggregate: another operation, a fraction, terms whose constants are in the step. */
void list_refine(steps_list *l, uint32_t operation, double fraction, const gs_term *terms, uint32_t n);
/* Adds a WINDOW step, whose constants are added when it is there. */
gs_window_function *list_window(steps_list *l, const gs_window_function *functions, uint32_t nfunctions,
								const gs_row_order *orders, uint32_t npartition, uint32_t norders);
/* Begins HAVING, whose terms follow. */
void list_having(steps_list *l, uint32_t nterms);
/* Adds ROWS. */
void list_rows(steps_list *l, uint64_t offset, uint64_t limit, const gs_row_order *orders, uint32_t n);
void list_top(steps_list *l, uint64_t limit, const gs_top_order *orders, uint32_t n);

#endif
