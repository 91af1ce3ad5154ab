/*
 * random_table.h: tables and limits of the engine at random, whatever rnd() stands for.
 */
#ifndef GPUSORT_TEST_RANDOM_TABLE_H
#define GPUSORT_TEST_RANDOM_TABLE_H

#include "kernels/cpu/cpu.h"
#include "table.h"

/* A size up to a limit, mostly small, sometimes large. */
uint64_t random_size(uint64_t limit);

/* Up to MAX_COLUMNS columns of any types with up to most_rows rows; table_free gives it back. */
void random_table(table *t, uint64_t most_rows);

/* Limits with which small tables go through what large ones go through. */
gs_cpu_tuning random_tuning(void);

#endif
