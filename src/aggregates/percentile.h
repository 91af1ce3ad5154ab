/*
 * percentile.h: percentiles of a state of collect.h.
 */
#ifndef GPUSORT_PERCENTILE_H
#define GPUSORT_PERCENTILE_H

#include "collect.h"

/*
 * The continuous percentile of a state that has rows, and the discrete one: the first value whose place in the order is
 * at least that part of all.  order is that of its rows, NULL if it is not known.
 */
extern Datum percentile_cont(Collected *state, const uint32 *order, double fraction);
extern Datum percentile_disc(Collected *state, const uint32 *order, double fraction);

/* The value at a place of the order, and the one at the next, or the last place; both copied. */
extern void percentile_values_at(Collected *state, const uint32 *order, uint64 place, Datum *value, Datum *next);

/* Between two values, as PostgreSQL's percentile_cont does it. */
extern Datum percentile_between(Oid type, Datum low, Datum high, double part);

#endif
