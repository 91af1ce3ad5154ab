/*
 * string_occurrence.c: which strings of a dictionary functions are called for.
 *
 * Functions that conditions need come one after another, short ones first; each is called for what the ones before have
 * left.  Before one that would take much longer than a look at all rows, the service says of a sample how many rows
 * pass all conditions so far, and, if these have few of the strings, which ones.  All others are strings of no row that
 * is wanted, whatever the function would return for them.
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"

#include "src/base/compat.h"
#include "columns_strings.h"
#include "string_occurrence.h"

/* The time of a function for all strings, in looks at a sample of the rows, from which on these are no part of it. */
#define SAMPLES_PAY 20

/*
 * What it takes to ask, and to find which strings occur: for a row that passes, a string, and one that is found; in
 * nanoseconds.
 */
#define QUESTION_TIME 300000
#define ROW_TIME	20
#define STRING_TIME 20
#define FOUND_TIME	200

static const char *const impossible = "the service's answer is impossible";

/* A function that is called for the strings of a column. */
typedef struct StringUse
{
	int			column;
	QueryTerm  *term;			/* the condition's; NULL: the column's results are wanted */
	uint32		time;			/* of a call, in nanoseconds */
} StringUse;

/* A query whose strings are judged. */
typedef struct Judging
{
	ColumnsQuery *query;
	const QueryValues *values;
	const OccurrenceSource *source;
	int			nuses;
	StringUse  *uses;			/* in the order of their times */
} Judging;

/* Adds a function, behind those that take no longer. */
static void
add_use(Judging *judging, StringUse use)
{
	int			at = judging->nuses++;

	for (; at > 0 && judging->uses[at - 1].time > use.time; at--)
		judging->uses[at] = judging->uses[at - 1];
	judging->uses[at] = use;
}

/* Lists the functions.  Where a condition compares with NULL no row passes, and none is called. */
static void
list_uses(Judging *judging)
{
	ColumnsQuery *query = judging->query;

	judging->uses = palloc_array(StringUse, query->where.count + query->ncolumns + 1);
	for (int i = 0; i < query->where.count; i++)
	{
		QueryTerm  *term = &query->where.terms[i];

		term->judged = false;
		if (term->test == GS_TEST_IN_BITS && !judging->values->nulls[term->value])
			add_use(judging, (StringUse) {
				term->column, term, strings_term_time(&query->columns[term->column], term, judging->values)
			});
	}
	for (int i = 0; i < query->ncolumns; i++)
		if (query->mapped[i] != NULL)
			add_use(judging, (StringUse) {i, NULL, strings_call_time(query->mapped[i]->call)});
}

/* ---------------------------------------------------------------- questions */

/* Returns true for a condition that the service can test now. */
static bool
is_known(const QueryTerm *term)
{
	return term->test != GS_TEST_IN_BITS || term->judged;
}

/* Returns true if a known condition is about another column, so that it tells more about strings than they do. */
static bool
others_are_known(const ColumnsQuery *query, int column)
{
	AttrNumber	number = query->columns[column].number;

	for (int i = 0; i < query->where.count; i++)
	{
		const QueryTerm *term = &query->where.terms[i];

		if (is_known(term) && (term->test >= GS_TEST_EQ_COLUMN || query->columns[term->column].number != number))
			return true;
	}
	return false;
}

/* Makes a question about the number of rows that pass all known conditions. */
static ColumnsQuestion *
question_about(const ColumnsQuery *query, QuestionAside aside)
{
	ColumnsQuestion *question = palloc0_object(ColumnsQuestion);
	ColumnsQuery *about = palloc0_object(ColumnsQuery);

	about->ncolumns = query->ncolumns;
	memcpy(about->columns, query->columns, sizeof(query->columns));
	memcpy(about->codes, query->codes, sizeof(query->codes));
	about->limit = about->offset = -1;
	about->where.terms = palloc_array(QueryTerm, query->where.count + 1);
	for (int i = 0; i < query->where.count; i++)
		if (is_known(&query->where.terms[i]))
			about->where.terms[about->where.count++] = query->where.terms[i];
	about->nrequests = 1;
	about->requests[0] = (QueryRequest) {.operation = GS_COUNT, .fraction = -1};
	question->query = about;
	question->aside = aside;
	return question;
}

/* Asks about how many rows pass, by a sample. */
static const char *
estimate_rows(const Judging *judging, bool *answered, double *rows)
{
	ColumnsQuestion *question = question_about(judging->query, QUESTION_SAMPLE);
	const char *why = judging->source->ask(judging->source->arg, question, answered);

	*answered &= question->share > 0;
	*rows = *answered ? (double) question->reduced[0].count / question->share : 0;
	return why;
}

