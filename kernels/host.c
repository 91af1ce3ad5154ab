/*
 * host.c: the memory of callers that pass no gs_host of their own: tests, benchmarks, the service.
 */
#define _GNU_SOURCE
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks from here on are mapped: they grow without being copied and can lie on huge pages. */
#define MAPPED_BYTES ((size_t) 4 << 20)

/*
 * Rounds a block up to whole huge pages, so that its length can be found again from the caller's.
 */
static size_t
mapped_bytes(size_t bytes)
{
	size_t page = (size_t) 2 << 20;

	return (bytes + page - 1) / page * page;
}

/*
 * Allocates.  Large blocks come from the kernel, zeroed and untouched.
 */
static void *
host_alloc(void *arg, size_t bytes)
{
	void *block;

	(void) arg;
	if (bytes < MAPPED_BYTES)
		return posix_memalign(&block, GS_ALIGN, bytes ? bytes : 1) == 0 ? block : NULL;
	if (bytes > SIZE_MAX / 2)
		return NULL;
	block = mmap(NULL, mapped_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block == MAP_FAILED)
		return NULL;
#ifdef MADV_HUGEPAGE
	(void) madvise(block, mapped_bytes(bytes), MADV_HUGEPAGE);
#endif
	return block;
}

/*
 * Releases a block of host_alloc.
 */
static void
host_release(void *arg, void *block, size_t bytes)
{
	(void) arg;
	if (block == NULL)
		return;
	if (bytes < MAPPED_BYTES)
		free(block);
	else
		(void) munmap(block, mapped_bytes(bytes));
}

/*
 * Grows or shrinks a block; mapped ones keep their pages.
 */
static void *
host_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	void *moved;

#ifdef MREMAP_MAYMOVE
	if (old_bytes >= MAPPED_BYTES && bytes >= MAPPED_BYTES)
	{
		moved = mremap(block, mapped_bytes(old_bytes), mapped_bytes(bytes), MREMAP_MAYMOVE);
		return moved == MAP_FAILED ? NULL : moved;
	}
#endif
	moved = host_alloc(arg, bytes);
	if (moved == NULL)
		return NULL;
	memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
	host_release(arg, block, old_bytes);
	return moved;
}

/*
 * The host used when a caller passes NULL.
 */
const gs_host *
gs_default_host(void)
{
	static const gs_host host = {host_alloc, host_resize, host_release, NULL, NULL};

	return &host;
}
