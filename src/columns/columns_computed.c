/*
 * columns_computed.c: expressions of integers, dates and timestamps as code that the service computes, and which of
 * them are choices (columns_cases.c).
 *
 * What PostgreSQL gives or raises for infinity, and for results out of range, the code does not: the service says that
 * such a value was there, and PostgreSQL's own plan runs.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "datatype/timestamp.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "columns_cases.h"
#include "columns_computed.h"
#include "columns_terms.h"
#include "columns_windows.h"
#include "string_functions.h"

/* Dates and timestamps that are finite: days and microseconds since 2000. */
#define LEAST_DATE		(DATETIME_MIN_JULIAN - POSTGRES_EPOCH_JDATE)
#define GREATEST_DATE	(DATE_END_JULIAN - POSTGRES_EPOCH_JDATE - 1)
#define END_DATE_OF_TIMESTAMP (TIMESTAMP_END_JULIAN - POSTGRES_EPOCH_JDATE - 1)
#define SECONDS_TO_2000 ((int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY)

/* Integer arithmetic, and its results. */
static const struct
{
	Oid			function;
	gs_code		code;
	gs_number	result;
}			arithmetic[] =
{
	{F_INT2PL, GS_CODE_ADD, GS_NUMBER_I16}, {F_INT2MI, GS_CODE_SUBTRACT, GS_NUMBER_I16},
	{F_INT2MUL, GS_CODE_MULTIPLY, GS_NUMBER_I16}, {F_INT4PL, GS_CODE_ADD, GS_NUMBER_I32},
	{F_INT4MI, GS_CODE_SUBTRACT, GS_NUMBER_I32}, {F_INT4MUL, GS_CODE_MULTIPLY, GS_NUMBER_I32},
	{F_INT24PL, GS_CODE_ADD, GS_NUMBER_I32}, {F_INT24MI, GS_CODE_SUBTRACT, GS_NUMBER_I32},
	{F_INT24MUL, GS_CODE_MULTIPLY, GS_NUMBER_I32}, {F_INT42PL, GS_CODE_ADD, GS_NUMBER_I32},
	{F_INT42MI, GS_CODE_SUBTRACT, GS_NUMBER_I32}, {F_INT42MUL, GS_CODE_MULTIPLY, GS_NUMBER_I32},
	{F_INT8PL, GS_CODE_ADD, GS_NUMBER_I64}, {F_INT8MI, GS_CODE_SUBTRACT, GS_NUMBER_I64},
	{F_INT8MUL, GS_CODE_MULTIPLY, GS_NUMBER_I64}, {F_INT84PL, GS_CODE_ADD, GS_NUMBER_I64},
	{F_INT84MI, GS_CODE_SUBTRACT, GS_NUMBER_I64}, {F_INT84MUL, GS_CODE_MULTIPLY, GS_NUMBER_I64},
	{F_INT48PL, GS_CODE_ADD, GS_NUMBER_I64}, {F_INT48MI, GS_CODE_SUBTRACT, GS_NUMBER_I64},
	{F_INT48MUL, GS_CODE_MULTIPLY, GS_NUMBER_I64}
};

/* Casts of integers to narrower ones. */
static const struct
{
	Oid			function;
	int64		least;
	int64		greatest;
}			narrowing[] =
{
	{F_INT2_INT4, PG_INT16_MIN, PG_INT16_MAX}, {F_INT2_INT8, PG_INT16_MIN, PG_INT16_MAX},
	{F_INT4_INT8, PG_INT32_MIN, PG_INT32_MAX}
};

/* Units of time that divide each other, in microseconds, and how many the next one has. */
static const struct
{
	const char *name;
	int64		micros;
	int64		in_next;
}			units[] =
{
	{"minute", USECS_PER_MINUTE, MINS_PER_HOUR}, {"hour", USECS_PER_HOUR, HOURS_PER_DAY}, {"day", USECS_PER_DAY, 0}
};

