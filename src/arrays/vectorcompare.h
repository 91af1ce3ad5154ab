/*
 * vectorcompare.h: orders and compares vectors by the types' own comparators.
 */
#ifndef GPUSORT_VECTORCOMPARE_H
#define GPUSORT_VECTORCOMPARE_H

#include "utils/sortsupport.h"

#include "src/base/compat.h"
#include "vector.h"
#include "vectorjob.h"

typedef struct VectorComparer
{
	const VectorColumn *columns;
	int			ncolumns;
	SortSupport keys;			/* one per column */
} VectorComparer;

/* Returns a column's ordering operator, of its type's default btree family.  Raises an error if there is none. */
extern Oid	vectorcompare_operator(const VectorColumn *column);

/* Looks up the comparators.  Allocates in the current memory context. */
extern void vectorcompare_open(VectorComparer *comparer, const VectorColumn *columns, int ncolumns);

/* Writes all row numbers in order. */
extern void vectorcompare_order(const VectorColumn *columns, int ncolumns, uint32 *order);

/* Compares two rows by columns first to last - 1. */
static inline int
vectorcompare_rows(const VectorComparer *comparer, int first, int last, uint64 a, uint64 b)
{
	for (int i = first; i < last; i++)
	{
		bool		null_a;
		bool		null_b;
		Datum		value_a = vector_get(comparer->columns[i].values, a, &null_a);
		Datum		value_b = vector_get(comparer->columns[i].values, b, &null_b);
		int			order = ApplySortComparator(value_a, null_a, value_b, null_b, &comparer->keys[i]);

		if (order != 0)
			return order;
	}
	return 0;
}

/* Returns true if the sign of a comparison satisfies an operator. */
static inline bool
vectorcompare_holds(int order, gs_comparison comparison)
{
	switch (comparison)
	{
		case GS_EQ:
			return order == 0;
		case GS_NE:
			return order != 0;
		case GS_LT:
			return order < 0;
		case GS_LE:
			return order <= 0;
		case GS_GT:
			return order > 0;
		case GS_GE:
			return order >= 0;
		case GS_BETWEEN:
			break;
	}
	return false;
}

#endif
