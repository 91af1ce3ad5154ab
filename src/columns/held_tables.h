/*
 * held_tables.h: the maps of held tables that this session has, and what it takes to prove pages with them.
 */
#ifndef GPUSORT_HELD_TABLES_H
#define GPUSORT_HELD_TABLES_H

#include "utils/rel.h"

#include "codes.h"
#include "proof.h"
#include "store.h"

/* A table that the service holds, as this session knows it. */
typedef struct HeldTable
{
	Oid			relation;		/* key of the session's table of them */
	uint64		table;			/* its number in the service */
	PageMap		map;
	DictionaryMaps *dictionaries;	/* NULL: none was needed */
	int64		missed_ms;		/* when the service last gave no map that is the relation's; 0: it gave one */
	int64		used_ms;		/* when a query last asked for the table */
} HeldTable;

/*
 * Asks the service for a relation's map, once more if its keeper replaces it just then.  Returns false if there is
 * none.  The map has no header if it is not readable.
 */
extern bool held_map(ServiceLink *link, Oid relation, uint64 *number, PageMap *map, EngineFailure *failure);

/*
 * Lets go of maps and dictionaries of tables that are no longer held, every now and then: their memory is freed when
 * nobody has them.  Nothing that held_table has returned before may be used after.
 */
extern void held_forget(void);

/*
 * Returns a relation's table, with a map whose key and columns are the relation's of now, or NULL with the reason.
 */
extern HeldTable *held_table(ServiceLink *link, Relation rel, const char **why);

/*
 * Returns the numbers of pages of a relation that are held, without and with a proof by their LSN, as far as the map at
 * hand tells; false if this session has none, or its keeper has ended.
 */
extern bool held_figures(Oid relation, BlockNumber *held, BlockNumber *young);

/*
 * Returns true if a column of strings, which was chosen, is known not to be held, as its strings are too many.  Asks
 * the service if this session has no map.
 */
extern bool held_refuses(Oid relation, AttrNumber number);

/* Returns the index of a column in the table, or -1: it is not held, or not as the relation describes it now. */
extern int	held_column(const HeldTable *table, Relation rel, AttrNumber number);

/*
 * Returns the dictionary of a column, which has all strings of versions that were proved before the call.  NULL, with
 * the reason: it cannot be read.
 */
extern DictionaryFile *held_dictionary(ServiceLink *link, HeldTable *table, int column, const char **why);

/*
 * Proves the pages of a held table for a snapshot.  Tries again when the keeper moves on meanwhile.  Returns false with
 * the reason if it does not succeed.
 */
extern bool held_pages(ServiceLink *link, HeldTable *table, Relation rel, Snapshot snapshot, PageProof *proof,
					   const char **why);

#endif