/* Parts of dates. */
static const struct
{
	const char *name;
	gs_code		code;
}			parts_of_date[] =
{
	{"year", GS_CODE_YEAR}, {"month", GS_CODE_MONTH}, {"day", GS_CODE_DAY}, {"doy", GS_CODE_DAY_OF_YEAR}
};

/* Code that is being made. */
typedef struct Coding
{
	ColumnsQuery *query;
	QueryComputed *computed;
	int			depth;			/* values on the stack */
	const char *why;
} Coding;

/* Appends an instruction. */
static void
append(Coding *coding, gs_code code, gs_number result, int64 operand, int64 most)
{
	QueryComputed *computed = coding->computed;

	coding->depth += code <= GS_CODE_CONSTANT ? 1 : code <= GS_CODE_MULTIPLY ? -1 : 0;
	if (computed->ncode == (int) GS_STEPS_MAX_CODE || coding->depth > (int) GS_STEPS_MAX_DEPTH)
		coding->why = "an expression is too long";
	else
		computed->code[computed->ncode++] = (QueryInstruction) {code, result, operand, most};
}

/* Appends one whose results have 64 bits. */
static void
append_64(Coding *coding, gs_code code, int64 operand)
{
	append(coding, code, GS_NUMBER_I64, operand, 0);
}

/* Appends an operation with a constant. */
static void
append_constant(Coding *coding, gs_code code, int64 constant)
{
	append_64(coding, GS_CODE_CONSTANT, constant);
	append_64(coding, code, 0);
}

/* Appends a test of the uppermost value's range. */
static void
append_within(Coding *coding, int64 least, int64 most)
{
	append(coding, GS_CODE_WITHIN, GS_NUMBER_I64, least, most);
}

static void encode(Coding *coding, Expr *expr);

/* Encodes a timestamp that is finite. */
static void
encode_timestamp(Coding *coding, Expr *expr)
{
	encode(coding, expr);
	append_within(coding, MIN_TIMESTAMP, END_TIMESTAMP - 1);
}

/* Encodes the day of a date or timestamp that is finite. */
static void
encode_day(Coding *coding, Expr *expr)
{
	if (exprType((Node *) expr) == TIMESTAMPOID)
	{
		encode_timestamp(coding, expr);
		append_64(coding, GS_CODE_QUOTIENT, USECS_PER_DAY);
		return;
	}
	encode(coding, expr);
	append_within(coding, LEAST_DATE, GREATEST_DATE);
}

/* Returns the number of a unit of time, or -1. */
static int
unit_of(const char *name)
{
	for (int i = 0; i < (int) lengthof(units); i++)
		if (strcmp(units[i].name, name) == 0)
			return i;
	return -1;
}

/* Encodes date_trunc of a timestamp. */
static void
encode_trunc(Coding *coding, const char *name, Expr *expr)
{
	int			unit = unit_of(name);

	if (unit >= 0)
	{
		encode_timestamp(coding, expr);
		append_64(coding, GS_CODE_QUOTIENT, units[unit].micros);
		append_constant(coding, GS_CODE_MULTIPLY, units[unit].micros);
		return;
	}
	if (strcmp(name, "month") != 0 && strcmp(name, "year") != 0)
	{
		coding->why = "a unit of time is not one that columns know";
		return;
	}
	encode_day(coding, expr);
	encode_day(coding, expr);
	append_64(coding, *name == 'm' ? GS_CODE_DAY : GS_CODE_DAY_OF_YEAR, 0);
	append_64(coding, GS_CODE_SUBTRACT, 0);
	append_constant(coding, GS_CODE_ADD, 1);
	append_constant(coding, GS_CODE_MULTIPLY, USECS_PER_DAY);
	append_within(coding, MIN_TIMESTAMP, END_TIMESTAMP - 1);
}

/* Encodes the seconds since 1970, of timestamps in microseconds. */
static void
encode_epoch(Coding *coding, Expr *expr)
{
	if (exprType((Node *) expr) == TIMESTAMPOID)
	{
		encode_timestamp(coding, expr);
		append_constant(coding, GS_CODE_ADD, SECONDS_TO_2000 * USECS_PER_SEC);
		return;
	}
	encode_day(coding, expr);
	append_constant(coding, GS_CODE_MULTIPLY, SECS_PER_DAY);
	append_constant(coding, GS_CODE_ADD, SECONDS_TO_2000);
}

