/*
 * neighbours.h: compares all neighbours of an order, by words of their keys.
 */
#ifndef GPUSORT_NEIGHBOURS_H
#define GPUSORT_NEIGHBOURS_H

#include "rowcompare.h"
#include "src/keys/sortkey.h"

typedef struct Neighbours Neighbours;

/* Opens the check of orders of a comparer's rows, whose keys a sort has encoded; in the current memory context. */
extern Neighbours *neighbours_open(RowComparer *comparer, SortKey *keys);

/* Rows that are best checked at a time: they have come into the cache when they are, and stay there. */
#define NEIGHBOURS_ROWS 256

/* Does each row sort before its successor, equal rows by their numbers?  Keys must have their final form. */
extern bool neighbours_ascend(Neighbours *neighbours, const uint32 *rows, uint64 count);

/* Does a row sort before all rows that are not marked as seen? */
extern bool neighbours_behind(Neighbours *neighbours, uint32 row, const uint64 *seen);

/*
 * Does the check take little time beside all that is done with a row?  It does if all keys are numbers of fixed width,
 * each in one place of all rows.
 */
extern bool neighbours_cheap(const RowStore *rows, const KeyPlace *places, SortKey *keys, int nkeys);

#endif
