/*
 * plan_aggregates.c: before planning, replaces PostgreSQL's aggregates that sort by gpusort's.  count(DISTINCT x),
 * percentile_cont, percentile_disc and mode put every value through tuplesort; gpusort's return identical results
 * without it.  Only the planned query changes, not the parsed one.  Anything that could be observed is left alone:
 * orders and equalities other than the type's own, volatile arguments, grouping sets.  The privilege to execute
 * PostgreSQL's aggregate is checked.  A replacement takes place only if everybody may execute both.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "plan_aggregates.h"
#include "plan_elsewhere.h"

/* An aggregate of PostgreSQL and its replacement. */
typedef struct Replacement
{
	Oid			theirs;
	const char *name;
	int			nargs;
	Oid			argtypes[2];
	bool		within;			/* written with WITHIN GROUP, as PostgreSQL's */
} Replacement;

static const Replacement replacements[] = {
	/* the first one counts */
	{F_COUNT_ANY, "gpu_count_distinct", 1, {ANYELEMENTOID}, false},
	{F_PERCENTILE_CONT_FLOAT8_FLOAT8, "gpu_percentile_cont", 2, {FLOAT8OID, FLOAT8OID}, false},
	{F_PERCENTILE_CONT_FLOAT8_INTERVAL, "gpu_percentile_cont", 2, {INTERVALOID, FLOAT8OID}, false},
	{F_PERCENTILE_DISC_FLOAT8_ANYELEMENT, "gpu_percentile_disc", 2, {ANYELEMENTOID, FLOAT8OID}, false},
	{F_PERCENTILE_CONT_FLOAT8_FLOAT8, "gpu_percentile_cont_within", 2, {FLOAT8OID, FLOAT8OID}, true},
	{F_PERCENTILE_CONT__FLOAT8_FLOAT8, "gpu_percentile_cont_within", 2, {FLOAT8ARRAYOID, FLOAT8OID}, true},
	{F_PERCENTILE_CONT_FLOAT8_INTERVAL, "gpu_percentile_cont_within", 2, {FLOAT8OID, INTERVALOID}, true},
	{F_PERCENTILE_CONT__FLOAT8_INTERVAL, "gpu_percentile_cont_within", 2, {FLOAT8ARRAYOID, INTERVALOID}, true},
	{F_PERCENTILE_DISC_FLOAT8_ANYELEMENT, "gpu_percentile_disc_within", 2, {FLOAT8OID, ANYELEMENTOID}, true},
	{F_PERCENTILE_DISC__FLOAT8_ANYELEMENT, "gpu_percentile_disc_within", 2, {FLOAT8ARRAYOID, ANYELEMENTOID}, true},
	{F_MODE, "gpu_mode_within", 1, {ANYELEMENTOID}, true},
	/* a numeric, as double precision */
	{InvalidOid, "gpu_percentile_cont", 2, {NUMERICOID, FLOAT8OID}, false},
};

#define PERCENTILE_OF_NUMERIC ((int) lengthof(replacements) - 1)

/* Cache of replacements that everybody may execute, valid until a function of the database changes. */
static Oid	ours[lengthof(replacements)];
static uint64 changes = 1;		/* of functions, as far as this session has heard */
static uint64 found_at = 0;		/* their number when the replacements were looked up */

bool		plan_has_replaced_aggregates = false;

/* Invalidates the cache when a function is created, changed or dropped. */
static void
forget_ours(Datum argument, int cacheid, uint32 hashvalue)
{
	changes++;
}

/* Returns true if everybody, whoever that is, may execute this function. */
static bool
everybody_may_execute(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	bool		isnull;
	bool		result = false;
	Datum		value;

	if (!HeapTupleIsValid(tuple))
		return false;
	value = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_proacl, &isnull);
	if (isnull)
		result = true;			/* default privileges */
	else
	{
		Acl		   *acl = DatumGetAclP(value);
		/* it contains no NULLs */
		const AclItem *items = (const AclItem *) ((char *) acl + ARR_OVERHEAD_NONULLS(1));

		for (int i = 0; i < ACL_NUM(acl); i++)
		{
			if (items[i].ai_grantee == ACL_ID_PUBLIC && (ACLITEM_GET_PRIVS(items[i]) & ACL_EXECUTE) != 0)
				result = true;
		}
	}
	ReleaseSysCache(tuple);
	return result;
}

