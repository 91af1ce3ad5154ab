/*
 * steps_loops.c: reductions and arithmetic over arrays, compiled for several instruction sets and chosen at run time.
 */
#include "steps.h"

#define TOP_BIT ((uint64_t) 1 << 63)
#define LANES	16 /* sums of doubles, which compilers keep in the order of the source */

#define TARGET
#define NAME(name) plain_##name
#include "steps_loops.h"

#if defined(__x86_64__)
#define TARGET	   __attribute__((target("avx2")))
#define NAME(name) avx2_##name
#include "steps_loops.h"

#define TARGET	   __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NAME(name) avx512_##name
#include "steps_loops.h"
#endif

/* Returns the loops for this processor, within the allowed instruction sets. */
const gs_step_loops *
gs_step_loops_choose(gs_vectors vector)
{
#if defined(__x86_64__)
	switch (gs_vectors_choose(vector))
	{
		case GS_AVX512:
			return &avx512_step_loops;
		case GS_AVX2:
			return &avx2_step_loops;
		case GS_NO_VECTORS:
			break;
	}
#else
	(void) vector;
#endif
	return &plain_step_loops;
}
