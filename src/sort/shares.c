/*
 * shares.c: which rows of a sort's input are this participant's, where every participant of a parallel plan reads all.
 *
 * Rows of one group have one hash, and so are of one class.  Whoever begins, or is done, claims a range of the classes
 * that nobody has, reads the whole input and keeps the rows of these classes.  A first claim is a fair part of what is
 * left among those who have not begun; so each participant reads its input once if as many come as were planned.  What
 * those who have not come by then have left falls to the others, in a few further passes.
 *
 * The leader has less time than workers, because it also takes their rows, and so gets less, as the server's planner
 * counts it.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "optimizer/optimizer.h"
#include "storage/spin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/compat.h"
#include "shares.h"

/* What of a worker's part the leader takes at least: an empty part would leave all classes to late workers. */
#define MIN_LEADER_PART 0.1

/* Classes that are worth another pass. */
#define LEAST_CLAIM (SHARE_CLASSES / 16)

/* One column that decides on a row's class. */
typedef struct ShareKey
{
	AttrNumber	attno;			/* of the row */
	AttrNumber	table_attno;	/* of a table's tuple */
	int			bits;			/* a value that is hashed by itself: how many of its bits count; else 0 */
	Oid			collation;
	FmgrInfo	hash;
} ShareKey;

/* What participants share. */
typedef struct SharedShares
{
	slock_t		lock;
	uint32		next;			/* the first class that is not claimed */
	int			workers;		/* that are expected to come */
	int			begun;			/* of which so many have come */
	int			present;		/* participants that have come, the leader too */
	bool		leader;			/* is expected, and has not come */
	int			participants;	/* length of: */
	ShareStats	stats[FLEXIBLE_ARRAY_MEMBER];	/* leader first */
} SharedShares;

struct Shares
{
	int			nkeys;
	ShareKey   *keys;
	AttrNumber *attnos;
	MemoryContext scratch;		/* for hash functions; NULL: there are none */
	uint32		first;			/* class of the batch */
	uint32		count;			/* of classes */
	bool		begun;			/* a batch was claimed */
	SharedShares *shared;		/* NULL: nobody to share with */
	ParallelContext *parallel;	/* in the leader */
	ShareStats	own;
	ShareStats	all;			/* of all participants, when shared memory is gone */
	uint64		most;
};

/* Bits of values that are equal if they are the same, so that no function has to hash them; 0 of others. */
static int
bits_of(Oid hash_function, int16 length, bool by_value)
{
	switch (hash_function)
	{
		case F_HASHCHAR:
		case F_HASHINT2:
		case F_HASHINT4:
		case F_HASHINT8:
		case F_HASHOID:
		case F_TIMESTAMP_HASH:
		case F_TIME_HASH:
			return by_value ? length * 8 : 0;
		default:
			return 0;
	}
}

/* Reads one key of a description. */
static void
open_key(ShareKey *key, List *description, int number, TupleDesc rows)
{
	Form_pg_attribute attribute;
	RegProcedure left;
	RegProcedure right;
	Oid			equals = list_nth_oid(list_nth(description, SHARE_EQUALS), number);

	key->attno = (AttrNumber) list_nth_int(list_nth(description, SHARE_ATTNOS), number);
	key->collation = list_nth_oid(list_nth(description, SHARE_COLLATIONS), number);
	if (!get_op_hash_functions(equals, &left, &right))
		elog(ERROR, "could not find hash function for hash operator %u", equals);
	fmgr_info(left, &key->hash);
	attribute = TupleDescAttr(rows, key->attno - 1);
	key->bits = bits_of(left, attribute->attlen, attribute->attbyval);
}

Shares *
shares_open(List *description, TupleDesc rows)
{
	Shares	   *shares = palloc0(sizeof(Shares));

	shares->nkeys = list_length(list_nth(description, SHARE_ATTNOS));
	shares->keys = palloc0(sizeof(ShareKey) * shares->nkeys);
	shares->attnos = palloc(sizeof(AttrNumber) * shares->nkeys);
	for (int i = 0; i < shares->nkeys; i++)
	{
		open_key(&shares->keys[i], description, i, rows);
		shares->attnos[i] = shares->keys[i].attno;
		if (shares->keys[i].bits == 0 && shares->scratch == NULL)
			shares->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort shares", ALLOCSET_SMALL_SIZES);
	}
	return shares;
}

Size
shares_shared_bytes(const ParallelContext *parallel)
{
	return offsetof(SharedShares, stats) + sizeof(ShareStats) * (parallel->nworkers + 1);
}

void
shares_reset_shared(Shares *shares, ParallelContext *parallel, void *memory)
{
	SharedShares *shared = memory;

	shares->shared = shared;
	shares->parallel = parallel;
	SpinLockInit(&shared->lock);
	shared->next = 0;
	shared->workers = parallel->nworkers;
	shared->begun = 0;
	shared->present = 0;
	shared->leader = parallel_leader_participation;
}

void
shares_init_shared(Shares *shares, ParallelContext *parallel, void *memory)
{
	SharedShares *shared = memory;

	memset(shared, 0, shares_shared_bytes(parallel));
	shared->participants = parallel->nworkers + 1;
	shares_reset_shared(shares, parallel, memory);
}

void
shares_attach(Shares *shares, void *memory)
{
	shares->shared = memory;
}

/* What the leader takes, with a worker's part as the unit. */
static double
leader_part(int workers)
{
	return Max(1.0 - 0.3 * workers, MIN_LEADER_PART);
}

