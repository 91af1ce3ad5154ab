/*
 * spill_merge.c: sorted runs merged into one.
 *
 * A loser tree over the runs, by the first bytes of the rows' normalised keys, which are taken from each row as it is
 * read: nothing of them is on disk.  Where these bytes are the same and are not the whole key, or a key has no exact
 * form, the types' own comparison functions decide, and between equal rows the order of the runs.
 */
#include "postgres.h"

#include "executor/tuptable.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "src/keys/keyplace.h"
#include "rowcompare.h"
#include "spill_merge.h"
#include "src/keys/sortkey.h"

/* Eight-byte words of a key that are kept of the row on top of each run. */
#define PREFIX_WORDS 4
#define PREFIX_BYTES (PREFIX_WORDS * sizeof(uint64))

struct MergeKeys
{
	TupleDesc	desc;
	int			nkeys;
	int			nexact;			/* leading keys whose form is exact for rows of all runs */
	int			nwords;			/* of PREFIX_WORDS, that may differ */
	SortKey    *keys;			/* these */
	AttrNumber *attnos;
	KeyPlace   *places;
	SortSupport comparators;	/* of all keys */
	TupleTableSlot *slot;		/* to take keys from rows */
	MemoryContext scratch;		/* for encoding one row */
};

/* One run, with the row on its top. */
typedef struct Source
{
	RowTape    *tape;			/* NULL: the run in memory */
	MinimalTuple row;			/* NULL: there is none left */
	uint64		prefix[PREFIX_WORDS];	/* most significant byte first */
	bool		whole;			/* there is no more of the key */
	bool		stored;			/* the slot holds the row */
	TupleTableSlot *slot;
} Source;

struct Merge
{
	MergeKeys  *keys;
	SpillNext	next;
	void	   *arg;
	int			nsources;
	Source	   *sources;
	int		   *losers;			/* of the inner nodes from 1 on; source i is node nsources + i; 0: the winner */
	bool		fresh;			/* the winner's row has not been given out */
};

MergeKeys *
mergekeys_open(const SortColumns *columns, TupleDesc desc)
{
	MergeKeys  *keys = palloc0(sizeof(MergeKeys));
	const char *why;
	Size		most = 0;

	keys->desc = desc;
	keys->nkeys = columns->nkeys;
	keys->attnos = columns->attnos;
	keys->places = keyplaces_find(columns, desc);
	keys->comparators = open_comparators(columns);
	keys->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	keys->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort run keys", ALLOCSET_SMALL_SIZES);
	keys->keys = palloc0(sizeof(SortKey) * columns->nkeys);
	for (int i = 0; i < columns->nkeys && sortkey_is_exact(columns->sortops[i], columns->collations[i], &why); i++)
	{
		sortkey_open(&keys->keys[i], columns->sortops[i], columns->collations[i], columns->nulls_first[i], true);
		keys->nexact++;
		most += keys->keys[i].width > 0 ? sizeof(char) + keys->keys[i].width : PREFIX_BYTES;
	}
	keys->nwords = (int) ((Min(most, PREFIX_BYTES) + sizeof(uint64) - 1) / sizeof(uint64));
	return keys;
}

void
mergekeys_close(MergeKeys *keys)
{
	ExecDropSingleTupleTableSlot(keys->slot);
	MemoryContextDelete(keys->scratch);
	pfree(keys);
}

/* Takes the first bytes of a row's keys; true if there are no more of them. */
static bool
take_prefix(MergeKeys *keys, MinimalTuple row, char *prefix)
{
	bool		plain = (row->t_infomask & HEAP_HASNULL) == 0 && HeapTupleHeaderGetNatts(row) >= keys->desc->natts;
	char	   *data = (char *) row + row->t_hoff - MINIMAL_TUPLE_OFFSET;
	Size		room = keys->nwords * sizeof(uint64);
	Size		at = 0;
	bool		stored = false;

	for (int i = 0; i < keys->nexact; i++)
	{
		const KeyPlace *place = &keys->places[i];
		bool		isnull = false;
		Datum		value;

		if (plain && place->kind != PLACE_VARIES)
			value = keyplace_value(place, data, (char *) row + row->t_len - data);
		else
		{
			if (!stored)
				ExecStoreMinimalTuple(row, keys->slot, false);
			stored = true;
			value = slot_getattr(keys->slot, keys->attnos[i], &isnull);
		}
		at += sortkey_prefix(&keys->keys[i], value, isnull, prefix + at, room - at);
		if (at > room)
			return false;
	}
	memset(prefix + at, 0, room - at);
	return keys->nexact == keys->nkeys;
}

