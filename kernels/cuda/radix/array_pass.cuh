/*
 * array_pass.cuh: one digit pass over keys, optionally with values, or over segments (args.cuh).  README.md describes
 * its steps and the papers behind them.  Bytes per item: key and value, read and written.
 */
#ifndef GS_CUDA_RADIX_ARRAY_PASS_CUH
#define GS_CUDA_RADIX_ARRAY_PASS_CUH

#include "block.cuh"
#include "radix.cuh"

/* A block's tile in a pass over keys.  VALUE, FLOATS: a value's, a float key's bytes, or 0.  SEGMENTS: of a table. */
template <gs_radix_io IN, gs_radix_io OUT, int VALUE, int FLOATS, bool SEGMENTS>
struct array_tile : radix_block<radix_traits<GS_KEY_BITS, IN, VALUE>>
{
	typedef radix_traits<GS_KEY_BITS, IN, VALUE> P;
	typedef radix_block<P> block;
	using typename block::bins;
	using typename block::payload;
	using typename block::word;
	using block::BINS;
	using block::TILE;
	using block::lane;
	using block::thread;
	using block::warp;
	static constexpr int THREADS = P::THREADS, ITEMS = P::ITEMS;
	static constexpr bool PAIRS = IN == GS_PAIRS4, KEPT = P::KEPT, LATE = VALUE != 0 && !KEPT;
	typedef typename item_of<IN == GS_KEYS4 || PAIRS ? 4 : 8>::type value; /* what is read */

	static_assert(P::EACH == 1, "a thread has a digit");

	const gs_radix_args &a;
	const value *in;
	const payload *values;
	payload *out_values;
	void *out;
	u32 mine;			 /* a warp's items are contiguous in the tile, a thread's are 32 apart */
	int items = ITEMS;	 /* per thread; fewer in a segment's partial tile */
	gs_radix_tile here = {}; /* tile of a segment */

	/* Sets where the thread reads; follow_step or the segment sets the rest. */
	__device__ __forceinline__
	array_tile(const gs_radix_args &args) : a(args), in((const value *) args.in)
	{
		values = (const payload *) a.values;
		out_values = (payload *) a.out_values;
		out = a.out;
		mine = warp * (32 * ITEMS) + lane;
	}

	/* Looks up the input and output of this pass on the device.  Returns false if there is nothing to do. */
	__device__ __forceinline__ bool
	follow_step()
	{
		if (a.step != NULL)
		{
			gs_radix_step step = *a.step;

			if (!step.active)
				return false;
			in = (const value *) a.keys_at[step.from];
			out = a.keys_at[step.to];
			values = (const payload *) a.values_at[step.from];
			out_values = (payload *) a.values_at[step.to];
		}
		return true;
	}

	/* Returns a key's digit.  Keys are unencoded, so that of a float is taken from its order. */
	__device__ __forceinline__ u32
	digit(word x) const
	{
		if constexpr (FLOATS != 0)
		{
			typedef typename item_of<FLOATS == 0 ? 4 : FLOATS>::type bits;

			const bits code = float_order((bits) (x >> 8 * (sizeof(word) - FLOATS)), true);

			return ((u32) (code >> a.shift) & a.mask) ^ a.flip;
		}
		return ((u32) (x >> a.shift) & a.mask) ^ a.flip;
	}

	/* Returns the digit of item i.  Places after the last item have the last digit. */
	__device__ __forceinline__ u32
	digit_of(int i, word x, u32 valid) const
	{
		return FLOATS && mine + i * 32 >= valid ? a.mask : digit(x);
	}

