/*
 * topn_node.h: the CustomScan that leaves out rows that cannot be among the first ones of their group, below a sort.
 */
#ifndef GPUSORT_TOPN_NODE_H
#define GPUSORT_TOPN_NODE_H

#include "src/nodes/our_node.h"

#define GPUTOPN_NODE_NAME "GpuTopN"

/*
 * custom_private of its plan is that of a GpuSort by the order within groups, with details: the columns of the groups,
 * how many rows are wanted of each, and whether also those that are equal to the last of these.
 */
extern const OurNode gputopn_node;
extern const CustomScanMethods gputopn_scan_methods;

#endif
