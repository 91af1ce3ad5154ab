/*
 * order_look.cu: one read of a column, to learn what its keys need: minimum, maximum, bits that vary, NULLs, whether it
 * comes in order; and the counts of its lowest digit, which pass 1 would otherwise need a read of its own for.
 *
 * Strings: lengths, how many bytes all have in common, and which characters stand where behind that.
 *
 * Bytes per row: the column's width and a bit.  Four 16-byte loads in flight per thread; digits are counted by
 * atomics without result in shared memory.
 */
#include "order.cuh"

#define LOOK_THREADS 512

struct look_args
{
	const void *values;
	const u64 *nulls;
	u64 n;
	u64 flip;
	u32 floats;
	u32 stride, offset; /* in elements: halves of 16-byte values */
	gs_look *look;
	u32 *low; /* GS_PLACE counts of the low bits, or NULL */
};

template <class T>
static __device__ __forceinline__ T
in_order(T x, const look_args &a)
{
	if constexpr (sizeof(T) >= 4)
		if (a.floats)
			x = float_order(x, true);
	return x ^ (T) a.flip;
}

/* What one thread has seen of a column; varying: bits in which some value differs from the column's first one. */
template <class T> struct look_sum
{
	T not_min, max, ones, zeros;

	__device__ __forceinline__ void
	add(T k)
	{
		T inverse = (T) ~k;

		not_min = inverse > not_min ? inverse : not_min;
		max = k > max ? k : max;
		ones |= k;
		zeros |= inverse;
	}
};

/* The block's sums to global memory, once per block. */
template <class T>
static __device__ void
look_done(const look_args &a, const look_sum<T> &s, u32 seen, bool valid, bool nulls)
{
	__shared__ u64 sums[4];
	__shared__ u32 flags[3];

	if (threadIdx.x < 4)
		sums[threadIdx.x] = 0;
	if (threadIdx.x < 3)
		flags[threadIdx.x] = 0;
	__syncthreads();

	u64 x[4] = {s.not_min, s.max, s.ones, s.zeros};

	for (int d = 16; d > 0; d /= 2)
	{
#pragma unroll
		for (int i = 0; i < 4; i++)
		{
			u64 y = __shfl_xor_sync(GS_ALL_LANES, x[i], d);

			x[i] = i < 2 ? (y > x[i] ? y : x[i]) : x[i] | y;
		}
	}
	seen = __reduce_or_sync(GS_ALL_LANES, seen | (u32) valid << 8 | (u32) nulls << 9);
	if (lane_id() == 0)
	{
		for (int i = 0; i < 2; i++)
			atomicMax((unsigned long long *) &sums[i], (unsigned long long) x[i]);
		for (int i = 2; i < 4; i++)
			atomicOr((unsigned long long *) &sums[i], (unsigned long long) x[i]);
		atomicOr(&flags[0], seen);
	}
	__syncthreads();
	if (threadIdx.x == 0)
	{
		if (flags[0] >> 8 & 1)
		{
			atomicMax((unsigned long long *) &a.look->not_min, (unsigned long long) sums[0]);
			atomicMax((unsigned long long *) &a.look->max, (unsigned long long) sums[1]);
			atomicOr((unsigned long long *) &a.look->ones, (unsigned long long) sums[2]);
			atomicOr((unsigned long long *) &a.look->zeros, (unsigned long long) sums[3]);
			a.look->valid = 1;
		}
		if (flags[0] >> 9 & 1)
			a.look->nulls = 1;
		if (flags[0] & 3)
			atomicOr(&a.look->seen, flags[0] & 3);
	}
}

/*
 * A whole column without NULLs, 16 bytes at a time.  Order is looked at only until a thread has seen both a rise and a
 * fall, which takes a few vectors unless the column is in order.
 */
