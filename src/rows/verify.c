/*
 * verify.c: checks an order with the types' own comparison functions, as tuplesort would compare them.
 *
 * A GPU's answer is sampled part by part: that finds an order wrong in many places, but not a single wrong pair.
 *  gpusort.verify = full compares all pairs.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "executor/tuptable.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "rowcompare.h"
#include "src/base/compat.h"
#include "verify.h"

/* Pairs whose rows are prefetched together, before the first one is compared. */
#define BATCH_PAIRS 32

struct Verifier
{
	RowComparer *comparer;
	MemoryContext scratch;		/* for memory that comparison functions do not free */
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
verify_open(RowComparer *comparer)
{
	Verifier   *verifier = palloc0(sizeof(Verifier));

	verifier->comparer = comparer;
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

bool
verify_part(Verifier *verifier, GpusortVerify how, int64 before, const uint32 *part, uint64 count)
{
	bool		good = true;

	verifier->npairs = 0;
	if (before >= 0)
		good = note_pair(verifier, (uint32) before, part[0]);
	for (uint64 i = 0; good && i + 1 < count; i += how == VERIFY_FULL ? 1 : VERIFY_SAMPLE_ROWS)
	{
		uint64		at = how == VERIFY_FULL ? i : verify_sample(i, count);

		good = note_pair(verifier, part[at], part[at + 1]);
	}
	return good && batch_good(verifier);
}
