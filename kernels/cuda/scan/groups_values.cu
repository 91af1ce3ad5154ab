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
	const u32 *starts;	/* of keys; NULL: there is one key */
	const u32 *runs;	/* starts of equal values; NULL: only their number is known */
	const u64 *best;	/* of each key: length and first place of its longest run */
	const u64 *keys;	/* of all groups, ascending */
	const u64 *found;	/* the number of keys; NULL: one */
	const gs_group_state *state; /* has the number of groups, and of runs */
	gs_reduced *out;
};

/* Returns the number of keys. */
__device__ __forceinline__ u64
keys_found(const values_args &a)
{
	return a.found != NULL ? *a.found : 1;
}

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
	const u64 n = a.state->runs, found = keys_found(a);

	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < n; i += (u64) gridDim.x * blockDim.x)
	{
		const u64 first = a.runs[i], end = i + 1 < n ? a.runs[i + 1] : a.sorted.n, code = run_code(end - first, first);
		const u64 key = a.starts != NULL ? numbers_below(a.starts, found, first + 1) - 1 : 0;

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
		r.count = a.runs == NULL ? a.state->runs
			: numbers_below(a.runs, a.state->runs, end) - numbers_below(a.runs, a.state->runs, begin);
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
	const u64 n = keys_found(a), groups = a.state->groups;

	for (u64 v = blockIdx.x * (u64) blockDim.x + threadIdx.x; v < n; v += (u64) gridDim.x * blockDim.x)
	{
		const u64 begin = a.starts != NULL ? a.starts[v] : 0, end = v + 1 < n ? a.starts[v + 1] : a.sorted.n;
		const u64 at = numbers_below(a.keys, groups, key_at(a.sorted, begin));

		if (at < groups)
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
	const u64 most = groups < sorted.n ? groups : sorted.n; /* keys */
	const bool one = sorted.key_bits == 0;
	values_args a = {};
	bool modes = false, runs = false;

	if (sorted.n == 0)
		return GS_OK;
	for (u32 i = 0; i < group->naggregates; i++)
		if (set >> i & 1)
		{
			modes |= group->aggregates[i].operation == GS_MODE;
			runs |= group->aggregates[i].operation <= GS_MODE;
		}
	a.lists = d->lists;
	a.sorted = sorted;
	a.coding = coding;
	a.set = set;
	a.starts = one ? NULL : arrays.starts;
	a.found = one ? NULL : started ? &state->groups : &state->count;
	a.runs = one && !modes ? NULL : arrays.runs;
	a.best = best;
	a.keys = keys;
	a.state = state;
	a.out = out;
	if (!one && !started)
		GS_TRY(gs_sorted_starts(e, sorted, false, arrays, arrays.starts, &state->count));
	if (runs)
		GS_TRY(gs_sorted_starts(e, sorted, true, arrays, (u32 *) a.runs, &state->runs));
	if (modes)
	{
		GS_TRY(gs_fill(&e->head, best, 0, most * sizeof(u64)));
		GS_TRY(launch(e, modes_kernel, sorted.n, a, best));
	}
	return launch(e, values_kernel, most, a);
}
