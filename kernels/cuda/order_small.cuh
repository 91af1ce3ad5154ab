/*
 * order_small.cuh: the pieces of an order of few rows in one launch: what the kernel knows, barriers, the look, and digit passes within
 * a cluster, the way for keys that bins do not spread.
 *
 * Passes: the rows lie in the shared memory of up to 16 blocks in the order so far, SHARE to a block.  Every block takes its rows into
 * registers, counts the digit per warp by ballots, tells all blocks its count of each digit, and puts rows where they belong, in
 * whichever block that is; the last pass writes row numbers.  Keys of more than 64 bits are sorted 64 bits at a time, the last
 * ones first.
 * After Merrill and Grimshaw, High Performance and Scalable Radix Sorting, PPL 2011, section 5; across a cluster instead of a block.
 */
#ifndef GS_ORDER_SMALL_CUH
#define GS_ORDER_SMALL_CUH

#include "order_fields.cuh"
#include "sort.h"

#define THREADS		512
#define WARPS		(THREADS / 32)
#define MOST_ITEMS	8					/* rows of a thread, in passes */
#define CLUSTER		16					/* blocks of a cluster at most */
#define MOST_BLOCKS (CLUSTER * MOST_ITEMS)
#define ROW_BITS	16
#define MOST_ROWS	(1u << ROW_BITS)
#define DIGITS		(1 << GS_PLACE_BITS) /* of a pass */
#define PAIRS		(DIGITS / 2)
#define GROUPS		(THREADS / PAIRS)
#define BIN_BITS	12
#define BINS		(1 << BIN_BITS)
#define MOST_IN_BIN 512
#define WINDOW		(THREADS + 2 * MOST_IN_BIN)
#define NEAR		64					/* rows on either side that are read before it is known how far bins reach */
#define LOOKS		(2 * GS_SMALL_COLUMNS)
#define FIELDS		(3 * GS_SMALL_COLUMNS)
#define KEY_WORDS	(GS_SMALL_COLUMNS * 129 / 64 + 1)

/* What warps and blocks tell each other about a column. */
struct small_look
{
	u64 not_min, max, ones, zeros;
	u32 flags; /* 1: some row is not NULL; 2: some is */
	u32 pad;
};

/*
 * What blocks tell each other, in device memory.  Two halves take turns: a launch uses one, which is zero, and clears the other.
 */
struct small_half
{
	u32 arrived[4]; /* blocks at each barrier */
	u32 seen, pad[3];
	u32 bins[BINS];
};

struct small_state
{
	small_half half[2];
	u64 looks[LOOKS][5][MOST_BLOCKS]; /* of each block: a small_look's numbers; written before they are read */
};

struct small_args
{
	gs_column columns[GS_SMALL_COLUMNS];
	u32 ncolumns;
	u32 n;
	u32 turn;	  /* which half */
	u32 bins;	  /* spread rows by bins first; else digit passes alone, in one block */
	small_state *state;
	u64 *words;	  /* of rows in bins */
	u16 *rows;
	u32 *order;
	gs_order_facts *facts; /* in host memory that the device reaches; may be NULL */
};

/* The dynamic shared memory of a block; words and rows of passes come behind it. */
struct small_shared
{
	union
	{
		small_look partial[LOOKS][WARPS];
		struct
		{
			u32 counters[WARPS][PAIRS];	  /* per warp: a digit's count, two to a word; later its place */
			u32 counts[CLUSTER][PAIRS + 4]; /* per block; then what it has seen of the order */
			u32 groups[GROUPS][PAIRS];	  /* sums over some warps */
			u32 base[DIGITS];			  /* where this block's rows of a digit go */
		};
		struct
		{
			u32 bin[BINS + 1]; /* this block's counts; where this block's rows of a bin go; where bins begin */
			u64 window[WINDOW];
			u16 window_rows[WINDOW];
		};
	};
	u32 sums[WARPS];
	gs_look look[LOOKS];
	gs_dev_field fields[FIELDS];
	gs_dev_place places[KEY_WORDS]; /* where each word of the key begins */
	u32 nfields, bits, words, seen;
};

static constexpr size_t
small_bytes(int items)
{
	return sizeof(small_shared) + (size_t) THREADS * items * (sizeof(u64) + sizeof(u16));
}

/* ---------------------------------------------------------------- the cluster */

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

static __device__ __forceinline__ void
cluster_arrive()
{
#if __CUDA_ARCH__ >= 900
	__syncwarp();
	asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
#endif
}

