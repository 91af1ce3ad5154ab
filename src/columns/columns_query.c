/*
 * columns_query.c: a query's filter, keys and aggregates, as questions about columns.
 *
 * Expressions are PostgreSQL's own, known by the OIDs of built-in functions and operator families.  Whatever is not
 * known here is not answered from columns.
 */
#include "postgres.h"

#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "columns_aggregates.h"
#include "columns_computed.h"
#include "columns_conditions.h"
#include "columns_query.h"
#include "columns_terms.h"
#include "columns_windows.h"
#include "string_functions.h"

/* Functions of + - * and the type of their values. */
static const struct
{
	Oid			function;
	gs_code		code;
	Oid			type;
}			arithmetic[] =
{
	{F_DATE_MI, GS_CODE_SUBTRACT, INT4OID},
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

/* Casts to float8 that keep the order of values. */
static const Oid casts_to_float8[] = {
	F_FLOAT8_INT2, F_FLOAT8_INT4, F_FLOAT8_INT8, F_FLOAT8_NUMERIC, F_FLOAT8_FLOAT4
};

/* ---------------------------------------------------------------- aggregates */

/* Returns true if DISTINCT is about one value and its type's own equality, and so is an order with it. */
static bool
is_plain_distinct(const Aggref *aggregate)
{
	const TargetEntry *value = linitial_node(TargetEntry, aggregate->args);
	const SortGroupClause *distinct = linitial_node(SortGroupClause, aggregate->aggdistinct);

	return list_length(aggregate->aggdistinct) == 1 && list_length(aggregate->args) == 1 &&
		distinct->eqop == lookup_type_cache(exprType((Node *) value->expr), TYPECACHE_EQ_OPR)->eq_opr;
}

/* Returns true if the values of WITHIN GROUP ascend in their type's own order. */
static bool
is_plain_order(const Aggref *aggregate)
{
	const TargetEntry *value = linitial_node(TargetEntry, aggregate->args);
	const SortGroupClause *order = linitial_node(SortGroupClause, aggregate->aggorder);

	return list_length(aggregate->aggorder) == 1 &&
		order->sortop == lookup_type_cache(exprType((Node *) value->expr), TYPECACHE_LT_OPR)->lt_opr;
}

/* Returns true if an aggregate has nothing but its arguments, a FILTER, and what its kind has. */
static bool
is_plain(const Aggref *aggregate)
{
	if (aggregate->aggvariadic || aggregate->agglevelsup > 0 || aggregate->aggsplit != AGGSPLIT_SIMPLE)
		return false;
	if (AGGKIND_IS_ORDERED_SET(aggregate->aggkind))
		return is_plain_order(aggregate);
	if (aggregate->aggdistinct != NIL)
		return is_plain_distinct(aggregate);
	return aggregate->aggorder == NIL;
}

/* Appends an element to a request's expression. */
static void
append_item(QueryRequest *request, gs_code code, int operand, Oid type)
{
	request->items = request->nitems == 0 ? palloc_array(QueryItem, 1) :
		repalloc_array(request->items, QueryItem, request->nitems + 1);
	request->items[request->nitems++] = (QueryItem) {code, operand, type};
}

/* Returns the difference of times of which an expression is the number of seconds, or NULL: it is none. */
static const OpExpr *
epoch_difference(const Expr *expr)
{
	const FuncExpr *function = (const FuncExpr *) expr;
	const Const *field;
	const OpExpr *difference;

	if (!IsA(expr, FuncExpr) || function->funcid != F_EXTRACT_TEXT_INTERVAL)
		return NULL;
	field = linitial(function->args);
	difference = lsecond(function->args);
	if (!IsA(field, Const) || field->constisnull ||
		pg_strcasecmp(TextDatumGetCString(field->constvalue), "epoch") != 0 || !IsA(difference, OpExpr) ||
		(difference->opfuncid != F_TIMESTAMP_MI && difference->opfuncid != F_TIMESTAMPTZ_MI))
		return NULL;
	return difference;
}

/* Appends the seconds of a difference of two columns. */
static const char *
add_epoch(ColumnsQuery *query, QueryRequest *request, const OpExpr *difference)
{
	ListCell   *lc;

	foreach(lc, difference->args)
	{
		Expr	   *side = lfirst(lc);
		const char *why = terms_is_column(side) ? NULL : "a difference is not one of columns";
		int			index = 0;

		if (why == NULL)
			why = terms_column(query, side, &index);
		if (why != NULL)
			return why;
		append_item(request, GS_CODE_COLUMN, index, terms_column_type(query, index));
	}
	append_item(request, GS_CODE_SUBTRACT, 0, INTERVALOID);
	return NULL;
}

/* Appends an expression of integers and numerics.  Returns NULL, or why it cannot be computed from columns. */
static const char *
add_expression(ColumnsQuery *query, QueryRequest *request, Expr *expr)
{
	Expr	   *inner = terms_without_casts(expr);
	const char *why;
	int			index;

	check_stack_depth();
	if (terms_is_column(inner) || IsA(inner, Aggref) || string_function_is(inner))
	{
		why = IsA(inner, FuncExpr) ? computed_add(query, inner, &index) : terms_column(query, inner, &index);
		if (why == NULL)
			append_item(request, GS_CODE_COLUMN, index, terms_column_type(query, index));
		return why;
	}
	if (terms_is_value(expr))
	{
		append_item(request, GS_CODE_CONSTANT, terms_value(query, expr), exprType((Node *) expr));
		return terms_is_number(exprType((Node *) expr)) ? NULL : "a constant is not a number";
	}
	if (epoch_difference(inner) != NULL)
		return add_epoch(query, request, epoch_difference(inner));
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

static const char *add_parts(ColumnsQuery *query, const QueryRequest *whole);
static const char *add_guards(ColumnsQuery *query, const QueryRequest *whole, const Expr *expr);

/* Finds a request, a new one if necessary.  Returns NULL, or why it cannot be made. */
static const char *
add_request(ColumnsQuery *query, const QueryRequest *wanted, int *index)
{
	QueryRequest *request = &query->requests[query->nrequests];
	const char *why = NULL;

	for (*index = 0; *index < query->nrequests; (*index)++)
	{
		const QueryRequest *other = &query->requests[*index];

		if (other->operation == wanted->operation && other->fraction == wanted->fraction &&
			equal(other->argument, wanted->argument) && equal(other->filter, wanted->filter))
			return NULL;
	}
	if (query->nrequests == (int) GS_STEPS_MAX_AGGREGATES)
		return "it has too many aggregates";
	*request = *wanted;
	if (request->argument != NULL)
	{
		why = add_expression(query, request, request->argument);
		request->type = IsA(request->argument, Aggref) ? INT4OID :
			getBaseType(exprType((Node *) request->argument));
	}
	query->nrequests++;
	if (why == NULL)
		why = conditions_add(query, request->filter, false, &request->terms);
	if (why == NULL && request->argument != NULL)
		why = add_parts(query, request);
	if (why == NULL && request->argument != NULL)
		why = add_guards(query, request, terms_without_casts(request->argument));
	return why;
}

/*
 * Has integers computed that an expression is made of, where they may be wanted without it: PostgreSQL raises the error
 * of a part that leaves its range also where another part is NULL, and engines compute no row in which a column is.
 * Numerics of these sizes never leave theirs.
 */
static const char *
add_parts(ColumnsQuery *query, const QueryRequest *whole)
{
	Expr	   *expr = terms_without_casts(whole->argument);
	const char *why = NULL;
	ListCell   *lc;
	int			index;

	if (!IsA(expr, OpExpr))
		return NULL;
	foreach(lc, ((OpExpr *) expr)->args)
	{
		QueryRequest part = {.operation = GS_COUNT, .argument = terms_without_casts(lfirst(lc)),
		.filter = whole->filter, .fraction = -1};

		if (why != NULL || !IsA(part.argument, OpExpr) || terms_is_value(part.argument))
			continue;
		why = exprType((Node *) part.argument) == NUMERICOID ? add_parts(query, &part) :
			add_request(query, &part, &index);
	}
	return why;
}

/* Has the smallest and the greatest value of a column of dates or times known, which must be finite. */
static const char *
add_guard(ColumnsQuery *query, const QueryRequest *whole, Expr *column)
{
	QueryRequest request = {.operation = GS_MIN, .argument = column, .filter = whole->filter, .fraction = -1};
	QueryGuard	guard;
	const char *why = add_request(query, &request, &guard.least);

	request.operation = GS_MAX;
	if (why == NULL)
		why = add_request(query, &request, &guard.greatest);
	for (int i = 0; i < query->nguards; i++)
		if (query->guards[i].least == guard.least)
			return why;
	if (why == NULL)
		query->guards[query->nguards++] = guard;
	return why;
}

/* Has differences of dates and times guarded: those of infinite ones are errors, or infinite. */
static const char *
add_guards(ColumnsQuery *query, const QueryRequest *whole, const Expr *expr)
{
	const OpExpr *op = epoch_difference(expr);
	const char *why = NULL;
	ListCell   *lc;

	if (op == NULL && !IsA(expr, OpExpr))
		return NULL;
	if (op == NULL)
		op = (const OpExpr *) expr;
	foreach(lc, op->args)
	{
		Expr	   *side = terms_without_casts(lfirst(lc));

		if (why == NULL)
			why = op->opfuncid != F_DATE_MI && epoch_difference(expr) == NULL ? add_guards(query, whole, side) :
				terms_is_column(side) ? add_guard(query, whole, side) : "a difference is not one of columns";
	}
	return why;
}

/* Adds a request as another operation. */
static const char *
add_operation(ColumnsQuery *query, const QueryRequest *request, int operation, int *index)
{
	QueryRequest other = *request;

	other.operation = operation;
	return add_request(query, &other, index);
}

/* Adds an aggregate of doubles. */
static const char *
add_doubles(ColumnsQuery *query, const QueryRequest *request, QueryAnswer *answer)
{
	const char *why = NULL;

	if (!terms_is_column(terms_without_casts(request->argument)))
		return "an aggregate's argument is not an expression of + - * over columns";
	if (request->operation == GS_SUM && !gpusort_columns_float_sums)
		return "gpusort.columns_float_sums is off";
	if (answer->aggregate->aggfnoid == F_AVG_FLOAT8)
	{
		why = add_operation(query, request, GS_MIN, &answer->least);
		if (why == NULL)
			why = add_operation(query, request, GS_MAX, &answer->greatest);
	}
	return why == NULL ? add_request(query, request, &answer->request) : why;
}

/* Adds an aggregate of a column's values, in whose order it may look at them. */
static const char *
add_over_column(ColumnsQuery *query, Expr *argument, bool ordered, QueryRequest *request, QueryAnswer *answer)
{
	Oid			type = getBaseType(exprType((Node *) argument));
	Oid			collation = exprCollation((Node *) argument);
	const char *why;
	int			column;

	request->argument = terms_without_casts(argument);
	if (!ordered && string_function_is(request->argument) && (!terms_is_string(type) || terms_is_bytewise(collation)))
		return add_request(query, request, &answer->request);
	if (!terms_is_column(request->argument))
		return "an aggregate's argument is not a column";
	why = terms_column(query, request->argument, &column);
	if (why != NULL)
		return why;
	if (ordered && ((!terms_is_string(type) && type != terms_column_type(query, column)) ||
					!terms_order(query, column, collation)))
		return "an aggregate's argument is not a column that is held in its order";
	if (query->columns[column].form == COLUMN_CODES && !terms_is_bytewise(collation))
		return "strings of other bytes may be equal";
	return add_request(query, request, &answer->request);
}

/* Adds an aggregate with an argument over values of a type. */
static const char *
add_over_values(ColumnsQuery *query, QueryRequest *request, Oid type, QueryAnswer *answer)
{
	const Expr *argument = request->argument;

	/* count(1) counts rows */
	if (request->operation == GS_COUNT && IsA(argument, Const) && !((const Const *) argument)->constisnull)
		request->argument = NULL;
	else if (type == FLOAT8OID || type == FLOAT4OID)
		return add_doubles(query, request, answer);
	else if (terms_is_string(type))
		return add_over_column(query, request->argument, true, request, answer);
	else if (!terms_is_number(type) && !terms_is_column(terms_without_casts(request->argument)) &&
			 (OidIsValid(type) || !terms_is_number(exprType((const Node *) argument))))
		return "an aggregate's argument is not an expression of + - * over columns";
	return add_request(query, request, &answer->request);
}

/* Adds an aggregate of PostgreSQL with neither DISTINCT nor an order. */
static const char *
add_plain(ColumnsQuery *query, QueryRequest *request, QueryAnswer *answer)
{
	gs_operation operation = GS_COUNT;
	Oid			type;

	request->operation = GS_COUNT;
	if (answer->aggregate->aggfnoid == F_COUNT_)
		return add_request(query, request, &answer->request);
	if (!aggregates_plain(answer->aggregate->aggfnoid, &operation, &type))
		return "an aggregate is not one that columns answer";
	request->operation = operation;
	request->argument = aggregates_argument(answer->aggregate, &answer->addend);
	return add_over_values(query, request, type, answer);
}

/* Returns an argument without a cast to float8: casts of ranks are what ranks of casts are. */
static Expr *
without_float8(Expr *expr)
{
	for (int i = 0; IsA(expr, FuncExpr) && i < (int) lengthof(casts_to_float8); i++)
		if (((FuncExpr *) expr)->funcid == casts_to_float8[i])
			return linitial(((FuncExpr *) expr)->args);
	return expr;
}

/* Returns the fraction of a percentile: before WITHIN GROUP, an argument, or the median's. */
static Expr *
fraction_of(const Aggref *aggregate)
{
	if (aggregate->aggdirectargs != NIL)
		return linitial(aggregate->aggdirectargs);
	if (list_length(aggregate->args) > 1)
		return lsecond_node(TargetEntry, aggregate->args)->expr;
	return (Expr *) makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8), Float8GetDatum(0.5), false, FLOAT8PASSBYVAL);
}

