/*
 * encode.cu: keys of rows as 64-bit words, and orders that need no sort.  One thread encodes one row, field by field.
 * Bytes per row: the columns' widths, and 8 written.
 */
#include "order.cuh"

#define ENCODE_THREADS 256
#define SHARED_FIELDS  16

/* Digits of the words, counted while they are encoded. */
struct encode_digits
{
	u32 *counts; /* GS_PLACE each; NULL: not counted */
	u32 digits, skip; /* skip: lowest bits of the word that have no digit */
	u32 widths[GS_PLACES];
};

#define ENCODE_SETS 2 /* sets of counters per block */

/* Returns the block's counters, in dynamic shared memory. */
static __device__ __forceinline__ u32 *
counters_of(const encode_digits &d)
{
	extern __shared__ u32 counters[];

	for (u32 i = threadIdx.x; i < ENCODE_SETS * (d.digits << d.widths[0]); i += ENCODE_THREADS)
		counters[i] = 0;
	return counters + (threadIdx.x / 32 % ENCODE_SETS) * (d.digits << d.widths[0]);
}

/* Counts a word's digits in the warp's set. */
static __device__ __forceinline__ void
count_word(u32 *mine, const encode_digits &d, u64 word)
{
	word >>= d.skip;
	for (u32 p = 0; p < d.digits; p++, mine += 1u << d.widths[0])
	{
		atomicAdd(mine + ((u32) word & ((1u << d.widths[p]) - 1)), 1);
		word >>= d.widths[p];
	}
}

/* Adds both sets to the global counters. */
static __device__ __forceinline__ void
add_counters(const encode_digits &d)
{
	extern __shared__ u32 counters[];

	const u32 place = d.widths[0], set = d.digits << place;

	for (u32 i = threadIdx.x; i < set; i += ENCODE_THREADS)
	{
		u32 c = counters[i] + counters[i + set];

		if (c != 0)
			atomicAdd(d.counts + (i >> place) * GS_PLACE + (i & ((1u << place) - 1)), c);
	}
}

struct encode_args
{
	gs_dev_key key;
	u64 n;
	u32 bits;
	u64 *words;
	const u32 *gate; /* do nothing unless NULL or *gate is 1 */
	encode_digits digits;
};

/* Encodes keys of any fields, one row per thread.  Few fields are in shared memory, as every row reads all of them. */
static __global__ void __launch_bounds__(ENCODE_THREADS) encode_kernel(const __grid_constant__ encode_args a)
{
	__shared__ gs_dev_field fields[SHARED_FIELDS];
	gs_dev_key key = a.key;

	if (a.gate != NULL && *a.gate != 1)
		return;

	u32 *const mine = counters_of(a.digits);

	if (key.nfields <= SHARED_FIELDS)
	{
		for (u32 i = threadIdx.x; i < key.nfields * sizeof(gs_dev_field) / 8; i += ENCODE_THREADS)
			((u64 *) fields)[i] = ((const u64 *) a.key.fields)[i];
		key.fields = fields;
	}
	__syncthreads();
	for (u64 r = blockIdx.x * (u64) ENCODE_THREADS + threadIdx.x; r < a.n; r += (u64) gridDim.x * ENCODE_THREADS)
	{
		gs_dev_place place = {0, 0};
		u64 word = gs_step(key, place, a.bits, (u32) r);

		a.words[r] = word;
		count_word(mine, a.digits, word);
	}
	__syncthreads();
	add_counters(a.digits);
}

/* A field's part of a word, for the kernel below. */
struct encode_part
{
	gs_dev_field f;
	u32 take, drop; /* bits taken, and bits below them */
};

#define MOST_PARTS 16
#define TOGETHER   4 /* rows per thread */

struct encode_parts_args
{
	u64 n;
	u64 *words;
	const u32 *gate;
	encode_digits digits;
	u32 nparts;
	encode_part parts[MOST_PARTS];
};

