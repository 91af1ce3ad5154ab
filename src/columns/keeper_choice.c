/*
 * keeper_choice.c: which tables the keeper holds: those of committed choices, and those that a session waits for before
 * it commits its choice.
 */
#include "postgres.h"

#include "access/relation.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "storage/lmgr.h"
#include "storage/spin.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "src/base/compat.h"
#include "keeper.h"

/* Choices are read again after this time: a restored dump tells nobody, nor does a new partition. */
#define CHOICES_MS 5000
/* Tables that could not be declared are tried again after this time. */
#define RETRY_MS 1000

dlist_head	kept_tables = DLIST_STATIC_INIT(kept_tables);

static bool choices_changed = true;
static int64 chosen_ms;			/* when they were read */
static bool any_chosen;
static bool undeclared;			/* a table waits for its declaration */
static bool others_dropped;		/* the service has no tables but kept ones */

/* What a step works on. */
typedef struct Choosing
{
	ServiceLink *link;
	ColumnsShared *all;
	List	   *choices;
	bool		locked_out;		/* another transaction changes the table of choices */
} Choosing;

/* Called for each invalidation of a relation. */
static void
relation_changed(Datum arg, Oid relation)
{
	choices_changed = true;
}

void
keeper_choice_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
}

/* Reads the committed choices. */
static void
read_choices(void *arg)
{
	Choosing   *choosing = arg;
	Oid			table = choice_table();

	if (!OidIsValid(table))
		return;
	if (!ConditionalLockRelationOid(table, AccessShareLock))
	{
		choosing->locked_out = true;
		return;
	}
	if (choice_table() == table)
		choosing->choices = choice_read(table);
	UnlockRelationOid(table, AccessShareLock);
}

/* Returns a request's columns as a choice. */
static ColumnsChoice *
requested_choice(const ColumnsRequest *request)
{
	ColumnsChoice *choice = palloc0(sizeof(ColumnsChoice));

	choice->relation = request->relation;
	for (AttrNumber number = 1; number <= MaxHeapAttributeNumber; number++)
	{
		char	   *name;

		if (((request->columns[(number - 1) / 8] >> ((number - 1) % 8)) & 1) == 0)
			continue;
		name = get_attname(request->relation, number, true);
		if (name != NULL)
			choice->names = lappend(choice->names, makeString(name));
	}
	return choice;
}

/* Returns true if a request is of this database, and is to be held. */
static bool
is_open(const ColumnsRequest *request)
{
	return request->database == MyDatabaseId &&
		(request->state == REQUEST_NEW || request->state == REQUEST_LOADING || request->state == REQUEST_LOADED ||
		 request->state == REQUEST_FAILED);
}

/* Puts requests in the place of committed choices of their relation. */
static void
add_requests(void *arg)
{
	Choosing   *choosing = arg;

	for (int i = 0; i < COLUMNS_REQUESTS; i++)
	{
		ColumnsRequest request;
		ListCell   *lc;

		SpinLockAcquire(&choosing->all->mutex);
		request = choosing->all->requests[i];
		SpinLockRelease(&choosing->all->mutex);
		if (!is_open(&request))
			continue;
		foreach(lc, choosing->choices)
			if (((ColumnsChoice *) lfirst(lc))->relation == request.relation)
				choosing->choices = foreach_delete_current(choosing->choices, lc);
		choosing->choices = lappend(choosing->choices, requested_choice(&request));
	}
}

/* Frees entries of requests that have ended.  Returns true if there were any, or new ones. */
static bool
requests_changed(ColumnsShared *all)
{
	bool		changed = false;

	SpinLockAcquire(&all->mutex);
	for (int i = 0; i < COLUMNS_REQUESTS; i++)
	{
		ColumnsRequest *request = &all->requests[i];

		if (request->state == REQUEST_FREE || request->database != MyDatabaseId)
			continue;
		if (request->state == REQUEST_NEW)
		{
			request->state = REQUEST_LOADING;
			changed = true;
		}
		else if (request->state == REQUEST_COMMITTED || request->state == REQUEST_ABANDONED)
		{
			request->state = REQUEST_FREE;
			changed = true;
		}
	}
	SpinLockRelease(&all->mutex);
	return changed;
}

/* Returns the table of a relation, or NULL. */
static KeptTable *
find_table(Oid relation)
{
	dlist_iter	iter;

	dlist_foreach(iter, &kept_tables)
	{
		KeptTable  *table = dlist_container(KeptTable, node, iter.cur);

		if (table->relation == relation && !table->gone)
			return table;
	}
	return NULL;
}