/* Adds an aggregate that needs all values of a column at once. */
static const char *
add_over_all(ColumnsQuery *query, QueryKind kind, QueryRequest *request, QueryAnswer *answer)
{
	Expr	   *argument = linitial_node(TargetEntry, answer->aggregate->args)->expr;
	Expr	   *fraction;

	request->operation = kind == QUERY_DISTINCT ? GS_DISTINCT : kind == QUERY_MODE ? GS_MODE :
		kind == QUERY_DISCRETE ? GS_RANK_DISC : GS_RANK_FLOOR;
	if (kind == QUERY_DISCRETE || kind == QUERY_CONTINUOUS)
	{
		if (kind == QUERY_CONTINUOUS)
			argument = without_float8(argument);
		fraction = fraction_of(answer->aggregate);
		if (!terms_is_value(fraction))
			return "a fraction depends on the row";
		request->fraction = terms_value(query, fraction);
		request->fraction_type = exprType((Node *) fraction);
	}
	return add_over_column(query, argument, kind != QUERY_DISTINCT, request, answer);
}

/* Adds the number of runs of a gpu_rle. */
static const char *
add_runs(ColumnsQuery *query, QueryRequest *request, QueryAnswer *answer)
{
	const char *why = windows_add_runs(query, answer->aggregate);

	request->operation = GS_MAX;
	request->argument = (Expr *) answer->aggregate;
	return why == NULL ? add_request(query, request, &answer->request) : why;
}

