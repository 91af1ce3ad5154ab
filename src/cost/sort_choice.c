/*
 * sort_choice.c: chooses the sorts that gpusort takes over, with one predicate for finished plans and for paths.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/core/sorter.h"
#include "src/keys/sortkey.h"
#include "sort_choice.h"

bool		plan_will_be_walked = false;

/* Evaluates a planned LIMIT or OFFSET expression.  Returns true if it is constant, NULL or absent. */
static bool
constant_rows(Node *expr, double *rows, bool *isnull)
{
	Const	   *constant = (Const *) expr;

	*rows = 0;
	*isnull = expr == NULL;
	if (expr == NULL)
		return true;
	if (!IsA(expr, Const))
		return false;
	*isnull = constant->constisnull;
	if (!constant->constisnull)
		*rows = (double) DatumGetInt64(constant->constvalue);
	return true;
}

/* WITH TIES may return any number of rows, so it is no bound. */
SortBound
bound_of_limit(Node *count, Node *offset, LimitOption option)
{
	SortBound	bound = UNBOUNDED;
	double		count_rows;
	double		offset_rows;
	bool		no_count;
	bool		no_offset;
	bool		count_known = constant_rows(count, &count_rows, &no_count);
	bool		offset_known = constant_rows(offset, &offset_rows, &no_offset);

	if (option == LIMIT_OPTION_WITH_TIES || (count_known && no_count))
		return bound;
	bound.kind = count_known && offset_known ? BOUND_CONSTANT : BOUND_AT_RUN_TIME;
	bound.rows = count_rows + offset_rows;
	return bound;
}

/* Tests the bound.  PostgreSQL sorts with a small bound, keeping only the first rows while it reads. */
static bool
bound_allows(SortBound bound, double rows, const char **why)
{
	if (bound.kind == BOUND_CONSTANT && bound_is_small(bound.rows, rows))
	{
		if (why)
			*why = psprintf("only the first %.0f of about %.0f rows are wanted", bound.rows, rows);
		return false;
	}
	if (bound.kind == BOUND_AT_RUN_TIME && bound.in_workers)
	{
		if (why)
			*why = "parallel workers do not see how many rows a LIMIT wants at run time";
		return false;
	}
	return true;
}

bool
sort_is_ours(double rows, Oid sortop, Oid collation, SortBound bound, const char **why)
{
	if (rows < gpusort_min_rows)
	{
		if (why)
			*why = psprintf("about %.0f rows are fewer than gpusort.min_rows", rows);
		return false;
	}
	if (!bound_allows(bound, rows, why))
		return false;
	if (sortkey_pays(sortop, collation, rows))
		return true;
	if (why)
		*why = psprintf("about %.0f rows are few for the abbreviated keys of the first key's type", rows);
	return false;
}

/* Members of an equivalence class that differ in type have types with an exact encoding. */
bool
path_sort_is_ours(double rows, const List *pathkeys, SortBound bound)
{
	const PathKey *first;
	ListCell   *lc;

	if (pathkeys == NIL)
		return false;
	first = linitial_node(PathKey, pathkeys);
	foreach(lc, first->pk_eclass->ec_members)
	{
		Oid			sortop = pathkey_operator(first, lfirst_node(EquivalenceMember, lc)->em_datatype);

		if (OidIsValid(sortop))
			return sort_is_ours(rows, sortop, first->pk_eclass->ec_collation, bound, NULL);
	}
	return false;
}

/* Collects in the List ** context the aggregates that sort their input themselves, without duplicates. */
static bool
find_sorting_aggregates(Node *node, void *context)
{
	List	  **found = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
	{
		Aggref	   *aggregate = (Aggref *) node;

		if ((aggregate->aggorder || aggregate->aggdistinct) && !aggregate_is_presorted(aggregate))
			*found = list_append_unique(*found, aggregate);
		return false;			/* aggregates do not nest */
	}
	return expression_tree_walker(node, find_sorting_aggregates, context);
}

List *
sorting_aggregates(List *exprs)
{
	List	   *aggregates = NIL;

	find_sorting_aggregates((Node *) exprs, &aggregates);
	return aggregates;
}
