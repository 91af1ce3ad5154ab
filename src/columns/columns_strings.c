/*
 * columns_strings.c: conditions on strings that their codes do not tell.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "columns_strings.h"
#include "string_bytes.h"

/* Strings between two looks at interrupts, whose datums are freed together. */
#define STRINGS_AT_ONCE 256

static const Oid functions_of_numbers[] = {
	F_INT4EQ, F_INT4NE, F_INT4LT, F_INT4LE, F_INT4GT, F_INT4GE, F_INT42EQ, F_INT42NE, F_INT42LT, F_INT42LE, F_INT42GT,
	F_INT42GE, F_INT48EQ, F_INT48NE, F_INT48LT, F_INT48LE, F_INT48GT, F_INT48GE
};

const char *const strings_raise = "a function of strings raises an error";

static const Oid functions[] = {
	F_TEXT_LT, F_TEXT_LE, F_TEXT_GT, F_TEXT_GE, F_TEXTEQ, F_TEXTNE, F_TEXTLIKE, F_TEXTNLIKE, F_TEXTICLIKE,
	F_TEXTICNLIKE, F_TEXTREGEXEQ, F_TEXTREGEXNE, F_TEXTICREGEXEQ, F_TEXTICREGEXNE, F_STARTS_WITH,
	F_TEXT_PATTERN_LT, F_TEXT_PATTERN_LE, F_TEXT_PATTERN_GT, F_TEXT_PATTERN_GE,
	F_BPCHARLT, F_BPCHARLE, F_BPCHARGT, F_BPCHARGE, F_BPCHAREQ, F_BPCHARNE, F_BPCHARLIKE, F_BPCHARNLIKE,
	F_BPCHARICLIKE, F_BPCHARICNLIKE, F_BPCHARREGEXEQ, F_BPCHARREGEXNE, F_BPCHARICREGEXEQ, F_BPCHARICREGEXNE,
	F_NAMELT, F_NAMELE, F_NAMEGT, F_NAMEGE, F_NAMEEQ, F_NAMENE, F_NAMELIKE, F_NAMENLIKE, F_NAMEICLIKE, F_NAMEICNLIKE,
	F_NAMEREGEXEQ, F_NAMEREGEXNE, F_NAMEICREGEXEQ, F_NAMEICREGEXNE,
	F_NAMELTTEXT, F_NAMELETEXT, F_NAMEGTTEXT, F_NAMEGETEXT, F_NAMEEQTEXT, F_NAMENETEXT
};

/* Of these, those that take longest, */
static const Oid searches[] = {
	F_TEXTICLIKE, F_TEXTICNLIKE, F_TEXTREGEXEQ, F_TEXTREGEXNE, F_TEXTICREGEXEQ, F_TEXTICREGEXNE,
	F_BPCHARICLIKE, F_BPCHARICNLIKE, F_BPCHARREGEXEQ, F_BPCHARREGEXNE, F_BPCHARICREGEXEQ, F_BPCHARICREGEXNE,
	F_NAMEICLIKE, F_NAMEICNLIKE, F_NAMEREGEXEQ, F_NAMEREGEXNE, F_NAMEICREGEXEQ, F_NAMEICREGEXNE
};

/* and those that take less, but more than comparisons. */
static const Oid likes[] = {
	F_TEXTLIKE, F_TEXTNLIKE, F_BPCHARLIKE, F_BPCHARNLIKE, F_NAMELIKE, F_NAMENLIKE
};

/* Returns true if a function is in a list. */
static bool
is_listed(const Oid *list, int n, Oid function)
{
	for (int i = 0; i < n; i++)
		if (list[i] == function)
			return true;
	return false;
}

bool
strings_function(Oid function)
{
	return is_listed(functions, lengthof(functions), function);
}

bool
strings_number_function(Oid function)
{
	return is_listed(functions_of_numbers, lengthof(functions_of_numbers), function);
}

/* ---------------------------------------------------------------- calls */

const char *
string_call_begin(StringCall *call, const QueryCall *of, const QueryValues *values)
{
	int			nargs = list_length(of->expr->args);

	fmgr_info(of->expr->funcid, &call->function);
	fmgr_info_set_expr((Node *) of->expr, &call->function);
	call->arguments = palloc0(SizeForFunctionCallInfo(QUERY_MAX_ARGUMENTS));
	InitFunctionCallInfoData(*call->arguments, &call->function, (short) nargs, of->expr->inputcollid, NULL, NULL);
	for (int i = 1; i < nargs; i++)
	{
		if (values->nulls[of->values[i]])
			return "an argument of a function of strings is NULL";
		call->arguments->args[i].value = values->values[of->values[i]];
	}
	return NULL;
}

const char *
string_call(StringCall *call, Datum string, Datum *result)
{
	call->arguments->args[0].value = string;
	call->arguments->isnull = false;
	*result = FunctionCallInvoke(call->arguments);
	return call->arguments->isnull ? "a function of strings returns NULL" : NULL;
}

/* ---------------------------------------------------------------- tests */

Size
strings_words(const StringCodes *codes)
{
	return ((Size) codes->limit + codes->count + 63) / 64;
}

