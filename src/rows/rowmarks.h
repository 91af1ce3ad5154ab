/*
 * rowmarks.h: which rows may be tied when long strings are sorted by a prefix, or keys are deferred.
 */
#ifndef GPUSORT_ROWMARKS_H
#define GPUSORT_ROWMARKS_H

#include "rowstore.h"
#include "src/keys/sortkey.h"

/*
 * A row's mark is 0 if the engine knows all its keys in full, else a hash of what it knows up to the first that it does
 * not.
 *
 * Invariant: neighbours in the engine's order whose marks differ, or are 0, need no comparison.
 */
typedef struct RowMarks
{
	BigMem	   *mem;
	uint32	   *marks;
	uint32		rows;
	uint32		room;
} RowMarks;

/* Appends the mark of a row whose keys have just been written; false without memory. */
extern bool rowmarks_put(RowMarks *marks, const SortKey *keys, const KeyWriter *writer, int nkeys);

/* Estimates the number of distinct hashes among at most a few thousand. */
extern uint32 count_different(const uint32 *hashes, uint32 count);

/* Forgets all marks; others may follow. */
extern void rowmarks_free(RowMarks *marks);

/* May two neighbours be tied? */
static inline bool
rowmarks_tied(const RowMarks *marks, uint32 row, uint32 next)
{
	return marks->marks[row] != 0 && marks->marks[row] == marks->marks[next];
}

/* Prefetches a mark. */
static inline void
rowmarks_prefetch(const RowMarks *marks, const uint32 *order, uint64 index, uint64 count)
{
	if (likely(index + PREFETCH_ROWS < count))
		__builtin_prefetch(&marks->marks[order[index + PREFETCH_ROWS]]);
}

#endif
