/*
 * columns_cases.c: CASE and coalesce of columns and values as choices that the service makes, row by row.
 *
 * ClickBench's Q40 has such a key, CASE WHEN SearchEngineID = 0 AND AdvEngineID = 0 THEN Referer ELSE '' END.  A string
 * that is a choice has a code of the column that is another one: the entry's, or a temporary one as rows have that are
 * added to the question.  Without such a column the question has codes for these strings alone.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "kernels/common/steps_parts.h"
#include "src/base/compat.h"
#include "src/base/guc.h"
#include "columns_cases.h"
#include "columns_conditions.h"
#include "columns_filter.h"
#include "columns_terms.h"
#include "columns_windows.h"

bool
cases_is(const Expr *expr)
{
	return IsA(expr, CaseExpr) || IsA(expr, CoalesceExpr);
}

/* Returns true for types that choices may have: those whose equal values have the same bytes and no length. */
static bool
is_chosen_type(Oid type)
{
	return type == INT2OID || type == INT4OID || type == INT8OID || type == DATEOID || type == TIMESTAMPOID ||
		type == TEXTOID || type == VARCHAROID;
}

/* Returns true if two base types are held alike once casts are left out. */
static bool
are_alike(Oid type, Oid other)
{
	if (terms_is_string(type))
		return other == TEXTOID || other == VARCHAROID;
	return type == other || (terms_is_number(type) && (other == INT2OID || other == INT4OID || other == INT8OID));
}

/* Sets a choice of a column.  Returns NULL, or why it cannot be one. */
static const char *
add_column(ColumnsQuery *query, const Expr *expr, QueryComputed *computed, QueryChoice *choice)
{
	const char *why = terms_column(query, expr, &choice->column);

	if (why != NULL || query->columns[choice->column].form != COLUMN_CODES)
		return why;
	if (computed->strings >= 0 && computed->strings != choice->column)
		return "a CASE has strings of two columns";
	computed->strings = choice->column;
	return NULL;
}

/* Sets what a choice gives. */
static const char *
add_result(ColumnsQuery *query, Expr *expr, QueryComputed *computed, QueryChoice *choice)
{
	Expr	   *inner = terms_without_casts(expr);

	choice->column = -1;
	choice->type = getBaseType(exprType((Node *) inner));
	if (!are_alike(getBaseType(exprType((Node *) computed->expr)), choice->type))
		return "a CASE is of another type than its columns";
	if (IsA(inner, Var))
		return add_column(query, inner, computed, choice);
	if (!terms_is_value(inner))
		return "a CASE gives something else than columns and values";
	choice->value = terms_value(query, inner);
	return NULL;
}

/* Adds a choice.  condition: for which rows; NULL: for all. */
static const char *
add_choice(ColumnsQuery *query, Expr *condition, Expr *result, QueryComputed *computed)
{
	QueryChoice *choice = &computed->choices[computed->nchoices];
	const char *why = NULL;

	if (computed->nchoices == (int) GS_STEPS_MAX_CHOICES)
		return "a CASE has too many choices";
	computed->nchoices++;
	if (condition != NULL)
		why = conditions_add(query, list_make1(condition), false, &choice->terms);
	return why != NULL ? why : add_result(query, result, computed, choice);
}

/* Adds the choices of CASE WHEN. */
static const char *
add_case(ColumnsQuery *query, const CaseExpr *expr, QueryComputed *computed)
{
	const char *why = expr->arg != NULL ? "a CASE compares a value of its own" : NULL;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		const CaseWhen *when = lfirst_node(CaseWhen, lc);

		if (why == NULL)
			why = add_choice(query, when->expr, when->result, computed);
	}
	if (why == NULL && expr->defresult != NULL)
		why = add_choice(query, NULL, expr->defresult, computed);
	return why;
}

/* Adds the choices of coalesce: each column where it is not NULL, then the last argument. */
static const char *
add_coalesce(ColumnsQuery *query, const CoalesceExpr *expr, QueryComputed *computed)
{
	const char *why = NULL;
	ListCell   *lc;

	foreach(lc, expr->args)
	{
		NullTest   *test = makeNode(NullTest);

		test->arg = lfirst(lc);
		test->nulltesttype = IS_NOT_NULL;
		if (why == NULL)
			why = add_choice(query, lnext(expr->args, lc) != NULL ? (Expr *) test : NULL, lfirst(lc), computed);
	}
	return why;
}

/*
 * Returns true if values from one on may be evaluated for no row: PostgreSQL evaluates those of a CASE for rows that
 * come to them.
 */
static bool
are_harmless(const ColumnsQuery *query, int first)
{
	for (int i = first; i < list_length(query->values); i++)
	{
		const Node *value = list_nth(query->values, i);

		if (!IsA(value, Const) && !(IsA(value, Param) && ((const Param *) value)->paramkind == PARAM_EXTERN))
			return false;
	}
	return true;
}

