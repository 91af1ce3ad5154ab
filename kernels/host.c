/*
 * host.c: the default host: memory of callers that pass no gs_host, that is, tests, benchmarks and the service.
 */
#define _GNU_SOURCE
#include "engine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Blocks from this size on use huge pages... */
#define MAPPED_BYTES (GS_HUGE_PAGE / 8)

/* ...two to a page up to this size, larger ones with pages of their own. */
#define HALF_PAGE (GS_HUGE_PAGE / 2)

/* Free halves of pages whose other half is in use. */
#define SPARES 16
static char *spares[SPARES];
static pthread_mutex_t spares_lock = PTHREAD_MUTEX_INITIALIZER;

/* Rounds a block up to half a huge page or to whole ones.  Its mapped length then follows from the caller's. */
static size_t
mapped_bytes(size_t bytes)
{
	if (bytes <= HALF_PAGE)
		return HALF_PAGE;
	return (bytes + GS_HUGE_PAGE - 1) / GS_HUGE_PAGE * GS_HUGE_PAGE;
}

/* Maps whole huge pages, zero-filled on first touch. */
static void *
map_pages(size_t bytes)
{
	char *base = mmap(NULL, bytes + GS_HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *block;

	if (base == MAP_FAILED)
		return NULL;
	block = (char *) (((uintptr_t) base + GS_HUGE_PAGE - 1) / GS_HUGE_PAGE * GS_HUGE_PAGE);
	if (block > base)
		(void) munmap(base, (size_t) (block - base));
	if (block < base + GS_HUGE_PAGE)
		(void) munmap(block + bytes, (size_t) (base + GS_HUGE_PAGE - block));
#ifdef MADV_HUGEPAGE
	(void) madvise(block, bytes, MADV_HUGEPAGE);
#endif
	return block;
}

/* Replaces one pointer among the spare halves; returns false if it is not there. */
static bool
replace_spare(const char *old, char *half)
{
	int i = 0;

	while (i < SPARES && spares[i] != old)
		i++;
	if (i < SPARES)
		spares[i] = half;
	return i < SPARES;
}

/* Frees half a page, and the whole page if the other half is free, too. */
static void
leave_half(char *half)
{
	char *other = (uintptr_t) half % GS_HUGE_PAGE == 0 ? half + HALF_PAGE : half - HALF_PAGE;

	pthread_mutex_lock(&spares_lock);
	if (replace_spare(other, NULL))
		(void) munmap(half < other ? half : other, GS_HUGE_PAGE);
	else if (!replace_spare(NULL, half))
		(void) munmap(half, HALF_PAGE);
	pthread_mutex_unlock(&spares_lock);
}

/* Takes a spare half, or half of a new page. */
static char *
take_half(void)
{
	char *half = NULL;

	pthread_mutex_lock(&spares_lock);
	for (int i = 0; i < SPARES && half == NULL; i++)
		half = spares[i];
	if (half != NULL)
		(void) replace_spare(half, NULL);
	pthread_mutex_unlock(&spares_lock);
	if (half != NULL)
		return half;
	half = map_pages(GS_HUGE_PAGE);
	if (half != NULL)
		leave_half(half + HALF_PAGE);
	return half;
}

/* Allocates. */
static void *
host_alloc(void *arg, size_t bytes)
{
	void *block;

	(void) arg;
	if (bytes < MAPPED_BYTES)
		return posix_memalign(&block, GS_ALIGN, bytes ? bytes : 1) == 0 ? block : NULL;
	if (bytes <= HALF_PAGE)
		return take_half();
	return bytes > SIZE_MAX / 2 ? NULL : map_pages(mapped_bytes(bytes));
}

/* Releases a block of host_alloc. */
static void
host_release(void *arg, void *block, size_t bytes)
{
	(void) arg;
	if (block == NULL)
		return;
	if (bytes < MAPPED_BYTES)
		free(block);
	else if (bytes <= HALF_PAGE)
		leave_half(block);
	else
		(void) munmap(block, mapped_bytes(bytes));
}

/* Moves pages to a larger mapping.  Returns NULL, with the block unchanged, if the kernel refuses. */
static void *
move_pages(void *block, size_t old_bytes, size_t bytes)
{
#ifdef MREMAP_FIXED
	void *place = map_pages(bytes);

	if (place == NULL)
		return NULL;
	/* A kernel that refuses may have unmapped the target already, and another thread taken it: it is left as it is. */
	if (mremap(block, old_bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, place) == MAP_FAILED)
		return NULL;
	(void) madvise(place, bytes, MADV_HUGEPAGE);
	return place;
#else
	(void) block, (void) old_bytes, (void) bytes;
	return NULL;
#endif
}

/* Grows or shrinks a block; whole pages are moved, not copied. */
static void *
host_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	bool mapped = old_bytes >= MAPPED_BYTES && bytes >= MAPPED_BYTES && bytes <= SIZE_MAX / 2;
	bool whole = mapped && old_bytes > HALF_PAGE && bytes > HALF_PAGE;
	void *moved;

	if (mapped && mapped_bytes(old_bytes) == mapped_bytes(bytes))
		return block;
	moved = whole ? move_pages(block, mapped_bytes(old_bytes), mapped_bytes(bytes)) : NULL;
	if (moved != NULL)
		return moved;
	moved = host_alloc(arg, bytes);
	if (moved == NULL)
		return NULL;
	memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
	host_release(arg, block, old_bytes);
	return moved;
}

/* The host used when a caller passes NULL. */
const gs_host *
gs_default_host(void)
{
	static const gs_host host = {host_alloc, host_resize, host_release, NULL, NULL};

	return &host;
}
