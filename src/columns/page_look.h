/*
 * page_look.h: a look at a page's LSN.
 */
#ifndef GPUSORT_PAGE_LOOK_H
#define GPUSORT_PAGE_LOOK_H

#include "access/xlogdefs.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

/* What a look saw. */
typedef struct PageLook
{
	XLogRecPtr	lsn;
	Buffer		buffer;			/* where the page was, to find it there the next time */
	bool		all_visible;	/* by its own flag */
} PageLook;

/*
 * Looks at a page.  recent is the buffer where the page was seen last, or InvalidBuffer; any other number costs time
 * and does no harm.
 */
extern PageLook page_look(Relation rel, BlockNumber block, Buffer recent, BufferAccessStrategy strategy);

/* Fetches into the processor's cache what a look at a page will read in that buffer. */
extern void page_look_ahead(Buffer recent);

#endif
