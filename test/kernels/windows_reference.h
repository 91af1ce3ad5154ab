/*
 * windows_reference.h: WINDOW steps in plain C, row by row, as PostgreSQL's documentation tells.
 */
#ifndef GPUSORT_TEST_WINDOWS_REFERENCE_H
#define GPUSORT_TEST_WINDOWS_REFERENCE_H

#include "groups_reference.h"

/* Appends rows, with the columns of a list's source. */
void windows_append(const gs_steps *steps, plain_segment *to, const plain_segment *from, uint32_t first, uint32_t rows);
/*
 * Carries out the WINDOW step that a list begins with, but for a filter: rows that pass get the step's columns, and
 * left becomes the list of what remains.  Returns false if a sum leaves its range.
 */
bool windows_step(const steps_list *l, plain_segment *rows, steps_list *left);
void windows_drop(plain_segment *rows);

#endif
