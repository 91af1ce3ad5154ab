/*
 * lookback.cuh: decoupled look-back, the mechanism of every primitive of the scan family.
 *
 * The input is divided into tiles.  A block takes a ticket, which is a tile number, so tiles start in order, and each
 * waits only for tiles that have started.  The block reduces its tile to a state and publishes that (PARTIAL).  It then
 * walks back over the status words of its predecessors, a window of 32 x GS_WINDOW at a time, adding states until it
 * meets a TOTAL, which includes everything before, or reaches the block's own previous tile.  The sum is the tile's
 * exclusive prefix; prefix + own state is published as TOTAL.  Input is read once and output written once.
 *
 * A tile with many counts (digits of a radix pass, labels of a split) has a status word and a walking thread for each
 * (radix/block.cuh, split.cu).
 *
 * A state and its flag share one status word (or w words with a flag each), accessed by single relaxed operations of
 * device scope.  A flag is therefore never seen without its value, and no fence is needed.
 *
 * Fallback.  CUDA does not guarantee that a block with a ticket keeps running.  A waiting warp that has seen no
 * progress for `patience` cycles reduces the missing tile itself from the input and walks on.  It publishes nothing on
 * behalf of the other block, so there is no race.
 *
 * In place there is no fallback (patience is 0).  A tile overwrites the input of earlier tiles, so a tile that was
 * skipped might be overwritten before it is read, and could not be reduced again.  These calls rely on ticket order
 * alone.  Relaxed order does not suffice either: a predecessor must have *read* its tile before this one writes there,
 * so a fence precedes each publication and follows each walk (release and acquire).
 *
 * Merrill and Garland, Single-pass Parallel Prefix Scan with Decoupled Look-back, NVR-2016-002, sections 4.1 to 4.4;
 * fallback after Smith, Levien and Owens, Decoupled Fallback, SPAA 2025.
 */
#ifndef GS_CUDA_BASE_LOOKBACK_CUH
#define GS_CUDA_BASE_LOOKBACK_CUH

#include "ops.cuh"

/* Status words that a lane reads per step of the walk; a step covers 32 times as many tiles. */
#ifndef GS_WINDOW
#define GS_WINDOW 4
#endif

/* The two top bits of a status word. */
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
 * Every state can be summed over a window of tiles: s[j] of lane l is the state of tile 32 j + l, counted from the
 * youngest; the first m tiles count.  All lanes get the result.  Most states commute, so one reduction suffices for any
 * window; window_in_order serves the others.
 */
#define GS_FOR_WINDOW(j) _Pragma("unroll") for (u32 j = 0; j < GS_WINDOW; j++)

/* Sums from the oldest tile to the youngest, for operations that do not commute. */
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

/* Sums over the lanes, with a single instruction where available. */
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

/* Sums the counts of a window.  All but the oldest are counts of one tile, so their sum fits 32 bits. */
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

/* The number of kept items. */
struct count_state
{
	u64 n;

	struct words
	{
		u64 w;
	};
	static __device__ __forceinline__ count_state zero() { return {0}; }
	static __device__ __forceinline__ count_state add(count_state a, count_state b) { return {a.n + b.n}; }

	/* Sums the counts. */
	static __device__ __forceinline__ count_state
	window(const count_state (&s)[GS_WINDOW], u32 m)
	{
		return {window_count(s, m)};
	}

	/* Stores state and flag as one word, which readers see together. */
	static __device__ __forceinline__ void
	store(words *d, count_state s, u64 flag)
	{
		store_relaxed(&d->w, flag << GS_FLAG_SHIFT | s.n);
	}

	/* Loads the state and returns the flag. */
	static __device__ __forceinline__ u64
	load(const words *d, count_state &s)
	{
		u64 w = load_relaxed(&d->w);

		s.n = w & GS_COUNT_MASK;
		return w >> GS_FLAG_SHIFT;
	}
};

/* The number of runs that have begun, and the position + 1 of the last start; 0: none. */
struct run_state
{
	u64 n, last;

	typedef u128 words;
	static __device__ __forceinline__ run_state zero() { return {0, 0}; }

	/* Adds an older and a younger state.  The last start is the younger one's, if it has any. */
	static __device__ __forceinline__ run_state
	add(run_state a, run_state b)
	{
		return {a.n + b.n, b.last ? b.last : a.last};
	}

	/* Sums the counts, and takes the last start from the youngest tile that has one. */
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

	/* Stores 128 bits in one access, for the reason above. */
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

/* A value of 4 or 8 bytes under an associative operation OP (ops.cuh). */
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

