/*
 * order_pass.cuh: one digit pass over a row order, from a column or words to words or row numbers (README.md).  Bytes
 * per row: 8 read and 8 written; pass 1 reads the column's width; a last pass writes 4.
 */
#ifndef GS_CUDA_RADIX_ORDER_PASS_CUH
#define GS_CUDA_RADIX_ORDER_PASS_CUH

#include "block.cuh"
#include "radix.cuh"

/* A block's tile during a pass, and the steps specific to row orders. */
template <int BITS, gs_radix_io IN, gs_radix_io OUT> struct order_tile : radix_block<radix_traits<BITS, IN, 0>>
{
	typedef radix_traits<BITS, IN, 0> P;
	typedef radix_block<P> block;
	using typename block::bins;
	using block::BINS;
	using block::EACH;
	using block::SHARE;
	using block::TILE;
	using block::thread;
	static constexpr int THREADS = P::THREADS, ITEMS = P::ITEMS;
	static constexpr bool COLUMN = IN == GS_COLUMN8 || IN == GS_COLUMN4;
	static constexpr bool DROPS = IN == GS_COLUMN8; /* words may lose the digit: 4 bytes and a row number fit one */
	/* words may drop the digit; 4-byte keys fit without */
	static constexpr bool CLOSED = OUT != GS_ROWS;
	typedef typename item_of<IN == GS_COLUMN4 ? 4 : 8>::type value;			   /* what is read */
	typedef typename std::conditional<COLUMN, value, u64>::type held;		   /* type in registers */

	const gs_radix_args &a;
	const value *in;
	u32 mine; /* a warp's items are contiguous in the tile, a thread's are 32 apart */

	/* Sets the thread's first place in any tile. */
	__device__ __forceinline__
	order_tile(const gs_radix_args &args) : a(args), in((const value *) args.in)
	{
		mine = this->warp * (32 * ITEMS) + this->lane;
	}

	/* Returns the digit of a word, or of a key that is still in a register. */
	__device__ __forceinline__ u32
	digit(u64 x) const
	{
		return (u32) (x >> a.shift) & a.mask;
	}

	/* Returns the number of items in a tile; the last one may be partial. */
	__device__ __forceinline__ u32
	valid_of(u32 tile) const
	{
		u64 left = a.n - (u64) (a.first + tile) * TILE;

		return left < TILE ? (u32) left : TILE;
	}

	/* Loads the thread's items of a tile.  Places after the last item have the last digit. */
	__device__ __forceinline__ void
	load(held (&k)[ITEMS], u32 tile) const
	{
		u64 at = (u64) (a.first + tile) * TILE + mine;
		u32 valid = valid_of(tile);

		if (valid == TILE)
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = __ldcs(in + (at + i * 32));
		}
		else
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = mine + i * 32 < valid ? (held) __ldcs(in + (at + i * 32)) : (held) ~0ull;
		}
	}

	/* Takes the next ticket, by one thread, and prefetches its tile into L2. */
	__device__ __forceinline__ void
	take_ticket(u32 *ticket) const
	{
		u32 next = atomicAdd(a.sweep.ticket, 1);

		*ticket = next;
#if __CUDA_ARCH__ >= 900
		if (a.prefetch && next + 1 < a.sweep.tiles)
			asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in + (u64) (a.first + next) * TILE),
						 "r"((u32) (TILE * sizeof(value)))
						 : "memory");
