/*
 * radix_count.cu: counts of all digits of keys, of at most 8 bits each, in one read.
 *
 * A block has 32 (of keys of 8 bytes 16) counters for every digit (digit_counters.cuh).  Bytes per item: the key's, read once.
 */
#include "digit_counters.cuh"

#define THREADS 1024
#define BITS	8

template <class K>
constexpr size_t
count_shared()
{
	return sizeof(K) * (128 / sizeof(K)) * sizeof(u32) << BITS;
}

template <class K, bool FLOATS>
static __global__ void __launch_bounds__(THREADS, 1) count_keys_kernel(const __grid_constant__ gs_radix_counting a)
{
	constexpr u32 LANES = 128 / sizeof(K), VECTOR = 16 / sizeof(K), AHEAD = 4;
	extern __shared__ u32 counter_memory[];
	const gs_digit_counters counters = {counter_memory, a.digits, BITS, LANES};
	u32 *const mine = counters.mine(0);
	const K *in = (const K *) a.in;
	u64 stride = (u64) gridDim.x * THREADS, i = blockIdx.x * (u64) THREADS + threadIdx.x;
	union quad
	{
		uint4 q;
		K v[VECTOR];
	};

	counters.clear();
	__syncthreads();

	auto add = [&](K x) {
		u32 at = a.shift;

		if constexpr (FLOATS)
			x = float_order(x, true);
#pragma unroll
		for (u32 p = 0; p < sizeof(K); p++)
			if (p < a.digits)
			{
				atomicAdd(mine + ((p << BITS) + ((u32) (x >> at) & ((1u << a.widths[p]) - 1))) * LANES, 1);
				at += a.widths[p];
			}
	};
	u64 head = ((16 - ((u64) in & 15)) & 15) / sizeof(K), vectors;
	const uint4 *from;

	head = head < a.n ? head : a.n;
	vectors = (a.n - head) / VECTOR;
	from = (const uint4 *) (in + head);
	for (u64 j = i; j < a.n - vectors * VECTOR; j += stride)
		add(in[j < head ? j : j + vectors * VECTOR]);
	for (; i + (AHEAD - 1) * stride < vectors; i += AHEAD * stride)
	{
		quad q[AHEAD];

#pragma unroll
		for (u32 j = 0; j < AHEAD; j++)
			q[j].q = __ldcs(from + i + j * stride);
#pragma unroll
		for (u32 j = 0; j < AHEAD; j++)
#pragma unroll
			for (u32 v = 0; v < VECTOR; v++)
				add(q[j].v[v]);
	}
	for (; i < vectors; i += stride)
	{
		quad q;

		q.q = __ldcs(from + i);
#pragma unroll
		for (u32 v = 0; v < VECTOR; v++)
			add(q.v[v]);
	}
	__syncthreads();
	counters.add_up(a.counts);
}

template <class K, bool FLOATS>
static gs_status
count(gs_cuda_engine *e, const gs_radix_counting &a)
{
	u64 wanted = (a.n + THREADS * 8 - 1) / (THREADS * 8);
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) count_keys_kernel<K, FLOATS>, THREADS, count_shared<K>(), &blocks));
	if (wanted < (u64) blocks)
		blocks = (int) wanted;
	count_keys_kernel<K, FLOATS><<<blocks, THREADS, count_shared<K>(), e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

gs_status
gs_radix_count_keys(gs_cuda_engine *e, size_t key_bytes, bool floats, const gs_radix_counting &a)
{
	if (key_bytes == 4)
		return floats ? count<u32, true>(e, a) : count<u32, false>(e, a);
	return floats ? count<u64, true>(e, a) : count<u64, false>(e, a);
}
