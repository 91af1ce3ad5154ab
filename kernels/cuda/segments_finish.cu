/*
 * segments_finish.cu: large segments of 4-byte keys: one pass by the leading digit, the rest of the order made in shared memory.
 *
 * Keys of a segment that share their leading digit are a bucket; where buckets begin is known from the counts.  Neighbouring buckets of
 * a segment are a part, as many as fit a block and are about as crowded as each other; a bucket too long for that may be one for a
 * larger block.  The block counts the part's keys in bins that cut their range evenly, as many as there is room for keys, so that hardly any
 * order is left to make within bins: each thread puts a window of neighbouring words in order in registers, then four at both sides of each
 * border between windows, until nothing falls.  Then all is in order for certain, since each word has been compared with the next one.
 * Where that takes too long (a crowded bin), a bitonic network does it.
 *
 * A word is a key's code; where keys that are alike have to keep their order, for their values or because they are floats (0 and -0), the
 * code with the key's place in the part behind it.  Values wait for their words in the memory of the bins.
 *
 * Whether that pays is known beforehand, but for single parts: from the longest bucket, and of many keys from a sample, which says how many
 * others one shares its bin with.
 *
 * Bytes per item: read once and written once after the pass.
 * After Stehle and Jacobsen, A memory bandwidth-efficient hybrid radix sort on GPUs, arXiv:1611.01137.
 */
#include "segments.cuh"
#include "window.cuh"

#define BITS	   8
#define BINS	   (1 << BITS)
#define ROUNDS	   12 /* times that words may straddle windows: groups of some 50 words */
#define PLACE_BITS 16 /* of a word with a place: so few that words are doubles in order */
#define CROWD	   4  /* keys that a key may share its bin with, on the average */

/*
 * A row: bytes of a word, whether it is for long buckets, threads, items of a thread (its window), bins of a thread, blocks per
 * multiprocessor.  A thread's window and its bins are odd numbers of 16 bytes, so that no lanes meet in a bank.
 */
struct part_shape
{
	int word;
	bool large;
	int threads, window, bins, blocks;
};

constexpr part_shape part_shapes[] = {
	/* word large threads window bins blocks */
	{4, false, 256, 20, 20, 4},
	{8, false, 256, 18, 12, 3},
	{4, true, 1024, 20, 20, 1},
	{8, true, 768, 18, 12, 1},
};

constexpr part_shape
shape_of(int word, bool large)
{
	for (const part_shape &s : part_shapes)
		if (s.word == word && s.large == large)
			return s;
	return part_shapes[0];
}

/* Items of a part. */
constexpr u32
room_of(const part_shape &s)
{
	return (u32) (s.threads * s.window);
}

/* Shared memory of a block. */
constexpr size_t
shared_of(const part_shape &s)
{
	return (size_t) s.word * room_of(s) + sizeof(u32) * ((size_t) s.threads * (s.word == 8 && s.window > s.bins ? s.window : s.bins) + 64);
}

/* Bytes of the words that a call sorts. */
static u32
word_of(const gs_segments_args &a)
{
	return a.value_bytes != 0 || a.floats ? 8 : 4;
}

/* ---------------------------------------------------------------- parts */

/*
 * Lists a segment's parts: aligned groups of buckets, as long as they fit and the keys of their longest are not too many for the
 * bins that it will have.
 */
