/*
 * columns_query.c: a query's filter and aggregates, as questions about columns.
 *
 * Expressions are PostgreSQL's own, known by the OIDs of built-in functions and operator families.  Whatever is not
 * known here is not answered from columns.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "columns_query.h"

/* Functions of + - * and the type of their values. */
static const struct
{
	Oid			function;
	gs_code		code;
	Oid			type;
}			arithmetic[] =
{
	{F_INT2PL, GS_CODE_ADD, INT2OID}, {F_INT2MI, GS_CODE_SUBTRACT, INT2OID}, {F_INT2MUL, GS_CODE_MULTIPLY, INT2OID},
	{F_INT4PL, GS_CODE_ADD, INT4OID}, {F_INT4MI, GS_CODE_SUBTRACT, INT4OID}, {F_INT4MUL, GS_CODE_MULTIPLY, INT4OID},
	{F_INT24PL, GS_CODE_ADD, INT4OID}, {F_INT24MI, GS_CODE_SUBTRACT, INT4OID}, {F_INT24MUL, GS_CODE_MULTIPLY, INT4OID},
	{F_INT42PL, GS_CODE_ADD, INT4OID}, {F_INT42MI, GS_CODE_SUBTRACT, INT4OID}, {F_INT42MUL, GS_CODE_MULTIPLY, INT4OID},
	{F_INT8PL, GS_CODE_ADD, INT8OID}, {F_INT8MI, GS_CODE_SUBTRACT, INT8OID}, {F_INT8MUL, GS_CODE_MULTIPLY, INT8OID},
	{F_INT28PL, GS_CODE_ADD, INT8OID}, {F_INT28MI, GS_CODE_SUBTRACT, INT8OID}, {F_INT28MUL, GS_CODE_MULTIPLY, INT8OID},
	{F_INT82PL, GS_CODE_ADD, INT8OID}, {F_INT82MI, GS_CODE_SUBTRACT, INT8OID}, {F_INT82MUL, GS_CODE_MULTIPLY, INT8OID},
	{F_INT48PL, GS_CODE_ADD, INT8OID}, {F_INT48MI, GS_CODE_SUBTRACT, INT8OID}, {F_INT48MUL, GS_CODE_MULTIPLY, INT8OID},
	{F_INT84PL, GS_CODE_ADD, INT8OID}, {F_INT84MI, GS_CODE_SUBTRACT, INT8OID}, {F_INT84MUL, GS_CODE_MULTIPLY, INT8OID},
	{F_NUMERIC_ADD, GS_CODE_ADD, NUMERICOID}, {F_NUMERIC_SUB, GS_CODE_SUBTRACT, NUMERICOID},
	{F_NUMERIC_MUL, GS_CODE_MULTIPLY, NUMERICOID},
};

/* Casts that keep every value. */
static const Oid widening[] = {
	F_INT4_INT2, F_INT8_INT2, F_INT8_INT4, F_NUMERIC_INT2, F_NUMERIC_INT4, F_NUMERIC_INT8, F_FLOAT8_FLOAT4
};

