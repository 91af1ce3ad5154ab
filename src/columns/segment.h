/*
 * segment.h: heap pages, read for the store: their rows as one segment, and by what each page is proved.
 */
#ifndef GPUSORT_COLUMNS_SEGMENT_H
#define GPUSORT_COLUMNS_SEGMENT_H

#include "access/xlogdefs.h"
#include "storage/bufmgr.h"

#include "rows.h"
#include "store.h"

/* A page whose rows were read. */
typedef struct LoadedPage
{
	BlockNumber block;
	TransactionId oldest;		/* as in YoungPage; none if all_visible */
	TransactionId newest;
	uint32		all_visible;	/* by a copy of the map before, and by its own flag */
	XLogRecPtr	lsn;			/* may be invalid */
	Buffer		buffer;			/* where it was */
} LoadedPage;

/* Why a page could not be read. */
typedef enum PageOutcome
{
	PAGE_TAKEN,
	PAGE_BUSY,					/* rows of transactions in progress, or values that cannot be held */
	PAGE_NO_ROOM				/* write the segment first */
} PageOutcome;

/* A segment that is being filled. */
typedef struct SegmentWriter
{
	RowReader	reader;
	gs_chunk   *header;			/* private; copied to the buffer at the end */
	char	   *buffer;			/* of the link */
	Size		pages_room;
	StorePage  *pages;
	LoadedPage *loaded;			/* npages of both */
	uint32		npages;
	uint32		max_pages;
	uint8	   *bitmaps;
	Size		bitmap_bytes;
	/* Where it goes, and strings as codes: */
	ServiceLink *link;
	uint64		table;
	DictionaryMaps *maps;
	char	   *strings;		/* in the buffer */
	Size		strings_room;	/* of each column with a dictionary */
	bool		begin_anew;		/* with no new strings, before the next page */
	int			outgrown;		/* a column for whose codes its width is too small; -1: none */
	bool		no_strings;		/* its dictionary has no memory */
} SegmentWriter;

/* Returns true if a page's rows of these columns always fit a link's buffer. */
extern bool segment_fits(const ColumnDescription *columns, int ncolumns, ServiceLink *link);

/*
 * Prepares for a relation, which is a table of the service.  Allocates in the current context.  Returns false if a
 * page's rows could be more than fit the buffer, or a dictionary cannot be read.
 */
extern bool segment_init(SegmentWriter *writer, Relation rel, const ColumnDescription *columns, int ncolumns,
						 ServiceLink *link, uint64 table, DictionaryMaps *maps);

/*
 * Adds a page's rows, with strings out of line by the snapshot at hand.  visible: a copy of the map had its bit.
 * horizon was taken before, for this relation, in this process.
 */
extern PageOutcome segment_add(SegmentWriter *writer, Relation rel, BlockNumber block, bool visible,
							   TransactionId horizon, BufferAccessStrategy strategy);

/*
 * Sends the segment to the service and begins the next.  loaded remains valid until the next page.  False: outgrown and
 * no_strings say whether that is a column's fault.
 */
extern bool segment_store(SegmentWriter *writer, uint32 *segment, uint32 *npages, EngineFailure *why);

#endif
