/*
 * keys_leading.cu: sorts 8-byte keys by their leading digits alone.
 *
 * The leading 40 bits separate nearly all of n random keys.  If a sample estimates that at most one other key in eight
 * ties in them without being equal, stable passes by those digits suffice: only groups with equal leading digits can
 * then be out of order.  One read lists where the order descends, and each such group is sorted by insertion.  If a
 * group has more than GROUP keys, or the list is too long, everything is sorted again by all digits.
 *
 * Bytes per item: a key, read, and little more.
 */
#include "keys.cuh"

#define GROUP	64
#define THREADS 256
#define PER		8 /* keys per thread */
#define NOWHERE 0xffffffffu

/* Returns what a key is sorted by, from bit 0 on. */
static __device__ __forceinline__ u64
code_of(const gs_keys_plan &plan, u64 key)
{
	return gs_key_code(key, plan) >> plan.begin & plan.mask;
}

/* Enters a key per thread in a table for each choice of leading digits, and counts those that meet equal ones. */
static __global__ void __launch_bounds__(THREADS)
sample_kernel(gs_keys_plan plan, const u64 *keys, unsigned long long *tables)
{
	u32 i = blockIdx.x * THREADS + threadIdx.x;
	u64 stride = plan.n / GS_SAMPLE, code = code_of(plan, keys[i * stride + gs_scramble(i + 1) % stride]);

	for (u32 c = 0; c < GS_LEADING_CHOICES; c++)
	{
		u32 shift = plan.schedule->shifts[c];
		u64 prefix = code >> shift, slot = gs_scramble(prefix + 0x9e3779b97f4a7c15ull) >> (64 - GS_SAMPLE_BITS);

		if (shift == 0)
			continue;

		u64 other = atomicExch(tables + ((u64) c << GS_SAMPLE_BITS) + slot, code);

		/* an empty slot looks like code 0 */
		if (other != 0 && other != code && other >> shift == prefix)
			atomicAdd(&plan.schedule->tied[c], 1);
	}
}

/* Lists the positions whose key is less than its predecessor. */
static __global__ void __launch_bounds__(THREADS)
falls_kernel(gs_keys_plan plan, const u64 *keys, u32 *list, u32 room)
{
	__shared__ u32 found[THREADS * PER], count, begin;

	if (!plan.schedule->leading)
		return;
	for (u64 at = blockIdx.x * (u64) (THREADS * PER); at < plan.n; at += gridDim.x * (u64) (THREADS * PER))
	{
		u64 key[PER];

		if (threadIdx.x == 0)
			count = 0;
		__syncthreads();
#pragma unroll
		for (int k = 0; k < PER; k++)
		{
			u64 i = at + k * THREADS + threadIdx.x;

			key[k] = i < plan.n ? __ldcs(keys + i) : 0;
		}
#pragma unroll
		for (int k = 0; k < PER; k++)
		{
			u64 i = at + k * THREADS + threadIdx.x, before = shuffle_up(key[k], 1);

			if (i >= plan.n || i == 0)
				continue;
			if (lane_id() == 0)
				before = keys[i - 1];
			if (code_of(plan, before) > code_of(plan, key[k]))
				found[atomicAdd(&count, 1)] = (u32) i;
		}
		__syncthreads();
		if (count > 0 && threadIdx.x == 0)
		{
			begin = atomicAdd(&plan.schedule->listed, count);
			if (begin + count > room || begin + count < begin)
				plan.schedule->again = 1;
		}
		__syncthreads();
		for (u32 j = threadIdx.x; j < count; j += THREADS)
			if ((u64) begin + j < room)
				list[begin + j] = found[j];
		__syncthreads();
	}
}

/* Replaces each position by the start of its group if it is the group's first, otherwise by NOWHERE. */
static __global__ void __launch_bounds__(THREADS) groups_kernel(gs_keys_plan plan, const u64 *keys, u32 *list)
{
	u32 shift = plan.schedule->shift;

	if (!plan.schedule->leading || plan.schedule->again)
		return;
	for (u32 j = blockIdx.x * THREADS + threadIdx.x; j < plan.schedule->listed; j += gridDim.x * THREADS)
	{
		u32 i = list[j];
		u64 after = code_of(plan, keys[i]), prefix = after >> shift;
		bool first = true, small = true;
		u32 start = i;

		while (start > 0)
		{
			u64 code = code_of(plan, keys[start - 1]);

			if (code >> shift != prefix)
				break;
			first &= start == i || code <= after;
			after = code;
			start--;
			small = i - start < GROUP;
			if (!small || !first)
				break;
		}
		/* the order descends between groups: the passes failed */
		if (start == i || (first && !small))
			plan.schedule->again = 1;
		list[j] = first ? start : NOWHERE;
	}
}

/* Sorts the listed groups by insertion. */
template <class V>
static __global__ void __launch_bounds__(THREADS)
groups_sort_kernel(gs_keys_plan plan, u64 *keys, V *values, const u32 *list)
{
	u32 shift = plan.schedule->shift;

	if (!plan.schedule->leading || plan.schedule->again)
		return;
	for (u32 j = blockIdx.x * THREADS + threadIdx.x; j < plan.schedule->listed; j += gridDim.x * THREADS)
	{
		u64 start = list[j], prefix;

		if (start == NOWHERE)
			continue;
		prefix = code_of(plan, keys[start]) >> shift;
		for (u64 i = start + 1; i < plan.n; i++)
		{
			u64 key = keys[i], code = code_of(plan, key), to = i;
			V value;

			if (code >> shift != prefix)
				break;
			if (i - start >= GROUP)
			{
				plan.schedule->again = 1;
				break;
			}
			if (values != NULL)
				value = values[i];
			for (; to > start && code_of(plan, keys[to - 1]) > code; to--)
			{
				keys[to] = keys[to - 1];
				if (values != NULL)
					values[to] = values[to - 1];
			}
			keys[to] = key;
			if (values != NULL)
				values[to] = value;
		}
	}
}

/* Takes the sample.  tables: GS_SAMPLE_TABLES bytes of zeros. */
gs_status
gs_leading_sample(gs_cuda_engine *e, const gs_keys_plan &plan, const u64 *keys, u64 *tables)
{
	sample_kernel<<<GS_SAMPLE / THREADS, THREADS, 0, e->stream>>>(plan, keys, (unsigned long long *) tables);
	return gs_cuda_status(cudaGetLastError());
}

/* Sorts what the leading digits left.  list: room for n / 2 positions. */
gs_status
gs_leading_finish(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_request *r, u32 *list)
{
	u64 *keys = (u64 *) r->out_keys;
	int blocks = e->properties.multiProcessorCount * 8;

	falls_kernel<<<blocks, THREADS, 0, e->stream>>>(plan, keys, list, (u32) (plan.n / 2));
	groups_kernel<<<blocks, THREADS, 0, e->stream>>>(plan, keys, list);
	if (r->value_width == 8)
		groups_sort_kernel<<<blocks, THREADS, 0, e->stream>>>(plan, keys, (u64 *) r->out_values, list);
	else
		groups_sort_kernel<<<blocks, THREADS, 0, e->stream>>>(plan, keys, (u32 *) r->out_values, list);
	return gs_cuda_status(cudaGetLastError());
}
