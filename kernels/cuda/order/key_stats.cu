/*
 * key_stats.cu: reads a column once for the statistics of its key: minimum, maximum, varying bits, NULLs, whether it is
 * in order; and for the counts of all digits, which saves the passes a read of their own.
 *
 * Digits must be chosen before the range is known.  Every block therefore first takes an identical sample of the column
 * and estimates the range's bits, plus one if that costs no pass.  Only the leading digits are counted where those and
 * buckets suffice (buckets.cu).
 *
 * The minimum is not known either, so digits are those of the values modulo 2^bits.  In this order values of the next
 * multiple of 2^bits come first though they belong last: the order is rotated by their number, which is counted as well
 * (or by that of the others, if those have the odd multiple).  If the estimate was too low, digits are counted again.
 *
 * Bytes per row: the column's width and a bit.  Up to four 16-byte loads are in flight per thread.  Digits are counted
 * by atomics in shared memory, in as many copies as fit; the block then has a multiprocessor to itself.
 */
#include "../radix/digit_counters.cuh"
#include "key_stats.cuh"
#include "order.cuh"

#include <type_traits>

#define STATS_THREADS 512
#define COUNT_THREADS 1024 /* if digits are counted */
#define STATS_SAMPLE	  4	   /* values per thread */
#define STATS_DIGITS	  5	   /* limit of digits counted */

struct stats_args
{
	const void *values;
	const u64 *nulls;
	u64 n;
	u64 flip;
	u32 floats;
	u32 stride, offset; /* in elements: halves of 16-byte values */
	gs_key_stats *stats;
	u32 *counts; /* GS_PLACE per digit, or NULL */
	u32 most;	 /* widest digit in bits */
	u32 way;	 /* see gs_buckets_way */
	u32 room;	 /* counters that fit shared memory */
};

/* Maps a value to an unsigned number in the requested order, including direction. */
template <class T>
static __device__ __forceinline__ T
in_order(T x, const stats_args &a)
{
	if constexpr (sizeof(T) >= 4)
		if (a.floats)
			x = float_order(x, true);
	return x ^ (T) a.flip;
}

/* The digits that a block counts. */
struct stats_digits
{
	u32 at[STATS_DIGITS], mask[STATS_DIGITS];
	u32 odd_at, odd; /* the bit above them; 0: none */
	u32 digits, bits, copies;
};

/* Statistics of a sample. */
struct stats_sample
{
	u64 not_min, max, varying;
};

/* Takes the sample, identical in all blocks. */
template <class T>
static __device__ __forceinline__ void
take_sample(const stats_args &a, stats_sample &s)
{
	const T *values = (const T *) a.values;
	const u64 step = a.n / (COUNT_THREADS * STATS_SAMPLE) + 1;
	const T first = in_order(values[0], a);
	u64 x[3] = {(T) ~first, first, 0};

	if (threadIdx.x == 0)
		s = stats_sample{0, 0, 0};
	__syncthreads();
#pragma unroll
	for (u32 j = 0; j < STATS_SAMPLE; j++)
	{
		u64 i = (j * COUNT_THREADS + threadIdx.x) * step;
		T k = i < a.n ? in_order(values[i], a) : first;

		x[0] = (T) ~k > x[0] ? (T) ~k : x[0];
		x[1] = k > x[1] ? k : x[1];
		x[2] |= k ^ first;
	}
	for (int w = 16; w > 0; w /= 2)
	{
#pragma unroll
		for (int i = 0; i < 3; i++)
		{
			u64 y = __shfl_xor_sync(GS_ALL_LANES, x[i], w);

			x[i] = i < 2 ? (y > x[i] ? y : x[i]) : x[i] | y;
		}
	}
	if (lane_id() == 0)
	{
		atomicMax((unsigned long long *) &s.not_min, (unsigned long long) x[0]);
		atomicMax((unsigned long long *) &s.max, (unsigned long long) x[1]);
		atomicOr((unsigned long long *) &s.varying, (unsigned long long) x[2]);
	}
	__syncthreads();
}

