/*
 * split.cu: k-way split by a label of one byte.
 *
 * It is k selections in one composite scan: a tile's state is k counts, and one look-back, with a thread per label,
 * finds the places of all of them.  A histogram of the labels gives the starts of the groups.  Each warp takes 512
 * consecutive items, 32 at a time; lanes with equal labels find each other by ballots, and one counts for all.  Items
 * are sorted by label in shared memory, so that each group's part is written contiguously.
 *
 * Bytes per item: two reads of the label, one read and one write of the item.  Source: the multi-scan of Merrill and
 * Grimshaw, 4.3; look-back as in lookback.cuh, one word per tile and label.
 */
#include "../base/compact.cuh"
#include "../scan/scan_ops.cuh"

#define THREADS 256
#define WARPS	(THREADS / 32)

/* Items per thread: 16, or 8 if a larger tile and the counters of labels would not fit. */
constexpr u32
items_of(const gs_tuning &t, size_t width)
{
	return THREADS * 16 * (width + 1) + 12288 <= (size_t) t.shared << 10 ? 16 : 8;
}

template <class T> struct items_here
{
	static constexpr u32 value = items_of(GS_TUNED, sizeof(T));
};

struct split_args
{
	gs_sweep sweep;
	const void *in;
	const u8 *labels;
	u64 n;
	u32 k, bits;
	void *out;
	u64 *starts;
	u64 *words; /* k per tile */
};

/* Counts labels below k, in a set of counters per warp. */
static __global__ void __launch_bounds__(THREADS) histogram_kernel(const u8 *labels, u64 n, u32 k, u64 *counts)
{
	__shared__ u32 local[WARPS][256];

	for (u32 i = threadIdx.x; i < WARPS * 256; i += THREADS)
		(&local[0][0])[i] = 0;
	__syncthreads();
	for (u64 i = blockIdx.x * (u64) THREADS + threadIdx.x; i < n; i += gridDim.x * (u64) THREADS)
		atomicAdd(&local[threadIdx.x / 32][labels[i]], 1);
	__syncthreads();

	u64 sum = 0;

	for (u32 w = 0; w < WARPS; w++)
		sum += local[w][threadIdx.x];
	if (threadIdx.x < k && sum)
		atomicAdd((unsigned long long *) &counts[threadIdx.x], (unsigned long long) sum);
}

/* Computes the starts of groups, at most 256, by one thread. */
static __global__ void
starts_kernel(const u64 *counts, u32 k, u64 *starts)
{
	u64 sum = 0;

	for (u32 g = 0; g < k; g++)
	{
		starts[g] = sum;
		sum += counts[g];
	}
	starts[k] = sum;
}

/* Sums a count over preceding tiles, two at a time, and publishes the total in word; recount(t) is the fallback. */
template <class RECOUNT>
static __device__ __forceinline__ u64
look_back_word(u64 *word, u32 stride, u32 tile, u64 count, const gs_sweep &sweep, RECOUNT recount)
{
	const u64 partial = status_word<u64>(GS_PARTIAL, 0), total = status_word<u64>(GS_TOTAL, 0);
	const u64 *at = word - stride; /* of the youngest tile not yet added */
	u32 left = tile;				/* tiles up to that one */
	u64 sum = 0;
	long long waiting = 0;

	while (left > 0)
	{
		u64 young = load_relaxed(at), old = left > 1 ? load_relaxed(at - stride) : 0;

		if (young < partial)
		{
			if (waiting == 0)
				waiting = clock64();
			if (sweep.patience == 0 || (u64) (clock64() - waiting) < sweep.patience)
				continue;

			/* that tile has made no progress for too long */
			sum += recount(left - 1);
			if (threadIdx.x == 0)
				atomicAdd(&sweep.watch->fallbacks, 1);
			waiting = 0;
			at -= stride, left--;
			continue;
		}
		waiting = 0;
		sum += young & (partial - 1);
		at -= stride, left--;
		if (young >= total)
			break;
		if (old >= partial)
		{
			sum += old & (partial - 1);
			at -= stride, left--;
			if (old >= total)
				break;
		}
	}
	if (tile > 0)
		store_relaxed(word, total | (sum + count));
	return sum;
}

/* Loads a thread's items, 32 apart within its warp.  Items without a label below k get label 256. */
template <class T, u32 ITEMS>
static __device__ __forceinline__ void
read_items(const split_args &a, u64 first, u32 (&label)[ITEMS], T (&x)[ITEMS])
{
#pragma unroll
	for (u32 j = 0; j < ITEMS; j++)
	{
		u64 i = first + threadIdx.x / 32 * (32 * ITEMS) + j * 32 + lane_id();

		label[j] = 256;
		if (i < a.n)
		{
			label[j] = a.labels[i];
			x[j] = ((const T *) a.in)[i];
		}
		if (label[j] >= a.k)
			label[j] = 256;
	}
}

/* Counts a warp's items by label.  Each gets its rank among those of equal label. */
template <u32 ITEMS>
static __device__ __forceinline__ void
rank_items(const u32 (&label)[ITEMS], u32 bits, u32 *counts, u32 (&rank)[ITEMS])
{
#pragma unroll
	for (u32 j = 0; j < ITEMS; j++)
	{
		u32 same = __ballot_sync(GS_ALL_LANES, label[j] < 256);

		for (u32 b = 0; b < bits; b++)
		{
			u32 ones = __ballot_sync(GS_ALL_LANES, label[j] >> b & 1);

			same &= label[j] >> b & 1 ? ones : ~ones;
		}
		rank[j] = 0;
		if (label[j] < 256)
			rank[j] = counts[label[j]] + __popc(same & lanes_below());
		__syncwarp();
		if (label[j] < 256 && (same & lanes_below()) == 0)
			counts[label[j]] += __popc(same);
		__syncwarp();
	}
}

