/*
 * load_job.h: what a keeper and its loaders share about the pages to load, in a dynamic segment.
 */
#ifndef GPUSORT_COLUMNS_LOAD_JOB_H
#define GPUSORT_COLUMNS_LOAD_JOB_H

#include "port/atomics.h"

#include "page_map.h"
#include "segment.h"

/* A column whose dictionary finds no memory, or codes of its width. */
#define LOAD_NO_STRINGS 0x10000u
#define LOAD_OUTGROWN(column, no_strings) ((uint32) (column) + 1 + ((no_strings) ? LOAD_NO_STRINGS : 0))

/* A page that a loader has read.  A segment of 0 is not written yet. */
typedef struct LoadRecord
{
	LoadedPage	page;
	pg_atomic_uint32 segment;
} LoadRecord;

typedef struct LoadShared
{
	PageMapKey	key;
	uint64		table;			/* its number in the service */
	BlockNumber first;			/* a multiple of 64 */
	BlockNumber nblocks;		/* from first on */
	uint32		ncolumns;
	pg_atomic_uint32 next;		/* word of pages that a loader takes next */
	pg_atomic_uint32 records;	/* taken by loaders */
	pg_atomic_uint32 stop;		/* the keeper no longer wants them */
	pg_atomic_uint32 no_memory;
	pg_atomic_uint32 outgrown;	/* a column that is not held in this way (LOAD_OUTGROWN); 0: none */
	Size		pages_at;		/* bits of pages to load */
	Size		visible_at;		/* those that are all-visible by the keeper's copy */
	Size		records_at;		/* room for nblocks */
	ColumnDescription columns[FLEXIBLE_ARRAY_MEMBER];
} LoadShared;

/* Returns the first part after the header. */
static inline uint64 *
load_pages(LoadShared *shared)
{
	return (uint64 *) ((char *) shared + shared->pages_at);
}

/* Returns the second. */
static inline uint64 *
load_visible(LoadShared *shared)
{
	return (uint64 *) ((char *) shared + shared->visible_at);
}

/* Returns the third. */
static inline LoadRecord *
load_records(LoadShared *shared)
{
	return (LoadRecord *) ((char *) shared + shared->records_at);
}

#endif