	/* Applies act to a thread's items.  The compiler unrolls whole tiles; partial ones run fewer iterations. */
	template <class ACT>
	__device__ __forceinline__ void
	each_item(ACT act) const
	{
		if (!SEGMENTS || items == ITEMS)
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				act(i);
		}
		else
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				if (i < items)
					act(i);
		}
	}

	/* Returns a tile's first item. */
	__device__ __forceinline__ u64
	begin_of(u32 tile) const
	{
		if constexpr (SEGMENTS)
			return here.start;
		return (u64) (a.first + tile) * TILE;
	}

	/* Returns the number of items in a tile; the last one may be partial. */
	__device__ __forceinline__ u32
	valid_of(u32 tile) const
	{
		if constexpr (SEGMENTS)
			return here.valid;

		u64 left = a.n - (u64) (a.first + tile) * TILE;

		return left < TILE ? (u32) left : TILE;
	}

	/* Loads an item, bypassing caches, as it is read once.  Combines a pair to a word. */
	__device__ __forceinline__ word
	word_at(u64 at) const
	{
		word x = __ldcs(in + at);

		if constexpr (PAIRS)
			return x << 32 | __ldcs((const u32 *) values + at);
		return x;
	}

	/* Loads a tile's items.  Fills a partial one with the last key first: a choice per item costs registers. */
	__device__ __forceinline__ void
	load(word (&k)[ITEMS], u32 tile) const
	{
		u64 at = begin_of(tile) + mine;
		u32 valid = valid_of(tile);

		if (valid == TILE)
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = word_at(at + i * 32);
		}
		else
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = (word) ~a.key_flip;
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				if ((!SEGMENTS || i < items) && mine + i * 32 < valid)
					k[i] = word_at(at + i * 32);
		}
	}

	/* Copies the ticket's tile from the table to the thread. */
	__device__ __forceinline__ void
	take_broadcast()
	{
		here = *this->broadcast;
		items = (here.valid + THREADS - 1) / THREADS;
		mine = warp * 32 * items + lane;
	}

	/* Takes the first ticket and initializes the values' barrier, by one thread. */
	__device__ __forceinline__ void
	take_first_ticket() const
	{
		const u32 first = atomicAdd(a.sweep.ticket, 1);

		*this->ticket = first;
		if (SEGMENTS && first < a.sweep.tiles)
			*this->broadcast = a.tiles[first];
#if __CUDA_ARCH__ >= 900
		if (KEPT)
		{
			barrier_init(this->arrived, 1);
			asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		}
#endif
	}

	/* Takes the next ticket, by one thread, and prefetches its tile into L2. */
	__device__ __forceinline__ void
	take_ticket() const
	{
		u32 next = atomicAdd(a.sweep.ticket, 1);

		*this->ticket = next;
		if (SEGMENTS && next < a.sweep.tiles)
		{
			const gs_radix_tile t = a.tiles[next];

			*this->broadcast = t;
			if (a.prefetch)
				prefetch_items(in + t.start, t.valid * (u32) sizeof(value));
			if ((VALUE || PAIRS) && a.prefetch)
				prefetch_items(values + t.start, t.valid * (u32) sizeof(payload));
		}
#if __CUDA_ARCH__ >= 900
		if (!SEGMENTS && a.prefetch && next + 1 < a.sweep.tiles)
			asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in + (u64) (a.first + next) * TILE),
						 "r"((u32) (TILE * sizeof(value)))
						 : "memory");
		if (!SEGMENTS && (VALUE || PAIRS) && a.prefetch_values && next + 1 < a.sweep.tiles)
			asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(values + (u64) (a.first + next) * TILE),
						 "r"((u32) (TILE * sizeof(payload)))
						 : "memory");
