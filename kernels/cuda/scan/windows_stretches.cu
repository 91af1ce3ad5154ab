/*
 * windows_stretches.cu: where partitions and peers begin among a window's rows in order (windows.cuh): where keys
 * differ from those before.
 */
#include "windows.cuh"

/* Returns the partition's part of a row's key. */
__device__ __forceinline__ u64
partition_at(const gs_ordered &o, u64 row)
{
	return o.order_bits >= 64 ? 0 : number_at(o.high, o.high_bytes, row) >> o.order_bits;
}

/* Returns a row's key without what is in no order. */
__device__ __forceinline__ u64
orders_at(const gs_ordered &o, u64 row)
{
	return o.beside >= 64 ? 0 : number_at(o.high, o.high_bytes, row) >> o.beside;
}

/* Returns true if a row differs from the one before in an order that has no room in the first word. */
__device__ __forceinline__ bool
lower_differ(const gs_ordered &o, u64 row)
{
	bool differ = false;

#pragma unroll
	for (u32 i = 0; i < GS_LOWER_WORDS; i++)
		if (o.low[i] != NULL)
			differ |= number_at(o.low[i], o.low_bytes[i], row) != number_at(o.low[i], o.low_bytes[i], row - 1);
	return differ;
}

/* Sets the bits of rows that begin a partition, or are the first of peers. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
stretches_kernel(const gs_ordered o)
{
	GS_EACH_ORDERED(row, gs_bit_rows(o.n))
	{
		bool partition = row == 0, peer = row == 0;

		if (row > 0 && row < o.n)
		{
			partition = partition_at(o, row) != partition_at(o, row - 1);
			peer = o.apart || orders_at(o, row) != orders_at(o, row - 1) || lower_differ(o, row);
		}
		put_row_bits(o.partitions.heads.bits, row, partition);
		if (o.peers.heads.bits != NULL)
			put_row_bits(o.peers.heads.bits, row, peer);
	}
}

/* Counts the bits of words. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) counts_kernel(const u32 *bits, u64 words, u32 *out)
{
	GS_EACH_ORDERED(i, words)
		out[i] = __popc(bits[i]);
}

gs_status
gs_windows_rank(cuda_windows *w, gs_ranked *r)
{
	const u64 words = gs_bit_rows(w->rows.n) / 32;
	u32 *counts;

	GS_TRY(take(&w->g, words, &counts));
	GS_TRY(take(&w->g, words, &r->before));
	counts_kernel<<<gs_cuda_grid(w->g.e, words, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0,
					w->g.e->stream>>>(r->bits, words, counts);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	return gs_scan(&w->g.e->head, GS_U32, GS_SUM, false, counts, r->before, words, w->g.arrays.temp,
				   w->g.arrays.temp_bytes);
}

/* Writes where stretches begin, and behind them the number of rows. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) starts_kernel(const gs_stretches s, u64 n)
{
	GS_EACH_ORDERED(row, n + 1)
		if (row == n || (s.heads.bits[row / 32] >> row % 32 & 1))
			s.starts[ranked_before(s.heads, row)] = (u32) row;
}

/* Completes stretches whose bits are there. */
static gs_status
find_starts(cuda_windows *w, gs_stretches *s)
{
	GS_TRY(gs_windows_rank(w, &s->heads));
	GS_TRY(take(&w->g, w->rows.n + 1, &s->starts));
	starts_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(*s, w->rows.n);
	return gs_cuda_status(cudaGetLastError());
}

/* Writes the one stretch that all rows are. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) one_stretch_kernel(const gs_stretches s, u64 n)
{
	GS_EACH_ORDERED(i, gs_bit_rows(n) / 32)
	{
		s.heads.bits[i] = i == 0;
		s.heads.before[i] = i > 0;
		if (i == 0)
		{
			s.starts[0] = 0;
			s.starts[1] = (u32) n;
		}
	}
}

/* Has all rows be one partition, where no function asks for peers. */
static gs_status
find_one(cuda_windows *w)
{
	gs_stretches *s = &w->rows.partitions;
	const u64 words = gs_bit_rows(w->rows.n) / 32;

	GS_TRY(take(&w->g, words, &s->heads.before));
	GS_TRY(take(&w->g, 2, &s->starts));
	one_stretch_kernel<<<gs_cuda_grid(w->g.e, words, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0,
						 w->g.e->stream>>>(*s, w->rows.n);
	return gs_cuda_status(cudaGetLastError());
}

gs_status
gs_windows_stretches(cuda_windows *w)
{
	gs_ordered *o = &w->rows;
	const bool peers = gs_windows_peers(w);

	GS_TRY(take(&w->g, gs_bit_bytes(o->n), (u8 **) &o->partitions.heads.bits));
	if (w->step->npartition == 0 && !peers)
		return find_one(w);
	if (peers)
		GS_TRY(take(&w->g, gs_bit_bytes(o->n), (u8 **) &o->peers.heads.bits));
	stretches_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(*o);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(find_starts(w, &o->partitions));
	return peers ? find_starts(w, &o->peers) : GS_OK;
}

/* Finds the most rows of a partition. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) longest_kernel(const gs_stretches s, u64 n, u64 *most)
{
	const u32 stretches = stretch_of(s.heads, n - 1) + 1;
	u32 longest = 0;

	GS_EACH_ORDERED(k, stretches)
		longest = max(longest, s.starts[k + 1] - s.starts[k]);
	longest = lanes_max(longest);
	if (lane_id() == 0 && longest > *(volatile u64 *) most)
		atomicMax((unsigned long long *) most, (unsigned long long) longest);
}

gs_status
gs_windows_longest(cuda_windows *w)
{
	gs_group_state found;

	if (w->longest > 0)
		return GS_OK;
	GS_TRY(gs_fill(&w->g.e->head, &w->g.state->count, 0, sizeof(w->g.state->count)));
	longest_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(w->rows.partitions, w->rows.n,
																			 &w->g.state->count);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_group_found(w->g.e, w->g.state, &found));
	w->longest = found.count;
	return GS_OK;
}
