/*
 * windows_values.cu: columns of a window's functions that a row finds by itself: numbers and shares from the stretches
 * it lies in, and values of other rows, whose places it computes.
 */
#include "windows.cuh"

#include <cstring>

/* What kernels of functions read. */
struct function_args
{
	gs_frame_args frame;
	gs_ranked counted; /* runs' heads, or NULLs of the argument; bits NULL: there are none */
	u64 n;
	u32 function;
	i64 number;
};

/* ---------------------------------------------------------------- numbers of rows */

/* Returns the bucket of a row of a partition of some rows, as PostgreSQL's ntile: the first ones have a row more. */
__device__ __forceinline__ i64
bucket_of(u64 row, u64 rows, u64 buckets)
{
	const u64 each = rows / buckets, larger = rows % buckets;

	if (row < larger * (each + 1))
		return (i64) (row / (each + 1)) + 1;
	return (i64) ((row - larger * (each + 1)) / each + larger) + 1;
}

/* Returns the number that a function gives to a row. */
__device__ __forceinline__ i64
number_of(const function_args &a, u64 row)
{
	const gs_rows_between p = between(a.frame.partitions, row);

	switch (a.function)
	{
		case GS_WINDOW_ROW_NUMBER:
			return (i64) (row - p.begin) + 1;
		case GS_WINDOW_NTILE:
			return bucket_of(row - p.begin, p.end - p.begin, (u64) a.number);
		case GS_WINDOW_RANK:
			return (i64) (between(a.frame.peers, row).begin - p.begin) + 1;
		case GS_WINDOW_DENSE_RANK:
			return (i64) (stretch_of(a.frame.peers.heads, row) - stretch_of(a.frame.peers.heads, p.begin)) + 1;
		case GS_WINDOW_RUN:
			return (i64) (stretch_of(a.counted, row) - stretch_of(a.counted, p.begin)) + 1;
		default: /* GS_WINDOW_COUNT */
		{
			const gs_rows_between f = frame_of(a.frame, row);
			const i64 rows = (i64) (f.end - f.begin);

			if (a.counted.bits == NULL)
				return rows;
			return rows - (i64) (ranked_before(a.counted, f.end) - ranked_before(a.counted, f.begin));
		}
	}
}

/* Numbers rows, or counts those of frames. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) numbers_kernel(const function_args a, i64 *out)
{
	GS_EACH_ORDERED(row, a.n)
		out[row] = number_of(a, row);
}

/* Computes ranks as shares of the partition: of the rows before the first peer, or up to the last. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) shares_kernel(const function_args a, double *out)
{
	GS_EACH_ORDERED(row, a.n)
	{
		const gs_rows_between p = between(a.frame.partitions, row), peers = between(a.frame.peers, row);
		const double rows = (double) (p.end - p.begin);

		if (a.function == GS_WINDOW_CUME_DIST)
			out[row] = (double) (peers.end - p.begin) / rows;
		else
			out[row] = rows > 1 ? (double) (peers.begin - p.begin) / (rows - 1) : 0;
	}
}

/* ---------------------------------------------------------------- runs */

/* Sets the bits of rows whose value differs from the one before, or which begin a partition. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
runs_kernel(const gs_ordered_column c, const u32 *partitions, u64 n, u32 *bits)
{
	GS_EACH_ORDERED(row, gs_bit_rows(n))
	{
		bool head = false;

		if (row < n)
			head = partitions[row / 32] >> row % 32 & 1;
		if (row < n && !head)
		{
			const bool null = null_at(c, row), before = null_at(c, row - 1);

			head = null || before ? null != before : code_at(c, row) != code_at(c, row - 1);
		}
		put_row_bits(bits, row, head);
	}
}

/* Finds runs of an argument's equal values. */
static gs_status
find_runs(cuda_windows *w, u32 column, gs_ranked *runs)
{
	GS_TRY(take(&w->g, gs_bit_bytes(w->rows.n), (u8 **) &runs->bits));
	runs_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(
		w->ordered[column], w->rows.partitions.heads.bits, w->rows.n, runs->bits);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	return gs_windows_rank(w, runs);
}

/* ---------------------------------------------------------------- values of other rows */

/* What the kernel that takes values over reads and writes. */
struct taken_args
{
	function_args f;
	const u32 *places; /* of extremes: */
	bool anew;		   /* no places: a row looks at its frame's */
	gs_ordered_column from, to;
	u64 constant[2]; /* where there is no row */
	bool null;		 /* or NULL */
};

/* Returns the place of the least or greatest value of a frame, of equal ones the last, or GS_NO_PLACE. */
__device__ __forceinline__ u32
extreme_of(const taken_args &a, const gs_rows_between &f)
{
	u32 place = GS_NO_PLACE;
	gs_wide best = 0;

	for (u64 row = f.begin; row < f.end; row++)
	{
		if (null_at(a.from, row))
			continue;

		const gs_wide code = code_at(a.from, row);

		if (place == GS_NO_PLACE || (a.f.function == GS_WINDOW_MIN ? code <= best : code >= best))
		{
			place = (u32) row;
			best = code;
		}
	}
	return place;
}

