/*
 * page_map.h: which pages of a table are held, written by the keeper alone and read by every query.
 *
 * One map lies in one sealed memory file per held table.  The keeper makes it and keeps the only writable mapping
 * (F_SEAL_FUTURE_WRITE); it hands the descriptor to the service, which hands it to sessions of that database.
 *
 *     header | held pages, a bit each | young pages, sorted by block | LSNs | segments | buffers
 *
 * The last three have a value for each page.  LSNs and segments are the keeper's memory, by which a later keeper takes
 * pages over.  Buffers are where the keeper saw pages last: pages may have moved since, and who looks there compares.
 *
 * Readers copy all of it under a sequence lock (page_map_read).  A copy is one version: held bits, LSNs and xids belong
 * to the rows that the service has under that version number.
 */
#ifndef GPUSORT_PAGE_MAP_H
#define GPUSORT_PAGE_MAP_H

#include "access/htup_details.h"
#include "access/xlogdefs.h"
#include "port/atomics.h"
#include "datatype/timestamp.h"
#include "storage/block.h"
#include "storage/buf.h"

#include "column.h"

#define PAGE_MAP_MAGIC 0x6d707067u	/* "gppm" */
#define PAGE_MAP_FORMAT 3
#define PAGE_MAP_MAX_COLUMNS MaxHeapAttributeNumber

/* The relation that a map is of.  A relation that is rewritten has another one.  Compared bytewise. */
typedef struct PageMapKey
{
	uint64		generation;		/* random, per life of the server's shared memory */
	Oid			database;
	Oid			tablespace;
	Oid			relation;
	uint32		filenode;
} PageMapKey;

typedef enum PageMapState
{
	PAGE_MAP_LOADING,			/* pages come; queries may use those that are held */
	PAGE_MAP_READY,				/* all pages that could be held were */
	PAGE_MAP_NO_MEMORY,			/* loading ended early: columns_memory is used up */
	PAGE_MAP_DROPPED			/* the table is no longer held; ask for a new map */
} PageMapState;

/* Why a column of strings is not held, or how wide its codes are to be at least, in bytes. */
typedef enum ColumnLimit
{
	LIMIT_NONE,
	LIMIT_16_BITS = 2,
	LIMIT_32_BITS = 4,
	/* it is not held: */
	LIMIT_VALUES,				/* it has entries for more than half of the rows */
	LIMIT_MEMORY				/* they are more than fit gpusort.columns_memory */
} ColumnLimit;

/* A page that is not all-visible, proved by its LSN and its xids (research: "Young pages", rule 4). */
typedef struct YoungPage
{
	BlockNumber block;
	TransactionId oldest;		/* of the xids that were not before the horizon; both invalid: none */
	TransactionId newest;
	uint32		zero;
	XLogRecPtr	lsn;			/* never invalid */
} YoungPage;

typedef struct PageMapHeader
{
	uint32		magic;
	uint32		format;
	PageMapKey	key;
	uint64		table;			/* its number in the service */
	BlockNumber capacity;		/* pages that the map has room for */
	uint32		ncolumns;
	ColumnDescription columns[PAGE_MAP_MAX_COLUMNS];
	uint8		limits[PAGE_MAP_MAX_COLUMNS];	/* ColumnLimits, by attribute */

	/* Changes from here on, under the sequence lock: odd while the keeper writes. */
	pg_atomic_uint64 sequence;
	uint64		version;		/* of the rows in the service; 0: nothing published yet */
	uint32		window;			/* serial of the window under which held pages are proved */
	uint32		state;			/* PageMapState */
	BlockNumber nblocks;		/* pages that the bits cover */
	uint32		nyoung;
	/* Statistics for the view. */
	BlockNumber held;			/* bits set */
	BlockNumber changed;		/* pages of nblocks that are neither held nor young */
	BlockNumber loaded;			/* progress of the first load, in pages, of total */
	BlockNumber total;
	TimestampTz ready_since;	/* when its first load was complete, by whichever keeper; 0: it is not */
} PageMapHeader;

/* A mapping of a map. */
typedef struct PageMap
{
	PageMapHeader *header;		/* read-only but for the keeper */
	uint64	   *held;
	YoungPage  *young;
	XLogRecPtr *lsns;			/* of held and young pages at load; not for readers */
	uint32	   *segments;		/* where the rows of a page lie in the service; not for readers */
	Buffer	   *buffers;		/* where pages were seen last, or InvalidBuffer */
	Size		bytes;
	int			fd;				/* the keeper's, else -1 */
} PageMap;

/* A reader's copy of one version. */
typedef struct PageMapCopy
{
	uint64		version;
	uint32		window;
	BlockNumber nblocks;
	uint32		nyoung;
	uint64	   *held;			/* palloc'd, (nblocks + 63) / 64 words */
	YoungPage  *young;			/* palloc'd */
} PageMapCopy;

/* Makes a map with room for capacity pages; header's constant part is copied.  Returns false with errno. */
extern bool page_map_create(PageMap *map, const PageMapHeader *constant, BlockNumber capacity);

/* Maps another process's file, read-only.  Returns false if it is not a sealed map of this format.  Closes fd. */
extern bool page_map_attach(PageMap *map, int fd);

/* Unmaps. */
extern void page_map_detach(PageMap *map);

/* Returns the buffer where a page was seen last, or InvalidBuffer.  It is no part of any version. */
static inline Buffer
page_map_buffer(const PageMap *map, BlockNumber block)
{
	if (map->header == NULL || block >= map->header->capacity)
		return InvalidBuffer;
	return *(volatile Buffer *) &map->buffers[block];
}

/* The keeper's: writes what changed since the last version.  held and young are complete. */
extern void page_map_publish(PageMap *map, const PageMapHeader *changing, const uint64 *held, const YoungPage *young);

/* Copies the current version.  Returns false if none is published, or the keeper does not finish writing. */
extern bool page_map_read(const PageMap *map, PageMapCopy *copy);
extern void page_map_free_copy(PageMapCopy *copy);

#endif
