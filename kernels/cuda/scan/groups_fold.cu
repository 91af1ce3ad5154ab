/*
 * groups_fold.cu: adds rows to a table of slots, one for each group.
 *
 * Of tiles, a row's slot is its packed key.  Where it fits, a block has a table of its own in shared memory and adds it
 * to the table in device memory at its end.  Of few slots each thread has a copy, which it changes without atomic
 * operations; of more, lanes share some copies.  Of sorted row numbers, a
 * slot is the number of the group, and a thread takes neighbouring rows.  A thread adds up its rows of one slot before
 * it touches the table, and a warp whose rows all have one slot those of its lanes.
 */
#include "groups.cuh"

typedef unsigned long long word;

#define MOST_COPIES	 5		   /* log2: a copy for each lane */
#define COPIED_BYTES (40u << 10) /* tables of a block up to this size have copies */
#define SHORT_GROUP	 64		   /* sorted values that a thread adds up; up to LONG_GROUP a warp, of more blocks */
#define LONG_GROUP	 4096
#define FEW_THREADS	 128u	   /* of a block whose threads have a copy each, of more slots */
#define SORTED_ROUND (GS_GROUP_THREADS * gs_places::ROWS)
#define MOST_TILES	 32768	   /* of a launch: the host looks for cancels between two */

/* What a launch reads. */
struct fold_args
{
	const gs_lists *lists;
	gs_table table;
	gs_group_state *state;
	u64 from, to; /* tiles, or rounds of sorted rows */
	u64 slots;
	u32 shared;			/* the tables of a block have 1 << copies copies */
	u32 copies;
	const u32 *rows;	/* sorted row numbers */
	const u32 *starts; /* of groups */
	u64 n, groups;
	gs_sorted sorted; /* or sorted values */
	gs_packed_key coding;
	u32 *long_groups;
};

/* What a thread has added up. */
struct fold_sum
{
	u64 w[3];
	u32 n, marks;
};

/* Returns the sum of nothing. */
template <int KIND>
__device__ __forceinline__ fold_sum
none()
{
	return {{KIND == GS_FOLD_SUM_REAL ? (u64) 1 << 63 : 0, 0, 0}, 0, 0};
}

/* Adds two sums. */
template <int KIND>
__device__ __forceinline__ void
merge(fold_sum &a, const fold_sum &b)
{
	a.n += b.n;
	if (KIND == GS_FOLD_SUM_REAL)
		a.w[0] = gs_real_bits(gs_bits_real(a.w[0]) + gs_bits_real(b.w[0]));
	else if (KIND == GS_FOLD_SUM)
		a.w[0] += b.w[0];
	else if (KIND == GS_FOLD_SUM_WIDE || KIND == GS_FOLD_SUM_MOST)
	{
		const gs_unsigned_wide low = (gs_unsigned_wide) a.w[0] + b.w[0];
		const gs_unsigned_wide high = (gs_unsigned_wide) a.w[1] + b.w[1] + (u64) (low >> 64);

		a.w[0] = (u64) low;
		a.w[1] = (u64) high;
		if (KIND == GS_FOLD_SUM_MOST)
			a.w[2] += b.w[2] + (u64) (high >> 64);
	}
	else if (KIND == GS_FOLD_CODE || KIND == GS_FOLD_REAL)
	{
		a.w[0] = a.w[0] > b.w[0] ? a.w[0] : b.w[0];
		a.marks |= b.marks;
	}
	else if (KIND == GS_FOLD_WIDE && (b.w[1] > a.w[1] || (b.w[1] == a.w[1] && b.w[0] > a.w[0])))
	{
		a.w[0] = b.w[0];
		a.w[1] = b.w[1];
	}
}

/* Returns the sum of a value. */
template <int KIND>
__device__ __forceinline__ fold_sum
sum_of(const gs_fold &f, u64 lo, u64 hi, u32 &failed)
{
	fold_sum s = {{lo, hi, (u64) ((i64) hi >> 63)}, 1, 0};

	if (KIND == GS_FOLD_CODE)
	{
		const gs_unsigned_wide code = ((gs_unsigned_wide) hi << 64 | lo) - (gs_unsigned_wide) f.low;

		if (code > f.span)
			failed |= GS_FAILED_RANGE;
		s.w[0] = (u64) code ^ f.flip;
	}
	else if (KIND == GS_FOLD_REAL)
	{
		s.w[0] = gs_float_order64(lo, false) ^ f.flip;
		s.marks = lo << 1 != 0 ? 0 : lo == 0 ? 1 : 2;
	}
	else if (KIND == GS_FOLD_WIDE)
	{
		s.w[0] = lo ^ f.flip;
		s.w[1] = hi ^ (u64) 1 << 63 ^ f.flip;
	}
	return s;
}

