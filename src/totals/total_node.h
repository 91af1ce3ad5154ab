/*
 * total_node.h: the CustomScan on top of a page with totals: the first rows of an order, each with the aggregates of
 * all rows.
 */
#ifndef GPUSORT_TOTAL_NODE_H
#define GPUSORT_TOTAL_NODE_H

#include "src/nodes/our_node.h"

#define GPUTOTAL_NODE_NAME "GpuTotal"

/* custom_private of its plan is as long as that of a GpuSort, whose members are empty. */
extern const OurNode gputotal_node;
extern const CustomScanMethods gputotal_scan_methods;

#endif
