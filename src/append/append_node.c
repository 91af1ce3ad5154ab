/*
 * append_node.c: Custom Scan (GpuMergeAppend), which merges the rows of several sorted nodes.
 *
 * Like nodeMergeAppend.c, it keeps one row of each node, and fetches the next row of a node when its row has been
 * returned.  Unlike it, the comparison keys of a row are computed once: the first bytes of its normalised keys, as two
 * words.  A loser tree finds the first row with half the comparisons of a heap.  While rows come from one node, a
 * single comparison with the runner-up is enough.  If words are equal without being the whole key, or a key has no
 * exact form, the types' own comparison functions decide.  Equal rows are in the order of the nodes.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "src/base/guc.h"
#include "src/core/limit_rows.h"
#include "src/core/node.h"
#include "src/core/rowcompare.h"
#include "src/keys/sortkey.h"
#include "append_node.h"

/* Eight-byte words of a key that are compared before the values are. */
#define KEY_WORDS 2
#define KEY_BYTES (KEY_WORDS * sizeof(uint64))

/* The row that is next of one of the nodes below. */
typedef struct Player
{
	uint64		words[KEY_WORDS];	/* as numbers; the highest: there is none */
	uint32		source;
	bool		whole;			/* there is no more of the key */
} Player;

typedef struct GpuMergeAppendState
{
	CustomScanState css;
	SortColumns columns;
	uint32		nsources;
	PlanState **sources;
	TupleTableSlot **slots;		/* their rows */
	LimitState *limit;			/* the Limit above, or NULL */

	SortSupport comparators;	/* NULL until the first row is asked for */
	SortKey    *keys;			/* the first nexact */
	int			nexact;			/* leading keys whose form is exact */
	bool		single;			/* one key of no more than a word */
	MemoryContext scratch;		/* for encoding one row; NULL: nothing is taken for that */

	bool		started;
	Player		winner;
	Player	   *losers;			/* of the inner nodes of the tree from 1 on; source i is node nsources + i */
	int			next;			/* the loser that would win next, 0: not known */
} GpuMergeAppendState;

/* BeginCustomScan */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	GpuMergeAppendState *node = (GpuMergeAppendState *) css;
	CustomScan *scan = (CustomScan *) css->ss.ps.plan;
	int			n = list_length(scan->custom_plans);

	node->nsources = n;
	node->sources = palloc(sizeof(PlanState *) * n);
	node->slots = palloc0(sizeof(TupleTableSlot *) * n);
	node->losers = palloc0(sizeof(Player) * n);
	for (int i = 0; i < n; i++)
	{
		node->sources[i] = ExecInitNode(list_nth(scan->custom_plans, i), estate, eflags);
		css->custom_ps = lappend(css->custom_ps, node->sources[i]);
	}
	/* rows leave in the slots of the nodes below, which may be of any kind */
	css->ss.ps.resultopsset = true;
	css->ss.ps.resultopsfixed = false;
	css->ss.ps.ps_ProjInfo = NULL;
	gpusort_read_columns(&node->columns, scan);
}

/* Opens what rows are compared by. */
static void
open_keys(GpuMergeAppendState *node)
{
	const SortColumns *columns = &node->columns;
	MemoryContext old = MemoryContextSwitchTo(node->css.ss.ps.state->es_query_cxt);
	const char *why;
	bool		fixed = true;

	node->comparators = open_comparators(columns);
	node->keys = palloc0(sizeof(SortKey) * columns->nkeys);
	while (gpusort_enabled && node->nexact < columns->nkeys &&
		   sortkey_is_exact(columns->sortops[node->nexact], columns->collations[node->nexact], &why))
	{
		int			i = node->nexact++;

		sortkey_open(&node->keys[i], columns->sortops[i], columns->collations[i], columns->nulls_first[i], true);
		fixed = fixed && node->keys[i].width > 0;
	}
	node->single = node->nexact == 1 && columns->nkeys == 1 && fixed && node->keys[0].width <= sizeof(uint64);
	if (!fixed)
		node->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort merge keys", ALLOCSET_SMALL_SIZES);
	MemoryContextSwitchTo(old);
}