/* Aggregates: the operation over values of a type. */
static const struct
{
	Oid			function;
	gs_operation operation;
	Oid			type;			/* InvalidOid: any */
}			known_aggregates[] =
{
	{F_COUNT_ANY, GS_COUNT, InvalidOid},
	{F_SUM_INT2, GS_SUM, INT2OID}, {F_SUM_INT4, GS_SUM, INT4OID}, {F_SUM_INT8, GS_SUM, INT8OID},
	{F_SUM_NUMERIC, GS_SUM, NUMERICOID}, {F_SUM_FLOAT8, GS_SUM, FLOAT8OID},
	{F_AVG_INT2, GS_SUM, INT2OID}, {F_AVG_INT4, GS_SUM, INT4OID}, {F_AVG_INT8, GS_SUM, INT8OID},
	{F_AVG_NUMERIC, GS_SUM, NUMERICOID}, {F_AVG_FLOAT8, GS_SUM, FLOAT8OID},
	{F_MIN_INT2, GS_MIN, INT2OID}, {F_MIN_INT4, GS_MIN, INT4OID}, {F_MIN_INT8, GS_MIN, INT8OID},
	{F_MIN_NUMERIC, GS_MIN, NUMERICOID}, {F_MIN_FLOAT4, GS_MIN, FLOAT4OID}, {F_MIN_FLOAT8, GS_MIN, FLOAT8OID},
	{F_MIN_OID, GS_MIN, OIDOID}, {F_MIN_DATE, GS_MIN, DATEOID}, {F_MIN_TIME, GS_MIN, TIMEOID},
	{F_MIN_TIMESTAMP, GS_MIN, TIMESTAMPOID}, {F_MIN_TIMESTAMPTZ, GS_MIN, TIMESTAMPTZOID},
	{F_MAX_INT2, GS_MAX, INT2OID}, {F_MAX_INT4, GS_MAX, INT4OID}, {F_MAX_INT8, GS_MAX, INT8OID},
	{F_MAX_NUMERIC, GS_MAX, NUMERICOID}, {F_MAX_FLOAT4, GS_MAX, FLOAT4OID}, {F_MAX_FLOAT8, GS_MAX, FLOAT8OID},
	{F_MAX_OID, GS_MAX, OIDOID}, {F_MAX_DATE, GS_MAX, DATEOID}, {F_MAX_TIME, GS_MAX, TIMEOID},
	{F_MAX_TIMESTAMP, GS_MAX, TIMESTAMPOID}, {F_MAX_TIMESTAMPTZ, GS_MAX, TIMESTAMPTZOID},
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

/* Removes casts that keep every value: widening ones, and a domain's to its base type. */
static Expr *
without_casts(Expr *expr)
{
	for (;;)
	{
		if (IsA(expr, RelabelType) &&
			getBaseType(exprType((Node *) ((RelabelType *) expr)->arg)) == ((RelabelType *) expr)->resulttype)
			expr = ((RelabelType *) expr)->arg;
		else if (IsA(expr, FuncExpr) && is_widening(((FuncExpr *) expr)->funcid))
			expr = linitial(((FuncExpr *) expr)->args);
		else
			return expr;
	}
}

/* Returns true for integers and numerics, which can be added and multiplied. */
static bool
is_number(Oid type)
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

/* Returns true if an expression has one value for a scan. */
static bool
is_value(Expr *expr)
{
	return !depends_on_row((Node *) expr, NULL) && !contain_volatile_functions((Node *) expr) &&
		!expression_returns_set((Node *) expr);
}

/* Returns the index of a value, a new one if necessary. */
static int
add_value(ColumnsQuery *query, Expr *expr)
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

/* Finds a column, a new one if necessary.  Returns NULL, or why it cannot be one. */
static const char *
add_column(ColumnsQuery *query, const Var *var, int *index)
{
	ColumnDescription *column = &query->columns[query->ncolumns];
	const char *why;

	if (var->varattno <= 0 || var->varlevelsup > 0)
		return "it needs a system column or a whole row";
	for (*index = 0; *index < query->ncolumns; (*index)++)
		if (query->columns[*index].number == var->varattno)
			return NULL;
	if (query->ncolumns == (int) GS_STEPS_MAX_COLUMNS)
		return "it needs too many columns";
	why = column_describe_type(var->vartype, var->vartypmod, column);
	column->number = var->varattno;
	query->ncolumns += why == NULL;
	return why;
}

/* Returns the base type of a column. */
static Oid
column_type(const ColumnsQuery *query, int column)
{
	return getBaseType(query->columns[column].type);
}

/* ---------------------------------------------------------------- conditions */

/* Returns true if values of a type can be converted exactly to be compared with a column of another. */
static bool
is_comparable(Oid column, Oid value, bool equality)
{
	switch (column)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
			return is_number(value);
		case FLOAT4OID:
		case FLOAT8OID:
			return value == FLOAT4OID || value == FLOAT8OID;
		case DATEOID:
		case TIMESTAMPOID:
			return value == DATEOID || value == TIMESTAMPOID;
		case TIMESTAMPTZOID:
			return value == DATEOID || value == TIMESTAMPOID || value == TIMESTAMPTZOID;
		case BOOLOID:
		case TIMEOID:
		case OIDOID:
			return value == column;
		default:
			/* uuids and enums are held in another order than theirs */
			return equality && value == column;
	}
}

