/*
 * groups_values.cu: aggregates that need all values of a group: numbers of different values, ranks, modes.  They are
 * found in sorted pairs, each group's by a thread, which looks up the places that it needs.
 */
#include "groups.cuh"

struct values_args
{
	const gs_lists *lists;
	gs_sorted sorted;
	gs_packed_key coding;
	u64 set;			/* the aggregates */
	const u32 *starts;	/* of keys */
	const u32 *runs;	/* starts of equal values */
	const u64 *best;	/* of each key: length and first place of its longest run */
	const u64 *keys;	/* of all groups, ascending */
	u64 found, nruns, groups;
	gs_reduced *out;
};

/* Returns the code of a run: longer ones are greater, and earlier ones of those that are equally long. */
__device__ __forceinline__ u64
run_code(u64 length, u64 first)
{
	return length << 32 | (u32) ~first;
}

/* Finds the longest run of each key. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
modes_kernel(const values_args a, u64 *best)
{
	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < a.nruns; i += (u64) gridDim.x * blockDim.x)
	{
		const u64 first = a.runs[i], end = i + 1 < a.nruns ? a.runs[i + 1] : a.sorted.n;
		const u64 key = numbers_below(a.starts, a.found, first + 1) - 1, code = run_code(end - first, first);

		if (code > *(volatile u64 *) &best[key])
			atomicMax((unsigned long long *) &best[key], (unsigned long long) code);
	}
}

/* Returns the first place in [begin, end) whose value is not less than x. */
__device__ __forceinline__ u64
value_place(const gs_sorted &s, u64 begin, u64 end, u64 x)
{
	while (begin < end)
	{
		const u64 middle = begin + (end - begin) / 2;

		if (value_at(s, middle) < x)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

/* Returns the value at a place of a key's values [begin, end). */
__device__ __forceinline__ gs_reduced
place_result(const values_args &a, u64 begin, u64 end, u64 place)
{
	const gs_sorted &s = a.sorted;
	const u64 value = value_at(s, place);
	gs_reduced r = gs_packed_key_value(&a.coding, value);

	r.count = end - begin;
	if (s.zeros && (value == s.minus || value == s.minus + 1))
	{
		const u64 minus = value_place(s, begin, end, s.minus), plus = value_place(s, minus, end, s.minus + 1);

		if (plus > minus && plus < end && value_at(s, plus) == s.minus + 1)
			r.flags = GS_REDUCED_ZEROS;
	}
	return r;
}

/* Returns the place of a rank among n values, as gs_aggregation says. */
__device__ __forceinline__ u64
rank_place(u32 operation, double fraction, u64 n)
{
	double at;

	if (operation == GS_RANK_DISC)
	{
		at = ceil(fraction * (double) n);
		at = at < 1 ? 0 : at - 1;
	}
	else
		at = operation == GS_RANK_FLOOR ? floor(fraction * (double) (n - 1)) : ceil(fraction * (double) (n - 1));
	return (u64) at < n ? (u64) at : n - 1;
}

/* Returns an aggregate of a key's values. */
__device__ __forceinline__ gs_reduced
result_of(const values_args &a, const gs_aggregate &g, u64 key, u64 begin, u64 end)
{
	gs_reduced r = gs_reduced_none();

	if (g.operation == GS_DISTINCT)
	{
		r.count = numbers_below(a.runs, a.nruns, end) - numbers_below(a.runs, a.nruns, begin);
		return r;
	}
	if (g.operation == GS_MODE)
		return place_result(a, begin, end, (u32) ~(u32) a.best[key]);
	return place_result(a, begin, end, begin + rank_place(g.operation, g.fraction, end - begin));
}

/* Writes the aggregates of each key. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
values_kernel(const values_args a)
{
	const gs_lists &l = *a.lists;
	const gs_group_step *group = gs_steps_group(l.steps);

	for (u64 v = blockIdx.x * (u64) blockDim.x + threadIdx.x; v < a.found; v += (u64) gridDim.x * blockDim.x)
	{
		const u64 begin = a.starts[v], end = v + 1 < a.found ? a.starts[v + 1] : a.sorted.n;
		const u64 at = numbers_below(a.keys, a.groups, key_at(a.sorted, begin));

		if (at < a.groups)
			for (u64 set = a.set; set != 0; set &= set - 1)
			{
				const u32 i = (u32) __ffsll((long long) set) - 1;

				a.out[at * (l.nkeys + l.naggregates) + l.nkeys + i] = result_of(a, group->aggregates[i], v, begin, end);
			}
	}
}

/* Launches a kernel over n items. */
template <class... ARGS>
static gs_status
launch(gs_cuda_engine *e, void (*kernel)(ARGS...), u64 n, const ARGS &...args)
{
	kernel<<<gs_cuda_grid(e, n, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, e->stream>>>(args...);
	return gs_cuda_status(cudaGetLastError());
}

gs_status
gs_values_results(gs_cuda_engine *e, const gs_device_lists *d, const gs_sorted &sorted, const gs_packed_key &coding,
				  u64 set, const gs_sort_arrays &arrays, u64 *best, const u64 *keys, u64 groups, bool started,
				  gs_reduced *out, gs_group_state *state)
{
	const gs_group_step *group = gs_steps_group(d->steps);
	values_args a = {d->lists, sorted, coding, set, arrays.starts, arrays.runs, best, keys, 0, 0, groups, out};
	bool modes = false, runs = false;

	for (u32 i = 0; i < group->naggregates; i++)
		if (set >> i & 1)
		{
			modes |= group->aggregates[i].operation == GS_MODE;
			runs |= group->aggregates[i].operation <= GS_MODE;
		}
	a.found = groups;
	if (!started)
		GS_TRY(gs_sorted_starts(e, sorted, false, arrays, arrays.starts, state, &a.found));
	if (a.found == 0)
		return GS_OK;
	if (runs)
		GS_TRY(gs_sorted_starts(e, sorted, true, arrays, arrays.runs, state, &a.nruns));
	if (modes)
	{
		GS_TRY(gs_fill(&e->head, best, 0, a.found * sizeof(u64)));
		GS_TRY(launch(e, modes_kernel, a.nruns, a, best));
	}
	return launch(e, values_kernel, a.found, a);
}
