/*
 * merge_node.h: the CustomScan above a Gather Merge that brings blocks of sorted rows.
 */
#ifndef GPUSORT_MERGE_NODE_H
#define GPUSORT_MERGE_NODE_H

#include "nodes/extensible.h"

#define GPUMERGE_NODE_NAME "GpuMerge"

/* The methods a CustomScan made by plan_merge.c points to; its custom_private is that of the GpuSort below. */
extern const CustomScanMethods gpumerge_scan_methods;
extern void gpumerge_node_init(void);

#endif
