/*
 * sorter_defer.c: keys that follow others, put off until a sample says that they matter.
 *
 * To encode a key without an exact encoding costs some hundred nanoseconds a row.  Where the keys before it leave few
 * rows tied, it is cheaper to compare these by it.
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/datum.h"

#include "sorter_job.h"

/* Comparisons of each row by deferred keys above which the first of these is worth encoding. */
#define DEFER_COMPARISONS 3

/* Slots of the table of the sample's groups, a power of two. */
#define GROUP_SLOTS (2 * DEFER_ROWS)

/* A group of the sample: a hash of its keys before the deferred ones, and its rows in each half of the sample. */
typedef struct SampledGroup
{
	uint32		hash;
	uint16		rows[2];		/* none in a free slot */
} SampledGroup;

/* Groups of equal keys in the sample. */
typedef struct SampledGroups
{
	uint32		ones;			/* groups of one row */
	uint32		twos;
	double		apart;			/* groups with rows in both halves of the sample */
	double		apart_by_chance;	/* their expected number if rows arrive in random order */
	double		tied;			/* rows in groups of several */
	double		tied_log2;		/* sum over these rows of the logarithm of the group's size */
} SampledGroups;

/* Says whether keys may take another form. */
void
fix_keys(Sorter *sorter, bool fixed)
{
	for (int i = 0; i < sorter->columns.nkeys; i++)
		sorter->keys[i].exact = fixed;
}

/* Hashes a value; a long one by its length and first bytes. */
static uint32
hash_value(Form_pg_attribute attribute, Datum value)
{
	Size		bytes = attribute->attlen == -1 ? toast_raw_datum_size(value) : 0;

	if (bytes > LEADING_BYTES)
		value = PointerGetDatum(PG_DETOAST_DATUM_SLICE(value, 0, LEADING_BYTES));
	return hash_combine((uint32) bytes, datum_image_hash(value, attribute->attbyval, attribute->attlen));
}

/* Hashes a row's keys before the deferred ones. */
static uint32
hash_keys(Sorter *sorter, uint32 row)
{
	uint32		hash = 0;

	ExecStoreMinimalTuple(rowstore_get(sorter->rows, row), sorter->row_slot, false);
	for (int i = 0; i < sorter->adaptive.deferred; i++)
	{
		AttrNumber	attno = sorter->columns.attnos[i];
		bool		isnull;
		Datum		value = slot_getattr(sorter->row_slot, attno, &isnull);

		hash = hash_combine(hash, isnull ? 0 : hash_value(TupleDescAttr(sorter->desc, attno - 1), value));
	}
	return hash;
}

/* Counts a row of a half of the sample in its group. */
static void
count_row(SampledGroup *table, uint32 hash, int half)
{
	uint32		slot = hash % GROUP_SLOTS;

	while (table[slot].rows[0] + table[slot].rows[1] > 0 && table[slot].hash != hash)
		slot = (slot + 1) % GROUP_SLOTS;
	table[slot].hash = hash;
	table[slot].rows[half]++;
}

/* Adds a group to the sums. */
static void
add_group(SampledGroups *groups, const SampledGroup *group)
{
	int			size = group->rows[0] + group->rows[1];

	groups->ones += size == 1;
	groups->twos += size == 2;
	if (size < 2)
		return;
	groups->apart += group->rows[0] > 0 && group->rows[1] > 0;
	groups->apart_by_chance += 1 - ldexp(1, 1 - size);
	groups->tied += size;
	groups->tied_log2 += size * log2(size);
}

/* Groups the rows of the sample by their keys before the deferred ones. */
static SampledGroups
sample_groups(Sorter *sorter)
{
	SampledGroup *table = palloc0(GROUP_SLOTS * sizeof(SampledGroup));
	SampledGroups groups = {0};

	for (uint32 row = 0; row < DEFER_ROWS; row++)
		count_row(table, hash_keys(sorter, sorter->adaptive.defer_from + row), row >= DEFER_ROWS / 2);
	ExecClearTuple(sorter->row_slot);
	for (int slot = 0; slot < GROUP_SLOTS; slot++)
		add_group(&groups, &table[slot]);
	pfree(table);
	return groups;
}

/*
 * Estimates how often each row will be compared by the deferred keys.  Sorting a group of n rows takes log2 n
 * comparisons of each.  A group spread over the sample grows with the number of rows; one whose rows follow each other
 * closely does not.  A row alone in the sample belongs to a group whose size the number of pairs tells (Good-Turing).
 */
static double
comparisons_expected(Sorter *sorter, double rows)
{
	SampledGroups groups = sample_groups(sorter);
	double		growth = (rows - sorter->adaptive.defer_from) / DEFER_ROWS;
	double		rare = groups.ones > 0 ? Min(2.0 * groups.twos / groups.ones, 1) * growth : 1;
	double		spread = groups.apart_by_chance > 0 ? Min(groups.apart / groups.apart_by_chance, 1) : 0;

	return (groups.tied_log2 + spread * groups.tied * log2(growth) + groups.ones * spread * log2(Max(rare, 1))) /
		DEFER_ROWS;
}

/* Resumes the first deferred key. */
static void
take_first_deferred(Sorter *sorter)
{
	sortkey_resume(&sorter->keys[sorter->adaptive.deferred]);
	sorter->adaptive.taken = ++sorter->adaptive.deferred;
	while (sorter->adaptive.deferred < sorter->columns.nkeys && !sorter->keys[sorter->adaptive.deferred].empty)
		sorter->adaptive.deferred++;
}

/*
 * Decides about the deferred keys one by one: each is resumed if the keys before it leave it more than a few
 * comparisons of each row, for as many rows as are expected or have arrived.
 */
pg_noinline bool
take_deferred(Sorter *sorter)
{
	double		rows = Max(Min(sorter->rows_expected, (double) DEFER_ROWS * DEFER_ROWS), sorter->rows->rows);
	bool		taken = false;

	while (sorter->adaptive.deferred < sorter->columns.nkeys && comparisons_expected(sorter, rows) > DEFER_COMPARISONS)
	{
		take_first_deferred(sorter);
		taken = true;
	}
	sorter->adaptive.defer_check = (uint32) Min(Max(rows, sorter->rows->rows * 2.0), PG_UINT32_MAX);
	if (taken)
		sorter->adaptive.lead_check = LEAD_ROWS;
	return taken;
}

void
defer_again(Sorter *sorter, int key)
{
	AdaptiveKeys *keys = &sorter->adaptive;

	if (!sorter->keys[key].many)
		return;
	for (int i = sorter->columns.nkeys - 1; i > key; i--)
	{
		SortKey    *behind = &sorter->keys[i];

		/* what has left its own dictionary does not find back to its form */
		if (behind->empty || behind->many || !sortkey_defer(behind))
			continue;
		keys->deferred = i;
		keys->taken = Min(keys->taken, key + 1);
		/* the first rows are unlike those to come */
		keys->defer_from = sorter->rows->rows;
		keys->defer_check = (uint32) Min((uint64) keys->defer_from + DEFER_ROWS, PG_UINT32_MAX);
	}
}