/* Returns true if this is a replacement's aggregate, and its owner is trusted, with whose privileges it runs. */
static bool
is_replacement(Form_pg_proc function, const Replacement *replacement, Oid extension)
{
	return function->prokind == PROKIND_AGGREGATE && function->pronargs == replacement->nargs &&
		memcmp(function->proargtypes.values, replacement->argtypes, replacement->nargs * sizeof(Oid)) == 0 &&
		getExtensionOfObject(ProcedureRelationId, function->oid) == extension &&
		everybody_may_execute(function->oid) && superuser_arg(function->proowner);
}

/* Finds a replacement, in whatever schema the extension has it. */
static Oid
find_replacement(const Replacement *replacement, Oid extension)
{
	CatCList   *functions = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(replacement->name));
	Oid			result = InvalidOid;

	for (int i = 0; i < functions->n_members; i++)
	{
		Form_pg_proc function = (Form_pg_proc) GETSTRUCT(&functions->members[i]->tuple);

		if (is_replacement(function, replacement, extension))
			result = function->oid;
	}
	ReleaseCatCacheList(functions);
	return result;
}

/* Finds all replacements.  A database without the extension has none. */
static void
find_ours(void)
{
	uint64		now = changes;	/* before the look, during which more may come */
	Oid			extension;

	if (found_at == now)
		return;
	/* first, so that an error leaves no stale entries */
	memset(ours, 0, sizeof(ours));
	extension = get_extension_oid("gpusort", true);
	for (int i = 0; i < (int) lengthof(replacements) && OidIsValid(extension); i++)
		ours[i] = find_replacement(&replacements[i], extension);
	/* last, so that after an error the next query looks again */
	found_at = now;
}

/* Returns the index of a PostgreSQL aggregate's replacement, or -1. */
static int
replacement_of(Oid theirs, bool within)
{
	for (int i = 0; i < (int) lengthof(replacements); i++)
	{
		if (replacements[i].theirs == theirs && replacements[i].within == within)
			return i;
	}
	return -1;
}

/* Returns that index only if the replacement exists. */
static int
found_replacement_of(Oid theirs, bool within)
{
	int			which = replacement_of(theirs, within);

	return which >= 0 && OidIsValid(ours[which]) ? which : -1;
}

/* Context: the aggregates of one query, and what its queries depend on. */
typedef struct Replacing
{
	List	   *aggregates;		/* of the current query; NIL if none may be replaced */
	bool		grouped;		/* the current query has groups */
	List	   *theirs;			/* functions that were replaced */
} Replacing;

/* Returns true if order and equality of a value are its type's defaults, as gpusort's aggregates need. */
static bool
is_plain_value(const Aggref *aggregate, const TargetEntry *value)
{
	Oid			type = exprType((Node *) value->expr);

	return exprCollation((Node *) value->expr) == aggregate->inputcollid &&
		(type == RECORDOID || get_typtype(type) != TYPTYPE_PSEUDO) &&
		!contain_volatile_functions((Node *) value->expr);
}

/* Returns true for count(DISTINCT x), in any order. */
static bool
is_count_distinct(const Aggref *aggregate)
{
	const TargetEntry *value;
	const SortGroupClause *distinct;

	if (list_length(aggregate->args) != 1 || list_length(aggregate->aggdistinct) != 1)
		return false;
	value = linitial_node(TargetEntry, aggregate->args);
	distinct = linitial_node(SortGroupClause, aggregate->aggdistinct);
	return distinct->eqop == lookup_type_cache(exprType((Node *) value->expr), TYPECACHE_EQ_OPR)->eq_opr &&
		is_plain_value(aggregate, value);
}

