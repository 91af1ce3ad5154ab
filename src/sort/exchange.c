/*
 * exchange.c: rows on their way to the participants of a parallel plan whose share they are.
 *
 * Each participant reads its part of the input and writes its rows into files of its own, one for each part of the
 * classes.  When all who have begun have read all they could, each takes parts, which it reads from everybody's files.
 * This is the only time that anybody waits, and nobody gives out a row between coming to the barrier and leaving it.
 * Who comes later finds nothing left to read, and takes parts.
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/barrier.h"
#include "storage/dsm.h"
#include "storage/sharedfileset.h"
#include "utils/memutils.h"
#include "utils/sharedtuplestore.h"
#include "utils/wait_event.h"

#include "exchange.h"

/* Parts for each participant at least, and altogether: what is left at the end is to be shared out evenly. */
#define PARTS_PER_PARTICIPANT 4
#define MIN_PARTS 16
#define MAX_PARTS 128

/* What participants share; their parts' stores follow. */
typedef struct SharedExchange
{
	Barrier		barrier;
	SharedFileSet files;
	dsm_handle	segment;		/* that all this is in */
	int			participants;
} SharedExchange;

struct Exchange
{
	SharedExchange *shared;
	int			nparts;
	SharedTuplestoreAccessor **parts;
	SharedTuplestoreAccessor *open; /* the one that is being read, or NULL */
	MemoryContext context;		/* of the stores */
};

int
exchange_parts(int participants)
{
	int			parts = MIN_PARTS;

	while (parts < MAX_PARTS && parts < PARTS_PER_PARTICIPANT * participants)
		parts *= 2;
	return parts;
}

/* Bytes of a part's store. */
static Size
part_bytes(int participants)
{
	return MAXALIGN(sts_estimate(participants));
}

Size
exchange_shared_bytes(int participants)
{
	return MAXALIGN(sizeof(SharedExchange)) + exchange_parts(participants) * part_bytes(participants);
}

/* Where a part's store lies. */
static SharedTuplestore *
part_memory(SharedExchange *shared, int part)
{
	return (SharedTuplestore *) ((char *) shared + MAXALIGN(sizeof(SharedExchange)) +
								 part * part_bytes(shared->participants));
}

/* What a process knows of an exchange. */
static Exchange *
create_exchange(SharedExchange *shared)
{
	Exchange   *exchange = palloc0(sizeof(Exchange));

	exchange->shared = shared;
	exchange->nparts = exchange_parts(shared->participants);
	exchange->parts = palloc(sizeof(SharedTuplestoreAccessor *) * exchange->nparts);
	exchange->context = AllocSetContextCreate(CurrentMemoryContext, "gpusort exchange", ALLOCSET_DEFAULT_SIZES);
	return exchange;
}

/* Makes the stores, empty. */
static void
init_parts(Exchange *exchange)
{
	SharedExchange *shared = exchange->shared;
	MemoryContext old = MemoryContextSwitchTo(exchange->context);

	BarrierInit(&shared->barrier, 0);
	for (int i = 0; i < exchange->nparts; i++)
	{
		char		name[NAMEDATALEN];

		snprintf(name, sizeof(name), "part%d", i);
		exchange->parts[i] = sts_initialize(part_memory(shared, i), shared->participants, 0, 0,
											SHARED_TUPLESTORE_SINGLE_PASS, &shared->files, name);
	}
	MemoryContextSwitchTo(old);
}

Exchange *
exchange_init(ParallelContext *parallel, void *memory)
{
	SharedExchange *shared = memory;
	Exchange   *exchange;

	shared->participants = parallel->nworkers + 1;
	shared->segment = parallel->seg ? dsm_segment_handle(parallel->seg) : DSM_HANDLE_INVALID;
	SharedFileSetInit(&shared->files, parallel->seg);
	exchange = create_exchange(shared);
	init_parts(exchange);
	return exchange;
}

void
exchange_reset(Exchange *exchange)
{
	exchange->open = NULL;
	MemoryContextReset(exchange->context);
	SharedFileSetDeleteAll(&exchange->shared->files);
	init_parts(exchange);
}

Exchange *
exchange_attach(void *memory)
{
	SharedExchange *shared = memory;
	Exchange   *exchange = create_exchange(shared);
	MemoryContext old = MemoryContextSwitchTo(exchange->context);

	SharedFileSetAttach(&shared->files, dsm_find_mapping(shared->segment));
	for (int i = 0; i < exchange->nparts; i++)
		exchange->parts[i] = sts_attach(part_memory(shared, i), ParallelWorkerNumber + 1, &shared->files);
	MemoryContextSwitchTo(old);
	return exchange;
}

bool
exchange_begin(Exchange *exchange)
{
	if (BarrierAttach(&exchange->shared->barrier) == 0)
		return true;
	BarrierDetach(&exchange->shared->barrier);
	return false;
}

void
exchange_put(Exchange *exchange, int part, TupleTableSlot *slot)
{
	bool		owned;
	MinimalTuple row = ExecFetchSlotMinimalTuple(slot, &owned);

	sts_puttuple(exchange->parts[part], NULL, row);
	if (owned)
		pfree(row);
}

void
exchange_end(Exchange *exchange)
{
	for (int i = 0; i < exchange->nparts; i++)
		sts_end_write(exchange->parts[i]);
	BarrierArriveAndWait(&exchange->shared->barrier, PG_WAIT_EXTENSION);
	BarrierDetach(&exchange->shared->barrier);
}

void
exchange_open(Exchange *exchange, int part)
{
	exchange->open = exchange->parts[part];
	sts_begin_parallel_scan(exchange->open);
}

MinimalTuple
exchange_next(Exchange *exchange)
{
	MinimalTuple row = sts_parallel_scan_next(exchange->open, NULL);

	if (row == NULL)
		exchange_close(exchange);
	return row;
}

void
exchange_close(Exchange *exchange)
{
	if (exchange->open)
		sts_end_parallel_scan(exchange->open);
	exchange->open = NULL;
}

void
exchange_free(Exchange *exchange)
{
	MemoryContextDelete(exchange->context);
	pfree(exchange->parts);
	pfree(exchange);
}
