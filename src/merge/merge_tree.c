/*
 * merge_tree.c: a tree of losers, which merges sorted sources.
 *
 * Source i is node nsources + i, and node n's children are 2n and 2n + 1.  Each inner node keeps who lost there, so
 * that a new row meets one other at each level, half of what a heap compares.  While rows come from one source, one
 * comparison is enough: with the runner-up, the first of those that lost to the winner.
 */
#include "postgres.h"

#include "merge_proof.h"
#include "merge_tree.h"

void
mergetree_open(MergeTree *tree, uint32 nsources, MergeCompare compare, void *arg)
{
	memset(tree, 0, sizeof(*tree));
	tree->nsources = nsources;
	tree->entries = palloc0(sizeof(MergeEntry) * nsources);
	for (uint32 i = 0; i < nsources; i++)
		tree->entries[i].source = i;
	tree->losers = palloc0(sizeof(MergeEntry *) * nsources);
	tree->compare = compare;
	tree->arg = arg;
}

void
mergetree_close(MergeTree *tree)
{
	pfree(tree->entries);
	pfree(tree->losers);
}

/* Compares two rows whose words are equal. */
static pg_noinline bool
tied_before(const MergeTree *tree, const MergeEntry *a, const MergeEntry *b)
{
	int			order = 0;

	if (!a->whole || !b->whole)
		order = tree->compare(tree->arg, a->source, b->source);
	return order < 0 || (order == 0 && a->source < b->source);
}

/* Does one row come before another? */
static inline bool
comes_before(const MergeTree *tree, const MergeEntry *a, const MergeEntry *b)
{
	for (int i = 0; i < KEY_WORDS; i++)
		if (a->words[i] != b->words[i])
			return a->words[i] < b->words[i];
	return tied_before(tree, a, b);
}

/* Lets the sources below a node play for the first time, and returns the winner. */
static MergeEntry *
play(MergeTree *tree, uint32 node)
{
	MergeEntry *left;
	MergeEntry *right;
	bool		left_wins;

	if (node >= tree->nsources)
		return &tree->entries[node - tree->nsources];
	left = play(tree, 2 * node);
	right = play(tree, 2 * node + 1);
	left_wins = comes_before(tree, left, right);
	tree->losers[node] = left_wins ? right : left;
	return left_wins ? left : right;
}

void
mergetree_start(MergeTree *tree)
{
	tree->winner = play(tree, 1);
	tree->runner_up = NULL;
	memcpy(tree->before, tree->winner->words, sizeof(tree->before));
}

/* Proves that the winner's words are not less than those before. */
static inline void
prove(MergeTree *tree)
{
	const uint64 *words = tree->winner->words;

	for (int i = 0; i < KEY_WORDS; i++)
	{
		if (tree->before[i] == words[i])
			continue;
		if (unlikely(tree->before[i] > words[i]))
			merge_refuse();
		memcpy(tree->before, words, sizeof(tree->before));
		return;
	}
}

/* Lets a source's new row play from its leaf to the top, and returns the winner. */
static inline MergeEntry *
climb(MergeTree *tree, MergeEntry *entry)
{
	MergeEntry **losers = tree->losers;

	for (uint32 node = (tree->nsources + entry->source) / 2; node > 0; node /= 2)
	{
		MergeEntry *other = losers[node];

		if (comes_before(tree, other, entry))
		{
			losers[node] = entry;
			entry = other;
		}
	}
	return entry;
}

/* Finds the first of those that lost to the winner, on its way to the top; NULL if there is no other source. */
static MergeEntry *
find_runner_up(const MergeTree *tree)
{
	MergeEntry *best = NULL;

	for (uint32 node = (tree->nsources + tree->winner->source) / 2; node > 0; node /= 2)
		if (best == NULL || comes_before(tree, tree->losers[node], best))
			best = tree->losers[node];
	return best;
}

/* Finds the winner after the present one has taken its next row. */
static inline void
find_winner(MergeTree *tree)
{
	MergeEntry *before = tree->winner;

	if (tree->runner_up && comes_before(tree, before, tree->runner_up))
		return;
	tree->winner = climb(tree, before);
	/* a source that wins twice may have more rows before those of others */
	tree->runner_up = tree->winner == before ? find_runner_up(tree) : NULL;
}

void
mergetree_advance(MergeTree *tree)
{
	find_winner(tree);
	if (tree->proves)
		prove(tree);
}
