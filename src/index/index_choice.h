/*
 * index_choice.h: which btrees gpusort sorts the rows of.
 */
#ifndef GPUSORT_INDEX_CHOICE_H
#define GPUSORT_INDEX_CHOICE_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "index_rows.h"

/* About how many rows a table has. */
extern double index_rows_expected(Relation heap);

/* Returns NULL if sorting an index's rows first pays, else why not.  form: that of its rows. */
extern const char *index_left_why(Relation heap, Relation index, IndexInfo *info, const IndexForm *form, double rows);

#endif
