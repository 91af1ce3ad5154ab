/*
 * topk.cu: the first k rows of an order without making the rest of it.
 *
 * A random sample gives a threshold, and one read of the columns lists the rows below it (README.md).  The call waits
 * for the count, and for the columns' statistics.
 */
#include "../order/fields.cuh"
#include "sort_ops.cuh"

#include <cmath>

#define THREADS	   512
#define CHUNK_ROWS 16384			/* rows that equal ones are counted over */
#define LISTED	   2048u			/* rows of a block's list */
#define SAMPLE	   ((u64) 65536)
#define MOST_COLUMNS 16
#define FEW		   ((u64) 1 << 17) /* fewer rows are ordered */

struct topk_state
{
	u64 threshold;
	u64 listed; /* rows below it */
	u64 equal;
};

struct topk_args
{
	gs_dev_key key;
	u32 bits;			/* of the number */
	u64 n, room;		/* rows; how many can be listed */
	const void *values; /* one column of 4 or 8 bytes without NULLs; or NULL */
	u64 flip;
	u32 floats;
	topk_state *state;
	u64 *codes;			/* listed rows: numbers, rows */
	u32 *rows;
	u32 *equal;			/* per chunk */
};

/* The number of a row. */
static __device__ __forceinline__ u64
code_of(const topk_args &a, u32 row)
{
	gs_dev_place place = {0, 0};

	return gs_step(a.key, place, a.bits, row);
}

/* ---------------------------------------------------------------- sample */

static __global__ void
sample_kernel(const __grid_constant__ topk_args a, u64 *sample, u32 round)
{
	const u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x,
			  z = gs_scramble((i + SAMPLE * round + 1) * 0x9e3779b97f4a7c15ull);

	if (i < SAMPLE)
		sample[i] = code_of(a, (u32) __umul64hi(z, a.n));
}

/* Takes the sample's number of a rank, or a given one, and begins to count. */
static __global__ void
threshold_kernel(topk_state *state, const u64 *sample, const u32 *order, u32 rank, u64 given)
{
	state->threshold = sample != NULL ? sample[order[rank]] : given;
	state->listed = state->equal = 0;
}

/* ---------------------------------------------------------------- the read */

/* A block's list of rows of one chunk; what does not fit goes to memory at once. */
struct topk_list
{
	u64 codes[LISTED];
	u32 rows[LISTED];
	u32 count;
	u64 base;
};

/* Lists those of a thread's rows that are below; a warp takes room for all of its own at once. */
template <int N>
static __device__ __forceinline__ void
list(const topk_args &a, topk_list &l, const u64 (&code)[N], const u64 (&row)[N], u32 below)
{
	u32 mine = __popc(below), total, at = 0;

	if (!__any_sync(GS_ALL_LANES, below != 0))
		return;

	u32 upto = warp_inclusive(mine);
	u64 far = 0;

	total = __shfl_sync(GS_ALL_LANES, upto, 31);
	if (lane_id() == 0)
	{
		at = atomicAdd(&l.count, total);
		if (at + total > LISTED)
			far =
				atomicAdd((unsigned long long *) &a.state->listed, (unsigned long long) (at + total - max(at, LISTED)));
	}
	at = __shfl_sync(GS_ALL_LANES, at, 0);
	if (at + total > LISTED)
		/* where what is far begins, less its place in the list */
		far = __shfl_sync(GS_ALL_LANES, far, 0) - max(at, LISTED);
	at += upto - mine;
#pragma unroll
	for (int i = 0; i < N; i++)
		if (below >> i & 1)
		{
			if (at < LISTED)
			{
				l.codes[at] = code[i];
				l.rows[at] = (u32) row[i];
			}
			else if (far + at < a.room)
			{
				a.codes[far + at] = code[i];
				a.rows[far + at] = (u32) row[i];
			}
			at++;
		}
}

