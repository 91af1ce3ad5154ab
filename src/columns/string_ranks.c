/*
 * string_ranks.c: ranks of strings by a collation.
 *
 * A session sorts the strings of a dictionary once, and keeps the order, since codes keep their meaning.  What has come
 * since, and the strings of rows that are added to a question, are merged into it for each question.
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/core/sorter.h"
#include "string_ranks.h"

/* Bytes of a string beside it: in an order, in ranks and their codes. */
#define RANK_BYTES (3 * sizeof(uint32))

/* New strings that are merged, beside an eighth of the others; more are sorted with all, once. */
#define MERGED_STRINGS 1024

/* Strings between two looks at interrupts, whose datums are freed together. */
#define STRINGS_AT_ONCE 256

/* Strings that are put in order. */
typedef struct Ranking
{
	StringCodes *codes;
	Oid			type;			/* base type */
	int32		typmod;
	Oid			operator;		/* less than */
	Oid			collation;
	MemoryContext datums;		/* of some strings */
	bool		impossible;		/* a code has no string, and no rank can be believed */
} Ranking;

/* Returns the string of a code as a datum. */
static Datum
string_of(Ranking *ranking, uint32 code)
{
	MemoryContext old = MemoryContextSwitchTo(ranking->datums);
	Datum		datum;

	if (!codes_datum(ranking->codes, ranking->type, ranking->typmod, code, &datum))
	{
		ranking->impossible = true;
		datum = PointerGetDatum(palloc0(NAMEDATALEN));
		if (ranking->type != NAMEOID)
			SET_VARSIZE(DatumGetPointer(datum), VARHDRSZ);
	}
	MemoryContextSwitchTo(old);
	return datum;
}

/* Frees datums now and then. */
static void
look_up(Ranking *ranking, uint32 number)
{
	if (number % STRINGS_AT_ONCE != 0)
		return;
	CHECK_FOR_INTERRUPTS();
	MemoryContextReset(ranking->datums);
}

/* ---------------------------------------------------------------- sorting */

/* Describes rows of a string and its code. */
static TupleDesc
describe_rows(Ranking *ranking)
{
	TupleDesc	desc = CreateTemplateTupleDesc(2);

	TupleDescInitEntry(desc, 1, NULL, ranking->type, ranking->typmod, 0);
	TupleDescInitEntryCollation(desc, 1, ranking->collation);
	TupleDescInitEntry(desc, 2, NULL, INT8OID, -1, 0);
	finish_descriptor(desc);
	return desc;
}

/* Gives a sort the strings of codes. */
static void
put_strings(Ranking *ranking, Sorter *sorter, TupleTableSlot *slot, uint32 from, uint32 to)
{
	for (uint32 code = from; code < to; code++)
	{
		look_up(ranking, code - from);
		ExecClearTuple(slot);
		slot->tts_values[0] = string_of(ranking, code);
		slot->tts_values[1] = Int64GetDatum((int64) code);
		slot->tts_isnull[0] = slot->tts_isnull[1] = false;
		ExecStoreVirtualTuple(slot);
		sorter_put(sorter, slot);
	}
	ExecClearTuple(slot);
}

/* Takes the codes of strings in their order. */
static void
take_codes(Sorter *sorter, TupleTableSlot *slot, uint32 count, uint32 *order)
{
	for (uint32 i = 0; i < count; i++)
	{
		bool		isnull;

		(void) sorter_get(sorter, true, slot);
		order[i] = (uint32) DatumGetInt64(slot_getattr(slot, 2, &isnull));
	}
	ExecClearTuple(slot);
}

/* Writes codes in the order of their strings. */
static void
sort_strings(Ranking *ranking, uint32 from, uint32 to, uint32 *order)
{
	AttrNumber	attno = 1;
	Oid			operator = ranking->operator;
	Oid			collation = ranking->collation;
	bool		nulls_first = false;
	SortColumns keys = {1, &attno, &operator, &collation, &nulls_first};
	TupleDesc	desc = describe_rows(ranking);
	TupleTableSlot *in = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	TupleTableSlot *out = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	Sorter	   *sorter = sorter_begin(&keys, desc, false, to - from, SORTER_OURS, 0);

	put_strings(ranking, sorter, in, from, to);
	sorter_finish(sorter);
	take_codes(sorter, out, to - from, order);
	ExecDropSingleTupleTableSlot(in);
	ExecDropSingleTupleTableSlot(out);
	sorter_end(sorter);
}

/* ---------------------------------------------------------------- orders */

