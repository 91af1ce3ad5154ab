/*
 * shares.c: partitions a sort's input among parallel participants, by scanning everything or by exchanging rows.
 *
 * A hash of the share keys assigns each row to a partition, so a group has one partition.  A participant that begins,
 * or is done, claims a range of free partitions, scans the whole input and keeps their rows.  The first claim is an
 * equal split of the rest among those that have not begun: each scans its input once if all come.  The partitions of
 * those that do not come in time go to the others.
 *
 * If the input is expensive, each participant reads a part of it and sends its rows to an exchange (exchange.c).
 * Nothing is read twice then, and claims can be small.
 *
 * The leader, which also reads the workers' rows, gets less.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "optimizer/optimizer.h"
#include "storage/spin.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "exchange.h"
#include "shares.h"

/* Lower limit of the leader's part, relative to a worker's: all partitions must not wait for late workers. */
#define MIN_LEADER_PART 0.1

/* Partitions that justify another scan. */
#define LEAST_CLAIM (SHARE_PARTITIONS / 16)

/* A share key. */
typedef struct ShareKey
{
	AttrNumber	attno;			/* in the row */
	AttrNumber	table_attno;	/* in a table's tuple */
	int			bits;			/* bits of a value that is hashed inline; else 0 */
	Oid			collation;
	FmgrInfo	hash;
} ShareKey;

/* Shared memory of all participants. */
typedef struct SharedShares
{
	slock_t		lock;
	uint32		next;			/* first unclaimed partition */
	int			workers;		/* workers expected */
	int			begun;			/* workers that have begun */
	int			present;		/* participants that have begun, including the leader */
	bool		leader;			/* the leader is expected, and has not begun */
	int			participants;	/* length of: */
	ShareStats	stats[FLEXIBLE_ARRAY_MEMBER];	/* leader first */
} SharedShares;

/* What this participant does with its partitions, in the current scan. */
typedef enum BatchState
{
	BATCH_NONE,					/* nothing has been claimed */
	BATCH_CLAIMED,				/* a batch has been claimed, the last one perhaps empty */
	BATCH_PART_OPEN				/* and one of its parts of the exchange is being read */
} BatchState;

struct Shares
{
	int			nkeys;
	ShareKey   *keys;
	AttrNumber *attnos;
	MemoryContext scratch;		/* for hash functions, or NULL if unused */
	MemoryContext context;		/* owns all this */
	bool		exchanged;		/* the plan says that rows are exchanged, if there are workers */
	Exchange   *exchange;		/* NULL: not exchanged, or not attached */
	BatchState	state;
	uint32		granule;		/* partitions per part of the exchange */
	uint32		reading;		/* end of the partitions whose parts have been read or are being read */
	uint32		first;			/* first partition of the batch */
	uint32		count;			/* partitions of the batch */
	SharedShares *shared;		/* NULL: not parallel, or not attached */
	ParallelContext *parallel;	/* set in the leader */
	ShareStats	own;
	ShareStats	all;			/* of all participants, kept after detaching */
	uint64		most;
};

/* Returns the width of values that are equal only if their bits are, and so hashed inline; 0 for other types. */
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

	shares->context = CurrentMemoryContext;
	shares->exchanged = linitial_int(list_nth(description, SHARE_EXCHANGE)) != 0;
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

/* Returns the bytes of shared memory, without the exchange. */
static Size
own_shared_bytes(int participants)
{
	return MAXALIGN(offsetof(SharedShares, stats) + sizeof(ShareStats) * participants);
}

Size
shares_shared_bytes(const Shares *shares, const ParallelContext *parallel)
{
	int			participants = parallel->nworkers + 1;

	return own_shared_bytes(participants) + (shares->exchanged ? exchange_shared_bytes(participants) : 0);
}

/* Sets the exchange and its granularity. */
static void
set_exchange(Shares *shares, Exchange *exchange)
{
	shares->exchange = exchange;
	shares->granule = SHARE_PARTITIONS / exchange_parts(shares->shared->participants);
}