/* Moves a source to its next row. */
static void
advance(Merge *merge, Source *source)
{
	MergeKeys  *keys = merge->keys;
	MemoryContext old;

	source->stored = false;
	source->row = source->tape ? rowtape_read(source->tape) : merge->next(merge->arg);
	if (source->row == NULL || keys->nexact == 0)
		return;
	old = MemoryContextSwitchTo(keys->scratch);
	source->whole = take_prefix(keys, source->row, (char *) source->prefix);
	for (int i = 0; i < keys->nwords; i++)
		source->prefix[i] = pg_ntoh64(source->prefix[i]);
	MemoryContextSwitchTo(old);
	MemoryContextReset(keys->scratch);
}

/* The source's row in a slot, for comparison functions. */
static TupleTableSlot *
slot_of(Source *source)
{
	if (!source->stored)
		ExecStoreMinimalTuple(source->row, source->slot, false);
	source->stored = true;
	return source->slot;
}

/* Does the row of source a come before that of b? */
static inline bool
comes_before(Merge *merge, int a, int b)
{
	const MergeKeys *keys = merge->keys;
	Source	   *x = &merge->sources[a];
	Source	   *y = &merge->sources[b];
	int			order = 0;

	if (x->row == NULL || y->row == NULL)
		return y->row == NULL;
	for (int i = 0; i < keys->nwords; i++)
		if (x->prefix[i] != y->prefix[i])
			return x->prefix[i] < y->prefix[i];
	if (!x->whole || !y->whole)
		order = compare_slots(keys->comparators, keys->nkeys, slot_of(x), slot_of(y));
	return order < 0 || (order == 0 && a < b);
}

/* Lets a source whose row is new play from its leaf to the top. */
static void
replay(Merge *merge, int source)
{
	int			winner = source;

	for (int node = (merge->nsources + source) / 2; node > 0; node /= 2)
		if (comes_before(merge, merge->losers[node], winner))
		{
			int			loser = winner;

			winner = merge->losers[node];
			merge->losers[node] = loser;
		}
	merge->losers[0] = winner;
}

/* Lets the sources below a node play, and returns the winner. */
static int
play(Merge *merge, int node)
{
	int			left;
	int			right;

	if (node >= merge->nsources)
		return node - merge->nsources;
	left = play(merge, 2 * node);
	right = play(merge, 2 * node + 1);
	if (comes_before(merge, left, right))
	{
		merge->losers[node] = right;
		return left;
	}
	merge->losers[node] = left;
	return right;
}

Merge *
merge_begin(MergeKeys *keys, RowTape **tapes, int ntapes, SpillNext next, void *arg)
{
	Merge	   *merge = palloc0(sizeof(Merge));

	merge->keys = keys;
	merge->next = next;
	merge->arg = arg;
	merge->nsources = ntapes + (next ? 1 : 0);
	merge->sources = palloc0(sizeof(Source) * merge->nsources);
	merge->losers = palloc0(sizeof(int) * merge->nsources);
	for (int i = 0; i < merge->nsources; i++)
	{
		merge->sources[i].tape = i < ntapes ? tapes[i] : NULL;
		merge->sources[i].slot = MakeSingleTupleTableSlot(keys->desc, &TTSOpsMinimalTuple);
		/* what reading takes is allocated here, in the right context */
		advance(merge, &merge->sources[i]);
	}
	merge->losers[0] = play(merge, 1);
	merge->fresh = true;
	return merge;
}

MinimalTuple
merge_next(Merge *merge)
{
	if (likely(!merge->fresh))
	{
		advance(merge, &merge->sources[merge->losers[0]]);
		replay(merge, merge->losers[0]);
	}
	merge->fresh = false;
	return merge->sources[merge->losers[0]].row;
}

void
merge_end(Merge *merge)
{
	for (int i = 0; i < merge->nsources; i++)
		ExecDropSingleTupleTableSlot(merge->sources[i].slot);
	pfree(merge->sources);
	pfree(merge->losers);
	pfree(merge);
}