/* Takes over the greater of two codes of 128 bits.  The upper half never becomes less, so that one may look first. */
__device__ __forceinline__ void
put_wide(u64 *w, u64 pitch, u32 *lock, const fold_sum &s)
{
	volatile u64 *lo = w, *hi = w + pitch;

	if (s.w[1] < *hi)
		return;
	for (bool done = false; !done;)
		if (atomicCAS(lock, 0, 1) == 0)
		{
			__threadfence();
			if (s.w[1] > *hi || (s.w[1] == *hi && s.w[0] > *lo))
			{
				*lo = s.w[0];
				*hi = s.w[1];
			}
			__threadfence();
			atomicExch(lock, 0);
			done = true;
		}
}

/* Adds a sum of 128 or 192 bits, carrying from word to word: each wrap of a word is one carry. */
template <int KIND>
__device__ __forceinline__ void
put_sum(u64 *w, u64 pitch, const fold_sum &s)
{
	u64 carry = s.w[0] != 0 && atomicAdd((word *) w, (word) s.w[0]) > ~s.w[0];
	const u64 high = s.w[1] + carry;

	carry = high < carry;
	if (high != 0)
		carry += atomicAdd((word *) (w + pitch), (word) high) > ~high;
	if (KIND == GS_FOLD_SUM_MOST && s.w[2] + carry != 0)
		atomicAdd((word *) (w + 2 * pitch), (word) (s.w[2] + carry));
}

/* Reads a sum in a table. */
template <int KIND>
__device__ __forceinline__ fold_sum
load_sum(const gs_fold &f, const gs_table &t, u64 at)
{
	const u64 *w = t.words + f.word * t.pitch + at;
	fold_sum s = {{0, 0, 0}, t.halves[f.count * t.pitch + at], 0};

	if (KIND > GS_FOLD_COUNT)
		s.w[0] = w[0];
	if (KIND == GS_FOLD_SUM_WIDE || KIND == GS_FOLD_SUM_MOST || KIND == GS_FOLD_WIDE)
		s.w[1] = w[t.pitch];
	if (KIND == GS_FOLD_SUM_MOST)
		s.w[2] = w[2 * t.pitch];
	if (KIND == GS_FOLD_REAL)
		s.marks = t.halves[f.mark * t.pitch + at];
	return s;
}

/* Writes a sum to a table, in which no other thread has the place. */
template <int KIND>
__device__ __forceinline__ void
store_sum(const gs_fold &f, const gs_table &t, u64 at, const fold_sum &s)
{
	u64 *w = t.words + f.word * t.pitch + at;

	if (f.owns)
		t.halves[f.count * t.pitch + at] = s.n;
	if (KIND > GS_FOLD_COUNT)
		w[0] = s.w[0];
	if (KIND == GS_FOLD_SUM_WIDE || KIND == GS_FOLD_SUM_MOST || KIND == GS_FOLD_WIDE)
		w[t.pitch] = s.w[1];
	if (KIND == GS_FOLD_SUM_MOST)
		w[2 * t.pitch] = s.w[2];
	if (KIND == GS_FOLD_REAL)
		t.halves[f.mark * t.pitch + at] = s.marks;
}

/* Adds a sum to a slot. */
template <int KIND>
__device__ __forceinline__ void
put(const gs_fold &f, const gs_table &t, u32 slot, const fold_sum &s)
{
	const u64 at = ((u64) slot << t.copies) + t.copy;
	u64 *w = t.words + f.word * t.pitch + at;
	u32 *mark = t.halves + f.mark * t.pitch + at;

	if (t.alone)
	{
		fold_sum all = load_sum<KIND>(f, t, at);

		merge<KIND>(all, s);
		store_sum<KIND>(f, t, at, all);
		return;
	}
	if (f.owns)
		atomicAdd(t.halves + f.count * t.pitch + at, s.n);
	if (KIND == GS_FOLD_SUM_REAL)
		atomicAdd((double *) w, gs_bits_real(s.w[0]));
	else if (KIND == GS_FOLD_SUM)
		atomicAdd((word *) w, (word) s.w[0]);
	else if (KIND == GS_FOLD_SUM_WIDE || KIND == GS_FOLD_SUM_MOST)
		put_sum<KIND>(w, t.pitch, s);
	else if (KIND == GS_FOLD_WIDE)
		put_wide(w, t.pitch, mark, s);
	else if (KIND == GS_FOLD_CODE || KIND == GS_FOLD_REAL)
	{
		if (s.w[0] > *(volatile u64 *) w)
			atomicMax((word *) w, (word) s.w[0]);
		if (KIND == GS_FOLD_REAL && (s.marks & ~*(volatile u32 *) mark) != 0)
			atomicOr(mark, s.marks);
	}
}

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

