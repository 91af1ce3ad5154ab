/*
 * sorter_ordered.c: rows that come in order.
 *
 * PostgreSQL's sort first looks whether rows are in order, which takes a comparison for each.  To encode a key that has
 * no exact encoding takes longer, and its order is compared at the end as well; so it is with strings of which only the
 * first bytes are keys.  A sort by such keys encodes nothing as long as each row follows the one before it.  The first
 * row that does not brings all keys.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "sorter_job.h"
#include "src/engine/stat.h"

/* Rows taken between two looks at the memory limit. */
#define ORDERED_ROWS 1024

bool
expect_order(Sorter *sorter)
{
	int			key = 0;

	while (key < sorter->columns.nkeys && sorter->keys[key].form == NULL && sorter->keys[key].leader == NULL)
		key++;
	if (key == sorter->columns.nkeys)
		return false;
	sorter->state = SS_LOADING_IN_ORDER;
	/* a row out of order brings the keys of all, which need room */
	sorter->held = 0;
	sorter->rows_limit = sorter->limit / 2;
	sorter->writer.row = 0;
	sorter->writer.capacity = ORDERED_ROWS;
	return true;
}

/* Compares a row with the one before it.  Where comparisons are dear, neighbours that repeat are spared them. */
static int
compare_with_previous(const Sorter *sorter, RowComparer *comparer, uint32 row)
{
	int			order = 0;

	for (int key = 0; order == 0 && key < comparer->nkeys; key++)
		if (sorter->keys[key].form == NULL || !rowcompare_stored_alike(comparer, key, row - 1, row))
			order = rowcompare_key(comparer, key, row - 1, row);
	return order;
}

/* Do the count rows that were stored last follow those before them? */
static bool
come_in_order(Sorter *sorter, uint32 count)
{
	bool		follow = true;
	MemoryContext old = MemoryContextSwitchTo(sorter->scratch);
	RowComparer *comparer = comparer_of(sorter);
	uint32		rows = sorter->rows->rows;

	for (uint32 row = Max(rows - count, 1); row < rows && follow; row++)
	{
		follow = compare_with_previous(sorter, comparer, row) <= 0;
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextReset(sorter->scratch);
	MemoryContextSwitchTo(old);
	return follow;
}

gs_status
put_in_order(Sorter *sorter, uint32 count)
{
	return come_in_order(sorter, count) ? GS_OK : encode_all(sorter);
}

gs_status
finish_in_order(Sorter *sorter)
{
	uint32		rows = sorter->rows->rows;

	if (sorter->state == SS_FINISHING)
		rowstore_end(sorter->rows);
	sorter->stats.kind = ENGINE_CPU;
	sorter->stats.engine = engine_cpu.name;
	sorter->stats.job.order.input = GS_ASCENDING;
	sorter->stats.tied.compared += rows;
	stat_count_coarse(ENGINE_CPU, rows, false);
	sorter->stats.memory_bytes = rowstore_bytes(sorter->rows) + (Size) rows * sizeof(uint32);
	return roworder_identity(&sorter->order, sorter->mem, rows);
}