/*
 * Returns true if the server will sort each group's rows for this DISTINCT, with a GpuSort.  Comparing neighbours is
 * then faster.  One sort serves one order; other aggregates sort by themselves.
 */
static bool
is_presorted(const Replacing *replacing, const Aggref *aggregate)
{
	ListCell   *lc;

	if (!server_presorts_aggregates || !replacing->grouped || aggregate->aggfilter)
		return false;
	foreach(lc, replacing->aggregates)
	{
		const Aggref *other = lfirst_node(Aggref, lc);

		if (!AGGKIND_IS_ORDERED_SET(other->aggkind) && (other->aggorder || other->aggdistinct) &&
			!equal(other->args, aggregate->args))
			return false;
	}
	return true;
}

/* Converts a constant to double precision as the server's cast does; false if that might raise an error. */
static bool
constant_as_float8(const Expr *expr, float8 *value)
{
	const FuncExpr *cast = (const FuncExpr *) expr;
	Datum		datum;

	if (IsA(expr, FuncExpr) && list_length(cast->args) == 1)
		expr = linitial(cast->args);
	if (!IsA(expr, Const) || ((const Const *) expr)->constisnull)
		return false;
	datum = ((const Const *) expr)->constvalue;
	if (!IsA(cast, FuncExpr))
	{
		*value = ((const Const *) expr)->consttype == FLOAT8OID ? DatumGetFloat8(datum) : -1;
		return true;
	}
	switch (cast->funcid)
	{
		case F_FLOAT8_NUMERIC:
			*value = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, datum));
			/* underflow is an error, too */
			datum = DirectFunctionCall1(numeric_sign, datum);
			return *value >= 1e-300 || DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, datum)) == 0;
		case F_FLOAT8_INT4:
			*value = DatumGetInt32(datum);
			return true;
		default:
			return false;
	}
}

/* Returns a percentile's fraction if it is a constant that cannot raise an error; otherwise NULL. */
static Const *
constant_fraction(const Aggref *aggregate)
{
	float8		value;

	if (!constant_as_float8(linitial(aggregate->aggdirectargs), &value) || !(value >= 0 && value <= 1))
		return NULL;
	return makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(value), false, FLOAT8PASSBYVAL);
}

/* Returns true if a percentile's or mode's values ascend.  NULLs are skipped. */
static bool
is_plain_order(const Aggref *aggregate)
{
	const TargetEntry *value;
	const SortGroupClause *order;

	if (!AGGKIND_IS_ORDERED_SET(aggregate->aggkind) || list_length(aggregate->aggorder) != 1)
		return false;
	value = linitial_node(TargetEntry, aggregate->args);
	order = linitial_node(SortGroupClause, aggregate->aggorder);
	return order->sortop == lookup_type_cache(exprType((Node *) value->expr), TYPECACHE_LT_OPR)->lt_opr &&
		is_plain_value(aggregate, value);
}

/* Returns true if an aggregate of these values has another fraction.  gpusort's form would collect them for each. */
static bool
shares_its_values(const Replacing *replacing, const Aggref *aggregate)
{
	ListCell   *lc;

	foreach(lc, replacing->aggregates)
	{
		const Aggref *other = lfirst_node(Aggref, lc);

		if (AGGKIND_IS_ORDERED_SET(other->aggkind) && equal(other->args, aggregate->args) &&
			equal(other->aggfilter, aggregate->aggfilter) &&
			(!equal(other->aggdirectargs, aggregate->aggdirectargs) || replacement_of(other->aggfnoid, false) < 0))
			return true;
	}
	return false;
}

