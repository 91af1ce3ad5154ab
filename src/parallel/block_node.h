/*
 * block_node.h: the GpuSort that gives its rows out in blocks (blocks.h).
 */
#ifndef GPUSORT_BLOCK_NODE_H
#define GPUSORT_BLOCK_NODE_H

#include "src/core/our_node.h"

#define BLOCK_VARIANT "blocks"

/*
 * PRIVATE_DETAILS of its plan is an integer list of one: whether the first column of a block is the normalised key of
 * its first row, in place of the columns of the key.
 */
extern const OurNode block_node;

#endif
