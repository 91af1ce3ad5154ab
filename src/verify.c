/*
 * verify.c: checks of an order against the types' own comparison functions: what core's sort would say of pairs of
 * neighbours.
 *
 * What a GPU answers is sampled as it comes, piece by piece: an order that is wrong in many places is found, one wrong
 * pair is not. For those who want proof rather than trust, and for tests, every pair can be compared.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "compat.h"
#include "verify.h"

/* Pairs whose rows are loaded into the cache together, before the first one is compared. */
#define BATCH_PAIRS 32

struct Verifier
{
	int			nkeys;
	SortSupport keys;
	RowStore   *rows;
	TupleTableSlot *slots[2];
	MemoryContext scratch;		/* for what comparators leave behind */
	uint32		pairs[BATCH_PAIRS][2];
	int			npairs;
};

GpusortVerify
verify_how(EngineKind kind)
{
	if (gpusort_verify != VERIFY_AUTO)
		return (GpusortVerify) gpusort_verify;
	return kind == ENGINE_CPU ? VERIFY_OFF : VERIFY_SAMPLE;
}

uint64
verify_sample(uint64 from, uint64 count)
{
	return from + pg_prng_uint32(&pg_global_prng_state) % Min(count - 1 - from, VERIFY_SAMPLE_ROWS);
}

Verifier *
verify_open(const SortColumns *columns, TupleDesc desc, RowStore *rows)
{
	Verifier   *verifier = palloc0(sizeof(Verifier));

	verifier->nkeys = columns->nkeys;
	verifier->keys = palloc0(sizeof(SortSupportData) * columns->nkeys);
	for (int i = 0; i < columns->nkeys; i++)
	{
		SortSupport key = &verifier->keys[i];

		key->ssup_cxt = CurrentMemoryContext;
		key->ssup_collation = columns->collations[i];
		key->ssup_nulls_first = columns->nulls_first[i];
		key->ssup_attno = columns->attnos[i];
		PrepareSortSupportFromOrderingOp(columns->sortops[i], key);
	}
	verifier->rows = rows;
	for (int i = 0; i < 2; i++)
		verifier->slots[i] = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	verifier->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort verify", ALLOCSET_SMALL_SIZES);
	return verifier;
}

/* Compares the rows in the slots as tuplesort does. */
static int
compare_slots(Verifier *verifier)
{
	for (int i = 0; i < verifier->nkeys; i++)
	{
		SortSupport key = &verifier->keys[i];
		bool		null_a;
		bool		null_b;
		Datum		value_a = slot_getattr(verifier->slots[0], key->ssup_attno, &null_a);
		Datum		value_b = slot_getattr(verifier->slots[1], key->ssup_attno, &null_b);
		int			order = ApplySortComparator(value_a, null_a, value_b, null_b, key);

		if (order != 0)
			return order;
	}
	return 0;
}

/* Does row a come before row b? */
static bool
pair_good(Verifier *verifier, uint32 a, uint32 b)
{
	MinimalTuple first = rowstore_get(verifier->rows, a);
	int			order;

	/* a bare store gives every row out in the same place */
	if (verifier->rows->bare)
		first = copy_tuple_minimal(first);
	ExecStoreMinimalTuple(first, verifier->slots[0], false);
	ExecStoreMinimalTuple(rowstore_get(verifier->rows, b), verifier->slots[1], false);
	order = compare_slots(verifier);
	return order < 0 || (order == 0 && a < b);
}

/* Compares the pairs that were noted. */
static bool
batch_good(Verifier *verifier)
{
	MemoryContext old = MemoryContextSwitchTo(verifier->scratch);
	bool		good = true;

	CHECK_FOR_INTERRUPTS();
	for (int i = 0; i < verifier->npairs && good; i++)
		good = pair_good(verifier, verifier->pairs[i][0], verifier->pairs[i][1]);
	for (int i = 0; i < 2; i++)
		ExecClearTuple(verifier->slots[i]);
	verifier->npairs = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(verifier->scratch);
	return good;
}

/* Notes a pair to be compared; false if one of a full batch is wrong. */
static inline bool
note_pair(Verifier *verifier, uint32 a, uint32 b)
{
	uint32	   *pair = verifier->pairs[verifier->npairs];

	pair[0] = a;
	pair[1] = b;
	__builtin_prefetch(rowstore_address(verifier->rows, a));
	__builtin_prefetch(rowstore_address(verifier->rows, b));
	return ++verifier->npairs < BATCH_PAIRS || batch_good(verifier);
}

bool
verify_piece(Verifier *verifier, GpusortVerify how, int64 before, const uint32 *piece, uint64 count)
{
	bool		good = true;

	verifier->npairs = 0;
	if (before >= 0)
		good = note_pair(verifier, (uint32) before, piece[0]);
	for (uint64 i = 0; good && i + 1 < count; i += how == VERIFY_FULL ? 1 : VERIFY_SAMPLE_ROWS)
	{
		uint64		at = how == VERIFY_FULL ? i : verify_sample(i, count);

		good = note_pair(verifier, piece[at], piece[at + 1]);
	}
	return good && batch_good(verifier);
}