/* Returns true if a table holds exactly these columns. */
static bool
holds(const KeptTable *table, const ColumnDescription *columns, int ncolumns)
{
	if (table->shown->ncolumns != (uint32) ncolumns)
		return false;
	for (int i = 0; i < ncolumns; i++)
		if (!column_same(&table->shown->columns[i], &columns[i]))
			return false;
	return true;
}

/* Returns a new table of a relation, which knows what the one before has found out about its columns. */
static KeptTable *
new_table(Oid relation)
{
	KeptTable  *table = kept_table_new(relation);
	dlist_iter	iter;

	dlist_foreach(iter, &kept_tables)
	{
		const KeptTable *before = dlist_container(KeptTable, node, iter.cur);

		if (before->relation == relation && before->gone)
			kept_table_inherit(table, before);
	}
	dlist_push_tail(&kept_tables, &table->node);
	return table;
}

/* A table to be looked at, under its lock. */
typedef struct Declaring
{
	Choosing   *choosing;
	const ColumnsChoice *choice;
	Oid			relation;
	bool		declared;
} Declaring;

/* Declares a table that is open, or sees that it is what it was. */
static void
declare_open(Declaring *declaring, Relation rel)
{
	ServiceLink *link = declaring->choosing->link;
	KeptTable  *table = find_table(declaring->relation);
	const char *refused = choice_refused(rel);
	ColumnDescription *columns;
	int			ncolumns = refused != NULL ? 0 : choice_columns(rel, declaring->choice, &columns);
	EngineFailure why;

	if (table != NULL)
		ncolumns = kept_table_limit(table, rel, columns, ncolumns);
	if (table != NULL && table->number != 0 && (ncolumns == 0 || !holds(table, columns, ncolumns)))
	{
		table->gone = true;
		table = NULL;
		ncolumns = refused != NULL ? 0 : choice_columns(rel, declaring->choice, &columns);
	}
	if (table == NULL)
	{
		table = new_table(declaring->relation);
		ncolumns = kept_table_limit(table, rel, columns, ncolumns);
	}
	table->chosen = true;
	if (ncolumns > 0 && table->number == 0 && link != NULL && !segment_fits(columns, ncolumns, link))
	{
		refused = "its columns are too many to be held together";
		ncolumns = 0;
	}
	declaring->declared = table->number != 0 || ncolumns == 0;
	if (ncolumns == 0)
		strlcpy(table->reason, refused != NULL ? refused : "none of its columns can be held", sizeof(table->reason));
	else if (table->number == 0 && link != NULL)
	{
		declaring->declared = kept_table_declare(table, rel, columns, ncolumns, link,
												 declaring->choosing->all->generation, &why);
		/* begins again with nothing */
		table->gone = !declaring->declared;
	}
}

/* Declares a table. */
static void
declare(void *arg)
{
	Declaring  *declaring = arg;
	KeptTable  *table;
	Relation	rel;

	if (!ConditionalLockRelationOid(declaring->relation, AccessShareLock))
	{
		/* what is held of it stays */
		table = find_table(declaring->relation);
		if (table != NULL)
			table->chosen = true;
		declaring->declared = table != NULL;
		return;
	}
	rel = try_relation_open(declaring->relation, NoLock);
	if (rel != NULL)
	{
		declare_open(declaring, rel);
		relation_close(rel, NoLock);
	}
	UnlockRelationOid(declaring->relation, AccessShareLock);
}

/* Declares the tables of all choices. */
static void
declare_choice(Choosing *choosing, const ColumnsChoice *choice)
{
	ListCell   *lc;

	foreach(lc, choice_leaves(choice->relation))
	{
		Declaring	declaring = {choosing, choice, lfirst_oid(lc), false};

		if (!keeper_try(declare, &declaring) || !declaring.declared)
			undeclared = true;
	}
}

/* A step that looks up a choice's leaves, and declares them. */
typedef struct ChoiceStep
{
	Choosing   *choosing;
	const ColumnsChoice *choice;
} ChoiceStep;

/* Does so as a step. */
static void
declare_choice_step(void *arg)
{
	ChoiceStep *step = arg;

	declare_choice(step->choosing, step->choice);
}

/* Frees the tables that nobody chose, or that are other ones now. */
static void
sweep(ServiceLink *link)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &kept_tables)
	{
		KeptTable  *table = dlist_container(KeptTable, node, iter.cur);

		if (table->chosen && !table->gone)
			continue;
		if (table->gone)
			choices_changed = true;
		ereport(DEBUG1, (errmsg_internal("gpusort frees the columns of relation %u%s", table->relation,
										 table->gone ? ", which has changed" : "")));
		dlist_delete(&table->node);
		kept_table_free(table, link);
	}
}

/*
 * Has the service drop tables that lost their choice while no keeper ran.  Those of open requests are among the kept
 * ones (add_requests).
 */
