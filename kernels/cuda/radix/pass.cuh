/*
 * pass.cuh: one digit pass of a least-significant-digit radix sort, input read once, output written once.
 *
 * What it does, step by step, and the papers that it follows: README.md.  Bytes per row: 8 read and 8 written; pass 1
 * reads the column's width; a last pass of a row order writes 4.  Keys and values: their width read, and written.
 */
#ifndef GS_CUDA_RADIX_PASS_CUH
#define GS_CUDA_RADIX_PASS_CUH

#include "args.cuh"

/*
 * VALUE: bytes of a value that goes beside its key, or 0.  FLOATS: bytes of a key that is a float, or 0.  SEGMENTS:
 * keys, tiles as told by the table.
 */
template <int BITS, gs_radix_io IN, gs_radix_io OUT, bool ATOMICS, int VALUE, int FLOATS, bool SEGMENTS>
__global__ void
__launch_bounds__(gs_radix_here<BITS, ATOMICS, IN, VALUE>::threads, gs_radix_here<BITS, ATOMICS, IN, VALUE>::blocks)
radix_pass(const __grid_constant__ gs_radix_args a)
{
	typedef gs_radix_here<BITS, ATOMICS, IN, VALUE> shape;
	constexpr int THREADS = shape::threads, ITEMS = shape::items;
	constexpr u32 BINS = 1 << BITS, TILE = THREADS * ITEMS, WARPS = THREADS / 32;
	/* digits of a thread, threads that have some */
	constexpr u32 EACH = gs_radix_each(THREADS, BITS), SHARE = BINS / EACH;
	/* of warps whose counters a thread adds up */
	constexpr u32 GROUPS = THREADS / SHARE, GROUP = WARPS / GROUPS;
	constexpr bool COLUMN = IN == GS_COLUMN8 || IN == GS_COLUMN4, PAIRS = IN == GS_PAIRS4;
	constexpr bool KEYS = IN == GS_KEYS8 || IN == GS_KEYS4 || PAIRS;
	constexpr bool DROPS = IN == GS_COLUMN8; /* words may lose the digit: 4 bytes and a row number fit one */
	/* a barrier behind each tile: saves words' passes time, costs row numbers' some */
	constexpr bool CLOSED = OUT != GS_ROWS;
	static_assert(GROUPS >= 1 && WARPS % GROUPS == 0, "each thread sums a digit over the same number of warps");
	static_assert(KEYS || !SEGMENTS, "segments are of keys");
	static_assert(EACH == 1 || !KEYS, "whose passes have a digit to a thread");
	typedef gs_counts<u32, EACH> bins; /* something of each of a thread's digits */
	typedef typename item_of<IN == GS_COLUMN4 || IN == GS_KEYS4 || PAIRS ? 4 : 8>::type value; /* what is read */
	typedef typename item_of<IN == GS_KEYS4 ? 4 : 8>::type sorted;					   /* what is put in order */
	typedef typename std::conditional<COLUMN, value, sorted>::type held;			   /* what registers hold */
	typedef typename item_of<VALUE == 0 ? 4 : VALUE>::type payload;

	extern __shared__ __align__(128) u8 memory[];
	sorted *const words = (sorted *) memory;		/* the tile in order */
	payload *const payloads = (payload *) (words + TILE); /* values as they came */
	u16 *const origin = (u16 *) (payloads + (VALUE ? TILE : 0)); /* places that the words had */
	u32 *const counters = (u32 *) (origin + (VALUE ? TILE : 0)); /* per warp and digit */
	u32 *const groups = counters + WARPS * BINS;	/* sums over the warps of a group */
	/* output position of a digit's first word, less its place in the tile */
	u32 *const to = groups + GROUPS * BINS;
	u32 *const starts = to + BINS;					/* place of a digit's first word in the tile; one more at the end */
	u32 *const base = starts + BINS + 8;			/* output position of a digit's first word of all */
	u32 *const sums = base + BINS;
	u32 *const ticket = sums + 32; /* two, which take turns where tiles follow each other without a barrier */
	u64 *const arrived = (u64 *) (ticket + 2); /* the values' barrier */
	gs_radix_tile *const told = (gs_radix_tile *) (ticket + 4); /* the ticket's tile, of a segment */

	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();
	u32 mine = warp * (32 * ITEMS) + lane; /* a warp's items lie side by side in the tile, a thread's 32 apart */
	int items = ITEMS;					   /* of a thread: fewer where a segment's tile is not whole */
	gs_radix_tile here = {};			   /* the tile, of a segment */
	u32 *const counter = counters + warp * BINS;
	const value *in = (const value *) a.in;
	const payload *values = (const payload *) a.values;
	payload *out_values = (payload *) a.out_values;
	void *out = a.out;
	held k[ITEMS];
	u32 parity = 0, ticket_slot = 0;
	bool bad = false, check = a.wrong != NULL;
	const u32 written = (COLUMN ? a.row_bits : 0) + a.shift; /* the digit's place in words; not if they lose it */

	if (!shape::exists) /* nor is it launched */
		return;
	if (a.gate != NULL && *a.gate != a.gate_open)
		return;

	if (KEYS && a.step != NULL)
	{
		gs_radix_step step = *a.step;

		if (!step.active)
			return;
		check &= step.whole;
		in = (const value *) a.keys_at[step.from];
		out = a.keys_at[step.to];
		values = (const payload *) a.values_at[step.from];
		out_values = (payload *) a.values_at[step.to];
	}

	auto digit = [&](sorted x) -> u32 {
		if constexpr (FLOATS != 0)
		{
			typedef typename item_of<FLOATS == 0 ? 4 : FLOATS>::type bits;

			const bits code = float_order((bits) (x >> 8 * (sizeof(sorted) - FLOATS)), true);

			return ((u32) (code >> a.shift) & a.mask) ^ a.flip;
		}
		if (KEYS)
			return ((u32) (x >> a.shift) & a.mask) ^ a.flip;
		return (u32) (x >> a.shift) & a.mask;
	};
	/* a thread's items, one after the other; what is said to the compiler about whole tiles holds for short ones too */
	auto each_item = [&](auto act) {
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
	};
	auto begin_of = [&](u32 tile) -> u64 {
		if constexpr (SEGMENTS)
			return here.start;
		return (u64) (a.first + tile) * TILE;
	};
	auto valid_of = [&](u32 tile) -> u32 {
		if constexpr (SEGMENTS)
			return here.valid;

		u64 left = a.n - (u64) (a.first + tile) * TILE;

		return left < TILE ? (u32) left : TILE;
	};
	auto word_at = [&](u64 at) -> held {
		held x = __ldcs(in + at);

		if constexpr (PAIRS)
			return x << 32 | __ldcs((const u32 *) values + at);
		return x;
	};
	auto load = [&](u32 tile) {
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
				if (!SEGMENTS || i < items)
					k[i] = mine + i * 32 < valid ? word_at(at + i * 32) : (held) (KEYS ? ~a.key_flip : ~0ull);
		}
	};
	/* places behind the last word count as the last digit */
	auto digit_at = [&](int i, u32 valid) -> u32 { return FLOATS && mine + i * 32 >= valid ? a.mask : digit(k[i]); };
	/* what the table says of the ticket's tile becomes the thread's */
	auto take = [&] {
		here = *told;
		items = (here.valid + THREADS - 1) / THREADS;
		mine = warp * 32 * items + lane;
	};
	/* a thread's digits of a table */
	auto bins_at = [&](u32 *table, u32 share) -> bins & { return *(bins *) (table + share * EACH); };
	auto add = [&](bins &x, const bins &y) {
#pragma unroll
		for (u32 i = 0; i < EACH; i++)
			x.of[i] += y.of[i];
	};
	/* counts become places: next is where their words begin, and then where the next ones' do */
	auto advance = [&](bins &next, bins &counts) {
		const bins c = counts;

		counts = next;
		add(next, c);
	};
	/* adds up the digits' numbers; returns the sums of those before each, to the threads that have digits */
	auto bins_exclusive = [&](const bins &x) -> bins {
		bins before = {};
		u32 all = x.of[0], upto;

#pragma unroll
		for (u32 i = 1; i < EACH; i++)
			all += x.of[i];
		upto = warp_inclusive(all);
		if (thread < SHARE && lane == 31)
			sums[warp] = upto;
		__syncthreads();
		if (thread < SHARE)
		{
			u32 y = warp_inclusive(lane < SHARE / 32 ? sums[lane] : 0);

			y = __shfl_sync(GS_ALL_LANES, y, (warp + 31) & 31);
			before.of[0] = (warp ? y : 0) + upto - all;
#pragma unroll
			for (u32 i = 1; i < EACH; i++)
				before.of[i] = before.of[i - 1] + x.of[i - 1];
		}
		return before;
	};

	/* 0. where each digit begins in the output; segments: with each one's first tile */
	{
		if constexpr (!SEGMENTS)
		{
			bins c = {};

#pragma unroll
			for (u32 i = 0; i < EACH; i++)
				if (thread * EACH + i <= a.mask)
					c.of[i] = a.counts[KEYS ? thread ^ a.flip : thread * EACH + i];
			c = bins_exclusive(c);
			if (thread < SHARE)
				bins_at(base, thread) = a.bases != NULL ? *(const bins *) (a.bases + thread * EACH) : c;
		}
		if (thread == 0)
		{
			const u32 first = atomicAdd(a.sweep.ticket, 1);

			*ticket = first;
			if (SEGMENTS && first < a.sweep.tiles)
				*told = a.tiles[first];
		}
#if __CUDA_ARCH__ >= 900
		if (VALUE && thread == 0)
		{
			barrier_init(arrived, 1);
			asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
		}
#endif
		__syncthreads();
	}

	u32 tile = *ticket;

	if (SEGMENTS)
		take();
	__syncthreads(); /* all have it before the next one is put there */
	if (tile < a.sweep.tiles)
		load(tile);
	while (tile < a.sweep.tiles)
	{
		const u32 valid = valid_of(tile);
		const u32 row = (a.first + tile) * TILE + mine; /* pass 1: the thread's first row */
		u32 begin = 0; /* of the thread's digit in its segment; the first tile's alone */

		/* 1. the next ticket, and its tile into L2 */
		if (!CLOSED)
			ticket_slot ^= 1;
		if (thread == THREADS - 1)
		{
			u32 next = atomicAdd(a.sweep.ticket, 1);

			ticket[ticket_slot] = next;
			if (SEGMENTS && next < a.sweep.tiles)
			{
				const gs_radix_tile t = a.tiles[next];

				*told = t;
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

		const bool bulk = VALUE && valid == TILE &&
						  (SEGMENTS ? a.prefetch && ((u64) (values + here.start) & 15) == 0 : a.prefetch_values);

		if (SEGMENTS && here.index == 0 && thread < BINS)
			begin = a.counts[(u64) here.segment * a.stride + thread];
		if (VALUE)
			copy_ahead<ITEMS, TILE>(payloads, values + begin_of(tile), mine, valid, items, bulk, arrived);

		/* 2. count the digits of each warp, by atomics that return nothing */
#pragma unroll
		for (u32 i = lane * 4; i < BINS; i += 128)
			*(uint4 *) (counter + i) = make_uint4(0, 0, 0, 0);
		__syncwarp();
		if (COLUMN && valid == TILE && a.t.shift == 0 && a.t.plus == 0)
		{
			/* one instruction per half; a shift by a variable costs a tenth of the pass */
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = ((value) k[i] ^ (value) a.t.mask) & (value) a.t.keep;
		}
		else if (COLUMN)
		{
#pragma unroll
			for (int i = 0; i < ITEMS; i++)
				k[i] = valid == TILE || mine + i * 32 < valid ? (held) key_of_value((value) k[i], a.t) : (held) ~0ull;
		}

		each_item([&](int i) { atomicAdd(counter + digit_at(i, valid), 1); });
		if (a.sweep.stall && tile + 1 < a.sweep.tiles)
		{
			if (thread == 0)
				stall_here(a.sweep, tile);
			__syncthreads();
		}
		__syncthreads();

		/* 3. the tile's count of each digit: published at once */
		const u32 share = thread & (SHARE - 1), group = thread / SHARE;
		u32 *const warps = counters + group * GROUP * BINS; /* the group's */
		bins count = {}, start = {};

		if (group < GROUPS)
		{
			bins s = {};

#pragma unroll(EACH == 1 ? GROUP : 4)
			for (u32 j = 0; j < GROUP; j++)
				add(s, bins_at(warps + j * BINS, share));
			bins_at(groups + group * BINS, share) = s;
		}
		if (GROUPS > 1)
			__syncthreads();
		if (thread < SHARE)
		{
#pragma unroll
			for (u32 g = 0; g < GROUPS; g++)
				add(count, bins_at(groups + g * BINS, thread));

			bins all = count;

			all.of[0] += begin;
			publish_words(a.status + (u64) tile * BINS + thread * EACH, SEGMENTS ? here.index : tile, all);
		}

		/* 4. counters become places in the tile: of the next word of this warp with this digit */
		start = bins_exclusive(count);
		if (thread < SHARE)
		{
			bins s = start;

			bins_at(starts, thread) = start;
			if (thread == SHARE - 1)
				starts[BINS] = start.of[EACH - 1] + count.of[EACH - 1];
#pragma unroll
			for (u32 g = 0; g < GROUPS; g++)
				advance(s, bins_at(groups + g * BINS, thread));
		}
		if (GROUPS > 1)
			__syncthreads();
		if (group < GROUPS)
		{
			bins s = bins_at(groups + group * BINS, share);

#pragma unroll(EACH == 1 ? GROUP : 4)
			for (u32 j = 0; j < GROUP; j++)
				advance(s, bins_at(warps + j * BINS, share));
		}

		u32 most = count.of[0]; /* words of one of the thread's digits */

#pragma unroll
		for (u32 i = 1; i < EACH; i++)
			most = max(most, count.of[i]);

		/*
		 * 5. words to their places.  Equal digits keep their order: warps and items by the counters, lanes by ballots
		 */
		auto word = [&](int i) -> sorted {
			if constexpr (!COLUMN)
				return k[i];
			else
			{
				u64 x = (u64) k[i] << (a.row_bits - a.drop);

				return (DROPS ? x & ~(u64) a.row_mask : x) | (row + i * 32);
			}
		};
		bool crowded = true;

		if (ATOMICS) /* places behind the last word crowd no digit */
			crowded =
				__syncthreads_or(most - (SEGMENTS && thread == BINS - 1 ? items * THREADS - valid : 0) > TILE / 32);
		else
			__syncthreads();
		if (ATOMICS && !crowded)
		{
			/*
			 * lanes by the order in which a warp's atomics return: undocumented, so tested beforehand and checked
			 * afterwards
			 */
			each_item([&](int i) {
				u32 place = atomicAdd(counter + digit_at(i, valid), 1);

				words[place] = word(i);
				if (VALUE)
					origin[place] = (u16) (mine + i * 32);
			});
		}
		else
		{
			each_item([&](int i) {
				u32 d = digit_at(i, valid), peers = lane_peers<BITS>(d), place = counter[d];
				u32 below = __popc(peers & lanes_below());

				__syncwarp();
				if (below == 0)
					counter[d] = place + __popc(peers);
				__syncwarp();
				words[place + below] = word(i);
				if (VALUE)
					origin[place + below] = (u16) (mine + i * 32);
			});
		}

		/* 6. look back: each thread for its digits */
		if (thread < SHARE)
		{
			const u32 segment = here.start - here.index * TILE; /* where it begins */
			const u32 *status = a.status + (u64) (SEGMENTS ? tile - here.index : 0) * BINS + thread * EACH;
			const u32 partial = status_word<u32>(GS_PARTIAL, 0), total = status_word<u32>(GS_TOTAL, 0);
			const u32 before = SEGMENTS ? here.index : tile;
			i32 t = (i32) before - 1;
			bins sum = {};
			long long waiting = 0;
			auto add_counts = [&](const bins &x) {
#pragma unroll
				for (u32 i = 0; i < EACH; i++)
					sum.of[i] += x.of[i] & (partial - 1);
			};

			/* two tiles at a time; in a function shared with split.cu this loop cost passes up to a fifth */
			sum.of[0] = begin;
			while (t >= 0)
			{
				const bins young = load_words<EACH>(status + (u64) (u32) t * BINS);
				bins old = {};

				if (t > 0)
					old = load_words<EACH>(status + (u64) (u32) (t - 1) * BINS);
				if (young.of[0] < partial)
				{
					if (waiting == 0)
						waiting = clock64();
					if (a.sweep.patience == 0 || (u64) (clock64() - waiting) < a.sweep.patience)
						continue;

					/* nobody has heard of that tile for long: its digits are counted here */
					const value *p = in + (SEGMENTS ? segment + (u64) t * TILE : (u64) (a.first + (u32) t) * TILE);

					if (SEGMENTS && t == 0)
						sum.of[0] += a.counts[(u64) here.segment * a.stride + thread];
					auto count_word = [&](value x) {
						const u32 d = digit(COLUMN ? (held) key_of_value(x, a.t) : (held) x << (PAIRS ? 32 : 0));

#pragma unroll
						for (u32 b = 0; b < EACH; b++)
							sum.of[b] += d == thread * EACH + b;
					};

#pragma unroll 8
					for (u32 i = 0; i < TILE; i++)
						count_word(p[i]);
					if (thread == 0)
						atomicAdd(&a.sweep.watch->fallbacks, 1);
					waiting = 0;
					t--;
					continue;
				}
				waiting = 0;
				add_counts(young);
				t--;
				if (young.of[0] >= total)
					break;

				if (old.of[0] >= partial)
				{
					add_counts(old);
					t--;
					if (old.of[0] >= total)
						break;
				}
			}
			if (before > 0)
			{
				bins upto = sum;

				add(upto, count);
				store_words(a.status + (u64) tile * BINS + thread * EACH, GS_TOTAL, upto);
			}

#pragma unroll
			for (u32 i = 0; i < EACH; i++)
			{
				const u32 d = thread * EACH + i;

				to[d] = (SEGMENTS ? segment : base[d]) + sum.of[i] - start.of[i] - (OUT == GS_ROWS ? a.rotate_by : 0);
				if (!SEGMENTS && tile + 1 == a.sweep.tiles && a.next_bases != NULL)
					a.next_bases[d] = base[d] + sum.of[i] + count.of[i];
			}
			if (tile + 1 == a.sweep.tiles)
			{
				if (a.sweep.stall && thread == 0)
					atomicExch(&a.sweep.watch->last_done, 1);
			}
		}
		if (VALUE)
		{
			wait_for_copies(bulk, arrived, parity);
			parity ^= bulk;
		}
		const bool skewed = __syncthreads_or(most > 8 * TILE / BINS);

		/* 7. the next tile into registers, then this one out */
		tile = ticket[ticket_slot];
		if (SEGMENTS)
			take();
		if (tile < a.sweep.tiles)
			load(tile);
		if (OUT == GS_WORDS && (BITS > 8 || (DROPS && a.drop != 0)) && !skewed)
			write_runs<THREADS, BINS, (COLUMN || EACH > 1 ? 3 : 1)>((const u64 *) words, (u64 *) out, starts, to,
																	valid);
		else
		{
			auto place = [&](u32 j, sorted x) -> u32 {
				u32 d;

				if (DROPS && a.drop != 0)
				{
					/* the word has lost the digit: search for it */
					d = 0;
#pragma unroll
					for (u32 step = BINS / 2; step > 0; step /= 2)
						if (starts[d + step] <= j)
							d += step;
				}
				else
					d = KEYS ? digit(x) : (u32) (x >> written) & a.mask;
				if (ATOMICS && (OUT == GS_ROWS || (KEYS && check)))
				{
					sorted older = shuffle_up(x, 1);

					if (lane == 0 && j > 0)
						older = words[j - 1];
					if (KEYS)
						bad |= j > 0 && j < valid && (older ^ (sorted) a.key_flip) > (x ^ (sorted) a.key_flip) &&
							   digit(older) == d;
					else
						bad |= j > 0 && older > x && ((u32) (older >> written) & a.mask) == d;
				}
				return to[d] + j;
			};

#pragma unroll((ATOMICS && OUT == GS_ROWS) || (EACH > 1 && OUT == GS_WORDS) ? 4 : ITEMS)
			for (int i = 0; i < ITEMS; i++)
			{
				if (SEGMENTS && i * THREADS >= valid)
					break;

				u32 j = i * THREADS + thread;
				sorted x = words[j];
				u32 p = place(j, x);

				if (OUT == GS_ROWS && p >= (u32) a.n && a.rotate_by != 0)
					p += (u32) a.n;
				if (j < valid)
				{
					if (OUT == GS_ROWS)
						((u32 *) out)[p] = (u32) x & a.row_mask;
					else if (OUT == GS_PAIRS4)
					{
						((u32 *) out)[p] = (u32) ((u64) x >> 32);
						((u32 *) out_values)[p] = (u32) x;
					}
					else
						((sorted *) out)[p] = x;
					if (VALUE)
						out_values[p] = payloads[origin[j]];
				}
			}
		}
		if (VALUE)
			bulk_fence();
		if (CLOSED) /* else the tables that are still read are not touched before the next tile has been counted */
			__syncthreads();
	}
	if (ATOMICS && bad && a.wrong != NULL)
		*a.wrong = 1;
}

#endif
