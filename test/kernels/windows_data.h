/*
 * windows_data.h: tables for lists with windows, and what their tests share.
 */
#ifndef GPUSORT_TEST_WINDOWS_DATA_H
#define GPUSORT_TEST_WINDOWS_DATA_H

#include "steps_list.h"
#include "steps_table.h"

#define SOURCE 5 /* columns: partition, order, two values, a number of the row */
#define NUMBER 4

/* Makes a table of some rows at most, with columns as above, in plain memory; their numbers grow. */
void windows_fill(table *t, uint64_t most, uint64_t partitions, gs_type key, gs_type order, gs_type first,
				  gs_type second);
/* Likewise, where the engine reads it. */
void windows_rows(table *t, uint64_t most, uint64_t partitions, gs_type key, gs_type order, gs_type first,
				  gs_type second);
/* Has numbers nearly grow with the rows: exchanges those of two neighbours with equal keys and orders. */
void windows_exchange(const table *t, uint32_t segment);
/* Makes a table ordered by few values far apart, but for one of them, and numbers that grow, but for some pairs. */
void windows_nearly(table *t, bool odd, bool exchanged);
/* Makes a table ordered by values at both ends of 64 bits, by negative ones, by one, ..., all of them multiples of a
   number; then with keys and orders of few values, which take many bits.  Returns false behind the last kind. */
bool windows_far_apart(table *t, uint32_t kind);
/* Makes a table of eight partitions, and of 64 bits of integers in two columns. */
void windows_whole_words(table *t);

/* windows.c: checks what a list gives of a table.  placed: its rows in order of the number, or NULL. */
void windows_list(const table *t, const steps_list *l, const gs_held_rows *placed, const char *what);
/* A function over one of n columns.  With ties, one whose values do not depend on the order of peers. */
gs_window_function windows_function(const uint8_t *types, uint32_t n, bool total);
/* Adds a filter over n columns: a window's, compared with numbers, NULL or another column. */
void windows_filter(steps_list *l, uint32_t n);

/* windows_placed.c: windows whose rows come in order. */
void windows_placed(void);

#endif
