/*
 * order_small.cu: the order of up to 65536 rows in one launch; the host decides nothing and waits for nothing.
 *
 * One row to a thread, 512 to a block.  1. The blocks look at the columns and make the key's fields.  2. Rows are counted by the leading
 * 12 bits of their keys.  3. Every block adds up the counts and writes its rows' words into their bins, in any order.  4. A row's
 * place in its bin is the number of rows there that come before it; its number goes there.  Between the steps all blocks meet:
 * up to 16 are one cluster (sm_90), more are launched together.  Rows that come in order leave after 2.
 *
 * If some bin is too full for step 4, the first cluster sorts everything by digit passes in its shared memory (order_small.cuh).  Where
 * there are no clusters, one block does that with all that fits it.
 * Bytes per row: the columns' widths once from memory and once from the cache; 8 or 10 written and read; 4 written.
 */
#include "order_small.cuh"

/* A row's key: how many bits and words all have, its first word, and the word of the row before to lane 0. */
struct small_key
{
	u32 bits, words;
	u64 word, before;
};

/* Adds up what a block's warps have seen of a column, and tells the other blocks.  By one warp. */
static __device__ __forceinline__ void
tell_look(const small_args &a, const small_shared &m, u32 c)
{
	small_look x = {0, 0, 0, 0, 0, 0};

	if (lane_id() < WARPS)
		x = m.partial[c][lane_id()];
	x = lanes_look(x);
	if (lane_id() == 0)
	{
		u64(*l)[MOST_BLOCKS] = a.state->looks[c];

		l[0][blockIdx.x] = x.not_min;
		l[1][blockIdx.x] = x.max;
		l[2][blockIdx.x] = x.ones;
		l[3][blockIdx.x] = x.zeros;
		l[4][blockIdx.x] = x.flags;
	}
}

/* Fields in shared memory from what the blocks have told each other. */
static __device__ __forceinline__ void
fields_of_looks(const small_args &a, small_shared &m)
{
	const u32 warp = threadIdx.x / 32;

	if (warp < 2 * a.ncolumns && (warp % 2 == 0 || a.columns[warp / 2].spec.type == GS_U128))
	{
		gs_look l = look_of(looks_of_blocks(a.state, warp));

		if (lane_id() == 0)
			m.look[warp] = l;
	}
	__syncthreads();
	if (threadIdx.x == 0)
		make_fields(a, m);
	__syncthreads();
}

/* Keys of any columns. */
static __device__ __forceinline__ small_key
small_keys(const small_args &a, small_shared &m, small_half *half, u32 row)
{
	const u32 warp = threadIdx.x / 32;
	small_key k;

	for (u32 c = 0; c < 2 * a.ncolumns; c++)
		if (c % 2 == 0 || a.columns[c / 2].spec.type == GS_U128)
		{
			small_look x = lanes_look(look_at(a.columns[c / 2], (int) (c % 2), a.n));

			if (lane_id() == 0)
				m.partial[c][warp] = x;
		}
	__syncthreads();
	if (warp < 2 * a.ncolumns && (warp % 2 == 0 || a.columns[warp / 2].spec.type == GS_U128))
		tell_look(a, m, warp);
	blocks_meet(half, 0);
	fields_of_looks(a, m);
	k.bits = m.bits;
	k.words = m.words;
	k.word = k.bits > 0 && row < a.n ? small_word(m, row, 0) : 0;
	k.before = k.words == 1 ? small_word_before(m, row, a.n) : 0;
	return k;
}

/*
 * The same for one column of at most 8 bytes, by every thread from the value that it has looked at: no list of fields, no second read.
 */
