/*
 * groups.cu: lists of steps with groups (gs_groups.h) on a device.
 *
 * Rows become groups in one of three ways.  Shared: slots are packed keys, in tables of the blocks.  Dense: likewise,
 * in one table in device memory.  Sorted: values, or else row numbers, are sorted by key.  Aggregates that need all
 * values are found in pairs of key and value, sorted for each different expression.  HAVING and TOP are the host's; of
 * many groups the device first selects those that may be among the first.
 */
#include "groups_state.cuh"
#include "../base/sort_testing.h"

#include <cstring>

#define DENSE_BYTES	 ((u64) 24 << 20) /* of a table that the cache holds */
#define DENSE_BITS	 26u

/* Returns true if two aggregates are over the same values. */
static bool
same_values(const gs_steps *steps, const gs_aggregate *a, const gs_aggregate *b)
{
	return a->ncode == b->ncode && a->nterms == b->nterms &&
		memcmp(gs_steps_at(steps, a->code), gs_steps_at(steps, b->code), a->ncode * sizeof(gs_instruction)) == 0 &&
		(a->nterms == 0 ||
		 memcmp(gs_steps_at(steps, a->terms), gs_steps_at(steps, b->terms), a->nterms * sizeof(gs_term)) == 0);
}

/* Plans the sorts of aggregates that need all values. */
static gs_status
plan_sets(cuda_groups *g)
{
	const gs_steps *steps = g->head.steps;
	const gs_group_step *group = gs_steps_group(steps);

	for (u32 i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *a = &group->aggregates[i];
		const gs_fold *f = &g->lists.folds[1 + i];
		gs_packed_key coding;
		u32 s = 0;

		if (a->operation <= (u32) GS_COUNT)
			continue;
		while (s < g->nsets &&
			   !same_values(steps, a, &group->aggregates[__builtin_ctzll(g->sets[s].aggregates)]))
			s++;
		if (s == g->nsets)
		{
			GS_TRY(gs_value_coding(steps, a, g->head.ranges, &coding));
			g->sets[g->nsets++].plan =
				gs_sort_values_plan(f->value, coding, f->terms, f->nterms, g->head.keys.bits);
		}
		g->sets[s].aggregates |= (u64) 1 << i;
		g->sets[s].runs |= a->operation <= GS_MODE;
		g->sets[s].modes |= a->operation == GS_MODE;
	}
	return GS_OK;
}

/* Plans pairs of key and value that have all that groups and folds need, if there are such. */
static gs_status
plan_carrier(cuda_groups *g)
{
	const gs_steps *steps = g->head.steps;
	const gs_group_step *group = gs_steps_group(steps);
	const gs_aggregate *value = NULL; /* the one that is added up */
	gs_packed_key coding = {};
	bool one = g->lists.nkeys > 0 && g->lists.nfolds == 1 + g->lists.naggregates;

	g->carrier_set = g->nsets;
	for (u32 i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *a = &group->aggregates[i];

		g->folds |= a->operation <= (u32) GS_COUNT;
		if (g->lists.folds[1 + i].kind == GS_FOLD_NONE)
			continue;
		one = one && !g->lists.folds[1 + i].owns && (value == NULL || same_values(steps, a, value));
		value = a;
	}
	if (!one)
		return GS_OK;
	if (g->nsets > 0)
	{
		const u32 first = (u32) __builtin_ctzll(g->sets[0].aggregates);

		if (g->lists.folds[1 + first].owns || (value != NULL && !same_values(steps, value, &group->aggregates[first])))
			return GS_OK;
		g->carrier_set = 0;
		g->carrier = g->sets[0].plan;
	}
	else if (value == NULL)
		g->carrier = gs_sort_values_plan({}, coding, 0, 0, g->head.keys.bits);
	else if (gs_value_coding(steps, value, g->head.ranges, &coding) == GS_OK)
		g->carrier = gs_sort_values_plan(gs_reading_of(steps, value->code, value->ncode), coding, 0, 0,
										 g->head.keys.bits);
	else
		return GS_OK;
	g->carrier.keys_only = g->nsets == 0;
	g->carrier.as_is = g->as_is;
	g->carrier.values = value != NULL || g->nsets > 0;
	g->carries = true;
	return GS_OK;
}

cuda_groups *
gs_cuda_groups_new(gs_engine *engine, const gs_groups *head, size_t bytes)
{
	cuda_groups *g = (cuda_groups *) engine->host.alloc(engine->host.arg, bytes);

	if (g == NULL)
		return NULL;
	memset((void *) g, 0, bytes);
	g->head = *head;
	g->e = (gs_cuda_engine *) engine;
	return g;
}

