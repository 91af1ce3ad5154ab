/*
 * groups_sort.cu: pairs of key and value in order: a pass over the tiles packs those of rows that pass, in any order,
 * then radix sorts put them in order, over the bits that packed keys and values have.  A pair that has more than 64
 * bits is sorted by its value first, then, as sorts are stable, by its key.
 */
#include "groups.cuh"

/* What the kernel that packs pairs reads, and where it writes them. */
struct pack_args
{
	const gs_lists *lists;
	gs_group_state *state;
	gs_sort_plan plan;
	void *first, *second;
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

/* Writes a number of 4 or 8 bytes. */
__device__ __forceinline__ void
write_number(void *to, u32 bytes, u64 i, u64 x)
{
	if (bytes == 4)
		((u32 *) to)[i] = (u32) x;
	else
		((u64 *) to)[i] = x;
}

/* Reads a round's values as codes.  Returns the rows that have one. */
__device__ __forceinline__ u32
read_codes(const gs_lists &l, const gs_sort_plan &plan, const gs_places &p, u32 mask, u64 (&code)[GS_ROUND],
		   u32 &failed)
{
	u64 lo[GS_ROUND], hi[GS_ROUND];

	mask = rows_passing(l, l.terms + plan.terms, plan.nterms, p, mask);
	mask = read_rows(l, plan.value, p, mask, lo, hi, failed);
	GS_EACH_ROW(j)
		if (mask >> j & 1)
		{
			bool outside;

			code[j] = part_of(plan.coding, plan.value.real, false, lo[j], hi[j], outside);
			if (outside)
			{
				failed |= GS_FAILED_RANGE;
				mask &= ~(1u << j);
			}
		}
	return mask;
}

/* Packs the pairs of rows that pass.  A block takes room for those of a round at once. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
pack_kernel(const pack_args a)
{
	__shared__ u32 of_warp[GS_GROUP_WARPS];
	__shared__ u64 room;
	const gs_lists &l = *a.lists;
	u32 failed = 0;

	for (u64 i = blockIdx.x; i < a.ntiles; i += gridDim.x)
	{
		const gs_span tile = l.tiles[i];
		const u64 base = l.bases[tile.segment];

		for (u32 from = 0; from < tile.rows; from += GS_ROUND_ROWS)
		{
			gs_places p;
			u64 packed[GS_ROUND], code[GS_ROUND], at;
			u32 mask = places_of(l, tile, from, p), all;

			mask = rows_passing(l, l.terms, l.nterms, p, mask);
			mask = pack_rows(l, p, mask, packed, failed);
			if (a.plan.values)
				mask = read_codes(l, a.plan, p, mask, code, failed);

			const u32 mine = lanes_add(__popc(mask));

			if (lane_id() == 0)
				of_warp[threadIdx.x / 32] = mine;
			__syncthreads();
			const u32 before = warps_exclusive<GS_GROUP_WARPS>(of_warp, threadIdx.x / 32, all);

			if (threadIdx.x == 0)
				room = atomicAdd((unsigned long long *) &a.state->count, (unsigned long long) all);
			__syncthreads();
			at = room + before;
			GS_EACH_ROW(j)
			{
				const u32 lanes = __ballot_sync(GS_ALL_LANES, mask >> j & 1);
				const u64 to = at + __popc(lanes & lanes_below());

				at += __popc(lanes);
				if (!(mask >> j & 1))
					continue;
				if (!a.plan.values)
				{
					write_number(a.first, a.plan.first_bytes, to, packed[j]);
					((u32 *) a.second)[to] = (u32) (base + p.row[j]);
				}
				else if (a.plan.split)
				{
					write_number(a.first, a.plan.first_bytes, to, code[j]);
					write_number(a.second, a.plan.second_bytes, to, packed[j]);
				}
				else
					write_number(a.first, a.plan.first_bytes, to,
								 a.plan.coding.bits >= 64 ? code[j] : packed[j] << a.plan.coding.bits | code[j]);
			}
		}
	}
	if (failed != 0)
		atomicOr(&a.state->failed, failed);
}

/* The arrays between two sorts: which of each pair of arrays has the numbers now. */
struct turns
{
	u32 first, second;
};

/* Sorts by bits of the first (or, by_second, the second) numbers; the others go with them. */
static gs_status
sort_by(gs_cuda_engine *e, const gs_sort_plan &plan, const gs_sort_arrays &arrays, bool by_second, u32 bits, u64 n,
		turns *at)
{
	gs_sort_request r = {};

	if (bits == 0 || n < 2)
		return GS_OK;
	r.key = (by_second ? plan.second_bytes : plan.first_bytes) == 4 ? GS_U32 : GS_U64;
	r.value_width = by_second ? plan.first_bytes : plan.second_bytes;
	r.end_bit = bits;
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

/* Packs and sorts pairs. */
gs_status
gs_sort_pairs(gs_cuda_engine *e, const gs_device_lists *d, const gs_sort_plan &plan, const gs_sort_arrays &arrays,
			  gs_group_state *state, gs_sorted *sorted)
{
	const pack_args a = {d->lists, state, plan, arrays.first[0], arrays.second[0], d->ntiles};
	turns at = {0, 0};
	gs_group_state found;

	GS_TRY(gs_fill(&e->head, &state->count, 0, sizeof(state->count)));
	pack_kernel<<<gs_cuda_grid(e, d->ntiles, 1, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, e->stream>>>(a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_download(&e->head, &found, state, sizeof(found)));
	GS_TRY(gs_group_poll(e));
	GS_TRY(sort_by(e, plan, arrays, false, plan.split ? plan.coding.bits : plan.coding.bits + plan.key_bits,
				   found.count, &at));
	if (plan.split)
		GS_TRY(sort_by(e, plan, arrays, true, plan.key_bits, found.count, &at));
	*sorted = {};
	sorted->first = arrays.first[at.first];
	sorted->second = arrays.second[at.second];
	sorted->first_bytes = plan.first_bytes;
	sorted->second_bytes = plan.second_bytes;
	sorted->value_bits = plan.values ? plan.coding.bits : 0;
	sorted->split = plan.split;
	sorted->minus = plan.coding.zeros
		? ((gs_float_order64(0, true) - 1) >> plan.coding.drop) - (u64) (gs_unsigned_wide) plan.coding.low : ~(u64) 0;
	sorted->n = found.count;
	return GS_OK;
}

/* Returns a value's code, that of -0 being that of +0. */
__device__ __forceinline__ u64
equal_value(const gs_sorted &s, u64 i)
{
	const u64 x = value_at(s, i);

	return x == s.minus ? x + 1 : x;
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

/* Turns bits into positions, and waits for their number. */
static gs_status
positions_of(gs_cuda_engine *e, const gs_sort_arrays &arrays, u64 n, u32 *out, gs_group_state *state, u64 *count)
{
	gs_group_state found;

	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_cuda_positions(&e->head, arrays.bits, n, out, &state->count, arrays.temp));
	GS_TRY(gs_download(&e->head, &found, state, sizeof(found)));
	GS_TRY(gs_group_poll(e));
	*count = found.count;
	return GS_OK;
}

gs_status
gs_sorted_starts(gs_cuda_engine *e, const gs_sorted &sorted, bool values, const gs_sort_arrays &arrays, u32 *starts,
				 gs_group_state *state, u64 *count)
{
	*count = 0;
	if (sorted.n == 0)
		return GS_OK;
	heads_kernel<<<gs_cuda_grid(e, sorted.n, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, e->stream>>>(
		sorted, values, (u32 *) arrays.bits);
	return positions_of(e, arrays, sorted.n, starts, state, count);
}

gs_status
gs_used_slots(gs_cuda_engine *e, const gs_table &table, const gs_sort_arrays &arrays, u32 *slots, gs_group_state *state,
			  u64 *count)
{
	used_kernel<<<gs_cuda_grid(e, table.pitch, GS_GROUP_THREADS, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, e->stream>>>(
		table.halves, table.pitch, (u32 *) arrays.bits);
	return positions_of(e, arrays, table.pitch, slots, state, count);
}
