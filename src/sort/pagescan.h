/*
 * pagescan.h: rows of a sequential scan, a page at a time.
 */
#ifndef GPUSORT_PAGESCAN_H
#define GPUSORT_PAGESCAN_H

#include "nodes/execnodes.h"

#include "sorter.h"

typedef struct PageScan PageScan;

/* What is needed to read a node's rows by the page; NULL if they cannot be. */
extern PageScan *pagescan_open(PlanState *child);

/*
 * After a row of the child was taken: gives the sort the rows that follow it on its page, and moves the scan past them.
 */
extern void pagescan_take(PageScan *scan, Sorter *sorter);

#endif
