/*
 * sorter_adapt.c: keys that are costly to encode, and how much of them the rows that have come make worth it.
 *
 * An encoder for a type without an exact encoding takes some hundred nanoseconds per value, more than a comparison.  So
 * three things are put off until rows show that they are needed:
 *
 * - All keys, while rows come in order.  PostgreSQL's sort begins with a check for presorted input as well.  The first
 *   row out of order has the keys of all rows encoded.
 * - Keys behind others, while few rows are tied in those before them.  Comparing the few is cheaper.
 * - More than a short prefix of long strings.  Where many strings begin alike, as paths and documents do, a longer
 *   prefix is cheaper than comparing nearly all of them.
 *
 * The latter two are decided from samples of SAMPLE_ROWS rows.  A change of keys restarts the job (sorter_job.c).
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/memutils.h"

#include "sorter_job.h"
#include "src/engine/stat.h"

/* Rows taken between two looks at the memory limit, while they come in order. */
#define ORDERED_ROWS 1024

/* A deferred key is resumed if it would be compared more often than this per row. */
#define DEFER_COMPARISONS 3

/* The prefixes of long strings that are tried, in bytes. */
static const uint32 steps[] = {LEADING_BYTES, 256, LEADING_MOST};

#define STEPS lengthof(steps)

/* Slots of the table of the sample's groups, a power of two. */
#define GROUP_SLOTS (2 * SAMPLE_ROWS)

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

void
sorter_begin_adaptive(Sorter *sorter)
{
	AdaptiveKeys *keys = &sorter->adaptive;

	keys->deferred = sorter->columns.nkeys;
	keys->defer_check = keys->lead_check = SAMPLE_ROWS;
	for (int i = sorter->columns.nkeys - 1; i > 0; i--)
		if (sortkey_defer(&sorter->keys[i]))
			keys->deferred = i;
}

bool
sorter_expect_order(Sorter *sorter)
{
	int			key = 0;

	while (key < sorter->columns.nkeys && sorter->keys[key].form == NULL && sorter->keys[key].leader == NULL)
		key++;
	if (key == sorter->columns.nkeys)
		return false;
	sorter->state = SS_LOADING_IN_ORDER;
	/* leaves room for the keys of all rows, which the first row out of order brings in */
	sorter->held = 0;
	sorter->rows_limit = sorter->limit / 2;
	sorter->writer.row = 0;
	sorter->writer.capacity = ORDERED_ROWS;
	return true;
}

/* Compares a row with the one before it.  Costly comparisons are skipped if the bytes are equal. */
static int
compare_with_previous(const Sorter *sorter, RowComparer *comparer, uint32 row)
{
	int			order = 0;

	for (int key = 0; order == 0 && key < comparer->nkeys; key++)
		if (sorter->keys[key].form == NULL || !rowcompare_stored_alike(comparer, key, row - 1, row))
			order = rowcompare_key(comparer, key, row - 1, row);
	return order;
}

/* Do the last count rows in the store follow their predecessors? */
static bool
come_in_order(Sorter *sorter, uint32 count)
{
	bool		follow = true;
	MemoryContext old = MemoryContextSwitchTo(sorter->scratch);
	RowComparer *comparer = sorter_comparer(sorter);
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
sorter_put_in_order(Sorter *sorter, uint32 count)
{
	return come_in_order(sorter, count) ? GS_OK : sorter_encode_all(sorter);
}

gs_status
sorter_finish_in_order(Sorter *sorter)
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

void
sorter_fix_keys(Sorter *sorter, bool fixed)
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

	for (uint32 row = 0; row < SAMPLE_ROWS; row++)
		count_row(table, hash_keys(sorter, sorter->adaptive.defer_from + row), row >= SAMPLE_ROWS / 2);
	ExecClearTuple(sorter->row_slot);
	for (int slot = 0; slot < GROUP_SLOTS; slot++)
		add_group(&groups, &table[slot]);
	pfree(table);
	return groups;
}

/*
 * Estimates the comparisons of each row by the deferred keys: log2 of its group, whose size pairs tell (Good-Turing).
 */
static double
comparisons_expected(Sorter *sorter, double rows)
{
	SampledGroups groups = sample_groups(sorter);
	double		growth = (rows - sorter->adaptive.defer_from) / SAMPLE_ROWS;
	double		rare = groups.ones > 0 ? Min(2.0 * groups.twos / groups.ones, 1) * growth : 1;
	double		spread = groups.apart_by_chance > 0 ? Min(groups.apart / groups.apart_by_chance, 1) : 0;

	return (groups.tied_log2 + spread * groups.tied * log2(growth) + groups.ones * spread * log2(Max(rare, 1))) /
		SAMPLE_ROWS;
}

