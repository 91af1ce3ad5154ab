/*
 * register_sort.cuh: odd-even transposition sort of a thread's words in registers, for words that are nearly sorted
 * (order/buckets.cuh, arrays/bucket_sort.cu).  Words of 64 bits must be below the bits of the greatest finite double,
 * GS_WINDOW_LAST, so that they can be compared as doubles.  Devices with a double-precision unit compare those in one
 * instruction, on an otherwise idle unit.
 */
#ifndef GS_CUDA_BASE_REGISTER_SORT_CUH
#define GS_CUDA_BASE_REGISTER_SORT_CUH

#include "device.cuh"

#include <type_traits>
#include <utility>

#define GS_WINDOW_LAST 0x7fefffffffffffff

/* Sorts two words by minimum and maximum, which the compiler must not merge with other comparisons. */
__device__ __forceinline__ void
exchange(u32 &a, u32 &b, bool &moved)
{
	u32 low, high;

	moved |= a > b;
	asm("min.u32 %0, %2, %3; max.u32 %1, %2, %3;" : "=&r"(low), "=r"(high) : "r"(a), "r"(b));
	a = low;
	b = high;
}

/* Sorts two words.  Sets moved if they were out of order. */
__device__ __forceinline__ void
exchange(u64 &a, u64 &b, u32 &moved)
{
	u64 low, high;

#if __CUDA_ARCH__ == 800 || __CUDA_ARCH__ == 900 || __CUDA_ARCH__ == 1000
	asm("{ .reg .pred p; .reg .f64 s, t; mov.b64 s, %3; mov.b64 t, %4; setp.lt.f64 p, t, s;"
		" selp.b64 %0, %4, %3, p; selp.b64 %1, %3, %4, p; @p mov.u32 %2, 1; }"
		: "=&l"(low), "=&l"(high), "+r"(moved)
		: "l"(a), "l"(b));
#else
	asm("{ .reg .pred p; setp.lt.u64 p, %4, %3; selp.b64 %0, %4, %3, p; selp.b64 %1, %3, %4, p; @p mov.u32 %2, 1; }"
		: "=&l"(low), "=&l"(high), "+r"(moved)
		: "l"(a), "l"(b));
#endif
	a = low;
	b = high;
}

/* The type of moved for a kind of word. */
template <class W>
using moved_of = std::conditional_t<sizeof(W) == 8, u32, bool>;

template <class W, int N, size_t... I>
__device__ __forceinline__ bool
transpose(W (&x)[N], std::index_sequence<I...>)
{
	moved_of<W> ignored = 0, moved = 0;

	(exchange(x[2 * I], x[2 * I + 1], ignored), ...);
	((I > 0 ? exchange(x[I > 0 ? 2 * I - 1 : 0], x[2 * I], moved) : (void) 0), ...);
	return moved != 0;
}

/* Both phases of an odd-even transposition.  If the second moves nothing (false), all words are in order. */
template <class W, int N>
__device__ __forceinline__ bool
transpose(W (&x)[N])
{
	static_assert(N % 2 == 0, "pairs");
	return transpose(x, std::make_index_sequence<N / 2>());
}

/* Sorts a thread's words, together with the other lanes of a mask. */
template <class W, int N>
__device__ __forceinline__ void
put_in_order(W (&x)[N], u32 lanes)
{
	while (__any_sync(lanes, transpose(x)))
		;
}

#endif
