/*
 * index_rows.c: the rows that a scan finds for an index, sorted by its keys.
 *
 * A scan returns blocks in ascending order, and so rows in the order of their TIDs, which a sort keeps where keys are
 * equal.  The exception is a row at the end of a HOT chain: its TID is that of the chain's root, while it comes in its
 * own place.  Where a scan has met one, rows of a block with equal keys are put in order on their way out.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "access/nbtree.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "index_rows.h"
#include "src/base/compat.h"
#include "src/rows/rowcompare.h"

/*
 * The part of their memory that sorts keep while they return rows.  PostgreSQL's has the rest, as it merges its runs by
 * up to two comparisons a row: the larger, the fewer.
 */
#define KEPT_FRACTION 8

/* Least memory of a sort. */
#define LEAST_SORT_MEMORY ((Size) 1024 * 1024)

/* Neighbours of one block in the order of the sort, on their way out. */
typedef struct BlockRows
{
	SortSupport keys;
	TupleTableSlot *slots[2];	/* for comparisons */
	MemoryContext memory;		/* of the rows */
	MinimalTuple rows[MaxHeapTuplesPerPage];
	int			count;
	int			next;
	MinimalTuple ahead;			/* the row behind them, of another block */
} BlockRows;

struct IndexRows
{
	IndexForm	form;
	Sorter	   *sorter;
	TupleTableSlot *slot;		/* the row that comes in */
	MemoryContext detoasted;	/* its values that were stored elsewhere */
	uint64		count;
	uint64		last;			/* the last row's number */
	BlockRows  *block;			/* NULL as long as numbers ascend */
};

/* Describes a key of an index; false if its family has no ordering operator. */
static bool
describe_key(Relation index, int key, SortColumns *columns)
{
	bool		desc = (index->rd_indoption[key] & INDOPTION_DESC) != 0;
	Oid			type = index->rd_opcintype[key];

	columns->attnos[key] = (AttrNumber) (key + 2);
	columns->sortops[key] = get_opfamily_member(index->rd_opfamily[key], type, type,
												desc ? BTGreaterStrategyNumber : BTLessStrategyNumber);
	columns->collations[key] = index->rd_indcollation[key];
	columns->nulls_first[key] = (index->rd_indoption[key] & INDOPTION_NULLS_FIRST) != 0;
	return OidIsValid(columns->sortops[key]);
}

/* Makes the number the key behind those of the index. */
static void
describe_number(SortColumns *columns)
{
	columns->attnos[columns->nkeys] = 1;
	columns->sortops[columns->nkeys] = Int8LessOperator;
}

bool
indexform_make(Relation index, IndexForm *form)
{
	TupleDesc	from = RelationGetDescr(index);
	SortColumns *columns = &form->columns;
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);

	columns->nkeys = nkeys;
	columns->attnos = palloc0(sizeof(AttrNumber) * (nkeys + 1));
	columns->sortops = palloc0(sizeof(Oid) * (nkeys + 1));
	columns->collations = palloc0(sizeof(Oid) * (nkeys + 1));
	columns->nulls_first = palloc0(sizeof(bool) * (nkeys + 1));
	describe_number(columns);
	form->desc = CreateTemplateTupleDesc(from->natts + 1);
	TupleDescInitEntry(form->desc, 1, "number", INT8OID, -1, 0);
	for (int i = 0; i < from->natts; i++)
	{
		/* a name is stored as a cstring, while the scan returns names */
		if (TupleDescAttr(from, i)->atttypid == CSTRINGOID)
			return false;
		TupleDescCopyEntry(form->desc, (AttrNumber) (i + 2), from, (AttrNumber) (i + 1));
	}
	finish_descriptor(form->desc);
	for (int i = 0; i < nkeys; i++)
		if (!describe_key(index, i, columns))
			return false;
	return true;
}

int
confirming_kilobytes(int kilobytes)
{
	return kilobytes - kilobytes / KEPT_FRACTION;
}

IndexRows *
indexrows_begin(const IndexForm *form, double rows_expected, int kilobytes, int participants)
{
	IndexRows  *rows = palloc0(sizeof(IndexRows));
	Size		limit = Max((Size) kilobytes * 1024 / participants, LEAST_SORT_MEMORY);

	rows->form = *form;
	rows->slot = MakeSingleTupleTableSlot(form->desc, &TTSOpsVirtual);
	rows->detoasted = AllocSetContextCreate(CurrentMemoryContext, "gpusort index values", ALLOCSET_SMALL_SIZES);
	rows->sorter = sorter_begin_draft(&form->columns, form->desc, rows_expected / participants, limit,
									  limit / KEPT_FRACTION);
	return rows;
}

