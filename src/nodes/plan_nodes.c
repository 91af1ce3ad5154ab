/*
 * plan_nodes.c: tools to put nodes into a finished plan.  A CustomScan without a table has its columns in
 * custom_scan_tlist, as expressions over the range table, like a pushed-down join.  The nodes of a finished plan refer
 * to columns by their number in a child's target list instead. resolve_columns() follows these numbers down, by the
 * rules of set_deparse_plan() in ruleutils.c.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/tlist.h"
#include "parser/parsetree.h"

#include "src/base/compat.h"
#include "plan_nodes.h"

/* Where resolve() is: at a plan of a statement, below Appends over children of the relations parents. */
typedef struct ResolveContext
{
	const PlannedStmt *stmt;
	const Plan *plan;
	Bitmapset  *parents;
} ResolveContext;

static void note_node_ids(const Plan *plan, int *last);

/* Raises an id to the highest one in a list of plans. */
static void
note_node_ids_of(const List *plans, int *last)
{
	ListCell   *lc;

	foreach(lc, plans)
		note_node_ids(lfirst(lc), last);
}

/* Raises an id to the highest one in a plan, which may be NULL. */
static void
note_node_ids(const Plan *plan, int *last)
{
	if (plan == NULL)
		return;
	check_stack_depth();
	*last = Max(*last, plan->plan_node_id);
	note_node_ids(plan->lefttree, last);
	note_node_ids(plan->righttree, last);
	switch (nodeTag(plan))
	{
		case T_Append:
			note_node_ids_of(((const Append *) plan)->appendplans, last);
			break;
		case T_MergeAppend:
			note_node_ids_of(((const MergeAppend *) plan)->mergeplans, last);
			break;
		case T_BitmapAnd:
			note_node_ids_of(((const BitmapAnd *) plan)->bitmapplans, last);
			break;
		case T_BitmapOr:
			note_node_ids_of(((const BitmapOr *) plan)->bitmapplans, last);
			break;
		case T_SubqueryScan:
			note_node_ids(((const SubqueryScan *) plan)->subplan, last);
			break;
		case T_CustomScan:
			note_node_ids_of(((const CustomScan *) plan)->custom_plans, last);
			break;
		default:
			break;
	}
}

int
new_node_id(const PlannedStmt *stmt)
{
	int			last = -1;

	note_node_ids(stmt->planTree, &last);
	note_node_ids_of(stmt->subplans, &last);
	return last + 1;
}

void
fill_node(Plan *plan, const Plan *like, int id)
{
	NodeTag		type = nodeTag(plan);

	*plan = *like;
	plan->type = type;
	plan->plan_node_id = id;
	plan->parallel_aware = false;
	plan->async_capable = false;
	plan->qual = NIL;
	plan->initPlan = NIL;
	plan->lefttree = plan->righttree = NULL;
}

CustomScan *
make_custom_scan(const Plan *like, int id, const CustomScanMethods *methods)
{
	CustomScan *scan = makeNode(CustomScan);

	fill_node(&scan->scan.plan, like, id);
	scan->methods = methods;
	return scan;
}

CustomScan *
make_replacement(const PlannedStmt *stmt, const Plan *plan, const CustomScanMethods *methods)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan = *plan;
	scan->scan.plan.type = T_CustomScan;
	scan->scan.plan.targetlist = number_columns(plan->targetlist, INDEX_VAR);
	scan->custom_scan_tlist = resolve_columns(stmt, plan);
	scan->methods = methods;
	return scan;
}

CustomScan *
make_scan_over(List *targets, List *columns, Plan *child, const CustomScanMethods *methods)
{
	CustomScan *scan = makeNode(CustomScan);

	scan->scan.plan.targetlist = targets;
	scan->scan.plan.lefttree = child;
	scan->custom_plans = children_for_explain(child);
	scan->custom_scan_tlist = columns;
	scan->methods = methods;
	return scan;
}

Expr *
make_column(int varno, AttrNumber attno, const Expr *like)
{
	return (Expr *) makeVar(varno, attno, exprType((const Node *) like), exprTypmod((const Node *) like),
							exprCollation((const Node *) like), 0);
}

List *
number_columns(const List *columns, int varno)
{
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, columns)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));

		/* a Sort's and a Merge Append's constants stay constants, as EXPLAIN shows them */
		if (varno != INDEX_VAR || !IsA(entry->expr, Const))
			entry->expr = make_column(varno, entry->resno, entry->expr);
		result = lappend(result, entry);
	}
	return result;
}