static __global__ void __launch_bounds__(BINS) list_parts_kernel(const __grid_constant__ gs_segments_work w, u32 room)
{
	__shared__ u32 begin[BINS + 1], longest[BINS / 32], listed[2], base[2];
	const u32 shift = gs_leading_shift(w.found->varying, 1), d = threadIdx.x, warp = d / 32;
	const gs_segment s = w.list[blockIdx.x];

	if (shift == 0)
		return;
	begin[d] = w.counts[((u64) blockIdx.x * w.a.key_bytes + shift / BITS) * BINS + d];
	if (d == 0)
		begin[BINS] = (u32) s.n;
	if (d < 2)
		listed[d] = 0;
	__syncthreads();

	u32 most = begin[d + 1] - begin[d], level = 0;

#pragma unroll
	for (u32 k = 1; k <= BITS; k++)
	{
		const u32 first = d >> k << k;

		if (k <= 5)
			most = max(most, __shfl_xor_sync(GS_ALL_LANES, most, 1 << (k - 1)));
		else
		{
			if (k == 6 && lane_id() == 0)
				longest[warp] = most;
			if (k == 6)
				__syncthreads();
			for (u32 j = 0; j < 1u << (k - 5); j++)
				most = max(most, longest[(first / 32) + j]);
		}
		if (begin[first + (1 << k)] - begin[first] <= room && most << k <= CROWD * room)
			level = k;
	}

	const bool head = (d & ((1u << level) - 1)) == 0;
	const u32 count = head ? begin[d + (1u << level)] - begin[d] : 0, large = count > room;
	u32 at = 0;

	if (count != 0)
		at = atomicAdd(&listed[large], 1);
	most = lanes_max(count);
	if (lane_id() == 0)
		atomicMax(&w.found->longest, most);
	__syncthreads();
	if (d < 2)
		base[d] = atomicAdd(&w.found->parts[d], listed[d]);
	__syncthreads();
	if (count != 0)
		w.parts[large][base[large] + at] = {(u32) s.start + begin[d], count};
}

/* Room for the lists; parts: of the first one, in front of the second's. */
static u64
list_room(u64 n, u32 large)
{
	static_assert(room_of(part_shapes[0]) >= 128 * 32 && room_of(part_shapes[1]) >= 128 * 32, "see below");

	/*
	 * Two groups of 2^(k-1) buckets that are not one of 2^k have room / 2^(k-2) items in one bucket, or together more than the room: there are
	 * n 2^(k-2) / room such pairs at most, and 128 n / room with all k.
	 */
	return large ? n / (128 * 32) + 1 : n / 32 + n / GS_SEG_SMALL + 1;
}

size_t
gs_segments_parts_bytes(size_t key_bytes, size_t value_width, u64 n)
{
	if (key_bytes != 4 || value_width > 4)
		return 0;
	return (list_room(n, 0) + list_room(n, 1)) * sizeof(gs_segments_part);
}

/* Where the lists of parts lie in so much memory. */
void
gs_segments_parts_at(gs_segments_work *w, void *memory, u64 n)
{
	if (gs_segments_parts_bytes(w->a.key_bytes, w->a.value_bytes, n) == 0)
		return;
	w->parts[0] = (gs_segments_part *) memory;
	w->parts[1] = w->parts[0] + list_room(n, 0);
}

/* Lists the parts of all segments, once their digits' begins are known. */
gs_status
gs_segments_parts(gs_cuda_engine *e, const gs_segments_work &w)
{
	list_parts_kernel<<<w.segments, BINS, 0, e->stream>>>(w, room_of(shape_of((int) word_of(w.a), false)));
	return gs_cuda_status(cudaGetLastError());
}

/* Whether blocks hold the parts, and are likely to put them in order at once; few are worth a try. */
bool
gs_segments_finishes(const gs_cuda_engine *e, const gs_segments_work &w, const gs_segments_found *known)
{
	const u64 sample = GS_SEG_SAMPLE;
	const part_shape shape = shape_of((int) word_of(w.a), known->parts[1] != 0);

	/* pairs among all keys are more by (items / sample)^2; each makes two keys share their bin */
	return known->parts[0] + known->parts[1] != 0 && known->longest <= room_of(shape) &&
		   shared_of(shape) <= e->properties.sharedMemPerBlockOptin &&
		   (known->items < GS_SEG_LEADING_ITEMS || known->crowded * 2ull * known->items <= CROWD * sample * sample);
}

/* ---------------------------------------------------------------- a part into order */

struct part_args
{
	gs_segments_args a;
	const void *in; /* keys, or words of key and value, in order by their leading digits */
	const gs_segments_part *parts;
};

/* Words of shared memory to registers and back, 16 bytes at a time. */
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

/* Sorts words in shared memory, whatever their order, by the whole block: all exchanges upwards, so that any number will do. */
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

/* A word, of a code and a place in the part if it has 64 bits; and what it was made of. */
template <class W>
static __device__ __forceinline__ W
word_from(u32 code, u32 place)
{
	return sizeof(W) == 8 ? (W) ((u64) (code >> PLACE_BITS) << 32 | (code << PLACE_BITS | place)) : (W) code;
}

static __device__ __forceinline__ u32
code_of(u32 word)
{
	return word;
}

static __device__ __forceinline__ u32
code_of(u64 word)
{
	return (u32) (word >> PLACE_BITS);
}

