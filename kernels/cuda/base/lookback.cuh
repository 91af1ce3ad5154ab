/*
 * lookback.cuh: decoupled look-back, the mechanism under every primitive of the scan family.
 *
 * The input is cut into tiles.  A block takes a ticket, which is a tile number, so tiles are started in order and every
 * tile waits only for tiles that have started.  It reduces its tile to a state, publishes that (PARTIAL), then walks
 * back over its predecessors' status words, a window of 32 x GS_WINDOW at a time, adding up states until it meets one
 * that is TOTAL, which stands for everything before, or comes to the block's own last tile.  The sum is the tile's
 * exclusive prefix; prefix + own state is published as TOTAL.  So the input is read once and the output written once.
 *
 * A tile with many counts (digits of a radix pass, labels of a split) has a word for each, and a thread for each walks
 * (radix/block.cuh, split.cu).
 *
 * A state and its flag share one status word (or w words with a flag each), written and read by single relaxed
 * accesses of device scope, so nobody ever sees a flag without its value and no fence is needed.
 *
 * Fallback.  CUDA does not promise that a block which has a ticket keeps running.  A waiting warp that has seen no
 * progress for `patience` cycles reduces the missing tile itself, from the input, and walks on.  It publishes nothing
 * on the other's behalf, so there is no race to lose.
 *
 * In place there is no fallback (patience is 0): a tile writes its output over the input of earlier tiles, so a tile
 * that is stepped over might be overwritten before it has been read, and could not be reduced again either.  These
 * calls rely on ticket order alone.  Nor is relaxed enough: that a predecessor has *read* its tile must happen before
 * we write there, so a fence stands before each publication and after each walk (release and acquire).
 *
 * Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, NVR-2016-002, sections 4.1 to 4.4;
 * fallback after Smith, Levien and Owens, Decoupled Fallback, SPAA 2025.
 */
#ifndef GS_CUDA_BASE_LOOKBACK_CUH
#define GS_CUDA_BASE_LOOKBACK_CUH

#include "ops.cuh"

/* Status words that a lane reads in one step of the walk; a step covers 32 times as many tiles. */
#ifndef GS_WINDOW
#define GS_WINDOW 4
#endif

/* In a status word's two top bits. */
enum : u64
{
	GS_EMPTY = 0,
	GS_PARTIAL = 1,
	GS_TOTAL = 2
};

#define GS_FLAG_SHIFT 62
#define GS_COUNT_MASK ((1ull << GS_FLAG_SHIFT) - 1)

/* ---------------------------------------------------------------- states: what a tile adds up to */

/*
 * Every state has a sum over a window of tiles: lane l holds in s[j] the state of the window's tile 32 j + l, counted
 * from the youngest; the first m tiles count.  All lanes get the result.  Most states add up in any order, which takes
 * one reduction however wide the window is; window_in_order serves the others.
 */
#define GS_FOR_WINDOW(j) _Pragma("unroll") for (u32 j = 0; j < GS_WINDOW; j++)

/* From the oldest tile to the youngest, for sums that do not commute. */
template <class STATE>
__device__ __forceinline__ STATE
window_in_order(const STATE (&s)[GS_WINDOW], u32 m)
{
	STATE sum = STATE::zero();

#pragma unroll
	for (int j = GS_WINDOW - 1; j >= 0; j--)
		if (32 * j < (int) m)
		{
			STATE x = 32 * j + lane_id() < m ? s[j] : STATE::zero();

#pragma unroll
			for (int d = 1; d < 32; d *= 2)
			{
				STATE older = shuffle_down(x, d);

				if (lane_id() + d < 32)
					x = STATE::add(older, x);
			}
			sum = STATE::add(sum, shuffle(x, 0));
		}
	return sum;
}

/* A sum over the lanes, by the one instruction where there is one. */
template <class OP>
__device__ __forceinline__ typename OP::value
warp_any_order(typename OP::value x)
{
	if constexpr (std::is_same<OP, add_u32>::value)
		return lanes_add(x);
	else if constexpr (std::is_same<OP, min_u32>::value)
		return lanes_min(x);
	else
	{
#pragma unroll
		for (int d = 16; d > 0; d /= 2)
			x = OP::add(x, shuffle_xor(x, d));
		return x;
	}
}

