/*
 * rows.cu: rows of columns on a GPU: run heads, comparisons with a constant, values in an order, sums in a fixed order.
 *
 * One thread per position; a ballot combines 32 positions to half a word of bits.  With an order the reads are random,
 * and what matters is to have many in flight.
 *
 * Sums in a fixed order: a block sums tiles of 4096, with one thread per group of 16; one thread then sums the tiles,
 * which others prefetch; finally the tiles are read again, with their prefixes.  Two reads and one write per value.
 */
#include "../../rows.h"
#include "scan_ops.cuh"

#define THREADS 256
#define TILE	4096 /* of the fixed order: 256 threads with a group of 16 each */

/* Returns whether a row is NULL; nulls may be NULL. */
__device__ __forceinline__ bool
is_null(const u64 *nulls, u64 row)
{
	return nulls != NULL && (nulls[row / 64] >> (row % 64) & 1);
}

/* Stores a warp's ballot.  Words are written completely, so positions continue to the end of the last one. */
__device__ __forceinline__ void
put_bits(u64 *bits, u64 i, bool bit, bool add)
{
	u32 ballot = __ballot_sync(GS_ALL_LANES, bit);

	if (lane_id() == 0)
		((u32 *) bits)[i / 32] = add ? ((u32 *) bits)[i / 32] | ballot : ballot;
}

/* ---------------------------------------------------------------- values of rows */

/* A column as kernels see it. */
struct row_source
{
	const u8 *values;
	const u64 *nulls;
	const u8 *heap;
};

/* Maps a value so that equal ones have equal bits: floats by their order. */
template <class T, bool FLOATS>
__device__ __forceinline__ T
value_of(const row_source &s, u64 row)
{
	T x = ((const T *) s.values)[row];

	if constexpr (FLOATS)
		x = float_order(x, true);
	return x;
}

/* Returns a row's string. */
__device__ __forceinline__ const u8 *
string_of(const row_source &s, u64 row, u32 &length)
{
	const u32 *offsets = (const u32 *) s.values;
	u32 at = offsets[row];

	length = offsets[row + 1] - at;
	return s.heap + at;
}

/* Returns the first byte in which two strings differ, or length, by eight bytes if both are aligned alike. */
__device__ __forceinline__ u64
first_difference(const u8 *a, const u8 *b, u64 length)
{
	u64 i = 0;

	if ((((u64) a ^ (u64) b) & 7) == 0)
	{
		while (i < length && ((u64) (a + i) & 7) != 0 && a[i] == b[i])
			i++;
		if (((u64) (a + i) & 7) == 0)
			while (i + 8 <= length && *(const u64 *) (a + i) == *(const u64 *) (b + i))
				i += 8;
	}
	while (i < length && a[i] == b[i])
		i++;
	return i;
}

/* ---------------------------------------------------------------- heads */

struct differ_strings
{
	/* Returns whether two rows' strings differ.  Usually their lengths do. */
	static __device__ __forceinline__ bool
	differ(const row_source &s, u64 a, u64 b)
	{
		u32 n, m;
		const u8 *x = string_of(s, a, n), *y = string_of(s, b, m);

		return n != m || first_difference(x, y, n) < n;
	}
};

template <class T, bool FLOATS> struct differ_values
{
	static __device__ __forceinline__ bool
	differ(const row_source &s, u64 a, u64 b)
	{
		return value_of<T, FLOATS>(s, a) != value_of<T, FLOATS>(s, b);
	}
};

/* Bit per position: its row begins a run.  Writes complete 64-bit words, padded with zeros. */
template <class D>
static __global__ void __launch_bounds__(THREADS)
heads_kernel(const row_source s, const u32 *order, u64 n, bool first, u64 *bits)
{
	const u64 end = (n + 63) / 64 * 64;

	for (u64 i = blockIdx.x * (u64) THREADS + threadIdx.x; i < end; i += gridDim.x * (u64) THREADS)
	{
		bool head = i == 0;

		if (i > 0 && i < n)
		{
			u64 a = order != NULL ? order[i - 1] : i - 1, b = order != NULL ? order[i] : i;
			bool null_a = is_null(s.nulls, a), null_b = is_null(s.nulls, b);

			head = null_a != null_b || (!null_a && D::differ(s, a, b));
		}
		put_bits(bits, i, head, !first);
	}
}

/* Handles one column.  The first one sets the bits, others OR theirs in. */
template <class D>
static gs_status
heads(gs_cuda_engine *e, const gs_source *source, const u32 *order, u64 n, bool first, u64 *bits)
{
	row_source s = {(const u8 *) source->values, source->nulls, source->heap};

	heads_kernel<D><<<gs_cuda_grid(e, n, THREADS, 16), THREADS, 0, e->stream>>>(s, order, n, first, bits);
	return gs_cuda_status(cudaGetLastError());
}

