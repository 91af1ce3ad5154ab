/*
 * columns_aggregates.c: the aggregates that columns answer, by their OIDs, and gpusort's own by their names.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/dependency.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "commands/extension.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "src/base/compat.h"
#include "columns_aggregates.h"

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
	{F_MIN_TEXT, GS_MIN, TEXTOID}, {F_MIN_BPCHAR, GS_MIN, BPCHAROID},
	{F_MAX_TEXT, GS_MAX, TEXTOID}, {F_MAX_BPCHAR, GS_MAX, BPCHAROID},
};

/* Other aggregates of PostgreSQL, and those of gpusort, by their names. */
static const struct
{
	Oid			function;
	QueryKind	kind;
}			ordered_aggregates[] =
{
	{F_PERCENTILE_CONT_FLOAT8_FLOAT8, QUERY_CONTINUOUS}, {F_PERCENTILE_CONT__FLOAT8_FLOAT8, QUERY_CONTINUOUS},
	{F_PERCENTILE_DISC_FLOAT8_ANYELEMENT, QUERY_DISCRETE}, {F_PERCENTILE_DISC__FLOAT8_ANYELEMENT, QUERY_DISCRETE},
	{F_MODE, QUERY_MODE},
};
static const struct
{
	const char *name;
	QueryKind	kind;
}			own_aggregates[] =
{
	{"gpu_count_distinct", QUERY_DISTINCT}, {"gpu_median", QUERY_CONTINUOUS},
	{"gpu_percentile_cont", QUERY_CONTINUOUS}, {"gpu_percentile_disc", QUERY_DISCRETE},
	{"gpu_percentile_cont_within", QUERY_CONTINUOUS}, {"gpu_percentile_disc_within", QUERY_DISCRETE},
	{"gpu_mode_within", QUERY_MODE}, {"gpu_rle", QUERY_RUN_ARRAY}, {"gpu_sort_agg", QUERY_SORTED_ARRAY},
};

bool
aggregates_are_own(Oid function, const char *name)
{
	const char *given = function >= FirstNormalObjectId ? get_func_name(function) : NULL;

	return given != NULL && strcmp(given, name) == 0 &&
		getExtensionOfObject(ProcedureRelationId, function) == get_extension_oid("gpusort", true);
}

/* Returns what an aggregate of the extension does. */
static QueryKind
own_kind(Oid function)
{
	for (int i = 0; i < (int) lengthof(own_aggregates); i++)
		if (aggregates_are_own(function, own_aggregates[i].name))
			return own_aggregates[i].kind;
	return QUERY_UNKNOWN;
}

/* Does this aggregate of the extension only raise an error: runs of an enum, an array of fractions? */
static bool
always_fails(const Aggref *aggregate, QueryKind kind)
{
	if (kind == QUERY_RUN_ARRAY)
		return type_is_enum(linitial_oid(aggregate->aggargtypes));
	return kind == QUERY_CONTINUOUS && aggregate->aggkind == AGGKIND_NORMAL &&
		list_member_oid(aggregate->aggargtypes, FLOAT8ARRAYOID);
}

QueryKind
columns_aggregate_kind(const Aggref *aggregate)
{
	if (aggregate->aggfnoid >= FirstNormalObjectId)
	{
		QueryKind	kind = own_kind(aggregate->aggfnoid);

		return always_fails(aggregate, kind) ? QUERY_UNKNOWN : kind;
	}
	if (aggregate->aggdistinct != NIL)
		return aggregate->aggfnoid == F_COUNT_ANY ? QUERY_DISTINCT : QUERY_UNKNOWN;
	for (int i = 0; i < (int) lengthof(ordered_aggregates); i++)
		if (ordered_aggregates[i].function == aggregate->aggfnoid)
			return ordered_aggregates[i].kind;
	return aggregate->aggkind == AGGKIND_NORMAL ? QUERY_PLAIN : QUERY_UNKNOWN;
}

bool
aggregates_plain(Oid function, gs_operation *operation, Oid *type)
{
	for (int i = 0; i < (int) lengthof(known_aggregates); i++)
		if (known_aggregates[i].function == function)
		{
			*operation = known_aggregates[i].operation;
			*type = known_aggregates[i].type;
			return true;
		}
	return false;
}

Expr *
aggregates_argument(const Aggref *aggregate, int64 *addend)
{
	Expr	   *argument = linitial_node(TargetEntry, aggregate->args)->expr;
	const OpExpr *op = (OpExpr *) argument;
	const Const *constant = IsA(argument, OpExpr) && op->opfuncid == F_INT24PL ? lsecond(op->args) : NULL;
	int64		number;

	if (aggregate->aggfnoid != F_SUM_INT4 || constant == NULL || !IsA(constant, Const) || constant->constisnull ||
		!IsA(linitial(op->args), Var))
		return argument;
	number = DatumGetInt32(constant->constvalue);
	if (number < PG_INT32_MIN - (int64) PG_INT16_MIN || number > PG_INT32_MAX - (int64) PG_INT16_MAX)
		return argument;
	*addend = number;
	return linitial(op->args);
}

bool
aggregates_average(Oid function)
{
	return function == F_AVG_INT2 || function == F_AVG_INT4 || function == F_AVG_INT8 || function == F_AVG_NUMERIC ||
		function == F_AVG_FLOAT8;
}
