/*
 * vectorjob.h: questions about vectors of values.  An engine answers them, or the type's comparator if a type has no
 * exact encoding; answers do not depend on which. Order and equality are those of the type's default btree family under
 * the column's collation.  NULL equals NULL and sorts as the column says.  All vectors of a call have equally many
 * rows.  Failures of the service are repeated on the CPU.  Answers are blocks of mem with room for an element.
 *  Unsortable types and lack of memory raise errors.
 */
#ifndef GPUSORT_VECTORJOB_H
#define GPUSORT_VECTORJOB_H

#include "utils/array.h"

#include "kernels/gs.h"

#include "vector.h"

/* Returns all row numbers in stable order. */
extern uint32 *vectorjob_order(BigMem *mem, const VectorColumn *columns, int ncolumns);

/* Returns runs equal in the last column, in order of the first, which may be that one, or of arrival. */
extern gs_run *vectorjob_runs(BigMem *mem, const VectorColumn *columns, int ncolumns, bool in_order, uint64 *nruns);

/* Returns the first row of each run of equal values, in order or as the rows are. */
extern uint32 *vectorjob_first_rows(BigMem *mem, const VectorColumn *column, bool in_order, uint64 *nruns);

/* Returns the rows whose value satisfies the comparison with a non-NULL value.  A NULL satisfies none. */
extern uint32 *vectorjob_select(BigMem *mem, const VectorColumn *column, gs_comparison comparison, Datum value,
								uint64 *selected);

/* Returns the rows whose flag (a boolean) is true; with `all`, followed by the others. */
extern uint32 *vectorjob_partition(BigMem *mem, const Vector *flags, bool all, uint64 *selected);

/* Computes GS_SUM, GS_MIN or GS_MAX over each value and those before it; NULL if engines cannot for this type. */
extern void *vectorjob_scan(BigMem *mem, const VectorColumn *column, gs_operation operation, bool exclusive);

/* Computes the operation over the second column in each group of the first, in its order, or of runs if presorted. */
extern gs_group *vectorjob_reduce(BigMem *mem, const VectorColumn columns[2], bool presorted, gs_operation operation,
								  uint64 *ngroups);

/* Returns the column's values in order, or the first of each distinct one, as an array in cxt. */
extern ArrayType *vectorjob_sorted_array(BigMem *mem, const VectorColumn *column, bool distinct, int lower_bound,
										 MemoryContext cxt);

/* Returns the column's values as an array in cxt, without those that equal their predecessor. */
extern ArrayType *vectorjob_dedup_array(BigMem *mem, const VectorColumn *column, MemoryContext cxt);

/* Returns each value repeated by its length (a bigint), as an array of count elements in cxt. */
extern ArrayType *vector_decoded_array(BigMem *mem, const Vector *values, const Vector *lengths,
									   uint64 count, MemoryContext cxt);

/* Returns true, with the type, if a column's non-NULL values are numbers that engines know. */
extern bool vectorjob_numbers(const VectorColumn *column, gs_type *type);

#endif
