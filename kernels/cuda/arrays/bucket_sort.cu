/*
 * bucket_sort.cu: sorts parts of 4-byte keys in shared memory.
 *
 * A block distributes the part's keys over bins that divide their range evenly, so that little sorting is left: each
 * thread sorts a window of neighbouring words in registers, then four on both sides of each border between windows,
 * until nothing descends.  Each word has then been compared with the next.  If that takes too long (a crowded bin), a
 * bitonic network sorts the part.
 *
 * A word is a key's distance from the part's minimum, possibly followed by the key's place in the part (shapes.h).
 * Bytes per item: read once and written once.  After Stehle and Jacobsen, arXiv:1611.01137.
 */
#include "bucket_sort.cuh"
#include "../base/register_sort.cuh"

#define TURNS  8  /* blocks launched per block that can run: where parts take less time, more blocks come */
#define ROUNDS 12 /* limit of rounds in which words cross windows: groups of some 50 words */

static_assert(GS_PART_BUCKETS == 1 << 8, "as many as a digit has");

/* A block's part; for its first thread, the next part and the number of parts. */
struct part_cursor
{
	gs_part part;
	u32 next, parts;
};

static_assert(sizeof(part_cursor) <= 64, "see gs_part_shared");

/* Returns the longest part that this device can sort.  With little shared memory there are no large blocks. */
u32
gs_part_longest(const gs_cuda_engine *e, gs_part_words words)
{
	const u32 large = gs_part_room(*e->tuning, words, true);

	return large != 0 ? large : gs_part_room(*e->tuning, words, false);
}

/* Copies words from shared memory to registers, 16 bytes at a time. */
template <class W, int N>
__device__ __forceinline__ void
read_run(W (&x)[N], const W *from)
{
	constexpr int EACH = 16 / sizeof(W);
	union { uint4 q; W w[EACH]; } v;

#pragma unroll
	for (int i = 0; i < N; i += EACH)
	{
		v.q = *(const uint4 *) (from + i);
#pragma unroll
		for (int j = 0; j < EACH; j++)
			x[i + j] = v.w[j];
	}
}

/* Copies them back. */
template <class W, int N>
__device__ __forceinline__ void
write_run(W *to, const W (&x)[N])
{
	constexpr int EACH = 16 / sizeof(W);
	union { uint4 q; W w[EACH]; } v;

#pragma unroll
	for (int i = 0; i < N; i += EACH)
	{
#pragma unroll
		for (int j = 0; j < EACH; j++)
			v.w[j] = x[i + j];
		*(uint4 *) (to + i) = v.q;
	}
}

/* Sorts words in shared memory by the whole block.  All exchanges go upwards, so any number of words works. */
template <class W>
static __device__ void
sort_words(W *words, u32 n)
{
	moved_of<W> ignored = 0;

	for (u32 k = 2; k / 2 < n; k *= 2)
		for (u32 j = k / 2; j > 0; j /= 2)
		{
			for (u32 i = threadIdx.x, a; (a = i / j * 2 * j + i % j) < n; i += blockDim.x)
			{
				const u32 b = j == k / 2 ? a ^ (k - 1) : a + j;

				if (b < n)
					exchange(words[a], words[b], ignored);
			}
			__syncthreads();
		}
}

/* Returns whether several floats share this code. */
static __device__ __forceinline__ bool
zero_or_nan(u32 code)
{
	return code == float_order(0u, true) || code == float_order(0x7fc00000u, true);
}

