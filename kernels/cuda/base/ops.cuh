/*
 * ops.cuh: associative operations of scans and reductions.  Minimum and maximum of every type are the unsigned minimum
 * of order-preserving numbers (gs_mapping), complemented for the maximum: two kernels for twelve combinations.
 */
#ifndef GS_CUDA_BASE_OPS_CUH
#define GS_CUDA_BASE_OPS_CUH

#include <type_traits>
#include "device.cuh"

struct add_u32
{
	typedef u32 value;
	static constexpr bool mapped = false, commutes = true;
	static __device__ __forceinline__ u32 zero() { return 0; }
	static __device__ __forceinline__ u32 add(u32 a, u32 b) { return a + b; }
	static __device__ __forceinline__ u32 bits(u32 v) { return v; }
	static __device__ __forceinline__ u32 from_bits(u64 b) { return (u32) b; }
};

struct add_u64
{
	typedef u64 value;
	static constexpr bool mapped = false, commutes = true;
	static __device__ __forceinline__ u64 zero() { return 0; }
	static __device__ __forceinline__ u64 add(u64 a, u64 b) { return a + b; }
	static __device__ __forceinline__ u64 bits(u64 v) { return v; }
	static __device__ __forceinline__ u64 from_bits(u64 b) { return b; }
};

/* Sums of 64-bit numbers in 128 bits, which cannot overflow. */
struct add_u128
{
	typedef u128 value;
	static constexpr bool mapped = false, commutes = true;
	static __device__ __forceinline__ u128 zero() { return {0, 0}; }

	/* Adds with carry. */
	static __device__ __forceinline__ u128
	add(u128 a, u128 b)
	{
		u64 lo = a.lo + b.lo;

		return {lo, a.hi + b.hi + (lo < a.lo)};
	}
};

/* The identity is -0, which leaves all numbers unchanged, including -0. */
struct add_f32
{
	typedef float value;
	static constexpr bool mapped = false, commutes = true;
	static __device__ __forceinline__ float zero() { return -0.0f; }
	static __device__ __forceinline__ float add(float a, float b) { return a + b; }
	static __device__ __forceinline__ u32 bits(float v) { return __float_as_uint(v); }
	static __device__ __forceinline__ float from_bits(u64 b) { return __uint_as_float((u32) b); }
};

struct add_f64
{
	typedef double value;
	static constexpr bool mapped = false, commutes = true;
	static __device__ __forceinline__ double zero() { return -0.0; }
	static __device__ __forceinline__ double add(double a, double b) { return a + b; }
	static __device__ __forceinline__ u64 bits(double v) { return (u64) __double_as_longlong(v); }
	static __device__ __forceinline__ double from_bits(u64 b) { return __longlong_as_double((i64) b); }
};

struct min_u32
{
	typedef u32 value;
	static constexpr bool mapped = true, commutes = true;
	static __device__ __forceinline__ u32 zero() { return ~0u; }
	static __device__ __forceinline__ u32 add(u32 a, u32 b) { return min(a, b); }
	static __device__ __forceinline__ u32 bits(u32 v) { return v; }
	static __device__ __forceinline__ u32 from_bits(u64 b) { return (u32) b; }
};

struct min_u64
{
	typedef u64 value;
	static constexpr bool mapped = true, commutes = true;
	static __device__ __forceinline__ u64 zero() { return ~0ull; }
	static __device__ __forceinline__ u64 add(u64 a, u64 b) { return a < b ? a : b; }
	static __device__ __forceinline__ u64 bits(u64 v) { return v; }
	static __device__ __forceinline__ u64 from_bits(u64 b) { return b; }
};

/* Composition of maps x -> a x + b modulo 2^32, left one first, not commutative.  a: the low half, b: the high half. */
struct affine
{
	typedef u64 value;
	static constexpr bool mapped = false, commutes = false;
	static __device__ __forceinline__ u64 zero() { return 1; }

	/* g after f: ga (fa x + fb) + gb. */
	static __device__ __forceinline__ u64
	add(u64 f, u64 g)
	{
		u32 fa = (u32) f, fb = (u32) (f >> 32), ga = (u32) g, gb = (u32) (g >> 32);

		return (u64) (ga * fb + gb) << 32 | ga * fa;
	}
	static __device__ __forceinline__ u64 bits(u64 v) { return v; }
	static __device__ __forceinline__ u64 from_bits(u64 b) { return b; }
};

/* Maps values to order-preserving unsigned numbers and back. */
struct gs_mapping
{
	u64 flip;	/* inverted bits: the sign, and all for a maximum */
	u32 floats; /* apply PostgreSQL's order of floats first */
};

/* Maps a value to an unsigned number. */
template <class T>
__device__ __forceinline__ T
map_in(T x, gs_mapping m)
{
	if (m.floats)
		x = float_order(x, false);
	return x ^ (T) m.flip;
}

/* Maps back.  NaNs become the canonical quiet NaN. */
template <class T>
__device__ __forceinline__ T
map_out(T x, gs_mapping m)
{
	x ^= (T) m.flip;
	return m.floats ? float_from_order(x) : x;
}

#endif