/* Copies an aggregate with another function and arguments. */
static Aggref *
with_function(const Aggref *aggregate, Oid function, Expr *value, Const *fraction)
{
	Aggref	   *result = makeNode(Aggref);

	*result = *aggregate;
	result->aggfnoid = function;
	result->aggkind = AGGKIND_NORMAL;
	result->aggargtypes = list_make1_oid(exprType((Node *) value));
	result->args = list_make1(makeTargetEntry(value, 1, NULL, false));
	if (fraction)
	{
		result->aggargtypes = lappend_oid(result->aggargtypes, FLOAT8OID);
		result->args = lappend(result->args, makeTargetEntry((Expr *) fraction, 2, NULL, false));
	}
	result->aggdirectargs = NIL;
	result->aggorder = NIL;
	result->aggdistinct = NIL;
	return result;
}

/* Returns true for a numeric cast to double precision, which gpusort's aggregate does faster itself. */
static bool
is_cast_numeric(const Expr *value)
{
	return IsA(value, FuncExpr) && ((const FuncExpr *) value)->funcid == F_FLOAT8_NUMERIC &&
		exprType(linitial(((const FuncExpr *) value)->args)) == NUMERICOID &&
		OidIsValid(ours[PERCENTILE_OF_NUMERIC]) && everybody_may_execute(F_FLOAT8_NUMERIC);
}

/* Returns the replacement of an aggregate with WITHIN GROUP, or the aggregate itself. */
static Aggref *
replace_within(Replacing *replacing, Aggref *aggregate)
{
	Const	   *fraction = NULL;
	Expr	   *value;
	int			which = found_replacement_of(aggregate->aggfnoid, false);

	if (!is_plain_order(aggregate))
		return aggregate;
	if (which >= 0 && !shares_its_values(replacing, aggregate))
		fraction = constant_fraction(aggregate);
	if (fraction == NULL)
	{
		Aggref	   *result = makeNode(Aggref);

		which = found_replacement_of(aggregate->aggfnoid, true);
		if (which < 0)
			return aggregate;
		*result = *aggregate;
		result->aggfnoid = ours[which];
		return result;
	}
	value = linitial_node(TargetEntry, aggregate->args)->expr;
	if (is_cast_numeric(value) && aggregate->aggfnoid == F_PERCENTILE_CONT_FLOAT8_FLOAT8)
	{
		replacing->theirs = list_append_unique_oid(replacing->theirs, F_FLOAT8_NUMERIC);
		value = linitial(((FuncExpr *) value)->args);
		which = PERCENTILE_OF_NUMERIC;
	}
	return with_function(aggregate, ours[which], value, fraction);
}

/* Returns the replacement of an aggregate, or the aggregate itself. */
static Aggref *
replace_aggregate(Replacing *replacing, Aggref *aggregate)
{
	Aggref	   *result = aggregate;
	int			which;

	if (aggregate->agglevelsup > 0 || !list_member_ptr(replacing->aggregates, aggregate) ||
		(replacement_of(aggregate->aggfnoid, false) < 0 && replacement_of(aggregate->aggfnoid, true) < 0) ||
		!everybody_may_execute(aggregate->aggfnoid))
		return aggregate;
	if (aggregate->aggfnoid != F_COUNT_ANY)
		result = replace_within(replacing, aggregate);
	else if (which = found_replacement_of(F_COUNT_ANY, false), which >= 0 && is_count_distinct(aggregate) &&
			 !is_presorted(replacing, aggregate))
		result = with_function(aggregate, ours[which], linitial_node(TargetEntry, aggregate->args)->expr, NULL);
	if (result != aggregate)
		replacing->theirs = list_append_unique_oid(replacing->theirs, aggregate->aggfnoid);
	return result;
}

bool
collect_aggregates(Node *node, void *context)
{
	List	  **found = context;

	if (node == NULL)
		return false;
	if (IsA(node, Aggref) && ((Aggref *) node)->agglevelsup == 0)
		*found = lappend(*found, node);
	return expression_tree_walker(node, collect_aggregates, context);
}

/* Returns the aggregates of a query in which some may be replaced. */
static List *
aggregates_of(Query *query)
{
	List	   *result = NIL;

	if (!query->hasAggs || query->groupingSets)
		return NIL;
	collect_aggregates((Node *) query->targetList, &result);
	collect_aggregates(query->havingQual, &result);
	return result;
}