/* Moves to the plan whose columns are a node's OUTER_VARs, or NULL; of an Append to its first child. */
static void
go_to_outer(ResolveContext *context)
{
	const Plan *plan = context->plan;
	const List *children = NIL;
	const Bitmapset *parents = NULL;

	switch (nodeTag(plan))
	{
		case T_Append:
			children = ((const Append *) plan)->appendplans;
			parents = ((const Append *) plan)->apprelids;
			break;
		case T_MergeAppend:
			children = ((const MergeAppend *) plan)->mergeplans;
			parents = ((const MergeAppend *) plan)->apprelids;
			break;
		default:
			context->plan = outerPlan(plan);
			return;
	}
	context->plan = children != NIL ? linitial(children) : NULL;
	context->parents = bms_union(context->parents, parents);
}

/* The columns that are a node's INDEX_VARs. */
static const List *
index_columns(const Plan *plan)
{
	switch (nodeTag(plan))
	{
		case T_IndexOnlyScan:
			return ((const IndexOnlyScan *) plan)->indextlist;
		case T_ForeignScan:
			return ((const ForeignScan *) plan)->fdw_scan_tlist;
		case T_CustomScan:
			return ((const CustomScan *) plan)->custom_scan_tlist;
		default:
			return NIL;
	}
}

/* The plan of the subquery or CTE below a scan, if a (junk) column has no name in the range table; else NULL. */
static const Plan *
plan_of_unnamed(const Var *var, const ResolveContext *context)
{
	if (var->varattno <= list_length(rt_fetch(var->varno, context->stmt->rtable)->eref->colnames))
		return NULL;
	if (IsA(context->plan, SubqueryScan))
		return ((const SubqueryScan *) context->plan)->subplan;
	if (IsA(context->plan, CteScan))
		return list_nth(context->stmt->subplans, ((const CteScan *) context->plan)->ctePlanId - 1);
	return NULL;
}

/* Moves to the plan that a column refers to, and returns the column's entry in its list, or NULL. */
static const TargetEntry *
go_to_entry(const Var *var, ResolveContext *context)
{
	const List *columns;

	switch (var->varno)
	{
		case OUTER_VAR:
			go_to_outer(context);
			break;
		case INNER_VAR:
			context->plan = innerPlan(context->plan);
			break;
		case INDEX_VAR:
			break;
		default:
			context->plan = plan_of_unnamed(var, context);
			break;
	}
	if (context->plan == NULL)
		return NULL;
	columns = var->varno == INDEX_VAR ? index_columns(context->plan) : context->plan->targetlist;
	return get_tle_by_resno((List *) columns, var->varattno);
}

/* Returns how a relation descends from another one, such as a partitioned table; NULL if it does not. */
static const AppendRelInfo *
descent_of(Index relid, const PlannedStmt *stmt)
{
	ListCell   *lc;

	foreach(lc, stmt->appendRelations)
	{
		const AppendRelInfo *descent = lfirst_node(AppendRelInfo, lc);

		if (descent->child_relid == relid && rt_fetch(descent->parent_relid, stmt->rtable)->rtekind == RTE_RELATION)
			return descent;
	}
	return NULL;
}

/* Turns a child table's column into its parent's if it was found below the parent's Append, as get_variable() does. */
static void
go_to_parent(Var *var, const ResolveContext *context)
{
	Index		relid = var->varno;
	AttrNumber	attno = var->varattno;
	const AppendRelInfo *descent;

	while ((descent = descent_of(relid, context->stmt)) != NULL)
	{
		if (attno > 0)
			attno = attno <= descent->num_child_cols ? descent->parent_colnos[attno - 1] : 0;
		if (attno == 0)
			return;
		relid = descent->parent_relid;
		if (bms_is_member(relid, context->parents))
		{
			var->varno = relid;
			var->varattno = attno;
		}
	}
}

Aggref *
aggregate_of_window(const WindowFunc *function)
{
	Aggref	   *aggregate = makeNode(Aggref);
	ListCell   *lc;

	aggregate->aggfnoid = function->winfnoid;
	aggregate->aggtype = function->wintype;
	aggregate->aggcollid = function->wincollid;
	aggregate->inputcollid = function->inputcollid;
	foreach(lc, function->args)
	{
		Expr	   *arg = copyObject(lfirst(lc));

		aggregate->aggargtypes = lappend_oid(aggregate->aggargtypes, exprType((Node *) arg));
		aggregate->args = lappend(aggregate->args, makeTargetEntry(arg, (AttrNumber) (foreach_current_index(lc) + 1),
																   NULL, false));
	}
	aggregate->aggfilter = copyObject(function->aggfilter);
	aggregate->aggstar = function->winstar;
	aggregate->aggkind = AGGKIND_NORMAL;
	aggregate->aggsplit = AGGSPLIT_SIMPLE;
	aggregate->aggno = aggregate->aggtransno = -1;
	aggregate->location = -1;
	return aggregate;
}

