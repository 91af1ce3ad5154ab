/*
 * each_vectors.h: includes LOOPS, a header of loops in plain C, once for each instruction set: with TARGET, an
 * attribute, with NAME, which makes names of a set's own, and with VECTORS where a set has vectors.
 */
#define TARGET
#define NAME(name) plain_##name
#include LOOPS

#if defined(__x86_64__)
#define VECTORS
#define TARGET	   __attribute__((target("avx2")))
#define NAME(name) avx2_##name
#include LOOPS

#define TARGET	   __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NAME(name) avx512_##name
#include LOOPS

/* Returns the table of loops for this processor, within the allowed instruction sets. */
#define CHOOSE_LOOPS(vector, table)                                                                                    \
	do                                                                                                                 \
	{                                                                                                                  \
		const gs_vectors chosen = gs_vectors_choose(vector);                                                           \
		return chosen == GS_AVX512 ? &avx512_##table : chosen == GS_AVX2 ? &avx2_##table : &plain_##table;             \
	} while (0)
#else
#define CHOOSE_LOOPS(vector, table)                                                                                    \
	do                                                                                                                 \
	{                                                                                                                  \
		(void) (vector);                                                                                               \
		return &plain_##table;                                                                                         \
	} while (0)
#endif