template <class T, bool LOW>
static __global__ void __launch_bounds__(LOOK_THREADS, 2) look_kernel(const __grid_constant__ look_args a)
{
	constexpr u32 VECTOR = 16 / sizeof(T), SETS = 2, BATCH = 4;
	__shared__ u32 counters[LOW ? SETS * GS_PLACE : 1];
	u32 *mine = counters + (LOW ? (threadIdx.x / 32 & (SETS - 1)) * GS_PLACE : 0);
	const T *values = (const T *) a.values;
	const u64 stride = (u64) gridDim.x * LOOK_THREADS, thread = blockIdx.x * (u64) LOOK_THREADS + threadIdx.x;
	const T first = in_order(values[0], a);
	T min = first, max = first, varying = 0;
	u32 seen = 0;

	if (LOW)
	{
		for (u32 i = threadIdx.x; i < SETS * GS_PLACE; i += LOOK_THREADS)
			counters[i] = 0;
		__syncthreads();
	}
	union quad
	{
		uint4 q;
		T v[VECTOR];
	};
	auto add = [&](T k) {
		min = k < min ? k : min;
		max = k > max ? k : max;
		varying |= k ^ first;
		if (LOW)
			atomicAdd(mine + ((u32) k & (GS_PLACE - 1)), 1);
	};
	/* a vector's values, i is the first one's row */
	auto add_vector = [&](quad &q, u64 i) {
#pragma unroll
		for (u32 v = 0; v < VECTOR; v++)
			q.v[v] = in_order(q.v[v], a);
		if constexpr (VECTOR == 2)
		{
			/* one comparison for minimum, maximum and order */
			T x = q.v[0], y = q.v[1];
			bool falls = y < x;
			T lo = falls ? y : x, hi = falls ? x : y;

			min = lo < min ? lo : min;
			max = hi > max ? hi : max;
			varying |= (x ^ first) | (y ^ first);
			if (LOW)
			{
				atomicAdd(mine + ((u32) x & (GS_PLACE - 1)), 1);
				atomicAdd(mine + ((u32) y & (GS_PLACE - 1)), 1);
			}
			seen |= falls ? GS_SEEN_FALL : GS_SEEN_RISE;
		}
		else
		{
#pragma unroll
			for (u32 v = 0; v < VECTOR; v++)
				add(q.v[v]);
		}
		if (seen != (GS_SEEN_FALL | GS_SEEN_RISE))
		{
			if (i > 0)
				seen |= q.v[0] < in_order(__ldg(values + i - 1), a) ? GS_SEEN_FALL : GS_SEEN_RISE;
			if (VECTOR != 2)
			{
#pragma unroll
				for (u32 v = 1; v < VECTOR; v++)
					seen |= q.v[v] < q.v[v - 1] ? GS_SEEN_FALL : GS_SEEN_RISE;
			}
		}
	};
	u64 head = ((16 - ((u64) values & 15)) & 15) / sizeof(T);

	head = head < a.n ? head : a.n;
	const u64 vectors = (a.n - head) / VECTOR;
	const uint4 *from = (const uint4 *) (values + head);
	u64 i = thread;

	for (; i + (BATCH - 1) * stride < vectors; i += BATCH * stride)
	{
		quad q[BATCH];

#pragma unroll
		for (u32 j = 0; j < BATCH; j++)
			q[j].q = __ldg(from + i + j * stride);
#pragma unroll
		for (u32 j = 0; j < BATCH; j++)
			add_vector(q[j], head + (i + j * stride) * VECTOR);
	}
	for (; i < vectors; i += stride)
	{
		quad q;

		q.q = __ldg(from + i);
		add_vector(q, head + i * VECTOR);
	}
	for (i = thread; i < a.n - vectors * VECTOR; i += stride)
	{
		u64 r = i < head ? i : i + vectors * VECTOR;
		T k = in_order(values[r], a);

		add(k);
		if (r > 0)
			seen |= k < in_order(values[r - 1], a) ? GS_SEEN_FALL : GS_SEEN_RISE;
	}
	/* bits that vary are both ones and zeros somewhere */
	look_done(a, look_sum<T>{(T) ~min, max, varying, varying}, seen, true, false);
	if (LOW)
		for (u32 i = threadIdx.x; i < GS_PLACE; i += LOOK_THREADS)
		{
			u32 c = counters[i] + counters[i + GS_PLACE];

			if (c != 0)
				atomicAdd(a.low + i, c);
		}
}

/* Columns with null bits, and halves of 16-byte values: a value at a time. */
template <class T>
static __global__ void __launch_bounds__(LOOK_THREADS) look_nulls_kernel(const __grid_constant__ look_args a)
{
	look_sum<T> s = {0, 0, 0, 0};
	bool valid = false, nulls = false;

#pragma unroll 4
	for (u64 r = blockIdx.x * (u64) LOOK_THREADS + threadIdx.x; r < a.n; r += (u64) gridDim.x * LOOK_THREADS)
	{
		T x = ((const T *) a.values)[r * a.stride + a.offset];

		if (a.nulls != NULL && a.nulls[r / 64] >> (r % 64) & 1)
			nulls = true;
		else
		{
			s.add(in_order(x, a));
			valid = true;
		}
	}
	look_done(a, s, 0, valid, nulls);
}