/* Encodes extract of a date or timestamp. */
static void
encode_extract(Coding *coding, const char *name, Expr *expr)
{
	int			unit = unit_of(name);

	for (int i = 0; i < (int) lengthof(parts_of_date); i++)
		if (strcmp(parts_of_date[i].name, name) == 0)
		{
			encode_day(coding, expr);
			append_64(coding, parts_of_date[i].code, 0);
			return;
		}
	if (strcmp(name, "epoch") == 0)
		encode_epoch(coding, expr);
	else if (strcmp(name, "dow") == 0)
	{
		/* 2000-01-01 was a Saturday */
		encode_day(coding, expr);
		append_constant(coding, GS_CODE_ADD, 6);
		append_64(coding, GS_CODE_REMAINDER, 7);
	}
	else if (unit >= 0 && exprType((Node *) expr) == TIMESTAMPOID)
	{
		encode_timestamp(coding, expr);
		append_64(coding, GS_CODE_QUOTIENT, units[unit].micros);
		append_64(coding, GS_CODE_REMAINDER, units[unit].in_next);
	}
	else
		coding->why = "a unit of time is not one that columns know";
}

/* Returns the unit that a function is called with, or NULL. */
static const char *
called_unit(const FuncExpr *call)
{
	const Const *unit = linitial(call->args);

	return IsA(unit, Const) && !unit->constisnull ? TextDatumGetCString(unit->constvalue) : NULL;
}

/* Encodes a function that takes a unit. */
static void
encode_with_unit(Coding *coding, const FuncExpr *call)
{
	const char *unit = called_unit(call);

	if (unit == NULL)
		coding->why = "a unit of time is not a constant";
	else if (call->funcid == F_DATE_TRUNC_TEXT_TIMESTAMP)
		encode_trunc(coding, unit, lsecond(call->args));
	else
		encode_extract(coding, unit, lsecond(call->args));
}

/* Encodes a function of strings, as the column of its results. */
static void
encode_string_function(Coding *coding, const FuncExpr *call)
{
	int			index = 0;

	coding->why = "a key is not a column";
	if (string_function_is((const Expr *) call))
		coding->why = string_function_add(coding->query, call, &index);
	if (coding->why == NULL)
		append_64(coding, GS_CODE_COLUMN, index);
}

/* Encodes a call of a function. */
static void
encode_call(Coding *coding, const FuncExpr *call)
{
	for (int i = 0; i < (int) lengthof(narrowing); i++)
		if (narrowing[i].function == call->funcid)
		{
			encode(coding, linitial(call->args));
			append_within(coding, narrowing[i].least, narrowing[i].greatest);
			return;
		}
	switch (call->funcid)
	{
		case F_DATE_TRUNC_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_TIMESTAMP:
		case F_EXTRACT_TEXT_DATE:
			encode_with_unit(coding, call);
			break;
		case F_DATE_TIMESTAMP:
			encode_day(coding, linitial(call->args));
			break;
		case F_TIMESTAMP_DATE:
			encode_day(coding, linitial(call->args));
			append_within(coding, LEAST_DATE, END_DATE_OF_TIMESTAMP);
			append_constant(coding, GS_CODE_MULTIPLY, USECS_PER_DAY);
			break;
		default:
			encode_string_function(coding, call);
	}
}

/* Encodes an operation on integers. */
static void
encode_operation(Coding *coding, const OpExpr *op)
{
	for (int i = 0; i < (int) lengthof(arithmetic); i++)
		if (arithmetic[i].function == op->opfuncid)
		{
			encode(coding, linitial(op->args));
			encode(coding, lsecond(op->args));
			append(coding, arithmetic[i].code, arithmetic[i].result, 0, 0);
			return;
		}
	coding->why = "a key is not a column";
}

