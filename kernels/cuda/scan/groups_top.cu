/*
 * groups_top.cu: groups that HAVING passes and that may be among TOP's first, selected on the device for the host's
 * list.
 */
#include "groups_state.cuh"

#include <cstring>

#define PIECE_BYTES	 ((u64) 16 << 20) /* groups that are copied to the host at a time */

/* Groups, as the kernels that select some of them read them. */
struct select_args
{
	const gs_steps *steps;
	const gs_filter_step *having;
	const gs_top_step *top;
	const gs_reduced *groups; /* NULL: members are those of results */
	results_args results;
	u64 n, most; /* most: the greatest code of those that may be among the first */
	u64 *codes;
	u32 *out;
	gs_group_state *state;
	u32 members;
	uint8_t kinds[GS_STEPS_MAX_KEYS + GS_STEPS_MAX_AGGREGATES];
};

/* Returns a number that is less than another one only if the group comes before that one by the first order. */
__device__ __forceinline__ u64
top_code(const gs_top_order &o, u32 kind, const gs_reduced &m)
{
	const gs_wide least = gs_number_least(GS_NUMBER_I64), greatest = gs_number_greatest(GS_NUMBER_I64);
	gs_wide x = gs_member_code((uint8_t) kind, &m);
	u64 code;

	if (gs_member_null((uint8_t) kind, &m))
		return o.nulls_first ? 0 : ~(u64) 0;
	if (kind == GS_MEMBER_REAL)
		code = (u64) x;
	else
	{
		x = x < least ? least : x > greatest ? greatest : x;
		code = (u64) (gs_unsigned_wide) x ^ (u64) 1 << 63;
	}
	code = (o.descending ? ~code : code) >> 1;
	return o.nulls_first ? code | (u64) 1 << 63 : code;
}

/* Returns true if HAVING passes a group. */
__device__ __forceinline__ bool
select_passes(const select_args &a, u64 i)
{
	return a.having == NULL || gs_having_passes(a.steps, a.having, a.kinds, a.groups + i * a.members);
}

/* Returns a member of a group. */
__device__ __forceinline__ gs_reduced
select_member(const select_args &a, u64 i, u32 m)
{
	u64 slot, key;
	bool good;

	if (a.groups != NULL)
		return a.groups[i * a.members + m];
	key = group_at(a.results, i, &slot);
	return member_of(a.results, *a.results.lists, key, slot, m, &good);
}

/* Writes the codes of groups; of those that HAVING drops, the greatest. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
codes_kernel(const select_args a)
{
	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < a.n; i += (u64) gridDim.x * blockDim.x)
	{
		const gs_top_order o = a.top->orders[0];

		a.codes[i] = select_passes(a, i) ? top_code(o, a.kinds[o.member], select_member(a, i, o.member)) : ~(u64) 0;
	}
}

/* Writes the numbers of groups that HAVING passes and that may be among the first. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
select_kernel(const select_args a)
{
	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < a.n; i += (u64) gridDim.x * blockDim.x)
		if ((a.codes == NULL || a.codes[i] <= a.most) && select_passes(a, i))
			a.out[atomicAdd((unsigned long long *) &a.state->count, 1ull)] = (u32) i;
}

/* Copies some groups next to each other. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
copy_kernel(const gs_reduced *groups, const u32 *which, u64 n, u32 members, gs_reduced *out)
{
	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < n * members; i += (u64) gridDim.x * blockDim.x)
		out[i] = groups[(u64) which[i / members] * members + i % members];
}

gs_status
gs_groups_list(cuda_groups *g, const u32 *which, u64 n)
{
	const size_t bytes = g->list.members * sizeof(gs_reduced);
	const u64 most = PIECE_BYTES / bytes, piece = n < most ? n : most;
	gs_host *host = &g->e->head.host;
	gs_reduced *here, *copy = NULL;
	gs_status status = GS_OK;

	if (n == 0)
		return GS_OK;
	if (which != NULL)
		GS_TRY(take(g, piece * g->list.members, &copy));
	here = (gs_reduced *) host->alloc(host->arg, piece * bytes);
	if (here == NULL)
		return GS_NOMEM;
	for (u64 done = 0; done < n && status == GS_OK; done += piece)
	{
		const u64 some = n - done < piece ? n - done : piece;

		if (which != NULL)
			copy_kernel<<<gs_cuda_grid(g->e, some * g->list.members, GS_GROUP_THREADS, GS_GROUP_PER_SM),
						  GS_GROUP_THREADS, 0, g->e->stream>>>(g->out, which + done, some, g->list.members, copy);
		status = which == NULL ? gs_groups_fetch(g, g->out, done * bytes, some * bytes, here)
			: gs_download(&g->e->head, here, copy, some * bytes);
		if (status == GS_OK && which != NULL)
			status = gs_group_poll(g->e);
		for (u64 i = 0; i < some && status == GS_OK; i++)
			status = gs_group_list_add(&g->list, here + i * g->list.members);
	}
	host->release(host->arg, here, piece * bytes);
	return status;
}

/* Finds the greatest code of groups that may be among the first. */
static gs_status
find_most(cuda_groups *g, select_args *a, u64 limit)
{
	u32 *first, last;
	u8 *temp;

	GS_TRY(take(g, a->n, &a->codes));
	codes_kernel<<<gs_cuda_grid(g->e, a->n, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0,
				   g->e->stream>>>(*a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));

	const gs_column codes = {{GS_U64, false, false}, a->codes, NULL, NULL};
	const size_t bytes = gs_top_k_temp_bytes(&g->e->head, &codes, 1, a->n, limit);

	GS_TRY(take(g, limit, &first));
	GS_TRY(take(g, bytes, &temp));
	GS_TRY(gs_top_k(&g->e->head, &codes, 1, a->n, limit, first, temp, bytes));
	GS_TRY(gs_download(&g->e->head, &last, first + limit - 1, sizeof(last)));
	GS_TRY(gs_group_poll(g->e));
	GS_TRY(gs_download(&g->e->head, &a->most, a->codes + last, sizeof(u64)));
	return gs_group_poll(g->e);
}

gs_status
gs_groups_list_first(cuda_groups *g)
{
	select_args a = {};
	gs_group_state found;
	const u64 limit = g->list.top != NULL ? g->list.top->limit : 0;
	auto there = [&](const void *step) {
		return step == NULL ? NULL : (const u8 *) g->lists.steps + ((const u8 *) step - (const u8 *) g->head.steps);
	};

	a.steps = g->lists.steps;
	a.having = (const gs_filter_step *) there(g->list.having);
	a.top = (const gs_top_step *) there(g->list.top);
	a.groups = g->late ? NULL : g->out;
	a.results = g->results;
	a.n = g->ngroups;
	a.state = g->state;
	a.members = g->list.members;
	memcpy(a.kinds, g->list.kinds, sizeof(a.kinds));
	if (limit > 0 && limit < a.n)
		GS_TRY(find_most(g, &a, limit));
	GS_TRY(take(g, a.n, &a.out));
	GS_TRY(gs_fill(&g->e->head, &g->state->count, 0, sizeof(g->state->count)));
	select_kernel<<<gs_cuda_grid(g->e, a.n, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, g->e->stream>>>(a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_group_found(g->e, g->state, &found));
	if (!g->late)
		return gs_groups_list(g, a.out, found.count);
	g->results.which = a.out;
	g->results.groups = found.count;
	GS_TRY(take(g, found.count * g->list.members, &g->out));
	g->results.out = g->out;
	GS_TRY(gs_groups_write_folds(g, g->results));
	return gs_groups_list(g, NULL, found.count);
}