static __device__ __forceinline__ small_key
small_column_keys(const small_args &a, small_shared &m, small_half *half, u32 row)
{
	const gs_column &column = a.columns[0];
	const bool valid = row < a.n, older = lane_id() == 0 && row > 0 && valid;
	const bool null = valid && small_null(column, row), null_before = older && small_null(column, row - 1);
	const u64 x = valid ? small_value(column, 0, row) : 0, before = older ? small_value(column, 0, row - 1) : 0;
	small_look s = {0, 0, 0, 0, 0, 0};
	small_key k = {0, 0, 0, 0};
	gs_dev_field f;

	if (valid)
		see_value(s, x, null);
	s = lanes_look(s);
	if (lane_id() == 0)
		m.partial[0][threadIdx.x / 32] = s;
	__syncthreads();
	if (threadIdx.x < 32)
		tell_look(a, m, 0);
	blocks_meet(half, 0);

	if (threadIdx.x < 32)
	{
		const gs_look l = look_of(looks_of_blocks(a.state, 0));

		if (threadIdx.x == 0)
		{
			m.look[0] = l;
			m.seen = 0;
		}
	}
	__syncthreads();

	const gs_look look = m.look[0];

	if (!look.valid)
		return k;
	if (!gs_one_field(&f, &column, &look))
	{
		/* a NULL bit above 64 bits */
		fields_of_looks(a, m);
		return small_key{m.bits, m.words, valid ? small_word(m, row, 0) : 0, 0};
	}
	k.bits = f.bits;
	k.words = f.bits > 0;
	k.word = !valid ? 0 : null ? f.null_code : ((x - f.base) >> f.shift) + f.bump;
	k.before = null_before ? f.null_code : ((before - f.base) >> f.shift) + f.bump;
	return k;
}

/* Adds the block's counts to all blocks'; they become what was there before.  A thread's atomics are all under way at once. */
static __device__ __forceinline__ void
share_bins(small_shared &m, small_half *half)
{
	u32 count[BINS / THREADS];

#pragma unroll
	for (u32 i = 0; i < BINS / THREADS; i++)
		count[i] = m.bin[i * THREADS + threadIdx.x];
#pragma unroll
	for (u32 i = 0; i < BINS / THREADS; i++)
		if (count[i] != 0)
			count[i] = atomicAdd(&half->bins[i * THREADS + threadIdx.x], count[i]);
#pragma unroll
	for (u32 i = 0; i < BINS / THREADS; i++)
		m.bin[i * THREADS + threadIdx.x] = count[i];
}

/* The bins' counts over all blocks become their begins, in shared memory.  True if one has too many rows. */
static __device__ __forceinline__ bool
small_begins(small_shared &m, const small_half *half, u32 n)
{
	constexpr u32 EACH = BINS / THREADS;
	static_assert(EACH == 8, "two vectors for each thread");
	const u32 thread = threadIdx.x, warp = thread / 32, lane = lane_id();
	const uint4 *from = (const uint4 *) half->bins + 2 * thread;
	const uint4 x = __ldcg(from), y = __ldcg(from + 1);
	const u32 count[EACH] = {x.x, x.y, x.z, x.w, y.x, y.y, y.z, y.w};
	u32 sum = 0, most = 0, upto, before;

#pragma unroll
	for (u32 i = 0; i < EACH; i++)
	{
		sum += count[i];
		most = max(most, count[i]);
	}
	upto = warp_inclusive(sum);
	if (lane == 31)
		m.sums[warp] = upto;

	const bool full = __syncthreads_or(most > MOST_IN_BIN);

	before = warp_inclusive(lane < WARPS ? m.sums[lane] : 0);
	before = __shfl_sync(GS_ALL_LANES, before, (warp + 31) & 31);
	before = (warp ? before : 0) + upto - sum;
#pragma unroll
	for (u32 i = 0; i < EACH; i++)
	{
		m.bin[thread * EACH + i] = before;
		before += count[i];
	}
	if (thread == 0)
		m.bin[BINS] = n;
	__syncthreads();
	return full;
}

/* Reads the words of some positions into the window, which begins MOST_IN_BIN before the block's first. */
static __device__ __forceinline__ void
read_window(const small_args &a, small_shared &m, u32 begin, u32 end, bool packed)
{
	const u32 zero = blockIdx.x * THREADS - MOST_IN_BIN; /* may wrap, and back */

	for (u32 i = begin + threadIdx.x; i < end; i += THREADS)
	{
		m.window[i - zero] = __ldcg(a.words + i);
		if (!packed)
			m.window_rows[i - zero] = __ldcg(a.rows + i);
	}
}