/* Resumes the first deferred key. */
static void
resume_first_deferred(Sorter *sorter)
{
	sortkey_resume(&sorter->keys[sorter->adaptive.deferred]);
	sorter->adaptive.resumed = ++sorter->adaptive.deferred;
	while (sorter->adaptive.deferred < sorter->columns.nkeys && !sorter->keys[sorter->adaptive.deferred].empty)
		sorter->adaptive.deferred++;
}

/* Resumes each deferred key that the keys before it leave more than a few comparisons a row, for the rows expected. */
pg_noinline bool
sorter_resume_deferred(Sorter *sorter)
{
	double		rows = Max(Min(sorter->rows_expected, (double) SAMPLE_ROWS * SAMPLE_ROWS), sorter->rows->rows);
	bool		taken = false;

	while (sorter->adaptive.deferred < sorter->columns.nkeys && comparisons_expected(sorter, rows) > DEFER_COMPARISONS)
	{
		resume_first_deferred(sorter);
		taken = true;
	}
	sorter->adaptive.defer_check = (uint32) Min(Max(rows, sorter->rows->rows * 2.0), PG_UINT32_MAX);
	if (taken)
		sorter->adaptive.lead_check = SAMPLE_ROWS;
	return taken;
}

/* Is a number of distinct values close to a larger one? */
static inline bool
is_close_to(uint32 few, uint32 many)
{
	return few >= many / 4 * 3;
}

/* Hashes each prefix of a string; the hashes are stride apart.  Each byte is read once. */
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

/* Finds the shortest prefix of a key that tells nearly as many of some rows apart as the longest one. */
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
	for (step = 0; step + 1 < STEPS && !is_close_to(different[step], different[STEPS - 1]); step++)
		;
	return steps[step];
}

/* Lengthens the prefixes of keys for which a sample of rows asks that; true if any. */
static bool
try_sample(Sorter *sorter, const uint32 *rows, uint32 count)
{
	bool		longer = false;

	sorter_fix_keys(sorter, true);
	for (int i = 0; i < sorter->ncolumns; i++)
	{
		SortKey    *key = &sorter->keys[i];
		uint32		bytes = key->leading > 0 && !key->empty ? bytes_wanted(sorter, i, rows, count) : 0;

		longer |= bytes > key->leading;
		key->leading = Max(bytes, key->leading);
	}
	sorter_fix_keys(sorter, false);
	return longer;
}

/* Is any key a prefix of long strings? */
static bool
has_leading(const Sorter *sorter)
{
	for (int i = 0; i < sorter->ncolumns; i++)
		if (sorter->keys[i].leading > 0 && !sorter->keys[i].empty)
			return true;
	return false;
}

pg_noinline bool
sorter_lengthen_prefixes(Sorter *sorter)
{
	uint32	   *rows = palloc(2 * SAMPLE_ROWS * sizeof(uint32));
	uint32	   *marks = rows + SAMPLE_ROWS;
	uint32		count = 0;

	for (uint32 row = 0; has_leading(sorter) && row < sorter->adaptive.marks.rows && count < SAMPLE_ROWS; row++)
		if (sorter->adaptive.marks.marks[row] != 0)
		{
			marks[count] = sorter->adaptive.marks.marks[row];
			rows[count++] = row;
		}
	if (count < SAMPLE_ROWS)
	{
		/* long strings are rare so far: look again at twice as many rows */
		sorter->adaptive.lead_check = (uint32) Min((uint64) sorter->adaptive.marks.rows * 2, PG_UINT32_MAX);
		return false;
	}
	sorter->adaptive.lead_check = PG_UINT32_MAX;
	return !is_close_to(count_different(marks, count), count) && try_sample(sorter, rows, count);
}

void
sorter_defer_long_keys(Sorter *sorter)
{
	for (int i = sorter->columns.nkeys - 1; i >= Max(sorter->adaptive.resumed, 1); i--)
		if (sorter->keys[i].leading > 0 && !sorter->keys[i].empty)
		{
			(void) sortkey_defer(&sorter->keys[i]);
			sorter->adaptive.deferred = Min(sorter->adaptive.deferred, i);
			sorter->adaptive.defer_check = sorter->adaptive.defer_from + SAMPLE_ROWS;
		}
}

void
sorter_defer_again(Sorter *sorter, int key)
{
	AdaptiveKeys *keys = &sorter->adaptive;

	if (!sorter->keys[key].many)
		return;
	for (int i = sorter->columns.nkeys - 1; i > key; i--)
	{
		SortKey    *behind = &sorter->keys[i];

		/* a key that has left its dictionary cannot return to that form */
		if (behind->empty || behind->many || !sortkey_defer(behind))
			continue;
		keys->deferred = i;
		keys->resumed = Min(keys->resumed, key + 1);
		/* the values repeated in the rows so far, which are no sample of those to come */
		keys->defer_from = sorter->rows->rows;
		keys->defer_check = (uint32) Min((uint64) keys->defer_from + SAMPLE_ROWS, PG_UINT32_MAX);
	}
}
