/*
 * columns_answer.c: asks the service about a table, or the partitions of one, and adds what it does not hold.
 *
 * A question is about one held table; the rows of its pages that are not proved are added to it, and those of
 * partitions that are not held to the first one.  The partitions' answers are combined here, but for groups, which are
 * asked about one table alone.
 */
#include "postgres.h"

#include "access/table.h"
#include "access/heapam.h"
#include "pgstat.h"
#include "utils/lsyscache.h"

#include "src/base/compat.h"
#include "src/engine/stat.h"
#include "columns_added.h"
#include "columns_answer.h"
#include "held_tables.h"
#include "lap.h"

#define ATTEMPTS	   3	/* at questions, while the service drops the versions that they name */
#define GROUPS_AT_ONCE 256	/* are taken over */

static const char *const impossible = "the service's answer is impossible";

/* A table without partitions. */
typedef struct Leaf
{
	Relation	rel;
	HeldTable  *held;			/* NULL: its rows come from the table */
	const char *why;			/* it is not held */
	uint32		indexes[GS_STEPS_MAX_COLUMNS];	/* of the query's columns in the held table */
	ColumnDescription columns[GS_STEPS_MAX_COLUMNS];	/* as the relation describes them */
} Leaf;

/* A question on its way. */
typedef struct Asking
{
	ColumnsQuestion *question;
	ServiceLink *link;
	int			nleaves;
	Leaf	   *leaves;
	Leaf	   *asked;			/* whose question is open */
	AddedRows	added;			/* to it */
	uint64		added_unheld;	/* of these, from leaves that are not held */
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

/* Adds the rows of a leaf's pages that are not proved.  Returns the number of pages. */
static BlockNumber
add_rows(Asking *asking, const Leaf *leaf, const PageProof *proof)
{
	BlockNumber pages = added_rows_send(&asking->added, leaf->rel, leaf->columns, proof,
										leaf->held ? &leaf->held->map : NULL);

	asking->why = asking->added.why;
	asking->failure = asking->added.failure;
	return pages;
}

/* Counts a scan of a relation for pg_stat_all_tables, as PostgreSQL's plan would have. */
static void
count_scan(Relation rel, uint64 rows)
{
	pgstat_count_heap_scan(rel);
	count_heap_tuples(rel, (PgStat_Counter) rows);
}

/* Adds all rows of the leaves that are not held. */
static BlockNumber
add_unheld(Asking *asking)
{
	BlockNumber pages = 0;
	uint64		before = asking->added.count;

	for (int i = 0; i < asking->nleaves && asking->why == NULL; i++)
	{
		Leaf	   *leaf = &asking->leaves[i];
		PageProof	nothing = {0};
		uint64		added = asking->added.count;

		if (leaf->held != NULL)
			continue;
		nothing.nblocks = RelationGetNumberOfBlocks(leaf->rel);
		nothing.proved = palloc0(((Size) nothing.nblocks / 64 + 1) * sizeof(uint64));
		pages += add_rows(asking, leaf, &nothing);
		count_scan(leaf->rel, asking->added.count - added);
		pfree(nothing.proved);
	}
	asking->added_unheld = asking->added.count - before;
	return pages;
}

/* ---------------------------------------------------------------- one table */

/* Returns true if this leaf's question takes the rows of those that are not held. */
static bool
is_first_held(const Asking *asking, const Leaf *leaf)
{
	for (const Leaf *other = asking->leaves; other < leaf; other++)
		if (other->held != NULL)
			return false;
	return true;
}

/* Adds the answer about a leaf to those before. */
static const char *
add_answer(Asking *asking, const Leaf *leaf, const gs_reduced *reduced)
{
	ColumnsQuestion *question = asking->question;

	if (is_first_held(asking, leaf))
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
	void	   *some = palloc(GROUPS_AT_ONCE * gs_steps_result_bytes(question->steps.steps));
	EngineFailure failure = ENGINE_OK;
	const char *why = NULL;
	uint64		n;

	while (why == NULL && (n = store_groups(groups, some, GROUPS_AT_ONCE, &failure)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		question->groups += n;
		if (question->places != NULL)
			why = row_places_take(question->places, some, n);
		else if (question->query->nkeys > 0)
			why = question->take(question->arg, some, n);
		else
			why = add_answer(asking, asking->asked, some);
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

/* Fetches the answer to the question about a leaf. */
static const char *
fetch(Asking *asking, const StoreQuestion *about, const PageProof *proof, bool *stale)
{
	ColumnsQuestion *question = asking->question;
	gs_reduced	reduced[GS_STEPS_MAX_AGGREGATES];
	StoreGroups groups;
	StoreAnswer answer;
	EngineFailure failure = ENGINE_OK;
	bool		overflow = false;
	bool		too_many = false;
	bool		reduces = gs_steps_reduces(about->steps);

	if (!(reduces ?
		  store_answer(asking->link, asking->added.count, reduced, gs_steps_result_bytes(about->steps), &answer, stale,
					   &overflow, &failure) :
		  store_answer_groups(asking->link, about, asking->added.count, &answer, &groups, stale, &overflow, &too_many,
							  &failure)))
		return failure_of(asking, *stale, overflow, too_many, failure);
	if (answer.pages != proof->pages || answer.rows > (uint64) proof->pages * MaxHeapTuplesPerPage)
		return impossible;
	question->rows += answer.rows + asking->added.count;
	count_scan(asking->asked->rel, answer.rows + asking->added.count - asking->added_unheld);
	return reduces ? add_answer(asking, asking->asked, reduced) : take_groups(asking, &groups);
}

/* Adds what it took to answer about a leaf. */
static void
add_figures(ColumnsFigures *figures, const PageProof *proof, BlockNumber table_pages)
{
	figures->pages += proof->pages;
	figures->young += proof->young;
	figures->table_pages += table_pages;
	figures->undecided += Min(proof->undecided, table_pages);
}

/* Asks about a leaf, whose pages are proved.  *stale: the version is gone. */
static const char *
ask(Asking *asking, Leaf *leaf, PageProof *proof, bool *stale)
{
	ColumnsQuestion *question = asking->question;
	ColumnsFigures *figures = question->figures;
	StoreQuestion about = {.table = leaf->held->table, .version = proof->version, .mask = proof->proved,
		.nblocks = proof->nblocks, .columns = leaf->indexes, .ncolumns = (uint32) question->query->ncolumns,
	.steps = question->steps.steps};
	EngineFailure failure = ENGINE_OK;
	BlockNumber table_pages;
	instr_time	since;
	const char *why;

	INSTR_TIME_SET_CURRENT(since);
	asking->asked = leaf;
	asking->added = (AddedRows) {.link = asking->link, .query = question->query, .snapshot = question->snapshot,
	.places = question->places};
	asking->added_unheld = 0;
	if (question->places != NULL)
		row_places_begin(question->places, proof);
	if (!store_ask(asking->link, &about, &failure))
		return failed(asking, failure);
	table_pages = add_rows(asking, leaf, proof);
	if (asking->why == NULL && is_first_held(asking, leaf))
		table_pages += add_unheld(asking);
	if (asking->why != NULL)
		return asking->why;
	figures->heap_ms += lap_ms(&since);
	why = fetch(asking, &about, proof, stale);
	if (why != NULL)
		return why;
	figures->engine_ms += lap_ms(&since);
	add_figures(figures, proof, table_pages);
	/* undecided pages would be the same after another load */
	if (table_pages > proof->undecided)
		columns_hurry();
	return NULL;
}

/* Proves a leaf's pages and asks, again if the service moves on. */
static const char *
answer_leaf(Asking *asking, Leaf *leaf)
{
	const char *why = NULL;

	for (int attempt = 0; attempt < ATTEMPTS; attempt++)
	{
		PageProof	proof;
		bool		stale = false;
		instr_time	since;

		INSTR_TIME_SET_CURRENT(since);
		if (!held_pages(asking->link, leaf->held, leaf->rel, asking->question->snapshot, &proof, &why))
			return why;
		asking->question->figures->prove_ms += lap_ms(&since);
		why = ask(asking, leaf, &proof, &stale);
		pfree(proof.proved);
		if (!stale)
			return why;
	}
	return why;
}

/* ---------------------------------------------------------------- what is held */

/* Returns a leaf's number of a column of the table. */
static AttrNumber
number_in(const Asking *asking, const Leaf *leaf, AttrNumber number)
{
	if (leaf->rel == asking->question->table)
		return number;
	return get_attnum(RelationGetRelid(leaf->rel),
					  NameStr(TupleDescAttr(RelationGetDescr(asking->question->table), number - 1)->attname));
}

/* Describes a leaf's columns.  Returns NULL, or why the query's are others. */
static const char *
describe_columns(const Asking *asking, Leaf *leaf)
{
	const ColumnsQuery *query = asking->question->query;

	for (int i = 0; i < query->ncolumns; i++)
	{
		AttrNumber	number = number_in(asking, leaf, query->columns[i].number);

		if (column_describe(leaf->rel, number, false, &leaf->columns[i]) != NULL ||
			leaf->columns[i].type != query->columns[i].type || leaf->columns[i].gs != query->columns[i].gs ||
			column_scale(&leaf->columns[i]) != column_scale(&query->columns[i]))
			return "a partition's column is another one";
	}
	return NULL;
}

/* Finds the query's columns in a leaf's held table.  Without one, its rows come from the table. */
static void
find_columns(const Asking *asking, Leaf *leaf)
{
	for (int i = 0; leaf->held != NULL && i < asking->question->query->ncolumns; i++)
	{
		int			index = held_column(leaf->held, leaf->rel, leaf->columns[i].number);

		leaf->indexes[i] = (uint32) index;
		if (index >= 0)
			continue;
		leaf->why = "a column is not held";
		leaf->held = NULL;
	}
}

/*
 * Chooses a column for a query that needs none, since the service counts rows of columns: the narrowest one that the
 * leaf's table holds.
 */
static void
choose_column(const Asking *asking, const Leaf *leaf)
{
	ColumnsQuery *query = asking->question->query;
	const PageMapHeader *header = leaf->held->map.header;
	const ColumnDescription *best = NULL;

	for (uint32 i = 0; i < header->ncolumns; i++)
		if (held_column(leaf->held, leaf->rel, header->columns[i].number) >= 0 &&
			(best == NULL || gs_type_width((gs_type) header->columns[i].gs) < gs_type_width((gs_type) best->gs)))
			best = &header->columns[i];
	if (best == NULL)
		return;
	query->columns[0] = *best;
	query->ncolumns = 1;
	if (leaf->rel != asking->question->table)
		query->columns[0].number = get_attnum(RelationGetRelid(asking->question->table),
											  NameStr(TupleDescAttr(RelationGetDescr(leaf->rel),
																	best->number - 1)->attname));
}

/* Finds out which leaves are held.  Returns NULL, or why columns cannot answer. */
static const char *
find_held(Asking *asking)
{
	const ColumnsQuery *query = asking->question->query;
	const char *why = NULL;
	int			nheld = 0;

	for (int i = 0; i < asking->nleaves; i++)
	{
		Leaf	   *leaf = &asking->leaves[i];

		leaf->why = proof_refused_relation(leaf->rel);
		if (leaf->why == NULL)
			leaf->held = held_table(asking->link, leaf->rel, &leaf->why);
		if (leaf->held != NULL && query->ncolumns == 0)
			choose_column(asking, leaf);
	}
	if (query->ncolumns == 0)
		return asking->leaves[0].why != NULL ? asking->leaves[0].why : "a column is not held";
	for (int i = 0; i < asking->nleaves; i++)
	{
		Leaf	   *leaf = &asking->leaves[i];

		if (why == NULL)
			why = describe_columns(asking, leaf);
		if (why != NULL)
			return why;
		find_columns(asking, leaf);
		nheld += leaf->held != NULL;
	}
	return nheld > 0 ? NULL : asking->leaves[0].why;
}

/* Finds out for EXPLAIN where the columns lie. */
static void
find_engine(Asking *asking)
{
	ColumnsFigures *figures = asking->question->figures;
	StoreInfo	info;
	EngineFailure failure;

	strlcpy(figures->device, engine_kind_text(ENGINE_CPU), sizeof(figures->device));
	for (int i = 0; i < asking->nleaves; i++)
		if (asking->leaves[i].held != NULL &&
			store_info(asking->link, RelationGetRelid(asking->leaves[i].rel), &info, &failure) && info.device >= 0)
			strlcpy(figures->device, info.name, sizeof(figures->device));
}

/* Answers over a link. */
static const char *
answer_over(Asking *asking)
{
	ColumnsQuestion *question = asking->question;
	const char *why = find_held(asking);

	if (why == NULL)
		why = columns_steps(question->query, &question->values, &question->steps);
	question->rows = question->groups = 0;
	for (int i = 0; i < asking->nleaves && why == NULL; i++)
		if (asking->leaves[i].held != NULL)
			why = answer_leaf(asking, &asking->leaves[i]);
	if (why == NULL && question->explained)
		find_engine(asking);
	return why;
}

/* Tells the service that a table's columns were not used. */
static void
note(const Asking *asking, const char *why)
{
	for (int i = 0; i < asking->nleaves; i++)
		if (asking->leaves[i].held != NULL)
		{
			store_note(asking->link, asking->leaves[i].held->table, why);
			return;
		}
}

/* ---------------------------------------------------------------- the question */

/* Opens the leaves.  Returns NULL, or why one of them cannot be read. */
static const char *
open_leaves(Asking *asking)
{
	const ColumnsQuestion *question = asking->question;
	ListCell   *lc;

	asking->leaves = palloc0_array(Leaf, list_length(question->leaves) + 1);
	if (question->leaves == NIL)
		asking->leaves[asking->nleaves++].rel = question->table;
	foreach(lc, question->leaves)
	{
		Relation	rel = try_table_open(lfirst_oid(lc), AccessShareLock);

		if (rel == NULL)
			return "a partition is gone";
		asking->leaves[asking->nleaves++].rel = rel;
		if (rel->rd_tableam != GetHeapamTableAmRoutine())
			return "its access method is not heap";
	}
	return asking->nleaves > 0 ? NULL : "no partition is left";
}

/* Closes the leaves.  Their locks stay. */
static void
close_leaves(const Asking *asking)
{
	for (int i = 0; i < asking->nleaves; i++)
		if (asking->leaves[i].rel != asking->question->table)
			table_close(asking->leaves[i].rel, NoLock);
}

/* Returns NULL, or why this transaction cannot be answered from columns. */
static const char *
transaction_refused(const Asking *asking)
{
	const char *why = NULL;

	/* a leaf that is refused by itself is read in the table */
	for (int i = 0; i < asking->nleaves; i++)
	{
		const Leaf *leaf = &asking->leaves[i];

		if (asking->nleaves > 1 && proof_refused_relation(leaf->rel) != NULL)
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
		if (why != NULL)
			note(asking, why);
	}
	PG_CATCH();
	{
		store_close(link);
		PG_RE_THROW();
	}
	PG_END_TRY();
	store_park(link);
	return why;
}

const char *
columns_answer(ColumnsQuestion *question)
{
	Asking		asking = {.question = question};
	const char *why = open_leaves(&asking);

	if (why == NULL)
		why = answer(&asking);
	if (asking.failure != ENGINE_OK)
		stat_count_left(JOB_COLUMNS, asking.failure);
	close_leaves(&asking);
	return why;
}