/* Sums a label's counts over warps, and replaces each by the sum of those before it.  By the label's thread. */
static __device__ __forceinline__ u32
sum_warps(u32 (*counts)[256], u32 label)
{
	u32 count = 0;

	for (u32 w = 0; w < WARPS; w++)
	{
		u32 c = counts[w][label];

		counts[w][label] = count;
		count += c;
	}
	return count;
}

/* Counts a label in a tile from the input: the fallback of look-backs. */
static __device__ __forceinline__ u64
recount(const u8 *labels, u32 tile_items, u32 label)
{
	u64 n = 0;

	for (u32 i = 0; i < tile_items; i++)
		n += labels[i] == label;
	return n;
}

/* One tile per block, by ticket; not persistent. */
template <class T>
static __global__ void __launch_bounds__(THREADS) split_kernel(const __grid_constant__ split_args a)
{
	constexpr u32 ITEMS = items_here<T>::value, TILE = THREADS * ITEMS;
	extern __shared__ __align__(128) u8 shared[];
	T *const packed = (T *) shared;
	u8 *const label_of = shared + TILE * sizeof(T);
	__shared__ u32 counts[WARPS][256]; /* then: start of the warp's items of a label in the tile */
	__shared__ u32 totals[WARPS], tile_;
	/* output position of a label's items in the tile, minus their start in the tile */
	__shared__ u64 place[256];
	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();

	for (u32 i = thread; i < WARPS * 256; i += THREADS)
		(&counts[0][0])[i] = 0;
	if (thread == 0)
		tile_ = atomicAdd(a.sweep.ticket, 1);
	__syncthreads();

	const u32 tile = tile_;
	u32 label[ITEMS], rank[ITEMS];
	T x[ITEMS];

	/* 1. count by label */
	read_items(a, (u64) tile * TILE, label, x);
	rank_items(label, a.bits, counts[warp], rank);
	__syncthreads();

	/* 2. one thread per label: sum over warps, publish, find the start in the tile */
	const u32 count = sum_warps(counts, thread);
	u64 *const word = a.words + (u64) tile * a.k + thread;

	if (thread < a.k)
		publish_word<u64>(word, tile, count);

	u32 total, begin = warp_exclusive(count, total);

	if (lane == 0)
		totals[warp] = total;
	__syncthreads();
	begin += warps_exclusive<WARPS>(totals, warp, total);
	for (u32 w = 0; w < WARPS; w++)
		counts[w][thread] += begin;
	__syncthreads();

	/* 3. sort in shared memory */
#pragma unroll
	for (u32 j = 0; j < ITEMS; j++)
		if (label[j] < 256)
		{
			u32 at = counts[warp][label[j]] + rank[j];

			packed[at] = x[j];
			label_of[at] = (u8) label[j];
		}

	/* 4. look back for all labels at once */
	if (thread < a.k)
	{
		u64 before = look_back_word(word, a.k, tile, count, a.sweep,
									[&](u32 t) { return recount(a.labels + (u64) t * TILE, TILE, thread); });

		place[thread] = a.starts[thread] + before - begin;
	}
	__syncthreads();

	/* 5. write */
	for (u32 i = thread; i < total; i += THREADS)
		((T *) a.out)[place[label_of[i]] + i] = packed[i];
}

/* Launches the kernel for items of this width. */
template <class T>
static gs_status
run(gs_cuda_engine *e, split_args &a)
{
	size_t shared = THREADS * items_of(*e->tuning, sizeof(T)) * (sizeof(T) + 1);
	void *list[] = {&a};
	gs_status status = gs_cuda_status(
		cudaFuncSetAttribute(split_kernel<T>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));

	if (status != GS_OK)
		return status;
	return gs_cuda_status(
		cudaLaunchKernel((const void *) split_kernel<T>, dim3(a.sweep.tiles), dim3(THREADS), list, shared, e->stream));
}

/* Implements gs_split: histogram and starts, then the sweep.  Not used by queries. */
gs_status
gs_cuda_split(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k, void *out,
			  uint64_t *starts, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	u64 tile = THREADS * items_of(*e->tuning, gs_type_width(type)), tiles = (n + tile - 1) / tile,
		*counts = (u64 *) ((u8 *) temp + GS_TEMP_HEAD);
	u32 blocks = 8 * e->properties.multiProcessorCount;
	split_args a = {};
	gs_status status;

	if (tiles > 0x7fffffff)
		return GS_TOO_BIG;
	cudaSetDevice(e->device);
	a.sweep.ticket = (u32 *) temp;
	a.sweep.watch = e->watch;
	a.sweep.tiles = (u32) tiles;
	a.sweep.patience = e->patience;
	a.in = in;
	a.labels = labels;
	a.n = n;
	a.k = k;
	while (1u << a.bits < k)
		a.bits++;
	a.out = out;
	a.starts = starts;
	a.words = counts + 256;
	status = gs_cuda_status(
		cudaMemsetAsync(temp, 0, GS_TEMP_HEAD + (256 + tiles * k) * sizeof(u64), e->stream));
	if (status != GS_OK)
		return status;
	histogram_kernel<<<blocks < tiles ? blocks : (u32) tiles, THREADS, 0, e->stream>>>(labels, n, k, counts);
	starts_kernel<<<1, 1, 0, e->stream>>>(counts, k, starts);
	status = gs_cuda_status(cudaGetLastError());
	if (status != GS_OK)
		return status;
	switch (gs_type_width(type))
	{
		case 1:
			return run<u8>(e, a);
		case 2:
			return run<u16>(e, a);
		case 4:
			return run<u32>(e, a);
		case 8:
			return run<u64>(e, a);
		default:
			return run<u128>(e, a);
	}
}
