/*
 * steps_loops.c: reductions and arithmetic over arrays, compiled for several instruction sets and chosen at run time.
 */
#include "steps.h"

#define TOP_BIT ((uint64_t) 1 << 63)
#define LANES	16 /* sums of doubles, which compilers keep in the order of the source */

#define LOOPS "steps_loops.h"
#include "each_vectors.h"

/* Returns the loops for this processor, within the allowed instruction sets. */
const gs_step_loops *
gs_step_loops_choose(gs_vectors vector)
{
	CHOOSE_LOOPS(vector, step_loops);
}
