/*
 * count.cu: counts all digits of a sort in one read: of unencoded keys, or of a column's or words' bits.  A block has
 * several copies of each counter (digit_counters.cuh), one per lane if there is room.  Bytes per item: those of the
 * key, read once.
 */
#include "digit_counters.cuh"

#define THREADS		1024
#define BITS		8			/* of a key's digit */
#define AHEAD		4			/* loads in flight */

/* Applies add to every item of an array, by all threads of the grid.  Aligned arrays are read as 16-byte vectors. */
template <class V, class ADD>
static __device__ __forceinline__ void
each_item(const V *in, u64 n, ADD add)
{
	constexpr u32 VECTOR = 16 / sizeof(V);
	const u64 stride = (u64) gridDim.x * THREADS;
	union quad
	{
		uint4 q;
		V v[VECTOR];
	};
	u64 head = ((16 - ((u64) in & 15)) & 15) / sizeof(V), i = blockIdx.x * (u64) THREADS + threadIdx.x;

	head = head < n ? head : n;

	const u64 vectors = (n - head) / VECTOR;
	const uint4 *from = (const uint4 *) (in + head);

	for (u64 j = i; j < n - vectors * VECTOR; j += stride)
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
}

/* Counts digits of keys.  The number and width of digits are compile-time constants. */
template <class K, bool FLOATS>
static __global__ void __launch_bounds__(THREADS, 1) count_keys_kernel(const __grid_constant__ gs_radix_counting a)
{
	constexpr u32 LANES = GS_TUNED.counters / sizeof(K);
	extern __shared__ u32 counter_memory[];
	const gs_digit_counters counters = {counter_memory, a.digits, BITS, LANES};
	u32 *const mine = counters.mine(0);

	if (a.gate != NULL && *a.gate != a.gate_open)
		return;
	counters.clear();
	__syncthreads();
	each_item((const K *) a.in, a.n, [&](K x) {
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
	});
	__syncthreads();
	counters.add_up(a.counts);
}

/* Counts digits of a column or of words.  The number of digits is a compile-time constant. */
template <class V, bool WORDS, u32 DIGITS>
static __global__ void __launch_bounds__(THREADS, 1)
count_bits_kernel(const __grid_constant__ gs_radix_counting a, u32 copies)
{
	extern __shared__ u32 counter_memory[];
	const u32 place = a.widths[0];
	const gs_digit_counters counters = {counter_memory, a.digits, place, copies};
	u32 at[DIGITS], mask[DIGITS], *mine[DIGITS];

	if (a.gate != NULL && *a.gate != a.gate_open)
		return;
	counters.clear();
	__syncthreads();
#pragma unroll
	for (u32 p = 0, from = a.shift; p < DIGITS; from += a.widths[p++])
	{
		at[p] = from;
		mask[p] = (1u << a.widths[p]) - 1;
		mine[p] = counters.mine(p);
	}
	each_item((const V *) a.in, a.n, [&](V x) {
		const u64 k = WORDS ? (u64) x : key_of_value(x, a.t);

#pragma unroll
		for (u32 p = 0; p < DIGITS; p++)
			atomicAdd(mine[p] + ((u32) (k >> at[p]) & mask[p]) * copies, 1);
	});
	__syncthreads();
	counters.add_up(a.counts);
}

/* Launches as many blocks as the device holds with that much shared memory each, or as the items need. */
template <class KERNEL, class... MORE>
static gs_status
count(gs_cuda_engine *e, KERNEL kernel, size_t promised, size_t shared, const gs_radix_counting &a, MORE... more)
{
	u64 wanted = (a.n + THREADS * 8 - 1) / (THREADS * 8);
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) kernel, THREADS, promised, &blocks));
	if (wanted < (u64) blocks)
		blocks = (int) wanted;
	kernel<<<blocks, THREADS, shared, e->stream>>>(a, more...);
	return gs_cuda_status(cudaGetLastError());
}

/* Counts digits of keys, with as many copies of counters as the tuning row allows, which reduces collisions. */
template <class K, bool FLOATS>
static gs_status
count_keys(gs_cuda_engine *e, const gs_radix_counting &a)
{
	const size_t shared = e->tuning->counters * sizeof(u32) << BITS;

	return count(e, count_keys_kernel<K, FLOATS>, shared, shared, a);
}

/* Counts digits of at most 8 bits of keys. */
gs_status
gs_radix_count_keys(gs_cuda_engine *e, size_t key_bytes, bool floats, const gs_radix_counting &a)
{
	if (key_bytes == 4)
		return floats ? count_keys<u32, true>(e, a) : count_keys<u32, false>(e, a);
	return floats ? count_keys<u64, true>(e, a) : count_keys<u64, false>(e, a);
}

/* Selects the kernel for a number of digits. */
template <class V, bool WORDS, u32 DIGITS = GS_PLACES>
static auto
bits_kernel(u32 digits)
{
	if constexpr (DIGITS > 1)
		if (digits < DIGITS)
			return bits_kernel<V, WORDS, DIGITS - 1>(digits);
	return count_bits_kernel<V, WORDS, DIGITS>;
}

/* Counts the digits of what a radix sort reads. */
gs_status
gs_radix_count(gs_cuda_engine *e, gs_radix_io from, const gs_radix_counting &a)
{
	const u32 set = a.digits << a.widths[0],
			  copies = gs_counter_copies(set, (u32) (gs_counter_bytes(e, a.n) / sizeof(u32)));

	return count(e, from == GS_COLUMN4	 ? bits_kernel<u32, false>(a.digits)
					: from == GS_COLUMN8 ? bits_kernel<u64, false>(a.digits)
										 : bits_kernel<u64, true>(a.digits),
				 gs_counter_promise(e), (size_t) set * copies * sizeof(u32), a, copies);
}