/* Encodes an integer. */
static void
encode_constant(Coding *coding, const Const *constant)
{
	Oid			type = constant->consttype;

	if (constant->constisnull || (type != INT2OID && type != INT4OID && type != INT8OID))
		coding->why = "a key is not a column";
	else
		append_64(coding, GS_CODE_CONSTANT, type == INT2OID ? DatumGetInt16(constant->constvalue) :
				  type == INT4OID ? DatumGetInt32(constant->constvalue) : DatumGetInt64(constant->constvalue));
}

/* Encodes a column of integers, dates or timestamps. */
static void
encode_column(Coding *coding, const Var *var)
{
	int			index = 0;
	const char *why = terms_column(coding->query, (const Expr *) var, &index);
	Oid			type = why == NULL ? terms_column_type(coding->query, index) : InvalidOid;

	if (why != NULL)
		coding->why = why;
	else if (type != INT2OID && type != INT4OID && type != INT8OID && type != DATEOID && type != TIMESTAMPOID)
		coding->why = "a key is computed of a column of another type than integers, dates and timestamps";
	else
		append_64(coding, GS_CODE_COLUMN, index);
}

/* Encodes an expression. */
static void
encode(Coding *coding, Expr *expr)
{
	Expr	   *inner = terms_without_casts(expr);

	check_stack_depth();
	if (coding->why != NULL)
		return;
	switch (nodeTag(inner))
	{
		case T_Var:
			encode_column(coding, (Var *) inner);
			break;
		case T_Const:
			encode_constant(coding, (Const *) inner);
			break;
		case T_OpExpr:
			encode_operation(coding, (OpExpr *) inner);
			break;
		case T_FuncExpr:
			encode_call(coding, (FuncExpr *) inner);
			break;
		default:
			coding->why = "a key is not a column";
	}
}

/* Describes the values of an expression: numerics have the decimals that extract gives. */
static const char *
describe(const Expr *expr, ColumnDescription *column)
{
	const FuncExpr *call = (const FuncExpr *) expr;
	Oid			type = getBaseType(exprType((const Node *) expr));
	int			scale = 0;

	if (type != NUMERICOID)
		return column_describe_type(type, -1, column);
	if (!IsA(expr, FuncExpr))
		return "a key is not a column";
	if (call->funcid == F_EXTRACT_TEXT_TIMESTAMP && strcmp(called_unit(call), "epoch") == 0)
		scale = 6;
	return column_describe_type(NUMERICOID, ((30 << 16) | scale) + VARHDRSZ, column);
}

const char *
computed_add(ColumnsQuery *query, Expr *expr, int *index)
{
	Coding		coding = {.query = query};

	if (query->nfunctions > 0)
		return "it has computed columns and windows";
	for (*index = QUERY_GIVEN; *index < QUERY_GIVEN + query->ncomputed; (*index)++)
		if (equal(query->computed[*index - QUERY_GIVEN].expr, expr))
			return NULL;
	if (query->ncomputed == QUERY_MAX_COMPUTED)
		return "it has too many keys";
	if (query->computed == NULL)
		query->computed = palloc_array(QueryComputed, QUERY_MAX_COMPUTED);
	coding.computed = &query->computed[query->ncomputed];
	memset(coding.computed, 0, sizeof(QueryComputed));
	coding.computed->expr = expr;
	if (cases_is(expr))
		coding.why = cases_add(query, expr, coding.computed);
	else
		encode(&coding, expr);
	if (coding.why == NULL)
		coding.why = describe(expr, &query->columns[*index]);
	/* whatever the type is */
	query->columns[*index].gs = GS_I64;
	query->ncomputed += coding.why == NULL;
	return coding.why;
}

/* Finds the column of a key. */
static const char *
add_key(ColumnsQuery *query, Expr *key, int *column)
{
	const char *why;

	if (windows_add_average(query, key))
		return NULL;
	why = terms_is_column(key) ? terms_column(query, key, column) : computed_add(query, key, column);
	if (why == NULL && query->columns[*column].form == COLUMN_CODES && !terms_is_bytewise(exprCollation((Node *) key)))
		why = "strings of other bytes may be equal";
	return why;
}

