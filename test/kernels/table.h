/*
 * table.h: tables of raw values, chunks made of them, and the comparison of rows in the terms of gs.h.
 */
#ifndef GPUSORT_TEST_TABLE_H
#define GPUSORT_TEST_TABLE_H

#include "kernels/gs.h"
#include "tap.h"

#define MAX_COLUMNS 8

/* A column of raw values, as a producer has them. */
typedef struct column
{
	gs_column_spec spec;
	void *values;
	uint8_t *null; /* one byte a row; NULL: none */
	uint64_t *offsets;
	uint8_t *heap;
} column;

typedef struct table
{
	uint64_t rows;
	uint32_t ncolumns;
	column columns[MAX_COLUMNS];
	gs_column_spec specs[MAX_COLUMNS];
} table;

void table_start(table *t, uint64_t rows);
column *table_add(table *t, gs_type type, bool desc, bool nulls_first);
void column_set(column *c, uint64_t row, uint64_t value);
void column_strings(column *c, uint64_t rows, uint64_t (*make)(uint64_t row, uint8_t *out, void *arg), void *arg);
void column_nulls(column *c, uint64_t rows, double fraction);
void table_free(table *t);

/* Compares two rows as gs.h says. */
int row_compare(const table *t, uint32_t a, uint32_t b);

/* True if out holds all rows, each once, in order, equal ones as they came: every neighbour is strictly less. */
bool order_right(const table *t, const uint32_t *out);

/* The same of the first n rows of that order. */
bool first_right(const table *t, const uint32_t *out, uint64_t n);

/* Feeds a table to a job in chunks of chunk_rows; the chunk's memory is spoiled after each. */
gs_status feed(gs_job *job, const table *t, uint32_t chunk_rows);

/* Runs a whole job and checks the order, guard words included. */
bool order_job_right(gs_engine *engine, const table *t, uint32_t chunk_rows, uint64_t piece, gs_job_info *info);

/* The same of a job that asks for the first limit rows. */
bool top_job_right(gs_engine *engine, const table *t, uint64_t limit, uint32_t chunk_rows, uint64_t piece);

#endif