/* Implements gs_groups_open. */
static gs_status
groups_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	cuda_groups *g = gs_cuda_groups_new(engine, head, sizeof(*g));
	gs_status status;

	if (g == NULL)
		return GS_NOMEM;
	g->lists.keys = head->keys;
	gs_group_list_init(&g->list, head->steps, &engine->host);
	status = gs_lists_plan(&g->lists, head->steps, head->ranges, head->rows);
	if (status == GS_OK)
		status = plan_sets(g);
	g->as_is = head->followed && g->lists.nterms == 0 && g->nsets == 0;
	if (status == GS_OK)
		status = plan_carrier(g);
	if (status == GS_OK)
		*groups = &g->head;
	else
		engine->host.release(engine->host.arg, g, sizeof(*g));
	return status;
}

/* Chooses the way of rows to groups. */
static gs_cuda_groups_way
way_of(const cuda_groups *g)
{
	const u32 bits = g->head.keys.bits, force = g->e->force_groups;
	const u64 slots = (u64) 1 << (bits < DENSE_BITS ? bits : DENSE_BITS);

	/* pairs that are sorted for their values have the groups as well */
	if (g->carries && g->carrier_set < g->nsets && force == GS_CUDA_GROUPS_CHOSEN)
		return GS_CUDA_GROUPS_SORTED;
	if (bits > DENSE_BITS || (force == GS_CUDA_GROUPS_SORTED && g->lists.nkeys > 0))
		return GS_CUDA_GROUPS_SORTED;
	if (slots <= gs_fold_shared_slots(g->e, &g->lists) && force != GS_CUDA_GROUPS_DENSE)
		return GS_CUDA_GROUPS_SHARED;
	if (force == GS_CUDA_GROUPS_DENSE || gs_table_bytes(&g->lists, slots) <= DENSE_BYTES)
		return GS_CUDA_GROUPS_DENSE;
	return GS_CUDA_GROUPS_SORTED;
}

/* Adds what a sort needs to that of others. */
static void
add_needs(const gs_engine *engine, const gs_sort_plan &plan, u64 rows, u32 *first, u32 *second, size_t *temp)
{
	const gs_type key = plan.first_bytes == 4 ? GS_U32 : GS_U64, other = plan.second_bytes == 4 ? GS_U32 : GS_U64;
	size_t bytes;

	*first = plan.first_bytes > *first ? plan.first_bytes : *first;
	*second = plan.second_bytes > *second ? plan.second_bytes : *second;
	if (plan.as_is)
		return;
	bytes = gs_sort_temp_bytes(engine, key, plan.second_bytes, rows);
	*temp = bytes > *temp ? bytes : *temp;
	bytes = plan.split ? gs_sort_temp_bytes(engine, other, plan.first_bytes, rows) : 0;
	*temp = bytes > *temp ? bytes : *temp;
}

/* Takes the arrays of sorts, for n rows or slots. */
static gs_status
take_arrays(cuda_groups *g, bool sorted, u64 slots)
{
	const u64 rows = g->device.rows, most = sorted || g->nsets > 0 ? (rows > slots ? rows : slots) : slots;
	gs_sort_arrays *a = &g->arrays;
	size_t temp = gs_select_temp_bytes(&g->e->head, GS_U32, most);
	gs_sort_plan plan = g->carries ? g->carrier : gs_sort_rows_plan(g->head.keys.bits);
	u32 first = 0, second = 0;
	bool runs = false;

	plan.as_is = g->as_is;
	if (sorted)
		add_needs(&g->e->head, plan, rows, &first, &second, &temp);
	for (u32 s = 0; s < g->nsets; s++)
	{
		add_needs(&g->e->head, g->sets[s].plan, rows, &first, &second, &temp);
		/* of one key, the runs of equal values are only counted, unless the longest is asked for */
		runs |= g->sets[s].runs && (g->sets[s].modes || g->head.keys.bits > 0);
	}
	/* what is not sorted stays in the first ones */
	for (u32 i = 0; i < (g->as_is ? 1 : 2) && first > 0; i++)
	{
		GS_TRY(take(g, rows * first, (u8 **) &a->first[i]));
		if (second > 0)
			GS_TRY(take(g, rows * second, (u8 **) &a->second[i]));
	}
	GS_TRY(take(g, (most + 63) / 64, &a->bits));
	GS_TRY(take(g, sorted || (g->nsets > 0 && g->head.keys.bits > 0) ? most : slots, &a->starts));
	if (runs)
		GS_TRY(take(g, rows, &a->runs));
	a->temp_bytes = temp;
	return take(g, temp, (u8 **) &a->temp);
}

