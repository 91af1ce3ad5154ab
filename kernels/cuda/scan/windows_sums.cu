/*
 * windows_sums.cu: sums of a window's frames, and extremes of those that begin with the partition.
 *
 * Integers: prefix sums of all rows, of which a frame's sum is a difference, modulo 2^64 if all sums fit, else 2^128.
 * Doubles are added in order: from the partition's first row on by a warp for each partition, whose lanes load and
 * store; those of other frames by each row.  Extremes: a scan of places, over which the better one of two rows is
 * carried within the partition.
 */
#include "windows.cuh"

#define SCAN_ITEMS 8 /* neighbouring rows of a thread */
#define SCAN_TILE  (SCAN_ITEMS * GS_GROUP_THREADS)
#define LONGEST_REAL 1048576 /* rows of a partition whose doubles a warp adds: some 10 ms */

/* ---------------------------------------------------------------- values */

/* Returns an integer, or 0 of NULL. */
__device__ __forceinline__ gs_wide
integer_at(const gs_ordered_column &c, u64 row)
{
	return null_at(c, row) ? 0 : gs_column_scalar(c.type, c.values, row).integer;
}

/* ---------------------------------------------------------------- scans */

/* Sums of integers: out has those before each row, then that of all. */
struct sum_scan
{
	typedef u128 state;
	gs_ordered_column from;
	u128 *out;

	static __device__ __forceinline__ state zero() { return {0, 0}; }

	/* The value of a row; 0 for NULL. */
	__device__ __forceinline__ state
	load(u64 row) const
	{
		const gs_wide x = integer_at(from, row);

		return {(u64) (gs_unsigned_wide) x, (u64) ((gs_unsigned_wide) x >> 64)};
	}

	/* Two neighbours together, mod 2^128. */
	__device__ __forceinline__ state
	add(state a, state b) const
	{
		return add_u128::add(a, b);
	}

	/* What is up to a row is before the next one. */
	__device__ __forceinline__ void
	store(u64 row, state upto) const
	{
		out[row + 1] = upto;
		if (row == 0)
			out[0] = {0, 0};
	}
};

/* Places of extremes of the partition's rows so far, of equal ones the last. */
struct extreme_scan
{
	struct state
	{
		u32 place;
		u32 head; /* it begins with a partition, or in one */
	};
	gs_ordered_column from;
	const u32 *heads;
	bool least;
	u32 *out;

	static __device__ __forceinline__ state zero() { return {GS_NO_PLACE, 0}; }

	/* A row by itself: its place unless it is NULL. */
	__device__ __forceinline__ state
	load(u64 row) const
	{
		return {null_at(from, row) ? GS_NO_PLACE : (u32) row, heads[row / 32] >> row % 32 & 1};
	}

	/* Two neighbours together: the place that counts from where the last partition of both begins. */
	__device__ __forceinline__ state
	add(state a, state b) const
	{
		if (b.head || a.place == GS_NO_PLACE)
			return {b.place, a.head | b.head};
		if (b.place == GS_NO_PLACE)
			return {a.place, a.head};

		const gs_wide x = code_at(from, a.place), y = code_at(from, b.place);

		return {(least ? y <= x : y >= x) ? b.place : a.place, a.head};
	}

	/* The place up to a row, its own included. */
	__device__ __forceinline__ void
	store(u64 row, state upto) const
	{
		out[row] = upto.place;
	}
};

/* Returns the sum of the block's threads before this one.  all: of all. */
template <class SCAN>
__device__ __forceinline__ typename SCAN::state
block_before(const SCAN &s, typename SCAN::state own, typename SCAN::state &all)
{
	typedef typename SCAN::state state;
	__shared__ state of_warp[GS_GROUP_WARPS];
	const u32 lane = lane_id(), warp = threadIdx.x / 32;
	state x = own, before = SCAN::zero();

#pragma unroll
	for (int d = 1; d < 32; d *= 2)
	{
		const state older = shuffle_up(x, d);

		if (lane >= (u32) d)
			x = s.add(older, x);
	}
	__syncthreads();
	if (lane == 31)
		of_warp[warp] = x;
	__syncthreads();
	all = SCAN::zero();
	for (u32 k = 0; k < GS_GROUP_WARPS; k++)
	{
		if (k == warp)
			before = all;
		all = s.add(all, of_warp[k]);
	}

	const state older = shuffle_up(x, 1);

	return lane > 0 ? s.add(before, older) : before;
}

/* Adds up tiles of rows (RESULTS: or writes all sums, given those before each tile). */
template <class SCAN, bool RESULTS>
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
scan_kernel(const SCAN s, u64 n, typename SCAN::state *tiles)
{
	typedef typename SCAN::state state;

	for (u64 tile = blockIdx.x; tile * SCAN_TILE < n; tile += gridDim.x)
	{
		const u64 first = tile * SCAN_TILE + threadIdx.x * SCAN_ITEMS;
		state own = SCAN::zero(), all;

		for (u32 k = 0; k < SCAN_ITEMS; k++)
			if (first + k < n)
				own = s.add(own, s.load(first + k));

		state upto = block_before(s, own, all);

		if (!RESULTS && threadIdx.x == 0)
			tiles[tile] = all;
		if (RESULTS)
			upto = s.add(tiles[tile], upto);
		for (u32 k = 0; RESULTS && k < SCAN_ITEMS; k++)
			if (first + k < n)
			{
				upto = s.add(upto, s.load(first + k));
				s.store(first + k, upto);
			}
	}
}