/* Implements gs_heads, one column at a time.  D compares values of a type. */
static gs_status
cuda_heads(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, bool first, uint64_t *bits)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;

	cudaSetDevice(e->device);
	switch (source->type)
	{
		case GS_BYTES:
			return heads<differ_strings>(e, source, order, n, first, bits);
		case GS_F32:
			return heads<differ_values<u32, true>>(e, source, order, n, first, bits);
		case GS_F64:
			return heads<differ_values<u64, true>>(e, source, order, n, first, bits);
		default:
			break;
	}
	switch (gs_type_width(source->type))
	{
		case 1:
			return heads<differ_values<u8, false>>(e, source, order, n, first, bits);
		case 2:
			return heads<differ_values<u16, false>>(e, source, order, n, first, bits);
		case 4:
			return heads<differ_values<u32, false>>(e, source, order, n, first, bits);
		case 8:
			return heads<differ_values<u64, false>>(e, source, order, n, first, bits);
		default:
			return heads<differ_values<u128, false>>(e, source, order, n, first, bits);
	}
}

/* ---------------------------------------------------------------- comparisons */

struct compare_args
{
	row_source s;
	u64 n;
	u64 *bits;
	u128 low, high; /* an interval, or */
	u64 flip;
	bool outside;
	gs_comparison comparison; /* bytes */
	const u8 *bytes;
	u64 length;
};

template <class T, bool FLOATS> struct in_interval
{
	/* Returns whether a row's value is in the interval, or outside. */
	static __device__ __forceinline__ bool
	keeps(const compare_args &a, u64 row)
	{
		T x = value_of<T, FLOATS>(a.s, row);
		bool inside;

		if constexpr (sizeof(T) == 16)
			inside = a.low <= x && x <= a.high;
		else
		{
			x ^= (T) a.flip;
			inside = x >= (T) a.low.lo && x <= (T) a.high.lo;
		}
		return inside != a.outside;
	}
};

struct compares_bytes
{
	static __device__ __forceinline__ bool
	keeps(const compare_args &a, u64 row)
	{
		u32 n;
		const u8 *s = string_of(a.s, row, n);
		u64 common = n < a.length ? n : a.length, at = first_difference(s, a.bytes, common);
		int sign = at < common ? (s[at] < a.bytes[at] ? -1 : 1) : (n < a.length ? -1 : n > a.length);

		return gs_holds(a.comparison, sign);
	}
};

/* Bit per row.  NULL satisfies no comparison. */
template <class C>
static __global__ void __launch_bounds__(THREADS) compare_kernel(const compare_args a)
{
	const u64 end = (a.n + 63) / 64 * 64;

	for (u64 i = blockIdx.x * (u64) THREADS + threadIdx.x; i < end; i += gridDim.x * (u64) THREADS)
		put_bits(a.bits, i, i < a.n && !is_null(a.s.nulls, i) && C::keeps(a, i), false);
}

/* C compares a row. */
template <class C>
static gs_status
compare(gs_cuda_engine *e, const compare_args &a)
{
	compare_kernel<C><<<gs_cuda_grid(e, a.n, THREADS, 16), THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Implements gs_compare. */
static gs_status
cuda_compare(gs_engine *engine, const gs_source *source, uint64_t n, const gs_comparand *constant, uint64_t *bits)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const gs_interval &in = constant->interval;
	compare_args a = {};

	a.s = {(const u8 *) source->values, source->nulls, source->heap};
	a.n = n;
	a.bits = bits;
	a.low = {in.low[0], in.low[1]};
	a.high = {in.high[0], in.high[1]};
	a.outside = in.outside;
	a.comparison = constant->comparison;
	a.bytes = constant->bytes;
	a.length = constant->length;
	if (gs_type_is_signed(source->type))
		a.flip = (u64) 1 << (8 * gs_type_width(source->type) - 1);
	cudaSetDevice(e->device);
	switch (source->type)
	{
		case GS_BYTES:
			return compare<compares_bytes>(e, a);
		case GS_F32:
			return compare<in_interval<u32, true>>(e, a);
		case GS_F64:
			return compare<in_interval<u64, true>>(e, a);
		default:
			break;
	}
	switch (gs_type_width(source->type))
	{
		case 1:
			return compare<in_interval<u8, false>>(e, a);
		case 2:
			return compare<in_interval<u16, false>>(e, a);
		case 4:
			return compare<in_interval<u32, false>>(e, a);
		case 8:
			return compare<in_interval<u64, false>>(e, a);
		default:
			return compare<in_interval<u128, false>>(e, a);
	}
}

