/*
 * groups_proof.cu: proves groups, and row numbers, by what the rows say.
 *
 * A kernel of its own reads the rows that pass, without their keys: how many values each aggregate has, and their sum
 * modulo 2^64 or, of minima and maxima, the greatest of their codes.  Another one adds up, or compares, what the groups
 * hold in the end.  So a row that is lost on its way, or counted twice, a wrong sum and a minimum that is too great are
 * found, whatever HAVING and TOP leave out.  Row numbers are counted and added up likewise.
 *
 * Sums of doubles depend on their order: only their values are counted.  Lists without keys, and those that
 * gs_tile_places<false> does not do for, would take as long again, and are not proved.
 *
 * As rows are read once more, groups take up to a third longer: an engine proves its first list, and one in
 * LISTS_A_PROOF.  Row numbers take a tenth longer, and are always proved.
 */
#include "groups_state.cuh"
#include "groups_sums.cuh"
#include "../base/sort_testing.h"

#define MOST_PROVED GS_STEPS_MAX_AGGREGATES
#define LISTS_A_PROOF 8

static_assert(GS_GROUP_TILE == 32 * GS_GROUP_THREADS, "a thread has a bit for each of its rows of a tile");

/* What is proved. */
struct proof_args
{
	results_args results;
	gs_proved *rows, *groups; /* of each aggregate, or row numbers; behind groups: blocks that have added to them */
	u64 aggregates;			  /* bits of those that are proved */
	u64 ntiles;
	u32 n; /* aggregates; 1: row numbers */
	/* row numbers: */
	const u32 *numbers;
	const gs_row *page; /* or places */
	u64 nnumbers;
};

/* Returns true if values of a fold are added up. */
__device__ __forceinline__ bool
is_sum(const gs_fold &f)
{
	return f.kind == GS_FOLD_SUM || f.kind == GS_FOLD_SUM_WIDE;
}

/* Returns true if values of a fold are only counted. */
__device__ __forceinline__ bool
is_counted(const gs_fold &f)
{
	return f.kind <= GS_FOLD_SUM_REAL;
}

/* Takes a value, as read_rows reads it, into account. */
__device__ __forceinline__ void
take_value(const gs_fold &f, u64 value, gs_proved &p)
{
	const u64 code = (f.kind == GS_FOLD_REAL ? gs_float_order64(value, false) : value - (u64) (gs_unsigned_wide) f.low);

	if (is_sum(f))
		p.x += value;
	else if ((code ^ f.flip) > p.x)
		p.x = code ^ f.flip;
}

/* Adds what one has, or takes over the greater code. */
__device__ __forceinline__ void
give(gs_proved *to, const gs_proved &p, bool greatest)
{
	atomicAdd((word *) &to->n, (word) p.n);
	if (greatest)
		atomicMax((word *) &to->x, (word) p.x);
	else
		atomicAdd((word *) &to->x, (word) p.x);
}

/* Does so with what the lanes of a warp have. */
__device__ __forceinline__ void
give_lanes(gs_proved *to, gs_proved p, bool greatest)
{
	for (int d = 16; d > 0; d /= 2)
	{
		const gs_proved other = shuffle_xor(p, d);

		p.n += other.n;
		p.x = !greatest ? p.x + other.x : p.x > other.x ? p.x : other.x;
	}
	if (lane_id() == 0 && p.n != 0)
		give(to, p, greatest);
}

/* Returns true if the greatest code counts. */
__device__ __forceinline__ bool
is_greatest(const proof_args &a, u32 i)
{
	const gs_fold &f = a.results.lists->folds[1 + i];

	return a.aggregates != 0 && !is_sum(f) && !is_counted(f);
}

/* Begins a block's sums. */
__device__ __forceinline__ void
begin_block(gs_proved *own)
{
	for (u32 i = threadIdx.x; i < MOST_PROVED; i += blockDim.x)
		own[i] = {0, 0};
	__syncthreads();
}

/* Adds a block's sums to those of all. */
__device__ __forceinline__ void
end_block(const proof_args &a, const gs_proved *own, gs_proved *to)
{
	__syncthreads();
	for (u32 i = threadIdx.x; i < a.n; i += blockDim.x)
		if (own[i].n != 0)
			give(&to[i], own[i], is_greatest(a, i));
}

