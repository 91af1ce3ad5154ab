/*
 * held_tables.c: this session's maps of held tables.
 *
 * A map is mapped once and read at every query.  The session asks the service for another one if the map is dropped, is
 * of another relation than the table has now, or proves nothing because its keeper is gone.
 */
#include "postgres.h"

#include "access/table.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "src/engine/stat.h"
#include "held_tables.h"

/* Proofs tried while the keeper moves on; it does so a few times a second. */
#define PROOF_ATTEMPTS 5

/* After the service gave no map that is the table's, it is asked again at the earliest after this time. */
#define ASK_MS 100

/* Maps of tables that are held no more are let go of when no query has asked for them in this time. */
#define UNUSED_MS 5000

static HTAB *tables;

/* Returns the session's entry for a relation, a new one if necessary. */
static HeldTable *
entry_of(Oid relation)
{
	HeldTable  *entry;
	bool		found;

	if (tables == NULL)
	{
		HASHCTL		control = {.keysize = sizeof(Oid), .entrysize = sizeof(HeldTable)};

		tables = hash_create("tables of resident columns", 16, &control, HASH_ELEM | HASH_BLOBS);
	}
	entry = hash_search(tables, &relation, HASH_ENTER, &found);
	if (!found)
	{
		memset((char *) entry + sizeof(Oid), 0, sizeof(*entry) - sizeof(Oid));
		entry->map.fd = -1;
	}
	return entry;
}

void
held_forget(void)
{
	static int64 forgot_ms;
	int64		now = gsd_now_ms();
	HASH_SEQ_STATUS status;
	HeldTable  *table;

	if (tables == NULL || now - forgot_ms < UNUSED_MS)
		return;
	forgot_ms = now;
	hash_seq_init(&status, tables);
	while ((table = hash_seq_search(&status)) != NULL)
	{
		if (now - table->used_ms < UNUSED_MS ||
			(table->map.header != NULL && table->map.header->state != PAGE_MAP_DROPPED))
			continue;
		page_map_detach(&table->map);
		if (table->dictionaries != NULL)
		{
			dictionary_unmap(table->dictionaries);
			pfree(table->dictionaries);
		}
		(void) hash_search(tables, &table->relation, HASH_REMOVE, NULL);
	}
}

/* Returns true if a map is of the relation as it is now, and of this life of the server. */
static bool
is_of(const PageMapHeader *header, Relation rel, uint64 generation)
{
	return header->key.generation == generation && header->key.database == MyDatabaseId &&
		header->key.relation == RelationGetRelid(rel) && header->key.filenode == relation_filenode(rel) &&
		header->key.tablespace == relation_tablespace(rel) && header->state != PAGE_MAP_DROPPED;
}

/* Returns why the service gave no file: it failed, which is counted, or does not have it. */
static const char *
why_no_file(EngineFailure failure)
{
	if (failure == ENGINE_OK)
		return "its columns are not held";
	stat_count_left(JOB_COLUMNS, failure);
	return engine_failure_text(failure);
}

DictionaryFile *
held_dictionary(ServiceLink *link, HeldTable *table, int column, const char **why)
{
	EngineFailure failure;
	DictionaryFile *file;

	if (table->dictionaries == NULL)
		table->dictionaries = MemoryContextAllocZero(TopMemoryContext, sizeof(DictionaryMaps));
	file = dictionary_map(table->dictionaries, link, table->table, (uint32) column, &failure);
	if (file == NULL)
		*why = why_no_file(failure);
	return file;
}

bool
held_map(ServiceLink *link, Oid relation, uint64 *number, PageMap *map, EngineFailure *failure)
{
	for (int attempt = 0; attempt < 2; attempt++)
	{
		int			fd;

		page_map_detach(map);
		fd = store_map(link, relation, number, failure);
		if (fd < 0)
			return false;
		if (!page_map_attach(map, fd) || map->header->state != PAGE_MAP_DROPPED)
			break;
	}
	return true;
}

/* Asks the service for the relation's map. */
static void
ask(ServiceLink *link, HeldTable *table, const char **why)
{
	EngineFailure failure;

	table->missed_ms = gsd_now_ms();
	if (!held_map(link, table->relation, &table->table, &table->map, &failure))
		*why = why_no_file(failure);
	else if (table->map.header == NULL)
		*why = "its map is not readable";
	else
		table->missed_ms = 0;	/* when this map is dropped, the next one is there */
}

