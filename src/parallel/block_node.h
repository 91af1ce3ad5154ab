/*
 * block_node.h: the GpuSort that returns its rows in blocks (blocks.h).
 */
#ifndef GPUSORT_BLOCK_NODE_H
#define GPUSORT_BLOCK_NODE_H

#include "src/nodes/our_node.h"

#define BLOCK_VARIANT "blocks"

/*
 * PRIVATE_DETAILS of its plan is a list of one integer: whether the first column of a block's tuple is the normalised
 * key of its first row instead of its key columns.
 */
extern const OurNode block_node;

#endif
