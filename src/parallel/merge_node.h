/*
 * merge_node.h: the CustomScan above a Gather Merge that returns blocks of sorted rows.
 */
#ifndef GPUSORT_MERGE_NODE_H
#define GPUSORT_MERGE_NODE_H

#include "src/nodes/our_node.h"

#define GPUMERGE_NODE_NAME "GpuMerge"

/* Its plan has the custom_private of the GpuSort below. */
extern const OurNode gpumerge_node;
extern const CustomScanMethods gpumerge_scan_methods;

#endif