/* Lets the nodes below know how many rows will be wanted, as ExecLimit does through a MergeAppend. */
static void
pass_limit(GpuMergeAppendState *node)
{
	int64		bound = limit_rows(node->limit);

	if (node->limit == NULL)
		return;
	for (uint32 i = 0; i < node->nsources; i++)
		ExecSetTupleBound(bound > 0 ? bound : -1, node->sources[i]);
}

/* Writes the first bytes of a row's keys, and says how many, or more than there is room for. */
static Size
write_bytes(GpuMergeAppendState *node, TupleTableSlot *slot, char *to)
{
	MemoryContext old = MemoryContextSwitchTo(node->scratch);
	Size		at = 0;

	for (int i = 0; i < node->nexact && at < KEY_BYTES; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, node->columns.attnos[i], &isnull);

		at += sortkey_prefix(&node->keys[i], value, isnull, to + at, KEY_BYTES - at);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(node->scratch);
	return at;
}

/* The same of keys of fixed width. */
static inline Size
write_fixed(GpuMergeAppendState *node, TupleTableSlot *slot, char *to)
{
	char	   *end = to;

	for (int i = 0; i < node->nexact && end < to + KEY_BYTES; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, node->columns.attnos[i], &isnull);

		end = sortkey_write(&node->keys[i], value, isnull, end);
	}
	return (Size) (end - to);
}

/* Takes the first bytes of a row's keys. */
static inline void
take_bytes(GpuMergeAppendState *node, TupleTableSlot *slot, Player *player)
{
	char		bytes[KEY_BYTES + SORTKEY_WRITTEN] = {0};
	Size		n = node->scratch ? write_bytes(node, slot, bytes) : write_fixed(node, slot, bytes);

	memcpy(player->words, bytes, KEY_BYTES);
	for (int i = 0; i < KEY_WORDS; i++)
		player->words[i] = pg_ntoh64(player->words[i]);
	/* one that ends where the room does may have another behind it */
	player->whole = n < KEY_BYTES && node->nexact == node->columns.nkeys;
}

/* The same of a single key of no more than a word. */
static inline void
take_word(GpuMergeAppendState *node, TupleTableSlot *slot, Player *player)
{
	bool		isnull;
	Datum		value = slot_getattr(slot, node->columns.attnos[0], &isnull);

	player->words[0] = !isnull ? 1 : node->columns.nulls_first[0] ? 0 : 2;
	player->words[1] = isnull ? 0 : sortkey_word(&node->keys[0], value);
	player->whole = true;
}

/* Has a source give out its next row. */
static inline void
fetch(GpuMergeAppendState *node, uint32 source, Player *player)
{
	TupleTableSlot *slot = ExecProcNode(node->sources[source]);

	node->slots[source] = slot;
	player->source = source;
	if (unlikely(TupIsNull(slot)))
	{
		player->words[0] = player->words[1] = PG_UINT64_MAX;
		player->whole = true;
	}
	else if (node->single)
		take_word(node, slot, player);
	else if (node->nexact > 0)
		take_bytes(node, slot, player);
	else
	{
		player->words[0] = player->words[1] = 0;
		player->whole = false;
	}
}

/* Is there no row? */
static inline bool
has_ended(const Player *player)
{
	return player->words[0] == PG_UINT64_MAX;
}

/* Compares two rows whose words are the same. */
static pg_noinline bool
tied_before(GpuMergeAppendState *node, const Player *a, const Player *b)
{
	int			order = 0;

	if (!a->whole || !b->whole)
		order = compare_slots(node->comparators, node->columns.nkeys, node->slots[a->source], node->slots[b->source]);
	return order < 0 || (order == 0 && a->source < b->source);
}

/* Does one row come before another? */
static inline bool
comes_before(GpuMergeAppendState *node, const Player *a, const Player *b)
{
	if (a->words[0] != b->words[0])
		return a->words[0] < b->words[0];
	if (a->words[1] != b->words[1])
		return a->words[1] < b->words[1];
	return tied_before(node, a, b);
}