/* Ranks the rows of a block's positions within their bins, and writes the order. */
static __device__ __forceinline__ void
small_rank(const small_args &a, small_shared &m, u32 shift, bool packed, u32 key_words)
{
	const u32 from = blockIdx.x * THREADS, at = from + threadIdx.x, zero = from - MOST_IN_BIN;

	if (from >= a.n)
		return;

	const u32 near = from < NEAR ? 0 : from - NEAR, far = min(from + THREADS + NEAR, a.n);

	read_window(a, m, near, far, packed);
	__syncthreads();

	/* the bins of these positions, whole */
	auto bin_of = [&](u64 word) -> u32 { return (u32) (word >> shift); };
	const u32 left = m.bin[bin_of(m.window[MOST_IN_BIN])];
	const u32 right = m.bin[bin_of(m.window[min(from + THREADS, a.n) - 1 - zero]) + 1];

	if (left < near || right > far)
	{
		read_window(a, m, left, near, packed);
		read_window(a, m, far, right, packed);
		__syncthreads();
	}
	if (at >= a.n)
		return;

	const u64 word = m.window[at - zero];
	const u32 bin = bin_of(word), begin = m.bin[bin], end = m.bin[bin + 1];
	u32 rank = 0, row;

	if (packed)
	{
		row = (u32) word & (MOST_ROWS - 1);
		for (u32 i = begin; i < end; i++)
			rank += m.window[i - zero] < word;
	}
	else
	{
		row = m.window_rows[at - zero];
		for (u32 i = begin; i < end; i++)
		{
			const u64 other = m.window[i - zero];
			bool before = other < word;

			if (other == word)
			{
				const u32 its = m.window_rows[i - zero];
				int c = key_words > 1 ? gs_compare(gs_dev_key{m.fields, m.nfields}, m.places[1], its, row) : 0;

				before = c < 0 || (c == 0 && its < row);
			}
			rank += before;
		}
	}
	a.order[begin + rank] = row;
}

/* Two blocks to a multiprocessor where the grid is largest: else there may be no room for all its clusters at once. */
template <int ITEMS>
static __global__ void __launch_bounds__(THREADS, ITEMS == MOST_ITEMS ? 2 : 1) small_kernel(const __grid_constant__ small_args a)
{
	extern __shared__ __align__(128) u8 memory[];
	small_shared &m = *(small_shared *) memory;
	small_half *half = &a.state->half[a.turn], *other = &a.state->half[1 - a.turn];
	const u32 thread = threadIdx.x, row = blockIdx.x * THREADS + thread;
	const bool column = a.bins && a.ncolumns == 1 && a.columns[0].spec.type != GS_U128;
	u32 input = GS_SEEN_FALL | GS_SEEN_RISE, passes = 0;

	for (u32 i = row; i < sizeof(*other) / sizeof(uint4); i += gridDim.x * THREADS)
		((uint4 *) other)[i] = make_uint4(0, 0, 0, 0);

	const small_key k = column ? small_column_keys(a, m, half, row) : small_keys(a, m, half, row);
	const bool packed = k.bits + ROW_BITS <= 64;

	if (k.bits == 0)
		input = GS_SEEN_RISE;
	else if (!a.bins)
		input = small_passes<ITEMS>(a, m, 1, k.words == 1, passes);
	else
	{
		const u32 shift = k.bits <= BIN_BITS ? 0 : min(64u, k.bits) - BIN_BITS;
		u32 bin = (u32) (k.word >> shift), rank = 0, now;

		/* counts of bins: in the block, then of all blocks */
		for (u32 i = thread; i < BINS / 4; i += THREADS)
			((uint4 *) m.bin)[i] = make_uint4(0, 0, 0, 0);
		__syncthreads();
		now = k.words == 1 ? small_seen(k.word, k.before, row, a.n) : 0;
		if (lane_id() == 0 && now != 0)
			atomicOr(&m.seen, now);
		if (row < a.n)
			rank = atomicAdd(&m.bin[bin], 1);
		__syncthreads();
		share_bins(m, half);
		if (thread == 0 && m.seen != 0)
			atomicOr(&half->seen, m.seen);
		__syncthreads();
		rank += m.bin[bin];
		blocks_meet(half, 1);
		if (k.words == 1)
			input = __ldcg(&half->seen);
		if (input == (GS_SEEN_FALL | GS_SEEN_RISE))
		{
			const bool full = small_begins(m, half, a.n);

			if (!full && row < a.n)
			{
				rank += m.bin[bin];
				a.words[rank] = packed ? k.word << ROW_BITS | row : k.word;
				if (!packed)
					a.rows[rank] = (u16) row;
			}
			blocks_meet(half, 2);
			if (!full)
			{
				small_rank(a, m, packed ? shift + ROW_BITS : shift, packed, k.words);
				passes = 1;
			}
			else if (blockIdx.x < CLUSTER)
			{
				if (column)
					fields_of_looks(a, m);
				input = small_passes<ITEMS>(a, m, min(gridDim.x, (u32) CLUSTER), false, passes);
			}
		}
	}
	if (input != (GS_SEEN_FALL | GS_SEEN_RISE))
		for (u32 r = row; r < a.n; r += gridDim.x * THREADS)
			a.order[r] = input == GS_SEEN_FALL ? a.n - 1 - r : r;
	if (a.facts != NULL && row == 0)
	{
		a.facts->key_bits = k.bits;
		a.facts->words = max(1u, k.words);
		a.facts->passes = passes;
		a.facts->refined = 0;
		a.facts->input = input == GS_SEEN_RISE	 ? gs_order_facts::GS_ASCENDING
						 : input == GS_SEEN_FALL ? gs_order_facts::GS_DESCENDING
												 : gs_order_facts::GS_UNORDERED;
	}
}

