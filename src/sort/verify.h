/*
 * verify.h: checks of an order against the types' own comparison functions.
 */
#ifndef GPUSORT_VERIFY_H
#define GPUSORT_VERIFY_H

#include "src/guc.h"
#include "roworder.h"
#include "rowstore.h"
#include "sortcolumns.h"

/* A sample looks at about so many pairs of rows. */
#define VERIFY_SAMPLE_PAIRS 10000

/* Is every row (VERIFY_SAMPLE: of a sample) not after its successor?  The order must keep all row numbers. */
extern bool verify_order(const SortColumns *columns, TupleDesc desc, RowStore *rows, RowOrder *order,
						 GpusortVerify how);

#endif
