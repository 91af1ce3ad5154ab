/*
 * page_look.h: pages of a table, found where they were seen last, and a look at their LSNs.
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
 * Pins a page.  recent is the buffer where it was seen last, or InvalidBuffer; any other number costs time and does no
 * harm.
 */
extern Buffer page_pin(Relation rel, BlockNumber block, Buffer recent, BufferAccessStrategy strategy);

/* Looks at a page. */
extern PageLook page_look(Relation rel, BlockNumber block, Buffer recent, BufferAccessStrategy strategy);

/* Fetches into the processor's cache what a look at a page will read in that buffer. */
extern void page_look_ahead(Buffer recent);

#endif