/* ---------------------------------------------------------------- launches */

typedef void (*small_function)(const small_args);

static small_function
small_of(u32 items)
{
	return items <= 1 ? small_kernel<1> : items <= 2 ? small_kernel<2> : items <= 4 ? small_kernel<4> : small_kernel<8>;
}

/* The shape for so many rows: of an order by bins, or of one block. */
struct small_shape
{
	u32 blocks, items;
};

static bool
small_by_bins(const gs_cuda_sort *sort)
{
	return sort->small_most > THREADS * MOST_ITEMS;
}

static small_shape
small_shape_of(const gs_cuda_sort *sort, u64 rows)
{
	small_shape s = {1, 1};

	if (!small_by_bins(sort))
	{
		while ((u64) s.items * THREADS < rows)
			s.items *= 2;
		return s;
	}
	while (s.blocks < CLUSTER && (u64) s.blocks * THREADS < rows)
		s.blocks *= 2;
	while ((u64) s.items * s.blocks * THREADS < rows)
		s.items *= 2;
	/* as many clusters as rows need, each whole */
	s.blocks = (u32) ((rows + (u64) s.blocks * THREADS - 1) / ((u64) s.blocks * THREADS)) * s.blocks;
	return s;
}

static void
small_config(gs_cuda_engine *e, cudaLaunchConfig_t *config, cudaLaunchAttribute *attributes, small_shape s)
{
	*config = {};
	config->gridDim = dim3(s.blocks);
	config->blockDim = dim3(THREADS);
	config->dynamicSmemBytes = small_bytes((int) s.items);
	config->stream = e->stream;
	attributes[0].id = cudaLaunchAttributeClusterDimension;
	attributes[0].val.clusterDim.x = s.blocks < CLUSTER ? s.blocks : CLUSTER;
	attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
	attributes[1].id = cudaLaunchAttributeCooperative;
	attributes[1].val.cooperative = 1;
	config->attrs = attributes;
	config->numAttrs = s.blocks > CLUSTER ? 2 : s.blocks > 1;
}