static __device__ __forceinline__ u32
place_of(u64 word)
{
	return (u32) word & ((1u << PLACE_BITS) - 1);
}

/* Whether several floats have this code. */
static __device__ __forceinline__ bool
zero_or_nan(u32 code)
{
	return code == float_order(0u, true) || code == float_order(0x7fc00000u, true);
}

/* VALUES: of 4 bytes go along. */
template <class W, bool VALUES, int THREADS, int WINDOW, int SHARE, int BLOCKS>
static __global__ void __launch_bounds__(THREADS, BLOCKS) sort_part_kernel(const __grid_constant__ part_args f)
{
	constexpr u32 ROOM = THREADS * WINDOW, WARPS = THREADS / 32;
	constexpr u32 GROUP = WINDOW % 4 == 0 ? 4 : 6; /* items of a thread that are looked after together */
	constexpr bool PLACES = sizeof(W) == 8;
	typedef typename item_of<VALUES ? 8 : 4>::type item;
	static_assert(WINDOW % GROUP == 0 && WINDOW * sizeof(W) % 32 == 16 && SHARE % 8 == 4, "see part_shapes");
	static_assert(ROOM < 1 << PLACE_BITS && PLACE_BITS <= 16, "a bin's words are counted in 16 bits");
	extern __shared__ __align__(16) u8 part_memory[];
	W *const words = (W *) part_memory;
	u32 *const bins = (u32 *) (words + ROOM); /* counts, then where each bin's words begin, then values as they came */
	u32 *const sums = bins + THREADS * (VALUES && WINDOW > SHARE ? WINDOW : SHARE);

	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();
	const gs_segments_part part = f.parts[blockIdx.x];
	u32 code[WINDOW], value[VALUES ? WINDOW : 1], arrivals[WINDOW / 2] = {}; /* of 16 bits each */
	u32 least = ~0u, most = 0;

	/* a thread's items, THREADS places apart: gets something of some of them, then puts it somewhere */
	auto each_item = [&](auto get, auto put) {
#pragma unroll
		for (u32 g = 0; g < WINDOW; g += GROUP)
		{
			decltype(get(0)) got[GROUP];

			if ((g + GROUP) * THREADS <= part.count)
			{
#pragma unroll
				for (u32 i = 0; i < GROUP; i++)
					got[i] = get(g + i);
#pragma unroll
				for (u32 i = 0; i < GROUP; i++)
					put(g + i, got[i]);
			}
			else if (g * THREADS < part.count)
			{
#pragma unroll
				for (u32 i = 0; i < GROUP; i++)
					if ((g + i) * THREADS + thread < part.count)
						put(g + i, get(g + i));
			}
		}
	};

	/* 1. the part and its range */
	each_item([&](u32 i) { return __ldcs((const item *) f.in + part.start + i * THREADS + thread); },
			  [&](u32 i, item x) {
				  code[i] = (u32) (x >> 8 * (sizeof(item) - 4));
				  if (VALUES)
					  value[i] = (u32) x;
			  });
#pragma unroll
	for (u32 i = 0; i < SHARE / 4; i++)
		((uint4 *) bins)[thread * (SHARE / 4) + i] = make_uint4(0, 0, 0, 0);
	each_item([&](u32 i) { return PLACES ? gs_key_code(code[i], f.a) : code[i] ^ (u32) f.a.flip; },
			  [&](u32 i, u32 x) {
				  code[i] = x;
				  least = min(least, x);
				  most = max(most, x);
			  });
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

	/* 2. counts of bins; each word knows how many came to its bin before it.  Somewhat less than 2^32, so that no rounding leads past the last bin */
	const u32 scale = __float2uint_rz(__fdividef(SHARE * THREADS * 4294963200.f, (float) (most - least) + 1));
	auto bin_of = [&](u32 i) { return bins + __umulhi(code[i] - least, scale); };

	each_item([&](u32 i) { return atomicAdd(bin_of(i), 1); },
			  [&](u32 i, u32 older) { arrivals[i / 2] = i % 2 == 0 ? older : __byte_perm(arrivals[i / 2], older, 0x5410); });
	__syncthreads();

	/* 3. where bins begin */
	{
		u32 c[SHARE], sum = 0, upto, run;

		read_run(c, bins + thread * SHARE);
#pragma unroll
		for (u32 i = 0; i < SHARE; i++)
			sum += c[i];
		upto = warp_inclusive(sum);
		if (lane == 31)
			sums[warp] = upto;
		__syncthreads();
		run = warp_inclusive(lane < WARPS ? sums[lane] : 0);
		run = __shfl_sync(GS_ALL_LANES, run, (warp + 31) & 31);
		run = (warp ? run : 0) + upto - sum;
#pragma unroll
		for (u32 i = 0; i < SHARE; i++)
		{
			const u32 next = run + c[i];

			c[i] = run;
			run = next;
		}
		write_run(bins + thread * SHARE, c);
		__syncthreads();
	}

	/* 4. words to their bins, and the last window's rest */
	each_item([&](u32 i) { return *bin_of(i) + (i % 2 == 0 ? arrivals[i / 2] & 0xffff : arrivals[i / 2] >> 16); },
			  [&](u32 i, u32 place) { words[place] = word_from<W>(code[i], i * THREADS + thread); });
	if (thread < WINDOW && part.count + thread < ROOM)
		words[part.count + thread] = PLACES ? (W) GS_WINDOW_LAST : ~(W) 0;
	__syncthreads();
	if constexpr (VALUES)
		each_item([&](u32 i) { return value[i]; }, [&](u32 i, u32 x) { bins[i * THREADS + thread] = x; });

	/* 5. windows into order, then what straddles their borders, until nothing falls */
	{
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
				(void) transpose(x); /* once is too few for a whole warp */
				put_in_order(x, whole);
				write_run(mine, x);
			}
			__syncthreads();
			if ((thread + 1) * WINDOW < part.count)
			{
				W x[8];

				read_run(x, mine + WINDOW - 4);

				const W first = x[0], last = x[7];

				put_in_order(x, border);
				if (x[0] != first || x[7] != last)
					falls = x[0] < mine[WINDOW - 5] || x[7] > mine[WINDOW + 4];
				write_run(mine + WINDOW - 4, x);
			}
			falls = __syncthreads_or(falls);
		}
	}

	/* 6. out */
	each_item([&](u32 i) { return words[i * THREADS + thread]; },
			  [&](u32 i, W word) {
				  const u32 at = part.start + i * THREADS + thread, code = code_of(word) ^ (u32) f.a.flip;

				  if (PLACES && f.a.floats)
					  ((u32 *) f.a.out_keys)[at] = zero_or_nan(code) ? (u32) (((const item *) f.in)[part.start + place_of(word)] >> 8 * (sizeof(item) - 4))
																	  : float_from_order(code);
				  else
					  ((u32 *) f.a.out_keys)[at] = code;
				  if (VALUES)
					  ((u32 *) f.a.out_values)[at] = bins[place_of(word)];
			  });
}

