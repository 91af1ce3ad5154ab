/*
 * groups_state.cuh: the state of a list of steps with groups (groups.cu), and members of its groups.
 */
#ifndef GS_CUDA_SCAN_GROUPS_STATE_CUH
#define GS_CUDA_SCAN_GROUPS_STATE_CUH

#include "groups_fold.cuh"

#define FEW_BYTES	 ((u64) 1 << 20)  /* groups of which the device selects none */

/* Aggregates over the values of one expression, by the same FILTER clause. */
struct value_set
{
	u64 aggregates;
	gs_sort_plan plan;
	bool runs, modes;
};

/* Groups, as the kernel that writes their results reads them. */
struct results_args
{
	const gs_lists *lists;
	gs_table table;
	gs_sorted sorted;
	const u32 *starts; /* dense: slots; sorted: places of the first rows; NULL: slot 0 */
	bool dense;
	u64 groups; /* at most; the state has their number */
	const u32 *which; /* their numbers, as many as groups says; NULL: all */
	u64 *keys;		  /* may be NULL */
	gs_reduced *out;
	gs_group_state *state;
};

struct cuda_groups
{
	gs_groups head;
	gs_cuda_engine *e;
	gs_lists lists;
	gs_device_lists device;
	value_set sets[GS_STEPS_MAX_AGGREGATES];
	gs_sort_plan carrier; /* of the sorted way, pairs that have all that the folds need */
	u32 carrier_set;	  /* the set whose pairs these are; nsets: none */
	bool carries, folds;  /* there is a carrier; there are folds of which somebody asks */
	bool as_is;			  /* rows need no sort */
	u32 nsets;
	gs_cuda_memory memory;
	gs_group_state *state; /* in device memory */
	gs_group_state found;  /* what it was in the end */
	gs_sort_arrays arrays;
	u64 *keys;		 /* of each group, ascending */
	gs_reduced *out; /* in device memory */
	u64 ngroups;
	u64 ahead; /* bytes of results that have come with the state */
	bool came, listed; /* rows have; the result is the list */
	bool late;		   /* results are written for the groups that may be among the first */
	results_args results;
	gs_group_list list;
	/* of lists with ROWS */
	gs_row *page; /* in device memory */
	u64 nrows;
};

/* Allocates device memory that lasts until the end. */
template <class T>
static inline gs_status
take(cuda_groups *g, u64 n, T **p)
{
	return gs_memory_take(g->e, &g->memory, n * sizeof(T), (void **) p);
}

/* Returns the packed key of a group, and its slot in the table. */
__device__ __forceinline__ u64
group_at(const results_args &a, u64 group, u64 *slot)
{
	const u64 start = a.starts != NULL ? a.starts[group] : 0;

	*slot = a.dense ? start : group;
	return a.dense ? start : key_at(a.sorted, start);
}

/* Returns a member of a group, but of aggregates that need all values. */
__device__ __forceinline__ gs_reduced
member_of(const results_args &a, const gs_lists &l, u64 key, u64 slot, u32 m, bool *good)
{
	gs_reduced r;

	if (m >= l.nkeys)
		return gs_steps_group(l.steps)->aggregates[m - l.nkeys].operation > (u32) GS_COUNT
			? gs_reduced_none() : gs_fold_result(&l.folds[1 + m - l.nkeys], &a.table, slot, good);
	r = gs_packed_key_value(&l.keys.keys[m], key);
	if (l.key_folds[m] != 0 && r.count != 0 && r.value[0] << 1 == 0)
		r = gs_fold_result(&l.folds[l.key_folds[m]], &a.table, slot, good);
	r.count = r.count != 0;
	return r;
}

/* groups.cu: makes a question with this head, in some bytes of zeros; NULL: there is no memory. */
cuda_groups *gs_cuda_groups_new(gs_engine *engine, const gs_groups *head, size_t bytes);
/* Uploads the list and the rows, which come once.  Without rows there is nothing more to do. */
gs_status gs_groups_upload(cuda_groups *g, const gs_steps *steps, const gs_held_rows *rows);
/* There are no parts, as rows do all: gs_groups_parts, and gs_groups_part, which is never called. */
uint32_t gs_groups_no_parts(gs_groups *groups, uint32_t round);
gs_status gs_groups_no_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part);
/* Waits for what kernels report, and for the first results, which come with it. */
gs_status gs_groups_finish(cuda_groups *g, const void *results, u64 bytes);
/* Copies results to the host, of which the first may have come. */
gs_status gs_groups_fetch(cuda_groups *g, const void *results, u64 from, u64 bytes, void *to);
/* Frees device memory, and the list of groups. */
void gs_groups_release(cuda_groups *g);
/* Frees everything: gs_groups_close. */
void gs_groups_drop(gs_groups *groups, gs_engine *engine);
/* Writes the results of folds for groups. */
gs_status gs_groups_write_folds(cuda_groups *g, const results_args &r);

/* groups_proof.cu: has the state fail if groups, of results, are not what the rows say. */
gs_status gs_groups_prove(cuda_groups *g, const results_args &r);
/* Likewise row numbers, of all rows that pass; page: they stand there, whose rows are all of these. */
gs_status gs_rows_prove(cuda_groups *g, const gs_sorted &sorted, const gs_row *page);

/* groups_top.cu: adds groups to the list, those of which (NULL: all) says the numbers, in pieces. */
gs_status gs_groups_list(cuda_groups *g, const u32 *which, u64 n);
/* Lists the groups that HAVING passes and that may be among the first, of many. */
gs_status gs_groups_list_first(cuda_groups *g);

#endif