/*
 * Adds an array, whose elements are counted as groups of the query's: runs by their number, values that are equal.
 */
static const char *
add_array(ColumnsQuery *query, QueryKind kind, QueryRequest *request, QueryAnswer *answer)
{
	const Aggref *aggregate = answer->aggregate;
	Expr	   *value = linitial_node(TargetEntry, aggregate->args)->expr;
	const char *why = NULL;
	int			first;

	if (aggregate->aggfilter != NULL || aggregate->aggdistinct != NIL || !IsA(value, Var) ||
		(kind == QUERY_SORTED_ARRAY && aggregate->aggorder != NIL) || query->nkeys == (int) GS_STEPS_MAX_KEYS)
		return "an array is not one of a column's values";
	query->array = aggregate;
	query->array_keys = query->nkeys;
	query->array_runs = kind == QUERY_RUN_ARRAY;
	request->operation = GS_COUNT;
	if (query->array_runs)
		why = windows_add_runs(query, aggregate);
	if (why == NULL)
		why = terms_column(query, value, &query->array_column);
	if (why == NULL && !terms_is_ordered(query, query->array_column))
		why = "an array's values are not held in their order";
	if (why == NULL)
		why = add_request(query, request, &answer->request);
	query->keys[query->nkeys++] = query->array_runs ? QUERY_GIVEN + query->nfunctions - 1 : query->array_column;
	if (why != NULL || !query->array_runs)
		return why;
	request->argument = value;
	return add_operation(query, request, GS_MIN, &first);
}

