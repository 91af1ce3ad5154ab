/*
 * merge_rows.h: the rows of a merge's sources, compared by all keys, where words do not decide (merge_tree.h).
 */
#ifndef GPUSORT_MERGE_ROWS_H
#define GPUSORT_MERGE_ROWS_H

#include "utils/sortsupport.h"

#include "key_prefix.h"

/* How rows of a descriptor are compared. */
typedef struct MergeOrder
{
	TupleDesc	desc;
	int			nkeys;
	SortSupport keys;			/* comparison functions */
	KeyPlace   *places;			/* of keys in rows */
	int			weighed;		/* the key whose primary weights are compared before it; -1: none */
	KeyPrefix  *prefix;			/* has that key */
} MergeOrder;

/* A source's present row. */
typedef struct MergeRow
{
	MinimalTuple tuple;			/* NULL: there are no more */
	TupleTableSlot *slot;		/* for a row whose keys are not where places say */
	bool		stored;			/* it holds the row */
	const char *weights;		/* of the row, with those behind its words */
	int			nweights;		/* bytes of these; 0: words have all, or are not weights */
	char	   *buffer;			/* for these */
} MergeRow;

/* They are written when they are compared. */
#define WEIGHTS_LATER (-1)

/* Takes the comparison functions of all keys; finds their places, in the current memory context. */
extern void mergeorder_open(MergeOrder *order, const SortColumns *columns, TupleDesc desc, SortSupport keys);

/*
 * Compares the primary weights of that key before its values; the prefix writes them, unless sources bring theirs.  The
 * order may be wrong then.
 */
extern void mergeorder_add_weights(MergeOrder *order, int key, KeyPrefix *prefix);

/* Makes room for the rows of a source, and frees it. */
extern void mergerow_open(MergeRow *row, const MergeOrder *order);
extern void mergerow_close(MergeRow *row);

/* Makes a tuple the present row, without weights. */
static inline void
mergerow_set(MergeRow *row, MinimalTuple tuple)
{
	row->tuple = tuple;
	row->stored = false;
	row->nweights = 0;
}

/* Takes the words of the present row; true: they are the whole key. */
static inline bool
mergerow_take(MergeRow *row, KeyPrefix *prefix, uint64 *words)
{
	bool		whole;

	keyprefix_set_tuple(prefix, row->tuple);
	whole = keyprefix_take(prefix, words);
	row->nweights = prefix->cut ? WEIGHTS_LATER : 0;
	return whole;
}

/* Returns the weights of a row, of which there are row->nweights then. NULL has none. */
extern const char *mergerow_weights(const MergeOrder *order, MergeRow *row);

/* Compares two rows as tuplesort does, but for weights. */
extern int	mergerow_compare(const MergeOrder *order, MergeRow *a, MergeRow *b);

#endif
