/*
 * merge_tree.h: a tree of losers, which merges sorted sources.
 *
 * The tree holds one entry of each source: the first bytes of its row's normalised keys as words (key_prefix.h).  The
 * rows stay with the caller.  Words decide most comparisons, so that none calls a function.  Where words are equal but
 * are not the whole key, the caller's function compares the rows.  Equal rows come in the order of the sources.
 *
 *	mergetree_open(&tree, nsources, compare, arg);
 *	take the key of every source's first row to tree.entries[source]; mergetree_start(&tree);
 *	while (!mergeentry_has_ended(tree.winner))
 *		give out the row of tree.winner->source; take the key of its next row; mergetree_advance(&tree);
 */
#ifndef GPUSORT_MERGE_TREE_H
#define GPUSORT_MERGE_TREE_H

#include "key_prefix.h"

/* A source's row, as the tree sees it. */
typedef struct MergeEntry
{
	uint64		words[KEY_WORDS];	/* as numbers */
	uint32		source;
	bool		whole;			/* there is no more of the key */
} MergeEntry;

/* Compares the present rows of two sources. */
typedef int (*MergeCompare) (void *arg, uint32 a, uint32 b);

typedef struct MergeTree
{
	uint32		nsources;
	MergeEntry *entries;		/* of all sources */
	MergeEntry **losers;		/* of the inner nodes from 1 on */
	MergeEntry *winner;			/* the first row */
	MergeEntry *runner_up;		/* the next one, if another source is known to have it; else NULL */
	bool		proves;			/* a row whose words are less than those of the one before it ends the query */
	uint64		before[KEY_WORDS];	/* the words of the winner before */
	MergeCompare compare;
	void	   *arg;
} MergeTree;

/* Makes a tree; memory comes from the current context.  It proves nothing, unless the caller sets proves. */
extern void mergetree_open(MergeTree *tree, uint32 nsources, MergeCompare compare, void *arg);
extern void mergetree_close(MergeTree *tree);

/* Finds the first winner. */
extern void mergetree_start(MergeTree *tree);

/* Finds the winner after the present one has taken its next row. */
extern void mergetree_advance(MergeTree *tree);

/* Marks a source as having no more rows: no key begins with a byte above 1. */
static inline void
mergeentry_end(MergeEntry *entry)
{
	memset(entry->words, 0xff, sizeof(entry->words));
	entry->whole = true;
}

/* Has the source no more rows? */
static inline bool
mergeentry_has_ended(const MergeEntry *entry)
{
	return entry->words[0] == PG_UINT64_MAX;
}

#endif