/* A part in shared memory: words; bins (SHARE a thread): counts, then starts, then values in input order; sums. */
template <class W, int THREADS, int WINDOW, int SHARE> struct part_shared
{
	static constexpr u32 ROOM = THREADS * WINDOW, WARPS = THREADS / 32;
	static constexpr u32 GROUP = WINDOW % 4 == 0 ? 4 : 6; /* items of a thread processed together */
	static_assert(WINDOW % GROUP == 0 && WINDOW * sizeof(W) % 32 == 16 && SHARE % 8 == 4, "see gs_part_shapes");
	static_assert(ROOM < 1 << 16, "a bin's words are counted in 16 bits");

	W *words;
	u32 *bins, *sums;

	/* Lays out the arrays in dynamic shared memory: words, bins, sums of warps. */
	__device__ __forceinline__
	part_shared(u8 *memory)
	{
		words = (W *) memory;
		bins = (u32 *) (words + ROOM);
		sums = bins + THREADS * (WINDOW > SHARE ? WINDOW : SHARE);
	}

	/* Applies get, then put, to groups of a thread's items, which are THREADS apart. */
	template <class GET, class PUT>
	static __device__ __forceinline__ void
	each_item(u32 count, GET get, PUT put)
	{
#pragma unroll
		for (u32 g = 0; g < WINDOW; g += GROUP)
		{
			decltype(get(0)) got[GROUP];

			if ((g + GROUP) * THREADS <= count)
			{
#pragma unroll
				for (u32 i = 0; i < GROUP; i++)
					got[i] = get(g + i);
#pragma unroll
				for (u32 i = 0; i < GROUP; i++)
					put(g + i, got[i]);
			}
			else if (g * THREADS < count)
			{
#pragma unroll
				for (u32 i = 0; i < GROUP; i++)
					if ((g + i) * THREADS + threadIdx.x < count)
						put(g + i, get(g + i));
			}
		}
	}

	/* Clears the thread's bins, 16 bytes at a time.  A barrier must follow. */
	__device__ __forceinline__ void
	clear_bins() const
	{
#pragma unroll
		for (u32 i = 0; i < SHARE / 4; i++)
			((uint4 *) bins)[threadIdx.x * (SHARE / 4) + i] = make_uint4(0, 0, 0, 0);
	}

	/* Finds the least and the greatest code of all threads. */
	__device__ __forceinline__ void
	range(u32 &least, u32 &most) const
	{
		const u32 warp = threadIdx.x / 32, lane = lane_id();

		least = lanes_min(least);
		most = lanes_max(most);
		if (lane == 0)
		{
			sums[warp] = least;
			sums[32 + warp] = most;
		}
		__syncthreads();
		least = lanes_min(lane < WARPS ? sums[lane] : ~0u);
		most = lanes_max(lane < WARPS ? sums[32 + lane] : 0);
	}

	/* Turns counts of bins into their starts. */
	__device__ __forceinline__ void
	counts_to_begins() const
	{
		u32 c[SHARE], sum = 0, run;

		read_run(c, bins + threadIdx.x * SHARE);
#pragma unroll
		for (u32 i = 0; i < SHARE; i++)
			sum += c[i];
		run = block_exclusive<WARPS>(sum, sums);
#pragma unroll
		for (u32 i = 0; i < SHARE; i++)
		{
			const u32 next = run + c[i];

			c[i] = run;
			run = next;
		}
		write_run(bins + threadIdx.x * SHARE, c);
		__syncthreads();
	}

	/* Sorts four words on each side of the border behind the thread's window.  Returns whether they descend. */
	__device__ __forceinline__ bool
	border_falls(W *mine, u32 border) const
	{
		bool falls = false;
		W x[8];

		read_run(x, mine + WINDOW - 4);

		const W first = x[0], last = x[7];

		put_in_order(x, border);
		if (x[0] != first || x[7] != last)
			falls = x[0] < mine[WINDOW - 5] || x[7] > mine[WINDOW + 4];
		write_run(mine + WINDOW - 4, x);
		return falls;
	}

	/* Sorts windows, then words that cross their borders, until nothing descends. */
	__device__ __forceinline__ void
	order_words(const gs_part &part) const
	{
		const u32 thread = threadIdx.x;
		const u32 whole = __ballot_sync(GS_ALL_LANES, thread * WINDOW < part.count);
		const u32 border = __ballot_sync(GS_ALL_LANES, (thread + 1) * WINDOW < part.count);
		W *const mine = words + thread * WINDOW;
		bool falls = true;

		for (u32 round = 0; falls; round++)
		{
			if (round == ROUNDS)
			{
				sort_words(words, part.count);
				break;
			}
			falls = false;
			if (thread * WINDOW < part.count)
			{
				W x[WINDOW];

				read_run(x, mine);
				(void) transpose(x); /* once is not enough for a whole warp */
				put_in_order(x, whole);
				write_run(mine, x);
			}
			__syncthreads();
			if ((thread + 1) * WINDOW < part.count)
				falls = border_falls(mine, border);
			falls = __syncthreads_or(falls);
		}
	}
};

