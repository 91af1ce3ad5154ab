/*
 * first_node.h: the CustomScan below the aggregates of a page with totals.  It passes its child's rows on, in the order
 * in which they come, and keeps the first ones of an order for the node above the aggregates.
 */
#ifndef GPUSORT_FIRST_NODE_H
#define GPUSORT_FIRST_NODE_H

#include "src/nodes/our_node.h"

#define GPUFIRST_NODE_NAME "GpuFirst"

/* custom_private of its plan is that of a GpuSort, with FIRST_COMBINES as variant if rows come from other processes. */
extern const OurNode gpufirst_node;
extern const OurNode gpufirst_combining_node;
extern const CustomScanMethods gpufirst_scan_methods;

/*
 * The variant above a Gather.  Its child's rows end in partial states, and only those that have some go to the
 * aggregates.  Its details are the number of columns in front of the states.
 */
#define FIRST_COMBINES "combines"

/* Sets how many of the first rows the next scan keeps, 0: all, and whether they are returned more than forward once. */
extern void firstnode_expect(CustomScanState *css, int64 bound, bool random_access);

/* Stores a kept row in a slot of minimal tuples once all have come; clears it at either end, as a Sort does. */
extern TupleTableSlot *firstnode_get(CustomScanState *css, bool forward, TupleTableSlot *slot);

/* Goes back to before the first row that was kept, with random access. */
extern void firstnode_rewind(CustomScanState *css);

#endif
