/*
 * page_look.c: pages of a table, found where they were seen last.
 *
 * Most of a look at a page through ReadBuffer is waiting for memory: the table of buffers, the buffer's descriptor, the
 * page.  Looks here begin at the buffer where the page was seen last, and the memory of later ones is fetched ahead.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/buf_internals.h"

#include "src/base/compat.h"
#include "page_look.h"

/* Returns true if a number names one of the server's shared buffers. */
static inline bool
is_shared_buffer(Buffer buffer)
{
	return buffer > 0 && buffer <= NBuffers;
}

/* bufmgr.c: ReadRecentBuffer compares the tag of the buffer. */
Buffer
page_pin(Relation rel, BlockNumber block, Buffer recent, BufferAccessStrategy strategy)
{
	if (!is_shared_buffer(recent) || !ReadRecentBuffer(relation_locator(rel), MAIN_FORKNUM, block, recent))
		return ReadBufferExtended(rel, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	pgstat_count_buffer_read(rel);
	pgstat_count_buffer_hit(rel);
	return recent;
}

/*
 * The share lock keeps out whoever changes tuples, and the atomic read whoever sets hint bits (bufmgr.c:
 * BufferGetLSNAtomic).
 */
PageLook
page_look(Relation rel, BlockNumber block, Buffer recent, BufferAccessStrategy strategy)
{
	PageLook	look = {.buffer = page_pin(rel, block, recent, strategy)};

	LockBuffer(look.buffer, BUFFER_LOCK_SHARE);
	look.lsn = BufferGetLSNAtomic(look.buffer);
	look.all_visible = PageIsAllVisible(BufferGetPage(look.buffer));
	UnlockReleaseBuffer(look.buffer);
	return look;
}

void
page_look_ahead(Buffer recent)
{
	if (!is_shared_buffer(recent))
		return;
	__builtin_prefetch(GetBufferDescriptor(recent - 1), 1);
	__builtin_prefetch(BufferGetBlock(recent));
}
