/*
 * groups_sort.cu: pairs of key and value in order: a pass over the tiles packs those of rows that pass, in any order,
 * then radix sorts put them in order, over the bits that packed keys and values have.  A pair that has more than 64
 * bits is sorted by its value first, then, as sorts are stable, by its key.  Where the order of rows is that of pairs,
 * all rows are packed, and those that pass selected.
 */
#include "groups_rows.cuh"

/* What the kernel that packs pairs reads, and where it writes them. */
struct pack_args
{
	const gs_lists *lists;
	gs_group_state *state;
	gs_sort_plan plan;
	void *first, *second;
	u8 *passed; /* NULL: nobody asks */
	u64 ntiles;
};

/* Returns the bytes of a number. */
static u32
bytes_of(u32 bits)
{
	return bits <= 32 ? 4 : 8;
}

/* Plans a sort of row numbers by key. */
gs_sort_plan
gs_sort_rows_plan(u32 key_bits)
{
	gs_sort_plan p = {};

	p.keys_only = true;
	p.key_bits = key_bits;
	p.first_bytes = bytes_of(key_bits);
	p.second_bytes = 4;
	return p;
}

/* Plans a sort of values by key. */
gs_sort_plan
gs_sort_values_plan(const gs_reading &value, const gs_packed_key &coding, u32 terms, u32 nterms, u32 key_bits)
{
	gs_sort_plan p = {};

	p.values = true;
	p.value = value;
	p.coding = coding;
	p.terms = terms;
	p.nterms = nterms;
	p.key_bits = key_bits;
	p.split = key_bits + coding.bits > 64;
	p.first_bytes = p.split ? 8 : bytes_of(key_bits + coding.bits);
	p.second_bytes = p.split ? bytes_of(key_bits) : 0;
	return p;
}

/* Chooses the kernel that packs pairs: whether values are plain, and whether there is a pair for each row. */
static void
choose_kernel(gs_sort_plan *p, const gs_device_lists *d)
{
	const gs_lists *l = d->host;
	u64 columns = p->values ? p->value.columns : 0;

	p->plain = d->plain_terms && (!p->values || gs_plain_value(p->value));
	for (u32 k = 0; k < l->nkeys; k++)
	{
		p->plain = p->plain && gs_plain_value(l->key_values[k]);
		columns |= l->key_values[k].columns;
	}
	p->whole = p->as_is || p->in_order || p->all ||
		(p->plain && l->nterms == 0 && p->nterms == 0 && (columns & d->with_nulls) == 0);
}

/* Reads a round's values as codes.  Returns the rows that have one. */
template <class P>
__device__ __forceinline__ u32
read_codes(const gs_lists &l, const gs_sort_plan &plan, const P &p, u32 mask, u64 (&code)[P::ROWS], u32 &failed)
{
	u64 lo[P::ROWS], hi[P::ROWS];

	mask = rows_passing(l, l.terms + plan.terms, plan.nterms, p, mask);
	mask = read_rows(l, plan.value, p, mask, lo, hi, failed);
	GS_EACH_ROW(P, j)
	{
		bool outside = false;

		code[j] = 0;
		if (mask >> j & 1)
			code[j] = part_of(plan.coding, plan.value.real, false, lo[j],
							  P::ANY ? hi[j] : upper_half(plan.value, lo[j]), outside);
		if (outside)
		{
			failed |= GS_FAILED_RANGE;
			code[j] = 0;
			mask &= ~(1u << j);
		}
	}
	return mask;
}

/* Writes a pair.  number: the row's. */
__device__ __forceinline__ void
write_pair(const pack_args &a, u64 to, u64 key, u64 code, u64 number)
{
	const gs_sort_plan &plan = a.plan;

	if (plan.split)
		write_number(a.first, plan.first_bytes, to, code);
	else
		write_number(a.first, plan.first_bytes, to, plan.coding.bits >= 64 ? code : key << plan.coding.bits | code);
	if (plan.second_bytes != 0)
		write_number(a.second, plan.second_bytes, to, plan.split ? key : number);
}

