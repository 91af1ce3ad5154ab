/*
 * block_node.h: the GpuSort that returns its rows in blocks (blocks.h).
 */
#ifndef GPUSORT_BLOCK_NODE_H
#define GPUSORT_BLOCK_NODE_H

#include "src/nodes/our_node.h"

#define BLOCK_VARIANT "blocks"

/* PRIVATE_DETAILS of its plan: one integer, whether a block's tuple begins with its first row's normalised key. */
extern const OurNode block_node;

#endif
