/*
 * groups_fold.cu: adds rows to a table of slots, one for each group.
 *
 * Of tiles, a row's slot is its packed key.  Where it fits, a block has a table of its own in shared memory and adds it
 * to the table in device memory at its end.  Of few slots each thread has a copy, which it changes without atomic
 * operations (groups_sums.cuh); of more, lanes share some copies.  Of sorted row numbers, a slot is the number of the
 * group, and a thread takes neighbouring rows.  A thread adds up its rows of one slot before it touches the table, and
 * where tables are shared a warp whose rows all have one slot those of its lanes.
 */
#include "groups_sums.cuh"

#define MOST_COPIES	 5		   /* log2: a copy for each lane */
#define COPIED_BYTES (40u << 10) /* tables of a block up to this size have copies */
#define FEW_THREADS	 128u	   /* of a block whose threads have a copy each, of more slots */
#define SORTED_ROUND (GS_GROUP_THREADS * gs_places::ROWS)
#define ROW_SLOTS	 (32u * GS_GROUP_THREADS) /* bytes of a block */
#define MOST_TILES	 32768	   /* of a launch: the host looks for cancels between two */

/* Adds a round's values.  uniform: all rows of the warp have the slot of the first. */
template <int KIND, class P>
__device__ __forceinline__ void
fold_rows(const gs_fold &f, const gs_table &t, const u32 (&slot)[P::ROWS], bool uniform, u32 only, u32 mask,
		  const u64 (&lo)[P::ROWS], const u64 (&hi)[P::ROWS], u32 &failed)
{
	fold_sum s = none<KIND>();

	GS_EACH_ROW(P, j)
	{
		if (mask >> j & 1)
			merge<KIND>(s, sum_of<KIND>(f, lo[j], P::ANY ? hi[j] : upper_half(f.value, lo[j]), failed));
		if (!uniform && s.n != 0 && (j == P::ROWS - 1 || slot[j < P::ROWS - 1 ? j + 1 : j] != slot[j]))
		{
			put<KIND>(f, t, slot[j], s);
			s = none<KIND>();
		}
	}
	if (uniform)
	{
		for (int d = 16; d > 0; d /= 2)
			merge<KIND>(s, shuffle_xor(s, d));
		if (lane_id() == 0 && s.n != 0)
			put<KIND>(f, t, only, s);
	}
	__syncwarp();
}

/* Adds a round's rows to all folds. */
template <class P>
__device__ __forceinline__ void
fold_round(const gs_lists &l, const gs_table &t, const P &p, u32 mask, const u32 (&slot)[P::ROWS], u32 &failed)
{
	u32 least = ~0u, greatest = 0;

	if (!t.alone)
	{
		GS_EACH_ROW(P, j)
			if (mask >> j & 1)
			{
				least = min(least, slot[j]);
				greatest = max(greatest, slot[j]);
			}
		least = lanes_min(least);
		greatest = lanes_max(greatest);
	}
	for (u32 i = 0; i < l.nfolds; i++)
	{
		const gs_fold &f = l.folds[i];
		u64 lo[P::ROWS], hi[P::ROWS];
		u32 some;

		if (f.kind == GS_FOLD_NONE)
			continue;
		some = rows_passing(l, l.terms + f.terms, f.nterms, p, mask);
		if (f.kind == GS_FOLD_COUNT && f.value.ncode <= 1)
		{
			some = rows_not_null(p, some, f.value.columns);
			GS_EACH_ROW(P, j)
				lo[j] = hi[j] = 0;
		}
		else
			some = read_rows(l, f.value, p, some, lo, hi, failed);
#define FOLD_ROWS(KIND)                                                                                                \
	if constexpr (P::ANY || (KIND != GS_FOLD_SUM_MOST && KIND != GS_FOLD_WIDE))                                        \
	fold_rows<KIND, P>(f, t, slot, !t.alone && least >= greatest, least, some, lo, hi, failed)
		EACH_KIND(f.kind, FOLD_ROWS)
	}
}

/* Adds the rows of a tile. */
template <class P>
__device__ __forceinline__ void
fold_tile(const gs_lists &l, const gs_table &t, const gs_span &tile, u32 &failed)
{
	for (u32 from = 0; from < tile.rows; from += P::THREADS * P::ROWS)
	{
		P p;
		u64 packed[P::ROWS];
		u32 slot[P::ROWS], mask = places_of(l, tile, from, p);

		mask = rows_passing(l, l.terms, l.nterms, p, mask);
		mask = pack_rows(l, p, mask, packed, failed);
		GS_EACH_ROW(P, j)
			slot[j] = (u32) packed[j];
		fold_round(l, t, p, mask, slot, failed);
	}
}