#ifdef USE_ASSERT_CHECKING
/* Returns whether each average is a key's: the keys of its sum and number are set with that. */
static bool
averages_are_keys(const ColumnsQuery *query)
{
	int			used = 0;

	for (int i = 0; i < query->naverages; i++)
	{
		int			at = 0;

		while (at < query->nmembers && query->counts[at] != query->nmembers + i)
			at++;
		used += at < query->nmembers;
	}
	return used == query->naverages;
}
#endif

const char *
computed_add_keys(ColumnsQuery *query, List *keys)
{
	const char *why = NULL;
	ListCell   *lc;

	query->nmembers = list_length(keys);
	if (query->nmembers + query->naverages > (int) GS_STEPS_MAX_KEYS)
		return "it has too many keys";
	foreach(lc, keys)
	{
		if (why == NULL)
			why = add_key(query, lfirst(lc), &query->keys[query->nkeys++]);
	}
	Assert(why != NULL || averages_are_keys(query));
	query->nkeys = query->nmembers + query->naverages;
	return why;
}

const char *
computed_add_checks(ColumnsQuery *query, const List *checks)
{
	const char *why = NULL;
	ListCell   *lc;
	int			unused;

	foreach(lc, checks)
		if (why == NULL)
			why = computed_add(query, lfirst(lc), &unused);
	return why;
}

uint32
computed_put_types(const ColumnsQuery *query, uint8 *types)
{
	memset(&types[query->ncolumns], GS_I64, (Size) query->ncomputed);
	return (uint32) query->ncomputed;
}

/* Writes an instruction's constants.  Returns its operand. */
static uint32
put_operand(StepsWriter *writer, const QueryInstruction *in)
{
	int64		values[] = {in->operand, in->most};
	gs_constant constants[lengthof(values)];

	if (in->code == GS_CODE_COLUMN || (in->code != GS_CODE_CONSTANT && in->code < GS_CODE_QUOTIENT) ||
		in->code > GS_CODE_WITHIN)
		return (uint32) in->operand;
	for (int i = 0; i < (int) lengthof(values); i++)
		constants[i] = (gs_constant) {{(uint64) values[i], values[i] < 0 ? PG_UINT64_MAX : 0}};
	return steps_put(writer, constants, sizeof(gs_constant) * (in->code == GS_CODE_WITHIN ? 2 : 1));
}

/* Writes a column's code.  Returns where it stands. */
static uint32
put_code(StepsWriter *writer, const QueryComputed *computed)
{
	gs_instruction code[GS_STEPS_MAX_CODE];

	for (int i = 0; i < computed->ncode; i++)
		code[i] = (gs_instruction) {(uint8) computed->code[i].code, (uint8) computed->code[i].result, 0,
		put_operand(writer, &computed->code[i])};
	return steps_put(writer, code, sizeof(gs_instruction) * (Size) computed->ncode);
}

const char *
computed_put(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values)
{
	Size		size = offsetof(gs_compute_step, columns) + sizeof(gs_computed) * (Size) query->ncomputed;
	const char *why = NULL;
	uint32		offset;

	if (query->ncomputed == 0)
		return NULL;
	offset = steps_begin(writer, GS_STEP_COMPUTE, size);
	for (int i = 0; i < query->ncomputed && !writer->full && why == NULL; i++)
	{
		const QueryComputed *computed = &query->computed[i];
		gs_compute_step *step = (gs_compute_step *) (writer->data + offset);

		step->ncolumns = (uint32) query->ncomputed;
		step->columns[i].ncode = (uint32) computed->ncode;
		step->columns[i].nchoices = (uint32) computed->nchoices;
		if (computed->nchoices > 0)
			why = cases_put(writer, query, values, QUERY_GIVEN + i, &step->columns[i].code);
		else
			step->columns[i].code = put_code(writer, computed);
	}
	steps_end(writer, offset);
	return why;
}
