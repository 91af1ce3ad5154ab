/*
 * columns_windows.c: functions over windows, as columns that WINDOW steps give.
 *
 * Functions whose windows have equal partitions and orders share a step, since PostgreSQL promises that they see rows
 * in one order, whatever their frames.
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>

#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/tlist.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "columns_aggregates.h"
#include "columns_terms.h"
#include "columns_windows.h"

/* The most digits of a sum. */
#define SUM_DIGITS 38

/* PostgreSQL's functions. */
static const struct
{
	Oid			function;
	gs_window_kind kind;
	int			sign;			/* of LAG's number */
}			known_functions[] =
{
	{F_ROW_NUMBER, GS_WINDOW_ROW_NUMBER, 0}, {F_RANK_, GS_WINDOW_RANK, 0}, {F_DENSE_RANK_, GS_WINDOW_DENSE_RANK, 0},
	{F_PERCENT_RANK_, GS_WINDOW_PERCENT_RANK, 0}, {F_CUME_DIST_, GS_WINDOW_CUME_DIST, 0}, {F_NTILE, GS_WINDOW_NTILE, 1},
	{F_LAG_ANYELEMENT, GS_WINDOW_LAG, 1}, {F_LAG_ANYELEMENT_INT4, GS_WINDOW_LAG, 1},
	{F_LAG_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, GS_WINDOW_LAG, 1}, {F_LEAD_ANYELEMENT, GS_WINDOW_LAG, -1},
	{F_LEAD_ANYELEMENT_INT4, GS_WINDOW_LAG, -1}, {F_LEAD_ANYCOMPATIBLE_INT4_ANYCOMPATIBLE, GS_WINDOW_LAG, -1},
	{F_FIRST_VALUE, GS_WINDOW_FIRST, 0}, {F_LAST_VALUE, GS_WINDOW_LAST, 0}, {F_NTH_VALUE, GS_WINDOW_NTH, 1},
};

static const char *const unknown = "a window function is not one that columns answer";

/* A function in the making. */
typedef struct Making
{
	ColumnsQuery *query;
	List	   *specs;
	List	   *keys;
	const char *why;
} Making;

/* ---------------------------------------------------------------- windows */

/* Returns the index of a window, a new one if necessary; -1: there are too many. */
static int
window_index(ColumnsQuery *query, const QueryWindow *wanted)
{
	int			count = wanted->npartition + wanted->norders;

	for (int i = 0; i < query->nwindows; i++)
		if (query->windows[i].npartition == wanted->npartition && query->windows[i].norders == wanted->norders &&
			query->windows[i].positions == wanted->positions &&
			memcmp(query->windows[i].keys, wanted->keys, sizeof(QueryOrder) * (Size) count) == 0)
			return i;
	if (query->nwindows == QUERY_MAX_WINDOWS)
		return -1;
	query->windows[query->nwindows] = *wanted;
	return query->nwindows++;
}

/* Adds a key to a window: a column of the partition, or an order. */
static const char *
add_key(ColumnsQuery *query, QueryWindow *window, Expr *expr, bool order, bool descending, bool nulls_first)
{
	int			count = window->npartition + window->norders;
	QueryOrder *key = &window->keys[count];
	Oid			collation = exprCollation((Node *) expr);	/* which may be another than the column's */
	const char *why;

	if (count == (int) GS_STEPS_MAX_KEYS)
		return "a window has too many keys";
	expr = terms_without_casts(expr);
	if (!IsA(expr, Var))
		return "a window's key is not a column";
	why = terms_column(query, expr, &key->member);
	if (why != NULL)
		return why;
	if (order ? !terms_is_ordered(query, key->member) : terms_column_type(query, key->member) == UUIDOID)
		return "a window's key is not held in its order, or too wide";
	if (query->columns[key->member].form == COLUMN_CODES && !terms_is_bytewise(collation))
		return "strings of other bytes may be equal";
	/* equal windows are found bytewise */
	key->descending = descending;
	key->nulls_first = nulls_first;
	window->npartition += !order;
	window->norders += order;
	return NULL;
}

/* Finds what the plan keeps of a function's window. */
static const List *
find_spec(const Making *making, Index winref, int *first_key)
{
	ListCell   *lc;

	*first_key = 0;
	foreach(lc, making->specs)
	{
		const List *spec = lfirst(lc);

		if ((Index) list_nth_int(spec, WINDOW_REF) == winref)
			return spec;
		*first_key += list_nth_int(spec, WINDOW_PARTITION) + list_nth_int(spec, WINDOW_ORDERS);
	}
	return NULL;
}

