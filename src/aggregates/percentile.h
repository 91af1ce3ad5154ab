/*
 * percentile.h: percentiles of a collected state.
 */
#ifndef GPUSORT_PERCENTILE_H
#define GPUSORT_PERCENTILE_H

#include "collect.h"

/*
 * Return the continuous and the discrete percentile of a non-empty state.  The latter is the first value whose position
 * is at least that fraction of all.  order is that of the rows, or NULL if unknown.
 */
extern Datum percentile_cont(Collected *state, const uint32 *order, double fraction);
extern Datum percentile_disc(Collected *state, const uint32 *order, double fraction);

/* Copies the values at a position of the order and at the next one (or the last). */
extern void percentile_values_at(Collected *state, const uint32 *order, uint64 place, Datum *value, Datum *next);

/* Interpolates between two values as PostgreSQL's percentile_cont does. */
extern Datum percentile_between(Oid type, Datum low, Datum high, double part);

#endif
