/*
 * feed.cuh: the load step of every primitive: brings tiles into shared memory and through a block.
 *
 * Blocks are persistent, one or two per multiprocessor.  Each has a ring of buffers (stages) and three warps in
 * addition to its workers: a loader takes tickets and starts bulk copies of a tile's windows of all input arrays as
 * soon as a buffer is free; two others alternate in looking back.  Loads are therefore in flight while older tiles are
 * processed, and need no registers.
 *
 * The workers never wait for a look-back they have just caused: in iteration i they reduce tile i, publish its state,
 * leave it compacted in its buffer, and then write tile i - 2, whose prefix has been found meanwhile.
 *
 *     workers      | wait for load i | count i, publish | compact i | (prefix i-2) write out i-2 | wait for load i+1
 *     look-back 0  | . . . . . . . . . . . . . . . . .  | look back for i . . . . . . . . . . . . . . . . | i+2
 *     look-back 1  | look back for i-1 . . . . . . . . . . . . . . . . . . . . . . . . . . . . | i+1
 *     loader       | . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . | refill buffer of i-2
 *
 * Nothing here matters more: a block that waited for its own prefix would publish its next tile only then, all blocks
 * would move in step, and every look-back would cross as many tiles as there are blocks.
 *
 * Bulk copies move 16-byte vectors.  Tiles are therefore cut at 16-byte boundaries of the first input array: tile 0
 * begins up to 15 bytes before the array ("shift" nonexistent items), and the partial vectors at the head and tail of
 * an array are copied byte by byte.  No byte outside an array is read.
 *
 * Before sm_90 there are no bulk copies: the workers copy a tile with 16-byte loads when they reach it.
 */
#ifndef GS_CUDA_BASE_FEED_CUH
#define GS_CUDA_BASE_FEED_CUH

#include "lookback.cuh"

#define GS_NO_TILE 0xffffffffu
#define GS_EDGES   0x80000000u /* flag of a tile number: bulk copies do not cover all of it */

/* One input array of a kernel, as bytes. */
struct gs_input
{
	const u8 *begin, *end;
};

/* A tile's part of an array: starts at a 16-byte boundary; the first item of interest is off bits behind it. */
struct gs_window
{
	i64 begin; /* an address; may precede the array in tile 0 */
	u32 off;   /* bits */
};

/* The window that begins with item first of unit_bits bits each.  first may be negative in tile 0. */
__device__ __forceinline__ gs_window
window_of(gs_input in, i64 first, u32 unit_bits)
{
	i64 bit = (i64) in.begin * 8 + first * (i64) unit_bits;
	gs_window w;

	w.begin = (bit >> 3) & ~(i64) 15;
	w.off = (u32) (bit - w.begin * 8);
	return w;
}

/* Whole vectors of the array inside a window. */
__device__ __forceinline__ void
window_vectors(gs_input in, i64 begin, u32 bytes, i64 &from, i64 &to)
{
	i64 lo = ((i64) in.begin + 15) & ~(i64) 15, hi = (i64) in.end & ~(i64) 15;

	from = begin > lo ? begin : lo;
	to = begin + (i64) bytes < hi ? begin + (i64) bytes : hi;
	if (to < from)
		to = from;
}

/* Copies the bytes of the array in a window outside its whole vectors, at most 30, by any set of threads. */
__device__ __forceinline__ void
window_edges(u8 *to, gs_input in, i64 begin, u32 bytes, u32 thread, u32 threads)
{
	i64 lo = begin > (i64) in.begin ? begin : (i64) in.begin;
	i64 hi = begin + (i64) bytes < (i64) in.end ? begin + (i64) bytes : (i64) in.end;
	i64 from, upto;

	window_vectors(in, begin, bytes, from, upto);
	if (from == upto)
		from = upto = hi;
	for (i64 p = lo + thread; p < from; p += threads)
		to[p - begin] = *(const u8 *) p;
	for (i64 p = upto + thread; p < hi; p += threads)
		to[p - begin] = *(const u8 *) p;
}

