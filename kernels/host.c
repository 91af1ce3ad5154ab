/*
 * host.c: the memory of callers that pass no gs_host of their own: tests, benchmarks, the service.
 */
#define _GNU_SOURCE
#include "engine.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t) 2 << 20)

/* Blocks from here on are huge pages of their own, of which one is touched for the price of some 50 of the usual. */
#define MAPPED_BYTES (HUGE_PAGE / 8)

/*
 * Rounds a block up to whole huge pages, so that its length can be found again from the caller's.
 */
static size_t
mapped_bytes(size_t bytes)
{
	return (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
}

/*
 * Maps whole huge pages, zeroed and untouched.
 */
static void *
map_pages(size_t bytes)
{
	char *base = mmap(NULL, bytes + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *block;

	if (base == MAP_FAILED)
		return NULL;
	block = (char *) (((uintptr_t) base + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
	if (block > base)
		(void) munmap(base, (size_t) (block - base));
	if (block < base + HUGE_PAGE)
		(void) munmap(block + bytes, (size_t) (base + HUGE_PAGE - block));
#ifdef MADV_HUGEPAGE
	(void) madvise(block, bytes, MADV_HUGEPAGE);
#endif
	return block;
}

/*
 * Allocates.
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
	return map_pages(mapped_bytes(bytes));
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
 * Moves pages to where more are mapped; NULL, with the block as it was, if the kernel does not.
 */
static void *
move_pages(void *block, size_t old_bytes, size_t bytes)
{
#ifdef MREMAP_FIXED
	void *place = map_pages(bytes);

	if (place == NULL)
		return NULL;
	/* a kernel that refuses has taken the place away before, and another thread may have it by now */
	if (mremap(block, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
		return NULL;
	(void) madvise(place, bytes, MADV_HUGEPAGE);
	return place;
#else
	(void) block, (void) old_bytes, (void) bytes;
	return NULL;
#endif
}

/*
 * Grows or shrinks a block; mapped ones keep their pages.
 */
static void *
host_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	bool mapped = old_bytes >= MAPPED_BYTES && bytes >= MAPPED_BYTES && bytes <= SIZE_MAX / 2;
	void *moved;

	if (mapped && mapped_bytes(old_bytes) == mapped_bytes(bytes))
		return block;
	moved = mapped ? move_pages(block, mapped_bytes(old_bytes), mapped_bytes(bytes)) : NULL;
	if (moved != NULL)
		return moved;
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
