/*
 * gather.cu: gather, sequence, and the extent of an array (minimum, maximum, OR, AND) in one read.
 *
 * Extent: every thread folds 16-byte vectors, a grid's stride apart and four at a time; warps fold by shuffles, blocks
 * in shared memory, the grid by atomics.  The last block writes the result.  Bytes per item: its size, read once.
 */
#include "scan_ops.cuh"

#define THREADS 256

/* ---------------------------------------------------------------- gather, sequence */

/* Four items per thread, so that four random reads are in flight. */
template <class T, class I>
static __global__ void __launch_bounds__(THREADS) gather_kernel(const T *in, const I *index, u64 n, T *out)
{
	for (u64 i = blockIdx.x * (u64) (4 * THREADS) + threadIdx.x; i < n; i += gridDim.x * (u64) (4 * THREADS))
	{
		I at[4];
		T x[4];

#pragma unroll
		for (u32 k = 0; k < 4; k++)
			if (i + k * THREADS < n)
				at[k] = index[i + k * THREADS];
#pragma unroll
		for (u32 k = 0; k < 4; k++)
			if (i + k * THREADS < n)
				x[k] = in[at[k]];
#pragma unroll
		for (u32 k = 0; k < 4; k++)
			if (i + k * THREADS < n)
				out[i + k * THREADS] = x[k];
	}
}

/* Modulo the width of T. */
template <class T>
static __global__ void __launch_bounds__(THREADS) sequence_kernel(T *out, u64 n, u64 start, u64 step)
{
	for (u64 i = blockIdx.x * (u64) THREADS + threadIdx.x; i < n; i += gridDim.x * (u64) THREADS)
		out[i] = (T) (start + i * step);
}

/* Selects the kernel by the width of an index. */
template <class T>
static gs_status
gather(gs_cuda_engine *e, const void *in, bool wide_index, const void *index, u64 n, void *out)
{
	u32 blocks = gs_cuda_grid(e, n, 4 * THREADS, 16);

	if (wide_index)
		gather_kernel<<<blocks, THREADS, 0, e->stream>>>((const T *) in, (const u64 *) index, n, (T *) out);
	else
		gather_kernel<<<blocks, THREADS, 0, e->stream>>>((const T *) in, (const u32 *) index, n, (T *) out);
	return gs_cuda_status(cudaGetLastError());
}

/* Implements gs_gather. */
gs_status
gs_cuda_gather(gs_engine *engine, gs_type type, const void *in, bool wide_index, const void *index, uint64_t n,
			   void *out)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;

	cudaSetDevice(e->device);
	switch (gs_type_width(type))
	{
		case 1:
			return gather<u8>(e, in, wide_index, index, n, out);
		case 2:
			return gather<u16>(e, in, wide_index, index, n, out);
		case 4:
			return gather<u32>(e, in, wide_index, index, n, out);
		case 8:
			return gather<u64>(e, in, wide_index, index, n, out);
		default:
			return gather<u128>(e, in, wide_index, index, n, out);
	}
}

/* Implements gs_sequence. */
gs_status
gs_cuda_sequence(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	u32 blocks = gs_cuda_grid(e, n, THREADS, 16);

	cudaSetDevice(e->device);
	switch (gs_type_width(type))
	{
		case 1:
			sequence_kernel<<<blocks, THREADS, 0, e->stream>>>((u8 *) out, n, start, step);
			break;
		case 2:
			sequence_kernel<<<blocks, THREADS, 0, e->stream>>>((u16 *) out, n, start, step);
			break;
		case 4:
			sequence_kernel<<<blocks, THREADS, 0, e->stream>>>((u32 *) out, n, start, step);
			break;
		default:
			sequence_kernel<<<blocks, THREADS, 0, e->stream>>>((u64 *) out, n, start, step);
	}
	return gs_cuda_status(cudaGetLastError());
}

/* ---------------------------------------------------------------- extent */

/* In temporary memory, initially zero: minimum and AND are therefore stored complemented, as maximum and OR. */
struct extent_sum
{
	unsigned long long not_min, max, any, not_all;
	u32 done;
};

struct extent_args
{
	gs_input in;
	gs_mapping map;
	extent_sum *sum;
	u8 *out;
};

/* Merges a thread's results into the global ones. */
static __device__ __forceinline__ void
add_extent(unsigned long long (&s)[4], extent_sum *total)
{
	__shared__ unsigned long long of_warp[4][THREADS / 32];

#pragma unroll
	for (int d = 16; d > 0; d /= 2)
	{
		unsigned long long y[4];

#pragma unroll
		for (int k = 0; k < 4; k++)
			y[k] = __shfl_xor_sync(GS_ALL_LANES, s[k], d);
		s[0] = y[0] > s[0] ? y[0] : s[0];
		s[1] = y[1] > s[1] ? y[1] : s[1];
		s[2] |= y[2];
		s[3] |= y[3];
	}
	if (lane_id() == 0)
		for (int k = 0; k < 4; k++)
			of_warp[k][threadIdx.x / 32] = s[k];
	__syncthreads();
	if (threadIdx.x < 4)
	{
		const u32 k = threadIdx.x;
		unsigned long long sum = 0;

		for (u32 w = 0; w < THREADS / 32; w++)
			sum = k < 2 ? (of_warp[k][w] > sum ? of_warp[k][w] : sum) : sum | of_warp[k][w];
		if (k < 2)
			atomicMax(k == 0 ? &total->not_min : &total->max, sum);
		else
			atomicOr(k == 2 ? &total->any : &total->not_all, sum);
		__threadfence();
	}
}