/* Makes the window of a spec. */
static const char *
read_window(const Making *making, const List *spec, int first_key, QueryWindow *window)
{
	int			npartition = list_nth_int(spec, WINDOW_PARTITION);
	int			count = npartition + list_nth_int(spec, WINDOW_ORDERS);
	const char *why = NULL;

	memset(window, 0, sizeof(*window));
	for (int i = 0; i < count && why == NULL; i++)
	{
		bool		order = i >= npartition;
		int			at = WINDOW_NSPEC + 2 * (i - npartition);

		why = add_key(making->query, window, list_nth(making->keys, first_key + i), order,
					  order && list_nth_int(spec, at) != 0, order && list_nth_int(spec, at + 1) != 0);
	}
	return why;
}

/* ---------------------------------------------------------------- what functions give */

/* Describes a function's values. */
static const char *
describe(const ColumnsQuery *query, const gs_window_function *function, Oid type, ColumnDescription *column)
{
	const ColumnDescription *argument = function->column != GS_NO_COLUMN ? &query->columns[function->column] : NULL;
	const char *why = NULL;

	switch ((gs_window_kind) function->function)
	{
		case GS_WINDOW_PERCENT_RANK:
		case GS_WINDOW_CUME_DIST:
			return column_describe_type(FLOAT8OID, -1, column);
		case GS_WINDOW_LAG:
		case GS_WINDOW_FIRST:
		case GS_WINDOW_LAST:
		case GS_WINDOW_NTH:
		case GS_WINDOW_MIN:
		case GS_WINDOW_MAX:
			*column = *argument;
			column->number = InvalidAttrNumber;
			return NULL;
		case GS_WINDOW_SUM:
			why = column_describe_type(type, ((SUM_DIGITS << 16) | column_scale(argument)) + VARHDRSZ, column);
			column->gs = type == FLOAT8OID ? GS_F64 : GS_U128;
			return why;
		default:
			why = column_describe_type(type, -1, column);
			column->gs = GS_I64;
			return why;
	}
}

/* Appends a function that is complete.  Returns NULL, or why there is no room. */
static const char *
append_function(ColumnsQuery *query, const QueryFunction *function, Oid type)
{
	if (query->nfunctions == (int) GS_STEPS_MAX_COLUMNS)
		return "it needs too many columns";
	if (query->functions == NULL)
		query->functions = palloc_array(QueryFunction, GS_STEPS_MAX_COLUMNS);
	query->functions[query->nfunctions] = *function;
	return describe(query, &function->function, type, &query->columns[QUERY_GIVEN + query->nfunctions++]);
}

/* Returns the integer that an argument is; false if it is none, or not within the limits. */
static bool
constant_number(const Expr *expr, int64 least, int64 *number)
{
	const Const *constant = (const Const *) expr;

	if (!IsA(expr, Const) || constant->constisnull || constant->consttype != INT4OID)
		return false;
	*number = DatumGetInt32(constant->constvalue);
	return *number >= least;
}

/* Extends a held integer of a column to 128 bits. */
static void
extend(gs_type type, gs_constant *held)
{
	int			unused = type == GS_I16 ? 48 : type == GS_I32 ? 32 : 0;

	if (type != GS_I16 && type != GS_I32 && type != GS_I64)
		return;
	held->half[0] = (uint64) ((int64) (held->half[0] << unused) >> unused);
	held->half[1] = (int64) held->half[0] < 0 ? UINT64_MAX : 0;
}

/* Reads LAG's default.  Returns false if columns cannot give it. */
static bool
read_default(const ColumnDescription *column, const Expr *expr, QueryFunction *function)
{
	const Const *constant = (const Const *) expr;

	if (!IsA(expr, Const))
		return false;
	if (constant->constisnull)
		return true;
	/* what becomes of a NaN's bits is not known */
	if (getBaseType(constant->consttype) != getBaseType(column->type) || column->gs == GS_F32 ||
		(column->gs == GS_F64 && isnan(DatumGetFloat8(constant->constvalue))) ||
		!column_encode(column, constant->constvalue, &function->constant))
		return false;
	extend((gs_type) column->gs, &function->constant);
	function->function.constant = 1;
	return true;
}