/* How many rows fit: all, if this device takes enough clusters at once; else those of fewer, or of one block. */
static u64
small_ask(gs_cuda_engine *e, bool clusters)
{
	const size_t room = e->properties.sharedMemPerBlockOptin;
	u64 most = 0;

	for (u32 items = 1; items <= MOST_ITEMS; items *= 2)
	{
		const void *f = (const void *) small_of(items);
		cudaLaunchConfig_t config;
		cudaLaunchAttribute attributes[2];
		int active = 0;

		if (small_bytes((int) items) + 1024 > room ||
			cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) small_bytes((int) items)) != cudaSuccess)
			break;
		if (!clusters)
		{
			most = THREADS * items;
			continue;
		}
		small_config(e, &config, attributes, small_shape{CLUSTER * items, items});
		if (cudaFuncSetAttribute(f, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess ||
			cudaOccupancyMaxActiveClusters(&active, f, &config) != cudaSuccess || (u32) active < items)
			break;
		most = (u64) CLUSTER * THREADS * items;
	}
	cudaGetLastError();
	return most;
}

/* Asks once, and makes the state. */
static gs_status
small_prepare(gs_cuda_engine *e, gs_cuda_sort *sort)
{
	u64 most = e->properties.major >= 9 ? small_ask(e, true) : 0;

	sort->small_asked = true;
	if (most == 0)
		most = small_ask(e, false);
	if (most == 0)
		return GS_OK;
	GS_TRY(gs_cuda_status(cudaMalloc(&sort->small_state, sizeof(small_state))));
	GS_TRY(gs_cuda_status(cudaMemsetAsync(sort->small_state, 0, sizeof(small_state), e->stream)));
	sort->small_most = most;
	return GS_OK;
}

bool
gs_small_fits(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows)
{
	gs_cuda_sort *sort = (gs_cuda_sort *) e->sort;
	const u64 wanted = sort->force_small == 0 ? GS_SMALL_ROWS : sort->force_small == 1 ? 0 : MOST_ROWS;

	if (wanted == 0 || rows > wanted || ncolumns > GS_SMALL_COLUMNS)
		return false;
	for (u32 c = 0; c < ncolumns; c++)
		if (columns[c].spec.type == GS_BYTES)
			return false;
	if (!sort->small_asked && small_prepare(e, sort) != GS_OK)
		cudaGetLastError(); /* the other ways do without */
	return rows <= sort->small_most;
}

void
gs_small_close(gs_cuda_sort *sort)
{
	if (sort->small_state != NULL)
		cudaMemset(sort->small_state, 0, sizeof(small_state));
	cudaFree(sort->small_state);
}

size_t
gs_small_temp(u64 rows)
{
	return gs_round256(rows * sizeof(u64)) + gs_round256(rows * sizeof(u16));
}

/*
 * Enqueues the order.  Waits only if facts are wanted.
 */
gs_status
gs_small_run(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, void *temp, u32 *order, gs_order_facts *facts)
{
	gs_cuda_sort *sort = (gs_cuda_sort *) e->sort;
	const small_shape shape = small_shape_of(sort, rows);
	small_args a = {};
	void *list[] = {&a};
	cudaLaunchConfig_t config;
	cudaLaunchAttribute attributes[2];

	for (u32 c = 0; c < ncolumns; c++)
		a.columns[c] = columns[c];
	a.ncolumns = ncolumns;
	a.n = (u32) rows;
	a.turn = sort->small_turn;
	a.bins = small_by_bins(sort);
	a.state = (small_state *) sort->small_state;
	a.words = (u64 *) temp;
	a.rows = (u16 *) ((u8 *) temp + gs_round256(rows * sizeof(u64)));
	a.order = order;
	a.facts = facts != NULL ? (gs_order_facts *) sort->host : NULL;
	small_config(e, &config, attributes, shape);
	GS_TRY(gs_cuda_status(cudaLaunchKernelExC(&config, (const void *) small_of(shape.items), list)));
	sort->small_turn = 1 - sort->small_turn;
	if (facts != NULL)
	{
		GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
		*facts = *(const gs_order_facts *) sort->host;
	}
	return GS_OK;
}
