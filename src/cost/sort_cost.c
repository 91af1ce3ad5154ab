/*
 * sort_cost.c: the cost of gpusort's sorts, in the planner's units, and paths at that cost.
 *
 * The model is linear, with the constants of base/costs.h: a row, and each eight bytes of its key.  Above the memory
 * limit, all rows are written and read once.  The server's model is 2 cpu_operator_cost N log2 N.  Comparisons of keys
 * without an exact encoding cost what the server charges: too little for strings, but equally so for both sorts.
 *
 * Below a Gather Merge each participant sorts within its own memory limit, and sends sorted blocks to the leader, which
 * cost what the server charges for a tuple, and MERGE_ROW_COST of gpusort.cpu_row_cost a row.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_statistic_ext.h"
#include "executor/nodeAgg.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/tlist.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "src/base/compat.h"
#include "src/base/costs.h"
#include "src/base/guc.h"
#include "src/keys/dictionary.h"
#include "src/keys/sortkey.h"
#include "cores.h"
#include "sort_cost.h"

/* The server's formula, see cost_tuplesort. */
#define LOG2(x) (log(Max(x, 2.0)) / 0.693147180559945)

/* Overhead of a row in a block, in bytes. */
#define ROW_OVERHEAD_BYTES 32

/* Keys the planner may sort by. */
typedef struct PathSortKeys
{
	int			words;			/* of eight bytes, of all keys */
	double		compares;		/* calls of comparison functions, per row */
	Cost		omitted;		/* cost per row that the model leaves out */
} PathSortKeys;

/* Returns the words of a key of a type.  Strings are sorted by a prefix of about two words. */
static int
words_of_type(Oid type)
{
	int16		length = get_typlen(type);

	return length > 0 && length <= 8 ? 1 : 2;
}

/* Estimates a key's comparisons per row: 0 with few values, 1 if coarse, the server's if there is no order by it. */
static double
compares_of_key(PlannerInfo *root, const EquivalenceMember *member, Oid sortop, bool first, double rows)
{
	double		values = rows;

	/* statistics belong to base relations; columns of a set operation have none */
	if (root->parse->setOperations == NULL)
		values = estimate_num_groups(root, list_make1(member->em_expr), rows, NULL, NULL);
	if (values <= DICTIONARY_VALUES && values < rows / 2)
		return 0;
	return first && !sortkey_tells(sortop) ? LOG2(rows) : 1;
}

/* Estimates the width of a key, from the column's statistics if possible. */
static int
width_of_key(PlannerInfo *root, const EquivalenceMember *member)
{
	const Var  *column = (const Var *) member->em_expr;
	RelOptInfo *rel = NULL;

	if (IsA(column, Var) && column->varno > 0 && column->varno < root->simple_rel_array_size)
		rel = root->simple_rel_array[column->varno];
	if (rel && column->varattno >= rel->min_attr && column->varattno <= rel->max_attr &&
		rel->attr_widths[column->varattno - rel->min_attr] > 0)
		return rel->attr_widths[column->varattno - rel->min_attr];
	return get_typavgwidth(member->em_datatype, -1);
}

/* Returns the cost per row that the model leaves out for a key without an exact encoding. */
static Cost
omitted_key_cost(PlannerInfo *root, const EquivalenceMember *member, double compares)
{
	return compares == 0 ? LOOKED_UP_KEY_COST : COARSE_KEY_COST + COARSE_BYTE_COST * width_of_key(root, member);
}

