/*
 * bigmem.c: large blocks that grow without being copied.
 *
 * Rows, key columns and the engine's working arrays grow to gigabytes and are read in random order.  Two things make
 * that fast on Linux: mremap moves page tables where realloc copies, and huge pages spare most TLB misses (most systems
 * give them only to who asks).  Blocks under MMAP_THRESHOLD come from the memory context, so that a small sort makes no
 * system call.  Those from there on are huge pages as a whole, of which one is touched for the price of some 50 of the
 * usual ones; so a block that grows to two megabytes stays where it is.  What those hold beyond what was asked for
 * nobody counts, and a query may have many small sorts open at once; so all of a session's together are bounded, and
 * those of one sort by a part of the memory limit.  Past that smaller blocks come from the memory context, too.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "bigmem.h"
#include "guc.h"
#include "keptmem.h"

#define MMAP_THRESHOLD (HUGE_PAGE / 8)

/* Blocks of no more than this are copied into mappings that earlier sorts have used; larger ones keep their pages. */
#define COPY_BYTES HUGE_PAGE

/*
 * Blocks that are smaller than their mappings may hold so much more in all: this part of the memory limit, and of all
 * sorts of a session this much, which is more than one has at a time.
 */
#define SLACK_SHARE 4
#define SESSION_SLACK (8 * HUGE_PAGE)

/* Blocks from this size on may wait. */
#define SPARE_BYTES ((Size) 8 * 1024)

struct BigMem
{
	MemoryContext cxt;
	MemoryContextCallback callback;
	dlist_head	mapped;
	Size		slack;			/* of small blocks' mappings */
	Size		most_slack;
	bool		hold;
	dlist_head	spare;			/* blocks that wait for others to take them */
};

/* Stands before the memory the caller sees. */
typedef struct BigBlock
{
	dlist_node	node;			/* in BigMem.mapped, if mapped, or in BigMem.spare */
	void	   *base;			/* what was allocated or mapped */
	Size		bytes;			/* this header included */
	Size		slack;			/* of a small block's mapping */
	bool		mapped;
	bool		grown;			/* and made larger */
} BigBlock;

/* What small blocks' mappings hold beyond the blocks, of all that are open. */
static Size session_slack = 0;

#define HEADER_BYTES ((Size) GS_ALIGN)

StaticAssertDecl(sizeof(BigBlock) <= GS_ALIGN, "a block's header must fit before the aligned memory");

/* The header of a block, which lies in front of what callers see. */
static inline BigBlock *
block_of(void *memory)
{
	return (BigBlock *) ((char *) memory - HEADER_BYTES);
}

/* What callers see of a block. */
static inline void *
memory_of(BigBlock *block)
{
	return (char *) block + HEADER_BYTES;
}

/* Rounds a mapping up to what the kernel hands out. */
static inline Size
mapping_bytes(Size bytes)
{
	return TYPEALIGN(HUGE_PAGE, bytes);
}

/* What a mapping for a small block holds beyond the block. */
static inline Size
slack_of(Size total)
{
	return total < HUGE_PAGE ? HUGE_PAGE - total : 0;
}

/* Counts what a block's mapping holds beyond it. */
static inline void
set_slack(BigMem *mem, BigBlock *block, Size slack)
{
	mem->slack += slack - block->slack;
	session_slack += slack - block->slack;
	block->slack = slack;
}

/* A block is for total bytes now: its mapping may hold less beyond that than before. */
static inline void
use_slack(BigMem *mem, BigBlock *block, Size total)
{
	if (block->mapped && slack_of(total) < block->slack)
		set_slack(mem, block, slack_of(total));
}

/* Is a block of so many bytes to be a mapping? */
static inline bool
to_be_mapped(const BigMem *mem, Size total)
{
	Size		slack = slack_of(total);

	return total >= MMAP_THRESHOLD && mem->slack + slack <= mem->most_slack && session_slack + slack <= SESSION_SLACK;
}

/* Most systems give huge pages only to who asks. */
static void
ask_for_huge_pages(void *base, Size bytes)
{
#ifdef MADV_HUGEPAGE
	(void) madvise(base, bytes, MADV_HUGEPAGE);
#endif
}

/* Maps memory that nobody has used; if there is none, what is kept for later sorts goes first. */
static char *
map_new(Size bytes)
{
	char	   *base;

	do
		base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (base == MAP_FAILED && keptmem_drop());
	return base == MAP_FAILED ? NULL : base;
}

