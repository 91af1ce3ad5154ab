/*
 * keeper_table.c: what the keeper holds of a table, in its memory, in the page map and in the service.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/sinval.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "keeper.h"

/* Room for growth, so that not every new page needs another map. */
#define GROWTH_PAGES 1024

/* Pages of a segment, and how many of them are in use. */
typedef struct SegmentUse
{
	uint32		segment;		/* the key */
	uint32		pages;
	uint32		used;
} SegmentUse;

KeptTable *
kept_table_new(Oid relation)
{
	MemoryContext context = AllocSetContextCreate(TopMemoryContext, "gpusort kept table", ALLOCSET_DEFAULT_SIZES);
	KeptTable  *table = MemoryContextAllocZero(context, sizeof(KeptTable));

	table->context = context;
	table->relation = relation;
	table->shown = MemoryContextAllocZero(context, sizeof(PageMapHeader));
	table->map.fd = -1;
	table->dictionaries = MemoryContextAllocZero(context, sizeof(DictionaryMaps));
	return table;
}

/* Tells readers of a map to ask for another. */
static void
retire_map(KeptTable *table)
{
	table->shown->version = 0;
	table->shown->window = 0;
	table->shown->state = PAGE_MAP_DROPPED;
	table->shown->nblocks = 0;
	table->shown->nyoung = 0;
	page_map_publish(&table->map, table->shown, table->held, table->map.young);
	page_map_detach(&table->map);
}

void
kept_table_free(KeptTable *table, ServiceLink *link)
{
	EngineFailure why;

	load_job_end(table);
	if (table->map.header != NULL)
		retire_map(table);
	if (table->number != 0 && link != NULL)
		(void) store_drop(link, table->number, &why);
	dictionary_unmap(table->dictionaries);
	MemoryContextDelete(table->context);
}