/* The block's list to memory, behind what other blocks have put there. */
static __device__ __forceinline__ void
put_list(const topk_args &a, topk_list &l)
{
	__syncthreads();

	const u32 n = min(l.count, LISTED);

	__syncthreads(); /* all have read it before the next chunk's rows count */
	if (n == 0)
		return;
	if (threadIdx.x == 0)
		l.base = atomicAdd((unsigned long long *) &a.state->listed, (unsigned long long) n);
	__syncthreads();
	for (u32 i = threadIdx.x; i < n; i += THREADS)
		if (l.base + i < a.room)
		{
			a.codes[l.base + i] = l.codes[i];
			a.rows[l.base + i] = l.rows[i];
		}
	__syncthreads();
	if (threadIdx.x == 0)
		l.count = 0;
	__syncthreads();
}

/* Adds a warp's equal rows to its chunk's. */
static __device__ __forceinline__ void
count_equal(const topk_args &a, u64 chunk, u32 equal)
{
	equal = lanes_add(equal);
	if (lane_id() == 0 && equal != 0)
	{
		atomicAdd(a.equal + chunk, equal);
		atomicAdd((unsigned long long *) &a.state->equal, (unsigned long long) equal);
	}
}

/* Numbers from fields: any key. */
static __global__ void __launch_bounds__(THREADS) filter_fields_kernel(const __grid_constant__ topk_args a)
{
	__shared__ topk_list l;
	const u64 threshold = a.state->threshold, chunks = (a.n + CHUNK_ROWS - 1) / CHUNK_ROWS;

	if (threadIdx.x == 0)
		l.count = 0;
	__syncthreads();
	for (u64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
	{
		u32 equal = 0;

		for (u32 r = threadIdx.x; r < CHUNK_ROWS; r += THREADS)
		{
			u64 row[1] = {chunk * CHUNK_ROWS + r}, code[1] = {~0ull};
			bool valid = row[0] < a.n;

			if (valid)
				code[0] = code_of(a, (u32) row[0]);
			equal += valid && code[0] == threshold;
			list<1>(a, l, code, row, valid && code[0] < threshold);
		}
		count_equal(a, chunk, equal);
		put_list(a, l);
	}
}

/* One column without NULLs, 16 bytes at a time, four loads under way; its begin is aligned to them. */
template <class T>
static __global__ void __launch_bounds__(THREADS)
filter_column_kernel(const __grid_constant__ topk_args a)
{
	__shared__ topk_list l;
	constexpr u32 VECTOR = 16 / sizeof(T), BATCH = 4, STEP = THREADS * VECTOR;
	static_assert(CHUNK_ROWS % (STEP * BATCH) == 0, "a chunk is whole batches");
	const T threshold = (T) a.state->threshold, flip = (T) a.flip;
	const u64 chunks = (a.n + CHUNK_ROWS - 1) / CHUNK_ROWS;
	const T *const values = (const T *) a.values;
	union quad
	{
		uint4 q;
		T v[VECTOR];
	};

	if (threadIdx.x == 0)
		l.count = 0;
	__syncthreads();
	for (u64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
	{
		u32 equal = 0;

		for (u32 r = threadIdx.x * VECTOR; r < CHUNK_ROWS; r += STEP * BATCH)
		{
			const u64 base = chunk * CHUNK_ROWS + r;
			quad q[BATCH];
			u32 below = 0;
			u64 code[BATCH * VECTOR], row[BATCH * VECTOR];

			if (base - threadIdx.x * VECTOR + STEP * BATCH <= a.n)
			{
#pragma unroll
				for (u32 b = 0; b < BATCH; b++)
					q[b].q = __ldcs((const uint4 *) (values + base + b * STEP));
			}
			else
			{
#pragma unroll
				for (u32 b = 0; b < BATCH; b++)
#pragma unroll
					for (u32 v = 0; v < VECTOR; v++)
						q[b].v[v] = base + b * STEP + v < a.n ? values[base + b * STEP + v] : 0;
			}
#pragma unroll
			for (u32 b = 0; b < BATCH; b++)
#pragma unroll
				for (u32 v = 0; v < VECTOR; v++)
				{
					const u32 i = b * VECTOR + v;
					T x = q[b].v[v];

					if (a.floats)
						x = float_order(x, true);
					x ^= flip;
					code[i] = x;
					row[i] = base + b * STEP + v;
					if (x <= threshold && row[i] < a.n)
					{
						below |= (u32) (x < threshold) << i;
						equal += x == threshold;
					}
				}
			list(a, l, code, row, below);
		}
		count_equal(a, chunk, equal);
		put_list(a, l);
	}
}

/* ---------------------------------------------------------------- results */

static __global__ void
first_rows_kernel(const u32 *rows, const u32 *order, u32 n, u32 *out)
{
	for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = rows == NULL ? order[i] : rows[order[i]];
}

/*
 * Counts of equal rows become how many there are in the chunks before, by one block; more than wanted is as good as
 * wanted.
 */
static __global__ void __launch_bounds__(1024) before_kernel(u32 *equal, u64 chunks, u64 wanted)
{
	__shared__ u32 sums[32];
	const u32 warp = threadIdx.x / 32, lane = lane_id();
	u64 before = 0;

	for (u64 base = 0; base < chunks; base += 1024)
	{
		u64 c = base + threadIdx.x;
		u32 x = c < chunks ? equal[c] : 0, upto = warp_inclusive(x), y;

		if (lane == 31)
			sums[warp] = upto;
		__syncthreads();
		y = warp_inclusive(sums[lane]);
		upto += warp ? __shfl_sync(GS_ALL_LANES, y, (warp + 31) & 31) : 0;
		if (c < chunks)
			equal[c] = (u32) min(before + upto - x, wanted);
		before += __shfl_sync(GS_ALL_LANES, y, 31);
		__syncthreads();
	}
}

/* The first rows that are equal to the threshold, in order: a block takes a chunk with some of them. */
static __global__ void __launch_bounds__(THREADS)
equal_rows_kernel(const __grid_constant__ topk_args a, u32 wanted, u32 *out)
{
	__shared__ u32 sums[THREADS / 32];
	const u64 chunks = (a.n + CHUNK_ROWS - 1) / CHUNK_ROWS, threshold = a.state->threshold;
	const u32 warp = threadIdx.x / 32, lane = lane_id();

	for (u64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
	{
		u32 at = a.equal[chunk], end = chunk + 1 < chunks ? a.equal[chunk + 1] : wanted;

		for (u32 r = 0; r < CHUNK_ROWS && at < end; r += THREADS)
		{
			u64 row = chunk * CHUNK_ROWS + r + threadIdx.x;
			bool found = row < a.n && code_of(a, (u32) row) == threshold;
			u32 votes = __ballot_sync(GS_ALL_LANES, found), y;

			if (lane == 0)
				sums[warp] = __popc(votes);
			__syncthreads();
			y = warp_inclusive(lane < THREADS / 32 ? sums[lane] : 0);

			u32 place =
				at + (warp ? __shfl_sync(GS_ALL_LANES, y, (warp + 31) & 31) : 0) + __popc(votes & lanes_below());

			if (found && place < end)
				out[place] = (u32) row;
			at += __shfl_sync(GS_ALL_LANES, y, 31);
			__syncthreads();
		}
	}
}

/* ---------------------------------------------------------------- the call */

/* What the memory is used for: sizes in bytes. */
struct topk_layout
{
	u64 room;  /* rows that can be listed */
	size_t head, sample, codes, rows, order, equal, orders, all;
};

/* Temporary memory of an order of at most n rows, whatever its columns. */
static size_t
order_room(const gs_cuda_engine *e, u64 n)
{
	const size_t small = gs_small_temp(n < 65536 ? n : 65536);
	const size_t large = 2 * gs_round256(n * 8) + gs_round256(gs_radix_temp(e, n, 64)) + gs_ties_temp(n);

	return small > large ? small : large;
}

static bool
is_string(const gs_column *columns, u32 ncolumns)
{
	for (u32 c = 0; c < ncolumns; c++)
		if (columns[c].spec.type == GS_BYTES)
			return true;
	return false;
}

/* Bits of the key if nothing is known of the values. */
static u32
declared_bits(const gs_column *columns, u32 ncolumns)
{
	u32 bits = 0;

	for (u32 c = 0; c < ncolumns; c++)
		bits += 8 * gs_width_of(columns[c].spec.type) + (columns[c].nulls != NULL);
	return bits;
}

/* May a threshold serve?  Whether it does can depend on the values. */
static bool
may_filter(const gs_column *columns, u32 ncolumns, u64 rows, u64 k)
{
	return rows >= FEW && k <= rows / 16 && ncolumns <= MOST_COLUMNS && !is_string(columns, ncolumns);
}

static topk_layout
layout_of(const gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, u64 k)
{
	bool filter = may_filter(columns, ncolumns, rows, k);
	topk_layout l = {};
	size_t whole = gs_round256(rows * 4) + order_room(e, rows);

	l.room = k + k / 4 + 65536;
	l.head = 4096 + gs_round256(3 * MOST_COLUMNS * sizeof(gs_dev_field)) +
			 gs_round256(2 * MOST_COLUMNS * sizeof(gs_key_stats));
	l.sample = SAMPLE * 8;
	l.codes = gs_round256(l.room * 8);
	l.rows = gs_round256(l.room * 4);
	l.order = gs_round256((l.room > SAMPLE ? l.room : SAMPLE) * 4);
	l.equal = gs_round256((rows + CHUNK_ROWS - 1) / CHUNK_ROWS * 4);
	l.orders = order_room(e, l.room > SAMPLE ? l.room : SAMPLE);
	l.all = l.head + l.sample + l.codes + l.rows + l.order + l.equal + l.orders;
	if (!filter || (declared_bits(columns, ncolumns) > 64 && whole > l.all))
		l.all = whole;
	return l;
}

size_t
gs_cuda_top_k_temp(gs_engine *engine, const gs_column *columns, u32 ncolumns, u64 rows, u64 k)
{
	return layout_of((const gs_cuda_engine *) engine, columns, ncolumns, rows, k).all;
}

/* An order of columns in memory that is large enough. */
static gs_status
order_columns(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, u32 *order, void *temp,
			  size_t temp_bytes)
{
	const gs_engine_ops *ops = e->head.ops;
	gs_plan *plan;
	gs_status status;

	GS_TRY(ops->order_plan(&e->head, columns, ncolumns, rows, &plan));
	status = ops->order_temp_bytes(plan) > temp_bytes ? GS_INVALID
													  : ops->order_run(&e->head, plan, temp, temp_bytes, order, NULL);
	ops->plan_free(&e->head, plan);
	return status;
}

static gs_status
whole_order(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, u64 k, u32 *out, void *temp,
			size_t temp_bytes)
{
	u32 *order = (u32 *) temp;
	size_t used = gs_round256(rows * 4);

	if (k == rows)
		order = out;
	GS_TRY(order_columns(e, columns, ncolumns, rows, order, (u8 *) temp + used, temp_bytes - used));
	return k == rows ? GS_OK
					 : gs_cuda_status(cudaMemcpyAsync(out, order, k * 4, cudaMemcpyDeviceToDevice, e->stream));
}

/* The key's fields: from the types alone where that gives at most 64 bits, else by statistics. */
static gs_status
fields_of(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, gs_key_stats *column_stats,
		  gs_dev_field *fields, u32 *nfields, u32 *bits)
{
	gs_key_stats known[2 * MOST_COLUMNS] = {};
	u32 n = 0, sum = 0;

	if (declared_bits(columns, ncolumns) <= 64)
		for (u32 c = 0; c < ncolumns; c++)
		{
			gs_key_stats *l = &known[2 * c];

			l->not_min = ~0ull;
			l->max = l->ones = l->zeros = gs_mask(8 * gs_width_of(columns[c].spec.type));
			l->valid = 1;
			l->nulls = columns[c].nulls != NULL;
		}
	else
	{
		GS_TRY(gs_cuda_status(cudaMemsetAsync(column_stats, 0, 2 * ncolumns * sizeof(gs_key_stats), e->stream)));
		for (u32 c = 0; c < ncolumns; c++)
			GS_TRY(gs_order_key_stats(e, &columns[c], rows, column_stats + 2 * c, NULL, NULL, NULL));
		GS_TRY(gs_cuda_status(cudaMemcpyAsync(known, column_stats, 2 * ncolumns * sizeof(gs_key_stats),
											  cudaMemcpyDeviceToHost, e->stream)));
		GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
	}
	for (u32 c = 0; c < ncolumns; c++)
		n += gs_column_fields(&columns[c], &known[2 * c], fields + n);
	for (u32 f = 0; f < n; f++)
		sum += fields[f].bits;
	*nfields = n;
	*bits = sum;
	return GS_OK;
}

/* One read: lists what is below the threshold that is set, counts what is equal; waits for both. */
static gs_status
filter(gs_cuda_engine *e, const topk_args &a, bool wide, topk_state *found)
{
	gs_cuda_sort *sort = (gs_cuda_sort *) e->sort;
	const u64 chunks = (a.n + CHUNK_ROWS - 1) / CHUNK_ROWS;
	const void *kernel = a.values == NULL ? (const void *) filter_fields_kernel
						 : wide			  ? (const void *) filter_column_kernel<u64>
										  : (const void *) filter_column_kernel<u32>;
	void *list[] = {(void *) &a};
	int blocks;

	GS_TRY(gs_cuda_status(cudaMemsetAsync(a.equal, 0, chunks * 4, e->stream)));
	GS_TRY(gs_cuda_blocks(e, kernel, THREADS, 0, &blocks));
	GS_TRY(gs_cuda_status(cudaLaunchKernel(kernel, dim3((u32) (chunks < (u64) blocks ? chunks : blocks)), dim3(THREADS),
										   list, 0, e->stream)));
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(sort->host, a.state, sizeof(*found), cudaMemcpyDeviceToHost, e->stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
	*found = *(const topk_state *) sort->host;
	return GS_OK;
}

/* Filters by one threshold after the other until the first k rows are among those listed and those equal to it. */
static gs_status
search(gs_cuda_engine *e, const topk_args &a, u64 k, bool wide, const u64 *sample, const u32 *order, topk_state *found)
{
	const double expected = (double) k * SAMPLE / a.n;
	double rank = expected + 4 * sqrt(expected) + 4;
	u64 low = 0, high = gs_mask(a.bits); /* the k-th number lies between, both included */

	for (u32 round = 0;; round++)
	{
		bool by_sample = round < 4 && rank < SAMPLE;

		threshold_kernel<<<1, 1, 0, e->stream>>>(a.state, by_sample ? sample : NULL, order, (u32) rank,
												 low + (high - low) / 2);
		GS_TRY(gs_cuda_status(cudaGetLastError()));
		GS_TRY(filter(e, a, wide, found));
		if (found->listed < k ? found->listed + found->equal >= k : found->listed <= a.room)
			return GS_OK;
		if (found->listed < k)
		{
			/* a sample may lead back to where we have been: then halves do no harm */
			low = found->threshold + 1 > low ? found->threshold + 1 : low;
			rank = rank * 4;
		}
		else
		{
			high = found->threshold - 1 < high ? found->threshold - 1 : high;
			rank = rank / 2;
		}
	}
}

gs_status
gs_cuda_top_k(gs_engine *engine, const gs_column *columns, u32 ncolumns, u64 rows, u64 k, u32 *out, void *temp,
			  size_t temp_bytes)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const topk_layout l = layout_of((const gs_cuda_engine *) engine, columns, ncolumns, rows, k);
	gs_dev_field fields[3 * MOST_COLUMNS];
	gs_cuda_sort *sort;
	topk_state found;
	topk_args a = {};
	u32 nfields;

	cudaSetDevice(e->device);
	GS_TRY(gs_sort_state(e, &sort));
	if (!may_filter(columns, ncolumns, rows, k))
		return whole_order(e, columns, ncolumns, rows, k, out, temp, temp_bytes);

	u8 *at = (u8 *) temp;
	gs_dev_field *device_fields = (gs_dev_field *) (at + 4096);
	gs_key_stats *column_stats = (gs_key_stats *) (at + 4096 + gs_round256(3 * MOST_COLUMNS * sizeof(gs_dev_field)));
	u64 *sample = (u64 *) (at += l.head);
	a.codes = (u64 *) (at += l.sample);
	a.rows = (u32 *) (at += l.codes);
	u32 *order = (u32 *) (at += l.rows);
	a.equal = (u32 *) (at += l.order);
	void *orders = at += l.equal;

	GS_TRY(fields_of(e, columns, ncolumns, rows, column_stats, fields, &nfields, &a.bits));
	if (a.bits > 64)
		return whole_order(e, columns, ncolumns, rows, k, out, temp, temp_bytes);
	if (a.bits == 0)
		return gs_order_sequence(e, out, k, false, NULL);
	GS_TRY(gs_cuda_status(
		cudaMemcpyAsync(device_fields, fields, nfields * sizeof(*fields), cudaMemcpyHostToDevice, e->stream)));
	a.key = gs_dev_key{device_fields, nfields};
	a.n = rows;
	a.room = l.room;
	a.state = (topk_state *) temp;

	const u32 width = gs_width_of(columns[0].spec.type);

	if (ncolumns == 1 && columns[0].nulls == NULL && (width == 4 || width == 8) &&
		(uintptr_t) columns[0].values % 16 == 0)
		a.values = columns[0].values;
	a.flip = fields[0].flip;
	a.floats = fields[0].floats;

	gs_column sampled = {{GS_U64, false, false}, sample, NULL, NULL};

	sample_kernel<<<SAMPLE / 256, 256, 0, e->stream>>>(a, sample, 0);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(order_columns(e, &sampled, 1, SAMPLE, order, orders, l.orders));
	GS_TRY(search(e, a, k, width == 8, sample, order, &found));

	/* what is listed, by number and row; then rows equal to the threshold */
	const u64 below = found.listed < k ? found.listed : k, equal = k - below;

	if (found.listed > 0)
	{
		gs_column listed[2] = {{{GS_U64, false, false}, a.codes, NULL, NULL},
							   {{GS_U32, false, false}, a.rows, NULL, NULL}};

		GS_TRY(order_columns(e, listed, 2, found.listed, order, orders, l.orders));
		first_rows_kernel<<<(u32) ((below + 255) / 256 < 1024 ? (below + 255) / 256 : 1024), 256, 0, e->stream>>>(
			a.rows, order, (u32) below, out);
	}
	if (equal > 0)
	{
		const u64 chunks = (rows + CHUNK_ROWS - 1) / CHUNK_ROWS;

		before_kernel<<<1, 1024, 0, e->stream>>>(a.equal, chunks, equal);
		equal_rows_kernel<<<(u32) (chunks < 1024 ? chunks : 1024), THREADS, 0, e->stream>>>(a, (u32) equal,
																							out + below);
	}
	return gs_cuda_status(cudaGetLastError());
}