HeldTable *
held_table(ServiceLink *link, Relation rel, const char **why)
{
	const ColumnsShared *all = columns_shared(why);
	HeldTable  *table;

	if (all == NULL)
		return NULL;
	table = entry_of(RelationGetRelid(rel));
	table->used_ms = gsd_now_ms();
	*why = "its columns are not held";
	if (table->map.header == NULL || !is_of(table->map.header, rel, all->generation))
	{
		if (gsd_now_ms() - table->missed_ms < ASK_MS)
			return NULL;
		ask(link, table, why);
	}
	if (table->map.header == NULL)
		return NULL;
	if (!is_of(table->map.header, rel, all->generation))
	{
		*why = "its columns are being loaded again";
		table->missed_ms = gsd_now_ms();
		return NULL;
	}
	return table;
}

bool
held_figures(Oid relation, BlockNumber *held, BlockNumber *young)
{
	const HeldTable *entry = tables != NULL ? hash_search(tables, &relation, HASH_FIND, NULL) : NULL;
	const char *why;
	ColumnsShared *all = columns_shared(&why);
	const KeeperShared *keeper = all ? columns_keeper(all) : NULL;

	if (entry == NULL || entry->map.header == NULL || entry->map.header->state == PAGE_MAP_DROPPED)
		return false;
	/* a keeper that has ended leaves its map as it was, and only a question finds the next one's */
	if (keeper == NULL || !columns_window_held(keeper, entry->map.header->window))
		return false;
	*held = entry->map.header->held;
	*young = entry->map.header->nyoung;
	return true;
}

/* Asks for the map of a relation that is locked, for the planner. */
static void
look_up(Oid relation)
{
	EngineFailure failure;
	const char *why;
	ServiceLink *link = store_open(&failure);
	Relation	rel;

	if (link == NULL)
		return;
	rel = table_open(relation, NoLock);
	PG_TRY();
	{
		(void) held_table(link, rel, &why);
	}
	PG_CATCH();
	{
		store_close(link);
		PG_RE_THROW();
	}
	PG_END_TRY();
	table_close(rel, NoLock);
	store_park(link);
}

bool
held_refuses(Oid relation, AttrNumber number)
{
	const HeldTable *entry = entry_of(relation);

	if ((entry->map.header == NULL || entry->map.header->state == PAGE_MAP_DROPPED) &&
		gsd_now_ms() - entry->missed_ms >= ASK_MS)
		look_up(relation);
	return entry->map.header != NULL && entry->map.header->limits[number - 1] >= LIMIT_VALUES;
}

int
held_column(const HeldTable *table, Relation rel, AttrNumber number)
{
	const PageMapHeader *header = table->map.header;
	ColumnDescription now;

	if (column_describe(rel, number, true, &now) != NULL)
		return -1;
	for (uint32 i = 0; i < header->ncolumns; i++)
		if (column_same(&header->columns[i], &now))
			return (int) i;
	return -1;
}

/*
 * Asks for the map of the next keeper, perhaps.  Returns false if its columns are not those of the map before, by whose
 * places the caller names them.
 */
static bool
ask_again(ServiceLink *link, HeldTable *table, const char **why)
{
	const PageMapHeader *header = table->map.header;
	uint32		ncolumns = header->ncolumns;
	Size		bytes = ncolumns * sizeof(ColumnDescription);
	ColumnDescription *columns = memcpy(palloc(bytes), header->columns, bytes);
	bool		same;

	ask(link, table, why);
	header = table->map.header;
	same = header != NULL && header->ncolumns == ncolumns && memcmp(header->columns, columns, bytes) == 0;
	pfree(columns);
	return same;
}

bool
held_pages(ServiceLink *link, HeldTable *table, Relation rel, Snapshot snapshot, PageProof *proof, const char **why)
{
	ColumnsShared *all = columns_shared(why);
	const KeeperShared *keeper = all ? columns_keeper(all) : NULL;

	*why = "its keeper is not there yet";
	if (keeper == NULL)
		return false;
	for (int attempt = 0; attempt < PROOF_ATTEMPTS; attempt++)
	{
		if (prove_pages(rel, snapshot, &table->map, keeper, proof))
			return true;
		if ((attempt == PROOF_ATTEMPTS / 2 || table->map.header->state == PAGE_MAP_DROPPED) &&
			!ask_again(link, table, why))
			return false;
		if (!is_of(table->map.header, rel, all->generation))
			return false;
	}
	/* its roll passed over the table, as when somebody had it locked, and its next one would come a while later */
	columns_hurry();
	return false;
}
