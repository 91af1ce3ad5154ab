/*
 * sorter_lead.c: how many bytes of long strings are sorted by.
 *
 * Few as a rule.  Where many strings begin alike, as paths and documents do, a sample says whether more bytes would tell
 * them apart, which is cheaper than to compare nearly all of them.
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "sorter_job.h"

/* The numbers of bytes that are tried. */
static const uint32 steps[] = {LEADING_BYTES, 256, LEADING_MOST};

#define STEPS lengthof(steps)

static int
compare_hashes(const void *a, const void *b)
{
	uint32		x = *(const uint32 *) a;
	uint32		y = *(const uint32 *) b;

	return x < y ? -1 : x > y;
}

/* How many different hashes are there?  They are sorted for that. */
static uint32
count_different(uint32 *hashes, uint32 count)
{
	uint32		different = count > 0;

	qsort(hashes, count, sizeof(uint32), compare_hashes);
	for (uint32 i = 1; i < count; i++)
		different += hashes[i] != hashes[i - 1];
	return different;
}

/* Does one number of different values do as well as a larger one? */
static inline bool
about_as_many(uint32 few, uint32 many)
{
	return few >= many / 4 * 3;
}

/* Finds how many bytes of a key tell the strings of some rows apart. */
static uint32
bytes_wanted(Sorter *sorter, int column, const uint32 *rows, uint32 count)
{
	SortKey    *key = &sorter->keys[column];
	uint32	   *hashes = palloc(STEPS * count * sizeof(uint32));
	uint32		different[STEPS];
	uint32		before = key->leading;
	StringInfoData bytes;
	size_t		step = 0;

	initStringInfo(&bytes);
	key->leading = LEADING_MOST;
	for (uint32 i = 0; i < count; i++)
	{
		bool		isnull;
		Datum		value;

		ExecStoreMinimalTuple(rowstore_get(sorter->rows, rows[i]), sorter->row_slot, false);
		value = slot_getattr(sorter->row_slot, sorter->columns.attnos[column], &isnull);
		resetStringInfo(&bytes);
		sortkey_normalise(key, value, isnull, &bytes);
		for (step = 0; step < STEPS; step++)
			hashes[step * count + i] = hash_bytes((unsigned char *) bytes.data, Min((uint32) bytes.len, steps[step]));
	}
	ExecClearTuple(sorter->row_slot);
	key->leading = before;
	for (step = 0; step < STEPS; step++)
		different[step] = count_different(hashes + step * count, count);
	for (step = 0; step + 1 < STEPS && !about_as_many(different[step], different[STEPS - 1]); step++)
		;
	return steps[step];
}

/* Takes more of the keys that a sample of rows with marks says it for. */
static bool
try_sample(Sorter *sorter, const uint32 *rows, uint32 count)
{
	bool		longer = false;

	fix_keys(sorter, true);
	for (int i = 0; i < sorter->ncolumns; i++)
	{
		uint32		bytes = sorter->keys[i].leading > 0 ? bytes_wanted(sorter, i, rows, count) : 0;

		longer |= bytes > sorter->keys[i].leading;
		sorter->keys[i].leading = Max(bytes, sorter->keys[i].leading);
	}
	fix_keys(sorter, false);
	return longer;
}

pg_noinline bool
take_longer(Sorter *sorter)
{
	uint32	   *rows = palloc(2 * LEAD_ROWS * sizeof(uint32));
	uint32	   *marks = rows + LEAD_ROWS;
	uint32		count = 0;

	for (uint32 row = 0; row < sorter->marks.rows && count < LEAD_ROWS; row++)
		if (sorter->marks.marks[row] != 0)
		{
			marks[count] = sorter->marks.marks[row];
			rows[count++] = row;
		}
	if (count < LEAD_ROWS)
	{
		/* long strings are rare so far */
		sorter->lead_check = sorter->marks.rows < PG_UINT32_MAX / 2 ? sorter->marks.rows * 2 : PG_UINT32_MAX;
		return false;
	}
	sorter->lead_check = PG_UINT32_MAX;
	return !about_as_many(count_different(marks, count), count) && try_sample(sorter, rows, count);
}
