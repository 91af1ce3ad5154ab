/*
 * pack_node.h: the CustomScans below and above a Gather: GpuPack writes rows into blocks, GpuUnpack returns them.
 */
#ifndef GPUSORT_PACK_NODE_H
#define GPUSORT_PACK_NODE_H

#include "src/nodes/our_node.h"

#define GPUPACK_NODE_NAME "GpuPack"
#define GPUUNPACK_NODE_NAME "GpuUnpack"

extern const OurNode gpupack_node;
extern const OurNode gpuunpack_node;
extern const CustomScanMethods gpupack_scan_methods;
extern const CustomScanMethods gpuunpack_scan_methods;

#endif
