/*
 * sorter_defer.c: keys that follow others, put off until a sample says that they matter.
 *
 * To encode a key without an exact encoding costs some hundred nanoseconds a row.  Where the keys before it leave few
 * rows tied, it is cheaper to compare these by it.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "sorter_job.h"

/* Rows of equal keys from which those behind them are worth encoding. */
#define DEFER_TIES 4

/* Says whether keys may take another form. */
void
fix_keys(Sorter *sorter, bool fixed)
{
	for (int i = 0; i < sorter->columns.nkeys; i++)
		sorter->keys[i].exact = fixed;
}

/* Of the first rows, how many repeat the keys of an earlier one, up to the keys that are deferred? */
static uint32
repeated_keys(Sorter *sorter, uint32 rows)
{
	uint32	   *seen = palloc0(2 * rows * sizeof(uint32));
	StringInfoData bytes;
	uint32		repeated = 0;

	if (sorter->adaptive.marked && rowmarks_repeated(&sorter->adaptive.marks, rows, &repeated))
		return repeated;
	initStringInfo(&bytes);
	for (uint32 row = 0; row < rows; row++)
	{
		uint32		hash;
		uint32		slot;

		resetStringInfo(&bytes);
		ExecStoreMinimalTuple(rowstore_get(sorter->rows, row), sorter->row_slot, false);
		for (int i = 0; i < sorter->adaptive.deferred; i++)
		{
			bool		isnull;
			Datum		value = slot_getattr(sorter->row_slot, sorter->columns.attnos[i], &isnull);

			sortkey_normalise(&sorter->keys[i], value, isnull, &bytes);
		}
		hash = hash_bytes((unsigned char *) bytes.data, bytes.len) | 1;	/* 0: an empty slot */
		for (slot = hash % (2 * rows); seen[slot] != 0 && seen[slot] != hash; slot = (slot + 1) % (2 * rows))
			;
		repeated += seen[slot] == hash;
		seen[slot] = hash;
	}
	ExecClearTuple(sorter->row_slot);
	return repeated;
}

/*
 * Decides about the keys that are deferred.  A sample says how many different keys there are before them: of n rows,
 * n²/2d repeat one of d.  If that leaves more than a few rows of each tied, as far as rows are expected or have come,
 * they are taken in.
 */
pg_noinline bool
take_deferred(Sorter *sorter)
{
	double		rows = Max(Min(sorter->rows_expected, (double) DEFER_ROWS * DEFER_ROWS), sorter->rows->rows);

	if (sorter->adaptive.different == 0)
	{
		fix_keys(sorter, true);
		sorter->adaptive.different = (double) DEFER_ROWS * DEFER_ROWS / (2.0 * repeated_keys(sorter, DEFER_ROWS) + 1);
		fix_keys(sorter, false);
	}
	sorter->adaptive.defer_check = sorter->rows->rows < PG_UINT32_MAX / 2 ? sorter->rows->rows * 2 : PG_UINT32_MAX;
	if (rows / sorter->adaptive.different <= DEFER_TIES)
		return false;
	for (int i = sorter->adaptive.deferred; i < sorter->columns.nkeys; i++)
		if (sorter->keys[i].empty)
			sortkey_resume(&sorter->keys[i]);
	sorter->adaptive.deferred = sorter->columns.nkeys;
	sorter->adaptive.taken = sorter->columns.nkeys;
	sorter->adaptive.lead_check = LEAD_ROWS;
	return true;
}
