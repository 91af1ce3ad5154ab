/*
 * string_functions.c: functions of strings in expressions.
 *
 * A column of results is the column of strings once more, whose codes the service replaces by numbers, as it does by
 * ranks.  Numbers are results that are integers, or codes of results that are strings: a dictionary of the question's
 * own.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "columns_strings.h"
#include "columns_terms.h"
#include "string_bytes.h"
#include "string_functions.h"
#include "string_workers.h"

/* Strings between two looks at interrupts, whose datums are freed together. */
#define STRINGS_AT_ONCE 256

/* Functions whose first argument is the string. */
static const Oid functions[] = {
	F_LENGTH_TEXT, F_CHAR_LENGTH_TEXT, F_CHARACTER_LENGTH_TEXT, F_OCTET_LENGTH_TEXT, F_LENGTH_BPCHAR,
	F_CHAR_LENGTH_BPCHAR, F_CHARACTER_LENGTH_BPCHAR, F_OCTET_LENGTH_BPCHAR, F_STRPOS, F_POSITION_TEXT_TEXT,
	F_SUBSTR_TEXT_INT4, F_SUBSTR_TEXT_INT4_INT4, F_SUBSTRING_TEXT_INT4, F_SUBSTRING_TEXT_INT4_INT4,
	F_REGEXP_REPLACE_TEXT_TEXT_TEXT, F_REGEXP_REPLACE_TEXT_TEXT_TEXT_TEXT
};

/* Returns true for one of these functions. */
static bool
is_function(Oid function)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
		if (functions[i] == function)
			return true;
	return false;
}

bool
string_function_is(const Expr *expr)
{
	const FuncExpr *call = (const FuncExpr *) expr;
	const Expr *string;

	if (!IsA(expr, FuncExpr) || !is_function(call->funcid) || list_length(call->args) > QUERY_MAX_ARGUMENTS)
		return false;
	string = terms_without_casts(linitial(call->args));
	if (!IsA(string, Var) || !terms_is_string(getBaseType(exprType((const Node *) string))))
		return false;
	for (int i = 1; i < list_length(call->args); i++)
		if (!terms_is_value(list_nth(call->args, i)))
			return false;
	return true;
}

QueryCall *
string_function_call(ColumnsQuery *query, const FuncExpr *expr)
{
	QueryCall  *call = palloc0_object(QueryCall);

	call->expr = expr;
	for (int i = 1; i < list_length(expr->args); i++)
		call->values[i] = terms_value(query, list_nth(expr->args, i));
	query->needs_strings = true;
	return call;
}

const char *
string_function_add(ColumnsQuery *query, const FuncExpr *call, int *index)
{
	const Var  *var = (const Var *) terms_without_casts(linitial(call->args));
	const char *why;

	for (*index = 0; *index < query->ncolumns; (*index)++)
		if (query->mapped[*index] != NULL && equal(query->mapped[*index]->call->expr, call))
			return NULL;
	why = terms_new_column(query, var, index);
	if (why != NULL)
		return why;
	query->mapped[*index] = palloc0_object(QueryMapping);
	query->mapped[*index]->call = string_function_call(query, call);
	return NULL;
}

/* ---------------------------------------------------------------- calls */

/* Calls of a function. */
typedef struct Calling
{
	StringCodes *codes;
	const ColumnDescription *column;
	QueryMapping *mapping;
	StringCall	call;
	bool		length;			/* the characters of a text, which its bytes tell */
	MemoryContext datums;		/* of some strings */
	uint32		most;			/* the greatest number so far */
	const char *why;
} Calling;

/* Returns a result that is a number, by which the service is to know it. */
static uint32
note_number(Calling *calling, int32 number)
{
	Assert(number >= 0);
	calling->most = Max(calling->most, (uint32) number);
	return (uint32) number;
}

/* Returns the code of a result that is a text. */
static uint32
note_text(Calling *calling, const char *text, uint32 bytes)
{
	uint32		code = codes_of(calling->mapping->results, text, bytes);

	if (code == GSD_NO_CODE)
		calling->why = "results of a function of strings are more than gpusort.work_mem has room for";
	return code;
}

/* Returns the number by which the service is to know a result. */
static uint32
number_of(Calling *calling, Datum result)
{
	const char *text;
	uint32		bytes;

	if (calling->mapping->results == NULL)
		return note_number(calling, DatumGetInt32(result));
	(void) string_of_datum(TEXTOID, -1, DatumGetPointer(result), &text, &bytes);
	return note_text(calling, text, bytes);
}

/* Returns true for a function that counts the characters of a text. */
static bool
is_length(const Calling *calling)
{
	Oid			base = getBaseType(calling->column->type);
	Oid			function = calling->mapping->call->expr->funcid;

	return (base == TEXTOID || base == VARCHAROID) && bytes_are_characters() &&
		(function == F_LENGTH_TEXT || function == F_CHAR_LENGTH_TEXT || function == F_CHARACTER_LENGTH_TEXT);
}