/* Chooses digits, by one thread: for the range's bits in the sample, plus one if that costs no pass. */
template <class T>
static __device__ __forceinline__ void
cut_digits(const stats_args &a, const stats_sample &s, stats_digits &d)
{
	const u32 width = 8 * sizeof(T), shift = s.varying ? __ffsll(s.varying) - 1 : 0;
	const u64 span = (s.max - (T) ~(T) s.not_min) >> shift;
	u32 widths[GS_PLACES], wider[GS_PLACES], bits = span ? 64 - __clzll(span) : 1;
	const u32 lead = gs_buckets_lead(bits, a.n, a.most, a.way);
	u32 digits = gs_radix_digits(lead != 0 ? lead : bits, a.most, widths);

	if (lead == 0 && shift + bits < width && gs_radix_digits(bits + 1, a.most, wider) == digits &&
		(wider[0] <= GS_PLACE_BITS || widths[0] > GS_PLACE_BITS))
		gs_radix_digits(++bits, a.most, widths);
	if (digits > STATS_DIGITS)
		digits = 0;
	for (u32 p = 0, at = shift + (lead != 0 ? bits - lead : 0); p < digits; at += widths[p++])
	{
		d.at[p] = at;
		d.mask[p] = (1u << widths[p]) - 1;
	}
	d.odd = shift + bits < width;
	d.odd_at = d.odd ? shift + bits : 0;
	d.digits = digits;
	d.bits = widths[0];
	d.copies = gs_counter_copies(digits << d.bits, a.room);
	if (blockIdx.x == 0 && digits != 0)
	{
		a.stats->guess_shift = shift;
		a.stats->guess_bits = bits;
		a.stats->guess_lead = lead;
	}
}

/* Statistics of a thread; odd: values whose bit above the digits is set. */
template <class T> struct column_seen
{
	T first, min, max, varying;
	u32 seen, odd;
};

/*
 * A thread's part of a column without NULLs, 16 bytes at a time.  Counts DIGITS digits, and checks the order until it
 * has seen both an ascent and a descent.
 */
template <class T, u32 DIGITS> struct column_look
{
	static constexpr u32 VECTOR = 16 / sizeof(T);
	static constexpr u32 BATCH = DIGITS > 4 ? 2 : GS_TUNED.loads; /* limited by registers */
	union quad
	{
		uint4 q;
		T v[VECTOR];
	};

	const stats_args &a;
	const T *values;
	column_seen<T> &t;
	u32 at[DIGITS + 1], mask[DIGITS + 1], *mine[DIGITS + 1];
	u32 copies, odd_at, odd_mask;

	/* Sets the block's digits and the thread's counters. */
	__device__ __forceinline__
	column_look(const stats_args &args, const gs_digit_counters &counters, const stats_digits &guess,
				column_seen<T> &seen)
		: a(args), values((const T *) args.values), t(seen)
	{
		copies = counters.copies;
		odd_at = DIGITS ? guess.odd_at : 0;
		odd_mask = DIGITS ? guess.odd : 0;
#pragma unroll
		for (int p = 0; p < (int) DIGITS; p++)
		{
			at[p] = guess.at[p];
			mask[p] = guess.mask[p];
			mine[p] = counters.mine(p);
		}
	}

	/* Counts a value's digits, and its bit above them. */
	__device__ __forceinline__ void
	count(T k)
	{
#pragma unroll
		for (int p = 0; p < (int) DIGITS; p++)
			atomicAdd(mine[p] + ((u32) (k >> at[p]) & mask[p]) * copies, 1);
		if (DIGITS > 0)
			t.odd += (u32) (k >> odd_at) & odd_mask;
	}

	/* Updates minimum, maximum and bits by a vector.  One comparison of two values also gives their order. */
	__device__ __forceinline__ void
	add_range(const quad &q)
	{
		if constexpr (VECTOR == 2)
		{
			T x = q.v[0], y = q.v[1];
			bool falls = y < x;
			T lo = falls ? y : x, hi = falls ? x : y;

			t.min = lo < t.min ? lo : t.min;
			t.max = hi > t.max ? hi : t.max;
			t.varying |= (x ^ t.first) | (y ^ t.first);
			t.seen |= falls ? GS_SEEN_FALL : GS_SEEN_RISE;
		}
		else
		{
#pragma unroll
			for (u32 v = 0; v < VECTOR; v++)
			{
				t.min = q.v[v] < t.min ? q.v[v] : t.min;
				t.max = q.v[v] > t.max ? q.v[v] : t.max;
				t.varying |= q.v[v] ^ t.first;
			}
		}
	}

	/* Adds a vector's values; row: that of the first. */
	__device__ __forceinline__ void
	add_vector(quad &q, u64 row)
	{
#pragma unroll
		for (u32 v = 0; v < VECTOR; v++)
			q.v[v] = in_order(q.v[v], a);
		add_range(q);
#pragma unroll
		for (u32 v = 0; v < VECTOR; v++)
			count(q.v[v]);
		if (t.seen != (GS_SEEN_FALL | GS_SEEN_RISE))
		{
			if (row > 0)
				t.seen |= q.v[0] < in_order(__ldg(values + row - 1), a) ? GS_SEEN_FALL : GS_SEEN_RISE;
			if (VECTOR != 2)
			{
#pragma unroll
				for (u32 v = 1; v < VECTOR; v++)
					t.seen |= q.v[v] < q.v[v - 1] ? GS_SEEN_FALL : GS_SEEN_RISE;
			}
		}
	}

	/* Adds a value outside whole vectors. */
	__device__ __forceinline__ void
	add_value(u64 row)
	{
		T k = in_order(values[row], a);

		t.min = k < t.min ? k : t.min;
		t.max = k > t.max ? k : t.max;
		t.varying |= k ^ t.first;
		count(k);
		if (row > 0)
			t.seen |= k < in_order(values[row - 1], a) ? GS_SEEN_FALL : GS_SEEN_RISE;
	}

	/* Adds the thread's part of the column, of `stride` threads. */
	__device__ __forceinline__ void
	add_column(u64 thread, u64 stride)
	{
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
			add_value(i < head ? i : i + vectors * VECTOR);
	}
};

