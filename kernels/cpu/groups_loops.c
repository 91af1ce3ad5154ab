/*
 * groups_loops.c: loops over blocks of keys and values, compiled for several instruction sets and chosen at run time.
 */
#include "groups.h"

#define TOP_BIT ((uint64_t) 1 << 63)

#define TARGET
#define NAME(name) plain_##name
#include "groups_loops.h"

#if defined(__x86_64__)
#define TARGET	   __attribute__((target("avx2")))
#define NAME(name) avx2_##name
#include "groups_loops.h"

#define TARGET	   __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NAME(name) avx512_##name
#include "groups_loops.h"
#endif

/* Returns the loops for this processor, within the allowed instruction sets. */
const gs_group_loops *
gs_group_loops_choose(gs_vectors vector)
{
#if defined(__x86_64__)
	switch (gs_vectors_choose(vector))
	{
		case GS_AVX512:
			return &avx512_group_loops;
		case GS_AVX2:
			return &avx2_group_loops;
		case GS_NO_VECTORS:
			break;
	}
#else
	(void) vector;
#endif
	return &plain_group_loops;
}
