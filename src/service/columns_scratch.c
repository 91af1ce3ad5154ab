/*
 * columns_scratch.c: memory that questions over columns in host memory work in, counted within gsd_settings.
 *
 * Pages that the system hands out are cleared first, which took a fifth of a question's time.  So blocks of whole huge
 * pages are kept for the next question of the same owner, up to the quota of scratch, and count as scratch meanwhile.
 * They are freed when another owner asks, when memory is short, and when nothing was asked for some seconds.
 */
#include "columns.h"

#include <string.h>

/* Blocks of more bytes have whole huge pages. */
#define KEPT_BYTES (GS_HUGE_PAGE / 2)

/* Kept pages that follow each other are one stretch. */
#define STRETCHES 128

/* They are freed when nobody has used them for so long. */
#define IDLE_NS 5000000000

typedef struct stretch
{
	char *at;
	size_t bytes;
} stretch;

static pthread_mutex_t dropping = PTHREAD_MUTEX_INITIALIZER; /* held until what is dropped is given back */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;	 /* of all that follows */
static uint64_t owner;										 /* of what is kept */
static stretch kept[STRETCHES];
static uint32_t nkept;
static uint64_t kept_bytes, used_ns;

/*
 * Returns the bytes of a block's pages.
 */
static size_t
pages_of(size_t bytes)
{
	return (bytes + GS_HUGE_PAGE - 1) / GS_HUGE_PAGE * GS_HUGE_PAGE;
}

/*
 * Frees what is kept, unless it is an owner's (NULL: nobody's) or was used since some time.
 */
static void
drop(const uint64_t *but, uint64_t since)
{
	stretch old[STRETCHES];
	uint64_t bytes = 0;
	uint32_t n = 0;

	pthread_mutex_lock(&dropping);
	pthread_mutex_lock(&mutex);
	if (nkept > 0 && (but == NULL || owner != *but) && used_ns < since)
	{
		n = nkept;
		memcpy(old, kept, n * sizeof(*old));
		bytes = kept_bytes;
		nkept = 0;
		kept_bytes = 0;
	}
	pthread_mutex_unlock(&mutex);
	for (uint32_t i = 0; i < n; i++)
		gs_default_host()->release(NULL, old[i].at, old[i].bytes);
	gsd_scratch_give(bytes);
	pthread_mutex_unlock(&dropping);
}

void
gsd_scratch_drop(void)
{
	drop(NULL, UINT64_MAX);
}

void
gsd_scratch_rest(void)
{
	uint64_t now = gsd_now_ns();

	drop(NULL, now > IDLE_NS ? now - IDLE_NS : 0);
}

/*
 * Takes pages of the first stretch that has as many.  Returns NULL if none has.
 */
static char *
take_kept(uint64_t asks, size_t bytes)
{
	char *block = NULL;

	pthread_mutex_lock(&mutex);
	for (uint32_t i = 0; i < nkept && owner == asks && block == NULL; i++)
		if (kept[i].bytes >= bytes)
		{
			block = kept[i].at;
			kept[i].at += bytes;
			kept[i].bytes -= bytes;
			kept_bytes -= bytes;
			if (kept[i].bytes == 0)
				kept[i] = kept[--nkept];
		}
	if (block != NULL)
		used_ns = gsd_now_ns();
	pthread_mutex_unlock(&mutex);
	if (block != NULL)
		gsd_scratch_give(bytes);
	return block;
}

/*
 * Adds pages to what is kept, together with those before and behind them.  Returns false if there are too many
 * stretches.  The mutex is held.
 */
static bool
add_stretch(stretch s)
{
	for (uint32_t i = 0; i < nkept;)
		if (kept[i].at == s.at + s.bytes || kept[i].at + kept[i].bytes == s.at)
		{
			s.at = kept[i].at < s.at ? kept[i].at : s.at;
			s.bytes += kept[i].bytes;
			kept[i] = kept[--nkept];
			i = 0;
		}
		else
			i++;
	if (nkept == STRETCHES)
		return false;
	kept[nkept++] = s;
	return true;
}

/*
 * Keeps a block's pages, which are counted from here on.  Returns false if they are to be freed.
 */
static bool
keep(uint64_t leaves, char *block, size_t bytes)
{
	uint64_t most = gsd_scratch_quota();
	bool done;

	if (!gsd_scratch_count(bytes))
		return false;
	pthread_mutex_lock(&mutex);
	if (nkept == 0)
		owner = leaves;
	done = owner == leaves && kept_bytes + bytes <= most && add_stretch((stretch){block, bytes});
	if (done)
	{
		kept_bytes += bytes;
		used_ns = gsd_now_ns();
	}
	pthread_mutex_unlock(&mutex);
	if (!done)
		gsd_scratch_give(bytes);
	return done;
}

/*
 * Counts scratch, for which what is kept makes room, and copies of columns last.
 */
static bool
take(uint64_t bytes)
{
	if (gsd_scratch_count(bytes))
		return true;
	gsd_scratch_drop();
	if (gsd_scratch_count(bytes))
		return true;
	gsd_copies_drop();
	return gsd_scratch_count(bytes);
}

/*
 * Allocates scratch, as gs_host.
 */
static void *
scratch_alloc(void *arg, size_t bytes)
{
	void *block = NULL;

	if (bytes > KEPT_BYTES && bytes <= SIZE_MAX / 2)
		block = take_kept(((connection *) arg)->owner, pages_of(bytes));
	if (!take(bytes))
	{
		gs_default_host()->release(NULL, block, bytes);
		return NULL;
	}
	if (block == NULL)
		block = gsd_host_alloc(gs_default_host()->alloc, bytes);
	if (block == NULL)
		gsd_scratch_give(bytes);
	return block;
}

/*
 * Releases it.
 */
static void
scratch_release(void *arg, void *block, size_t bytes)
{
	if (block == NULL)
		return;
	if (bytes <= KEPT_BYTES || !keep(((connection *) arg)->owner, block, pages_of(bytes)))
		gs_default_host()->release(NULL, block, bytes);
	gsd_scratch_give(bytes);
}

/*
 * Resizes it.  Pages are copied, as what was kept may be of several mappings, which the system does not move together.
 */
static void *
scratch_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	void *moved;

	if (old_bytes > KEPT_BYTES)
	{
		moved = scratch_alloc(arg, bytes);
		if (moved == NULL)
			return NULL;
		memcpy(moved, block, old_bytes < bytes ? old_bytes : bytes);
		scratch_release(arg, block, old_bytes);
		return moved;
	}
	if (!take(bytes))
		return NULL;
	moved = gs_default_host()->resize(NULL, block, old_bytes, bytes);
	gsd_scratch_give(moved != NULL ? old_bytes : bytes);
	return moved;
}

/*
 * Polls in a thread of the pool: the connection's own looks at the client.
 */
static int
poll_cancelled(void *arg)
{
	return atomic_load_explicit(&((connection *) arg)->cancelled, memory_order_relaxed);
}

gs_host
gsd_scratch_host(connection *c, bool own)
{
	drop(&c->owner, UINT64_MAX);
	return (gs_host){scratch_alloc, scratch_resize, scratch_release, own ? gsd_poll_client : poll_cancelled, c};
}