/* Reads the arguments behind a function's first. */
static bool
read_numbers(const Making *making, const List *args, int sign, QueryFunction *function)
{
	gs_window_function *f = &function->function;
	bool		lag = f->function == GS_WINDOW_LAG;
	int64		number = lag;
	const Expr *expr = f->function == GS_WINDOW_NTILE ? linitial(args) : list_length(args) > 1 ? lsecond(args) : NULL;

	if (sign == 0)
		return true;
	if (expr != NULL && !constant_number(expr, lag ? INT_MIN : 1, &number))
		return false;
	f->number = sign * number;
	return list_length(args) < 3 || read_default(&making->query->columns[f->column], lthird(args), function);
}

/* Reads a function's frame, where it has a meaning. */
static bool
read_frame(const List *spec, Oid type, gs_window_function *f)
{
	int			from = list_nth_int(spec, WINDOW_FROM);
	int			to = list_nth_int(spec, WINDOW_TO);
	int			frame = list_nth_int(spec, WINDOW_FRAME);

	if (f->function < GS_WINDOW_FIRST)
		return true;
	f->frame = (uint32) frame;
	if (frame != GS_FRAME_ROWS)
		return frame != WINDOW_OTHER_FRAME;
	f->from = from == INT_MIN ? GS_FRAME_FIRST : from;
	f->to = to == INT_MAX ? GS_FRAME_LAST : to;
	/* such frames are gone through anew for each row */
	return from == INT_MIN || f->function < GS_WINDOW_SUM || (f->function == GS_WINDOW_SUM && type != FLOAT8OID) ||
		(to != INT_MAX && f->to - f->from < GS_FRAME_MOST_ROWS);
}

/* Finds out what a function is.  *sign: what LAG's number is multiplied by. */
static bool
read_kind(const WindowFunc *function, gs_window_function *f, int *sign)
{
	gs_operation operation;
	Oid			type;

	*sign = 0;
	if (aggregates_are_own(function->winfnoid, "gpu_run_id"))
	{
		f->function = GS_WINDOW_RUN;
		return true;
	}
	for (int i = 0; i < (int) lengthof(known_functions); i++)
		if (known_functions[i].function == function->winfnoid)
		{
			f->function = known_functions[i].kind;
			*sign = known_functions[i].sign;
			return true;
		}
	f->function = GS_WINDOW_COUNT;
	if (function->winfnoid == F_COUNT_)
		return true;
	if (!aggregates_plain(function->winfnoid, &operation, &type))
		return false;
	f->function = operation == GS_COUNT ? GS_WINDOW_COUNT : operation == GS_SUM ? GS_WINDOW_SUM :
		operation == GS_MIN ? GS_WINDOW_MIN : GS_WINDOW_MAX;
	return true;
}

/* Finds the column of a function's argument. */
static const char *
read_argument(ColumnsQuery *query, const WindowFunc *function, gs_window_function *f)
{
	Expr	   *argument = function->args != NIL ? linitial(function->args) : NULL;
	const char *why;
	int			index;

	f->column = GS_NO_COLUMN;
	if (argument == NULL || f->function == GS_WINDOW_NTILE)
		return NULL;
	if (f->function == GS_WINDOW_COUNT && IsA(argument, Const) && !((Const *) argument)->constisnull)
		return NULL;
	/* values are the column's own but for what is counted or added */
	if (f->function == GS_WINDOW_COUNT || f->function == GS_WINDOW_SUM)
		argument = terms_without_casts(argument);
	if (!IsA(argument, Var))
		return "a window function's argument is not a column";
	why = terms_column(query, argument, &index);
	f->column = (uint32) index;
	if (why != NULL)
		return why;
	if (f->function >= GS_WINDOW_SUM && !terms_is_ordered(query, index))
		return unknown;
	if (query->columns[index].form != COLUMN_CODES || f->function == GS_WINDOW_COUNT)
		return NULL;
	if (f->function != GS_WINDOW_RUN)
		return "strings of a window have no dictionary";
	return terms_is_bytewise(exprCollation((Node *) argument)) ? NULL : "strings of other bytes may be equal";
}

/* Appends the sum and the number of an average, which is what rows return and nothing else is done with. */
static const char *
append_average(ColumnsQuery *query, const WindowFunc *given, QueryFunction *function)
{
	QueryAverage *average = &query->averages[query->naverages];
	const char *why;

	/* PostgreSQL's average of floats raises an error where squares overflow */
	if (!query->repeated || given->wintype != NUMERICOID)
		return unknown;
	if (query->naverages == (int) GS_STEPS_MAX_KEYS)
		return "it has too many keys";
	query->naverages++;
	function->expr = NULL;
	*average = (QueryAverage) {given, QUERY_GIVEN + query->nfunctions, QUERY_GIVEN + query->nfunctions + 1};
	why = append_function(query, function, NUMERICOID);
	function->function.function = GS_WINDOW_COUNT;
	return why != NULL ? why : append_function(query, function, INT8OID);
}