/* The counts of a window: all but the oldest are a tile's, so that 32 bits hold their sum. */
template <class STATE>
__device__ __forceinline__ u64
window_count(const STATE (&s)[GS_WINDOW], u32 m)
{
	u32 few = 0;
	u64 many = 0;

	GS_FOR_WINDOW(j)
	{
		u32 at = 32 * j + lane_id();

		if (at + 1 < m)
			few += (u32) s[j].n;
		if (at + 1 == m)
			many = s[j].n;
	}
	return lanes_add(few) + shuffle(many, (m - 1) & 31);
}

/* How many items are kept. */
struct count_state
{
	u64 n;

	struct words
	{
		u64 w;
	};
	static __device__ __forceinline__ count_state zero() { return {0}; }
	static __device__ __forceinline__ count_state add(count_state a, count_state b) { return {a.n + b.n}; }

	/* The counts' sum alone. */
	static __device__ __forceinline__ count_state
	window(const count_state (&s)[GS_WINDOW], u32 m)
	{
		return {window_count(s, m)};
	}

	/* State and flag are one word: no reader sees one without the other. */
	static __device__ __forceinline__ void
	store(words *d, count_state s, u64 flag)
	{
		store_relaxed(&d->w, flag << GS_FLAG_SHIFT | s.n);
	}

	/* Returns the flag. */
	static __device__ __forceinline__ u64
	load(const words *d, count_state &s)
	{
		u64 w = load_relaxed(&d->w);

		s.n = w & GS_COUNT_MASK;
		return w >> GS_FLAG_SHIFT;
	}
};

/* How many runs have begun, and the last begin: its position + 1, 0 for none. */
struct run_state
{
	u64 n, last;

	typedef u128 words;
	static __device__ __forceinline__ run_state zero() { return {0, 0}; }

	/* The older one first; the last begin is the younger one's, if it has any. */
	static __device__ __forceinline__ run_state
	add(run_state a, run_state b)
	{
		return {a.n + b.n, b.last ? b.last : a.last};
	}

	/* The last begin of the youngest tile that has one, beside the counts. */
	static __device__ __forceinline__ run_state
	window(const run_state (&s)[GS_WINDOW], u32 m)
	{
		u64 last = 0;
		bool found = false;

		GS_FOR_WINDOW(j)
		{
			u32 some = __ballot_sync(GS_ALL_LANES, 32 * j + lane_id() < m && s[j].last != 0);

			if (!found && some)
			{
				last = shuffle(s[j].last, __ffs(some) - 1);
				found = true;
			}
		}
		return {window_count(s, m), last};
	}

	/* 128 bits in one access, for the same reason. */
	static __device__ __forceinline__ void
	store(words *d, run_state s, u64 flag)
	{
		store_relaxed(d, u128{s.last, flag << GS_FLAG_SHIFT | s.n});
	}
	static __device__ __forceinline__ u64
	load(const words *d, run_state &s)
	{
		u128 w = load_relaxed(d);

		s.last = w.lo;
		s.n = w.hi & GS_COUNT_MASK;
		return w.hi >> GS_FLAG_SHIFT;
	}
};

/* A plain value under an associative operation OP (see ops.cuh), of 4 or 8 bytes. */
template <class OP> struct value_state
{
	typename OP::value v;

	typedef typename OP::value value;
	static constexpr bool small = sizeof(value) == 4;
	struct words
	{
		typename std::conditional<small, u64, u128>::type w;
	};
	static __device__ __forceinline__ value_state zero() { return {OP::zero()}; }
	static __device__ __forceinline__ value_state add(value_state a, value_state b) { return {OP::add(a.v, b.v)}; }

	/* In any order, or one after the other where that matters. */
	static __device__ __forceinline__ value_state
	window(const value_state (&s)[GS_WINDOW], u32 m)
	{
		if constexpr (!OP::commutes)
			return window_in_order(s, m);
		value sum = OP::zero();

		GS_FOR_WINDOW(j)
			if (32 * j + lane_id() < m)
				sum = OP::add(s[j].v, sum);
		return {warp_any_order<OP>(sum)};
	}

	/* Values of up to 32 bits fit a word with the flag. */
	static __device__ __forceinline__ void
	store(words *d, value_state s, u64 flag)
	{
		if constexpr (small)
			store_relaxed(&d->w, flag << GS_FLAG_SHIFT | OP::bits(s.v));
		else
			store_relaxed(&d->w, u128{OP::bits(s.v), flag << GS_FLAG_SHIFT});
	}
	static __device__ __forceinline__ u64
	load(const words *d, value_state &s)
	{
		if constexpr (small)
		{
			u64 w = load_relaxed(&d->w);

			s.v = OP::from_bits((u32) w);
			return w >> GS_FLAG_SHIFT;
		}
		else
		{
			u128 w = load_relaxed(&d->w);

			s.v = OP::from_bits(w.lo);
			return w.hi >> GS_FLAG_SHIFT;
		}
	}
};