template <class W, bool VALUES, bool LARGE>
static gs_status
launch(gs_cuda_engine *e, const part_args &f, u32 parts)
{
	constexpr part_shape S = shape_of(sizeof(W), LARGE);
	void (*const kernel)(part_args) = sort_part_kernel<W, VALUES, S.threads, S.window, S.bins, S.blocks>;
	int blocks;

	if (parts == 0)
		return GS_OK;
	GS_TRY(gs_cuda_blocks(e, (const void *) kernel, S.threads, shared_of(S), &blocks));
	kernel<<<parts, S.threads, shared_of(S), e->stream>>>(f);
	return gs_cuda_status(cudaGetLastError());
}

/* Puts the parts in order, from `in`, where a pass has left their items. */
gs_status
gs_segments_finish(gs_cuda_engine *e, const gs_segments_work &w, const gs_segments_found *known, const void *in)
{
	const part_args f = {w.a, in, w.parts[0]}, g = {w.a, in, w.parts[1]};
	const u32 *const parts = known->parts;

	if (w.a.value_bytes != 0)
	{
		GS_TRY((launch<u64, true, false>(e, f, parts[0])));
		return launch<u64, true, true>(e, g, parts[1]);
	}
	if (w.a.floats)
	{
		GS_TRY((launch<u64, false, false>(e, f, parts[0])));
		return launch<u64, false, true>(e, g, parts[1]);
	}
	GS_TRY((launch<u32, false, false>(e, f, parts[0])));
	return launch<u32, false, true>(e, g, parts[1]);
}
