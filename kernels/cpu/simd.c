/*
 * simd.c: loops over arrays, compiled for several instruction sets and chosen at run time.
 */
#include "cpu.h"

#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Packs eight numbers of width bits, each in a byte, next to each other. */
static inline uint64_t
squeeze(uint64_t word, uint32_t width)
{
	const uint64_t bytes = 0x00ff00ff00ff00ff, pairs = 0x0000ffff0000ffff, halves = 0x00000000ffffffff;

	word = (word & ~bytes) >> (8 - width) | (word & bytes);
	word = (word & ~pairs) >> (16 - 2 * width) | (word & pairs);
	return (word & ~halves) >> (32 - 4 * width) | (word & halves);
}

/* Computes the distances of eight characters, each in a byte.  No byte borrows from another. */
static inline uint64_t
distances(const gs_alphabet *alphabet, int half, const uint8_t *s)
{
	uint64_t distance = gs_load_characters(s) - gs_load_characters(alphabet->least + 8 * half);
	uint64_t beyond = (distance + gs_load_characters(alphabet->above + 8 * half)) >> 7 & 0x0101010101010101;

	return distance - beyond * alphabet->gap;
}

/* Computes the leading bits of the distances of a string's next characters, and ORs the distances into seen. */
static inline uint64_t
distance_code(const gs_alphabet *alphabet, const uint8_t *s, uint32_t bits, uint64_t *seen)
{
	uint32_t width = alphabet->width, half = 8 * width, more = 8 * (GS_RANGES - alphabet->chars);
	uint64_t first = distances(alphabet, 0, s), second;

	*seen |= first;
	first = squeeze(first, width);
	if (bits <= half)
		return first >> (half - bits);
	/* bytes behind the characters have arbitrary distances */
	second = distances(alphabet, 1, s + 8) >> more << more;
	*seen |= second;
	return first << (bits - half) | squeeze(second, width) >> (2 * half - bits);
}

#define LOOPS "simd_loops.h"
#include "each_vectors.h"

/* Returns the instruction set to use, of the allowed ones: on other processors than x86-64 the compiler's default. */
gs_vectors
gs_vectors_choose(gs_vectors best)
{
#if defined(__x86_64__)
	if (best >= GS_AVX512 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return GS_AVX512;
	if (best >= GS_AVX2 && __builtin_cpu_supports("avx2"))
		return GS_AVX2;
#else
	(void) best;
#endif
	return GS_NO_VECTORS;
}

/* Returns the best loops for this processor. */
const gs_loops *
gs_loops_choose(gs_vectors vector)
{
	CHOOSE_LOOPS(vector, loops);
}
