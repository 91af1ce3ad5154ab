/*
 * topk.cuh: kernels of the first k rows: the sample, the read by a threshold, the output of rows below and at it.
 */
#ifndef GS_CUDA_ARRAYS_TOPK_CUH
#define GS_CUDA_ARRAYS_TOPK_CUH

#include "../order/fields.cuh"

#define THREADS	   512
#define CHUNK_ROWS 16384			/* rows over which equal ones are counted */
#define LISTED	   2048u			/* rows in a block's list */
#define SAMPLE	   ((u64) 65536)

struct topk_state
{
	u64 threshold;
	u64 listed; /* rows below the threshold */
	u64 equal;
};

struct topk_args
{
	gs_dev_key key;
	u32 bits;			/* of the number */
	u64 n, room;		/* rows; capacity of the list */
	const void *values; /* one column of 4 or 8 bytes without NULLs, or NULL */
	u64 flip;
	u32 floats;
	topk_state *state;
	u64 *codes;			/* listed rows: numbers, rows */
	u32 *rows;
	u32 *equal;			/* per chunk */
};

/* Returns the number of a row's key. */
static __device__ __forceinline__ u64
code_of(const topk_args &a, u32 row)
{
	gs_dev_place place = {0, 0};

	return gs_step(a.key, place, a.bits, row);
}

/* ---------------------------------------------------------------- sample */

/* Samples the keys of random rows; each round takes others. */
static __global__ void
sample_kernel(const __grid_constant__ topk_args a, u64 *sample, u32 round)
{
	const u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x,
			  z = gs_scramble((i + SAMPLE * round + 1) * 0x9e3779b97f4a7c15ull);

	if (i < SAMPLE)
		sample[i] = code_of(a, (u32) __umul64hi(z, a.n));
}

/* Sets the threshold to the sample's number of a rank, or to a given one, and clears the counts. */
static __global__ void
threshold_kernel(topk_state *state, const u64 *sample, const u32 *order, u32 rank, u64 given)
{
	state->threshold = sample != NULL ? sample[order[rank]] : given;
	state->listed = state->equal = 0;
}

/* ---------------------------------------------------------------- the read */

/* A block's list of rows of one chunk.  What does not fit goes to memory at once. */
struct topk_list
{
	u64 codes[LISTED];
	u32 rows[LISTED];
	u32 count;
	u64 base;
};

/* Lists those of a thread's rows that are below the threshold.  A warp reserves room once for all of its rows. */
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
		/* position of the overflow in memory, minus that in the list */
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

/* Appends the block's list to memory. */
static __device__ __forceinline__ void
put_list(const topk_args &a, topk_list &l)
{
	__syncthreads();

	const u32 n = min(l.count, LISTED);

	__syncthreads(); /* all have read it before rows of the next chunk are counted */
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

/* Adds a warp's number of equal rows to that of its chunk. */
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

/* Filters by numbers made of fields, for any key. */
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

/* Values are read 16 bytes at a time, with BATCH loads in flight. */
#define BATCH 4
template <class T> union topk_vector
{
	uint4 q;
	T v[16 / sizeof(T)];
};

/* Loads a thread's vectors of a batch, THREADS apart, with zeros behind the last row.  first: of the batch. */
template <class T>
static __device__ __forceinline__ void
read_batch(const T *values, u64 n, u64 first, topk_vector<T> (&q)[BATCH])
{
	constexpr u32 VECTOR = 16 / sizeof(T), STEP = THREADS * VECTOR;
	const u64 base = first + threadIdx.x * VECTOR;

	if (first + STEP * BATCH <= n)
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
				q[b].v[v] = base + b * STEP + v < n ? values[base + b * STEP + v] : 0;
	}
}

/* Filters one column without NULLs whose start is aligned to vectors. */
template <class T>
static __global__ void __launch_bounds__(THREADS)
filter_column_kernel(const __grid_constant__ topk_args a)
{
	__shared__ topk_list l;
	constexpr u32 VECTOR = 16 / sizeof(T), STEP = THREADS * VECTOR;
	static_assert(CHUNK_ROWS % (STEP * BATCH) == 0, "a chunk is whole batches");
	const T threshold = (T) a.state->threshold, flip = (T) a.flip;
	const u64 chunks = (a.n + CHUNK_ROWS - 1) / CHUNK_ROWS;

	if (threadIdx.x == 0)
		l.count = 0;
	__syncthreads();
	for (u64 chunk = blockIdx.x; chunk < chunks; chunk += gridDim.x)
	{
		u32 equal = 0;

		for (u32 r = 0; r < CHUNK_ROWS; r += STEP * BATCH)
		{
			const u64 first = chunk * CHUNK_ROWS + r;
			topk_vector<T> q[BATCH];
			u32 below = 0;
			u64 code[BATCH * VECTOR], row[BATCH * VECTOR];

			read_batch((const T *) a.values, a.n, first, q);
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
					row[i] = first + threadIdx.x * VECTOR + b * STEP + v;
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

/* Writes row numbers in order: of the list or, without one, of the order itself. */
static __global__ void
first_rows_kernel(const u32 *rows, const u32 *order, u32 n, u32 *out)
{
	for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
		out[i] = rows == NULL ? order[i] : rows[order[i]];
}

/* Exclusive prefix sums of the chunks' counts of equal rows, by one block, capped at the number wanted. */
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

/* Writes the first rows equal to the threshold, in order.  A block takes a chunk with some of them. */
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

#endif