/* How many of the classes that are left a participant takes who has none yet. */
static uint32
first_count(SharedShares *shared, uint32 left, bool in_worker)
{
	double		own = 1.0;
	double		others;

	shared->present++;
	if (in_worker)
		shared->begun++;
	else
	{
		shared->leader = false;
		own = leader_part(shared->workers);
	}
	others = Max(shared->workers - shared->begun, 0);
	if (shared->leader)
		others += leader_part(shared->workers);
	return Min(left, (uint32) (left * own / (own + others)) + 1);
}

/* The same of one that is done: who has not come by now is not waited for, and every claim is a pass over the input. */
static uint32
next_count(const SharedShares *shared, uint32 left)
{
	return Min(left, Max(left / shared->present, LEAST_CLAIM));
}

bool
shares_claim(Shares *shares)
{
	SharedShares *shared = shares->shared;
	bool		first = !shares->begun;
	uint32		left;

	shares->begun = true;
	if (shared == NULL)
	{
		shares->first = 0;
		shares->count = first ? SHARE_CLASSES : 0;
		return first;
	}
	SpinLockAcquire(&shared->lock);
	/* only the leader knows how many have been started */
	if (first && shares->parallel)
		shared->workers = shares->parallel->nworkers_launched;
	shares->first = shared->next;
	left = SHARE_CLASSES - shared->next;
	shares->count = first ? first_count(shared, left, IsParallelWorker()) : next_count(shared, left);
	shared->next += shares->count;
	SpinLockRelease(&shared->lock);
	return shares->count > 0;
}

bool
shares_keep_all(const Shares *shares)
{
	return shares->count == SHARE_CLASSES;
}

/* Takes one more value into a hash. */
static inline uint64
mix(uint64 hash, uint64 value)
{
	hash = (hash ^ value) * UINT64CONST(0x9E3779B97F4A7C15);
	return hash ^ hash >> 32;
}

/* Calls a hash function. */
static uint32
hash_value(Shares *shares, ShareKey *key, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(shares->scratch);
	uint32		hash = DatumGetUInt32(FunctionCall1Coll(&key->hash, key->collation, value));

	MemoryContextSwitchTo(old);
	MemoryContextReset(shares->scratch);
	return hash;
}

/* Takes a key's value into a hash. */
static inline uint64
mix_key(uint64 hash, Shares *shares, ShareKey *key, Datum value, bool isnull)
{
	if (isnull)
		return mix(hash, UINT64CONST(0x6E756C6C));
	if (key->bits != 0)
		return mix(hash, (uint64) value << (64 - key->bits) >> (64 - key->bits));
	return mix(hash, hash_value(shares, key, value));
}

/* Is a hash of the batch? */
static inline bool
is_of_batch(const Shares *shares, uint64 hash)
{
	uint32		class = (uint32) (mix(0, hash) % SHARE_CLASSES);

	return class - shares->first < shares->count;
}

bool
shares_keep(Shares *shares, TupleTableSlot *slot)
{
	uint64		hash = 0;

	for (int i = 0; i < shares->nkeys; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, shares->keys[i].attno, &isnull);

		hash = mix_key(hash, shares, &shares->keys[i], value, isnull);
	}
	return is_of_batch(shares, hash);
}

const AttrNumber *
shares_columns(const Shares *shares, int *n)
{
	*n = shares->nkeys;
	return shares->attnos;
}

void
shares_locate(Shares *shares, const AttrNumber *attnos)
{
	for (int i = 0; i < shares->nkeys; i++)
		shares->keys[i].table_attno = attnos[i];
}

bool
shares_keep_tuple(Shares *shares, HeapTuple tuple, TupleDesc desc)
{
	uint64		hash = 0;

	for (int i = 0; i < shares->nkeys; i++)
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, shares->keys[i].table_attno, desc, &isnull);

		hash = mix_key(hash, shares, &shares->keys[i], value, isnull);
	}
	return is_of_batch(shares, hash);
}

/* Adds what was done to what was done before. */
static void
add_stats(ShareStats *sum, const ShareStats *stats)
{
	sum->seen += stats->seen;
	sum->kept += stats->kept;
	sum->batches += stats->batches;
}

void
shares_note(Shares *shares, uint64 seen, uint64 kept)
{
	ShareStats	pass = {seen, kept, 1};

	add_stats(&shares->own, &pass);
	if (shares->shared)
	{
		SpinLockAcquire(&shares->shared->lock);
		add_stats(&shares->shared->stats[ParallelWorkerNumber + 1], &pass);
		SpinLockRelease(&shares->shared->lock);
	}
}

void
shares_rescan(Shares *shares)
{
	shares->begun = false;
}

void
shares_detach(Shares *shares)
{
	if (shares->shared && !IsParallelWorker())
		shares->all = shares_stats(shares, &shares->most);
	shares->shared = NULL;
	shares->parallel = NULL;
}

ShareStats
shares_stats(const Shares *shares, uint64 *most)
{
	SharedShares *shared = shares->shared;
	ShareStats	sum = shares->all;

	*most = shares->most;
	if (shared)
	{
		SpinLockAcquire(&shared->lock);
		for (int i = 0; i < shared->participants; i++)
		{
			add_stats(&sum, &shared->stats[i]);
			*most = Max(*most, shared->stats[i].kept);
		}
		SpinLockRelease(&shared->lock);
	}
	else if (sum.batches == 0)
	{
		sum = shares->own;
		*most = sum.kept;
	}
	return sum;
}
