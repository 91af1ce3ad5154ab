/*
 * append_node.h: the CustomScan that replaces a MergeAppend.
 */
#ifndef GPUSORT_APPEND_NODE_H
#define GPUSORT_APPEND_NODE_H

#include "src/nodes/our_node.h"

#define GPUMERGEAPPEND_NODE_NAME "GpuMergeAppend"

/* custom_private of its plan begins like that of a GpuSort. */
extern const OurNode gpumergeappend_node;
extern const CustomScanMethods gpumergeappend_scan_methods;

#endif
