/*
 * bigmem.c: large blocks that grow without being copied.
 *
 * Rows, key columns and the engine's arrays grow to gigabytes and are accessed in random order.  Linux's mremap moves
 * page tables where realloc copies, and huge pages, granted only on request, avoid most TLB misses.
 *
 * Blocks below MMAP_THRESHOLD come from the memory context, so a small sort makes no system call.  Larger ones are
 * mapped as whole huge pages; faulting one in costs as much as some 50 small pages.  The slack in these mappings is not
 * accounted for, and a query may have many small sorts open.  It is therefore limited for the session, and for each
 * sort to a fraction of the memory limit; beyond that, blocks below a huge page come from the memory context, too.
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

/* Blocks up to this size are copied into mappings that earlier sorts have used; larger ones keep their pages. */
#define COPY_BYTES HUGE_PAGE

/* Limits of the slack in small blocks' mappings: a divisor of the sort's memory limit, and bytes for the session. */
#define SLACK_FRACTION 4
#define SESSION_SLACK (8 * HUGE_PAGE)

/* Blocks from this size on can be kept for reuse. */
#define SPARE_BYTES ((Size) 8 * 1024)

struct BigMem
{
	MemoryContext cxt;
	MemoryContextCallback callback;
	dlist_head	mapped;
	Size		slack;			/* in the mappings of small blocks */
	Size		most_slack;
	bool		hold;
	dlist_head	spare;			/* free blocks, kept for reuse */
};

/* Header in front of the memory that the caller sees. */
typedef struct BigBlock
{
	dlist_node	node;			/* in BigMem.mapped, if mapped, or in BigMem.spare */
	void	   *base;			/* what was allocated or mapped */
	Size		bytes;			/* including this header */
	Size		slack;			/* of a mapping for a small block */
	bool		mapped;
	bool		grown;			/* mapped and enlarged */
} BigBlock;

/* Slack in the mappings of small blocks, over all open sorts. */
static Size session_slack = 0;

#define HEADER_BYTES ((Size) GS_ALIGN)

StaticAssertDecl(sizeof(BigBlock) <= GS_ALIGN, "a block's header must fit before the aligned memory");

/* Returns the header of a block. */
static inline BigBlock *
block_of(void *memory)
{
	return (BigBlock *) ((char *) memory - HEADER_BYTES);
}

/* Returns the memory behind a header. */
static inline void *
memory_of(BigBlock *block)
{
	return (char *) block + HEADER_BYTES;
}

/* Rounds a mapping up to the kernel's granularity. */
static inline Size
mapping_bytes(Size bytes)
{
	return TYPEALIGN(HUGE_PAGE, bytes);
}

/* Returns what the mapping of a small block holds beyond the block. */
static inline Size
slack_of(Size total)
{
	return total < HUGE_PAGE ? HUGE_PAGE - total : 0;
}

/* Sets the slack of a block's mapping and updates the totals. */
static inline void
set_slack(BigMem *mem, BigBlock *block, Size slack)
{
	mem->slack += slack - block->slack;
	session_slack += slack - block->slack;
	block->slack = slack;
}

/* Adjusts the slack of a block that has total bytes in use now.  Slack only shrinks. */
static inline void
use_slack(BigMem *mem, BigBlock *block, Size total)
{
	if (block->mapped && slack_of(total) < block->slack)
		set_slack(mem, block, slack_of(total));
}

/* Returns true if a block of this size gets a mapping. */
static inline bool
to_be_mapped(const BigMem *mem, Size total)
{
	Size		slack = slack_of(total);

	return total >= MMAP_THRESHOLD && mem->slack + slack <= mem->most_slack && session_slack + slack <= SESSION_SLACK;
}

/* Requests huge pages, which most systems grant only on request. */
static void
ask_for_huge_pages(void *base, Size bytes)
{
#ifdef MADV_HUGEPAGE
	(void) madvise(base, bytes, MADV_HUGEPAGE);
#endif
}

/* Maps fresh memory.  If there is none, first releases what is kept for later sorts. */
static char *
map_new(Size bytes)
{
	char	   *base;

	do
		base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	while (base == MAP_FAILED && keptmem_drop());
	return base == MAP_FAILED ? NULL : base;
}

/* Maps memory, aligned so that the kernel can use huge pages and move them whole. */
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

/* Releases the mapping of a block. */
static void
unmap_block(BigMem *mem, BigBlock *block)
{
	set_slack(mem, block, 0);
	keptmem_put(block->base, block->bytes, block->grown);
}

/* Unmaps the mapped blocks of a list. */
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

/* Unmaps all blocks: at normal end, at abort, and when a portal is dropped. */
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
	mem->most_slack = gpusort_memory_limit() / SLACK_FRACTION;
	mem->callback.func = release_all;
	mem->callback.arg = mem;
	MemoryContextRegisterResetCallback(cxt, &mem->callback);
	return mem;
}

/* Returns the memory context, for objects that must be freed with the blocks. */
MemoryContext
bigmem_context(BigMem *mem)
{
	return mem->cxt;
}

/* Writes the header of a mapping for a block of total bytes and adds it to the list. */
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

/* Releases a block to where it came from. */
static void
drop_block(BigMem *mem, BigBlock *block)
{
	if (block->mapped)
		unmap_block(mem, block);
	else
		pfree(block->base);
}

/* Takes the smallest spare block of total bytes, or if it is to grow the largest.  If none fits, frees the largest. */
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

/* Makes a block of a mapping that an earlier sort has used.  Returns NULL if none fits. */
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

/* Moves a mapping's pages to a larger one, which is extended as a single VMA: before 6.17 kernels move only one. */
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

/* Enlarges a mapping at another address.  The header moves along in the first page. */
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
	/* the kernel may have unmapped the target before it refused */
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

/* Copies a block's contents to another one with room for this many bytes, and releases the old one. */
static void *
move_block(BigMem *mem, BigBlock *block, void *to, Size bytes)
{
	memcpy(to, memory_of(block), Min(bytes, block->bytes - HEADER_BYTES));
	bigmem_free(mem, memory_of(block));
	return to;
}

/* Returns a used block to grow into, or NULL if none fits. */
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

/* Callbacks of gs_host. */
static void *
host_alloc(void *arg, size_t bytes)
{
	return bigmem_alloc(arg, bytes);
}

/* Resizes a block.  Its header has the old size. */
static void *
host_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	return bigmem_resize(arg, block, bytes);
}

/* Releases a block.  Its header has the size. */
static void
host_release(void *arg, void *block, size_t bytes)
{
	bigmem_free(arg, block);
}

/* Serves interrupts from inside an engine.  Leaves by longjmp if the query is cancelled. */
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
