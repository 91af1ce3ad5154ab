/*
 * small.cu: the order of up to 65536 rows in one launch, without any decision or wait on the host.
 *
 * Up to four clusters of up to 16 blocks (sm_90) work independently: each reads all rows, ITEMS per thread, and writes
 * its share of the order.
 *
 * 1.  Its blocks compute statistics of the columns, exchange them, and make the key's fields.
 * 2.  They count rows by the leading 12 bits of their keys.
 * 3.  Every block sums the counts and puts its rows into their bins, in any order, if the bins belong to the cluster.
 * 4.  A row's place in its bin is the number of smaller rows there; its number is written to that place.
 *
 * Cluster barriers separate the steps.  Rows that are in order leave after step 2.  If some bin is too full for step 4,
 * the first cluster sorts everything by digit passes in its shared memory (small_passes.cuh).  Without clusters, one
 * block does that with as many rows as fit.
 *
 * Bytes per row: the columns' widths read by each cluster, twice if there are several columns; 8 or 10 written and
 * read; 4 written.
 */
#include "small_bins.cuh"
#include "small_passes.cuh"

/* The keys of a thread's rows: bits, words, and first words, the last of which is the row's before the first. */
template <int ITEMS> struct small_key
{
	u32 bits, words;
	u64 word[ITEMS + 1];
};

/* ---------------------------------------------------------------- key statistics */

/* Sums the statistics of a column over the block's warps and broadcasts them to the cluster's blocks.  By one warp. */
static __device__ __forceinline__ void
broadcast_stats(small_shared &m, u32 blocks, u32 c)
{
	const u32 lane = lane_id();
	small_stats x = {0, 0, 0, 0, 0, 0};

	if (lane < WARPS)
		x = m.partial[c][lane];
	x = lanes_stats(x);
	if (lane < blocks)
	{
		const u32 to = in_block(&m.received[c][cluster_rank()], lane);

		put(to + (u32) offsetof(small_stats, not_min), x.not_min);
		put(to + (u32) offsetof(small_stats, max), x.max);
		put(to + (u32) offsetof(small_stats, ones), x.ones);
		put(to + (u32) offsetof(small_stats, zeros), x.zeros);
		put(to + (u32) offsetof(small_stats, flags), x.flags);
	}
}

/* Waits until all blocks have broadcast their statistics.  sent: this warp has broadcast some. */
static __device__ __forceinline__ void
await_stats(bool sent)
{
	if (sent)
		cluster_arrive();
	else
		cluster_arrive_relaxed();
	cluster_wait();
}

/* Makes the fields in shared memory from m.stats. */
static __device__ __forceinline__ void
fields_of_stats(const small_args &a, small_shared &m)
{
	__syncthreads();
	if (threadIdx.x == 0)
		make_fields(a, m);
	__syncthreads();
}

/* Returns whether there are statistics of a column, or of the lower half of a 16-byte one. */
static __device__ __forceinline__ bool
looked_at(const small_args &a, u32 c)
{
	return c < 2 * a.ncolumns && (c % 2 == 0 || a.columns[c / 2].spec.type == GS_U128);
}

/* Computes statistics of all columns. */
template <int ITEMS>
static __device__ __forceinline__ void
small_column_stats(const small_args &a, small_shared &m, u32 first)
{
	static_assert(COLUMN_STATS <= WARPS, "a warp for each");
	const u32 warp = threadIdx.x / 32;
	const bool mine = looked_at(a, warp);

#pragma unroll 1
	for (u32 c = 0; c < 2 * a.ncolumns; c++)
		if (looked_at(a, c))
		{
			const small_source &from = a.sources[c];
			u64 x[ITEMS + 1];

			read_values(x, from.values, from.width, from.stride, first, a.n);

			const u32 nulls = read_nulls<ITEMS + 1>(a.columns[c / 2].nulls, first, a.n);

			order_values(x, from.floats, from.width, from.flip);

			const small_stats s = lanes_stats(look_at(x, nulls));

			if (lane_id() == 0)
				m.partial[c][warp] = s;
		}
	cluster_wait();
	__syncthreads();
	if (mine)
		broadcast_stats(m, a.blocks, warp);
	await_stats(mine);
	if (mine)
	{
		const gs_key_stats l = stats_of(stats_of_blocks(m, a.blocks, warp));

		if (lane_id() == 0)
			m.stats[warp] = l;
	}
}