/* Keys begun, and OP over the values since the last begin.  Sums of 128 bits take two words. */
template <class OP> struct keyed_state
{
	u64 n;
	typename OP::value v;

	static constexpr bool wide = sizeof(typename OP::value) == 16;
	struct words
	{
		u128 w[wide ? 2 : 1];
	};
	static __device__ __forceinline__ keyed_state zero() { return {0, OP::zero()}; }

	/* The older one first: a key's sum goes on from the older one unless a key begins in the younger. */
	static __device__ __forceinline__ keyed_state
	add(keyed_state a, keyed_state b)
	{
		return {a.n + b.n, b.n ? b.v : OP::add(a.v, b.v)};
	}

	/* The values since the last begin, beside the counts. */
	static __device__ __forceinline__ keyed_state
	window(const keyed_state (&s)[GS_WINDOW], u32 m)
	{
		/* values count up to and with the first tile in which a key begins */
		typename OP::value sum = OP::zero();
		u32 upto = m;
		bool found = false;

		GS_FOR_WINDOW(j)
		{
			u32 some = __ballot_sync(GS_ALL_LANES, 32 * j + lane_id() < m && s[j].n != 0);

			if (!found && some)
			{
				upto = 32 * j + __ffs(some);
				found = true;
			}
		}
		if (upto == 1)
			return {window_count(s, m), shuffle(s[0].v, 0)};
		GS_FOR_WINDOW(j)
			if (32 * j + lane_id() < upto)
				sum = OP::add(s[j].v, sum);
		return {window_count(s, m), warp_any_order<OP>(sum)};
	}

	/* A wide sum takes two accesses, each with the flag. */
	static __device__ __forceinline__ void
	store(words *d, keyed_state s, u64 flag)
	{
		if constexpr (wide)
		{
			store_relaxed(&d->w[0], u128{s.v.lo, flag << GS_FLAG_SHIFT | s.n});
			store_relaxed(&d->w[1], u128{s.v.hi, flag << GS_FLAG_SHIFT});
		}
		else
			store_relaxed(&d->w[0], u128{OP::bits(s.v), flag << GS_FLAG_SHIFT | s.n});
	}

	/* Returns the flag, GS_EMPTY while only one half has come. */
	static __device__ __forceinline__ u64
	load(const words *d, keyed_state &s)
	{
		u128 w = load_relaxed(&d->w[0]);
		u64 flag = w.hi >> GS_FLAG_SHIFT;

		s.n = w.hi & GS_COUNT_MASK;
		if constexpr (wide)
		{
			u128 x = load_relaxed(&d->w[1]);

			s.v = u128{w.lo, x.lo};
			if (x.hi >> GS_FLAG_SHIFT != flag)
				flag = GS_EMPTY; /* between the two stores: as good as not there yet */
		}
		else
			s.v = OP::from_bits(w.lo);
		return flag;
	}
};

/* ---------------------------------------------------------------- what all kernels are told */

/* In device memory, one per engine: counts fallbacks, and holds the stall that the test asks for. */
struct gs_watch
{
	u32 fallbacks;	/* tiles reduced on another block's behalf */
	u32 timeouts;	/* stalled tiles that gave up waiting: the call would have hung */
	u32 last_done;	/* set by the last tile while a stall is asked for */
	u32 nstalled;
	u32 stalled[8]; /* tiles that wait for last_done before they publish */
};

