/*
 * columns_strings.c: conditions on strings that their codes do not tell.
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "columns_strings.h"

/* Strings between two looks at interrupts, whose datums are freed together. */
#define STRINGS_AT_ONCE 256

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

bool
strings_function(Oid function)
{
	for (int i = 0; i < (int) lengthof(functions); i++)
		if (functions[i] == function)
			return true;
	return false;
}

Size
strings_words(const StringCodes *codes)
{
	return ((Size) codes->limit + codes->count + 63) / 64;
}

/* Strings that are tested. */
typedef struct Testing
{
	const StringCodes *codes;
	const ColumnDescription *column;
	const QueryTerm *term;
	Datum		value;
	uint64	   *bits;
	const char *why;			/* why no bits can be believed */
} Testing;

/* Tests strings in a context of their own. */
static void
test_strings(void *arg)
{
	Testing    *testing = arg;
	const StringCodes *codes = testing->codes;
	const ColumnDescription *column = testing->column;
	uint64	   *bits = testing->bits;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort strings", ALLOCSET_SMALL_SIZES);
	MemoryContext old = CurrentMemoryContext;
	Oid			base = getBaseType(column->type);
	FmgrInfo	function;

	fmgr_info(testing->term->function, &function);
	MemoryContextSwitchTo(context);
	for (uint32 code = 0; code < codes->limit + codes->count && testing->why == NULL; code++)
	{
		Datum		string;

		if (code % STRINGS_AT_ONCE == 0)
		{
			CHECK_FOR_INTERRUPTS();
			MemoryContextReset(context);
		}
		if ((bits[code / 64] >> (code % 64) & 1) == 0)
			continue;
		if (!codes_datum(codes, base, column->typmod, code, &string))
			testing->why = codes_impossible;
		else if (!DatumGetBool(FunctionCall2Coll(&function, testing->term->collation, string, testing->value)))
			bits[code / 64] &= ~(UINT64CONST(1) << (code % 64));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/*
 * Returns true for an error that these functions raise for their arguments, or for a result that is too long, before
 * which they hold nothing.
 */
static bool
is_argument_error(int sqlerrcode)
{
	return ERRCODE_TO_CATEGORY(sqlerrcode) == ERRCODE_DATA_EXCEPTION || sqlerrcode == ERRCODE_INDETERMINATE_COLLATION ||
		sqlerrcode == ERRCODE_FEATURE_NOT_SUPPORTED || sqlerrcode == ERRCODE_PROGRAM_LIMIT_EXCEEDED;
}

const char *
strings_call(void (*work) (void *arg), void *arg)
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
		why = "a function of strings raises an error";
	}
	PG_END_TRY();
	return why;
}

const char *
strings_test(const StringCodes *codes, const ColumnDescription *column, const QueryTerm *term, Datum value,
			 uint64 *bits)
{
	Testing		testing = {codes, column, term, value, bits, NULL};
	const char *why = strings_call(test_strings, &testing);

	return why != NULL ? why : testing.why;
}
