/*
 * steps_examples.h: lists of steps that are right, which tests change: of a source with columns of GS_I32, GS_F64 and
 * GS_U128.
 */
#ifndef GPUSORT_TEST_STEPS_EXAMPLES_H
#define GPUSORT_TEST_STEPS_EXAMPLES_H

#include "steps_list.h"

/* A list with all that there can be. */
void groups_example(steps_list *l);
/* A list with a page of rows. */
void rows_example(steps_list *l);
/* A list with windows: every kind of function and frame, and filters between them. */
void windows_example(steps_list *l);
/* A list with a column that is computed by every instruction there is, in all rows of the source within its range. */
void computed_example(steps_list *l);
/* A list with a column of choices, and groups by it. */
void choices_example(steps_list *l);

#endif