static __device__ __forceinline__ void
cluster_wait()
{
#if __CUDA_ARCH__ >= 900
	asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
	__syncthreads();
#endif
}

static __device__ __forceinline__ void
cluster_barrier()
{
	cluster_arrive();
	cluster_wait();
}

/* The same place of shared memory in another block. */
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

/*
 * All blocks meet; what they wrote to memory before, all see after.  A cluster has an instruction for that; larger grids, launched together,
 * count.  which: each barrier of a launch has a number.
 */
static __device__ __forceinline__ void
blocks_meet(small_half *half, u32 which)
{
	if (gridDim.x <= CLUSTER)
	{
		cluster_barrier();
		return;
	}
	__syncthreads();
	if (threadIdx.x == 0)
	{
		u32 there;

		asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(&half->arrived[which]) : "memory");
		do
			asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(there) : "l"(&half->arrived[which]) : "memory");
		while (there < gridDim.x);
	}
	__syncthreads();
}

/* ---------------------------------------------------------------- the look */

static __device__ __forceinline__ u64
lanes_max64(u64 x)
{
	u32 hi = lanes_max((u32) (x >> 32)), lo = lanes_max((u32) (x >> 32) == hi ? (u32) x : 0);

	return (u64) hi << 32 | lo;
}

static __device__ __forceinline__ u64
lanes_or64(u64 x)
{
	return (u64) lanes_or((u32) (x >> 32)) << 32 | lanes_or((u32) x);
}

static __device__ __forceinline__ small_look
lanes_look(small_look s)
{
	s.not_min = lanes_max64(s.not_min);
	s.max = lanes_max64(s.max);
	s.ones = lanes_or64(s.ones);
	s.zeros = lanes_or64(s.zeros);
	s.flags = lanes_or(s.flags);
	return s;
}

/* A value as an unsigned number in its column's order; half: of 16-byte values, 0 the upper one. */
static __device__ __forceinline__ u64
small_value(const gs_column &column, int half, u32 row)
{
	const gs_type type = column.spec.type;
	const bool floats = gs_order_floats(type);
	u64 x;

	switch (gs_order_width(type))
	{
		case 1:
			x = ((const u8 *) column.values)[row];
			break;
		case 2:
			x = ((const u16 *) column.values)[row];
			break;
		case 4:
			x = ((const u32 *) column.values)[row];
			if (floats)
				x = float_order((u32) x, true);
			break;
		case 8:
			x = ((const u64 *) column.values)[row];
			if (floats)
				x = float_order(x, true);
			break;
		default:
			x = ((const u64 *) column.values)[2 * row + 1 - half];
			break;
	}
	return x ^ (type == GS_U128 ? (column.spec.desc ? ~0ull : 0) : gs_order_flip(&column.spec));
}

static __device__ __forceinline__ bool
small_null(const gs_column &column, u32 row)
{
	return column.nulls != NULL && (column.nulls[row / 64] >> (row % 64) & 1);
}

static __device__ __forceinline__ void
see_value(small_look &s, u64 x, bool null)
{
	if (null)
	{
		s.flags |= 2;
		return;
	}
	s.flags |= 1;
	s.not_min = ~x > s.not_min ? ~x : s.not_min;
	s.max = x > s.max ? x : s.max;
	s.ones |= x;
	s.zeros |= ~x;
}

/* One thread's look at a column, or at one half of it. */
static __device__ __forceinline__ small_look
look_at(const gs_column &column, int half, u32 n)
{
	small_look s = {0, 0, 0, 0, 0, 0};

	for (u32 row = blockIdx.x * THREADS + threadIdx.x; row < n; row += gridDim.x * THREADS)
		see_value(s, small_value(column, half, row), small_null(column, row));
	return s;
}

/* Adds up what two threads have seen. */
static __device__ __forceinline__ void
add_look(small_look &s, const small_look &x)
{
	s.not_min = x.not_min > s.not_min ? x.not_min : s.not_min;
	s.max = x.max > s.max ? x.max : s.max;
	s.ones |= x.ones;
	s.zeros |= x.zeros;
	s.flags |= x.flags;
}