/* Makes keys from any columns, after their statistics. */
template <int ITEMS>
static __device__ __forceinline__ void
small_keys(const small_args &a, small_shared &m, u32 first, small_key<ITEMS> &k)
{
	fields_of_stats(a, m);
	k.bits = m.bits;
	k.words = m.words;
	if (k.bits > 0 && a.by_bins)
		small_words(k.word, m, first, a.n);
}

/* Makes statistics and keys of a column of at most 8 bytes in registers; false if a NULL bit makes keys longer. */
template <int ITEMS>
static __device__ __forceinline__ bool
small_column_keys(const small_args &a, small_shared &m, u32 first, small_key<ITEMS> &k)
{
	const small_source &from = a.sources[0];
	const u32 warp = threadIdx.x / 32;
	gs_dev_field f = {};

	read_values(k.word, from.values, from.width, from.stride, first, a.n);

	const u32 nulls = read_nulls<ITEMS + 1>(a.columns[0].nulls, first, a.n);

	order_values(k.word, from.floats, from.width, from.flip);

	const small_stats s = lanes_stats(look_at(k.word, nulls));

	if (lane_id() == 0)
		m.partial[0][warp] = s;
	cluster_wait();
	__syncthreads();
	if (warp == 0)
		broadcast_stats(m, a.blocks, 0);
	await_stats(warp == 0);

	const gs_key_stats stats = stats_of(stats_of_blocks(m, a.blocks, 0));

	if (threadIdx.x == 0)
		m.stats[0] = stats;

	const u64 span = gs_field_range(&f, &stats, ~stats.not_min);

	if (stats.nulls && stats.valid && !gs_field_nulls(&f, &a.columns[0], span))
		return false;
	k.bits = stats.valid ? f.bits : 0;
	k.words = k.bits > 0;
#pragma unroll
	for (int i = 0; i <= ITEMS; i++)
		k.word[i] = nulls >> i & 1 ? f.null_code : ((k.word[i] - f.base) >> f.shift) + f.bump;
	return true;
}

/* ---------------------------------------------------------------- the kernel */

/* Puts the rows whose bins belong to the cluster into these.  place: from count_bins().  m.bins: from share_bins(). */
template <int ITEMS>
static __device__ __forceinline__ void
fill_bins(const small_args &a, const small_shared &m, const small_key<ITEMS> &k, u32 shift, bool packed, u32 first,
		  u32 from, u32 to, u32 (&place)[ITEMS])
{
	u32 own = 0;

#pragma unroll
	for (int i = 0; i < ITEMS; i++)
	{
		const u32 bin = (u32) (k.word[i] >> shift), begin = m.begin[bin];

		place[i] = begin + half_of(m.bins[bin / 2], bin) + half_of(place[i], bin);
		own |= (u32) (first + i * 32 < a.n && begin >= from && begin < to) << i;
	}
#pragma unroll
	for (int i = 0; i < ITEMS; i++)
		if (own >> i & 1)
		{
			const u32 row = first + i * 32;

			a.words[place[i]] = packed ? k.word[i] << ROW_BITS | row : k.word[i];
			if (!packed)
				a.rows[place[i]] = (u16) row;
		}
}