#define GS_MAX_STAGES 6
#define GS_LEAST_STAGES 3 /* fewer cannot load ahead */
#define GS_DEPTH	  2  /* iterations from publishing a tile to writing it */
#define GS_SERVICE	  96 /* threads of the loader and the look-back warps */
#define GS_SLOTS	  4  /* iterations in progress in any role: more than GS_DEPTH, a power of 2 */

struct gs_ring
{
	/* barriers: a stage has been loaded; a tile is published, its prefix is there, its buffer is free */
	u64 full[GS_MAX_STAGES], published[GS_SLOTS], prefix[GS_SLOTS], free[GS_SLOTS];
	/* by parity of the round: a tile is announced while its predecessor may still be read */
	u32 tile[2][GS_MAX_STAGES];
	u32 round[GS_MAX_STAGES];	/* of the loader; before sm_90 also replaces full */
	u32 posted[GS_SLOTS];		/* the published tile */
};

/* Ring size for this many KB of shared memory.  The rest is for the kernel and the system. */
__host__ __device__ constexpr size_t
gs_ring_room(int shared)
{
	return (size_t) (shared - 2) << 10;
}

/* An iteration of a block: its number, and its place in the ring. */
struct gs_ring_iteration
{
	u32 n = 0, stage = 0, round = 0; /* round: how often the stage was used before */

	/* Advances to the next stage, cyclically. */
	__device__ __forceinline__ void
	advance(u32 stages)
	{
		n++;
		if (++stage == stages)
			stage = 0, round++;
	}
};

/* May be overridden, to run the code for other devices on this one. */
#ifndef GS_BULK
#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
#define GS_BULK 1
#else
#define GS_BULK 0
#endif
#endif

/* Initializes the ring, by one thread, before the block's first barrier. */
__device__ __forceinline__ void
ring_init(gs_ring &ring, u32 warps)
{
#if GS_BULK
	for (u32 s = 0; s < GS_MAX_STAGES; s++)
		barrier_init(&ring.full[s], 1);
	for (u32 s = 0; s < GS_SLOTS; s++)
	{
		barrier_init(&ring.published[s], 1);
		barrier_init(&ring.prefix[s], 1);
		barrier_init(&ring.free[s], warps);
	}
	asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
	for (u32 s = 0; s < GS_MAX_STAGES; s++)
		ring.round[s] = 0;
}

/* Announces a tile (or the end) in a stage, and its bulk copies' bytes.  all: they cover the array's ends, too. */
__device__ __forceinline__ void
ring_announce(gs_ring &ring, int stage, u32 tile, u32 bytes, bool all)
{
	const u32 round = ring.round[stage];

	ring.tile[round & 1][stage] = all ? tile : tile | GS_EDGES;
#if GS_BULK
	ring.round[stage] = round + 1;
	barrier_expect(&ring.full[stage], bytes);
#else
	__threadfence_block();
	*(volatile u32 *) &ring.round[stage] = round + 1;
#endif
}

/* Starts the copy of a window's whole vectors.  By the loader, after ring_announce. */
__device__ __forceinline__ void
ring_load(gs_ring &ring, int stage, u8 *to, gs_input in, i64 begin, u32 bytes)
{
#if GS_BULK
	i64 from, upto;

	window_vectors(in, begin, bytes, from, upto);
	if (upto > from)
		bulk_load(to + (from - begin), (const void *) from, (u32) (upto - from), &ring.full[stage]);
#endif
}

/* Returns the bytes that bulk copies bring of a window, which the barrier expects. */
__device__ __forceinline__ u32
window_bulk_bytes(gs_input in, i64 begin, u32 bytes)
{
	i64 from, upto;

	window_vectors(in, begin, bytes, from, upto);
	return (u32) (upto - from);
}

/* Waits for and returns this iteration's tile.  By all workers. */
__device__ __forceinline__ u32
ring_wait(gs_ring &ring, gs_ring_iteration iteration)
{
#if GS_BULK
	barrier_wait(&ring.full[iteration.stage], iteration.round & 1);
#else
	while (*(volatile u32 *) &ring.round[iteration.stage] <= iteration.round)
		;
	__threadfence_block();
#endif
	return ring.tile[iteration.round & 1][iteration.stage];
}

