/*
 * pagescan.h: rows of a sequential scan, a page at a time.
 */
#ifndef GPUSORT_PAGESCAN_H
#define GPUSORT_PAGESCAN_H

#include "access/htup.h"
#include "nodes/execnodes.h"

#include "sorter.h"

typedef struct PageScan PageScan;

/* Prepares to read a node's rows by the page; NULL if it is not a plain sequential scan of a heap. */
extern PageScan *pagescan_open(PlanState *child);

/* Puts the rows behind the child's last row on its page into the sort, and moves the scan past them. */
extern void pagescan_take(PageScan *scan, Sorter *sorter);

/* Is a tuple of the table wanted? */
typedef bool (*PageFilter) (void *arg, HeapTuple tuple, TupleDesc desc);

/* pagescan_take of the wanted rows; returns how many others the scan was moved past. */
extern uint32 pagescan_take_some(PageScan *scan, Sorter *sorter, PageFilter wanted, void *arg);

/* Returns the table's column behind a column of the child's rows. */
extern AttrNumber pagescan_column(const PageScan *scan, AttrNumber attno);

#endif
