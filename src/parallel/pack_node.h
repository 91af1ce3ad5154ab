/*
 * pack_node.h: the two CustomScans around a Gather whose rows travel in blocks.
 *
 * GpuPack may stand on any plan that workers can run: it gives that plan's rows out in blocks (blocks.h), in no order.
 * GpuUnpack, above the Gather, gives out the rows.
 */
#ifndef GPUSORT_PACK_NODE_H
#define GPUSORT_PACK_NODE_H

#include "src/core/our_node.h"

#define GPUPACK_NODE_NAME "GpuPack"
#define GPUUNPACK_NODE_NAME "GpuUnpack"

extern const OurNode gpupack_node;
extern const OurNode gpuunpack_node;
extern const CustomScanMethods gpupack_scan_methods;
extern const CustomScanMethods gpuunpack_scan_methods;

#endif
