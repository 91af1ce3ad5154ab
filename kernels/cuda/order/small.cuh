/*
 * small.cuh: small orders' shared parts: memory, communication in a cluster, a thread's rows, statistics, key words.
 */
#ifndef GS_CUDA_ORDER_SMALL_CUH
#define GS_CUDA_ORDER_SMALL_CUH

#include "fields.cuh"
#include "../base/sort_testing.h"

#define THREADS		  512
#define WARPS		  (THREADS / 32)
#define MOST_ITEMS	  8	 /* rows per thread, in all steps but the last */
#define CLUSTER		  16 /* limit of blocks per cluster */
#define MOST_CLUSTERS 4
#define MOST_PLACES	  (MOST_ITEMS / MOST_CLUSTERS) /* places of the order that a thread ranks */
#define ROW_BITS	  16
#define MOST_ROWS	  (1u << ROW_BITS)
#define DIGITS		  (1 << GS_PLACE_BITS) /* of a pass */
#define PAIRS		  (DIGITS / 2)
#define GROUPS		  (THREADS / PAIRS)
#define BIN_BITS	  12
#define BINS		  (1 << BIN_BITS)
#define BIN_WORDS	  (BINS / 2) /* two counts per word: no bin has all rows, and fewer than 2^16 fit */
#define MOST_IN_BIN	  512
#define NEAR		  64 /* places on either side that are read before the reach of bins is known */
#define WINDOW		  (THREADS * MOST_PLACES + 2 * MOST_IN_BIN)
#define COLUMN_STATS		  (2 * GS_SMALL_COLUMNS)
#define FIELDS		  (3 * GS_SMALL_COLUMNS)
#define KEY_WORDS	  (GS_SMALL_COLUMNS * 129 / 64 + 1)

/* Statistics of a column that warps and blocks exchange. */
struct small_stats
{
	u64 not_min, max, ones, zeros;
	u32 flags; /* 1: some row is not NULL; 2: some is */
	u32 pad;
};

/* Counts of each cluster's bins, in device memory.  Zero between launches. */
struct small_state
{
	u32 bins[MOST_CLUSTERS][BIN_WORDS];
};

/* A column, or one half of 16-byte values, as read_values() and order_values() need it. */
struct small_source
{
	const u8 *values;
	u64 flip;
	u32 width, stride;
	u32 floats;
};

struct small_args
{
	small_source sources[COLUMN_STATS]; /* two per column: its values or their upper halves, and lower halves */
	gs_column columns[GS_SMALL_COLUMNS];
	u32 ncolumns;
	u32 n;
	u32 blocks;	  /* per cluster */
	u32 by_bins;  /* sort by bins first; otherwise by digit passes in one block */
	small_state *state;
	u64 *words;	  /* of the rows in bins */
	u16 *rows;
	u32 *order;
	gs_order_facts *facts; /* in host memory mapped to the device; may be NULL */
};

/* The dynamic shared memory of a block.  Words and rows of digit passes follow it. */
struct small_shared
{
	union
	{
		struct
		{
			small_stats partial[COLUMN_STATS][WARPS];
			small_stats received[COLUMN_STATS][CLUSTER]; /* from each block */
		};
		struct
		{
			u32 counters[WARPS][PAIRS];	  /* per warp: counts of digits, two per word; later places */
			u32 counts[CLUSTER][PAIRS + 4]; /* from each block; then what it has seen of the order */
			u32 groups[GROUPS][PAIRS];	  /* sums over groups of warps */
			u32 base[DIGITS];			  /* places of this block's rows by digit */
		};
		struct
		{
			u32 begin[BINS + 4]; /* where bins begin */
			u64 window[WINDOW];
			u16 window_rows[WINDOW];
		};
	};
	alignas(16) u32 bins[BIN_WORDS]; /* this block's counts; then those of the blocks before it */
	u32 sums[WARPS];
	gs_key_stats stats[COLUMN_STATS];
	gs_dev_field fields[FIELDS];
	gs_dev_place places[KEY_WORDS]; /* start of each word of the key */
	u32 nfields, bits, words, seen;
	u32 seen_by[CLUSTER]; /* order as seen by each block */
	u32 own[2];			  /* range of the order that this cluster writes */
};

/* Shared memory of a block with this many rows per thread: the tables, words, and 16-bit places. */
static constexpr size_t
small_bytes(int items)
{
	return sizeof(small_shared) + (size_t) THREADS * items * (sizeof(u64) + sizeof(u16));
}

/* ---------------------------------------------------------------- the cluster */

/* The block's rank in its cluster; 0 without clusters. */
static __device__ __forceinline__ u32
cluster_rank()
{
#if __CUDA_ARCH__ >= 900
	u32 r;

	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
	return r;
#else
	return 0;
#endif
}