/* Writes the packed keys and the results of groups. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
results_kernel(const results_args a)
{
	const gs_lists &l = *a.lists;
	const u32 members = l.nkeys + l.naggregates;
	const u64 groups = a.which != NULL ? a.groups : a.state->groups;
	bool good = true;

	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < a.groups; i += (u64) gridDim.x * blockDim.x)
	{
		u64 slot;

		if (i >= groups)
		{
			/* these are copied with the others if the host does not know their number */
			for (u32 m = 0; m < members; m++)
				a.out[i * members + m] = gs_reduced_none();
			continue;
		}

		const u64 key = group_at(a, a.which != NULL ? a.which[i] : i, &slot);

		if (a.keys != NULL)
			a.keys[i] = key;
		for (u32 m = 0; m < members; m++)
			a.out[i * members + m] = member_of(a, l, key, slot, m, &good);
	}
	if (!good)
		atomicOr(&a.state->failed, GS_FAILED_OVERFLOW);
}

/* Learns how many groups there are, or at most are where results of all of those are few, without waiting. */
static gs_status
count_results(cuda_groups *g, u64 most, results_args *r)
{
	gs_group_state found;

	r->groups = most;
	if (most * g->list.members * sizeof(gs_reduced) <= FEW_BYTES)
		return GS_OK;
	GS_TRY(gs_group_found(g->e, g->state, &found));
	r->groups = found.groups;
	return GS_OK;
}

/* Finds groups in sorted pairs. */
static gs_status
find_groups(cuda_groups *g, results_args *r)
{
	const u64 n = r->sorted.n, keys = g->head.keys.bits < 32 ? (u64) 1 << g->head.keys.bits : n;

	r->starts = g->arrays.starts;
	if (n == 0)
		return GS_OK;
	if (g->head.keys.bits == 0)
		GS_TRY(gs_fill(&g->e->head, g->arrays.starts, 0, sizeof(u32)));
	else
		GS_TRY(gs_sorted_starts(g->e, r->sorted, false, g->arrays, g->arrays.starts, &g->state->groups));
	return count_results(g, n < keys ? n : keys, r);
}

/* Finds groups in the carrier's sorted pairs, and adds up their values. */
static gs_status
fold_carried(cuda_groups *g, results_args *r)
{
	u32 *room;
	u8 *memory;

	GS_TRY(gs_sort_pairs(g->e, &g->device, g->carrier, g->arrays, g->state, &r->sorted));
	GS_TRY(find_groups(g, r));
	if (r->groups == 0 || !g->folds)
		return GS_OK;
	GS_TRY(take(g, gs_table_bytes(&g->lists, r->groups), &memory));
	GS_TRY(take(g, gs_fold_long_groups(r->sorted.n), &room));
	r->table = gs_table_at(&g->lists, r->groups, memory);
	return gs_fold_carried(g->e, &g->device, r->table, r->sorted, g->carrier.coding, r->starts, r->groups, room,
						   g->state);
}

/* Makes a table and adds all rows to it.  The results' arguments become what is known of the groups. */
static gs_status
fold_rows(cuda_groups *g, gs_cuda_groups_way way, u64 slots, results_args *r)
{
	u8 *memory;

	if (g->lists.nkeys == 0)
	{
		r->dense = true;
		r->groups = 1;
		r->table = g->device.one;
		return g->folds ? gs_fold_tiles(g->e, &g->device, r->table, true, g->state) : GS_OK;
	}
	if (g->carries && way == GS_CUDA_GROUPS_SORTED)
		return fold_carried(g, r);
	r->dense = way != GS_CUDA_GROUPS_SORTED;
	if (!r->dense)
	{
		gs_sort_plan plan = gs_sort_rows_plan(g->head.keys.bits);

		plan.as_is = g->as_is;
		GS_TRY(gs_sort_pairs(g->e, &g->device, plan, g->arrays, g->state, &r->sorted));
		GS_TRY(find_groups(g, r));
		if (r->groups == 0)
			return GS_OK;
		slots = r->groups;
	}
	GS_TRY(take(g, gs_table_bytes(&g->lists, slots), &memory));
	r->table = gs_table_at(&g->lists, slots, memory);
	GS_TRY(gs_fold_clear(g->e, &g->device, r->table));
	r->starts = g->arrays.starts;
	if (!r->dense)
		return gs_fold_sorted(g->e, &g->device, r->table, (const u32 *) r->sorted.second, g->arrays.starts, r->sorted.n,
							  g->state);
	GS_TRY(gs_fold_tiles(g->e, &g->device, r->table, way == GS_CUDA_GROUPS_SHARED, g->state));
	GS_TRY(gs_used_slots(g->e, r->table, g->arrays, g->arrays.starts, &g->state->groups));
	return count_results(g, slots < g->device.rows ? slots : g->device.rows, r);
}