/* Returns true if few enough strings have come since an order was made. */
static bool
is_recent(Ranking *ranking, const StringOrder *order)
{
	uint32		limit = ranking->codes->limit;

	return order != NULL && order->collation == ranking->collation && order->count <= limit &&
		limit - order->count <= order->count / 8 + MERGED_STRINGS;
}

/* Makes the order of a dictionary, and keeps it. */
static const StringOrder *
make_order(Ranking *ranking, StringOrder **kept)
{
	uint32		count = ranking->codes->limit;
	StringOrder *order = MemoryContextAllocHuge(CurrentMemoryContext,
												offsetof(StringOrder, codes) + (Size) count * sizeof(uint32));

	order->collation = ranking->collation;
	order->count = count;
	sort_strings(ranking, 0, count, order->codes);
	if (*kept != NULL)
		pfree(*kept);
	*kept = NULL;
	*kept = MemoryContextAllocHuge(TopMemoryContext, offsetof(StringOrder, codes) + (Size) count * sizeof(uint32));
	memcpy(*kept, order, offsetof(StringOrder, codes) + (Size) count * sizeof(uint32));
	pfree(order);
	return *kept;
}

/* Returns how many strings of an order come before a string. */
static uint32
count_before(Ranking *ranking, const StringOrder *order, SortSupport compare, Datum string, uint32 low)
{
	uint32		high = order->count;

	while (low < high)
	{
		uint32		middle = low + (high - low) / 2;

		if (compare->comparator(string_of(ranking, order->codes[middle]), string, compare) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Writes the codes of an order and of some strings more, in the order of all. */
static void
merge(Ranking *ranking, const StringOrder *order, const uint32 *more, uint32 nmore, uint32 *out)
{
	SortSupportData compare = {.ssup_cxt = CurrentMemoryContext, .ssup_collation = ranking->collation, .ssup_attno = 1};
	uint32		taken = 0;

	PrepareSortSupportFromOrderingOp(ranking->operator, &compare);
	for (uint32 i = 0; i < nmore; i++)
	{
		uint32		before;

		look_up(ranking, 0);
		before = count_before(ranking, order, &compare, string_of(ranking, more[i]), taken);
		memcpy(out + taken + i, order->codes + taken, (before - taken) * sizeof(uint32));
		out[before + i] = more[i];
		taken = before;
	}
	memcpy(out + taken + nmore, order->codes + taken, (order->count - taken) * sizeof(uint32));
}

/* ---------------------------------------------------------------- ranks */

/* Makes the ranks of strings, of which the first ones have an order. */
static StringRanks *
make_ranks(Ranking *ranking, const StringOrder *order)
{
	StringRanks *ranks = palloc(sizeof(StringRanks));
	uint32		nmore = ranking->codes->limit + ranking->codes->count - order->count;
	uint32	   *more = palloc_extended(((Size) nmore + 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	Size		bytes;

	ranks->count = order->count + nmore;
	bytes = ((Size) ranks->count + 1) * sizeof(uint32);
	ranks->ranks = palloc_extended(bytes, MCXT_ALLOC_HUGE);
	ranks->codes = palloc_extended(bytes, MCXT_ALLOC_HUGE);
	if (nmore > 0)
		sort_strings(ranking, order->count, ranks->count, more);
	merge(ranking, order, more, nmore, ranks->codes);
	for (uint32 rank = 0; rank < ranks->count; rank++)
		ranks->ranks[ranks->codes[rank]] = rank;
	pfree(more);
	return ranks;
}

const char *
ranks_make(StringCodes *codes, const ColumnDescription *column, Oid collation, StringOrder **kept)
{
	Ranking		ranking = {.codes = codes, .type = getBaseType(column->type), .typmod = column->typmod,
	.collation = collation};
	const StringOrder *order = *kept;

	if (((Size) codes->limit + codes->count) * RANK_BYTES > gpusort_memory_limit())
		return "the ranks of its strings are more than gpusort.work_mem has room for";
	ranking.operator = lookup_type_cache(ranking.type, TYPECACHE_LT_OPR)->lt_opr;
	ranking.datums = AllocSetContextCreate(CurrentMemoryContext, "gpusort strings", ALLOCSET_SMALL_SIZES);
	if (!is_recent(&ranking, order))
		order = make_order(&ranking, kept);
	codes->ranks = make_ranks(&ranking, order);
	MemoryContextDelete(ranking.datums);
	if (!ranking.impossible)
		return NULL;
	if (*kept != NULL)
		pfree(*kept);
	*kept = NULL;
	return codes_impossible;
}