/* Finds the test of an operator of a type's family.  Returns false if it is none of those. */
static bool
test_of(Oid op, Oid type, gs_test *test)
{
	static const gs_test tests[] = {GS_TEST_LT, GS_TEST_LE, GS_TEST_EQ, GS_TEST_GE, GS_TEST_GT};
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	int			strategy = OidIsValid(family) ? get_op_opfamily_strategy(op, family) : 0;
	Oid			negator;

	if (strategy >= BTLessStrategyNumber && strategy <= BTGreaterStrategyNumber)
	{
		*test = tests[strategy - BTLessStrategyNumber];
		return true;
	}
	negator = get_negator(op);
	*test = GS_TEST_NE;
	return OidIsValid(family) && OidIsValid(negator) &&
		get_op_opfamily_strategy(negator, family) == BTEqualStrategyNumber;
}

/* Appends a test. */
static void
append_term(ColumnsQuery *query, QueryTerm term)
{
	query->terms = query->nterms == 0 ? palloc_array(QueryTerm, 1) :
		repalloc_array(query->terms, QueryTerm, query->nterms + 1);
	query->terms[query->nterms++] = term;
}

/* Adds a comparison of a column with a value, or an array of them.  Returns NULL, or why it cannot be done. */
static const char *
add_comparison(ColumnsQuery *query, Oid op, Expr *left, Expr *right, bool array)
{
	const char *other = "a condition is not a comparison of a column with a value";
	QueryTerm	term = {0};
	Expr	   *column = without_casts(left);
	Oid			compared = exprType((Node *) left);
	const char *why;

	if (!IsA(column, Var) || !is_value(right))
		return other;
	term.type = array ? get_element_type(exprType((Node *) right)) : exprType((Node *) right);
	if (!test_of(op, compared, &term.test) || (array && term.test != GS_TEST_EQ))
		return other;
	why = add_column(query, (Var *) column, &term.column);
	if (why != NULL)
		return why;
	if (!is_comparable(column_type(query, term.column), term.type,
					   term.test == GS_TEST_EQ || term.test == GS_TEST_NE) ||
		(compared != column_type(query, term.column) && !is_comparable(compared, term.type, false)))
		return "a condition compares types that are not compared exactly";
	if (array)
		term.test = GS_TEST_IN;
	term.value = add_value(query, right);
	append_term(query, term);
	return NULL;
}

/* Adds a test of a column alone. */
static const char *
add_test(ColumnsQuery *query, Expr *expr, gs_test test, bool truth)
{
	QueryTerm	term = {.test = test, .value = -1, .type = BOOLOID, .truth = truth};
	Expr	   *column = without_casts(expr);
	const char *why;

	if (!IsA(column, Var))
		return "a condition is not about a column";
	why = add_column(query, (Var *) column, &term.column);
	if (why == NULL && test == GS_TEST_EQ && column_type(query, term.column) != BOOLOID)
		why = "a condition is not about a column";
	if (why == NULL)
		append_term(query, term);
	return why;
}

/* Adds column IS [NOT] TRUE and such. */
static const char *
add_boolean_test(ColumnsQuery *query, const BooleanTest *test)
{
	switch (test->booltesttype)
	{
		case IS_TRUE:
			return add_test(query, test->arg, GS_TEST_EQ, true);
		case IS_FALSE:
			return add_test(query, test->arg, GS_TEST_EQ, false);
		case IS_UNKNOWN:
			return add_test(query, test->arg, GS_TEST_IS_NULL, false);
		case IS_NOT_UNKNOWN:
			return add_test(query, test->arg, GS_TEST_NOT_NULL, false);
		default:
			return "a condition is true for NULL and for a value";
	}
}

/* Adds a comparison whose column may be on either side. */
static const char *
add_operator(ColumnsQuery *query, const OpExpr *op)
{
	Expr	   *left = linitial(op->args);
	Expr	   *right = list_length(op->args) == 2 ? lsecond(op->args) : NULL;
	Oid			commuted;

	if (right == NULL)
		return "a condition is not a comparison of a column with a value";
	if (IsA(without_casts(left), Var))
		return add_comparison(query, op->opno, left, right, false);
	commuted = get_commutator(op->opno);
	if (!OidIsValid(commuted))
		return "a condition is not a comparison of a column with a value";
	return add_comparison(query, commuted, right, left, false);
}

