/*
 * proof.cu: proves the orders that jobs make, of any keys, before they are given out.
 *
 * Rows have a total order: by their keys, and by their numbers where these are equal.  So numbers of rows of which each
 * comes before the next one are all different and in order, and as many as there are rows are the whole order.  The
 * first k rows are right if, besides, exactly k rows of the input do not come behind the last of them.
 *
 * The columns are read as they came: values, null bits and strings, nothing that a plan or a sort has made of them, so
 * that a mistake of these is found.  What they share is gs_load8, which reads strings.  Not proved: that the columns
 * are what the host sent, and what callers of the primitives get (gs_order_run, gs_top_k, sorts of arrays, merges), nor
 * orders of columns that stay in the engine's memory.
 *
 * The cost is one gather of the first column, at random; rows are looked at again only where it leaves them equal.
 */
#include "proof.cuh"

#include <cstring>

#define THREADS	   256
#define WARPS	   (THREADS / 32)
#define PER_SM	   4				/* blocks; no device then spills registers */
#define FEW		   4				/* columns that a launch takes with its arguments */
#define SHORT_ROWS ((u64) 1 << 20)	/* up to so many rows, a warp looks at no more than 32 */
#define STRETCH	   256				/* otherwise */

/* What is proved. */
struct proof_args
{
	const u32 *order;
	u64 n, rows; /* numbers in the order; rows of the input */
	u64 stretch; /* numbers, or rows, of a warp */
	gs_found *found;
	u32 ncolumns;
	const gs_column *many; /* all, in device memory, if they are not few */
	gs_column few[FEW];
};

/* Returns a column. */
__device__ __forceinline__ gs_column
column_at(const proof_args &a, u32 c)
{
	return a.many != NULL ? a.many[c] : a.few[c];
}

/* Compares two rows, of which it is known what they have in the first column.  Zero: they are one row. */
__device__ __forceinline__ int
compare_rows(const proof_args &a, const gs_column &first, const proof_row &x, const proof_row &y)
{
	int result = compare_in(first, x, y);

	for (u32 c = 1; result == 0 && c < a.ncolumns; c++)
	{
		const gs_column column = column_at(a, c);

		result = compare_in(column, row_in(column, x.row), row_in(column, y.row));
	}
	return result != 0 ? result : (x.row > y.row) - (x.row < y.row);
}

/* Returns a number of the order, or 0 in place of one that no row has. */
__device__ __forceinline__ u32
number_at(const proof_args &a, u64 i, bool &wrong)
{
	const u32 row = a.order[i];

	if (row < a.rows)
		return row;
	wrong = true;
	return 0;
}

/* Returns where this warp's stretch begins. */
__device__ __forceinline__ u64
stretch_of(const proof_args &a)
{
	return (blockIdx.x * (u64) WARPS + threadIdx.x / 32) * a.stretch;
}

/* Looks whether each row comes before the next one.  A lane has one, and gets the one before it from its neighbour. */
static __global__ void __launch_bounds__(THREADS, PER_SM)
neighbours_kernel(const proof_args a)
{
	const gs_column &first = a.few[0];
	const u64 from = stretch_of(a), to = min(from + a.stretch, a.n);
	proof_row before = {};
	bool wrong = false;

	if (from >= to)
		return;
	if (from > 0)
		before = row_in(first, number_at(a, from - 1, wrong));
	for (u64 at = from; at < to; at += 32)
	{
		const u64 i = at + lane_id();
		const proof_row here = row_in(first, i < to ? number_at(a, i, wrong) : 0);
		const proof_row left = shuffle(here, (lane_id() + 31) % 32);

		if (lane_id() != 0)
			before = left;
		if (i > 0 && i < to && compare_rows(a, first, before, here) >= 0)
			wrong = true;
		before = left; /* in the first lane: the last one's */
	}
	if (wrong)
		a.found->wrong = 1;
}

/* Counts the rows of the input that do not come behind the last row of the order. */
static __global__ void __launch_bounds__(THREADS, PER_SM)
first_rows_kernel(const proof_args a)
{
	const gs_column &first = a.few[0];
	const u64 from = stretch_of(a), to = min(from + a.stretch, a.rows);
	bool wrong = false;
	u32 n = 0;

	if (from >= to)
		return;

	const proof_row last = row_in(first, number_at(a, a.n - 1, wrong));

	for (u64 row = from + lane_id(); row < to; row += 32)
		n += compare_rows(a, first, row_in(first, (u32) row), last) <= 0;
	n = lanes_add(n);
	if (lane_id() == 0 && n > 0)
		atomicAdd((unsigned long long *) &a.found->first, (unsigned long long) n);
}

/* Launches a kernel with a warp for each stretch of n numbers, or rows. */
static gs_status
launch(gs_cuda_engine *e, void (*kernel)(const proof_args), proof_args &a, u64 n)
{
	a.stretch = n <= SHORT_ROWS ? 32 : STRETCH;
	kernel<<<(u32) ((n + a.stretch * WARPS - 1) / (a.stretch * WARPS)), THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Launches the proof with columns where kernels find them; many get memory, for the caller to free. */
static gs_status
launch_all(gs_cuda_engine *e, const gs_column *columns, proof_args &a, void **many)
{
	const size_t bytes = a.ncolumns * sizeof(gs_column);

	memcpy(a.few, columns, a.ncolumns < FEW ? bytes : sizeof(a.few));
	if (a.ncolumns > FEW)
	{
		GS_TRY(gs_cuda_alloc_clean(e, bytes, many));
		GS_TRY(gs_cuda_status(cudaMemcpyAsync(*many, columns, bytes, cudaMemcpyHostToDevice, e->stream)));
		a.many = (const gs_column *) *many;
	}
	GS_TRY(launch(e, neighbours_kernel, a, a.n));
	return a.n < a.rows ? launch(e, first_rows_kernel, a, a.rows) : GS_OK;
}

/* Puts a test's numbers into an order (base/sort_testing.h). */
static gs_status
damage(gs_cuda_engine *e, const gs_cuda_sort *sort, u32 *order, u64 n)
{
	if (sort->damage == NULL || sort->damage_at + sort->damage_rows > n)
		return GS_OK;
	return gs_cuda_status(cudaMemcpyAsync(order + sort->damage_at, sort->damage, sort->damage_rows * sizeof(u32),
										  cudaMemcpyHostToDevice, e->stream));
}

/* Proves an order of n of the rows, for which it waits.  found: in device memory, and zero. */
gs_status
gs_order_prove(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, u32 *order, u64 n, gs_found *found)
{
	proof_args a = {};
	const gs_found *here;
	gs_cuda_sort *sort;
	void *many = NULL;
	gs_status status;

	GS_TRY(gs_sort_state(e, &sort));
	GS_TRY(damage(e, sort, order, n));
	here = (const gs_found *) sort->host;
	a.order = order;
	a.n = n;
	a.rows = rows;
	a.found = found;
	a.ncolumns = ncolumns;
	status = sort->unproved ? GS_OK : launch_all(e, columns, a, &many);
	gs_cuda_free_clean(e, many, ncolumns * sizeof(gs_column));
	GS_TRY(status);
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(sort->host, found, sizeof(*found), cudaMemcpyDeviceToHost, e->stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
	if (sort->unproved)
		return GS_OK;
	return here->wrong || (n < rows && here->first != n) ? GS_WRONG_ORDER : GS_OK;
}