/* Sorts by bins, if both an ascent and a descent were seen; returns what was.  passes: how often rows were moved. */
template <int ITEMS>
static __device__ __forceinline__ u32
small_bins(const small_args &a, small_shared &m, const small_key<ITEMS> &k, u32 first, bool column, u32 &passes)
{
	constexpr u32 PLACES = THREADS * places_of(ITEMS);
	const u32 thread = threadIdx.x, self = cluster_rank(), cluster = blockIdx.x / a.blocks;
	const u32 from = cluster * a.blocks * PLACES, to = from + a.blocks * PLACES;
	const u32 shift = k.bits <= BIN_BITS ? 0 : min(64u, k.bits) - BIN_BITS;
	const bool packed = k.bits + ROW_BITS <= 64;
	u32 *const bins = a.state->bins[cluster];
	u32 place[ITEMS], seen = GS_SEEN_FALL | GS_SEEN_RISE;
	bool full = false;

	count_bins(m, k.word, shift, first, a.n, place);
	if (k.words == 1)
		seen = small_seen<ITEMS>(k.word, k.word[ITEMS], first, a.n);
	if (lane_id() == 0 && seen != 0)
		atomicOr(&m.seen, seen);
	__syncthreads();
	share_bins(m, bins);
	if (thread < a.blocks)
		put(in_block(&m.seen_by[self], thread), m.seen);
	cluster_barrier();

	/* requested before it is known whether it is needed */
	static_assert(BIN_WORDS == 4 * THREADS, "four words for each thread");
	const uint4 counts = __ldcg((const uint4 *) bins + thread);

	seen = lanes_or(lane_id() < a.blocks ? m.seen_by[lane_id()] : 0);

	const bool sorted = seen != (GS_SEEN_FALL | GS_SEEN_RISE);

	if (!sorted)
	{
		full = begin_bins(m, counts, a.n, from, to);
		if (!full)
			fill_bins(a, m, k, shift, packed, first, from, to, place);
		cluster_barrier();
	}
	/* clears for the next launch */
	for (u32 i = self * THREADS + thread; i < BIN_WORDS / 4; i += a.blocks * THREADS)
		((uint4 *) bins)[i] = make_uint4(0, 0, 0, 0);
	if (full && cluster == 0)
	{
		if (column)
			fields_of_stats(a, m);
		seen = small_passes<ITEMS>(a, m, a.blocks, false, passes);
	}
	else if (!sorted && !full)
	{
		rank_bins<ITEMS>(a, m, packed ? shift + ROW_BITS : shift, packed, k.words > 1);
		passes = 1;
	}
	return seen;
}

/* One block per multiprocessor suffices: by default the compiler would save registers for two, and spill. */
template <int ITEMS>
static __global__ void __launch_bounds__(THREADS, 1) small_kernel(const __grid_constant__ small_args a)
{
	extern __shared__ __align__(128) u8 memory[];
	small_shared &m = *(small_shared *) memory;
	const u32 thread = threadIdx.x, first = first_row<ITEMS>();
	const bool column = a.by_bins && a.ncolumns == 1 && a.columns[0].spec.type != GS_U128;
	u32 input, passes = 0;
	bool known = false;
	small_key<ITEMS> k;

	if (thread == 0)
		m.seen = 0;
	/* no block may be written to before it runs; the wait is in front of the first such write */
	cluster_arrive_relaxed();
	if (a.by_bins)
		for (u32 i = thread; i < BIN_WORDS / 4; i += THREADS)
			((uint4 *) m.bins)[i] = make_uint4(0, 0, 0, 0);
	if (column)
		known = small_column_keys(a, m, first, k);
	else
		small_column_stats<ITEMS>(a, m, first);
	if (!known)
		small_keys(a, m, first, k);

	if (k.bits == 0)
		input = GS_SEEN_RISE;
	else if (a.by_bins)
		input = small_bins(a, m, k, first, column, passes);
	else
		input = small_passes<ITEMS>(a, m, 1, k.words == 1, passes);
	if (input != (GS_SEEN_FALL | GS_SEEN_RISE))
		for (u32 r = blockIdx.x * THREADS + thread; r < a.n; r += gridDim.x * THREADS)
			a.order[r] = input == GS_SEEN_FALL ? a.n - 1 - r : r;
	if (a.facts != NULL && blockIdx.x == 0 && thread == 0)
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

/* Selects the kernel for this many rows per thread. */
static small_function
small_of(u32 items)
{
	return items <= 1 ? small_kernel<1> : items <= 2 ? small_kernel<2> : items <= 4 ? small_kernel<4> : small_kernel<8>;
}

/* A launch: blocks per cluster, clusters, rows per thread; for an order by bins, or for one block. */
struct small_shape
{
	u32 blocks, clusters, items;
};

/* Returns whether to sort by bins: the device has clusters. */
static bool
small_by_bins(const gs_cuda_sort *sort)
{
	return sort->small_most > THREADS * MOST_ITEMS;
}

/* Chooses a shape: first more blocks with a row per thread, then more rows per thread, then more clusters. */
static small_shape
small_shape_of(const gs_cuda_sort *sort, u64 rows)
{
	small_shape s = {1, 1, 1};

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
	if (s.items > 1)
	{
		const u64 share = CLUSTER * THREADS * places_of((int) s.items);

		s.clusters = (u32) ((rows + share - 1) / share);
	}
	return s;
}

/* half: of 16-byte values, 0 is the upper one */
static small_source
source_of(const gs_column *column, u32 half)
{
	const gs_type type = column->spec.type;
	const bool wide = type == GS_U128;
	small_source s;

	s.values = (const u8 *) column->values + (wide && half == 0 ? 8 : 0);
	s.stride = gs_width_of(type);
	s.width = wide ? 8 : s.stride;
	s.floats = gs_type_is_float(type);
	s.flip = wide ? (column->spec.desc ? ~0ull : 0) : gs_order_flip(&column->spec);
	return s;
}

/* Configures the launch.  A single block is launched without a cluster. */
static void
small_config(gs_cuda_engine *e, cudaLaunchConfig_t *config, cudaLaunchAttribute *attribute, small_shape s)
{
	*config = {};
	config->gridDim = dim3(s.blocks * s.clusters);
	config->blockDim = dim3(THREADS);
	config->dynamicSmemBytes = small_bytes((int) s.items);
	config->stream = e->stream;
	attribute->id = cudaLaunchAttributeClusterDimension;
	attribute->val.clusterDim.x = s.blocks;
	attribute->val.clusterDim.y = attribute->val.clusterDim.z = 1;
	config->attrs = attribute;
	config->numAttrs = s.blocks > 1;
}

/* Returns how many rows fit: all, if this device supports clusters of full size; otherwise those of one block. */
static u64
small_ask(gs_cuda_engine *e, bool clusters)
{
	const size_t room = gs_cuda_shared(e);
	u64 most = 0;

	for (u32 items = 1; items <= MOST_ITEMS; items *= 2)
	{
		const void *f = (const void *) small_of(items);
		cudaLaunchConfig_t config;
		cudaLaunchAttribute attribute;
		int active = 0;

		if (small_bytes((int) items) + 1024 > room ||
			cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) small_bytes((int) items)) !=
				cudaSuccess)
			break;
		if (!clusters)
		{
			most = THREADS * items;
			continue;
		}
		small_config(e, &config, &attribute, small_shape{CLUSTER, 1, items});
		if (cudaFuncSetAttribute(f, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess ||
			cudaOccupancyMaxActiveClusters(&active, f, &config) != cudaSuccess || active < 1)
			break;
		most = (u64) CLUSTER * THREADS * items;
	}
	cudaGetLastError();
	return most;
}