/* Collects the keys for these pathkeys.  Each equivalence class counts as its most expensive member. */
static PathSortKeys
collect_keys(PlannerInfo *root, List *pathkeys, double rows)
{
	PathSortKeys keys = {0, 0, 0};
	ListCell   *lc;
	ListCell   *cell;

	foreach(lc, pathkeys)
	{
		PathKey    *pathkey = lfirst_node(PathKey, lc);
		int			words = 1;
		double		compares = 0;
		Cost		omitted = 0;

		foreach(cell, pathkey->pk_eclass->ec_members)
		{
			EquivalenceMember *member = lfirst(cell);
			int			needed;
			Oid			sortop;

			/* members of partitions come last, and are like their parents */
			if (member->em_is_child)
				break;
			sortop = pathkey_operator(pathkey, member->em_datatype);
			if (!OidIsValid(sortop))
				continue;
			needed = words_of_type(member->em_datatype);
			words = Max(words, needed);
			if (compares != 0 || sortkey_is_exact(sortop, pathkey->pk_eclass->ec_collation))
				continue;
			compares = compares_of_key(root, member, sortop, keys.words == 0, rows);
			omitted = Max(omitted, omitted_key_cost(root, member, compares));
		}
		keys.words += words;
		keys.compares += compares;
		keys.omitted += omitted;
	}
	return keys;
}

/* Returns true if encoded keys can be sent to other processes, for every member of the equivalence classes. */
static bool
pathkeys_are_process_independent(List *pathkeys)
{
	ListCell   *lc;
	ListCell   *cell;

	foreach(lc, pathkeys)
	{
		PathKey    *pathkey = lfirst_node(PathKey, lc);

		foreach(cell, pathkey->pk_eclass->ec_members)
		{
			EquivalenceMember *member = lfirst(cell);
			Oid			sortop;

			if (member->em_is_child)
				break;
			sortop = pathkey_operator(pathkey, member->em_datatype);
			if (OidIsValid(sortop) && !sortkey_is_process_independent(sortop))
				return false;
		}
	}
	return true;
}

/* Returns the bytes of a row as it is kept and sent. */
static double
bytes_of_row(int width)
{
	return MAXALIGN(SizeofMinimalTupleHeader) + MAXALIGN(width);
}

Cost
sort_row_cost(int words)
{
	return gpusort_cpu_row_cost * (1 + KEY_COST * words);
}

/* Returns the cost of a sort by gpusort, without its input and without the server's charge for returning rows. */
static Cost
our_cost(double rows, int width, const PathSortKeys *keys)
{
	Cost		cost = rows * sort_row_cost(keys->words);
	double		row_bytes = bytes_of_row(width) + keys->words * sizeof(uint64) + sizeof(uint32);

	/* at the server's cost of a comparison */
	cost += rows * keys->compares * 2 * cpu_operator_cost;
	/* runs are written sequentially, and read alternately */
	if (rows * row_bytes > gpusort_memory_limit())
		cost += 2 * ceil(rows * row_bytes / BLCKSZ) * (0.75 * seq_page_cost + 0.25 * random_page_cost);
	return cost;
}

/* Returns true if a query reads foreign tables.  Foreign servers may sort faster than their costs say. */
static bool
reads_foreign_tables(PlannerInfo *root)
{
	for (int i = 1; i < root->simple_rel_array_size; i++)
	{
		RangeTblEntry *entry = root->simple_rte_array[i];
		RelOptInfo *rel = root->simple_rel_array[i];

		/* a join that the planner removed; versions from 18 remove both entries */
		if (entry == NULL)
			continue;
		if (entry->rtekind == RTE_RELATION && entry->relkind == RELKIND_FOREIGN_TABLE)
			return true;
		if (rel && rel->subroot && reads_foreign_tables(rel->subroot))
			return true;
	}
	return false;
}

/* Caches the last result, since a query over many partitions asks for each. */
static struct
{
	const PlannerInfo *root;	/* NULL: empty */
	int			size;
	bool		foreign;
}			last_asked;

void
forget_query(void)
{
	last_asked.root = NULL;
}

/* Like reads_foreign_tables, but evaluated once per query. */
static bool
query_is_foreign(PlannerInfo *root)
{
	if (last_asked.root != root || last_asked.size != root->simple_rel_array_size)
	{
		last_asked.foreign = reads_foreign_tables(root);
		last_asked.size = root->simple_rel_array_size;
		last_asked.root = root;
	}
	return last_asked.foreign;
}

