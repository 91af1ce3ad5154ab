/*
 * groups_memory.h: the part of groups.c that keeps large memory which a question has freed for the next one, as the
 * service does, so that the system clears no pages.
 */
#include "../kernels/engine.h"

#define KEPT	   4096
#define KEPT_BYTES ((size_t) 1 << 20)

static struct kept
{
	void *block;
	size_t bytes;
} kept[KEPT];
static uint32_t nkept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* Allocates: what is kept of the same size, or anew. */
static void *
take_memory(void *arg, size_t bytes)
{
	void *block = NULL;

	pthread_mutex_lock(&kept_lock);
	for (uint32_t i = 0; i < nkept && block == NULL; i++)
		if (kept[i].bytes == bytes)
		{
			block = kept[i].block;
			kept[i] = kept[--nkept];
		}
	pthread_mutex_unlock(&kept_lock);
	return block != NULL ? block : gs_default_host()->alloc(arg, bytes);
}

/* Keeps what is large, or frees it. */
static void
leave_memory(void *arg, void *block, size_t bytes)
{
	bool room = false;

	if (bytes >= KEPT_BYTES)
	{
		pthread_mutex_lock(&kept_lock);
		if ((room = nkept < KEPT))
			kept[nkept++] = (struct kept){block, bytes};
		pthread_mutex_unlock(&kept_lock);
	}
	if (!room)
		gs_default_host()->release(arg, block, bytes);
}

/* Grows or shrinks a block. */
static void *
resize_memory(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	return gs_default_host()->resize(arg, block, old_bytes, bytes);
}

static const gs_host keeping_host = {take_memory, resize_memory, leave_memory, NULL, NULL};
