/*
 * share_node.h: the GpuSort that sorts shares of the groups, one after another (shares.h).
 */
#ifndef GPUSORT_SHARE_NODE_H
#define GPUSORT_SHARE_NODE_H

#include "src/nodes/our_node.h"

#define SHARE_VARIANT "shares"

/* PRIVATE_DETAILS of its plan is a list indexed by SharePrivate. */
extern const OurNode share_node;

#endif