gs_status
gs_groups_write_folds(cuda_groups *g, const results_args &r)
{
	results_kernel<<<gs_cuda_grid(g->e, r.groups, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0,
					 g->e->stream>>>(r);
	return gs_cuda_status(cudaGetLastError());
}

/* Writes the results of groups: of folds, then of each set of values, the carrier's first, whose pairs are sorted. */
static gs_status
write_results(cuda_groups *g, const results_args &r)
{
	u64 *best = NULL;

	GS_TRY(gs_groups_write_folds(g, r));
	if (g->nsets > 0)
		GS_TRY(take(g, r.groups, &best));
	for (u32 s = 0; s < g->nsets; s++)
	{
		const value_set *v = &g->sets[s];
		const bool sorted = s == 0 && r.sorted.n > 0 && g->carrier_set == 0;
		gs_sorted pairs = r.sorted;

		if (!sorted)
			GS_TRY(gs_sort_pairs(g->e, &g->device, v->plan, g->arrays, g->state, &pairs));
		GS_TRY(gs_values_results(g->e, &g->device, pairs, v->plan.coding, v->aggregates, g->arrays, best, r.keys,
								 r.groups, sorted, r.out, g->state));
	}
	return GS_OK;
}

gs_status
gs_groups_finish(cuda_groups *g, const void *results, u64 bytes)
{
	const u64 most = GS_ANSWER_BYTES - sizeof(gs_group_state);
	u8 *answer = (u8 *) gs_staged_answer(g->e, g);

	g->ahead = answer == NULL ? 0 : bytes < most ? bytes : most;
	if (g->ahead > 0)
		GS_TRY(gs_download(&g->e->head, answer + sizeof(g->found), results, g->ahead));
	GS_TRY(gs_download(&g->e->head, answer != NULL ? (void *) answer : &g->found, g->state, sizeof(g->found)));
	GS_TRY(gs_group_poll(g->e));
	if (answer != NULL)
		memcpy(&g->found, answer, sizeof(g->found));
	if (g->found.failed & GS_FAILED_OVERFLOW)
		return GS_OVERFLOW;
	if (g->found.failed & GS_FAILED_RANGE)
		return GS_INVALID;
	return g->found.failed != 0 ? GS_WRONG_ORDER : GS_OK;
}

gs_status
gs_groups_fetch(cuda_groups *g, const void *results, u64 from, u64 bytes, void *to)
{
	if (g->e->answer_of == g && from + bytes <= g->ahead)
	{
		memcpy(to, g->e->staging + GS_STAGED_BYTES + sizeof(g->found) + from, bytes);
		return GS_OK;
	}
	GS_TRY(gs_download(&g->e->head, to, (const u8 *) results + from, bytes));
	return gs_group_poll(g->e);
}

/* Returns true if the device selects groups by members that the folds give, and no result can leave its range. */
static bool
selects_first(const cuda_groups *g)
{
	for (u32 i = 0; i < g->lists.nfolds; i++)
		if (g->lists.folds[i].kind == GS_FOLD_SUM_MOST)
			return false;
	return g->list.top != NULL && g->list.top->limit < g->ngroups && g->list.having == NULL && g->nsets == 0 &&
		g->ngroups * g->list.members * sizeof(gs_reduced) > FEW_BYTES;
}

gs_status
gs_groups_upload(cuda_groups *g, const gs_steps *steps, const gs_held_rows *rows)
{
	u8 *memory;

	if (g->came)
		return GS_INVALID;
	cudaSetDevice(g->e->device);
	GS_TRY(take(g, gs_lists_bytes(&g->lists, steps, rows), &memory));
	GS_TRY(gs_lists_upload(g->e, &g->lists, steps, rows, memory, &g->device));
	g->state = g->device.state;
	return g->device.rows > g->head.rows ? GS_INVALID : GS_OK;
}

/* Uploads the list and the rows, and takes all arrays, from one block. */
static gs_status
begin_rows(cuda_groups *g, const gs_held_rows *rows, bool sorted, u64 slots)
{
	if (g->head.rows > GS_MAX_ROWS)
		return GS_TOO_BIG;
	g->device.rows = g->head.rows; /* or less */
	g->memory.measuring = true;
	GS_TRY(take_arrays(g, sorted, slots));
	g->memory.measuring = false;
	GS_TRY(gs_groups_upload(g, g->head.steps, rows));
	return g->device.rows == 0 ? GS_OK : take_arrays(g, sorted, slots);
}

/* Implements gs_groups_rows, which comes once. */
static gs_status
groups_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	cuda_groups *g = (cuda_groups *) groups;
	const gs_cuda_groups_way way = way_of(g);
	const u64 slots = way == GS_CUDA_GROUPS_SORTED ? 0 : (u64) 1 << g->head.keys.bits;
	results_args r = {};
	gs_status status;

	(void) worker, (void) engine;
	GS_TRY(begin_rows(g, rows, way == GS_CUDA_GROUPS_SORTED, slots));
	if (g->device.rows == 0)
		return GS_OK;
	if (way == GS_CUDA_GROUPS_SORTED && !g->carries && g->device.numbers > UINT32_MAX)
		return GS_TOO_BIG;
	g->came = true;
	GS_TRY(fold_rows(g, way, slots, &r));
	g->ngroups = r.groups;
	if (r.groups > 0)
	{
		r.lists = g->device.lists;
		r.state = g->state;
		g->late = selects_first(g);
		g->results = r;
	}
	if (r.groups > 0 && !g->late)
	{
		GS_TRY(take(g, r.groups, &r.keys));
		GS_TRY(take(g, r.groups * g->list.members, &r.out));
		g->out = r.out;
		GS_TRY(write_results(g, r));
	}
	GS_TRY(gs_groups_prove(g, r));
	if (g->late)
		return gs_groups_finish(g, NULL, 0);
	status = gs_groups_finish(g, g->out, r.groups * g->list.members * sizeof(gs_reduced));
	g->ngroups = r.groups > 0 ? g->found.groups : 0;
	return status;
}

