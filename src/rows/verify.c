/*
 * verify.c: checks an order with the types' own comparison functions, as tuplesort would compare them, or by words.
 *
 * A sample is taken part by part: it finds an order wrong in many places, but not a single wrong pair.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "neighbours.h"
#include "rowcompare.h"
#include "src/base/compat.h"
#include "verify.h"

/* Pairs whose rows are prefetched together, before the first one is compared. */
#define BATCH_PAIRS 32

struct Verifier
{
	RowComparer *comparer;
	Neighbours *neighbours;
	MemoryContext scratch;		/* for memory that comparison functions do not free */
	uint32		pairs[BATCH_PAIRS][2];
	int			npairs;
};

GpusortVerify
verify_order_how(EngineKind kind, bool cheap)
{
	if (gpusort_verify != VERIFY_AUTO)
		return (GpusortVerify) gpusort_verify;
	return cheap ? VERIFY_WORDS : kind == ENGINE_CPU ? VERIFY_OFF : VERIFY_SAMPLE;
}

GpusortVerify
verify_answer_how(EngineKind kind)
{
	GpusortVerify how = verify_order_how(kind, false);

	return how == VERIFY_WORDS ? VERIFY_SAMPLE : how;
}

uint64
verify_sample(uint64 from, uint64 count)
{
	return from + pg_prng_uint32(&pg_global_prng_state) % Min(count - 1 - from, VERIFY_SAMPLE_ROWS);
}

Verifier *
verify_open(RowComparer *comparer, SortKey *keys)
{
	Verifier   *verifier = palloc0(sizeof(Verifier));

	verifier->comparer = comparer;
	verifier->neighbours = neighbours_open(comparer, keys);
	verifier->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort verify", ALLOCSET_SMALL_SIZES);
	return verifier;
}

/* Does row a come before row b? */
static bool
pair_good(Verifier *verifier, uint32 a, uint32 b)
{
	int			decided;
	int			order = rowcompare(verifier->comparer, 0, a, b, &decided);

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
	verifier->npairs = 0;
	MemoryContextSwitchTo(old);
	MemoryContextReset(verifier->scratch);
	return good;
}

/* Adds a pair to the batch; compares a full batch, and returns false if a pair is wrong. */
static inline bool
note_pair(Verifier *verifier, uint32 a, uint32 b)
{
	uint32	   *pair = verifier->pairs[verifier->npairs];

	pair[0] = a;
	pair[1] = b;
	__builtin_prefetch(rowstore_address(verifier->comparer->rows, a));
	__builtin_prefetch(rowstore_address(verifier->comparer->rows, b));
	return ++verifier->npairs < BATCH_PAIRS || batch_good(verifier);
}

/* Compares a part by functions, all of it or a sample. */
static bool
values_good(Verifier *verifier, GpusortVerify how, const uint32 *part, uint64 count)
{
	bool		good = true;

	for (uint64 i = 0; good && i + 1 < count; i += how == VERIFY_FULL ? 1 : VERIFY_SAMPLE_ROWS)
	{
		uint64		at = how == VERIFY_FULL ? i : verify_sample(i, count);

		good = note_pair(verifier, part[at], part[at + 1]);
	}
	return good && batch_good(verifier);
}

bool
verify_part(Verifier *verifier, GpusortVerify how, const uint32 *part, uint64 count)
{
	if (count < 2)
		return true;
	if (how == VERIFY_WORDS)
		return neighbours_ascend(verifier->neighbours, part, count);
	verifier->npairs = 0;
	return note_pair(verifier, part[0], part[1]) && values_good(verifier, how, part, count);
}

bool
verify_rest(Verifier *verifier, uint32 row, const uint64 *seen)
{
	return neighbours_behind(verifier->neighbours, row, seen);
}
