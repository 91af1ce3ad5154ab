/*
 * windows_facts.cu: what the keys of a list with windows can do without, as its rows tell.
 *
 * Timestamps are often whole seconds: if all values are low and multiples of a number, keys have the quotients.  A
 * sample's greatest common divisor is that number, which a read of all rows confirms.  Rows often lie in the last order
 * as they come, as those of a table do by a number that grows with it: as sorts are stable, they need none by that.
 */
#include "windows.cuh"

#define LONG_RANGE	33 /* bits of a column whose values are looked at */
#define FEW_BITS	32 /* of a word that sorts by few passes anyway */

/* What is asked of a column, and found. */
struct column_look
{
	u32 column, type;
	bool apart, order, descending; /* asked: how far values are apart; whether rows lie in its order */
	u64 low, span;
	/* found: */
	u64 divisor, inverse, most; /* inverse of its odd part; most: of the quotients */
	u32 even;
	u32 others;		/* values that are no multiples */
	u32 disordered; /* rows that are not in order */
};

/* Returns a column's integer. */
__device__ __forceinline__ i64
integer_of(const column_look &look, const gs_held *column, u64 row)
{
	return (i64) gs_column_scalar((gs_type) look.type, column->values, row).integer;
}

/* Returns true if a row comes before the one before it. */
__device__ __forceinline__ bool
falls(const column_look &look, const gs_held *column, u64 row)
{
	const i64 x = integer_of(look, column, row), before = integer_of(look, column, row - 1);

	return look.descending ? x > before : x < before;
}

/* Looks at a row of each thread, by one block for each column. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
sample_kernel(const gs_lists *lists, u64 ntiles, column_look *looks)
{
	__shared__ u64 divisors[GS_GROUP_THREADS];
	column_look *look = &looks[blockIdx.x];
	const gs_span tile = lists->tiles[threadIdx.x * ntiles / GS_GROUP_THREADS];
	const gs_held *column = &lists->columns[(u64) tile.segment * lists->ncolumns + look->column];
	const u64 row = tile.first + (u64) threadIdx.x * 2654435761u % tile.rows;

	divisors[threadIdx.x] = 0;
	if (look->apart && !gs_held_null(column, row))
		divisors[threadIdx.x] = (u64) integer_of(*look, column, row) - look->low;
	if (look->order && row > tile.first && falls(*look, column, row))
		atomicAdd(&look->disordered, 1);
	for (u32 n = GS_GROUP_THREADS / 2; n > 0; n /= 2)
	{
		__syncthreads();
		if (threadIdx.x < n)
			divisors[threadIdx.x] = gs_common_divisor(divisors[threadIdx.x], divisors[threadIdx.x + n]);
	}
	if (threadIdx.x != 0)
		return;
	look->divisor = divisors[0] > 0 ? divisors[0] : 1;
	look->even = (u32) __ffsll((long long) look->divisor) - 1;
	look->inverse = gs_inverse_of(look->divisor >> look->even);
	look->most = look->span / look->divisor;
}

/* Returns true if a value is no multiple: that of an odd number is one whose product with the inverse is no greater. */
__device__ __forceinline__ bool
no_multiple(const column_look &look, u64 x)
{
	return (x & gs_mask(look.even)) != 0 || (x >> look.even) * look.inverse > look.most;
}

