/*
 * pagescan.h: rows of a sequential scan, a page at a time.
 */
#ifndef GPUSORT_PAGESCAN_H
#define GPUSORT_PAGESCAN_H

#include "access/htup.h"
#include "nodes/execnodes.h"

#include "sorter.h"

typedef struct PageScan PageScan;

/* What is needed to read a node's rows by the page; NULL if they cannot be. */
extern PageScan *pagescan_open(PlanState *child);

/*
 * After a row of the child was taken: gives the sort the rows that follow it on its page, and moves the scan past them.
 */
extern void pagescan_take(PageScan *scan, Sorter *sorter);

/* Is a tuple of the table one that is wanted? */
typedef bool (*PageFilter) (void *arg, HeapTuple tuple, TupleDesc desc);

/* pagescan_take, of the rows that are wanted; returns how many others the scan was moved past. */
extern uint32 pagescan_take_some(PageScan *scan, Sorter *sorter, PageFilter wanted, void *arg);

/* Returns the column of the table that a column of the child's rows is. */
extern AttrNumber pagescan_column(const PageScan *scan, AttrNumber attno);

#endif