/* Initialises the counters in shared memory. */
static void
reset_shared(Shares *shares, ParallelContext *parallel, SharedShares *shared)
{
	shares->shared = shared;
	shares->parallel = parallel;
	SpinLockInit(&shared->lock);
	shared->next = 0;
	shared->workers = parallel->nworkers;
	shared->begun = 0;
	shared->present = 0;
	shared->leader = parallel_leader_participation;
}

/* Leaves the part of the exchange that is being read. */
static void
close_part(Shares *shares)
{
	if (shares->state == BATCH_PART_OPEN)
		shares->state = BATCH_CLAIMED;
}

void
shares_reset_shared(Shares *shares, ParallelContext *parallel, void *memory)
{
	reset_shared(shares, parallel, memory);
	close_part(shares);
	if (shares->exchanged)
		exchange_reset(shares->exchange);
}

void
shares_init_shared(Shares *shares, ParallelContext *parallel, void *memory)
{
	SharedShares *shared = memory;
	int			participants = parallel->nworkers + 1;
	MemoryContext old;

	memset(shared, 0, own_shared_bytes(participants));
	shared->participants = participants;
	reset_shared(shares, parallel, shared);
	if (!shares->exchanged)
		return;
	old = MemoryContextSwitchTo(shares->context);
	set_exchange(shares, exchange_init(parallel, (char *) memory + own_shared_bytes(participants)));
	MemoryContextSwitchTo(old);
}

void
shares_attach(Shares *shares, void *memory)
{
	MemoryContext old = MemoryContextSwitchTo(shares->context);

	shares->shared = memory;
	if (shares->exchanged)
		set_exchange(shares, exchange_attach((char *) memory + own_shared_bytes(shares->shared->participants)));
	MemoryContextSwitchTo(old);
}

/* Returns the leader's part, relative to a worker's.  A single worker gets half: it also starts and allocates. */
static double
leader_part(int workers)
{
	return workers == 1 ? 1.0 : Max(1.0 - 0.3 * workers, MIN_LEADER_PART);
}

/* Returns the number of partitions of a participant's first claim. */
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

/* Returns the partitions of a later claim: enough to justify a scan.  Workers that have not started do not count. */
static uint32
next_count(const SharedShares *shared, uint32 left)
{
	return Min(left, Max(left / shared->present, LEAST_CLAIM));
}

/* Returns the partitions of a claim in an exchange: half of an equal split of the rest; if nothing is sent, all. */
static uint32
exchange_count(const Shares *shares, uint32 left)
{
	double		part = (double) left / (2 * Max(shares->shared->present, 1));

	if (!shares_are_exchanged(shares))
		return left;
	if (!IsParallelWorker())
		part *= leader_part(shares->shared->workers);
	return Min(left, Max((uint32) (part / shares->granule), 1) * shares->granule);
}

/* Returns the number of partitions to claim. */
static uint32
claim_count(Shares *shares, uint32 left, bool first)
{
	if (shares->exchanged)
		return exchange_count(shares, left);
	return first ? first_count(shares->shared, left, IsParallelWorker()) : next_count(shares->shared, left);
}

bool
shares_claim(Shares *shares)
{
	SharedShares *shared = shares->shared;
	bool		first = shares->state == BATCH_NONE;
	uint32		left;

	shares->state = BATCH_CLAIMED;
	if (shared == NULL)
	{
		shares->first = 0;
		shares->count = first ? SHARE_PARTITIONS : 0;
		return first;
	}
	SpinLockAcquire(&shared->lock);
	/* only the leader knows the number of workers launched */
	if (first && shares->parallel)
		shared->workers = shares->parallel->nworkers_launched;
	shares->first = shared->next;
	left = SHARE_PARTITIONS - shared->next;
	shares->count = claim_count(shares, left, first);
	shares->reading = shares->first;
	shared->next += shares->count;
	SpinLockRelease(&shared->lock);
	return shares->count > 0;
}

bool
shares_keep_all(const Shares *shares)
{
	return shares->count == SHARE_PARTITIONS;
}

const char *
shares_way(const Shares *shares)
{
	return shares->exchanged ? "exchange" : "scan";
}