/* Takes room for the block's rows that pass.  Returns the place of the warp's first. */
__device__ __forceinline__ u64
take_room(gs_group_state *state, u32 mask)
{
	__shared__ u32 of_warp[GS_GROUP_WARPS];
	__shared__ u64 room;
	const u32 mine = lanes_add(__popc(mask));
	u32 all;

	if (lane_id() == 0)
		of_warp[threadIdx.x / 32] = mine;
	__syncthreads();
	const u32 before = warps_exclusive<GS_GROUP_WARPS>(of_warp, threadIdx.x / 32, all);

	if (threadIdx.x == 0)
		room = atomicAdd((unsigned long long *) &state->count, (unsigned long long) all);
	__syncthreads();
	return room + before;
}

/* Packs the pairs of a tile's rows that pass; if all do, in the place of the row, even of values outside a range. */
template <class P>
__device__ __forceinline__ void
pack_tile(const pack_args &a, const gs_lists &l, u64 tile_number, u32 &failed)
{
	const gs_span tile = l.tiles[tile_number];
	const u64 base = l.bases[tile.segment];

	for (u32 from = 0; from < tile.rows; from += GS_GROUP_THREADS * P::ROWS)
	{
		P p;
		u64 packed[P::ROWS], code[P::ROWS], at = l.places[tile_number] + from + threadIdx.x;
		const u32 all = places_of(l, tile, from, p);
		u32 mask = rows_passing(l, l.terms, l.nterms, p, all);

		mask = pack_rows(l, p, mask, packed, failed);
		GS_EACH_ROW(P, j)
			code[j] = 0;
		if (a.plan.values)
			mask = read_codes(l, a.plan, p, mask, code, failed);
		if (a.plan.whole)
		{
			GS_EACH_ROW(P, j)
				if (all >> j & 1)
				{
					write_pair(a, at + j * GS_GROUP_THREADS, packed[j], code[j], base + p.row_of(j));
					if (a.passed != NULL)
						a.passed[at + j * GS_GROUP_THREADS] = mask >> j & 1;
				}
			continue;
		}
		at = take_room(a.state, mask);
		GS_EACH_ROW(P, j)
		{
			const u32 lanes = __ballot_sync(GS_ALL_LANES, mask >> j & 1);

			if (mask >> j & 1)
				write_pair(a, at + __popc(lanes & lanes_below()), packed[j], code[j], base + p.row_of(j));
			at += __popc(lanes);
		}
	}
}

/* Packs pairs. */
template <bool ANY>
static __global__ void __launch_bounds__(GS_GROUP_THREADS, 2)
pack_kernel(const pack_args a)
{
	u32 failed = 0;

	for (u64 i = blockIdx.x; i < a.ntiles; i += gridDim.x)
		pack_tile<gs_tile_places<ANY, GS_GROUP_THREADS>>(a, *a.lists, i, failed);
	if (failed != 0)
		atomicOr(&a.state->failed, failed);
}

/* ---------------------------------------------------------------- plain integers of all rows */

#define QUICK_PARTS 6 /* of a pair, at most */
#define QUICK_ROWS	8 /* of a thread, whose loads are in flight together */

/* A part of a pair: a plain column's integers, as part_of has them. */
struct quick_part
{
	u32 column, type, even, shift;
	u64 low, inverse, span, bump;
	bool descending;
};

/* Pairs of plain integers of all rows, which no segment has NULLs of: what is known of a part is no load. */
struct quick_args
{
	pack_args pack;
	u32 nparts; /* of the key, then one of the value */
	quick_part parts[QUICK_PARTS];
};

/* Loads a thread's integers of a column. */
template <class T>
__device__ __forceinline__ void
load_quick(const void *column, u64 first, u32 rows, i64 (&x)[QUICK_ROWS])
{
	const T *values = (const T *) column + first;

#pragma unroll
	for (u32 j = 0; j < QUICK_ROWS; j++)
		x[j] = j * GS_GROUP_THREADS < rows ? (i64) values[j * GS_GROUP_THREADS] : 0;
}