/* Adds the values of a thread's rows of a tile. */
__device__ __forceinline__ void
take_rows(const proof_args &a, const gs_lists &l, const gs_sum_rows<GS_GROUP_THREADS> &r, u32 mask, gs_proved *own)
{
	for (u64 set = a.aggregates; set != 0; set &= set - 1)
	{
		const u32 i = __ffsll((long long) set) - 1;
		const gs_fold &f = l.folds[1 + i];
		const u32 some = sum_not_null(r, f.value.columns, sum_passing(l.terms + f.terms, f.nterms, r, mask));
		gs_proved p = {(u64) __popc(some), 0};

		if (!is_counted(f))
			each_value(f.value, r, some, [&](u32, u32, bool on, u64 lo) {
				if (on)
					take_value(f, lo, p);
			});
		give_lanes(&own[i], p, is_greatest(a, i));
	}
}

/* Adds the numbers of a thread's rows of a tile, of which first is that of its first one. */
__device__ __forceinline__ void
take_numbers(u64 first, u32 mask, gs_proved *own)
{
	gs_proved p = {(u64) __popc(mask), 0};

	for (; mask != 0; mask &= mask - 1)
		p.x += first + (u64) (__ffs((int) mask) - 1) * GS_GROUP_THREADS;
	give_lanes(own, p, false);
}

/* Finds what the rows that pass have. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
rows_kernel(const proof_args a)
{
	__shared__ gs_proved own[MOST_PROVED];
	const gs_lists &l = *a.results.lists;

	begin_block(own);
	for (u64 i = blockIdx.x; i < a.ntiles; i += gridDim.x)
	{
		const gs_span tile = l.tiles[i];
		const gs_sum_rows<GS_GROUP_THREADS> r = {l.columns + (u64) tile.segment * l.ncolumns,
												 (u64) tile.first + threadIdx.x, NULL};
		const u32 rows = tile.rows > threadIdx.x ? (tile.rows - threadIdx.x + GS_GROUP_THREADS - 1) / GS_GROUP_THREADS
												 : 0;
		const u32 mask = sum_passing(l.terms, l.nterms, r, rows < 32 ? (1u << rows) - 1 : ~0u);

		if (a.aggregates != 0)
			take_rows(a, l, r, mask, own);
		else
			take_numbers(l.bases[tile.segment] + r.first, mask, own);
	}
	end_block(a, own, a.rows);
}

/* Adds a block's sums to those of all groups, or numbers; the last block compares them with those of the rows. */
__device__ __forceinline__ void
compare(const proof_args &a, const gs_proved *own)
{
	__shared__ bool last;

	end_block(a, own, a.groups);
	__threadfence();
	__syncthreads();
	if (threadIdx.x == 0)
		last = atomicAdd((word *) &a.groups[a.n].n, (word) 1) == gridDim.x - 1;
	__syncthreads();
	if (!last)
		return;
	__threadfence();
	for (u32 i = threadIdx.x; i < a.n; i += blockDim.x)
		if (__ldcg(&a.rows[i].n) != __ldcg(&a.groups[i].n) || __ldcg(&a.rows[i].x) != __ldcg(&a.groups[i].x))
			atomicOr(&a.results.state->failed, GS_FAILED_PROOF);
}

