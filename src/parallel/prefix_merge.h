/*
 * word_merge.h: merges sorted parts of rows whose keys are words, by the CPU engine.
 */
#ifndef GPUSORT_WORD_MERGE_H
#define GPUSORT_WORD_MERGE_H

#include "kernels/gs_arrays.h"

/* The input: sorted parts, one after the other, filled in by the caller. */
typedef struct WordMerge
{
	gs_engine  *engine;
	uint32		room;			/* rows the arrays have room for */
	uint64	   *words;
	const char **rows;			/* a value for each word */
	uint64	   *starts;			/* start of each part, and the end of the last one */
	uint64	   *merged;			/* the words in order */
	void	   *temp;
	Size		temp_bytes;
} WordMerge;

/* Opens a merge of at most this many parts, in the current memory context. */
extern WordMerge *wordmerge_open(int parts);

/* Enlarges the arrays for a number of rows, discarding their contents. */
extern void wordmerge_room(WordMerge *merge, uint32 rows);

/* Merges the rows of all parts into ready.  Rows with equal words keep the order of their parts. */
extern void wordmerge_run(WordMerge *merge, int parts, const char **ready);

#endif