/* Rebuilds the key of a word.  place: the key's place in the part, which begins at `start`. */
template <gs_part_words WORDS, int PLACE_BITS, class ITEM>
static __device__ __forceinline__ u32
key_of_word(const gs_parts_args &a, u64 w, u32 least, u32 start, u32 place)
{
	const u32 key = ((u32) (w >> PLACE_BITS) + least) ^ (u32) a.flip;

	if (WORDS != GS_PART_FAR || !a.floats)
		return key;
	return zero_or_nan(key) ? (u32) (((const ITEM *) a.in)[start + place] >> 8 * (sizeof(ITEM) - 4))
							: float_from_order(key);
}

/* Sorts a part; VALUES: of 4 bytes.  Reads its description when needed, as registers are scarce. */
template <gs_part_words WORDS, bool VALUES, int PLACE_BITS, int THREADS, int WINDOW, int SHARE>
static __device__ __forceinline__ void
sort_part(const gs_parts_args &a, gs_part &part)
{
	typedef typename item_of<WORDS == GS_PART_FAR ? 8 : 4>::type W;
	typedef typename item_of<VALUES ? 8 : 4>::type item;
	typedef part_shared<W, THREADS, WINDOW, SHARE> shape;
	extern __shared__ __align__(16) u8 part_memory[];
	const shape m(part_memory);
	const u32 thread = threadIdx.x;
	/* initialized although only existing items count: otherwise, in the loop, they would occupy registers throughout */
	u32 code[WINDOW] = {}, value[VALUES ? WINDOW : 1] = {}, arrivals[WINDOW / 2] = {}; /* of 16 bits each */
	u32 least = ~0u, most = 0;
	auto each_item = [&](auto get, auto put) { shape::each_item(part.count, get, put); };

	/* 1. load the part and find its range */
	each_item([&](u32 i) { return __ldcs((const item *) a.in + part.start + i * THREADS + thread); },
			  [&](u32 i, item x) {
				  code[i] = (u32) (x >> 8 * (sizeof(item) - 4));
				  if (VALUES)
					  value[i] = (u32) x;
			  });
	m.clear_bins();
	each_item([&](u32 i) { return WORDS == GS_PART_FAR ? gs_key_code(code[i], a) : code[i] ^ (u32) a.flip; },
			  [&](u32 i, u32 x) {
				  code[i] = x;
				  least = min(least, x);
				  most = max(most, x);
			  });
	m.range(least, most);
	if (least < part.least || most > part.most)
	{
		if (thread == 0)
			*a.wrong = 1;
		return;
	}
#pragma unroll
	for (u32 i = 0; i < WINDOW; i++)
		code[i] -= least;

	/*
	 * 2. count bins; each word remembers how many preceded it in its bin.  The scale is slightly below 2^32, so that
	 * rounding does not lead past the last bin
	 */
	const u32 scale = __float2uint_rz(__fdividef(SHARE * THREADS * 4294963200.f, (float) (most - least) + 1));
	auto bin_of = [&](u32 i) { return m.bins + __umulhi(code[i], scale); };

	each_item([&](u32 i) { return atomicAdd(bin_of(i), 1); }, [&](u32 i, u32 older)
			  { arrivals[i / 2] = i % 2 == 0 ? older : __byte_perm(arrivals[i / 2], older, 0x5410); });
	__syncthreads();
	if (thread == 0)
		part.least = least; /* all threads have read the bound */

	/* 3. find where bins begin */
	m.counts_to_begins();

	/* 4. move words to their bins, and pad the last window */
	auto word = [&](u32 i) -> W {
		const u32 place = i * THREADS + thread;

		if (WORDS == GS_PART_FAR)
			return (W) ((u64) (code[i] >> PLACE_BITS) << 32 | (code[i] << PLACE_BITS | place));
		return (W) (WORDS == GS_PART_NEAR ? code[i] << PLACE_BITS | place : code[i]);
	};

	each_item([&](u32 i) { return *bin_of(i) + (i % 2 == 0 ? arrivals[i / 2] & 0xffff : arrivals[i / 2] >> 16); },
			  [&](u32 i, u32 place) { m.words[place] = word(i); });
	if (thread < WINDOW && part.count + thread < shape::ROOM)
		m.words[part.count + thread] = WORDS == GS_PART_FAR ? (W) GS_WINDOW_LAST : ~(W) 0;
	__syncthreads();
	if constexpr (VALUES)
		each_item([&](u32 i) { return value[i]; }, [&](u32 i, u32 x) { m.bins[i * THREADS + thread] = x; });

	/* 5. sort the words */
	m.order_words(part);

	/* 6. write; `least` has occupied no register since step 2 */
	least = part.least;
	each_item([&](u32 i) { return m.words[i * THREADS + thread]; },
			  [&](u32 i, W w) {
				  const u32 at = part.start + i * THREADS + thread, place = (u32) w & (u32) gs_mask(PLACE_BITS);

				  ((u32 *) a.out_keys)[at] = key_of_word<WORDS, PLACE_BITS, item>(a, w, least, part.start, place);
				  if (VALUES)
					  ((u32 *) a.out_values)[at] = m.bins[place];
			  });
}

