/*
 * prefix_merge.h: merges sorted parts of rows whose key prefixes are the whole keys, by the CPU engine.
 */
#ifndef GPUSORT_PREFIX_MERGE_H
#define GPUSORT_PREFIX_MERGE_H

#include "kernels/gs_arrays.h"

/* The input: sorted parts, one after the other, filled in by the caller. */
typedef struct PrefixMerge
{
	gs_engine  *engine;
	uint32		room;			/* rows the arrays have room for */
	uint64	   *prefixes;
	const char **rows;			/* a value for each prefix */
	uint64	   *starts;			/* start of each part, and the end of the last one */
	uint64	   *merged;			/* the prefixes in order */
	void	   *temp;
	Size		temp_bytes;
} PrefixMerge;

/*
 * Enlarges the arrays for a number of rows, discarding their contents.  Opens the merge, of at most this many parts, in
 * a memory context, if it is NULL.
 */
extern void prefixmerge_room(PrefixMerge **merge, MemoryContext cxt, int parts, uint32 rows);

/* Merges the rows of all parts into ready.  Rows with equal prefixes keep the order of their parts. */
extern void prefixmerge_run(PrefixMerge *merge, int parts, const char **ready);

#endif
