/*
 * groups_loops.c: loops over blocks of keys and values, compiled for several instruction sets and chosen at run time.
 */
#include "groups.h"

#define TOP_BIT ((uint64_t) 1 << 63)

#define LOOPS "groups_loops.h"
#include "each_vectors.h"

/* Returns the loops for this processor, within the allowed instruction sets. */
const gs_group_loops *
gs_group_loops_choose(gs_vectors vector)
{
	CHOOSE_LOOPS(vector, group_loops);
}
