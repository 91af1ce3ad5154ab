/*
 * coresort.h: the way back to PostgreSQL's own tuplesort.
 */
#ifndef GPUSORT_CORESORT_H
#define GPUSORT_CORESORT_H

#include "executor/tuptable.h"
#include "utils/tuplesort.h"

#include "src/keys/sortcolumns.h"

/* A sort done by tuplesort.c with work_mem; positions work as they do there. */
typedef struct CoreSort
{
	Tuplesortstate *state;
	bool		finished;
} CoreSort;

/* Begins an empty one; bound is the number of rows wanted, 0 for all.  Memory comes from the current context. */
extern CoreSort *coresort_begin(const SortColumns *columns, TupleDesc desc, bool random_access, int64 bound);
extern void coresort_put(CoreSort *sort, TupleTableSlot *slot);
extern void coresort_finish(CoreSort *sort);

/* The next row in that direction, or an empty slot. */
extern TupleTableSlot *coresort_get(CoreSort *sort, bool forward, TupleTableSlot *slot);
extern void coresort_mark(CoreSort *sort);
extern void coresort_restore(CoreSort *sort);
extern void coresort_rewind(CoreSort *sort);
extern void coresort_end(CoreSort *sort);

#endif
