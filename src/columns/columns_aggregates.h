/*
 * columns_aggregates.h: the aggregates that columns answer.
 */
#ifndef GPUSORT_COLUMNS_AGGREGATES_H
#define GPUSORT_COLUMNS_AGGREGATES_H

#include "query_members.h"

/* Returns what an aggregate does. */
extern QueryKind columns_aggregate_kind(const Aggref *aggregate);

/* Finds the operation of an aggregate of PostgreSQL without DISTINCT or an order, and the type of its argument. */
extern bool aggregates_plain(Oid function, gs_operation *operation, Oid *type);

/*
 * Returns an aggregate's argument.  Of a sum of smallints, to each of which a constant is added so that no integer
 * overflows, it is the column alone, and the constant is *addend: one sum answers those with any constants.
 */
extern Expr *aggregates_argument(const Aggref *aggregate, int64 *addend);

/* Returns true if its answer is a sum divided by a count. */
extern bool aggregates_average(Oid function);

/* Returns true if a function is the extension's of this name. */
extern bool aggregates_are_own(Oid function, const char *name);

#endif