/* Loads them, of any type. */
__device__ __forceinline__ void
load_part(u32 type, const void *column, u64 first, u32 rows, i64 (&x)[QUICK_ROWS])
{
	switch (type)
	{
		case GS_U8:
			load_quick<u8>(column, first, rows, x);
			break;
		case GS_U16:
			load_quick<u16>(column, first, rows, x);
			break;
		case GS_I16:
			load_quick<int16_t>(column, first, rows, x);
			break;
		case GS_U32:
			load_quick<u32>(column, first, rows, x);
			break;
		case GS_I32:
			load_quick<i32>(column, first, rows, x);
			break;
		default:
			load_quick<i64>(column, first, rows, x);
	}
}

/* Packs the pairs of a thread's rows, as many as are left.  Returns true if a value is outside its range. */
__device__ __forceinline__ bool
pack_quick(const quick_args &a, const gs_held *columns, u64 first, u32 rows, u64 at, u64 number)
{
	const gs_sort_plan &plan = a.pack.plan;
	const u32 nkeys = a.nparts - plan.values;
	u64 key[QUICK_ROWS] = {}, code[QUICK_ROWS] = {};
	bool outside = false;

	for (u32 k = 0; k < a.nparts; k++)
	{
		const quick_part &p = a.parts[k];
		i64 x[QUICK_ROWS];

		load_part(p.type, columns[p.column].values, first, rows, x);
#pragma unroll
		for (u32 j = 0; j < QUICK_ROWS; j++)
		{
			const u64 part = (((u64) x[j] - p.low) >> p.even) * p.inverse;

			outside |= j * GS_GROUP_THREADS < rows && part > p.span;
			if (k < nkeys)
				key[j] |= ((p.descending ? p.span - part : part) + p.bump) << p.shift;
			else
				code[j] = part;
		}
	}
#pragma unroll
	for (u32 j = 0; j < QUICK_ROWS; j++)
		if (j * GS_GROUP_THREADS < rows)
			write_pair(a.pack, at + j * GS_GROUP_THREADS, key[j], code[j], number + j * GS_GROUP_THREADS);
	return outside;
}

/* Packs pairs, in the places of rows. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) quick_kernel(const quick_args a)
{
	const gs_lists &l = *a.pack.lists;
	bool outside = false;

	for (u64 i = blockIdx.x; i < a.pack.ntiles; i += gridDim.x)
	{
		const gs_span tile = l.tiles[i];
		const gs_held *columns = l.columns + (u64) tile.segment * l.ncolumns;
		const u64 at = l.places[i], base = l.bases[tile.segment];

		for (u32 from = threadIdx.x; from < tile.rows; from += QUICK_ROWS * GS_GROUP_THREADS)
			outside |= pack_quick(a, columns, (u64) tile.first + from, tile.rows - from, at + from,
								  base + tile.first + from);
	}
	if (outside)
		atomicOr(&a.pack.state->failed, GS_FAILED_RANGE);
}

/* Notes a part of pairs.  Returns false if it is no plain integer. */
static bool
add_part(quick_args *a, const gs_reading &r, const gs_packed_key &key)
{
	if (a->nparts == QUICK_PARTS || gs_type_is_float((gs_type) r.type) || r.type == GS_U64 || r.type == GS_U128 ||
		r.type == GS_BYTES)
		return false;
	/* one without bits may have no place */
	a->parts[a->nparts++] = {r.column, r.type, key.even, key.shift % 64, (u64) (gs_unsigned_wide) key.low, key.inverse,
							 key.span, key.bump, key.descending};
	return true;
}

