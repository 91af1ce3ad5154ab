/*
 * spill_merge.c: merges sorted runs, the sources of a loser tree (../merge/merge_tree.c), by key prefixes encoded anew.
 */
#include "postgres.h"

#include "executor/tuptable.h"

#include "src/rows/rowcompare.h"
#include "spill_merge.h"
#include "src/merge/merge_proof.h"
#include "src/merge/merge_rows.h"
#include "src/merge/merge_tree.h"

struct MergeKeys
{
	KeyPrefix	prefix;
	bool		proves;			/* rows ascend by it */
	MergeOrder	order;			/* of all keys */
};

/* One run, with the row on its top. */
typedef struct Source
{
	RowTape    *tape;			/* NULL: the run in memory */
	MergeRow	row;
} Source;

struct Merge
{
	MergeKeys  *keys;
	SpillNext	next;
	void	   *arg;
	Source	   *sources;
	MergeTree	tree;
	bool		fresh;			/* the winner's row has not been given out */
};

MergeKeys *
mergekeys_open(const SortColumns *columns, TupleDesc desc)
{
	MergeKeys  *keys = palloc0(sizeof(MergeKeys));

	mergeorder_open(&keys->order, columns, desc, open_comparators(columns));
	keyprefix_open(&keys->prefix, columns, desc);
	keyprefix_encode(&keys->prefix);
	keys->proves = merge_is_proved();
	return keys;
}

void
mergekeys_add_weights(MergeKeys *merge, const SortKey *keys)
{
	if (keyprefix_add_weights(&merge->prefix, keys))
		mergeorder_add_weights(&merge->order, merge->prefix.nexact, &merge->prefix);
	merge->proves = false;
}

void
mergekeys_close(MergeKeys *keys)
{
	keyprefix_close(&keys->prefix);
	pfree(keys);
}

/* Moves a source to its next row. */
static void
read_row(Merge *merge, MergeEntry *entry)
{
	Source	   *source = &merge->sources[entry->source];
	KeyPrefix  *prefix = &merge->keys->prefix;

	mergerow_set(&source->row, source->tape ? rowtape_read(source->tape) : merge->next(merge->arg));
	if (source->row.tuple == NULL)
	{
		mergeentry_end(entry);
		return;
	}
	entry->whole = mergerow_take(&source->row, prefix, entry->words);
}

/* Compares the rows of two sources, as a MergeCompare. */
static int
compare_sources(void *arg, uint32 a, uint32 b)
{
	Merge	   *merge = arg;

	return mergerow_compare(&merge->keys->order, &merge->sources[a].row, &merge->sources[b].row);
}

Merge *
merge_begin(MergeKeys *keys, RowTape **tapes, int ntapes, SpillNext next, void *arg)
{
	Merge	   *merge = palloc0(sizeof(Merge));
	int			nsources = ntapes + (next ? 1 : 0);

	merge->keys = keys;
	merge->next = next;
	merge->arg = arg;
	merge->sources = palloc0(sizeof(Source) * nsources);
	mergetree_open(&merge->tree, nsources, compare_sources, merge);
	merge->tree.proves = keys->proves;
	for (int i = 0; i < nsources; i++)
	{
		merge->sources[i].tape = i < ntapes ? tapes[i] : NULL;
		mergerow_open(&merge->sources[i].row, &keys->order);
		/* allocates the tape's buffer, in the caller's memory context */
		read_row(merge, &merge->tree.entries[i]);
	}
	mergetree_start(&merge->tree);
	merge->fresh = true;
	return merge;
}

MinimalTuple
merge_next(Merge *merge)
{
	MergeTree  *tree = &merge->tree;

	if (likely(!merge->fresh) && !mergeentry_has_ended(tree->winner))
	{
		read_row(merge, tree->winner);
		mergetree_advance(tree);
	}
	merge->fresh = false;
	return merge->sources[tree->winner->source].row.tuple;
}

void
merge_end(Merge *merge)
{
	for (uint32 i = 0; i < merge->tree.nsources; i++)
		mergerow_close(&merge->sources[i].row);
	mergetree_close(&merge->tree);
	pfree(merge->sources);
	pfree(merge);
}