/* Maps memory, aligned so that the kernel can back it with huge pages and move them whole. */
static void *
map_aligned(Size bytes)
{
	char	   *base = map_new(bytes + HUGE_PAGE);
	char	   *aligned;

	if (base == NULL)
		return NULL;
	aligned = (char *) TYPEALIGN(HUGE_PAGE, base);
	if (aligned > base)
		munmap(base, aligned - base);
	if (aligned < base + HUGE_PAGE)
		munmap(aligned + bytes, base + HUGE_PAGE - aligned);
	ask_for_huge_pages(aligned, bytes);
	return aligned;
}

/* Gives the mapping of a block back. */
static void
unmap_block(BigMem *mem, BigBlock *block)
{
	set_slack(mem, block, 0);
	keptmem_put(block->base, block->bytes, block->grown);
}

/* Unmaps all blocks of a list that are mapped. */
static void
unmap_list(BigMem *mem, dlist_head *list)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, list)
	{
		BigBlock	   *block = dlist_container(BigBlock, node, iter.cur);

		if (block->mapped)
			unmap_block(mem, block);
	}
	dlist_init(list);
}

/* Unmaps every block: runs at normal end, at abort, and when a portal is dropped. */
static void
release_all(void *arg)
{
	BigMem	   *mem = arg;

	unmap_list(mem, &mem->mapped);
	unmap_list(mem, &mem->spare);
}

BigMem *
bigmem_create(MemoryContext cxt)
{
	BigMem	   *mem = MemoryContextAllocZero(cxt, sizeof(BigMem));

	mem->cxt = cxt;
	dlist_init(&mem->mapped);
	dlist_init(&mem->spare);
	mem->most_slack = gpusort_memory_limit() / SLACK_SHARE;
	mem->callback.func = release_all;
	mem->callback.arg = mem;
	MemoryContextRegisterResetCallback(cxt, &mem->callback);
	return mem;
}

/* For what has to go together with the blocks. */
MemoryContext
bigmem_context(BigMem *mem)
{
	return mem->cxt;
}

/* Writes the header of a mapping for a block of total bytes and takes it into the list. */
static void *
adopt_mapping(BigMem *mem, void *base, Size bytes, Size total, bool grown)
{
	BigBlock	   *block = base;

	block->base = base;
	block->bytes = bytes;
	block->slack = 0;
	set_slack(mem, block, slack_of(total));
	block->mapped = true;
	block->grown = grown;
	dlist_push_head(&mem->mapped, &block->node);
	return memory_of(block);
}

/* Gives a block back to where it came from. */
static void
drop_block(BigMem *mem, BigBlock *block)
{
	if (block->mapped)
		unmap_block(mem, block);
	else
		pfree(block->base);
}

/*
 * Takes a block out of those that wait, with room for total bytes: the smallest, or if it is to grow the largest.  If
 * all are too small, the largest goes, lest they fill the memory that others are mapped for.
 */
static BigBlock *
take_spare(BigMem *mem, Size total, bool grows)
{
	BigBlock	   *best = NULL;
	dlist_iter	iter;

	if (total < SPARE_BYTES)
		return NULL;
	dlist_foreach(iter, &mem->spare)
	{
		BigBlock	   *block = dlist_container(BigBlock, node, iter.cur);
		bool		fits = block->bytes >= total;
		bool		best_fits = best != NULL && best->bytes >= total;

		if (best == NULL || (fits && !best_fits) ||
			(fits == best_fits && (block->bytes < best->bytes) == (fits && !grows)))
			best = block;
	}
	if (best == NULL)
		return NULL;
	dlist_delete(&best->node);
	if (best->bytes < total)
	{
		drop_block(mem, best);
		return NULL;
	}
	if (best->mapped)
		dlist_push_head(&mem->mapped, &best->node);
	return best;
}

void
bigmem_hold(BigMem *mem, bool hold)
{
	mem->hold = hold;
	while (!hold && !dlist_is_empty(&mem->spare))
		drop_block(mem, dlist_container(BigBlock, node, dlist_pop_head_node(&mem->spare)));
}

/* A block of a mapping that an earlier sort has used, NULL if none suits. */
static void *
reuse_mapping(BigMem *mem, Size total, bool grows)
{
	Size		bytes = mapping_bytes(total);
	void	   *base = keptmem_take(&bytes, grows);

	return base ? adopt_mapping(mem, base, bytes, total, grows) : NULL;
}

/* A block in a mapping of its own. */
static void *
map_block(BigMem *mem, Size total)
{
	void	   *memory = reuse_mapping(mem, total, false);
	Size		bytes = mapping_bytes(total);
	void	   *base = memory ? NULL : map_aligned(bytes);

	return base ? adopt_mapping(mem, base, bytes, total, false) : memory;
}