/* Calls a template for a fold's kind. */
#define EACH_KIND(kind, CALL)                                                                                          \
	switch (kind)                                                                                                      \
	{                                                                                                                  \
		case GS_FOLD_COUNT:                                                                                            \
			CALL(GS_FOLD_COUNT);                                                                                       \
			break;                                                                                                     \
		case GS_FOLD_SUM_REAL:                                                                                         \
			CALL(GS_FOLD_SUM_REAL);                                                                                    \
			break;                                                                                                     \
		case GS_FOLD_SUM:                                                                                              \
			CALL(GS_FOLD_SUM);                                                                                         \
			break;                                                                                                     \
		case GS_FOLD_SUM_WIDE:                                                                                         \
			CALL(GS_FOLD_SUM_WIDE);                                                                                    \
			break;                                                                                                     \
		case GS_FOLD_SUM_MOST:                                                                                         \
			CALL(GS_FOLD_SUM_MOST);                                                                                    \
			break;                                                                                                     \
		case GS_FOLD_CODE:                                                                                             \
			CALL(GS_FOLD_CODE);                                                                                        \
			break;                                                                                                     \
		case GS_FOLD_REAL:                                                                                             \
			CALL(GS_FOLD_REAL);                                                                                        \
			break;                                                                                                     \
		case GS_FOLD_WIDE:                                                                                             \
			CALL(GS_FOLD_WIDE);                                                                                        \
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

/* Sets a place to a row number. */
__device__ __forceinline__ void
place_number(const gs_lists &l, u32 number, gs_places &p, u32 j)
{
	/* segments whose first rows have at most this number, less one */
	const u64 segment = numbers_below(l.bases, l.nsegments, (u64) number + 1) - 1;

	p.columns[j] = l.columns + segment * l.ncolumns;
	p.row[j] = (u32) (number - l.bases[segment]);
}

/* Adds a round of sorted rows, of which a thread takes neighbouring ones. */
__device__ __forceinline__ void
fold_sorted(const fold_args &a, const gs_lists &l, u64 round, u32 &failed)
{
	const u64 first = round * SORTED_ROUND + (u64) threadIdx.x * gs_places::ROWS;
	u64 group = first < a.n ? numbers_below(a.starts, a.groups, first + 1) - 1 : 0;
	u64 next = group + 1 < a.groups ? a.starts[group + 1] : a.n;
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
			next = group + 1 < a.groups ? a.starts[group + 1] : a.n;
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

/* Adds tiles to tables of blocks, then to the table, or to it at once. */
template <bool ANY, u32 THREADS>
static __global__ void __launch_bounds__(THREADS, 2)
tiles_kernel(const fold_args a)
{
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
		fold_tile<gs_tile_places<ANY, THREADS>>(l, t, l.tiles[i], failed);
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
	u32 failed = 0;

	for (u64 first = blockIdx.x * (u64) GS_GROUP_THREADS; first < a.groups; first += gridDim.x * (u64) GS_GROUP_THREADS)
	{
		const u64 group = first + threadIdx.x;
		const u32 begin = group < a.groups ? a.starts[group] : 0;
		const u32 end = group + 1 < a.groups ? a.starts[group + 1] : group < a.groups ? (u32) a.n : 0;
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
	const u64 n = a.state->count;
	u32 failed = 0;

	for (u64 j = 0; j < n; j++)
	{
		const u32 group = a.long_groups[j];
		const u64 end = group + 1 < a.groups ? a.starts[group + 1] : a.n;
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
	a.groups = groups;
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

/* Adds all rows to a table whose slots are packed keys. */
gs_status
gs_fold_tiles(gs_cuda_engine *e, const gs_device_lists *d, const gs_table &table, bool shared, gs_group_state *state)
{
	fold_args a = {};
	const size_t most = gs_cuda_shared(e) - 4096;
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
	kernel = !d->plain ? tiles_kernel<true, GS_GROUP_THREADS>
		: threads == FEW_THREADS ? tiles_kernel<false, FEW_THREADS> : tiles_kernel<false, GS_GROUP_THREADS>;
	return launch(e, kernel, a, d->ntiles, threads, bytes < gs_cuda_shared(e) ? bytes : gs_cuda_shared(e));
}

/* Adds sorted rows to a table whose slots are groups. */
gs_status
gs_fold_sorted(gs_cuda_engine *e, const gs_device_lists *d, const gs_table &table, const u32 *rows, const u32 *starts,
			   u64 n, u64 groups, gs_group_state *state)
{
	fold_args a = {};

	a.lists = d->lists;
	a.table = table;
	a.state = state;
	a.rows = rows;
	a.starts = starts;
	a.n = n;
	a.groups = groups;
	return launch(e, sorted_kernel, a, (n + SORTED_ROUND - 1) / SORTED_ROUND, GS_GROUP_THREADS, 0);
}
