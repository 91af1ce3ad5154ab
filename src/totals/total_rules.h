/*
 * total_rules.h: which window functions are aggregates of all rows, and which of them several processes may compute.
 */
#ifndef GPUSORT_TOTAL_RULES_H
#define GPUSORT_TOTAL_RULES_H

#include "nodes/pathnodes.h"

/* Returns true if window functions are aggregates of all rows. */
extern bool windows_are_totals(PlannerInfo *root, List *functions);

/* Returns true if the result of an aggregate does not depend on the order of its input, down to the last bit. */
extern bool total_ignores_order(const Aggref *aggregate);

#endif
