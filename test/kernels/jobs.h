/*
 * jobs.h: what the tests of jobs share.
 */
#ifndef GPUSORT_TEST_JOBS_H
#define GPUSORT_TEST_JOBS_H

#include "engine.h"
#include "table.h"
#include "tests.h"

extern uint64_t most_rows; /* of a random table */

column *random_column(table *t, gs_type type);
uint64_t random_rows(void);

/*
 * The result of a job behind GUARD bytes, or NULL if it ended with another status or broke a rule; count elements of
 * it.
 */
char *run(const table *t, const gs_job_spec *spec, gs_status expected, uint64_t *count, gs_job_info *info);

/* A table of some columns of another one. */
table part_of(const table *t, uint32_t from, uint32_t n);

/* The stable order by all columns; free it. */
uint32_t *order_of(const table *t);

bool is_null(const column *c, uint64_t row);
const char *describe(const table *t);

bool reduce_job(void);
bool scan_job(void);

#endif
