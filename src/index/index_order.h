/*
 * index_order.h: do the rows of a table come in the order of an index?
 */
#ifndef GPUSORT_INDEX_ORDER_H
#define GPUSORT_INDEX_ORDER_H

#include "nodes/execnodes.h"
#include "utils/rel.h"

#include "src/keys/sortcolumns.h"

/* Returns true if a sample of a table's rows ascends by the first key of an index, as far as it shows. */
extern bool index_comes_in_order(Relation heap, Relation index, IndexInfo *info, const SortColumns *columns);

#endif