/* ---------------------------------------------------------------- values */

/* Reads values in an order, widened if TO is wider than FROM.  A NULL gets the fill value. */
template <class FROM, class TO>
static __global__ void __launch_bounds__(THREADS)
values_kernel(const row_source s, const u32 *order, u64 n, TO null_value, TO *out)
{
	for (u64 i = blockIdx.x * (u64) THREADS + threadIdx.x; i < n; i += gridDim.x * (u64) THREADS)
	{
		u64 row = order != NULL ? order[i] : i;
		TO x = {};

		if (s.values != NULL)
		{
			FROM y = ((const FROM *) s.values)[row];

			if constexpr (sizeof(FROM) == sizeof(TO))
				memcpy(&x, &y, sizeof(x));
			else
				x = (TO) y;
		}
		out[i] = is_null(s.nulls, row) ? null_value : x;
	}
}

/* fill is used only if there are NULLs. */
template <class FROM, class TO>
static gs_status
values(gs_cuda_engine *e, const gs_source *source, const u32 *order, u64 n, const void *null_value, void *out)
{
	row_source s = {(const u8 *) source->values, source->nulls, NULL};
	TO fill = {};

	if (source->nulls != NULL)
		memcpy((void *) &fill, null_value, sizeof(fill));
	values_kernel<FROM, TO><<<gs_cuda_grid(e, n, THREADS, 16), THREADS, 0, e->stream>>>(s, order, n, fill, (TO *) out);
	return gs_cuda_status(cudaGetLastError());
}

/* Implements gs_values: integers as they are or widened to 64 bits. */
static gs_status
cuda_values(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, gs_type result,
			const void *null_value, void *out)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;

	cudaSetDevice(e->device);
	if (source->type != result)
		switch (source->type)
		{
			case GS_U8:
				return values<u8, u64>(e, source, order, n, null_value, out);
			case GS_U16:
				return values<u16, u64>(e, source, order, n, null_value, out);
			case GS_U32:
				return values<u32, u64>(e, source, order, n, null_value, out);
			case GS_I16:
				return values<int16_t, i64>(e, source, order, n, null_value, out);
			default:
				return values<i32, i64>(e, source, order, n, null_value, out);
		}
	switch (gs_type_width(result))
	{
		case 1:
			return values<u8, u8>(e, source, order, n, null_value, out);
		case 2:
			return values<u16, u16>(e, source, order, n, null_value, out);
		case 4:
			return values<u32, u32>(e, source, order, n, null_value, out);
		case 8:
			return values<u64, u64>(e, source, order, n, null_value, out);
		default:
			return values<u128, u128>(e, source, order, n, null_value, out);
	}
}

/* ---------------------------------------------------------------- sums in a fixed order */

/* Canonicalizes NaNs, so that engines agree bitwise. */
template <class T>
__device__ __forceinline__ T
quiet(T x)
{
	if constexpr (sizeof(T) == 4)
		return isnan(x) ? __uint_as_float(0x7fc00000u) : x;
	else
		return isnan(x) ? __longlong_as_double(0x7ff8000000000000ll) : x;
}

/* Computes the sums of tiles or, given each tile's prefix, all results. */
template <class T, bool RESULTS>
static __global__ void __launch_bounds__(THREADS) fixed_kernel(const T *in, T *out, u64 n, bool inclusive, T *sums)
{
	__shared__ T groups[THREADS], wide[16];

	for (u64 tile = blockIdx.x; tile * TILE < n; tile += gridDim.x)
	{
		const u64 at = tile * TILE + threadIdx.x * 16;
		T x[16], s = (T) -0.0;

#pragma unroll
		for (u32 k = 0; k < 16; k++)
			x[k] = at + k < n ? in[at + k] : (T) -0.0;
#pragma unroll
		for (u32 k = 0; k < 16; k++)
			s += x[k];
		groups[threadIdx.x] = s;
		__syncthreads();
		if (threadIdx.x < 16)
		{
			T sum = (T) -0.0;

			for (u32 k = 0; k < 16; k++)
				sum += groups[threadIdx.x * 16 + k];
			wide[threadIdx.x] = sum;
		}
		__syncthreads();
		if constexpr (!RESULTS)
		{
			if (threadIdx.x == 0)
			{
				T sum = (T) -0.0;

				for (u32 k = 0; k < 16; k++)
					sum += wide[k];
				sums[tile] = sum;
			}
		}
		else
		{
			T before = (T) -0.0, near = (T) -0.0;

			for (u32 k = 0; k < threadIdx.x / 16; k++)
				before += wide[k];
			for (u32 k = threadIdx.x / 16 * 16; k < threadIdx.x; k++)
				near += groups[k];
			before = sums[tile] + before + near;
			s = (T) -0.0;
#pragma unroll
			for (u32 k = 0; k < 16; k++)
			{
				const T upto = s + x[k];

				if (at + k < n)
					out[at + k] = quiet(before + (inclusive ? upto : s));
				s = upto;
			}
		}
		__syncthreads();
	}
}

