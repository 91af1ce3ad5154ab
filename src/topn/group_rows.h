/*
 * group_rows.h: keeps the first rows of each group while others pass.
 *
 * Groups are told apart by the bytes of their keys.  Equal keys of different bytes make several groups of one, of which
 * more rows are kept than necessary, never fewer.
 */
#ifndef GPUSORT_GROUP_ROWS_H
#define GPUSORT_GROUP_ROWS_H

#include "src/rows/first_rows.h"

typedef struct GroupRows GroupRows;

/* Begins to keep the first bound rows of each group by these columns, in the current context. */
extern GroupRows *grouprows_open(const SortColumns *order, int ngroups, const AttrNumber *groups, TupleDesc desc,
								 int64 bound, bool ties, Size limit);

/*
 * Takes a row.  Returns NULL if it is kept, or is not among the first of its group.  Else returns a row to pass on, in
 * one of both slots: this one, for which there is no memory or which is equal to a last one that is kept, or one that
 * was kept before.  The current context is for one row.
 */
extern TupleTableSlot *grouprows_put(GroupRows *rows, TupleTableSlot *slot, TupleTableSlot *kept);

/* Returns true if rows come in the reverse of the order, so that a sample of those to come is worth while. */
extern bool grouprows_need_sample(const GroupRows *rows);

/* Begins a sample: returns the fraction of rows, of an expected number, that it should have; 0 if none. */
extern double grouprows_begin_sample(GroupRows *rows, double expected);

/* SampledRow of GroupRows: takes a row of the sample, which comes as any other one, too. */
extern void grouprows_put_sampled(void *rows, TupleTableSlot *slot);

/* Returns the number of rows that the sample had. */
extern uint64 grouprows_sampled(const GroupRows *rows);

/* Returns true if memory has been used up and so few rows have been left out that it was not worth while. */
extern bool grouprows_is_useless(const GroupRows *rows);

/* Ends input, and stores the next kept row in a slot; clears it at the end. */
extern TupleTableSlot *grouprows_next(GroupRows *rows, TupleTableSlot *kept);

/* Returns the number of rows that were left out. */
extern uint64 grouprows_left_out(const GroupRows *rows);

/* Frees everything; slots that hold rows must have been cleared. */
extern void grouprows_close(GroupRows *rows);

#endif
