/*
 * windows_reference.h: COMPUTE and WINDOW steps in plain C, row by row, as PostgreSQL's documentation tells.
 */
#ifndef GPUSORT_TEST_WINDOWS_REFERENCE_H
#define GPUSORT_TEST_WINDOWS_REFERENCE_H

#include "groups_reference.h"

/* Appends rows, with the columns of a list's source. */
void windows_append(const gs_steps *steps, plain_segment *to, const plain_segment *from, uint32_t first, uint32_t rows);
/*
 * Carries out the COMPUTE and WINDOW steps of a list over rows, which get these steps' columns.  Returns the groups
 * that are expected, of left, the list of what remains.  NULL: a result leaves its range.
 */
expected_groups *expect_windows(const steps_list *l, plain_segment *rows, steps_list *left);
void windows_drop(plain_segment *rows);

#endif