Node *
make_window_call(const WindowFunc *function)
{
	if (function->winagg)
		return (Node *) aggregate_of_window(function);
	return (Node *) makeFuncExpr(function->winfnoid, function->wintype, function->args, function->wincollid,
								 function->inputcollid, COERCE_EXPLICIT_CALL);
}

Node *
name_windows(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
		node = make_window_call((const WindowFunc *) node);
	return expression_tree_mutator(node, name_windows, context);
}

/* Resolves the columns in an expression of a plan; context is a ResolveContext. */
static Node *
resolve(Node *node, void *context)
{
	const Var  *var = (const Var *) node;
	ResolveContext below = *(ResolveContext *) context;
	const TargetEntry *entry;
	Var		   *column;

	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
		node = make_window_call((const WindowFunc *) node);
	if (!IsA(node, Var))
		return expression_tree_mutator(node, resolve, context);
	check_stack_depth();
	entry = go_to_entry(var, &below);
	if (entry != NULL)
		return resolve((Node *) entry->expr, &below);
	/* the columns of another extension's node may be unknown */
	if (IS_SPECIAL_VARNO(var->varno))
		return (Node *) makeNullConst(var->vartype, var->vartypmod, var->varcollid);
	column = copyObject((Var *) node);
	go_to_parent(column, context);
	return (Node *) column;
}

/* Gives a resolved expression the type of its column; a child of a set operation may have a closer one. */
static Expr *
keep_type(Expr *expr, const Expr *like)
{
	Oid			type = exprType((const Node *) like);
	int32		typmod = exprTypmod((const Node *) like);
	Oid			collation = exprCollation((const Node *) like);

	if (IsA(expr, Var))
	{
		((Var *) expr)->vartype = type;
		((Var *) expr)->vartypmod = typmod;
		((Var *) expr)->varcollid = collation;
		return expr;
	}
	return (Expr *) applyRelabelType((Node *) expr, type, typmod, collation, COERCE_IMPLICIT_CAST, -1, true);
}

List *
resolve_columns(const PlannedStmt *stmt, const Plan *plan)
{
	ResolveContext context = {stmt, plan, NULL};
	List	   *result = NIL;
	ListCell   *lc;

	foreach(lc, plan->targetlist)
	{
		TargetEntry *entry = flatCopyTargetEntry(lfirst_node(TargetEntry, lc));

		entry->expr = keep_type((Expr *) resolve((Node *) entry->expr, &context), entry->expr);
		result = lappend(result, entry);
	}
	return result;
}

TargetEntry *
make_row_column(List **scan_columns, const List *attnos, int resno, const char *name)
{
	RowExpr    *row = makeNode(RowExpr);
	AttrNumber	attno = (AttrNumber) (list_length(*scan_columns) + 1);
	ListCell   *lc;

	row->row_typeid = RECORDOID;
	row->row_format = COERCE_EXPLICIT_CALL;
	row->location = -1;
	foreach(lc, attnos)
	{
		TargetEntry *entry = list_nth_node(TargetEntry, *scan_columns, lfirst_int(lc) - 1);

		row->args = lappend(row->args, copyObject(entry->expr));
		row->colnames = lappend(row->colnames, makeString(pstrdup(entry->resname ? entry->resname : "")));
	}
	*scan_columns = lappend(*scan_columns, makeTargetEntry((Expr *) row, attno, pstrdup(name), false));
	return makeTargetEntry((Expr *) makeVar(INDEX_VAR, attno, BYTEAOID, -1, InvalidOid, 0), (AttrNumber) resno,
						   pstrdup(name), false);
}

bool
passes_through(const List *targets, const List *below)
{
	if (list_length(targets) != list_length(below))
		return false;
	for (int i = 0; i < list_length(targets); i++)
	{
		const Var  *var = (const Var *) list_nth_node(TargetEntry, targets, i)->expr;

		if (IsA(var, Const))
		{
			if (!equal(var, list_nth(below, i)))
				return false;
		}
		else if (!IsA(var, Var) || var->varno != OUTER_VAR || var->varattno < 1 ||
				 (var->varattno != i + 1 && !equal(list_nth(below, var->varattno - 1), list_nth(below, i))))
			return false;
	}
	return true;
}
