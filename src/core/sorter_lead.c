/*
 * sorter_lead.c: how many bytes of long strings are sorted by.
 *
 * Few as a rule.  Where many strings begin alike, as paths and documents do, a sample says whether more bytes would
 * tell them apart, which is cheaper than to compare nearly all of them.  Behind other keys long strings are put off
 * (sorter_defer.c).
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "sorter_job.h"

/* The numbers of bytes that are tried. */
static const uint32 steps[] = {LEADING_BYTES, 256, LEADING_MOST};

#define STEPS lengthof(steps)

/* Does one number of different values do as well as a larger one? */
static inline bool
about_as_many(uint32 few, uint32 many)
{
	return few >= many / 4 * 3;
}

/* Hashes the first bytes of a string, for each number of them; the hashes lie stride apart. */
static void
hash_steps(const StringInfoData *bytes, uint32 *hashes, uint32 stride)
{
	uint32		hash = 0;
	uint32		from = 0;

	for (size_t step = 0; step < STEPS; step++)
	{
		uint32		to = Min((uint32) bytes->len, steps[step]);

		if (to > from)
			hash = hash_combine(hash, hash_bytes((unsigned char *) bytes->data + from, (int) (to - from)));
		hashes[step * stride] = hash;
		from = to;
	}
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
		hash_steps(&bytes, hashes + i, count);
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
		SortKey    *key = &sorter->keys[i];
		uint32		bytes = key->leading > 0 && !key->empty ? bytes_wanted(sorter, i, rows, count) : 0;

		longer |= bytes > key->leading;
		key->leading = Max(bytes, key->leading);
	}
	fix_keys(sorter, false);
	return longer;
}

/* Is any key one of leading bytes? */
static bool
has_leading(const Sorter *sorter)
{
	for (int i = 0; i < sorter->ncolumns; i++)
		if (sorter->keys[i].leading > 0 && !sorter->keys[i].empty)
			return true;
	return false;
}

pg_noinline bool
take_longer(Sorter *sorter)
{
	uint32	   *rows = palloc(2 * LEAD_ROWS * sizeof(uint32));
	uint32	   *marks = rows + LEAD_ROWS;
	uint32		count = 0;

	for (uint32 row = 0; has_leading(sorter) && row < sorter->adaptive.marks.rows && count < LEAD_ROWS; row++)
		if (sorter->adaptive.marks.marks[row] != 0)
		{
			marks[count] = sorter->adaptive.marks.marks[row];
			rows[count++] = row;
		}
	if (count < LEAD_ROWS)
	{
		/* long strings are rare so far */
		sorter->adaptive.lead_check = (uint32) Min((uint64) sorter->adaptive.marks.rows * 2, PG_UINT32_MAX);
		return false;
	}
	sorter->adaptive.lead_check = PG_UINT32_MAX;
	return !about_as_many(count_different(marks, count), count) && try_sample(sorter, rows, count);
}

void
defer_long_keys(Sorter *sorter)
{
	for (int i = sorter->columns.nkeys - 1; i >= Max(sorter->adaptive.taken, 1); i--)
		if (sorter->keys[i].leading > 0 && !sorter->keys[i].empty)
		{
			(void) sortkey_defer(&sorter->keys[i]);
			sorter->adaptive.deferred = Min(sorter->adaptive.deferred, i);
			sorter->adaptive.defer_check = sorter->adaptive.defer_from + DEFER_ROWS;
		}
}