/* Arrives at the cluster barrier.  Earlier writes are visible to all blocks after cluster_wait. */
static __device__ __forceinline__ void
cluster_arrive()
{
#if __CUDA_ARCH__ >= 900
	__syncwarp();
	asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

/* Arrives without publishing writes. */
static __device__ __forceinline__ void
cluster_arrive_relaxed()
{
#if __CUDA_ARCH__ >= 900
	__syncwarp();
	asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

/* Waits for the cluster barrier; without clusters, for that of the block. */
static __device__ __forceinline__ void
cluster_wait()
{
#if __CUDA_ARCH__ >= 900
	asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
	__syncthreads();
#endif
}

/* Arrives and waits. */
static __device__ __forceinline__ void
cluster_barrier()
{
	cluster_arrive();
	cluster_wait();
}

/* Maps a shared memory address to another block of the cluster. */
static __device__ __forceinline__ u32
in_block(const void *p, u32 rank)
{
	u32 at = shared_address(p);

#if __CUDA_ARCH__ >= 900
	asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(at) : "r"(rank));
#endif
	return at;
}

#if __CUDA_ARCH__ >= 900
#define CLUSTER_SPACE "shared::cluster"
#else
#define CLUSTER_SPACE "shared"
#endif

/* Stores to a block of the cluster, at an address from in_block. */
static __device__ __forceinline__ void
put(u32 at, u64 x)
{
	asm volatile("st." CLUSTER_SPACE ".u64 [%0], %1;" ::"r"(at), "l"(x) : "memory");
}

static __device__ __forceinline__ void
put(u32 at, u32 x)
{
	asm volatile("st." CLUSTER_SPACE ".u32 [%0], %1;" ::"r"(at), "r"(x) : "memory");
}

static __device__ __forceinline__ void
put(u32 at, u16 x)
{
	asm volatile("st." CLUSTER_SPACE ".u16 [%0], %1;" ::"r"(at), "h"(x) : "memory");
}

/* ---------------------------------------------------------------- rows */

/* Row i of a thread's, 32 apart, or the one before the first.  Lanes' are adjacent.  Beyond the end: the last row. */
template <int ITEMS>
static __device__ __forceinline__ u32
row_of(u32 first, int i, u32 n)
{
	return min(i < ITEMS ? first + i * 32 : max(first, 1u) - 1, n - 1);
}

/* Loads values, all in flight together. */
template <class T, int N>
static __device__ __forceinline__ void
read_items(u64 (&x)[N], const u8 *values, u32 stride, u32 first, u32 n)
{
#pragma unroll
	for (int i = 0; i < N; i++)
		x[i] = *(const T *) (values + (u64) row_of<N - 1>(first, i, n) * stride);
}

/* Loads the values of a thread's rows and of the row before them. */
template <int N>
static __device__ __forceinline__ void
read_values(u64 (&x)[N], const u8 *values, u32 width, u32 stride, u32 first, u32 n)
{
	switch (width)
	{
		case 1:
			read_items<u8>(x, values, stride, first, n);
			break;
		case 2:
			read_items<u16>(x, values, stride, first, n);
			break;
		case 4:
			read_items<u32>(x, values, stride, first, n);
			break;
		default:
			read_items<u64>(x, values, stride, first, n);
			break;
	}
}

/* Maps them to order-preserving unsigned numbers. */
template <int N>
static __device__ __forceinline__ void
order_values(u64 (&x)[N], bool floats, u32 width, u64 flip)
{
	if (floats)
	{
#pragma unroll
		for (int i = 0; i < N; i++)
			x[i] = width == 4 ? float_order((u32) x[i], true) : float_order(x[i], true);
	}
#pragma unroll
	for (int i = 0; i < N; i++)
		x[i] ^= flip;
}

/* Returns the mask of NULLs among a thread's rows. */
template <int N>
static __device__ __forceinline__ u32
read_nulls(const u64 *nulls, u32 first, u32 n)
{
	u32 bits = 0;

	if (nulls != NULL)
	{
#pragma unroll
		for (int i = 0; i < N; i++)
		{
			u32 row = row_of<N - 1>(first, i, n);

			bits |= (u32) (nulls[row / 64] >> (row % 64) & 1) << i;
		}
	}
	return bits;
}

/* Returns a thread's first row, with ITEMS per thread of its cluster. */
template <int ITEMS>
static __device__ __forceinline__ u32
first_row()
{
	return cluster_rank() * (THREADS * ITEMS) + threadIdx.x / 32 * (32 * ITEMS) + lane_id();
}

/* ---------------------------------------------------------------- key statistics */

/* Maximum over the lanes, by two 32-bit instructions: the greatest upper half, then the greatest lower half with it. */
static __device__ __forceinline__ u64
lanes_max64(u64 x)
{
	u32 hi = lanes_max((u32) (x >> 32)), lo = lanes_max((u32) (x >> 32) == hi ? (u32) x : 0);

	return (u64) hi << 32 | lo;
}

/* OR over the lanes, by halves. */
static __device__ __forceinline__ u64
lanes_or64(u64 x)
{
	return (u64) lanes_or((u32) (x >> 32)) << 32 | lanes_or((u32) x);
}

/* Merges the statistics of all lanes, for each of them. */
static __device__ __forceinline__ small_stats
lanes_stats(small_stats s)
{
	s.not_min = lanes_max64(s.not_min);
	s.max = lanes_max64(s.max);
	s.ones = lanes_or64(s.ones);
	s.zeros = lanes_or64(s.zeros);
	s.flags = lanes_or(s.flags);
	return s;
}

/* Adds a value.  Of NULLs, records only that there are some. */
static __device__ __forceinline__ void
see_value(small_stats &s, u64 x, bool null)
{
	const u64 ones = null ? 0 : x, zeros = null ? 0 : ~x;

	s.flags |= null ? 2 : 1;
	s.not_min = zeros > s.not_min ? zeros : s.not_min;
	s.max = ones > s.max ? ones : s.max;
	s.ones |= ones;
	s.zeros |= zeros;
}

/* Computes the statistics of a thread's values. */
template <int N>
static __device__ __forceinline__ small_stats
look_at(const u64 (&x)[N], u32 nulls)
{
	small_stats s = {0, 0, 0, 0, 0, 0};

#pragma unroll
	for (int i = 0; i < N; i++)
		see_value(s, x[i], nulls >> i & 1);
	return s;
}

/* Merges the statistics of a column over all blocks, for each lane. */
static __device__ __forceinline__ small_stats
stats_of_blocks(const small_shared &m, u32 blocks, u32 c)
{
	small_stats x = {0, 0, 0, 0, 0, 0};

	if (lane_id() < blocks)
		x = m.received[c][lane_id()];
	return lanes_stats(x);
}

/* Converts statistics to the form of the plan's functions. */
static __device__ __forceinline__ gs_key_stats
stats_of(const small_stats &x)
{
	gs_key_stats l = {};

	l.not_min = x.not_min;
	l.max = x.max;
	l.ones = x.ones;
	l.zeros = x.zeros;
	l.valid = x.flags & 1;
	l.nulls = x.flags >> 1;
	return l;
}

/* Makes the fields of all columns, and finds where the key's words start.  By one thread. */
static __device__ void
make_fields(const small_args &a, small_shared &m)
{
	u32 n = 0, bits = 0, word = 0;

	for (u32 c = 0; c < a.ncolumns; c++)
		n += gs_column_fields(&a.columns[c], &m.stats[2 * c], &m.fields[n]);
	for (u32 f = 0; f < n; f++)
	{
		/* a word begins in this field at every 64 bits of the key */
		while (word * 64 < bits + m.fields[f].bits)
		{
			m.places[word] = gs_dev_place{f, word * 64 - bits};
			word++;
		}
		bits += m.fields[f].bits;
	}
	m.nfields = n;
	m.bits = bits;
	m.words = (bits + 63) / 64;
}

/* Returns up to 64 bits of a row's key, from a word on. */
static __device__ __forceinline__ u64
small_word(const small_shared &m, u32 row, u32 word)
{
	gs_dev_place place = m.places[word];

	if (m.nfields == 1)
		return gs_field_code(m.fields[0], row);
	return gs_step(gs_dev_key{m.fields, m.nfields}, place, min(64u, m.bits - word * 64), row);
}

/* Computes the first words of the keys of a thread's rows and the one before, by field, all reads at once. */
template <int N>
static __device__ __forceinline__ void
small_words(u64 (&word)[N], const small_shared &m, u32 first, u32 n)
{
	const u32 room = min(64u, m.bits);

#pragma unroll
	for (int i = 0; i < N; i++)
		word[i] = 0;
#pragma unroll 1
	for (u32 f = 0, used = 0; used < room; f++)
	{
		const gs_dev_field &field = m.fields[f];
		const u32 take = min(field.bits, room - used), nulls = read_nulls<N>(field.nulls, first, n);
		u64 x[N];

		if (field.kind != GS_DEV_NULL)
		{
			read_values(x, field.values, field.width, field.stride, first, n);
			order_values(x, field.floats, field.width, field.flip);
		}
#pragma unroll
		for (int i = 0; i < N; i++)
		{
			u64 code = field.kind == GS_DEV_NULL ? !field.null_code : ((x[i] - field.base) >> field.shift) + field.bump;

			code = (nulls >> i & 1 ? field.null_code : code) >> (field.bits - take);
			word[i] = gs_append(word[i], code & gs_mask(take), take);
		}
		used += take;
	}
}

/* Checks the order of a thread's rows.  before: the word of the row before its first one. */
template <int ITEMS>
static __device__ __forceinline__ u32
small_seen(const u64 *word, u64 before, u32 first, u32 n)
{
	u32 seen = 0;

#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		u64 older =
			i == 0 ? before : shuffle(lane_id() == 31 ? word[max(i, 1) - 1] : word[i], (int) (lane_id() + 31) % 32);

		if (first + i > 0 && first + i * 32 < n)
			seen |= word[i] < older ? GS_SEEN_FALL : GS_SEEN_RISE;
	}
	return lanes_or(seen);
}

#endif
