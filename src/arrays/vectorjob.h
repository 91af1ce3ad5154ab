/*
 * vectorjob.h: questions about vectors of values, answered by an engine, or by the type's comparator where a type has
 * no exact encoding.  The answers are the same either way.
 *
 * Order and equality are those of the type's default btree family under the column's collation; NULL equals NULL and
 * stands where the column says.  All vectors of one call have the same number of rows, at most GS_MAX_ROWS.  Small
 * inputs stay in the backend; what fails in the service is done again on the CPU and counted in gpusort_stat.  Answers
 * are blocks of mem, with at least one element of room.  A type that cannot be ordered, and memory that is not there,
 * are errors.
 */
#ifndef GPUSORT_VECTORJOB_H
#define GPUSORT_VECTORJOB_H

#include "utils/array.h"

#include "kernels/gs.h"

#include "src/base/bigmem.h"

struct Vector;					/* vector.h */

/* A column of a question: values, and how they compare. */
typedef struct VectorColumn
{
	const struct Vector *values;
	Oid			collation;
	bool		desc;			/* does not move NULLs */
	bool		nulls_first;
} VectorColumn;

/* All row numbers in order; equal rows stay as they came. */
extern uint32 *vectorjob_order(BigMem *mem, const VectorColumn *columns, int ncolumns);

/*
 * Runs of rows that are equal in the last key_columns columns, with the rows in the order of the first order_columns
 * columns (0: as they came).  Both sets may overlap: the distinct values of one column are its runs with 1 and 1.
 */
extern gs_run *vectorjob_runs(BigMem *mem, const VectorColumn *columns, int ncolumns, int order_columns,
							  int key_columns, uint64 *nruns);

/* The rows whose value compares so with another one, which is not NULL.  A NULL compares with nothing. */
extern uint32 *vectorjob_select(BigMem *mem, const VectorColumn *column, gs_comparison comparison, Datum value,
								uint64 *selected);

/* The rows whose flag (a boolean) is true, and with all set then the others. */
extern uint32 *vectorjob_partition(BigMem *mem, const struct Vector *flags, bool all, uint64 *selected);

/*
 * The operation (GS_SUM, GS_MIN, GS_MAX) over each value and all before it, in the form of GS_SCAN.  NULL, and nothing
 * done, if that is not what engines can do with the type's values, which must be numbers for GS_SUM.
 */
extern void *vectorjob_scan(BigMem *mem, const VectorColumn *column, gs_operation operation, bool exclusive);

/*
 * The operation over the last column's values in each group of rows that are equal in the columns before it; groups are
 * in the order of these columns, or runs as they came if presorted.  NULL as for vectorjob_scan.
 */
extern gs_group *vectorjob_reduce(BigMem *mem, const VectorColumn *columns, int ncolumns, bool presorted,
								  gs_operation operation, uint64 *ngroups);

/*
 * The column's values in order, with distinct set each once, as an array in cxt: of equal ones the first that came
 * stands first, or stays.
 */
extern ArrayType *vectorjob_sorted_array(BigMem *mem, const VectorColumn *column, bool distinct, int lower_bound,
										 MemoryContext cxt);

/* The column's values without those that equal the one before, as an array in cxt. */
extern ArrayType *vectorjob_dedup_array(BigMem *mem, const VectorColumn *column, MemoryContext cxt);

/* Each value as often as its length, a bigint, says, as an array of count elements in cxt. */
extern ArrayType *vector_decoded_array(BigMem *mem, const struct Vector *values, const struct Vector *lengths,
									   uint64 count, MemoryContext cxt);

/* Are a column's values, where they are not NULL, numbers as engines know them, and which? */
extern bool vectorjob_numbers(const VectorColumn *column, gs_type *type);

#endif
