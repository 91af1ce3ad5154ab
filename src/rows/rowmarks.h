/*
 * rowmarks.h: which rows of a sort may be tied where long strings are sorted by their first bytes.
 */
#ifndef GPUSORT_ROWMARKS_H
#define GPUSORT_ROWMARKS_H

#include "rowstore.h"
#include "src/keys/sortkey.h"

/*
 * A row's mark is a hash of its keys up to the first one of which the engine knows no more than the first bytes, or
 * nothing, as far as it knows them; 0 if it knows all keys.  So of two neighbours in the engine's order with different
 * marks, or with none, what it knows has decided.
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

/* How many different hashes are there?  They are sorted for that. */
extern uint32 count_different(uint32 *hashes, uint32 count);

/* Forgets all marks; others may follow. */
extern void rowmarks_free(RowMarks *marks);

/* Has the order of two neighbours still to be found? */
static inline bool
rowmarks_tied(const RowMarks *marks, uint32 row, uint32 next)
{
	return marks->marks[row] != 0 && marks->marks[row] == marks->marks[next];
}

/* Loads a mark ahead of its turn. */
static inline void
rowmarks_prefetch(const RowMarks *marks, const uint32 *order, uint64 index, uint64 count)
{
	if (likely(index + PREFETCH_ROWS < count))
		__builtin_prefetch(&marks->marks[order[index + PREFETCH_ROWS]]);
}

#endif
