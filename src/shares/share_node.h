/*
 * share_node.h: the GpuSort that sorts a share of the groups after another (shares.h).
 */
#ifndef GPUSORT_SHARE_NODE_H
#define GPUSORT_SHARE_NODE_H

#include "src/core/our_node.h"

#define SHARE_VARIANT "shares"

/* PRIVATE_DETAILS of its plan is a list as SharePrivate has it. */
extern const OurNode share_node;

#endif
