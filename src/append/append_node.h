/*
 * append_node.h: the CustomScan that takes a MergeAppend's place.
 */
#ifndef GPUSORT_APPEND_NODE_H
#define GPUSORT_APPEND_NODE_H

#include "nodes/extensible.h"
#include "nodes/execnodes.h"

#define GPUMERGEAPPEND_NODE_NAME "GpuMergeAppend"

/* The methods a CustomScan made by plan_append.c points to; its custom_private begins as that of a GpuSort. */
extern const CustomScanMethods gpumergeappend_scan_methods;
extern void gpumergeappend_node_init(void);

/* Tells the node of the Limit above, for Sorts of the server below it. */
extern void gpumergeappend_node_limit(CustomScanState *node, LimitState *limit);

#endif
