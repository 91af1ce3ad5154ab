/*
 * columns_answer.c: asks the service about a table, or the partitions of one, and adds what it does not hold.
 *
 * The rows of pages that are not proved are added to the question about their table, and those of partitions that are
 * not held to the first question.  Answers that can be combined are asked for one partition after another, wherever
 * their columns lie; groups, and aggregates of all values, in one question about all of them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "pgstat.h"

#include "src/base/compat.h"
#include "src/engine/stat.h"
#include "src/engine/trust.h"
#include "columns_added.h"
#include "columns_answer.h"
#include "columns_cases.h"
#include "columns_leaves.h"
#include "lap.h"
#include "string_functions.h"
#include "string_occurrence.h"

#define ATTEMPTS	   3	/* at questions, while the service drops the versions that they name */
#define GROUPS_AT_ONCE 256	/* are taken over */

/* What it takes to look at a row of columns, and to read a page of the table, in nanoseconds. */
#define ROW_NS		   1.5
#define PAGE_NS		   5000.0

static const char *const impossible = "the service's answer is impossible";

/* A question on its way. */
typedef struct Asking
{
	ColumnsQuestion *question;
	ServiceLink *link;
	Leaves		leaves;
	int			answered;		/* questions */
	/* Leaves that the open question is about: of these, those that are held. */
	Leaf	   *first;
	int			count;
	AddedRows	added;			/* to it */
	const char *why;			/* it failed */
	EngineFailure failure;		/* of the service, if it was that */
} Asking;

/* Notes a failure of the service.  Returns it as text. */
static const char *
failed(Asking *asking, EngineFailure failure)
{
	asking->failure = failure;
	return engine_failure_text(failure);
}

/* ---------------------------------------------------------------- rows of the table */

/* Adds the rows of a leaf's pages that are not proved. */
static void
add_rows(Asking *asking, Leaf *leaf)
{
	uint64		before = asking->added.count;

	leaf->table_pages = added_rows_send(&asking->added, leaf->rel, leaf->columns, &leaf->proof,
										leaf->held ? &leaf->held->map : NULL);
	leaf->added = asking->added.count - before;
	asking->why = asking->added.why;
	asking->failure = asking->added.failure;
}

/* Proves nothing of a leaf that is not held. */
static void
prove_nothing(Leaf *leaf)
{
	memset(&leaf->proof, 0, sizeof(leaf->proof));
	leaf->proof.nblocks = RelationGetNumberOfBlocks(leaf->rel);
	leaf->proof.proved = palloc0(((Size) leaf->proof.nblocks / 64 + 1) * sizeof(uint64));
}

/* Returns true if the open question counts a leaf's rows. */
static bool
is_read(const Asking *asking, const Leaf *leaf)
{
	return leaf->held == NULL ? asking->answered == 0 :
		leaf >= asking->first && leaf < asking->first + asking->count;
}

/* Adds the rows of all pages that are not proved. */
static void
add_all_rows(Asking *asking)
{
	for (int i = 0; i < asking->leaves.count && asking->why == NULL; i++)
	{
		Leaf	   *leaf = &asking->leaves.list[i];

		if (!is_read(asking, leaf))
			continue;
		if (leaf->held == NULL)
			prove_nothing(leaf);
		add_rows(asking, leaf);
	}
}

/* ---------------------------------------------------------------- a question */

/*
 * Counts scans for pg_stat_all_tables, as PostgreSQL's plan would have.  Which rows of several tables' pages are whose
 * is not known: they are divided by pages.
 */
static void
count_scans(const Asking *asking, const StoreAnswer *answer)
{
	for (int i = 0; i < asking->leaves.count; i++)
	{
		const Leaf *leaf = &asking->leaves.list[i];
		double		share = answer->pages > 0 ? (double) leaf->proof.pages / (double) answer->pages : 0;

		if (!is_read(asking, leaf))
			continue;
		pgstat_count_heap_scan(leaf->rel);
		count_heap_tuples(leaf->rel, (PgStat_Counter) ((double) answer->rows * share + (double) leaf->added));
	}
}