#endif
	}

	/* Turns a column's values into keys. */
	__device__ __forceinline__ void
	make_keys(held (&k)[ITEMS], u32 valid) const
	{
		if (COLUMN && valid == TILE && a.t.shift == 0 && a.t.plus == 0)
		{
			/* one instruction per half; a variable shift costs a tenth of the pass */
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = ((value) k[i] ^ (value) a.t.mask) & (value) a.t.keep;
		}
		else if (IN == GS_COLUMN8)
		{
			/* all, then those behind the end: selecting in the loop would keep all values twice */
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = (held) key_of_value((value) k[i], a.t);
			if (valid != TILE)
			{
#pragma unroll
				for (int i = 0; i < ITEMS; i++)
					if (mine + i * 32 >= valid)
						k[i] = (held) ~0ull;
			}
		}
		else if (COLUMN)
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = valid == TILE || mine + i * 32 < valid ? (held) key_of_value((value) k[i], a.t) : (held) ~0ull;
		}
	}

	/* Returns a key's word.  Words are returned as they are. */
	__device__ __forceinline__ u64
	word(held key, u32 row) const
	{
		if constexpr (!COLUMN)
			return key;
		else
		{
			u64 x = (u64) key << (a.row_bits - a.drop);

			return (DROPS ? x & ~(u64) a.row_mask : x) | row;
		}
	}

	/*
	 * Sums the thread's digits over preceding tiles, which yields the place of its own words, and publishes the sum
	 * including them.
	 */
	__device__ __forceinline__ void
	look_back(u32 tile, const bins &count, const bins &start) const
	{
		const u32 *status = a.status + thread * EACH;
		const bins sum = block::look_back(a.sweep, status, (i32) tile - 1, {}, [&](u32 t, bins &s) {
			const value *p = in + (u64) (a.first + t) * TILE;

#pragma unroll 8
			for (u32 i = 0; i < TILE; i++)
				this->count_word(digit(COLUMN ? (held) key_of_value(p[i], a.t) : (held) p[i]), s);
		});

		if (tile > 0)
		{
			bins upto = sum;

			this->add(upto, count);
			store_words(a.status + (u64) tile * BINS + thread * EACH, GS_TOTAL, upto);
		}
#pragma unroll
		for (u32 i = 0; i < EACH; i++)
		{
			const u32 d = thread * EACH + i;

			this->to[d] = this->base[d] + sum.of[i] - start.of[i] - (OUT == GS_ROWS ? a.rotate_by : 0);
			if (tile + 1 == a.sweep.tiles && a.next_bases != NULL)
				a.next_bases[d] = this->base[d] + sum.of[i] + count.of[i];
		}
		if (tile + 1 == a.sweep.tiles && a.sweep.stall && thread == 0)
			atomicExch(&a.sweep.watch->last_done, 1);
	}

	/* Returns the digit of the word at place j in the tile.  If the word has dropped it, searches for it. */
	__device__ __forceinline__ u32
	digit_at(u32 j, u64 x) const
	{
		if (DROPS && a.drop != 0)
		{
			u32 d = 0;

#pragma unroll
			for (u32 step = BINS / 2; step > 0; step /= 2)
				if (this->starts[d + step] <= j)
					d += step;
			return d;
		}
		return (u32) (x >> ((COLUMN ? a.row_bits : 0) + a.shift)) & a.mask;
	}

	/* Writes the tile place by place. */
	__device__ __forceinline__ void
	write_places(u32 valid) const
	{
#pragma unroll(EACH > 1 && OUT == GS_WORDS ? 4 : ITEMS)
		for (int i = 0; i < ITEMS; i++)
		{
			u32 j = i * THREADS + thread;
			u64 x = this->words[j];
			u32 p = this->to[digit_at(j, x)] + j;

			if (OUT == GS_ROWS && p >= (u32) a.n && a.rotate_by != 0)
				p += (u32) a.n;
			if (j < valid)
			{
				if (OUT == GS_ROWS)
					((u32 *) a.out)[p] = (u32) x & a.row_mask;
				else
					((u64 *) a.out)[p] = x;
			}
		}
	}
};