static void
drop_others(void *arg)
{
	ServiceLink *link = arg;
	uint32		n = 0;
	uint64	   *numbers;
	EngineFailure why;
	dlist_iter	iter;

	dlist_foreach(iter, &kept_tables)
		n++;
	numbers = palloc_array(uint64, n + 1);
	n = 0;
	dlist_foreach(iter, &kept_tables)
		numbers[n++] = dlist_container(KeptTable, node, iter.cur)->number;
	others_dropped = store_keep(link, numbers, n, &why);
}

/* Marks tables as not chosen, until a choice is found that names them. */
static void
unmark(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &kept_tables)
		dlist_container(KeptTable, node, iter.cur)->chosen = false;
}

/* Returns true if a table is to be dropped. */
static bool
any_gone(void)
{
	dlist_iter	iter;

	dlist_foreach(iter, &kept_tables)
		if (dlist_container(KeptTable, node, iter.cur)->gone)
			return true;
	return false;
}

bool
keeper_choose(ServiceLink *link, ColumnsShared *all)
{
	Choosing	choosing = {link, all, NIL, false};
	int64		now = gsd_now_ms();
	ListCell   *lc;

	if (requests_changed(all))
		choices_changed = true;
	if (!choices_changed && !any_gone() && now - chosen_ms < (undeclared ? RETRY_MS : CHOICES_MS))
		return any_chosen;
	if (!keeper_try(read_choices, &choosing) || choosing.locked_out || !keeper_try(add_requests, &choosing))
		return true;
	choices_changed = false;
	chosen_ms = now;
	undeclared = false;
	unmark();
	foreach(lc, choosing.choices)
	{
		ChoiceStep	step = {&choosing, lfirst(lc)};

		/* what an error kept from being found is not dropped */
		if (!keeper_try(declare_choice_step, &step))
			return true;
	}
	sweep(link);
	/* what is not declared yet may be there from an earlier keeper, to be taken over */
	if (link != NULL && !undeclared && !others_dropped)
		(void) keeper_try(drop_others, link);
	any_chosen = choosing.choices != NIL;
	return any_chosen;
}

void
keeper_forget_service(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &kept_tables)
	{
		KeptTable  *table = dlist_container(KeptTable, node, iter.cur);

		dlist_delete(&table->node);
		kept_table_free(table, NULL);
	}
	choices_changed = true;
	others_dropped = false;
}

/* How far the tables of a request are. */
typedef struct Progress
{
	ColumnsShared *all;
	ColumnsRequest request;
} Progress;

/* Adds a table to what a request shows.  Returns false if it fails. */
static bool
add_progress(ColumnsRequest *request, const KeptTable *table, bool *ready)
{
	if (table == NULL || table->number == 0)
	{
		*ready = false;
		if (table != NULL && table->reason[0] != '\0')
			strlcpy(request->reason, table->reason, sizeof(request->reason));
		return request->reason[0] == '\0';
	}
	if (table->full_ms != 0)
		strlcpy(request->reason, "gpusort.columns_memory is used up", sizeof(request->reason));
	request->loaded += table->shown->loaded;
	request->total += table->shown->total;
	*ready = *ready && !table->loading && !table->gone && table->shown->version > 0;
	return request->reason[0] == '\0';
}

/* Computes a request's progress. */
static void
compute_progress(void *arg)
{
	Progress   *progress = arg;
	ColumnsRequest *request = &progress->request;
	bool		ready = true;
	ListCell   *lc;

	request->loaded = request->total = 0;
	request->reason[0] = '\0';
	foreach(lc, choice_leaves(request->relation))
		if (!add_progress(request, find_table(lfirst_oid(lc)), &ready))
		{
			request->state = REQUEST_FAILED;
			return;
		}
	if (ready)
		request->state = REQUEST_LOADED;
}

/* Shows a request's progress, unless its session has gone on. */
static void
show_progress(ColumnsRequest *shown, const ColumnsRequest *request, ColumnsShared *all)
{
	SpinLockAcquire(&all->mutex);
	if (shown->state == REQUEST_LOADING && shown->relation == request->relation && shown->pid == request->pid)
		memcpy(shown, request, sizeof(*shown));
	SpinLockRelease(&all->mutex);
}

void
keeper_report(ColumnsShared *all)
{
	for (int i = 0; i < COLUMNS_REQUESTS; i++)
	{
		Progress	progress = {.all = all};

		SpinLockAcquire(&all->mutex);
		progress.request = all->requests[i];
		SpinLockRelease(&all->mutex);
		if (progress.request.state == REQUEST_LOADING && progress.request.database == MyDatabaseId &&
			keeper_try(compute_progress, &progress))
			show_progress(&all->requests[i], &progress.request, all);
	}
}