/* Turns the sums of tiles into those before each, by one block. */
template <class SCAN>
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
tiles_kernel(const SCAN s, u64 n, typename SCAN::state *tiles)
{
	typename SCAN::state before = SCAN::zero();

	for (u64 from = 0; from < n; from += GS_GROUP_THREADS)
	{
		const u64 i = from + threadIdx.x;
		typename SCAN::state all, own = i < n ? tiles[i] : SCAN::zero(), upto = block_before(s, own, all);

		if (i < n)
			tiles[i] = s.add(before, upto);
		before = s.add(before, all);
	}
}

/* Scans all rows. */
template <class SCAN>
static gs_status
scan_rows(cuda_windows *w, const SCAN &s)
{
	const u64 n = w->rows.n, ntiles = (n + SCAN_TILE - 1) / SCAN_TILE;
	const u32 grid = gs_cuda_grid(w->g.e, ntiles, 1, GS_GROUP_PER_SM);
	typename SCAN::state *tiles;

	GS_TRY(take(&w->g, ntiles, &tiles));
	scan_kernel<SCAN, false><<<grid, GS_GROUP_THREADS, 0, w->g.e->stream>>>(s, n, tiles);
	tiles_kernel<SCAN><<<1, GS_GROUP_THREADS, 0, w->g.e->stream>>>(s, ntiles, tiles);
	scan_kernel<SCAN, true><<<grid, GS_GROUP_THREADS, 0, w->g.e->stream>>>(s, n, tiles);
	return gs_cuda_status(cudaGetLastError());
}

gs_status
gs_windows_extremes(cuda_windows *w, const gs_window_function *f, u32 **places)
{
	extreme_scan s = {w->ordered[f->column], w->rows.partitions.heads.bits, f->function == GS_WINDOW_MIN, NULL};

	GS_TRY(take(&w->g, w->rows.n, &s.out));
	*places = s.out;
	return scan_rows(w, s);
}

/* ---------------------------------------------------------------- sums of integers */

/* What kernels of sums read and write. */
struct sums_args
{
	gs_frame_args frame;
	gs_ordered_column from, to;
	u64 n;
	const void *sums; /* of the rows before, or, of doubles, up to a row in its partition */
	i64 behind; /* where frames end before the row, how far: so many of a partition's last rows are in none */
	gs_group_state *state;
};

/* Returns true if a frame has no values. */
__device__ __forceinline__ bool
no_values(const sums_args &a, const gs_rows_between &f)
{
	const u64 rows = f.end - f.begin;

	if (rows == 0 || a.from.nulls == NULL)
		return rows == 0;
	return ranked_before(a.from.null_counts, f.end) - ranked_before(a.from.null_counts, f.begin) == rows;
}

/* Writes the values' lower halves, and 0 behind them. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
widen_kernel(const gs_ordered_column from, u64 n, u64 *out)
{
	GS_EACH_ORDERED(row, n + 1)
		out[row] = row < n ? (u64) (gs_unsigned_wide) integer_at(from, row) : 0;
}

/* Writes frames' sums of integers, differences of prefix sums of 64 or (WIDE) 128 bits. */
template <bool WIDE>
static __global__ void __launch_bounds__(GS_GROUP_THREADS) integers_kernel(const sums_args a)
{
	GS_EACH_ORDERED(row, gs_bit_rows(a.n))
	{
		bool null = false;

		if (row < a.n)
		{
			const gs_rows_between f = frame_of(a.frame, row);
			u128 sum;

			if (WIDE)
			{
				const u128 high = ((const u128 *) a.sums)[f.end], low = ((const u128 *) a.sums)[f.begin];

				sum = {high.lo - low.lo, high.hi - low.hi - (high.lo < low.lo)};
			}
			else
			{
				sum.lo = ((const u64 *) a.sums)[f.end] - ((const u64 *) a.sums)[f.begin];
				sum.hi = (u64) ((i64) sum.lo >> 63);
			}
			if (a.to.type == GS_I64)
				((u64 *) a.to.values)[row] = sum.lo;
			else
				((u128 *) a.to.values)[row] = sum;
			null = no_values(a, f);
		}
		put_row_bits(a.to.nulls, row, null);
	}
}

/* Returns true if all sums of some rows of a column have at most 64 bits. */
static bool
narrow(const gs_range *range, u64 rows)
{
	const gs_wide low = gs_constant_scalar(&range->low, false).integer;
	const gs_wide high = gs_constant_scalar(&range->high, false).integer;
	const gs_wide most = gs_number_greatest(GS_NUMBER_I64) / (gs_wide) rows;

	return low > high || (low >= -most && high <= most);
}