/* Returns the characters of a string. */
static uint32
length_of(Calling *calling, uint32 code)
{
	uint32		bytes;
	const char *p = codes_string(calling->codes, code, &bytes);

	if (p == NULL)
		calling->why = codes_impossible;
	return p != NULL ? note_number(calling, (int32) bytes_length(p, bytes)) : 0;
}

/* Calls the function for a string. */
static uint32
call_for(Calling *calling, uint32 code)
{
	Datum		string,
				result;

	if (calling->length)
		return length_of(calling, code);
	if (!codes_datum(calling->codes, getBaseType(calling->column->type), calling->column->typmod, code, &string))
		calling->why = codes_impossible;
	else
		calling->why = string_call(&calling->call, string, &result);
	return calling->why == NULL ? number_of(calling, result) : 0;
}

/* Calls the function for the strings of some codes, of those that are possible. */
static void
call_for_some(void *arg, uint32 from, uint32 to)
{
	Calling    *calling = arg;
	MemoryContext old = MemoryContextSwitchTo(calling->datums);

	for (uint32 code = from; code < to && calling->why == NULL; code++)
	{
		if (code % STRINGS_AT_ONCE == 0)
		{
			CHECK_FOR_INTERRUPTS();
			MemoryContextReset(calling->datums);
		}
		if (codes_possible(calling->codes, code))
			calling->mapping->numbers[code] = call_for(calling, code);
	}
	MemoryContextSwitchTo(old);
}

/* Takes the result of a worker's call. */
static void
take_result(void *arg, uint32 code, const char *text, uint32 number)
{
	Calling    *calling = arg;

	if (calling->why == NULL)
		calling->mapping->numbers[code] = text != NULL ? note_text(calling, text, number) :
			note_number(calling, (int32) number);
}

/* Calls the function for all strings that are possible, as the work of strings_call. */
static void
call_for_all(void *arg)
{
	Calling    *calling = arg;
	const StringsJob job = {calling->codes, calling->column, calling->mapping->call, &calling->call, call_for_some,
	take_result, calling};

	if (strings_call_time(job.of) >= STRINGS_LONG_TIME)
		string_workers_call(&job);
	else
		call_for_some(calling, 0, calling->mapping->count);
}

/* Returns the narrowest type that holds a number, and is no narrower than another. */
static gs_type
type_for(gs_type least, uint32 number)
{
	gs_type		needed = number <= PG_UINT8_MAX ? GS_U8 : number <= PG_UINT16_MAX ? GS_U16 : GS_U32;

	return gs_type_width(needed) > gs_type_width(least) ? needed : least;
}

/* Calls the function of a column, whose results may be wider than its codes. */
static const char *
call_function(ColumnsQuery *query, int column, const QueryValues *values)
{
	QueryMapping *mapping = query->mapped[column];
	gs_type		type = (gs_type) query->columns[column].gs;
	Calling		calling = {.codes = query->codes[column], .column = &query->columns[column], .mapping = mapping};
	const char *why;

	mapping->count = calling.codes->limit + calling.codes->count;
	mapping->results = NULL;
	if ((Size) mapping->count * sizeof(uint32) > gpusort_memory_limit())
		return "results of a function of strings are more than gpusort.work_mem has room for";
	mapping->numbers = palloc_extended(((Size) mapping->count + 1) * sizeof(uint32),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (mapping->call->expr->funcresulttype == TEXTOID)
	{
		mapping->results = palloc_object(StringCodes);
		codes_begin(mapping->results, NULL, type, gpusort_memory_limit(), true);
	}
	why = string_call_begin(&calling.call, mapping->call, values);
	if (why != NULL)
		return why;
	calling.length = is_length(&calling);
	calling.datums = AllocSetContextCreate(CurrentMemoryContext, "gpusort strings", ALLOCSET_SMALL_SIZES);
	why = strings_call(call_for_all, &calling, strings_raise);
	MemoryContextDelete(calling.datums);
	query->columns[column].gs = type_for(type, calling.most);
	return why != NULL ? why : calling.why;
}

/* Has computed columns that are a column of results know the strings of its codes. */
static void
set_codes(ColumnsQuery *query, int column)
{
	for (int i = 0; i < query->ncomputed; i++)
		if (query->computed[i].nchoices == 0 && query->computed[i].code[0].code == GS_CODE_COLUMN &&
			query->computed[i].code[0].operand == column)
			query->codes[QUERY_GIVEN + i] = query->mapped[column]->results;
}

const char *
string_functions_call(ColumnsQuery *query, const QueryValues *values)
{
	const char *why = NULL;

	for (int i = 0; i < query->ncolumns && why == NULL; i++)
	{
		if (query->mapped[i] == NULL)
			continue;
		why = call_function(query, i, values);
		set_codes(query, i);
	}
	return why;
}