#endif
	}

	/* Returns whether the tile's values come by bulk copy. */
	__device__ __forceinline__ bool
	bulk_values(u32 valid) const
	{
		return KEPT && valid == TILE &&
			   (SEGMENTS ? a.prefetch && ((u64) (values + here.start) & 15) == 0 : a.prefetch_values);
	}

	/* Returns where a digit begins in the tile's segment. */
	__device__ __forceinline__ u32
	begin_in_segment() const
	{
		return a.counts[(u64) here.segment * a.stride + thread];
	}

	/*
	 * Sums the thread's digit over preceding tiles, which yields the place of its own words, and publishes the sum
	 * including them.  begin: start of the digit in its segment, known to the segment's first tile.
	 */
	__device__ __forceinline__ void
	look_back(u32 tile, u32 begin, const bins &count, const bins &start) const
	{
		const u32 segment = here.start - here.index * TILE; /* start of the segment */
		const u32 *status = a.status + (u64) (SEGMENTS ? tile - here.index : 0) * BINS + thread;
		const u32 before = SEGMENTS ? here.index : tile;
		const bins sum = block::look_back(a.sweep, status, (i32) before - 1, bins{begin}, [&](u32 t, bins &s) {
			const value *p = in + (SEGMENTS ? segment + (u64) t * TILE : (u64) (a.first + t) * TILE);

			if (SEGMENTS && t == 0)
				s.of[0] += begin_in_segment();
#pragma unroll 8
			for (u32 i = 0; i < TILE; i++)
				this->count_word(digit((word) p[i] << (PAIRS ? 32 : 0)), s);
		});

		if (before > 0)
		{
			bins upto = sum;

			this->add(upto, count);
			store_words(a.status + (u64) tile * BINS + thread, GS_TOTAL, upto);
		}
		this->to[thread] = (SEGMENTS ? segment : this->base[thread]) + sum.of[0] - start.of[0];
		if (!SEGMENTS && tile + 1 == a.sweep.tiles && a.next_bases != NULL)
			a.next_bases[thread] = this->base[thread] + sum.of[0] + count.of[0];
		if (tile + 1 == a.sweep.tiles && a.sweep.stall && thread == 0)
			atomicExch(&a.sweep.watch->last_done, 1);
	}

	/* Starts to copy the tile's values to shared memory, bypassing registers, unless they are read late. */
	__device__ __forceinline__ void
	fetch_values(const payload *from, u32 valid, bool bulk) const
	{
		if constexpr (KEPT)
			copy_ahead<ITEMS, TILE>(this->payloads, from, mine, valid, items, bulk, this->arrived);
	}

	/* Writes the tile place by place, with values from shared memory or, if late, from `from`. */
	__device__ __forceinline__ void
	write(u32 valid, const payload *from) const
	{
#pragma unroll
		for (int i = 0; i < ITEMS; i++)
		{
			if (SEGMENTS && i * THREADS >= valid)
				break;

			u32 j = i * THREADS + thread;
			word x = this->words[j];
			u32 p = this->to[digit(x)] + j;

			if (j < valid)
			{
				if (OUT == GS_PAIRS4)
				{
					((u32 *) out)[p] = (u32) ((u64) x >> 32);
					((u32 *) out_values)[p] = (u32) x;
				}
				else
					((word *) out)[p] = x;
				if constexpr (KEPT)
					out_values[p] = this->payloads[this->origin[j]];
				else if constexpr (LATE)
					out_values[p] = __ldg(from + this->origin[j]);
			}
		}
	}
};

/* The pass, in the steps of README.md, over keys, pairs, keys with values, or segments of these. */
template <gs_radix_io IN, gs_radix_io OUT, int VALUE, int FLOATS, bool SEGMENTS>
__global__ void
__launch_bounds__(gs_radix_here<GS_KEY_BITS, IN, VALUE>::threads, gs_radix_here<GS_KEY_BITS, IN, VALUE>::blocks)
array_pass(const __grid_constant__ gs_radix_args a)
{
	typedef array_tile<IN, OUT, VALUE, FLOATS, SEGMENTS> pass;
	typedef typename pass::bins bins;
	typename pass::word k[pass::ITEMS]; /* not in the tile: would be local memory until loops unroll */
	u32 parity = 0;

	if (!pass::P::shape::exists) /* never launched */
		return;
	if (a.gate != NULL && *a.gate != a.gate_open)
		return;

	pass b(a);

	if (!b.follow_step())
		return;

	/* 0. starts of digits in the output, unless segments' first tiles provide them; the first ticket */
	if (!SEGMENTS)
		b.begin_digits(a, [&](u32 digit) { return digit ^ a.flip; });
	if (b.thread == 0)
		b.take_first_ticket();
	__syncthreads();

	u32 tile = *b.ticket;

	if (SEGMENTS)
		b.take_broadcast();
	__syncthreads(); /* all threads have it before the next one replaces it */
	if (tile < a.sweep.tiles)
		b.load(k, tile);
	while (tile < a.sweep.tiles)
	{
		const u32 valid = b.valid_of(tile);
		const bool bulk = b.bulk_values(valid);
		const typename pass::payload *values = b.values + (VALUE ? b.begin_of(tile) : 0); /* of the tile */
		u32 begin = 0; /* start of the thread's digit in its segment; first tiles only */

		/* 1. take the next ticket and prefetch its tile; start to copy this one's values */
		if (b.thread == pass::THREADS - 1)
			b.take_ticket();
		if (SEGMENTS && b.here.index == 0 && b.thread < pass::BINS)
			begin = b.begin_in_segment();
		b.fetch_values(values, valid, bulk);

		/* 2. count the digits of each warp, by atomics without result */
		b.clear_counters();
		b.each_item([&](int i) { atomicAdd(b.counter + b.digit_of(i, k[i], valid), 1); });
		b.stall(a, tile);
		__syncthreads();

		/* 3. sum the tile's count of each digit and publish it at once */
		const bins count = b.sum_counters();

		if (b.thread < pass::BINS)
			publish_words(a.status + (u64) tile * pass::BINS + b.thread, SEGMENTS ? b.here.index : tile,
						  bins{count.of[0] + begin});

		/* 4. turn counters into places in the tile */
		const bins start = b.counters_to_places(count);

		/* 5. move words to their places */
		__syncthreads();
		b.each_item([&](int i) {
			const u32 place = b.rank(b.digit_of(i, k[i], valid));

			b.words[place] = k[i];
			if (VALUE)
				b.origin[place] = (u16) (b.mine + i * 32);
		});

		/* 6. look back, one thread per digit */
		if (b.thread < pass::BINS)
			b.look_back(tile, begin, count, start);
		if (pass::KEPT)
		{
			wait_for_copies(bulk, b.arrived, parity);
			parity ^= bulk;
		}
		__syncthreads();

		/* 7. load the next tile into registers, then write this one */
		tile = *b.ticket;
		if (SEGMENTS)
			b.take_broadcast();
		if (tile < a.sweep.tiles)
			b.load(k, tile);
		b.write(valid, values);
		if (pass::KEPT)
			bulk_fence();
		__syncthreads();
	}
}