/* Adds an aggregate.  Returns NULL, or why it cannot be answered. */
static const char *
add_aggregate(ColumnsQuery *query, const Aggref *aggregate, QueryKind kind)
{
	QueryAnswer *answer = &query->answers[query->nanswers++];
	QueryRequest request = {.filter = make_ands_implicit(aggregate->aggfilter), .fraction = -1};

	*answer = (QueryAnswer) {aggregate, -1, -1, -1, 0};
	if (kind == QUERY_UNKNOWN)
		return "an aggregate is not one that columns answer";
	if (kind == QUERY_RUNS)
		return add_runs(query, &request, answer);
	if (kind == QUERY_RUN_ARRAY || kind == QUERY_SORTED_ARRAY)
		return add_array(query, kind, &request, answer);
	if (!is_plain(aggregate) || (aggregate->aggdistinct != NIL && kind != QUERY_DISTINCT))
		return "an aggregate has DISTINCT or an order of its own";
	return kind == QUERY_PLAIN ? add_plain(query, &request, answer) : add_over_all(query, kind, &request, answer);
}

/* ---------------------------------------------------------------- groups */

/* Adds the order of the groups that are wanted, and how many. */
static const char *
add_limit(ColumnsQuery *query, const ColumnsParts *parts)
{
	int			count = list_length(parts->orders) / 3;

	if (count > (int) GS_STEPS_MAX_KEYS)
		return "its order has too many parts";
	for (int i = 0; i < count; i++)
	{
		int			member = list_nth_int(parts->orders, 3 * i);
		const Expr *expr = member < query->nmembers ? list_nth(parts->keys, member) :
			list_nth(parts->aggregates, member - query->nmembers);
		QueryOrder *order = &query->orders[query->norders++];

		*order = (QueryOrder) {terms_member(query, expr), list_nth_int(parts->orders, 3 * i + 1) != 0,
		list_nth_int(parts->orders, 3 * i + 2) != 0};
		if (order->member < 0 || (order->member < query->nkeys &&
								  !terms_order(query, query->keys[order->member], exprCollation((const Node *) expr))))
			return "its order is not one of keys and exact aggregates";
	}
	query->limit = terms_value(query, linitial(parts->limits));
	if (list_length(parts->limits) > 1)
		query->offset = terms_value(query, lsecond(parts->limits));
	return NULL;
}