/* Adds a function. */
static const char *
add_function(const Making *making, const WindowFunc *given)
{
	QueryFunction function = {.expr = (const Expr *) given};
	int			first_key;
	int			sign;
	const List *spec = find_spec(making, given->winref, &first_key);
	QueryWindow window;
	const char *why;

	if (spec == NULL || given->aggfilter != NULL || ignores_nulls(given) ||
		!read_kind(given, &function.function, &sign))
		return unknown;
	why = read_argument(making->query, given, &function.function);
	if (why == NULL)
		why = read_window(making, spec, first_key, &window);
	if (why != NULL)
		return why;
	if (!read_numbers(making, given->args, sign, &function))
		return "a window function's arguments are not constants that columns have";
	if (!read_frame(spec, given->wintype, &function.function))
		return "a window's frame is not one that columns have";
	function.window = window_index(making->query, &window);
	if (function.window < 0)
		return "it has too many windows";
	return aggregates_average(given->winfnoid) ? append_average(making->query, given, &function) :
		append_function(making->query, &function, given->wintype);
}

/* Returns the average that an expression is, or NULL. */
static const QueryAverage *
find_average(const ColumnsQuery *query, const Expr *expr)
{
	for (int i = 0; i < query->naverages; i++)
		if (equal(query->averages[i].expr, expr))
			return &query->averages[i];
	return NULL;
}

bool
windows_add_average(ColumnsQuery *query, const Expr *key)
{
	const QueryAverage *average = find_average(query, key);
	int			at = query->nkeys - 1;

	if (average == NULL)
		return false;
	query->counts[at] = query->nmembers + (int) (average - query->averages);
	query->keys[at] = average->sum;
	query->keys[query->counts[at]] = average->count;
	return true;
}

/* Walker: adds functions. */
static bool
add_functions(Node *node, void *context)
{
	Making	   *making = context;

	if (node == NULL || making->why != NULL)
		return false;
	if (!IsA(node, WindowFunc))
		return expression_tree_walker(node, add_functions, context);
	for (int i = 0; i < making->query->nfunctions; i++)
		if (equal(making->query->functions[i].expr, node))
			return false;
	if (find_average(making->query, (const Expr *) node) != NULL)
		return false;
	making->why = add_function(making, (const WindowFunc *) node);
	return false;
}

const char *
windows_add(ColumnsQuery *query, List *specs, List *keys, List *exprs)
{
	Making		making = {query, specs, keys, NULL};

	if (specs != NIL)
		(void) add_functions((Node *) exprs, &making);
	return making.why;
}

/* Adds the order of a gpu_rle, the arguments', that of its second argument, or the table's, to a window. */
static const char *
add_run_orders(ColumnsQuery *query, const Aggref *aggregate, QueryWindow *window)
{
	const char *why = NULL;
	ListCell   *lc;

	foreach(lc, aggregate->aggorder)
	{
		const SortGroupClause *clause = lfirst_node(SortGroupClause, lc);
		Expr	   *expr = (Expr *) get_sortgroupclause_expr((SortGroupClause *) clause, aggregate->args);
		const TypeCacheEntry *type = lookup_type_cache(exprType((Node *) expr),
													   TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);

		if (clause->sortop != type->lt_opr && clause->sortop != type->gt_opr)
			return "an order is not its type's own";
		why = add_key(query, window, expr, true, clause->sortop == type->gt_opr, clause->nulls_first);
		if (why != NULL)
			return why;
	}
	if (aggregate->aggorder == NIL && list_length(aggregate->aggargtypes) < 2)
	{
		/* what a subquery puts in order comes in it, though nothing promises so */
		if (query->subquery)
			return "runs are in the order of a subquery";
		if (window->npartition + window->norders == (int) GS_STEPS_MAX_KEYS)
			return "a window has too many keys";
		window->positions = query->positions = true;
		return NULL;
	}
	if (list_length(aggregate->aggargtypes) < 2)
		return NULL;
	return aggregate->aggorder != NIL ? "runs have two orders" :
		add_key(query, window, lsecond_node(TargetEntry, aggregate->args)->expr, true, false, false);
}