/* Bits of a place in a word, for the code being compiled. */
template <gs_part_words WORDS, bool LARGE> struct part_place_bits
{
	static constexpr int value = (int) gs_part_place_bits(GS_TUNED, WORDS, LARGE);
	static_assert(WORDS != GS_PART_NEAR || value + 16 <= 32, "the words of a bucket of 16 leading bits");
};

/* Blocks take parts in turn: one per possible part would take long to start and stop for nothing. */
template <gs_part_words WORDS, bool VALUES, bool LARGE>
static __global__ void __launch_bounds__(gs_part_here<WORDS, LARGE>::threads, gs_part_here<WORDS, LARGE>::blocks)
sort_parts_kernel(const __grid_constant__ gs_parts_args a)
{
	typedef gs_part_here<WORDS, LARGE> shape;
	__shared__ part_cursor cursor;

	if (threadIdx.x == 0)
	{
		cursor.next = blockIdx.x;
		cursor.parts = a.wrong == NULL || *a.wrong == 0 ? a.parts.listed[LARGE] : 0;
	}
#pragma unroll 1
	for (;;)
	{
		if (threadIdx.x == 0)
		{
			cursor.part.count = 0;
			if (cursor.next < cursor.parts)
				cursor.part = a.parts.list[LARGE][cursor.next];
			cursor.next += gridDim.x;
		}
		__syncthreads();
		if (cursor.part.count == 0)
			return;
		if constexpr (shape::exists)
			sort_part<WORDS, VALUES, part_place_bits<WORDS, LARGE>::value, shape::threads, shape::window, shape::bins>(
				a, cursor.part);
		__syncthreads();
	}
}

/* Launches the parts of one kind, if the tuning row has a shape for them: sm_75 has none for long ones. */
template <gs_part_words WORDS, bool VALUES, bool LARGE>
static gs_status
launch(gs_cuda_engine *e, const gs_parts_args &a, u32 parts)
{
	const gs_part_shape s = gs_part_shape_of(*e->tuning, WORDS, LARGE);
	void (*const kernel)(gs_parts_args) = sort_parts_kernel<WORDS, VALUES, LARGE>;
	int blocks;

	if (parts == 0 || s.threads == 0)
		return GS_OK;
	GS_TRY(gs_cuda_blocks(e, (const void *) kernel, s.threads, gs_part_shared(s), &blocks));
	/* one block per part if their number is known; otherwise many might start for nothing */
	if (a.wrong != NULL && parts > (u32) blocks * TURNS)
		parts = (u32) blocks * TURNS;
	kernel<<<parts, s.threads, gs_part_shared(s), e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Launches the parts that fit a small block, then those that need a large one. */
template <gs_part_words WORDS, bool VALUES>
static gs_status
launch_both(gs_cuda_engine *e, const gs_parts_args &a, u32 small, u32 large)
{
	GS_TRY((launch<WORDS, VALUES, false>(e, a, small)));
	return launch<WORDS, VALUES, true>(e, a, large);
}

/* Sorts the listed parts.  small, large: their numbers or, if something may be wrong, limits worth a block. */
gs_status
gs_parts_sort(gs_cuda_engine *e, gs_part_words words, const gs_parts_args &a, u32 small, u32 large)
{
	if (words == GS_PART_CODES)
		return launch_both<GS_PART_CODES, false>(e, a, small, large);
	if (words == GS_PART_NEAR)
		return launch_both<GS_PART_NEAR, true>(e, a, small, large);
	return a.out_values != NULL ? launch_both<GS_PART_FAR, true>(e, a, small, large)
								: launch_both<GS_PART_FAR, false>(e, a, small, large);
}