template <class T>
static gs_status
look_at(gs_cuda_engine *e, const look_args &a, u64 n)
{
	u32 blocks = (u32) (e->properties.multiProcessorCount * 4);
	u64 wanted = (n + LOOK_THREADS * 8 - 1) / (LOOK_THREADS * 8);

	if (wanted < blocks)
		blocks = (u32) wanted;
	if (a.nulls != NULL || a.stride != 1)
		look_nulls_kernel<T><<<blocks, LOOK_THREADS, 0, e->stream>>>(a);
	else if (a.low != NULL)
	{
		if constexpr (sizeof(T) >= 4)
			look_kernel<T, true><<<blocks, LOOK_THREADS, 0, e->stream>>>(a);
	}
	else
		look_kernel<T, false><<<blocks, LOOK_THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* ---------------------------------------------------------------- strings */

struct look_string_args
{
	const u32 *offsets;
	const u64 *nulls;
	const u8 *heap;
	u64 n;
	gs_look *look;
	gs_dev_alphabet *alphabets;
	u32 *marks; /* (GS_POSITIONS + 1) * 256 characters, GS_POSITIONS + 1 ends */
};

static __device__ __forceinline__ bool
is_null(const u64 *nulls, u64 r)
{
	return nulls != NULL && (nulls[r / 64] >> (r % 64) & 1);
}

static __global__ void
first_string_kernel(const __grid_constant__ look_string_args a)
{
	u64 best = 0;

	for (u64 r = blockIdx.x * (u64) blockDim.x + threadIdx.x; r < a.n; r += (u64) gridDim.x * blockDim.x)
		if (!is_null(a.nulls, r))
		{
			best = ~r;
			break; /* this thread's later rows are later */
		}
	for (int d = 16; d > 0; d /= 2)
	{
		u64 x = __shfl_xor_sync(GS_ALL_LANES, best, d);

		best = x > best ? x : best;
	}
	if (lane_id() == 0 && best != 0)
		atomicMax((unsigned long long *) &a.look->first_string, (unsigned long long) best);
}

/* Lengths, NULLs, and how far all strings agree with the first one: not_prefix in look->prefix is complemented. */
static __global__ void __launch_bounds__(256) look_strings_kernel(const __grid_constant__ look_string_args a)
{
	__shared__ u32 agreed;
	u32 longest = 0, not_shortest = 0, nulls = 0, valid = 0;
	u64 first = ~a.look->first_string;
	u32 first_at = 0, first_length = 0;

	if (a.look->first_string != 0)
	{
		first_at = a.offsets[first];
		first_length = a.offsets[first + 1] - first_at;
	}
	if (threadIdx.x == 0)
		agreed = first_length;
	__syncthreads();
	for (u64 r = blockIdx.x * (u64) blockDim.x + threadIdx.x; r < a.n; r += (u64) gridDim.x * blockDim.x)
	{
		if (is_null(a.nulls, r))
		{
			nulls = 1;
			continue;
		}

		u32 at = a.offsets[r], length = a.offsets[r + 1] - at;
		u32 limit = *(volatile u32 *) &agreed;

		valid = 1;
		longest = length > longest ? length : longest;
		not_shortest = ~length > not_shortest ? ~length : not_shortest;
		limit = length < limit ? length : limit;
		u32 same = gs_common(a.heap + first_at, a.heap + at, limit);

		if (same < *(volatile u32 *) &agreed)
			atomicMin(&agreed, same);
	}
	longest = __reduce_max_sync(GS_ALL_LANES, longest);
	not_shortest = __reduce_max_sync(GS_ALL_LANES, not_shortest);
	if (lane_id() == 0)
	{
		atomicMax(&a.look->longest, longest);
		atomicMax(&a.look->not_shortest, not_shortest);
	}
	if (__syncthreads_or(nulls) && threadIdx.x == 0)
		a.look->nulls = 1;
	if (__syncthreads_or(valid) && threadIdx.x == 0)
	{
		a.look->valid = 1;
		atomicMax(&a.look->prefix, ~agreed);
	}
}

/* Marks the characters at each of the first positions behind the prefix, and all others; strings of any length. */
static __global__ void __launch_bounds__(256) mark_kernel(const __grid_constant__ look_string_args a)
{
	__shared__ u8 seen[(GS_POSITIONS + 1) * 256], ends[GS_POSITIONS + 1];
	const u32 prefix = ~a.look->prefix;

	for (u32 i = threadIdx.x; i < sizeof(seen); i += blockDim.x)
		seen[i] = 0;
	if (threadIdx.x <= GS_POSITIONS)
		ends[threadIdx.x] = 0;
	__syncthreads();
	for (u64 r = blockIdx.x * (u64) blockDim.x + threadIdx.x; r < a.n; r += (u64) gridDim.x * blockDim.x)
	{
		u32 at = a.offsets[r], length = a.offsets[r + 1] - at;

		if (is_null(a.nulls, r))
			length = 0;
		const u8 *s = a.heap + at + prefix;
		u32 left = length > prefix ? length - prefix : 0;

		for (u32 p = 0; p < GS_POSITIONS && p < left; p++)
			seen[p * 256 + s[p]] = 1;
		ends[left < GS_POSITIONS ? left : GS_POSITIONS] = 1;
	}
	/* whatever occurs anywhere may occur behind the first positions */
	{
		u64 begin = a.offsets[0], end = a.offsets[a.n];
		u64 thread = blockIdx.x * (u64) blockDim.x + threadIdx.x, threads = (u64) gridDim.x * blockDim.x;
		u64 from = (begin + ((16 - ((u64) (a.heap + begin) & 15)) & 15)), vectors;

		from = from < end ? from : end;
		vectors = (end - from) / 16;
		for (u64 i = thread; i < vectors; i += threads)
		{
			union
			{
				uint4 q;
				u8 c[16];
			} v;

			v.q = __ldcs((const uint4 *) (a.heap + from) + i);
#pragma unroll
			for (int c = 0; c < 16; c++)
				seen[GS_POSITIONS * 256 + v.c[c]] = 1;
		}
		for (u64 i = thread; i < from - begin; i += threads)
			seen[GS_POSITIONS * 256 + a.heap[begin + i]] = 1;
		for (u64 i = from + vectors * 16 + thread; i < end; i += threads)
			seen[GS_POSITIONS * 256 + a.heap[i]] = 1;
	}
	__syncthreads();
	for (u32 i = threadIdx.x; i < sizeof(seen); i += blockDim.x)
		if (seen[i] && a.marks[i] == 0)
			a.marks[i] = 1;
	if (threadIdx.x <= GS_POSITIONS && ends[threadIdx.x])
		a.marks[(GS_POSITIONS + 1) * 256 + threadIdx.x] = 1;
}

/* Numbers the marked characters of each position, one warp's thread each. */
static __global__ void
number_kernel(const __grid_constant__ look_string_args a)
{
	u32 p = threadIdx.x;
	bool ended = false;
	u32 next;

	if (p > GS_POSITIONS)
		return;
	for (u32 q = 0; q <= p; q++)
		ended |= a.marks[(GS_POSITIONS + 1) * 256 + q] != 0;
	next = ended;
	for (u32 c = 0; c < 256; c++)
		a.alphabets[p].rank[c] = a.marks[p * 256 + c] ? (u16) next++ : 0;
	a.alphabets[p].bits = next > 1 ? 32 - __clz(next - 1) : 0;
}

static gs_status
look_at_strings(gs_cuda_engine *e, const gs_column *column, u64 n, gs_look *look, gs_dev_alphabet *alphabets, u32 *marks)
{
	look_string_args a = {(const u32 *) column->values, column->nulls, column->heap, n, look, alphabets, marks};
	u32 blocks = (u32) (e->properties.multiProcessorCount * 8);

	if ((n + 255) / 256 < blocks)
		blocks = (u32) ((n + 255) / 256);
	first_string_kernel<<<blocks, 256, 0, e->stream>>>(a);
	look_strings_kernel<<<blocks, 256, 0, e->stream>>>(a);
	mark_kernel<<<blocks, 256, 0, e->stream>>>(a);
	number_kernel<<<1, 32, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/*
 * Enqueues the look at a column.  look has two elements, the second for the low halves of GS_U128; all memory is zero.
 */
gs_status
gs_order_look(gs_cuda_engine *e, const gs_column *column, u64 n, gs_look *look, u32 *low, gs_dev_alphabet *alphabets,
			  u32 *marks)
{
	gs_type type = column->spec.type;
	look_args a = {column->values, column->nulls, n, gs_order_flip(&column->spec), gs_order_floats(type), 1, 0, look, low};

	if (type == GS_BYTES)
		return look_at_strings(e, column, n, look, alphabets, marks);
	switch (gs_type_width(type))
	{
		case 1:
			return look_at<u8>(e, a, n);
		case 2:
			return look_at<u16>(e, a, n);
		case 4:
			return look_at<u32>(e, a, n);
		case 8:
			return look_at<u64>(e, a, n);
		default:
			a.stride = 2;
			a.low = NULL;
			a.offset = 1;
			GS_TRY(look_at<u64>(e, a, n));
			a.offset = 0;
			a.look = look + 1;
			return look_at<u64>(e, a, n);
	}
}