/* Turns tiles' sums into prefixes, from left to right: one thread adds, the others load and store. */
template <class T>
static __global__ void __launch_bounds__(1024) fixed_tiles_kernel(T *sums, u64 tiles)
{
	__shared__ T some[1024];
	__shared__ T all;

	if (threadIdx.x == 0)
		all = 0;
	for (u64 from = 0; from < tiles; from += 1024)
	{
		u64 i = from + threadIdx.x;

		if (i < tiles)
			some[threadIdx.x] = sums[i];
		__syncthreads();
		if (threadIdx.x == 0)
		{
			u32 upto = tiles - from < 1024 ? (u32) (tiles - from) : 1024;
			T s = all;

			for (u32 k = 0; k < upto; k++)
			{
				T x = some[k];

				some[k] = s;
				s += x;
			}
			all = s;
		}
		__syncthreads();
		if (i < tiles)
			sums[i] = some[threadIdx.x];
		__syncthreads();
	}
}

/* Returns the temporary memory: one sum per tile. */
static size_t
cuda_fixed_temp_bytes(gs_type type, uint64_t n)
{
	return (n / TILE + 1) * gs_type_width(type);
}

/* Computes sums of tiles, prefixes, results.  Reading the input twice avoids waiting between tiles. */
template <class T>
static gs_status
scan_fixed(gs_cuda_engine *e, bool inclusive, const void *in, void *out, u64 n, void *temp)
{
	u64 tiles = (n + TILE - 1) / TILE;
	u32 blocks = gs_cuda_grid(e, tiles, 1, 16);

	fixed_kernel<T, false><<<blocks, THREADS, 0, e->stream>>>((const T *) in, NULL, n, inclusive, (T *) temp);
	fixed_tiles_kernel<T><<<1, 1024, 0, e->stream>>>((T *) temp, tiles);
	fixed_kernel<T, true><<<blocks, THREADS, 0, e->stream>>>((const T *) in, (T *) out, n, inclusive, (T *) temp);
	return gs_cuda_status(cudaGetLastError());
}

/* Implements gs_scan_fixed. */
static gs_status
cuda_scan_fixed(gs_engine *engine, gs_type type, bool inclusive, const void *in, void *out, uint64_t n, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;

	cudaSetDevice(e->device);
	return type == GS_F32 ? scan_fixed<float>(e, inclusive, in, out, n, temp)
						  : scan_fixed<double>(e, inclusive, in, out, n, temp);
}

/* Finds overflows: subtracting the last addend from a sum must give its predecessor without leaving the range. */
static __global__ void __launch_bounds__(THREADS)
overflows_kernel(bool is_signed, const u64 *in, const u64 *sums, u64 n, u64 *count)
{
	bool wrong = false;

	for (u64 i = blockIdx.x * (u64) THREADS + threadIdx.x; i < n; i += gridDim.x * (u64) THREADS)
	{
		u64 x = in[i], s = sums[i], before = s - x;

		wrong |= is_signed ? ((before ^ s) & (x ^ s)) >> 63 != 0 : s < x;
	}
	if (wrong)
		*count = 1;
}

/* Implements gs_scan_overflows.  An exclusive sum is checked where the next one begins. */
static gs_status
cuda_overflows(gs_engine *engine, gs_type type, bool inclusive, const void *in, const void *sums, uint64_t n,
			   uint64_t *count)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const u64 *s = (const u64 *) sums;

	cudaSetDevice(e->device);
	if (!inclusive)
		n--, s++;
	if (n == 0)
		return GS_OK;
	overflows_kernel<<<gs_cuda_grid(e, n, THREADS, 16), THREADS, 0, e->stream>>>(type == GS_I64, (const u64 *) in, s, n,
																				 count);
	return gs_cuda_status(cudaGetLastError());
}

const gs_row_ops gs_cuda_row_ops = {
	cuda_heads,	 cuda_compare,			gs_cuda_positions, cuda_values, cuda_fixed_temp_bytes,
	cuda_scan_fixed, cuda_overflows, gs_cuda_check_temp_bytes, gs_cuda_check,
	gs_cuda_reduce_rows_temp_bytes, gs_cuda_reduce_rows,
};
