/*
 * feed.cuh: how tiles come into shared memory and go through a block, the load step of every primitive.
 *
 * Blocks are persistent, one or two per multiprocessor.  Each has a ring of buffers (stages) and, beside its working
 * warps, three more: a loader takes tickets and starts bulk copies of a tile's windows of all input arrays as soon as a
 * buffer is free; two others look back, in turns.  So loads are always under way while older tiles are worked on, and
 * cost no registers.
 *
 * The workers never wait for a look-back they have just caused: in iteration i they take tile i apart, publish its
 * state, leave it compacted in its buffer, and then write out tile i - 2, whose prefix has been found meanwhile.
 *
 *     workers      | wait for load i | count i, publish | compact i | (prefix i-2) write out i-2 | wait for load i+1
 *     look-back 0  | . . . . . . . . . . . . . . . . .  | look back for i . . . . . . . . . . . . . . . . | i+2
 *     look-back 1  | look back for i-1 . . . . . . . . . . . . . . . . . . . . . . . . . . . . | i+1
 *     loader       | . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . | refill buffer of i-2
 *
 * This matters more than anything else here: a block that waited for its own prefix would publish its next tile only
 * then, all blocks would move in step, and every look-back would walk over as many tiles as there are blocks.
 *
 * Bulk copies move 16-byte vectors.  Tiles are therefore cut at 16-byte boundaries of the first input array: tile 0
 * begins up to 15 bytes before the array ("shift" items that do not exist), and what is not a whole vector inside an
 * array, its head and tail, is copied byte by byte.  No byte outside an array is read.
 *
 * Before sm_90 there are no bulk copies: the workers copy the tile with 16-byte loads when they come to it.
 */
#ifndef GS_CUDA_BASE_FEED_CUH
#define GS_CUDA_BASE_FEED_CUH

#include "lookback.cuh"

#define GS_NO_TILE 0xffffffffu
#define GS_EDGES   0x80000000u /* beside a tile number: bulk copies do not bring all of it */

/* One input array of a kernel, as bytes. */
struct gs_input
{
	const u8 *begin, *end;
};

/* What a tile needs of an array: from a 16-byte boundary on, the first byte (or bit) of interest off bits behind it. */
struct gs_window
{
	i64 begin; /* an address; may lie before the array for tile 0 */
	u32 off;   /* bits */
};

/* The window that begins with a unit of so many bits; first may be negative, in tile 0. */
__device__ __forceinline__ gs_window
window_of(gs_input in, i64 first, u32 unit_bits)
{
	i64 bit = (i64) in.begin * 8 + first * (i64) unit_bits;
	gs_window w;

	w.begin = (bit >> 3) & ~(i64) 15;
	w.off = (u32) (bit - w.begin * 8);
	return w;
}

/* The whole vectors of the array inside a window. */
__device__ __forceinline__ void
window_vectors(gs_input in, i64 begin, u32 bytes, i64 &from, i64 &to)
{
	i64 lo = ((i64) in.begin + 15) & ~(i64) 15, hi = (i64) in.end & ~(i64) 15;

	from = begin > lo ? begin : lo;
	to = begin + (i64) bytes < hi ? begin + (i64) bytes : hi;
	if (to < from)
		to = from;
}

/* Bytes of the array in a window outside its whole vectors, copied one by one; at most 30.  Any set of threads. */
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
#define GS_LEAST_STAGES 3 /* fewer leave nothing to load ahead */
#define GS_DEPTH	  2  /* iterations between a tile's publication and its way out */
#define GS_SERVICE	  96 /* threads of the loader and the look-back warps */
#define GS_SLOTS	  4  /* iterations that may be under way in some sense: more than GS_DEPTH, a power of 2 */

struct gs_ring
{
	/* barriers: a stage has been loaded; a tile is published, its prefix is there, its buffer is free */
	u64 full[GS_MAX_STAGES], published[GS_SLOTS], prefix[GS_SLOTS], free[GS_SLOTS];
	/* by parity of the round: a tile is announced while its predecessor may still be looked up */
	u32 tile[2][GS_MAX_STAGES];
	u32 round[GS_MAX_STAGES];	/* the loader's; before sm_90 also in the place of full */
	u32 posted[GS_SLOTS];		/* the tile that is published */
};