/* Computes a field's codes for several rows. */
static __device__ __forceinline__ void
field_codes(const gs_dev_field &f, const u64 (&row)[TOGETHER], u64 (&x)[TOGETHER])
{
	if (f.kind == GS_DEV_NULL)
	{
#pragma unroll
		for (int j = 0; j < TOGETHER; j++)
			x[j] = !f.null_code;
	}
	else
	{
		if (f.width == 8)
		{
#pragma unroll
			for (int j = 0; j < TOGETHER; j++)
				x[j] = *(const u64 *) (f.values + row[j] * f.stride);
		}
		else if (f.width == 4)
		{
#pragma unroll
			for (int j = 0; j < TOGETHER; j++)
				x[j] = ((const u32 *) f.values)[row[j]];
		}
		else if (f.width == 2)
		{
#pragma unroll
			for (int j = 0; j < TOGETHER; j++)
				x[j] = ((const u16 *) f.values)[row[j]];
		}
		else
		{
#pragma unroll
			for (int j = 0; j < TOGETHER; j++)
				x[j] = f.values[row[j]];
		}
		if (f.floats)
		{
#pragma unroll
			for (int j = 0; j < TOGETHER; j++)
				x[j] = f.width == 8 ? float_order(x[j], true) : float_order((u32) x[j], true);
		}
#pragma unroll
		for (int j = 0; j < TOGETHER; j++)
			x[j] = (((x[j] ^ f.flip) - f.base) >> f.shift) + f.bump;
	}
	if (f.nulls != NULL)
	{
#pragma unroll
		for (int j = 0; j < TOGETHER; j++)
			if (f.nulls[row[j] / 64] >> (row[j] % 64) & 1)
				x[j] = f.null_code;
	}
}

/* Encodes keys without strings, field by field for several rows at a time, so that their loads overlap. */
static __global__ void __launch_bounds__(ENCODE_THREADS)
encode_parts_kernel(const __grid_constant__ encode_parts_args a)
{
	if (a.gate != NULL && *a.gate != 1)
		return;

	u32 *const mine = counters_of(a.digits);

	__syncthreads();
	for (u64 base = blockIdx.x * (u64) (ENCODE_THREADS * TOGETHER) + threadIdx.x; base < a.n;
		 base += (u64) gridDim.x * (ENCODE_THREADS * TOGETHER))
	{
		u64 word[TOGETHER] = {};
		u64 row[TOGETHER];

#pragma unroll
		for (int j = 0; j < TOGETHER; j++)
			/* writing a row twice is harmless */
			row[j] = base + j * ENCODE_THREADS < a.n ? base + j * ENCODE_THREADS : base;
		for (u32 p = 0; p < a.nparts; p++)
		{
			const encode_part &part = a.parts[p];
			u64 x[TOGETHER];

			field_codes(part.f, row, x);
			/* a first field of 64 bits fills the word */
#pragma unroll
			for (int j = 0; j < TOGETHER; j++)
				word[j] = gs_append(word[j], (x[j] >> part.drop) & (~0ull >> (64 - part.take)), part.take);
		}
#pragma unroll
		for (int j = 0; j < TOGETHER; j++)
			if (base + j * ENCODE_THREADS < a.n)
			{
				a.words[row[j]] = word[j];
				count_word(mine, a.digits, word[j]);
			}
	}
	__syncthreads();
	add_counters(a.digits);
}

/* Splits the first bits of the key into parts.  Returns 0 if there are too many, or strings. */
static u32
parts_of(const gs_cuda_plan *plan, u32 bits, encode_part *parts)
{
	u32 n = 0, left = bits;

	for (u32 f = 0; f < plan->nfields && left > 0; f++)
	{
		const gs_dev_field &field = plan->fields[f];

		if (n == MOST_PARTS || field.kind == GS_DEV_BYTES)
			return 0;
		if (field.bits == 0)
			continue;
		parts[n].f = field;
		parts[n].take = field.bits < left ? field.bits : left;
		parts[n].drop = field.bits - parts[n].take;
		left -= parts[n++].take;
	}
	return left == 0 ? n : 0;
}