/* Confirms for all rows what the sample has found, tile by tile while nothing speaks against it. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
confirm_kernel(const gs_lists *lists, u64 ntiles, column_look *found)
{
	const column_look look = *found;

	for (u64 t = blockIdx.x; t < ntiles; t += gridDim.x)
	{
		const gs_span tile = lists->tiles[t];
		const gs_held *column = &lists->columns[(u64) tile.segment * lists->ncolumns + look.column];
		const bool apart = look.divisor > 1 && *(volatile u32 *) &found->others == 0;
		const bool order = look.order && *(volatile u32 *) &found->disordered == 0;
		bool other = false, fall = false;

		if (!apart && !order)
			return;
		for (u32 i = threadIdx.x; i < tile.rows; i += GS_GROUP_THREADS)
		{
			const u64 row = (u64) tile.first + i;

			if (apart && !gs_held_null(column, row))
				other |= no_multiple(look, (u64) integer_of(look, column, row) - look.low);
			if (order && i > 0)
				fall |= falls(look, column, row);
		}
		if (order && threadIdx.x == 0 && t > 0)
		{
			const gs_span old = lists->tiles[t - 1];
			const gs_held *before = &lists->columns[(u64) old.segment * lists->ncolumns + look.column];
			const i64 x = integer_of(look, column, tile.first);
			const i64 last = integer_of(look, before, (u64) old.first + old.rows - 1);

			fall |= look.descending ? x > last : x < last;
		}
		if (other)
			found->others = 1;
		if (fall)
			found->disordered = 1;
	}
}

/* Returns true if a column's values span so much that it pays to look how far they are apart. */
static bool
is_long(const cuda_windows *w, u32 column)
{
	const gs_range *range = &w->g.head.ranges[column];
	const u64 span = range->high.half[0] - range->low.half[0];

	return w->steps->types[column] == GS_I64 && (i64) range->low.half[0] <= (i64) range->high.half[0] &&
		gs_bits(span) >= LONG_RANGE;
}

/* Returns true if rows may lie in the last order. */
static bool
may_lie_in(const cuda_windows *w, u32 column)
{
	const gs_type type = (gs_type) w->steps->types[column];

	return w->g.lists.nterms == 0 && !w->g.head.ranges[column].nulls && !gs_type_is_float(type) && type != GS_U128 &&
		type != GS_U64;
}

/* Notes what to ask of the columns that rows are sorted by.  Returns how many there are to look at. */
static u32
plan_looks(const cuda_windows *w, column_look *looks)
{
	const gs_row_order *orders = (const gs_row_order *) gs_steps_at(w->steps, w->step->orders);
	const u32 all = w->step->npartition + w->step->norders;
	u32 n = 0;

	for (u32 i = 0; i < all; i++)
	{
		const u32 column = orders[i].column;
		const bool last = i + 1 == all && w->step->norders > 0;
		column_look *look = &looks[n];

		*look = {};
		look->column = column;
		look->type = w->steps->types[column];
		look->apart = is_long(w, column);
		look->order = last && may_lie_in(w, column);
		look->descending = orders[i].descending != 0;
		look->low = w->g.head.ranges[column].low.half[0];
		look->span = w->g.head.ranges[column].high.half[0] - look->low;
		n += look->apart || look->order;
	}
	return n;
}

gs_status
gs_windows_look(cuda_windows *w, bool *found)
{
	column_look looks[GS_STEPS_MAX_KEYS], *on_device;
	const u64 ntiles = w->g.device.ntiles;
	const u32 n = plan_looks(w, looks);

	*found = false;
	if (n == 0 || (w->told && w->g.lists.keys.bits <= FEW_BITS))
		return GS_OK;
	GS_TRY(take(&w->g, n, &on_device));
	GS_TRY(gs_upload(&w->g.e->head, on_device, looks, n * sizeof(*looks)));
	sample_kernel<<<n, GS_GROUP_THREADS, 0, w->g.e->stream>>>(w->g.device.lists, ntiles, on_device);
	for (u32 i = 0; i < n; i++)
		confirm_kernel<<<gs_cuda_grid(w->g.e, ntiles, 1, GS_GROUP_PER_SM), GS_GROUP_THREADS, 0, w->g.e->stream>>>(
			w->g.device.lists, ntiles, on_device + i);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_download(&w->g.e->head, looks, on_device, n * sizeof(*looks)));
	GS_TRY(gs_group_poll(w->g.e));
	for (u32 i = 0; i < n; i++)
	{
		if (looks[i].others == 0)
			w->apart[looks[i].column] = looks[i].divisor;
		if (looks[i].order)
			w->as_is = looks[i].disordered == 0;
		*found |= w->apart[looks[i].column] > 1 || w->as_is;
	}
	return GS_OK;
}