/* Computes sums of integers. */
static gs_status
sum_integers(cuda_windows *w, const gs_window_function *f, sums_args &a)
{
	const gs_range *range = &w->ranges[f->column];
	const u64 n = w->rows.n;
	bool fits = narrow(range, n);

	if (!fits && narrow(range, 1))
	{
		/* sums are only asked for within partitions */
		GS_TRY(gs_windows_longest(w));
		fits = narrow(range, w->longest);
	}
	if (!fits)
	{
		sum_scan s = {a.from, NULL};

		GS_TRY(take(&w->g, n + 1, &s.out));
		GS_TRY(scan_rows(w, s));
		a.sums = s.out;
		integers_kernel<true><<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
		return gs_cuda_status(cudaGetLastError());
	}

	u64 *values, *sums;

	GS_TRY(take(&w->g, n + 1, &values));
	GS_TRY(take(&w->g, n + 1, &sums));
	widen_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a.from, n, values);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_scan(&w->g.e->head, GS_U64, GS_SUM, false, values, sums, n + 1, w->g.arrays.temp,
				   w->g.arrays.temp_bytes));
	a.sums = sums;
	integers_kernel<false><<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* ---------------------------------------------------------------- sums of doubles */

/* Adds a double.  Returns true if the sum of finite ones is not finite. */
__device__ __forceinline__ bool
add_real(double &sum, double v)
{
	const double before = sum;

	sum = before + v;
	return isinf(sum) && !isinf(before) && !isinf(v);
}

/* Returns a double, or -0 of NULL, which changes no sum. */
__device__ __forceinline__ double
real_at(const gs_ordered_column &c, u64 row)
{
	return null_at(c, row) ? -0.0 : ((const double *) c.values)[row];
}

/* Adds up partitions in order, a warp for each: out has the sums up to each row that some frame takes. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) running_kernel(const sums_args a, double *out)
{
	const gs_stretches &p = a.frame.partitions;
	const u32 partitions = stretch_of(p.heads, a.n - 1) + 1, lane = lane_id();
	bool bad = false;

	for (u64 k = (blockIdx.x * (u64) blockDim.x + threadIdx.x) / 32; k < partitions;
		 k += (u64) gridDim.x * blockDim.x / 32)
	{
		const i64 begin = p.starts[k], stop = p.starts[k + 1] + a.behind;
		double sum = -0.0, next = begin + lane < stop ? real_at(a.from, begin + lane) : -0.0;

		for (i64 row = begin; row < stop; row += 32)
		{
			const u32 rows = stop - row < 32 ? (u32) (stop - row) : 32;
			const double mine = next;
			double upto = 0;

			next = row + 32 + lane < stop ? real_at(a.from, row + 32 + lane) : -0.0;
			for (u32 j = 0; j < rows; j++)
			{
				bad |= add_real(sum, shuffle(mine, j));
				upto = j == lane ? sum : upto;
			}
			if (lane < rows)
				out[row + lane] = upto;
		}
	}
	if (bad)
		atomicOr(&a.state->failed, GS_FAILED_OVERFLOW);
}

/* Writes frames' sums of doubles (ANEW: adding each frame's rows). */
template <bool ANEW>
static __global__ void __launch_bounds__(GS_GROUP_THREADS) reals_kernel(const sums_args a)
{
	bool bad = false;

	GS_EACH_ORDERED(row, gs_bit_rows(a.n))
	{
		bool null = false;

		if (row < a.n)
		{
			const gs_rows_between f = frame_of(a.frame, row);
			double sum = ANEW || f.begin == f.end ? -0.0 : ((const double *) a.sums)[f.end - 1];

			for (u64 k = f.begin; ANEW && k < f.end; k++)
				bad |= add_real(sum, real_at(a.from, k));
			((double *) a.to.values)[row] = sum;
			null = no_values(a, f);
		}
		put_row_bits(a.to.nulls, row, null);
	}
	if (bad)
		atomicOr(&a.state->failed, GS_FAILED_OVERFLOW);
}

/* Computes sums of doubles. */
static gs_status
sum_reals(cuda_windows *w, const gs_window_function *f, sums_args &a)
{
	double *sums;

	if (!gs_from_first(f))
	{
		reals_kernel<true><<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
		return gs_cuda_status(cudaGetLastError());
	}
	GS_TRY(gs_windows_longest(w));
	if (w->longest > LONGEST_REAL)
		return GS_TOO_BIG;
	GS_TRY(take(&w->g, w->rows.n, &sums));
	a.sums = sums;
	a.behind = f->frame == GS_FRAME_ROWS && f->to < 0 ? a.frame.to : 0;
	running_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a, sums);
	reals_kernel<false><<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

gs_status
gs_windows_sums(cuda_windows *w, u32 function)
{
	const gs_window_function *f = &w->step->functions[function];
	sums_args a = {};

	GS_TRY(gs_windows_count_nulls(w, f->column));
	a.frame = gs_windows_frame(w, f);
	a.from = w->ordered[f->column];
	a.to = w->ordered[w->steps->ncolumns + function];
	a.n = w->rows.n;
	a.state = w->g.state;
	return a.from.type == GS_F64 ? sum_reals(w, f, a) : sum_integers(w, f, a);
}
