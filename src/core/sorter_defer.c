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

/* A row of the sample, and a hash of its keys before the deferred ones. */
typedef struct SampledRow
{
	uint32		hash;
	uint32		row;
} SampledRow;

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

/* Orders by hash, then by row, for qsort. */
static int
compare_sampled(const void *a, const void *b)
{
	const SampledRow *x = a;
	const SampledRow *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->row < y->row ? -1 : x->row > y->row;
}

/* Groups the first rows by their keys before the deferred ones. */
static SampledGroups
sample_groups(Sorter *sorter)
{
	SampledRow *rows = palloc(DEFER_ROWS * sizeof(SampledRow));
	SampledGroups groups = {0};
	uint32		end;

	for (uint32 row = 0; row < DEFER_ROWS; row++)
		rows[row] = (SampledRow) {hash_keys(sorter, row), row};
	ExecClearTuple(sorter->row_slot);
	qsort(rows, DEFER_ROWS, sizeof(SampledRow), compare_sampled);
	for (uint32 start = 0; start < DEFER_ROWS; start = end)
	{
		uint32		size;

		for (end = start + 1; end < DEFER_ROWS && rows[end].hash == rows[start].hash; end++)
			;
		size = end - start;
		groups.ones += size == 1;
		groups.twos += size == 2;
		groups.apart += rows[start].row < DEFER_ROWS / 2 && rows[end - 1].row >= DEFER_ROWS / 2;
		groups.apart_by_chance += 1 - pow(0.5, size - 1);
		groups.tied += size > 1 ? size : 0;
		groups.tied_log2 += size * log2(size);
	}
	pfree(rows);
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
	double		growth = rows / DEFER_ROWS;
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