struct gs_sweep
{
	u32 *ticket;
	gs_watch *watch;
	u32 tiles;
	u32 stages;	   /* buffers of a block, at least 3 */
	u32 rounds;	   /* tiles / blocks, rounded up */
	u32 stall;	   /* look at watch->stalled */
	u32 in_place;  /* fences, no fallback */
	u32 delay;	   /* ns from the publication of a tile to the first look at its predecessors */
	u32 light;	   /* the same for a tile that has little to write out */
	u32 pause;	   /* ns between two looks */
	u64 patience;  /* cycles without progress before a fallback; 0: never */
};

/* After so many a stalled tile gives up: seconds, since other programs may have the GPU most of the time. */
#define GS_STALL_CYCLES 10000000000ll

/* The stall test: a chosen tile waits here, before it publishes anything, until the last tile is done. */
__device__ __noinline__ static void
stall_here(const gs_sweep &sweep, u32 tile)
{
	gs_watch *w = sweep.watch;

	for (u32 i = 0; i < w->nstalled; i++)
		if (w->stalled[i] == tile)
		{
			long long start = clock64();

			while (*(volatile u32 *) &w->last_done == 0)
				if (clock64() - start > GS_STALL_CYCLES)
				{
					atomicAdd(&w->timeouts, 1);
					break;
				}
		}
}

/* Publishes a tile's state; by one thread, after a barrier behind which the whole tile has been read. */
template <class STATE>
__device__ __forceinline__ void
publish(typename STATE::words *words, u32 tile, STATE own, const gs_sweep &sweep)
{
	if (sweep.stall)
		stall_here(sweep, tile);
	if (sweep.in_place)
		__threadfence();
	STATE::store(words + tile, own, GS_PARTIAL);
}

/* A word of 32 or 64 bits: two bits of flag, and a count. */
template <class WORD>
__device__ __forceinline__ WORD
status_word(u64 flag, WORD count)
{
	return (WORD) flag << (8 * sizeof(WORD) - 2) | count;
}

/* Publishes one of a tile's counts. */
template <class WORD>
__device__ __forceinline__ void
publish_word(WORD *word, u32 tile, WORD count)
{
	store_relaxed(word, status_word(tile == 0 ? GS_TOTAL : GS_PARTIAL, count));
}

/*
 * Neighbouring counts of one thread, or their status words: one access in memory, so that their flags are always the
 * same.
 */
template <class WORD, int COUNT> struct alignas(sizeof(WORD) * COUNT) gs_counts
{
	WORD of[COUNT];
};

/* One access for all of a thread's counts. */
template <int COUNT>
__device__ __forceinline__ gs_counts<u32, COUNT>
load_words(const u32 *p)
{
	static_assert(COUNT == 1 || COUNT == 2, "an access of at most 8 bytes");
	if constexpr (COUNT == 1)
		return {{load_relaxed(p)}};
	else
	{
		const u64 both = load_relaxed((const u64 *) p);

		return {{(u32) both, (u32) (both >> 32)}};
	}
}

/* Stores counts with a flag. */
template <class WORD, int COUNT>
__device__ __forceinline__ void
store_words(WORD *p, u64 flag, const gs_counts<WORD, COUNT> &c)
{
	if constexpr (COUNT == 1)
		store_relaxed(p, status_word(flag, c.of[0]));
	else
		store_relaxed((u64 *) p, (u64) status_word(flag, c.of[1]) << 32 | status_word(flag, c.of[0]));
}

/* Publishes some of a tile's counts. */
template <class WORD, int COUNT>
__device__ __forceinline__ void
publish_words(WORD *words, u32 tile, const gs_counts<WORD, COUNT> &count)
{
	store_words(words, tile == 0 ? GS_TOTAL : GS_PARTIAL, count);
}

