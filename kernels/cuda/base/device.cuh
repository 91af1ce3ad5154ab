/*
 * device.cuh: instructions without CUDA C++ equivalents, and the layout of items in a tile.
 */
#ifndef GS_CUDA_BASE_DEVICE_CUH
#define GS_CUDA_BASE_DEVICE_CUH

#include <cstdint>
#include <cuda_runtime.h>

#include "../../common/float_order.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t i32;
typedef int64_t i64;

/* Sixteen bytes moved as one: an item, or a status word of the look-back. */
struct alignas(16) u128
{
	u64 lo, hi;
};

__device__ __forceinline__ bool operator==(u128 a, u128 b) { return a.lo == b.lo && a.hi == b.hi; }
__device__ __forceinline__ bool operator!=(u128 a, u128 b) { return a.lo != b.lo || a.hi != b.hi; }
__device__ __forceinline__ bool operator<=(u128 a, u128 b) { return a.hi < b.hi || (a.hi == b.hi && a.lo <= b.lo); }

template <int BYTES> struct item_of;
template <> struct item_of<1> { typedef u8 type; };
template <> struct item_of<2> { typedef u16 type; };
template <> struct item_of<4> { typedef u32 type; };
template <> struct item_of<8> { typedef u64 type; };
template <> struct item_of<16> { typedef u128 type; };

#define GS_ALL_LANES 0xffffffffu

/* The lane's number.  All blocks here are one-dimensional. */
__device__ __forceinline__ u32
lane_id()
{
	return threadIdx.x & 31;
}

/* Mask of the lanes up to this one. */
__device__ __forceinline__ u32
lanes_upto()
{
	u32 m;

	asm("mov.u32 %0, %%lanemask_le;" : "=r"(m));
	return m;
}

/* Mask of the lanes before this one. */
__device__ __forceinline__ u32
lanes_below()
{
	u32 m;

	asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m));
	return m;
}

/* ---------------------------------------------------------------- shuffles of any type */

/* Shuffles of any type made of 32-bit words, by the whole warp.  shuffle() broadcasts one lane's value. */
#define GS_SHUFFLE(NAME, INTRINSIC, FROM)                                                                              \
	template <class T>                                                                                                 \
	__device__ __forceinline__ T                                                                                       \
	NAME(T x, int FROM)                                                                                                \
	{                                                                                                                  \
		union { T t; u32 w[sizeof(T) / 4]; } v;                                                                        \
                                                                                                                       \
		v.t = x;                                                                                                       \
		_Pragma("unroll") for (int i = 0; i < (int) (sizeof(T) / 4); i++)                                              \
			v.w[i] = INTRINSIC(GS_ALL_LANES, v.w[i], FROM);                                                            \
		return v.t;                                                                                                    \
	}
GS_SHUFFLE(shuffle_up, __shfl_up_sync, d)
GS_SHUFFLE(shuffle_down, __shfl_down_sync, d)
GS_SHUFFLE(shuffle_xor, __shfl_xor_sync, d)
GS_SHUFFLE(shuffle, __shfl_sync, lane)

/* Reductions over all lanes; a single instruction from sm_80 on. */
#if __CUDA_ARCH__ >= 800 || !defined(__CUDA_ARCH__)
#define GS_LANES(NAME, STEP)                                                                                           \
	__device__ __forceinline__ u32 lanes_##NAME(u32 x)                                                                 \
	{                                                                                                                  \
		return __reduce_##NAME##_sync(GS_ALL_LANES, x);                                                                \
	}
#else
#define GS_LANES(NAME, STEP)                                                                                           \
	__device__ __forceinline__ u32 lanes_##NAME(u32 x)                                                                 \
	{                                                                                                                  \
		for (int d = 16; d > 0; d /= 2)                                                                                \
		{                                                                                                              \
			u32 y = __shfl_xor_sync(GS_ALL_LANES, x, d);                                                               \
			x = STEP;                                                                                                  \
		}                                                                                                              \
		return x;                                                                                                      \
	}
#endif
GS_LANES(add, x + y)
GS_LANES(min, min(x, y))
GS_LANES(max, max(x, y))
GS_LANES(or, x | y)

/* ---------------------------------------------------------------- status words: one access, device scope, no order */

__device__ __forceinline__ u64
load_relaxed(const u64 *p)
{
	u64 v;

	asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}

__device__ __forceinline__ u32
load_relaxed(const u32 *p)
{
	u32 v;

	asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
	return v;
}

/* Counterpart of load_relaxed: one access.  Neither orders other accesses. */
__device__ __forceinline__ void
store_relaxed(u32 *p, u32 v)
{
	asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}

__device__ __forceinline__ void
store_relaxed(u64 *p, u64 v)
{
	asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory");
}

/* 128-bit accesses are single-copy atomic from sm_70 on as .b128.  For .v2.u64 this is not specified. */
__device__ __forceinline__ u128
load_relaxed(const u128 *p)
{
	u128 v;

	asm volatile("{ .reg .b128 t; ld.relaxed.gpu.global.b128 t, [%2]; mov.b128 {%0, %1}, t; }"
				 : "=l"(v.lo), "=l"(v.hi)
				 : "l"(p)
				 : "memory");
	return v;
}

__device__ __forceinline__ void
store_relaxed(u128 *p, u128 v)
{
	asm volatile("{ .reg .b128 t; mov.b128 t, {%1, %2}; st.relaxed.gpu.global.b128 [%0], t; }" ::"l"(p), "l"(v.lo),
				 "l"(v.hi)
				 : "memory");
}

/* ---------------------------------------------------------------- asynchronous and bulk copies, their barrier */