/* Returns true if pairs are plain integers of all rows, without NULLs. */
static bool
plan_quick(quick_args *a, const gs_device_lists *d)
{
	const gs_lists *l = d->host;
	const gs_sort_plan &p = a->pack.plan;
	u64 columns = p.values ? p.value.columns : 0;

	for (u32 k = 0; k < l->nkeys; k++)
	{
		columns |= l->key_values[k].columns;
		if (!add_part(a, l->key_values[k], l->keys.keys[k]))
			return false;
	}
	return p.whole && l->nterms == 0 && p.nterms == 0 && (columns & d->with_nulls) == 0 &&
		(!p.values || add_part(a, p.value, p.coding));
}

/* Packs pairs. */
static gs_status
pack_pairs(gs_cuda_engine *e, const gs_device_lists *d, const pack_args &a)
{
	const u32 grid = gs_cuda_grid(e, d->ntiles, 1, GS_GROUP_PER_SM);
	quick_args quick = {a};

	if (plan_quick(&quick, d))
		quick_kernel<<<grid, GS_GROUP_THREADS, 0, e->stream>>>(quick);
	else if (a.plan.plain)
		pack_kernel<false><<<grid, GS_GROUP_THREADS, 0, e->stream>>>(a);
	else
		pack_kernel<true><<<grid, GS_GROUP_THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* ---------------------------------------------------------------- sorts */

/* The arrays between two sorts: which of each pair of arrays has the numbers now. */
struct turns
{
	u32 first, second;
};

/* Sorts by bits begin to end - 1 of the first (or, by_second, the second) numbers; the others go with them. */
static gs_status
sort_by(gs_cuda_engine *e, const gs_sort_plan &plan, const gs_sort_arrays &arrays, bool by_second, u32 begin, u32 end,
		u64 n, turns *at)
{
	gs_sort_request r = {};

	if (begin == end || n < 2)
		return GS_OK;
	r.key = (by_second ? plan.second_bytes : plan.first_bytes) == 4 ? GS_U32 : GS_U64;
	r.value_width = by_second ? plan.first_bytes : plan.second_bytes;
	r.begin_bit = begin;
	r.end_bit = end;
	r.n = n;
	r.keys = by_second ? arrays.second[at->second] : arrays.first[at->first];
	r.out_keys = by_second ? arrays.second[1 - at->second] : arrays.first[1 - at->first];
	if (r.value_width != 0)
	{
		r.values = by_second ? arrays.first[at->first] : arrays.second[at->second];
		r.out_values = by_second ? arrays.first[1 - at->first] : arrays.second[1 - at->second];
	}
	at->first = 1 - at->first;
	at->second = 1 - at->second;
	return gs_sort(&e->head, &r, arrays.temp, arrays.temp_bytes);
}

/* Keeps the numbers of rows that pass, in order, in the other array. */
static gs_status
select_numbers(gs_cuda_engine *e, u32 bytes, void *const (&numbers)[2], u32 *at, u64 n, const gs_sort_arrays &arrays,
			   u64 *count)
{
	gs_filter passed = {};

	if (bytes == 0)
		return GS_OK;
	passed.by = GS_BY_BYTES;
	passed.mask = arrays.passed;
	*at = 1 - *at;
	return gs_select(&e->head, bytes == 4 ? GS_U32 : GS_U64, numbers[1 - *at], n, &passed, numbers[*at], count,
					 arrays.temp, arrays.temp_bytes);
}

/* Keeps the pairs of rows that pass, in order. */
static gs_status
select_pairs(gs_cuda_engine *e, const gs_sort_plan &plan, u64 n, const gs_sort_arrays &arrays, u64 *count, turns *at)
{
	GS_TRY(select_numbers(e, plan.first_bytes, arrays.first, &at->first, n, arrays, count));
	return select_numbers(e, plan.second_bytes, arrays.second, &at->second, n, arrays, count);
}

/* Packs and sorts pairs. */
gs_status
gs_sort_pairs(gs_cuda_engine *e, const gs_device_lists *d, gs_sort_plan plan, const gs_sort_arrays &arrays,
			  gs_group_state *state, gs_sorted *sorted)
{
	choose_kernel(&plan, d);

	const pack_args a = {d->lists, state, plan, arrays.first[0], arrays.second[0],
						 plan.in_order ? arrays.passed : NULL, d->ntiles};
	const u32 low = plan.split ? 0 : plan.coding.bits;
	turns at = {0, 0};
	gs_group_state found = {0, 0, d->rows};

	if (!plan.whole)
		GS_TRY(gs_fill(&e->head, &state->count, 0, sizeof(state->count)));
	GS_TRY(pack_pairs(e, d, a));
	if (plan.in_order)
		GS_TRY(select_pairs(e, plan, d->rows, arrays, &state->count, &at));
	if (!plan.whole || plan.in_order)
		GS_TRY(gs_group_found(e, state, &found));
	if (!plan.split && !plan.as_is)
		GS_TRY(sort_by(e, plan, arrays, false, plan.keys_only ? low + plan.beside : 0, low + plan.key_bits,
					   found.count, &at));
	else if (!plan.keys_only)
		GS_TRY(sort_by(e, plan, arrays, false, 0, plan.coding.bits, found.count, &at));
	if (plan.split && !plan.as_is)
		GS_TRY(sort_by(e, plan, arrays, true, 0, plan.key_bits, found.count, &at));
	*sorted = {};
	sorted->first = arrays.first[at.first];
	sorted->second = arrays.second[at.second];
	sorted->first_bytes = plan.first_bytes;
	sorted->second_bytes = plan.second_bytes;
	sorted->value_bits = plan.values ? plan.coding.bits : 0;
	sorted->key_bits = plan.key_bits;
	sorted->split = plan.split;
	sorted->zeros = plan.coding.zeros;
	sorted->minus =
		((gs_float_order64(0, true) - 1) >> plan.coding.drop) - (u64) (gs_unsigned_wide) plan.coding.low;
	sorted->n = found.count;
	return GS_OK;
}

/* Returns a value's code, that of -0 being that of +0. */
__device__ __forceinline__ u64
equal_value(const gs_sorted &s, u64 i)
{
	const u64 x = value_at(s, i);

	return s.zeros && x == s.minus ? x + 1 : x;
}

/* Sets the bits of pairs whose key differs from the one before, or (values) whose value does. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
heads_kernel(const gs_sorted s, const bool values, u32 *bits)
{
	const u64 end = (s.n + 31) & ~(u64) 31;

	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < end; i += (u64) gridDim.x * blockDim.x)
	{
		bool head = i == 0;

		if (i > 0 && i < s.n)
			head = key_at(s, i) != key_at(s, i - 1) || (values && equal_value(s, i) != equal_value(s, i - 1));

		const u32 found = __ballot_sync(GS_ALL_LANES, head);

		if (lane_id() == 0)
			bits[i / 32] = found;
	}
}

/* Sets the bits of slots that have rows. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
used_kernel(const u32 *rows, u64 slots, u32 *bits)
{
	const u64 end = (slots + 31) & ~(u64) 31;

	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < end; i += (u64) gridDim.x * blockDim.x)
	{
		const u32 found = __ballot_sync(GS_ALL_LANES, i < slots && rows[i] != 0);

		if (lane_id() == 0)
			bits[i / 32] = found;
	}
}

gs_status
gs_sorted_starts(gs_cuda_engine *e, const gs_sorted &sorted, bool values, const gs_sort_arrays &arrays, u32 *starts,
				 u64 *count)
{
	heads_kernel<<<gs_cuda_grid(e, sorted.n, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, e->stream>>>(
		sorted, values, (u32 *) arrays.bits);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	return gs_cuda_positions(&e->head, arrays.bits, sorted.n, starts, count, arrays.temp);
}

gs_status
gs_used_slots(gs_cuda_engine *e, const gs_table &table, const gs_sort_arrays &arrays, u32 *slots, u64 *count)
{
	used_kernel<<<gs_cuda_grid(e, table.pitch, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, e->stream>>>(
		table.halves, table.pitch, (u32 *) arrays.bits);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	return gs_cuda_positions(&e->head, arrays.bits, table.pitch, slots, count, arrays.temp);
}