/* What all blocks have seen of a column, to each lane.  By one warp of each block: many more would wait for the same few lines. */
static __device__ __forceinline__ small_look
looks_of_blocks(const small_state *state, u32 c)
{
	const u64(*l)[MOST_BLOCKS] = state->looks[c];
	small_look x = {0, 0, 0, 0, 0, 0};

	for (u32 b = lane_id(); b < gridDim.x; b += 32)
		add_look(x, small_look{__ldcg(&l[0][b]), __ldcg(&l[1][b]), __ldcg(&l[2][b]), __ldcg(&l[3][b]), (u32) __ldcg(&l[4][b]), 0});
	return lanes_look(x);
}

static __device__ __forceinline__ gs_look
look_of(const small_look &x)
{
	gs_look l = {};

	l.not_min = x.not_min;
	l.max = x.max;
	l.ones = x.ones;
	l.zeros = x.zeros;
	l.valid = x.flags & 1;
	l.nulls = x.flags >> 1;
	return l;
}

/* Fields of all columns, and the places of the key at which its words begin.  By one thread. */
static __device__ void
make_fields(const small_args &a, small_shared &m)
{
	u32 n = 0, bits = 0, word = 0;

	for (u32 c = 0; c < a.ncolumns; c++)
		n += gs_column_fields(&a.columns[c], &m.look[2 * c], &m.fields[n]);
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
	m.seen = 0;
}

/* ---------------------------------------------------------------- passes */

/* A thread's part of the sort: its words and rows, and where they go. */
template <int ITEMS> struct small_items
{
	u64 word[ITEMS];
	u32 row[ITEMS]; /* unless packed into the words */
	u32 rank[ITEMS];
};

/*
 * Ranks one digit of all rows in the cluster: rank[i] becomes a row's place among all rows.  Returns what all blocks have put into m.seen.
 */
template <int ITEMS>
static __device__ __forceinline__ u32
rank_digit(small_shared &m, small_items<ITEMS> &s, u32 shift, u32 mask, u32 blocks, u32 self)
{
	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();
	const u32 pair = thread % PAIRS, group = thread / PAIRS; /* two digits; some of the warps */
	u16 *const counter = (u16 *) m.counters[warp];
	u32 count[WARPS / GROUPS], sum = 0, before = 0, seen;

	/* 1. places among a warp's rows */
	for (u32 i = lane * 4; i < PAIRS; i += 128)
		*(uint4 *) &m.counters[warp][i] = make_uint4(0, 0, 0, 0);
	__syncwarp();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		u32 d = (u32) (s.word[i] >> shift) & mask, alike = lanes_alike<GS_PLACE_BITS>(d);
		u32 below = __popc(alike & lanes_below()), place = counter[d];

		__syncwarp();
		if (below == 0)
			counter[d] = (u16) (place + __popc(alike));
		__syncwarp();
		s.rank[i] = place + below;
	}
	__syncthreads();

	/* 2. over the block's warps; two counts of at most 8192 add up side by side */
#pragma unroll
	for (int j = 0; j < WARPS / GROUPS; j++)
	{
		count[j] = m.counters[group * (WARPS / GROUPS) + j][pair];
		sum += count[j];
	}
	m.groups[group][pair] = sum;
	__syncthreads();
	sum = 0;
#pragma unroll
	for (u32 g = 0; g < GROUPS; g++)
	{
		before += g < group ? m.groups[g][pair] : 0;
		sum += m.groups[g][pair];
	}
	if (pair <= mask / 2)
		for (u32 b = group; b < blocks; b += GROUPS)
			put(in_block(&m.counts[self][pair], b), sum);
	if (thread < blocks)
		put(in_block(&m.counts[self][PAIRS], thread), m.seen);
#pragma unroll
	for (int j = 0; j < WARPS / GROUPS; j++)
	{
		m.counters[group * (WARPS / GROUPS) + j][pair] = before;
		before += count[j];
	}
	cluster_barrier();

	/* 3. over blocks and digits */
	u32 total = 0, earlier = 0;

	if (thread <= mask)
		for (u32 b = 0; b < blocks; b++)
		{
			u32 c = m.counts[b][thread / 2] >> (thread % 2 * 16) & 0xffff;

			total += c;
			earlier += b < self ? c : 0;
		}
	seen = lanes_or(lane < blocks ? m.counts[lane][PAIRS] : 0);

	u32 upto = warp_inclusive(total);

	if (lane == 31)
		m.sums[warp] = upto;
	__syncthreads();
	static_assert(THREADS == DIGITS, "a thread for each digit");
	{
		u32 y = warp_inclusive(lane < WARPS ? m.sums[lane] : 0);

		y = __shfl_sync(GS_ALL_LANES, y, (warp + 31) & 31);
		m.base[thread] = (warp ? y : 0) + upto - total + earlier;
	}
	__syncthreads();
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		u32 d = (u32) (s.word[i] >> shift) & mask;

		s.rank[i] += m.base[d] + counter[d];
	}
	return seen;
}

