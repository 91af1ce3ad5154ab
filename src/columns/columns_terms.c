/*
 * columns_terms.c: columns, values and members of groups in expressions.
 *
 * Expressions are PostgreSQL's own, known by the OIDs of built-in functions and operator families.  Whatever is not
 * known here is not answered from columns.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "columns_terms.h"

/* Casts that keep every value. */
static const Oid widening[] = {
	F_INT4_INT2, F_INT8_INT2, F_INT8_INT4, F_NUMERIC_INT2, F_NUMERIC_INT4, F_NUMERIC_INT8, F_FLOAT8_FLOAT4
};

/* Returns true for a cast that keeps every value. */
static bool
is_widening(Oid function)
{
	for (int i = 0; i < (int) lengthof(widening); i++)
		if (widening[i] == function)
			return true;
	return false;
}

/* Returns true for a cast from a domain to its base type, or from varchar to text. */
static bool
is_relabelled(const RelabelType *cast)
{
	Oid			base = getBaseType(exprType((const Node *) cast->arg));

	return base == cast->resulttype || (base == VARCHAROID && cast->resulttype == TEXTOID);
}

Expr *
terms_without_casts(Expr *expr)
{
	for (;;)
	{
		if (IsA(expr, RelabelType) && is_relabelled((RelabelType *) expr))
			expr = ((RelabelType *) expr)->arg;
		else if (IsA(expr, FuncExpr) && is_widening(((FuncExpr *) expr)->funcid))
			expr = linitial(((FuncExpr *) expr)->args);
		else
			return expr;
	}
}

bool
terms_is_string(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == NAMEOID;
}

bool
terms_is_bytewise(Oid collation)
{
	return OidIsValid(collation) && get_collation_isdeterministic(collation);
}

bool
terms_is_number(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == NUMERICOID;
}

/* Walker: finds what may not be in a value that is computed once for a scan. */
static bool
depends_on_row(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var) || IsA(node, PlaceHolderVar) || IsA(node, Aggref) || IsA(node, SubPlan) ||
		IsA(node, AlternativeSubPlan) || IsA(node, GroupingFunc) || IsA(node, WindowFunc))
		return true;
	return expression_tree_walker(node, depends_on_row, context);
}

bool
terms_is_value(Expr *expr)
{
	return !depends_on_row((Node *) expr, NULL) && !contain_volatile_functions((Node *) expr) &&
		!expression_returns_set((Node *) expr);
}

int
terms_value(ColumnsQuery *query, Expr *expr)
{
	int			index = 0;
	ListCell   *lc;

	foreach(lc, query->values)
	{
		if (equal(lfirst(lc), expr))
			return index;
		index++;
	}
	query->values = lappend(query->values, expr);
	return index;
}

bool
terms_is_column(const Expr *expr)
{
	return IsA(expr, Var) || IsA(expr, WindowFunc);
}

/* Finds a column that a window gives. */
static const char *
given_column(const ColumnsQuery *query, const Expr *expr, int *index)
{
	for (int i = 0; i < query->nfunctions; i++)
		if (equal(query->functions[i].expr, expr))
		{
			*index = QUERY_GIVEN + i;
			return NULL;
		}
	return "it needs an expression that is not a column";
}

const char *
terms_new_column(ColumnsQuery *query, const Var *var, int *index)
{
	ColumnDescription *column = &query->columns[query->ncolumns];
	const char *why;

	*index = query->ncolumns;
	if (var->varattno <= 0 || var->varlevelsup > 0)
		return "it needs a system column or a whole row";
	if (query->ncolumns == (int) GS_STEPS_MAX_COLUMNS)
		return "it needs too many columns";
	why = column_describe_type(var->vartype, var->vartypmod, column);
	column->number = var->varattno;
	query->ncolumns += why == NULL;
	return why;
}

const char *
terms_column(ColumnsQuery *query, const Expr *expr, int *index)
{
	const Var  *var = (const Var *) expr;

	if (!IsA(expr, Var))
		return given_column(query, expr, index);
	for (*index = 0; *index < query->ncolumns; (*index)++)
		if (query->columns[*index].number == var->varattno && query->mapped[*index] == NULL)
			return NULL;
	return terms_new_column(query, var, index);
}

Oid
terms_column_type(const ColumnsQuery *query, int column)
{
	return getBaseType(query->columns[column].type);
}

bool
terms_is_ordered(const ColumnsQuery *query, int column)
{
	Oid			type = terms_column_type(query, column);

	return type != UUIDOID && !terms_is_string(type) && !type_is_enum(type);
}

bool
terms_order(ColumnsQuery *query, int column, Oid collation)
{
	Oid		   *ranked;

	if (column >= QUERY_GIVEN || !terms_is_string(terms_column_type(query, column)))
		return terms_is_ordered(query, column);
	ranked = &query->ranked[column];
	if (!terms_is_bytewise(collation) || (OidIsValid(*ranked) && *ranked != collation))
		return false;
	*ranked = collation;
	query->needs_strings = true;
	return true;
}

/* ---------------------------------------------------------------- members of groups */

/* Returns true if an aggregate's value is its request's, and in the same order. */
static bool
is_request(const ColumnsQuery *query, const QueryAnswer *answer)
{
	Oid			function = answer->aggregate->aggfnoid;

	switch (query->requests[answer->request].operation)
	{
		case GS_COUNT:
		case GS_DISTINCT:
		case GS_MIN:
		case GS_MAX:
			return true;
		case GS_SUM:
			return answer->addend == 0 && (function == F_SUM_INT2 || function == F_SUM_INT4 ||
										   function == F_SUM_INT8 || function == F_SUM_NUMERIC);
		default:
			return false;
	}
}

/* Returns the expression of a column that a step gives: queries with computed columns have no windows. */
static const Expr *
given_expr(const ColumnsQuery *query, int column)
{
	int			index = column - QUERY_GIVEN;

	return query->ncomputed > 0 ? query->computed[index].expr : query->functions[index].expr;
}

int
terms_member(const ColumnsQuery *query, const Expr *expr)
{
	for (int i = 0; i < query->nkeys; i++)
		if (query->keys[i] >= QUERY_GIVEN ? equal(given_expr(query, query->keys[i]), expr) :
			IsA(expr, Var) && query->columns[query->keys[i]].number == ((const Var *) expr)->varattno)
			return i;
	for (int i = 0; IsA(expr, Aggref) && i < query->nanswers; i++)
		if (equal(query->answers[i].aggregate, expr))
			return is_request(query, &query->answers[i]) ? query->nkeys + query->answers[i].request : -1;
	return -1;
}