/* Queries the device once, and creates the state. */
static gs_status
small_prepare(gs_cuda_engine *e, gs_cuda_sort *sort)
{
	u64 most = e->tuning->arch >= 90 ? small_ask(e, true) : 0; /* older code has no clusters, on any device */

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

/* Returns whether one launch may do.  Queries the device on the first call. */
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
		cudaGetLastError(); /* clears the error: other paths remain */
	return rows <= sort->small_most;
}

void
gs_small_close(gs_cuda_sort *sort)
{
	cudaFree(sort->small_state);
}

/* Returns the memory for words and places of all rows, if blocks have more than fits shared memory. */
size_t
gs_small_temp(u64 rows)
{
	return gs_round256(rows * sizeof(u64)) + gs_round256(rows * sizeof(u16));
}

/* Enqueues the order.  Waits only if facts are wanted. */
gs_status
gs_small_run(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, void *temp, u32 *order,
			 gs_order_facts *facts)
{
	gs_cuda_sort *sort = (gs_cuda_sort *) e->sort;
	const small_shape shape = small_shape_of(sort, rows);
	small_args a = {};
	void *list[] = {&a};
	cudaLaunchConfig_t config;
	cudaLaunchAttribute attribute;

	for (u32 c = 0; c < ncolumns; c++)
	{
		a.columns[c] = columns[c];
		a.sources[2 * c] = source_of(&columns[c], 0);
		a.sources[2 * c + 1] = source_of(&columns[c], 1);
	}
	a.ncolumns = ncolumns;
	a.n = (u32) rows;
	a.blocks = shape.blocks;
	a.by_bins = small_by_bins(sort);
	a.state = (small_state *) sort->small_state;
	a.words = (u64 *) temp;
	a.rows = (u16 *) ((u8 *) temp + gs_round256(rows * sizeof(u64)));
	a.order = order;
	a.facts = facts != NULL ? (gs_order_facts *) sort->host : NULL;
	small_config(e, &config, &attribute, shape);
	GS_TRY(gs_cuda_status(cudaLaunchKernelExC(&config, (const void *) small_of(shape.items), list)));
	if (facts != NULL)
	{
		GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
		*facts = *(const gs_order_facts *) sort->host;
	}
	return GS_OK;
}