/* Adds an answer to those before. */
static const char *
add_answer(const Asking *asking, const gs_reduced *reduced)
{
	ColumnsQuestion *question = asking->question;

	if (question->parts++ == 0)
		memcpy(question->reduced, reduced, gs_steps_result_bytes(question->steps.steps));
	else if (gs_reduced_combine(question->steps.steps, question->reduced, reduced) != GS_OK)
		return "the sum of partitions overflows";
	return NULL;
}

/* Takes all groups of an answer, or rows. */
static const char *
take_groups(Asking *asking, StoreGroups *groups)
{
	ColumnsQuestion *question = asking->question;
	void	   *some;
	EngineFailure failure = ENGINE_OK;
	const char *why = NULL;
	uint64		n;

	if (question->query->nkeys > 0 && question->take == NULL)
	{
		question->groups += groups->count;
		return NULL;
	}
	some = palloc(GROUPS_AT_ONCE * gs_steps_result_bytes(question->steps.steps));
	while (why == NULL && (n = store_groups(groups, some, GROUPS_AT_ONCE, &failure)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		question->groups += n;
		if (question->places != NULL)
			why = row_places_take(question->places, some, n);
		else if (question->query->nkeys > 0)
			why = question->take(question->arg, some, n);
		else
			why = add_answer(asking, some);
	}
	pfree(some);
	if (why == NULL && failure != ENGINE_OK)
		why = failed(asking, failure);
	return why == NULL && question->places != NULL ? row_places_end(question->places) : why;
}

/* Returns why the service did not answer. */
static const char *
failure_of(Asking *asking, bool stale, bool overflow, bool too_many, EngineFailure failure)
{
	if (too_many)
		return "its groups or rows are too many, or their keys too wide";
	return stale ? "the version was gone" : overflow ? "a value overflows" : failed(asking, failure);
}

/* Returns the number of proved pages that the open question is about. */
static uint64
proved_pages(const Asking *asking)
{
	uint64		pages = 0;

	for (int i = 0; i < asking->count; i++)
		if (asking->first[i].held != NULL)
			pages += asking->first[i].proof.pages;
	return pages;
}

/* Fetches the answer to the open question. */
static const char *
fetch(Asking *asking, const StoreQuestion *about, bool *stale)
{
	ColumnsQuestion *question = asking->question;
	gs_reduced	reduced[GS_STEPS_MAX_AGGREGATES];
	StoreGroups groups = {0};
	StoreAnswer answer = {0};
	EngineFailure failure = ENGINE_OK;
	bool		overflow = false;
	bool		too_many = false;
	bool		reduces = store_reduces(about);
	bool		good = reduces ?
		store_answer(asking->link, about, asking->added.count, reduced, &answer, stale, &overflow, &failure) :
		store_answer_groups(asking->link, about, asking->added.count, &answer, &groups, stale, &overflow, &too_many,
							&failure);

	question->copied = answer.on_host;
	if (!good)
		return failure_of(asking, *stale, overflow, too_many, failure);
	if (answer.pages != proved_pages(asking) || answer.rows > answer.pages * MaxHeapTuplesPerPage)
		return impossible;
	question->rows += answer.rows + asking->added.count;
	if (question->aside == QUESTION_ITSELF)
		count_scans(asking, &answer);
	question->figures->copied |= answer.on_host;
	return reduces ? add_answer(asking, reduced) : take_groups(asking, &groups);
}

/* Adds what it took to answer the open question.  The keeper is hurried if another load would prove more pages. */
static void
add_figures(const Asking *asking)
{
	ColumnsFigures *figures = asking->question->figures;

	for (int i = 0; i < asking->leaves.count; i++)
	{
		const Leaf *leaf = &asking->leaves.list[i];

		if (!is_read(asking, leaf))
			continue;
		figures->pages += leaf->proof.pages;
		figures->young += leaf->proof.young;
		figures->table_pages += leaf->table_pages;
		figures->undecided += Min(leaf->proof.undecided, leaf->table_pages);
		if (leaf->table_pages > leaf->proof.undecided)
			columns_hurry();
	}
}

/* Makes the question about the leaves that are held, one of which is the first in a chain; NULL: none is. */
static const char *
make_question(Asking *asking, const StoreQuestion **about)
{
	const AskedLeaves asked = leaves_asked(asking->first, asking->count);
	const ColumnsQuery *query = asking->question->query;
	const StoreQuestion *further = NULL;
	const char *why = NULL;

	leaves_begin_question(query);
	for (int i = asking->count - 1; i >= 0 && why == NULL; i--)
	{
		Leaf	   *leaf = &asking->first[i];

		if (leaf->held == NULL)
			continue;
		if (query->positions)
			leaf->indexes[query->ncolumns] = GSD_POSITIONS;
		leaf->about = (StoreQuestion) {
			.table = leaf->held->table, .version = leaf->proof.version, .mask = leaf->proof.proved,
			.nblocks = leaf->proof.nblocks, .columns = leaf->indexes,
			.ncolumns = (uint32) query->ncolumns + query->positions, .steps = asking->question->steps.steps,
			.further = further, .aside = asking->question->aside != QUESTION_ITSELF,
			.counted = query->nkeys > 0 && asking->question->take == NULL && asking->question->places == NULL
		};
		why = leaves_put_ranks(&asked, leaf, query, &leaf->about);
		further = &leaf->about;
	}
	*about = further;
	return why;
}

/* Asks about leaves whose pages are proved.  *stale: a version is gone. */
static const char *
ask(Asking *asking, bool *stale)
{
	ColumnsQuestion *question = asking->question;
	ColumnsFigures *figures = question->figures;
	const StoreQuestion *about;
	EngineFailure failure = ENGINE_OK;
	instr_time	since;
	const char *why = make_question(asking, &about);

	if (why != NULL)
		return why;
	INSTR_TIME_SET_CURRENT(since);
	asking->added = (AddedRows) {.link = asking->link, .query = question->query, .snapshot = question->snapshot,
	.places = question->places};
	if (question->places != NULL)
		row_places_begin(question->places, &asking->first->proof);
	if (!store_ask(asking->link, about, &failure))
		return failed(asking, failure);
	if (question->aside != QUESTION_SAMPLE)
		add_all_rows(asking);
	if (asking->why != NULL)
		return asking->why;
	figures->heap_ms += lap_ms(&since);
	why = fetch(asking, about, stale);
	if (why != NULL)
		return why;
	figures->engine_ms += lap_ms(&since);
	add_figures(asking);
	asking->answered++;
	return NULL;
}

/* Proves the pages of the leaves that are held.  Returns false with the reason. */
static bool
prove(const Asking *asking, const char **why)
{
	instr_time	since;

	INSTR_TIME_SET_CURRENT(since);
	for (int i = 0; i < asking->count; i++)
	{
		Leaf	   *leaf = &asking->first[i];

		if (leaf->held != NULL &&
			!held_pages(asking->link, leaf->held, leaf->rel, asking->question->snapshot, &leaf->proof, why))
			return false;
	}
	asking->question->figures->prove_ms += lap_ms(&since);
	return true;
}

/* Returns the first leaf of the open question that is held. */
static const Leaf *
held_leaf(const Asking *asking)
{
	const Leaf *leaf = asking->first;

	while (leaf->held == NULL)
		leaf++;
	return leaf;
}

/* Leaves some of the proved pages of a question's leaves, which become its own.  Returns their fraction of all. */
static double
take_sample(Asking *asking)
{
	Leaf	   *leaves = palloc_array(Leaf, asking->count);
	double		all = (double) proved_pages(asking);

	memcpy(leaves, asking->first, sizeof(Leaf) * (Size) asking->count);
	asking->first = leaves;
	for (int i = 0; i < asking->count; i++)
		if (leaves[i].held != NULL)
			leaves[i].proof = proof_sample(&leaves[i].proof);
	return all > 0 ? (double) proved_pages(asking) / all : 1;
}

/* Asks a question that helps to ask another one (OccurrenceSource.ask). */
static const char *
ask_aside(void *arg, ColumnsQuestion *question, bool *answered)
{
	Asking	   *asking = arg;
	Asking		inner = *asking;
	ColumnsFigures figures = {0};
	bool		stale = false;
	const char *why;

	question->snapshot = asking->question->snapshot;
	question->values = asking->question->values;
	question->figures = &figures;
	question->share = question->aside == QUESTION_SAMPLE ? take_sample(&inner) : 1;
	inner.question = question;
	why = columns_steps(question->query, &question->values, &question->steps);
	if (why == NULL)
		why = ask(&inner, &stale);
	*answered = why == NULL;
	asking->failure = inner.failure;
	asking->question->copied = question->copied;
	return asking->failure != ENGINE_OK || !store_usable(asking->link) ? why : NULL;
}

/* Returns what it takes to look at all rows once, in nanoseconds. */
static double
look_time(const Asking *asking)
{
	double		time = 0;

	for (int i = 0; i < asking->leaves.count; i++)
	{
		const Leaf *leaf = &asking->leaves.list[i];

		if (is_read(asking, leaf))
			time += ROW_NS * Max(leaf->rel->rd_rel->reltuples, 0) +
				PAGE_NS * (leaf->proof.nblocks - leaf->proof.pages);
	}
	return time;
}

/* Begins the codes of strings, and makes the steps, whose constants they are. */
static const char *
begin_strings(Asking *asking)
{
	ColumnsQuestion *question = asking->question;
	const AskedLeaves asked = leaves_asked(asking->first, asking->count);
	const char *why = leaves_begin_codes(&asked, asking->link, question->query);
	bool		all = question->query->needs_strings || asked.shared;

	for (int i = 0; i < asking->leaves.count && all && why == NULL; i++)
	{
		Leaf	   *leaf = &asking->leaves.list[i];

		if (!is_read(asking, leaf))
			continue;
		if (leaf->held == NULL)
			prove_nothing(leaf);
		why = added_rows_note(question->query, question->snapshot, leaf->rel, leaf->columns, &leaf->proof,
							  leaf->held ? &leaf->held->map : NULL);
	}
	if (why == NULL)
	{
		const OccurrenceSource source = {look_time(asking), ask_aside, asking, question->figures};

		why = strings_judge(question->query, &question->values, &source);
	}
	if (why == NULL)
		why = cases_begin_codes(question->query, &question->values);
	if (why == NULL)
		why = leaves_rank_codes(asked.held, question->query);
	if (why == NULL)
		why = string_functions_call(question->query, &question->values);
	return why != NULL ? why : columns_steps(question->query, &question->values, &question->steps);
}

/* Proves leaves and asks about them, again if the service moves on. */
static const char *
answer_leaves(Asking *asking, Leaf *first, int count)
{
	const char *why = NULL;

	asking->first = first;
	asking->count = count;
	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
	{
		bool		stale = false;

		if (!prove(asking, &why))
			return why;
		why = leaves_have_strings(asking->question->query) ? begin_strings(asking) : NULL;
		if (why == NULL)
			why = ask(asking, &stale);
		if (why == NULL && !leaves_codes_sound(asking->question->query))
			why = codes_impossible;
		if (!stale)
			return why;
	}
	return why;
}

/* ---------------------------------------------------------------- the query's answer */

/* Answers over a link. */
static const char *
answer_over(Asking *asking)
{
	ColumnsQuestion *question = asking->question;
	Leaves	   *leaves = &asking->leaves;
	const char *why = leaves_find_held(leaves, asking->link, question->query);
	bool		strings = leaves_have_strings(question->query);

	if (why == NULL && leaves_lie_aside(leaves, asking->link, trust_aside()))
		why = failed(asking, ENGINE_SET_ASIDE);
	/* before the question, whose answer may still be coming over the link when the first of it is there */
	if (why == NULL && question->explained)
		leaves_find_engine(leaves, asking->link, question->figures->device, sizeof(question->figures->device));
	if (why == NULL && !strings)
		why = columns_steps(question->query, &question->values, &question->steps);
	question->rows = question->groups = 0;
	if (why == NULL && !(strings ? leaves_are_apart(question->query) : gs_steps_reduces(question->steps.steps)))
		why = answer_leaves(asking, leaves->list, leaves->count);
	else
		for (int i = 0; i < leaves->count && why == NULL; i++)
			if (leaves->list[i].held != NULL)
				why = answer_leaves(asking, &leaves->list[i], 1);
	return why;
}

/* Returns the number of the first table that is held; 0: none is. */
static uint64
first_held(const Leaves *leaves)
{
	for (int i = 0; i < leaves->count; i++)
		if (leaves->list[i].held != NULL)
			return leaves->list[i].held->table;
	return 0;
}

/* Tells the service that a table's columns were not used, over a link on which no question is open. */
static void
note(uint64 table, const char *why)
{
	EngineFailure failure;
	ServiceLink *link = table != 0 ? store_open(&failure) : NULL;

	if (link == NULL)
		return;
	store_note(link, table, why);
	store_park(link);
}

/*
 * Records that the device, if it is one, on which a table's columns lie gave a wrong answer.  copied: it was the CPU's,
 * which is no device's fault.
 */
static void
blame(Oid relation, bool copied)
{
	StoreInfo	info;
	EngineFailure failure;
	ServiceLink *link = copied ? NULL : store_open(&failure);

	if (link == NULL)
		return;
	if (store_info(link, relation, &info, &failure) && info.device >= 0)
		trust_lose((uint32) info.device, info.name);
	store_park(link);
}

void
columns_gave_wrong_rows(Relation table, bool copied)
{
	stat_count_left(JOB_COLUMNS, ENGINE_WRONG_ORDER);
	blame(RelationGetRelid(table), copied);
}

/* Returns NULL, or why this transaction cannot be answered from columns. */
static const char *
transaction_refused(const Asking *asking)
{
	const char *why = NULL;

	/* a leaf that is refused by itself is read in the table */
	for (int i = 0; i < asking->leaves.count; i++)
	{
		const Leaf *leaf = &asking->leaves.list[i];

		if (asking->leaves.count > 1 && proof_refused_relation(leaf->rel) != NULL)
			continue;
		why = proof_refused(leaf->rel, asking->question->snapshot);
		if (why != NULL)
			return why;
	}
	return NULL;
}

/* Opens a link and answers over it. */
static const char *
answer(Asking *asking)
{
	EngineFailure failure = ENGINE_OK;
	const char *why = transaction_refused(asking);
	ServiceLink *link;

	if (why == NULL)
		why = columns_demand();
	if (why != NULL)
		return why;
	link = store_open(&failure);
	if (link == NULL)
		return failed(asking, failure);
	asking->link = link;
	PG_TRY();
	{
		why = answer_over(asking);
	}
	PG_CATCH();
	{
		store_close(link);
		PG_RE_THROW();
	}
	PG_END_TRY();
	store_park(link);
	if (asking->failure == ENGINE_WRONG_ORDER)
		blame(RelationGetRelid(held_leaf(asking)->rel), asking->question->copied);
	if (why != NULL)
		note(first_held(&asking->leaves), why);
	return why;
}

const char *
columns_answer(ColumnsQuestion *question)
{
	Asking		asking = {.question = question};
	const char *why = leaves_open(&asking.leaves, question->table, question->leaves);

	if (why == NULL)
		why = answer(&asking);
	if (asking.failure != ENGINE_OK)
		stat_count_left(JOB_COLUMNS, asking.failure);
	leaves_close(&asking.leaves);
	return why;
}