/* Adds a round of sorted rows, of which a thread takes neighbouring ones. */
__device__ __forceinline__ void
fold_sorted(const fold_args &a, const gs_lists &l, u64 round, u32 &failed)
{
	const u64 first = round * SORTED_ROUND + (u64) threadIdx.x * gs_places::ROWS;
	const u64 groups = a.state->groups;
	u64 group = first < a.n ? numbers_below(a.starts, groups, first + 1) - 1 : 0;
	u64 next = group + 1 < groups ? a.starts[group + 1] : a.n;
	gs_places p;
	u32 slot[gs_places::ROWS], mask = 0;

	GS_EACH_ROW(gs_places, j)
	{
		slot[j] = (u32) group;
		p.columns[j] = l.columns;
		p.row[j] = 0;
		if (first + j >= a.n)
			continue;
		if (first + j >= next)
		{
			group++;
			next = group + 1 < groups ? a.starts[group + 1] : a.n;
			slot[j] = (u32) group;
		}
		place_number(l, a.rows[first + j], p, j);
		mask |= 1u << j;
	}
	fold_round(l, a.table, p, mask, slot, failed);
}

/* Makes words and halves of a table those of nothing. */
__device__ __forceinline__ void
clear_table(const gs_lists &l, const gs_table &t, u64 from, u64 step)
{
	for (u64 i = from; i < l.words * t.pitch; i += step)
		t.words[i] = l.real_word[i / t.pitch] ? (u64) 1 << 63 : 0;
	for (u64 i = from; i < l.halves * t.pitch; i += step)
		t.halves[i] = 0;
}

/* Clears a table in device memory. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
clear_kernel(const gs_lists *lists, const gs_table t)
{
	clear_table(*lists, t, blockIdx.x * (u64) blockDim.x + threadIdx.x, (u64) gridDim.x * blockDim.x);
}

/* Adds a fold of a block's table to the table in device memory: a warp adds up a slot's copies if there are many. */
template <int KIND>
__device__ __forceinline__ void
add_fold(const gs_fold &f, const gs_table &from, const gs_table &to, u64 slots)
{
	const u32 lanes = from.copies >= 5 ? 32 : 1, lane = threadIdx.x % lanes;

	for (u64 slot = threadIdx.x / lanes; slot < slots; slot += blockDim.x / lanes)
	{
		fold_sum all = none<KIND>();

		for (u32 copy = lane; copy < 1u << from.copies; copy += lanes)
			merge<KIND>(all, load_sum<KIND>(f, from, (slot << from.copies) + copy));
		for (u32 d = lanes / 2; d > 0; d /= 2)
			merge<KIND>(all, shuffle_xor(all, d));
		if (lane == 0 && all.n != 0)
			put<KIND>(f, to, (u32) slot, all);
	}
}

/* How the rows of tiles are added. */
enum tiles_way
{
	TILES_ANY,	 /* by gs_tile_places<true, ...> */
	TILES_PLAIN, /* by gs_tile_places<false, ...> */
	TILES_ONE,	 /* by sum_tile without keys, or */
	TILES_FEW	 /* with keys: each thread has a table */
};

/* Adds tiles to tables of blocks, then to the table, or to it at once. */
template <tiles_way WAY, u32 THREADS>
static __global__ void __launch_bounds__(THREADS, 2)
tiles_kernel(const fold_args a)
{
	__shared__ u64 slots[WAY == TILES_FEW ? 32 / GS_SUM_BATCH * THREADS : 1];
	extern __shared__ u64 memory[];
	const gs_lists &l = *a.lists;
	gs_table t = a.table;
	u32 failed = 0;

	if (a.shared)
	{
		t.pitch = a.slots << a.copies;
		t.words = memory;
		t.halves = (u32 *) (memory + l.words * t.pitch);
		t.copies = a.copies;
		t.alone = blockDim.x == 1u << a.copies;
		t.copy = t.alone ? threadIdx.x : (threadIdx.x + threadIdx.x / 32) & ((1u << a.copies) - 1);
		clear_table(l, t, threadIdx.x, blockDim.x);
		__syncthreads();
	}
	for (u64 i = a.from + blockIdx.x; i < a.to; i += gridDim.x)
	{
		if constexpr (WAY == TILES_ONE || WAY == TILES_FEW)
			sum_tile<WAY == TILES_FEW, THREADS>(l, t, l.tiles[i], slots, failed);
		else
			fold_tile<gs_tile_places<WAY == TILES_ANY, THREADS>>(l, t, l.tiles[i], failed);
	}
	if (a.shared)
	{
		__syncthreads();
		for (u32 i = 0; i < l.nfolds; i++)
		{
			const gs_fold &f = l.folds[i];
#define ADD_FOLD(KIND) add_fold<KIND>(f, t, a.table, a.slots)
			EACH_KIND(f.kind, ADD_FOLD)
		}
	}
	if (failed != 0)
		atomicOr(&a.state->failed, failed);
}

