/*
 * chosen.c: which relations have chosen columns, as this session's planner knows it.
 *
 * Planning a query of other tables must cost nothing, so the choices are read once, and again after an invalidation of
 * a relation that they depend on: the table of choices, a chosen relation, or, while there is no table of choices, any.
 * A choice that is missed or outdated costs speed alone: whether columns answer is decided when the plan runs.
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "nodes/value.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/memutils.h"

#include "choice.h"
#include "chosen.h"

static bool known;				/* what follows is up to date */
static uint64 changes;			/* invalidations that concern it */
static Oid	choices;			/* the table of choices, or InvalidOid */
static HTAB *relations;			/* of Chosen: chosen ones and their leaves; NULL: none */
static MemoryContext context;	/* of their names */

typedef struct Chosen
{
	Oid			relation;
	bool		all;			/* all columns, else names */
	List	   *names;			/* of String */
} Chosen;

/* Called for each invalidation of a relation; InvalidOid stands for all. */
static void
forget_choices(Datum arg, Oid relation)
{
	if (!OidIsValid(relation) || !OidIsValid(choices) || relation == choices ||
		(relations != NULL && hash_search(relations, &relation, HASH_FIND, NULL) != NULL))
	{
		known = false;
		changes++;
	}
}

/* Registers for invalidations, once. */
static void
watch(void)
{
	static bool watching;

	if (!watching)
		CacheRegisterRelcacheCallback(forget_choices, (Datum) 0);
	watching = true;
}

/* Adds a choice to a relation. */
static void
note_relation(Oid relation, const ColumnsChoice *choice)
{
	bool		found;
	Chosen	   *chosen = hash_search(relations, &relation, HASH_ENTER, &found);

	if (!found)
	{
		chosen->all = false;
		chosen->names = NIL;
	}
	chosen->all = chosen->all || choice->all;
	chosen->names = list_concat(chosen->names, choice->names);
}

/* Puts chosen relations and their leaves into a table. */
static void
note_relations(List *choices_read)
{
	HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(Chosen)};
	ListCell   *lc;
	ListCell   *leaf;

	if (choices_read == NIL)
		return;
	relations = hash_create("relations with resident columns", 16, &control, HASH_ELEM | HASH_BLOBS);
	foreach(lc, choices_read)
	{
		const ColumnsChoice *choice = lfirst(lc);

		note_relation(choice->relation, choice);
		foreach(leaf, choice_leaves(choice->relation))
			if (lfirst_oid(leaf) != choice->relation)
				note_relation(lfirst_oid(leaf), choice);
	}
}

/* Reads the choices.  Whoever changes their table is not waited for: the next plan reads them. */
static void
read_choices(void)
{
	MemoryContext old;
	uint64		before = changes;
	bool		read = true;

	if (relations != NULL)
		hash_destroy(relations);
	relations = NULL;
	if (context == NULL)
		context = AllocSetContextCreate(CacheMemoryContext, "choices of resident columns", ALLOCSET_SMALL_SIZES);
	MemoryContextReset(context);
	old = MemoryContextSwitchTo(context);
	choices = choice_table();
	if (OidIsValid(choices))
	{
		read = ConditionalLockRelationOid(choices, AccessShareLock);
		if (read && choice_table() == choices)
			note_relations(choice_read(choices));
		if (read)
			UnlockRelationOid(choices, AccessShareLock);
	}
	MemoryContextSwitchTo(old);
	known = read && changes == before;
}

bool
any_chosen(void)
{
	/* reading them takes a snapshot, which parallel workers and their leader must not do */
	if (!known && IsTransactionState() && !IsInParallelMode() && !RecoveryInProgress())
	{
		watch();
		read_choices();
	}
	return relations != NULL;
}

bool
is_chosen(Oid relation)
{
	return relations != NULL && hash_search(relations, &relation, HASH_FIND, NULL) != NULL;
}

bool
is_chosen_column(Oid relation, const char *name)
{
	const Chosen *chosen = relations != NULL ? hash_search(relations, &relation, HASH_FIND, NULL) : NULL;
	ListCell   *lc;

	if (chosen == NULL)
		return false;
	foreach(lc, chosen->names)
		if (strcmp(strVal(lfirst(lc)), name) == 0)
			return true;
	return chosen->all;
}