/* COUNT: also counts digits. */
template <class T, bool COUNT>
static __global__ void __launch_bounds__(COUNT ? COUNT_THREADS : STATS_THREADS, COUNT ? 1 : 2)
key_stats_kernel(const __grid_constant__ stats_args a)
{
	constexpr u32 THREADS = COUNT ? COUNT_THREADS : STATS_THREADS;
	extern __shared__ u32 counter_memory[];
	__shared__ stats_sample sample;
	__shared__ stats_digits guess;
	const u64 stride = (u64) gridDim.x * THREADS, thread = blockIdx.x * (u64) THREADS + threadIdx.x;
	const T first = in_order(((const T *) a.values)[0], a);
	column_seen<T> t = {first, first, first, 0, 0, 0};

	if (COUNT)
	{
		take_sample<T>(a, sample);
		if (threadIdx.x == 0)
			cut_digits<T>(a, sample, guess);
		__syncthreads();
	}

	/* built here, not in guess, so that the compiler knows that the atomics are on shared memory */
	const gs_digit_counters counters = {counter_memory, COUNT ? guess.digits : 0, COUNT ? guess.bits : 0,
										COUNT ? guess.copies : 0};

	if (COUNT)
	{
		counters.clear();
		__syncthreads();
	}
	switch (COUNT ? counters.digits : 0)
	{
#define LOOK(n) column_look<T, COUNT ? n : 0>(a, counters, guess, t).add_column(thread, stride)
		case 1:
			LOOK(1);
			break;
		case 2:
			LOOK(2);
			break;
		case 3:
			LOOK(3);
			break;
		case 4:
			LOOK(4);
			break;
		case 5:
			LOOK(5);
			break;
		default:
			LOOK(0);
#undef LOOK
	}
	/* varying bits are both set and clear somewhere */
	stats_done(a.stats, stats_sum<T>{(T) ~t.min, t.max, t.varying, t.varying}, t.seen, true, false);
	if (COUNT)
	{
		counters.add_up(a.counts);
		t.odd = lanes_add(t.odd);
		if (lane_id() == 0 && t.odd != 0)
			atomicAdd((unsigned long long *) &a.stats->odd, (unsigned long long) t.odd);
	}
}

/* 16-byte values without NULLs: both halves in one read. */
static __global__ void __launch_bounds__(STATS_THREADS, 2) key_stats16_kernel(const __grid_constant__ stats_args a)
{
	constexpr u32 BATCH = 4;
	const ulonglong2 *values = (const ulonglong2 *) a.values;
	const u64 stride = (u64) gridDim.x * STATS_THREADS, thread = blockIdx.x * (u64) STATS_THREADS + threadIdx.x;
	stats_sum<u64> low = {0, 0, 0, 0}, high = {0, 0, 0, 0};
	u32 seen = 0;
	u64 i = thread;

	auto add = [&](ulonglong2 v, u64 r) {
		v.x ^= a.flip;
		v.y ^= a.flip;
		low.add(v.x);
		high.add(v.y);
		if (seen != (GS_SEEN_FALL | GS_SEEN_RISE) && r > 0)
		{
			ulonglong2 before = values[r - 1];

			before.x ^= a.flip;
			before.y ^= a.flip;
			seen |= v.y < before.y || (v.y == before.y && v.x < before.x) ? GS_SEEN_FALL : GS_SEEN_RISE;
		}
	};
	for (; i + (BATCH - 1) * stride < a.n; i += BATCH * stride)
	{
		ulonglong2 v[BATCH];

#pragma unroll
		for (u32 j = 0; j < BATCH; j++)
			v[j] = __ldg(values + i + j * stride);
#pragma unroll
		for (u32 j = 0; j < BATCH; j++)
			add(v[j], i + j * stride);
	}
	for (; i < a.n; i += stride)
		add(values[i], i);

	stats_done(a.stats, high, seen, thread < a.n, false);
	__syncthreads(); /* the sums are reused */
	stats_done(a.stats + 1, low, 0, thread < a.n, false);
}