/* Adds a condition. */
static const char *
add_condition(ColumnsQuery *query, Expr *condition)
{
	switch (nodeTag(condition))
	{
		case T_OpExpr:
			return add_operator(query, (OpExpr *) condition);
		case T_ScalarArrayOpExpr:
			{
				const ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) condition;

				if (!op->useOr)
					return "a condition has NOT IN or ALL";
				return add_comparison(query, op->opno, linitial(op->args), lsecond(op->args), true);
			}
		case T_NullTest:
			if (((NullTest *) condition)->argisrow)
				return "a condition is not about a column";
			return add_test(query, ((NullTest *) condition)->arg,
							((NullTest *) condition)->nulltesttype == IS_NULL ? GS_TEST_IS_NULL : GS_TEST_NOT_NULL,
							false);
		case T_BooleanTest:
			return add_boolean_test(query, (BooleanTest *) condition);
		case T_BoolExpr:
			if (((BoolExpr *) condition)->boolop != NOT_EXPR)
				return "a condition has OR";
			return add_test(query, linitial(((BoolExpr *) condition)->args), GS_TEST_EQ, false);
		case T_Var:
		case T_RelabelType:
			return add_test(query, condition, GS_TEST_EQ, true);
		default:
			return "a condition is not a comparison of a column with a value";
	}
}

/* ---------------------------------------------------------------- aggregates */

/* Appends an element to a request's expression. */
static void
append_item(QueryRequest *request, gs_code code, int operand, Oid type)
{
	request->items = request->nitems == 0 ? palloc_array(QueryItem, 1) :
		repalloc_array(request->items, QueryItem, request->nitems + 1);
	request->items[request->nitems++] = (QueryItem) {code, operand, type};
}

/* Appends an expression of integers and numerics.  Returns NULL, or why it cannot be computed from columns. */
static const char *
add_expression(ColumnsQuery *query, QueryRequest *request, Expr *expr)
{
	Expr	   *inner = without_casts(expr);
	const char *why;
	int			index;

	check_stack_depth();
	if (IsA(inner, Var))
	{
		why = add_column(query, (Var *) inner, &index);
		if (why == NULL)
			append_item(request, GS_CODE_COLUMN, index, column_type(query, index));
		return why;
	}
	if (is_value(expr))
	{
		append_item(request, GS_CODE_CONSTANT, add_value(query, expr), exprType((Node *) expr));
		return is_number(exprType((Node *) expr)) ? NULL : "a constant is not a number";
	}
	for (int i = 0; IsA(inner, OpExpr) && i < (int) lengthof(arithmetic); i++)
	{
		const OpExpr *op = (OpExpr *) inner;

		if (arithmetic[i].function != op->opfuncid)
			continue;
		why = add_expression(query, request, linitial(op->args));
		if (why == NULL)
			why = add_expression(query, request, lsecond(op->args));
		append_item(request, arithmetic[i].code, 0, arithmetic[i].type);
		return why;
	}
	return "an aggregate's argument is not an expression of + - * over columns";
}

static const char *add_parts(ColumnsQuery *query, Expr *argument);

/* Finds a request, a new one if necessary.  Returns NULL, or why it cannot be made. */
static const char *
add_request(ColumnsQuery *query, gs_operation operation, Expr *argument, int *index)
{
	QueryRequest *request = &query->requests[query->nrequests];
	const char *why = NULL;

	for (*index = 0; *index < query->nrequests; (*index)++)
		if (query->requests[*index].operation == operation && equal(query->requests[*index].argument, argument))
			return NULL;
	if (query->nrequests == (int) GS_STEPS_MAX_AGGREGATES)
		return "it has too many aggregates";
	memset(request, 0, sizeof(*request));
	request->operation = operation;
	request->argument = argument;
	if (argument != NULL)
	{
		why = add_expression(query, request, argument);
		request->type = exprType((Node *) argument);
	}
	query->nrequests++;
	if (why == NULL && argument != NULL)
		why = add_parts(query, argument);
	return why;
}

/*
 * Has integers computed that an expression is made of, where they may be wanted without it: PostgreSQL raises the error
 * of a part that leaves its range also where another part is NULL, and engines compute no row in which a column is.
 * Numerics of these sizes never leave theirs.
 */