/* Enqueues the encoding of keys' first bits.  counts: digits of a sort that skips `skip` bits, from zero, or NULL. */
gs_status
gs_order_encode(gs_cuda_engine *e, const gs_cuda_plan *plan, u32 bits, u32 skip, u64 *words, u32 *counts,
				const u32 *gate)
{
	encode_digits d = {counts, 0, skip, {}};
	size_t shared;
	u64 wanted;
	int blocks;

	if (counts != NULL)
		d.digits = gs_radix_digits(bits - skip, gs_radix_most(e), d.widths);
	shared = ENCODE_SETS * GS_SORT_COUNTERS * sizeof(u32); /* the maximum, requested once */

	encode_parts_args b = {plan->rows, words, gate, d, 0, {}};
	encode_args a = {plan->key, plan->rows, bits, words, gate, d};

	b.nparts = parts_of(plan, bits, b.parts);
	if (b.nparts > 0)
	{
		GS_TRY(gs_cuda_blocks(e, (const void *) encode_parts_kernel, ENCODE_THREADS, shared, &blocks));
		wanted = (plan->rows + ENCODE_THREADS * TOGETHER - 1) / (ENCODE_THREADS * TOGETHER);
		encode_parts_kernel<<<(u32) (wanted < (u64) blocks ? wanted : blocks), ENCODE_THREADS, shared, e->stream>>>(b);
		return gs_cuda_status(cudaGetLastError());
	}
	GS_TRY(gs_cuda_blocks(e, (const void *) encode_kernel, ENCODE_THREADS, shared, &blocks));
	wanted = (plan->rows + ENCODE_THREADS - 1) / ENCODE_THREADS;
	encode_kernel<<<(u32) (wanted < (u64) blocks ? wanted : blocks), ENCODE_THREADS, shared, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Merges what a thread has seen now into what all have.  Returns true for both an ascent and a descent. */
static __device__ __forceinline__ bool
seen_both(u32 now, u32 &before, u32 *seen)
{
	if ((now & ~before) != 0)
	{
		before |= now;
		atomicOr(seen, before);
	}
	return *(volatile u32 *) seen == (GS_SEEN_FALL | GS_SEEN_RISE);
}

/* Checks the order of words, until both an ascent and a descent are known: soon, unless they are in order. */
static __global__ void __launch_bounds__(ENCODE_THREADS) check_kernel(const u64 *words, u64 n, u32 *seen)
{
	const u64 stride = (u64) gridDim.x * ENCODE_THREADS * 4;
	u32 s = 0;

	for (u64 i = (blockIdx.x * (u64) ENCODE_THREADS + threadIdx.x) * 4; i < n; i += stride)
	{
		u64 last = i > 0 ? words[i - 1] : 0;
		u32 now = 0;

#pragma unroll
		for (u32 j = 0; j < 4; j++)
			if (i + j < n)
			{
				u64 w = words[i + j];

				if (i + j > 0)
					now |= w < last ? GS_SEEN_FALL : GS_SEEN_RISE;
				last = w;
			}
		if (seen_both(now, s, seen))
			return;
	}
}

/* Enqueues a check whether words ascend, descend, or both; result in *seen. */
gs_status
gs_order_check(gs_cuda_engine *e, const u64 *words, u64 n, u32 *seen)
{
	check_kernel<<<gs_cuda_grid(e, n, 4 * ENCODE_THREADS, 8), ENCODE_THREADS, 0, e->stream>>>(words, n, seen);
	return gs_cuda_status(cudaGetLastError());
}

/* Checks the order of complete keys, of rows in arrival order. */
static __global__ void __launch_bounds__(ENCODE_THREADS) check_rows_kernel(gs_dev_key key, u64 n, u32 *seen)
{
	u32 s = 0;

	for (u64 i = blockIdx.x * (u64) ENCODE_THREADS + threadIdx.x + 1; i < n; i += (u64) gridDim.x * ENCODE_THREADS)
	{
		u32 now = gs_compare(key, gs_dev_place{0, 0}, (u32) i - 1, (u32) i) > 0 ? GS_SEEN_FALL : GS_SEEN_RISE;

		if (seen_both(now, s, seen))
			return;
	}
}

/* Enqueues that check, for keys longer than a word. */
gs_status
gs_order_check_rows(gs_cuda_engine *e, const gs_cuda_plan *plan, u32 *seen)
{
	check_rows_kernel<<<gs_cuda_grid(e, plan->rows, ENCODE_THREADS, 8), ENCODE_THREADS, 0, e->stream>>>(
		plan->key, plan->rows, seen);
	return gs_cuda_status(cudaGetLastError());
}

/* Writes row numbers in ascending or descending order; if seen is given, only if it says so. */
static __global__ void __launch_bounds__(ENCODE_THREADS)
sequence_kernel(u32 *order, u64 n, bool reverse, const u32 *seen)
{
	if (seen != NULL)
	{
		u32 s = *seen;

		if (s == (GS_SEEN_FALL | GS_SEEN_RISE))
			return;
		reverse = s == GS_SEEN_FALL;
	}
	for (u64 i = blockIdx.x * (u64) ENCODE_THREADS + threadIdx.x; i < n; i += (u64) gridDim.x * ENCODE_THREADS)
		order[i] = (u32) (reverse ? n - 1 - i : i);
}

/* Enqueues an order that needs no sort. */
gs_status
gs_order_sequence(gs_cuda_engine *e, u32 *order, u64 n, bool reverse, const u32 *seen)
{
	sequence_kernel<<<gs_cuda_grid(e, n, ENCODE_THREADS, 16), ENCODE_THREADS, 0, e->stream>>>(order, n, reverse, seen);
	return gs_cuda_status(cudaGetLastError());
}
