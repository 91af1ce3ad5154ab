/*
 * plan_states.c: keeps aggregates whole whose workers would send states with all values, which no cost includes.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "plan_aggregates.h"
#include "plan_states.h"

static set_rel_pathlist_hook_type prev_rel_pathlist;

/* Estimates the width of a column, or of its type. */
static double
width_of(const RelOptInfo *rel, const Expr *value)
{
	const Var  *var = (const Var *) value;

	if (IsA(value, Var) && bms_is_member(var->varno, rel->relids) && var->varattno >= rel->min_attr &&
		var->varattno <= rel->max_attr && rel->attr_widths[var->varattno - rel->min_attr] > 0)
		return rel->attr_widths[var->varattno - rel->min_attr];
	return get_typavgwidth(exprType((const Node *) value), exprTypmod((const Node *) value));
}

/* Returns true if workers would send so much that the combined state spills, so that nothing is gained. */
static bool
hands_over_much(PlannerInfo *root, const RelOptInfo *rel, const Aggref *aggregate, bool distinct)
{
	Expr	   *value = linitial_node(TargetEntry, aggregate->args)->expr;
	double		values = rel->rows;

	if (distinct)
		values = Min(values, (max_parallel_workers_per_gather + 1) *
					 estimate_num_groups(root, list_make1(value), values, NULL, NULL));
	/* a state may use a quarter of the limit */
	return values * width_of(rel, value) > (double) gpusort_memory_limit() / 4;
}

/*
 * The least number of rows of which workers aggregate a share each.  With JIT each worker compiles the aggregates for
 * itself.  Measured by processor time, count(DISTINCT) of numerics: splitting 36,000 rows in six subqueries whose JIT
 * inlines takes 1.05 times PostgreSQL's time, 27,000 alone 0.94 to 1.00, 110,000 alone 0.84 to 0.93.
 */
#define LEAST_SPLIT_ROWS 50000

/* Returns true if a query aggregates so few rows of one relation that sharing them between workers gains nothing. */
static bool
feeds_few(const PlannerInfo *root, const RelOptInfo *rel)
{
	return gpusort_min_rows > 0 && rel->rows < LEAST_SPLIT_ROWS && bms_equal(root->all_baserels, rel->relids);
}

/* Returns true if a relation's values feed replaced aggregates that are better not split. */
static bool
has_whole(PlannerInfo *root, const RelOptInfo *rel)
{
	ListCell   *lc;

	foreach(lc, root->agginfos)
	{
		const Aggref *aggregate = aggregate_of_info(lfirst(lc));

		bool		distinct;

		if (!aggregate_is_ours(aggregate, &distinct))
			continue;
		if (root->parse->groupClause || feeds_few(root, rel) ||
			(bms_equal(pull_varnos(root, (Node *) aggregate->args), rel->relids) &&
			 hands_over_much(root, rel, aggregate, distinct)))
			return true;
	}
	return false;
}

/* set_rel_pathlist_hook, first after aggregates are known.  Keeps replaced ones with groups from being split. */
static void
keep_aggregates_whole(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *entry)
{
	if (prev_rel_pathlist)
		prev_rel_pathlist(root, rel, rti, entry);
	if (plan_has_replaced_aggregates && has_whole(root, rel))
	{
		root->hasNonPartialAggs = true;
		/* as for ordered aggregates, since a hash table would hold the values of all groups at once */
		root->numOrderedAggs++;
	}
}

void
gpusort_states_init(void)
{
	prev_rel_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = keep_aggregates_whole;
}