const char *
windows_add_runs(ColumnsQuery *query, const Aggref *aggregate)
{
	QueryFunction function = {.expr = (const Expr *) aggregate, .function = {.function = GS_WINDOW_RUN}};
	Expr	   *argument = linitial_node(TargetEntry, aggregate->args)->expr;
	QueryWindow window;
	const char *why = NULL;
	int			index;

	memset(&window, 0, sizeof(window));
	if (query->ncomputed > 0)
		return "it has computed columns and windows";
	if (aggregate->aggfilter != NULL || aggregate->aggdistinct != NIL || !IsA(argument, Var) ||
		query->above.count > 0)
		return "runs are not those of a column";
	for (int i = 0; i < query->nkeys && why == NULL; i++)
	{
		window.keys[window.npartition++].member = query->keys[i];
		if (query->keys[i] >= QUERY_GIVEN)
			why = "runs are not those of a table's columns";
	}
	if (why == NULL)
		why = add_run_orders(query, aggregate, &window);
	if (why == NULL)
		why = terms_column(query, argument, &index);
	if (why != NULL)
		return why;
	if (query->columns[index].form == COLUMN_CODES && !terms_is_bytewise(exprCollation((Node *) argument)))
		return "strings of other bytes may be equal";
	function.function.column = (uint32) index;
	function.window = window_index(query, &window);
	return function.window < 0 ? "it has too many windows" : append_function(query, &function, INT4OID);
}

/* ---------------------------------------------------------------- the list of steps */

int
windows_all_columns(const ColumnsQuery *query)
{
	return query->nfunctions > 0 ? QUERY_GIVEN + query->nfunctions : query->ncolumns;
}

uint32
windows_list_column(const ColumnsQuery *query, int column)
{
	int			index = column - QUERY_GIVEN;
	uint32		number = (uint32) query->ncolumns + query->positions;

	if (index < 0)
		return (uint32) column;
	/* where columns are computed there are no windows */
	if (query->ncomputed > 0)
		return number + (uint32) index;
	for (int i = 0; i < query->nfunctions; i++)
		number += query->functions[i].window < query->functions[index].window ||
			(i < index && query->functions[i].window == query->functions[index].window);
	return number;
}

uint32
windows_put_types(const ColumnsQuery *query, uint8 *types)
{
	if (query->positions)
		types[query->ncolumns] = GS_I64;
	for (int i = 0; i < query->nfunctions; i++)
		types[windows_list_column(query, QUERY_GIVEN + i)] = (uint8) query->columns[QUERY_GIVEN + i].gs;
	return (uint32) query->nfunctions;
}

/* Writes a window's functions, and what they refer to, behind the step. */
static void
put_functions(StepsWriter *writer, const ColumnsQuery *query, int window, gs_window_function *out)
{
	for (int i = 0; i < query->nfunctions && !writer->full; i++)
	{
		const QueryFunction *function = &query->functions[i];

		if (function->window != window)
			continue;
		*out = function->function;
		if (out->constant != 0)
			out->constant = steps_put(writer, &function->constant, sizeof(gs_constant));
		out++;
	}
}

/* Returns the number of a window's functions. */
static uint32
count_functions(const ColumnsQuery *query, int window)
{
	uint32		count = 0;

	for (int i = 0; i < query->nfunctions; i++)
		count += query->functions[i].window == window;
	return count;
}

/* Writes a WINDOW step. */
static void
put_window(StepsWriter *writer, const ColumnsQuery *query, int index)
{
	const QueryWindow *window = &query->windows[index];
	uint32		count = count_functions(query, index);
	uint32		offset = steps_begin(writer, GS_STEP_WINDOW,
									 sizeof(gs_window_step) + sizeof(gs_window_function) * (Size) count);
	gs_window_step *step = (gs_window_step *) (writer->data + offset);
	int			keys = window->npartition + window->norders;
	gs_row_order orders[GS_STEPS_MAX_KEYS + 1];

	if (writer->full)
		return;
	for (int i = 0; i < keys; i++)
		orders[i] = (gs_row_order) {(uint32) window->keys[i].member, window->keys[i].descending,
		window->keys[i].nulls_first, 0};
	if (window->positions)
		orders[keys++] = (gs_row_order) {.column = (uint32) query->ncolumns};
	step->nfunctions = count;
	step->npartition = (uint32) window->npartition;
	step->norders = (uint32) (keys - window->npartition);
	step->orders = steps_put(writer, orders, sizeof(gs_row_order) * (Size) keys);
	put_functions(writer, query, index, step->functions);
	steps_end(writer, offset);
}

void
windows_put(StepsWriter *writer, const ColumnsQuery *query)
{
	for (int i = 0; i < query->nwindows; i++)
		put_window(writer, query, i);
}