/* Adds the order of rows. */
static const char *
add_row_orders(ColumnsQuery *query, const ColumnsParts *parts)
{
	ListCell   *lc;

	if (list_length(parts->sorted) > (int) GS_STEPS_MAX_KEYS)
		return "its order has too many parts";
	foreach(lc, parts->sorted)
	{
		int			at = 3 * foreach_current_index(lc);
		QueryOrder *order = &query->orders[query->norders++];
		const char *why = terms_column(query, lfirst(lc), &order->member);

		if (why != NULL)
			return why;
		order->descending = list_nth_int(parts->orders, at + 1) != 0;
		order->nulls_first = list_nth_int(parts->orders, at + 2) != 0;
		if (!terms_order(query, order->member, lfirst_node(Var, lc)->varcollid))
			return "its order is not one of columns";
	}
	return NULL;
}

/*
 * Returns true if groups are left out that PostgreSQL computes, with their errors, whatever its plan: those that HAVING
 * tests, or that an order of aggregates compares.
 */
static bool
leaves_computed_groups(const ColumnsQuery *query, const ColumnsParts *parts)
{
	bool		computed = parts->having != NIL;

	for (int i = 0; i < query->norders; i++)
		computed = computed || query->orders[i].member >= query->nkeys;
	return computed;
}

const char *
columns_query(const ColumnsParts *parts, ColumnsQuery *query)
{
	const char *why;
	ListCell   *lc;
	ListCell   *kind;

	memset(query, 0, sizeof(*query));
	query->limit = query->offset = -1;
	query->rows = parts->rows;
	query->repeated = parts->repeated;
	query->subquery = parts->windows != NIL;
	query->answers = palloc0_array(QueryAnswer, list_length(parts->aggregates) + 1);
	why = conditions_add(query, parts->conditions, false, &query->where);
	if (why == NULL)
		why = windows_add(query, parts->windows, parts->window_keys, list_make3(parts->above, parts->keys,
																				parts->aggregates));
	if (why == NULL)
		why = conditions_add(query, parts->above, false, &query->above);
	if (why == NULL)
		why = computed_add_keys(query, parts->keys);
	if (why == NULL)
		why = computed_add_checks(query, parts->checks);
	forboth(lc, parts->aggregates, kind, parts->kinds)
		if (why == NULL)
			why = add_aggregate(query, lfirst_node(Aggref, lc), (QueryKind) lfirst_int(kind));
	if (why == NULL)
		why = conditions_add(query, parts->having, true, &query->having);
	if (why == NULL && parts->limits != NIL)
		why = add_limit(query, parts);
	if (why == NULL)
		why = add_row_orders(query, parts);
	/* guards are those of groups that are returned */
	if (why == NULL && query->nguards > 0 && leaves_computed_groups(query, parts))
		why = "a group that is left out may have an infinite date or time";
	if (why == NULL && query->ncolumns + query->positions + query->ncomputed + query->nfunctions >
		(int) GS_STEPS_MAX_COLUMNS)
		why = "it needs too many columns";
	if (why == NULL && query->array != NULL &&
		(list_length(parts->aggregates) > 1 || parts->having != NIL || parts->limits != NIL))
		why = "an array is not the only aggregate";
	return why;
}
