/*
 * word_merge.h: sorted parts of rows whose keys are words, merged by the CPU engine.
 */
#ifndef GPUSORT_WORD_MERGE_H
#define GPUSORT_WORD_MERGE_H

#include "kernels/gs_arrays.h"

/* The parts, one behind the other; the caller fills them in. */
typedef struct WordMerge
{
	gs_engine  *engine;
	uint32		room;			/* rows there is memory for */
	uint64	   *words;
	const char **rows;			/* whatever goes with the words */
	uint64	   *starts;			/* of parts, and the end of the last one */
	uint64	   *merged;			/* the words in order */
	void	   *temp;
	Size		temp_bytes;
} WordMerge;

/* A merge of so many parts at most, in the current memory context. */
extern WordMerge *wordmerge_open(int parts);

/* Makes room for so many rows; what was there is gone. */
extern void wordmerge_room(WordMerge *merge, uint32 rows);

/* Writes the rows of all parts to ready, in order; those with the same word in the order of their parts. */
extern void wordmerge_run(WordMerge *merge, int parts, const char **ready);

#endif
