/*
 * total_rules.c: which window functions are aggregates of all rows, and which of them several processes may compute.
 *
 * Partial aggregates see their rows in another order than the server's WindowAgg.  It shows in sums of floats, and
 * where values that look different are equal and one of them is chosen: such totals are computed in one process.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/nbtree.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "total_rules.h"

/* What both ends of a window's frame are if it is the whole partition. */
#define WHOLE_FRAME (FRAMEOPTION_START_UNBOUNDED_PRECEDING | FRAMEOPTION_END_UNBOUNDED_FOLLOWING)

/* Is a window all rows?  Without an order, all rows are peers of the current one. */
static bool
is_all_rows(const WindowClause *window)
{
	int			options = window->frameOptions;

	if (window->partitionClause || window->orderClause || (options & FRAMEOPTION_EXCLUSION))
		return false;
	return (options & WHOLE_FRAME) == WHOLE_FRAME ||
		((options & FRAMEOPTION_START_UNBOUNDED_PRECEDING) && (options & FRAMEOPTION_END_CURRENT_ROW) &&
		 !(options & FRAMEOPTION_ROWS));
}

/* Copies an aggregate's row of the catalog. */
static FormData_pg_aggregate
catalog_row(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	FormData_pg_aggregate row;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
	row = *(Form_pg_aggregate) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	return row;
}

/*
 * Returns true if an aggregate may be computed of no rows, where the server's WindowAgg computes nothing: final
 * functions of others than the server's may raise an error then.
 */
static bool
bears_no_rows(const FormData_pg_aggregate *aggregate)
{
	return aggregate->aggfnoid < FirstUnpinnedObjectId || !OidIsValid(aggregate->aggfinalfn);
}

bool
windows_are_totals(PlannerInfo *root, List *functions)
{
	ListCell   *lc;

	foreach(lc, root->parse->windowClause)
	{
		if (!is_all_rows(lfirst_node(WindowClause, lc)))
			return false;
	}
	foreach(lc, functions)
	{
		const WindowFunc *function = lfirst_node(WindowFunc, lc);
		FormData_pg_aggregate aggregate;

		if (!function->winagg || ignores_nulls(function))
			return false;
		aggregate = catalog_row(function->winfnoid);
		/* the server raises an error for an aggregate whose final function spoils the state */
		if (aggregate.aggfinalmodify != AGGMODIFY_READ_ONLY || !bears_no_rows(&aggregate))
			return false;
	}
	return window_run_conditions(root) == NIL;
}

/* Returns true if equal values of a type look alike, by what btrees know of it. */
static bool
equal_values_are_alike(Oid type, int32 typmod, Oid collation)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY);
	Oid			function = OidIsValid(entry->btree_opf) ?
		get_opfamily_proc(entry->btree_opf, entry->btree_opintype, entry->btree_opintype, BTEQUALIMAGE_PROC) :
		InvalidOid;

	/* with a modifier, all have one scale */
	if (type == NUMERICOID)
		return typmod >= 0;
	/* without one, strings that differ in the blanks at their ends are equal */
	if (type == BPCHAROID && typmod < 0)
		return false;
	return OidIsValid(function) &&
		DatumGetBool(OidFunctionCall1Coll(function, collation, ObjectIdGetDatum(entry->btree_opintype)));
}

/* Returns true if a transition state of one of the server's aggregates is exact: a count, a sum or a set of bits. */
static bool
state_is_exact(Oid state, Oid result)
{
	switch (state)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case INT8ARRAYOID:
		case CASHOID:
		case BITOID:
			return true;
		case INTERNALOID:
			return result == NUMERICOID;
		default:
			return false;
	}
}

bool
total_ignores_order(const Aggref *aggregate)
{
	FormData_pg_aggregate row = catalog_row(aggregate->aggfnoid);
	Node	   *arg;

	if (aggregate->aggfnoid >= FirstUnpinnedObjectId)
		return false;
	if (!OidIsValid(row.aggsortop))
		return state_is_exact(row.aggtranstype, aggregate->aggtype);
	arg = (Node *) linitial_node(TargetEntry, aggregate->args)->expr;
	return equal_values_are_alike(exprType(arg), exprTypmod(arg), aggregate->inputcollid);
}