/* Mutator: replaces the aggregates in an expression or query. */
static Node *
replace_in(Node *node, void *context)
{
	Replacing  *replacing = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Aggref))
		node = (Node *) replace_aggregate(replacing, (Aggref *) node);
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;
		Replacing	outer = *replacing;

		replacing->aggregates = aggregates_of(query);
		replacing->grouped = query->groupClause != NIL;
		query = query_tree_mutator(query, replace_in, context, 0);
		replacing->aggregates = outer.aggregates;
		replacing->grouped = outer.grouped;
		return (Node *) query;
	}
	return expression_tree_mutator(node, replace_in, context);
}

/* Returns true if a query or one within it may have aggregates, by what the parser notes: most queries have none. */
static bool
may_aggregate(const Query *query)
{
	ListCell   *lc;

	if (query->hasAggs || query->hasSubLinks || query->cteList != NIL)
		return true;
	foreach(lc, query->rtable)
	{
		if (lfirst_node(RangeTblEntry, lc)->rtekind == RTE_SUBQUERY)
			return true;
	}
	return false;
}

/* Returns true if a query or subquery has aggregates that may be replaced. */
static bool
sorts_within(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return may_aggregate((Query *) node) && query_tree_walker((Query *) node, sorts_within, context, 0);
	if (IsA(node, Aggref))
	{
		const Aggref *aggregate = (Aggref *) node;

		if ((aggregate->aggdistinct || aggregate->aggorder) &&
			(replacement_of(aggregate->aggfnoid, false) >= 0 || replacement_of(aggregate->aggfnoid, true) >= 0))
			return true;
	}
	return expression_tree_walker(node, sorts_within, context);
}

Query *
replace_aggregates(Query *query, List **theirs)
{
	Replacing	replacing = {NIL, false, NIL};
	Query	   *result;

	*theirs = NIL;
	/* a module that audits function calls would see other functions */
	if (!gpusort_enabled || !gpusort_aggregates || functions_are_watched())
		return query;
	if (!sorts_within((Node *) query, NULL) || is_computed_elsewhere(query))
		return query;
	find_ours();
	result = (Query *) replace_in((Node *) query, &replacing);
	if (replacing.theirs == NIL)
		return query;
	*theirs = replacing.theirs;
	return result;
}

Aggref *
replace_planned_aggregate(Aggref *aggregate, List **functions)
{
	Replacing	replacing = {list_make1(aggregate), false, NIL};
	Aggref	   *result;

	if (aggregate->aggdistinct == NIL && aggregate->aggorder == NIL)
		return aggregate;
	find_ours();
	result = replace_aggregate(&replacing, aggregate);
	if (result != aggregate)
		*functions = list_append_unique_oid(list_concat_unique_oid(*functions, replacing.theirs), result->aggfnoid);
	return result;
}

void
depend_on_aggregates(PlannedStmt *stmt, const List *theirs)
{
	ListCell   *lc;

	foreach(lc, theirs)
	{
		PlanInvalItem *item = makeNode(PlanInvalItem);

		item->cacheId = PROCOID;
		item->hashValue = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(lfirst_oid(lc)));
		stmt->invalItems = lappend(stmt->invalItems, item);
	}
}

bool
aggregate_is_ours(const Aggref *aggregate, bool *distinct)
{
	*distinct = aggregate->aggfnoid == ours[0];
	for (int i = 0; i < (int) lengthof(replacements); i++)
	{
		if (aggregate->aggfnoid == ours[i])
			return true;
	}
	return false;
}

int
count_ours(List *exprs)
{
	List	   *aggregates = NIL;
	int			count = 0;
	ListCell   *lc;

	collect_aggregates((Node *) exprs, &aggregates);
	foreach(lc, aggregates)
	{
		bool		distinct;

		count += aggregate_is_ours(lfirst_node(Aggref, lc), &distinct);
	}
	return count;
}

void
gpusort_aggregates_init(void)
{
	CacheRegisterSyscacheCallback(PROCOID, forget_ours, (Datum) 0);
}