/* The pass, in the steps of README.md. */
template <int BITS, gs_radix_io IN, gs_radix_io OUT>
__global__ void
__launch_bounds__(gs_radix_here<BITS, IN, 0>::threads, gs_radix_here<BITS, IN, 0>::blocks)
order_pass(const __grid_constant__ gs_radix_args a)
{
	typedef order_tile<BITS, IN, OUT> pass;
	typedef typename pass::bins bins;
	typename pass::held k[pass::ITEMS]; /* not in the tile: would be local memory until loops unroll */
	u32 ticket_slot = 0;

	if (!pass::P::shape::exists) /* never launched */
		return;
	if (a.gate != NULL && *a.gate != a.gate_open)
		return;

	pass b(a);

	/* 0. starts of digits in the output; the first ticket */
	b.begin_digits(a, [](u32 digit) { return digit; });
	if (b.thread == 0)
		*b.ticket = atomicAdd(a.sweep.ticket, 1);
	__syncthreads();

	u32 tile = *b.ticket;

	__syncthreads(); /* all threads have it before the next one replaces it */
	if (tile < a.sweep.tiles)
		b.load(k, tile);
	while (tile < a.sweep.tiles)
	{
		const u32 valid = b.valid_of(tile);
		const u32 row = (a.first + tile) * pass::TILE + b.mine; /* pass 1: row of the thread's first item */

		/* 1. take the next ticket and prefetch its tile */
		if (!pass::CLOSED)
			ticket_slot ^= 1;
		if (b.thread == pass::THREADS - 1)
			b.take_ticket(b.ticket + ticket_slot);

		/* 2. count the digits of each warp, by atomics without result */
		b.clear_counters();
		b.make_keys(k, valid);
#pragma unroll
		for (int i = 0; i < pass::ITEMS; i++)
			atomicAdd(b.counter + b.digit(k[i]), 1);
		b.stall(a, tile);
		__syncthreads();

		/* 3. sum the tile's count of each digit and publish it at once */
		const bins count = b.sum_counters();

		if (b.thread < pass::SHARE)
			publish_words(a.status + (u64) tile * pass::BINS + b.thread * pass::EACH, tile, count);

		/* 4. turn counters into places in the tile */
		const bins start = b.counters_to_places(count);
		const u32 most = b.most_of(count);

		/* 5. move words to their places */
		__syncthreads();
#pragma unroll
		for (int i = 0; i < pass::ITEMS; i++)
		{
			const u32 place = b.rank(b.digit(k[i]));

			b.words[place] = b.word(k[i], row + i * 32);
		}

		/* 6. look back, one thread per digit */
		if (b.thread < pass::SHARE)
			b.look_back(tile, count, start);

		const bool skewed = __syncthreads_or(most > 8 * pass::TILE / pass::BINS);

		/* 7. load the next tile into registers, then write this one */
		tile = b.ticket[ticket_slot];
		if (tile < a.sweep.tiles)
			b.load(k, tile);
		if (OUT == GS_WORDS && (BITS > 8 || (pass::DROPS && a.drop != 0)) && !skewed)
			write_runs<pass::THREADS, pass::BINS, (pass::COLUMN || pass::EACH > 1 ? 3 : 1)>(b.words, (u64 *) a.out,
																							b.starts, b.to, valid);
		else
			b.write_places(valid);
		if (pass::CLOSED) /* otherwise tables still being read are not touched until the next tile is counted */
			__syncthreads();
	}
}

/* A pass over a row order, over any number of tiles.  inst/ lists the instances. */
template <int BITS, gs_radix_io IN, gs_radix_io OUT>
static gs_status
launch_order(gs_cuda_engine *e, gs_radix_args &a)
{
	return gs_radix_launch(e, gs_radix_shape_of(*e->tuning, BITS, IN, 0), order_pass<BITS, IN, OUT>, a);
}

/* A pass over a row order by digits of BITS bits. */
template <int BITS>
static gs_status
launch_order_of(gs_cuda_engine *e, gs_radix_io in, gs_radix_io out, gs_radix_args &a)
{
	if (in == GS_WORDS)
		return out == GS_ROWS ? launch_order<BITS, GS_WORDS, GS_ROWS>(e, a)
							  : launch_order<BITS, GS_WORDS, GS_WORDS>(e, a);
	if (in == GS_COLUMN8)
		return out == GS_ROWS ? launch_order<BITS, GS_COLUMN8, GS_ROWS>(e, a)
							  : launch_order<BITS, GS_COLUMN8, GS_WORDS>(e, a);
	return out == GS_ROWS ? launch_order<BITS, GS_COLUMN4, GS_ROWS>(e, a)
						  : launch_order<BITS, GS_COLUMN4, GS_WORDS>(e, a);
}

#endif