/* A pass over keys or segments, over any number of tiles.  inst/ lists the instances. */
template <gs_radix_io IN, gs_radix_io OUT, int VALUE, int FLOATS, bool SEGMENTS>
static gs_status
launch_array(gs_cuda_engine *e, gs_radix_args &a)
{
	return gs_radix_launch(e, gs_radix_shape_of(*e->tuning, GS_KEY_BITS, IN, VALUE),
						   array_pass<IN, OUT, VALUE, FLOATS, SEGMENTS>, a);
}

/* Keys alone, or with values of 4 or 8 bytes.  4-byte keys with 4-byte values are pairs. */
template <bool FLOATS, bool SEGMENTS>
static gs_status
launch_keys(gs_cuda_engine *e, size_t key_bytes, size_t value_width, gs_radix_args &a)
{
	constexpr int FLOATS4 = FLOATS ? 4 : 0, FLOATS8 = FLOATS ? 8 : 0;

	if (key_bytes == 4)
		return value_width == 8 ? launch_array<GS_KEYS4, GS_KEYS4, 8, FLOATS4, SEGMENTS>(e, a)
								: launch_array<GS_KEYS4, GS_KEYS4, 0, FLOATS4, SEGMENTS>(e, a);
	return value_width == 4	  ? launch_array<GS_KEYS8, GS_KEYS8, 4, FLOATS8, SEGMENTS>(e, a)
		   : value_width == 8 ? launch_array<GS_KEYS8, GS_KEYS8, 8, FLOATS8, SEGMENTS>(e, a)
							  : launch_array<GS_KEYS8, GS_KEYS8, 0, FLOATS8, SEGMENTS>(e, a);
}

/* Pairs: two arrays in the first pass, words in between, two arrays in the last. */
template <bool FLOATS, bool SEGMENTS>
static gs_status
launch_pairs(gs_cuda_engine *e, bool first, bool last, gs_radix_args &a)
{
	constexpr int FLOATS4 = FLOATS ? 4 : 0;

	if (first)
		return last ? launch_array<GS_PAIRS4, GS_PAIRS4, 0, FLOATS4, SEGMENTS>(e, a)
					: launch_array<GS_PAIRS4, GS_KEYS8, 0, FLOATS4, SEGMENTS>(e, a);
	return last ? launch_array<GS_KEYS8, GS_PAIRS4, 0, FLOATS4, SEGMENTS>(e, a)
				: launch_array<GS_KEYS8, GS_KEYS8, 0, FLOATS4, SEGMENTS>(e, a);
}

#endif
