/*
 * places_reference.h: lists of steps with ROWS in plain C, for the tests of gs_groups.h.
 */
#ifndef GPUSORT_TEST_PLACES_REFERENCE_H
#define GPUSORT_TEST_PLACES_REFERENCE_H

#include "steps_table.h"

/* The rows that pass, in order and by place. */
typedef struct expected_places
{
	gs_row *in_order, *places;
	uint64_t n;
} expected_places;

/* Finds the rows of a list.  The list and the table are read by page_wrong, too. */
expected_places expect_places(const gs_steps *steps, const table *t, const gs_span *spans, uint32_t nspans);
/* Returns what is wrong with a page, which becomes sorted by place, or NULL. */
const char *page_wrong(const expected_places *e, gs_row *out, uint64_t count);
void drop_places(expected_places *e);

#endif