	/* Sums in any order, or in sequence if OP does not commute. */
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

	/* Stores values of up to 32 bits together with the flag. */
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

/* The number of keys that have begun, and OP over the values since the last one began.  128-bit sums take two words. */
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

	/* Adds an older and a younger state.  The older sum continues unless a key begins in the younger. */
	static __device__ __forceinline__ keyed_state
	add(keyed_state a, keyed_state b)
	{
		return {a.n + b.n, b.n ? b.v : OP::add(a.v, b.v)};
	}

	/* Sums the counts, and the values since the last key began. */
	static __device__ __forceinline__ keyed_state
	window(const keyed_state (&s)[GS_WINDOW], u32 m)
	{
		/* values count up to and including the youngest tile in which a key begins */
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

	/* Stores wide sums in two accesses, each with the flag. */
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

	/* Loads the state and returns the flag, which is GS_EMPTY while only one half has arrived. */
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
				flag = GS_EMPTY; /* between the two stores: not there yet */
		}
		else
			s.v = OP::from_bits(w.lo);
		return flag;
	}
};

/* ---------------------------------------------------------------- what all kernels are told */

/* In device memory, one per engine: counts fallbacks, and holds the stall that a test requests. */
struct gs_watch
{
	u32 fallbacks;	/* tiles reduced on behalf of another block */
	u32 timeouts;	/* stalled tiles that gave up waiting; the call would have hung */
	u32 last_done;	/* set by the last tile while a stall is requested */
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
	u32 stall;	   /* watch->stalled is in use */
	u32 in_place;  /* fences, no fallback */
	u32 delay;	   /* ns from publishing a tile to the first look at its predecessors */
	u32 light;	   /* that delay for a tile with little output */
	u32 pause;	   /* ns between two looks */
	u64 patience;  /* cycles without progress before a fallback; 0: never */
};

/* Cycles after which a stalled tile gives up: seconds, as other programs may occupy the GPU. */
#define GS_STALL_CYCLES 10000000000ll

/* Stalls a chosen tile, before it publishes anything, until the last tile is done.  For tests. */
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

/* Publishes a tile's state, by one thread, after a barrier that follows all reads of the tile. */
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

/* Neighbouring counts of a thread, or their status words, accessed together, so their flags agree. */
template <class WORD, int COUNT> struct alignas(sizeof(WORD) * COUNT) gs_counts
{
	WORD of[COUNT];
};

/* Loads all of a thread's counts in one access. */
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

/* Publishes several of a tile's counts. */
template <class WORD, int COUNT>
__device__ __forceinline__ void
publish_words(WORD *words, u32 tile, const gs_counts<WORD, COUNT> &count)
{
	store_words(words, tile == 0 ? GS_TOTAL : GS_PARTIAL, count);
}

/*
 * Returns a published tile's exclusive prefix and publishes the inclusive one.  Called by a whole warp.
 *
 * The walk ends at a TOTAL, at the latest at `known`, this warp's previous tile, with inclusive prefix `total`; both
 * are updated.  light: little output.  reduce(t), the fallback, computes the state of tile t by the whole warp.
 * (Reading a window in a function shared with reduce_fixed.cu slowed sweeps by up to a fifth.)
 */
template <class STATE, class REDUCE>
__device__ __forceinline__ STATE
look_back(typename STATE::words *words, u32 tile, STATE own, i64 &known, STATE &total, const gs_sweep &sweep,
		  bool light,
		  REDUCE reduce)
{
	STATE before = STATE::zero();
	i64 next = (i64) tile - 1; /* youngest predecessor not yet added */
	const u32 lane = lane_id();
	bool done = false;

	/*
	 * The prefix is needed only two iterations later, so there is time.  Every look costs bandwidth of the few L2
	 * slices that hold these words, and early looks find nothing and delay the stores that they wait for.
	 */
#ifdef GS_ORACLE
	return STATE::zero(); /* no look-back: wrong results, but shows the speed of everything else */
#endif
	if (sweep.delay)
		__nanosleep(light ? sweep.light : sweep.delay);

	while (!done)
	{
		STATE s[GS_WINDOW];
		u64 flag[GS_WINDOW];
		/* tiles of the window that count; the first missing one */
		u32 need = 32 * GS_WINDOW, hole, stuck = 0;
		long long waiting = 0;

		GS_FOR_WINDOW(j)
			flag[j] = GS_EMPTY;
		for (;;)
		{
			/* contiguous words in one access of the warp, all loads in flight together; later only missing ones */
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
			/* reduce the missing tile, and continue behind it */
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
