/*
 * groups_reference.h: lists of steps with groups in plain C, row by row, for the tests of gs_groups.h.
 */
#ifndef GPUSORT_TEST_GROUPS_REFERENCE_H
#define GPUSORT_TEST_GROUPS_REFERENCE_H

#include "steps_reference.h"

typedef struct expected_groups expected_groups;

expected_groups *expect_groups(const gs_steps *steps);
/* Adds rows of a segment.  Returns false if a result of the list's expressions leaves its range. */
bool expect_rows(expected_groups *e, const plain_segment *s, uint32_t first, uint32_t rows);
/* True if a sum may leave 128 bits, by some order of additions. */
bool expect_overflow(expected_groups *e);
/* Returns what is wrong with a result, or NULL. */
const char *groups_wrong(expected_groups *e, const gs_reduced *groups, uint64_t n);
/* The number of groups without HAVING and TOP. */
uint64_t expected_number(const expected_groups *e);
void drop_expected(expected_groups *e);

#endif