/*
 * Returns a published tile's exclusive prefix and publishes the inclusive one.  Called by one whole warp.  The walk
 * ends where a TOTAL is met, at the latest at `known`, this warp's own last tile, whose inclusive prefix `total` it
 * still has; both are brought up to date.  light: the tile has little to write out.  reduce(t) is the fallback: tile
 * t's state computed by the warp from the input, the same in every lane.  (With the reading of a window in a function
 * of its own, which reduce_fixed.cu could share, sweeps were up to a fifth slower.)
 */
template <class STATE, class REDUCE>
__device__ __forceinline__ STATE
look_back(typename STATE::words *words, u32 tile, STATE own, i64 &known, STATE &total, const gs_sweep &sweep,
		  bool light,
		  REDUCE reduce)
{
	STATE before = STATE::zero();
	i64 next = (i64) tile - 1; /* the youngest predecessor not yet added */
	const u32 lane = lane_id();
	bool done = false;

	/*
	 * Nobody is in a hurry: the prefix is wanted two iterations later.  But every look costs bandwidth of the few parts
	 * of the second-level cache that hold these words, and looks that come too early find nothing and hold up the
	 * stores that they wait for.
	 */
#ifdef GS_ORACLE
	return STATE::zero(); /* no look-back at all: wrong results, but the speed of everything else */
#endif
	if (sweep.delay)
		__nanosleep(light ? sweep.light : sweep.delay);

	while (!done)
	{
		STATE s[GS_WINDOW];
		u64 flag[GS_WINDOW];
		/* tiles of the window that count; the first of them that is missing */
		u32 need = 32 * GS_WINDOW, hole, stuck = 0;
		long long waiting = 0;

		GS_FOR_WINDOW(j)
			flag[j] = GS_EMPTY;
		for (;;)
		{
			/* words side by side in one access of the warp, all accesses under way at once; later only those missing */
			GS_FOR_WINDOW(j)
				if (flag[j] == GS_EMPTY && 32 * j + lane < need)
				{
					i64 t = next - (i64) (32 * j + lane);

					if (t > known)
						flag[j] = STATE::load(words + t, s[j]);
					else
					{
						flag[j] = GS_TOTAL;
						s[j] = total;
					}
				}
			hole = 32 * GS_WINDOW;
			done = false;
			GS_FOR_WINDOW(j)
			{
				u32 totals = __ballot_sync(GS_ALL_LANES, flag[j] == GS_TOTAL);
				u32 empties = __ballot_sync(GS_ALL_LANES, flag[j] == GS_EMPTY);

				if (!done && totals)
				{
					need = 32 * j + __ffs(totals);
					done = true;
				}
				if (hole == 32 * GS_WINDOW && empties)
					hole = 32 * j + __ffs(empties) - 1;
			}
			if (hole >= need)
				break;
			if (waiting == 0 || hole != stuck)
			{
				waiting = clock64();
				stuck = hole;
			}
			else if (sweep.patience != 0 &&
					 __any_sync(GS_ALL_LANES, (u64) (clock64() - waiting) > sweep.patience))
				break;
			if (sweep.pause)
				__nanosleep(sweep.pause);
		}
		if (hole >= need)
		{
			before = STATE::add(STATE::window(s, need), before);
			next -= 32 * GS_WINDOW;
		}
		else
		{
			/* reduce the missing tile, and walk on behind it */
			if (hole > 0)
				before = STATE::add(STATE::window(s, hole), before);
			next -= hole;
			before = STATE::add(reduce((u32) next), before);
			if (lane == 0)
				atomicAdd(&sweep.watch->fallbacks, 1);
			next--;
			done = false;
		}
	}
	total = STATE::add(before, own);
	known = tile;
	if (lane == 0)
		STATE::store(words + tile, total, GS_TOTAL);
	if (sweep.in_place)
		__threadfence();
	if (sweep.stall && tile + 1 == sweep.tiles && lane == 0)
		atomicExch(&sweep.watch->last_done, 1);
	return before;
}

/* Sums the lanes' states in lane order, for reductions in the fallback. */
template <class STATE>
__device__ __forceinline__ STATE
warp_total(STATE s)
{
#pragma unroll
	for (int d = 1; d < 32; d *= 2)
	{
		STATE older = shuffle_up(s, d);

		if (lane_id() >= (u32) d)
			s = STATE::add(older, s);
	}
	return shuffle(s, 31);
}

#endif