/* Columns with null bits, and halves of 16-byte values: one value at a time. */
template <class T>
static __global__ void __launch_bounds__(STATS_THREADS) null_stats_kernel(const __grid_constant__ stats_args a)
{
	stats_sum<T> s = {0, 0, 0, 0};
	bool valid = false, nulls = false;

#pragma unroll 4
	for (u64 r = blockIdx.x * (u64) STATS_THREADS + threadIdx.x; r < a.n; r += (u64) gridDim.x * STATS_THREADS)
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
	stats_done(a.stats, s, 0, valid, nulls);
}

/* Launches statistics and digits in one read.  Blocks take all shared memory for their counters. */
template <class T>
static gs_status
stats_and_counts(gs_cuda_engine *e, stats_args a, u64 n)
{
	const size_t bytes = gs_counter_bytes(e, n);
	int promised;

	GS_TRY(
		gs_cuda_blocks(e, (const void *) key_stats_kernel<T, true>, COUNT_THREADS, gs_counter_promise(e), &promised));
	a.most = gs_radix_most(e);
	a.way = gs_buckets_way(e, n);
	a.room = (u32) (bytes / sizeof(u32));
	key_stats_kernel<T, true><<<gs_cuda_grid(e, n, COUNT_THREADS * 8, 1), COUNT_THREADS, bytes, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Selects the kernel for a column of values, or halves of values, of this width. */
template <class T>
static gs_status
look_at(gs_cuda_engine *e, const stats_args &a, u64 n)
{
	const bool plain = a.nulls == NULL && a.stride == 1;
	const u32 blocks = gs_cuda_grid(e, n, STATS_THREADS * 8, 4);

	if constexpr (sizeof(T) >= 4)
		if (plain && a.counts != NULL)
			return stats_and_counts<T>(e, a, n);
	if (!plain)
		null_stats_kernel<T><<<blocks, STATS_THREADS, 0, e->stream>>>(a);
	else
		key_stats_kernel<T, false><<<blocks, STATS_THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* 16-byte values: both halves in one read or, with NULLs or unaligned, one after the other. */
static gs_status
look_at_16(gs_cuda_engine *e, stats_args a, u64 n)
{
	u64 wanted = (n + STATS_THREADS * 4 - 1) / (STATS_THREADS * 4), most = 2 * (u64) e->properties.multiProcessorCount;

	if (a.nulls == NULL && ((uintptr_t) a.values & 15) == 0)
	{
		key_stats16_kernel<<<(u32) (wanted < most ? wanted : most), STATS_THREADS, 0, e->stream>>>(a);
		return gs_cuda_status(cudaGetLastError());
	}
	a.stride = 2;
	a.offset = 1;
	GS_TRY(look_at<u64>(e, a, n));
	a.offset = 0;
	a.stats++;
	return look_at<u64>(e, a, n);
}

/* Enqueues a column's statistics, in two zeroed elements, the second for the low halves of GS_U128. */
gs_status
gs_order_key_stats(gs_cuda_engine *e, const gs_column *column, u64 n, gs_key_stats *stats, u32 *counts,
				   gs_dev_alphabet *alphabets, u32 *marks)
{
	gs_type type = column->spec.type;
	stats_args a = {column->values,
				   column->nulls,
				   n,
				   gs_order_flip(&column->spec),
				   gs_type_is_float(type),
				   1,
				   0,
				   stats,
				   counts,
				   0,
				   0,
				   0};

	if (type == GS_BYTES)
		return gs_order_key_stats_strings(e, column, n, stats, alphabets, marks);
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
			a.counts = NULL;
			return look_at_16(e, a, n);
	}
}