/* Copies a tile before sm_90.  By the workers. */
__device__ __forceinline__ void
ring_copy(u8 *to, gs_input in, i64 begin, u32 bytes, u32 thread, u32 threads)
{
#if !GS_BULK
	i64 from, upto;

	window_vectors(in, begin, bytes, from, upto);
	for (i64 p = from + 16 * thread; p < upto; p += 16 * threads)
		*(uint4 *) (to + (p - begin)) = *(const uint4 *) p;
#endif
}

/* Barrier of the workers, without the service warps. */
template <int THREADS>
__device__ __forceinline__ void
workers_barrier()
{
	asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
}

/*
 * Three signals inside a block, each with a barrier per slot (iteration modulo GS_SLOTS): a tile is published; its
 * prefix is there; its buffer is free.  One side arrives, the other waits.  A slot's barrier is reused only after the
 * waiting side has passed: the workers cannot enter iteration i + 4 before prefix i + 1 has come, nor before buffers
 * were refilled.  Before sm_90 named barriers serve instead.
 */
#if GS_BULK
#define GS_SIGNAL_WAIT(which, n) barrier_wait(&ring.which[(n) % GS_SLOTS], (n) / GS_SLOTS & 1)
#else
#define GS_NAMED(what, id, n, threads)                                                                                 \
	asm volatile("bar." what " %0, %1;" ::"r"(id + (n) % GS_SLOTS), "r"(threads) : "memory")
#endif

/* Hands a tile, or the end, to the look-back warp whose turn it is.  By the first worker warp. */
__device__ __forceinline__ void
post(gs_ring &ring, u32 n, u32 tile)
{
	if (threadIdx.x == 0)
		ring.posted[n % GS_SLOTS] = tile;
#if GS_BULK
	if (threadIdx.x == 0)
		barrier_arrive(&ring.published[n % GS_SLOTS]);
#else
	__syncwarp(); /* a warp arrives as one, after the first lane's writes */
	GS_NAMED("arrive", 4, n, 64);
#endif
}

/* Waits for the tile of iteration n.  By the look-back warp. */
__device__ __forceinline__ u32
posted_wait(gs_ring &ring, u32 n)
{
#if GS_BULK
	GS_SIGNAL_WAIT(published, n);
#else
	GS_NAMED("sync", 4, n, 64);
#endif
	return ring.posted[n % GS_SLOTS];
}

/* Signals that the prefix of iteration n can be read.  By the look-back warp. */
template <int THREADS>
__device__ __forceinline__ void
prefix_arrive(gs_ring &ring, u32 n)
{
#if GS_BULK
	if (lane_id() == 0)
		barrier_arrive(&ring.prefix[n % GS_SLOTS]);
#else
	__syncwarp();
	GS_NAMED("arrive", 8, n, THREADS + 32);
#endif
}

/* Waits for that prefix.  By the workers, before they write iteration n. */
template <int THREADS>
__device__ __forceinline__ void
prefix_wait(gs_ring &ring, u32 n)
{
#if GS_BULK
	GS_SIGNAL_WAIT(prefix, n);
#else
	GS_NAMED("sync", 8, n, THREADS + 32);
#endif
}

/* Signals that iteration n is written and its buffer free.  By each worker warp. */
template <int THREADS>
__device__ __forceinline__ void
free_arrive(gs_ring &ring, u32 n)
{
#if GS_BULK
	bulk_fence();
	__syncwarp();
	if (lane_id() == 0)
		barrier_arrive(&ring.free[n % GS_SLOTS]);
#else
	__syncwarp();
	GS_NAMED("arrive", 12, n, THREADS + 32);
#endif
}

/* Waits for that signal.  By the loader, before it refills the buffer of iteration n. */
template <int THREADS>
__device__ __forceinline__ void
free_wait(gs_ring &ring, u32 n)
{
#if GS_BULK
	GS_SIGNAL_WAIT(free, n);
#else
	GS_NAMED("sync", 12, n, THREADS + 32);
#endif
}