/* Returns the place of the row whose value a function gives, or GS_NO_PLACE. */
__device__ __forceinline__ u32
place_of(const taken_args &a, u64 row)
{
	gs_rows_between f;

	if (a.f.function == GS_WINDOW_LAG)
	{
		const i64 at = (i64) row - a.f.number;

		f = between(a.f.frame.partitions, row);
		return at >= (i64) f.begin && at < (i64) f.end ? (u32) at : GS_NO_PLACE;
	}
	f = frame_of(a.f.frame, row);
	if (f.begin == f.end)
		return GS_NO_PLACE;
	switch (a.f.function)
	{
		case GS_WINDOW_FIRST:
			return (u32) f.begin;
		case GS_WINDOW_LAST:
			return (u32) (f.end - 1);
		case GS_WINDOW_NTH:
			return f.end - f.begin < (u64) a.f.number ? GS_NO_PLACE : (u32) (f.begin + (u64) a.f.number - 1);
		default: /* extremes */
			return a.anew ? extreme_of(a, f) : a.places[f.end - 1];
	}
}

/* Gives each row another row's value.  WORD has the value's bytes, but for 16 of them, which are two words. */
template <class WORD, u32 WORDS>
static __global__ void __launch_bounds__(GS_GROUP_THREADS) values_kernel(const taken_args a)
{
	GS_EACH_ORDERED(row, gs_bit_rows(a.f.n))
	{
		bool null = false;

		if (row < a.f.n)
		{
			const u32 place = place_of(a, row);

#pragma unroll
			for (u32 k = 0; k < WORDS; k++)
				((WORD *) a.to.values)[row * WORDS + k] = place == GS_NO_PLACE
					? (WORD) a.constant[k] : ((const WORD *) a.from.values)[(u64) place * WORDS + k];
			null = place == GS_NO_PLACE ? a.null : null_at(a.from, place);
		}
		if (a.to.nulls != NULL)
			put_row_bits(a.to.nulls, row, null);
	}
}

/* Computes a column of other rows' values. */
static gs_status
take_values(cuda_windows *w, u32 function, const function_args &f)
{
	const gs_window_function *of = &w->step->functions[function];
	const u32 grid = gs_rows_grid(w);
	u32 *places = NULL;
	taken_args a = {};

	if (of->function >= GS_WINDOW_MIN && gs_from_first(of))
		GS_TRY(gs_windows_extremes(w, of, &places));
	a.f = f;
	a.places = places;
	a.anew = places == NULL;
	a.from = w->ordered[of->column];
	a.to = w->ordered[w->steps->ncolumns + function];
	a.null = of->constant == 0;
	if (of->constant != 0)
		memcpy(a.constant, gs_steps_at(w->steps, of->constant), sizeof(a.constant));
	switch (gs_type_width(a.from.type))
	{
		case 1:
			values_kernel<u8, 1><<<grid, GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
			break;
		case 2:
			values_kernel<u16, 1><<<grid, GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
			break;
		case 4:
			values_kernel<u32, 1><<<grid, GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
			break;
		case 8:
			values_kernel<u64, 1><<<grid, GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
			break;
		default:
			values_kernel<u64, 2><<<grid, GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
	}
	return gs_cuda_status(cudaGetLastError());
}

/* ---------------------------------------------------------------- functions */

gs_frame_args
gs_windows_frame(const cuda_windows *w, const gs_window_function *f)
{
	const i64 most = (i64) GS_MAX_ROWS + 1; /* farther away is no other frame */
	const i64 from = f->from < -most ? -most : f->from > most ? most : f->from;
	const i64 to = f->to < -most ? -most : f->to > most ? most : f->to;

	return {w->rows.partitions, w->rows.peers, f->frame, f->from == GS_FRAME_FIRST ? f->from : from,
			f->to == GS_FRAME_LAST ? f->to : to};
}

gs_status
gs_windows_count_nulls(cuda_windows *w, u32 column)
{
	gs_ordered_column *c = &w->ordered[column];

	if (c->nulls == NULL || c->counted)
		return GS_OK;
	c->counted = true;
	c->null_counts.bits = c->nulls;
	return gs_windows_rank(w, &c->null_counts);
}

/* Computes a column of numbers of rows. */
static gs_status
take_numbers(cuda_windows *w, u32 function, function_args &a)
{
	const gs_window_function *f = &w->step->functions[function];
	void *out = w->ordered[w->steps->ncolumns + function].values;

	if (f->function == GS_WINDOW_RUN)
		GS_TRY(find_runs(w, f->column, &a.counted));
	if (f->function == GS_WINDOW_COUNT && f->column != GS_NO_COLUMN)
	{
		GS_TRY(gs_windows_count_nulls(w, f->column));
		a.counted = w->ordered[f->column].null_counts;
	}
	if (f->function == GS_WINDOW_PERCENT_RANK || f->function == GS_WINDOW_CUME_DIST)
		shares_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a, (double *) out);
	else
		numbers_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a, (i64 *) out);
	return gs_cuda_status(cudaGetLastError());
}

gs_status
gs_windows_compute(cuda_windows *w, u32 function)
{
	const gs_window_function *f = &w->step->functions[function];
	function_args a = {gs_windows_frame(w, f), {NULL, NULL}, w->rows.n, f->function, f->number};

	switch (f->function)
	{
		case GS_WINDOW_SUM:
			return gs_windows_sums(w, function);
		case GS_WINDOW_LAG:
		case GS_WINDOW_FIRST:
		case GS_WINDOW_LAST:
		case GS_WINDOW_NTH:
		case GS_WINDOW_MIN:
		case GS_WINDOW_MAX:
			return take_values(w, function, a);
		default:
			return take_numbers(w, function, a);
	}
}
