/*
 * chosen.h: which relations have chosen columns, as this session's planner knows it.
 */
#ifndef GPUSORT_COLUMNS_CHOSEN_H
#define GPUSORT_COLUMNS_CHOSEN_H

#include "postgres_ext.h"

/*
 * Returns true if any relation of this database has chosen columns.  Costs a comparison unless choices or relations
 * have changed.
 */
extern bool any_chosen(void);

/* Returns true if columns of a relation are chosen, by itself or by a partitioned parent.  After any_chosen alone. */
extern bool is_chosen(Oid relation);

/* Returns true if a column of a chosen relation is. */
extern bool is_chosen_column(Oid relation, const char *name);

#endif