Cost
sort_cost_of(PlannerInfo *root, const Path *input, List *pathkeys, double rows)
{
	PathSortKeys keys = collect_keys(root, pathkeys, input->rows);

	return our_cost(rows, input->pathtarget->width, &keys);
}

/* Saves nothing below a LIMIT known at run time: few rows are wanted then, and reading takes longer than sorting. */
static bool
may_save(double rows, const List *pathkeys, SortBound bound)
{
	return bound.kind != BOUND_AT_RUN_TIME && path_sort_is_ours(rows, pathkeys, bound);
}

/* Returns what gpusort saves in a sort that may_save. */
static Cost
saved(PlannerInfo *root, const SortPath *sort)
{
	PathSortKeys keys = collect_keys(root, sort->path.pathkeys, sort->path.rows);
	Cost		theirs = sort->path.startup_cost - sort->subpath->total_cost;
	Cost		ours = our_cost(sort->path.rows, sort->path.pathtarget->width, &keys);

	return ours < theirs && !query_is_foreign(root) ? theirs - ours : 0;
}

Cost
sort_saving(PlannerInfo *root, const SortPath *sort, SortBound bound)
{
	return may_save(sort->path.rows, sort->path.pathkeys, bound) ? saved(root, sort) : 0;
}

Cost
memory_cost(double rows, int width)
{
	return rows * bytes_of_row(width) / BLCKSZ * FIRST_TOUCH_COST * seq_page_cost;
}

double
rows_of_block(int width)
{
	return Max(1, BLOCK_BYTES / (width + ROW_OVERHEAD_BYTES));
}

/* Returns the leader's cost of a row that arrives in a block. */
static Cost
merge_row_cost(int width)
{
	return gpusort_cpu_row_cost * MERGE_ROW_COST * (1 + width / MERGE_ROW_BYTES);
}

Cost
blocks_cost(double rows, int width)
{
	return rows * merge_row_cost(width) +
		ceil(rows * bytes_of_row(width) / BLOCK_BYTES) * parallel_tuple_cost;
}

Cost
merge_saving(const GatherMergePath *merge, SortBound bound)
{
	const Path *sort = merge->subpath;
	Cost		theirs = merge->path.total_cost - merge->path.startup_cost - (sort->total_cost - sort->startup_cost);
	double		rows = merge->path.rows;
	int			width = sort->pathtarget->width;
	Cost		ours = blocks_cost(rows, width) + sort->total_cost * (crowding(merge->num_workers) - 1);

	/* a projection between the two works on single rows */
	if (!gpusort_parallel_blocks || !IsA(sort, SortPath) ||
		!equal(merge->path.pathtarget->exprs, sort->pathtarget->exprs) ||
		!path_sort_is_ours(sort->rows, sort->pathkeys, bound))
		return 0;
	/* without process-independent keys, rows are merged by comparisons */
	if (!pathkeys_are_process_independent(sort->pathkeys))
		ours += rows * 2 * cpu_operator_cost * LOG2(merge->num_workers + 1.0);
	return Max(theirs - ours, 0);
}

/* Returns true if extended statistics count the distinct combinations of columns of these relations. */
static bool
groups_are_known(PlannerInfo *root, Relids relids)
{
	ListCell   *lc;

	for (int relid = -1; (relid = bms_next_member(relids, relid)) >= 0;)
	{
		RelOptInfo *rel = root->simple_rel_array[relid];

		/* outer joins have range table indexes, too */
		if (rel == NULL)
			continue;
		foreach(lc, rel->statlist)
		{
			if (lfirst_node(StatisticExtInfo, lc)->kind == STATS_EXT_NDISTINCT)
				return true;
		}
	}
	return false;
}

/* Returns the number of groups that an aggregate has if its columns are independent. */
static double
most_groups(PlannerInfo *root, const AggPath *agg)
{
	double		rows = agg->subpath->rows;
	double		groups = 1;
	ListCell   *lc;

	foreach(lc, get_sortgrouplist_exprs(agg->groupClause, root->processed_tlist))
		groups *= estimate_num_groups(root, list_make1(lfirst(lc)), rows, NULL, NULL);
	return Min(groups, rows);
}