/* Codes that occur. */
typedef struct Occurring
{
	uint64	   *bits;
	uint32		limit;			/* of codes */
} Occurring;

/* ColumnsQuestion.take: notes codes, each of which comes with the number of its rows. */
static const char *
take_codes(void *arg, const gs_reduced *groups, uint64 n)
{
	const Occurring *occurring = arg;

	for (uint64 i = 0; i < n; i++)
	{
		const gs_reduced *key = &groups[2 * i];

		if (key->count == 0)
			continue;			/* NULL */
		if (key->value[1] != 0 || key->value[0] >= occurring->limit)
			return impossible;
		occurring->bits[key->value[0] / 64] |= UINT64CONST(1) << key->value[0] % 64;
	}
	return NULL;
}

/* Asks which strings of a column occur. */
static const char *
find_strings(const Judging *judging, int column, bool *answered, Occurring *occurring)
{
	const StringCodes *codes = judging->query->codes[column];
	ColumnsQuestion *question = question_about(judging->query, QUESTION_ASIDE);

	/* conditions may have added constants to the codes before, and add no others */
	*occurring = (Occurring) {.limit = codes->limit + codes->count};
	occurring->bits = palloc_extended(strings_words(codes) * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	question->query->nkeys = 1;
	question->query->keys[0] = column;
	question->take = take_codes;
	question->arg = occurring;
	return judging->source->ask(judging->source->arg, question, answered);
}

/* ---------------------------------------------------------------- what is possible */

/* Returns the number of set bits. */
static uint64
count_bits(const uint64 *bits, uint32 n)
{
	return pg_popcount((const char *) bits, (int) (((Size) n + 63) / 64 * sizeof(uint64)));
}

/* Has a column's codes know which are possible, of as many as there are now. */
static void
set_possible(StringCodes *codes, uint64 *bits)
{
	codes->npossible = codes->limit + codes->count;
	codes->possible = bits;
}

/* Leaves those of a column's strings that occur. */
static void
leave_occurring(const Judging *judging, StringCodes *codes, const Occurring *occurring)
{
	uint64	   *bits = strings_possible(codes);

	judging->source->figures->strings += count_bits(bits, codes->limit + codes->count);
	for (Size word = 0; word < strings_words(codes); word++)
		bits[word] &= occurring->bits[word];
	set_possible(codes, bits);
	judging->source->figures->occurring += count_bits(bits, codes->npossible);
}

/*
 * Returns true if it pays to ask which of so many strings occur in so many rows: as many as if all were as frequent.
 */
static bool
pays(const StringUse *use, double look, double strings, double rows)
{
	double		occurring = strings * (1 - exp(-rows / strings));

	return (strings - occurring) * use->time >
		1.5 * (look + rows * ROW_TIME + strings * STRING_TIME + occurring * FOUND_TIME);
}

/* Finds out which of a column's strings occur, before a function is called for them, if that pays. */
static const char *
narrow(const Judging *judging, const StringUse *use)
{
	StringCodes *codes = judging->query->codes[use->column];
	double		look = judging->source->look;
	double		strings = codes->possible == NULL ? codes->limit + codes->count :
		count_bits(codes->possible, codes->npossible);
	Occurring	occurring;
	bool		answered;
	double		rows;
	const char *why;

	if (strings * use->time < SAMPLES_PAY * (QUESTION_TIME + look / PROOF_SAMPLE) ||
		!pays(use, look, strings, 0) || !others_are_known(judging->query, use->column))
		return NULL;
	why = estimate_rows(judging, &answered, &rows);
	if (why != NULL || !answered || !pays(use, look, strings, rows))
		return why;
	why = find_strings(judging, use->column, &answered, &occurring);
	if (why == NULL && answered)
		leave_occurring(judging, codes, &occurring);
	return why;
}

/* Leaves those of a column's strings that pass a condition. */
static const char *
judge(const Judging *judging, const StringUse *use)
{
	StringCodes *codes = judging->query->codes[use->column];
	uint64	   *bits = strings_possible(codes);
	const char *why = strings_test(codes, &judging->query->columns[use->column], use->term, judging->values, bits);

	set_possible(codes, bits);
	use->term->judged = true;
	return why;
}

const char *
strings_judge(ColumnsQuery *query, const QueryValues *values, const OccurrenceSource *source)
{
	Judging		judging = {.query = query, .values = values, .source = source};
	const char *why = NULL;

	list_uses(&judging);
	for (int i = 0; i < judging.nuses && why == NULL; i++)
	{
		why = narrow(&judging, &judging.uses[i]);
		if (why == NULL && judging.uses[i].term != NULL)
			why = judge(&judging, &judging.uses[i]);
	}
	return why;
}