/* Returns zeroed memory of a table. */
static void *
table_zeroed(KeptTable *table, Size bytes)
{
	return MemoryContextAllocExtended(table->context, bytes + 1, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Replaces an array by a larger one. */
static void
regrow(KeptTable *table, void *place, Size old_bytes, Size bytes)
{
	void	  **array = place;
	void	   *grown = table_zeroed(table, bytes);

	if (*array != NULL)
	{
		memcpy(grown, *array, old_bytes);
		pfree(*array);
	}
	*array = grown;
}

/* Makes all arrays of pages larger. */
static void
regrow_arrays(KeptTable *table, BlockNumber capacity)
{
	Size		old_bytes = page_words(table->capacity) * sizeof(uint64);
	Size		bytes = page_words(capacity) * sizeof(uint64);

	regrow(table, &table->held, old_bytes, bytes);
	regrow(table, &table->young, old_bytes, bytes);
	regrow(table, &table->dated, old_bytes, bytes);
	regrow(table, &table->visible, old_bytes, bytes);
	regrow(table, &table->requested, old_bytes, bytes);
	regrow(table, &table->spoiled, old_bytes, bytes);
	regrow(table, &table->wanted, old_bytes, bytes);
	regrow(table, &table->changed, old_bytes, bytes);
	regrow(table, &table->refused, old_bytes, bytes);
	regrow(table, &table->compact, old_bytes, bytes);
	regrow(table, &table->lsns, table->capacity * sizeof(XLogRecPtr), capacity * sizeof(XLogRecPtr));
	regrow(table, &table->segments, table->capacity * sizeof(uint32), capacity * sizeof(uint32));
	regrow(table, &table->xids, table->capacity * sizeof(PageXids), capacity * sizeof(PageXids));
	/* new pages wait for their first load */
	for (BlockNumber block = table->capacity; block < capacity; block++)
		set_page_bit(table->wanted, block);
	table->capacity = capacity;
}

/* Returns the bytes that a table's values will take, by the planner's figures. */
static uint64
expected_bytes(Relation rel, const ColumnDescription *columns, int ncolumns)
{
	double		rows = Max(rel->rd_rel->reltuples, 0);
	uint64		width = 0;

	for (int i = 0; i < ncolumns; i++)
		width += gs_type_width((gs_type) columns[i].gs);
	return (uint64) (rows * (double) width);
}

/* Hands a new map to the service. */
static bool
declare_map(KeptTable *table, uint64 expected, ServiceLink *link, EngineFailure *why)
{
	uint8	   *types = palloc_array(uint8, table->shown->ncolumns);

	for (uint32 i = 0; i < table->shown->ncolumns; i++)
		types[i] = (uint8) (table->shown->columns[i].gs |
							(table->shown->columns[i].form == COLUMN_CODES ? STORE_CODES : 0));
	return store_table(link, table->number, table->relation, table->shown->ncolumns, types, expected, table->map.fd,
					   why);
}

/*
 * Makes a map of the table's capacity.  It shows what an earlier map, if it is one, has published, so that queries and
 * keepers that ask for it before the next version find that one.
 */
static bool
make_map(KeptTable *table, const PageMap *earlier)
{
	PageMap		map;

	memset(&map, 0, sizeof(map));
	if (!page_map_create(&map, table->shown, table->capacity))
		return false;
	if (earlier->header != NULL)
	{
		BlockNumber known = Min(earlier->header->capacity, table->capacity);

		memcpy(map.lsns, earlier->lsns, known * sizeof(XLogRecPtr));
		memcpy(map.segments, earlier->segments, known * sizeof(uint32));
		memcpy(map.buffers, earlier->buffers, known * sizeof(Buffer));
		page_map_publish(&map, earlier->header, earlier->held, earlier->young);
	}
	table->map = map;
	return true;
}

/* Retires the map that the current one has replaced: its readers look for another. */
static void
retire_old_map(KeptTable *table, PageMap old)
{
	PageMap		grown = table->map;
	PageMapHeader *shown = palloc(sizeof(PageMapHeader));

	memcpy(shown, table->shown, sizeof(PageMapHeader));
	table->map = old;
	retire_map(table);
	memcpy(table->shown, shown, sizeof(PageMapHeader));
	table->map = grown;
	pfree(shown);
}

bool
kept_table_grow(KeptTable *table, BlockNumber nblocks, ServiceLink *link, EngineFailure *why)
{
	BlockNumber capacity = (BlockNumber) Min((uint64) nblocks + nblocks / 4 + GROWTH_PAGES, MaxBlockNumber);
	PageMap		old = table->map;
	volatile bool declared = false;

	regrow_arrays(table, capacity);
	*why = ENGINE_NO_FILE;
	if (!make_map(table, &old))
		return false;
	PG_TRY();
	{
		declared = declare_map(table, 0, link, why);
	}
	PG_FINALLY();
	{
		/* whether the service has the new one or has failed */
		retire_old_map(table, old);
	}
	PG_END_TRY();
	return declared;
}

/* Changes the number of a segment's pages in use.  All are, when it comes. */
static void
count_use(KeptTable *table, uint32 segment, int change)
{
	bool		found;
	SegmentUse *use = hash_search(table->uses, &segment, HASH_ENTER, &found);

	if (!found)
		use->pages = use->used = 0;
	use->used = (uint32) ((int) use->used + change);
	use->pages = Max(use->pages, use->used);
	if (use->used == 0)
		(void) hash_search(table->uses, &segment, HASH_REMOVE, NULL);
	else if (use->used * 2 < use->pages)
		table->sparse = true;
}

void
kept_table_mark_sparse(KeptTable *table)
{
	uint32		looked = 0;		/* segment of the page before, as pages of one lie together */
	bool		sparse = false;

	for (BlockNumber block = 0; block < table->nblocks; block++)
	{
		uint32		segment = table->segments[block];

		if (segment != looked)
		{
			SegmentUse *use = segment == 0 ? NULL : hash_search(table->uses, &segment, HASH_FIND, NULL);

			looked = segment;
			sparse = use != NULL && use->used * 2 < use->pages;
		}
		if (sparse)
			set_page_bit(table->compact, block);
	}
}

void
kept_table_place(KeptTable *table, BlockNumber block, uint32 segment)
{
	uint32		old = table->segments[block];

	if (old == segment)
		return;
	if (old != 0)
		count_use(table, old, -1);
	if (segment != 0)
		count_use(table, segment, 1);
	table->segments[block] = segment;
	set_page_bit(table->changed, block);
	clear_page_bit(table->compact, block);
}

void
kept_table_release(KeptTable *table, BlockNumber block)
{
	clear_page_bit(table->held, block);
	clear_page_bit(table->young, block);
	kept_table_place(table, block, 0);
}

void
kept_table_set_young(KeptTable *table, BlockNumber block, PageXids xids)
{
	set_page_bit(table->young, block);
	table->xids[block] = xids;
	if (TransactionIdIsValid(xids.newest))
		set_page_bit(table->dated, block);
	else
		clear_page_bit(table->dated, block);
}

/* Describes a relation in the map's key. */
static void
make_key(PageMapKey *key, Relation rel, uint64 generation)
{
	memset(key, 0, sizeof(*key));
	key->generation = generation;
	key->database = MyDatabaseId;
	key->tablespace = relation_tablespace(rel);
	key->relation = RelationGetRelid(rel);
	key->filenode = relation_filenode(rel);
}

bool
kept_table_current(KeptTable *table, Relation rel)
{
	PageMapKey	key;

	make_key(&key, rel, table->shown->key.generation);
	if (memcmp(&key, &table->shown->key, sizeof(key)) != 0 || choice_refused(rel) != NULL)
		return false;
	for (uint32 i = 0; i < table->shown->ncolumns; i++)
	{
		ColumnDescription now;

		if (column_describe(rel, table->shown->columns[i].number, false, &now) != NULL ||
			!column_same(&now, &table->shown->columns[i]))
			return false;
	}
	return true;
}

/* Takes a page that an earlier keeper held, as a young one: proved by its LSN until a window proves it. */
static void
adopt_page(KeptTable *table, const PageMap *from, BlockNumber block, PageXids xids)
{
	TransactionId next = XidFromFullTransactionId(ReadNextFullTransactionId());

	/* an invalid LSN never matches */
	if (from->segments[block] == 0 || XLogRecPtrIsInvalid(from->lsns[block]) ||
		(TransactionIdIsNormal(xids.oldest) && (int32) (next - xids.oldest) > MAX_XID_AGE))
		return;
	table->lsns[block] = from->lsns[block];
	table->segments[block] = from->segments[block];
	count_use(table, from->segments[block], 1);
	kept_table_set_young(table, block, xids);
	clear_page_bit(table->wanted, block);
}

/* Takes over all pages of an earlier keeper's map. */
static void
adopt_pages(KeptTable *table, const PageMap *from)
{
	const PageMapHeader *header = from->header;

	for (BlockNumber block = 0; block < header->nblocks; block++)
		if (page_bit(from->held, block))
			adopt_page(table, from, block, (PageXids) {0, 0});
	for (uint32 i = 0; i < header->nyoung; i++)
		if (from->young[i].block < header->nblocks)
			adopt_page(table, from, from->young[i].block,
					   (PageXids) {from->young[i].oldest, from->young[i].newest});
	/* what that keeper placed, and nobody holds now, is placed nowhere */
	for (BlockNumber block = 0; block < header->nblocks; block++)
		if (from->segments[block] != 0 && table->segments[block] == 0)
			set_page_bit(table->changed, block);
}

/* Returns true if an earlier keeper's map has the table's columns, but for those that it found could not be held. */
static bool
has_columns(const KeptTable *table, const PageMapHeader *header)
{
	uint32		n = 0;

	for (uint32 i = 0; i < table->shown->ncolumns; i++)
	{
		const ColumnDescription *column = &table->shown->columns[i];

		if (table->shown->limits[column->number - 1] != LIMIT_NONE &&
			table->shown->limits[column->number - 1] != header->limits[column->number - 1])
			return false;
		if (header->limits[column->number - 1] >= LIMIT_VALUES)
			continue;
		if (n == header->ncolumns || !column_same(column, &header->columns[n++]))
			return false;
	}
	return n == header->ncolumns;
}

/*
 * Returns true if an earlier keeper's map is of this relation and these columns, complete, and of the rows there.  The
 * table that this keeper replaces is none: it is given up.
 */
static bool
can_adopt(KeptTable *table, const PageMapHeader *header, ServiceLink *link)
{
	StoreInfo	info;
	EngineFailure why;

	return header->table != table->replaces &&
		memcmp(&header->key, &table->shown->key, sizeof(PageMapKey)) == 0 && has_columns(table, header) &&
		pg_atomic_read_u64((pg_atomic_uint64 *) &header->sequence) % 2 == 0 && header->nblocks <= header->capacity &&
		header->nyoung <= header->nblocks && header->version > 0 &&
		store_info(link, table->relation, &info, &why) && info.table == header->table &&
		info.version == header->version;
}

/* Finds an earlier keeper's map.  If it cannot be adopted, its table is dropped. */
static bool
find_earlier(KeptTable *table, ServiceLink *link, PageMap *earlier)
{
	EngineFailure why;
	uint64		number;
	int			fd = store_map(link, table->relation, &number, &why);

	memset(earlier, 0, sizeof(*earlier));
	if (fd < 0)
		return false;
	if (page_map_attach(earlier, fd))
	{
		if (can_adopt(table, earlier->header, link))
			return true;
		page_map_detach(earlier);
	}
	(void) store_drop(link, number, &why);
	return false;
}

/* Makes the table of segments' uses. */
static void
make_uses(KeptTable *table)
{
	HASHCTL		control = {.keysize = sizeof(uint32), .entrysize = sizeof(SegmentUse), .hcxt = table->context};

	table->uses = hash_create("gpusort segments", 64, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
}

bool
kept_table_declare(KeptTable *table, Relation rel, const ColumnDescription *columns, int ncolumns, ServiceLink *link,
				   uint64 generation, EngineFailure *why)
{
	BlockNumber nblocks = RelationGetNumberOfBlocks(rel);
	BlockNumber capacity;
	PageMap		earlier;
	bool		adopted;
	bool		made;

	make_key(&table->shown->key, rel, generation);
	table->shown->ncolumns = (uint32) ncolumns;
	memcpy(table->shown->columns, columns, ncolumns * sizeof(ColumnDescription));
	adopted = find_earlier(table, link, &earlier);
	if (adopted)
	{
		nblocks = Max(nblocks, earlier.header->nblocks);
		table->judged = true;
		table->shown->ncolumns = earlier.header->ncolumns;
		memcpy(table->shown->columns, earlier.header->columns, sizeof(table->shown->columns));
		memcpy(table->shown->limits, earlier.header->limits, sizeof(table->shown->limits));
	}
	capacity = (BlockNumber) Min((uint64) nblocks + nblocks / 4 + GROWTH_PAGES, MaxBlockNumber);
	table->number = adopted ? earlier.header->table : 0;
	while (table->number == 0)
		if (!pg_strong_random(&table->number, sizeof(table->number)))
			ereport(ERROR, (errmsg("could not generate a random number")));
	table->shown->table = table->number;
	make_uses(table);
	regrow_arrays(table, capacity);
	if (adopted)
	{
		table->shown->version = earlier.header->version;
		table->shown->ready_since = earlier.header->ready_since;
		table->nblocks = earlier.header->nblocks;
		adopt_pages(table, &earlier);
	}
	made = make_map(table, &earlier);
	if (adopted)
		page_map_detach(&earlier);
	*why = ENGINE_NO_FILE;
	if (!made)
		return false;
	table->loading = true;
	table->shown->total = RelationGetNumberOfBlocks(rel);
	return declare_map(table, expected_bytes(rel, columns, ncolumns), link, why);
}

/* Lists the young pages, and counts the pages of each kind. */
static YoungPage *
list_young(KeptTable *table)
{
	PageMapHeader *shown = table->shown;
	YoungPage  *young;

	shown->held = (BlockNumber) pg_popcount((const char *) table->held,
											(int) (page_words(table->nblocks) * sizeof(uint64)));
	shown->nyoung = (uint32) pg_popcount((const char *) table->young,
										 (int) (page_words(table->nblocks) * sizeof(uint64)));
	shown->changed = table->nblocks - shown->held - shown->nyoung;
	young = palloc_extended((shown->nyoung + 1) * sizeof(YoungPage), MCXT_ALLOC_HUGE);
	for (Size word = 0, n = 0; word < page_words(table->nblocks); word++)
		for (uint64 left = table->young[word]; left != 0; left &= left - 1)
		{
			BlockNumber block = (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left);

			young[n++] = (YoungPage) {block, table->xids[block].oldest, table->xids[block].newest, 0,
			table->lsns[block]};
		}
	return young;
}

/* Sends the pages whose rows lie elsewhere than in the published version, which make the next one. */
static bool
publish_version(KeptTable *table, ServiceLink *link, EngineFailure *why)
{
	Size		words = page_words(table->capacity);
	uint32		n = 0;
	StorePlace *places;

	for (Size word = 0; word < words; word++)
		n += (uint32) pg_popcount64(table->changed[word]);
	if (n == 0 && table->shown->version > 0)
		return true;
	places = palloc_extended((n + 1) * sizeof(StorePlace), MCXT_ALLOC_HUGE);
	n = 0;
	for (Size word = 0; word < words; word++)
		for (uint64 left = table->changed[word]; left != 0; left &= left - 1)
		{
			BlockNumber block = (BlockNumber) (word * 64) + (BlockNumber) pg_rightmost_one_pos64(left);

			places[n++] = (StorePlace) {block, table->segments[block]};
		}
	if (!store_publish(link, table->number, table->shown->version + 1, places, n, why))
		return false;
	table->shown->version++;
	/* after the service has it: until the map shows this version, too, nobody adopts */
	for (uint32 i = 0; i < n; i++)
	{
		table->map.segments[places[i].block] = places[i].segment;
		table->map.lsns[places[i].block] = table->lsns[places[i].block];
	}
	memset(table->changed, 0, words * sizeof(uint64));
	pfree(places);
	return true;
}

/*
 * Has cached plans made again that passed over a table's columns because they were not loaded.  No catalog changes, so
 * that the message needs no transaction.
 */
static void
replan_queries(Oid relation)
{
	SharedInvalidationMessage message = {.rc = {SHAREDINVALRELCACHE_ID, MyDatabaseId, relation}};

	SendSharedInvalidMessages(&message, 1);
}

bool
kept_table_publish(KeptTable *table, uint32 window, ServiceLink *link, EngineFailure *why)
{
	PageMapState before = table->shown->state;
	YoungPage  *young;

	if (!publish_version(table, link, why))
		return false;
	table->shown->window = window;
	table->shown->nblocks = table->nblocks;
	young = list_young(table);
	/* of a first load that was quick, no earlier version could be judged, and ready are only columns that stay */
	if (!table->loading && !table->judged)
		kept_table_judge_dictionaries(table, link, why);
	if (table->full_ms != 0)
		table->shown->state = PAGE_MAP_NO_MEMORY;
	else if (table->loading || (!table->judged && (table->gone || *why != ENGINE_OK)))
		table->shown->state = PAGE_MAP_LOADING;
	else
		table->shown->state = PAGE_MAP_READY;
	if (table->shown->state == PAGE_MAP_READY && table->shown->ready_since == 0)
		table->shown->ready_since = GetCurrentTimestamp();
	table->shown->total = table->nblocks;
	table->shown->loaded = table->loading ? table->shown->held + table->shown->nyoung : table->nblocks;
	page_map_publish(&table->map, table->shown, table->held, young);
	pfree(young);
	if (table->shown->state == PAGE_MAP_READY && before != PAGE_MAP_READY)
		replan_queries(table->relation);
	return *why == ENGINE_OK;
}