/* Returns true if the server's number of groups is a guess. */
static bool
groups_are_guessed(PlannerInfo *root, const AggPath *agg)
{
	return list_length(agg->groupClause) >= 2 && !groups_are_known(root, agg->subpath->parent->relids);
}

/*
 * The server assumes at most a tenth as many groups as rows for several columns, which holds if they are correlated.
 * With independent columns there may be nearly as many, and partial aggregates hash, sort and send them to no avail.
 * Half of that cost is added: a sorted aggregate of all rows, without this risk, wins if it costs little more.
 */
Cost
merge_doubt(PlannerInfo *root, const GatherMergePath *merge)
{
	const Path *below = merge->subpath;
	const AggPath *partial;
	int			nkeys;
	double		more;
	Cost		here;

	if (IsA(below, SortPath))
		below = ((const SortPath *) below)->subpath;
	partial = (const AggPath *) below;
	if (!IsA(below, AggPath) || !DO_AGGSPLIT_SKIPFINAL(partial->aggsplit) || !groups_are_guessed(root, partial))
		return 0;
	more = most_groups(root, partial) - below->rows;
	nkeys = list_length(partial->groupClause);
	here = below == merge->subpath ? parallel_tuple_cost : merge_row_cost(below->pathtarget->width);
	here += cpu_tuple_cost + cpu_operator_cost * nkeys;
	return Max(more, 0) * (sort_row_cost(nkeys) + here * merge->num_workers) / 2;
}

/* Returns half of the additional cost of a hashed aggregate of independent columns.  Its table may go to disk. */
static Cost
hash_doubt(PlannerInfo *root, const AggPath *hashed, const AggClauseCosts *costs)
{
	double		groups;
	AggPath    *agg;

	if (!groups_are_guessed(root, hashed))
		return 0;
	groups = most_groups(root, hashed);
	if (groups <= hashed->numGroups)
		return 0;
	agg = create_agg_path(root, hashed->path.parent, hashed->subpath, hashed->path.pathtarget, AGG_HASHED,
						  AGGSPLIT_SIMPLE, hashed->groupClause, hashed->qual, costs, groups);
	return Max(agg->path.total_cost - hashed->path.total_cost, 0) / 2;
}

bool
is_read_by_page(const Path *path)
{
	const Cost	computed = path->pathtarget->cost.per_tuple;

	while (IsA(path, ProjectionPath))
		path = ((const ProjectionPath *) path)->subpath;
	return computed == 0 && path->pathtype == T_SeqScan && path->parent->baserestrictinfo == NIL;
}

/* Returns the cost that the server leaves out: it charges an operator per key for finding a row's group. */
static Cost
hash_surplus(const AggPath *hashed)
{
	const Path *input = hashed->subpath;
	int			width = input->pathtarget->width;
	Cost		surplus = HASHED_ROW_COST;

	if (!is_read_by_page(input))
		return 0;
	if (hashed->numGroups * bytes_of_row(width) > CACHE_BYTES)
		surplus += FAR_ROW_COST;
	return Max(surplus - width * BYTE_COST, 0) * input->rows;
}

/* Returns true if the server expects a hash table larger than memory. */
static bool
goes_to_disk(PlannerInfo *root, const AggPath *hashed, const AggClauseCosts *costs)
{
	Size		entry = hash_agg_entry_size(costs ? list_length(root->aggtransinfos) : 0,
											hashed->subpath->pathtarget->width, costs ? costs->transitionSpace : 0);

	return hashed->numGroups * entry > get_hash_memory_limit();
}

/* Omits the surplus if the server charges a spill for a guessed number of groups, which exceeds it. */
Cost
omitted_hash_cost(PlannerInfo *root, const AggPath *hashed, const AggClauseCosts *costs)
{
	bool		charged = groups_are_guessed(root, hashed) && goes_to_disk(root, hashed, costs);

	return hash_doubt(root, hashed, costs) + (charged ? 0 : hash_surplus(hashed));
}