/* Compares what groups hold. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
groups_kernel(const proof_args a)
{
	__shared__ gs_proved own[MOST_PROVED];
	const results_args &results = a.results;
	const gs_lists &l = *results.lists;
	const u32 members = l.nkeys + l.naggregates;
	const u64 groups = results.groups < results.state->groups ? results.groups : results.state->groups;

	begin_block(own);
	for (u64 set = a.aggregates; set != 0; set &= set - 1)
	{
		const u32 i = __ffsll((long long) set) - 1;
		gs_proved p = {0, 0};
		bool good = true;

		for (u64 j = blockIdx.x * (u64) blockDim.x + threadIdx.x; j < groups; j += (u64) gridDim.x * blockDim.x)
		{
			u64 slot = 0;
			const u64 key = results.out != NULL ? 0 : group_at(results, j, &slot);
			const gs_reduced r = results.out != NULL ? results.out[j * members + l.nkeys + i]
													 : member_of(results, l, key, slot, l.nkeys + i, &good);

			p.n += r.count;
			if (r.count != 0 && !is_counted(l.folds[1 + i]))
				take_value(l.folds[1 + i], r.value[0], p);
		}
		give_lanes(&own[i], p, is_greatest(a, i));
	}
	compare(a, own);
}

/* Compares row numbers. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
numbers_kernel(const proof_args a)
{
	__shared__ gs_proved own[MOST_PROVED];
	const u64 *bases = a.results.lists->bases;
	gs_proved p = {0, 0};

	begin_block(own);
	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < a.nnumbers; i += (u64) gridDim.x * blockDim.x)
	{
		p.n++;
		p.x += a.page != NULL ? bases[a.page[i].segment] + a.page[i].row : a.numbers[i];
	}
	give_lanes(own, p, false);
	compare(a, own);
}

/* Returns what all proofs have in common. */
static proof_args
proof_of(const cuda_groups *g, const results_args &r, u32 n)
{
	proof_args a = {};

	a.results = r;
	a.results.lists = g->device.lists;
	a.results.state = g->state;
	a.n = n;
	a.rows = g->device.proved;
	a.groups = a.rows + n;
	a.ntiles = g->device.ntiles;
	return a;
}

/* Launches both kernels. */
static gs_status
prove(const cuda_groups *g, const proof_args &a, void (*kernel)(const proof_args), u64 n)
{
	rows_kernel<<<gs_cuda_grid(g->e, a.ntiles, 1, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, g->e->stream>>>(a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	kernel<<<gs_cuda_grid(g->e, n + 1, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, g->e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Damages the first aggregate of the first group, or the first row number, for tests. */
static __global__ void
damage_kernel(const proof_args a, u32 what)
{
	const results_args &r = a.results;
	const gs_fold &f = r.lists->folds[1];
	gs_reduced *member = r.out != NULL ? r.out + r.lists->nkeys : NULL;
	u64 slot = 0;

	if (a.numbers != NULL)
	{
		if (a.page != NULL)
			((gs_row *) a.page)[0] = a.page[1];
		else
			((u32 *) a.numbers)[0] = a.numbers[1];
		return;
	}
	if (member == NULL)
		group_at(r, 0, &slot);
	if (what == GS_CUDA_DAMAGE_VALUE)
		++*(member != NULL ? &member->value[0] : &r.table.words[f.word * r.table.pitch + slot]);
	else if (member != NULL)
		member->count--;
	else
		r.table.halves[f.count * r.table.pitch + slot]--;
}

/* Has a test's damage done. */
static void
do_damage(const cuda_groups *g, const proof_args &a)
{
	if (g->e->damage != 0)
		damage_kernel<<<1, 1, 0, g->e->stream>>>(a, g->e->damage);
}

gs_status
gs_groups_prove(cuda_groups *g, const results_args &r)
{
	const gs_group_step *group = gs_steps_group(g->head.steps);
	proof_args a = proof_of(g, r, g->lists.naggregates);

	if (g->lists.nkeys == 0 || !g->device.plain)
		return GS_OK;
	if (g->e->groups++ % LISTS_A_PROOF != 0 && g->e->damage == 0)
		return GS_OK;
	for (u32 i = 0; i < g->lists.naggregates; i++)
		a.aggregates |= (u64) (group->aggregates[i].operation <= (u32) GS_COUNT) << i;
	if (a.aggregates == 0)
		return GS_OK;
	do_damage(g, a);
	return prove(g, a, groups_kernel, r.groups);
}

gs_status
gs_rows_prove(cuda_groups *g, const gs_sorted &sorted, const gs_row *page)
{
	proof_args a = proof_of(g, {}, 1);

	if (!g->device.plain_terms)
		return GS_OK;
	a.numbers = (const u32 *) sorted.second;
	a.page = page;
	a.nnumbers = sorted.n;
	do_damage(g, a);
	return prove(g, a, numbers_kernel, sorted.n);
}

/* Has tests damage results. */
extern "C" void
gs_cuda_groups_damage(gs_engine *engine, gs_cuda_damage what)
{
	((gs_cuda_engine *) engine)->damage = what;
}