/* Adds sorted rows to the table. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS, 2)
sorted_kernel(const fold_args a)
{
	u32 failed = 0;

	for (u64 i = a.from + blockIdx.x; i < a.to; i += gridDim.x)
		fold_sorted(a, *a.lists, i, failed);
	if (failed != 0)
		atomicOr(&a.state->failed, failed);
}

/* Returns the bytes of a table. */
size_t
gs_table_bytes(const gs_lists *l, u64 slots)
{
	return slots * (l->words * sizeof(u64) + l->halves * sizeof(u32));
}

/* Returns a table in some memory. */
gs_table
gs_table_at(const gs_lists *l, u64 slots, void *memory)
{
	return {(u64 *) memory, (u32 *) ((u64 *) memory + l->words * slots), slots, 0, 0, false};
}

/* Returns how many slots a table in shared memory may have. */
u64
gs_fold_shared_slots(const gs_cuda_engine *e, const gs_lists *l)
{
	return (gs_cuda_shared(e) - 2048) / gs_table_bytes(l, 1);
}

/* Clears a table. */
gs_status
gs_fold_clear(gs_cuda_engine *e, const gs_device_lists *d, const gs_table &table)
{
	clear_kernel<<<gs_cuda_grid(e, table.pitch, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, e->stream>>>(
		d->lists, table);
	return gs_cuda_status(cudaGetLastError());
}

/* Launches a kernel over parts of its work, and asks for cancels between them. */
static gs_status
launch(gs_cuda_engine *e, void (*kernel)(const fold_args), fold_args &a, u64 all, u32 threads, size_t shared)
{
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) kernel, (int) threads, shared, &blocks));
	/* gs_cuda_blocks has set the limit that another list needed, if it knows the number already */
	GS_TRY(gs_cuda_status(
		cudaFuncSetAttribute((const void *) kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared)));
	for (a.from = 0; a.from < all; a.from = a.to)
	{
		a.to = all - a.from < MOST_TILES ? all : a.from + MOST_TILES;
		if (a.from > 0)
			GS_TRY(gs_group_poll(e));
		kernel<<<(u32) (a.to - a.from < (u64) blocks ? a.to - a.from : blocks), threads, shared, e->stream>>>(a);
		GS_TRY(gs_cuda_status(cudaGetLastError()));
	}
	return GS_OK;
}

/* Chooses the kernel.  alone: each thread has a table, of at most GS_SUM_SLOTS. */
static void (*tiles_kernel_of(const gs_device_lists *d, bool alone, u32 threads))(const fold_args)
{
	if (!d->plain)
		return tiles_kernel<TILES_ANY, GS_GROUP_THREADS>;
	if (!alone)
		return tiles_kernel<TILES_PLAIN, GS_GROUP_THREADS>;
	if (d->host->nkeys == 0 && threads == GS_GROUP_THREADS)
		return tiles_kernel<TILES_ONE, GS_GROUP_THREADS>;
	return threads == FEW_THREADS ? tiles_kernel<TILES_FEW, FEW_THREADS> : tiles_kernel<TILES_FEW, GS_GROUP_THREADS>;
}

/* Adds all rows to a table whose slots are packed keys. */
gs_status
gs_fold_tiles(gs_cuda_engine *e, const gs_device_lists *d, const gs_table &table, bool shared, gs_group_state *state)
{
	fold_args a = {};
	const size_t most = gs_cuda_shared(e) - 4096 - ROW_SLOTS;
	size_t bytes = shared ? gs_table_bytes(d->host, table.pitch) : 0;
	u32 threads = GS_GROUP_THREADS;
	void (*kernel)(const fold_args);

	a.lists = d->lists;
	a.table = table;
	a.state = state;
	a.slots = table.pitch;
	a.shared = shared;
	if (shared && d->plain && bytes * threads > most)
		threads = FEW_THREADS;
	if (shared && bytes * threads <= most)
		while (1u << a.copies < threads)
			a.copies++;
	else
	{
		threads = GS_GROUP_THREADS;
		while (shared && a.copies < MOST_COPIES && bytes << (a.copies + 1) <= COPIED_BYTES)
			a.copies++;
	}
	/* few sizes, as the engine keeps the number of blocks for each */
	bytes = ((bytes << a.copies) + 4095) & ~(size_t) 4095;
	kernel = tiles_kernel_of(d, 1u << a.copies == threads && table.pitch <= GS_SUM_SLOTS, threads);
	return launch(e, kernel, a, d->ntiles, threads, bytes < gs_cuda_shared(e) ? bytes : gs_cuda_shared(e));
}

/* Adds sorted rows to a table whose slots are groups. */
gs_status
gs_fold_sorted(gs_cuda_engine *e, const gs_device_lists *d, const gs_table &table, const u32 *rows, const u32 *starts,
			   u64 n, gs_group_state *state)
{
	fold_args a = {};

	a.lists = d->lists;
	a.table = table;
	a.state = state;
	a.rows = rows;
	a.starts = starts;
	a.n = n;
	return launch(e, sorted_kernel, a, (n + SORTED_ROUND - 1) / SORTED_ROUND, GS_GROUP_THREADS, 0);
}