uint64 *
strings_possible(const StringCodes *codes)
{
	Size		words = strings_words(codes);
	uint64	   *bits = palloc_extended((words + 1) * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

	if (codes->possible != NULL)
		return memcpy(bits, codes->possible, ((Size) codes->npossible + 63) / 64 * sizeof(uint64));
	memset(bits, 0xff, words * sizeof(uint64));
	if ((codes->limit + codes->count) % 64 != 0)
		bits[words - 1] = (UINT64CONST(1) << (codes->limit + codes->count) % 64) - 1;
	return bits;
}

/* Strings that are tested. */
typedef struct Testing
{
	const StringCodes *codes;
	const ColumnDescription *column;
	const QueryTerm *term;
	Datum		value;
	StringCall	call;			/* if the term has one */
	const char *part;			/* bytes that strings are to have, or not to have; NULL: the function says */
	uint32		part_bytes;
	uint64	   *bits;
	const char *why;			/* why no bits can be believed */
} Testing;

/* Returns the bytes that are what a condition asks about alone: of a LIKE "%bytes%", or its negation; else NULL. */
static const char *
part_of(const ColumnDescription *column, const QueryTerm *term, Datum value, uint32 *bytes)
{
	Oid			base = getBaseType(column->type);

	if (term->call != NULL || (base != TEXTOID && base != VARCHAROID) ||
		(term->function != F_TEXTLIKE && term->function != F_TEXTNLIKE))
		return NULL;
	return bytes_of_pattern(value, term->collation, bytes);
}

uint32
strings_call_time(const QueryCall *call)
{
	Oid			function = call->expr->funcid;

	return function == F_REGEXP_REPLACE_TEXT_TEXT_TEXT || function == F_REGEXP_REPLACE_TEXT_TEXT_TEXT_TEXT ?
		STRINGS_LONG_TIME : 100;
}

uint32
strings_term_time(const ColumnDescription *column, const QueryTerm *term, const QueryValues *values)
{
	uint32		time = term->call != NULL ? strings_call_time(term->call) : 0;
	uint32		bytes;

	if (is_listed(searches, lengthof(searches), term->function))
		return time + 500;
	if (!is_listed(likes, lengthof(likes), term->function))
		return time + 50;
	return time + (part_of(column, term, values->values[term->value], &bytes) != NULL ? 30 : 100);
}

/* Returns true if a code's string passes such a condition. */
static bool
passes_part(Testing *testing, uint32 code)
{
	uint32		bytes;
	const char *p = codes_string(testing->codes, code, &bytes);

	if (p == NULL)
		testing->why = codes_impossible;
	return p != NULL && bytes_contain(p, bytes, testing->part, testing->part_bytes) ==
		(testing->term->function == F_TEXTLIKE);
}

/* Returns true if a code's string passes. */
static bool
passes(Testing *testing, Oid base, uint32 code, FmgrInfo *function)
{
	Datum		tested;

	if (testing->part != NULL)
		return passes_part(testing, code);
	if (!codes_datum(testing->codes, base, testing->column->typmod, code, &tested))
		testing->why = codes_impossible;
	else if (testing->term->call != NULL)
		testing->why = string_call(&testing->call, tested, &tested);
	return testing->why == NULL &&
		DatumGetBool(FunctionCall2Coll(function, testing->term->collation, tested, testing->value));
}

/* Tests strings in a context of their own. */
static void
test_strings(void *arg)
{
	Testing    *testing = arg;
	const StringCodes *codes = testing->codes;
	uint64	   *bits = testing->bits;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort strings", ALLOCSET_SMALL_SIZES);
	MemoryContext old = CurrentMemoryContext;
	Oid			base = getBaseType(testing->column->type);
	FmgrInfo	function;

	fmgr_info(testing->term->function, &function);
	testing->part = part_of(testing->column, testing->term, testing->value, &testing->part_bytes);
	MemoryContextSwitchTo(context);
	for (uint32 code = 0; code < codes->limit + codes->count && testing->why == NULL; code++)
	{
		if (code % STRINGS_AT_ONCE == 0)
		{
			CHECK_FOR_INTERRUPTS();
			MemoryContextReset(context);
		}
		if ((bits[code / 64] >> (code % 64) & 1) != 0 && !passes(testing, base, code, &function))
			bits[code / 64] &= ~(UINT64CONST(1) << (code % 64));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * Returns true for an error that these functions raise for their arguments, or for a result that is too long (an
 * internal error where it is a request of memory), before which they hold nothing.
 */
static bool
is_argument_error(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_DATA_EXCEPTION || sqlerrcode == ERRCODE_INDETERMINATE_COLLATION ||
		sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED || sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED ||
		sqlerrcode == ERRCODE_INTERNAL_ERROR;
}

const char *
strings_call(void (*work) (void *arg), void *arg, const char *reason)
{
	MemoryContext old = CurrentMemoryContext;
	const char *volatile why = NULL;

	PG_TRY();
	{
		work(arg);
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(old);
		if (!is_argument_error(geterrcode()))
			PG_RE_THROW();
		FlushErrorState();
		why = reason;
	}
	PG_END_TRY();
	return why;
}

const char *
strings_test(const StringCodes *codes, const ColumnDescription *column, const QueryTerm *term,
			 const QueryValues *values, uint64 *bits)
{
	Testing		testing = {.codes = codes, .column = column, .term = term, .value = values->values[term->value],
	.bits = bits};
	const char *why = term->call != NULL ? string_call_begin(&testing.call, term->call, values) : NULL;

	if (why == NULL)
		why = strings_call(test_strings, &testing, strings_raise);
	return why != NULL ? why : testing.why;
}
