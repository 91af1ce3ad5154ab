/*
 * simd.c: loops over arrays, compiled for each instruction set and chosen at run time.
 */
#include "cpu.h"

#include <string.h>

#define TARGET
#define NAME(name) plain_##name
#include "simd_loops.h"

#if defined(__x86_64__)
#define TARGET	   __attribute__((target("avx2")))
#define NAME(name) avx2_##name
#include "simd_loops.h"

#define TARGET	   __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#define NAME(name) avx512_##name
#include "simd_loops.h"
#endif

/*
 * The best loops for this processor; on others than x86-64 the compiler's default is all there is.
 */
const gs_loops *
gs_loops_choose(bool vector)
{
#if defined(__x86_64__)
	if (vector && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		__builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
		return &avx512_loops;
	if (vector && __builtin_cpu_supports("avx2"))
		return &avx2_loops;
#else
	(void) vector;
#endif
	return &plain_loops;
}