/* A shared memory address for PTX. */
__device__ __forceinline__ u32
shared_address(const void *p)
{
	return (u32) __cvta_generic_to_shared(p);
}

/* Starts an asynchronous copy of 4, 8 or 16 bytes to shared memory.  copied() waits for the thread's. */
template <class T>
__device__ __forceinline__ void
copy_item_ahead(T *to, const T *from)
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(shared_address(to)), "l"(from), "n"(sizeof(T))
				 : "memory");
#else
	*to = *from;
#endif
}

/* Waits for the calling thread's copies.  For those of other threads, a barrier must follow. */
__device__ __forceinline__ void
copied()
{
#if __CUDA_ARCH__ >= 800
	asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)

/* Initializes a barrier with this many arrivals per phase. */
__device__ __forceinline__ void
barrier_init(u64 *bar, u32 arrivals)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(bar)), "r"(arrivals) : "memory");
}

/* Arrives without waiting. */
__device__ __forceinline__ void
barrier_arrive(u64 *bar)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(bar)) : "memory");
}

/* Arrives as the only thread of a phase, which then also waits for this many bytes. */
__device__ __forceinline__ void
barrier_expect(u64 *bar, u32 bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(bar)), "r"(bytes)
				 : "memory");
}

/* Waits for the phase of the given parity.  Writes before the arrivals are then visible. */
__device__ __forceinline__ void
barrier_wait(u64 *bar, u32 parity)
{
	u32 done;

	do
		asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
					 : "=r"(done)
					 : "r"(shared_address(bar)), "r"(parity)
					 : "memory");
	while (!done);
}

/* Copies whole 16-byte vectors for the block, by one thread.  The barrier counts the bytes. */
__device__ __forceinline__ void
bulk_load(void *to, const void *from, u32 bytes, u64 *bar)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
					 shared_address(to)),
				 "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(bar))
				 : "memory");
}

/* Orders previous accesses to shared memory before bulk copies that start after a later barrier. */
__device__ __forceinline__ void
bulk_fence()
{
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#else

__device__ __forceinline__ void
bulk_fence()
{
}

#endif

/* ---------------------------------------------------------------- items in registers */

/* Item j (a constant after unrolling) of a thread's words. */
template <int BYTES, int WORDS>
__device__ __forceinline__ typename item_of<BYTES>::type
item(const u32 (&w)[WORDS], int j)
{
	if constexpr (BYTES == 1)
		return (u8) (w[j >> 2] >> (8 * (j & 3)));
	else if constexpr (BYTES == 2)
		return (u16) (w[j >> 1] >> (16 * (j & 1)));
	else if constexpr (BYTES == 4)
		return w[j];
	else if constexpr (BYTES == 8)
		return (u64) w[2 * j + 1] << 32 | w[2 * j];
	else
		return u128{(u64) w[4 * j + 1] << 32 | w[4 * j], (u64) w[4 * j + 3] << 32 | w[4 * j + 2]};
}

/* Stores item j of 4 or 8 bytes. */
template <int WORDS>
__device__ __forceinline__ void
put_item(u32 (&w)[WORDS], int j, u32 x)
{
	w[j] = x;
}

template <int WORDS>
__device__ __forceinline__ void
put_item(u32 (&w)[WORDS], int j, u64 x)
{
	w[2 * j] = (u32) x;
	w[2 * j + 1] = (u32) (x >> 32);
}

/* Loads a thread's words from shared memory, as wide as aligned.  off is uniform.  Odd vectors avoid bank conflicts. */
template <int WORDS>
__device__ __forceinline__ void
read_words(u32 (&w)[WORDS], const u8 *p, u32 off)
{
	if (WORDS % 4 == 0 && (off & 15) == 0)
	{
#pragma unroll
		for (int i = 0; i < WORDS / 4; i++)
		{
			uint4 q = ((const uint4 *) p)[i];

			w[4 * i] = q.x, w[4 * i + 1] = q.y, w[4 * i + 2] = q.z, w[4 * i + 3] = q.w;
		}
	}
	else if (WORDS % 2 == 0 && (off & 7) == 0)
	{
#pragma unroll
		for (int i = 0; i < WORDS / 2; i++)
		{
			uint2 q = ((const uint2 *) p)[i];

			w[2 * i] = q.x, w[2 * i + 1] = q.y;
		}
	}
	else
	{
#pragma unroll
		for (int i = 0; i < WORDS; i++)
			w[i] = ((const u32 *) p)[i];
	}
}

/* ---------------------------------------------------------------- PostgreSQL's order of floats */

/* Maps floats to unsigned numbers in PostgreSQL's order.  zeros: -0 becomes 0.  Overloaded by width, for templates. */
__device__ __forceinline__ u32
float_order(u32 x, bool zeros)
{
	return gs_float_order32(x, zeros);
}

__device__ __forceinline__ u64
float_order(u64 x, bool zeros)
{
	return gs_float_order64(x, zeros);
}

/* Inverse mapping.  NaNs become the canonical quiet NaN. */
__device__ __forceinline__ u32
float_from_order(u32 x)
{
	return x ^ ((x >> 31) ? 0x80000000u : 0xffffffffu);
}

__device__ __forceinline__ u64
float_from_order(u64 x)
{
	return x ^ ((x >> 63) ? 0x8000000000000000ull : ~0ull);
}

/* Compares neighbours for equality.  floats is uniform in the grid. */
template <class T>
__device__ __forceinline__ bool
differs(T a, T b, bool floats)
{
	if constexpr (sizeof(T) == 4 || sizeof(T) == 8)
		return a != b && !(floats && float_order(a, true) == float_order(b, true));
	else
		return a != b;
}

#endif