/* Returns the cost of sorting rows by these keys that the model leaves out. */
static Cost
omitted_keys_cost(PlannerInfo *root, List *pathkeys, double rows)
{
	return collect_keys(root, pathkeys, rows).omitted * rows;
}

/* Returns the sort of all rows below sorted groups, or NULL if there is none. */
static const Path *
sort_of_groups(const Path *path)
{
	switch (nodeTag(path))
	{
		case T_AggPath:
			if (((const AggPath *) path)->aggsplit != AGGSPLIT_SIMPLE)
				return NULL;
			path = ((const AggPath *) path)->subpath;
			break;
		case T_GroupPath:
			path = ((const GroupPath *) path)->subpath;
			break;
		case T_UpperUniquePath:
			path = ((const UpperUniquePath *) path)->subpath;
			break;
		default:
			return NULL;
	}
	if (IsA(path, GatherMergePath))
		path = ((const GatherMergePath *) path)->subpath;
	return IsA(path, SortPath) ? path : NULL;
}

/* Adds a cost that is paid before a path's first row. */
static void
add_cost(Path *path, Cost cost)
{
	path->startup_cost += cost;
	path->total_cost += cost;
}

void
charge_coarse_keys(PlannerInfo *root, List *paths)
{
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *sort = sort_of_groups(lfirst(lc));

		if (sort)
			add_cost(lfirst(lc), omitted_keys_cost(root, sort->pathkeys, sort->rows));
	}
}

void
charge_coarse_keys_of_shares(PlannerInfo *root, List *shares, List *pathkeys, double rows)
{
	ListCell   *lc;
	Cost		own;

	if (shares == NIL)
		return;
	own = omitted_keys_cost(root, pathkeys, rows) / divisor_of(((Path *) linitial(shares))->parallel_workers);
	foreach(lc, shares)
		add_cost(lfirst(lc), own);
}

Path *
cheap_sort(PlannerInfo *root, RelOptInfo *rel, Path *input, List *pathkeys, SortBound bound)
{
	SortPath   *sort;
	Cost		saving;

	if (input->param_info != NULL || !may_save(input->rows, pathkeys, bound) ||
		pathkeys_contained_in(pathkeys, input->pathkeys))
		return NULL;
	sort = create_sort_path(root, rel, input, pathkeys, -1.0);
	saving = saved(root, sort);
	if (saving <= 0)
		return NULL;
	sort->path.startup_cost -= saving;
	sort->path.total_cost -= saving;
	return (Path *) sort;
}

Path *
cheap_merge(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, double rows, List *pathkeys, SortBound bound,
			bool same_target)
{
	GatherMergePath *merge;
	Path	   *partial,
			   *sort;

	/* partitions are not gathered one by one */
	if (input->partial_pathlist == NIL || IS_OTHER_REL(rel))
		return NULL;
	partial = linitial(input->partial_pathlist);
	sort = cheap_sort(root, rel, partial, pathkeys, bound);
	if (sort == NULL)
		return NULL;
	/* what rel computes above the merge, such as windows, need not be parallel safe */
	sort->parallel_safe = partial->parallel_safe;
	merge = create_gather_merge_path(root, rel, sort, sort->pathtarget, pathkeys, NULL, &rows);
	if (same_target)
		merge->path.total_cost -= merge_saving(merge, bound);
	return (Path *) merge;
}

List *
cheap_sorts(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, List *pathkeys)
{
	Path	   *whole = input->cheapest_total_path;
	Path	   *sort = cheap_sort(root, rel, whole, pathkeys, UNBOUNDED);
	Path	   *merge = cheap_merge(root, rel, input, whole->rows, pathkeys, UNBOUNDED, true);
	List	   *result = NIL;

	if (sort)
		result = lappend(result, sort);
	if (merge)
		result = lappend(result, merge);
	return result;
}