/* Lets a new row play from its leaf to the top. */
static void
replay(GpuMergeAppendState *node, Player player)
{
	for (uint32 at = (node->nsources + player.source) / 2; at > 0; at /= 2)
		if (comes_before(node, &node->losers[at], &player))
		{
			Player		loser = player;

			player = node->losers[at];
			node->losers[at] = loser;
		}
	node->winner = player;
}

/* Lets the sources below a node of the tree play for the first time, and returns the winner. */
static Player
play(GpuMergeAppendState *node, uint32 at)
{
	Player		left;
	Player		right;

	if (at >= node->nsources)
	{
		fetch(node, at - node->nsources, &left);
		return left;
	}
	left = play(node, 2 * at);
	right = play(node, 2 * at + 1);
	if (comes_before(node, &left, &right))
	{
		node->losers[at] = right;
		return left;
	}
	node->losers[at] = left;
	return right;
}

/* Finds who would win if the winner had no more rows: one of those that lost to it. */
static int
find_next(GpuMergeAppendState *node)
{
	int			best = (node->nsources + node->winner.source) / 2;

	for (int at = best / 2; at > 0; at /= 2)
		if (comes_before(node, &node->losers[at], &node->losers[best]))
			best = at;
	return best;
}

/* Takes the next row of the source whose row has left. */
static inline void
advance(GpuMergeAppendState *node)
{
	Player		player;

	fetch(node, node->winner.source, &player);
	if (node->next != 0 && comes_before(node, &player, &node->losers[node->next]))
	{
		node->winner = player;
		return;
	}
	replay(node, player);
	/* twice the same source: there may be more rows of it */
	node->next = node->winner.source == player.source ? find_next(node) : 0;
}

/* ExecCustomScan */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	GpuMergeAppendState *node = (GpuMergeAppendState *) css;

	CHECK_FOR_INTERRUPTS();
	if (likely(node->started))
	{
		/* a source that has ended is not asked again: it might begin anew */
		if (likely(!has_ended(&node->winner)))
			advance(node);
	}
	else
	{
		if (node->comparators == NULL)
			open_keys(node);
		pass_limit(node);
		node->winner = play(node, 1);
		node->next = 0;
		node->started = true;
	}
	if (unlikely(has_ended(&node->winner)))
		return ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
	return node->slots[node->winner.source];
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	GpuMergeAppendState *node = (GpuMergeAppendState *) css;

	for (uint32 i = 0; i < node->nsources; i++)
		ExecEndNode(node->sources[i]);
}

/* ReScanCustomScan: as ExecReScanMergeAppend. */
static void
rescan_node(CustomScanState *css)
{
	GpuMergeAppendState *node = (GpuMergeAppendState *) css;

	/* a Sort that is to begin again looks whether its bound is another one */
	pass_limit(node);
	for (uint32 i = 0; i < node->nsources; i++)
	{
		PlanState  *source = node->sources[i];

		if (css->ss.ps.chgParam != NULL)
			UpdateChangedParamSet(source, css->ss.ps.chgParam);
		if (source->chgParam == NULL)
			ExecReScan(source);
	}
	node->started = false;
}

/* ExplainCustomScan */
static void
explain_node(CustomScanState *css, List *ancestors, ExplainState *es)
{
	explain_keys(css, &((GpuMergeAppendState *) css)->columns, ancestors, es);
}

/* Tells the node of the Limit above, for Sorts of the server below it. */
static void
set_limit(CustomScanState *css, LimitState *limit)
{
	((GpuMergeAppendState *) css)->limit = limit;
}

const CustomScanMethods gpumergeappend_scan_methods = {
	.CustomName = GPUMERGEAPPEND_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gpumergeappend_node = {
	.scan = &gpumergeappend_scan_methods,
	.exec = {
		.CustomName = GPUMERGEAPPEND_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = explain_node,
	},
	.state_bytes = sizeof(GpuMergeAppendState),
	.passes_limit = true,
	.limit = set_limit,
};
