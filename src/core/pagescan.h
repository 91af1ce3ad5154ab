/*
 * pagescan.h: rows of a sequential scan, a page at a time.
 */
#ifndef GPUSORT_PAGESCAN_H
#define GPUSORT_PAGESCAN_H

#include "nodes/execnodes.h"

#include "src/shares/shares.h"
#include "sorter.h"

typedef struct PageScan PageScan;

/* What is needed to read a node's rows by the page; NULL if they cannot be. */
extern PageScan *pagescan_open(PlanState *child);

/*
 * After a row of the child was taken: gives the sort the rows that follow it on its page, and moves the scan past them.
 */
extern void pagescan_take(PageScan *scan, Sorter *sorter);

/* Has a share only of the rows taken: where its keys are is found out once. */
extern void pagescan_share(PageScan *scan, Shares *shares);

/* pagescan_take, of rows of the share only; returns how many others the scan was moved past. */
extern uint32 pagescan_take_share(PageScan *scan, Sorter *sorter);

#endif