uint32_t
gs_groups_no_parts(gs_groups *groups, uint32_t round)
{
	(void) groups, (void) round;
	return 0;
}

gs_status
gs_groups_no_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part)
{
	(void) groups, (void) worker, (void) engine, (void) part;
	return GS_INVALID;
}

/* Implements gs_groups_end. */
static gs_status
groups_end(gs_groups *groups, gs_engine *engine, uint64_t *count)
{
	cuda_groups *g = (cuda_groups *) groups;
	gs_reduced nothing[GS_STEPS_MAX_AGGREGATES];

	(void) engine;
	cudaSetDevice(g->e->device);
	for (u32 i = 0; i < GS_STEPS_MAX_AGGREGATES; i++)
		nothing[i] = gs_reduced_none();
	g->listed = !g->came || g->list.having != NULL || g->list.top != NULL;
	if (!g->came && g->lists.nkeys == 0)
		GS_TRY(gs_group_list_add(&g->list, nothing));
	else if (g->listed && g->ngroups * g->list.members * sizeof(gs_reduced) <= FEW_BYTES)
		GS_TRY(gs_groups_list(g, NULL, g->ngroups));
	else if (g->listed)
		GS_TRY(gs_groups_list_first(g));
	if (g->listed)
		gs_group_list_finish(&g->list);
	*count = g->listed ? g->list.n : g->ngroups;
	return GS_OK;
}

/* Implements gs_groups_read. */
static gs_status
groups_read(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out)
{
	cuda_groups *g = (cuda_groups *) groups;
	const u64 all = g->listed ? g->list.n : g->ngroups;

	if (first > all || n > all - first)
		return GS_INVALID;
	if (n == 0)
		return GS_OK;
	if (!g->listed)
		return gs_groups_fetch(g, g->out, first * g->list.members * sizeof(gs_reduced),
							   n * g->list.members * sizeof(gs_reduced), out);
	memcpy(out, g->list.groups + first * g->list.members, n * g->list.members * sizeof(gs_reduced));
	return GS_OK;
}

void
gs_groups_release(cuda_groups *g)
{
	cudaSetDevice(g->e->device);
	gs_memory_free(g->e, &g->memory);
	if (g->e->answer_of == g)
		g->e->answer_of = NULL;
	gs_group_list_release(&g->list);
}

void
gs_groups_drop(gs_groups *groups, gs_engine *engine)
{
	cuda_groups *g = (cuda_groups *) groups;

	gs_groups_release(g);
	engine->host.release(engine->host.arg, g, sizeof(*g));
}

const gs_group_ops gs_cuda_group_ops = {groups_open, groups_rows, gs_groups_no_parts, gs_groups_no_part,
										groups_end,	 groups_read, gs_groups_drop};

/* Has tests choose the way of groups. */
extern "C" void
gs_cuda_groups_force(gs_engine *engine, gs_cuda_groups_way way)
{
	((gs_cuda_engine *) engine)->force_groups = way;
}