/* What a ring may have of so many KB of shared memory; the rest is the kernel's own and the system's. */
__host__ __device__ constexpr size_t
gs_ring_room(int shared)
{
	return (size_t) (shared - 2) << 10;
}

/* An iteration of a block: which of its tiles it is, and where in the ring. */
struct gs_ring_iteration
{
	u32 n = 0, stage = 0, round = 0; /* round counts how often the stage was used before */

	/* On to the next stage, and after the last one to the first. */
	__device__ __forceinline__ void
	advance(u32 stages)
	{
		n++;
		if (++stage == stages)
			stage = 0, round++;
	}
};

/* Can be set by hand, to run the code of other devices on the one at hand. */
#ifndef GS_BULK
#if __CUDA_ARCH__ >= 900 || !defined(__CUDA_ARCH__)
#define GS_BULK 1
#else
#define GS_BULK 0
#endif
#endif

/* By one thread, before the block's first barrier. */
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

/*
 * Announces a tile (or the end) in a stage and the bytes that bulk copies will bring; by the loader.  all: those are
 * all there are, so that the workers need not look after the ends of arrays.
 */
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

/* Starts the copy of a window's whole vectors; by the loader, after ring_announce. */
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

/* Bytes that bulk copies bring of a window, for the barrier to expect. */
__device__ __forceinline__ u32
window_bulk_bytes(gs_input in, i64 begin, u32 bytes)
{
	i64 from, upto;

	window_vectors(in, begin, bytes, from, upto);
	return (u32) (upto - from);
}

/* The tile of this iteration, by all workers. */
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

/* Before sm_90: the copy itself, by the working threads. */
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

/* The working threads' own barrier (the service warp takes no part). */
template <int THREADS>
__device__ __forceinline__ void
workers_barrier()
{
	asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory");
}

/*
 * Three signals inside a block, each with a barrier for every slot (iteration modulo GS_SLOTS), one side of which
 * arrives and the other waits: a tile is published; its prefix is there; its buffer is free.  A slot's barrier comes
 * round only after the waiting side has passed: the workers cannot enter iteration i + 4 before prefix i + 1 came, nor
 * before buffers were refilled.  Before sm_90 named barriers do the same.
 */
#if GS_BULK
#define GS_SIGNAL_WAIT(which, n) barrier_wait(&ring.which[(n) % GS_SLOTS], (n) / GS_SLOTS & 1)
#else
#define GS_NAMED(what, id, n, threads)                                                                                 \
	asm volatile("bar." what " %0, %1;" ::"r"(id + (n) % GS_SLOTS), "r"(threads) : "memory")
#endif

/* By the first worker warp: tells the look-back warp that is due about a tile, or that there are no more. */
__device__ __forceinline__ void
post(gs_ring &ring, u32 n, u32 tile)
{
	if (threadIdx.x == 0)
		ring.posted[n % GS_SLOTS] = tile;
#if GS_BULK
	if (threadIdx.x == 0)
		barrier_arrive(&ring.published[n % GS_SLOTS]);
#else
	__syncwarp(); /* a warp arrives as one, the first lane's words written */
	GS_NAMED("arrive", 4, n, 64);
#endif
}

/* By the look-back warp: the tile that iteration n is about. */
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

/* By the look-back warp: the prefix of iteration n can be read. */
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

/* By the workers, before they write iteration n out. */
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

/* By each worker warp when it has written iteration n out: its buffer may be filled again. */
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

/* By the loader, before it fills the buffer of iteration n again. */
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

/*
 * The loader: start(stage, tile) begins a tile's loads.  A ticket is taken an iteration before it is needed, so that
 * nobody waits for the counter.  When there are fewer tiles than all rings could hold, each block takes only its share,
 * lest a few take all.
 */
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

/*
 * The workers: take(iteration, tile, edges) takes a tile apart, publishes its state and leaves it compacted, as PENDING
 * says; two iterations later write_out(n, pending) writes it.
 */
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

/*
 * A look-back warp: for every other tile of the block calls find(n, tile), which leaves its prefix where the workers
 * look.
 */
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

/*
 * A kernel on the ring, every warp in its role: block.start(stage, tile) is the loader's, block.look_back_tiles() a
 * look-back warp's, block.take(iteration, tile, edges) and block.write(n, pending) the workers'.
 */
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
