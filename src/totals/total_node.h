/*
 * total_node.h: the CustomScan on top of a page with totals: the first rows of an order, each with the aggregates of
 * all rows.
 */
#ifndef GPUSORT_TOTAL_NODE_H
#define GPUSORT_TOTAL_NODE_H

#include "src/nodes/our_node.h"

#define GPUTOTAL_NODE_NAME "GpuTotal"

/* Its plan has no custom_private: what it needs is in custom_scan_tlist and in its children. */
extern const OurNode gputotal_node;
extern const CustomScanMethods gputotal_scan_methods;

#endif
