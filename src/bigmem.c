/*
 * bigmem.c: large blocks that grow without being copied.
 *
 * Rows, key columns and the engine's working arrays grow to gigabytes and are read in random order.  Two things make
 * that fast on Linux: mremap moves page tables where realloc copies, and huge pages spare most TLB misses (most systems
 * give them only to who asks).  Blocks under MMAP_THRESHOLD come from the memory context, so that a small sort makes no
 * system call.
 */
#include "postgres.h"

#include <sys/mman.h>

#include "lib/ilist.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "bigmem.h"

#define MMAP_THRESHOLD ((Size) 256 * 1024)
#define PAGE ((Size) 4096)
#define HUGE_PAGE ((Size) 2 * 1024 * 1024)

struct BigMem
{
	MemoryContext cxt;
	MemoryContextCallback callback;
	dlist_head	mapped;
};

/* Stands before the memory the caller sees. */
typedef struct BigBlock
{
	dlist_node	node;			/* in BigMem.mapped, if mapped */
	void	   *base;			/* what was allocated or mapped */
	Size		bytes;			/* this header included */
	bool		mapped;
} BigBlock;

#define HEADER_BYTES ((Size) GS_ALIGN)

StaticAssertDecl(sizeof(BigBlock) <= GS_ALIGN, "a block's header must fit before the aligned memory");

static inline BigBlock *
block_of(void *memory)
{
	return (BigBlock *) ((char *) memory - HEADER_BYTES);
}

static inline void *
memory_of(BigBlock *block)
{
	return (char *) block + HEADER_BYTES;
}

/* Rounds a mapping up to what the kernel hands out. */
static inline Size
mapping_bytes(Size bytes)
{
	return bytes >= HUGE_PAGE ? TYPEALIGN(HUGE_PAGE, bytes) : TYPEALIGN(PAGE, bytes);
}

/* Maps memory, a large piece aligned so that the kernel can back it with huge pages and move them whole. */
static void *
map_aligned(Size bytes)
{
	Size		slack = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
	char	   *base = mmap(NULL, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char	   *aligned;

	if (base == MAP_FAILED)
		return NULL;
	if (slack == 0)
		return base;
	aligned = (char *) TYPEALIGN(HUGE_PAGE, base);
	if (aligned > base)
		munmap(base, aligned - base);
	if (aligned < base + HUGE_PAGE)
		munmap(aligned + bytes, base + HUGE_PAGE - aligned);
#ifdef MADV_HUGEPAGE
	(void) madvise(aligned, bytes, MADV_HUGEPAGE);
#endif
	return aligned;
}

/* Unmaps every block: runs at normal end, at abort, and when a portal is dropped. */
static void
release_all(void *arg)
{
	BigMem	   *mem = arg;
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &mem->mapped)
	{
		BigBlock	   *block = dlist_container(BigBlock, node, iter.cur);

		munmap(block->base, block->bytes);
	}
	dlist_init(&mem->mapped);
}

BigMem *
bigmem_create(MemoryContext cxt)
{
	BigMem	   *mem = MemoryContextAllocZero(cxt, sizeof(BigMem));

	mem->cxt = cxt;
	dlist_init(&mem->mapped);
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

/* Writes the header of a mapping and takes it into the list. */
static void *
adopt_mapping(BigMem *mem, void *base, Size bytes)
{
	BigBlock	   *block = base;

	block->base = base;
	block->bytes = bytes;
	block->mapped = true;
	dlist_push_head(&mem->mapped, &block->node);
	return memory_of(block);
}

void *
bigmem_alloc(BigMem *mem, Size bytes)
{
	Size		total = bytes + HEADER_BYTES;
	char	   *base;
	BigBlock	   *block;

	if (total < bytes || total > SIZE_MAX / 2)
		return NULL;
	if (total >= MMAP_THRESHOLD)
	{
		total = mapping_bytes(total);
		base = map_aligned(total);
		return base ? adopt_mapping(mem, base, total) : NULL;
	}
	base = MemoryContextAllocExtended(mem->cxt, total + GS_ALIGN, MCXT_ALLOC_NO_OOM);
	if (base == NULL)
		return NULL;
	block = (BigBlock *) TYPEALIGN(GS_ALIGN, base);
	block->base = base;
	block->bytes = total;
	block->mapped = false;
	return memory_of(block);
}

/* Moves the pages of a mapping into a larger one; the header travels in the first page. */
static void *
grow_mapping(BigMem *mem, BigBlock *block, Size total)
{
	void	   *base = map_aligned(total);
	Size		old = block->bytes;

	if (base == NULL)
		return NULL;
	dlist_delete(&block->node);
#ifdef MREMAP_FIXED
	if (mremap(block->base, old, old, MREMAP_MAYMOVE | MREMAP_FIXED, base) == MAP_FAILED)
	{
		munmap(base, total);
		dlist_push_head(&mem->mapped, &block->node);
		return NULL;
	}
#else
	memcpy(base, block->base, old);
	munmap(block->base, old);
#endif
	return adopt_mapping(mem, base, total);
}

/* Gives the end of a mapping back. */
static void *
shrink_mapping(BigBlock *block, Size total)
{
	munmap((char *) block->base + total, block->bytes - total);
	block->bytes = total;
	return memory_of(block);
}

void *
bigmem_resize(BigMem *mem, void *memory, Size bytes)
{
	BigBlock	   *block = block_of(memory);
	Size		total = bytes + HEADER_BYTES;
	void	   *moved;

	if (total < bytes || total > SIZE_MAX / 2)
		return NULL;
	if (block->mapped && total >= MMAP_THRESHOLD)
	{
		total = mapping_bytes(total);
		if (total > block->bytes)
			return grow_mapping(mem, block, total);
		return total < block->bytes ? shrink_mapping(block, total) : memory;
	}
	if (!block->mapped && total <= block->bytes)
		return memory;
	moved = bigmem_alloc(mem, bytes);
	if (moved == NULL)
		return NULL;
	memcpy(moved, memory, Min(bytes, block->bytes - HEADER_BYTES));
	bigmem_free(mem, memory);
	return moved;
}

void
bigmem_free(BigMem *mem, void *memory)
{
	BigBlock	   *block = block_of(memory);

	if (block->mapped)
	{
		dlist_delete(&block->node);
		munmap(block->base, block->bytes);
	}
	else
		pfree(block->base);
}

static void *
host_alloc(void *arg, size_t bytes)
{
	return bigmem_alloc(arg, bytes);
}

static void *
host_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	return bigmem_resize(arg, block, bytes);
}

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