/* Writes the result, from the merged results of all blocks. */
template <class T>
static __device__ __forceinline__ void
write_extent(const extent_args &a)
{
	__threadfence();

	volatile extent_sum *sum = a.sum;
	T r[4] = {(T) ~sum->not_min, (T) sum->max, (T) sum->any, (T) ~sum->not_all};
	const bool nothing = a.in.begin == a.in.end;

	if constexpr (sizeof(T) >= 4)
	{
		if (a.map.floats && nothing)
		{
			const bool f32 = sizeof(T) == 4;

			r[0] = float_order(f32 ? (T) 0x7fc00000u : (T) 0x7ff8000000000000ull, false);
			r[1] = float_order(f32 ? (T) 0xff800000u : (T) 0xfff0000000000000ull, false);
		}
		for (int k = 0; k < 2; k++)
			r[k] = map_out(r[k], a.map);
	}
	else
		for (int k = 0; k < 2; k++)
			r[k] ^= (T) a.map.flip;
	for (int k = 0; k < 4; k++)
		((T *) a.out)[k] = r[k];
}

/* The extent of a thread's items. */
template <class T> struct extent_of_thread
{
	T not_min, max, any, not_all;

	/* Adds an item to minimum and maximum, OR and AND. */
	__device__ __forceinline__ void
	fold(T x, const gs_mapping &map)
	{
		T m = x;

		if constexpr (sizeof(T) >= 4)
			if (map.floats)
				m = float_order(x, false);
		m ^= (T) map.flip;
		max = m > max ? m : max;
		m = (T) ~m;
		not_min = m > not_min ? m : not_min;
		any |= x;
		not_all |= (T) ~x;
	}

	/* Adds the items of a 16-byte vector. */
	__device__ __forceinline__ void
	fold_vector(uint4 q, const gs_mapping &map)
	{
		u32 w[4] = {q.x, q.y, q.z, q.w};

#pragma unroll
		for (u32 j = 0; j < 16 / sizeof(T); j++)
			fold(item<sizeof(T)>(w, j), map);
	}
};

/* Reads the array once, with four vectors per thread in flight.  The last block to finish writes the result. */
template <class T>
static __global__ void __launch_bounds__(THREADS) extent_kernel(const extent_args a)
{
	const u64 lo = ((u64) a.in.begin + 15) & ~15ull, hi = (u64) a.in.end & ~15ull;
	const u64 stride = gridDim.x * (u64) THREADS, vectors = hi > lo ? (hi - lo) / 16 : 0;
	extent_of_thread<T> t = {0, 0, 0, 0};
	u64 i = blockIdx.x * (u64) THREADS + threadIdx.x;

	for (; i + 3 * stride < vectors; i += 4 * stride)
	{
		uint4 q[4];

#pragma unroll
		for (u32 k = 0; k < 4; k++)
			q[k] = __ldcs((const uint4 *) lo + i + k * stride);
#pragma unroll
		for (u32 k = 0; k < 4; k++)
			t.fold_vector(q[k], a.map);
	}
	for (; i < vectors; i += stride)
		t.fold_vector(((const uint4 *) lo)[i], a.map);
	if (blockIdx.x == 0 && threadIdx.x == 0)
	{
		/* before the first whole vector and after the last */
		const T *p = (const T *) a.in.begin, *end = (const T *) a.in.end;

		if (vectors == 0)
			for (; p < end; p++)
				t.fold(*p, a.map);
		else
		{
			for (; p < (const T *) lo; p++)
				t.fold(*p, a.map);
			for (p = (const T *) hi; p < end; p++)
				t.fold(*p, a.map);
		}
	}

	unsigned long long s[4] = {t.not_min, t.max, t.any, t.not_all};

	add_extent(s, a.sum);
	__syncthreads();
	if (threadIdx.x == 0 && atomicAdd(&a.sum->done, 1) == gridDim.x - 1)
		write_extent<T>(a);
}

/* Implements gs_extent. */
gs_status
gs_cuda_extent(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	size_t width = gs_type_width(type);
	extent_args a = {gs_cuda_input(in, n * width), gs_cuda_mapping(type, GS_MIN), (extent_sum *) temp, (u8 *) out};
	u32 blocks = gs_cuda_grid(e, n * width + 1, 16 * 4 * THREADS, 8);
	gs_status status;

	cudaSetDevice(e->device);
	status = gs_cuda_status(cudaMemsetAsync(temp, 0, sizeof(extent_sum), e->stream));
	if (status != GS_OK)
		return status;
	switch (width)
	{
		case 1:
			extent_kernel<u8><<<blocks, THREADS, 0, e->stream>>>(a);
			break;
		case 2:
			extent_kernel<u16><<<blocks, THREADS, 0, e->stream>>>(a);
			break;
		case 4:
			extent_kernel<u32><<<blocks, THREADS, 0, e->stream>>>(a);
			break;
		default:
			extent_kernel<u64><<<blocks, THREADS, 0, e->stream>>>(a);
	}
	return gs_cuda_status(cudaGetLastError());
}