static const char *
add_parts(ColumnsQuery *query, Expr *argument)
{
	Expr	   *whole = without_casts(argument);
	const char *why = NULL;
	ListCell   *lc;
	int			index;

	if (!IsA(whole, OpExpr))
		return NULL;
	foreach(lc, ((OpExpr *) whole)->args)
	{
		Expr	   *part = without_casts(lfirst(lc));

		if (why != NULL || !IsA(part, OpExpr) || is_value(part))
			continue;
		why = exprType((Node *) part) == NUMERICOID ? add_parts(query, part) :
			add_request(query, GS_COUNT, part, &index);
	}
	return why;
}

/* Returns true if an aggregate has nothing but its arguments. */
static bool
is_plain(const Aggref *aggregate)
{
	return aggregate->aggkind == AGGKIND_NORMAL && aggregate->aggdistinct == NIL && aggregate->aggorder == NIL &&
		aggregate->aggfilter == NULL && !aggregate->aggvariadic && aggregate->agglevelsup == 0 &&
		aggregate->aggsplit == AGGSPLIT_SIMPLE;
}

/* Adds an aggregate of doubles. */
static const char *
add_doubles(ColumnsQuery *query, gs_operation operation, Expr *argument, QueryAnswer *answer)
{
	const char *why = NULL;

	if (!IsA(without_casts(argument), Var))
		return "an aggregate's argument is not an expression of + - * over columns";
	if (operation == GS_SUM && !gpusort_columns_float_sums)
		return "gpusort.columns_float_sums is off";
	if (answer->aggregate->aggfnoid == F_AVG_FLOAT8)
	{
		why = add_request(query, GS_MIN, argument, &answer->least);
		if (why == NULL)
			why = add_request(query, GS_MAX, argument, &answer->greatest);
	}
	return why == NULL ? add_request(query, operation, argument, &answer->request) : why;
}

/* Adds an aggregate with an argument, as an operation over values of a type. */
static const char *
add_over_values(ColumnsQuery *query, gs_operation operation, Oid type, Expr *argument, QueryAnswer *answer)
{
	/* count(1) counts rows */
	if (operation == GS_COUNT && IsA(argument, Const) && !((Const *) argument)->constisnull)
		argument = NULL;
	if (type == FLOAT8OID || type == FLOAT4OID)
		return add_doubles(query, operation, argument, answer);
	if (argument != NULL && !is_number(type) && !IsA(without_casts(argument), Var))
	{
		if (OidIsValid(type) || !is_number(exprType((Node *) argument)))
			return "an aggregate's argument is not an expression of + - * over columns";
	}
	return add_request(query, operation, argument, &answer->request);
}

/* Adds an aggregate.  Returns NULL, or why it cannot be answered. */
static const char *
add_aggregate(ColumnsQuery *query, const Aggref *aggregate)
{
	QueryAnswer *answer = &query->answers[query->nanswers++];
	Expr	   *argument;

	*answer = (QueryAnswer) {aggregate, -1, -1, -1};
	if (!is_plain(aggregate))
		return "an aggregate has DISTINCT, ORDER BY or FILTER";
	if (aggregate->aggfnoid == F_COUNT_)
		return add_request(query, GS_COUNT, NULL, &answer->request);
	for (int i = 0; i < (int) lengthof(known_aggregates); i++)
		if (known_aggregates[i].function == aggregate->aggfnoid)
		{
			argument = linitial_node(TargetEntry, aggregate->args)->expr;
			return add_over_values(query, known_aggregates[i].operation, known_aggregates[i].type, argument, answer);
		}
	return "an aggregate is not one of count, sum, avg, min and max";
}

const char *
columns_query(List *conditions, List *aggregates, ColumnsQuery *query)
{
	const char *why = NULL;
	ListCell   *lc;

	memset(query, 0, sizeof(*query));
	query->answers = palloc0_array(QueryAnswer, list_length(aggregates) + 1);
	foreach(lc, conditions)
	{
		why = add_condition(query, lfirst(lc));
		if (why != NULL)
			return why;
	}
	foreach(lc, aggregates)
	{
		why = add_aggregate(query, lfirst_node(Aggref, lc));
		if (why != NULL)
			return why;
	}
	return NULL;
}