const char *
cases_add(ColumnsQuery *query, const Expr *expr, QueryComputed *computed)
{
	int			nvalues = list_length(query->values);
	const char *why = NULL;

	computed->strings = -1;
	if (!is_chosen_type(getBaseType(exprType((const Node *) expr))))
		why = "a CASE is of a type that columns do not choose";
	if (why == NULL)
		why = IsA(expr, CaseExpr) ? add_case(query, (const CaseExpr *) expr, computed) :
			add_coalesce(query, (const CoalesceExpr *) expr, computed);
	if (why == NULL && !are_harmless(query, nvalues))
		why = "a CASE has a value that is neither a constant nor a parameter";
	return why;
}

/* ---------------------------------------------------------------- strings */

/* Sets what the service knows a string that is a value by.  Returns false if there is no code left. */
static bool
find_code(StringCodes *codes, const QueryChoice *choice, Datum value, uint32 *code)
{
	const char *p;
	uint32		bytes;

	(void) string_of_datum(choice->type, -1, DatumGetPointer(value), &p, &bytes);
	*code = codes_held(codes, p, bytes);
	return *code != GSD_NO_CODE;
}

/* Begins the codes of a column of choices. */
static const char *
begin_codes(ColumnsQuery *query, const QueryValues *values, int column)
{
	const QueryComputed *computed = &query->computed[column - QUERY_GIVEN];
	StringCodes *codes = computed->strings >= 0 ? query->codes[computed->strings] : palloc_object(StringCodes);
	uint32		code;

	if (computed->strings < 0)
		codes_begin(codes, NULL, GS_U32, gpusort_memory_limit(), false);
	query->codes[column] = codes;
	for (int i = 0; i < computed->nchoices; i++)
	{
		const QueryChoice *choice = &computed->choices[i];

		if (choice->column < 0 && !values->nulls[choice->value] &&
			!find_code(codes, choice, values->values[choice->value], &code))
			return "no code is left for a string";
	}
	return NULL;
}

const char *
cases_begin_codes(ColumnsQuery *query, const QueryValues *values)
{
	const char *why = NULL;

	for (int i = 0; i < query->ncomputed && why == NULL; i++)
		if (query->computed[i].nchoices > 0 && query->columns[QUERY_GIVEN + i].form == COLUMN_CODES)
			why = begin_codes(query, values, QUERY_GIVEN + i);
	return why;
}

/* ---------------------------------------------------------------- writing */

/* Returns a value as what the service compares, which strings of an open question have a code for. */
static int64
held_value(const ColumnsQuery *query, const QueryChoice *choice, int column, Datum value)
{
	uint32		code = 0;

	switch (choice->type)
	{
		case INT2OID:
			return DatumGetInt16(value);
		case INT4OID:
		case DATEOID:
			return DatumGetInt32(value);
		case INT8OID:
		case TIMESTAMPOID:
			return DatumGetInt64(value);
		default:
			(void) find_code(query->codes[column], choice, value, &code);
			return code;
	}
}

/* Returns the instruction that pushes what a choice gives. */
static gs_instruction
put_value(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, int column,
		  const QueryChoice *choice)
{
	gs_instruction in = {GS_CODE_CONSTANT, GS_NUMBER_I64, 0, 0};
	gs_constant constant = {{0}};
	int64		value;

	if (choice->column >= 0)
		return (gs_instruction) {GS_CODE_COLUMN, (uint8) gs_number_of((gs_type) query->columns[choice->column].gs), 0,
		windows_list_column(query, choice->column)};
	if (values->nulls[choice->value])
		return in;
	value = held_value(query, choice, column, values->values[choice->value]);
	constant.half[0] = (uint64) value;
	constant.half[1] = value < 0 ? PG_UINT64_MAX : 0;
	in.operand = steps_put(writer, &constant, sizeof(constant));
	return in;
}

const char *
cases_put(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, int column, uint32 *offset)
{
	const QueryComputed *computed = &query->computed[column - QUERY_GIVEN];
	gs_choice  *choices;
	const char *why = NULL;

	*offset = steps_reserve(writer, sizeof(gs_choice) * (Size) computed->nchoices);
	choices = (gs_choice *) (writer->data + *offset);
	for (int i = 0; i < computed->nchoices && why == NULL && !writer->full; i++)
	{
		gs_choice	choice = {0};

		if (computed->choices[i].terms.count > 0)
			why = filter_put_terms(writer, query, &computed->choices[i].terms, values, &choice.terms, &choice.nterms);
		choice.value = put_value(writer, query, values, column, &computed->choices[i]);
		choices[i] = choice;
	}
	return why;
}
