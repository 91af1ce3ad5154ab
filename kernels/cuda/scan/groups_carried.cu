/*
 * groups_carried.cu: adds up values that were sorted with their keys: a short group's by a thread, a longer one's by a
 * warp, a long one's by blocks.
 */
#include "groups_fold.cuh"

#define SHORT_GROUP	 64		   /* sorted values that a thread adds up; up to LONG_GROUP a warp, of more blocks */
#define LONG_GROUP	 4096

/* Returns a value of its code, as read_rows does: the inverse of part_of. */
__device__ __forceinline__ u128
value_of_code(const gs_packed_key &coding, u64 code)
{
	const gs_unsigned_wide x = (gs_unsigned_wide) coding.low + code;
	u64 order = (u64) x << coding.drop;

	if (!gs_type_is_float(coding.type))
		return {(u64) x, (u64) (x >> 64)};
	if (order >> 63 == 0)
		order |= gs_mask(coding.drop);
	return {gs_real_bits(gs_real_of_order(order)), 0};
}

/* Adds up every so manyth of a group's values. */
template <int KIND>
__device__ __forceinline__ fold_sum
add_values(const fold_args &a, const gs_fold &f, u64 begin, u64 end, u32 step, u32 &failed)
{
	fold_sum s = none<KIND>();

	if (KIND == GS_FOLD_COUNT)
		s.n = begin < end ? (u32) ((end - begin + step - 1) / step) : 0;
	else
		for (u64 i = begin; i < end; i += step)
		{
			const u128 x = value_of_code(a.coding, value_at(a.sorted, i));

			merge<KIND>(s, sum_of<KIND>(f, x.lo, x.hi, failed));
		}
	return s;
}

/* Adds up the sums of a warp's lanes. */
template <int KIND>
__device__ __forceinline__ fold_sum
add_lanes(fold_sum s)
{
	for (int d = 16; d > 0; d /= 2)
		merge<KIND>(s, shuffle_xor(s, d));
	return s;
}

/* Writes a fold of a group for each lane: short ones are added up by it, those of other lanes by the warp. */
template <int KIND>
__device__ __forceinline__ void
fold_groups(const fold_args &a, const gs_fold &f, u64 group, u32 begin, u32 end, u32 by_warp, u32 &failed)
{
	if (begin < end)
		store_sum<KIND>(f, a.table, group,
						add_values<KIND>(a, f, begin, end - begin <= SHORT_GROUP ? end : begin, 1, failed));
	for (; by_warp != 0; by_warp &= by_warp - 1)
	{
		const u32 lane = __ffs((int) by_warp) - 1, from = __shfl_sync(GS_ALL_LANES, begin, lane);
		const u32 to = __shfl_sync(GS_ALL_LANES, end, lane);
		const fold_sum s = add_lanes<KIND>(add_values<KIND>(a, f, from + lane_id(), to, 32, failed));

		if (lane_id() == lane)
			store_sum<KIND>(f, a.table, group, s);
	}
}

/* Adds up the sorted values of groups; lists those that are long, whose sums become those of nothing. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
carried_kernel(const fold_args a)
{
	const gs_lists &l = *a.lists;
	const u64 groups = a.state->groups;
	u32 failed = 0;

	for (u64 first = blockIdx.x * (u64) GS_GROUP_THREADS; first < groups; first += gridDim.x * (u64) GS_GROUP_THREADS)
	{
		const u64 group = first + threadIdx.x;
		const u32 begin = group < groups ? a.starts[group] : 0;
		const u32 end = group + 1 < groups ? a.starts[group + 1] : group < groups ? (u32) a.n : 0;
		const u32 length = end - begin;
		const u32 by_warp = __ballot_sync(GS_ALL_LANES, length > SHORT_GROUP && length <= LONG_GROUP);

		for (u32 i = 0; i < l.nfolds; i++)
		{
#define FOLD_GROUPS(KIND) fold_groups<KIND>(a, l.folds[i], group, begin, end, by_warp, failed)
			EACH_KIND(l.folds[i].kind, FOLD_GROUPS)
		}
		if (length > LONG_GROUP)
			a.long_groups[atomicAdd((word *) &a.state->count, (word) 1)] = (u32) group;
	}
	if (failed != 0)
		atomicOr(&a.state->failed, failed);
}

/* Adds a fold of a block's part of a group to the table. */
template <int KIND>
__device__ __forceinline__ void
fold_part(const fold_args &a, const gs_fold &f, u32 group, u64 begin, u64 end, u32 &failed)
{
	const fold_sum s = add_lanes<KIND>(add_values<KIND>(a, f, begin + threadIdx.x, end, GS_GROUP_THREADS, failed));

	if (lane_id() == 0 && s.n != 0)
		put<KIND>(f, a.table, group, s);
}

/* Adds up long groups, of which blocks take parts. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
long_kernel(const fold_args a)
{
	const gs_lists &l = *a.lists;
	const u64 n = a.state->count, groups = a.state->groups;
	u32 failed = 0;

	for (u64 j = 0; j < n; j++)
	{
		const u32 group = a.long_groups[j];
		const u64 end = group + 1 < groups ? a.starts[group + 1] : a.n;
		u64 from = a.starts[group] + (blockIdx.x + j) % gridDim.x * LONG_GROUP;

		for (; from < end; from += gridDim.x * (u64) LONG_GROUP)
			for (u32 i = 0; i < l.nfolds; i++)
			{
				const u64 to = end - from < LONG_GROUP ? end : from + LONG_GROUP;
#define FOLD_PART(KIND) fold_part<KIND>(a, l.folds[i], group, from, to, failed)
				EACH_KIND(l.folds[i].kind, FOLD_PART)
			}
	}
	if (failed != 0)
		atomicOr(&a.state->failed, failed);
}

u64
gs_fold_long_groups(u64 n)
{
	return n / LONG_GROUP + 1;
}

/* Adds up values sorted by group. */
gs_status
gs_fold_carried(gs_cuda_engine *e, const gs_device_lists *d, const gs_table &table, const gs_sorted &sorted,
				const gs_packed_key &coding, const u32 *starts, u64 groups, u32 *room, gs_group_state *state)
{
	const u32 grid = gs_cuda_grid(e, groups, GS_GROUP_THREADS, GS_GROUP_PER_SM);
	fold_args a = {};

	a.lists = d->lists;
	a.table = table;
	a.state = state;
	a.starts = starts;
	a.n = sorted.n;
	a.sorted = sorted;
	a.coding = coding;
	a.long_groups = room;
	GS_TRY(gs_fill(&e->head, &state->count, 0, sizeof(state->count)));
	carried_kernel<<<grid, GS_GROUP_THREADS, 0, e->stream>>>(a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	if (sorted.n <= LONG_GROUP)
		return GS_OK;
	long_kernel<<<gs_cuda_grid(e, sorted.n, LONG_GROUP, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}