bool
shares_are_exchanged(const Shares *shares)
{
	return shares->exchange && shares->shared && !(shares->parallel && shares->parallel->nworkers_launched == 0);
}

bool
shares_begin_sending(Shares *shares)
{
	SpinLockAcquire(&shares->shared->lock);
	shares->shared->present++;
	SpinLockRelease(&shares->shared->lock);
	return exchange_begin(shares->exchange);
}

void
shares_end_sending(Shares *shares)
{
	exchange_end(shares->exchange);
}

MinimalTuple
shares_next_received(Shares *shares)
{
	MinimalTuple row;

	for (;;)
	{
		if (shares->state == BATCH_PART_OPEN)
		{
			row = exchange_next(shares->exchange);
			if (row != NULL)
				return row;
			shares->state = BATCH_CLAIMED;
		}
		if (shares->reading >= shares->first + shares->count)
			return NULL;
		exchange_open(shares->exchange, shares->reading / shares->granule);
		shares->state = BATCH_PART_OPEN;
		shares->reading += shares->granule;
	}
}

/* Mixes a value into a hash. */
static inline uint64
mix(uint64 hash, uint64 value)
{
	hash = (hash ^ value) * UINT64CONST(0x9E3779B97F4A7C15);
	return hash ^ hash >> 32;
}

/* Calls a key's hash function. */
static uint32
hash_value(Shares *shares, ShareKey *key, Datum value)
{
	MemoryContext old = MemoryContextSwitchTo(shares->scratch);
	uint32		hash = DatumGetUInt32(FunctionCall1Coll(&key->hash, key->collation, value));

	MemoryContextSwitchTo(old);
	MemoryContextReset(shares->scratch);
	return hash;
}

/* Mixes a key's value into a hash. */
static inline uint64
mix_key(uint64 hash, Shares *shares, ShareKey *key, Datum value, bool isnull)
{
	if (isnull)
		return mix(hash, UINT64CONST(0x6E756C6C));
	if (key->bits != 0)
		return mix(hash, (uint64) value << (64 - key->bits) >> (64 - key->bits));
	return mix(hash, hash_value(shares, key, value));
}

/* Returns the partition of a hash. */
static inline uint32
partition_of_hash(uint64 hash)
{
	return (uint32) (mix(0, hash) % SHARE_PARTITIONS);
}

/* Returns true if a hash belongs to the batch. */
static inline bool
is_of_batch(const Shares *shares, uint64 hash)
{
	return partition_of_hash(hash) - shares->first < shares->count;
}

/* Returns the hash of a row. */
static uint64
hash_row(Shares *shares, TupleTableSlot *slot)
{
	uint64		hash = 0;

	for (int i = 0; i < shares->nkeys; i++)
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, shares->keys[i].attno, &isnull);

		hash = mix_key(hash, shares, &shares->keys[i], value, isnull);
	}
	return hash;
}

bool
shares_keep(Shares *shares, TupleTableSlot *slot)
{
	return is_of_batch(shares, hash_row(shares, slot));
}

void
shares_send(Shares *shares, TupleTableSlot *slot)
{
	exchange_put(shares->exchange, (int) (partition_of_hash(hash_row(shares, slot)) / shares->granule), slot);
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

/* Adds to a sum of statistics. */
static void
add_stats(ShareStats *sum, const ShareStats *stats)
{
	sum->seen += stats->seen;
	sum->kept += stats->kept;
	sum->batches += stats->batches;
}

void
shares_note(Shares *shares, uint64 seen, uint64 kept, uint64 batches)
{
	ShareStats	pass = {seen, kept, batches};

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
	shares->state = BATCH_NONE;
	if (shares->exchange)
		exchange_close(shares->exchange);
}

void
shares_detach(Shares *shares)
{
	if (shares->shared && !IsParallelWorker())
		shares->all = shares_stats(shares, &shares->most);
	close_part(shares);
	if (shares->exchange)
	{
		exchange_close(shares->exchange);
		exchange_free(shares->exchange);
	}
	shares->exchange = NULL;
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