/* The loader: start(stage, tile) begins loads.  Takes tickets an iteration ahead, and of few tiles only its share. */
template <int THREADS, class START>
__device__ __forceinline__ void
load_tiles(gs_ring &ring, const gs_sweep &sweep, START start)
{
	const u32 lane = lane_id();
	u32 next = GS_NO_TILE, mine = 0, stage = 0;
	bool more = true;

	if (lane == 0)
	{
		for (u32 s = 0; s < sweep.stages; s++)
		{
			next = s < sweep.rounds && more ? atomicAdd(sweep.ticket, 1) : GS_NO_TILE;
			more = next < sweep.tiles;
			mine += more;
			start(s, more ? next : GS_NO_TILE);
		}
		next = more && sweep.rounds > sweep.stages ? atomicAdd(sweep.ticket, 1) : GS_NO_TILE;
	}
	for (u32 n = 0; n < __shfl_sync(GS_ALL_LANES, mine, 0); n++)
	{
		free_wait<THREADS>(ring, n);
		if (lane == 0 && more)
		{
			more = next < sweep.tiles;
			mine += more;
			start(stage, more ? next : GS_NO_TILE);
			if (more)
				next = atomicAdd(sweep.ticket, 1);
		}
		stage = stage + 1 == sweep.stages ? 0 : stage + 1;
	}
}

/* The workers: take() reduces, publishes and compacts a tile, described by PENDING; write_out() writes it later. */
template <int THREADS, class PENDING, class TAKE, class WRITE>
__device__ __forceinline__ void
work_tiles(gs_ring &ring, const gs_sweep &sweep, TAKE take, WRITE write_out)
{
	gs_ring_iteration iteration;
	PENDING last = {}, older = {};

	for (;; iteration.advance(sweep.stages))
	{
		const u32 word = ring_wait(ring, iteration);

		if (word == GS_NO_TILE)
			break;

		const PENDING taken = take(iteration, word & ~GS_EDGES, (word & GS_EDGES) != 0);

		if (iteration.n >= 2)
			write_out(iteration.n - 2, older);
		older = last;
		last = taken;
	}
	if (threadIdx.x < 32)
	{
		post(ring, iteration.n, GS_NO_TILE);
		post(ring, iteration.n + 1, GS_NO_TILE);
	}
	workers_barrier<THREADS>(); /* the last tile is compacted */
	if (iteration.n >= 2)
		write_out(iteration.n - 2, older);
	if (iteration.n >= 1)
		write_out(iteration.n - 1, last);
}

/* A look-back warp: calls find(n, tile) for every other tile of the block, which leaves the prefix for the workers. */
template <int THREADS, class FIND>
__device__ __forceinline__ void
find_prefixes(gs_ring &ring, FIND find)
{
	for (u32 n = (threadIdx.x - THREADS) / 32 - 1;; n += GS_DEPTH)
	{
		u32 tile = posted_wait(ring, n);

		if (tile == GS_NO_TILE)
			return;
		find(n % GS_SLOTS, tile);
		prefix_arrive<THREADS>(ring, n);
	}
}

/* A kernel on the ring, each warp in its role: block.start(), look_back_tiles(), or the workers' take() and write(). */
template <class BLOCK, class PENDING>
__device__ __forceinline__ void
run_ring(BLOCK &block, gs_ring &ring, const gs_sweep &sweep)
{
	const u32 warp = threadIdx.x / 32;

	if (threadIdx.x == 0)
		ring_init(ring, BLOCK::WARPS);
	__syncthreads();
	if (warp == BLOCK::WARPS)
		load_tiles<BLOCK::THREADS>(ring, sweep, [&](int stage, u32 tile) { block.start(stage, tile); });
	else if (warp > BLOCK::WARPS)
		block.look_back_tiles();
	else
		work_tiles<BLOCK::THREADS, PENDING>(
			ring, sweep,
			[&](const gs_ring_iteration &at, u32 tile, bool edges) { return block.take(at, tile, edges); },
			[&](u32 n, const PENDING &p) { block.write(n, p); });
}

#endif