/* Begins to put rows of a block in order; no row has gone out. */
static void
begin_blocks(IndexRows *rows)
{
	BlockRows  *block = palloc0(sizeof(BlockRows));

	block->keys = open_comparators(&rows->form.columns);
	for (int i = 0; i < 2; i++)
		block->slots[i] = MakeSingleTupleTableSlot(rows->form.desc, &TTSOpsMinimalTuple);
	block->memory = AllocSetContextCreate(CurrentMemoryContext, "gpusort index block", ALLOCSET_DEFAULT_SIZES);
	rows->block = block;
}

/* Fetches the value of a column that is stored elsewhere, as its index tuple will have it. */
static Datum
detoast(IndexRows *rows, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(rows->detoasted);

	value = PointerGetDatum(detoast_external_attr((struct varlena *) DatumGetPointer(value)));
	MemoryContextSwitchTo(old);
	return value;
}

/* Fills the slot with a row's number and values; true if some of these were fetched from elsewhere. */
static bool
fill_slot(IndexRows *rows, uint64 number, const Datum *values, const bool *isnull)
{
	TupleTableSlot *slot = rows->slot;
	int			natts = rows->form.desc->natts;
	bool		fetched = false;

	ExecClearTuple(slot);
	slot->tts_values[0] = Int64GetDatum((int64) number);
	slot->tts_isnull[0] = false;
	for (int i = 1; i < natts; i++)
	{
		slot->tts_values[i] = values[i - 1];
		slot->tts_isnull[i] = isnull[i - 1];
		if (isnull[i - 1] || TupleDescAttr(rows->form.desc, i)->attlen != -1 ||
			likely(!VARATT_IS_EXTERNAL(DatumGetPointer(values[i - 1]))))
			continue;
		slot->tts_values[i] = detoast(rows, values[i - 1]);
		fetched = true;
	}
	ExecStoreVirtualTuple(slot);
	return fetched;
}

void
indexrows_put(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	IndexRows  *rows = arg;
	uint64		number = rownumber_make(tid, alive);
	bool		fetched = fill_slot(rows, number, values, isnull);

	sorter_put(rows->sorter, rows->slot);
	rows->count++;
	if (unlikely(number < rows->last) && rows->block == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(GetMemoryChunkContext(rows));

		begin_blocks(rows);
		MemoryContextSwitchTo(old);
	}
	rows->last = number;
	if (unlikely(fetched))
		MemoryContextReset(rows->detoasted);
}

void
indexrows_finish(IndexRows *rows)
{
	sorter_finish(rows->sorter);
}

/* Are the keys of two rows equal? */
static bool
keys_are_equal(IndexRows *rows, MinimalTuple a, MinimalTuple b)
{
	BlockRows  *block = rows->block;

	ExecStoreMinimalTuple(a, block->slots[0], false);
	ExecStoreMinimalTuple(b, block->slots[1], false);
	return compare_slots(block->keys, rows->form.columns.nkeys, block->slots[0], block->slots[1]) == 0;
}

/* Adds a copy of a row to those of its block, before those with equal keys and greater numbers. */
static void
add_to_block(IndexRows *rows, MinimalTuple row)
{
	BlockRows  *block = rows->block;
	int			place = block->count++;

	row = memcpy(MemoryContextAlloc(block->memory, row->t_len), row, row->t_len);
	for (; place > 0 && row_number(block->rows[place - 1]) > row_number(row) &&
		 keys_are_equal(rows, block->rows[place - 1], row); place--)
		block->rows[place] = block->rows[place - 1];
	block->rows[place] = row;
}

/* Reads the next rows of one block. */
static void
read_block(IndexRows *rows)
{
	BlockRows  *block = rows->block;
	MinimalTuple row = block->ahead ? block->ahead : sorter_next(rows->sorter);

	MemoryContextReset(block->memory);
	block->count = block->next = 0;
	block->ahead = NULL;
	while (row != NULL && block->ahead == NULL)
	{
		add_to_block(rows, row);
		row = sorter_next(rows->sorter);
		if (row != NULL && (block->count == MaxHeapTuplesPerPage ||
							rownumber_block(row_number(row)) != rownumber_block(row_number(block->rows[0]))))
			block->ahead = row;
	}
}

MinimalTuple
indexrows_next(void *arg)
{
	IndexRows  *rows = arg;
	BlockRows  *block = rows->block;

	if (likely(block == NULL))
		return sorter_next(rows->sorter);
	if (block->next == block->count)
		read_block(rows);
	return block->next < block->count ? block->rows[block->next++] : NULL;
}

Sorter *
indexrows_sorter(IndexRows *rows)
{
	return rows->sorter;
}

uint64
indexrows_count(const IndexRows *rows)
{
	return rows->count;
}

void
indexrows_end(IndexRows *rows)
{
	sorter_end(rows->sorter);
	ExecDropSingleTupleTableSlot(rows->slot);
	if (rows->block)
		for (int i = 0; i < 2; i++)
			ExecDropSingleTupleTableSlot(rows->block->slots[i]);
}