/* The code of a row's key from a word on, at most 64 bits. */
static __device__ __forceinline__ u64
small_word(const small_shared &m, u32 row, u32 word)
{
	gs_dev_place place = m.places[word];

	if (m.nfields == 1)
		return gs_field_code(m.fields[0], row);
	return gs_step(gs_dev_key{m.fields, m.nfields}, place, min(64u, m.bits - word * 64), row);
}

/* Do rows come in order?  word: their keys, from lane to lane; first: that of the row before lane 0's. */
static __device__ __forceinline__ u32
small_seen(u64 word, u64 first, u32 row, u32 n)
{
	u64 older = shuffle_up(word, 1);

	if (lane_id() == 0)
		older = first;
	return lanes_or(row == 0 || row >= n ? 0 : word < older ? GS_SEEN_FALL : GS_SEEN_RISE);
}

/* The word of the row before lane 0's, to lane 0. */
static __device__ __forceinline__ u64
small_word_before(const small_shared &m, u32 row, u32 n)
{
	return lane_id() == 0 && row > 0 && row < n ? small_word(m, row - 1, 0) : 0;
}

/*
 * Sorts by digit passes and writes the order, in one cluster; if may_see, rows that come in order leave early.  Returns what was seen of
 * the order.
 */
template <int ITEMS>
static __device__ __forceinline__ u32
small_passes(const small_args &a, small_shared &m, u32 blocks, bool may_see, u32 &passes)
{
	constexpr u32 SHARE = THREADS * ITEMS;
	u64 *const words = (u64 *) (&m + 1);
	u16 *const rows = (u16 *) (words + SHARE);
	const u32 self = cluster_rank(), warp = threadIdx.x / 32, lane = lane_id();
	const u32 slot = warp * (32 * ITEMS) + lane, first = self * SHARE + slot; /* a thread's rows are 32 apart */
	const u32 bits = m.bits;
	const bool packed = bits + ROW_BITS <= 64;
	small_items<ITEMS> s;

	for (u32 w = m.words; w-- > 0;)
	{
		u32 widths[GS_PLACES], digits = gs_radix_digits(min(64u, bits - w * 64), GS_PLACE_BITS, widths), at = packed ? ROW_BITS : 0, now = 0;

		/* 1. words; what is behind the last row is greater than all and stays last */
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			const u32 row = w + 1 == m.words ? first + i * 32 : rows[slot + i * 32];

			s.row[i] = row;
			s.word[i] = first + i * 32 < a.n ? small_word(m, row, w) : ~0ull;
			if (may_see)
				now |= small_seen(s.word[i], small_word_before(m, row, a.n), row, a.n);
			if (packed && first + i * 32 < a.n)
				s.word[i] = s.word[i] << ROW_BITS | row;
		}
		if (lane == 0 && now != 0)
			atomicOr(&m.seen, now);

		/* 2. digits, from the lowest */
		for (u32 p = 0; p < digits; p++)
		{
			const bool last = p + 1 == digits; /* of this word */
			u32 seen = rank_digit<ITEMS>(m, s, at, (1u << widths[p]) - 1, blocks, self);

			at += widths[p];
			if (may_see && passes == 0 && seen != (GS_SEEN_FALL | GS_SEEN_RISE))
				return seen;
			passes++;
			if (last && w == 0)
				break;
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
			{
				u32 b = s.rank[i] / SHARE, to = s.rank[i] % SHARE;

				if (packed || !last)
					put(in_block(words + to, b), s.word[i]);
				if (!packed)
					put(in_block(rows + to, b), (u16) s.row[i]);
			}
			cluster_barrier();
			if (last)
				break;
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
			{
				s.word[i] = words[slot + i * 32];
				if (!packed)
					s.row[i] = rows[slot + i * 32];
			}
		}
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		if (s.rank[i] < a.n)
			a.order[s.rank[i]] = packed ? (u32) s.word[i] & (MOST_ROWS - 1) : s.row[i];
	return GS_SEEN_FALL | GS_SEEN_RISE;
}

#endif