void *
bigmem_alloc(BigMem *mem, Size bytes)
{
	Size		total = bytes + HEADER_BYTES;
	char	   *base;
	BigBlock	   *block;

	if (total < bytes || total > SIZE_MAX / 2)
		return NULL;
	block = take_spare(mem, total, false);
	if (block)
		return memory_of(block);
	if (to_be_mapped(mem, total))
		return map_block(mem, total);
	base = MemoryContextAllocExtended(mem->cxt, total + GS_ALIGN, MCXT_ALLOC_NO_OOM);
	if (base == NULL)
		return NULL;
	block = (BigBlock *) TYPEALIGN(GS_ALIGN, base);
	block->base = base;
	block->bytes = total;
	block->mapped = false;
	return memory_of(block);
}

/*
 * Moves the pages of a mapping to a larger place, and has the kernel extend them to its end: so all stays one area,
 * and kernels before 6.17 move no more than one at a time.
 */
static bool
move_pages(const BigBlock *block, void *base, Size total)
{
#ifdef MREMAP_FIXED
	if (mremap(block->base, block->bytes, total, MREMAP_MAYMOVE | MREMAP_FIXED, base) == MAP_FAILED)
		return false;
	ask_for_huge_pages(base, total);
	return true;
#else
	return false;
#endif
}

/* Makes a mapping larger in another place; the header travels in the first page. */
static void *
grow_mapping(BigMem *mem, BigBlock *block, Size total)
{
	void	   *base = map_aligned(total);
	Size		old = block->bytes;

	if (base == NULL)
		return NULL;
	dlist_delete(&block->node);
	if (move_pages(block, base, total))
		return adopt_mapping(mem, base, total, total, true);
	/* a kernel may have unmapped the place before it refused */
	munmap(base, total);
	base = map_aligned(total);
	if (base == NULL)
	{
		dlist_push_head(&mem->mapped, &block->node);
		return NULL;
	}
	memcpy(base, block->base, old);
	keptmem_put(block->base, old, true);
	return adopt_mapping(mem, base, total, total, true);
}

/* Copies what a block holds to another one with room for so many bytes, and gives it back. */
static void *
move_block(BigMem *mem, BigBlock *block, void *to, Size bytes)
{
	memcpy(to, memory_of(block), Min(bytes, block->bytes - HEADER_BYTES));
	bigmem_free(mem, memory_of(block));
	return to;
}

/* A block that others have used, to grow into; NULL if none suits. */
static void *
larger_block(BigMem *mem, const BigBlock *block, Size total)
{
	BigBlock	   *spare = take_spare(mem, total, true);

	if (spare)
		return memory_of(spare);
	return block->bytes <= COPY_BYTES && to_be_mapped(mem, total) ? reuse_mapping(mem, total, true) : NULL;
}

void *
bigmem_resize(BigMem *mem, void *memory, Size bytes)
{
	BigBlock	   *block = block_of(memory);
	Size		total = bytes + HEADER_BYTES;
	void	   *moved;

	if (total < bytes || total > SIZE_MAX / 2)
		return NULL;
	use_slack(mem, block, total);
	if (total <= block->bytes)
		return memory;
	moved = larger_block(mem, block, total);
	if (moved == NULL && block->mapped)
		return grow_mapping(mem, block, mapping_bytes(total));
	if (moved == NULL)
		moved = bigmem_alloc(mem, bytes);
	return moved ? move_block(mem, block, moved, bytes) : NULL;
}

void
bigmem_trim(void *memory, Size bytes)
{
	BigBlock	   *block = block_of(memory);
	Size		total = TYPEALIGN(HUGE_PAGE, bytes + HEADER_BYTES);

	if (!block->mapped || !block->grown || total >= block->bytes)
		return;
	keptmem_put((char *) block->base + total, block->bytes - total, true);
	block->bytes = total;
}

void
bigmem_free(BigMem *mem, void *memory)
{
	BigBlock	   *block = block_of(memory);

	if (block->mapped)
		dlist_delete(&block->node);
	if (mem->hold && block->bytes >= SPARE_BYTES)
		dlist_push_head(&mem->spare, &block->node);
	else
		drop_block(mem, block);
}

/* The callbacks of gs_host. */
static void *
host_alloc(void *arg, size_t bytes)
{
	return bigmem_alloc(arg, bytes);
}

/* The header knows the old size. */
static void *
host_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	return bigmem_resize(arg, block, bytes);
}

/* Nor is the size needed here. */
static void
host_release(void *arg, void *block, size_t bytes)
{
	bigmem_free(arg, block);
}

/* Serves interrupts from inside an engine; leaves by longjmp when the query is cancelled. */
static int
host_poll(void *arg)
{
	CHECK_FOR_INTERRUPTS();
	return 0;
}

gs_host
bigmem_host(BigMem *mem)
{
	gs_host		host = {host_alloc, host_resize, host_release, host_poll, mem};

	return host;
}
