/*
 * exchange.c: sends rows to the participants of a parallel plan that own them.
 *
 * Each participant reads a part of the input and divides its rows by exchange part, into chunks of memory.  A full
 * chunk is appended to the participant's only file.  When all that have begun have read their rows, each takes parts,
 * which it reads from everybody's files.  They wait only here, at a barrier, and none returns a row between arriving
 * there and leaving it.
 *
 * The chunks of a part form a list, from the last one backwards; shared memory has its head.  SharedTuplestore would
 * create, open and delete hundreds of files, one for each part of each participant, even for few rows.
 */
#include "postgres.h"

#include <fcntl.h>

#include "pgstat.h"
#include "storage/barrier.h"
#include "storage/buffile.h"
#include "storage/dsm.h"
#include "storage/sharedfileset.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "src/base/checksum.h"
#include "exchange.h"
#include "src/rows/minimal_row.h"

/* The number of parts.  Many small parts let all participants finish together. */
#define PARTS_PER_PARTICIPANT 4
#define MIN_PARTS 16
#define MAX_PARTS 128

/* Bytes of a chunk, unless a single row is larger. */
#define CHUNK_BYTES (4 * BLCKSZ)

/* Marks the end of a list of chunks. */
#define NOWHERE PG_UINT32_MAX

/* The header of a chunk, followed by aligned rows. */
typedef struct Chunk
{
	pg_crc32c	sum;			/* of all that follows, including rows */
	uint32		before;			/* file block of the part's preceding chunk, or NOWHERE */
	uint32		place;			/* its own file block */
	uint32		bytes;			/* bytes of rows */
} Chunk;

StaticAssertDecl(sizeof(Chunk) % MAXIMUM_ALIGNOF == 0, "rows follow the header");

/* Shared memory of an exchange. */
typedef struct SharedExchange
{
	Barrier		barrier;
	SharedFileSet files;
	dsm_handle	segment;		/* the segment with this struct */
	int			participants;
	uint32		last[FLEXIBLE_ARRAY_MEMBER];	/* the part's last chunk in a participant's file, see last_chunk */
} SharedExchange;

struct Exchange
{
	SharedExchange *shared;
	int			nparts;
	int			participant;
	MemoryContext context;		/* owns all that follows */
	BufFile    *file;			/* being written */
	uint32		blocks;			/* written to file */
	Chunk	  **chunks;			/* being filled; NULL: none yet */
	int			part;			/* being read, or -1 */
	int			from;			/* participant whose file is being read */
	BufFile   **read;			/* files opened for reading */
	uint32		next;			/* next chunk to read */
	Chunk	   *chunk;			/* chunk read last; its allocated size: */
	Size		room;
	uint32		at;				/* offset of its next row */
};

int
exchange_parts(int participants)
{
	int			parts = MIN_PARTS;

	while (parts < MAX_PARTS && parts < PARTS_PER_PARTICIPANT * participants)
		parts *= 2;
	return parts;
}

/* Returns the number of lists of chunks. */
static int
known_chunks(int participants)
{
	return participants * exchange_parts(participants);
}

Size
exchange_shared_bytes(int participants)
{
	return offsetof(SharedExchange, last) + known_chunks(participants) * sizeof(uint32);
}

/* Initialises a process's state. */
static void
clear(Exchange *exchange)
{
	MemoryContext old = MemoryContextSwitchTo(exchange->context);

	exchange->file = NULL;
	exchange->blocks = 0;
	exchange->chunks = palloc0(sizeof(Chunk *) * exchange->nparts);
	exchange->part = -1;
	exchange->read = palloc0(sizeof(BufFile *) * exchange->shared->participants);
	exchange->chunk = NULL;
	exchange->room = 0;
	MemoryContextSwitchTo(old);
}

/* Creates a process's state. */
static Exchange *
create_exchange(SharedExchange *shared)
{
	Exchange   *exchange = palloc0(sizeof(Exchange));

	exchange->shared = shared;
	exchange->nparts = exchange_parts(shared->participants);
	exchange->participant = ParallelWorkerNumber + 1;
	exchange->context = AllocSetContextCreate(CurrentMemoryContext, "gpusort exchange", ALLOCSET_DEFAULT_SIZES);
	clear(exchange);
	return exchange;
}

/* Initialises shared memory, apart from its files. */
static void
clear_shared(SharedExchange *shared)
{
	BarrierInit(&shared->barrier, 0);
	memset(shared->last, 0xFF, known_chunks(shared->participants) * sizeof(uint32));
}

Exchange *
exchange_init(ParallelContext *parallel, void *memory)
{
	SharedExchange *shared = memory;

	shared->participants = parallel->nworkers + 1;
	shared->segment = parallel->seg ? dsm_segment_handle(parallel->seg) : DSM_HANDLE_INVALID;
	SharedFileSetInit(&shared->files, parallel->seg);
	clear_shared(shared);
	return create_exchange(shared);
}

void
exchange_close(Exchange *exchange)
{
	for (int i = 0; i < exchange->shared->participants; i++)
	{
		if (exchange->read[i])
			BufFileClose(exchange->read[i]);
		exchange->read[i] = NULL;
	}
	if (exchange->file)
		BufFileClose(exchange->file);
	exchange->file = NULL;
}

void
exchange_reset(Exchange *exchange)
{
	/* the plan is rescanned only after this */
	exchange_close(exchange);
	MemoryContextReset(exchange->context);
	SharedFileSetDeleteAll(&exchange->shared->files);
	clear_shared(exchange->shared);
	clear(exchange);
}

Exchange *
exchange_attach(void *memory)
{
	SharedExchange *shared = memory;

	SharedFileSetAttach(&shared->files, dsm_find_mapping(shared->segment));
	return create_exchange(shared);
}

void
exchange_free(Exchange *exchange)
{
	MemoryContextDelete(exchange->context);
	pfree(exchange);
}

bool
exchange_begin(Exchange *exchange)
{
	if (BarrierAttach(&exchange->shared->barrier) == 0)
		return true;
	BarrierDetach(&exchange->shared->barrier);
	return false;
}

/* Creates or opens a participant's file. */
static BufFile *
open_file(Exchange *exchange, int participant, bool make)
{
	MemoryContext old = MemoryContextSwitchTo(exchange->context);
	FileSet    *files = &exchange->shared->files.fs;
	char		name[NAMEDATALEN];
	BufFile    *file;

	snprintf(name, sizeof(name), "rows%d", participant);
	file = make ? BufFileCreateFileSet(files, name) : BufFileOpenFileSet(files, name, O_RDONLY, false);
	MemoryContextSwitchTo(old);
	return file;
}

/* Returns the head of the list of a part's chunks in a participant's file. */
static uint32 *
last_chunk(const Exchange *exchange, int participant, int part)
{
	return &exchange->shared->last[participant * exchange->nparts + part];
}

/* Returns the checksum of a chunk. */
static pg_crc32c
sum_of(const Chunk *chunk)
{
	return checksum_of(0, &chunk->before, sizeof(Chunk) - offsetof(Chunk, before) + chunk->bytes);
}

/* Appends a chunk to the file, in whole blocks, and empties it. */
static void
write_chunk(Exchange *exchange, int part, Chunk *chunk)
{
	uint32	   *last = last_chunk(exchange, exchange->participant, part);
	Size		bytes = TYPEALIGN(BLCKSZ, sizeof(Chunk) + chunk->bytes);

	if (exchange->file == NULL)
		exchange->file = open_file(exchange, exchange->participant, true);
	if (bytes / BLCKSZ >= NOWHERE - exchange->blocks)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("too many rows for one temporary file")));
	chunk->before = *last;
	chunk->place = exchange->blocks;
	chunk->sum = sum_of(chunk);
	*last = exchange->blocks;
	BufFileWrite(exchange->file, (void *) chunk, bytes);
	exchange->blocks += (uint32) (bytes / BLCKSZ);
	chunk->bytes = 0;
}

/* Allocates room for a row of a part.  A row too large for a shared chunk gets its own, *alone, for put_alone. */
static MinimalTuple
room_for_row(Exchange *exchange, int part, Size bytes, Chunk **alone)
{
	Chunk	   *chunk = exchange->chunks[part];
	MinimalTuple row;

	*alone = NULL;
	if (unlikely(MAXALIGN(bytes) > CHUNK_BYTES - sizeof(Chunk)))
	{
		if (bytes > MaxAllocSize)
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
							errmsg("row is too big: size %zu, maximum size %zu", bytes, (Size) MaxAllocSize)));
		*alone = MemoryContextAllocExtended(exchange->context, TYPEALIGN(BLCKSZ, sizeof(Chunk) + MAXALIGN(bytes)),
											MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		(*alone)->bytes = (uint32) MAXALIGN(bytes);
		return (MinimalTuple) (*alone + 1);
	}
	if (chunk == NULL)
		chunk = exchange->chunks[part] = MemoryContextAllocZero(exchange->context, CHUNK_BYTES);
	else if (chunk->bytes + MAXALIGN(bytes) > CHUNK_BYTES - sizeof(Chunk))
		write_chunk(exchange, part, chunk);
	row = (MinimalTuple) ((char *) (chunk + 1) + chunk->bytes);
	chunk->bytes += (uint32) MAXALIGN(bytes);
	return row;
}

/* Writes and frees the chunk of a large row, if any. */
static void
put_alone(Exchange *exchange, int part, Chunk *alone)
{
	if (likely(alone == NULL))
		return;
	write_chunk(exchange, part, alone);
	pfree(alone);
}

/* Forms a row of a slot's values and sends it. */
static void
put_values(Exchange *exchange, int part, TupleTableSlot *slot)
{
	MinimalRow	form = minimal_row_of(slot);
	Chunk	   *alone;
	MinimalTuple row = room_for_row(exchange, part, form.bytes, &alone);

	minimal_row_fill(&form, slot, row);
	put_alone(exchange, part, alone);
}

void
exchange_put(Exchange *exchange, int part, TupleTableSlot *slot)
{
	bool		owned;
	MinimalTuple row;
	Chunk	   *alone;

	if (TTS_IS_VIRTUAL(slot))
	{
		put_values(exchange, part, slot);
		return;
	}
	row = ExecFetchSlotMinimalTuple(slot, &owned);
	memcpy(room_for_row(exchange, part, row->t_len, &alone), row, row->t_len);
	put_alone(exchange, part, alone);
	if (owned)
		pfree(row);
}

void
exchange_end(Exchange *exchange)
{
	for (int i = 0; i < exchange->nparts; i++)
	{
		Chunk	   *chunk = exchange->chunks[i];

		if (chunk == NULL)
			continue;
		if (chunk->bytes > 0)
			write_chunk(exchange, i, chunk);
		pfree(chunk);
		exchange->chunks[i] = NULL;
	}
	if (exchange->file)
		BufFileClose(exchange->file);
	exchange->file = NULL;
	BarrierArriveAndWait(&exchange->shared->barrier, PG_WAIT_EXTENSION);
	BarrierDetach(&exchange->shared->barrier);
}

void
exchange_open(Exchange *exchange, int part)
{
	exchange->part = part;
	exchange->from = 0;
	exchange->next = *last_chunk(exchange, 0, part);
	if (exchange->chunk)
		exchange->chunk->bytes = 0;
	exchange->at = 0;
}

/* Reports damage to the file being read. */
pg_noreturn static void
file_is_damaged(const Exchange *exchange)
{
	checksum_failed(psprintf("rows%d", exchange->from));
}

/* Reads bytes of the current file. */
static void
read_bytes(Exchange *exchange, void *to, Size bytes)
{
	if (BufFileRead(exchange->read[exchange->from], to, bytes) != bytes)
		file_is_damaged(exchange);
}

/* Reads the next chunk from the current participant's file. */
static void
read_chunk(Exchange *exchange)
{
	BufFile   **file = &exchange->read[exchange->from];
	Chunk		header;

	if (*file == NULL)
		*file = open_file(exchange, exchange->from, false);
	if (BufFileSeekBlock(*file, exchange->next) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not seek in a temporary file of rows")));
	read_bytes(exchange, &header, sizeof(header));
	if (sizeof(Chunk) + header.bytes > exchange->room)
	{
		if (exchange->chunk)
			pfree(exchange->chunk);
		exchange->chunk = NULL;
		exchange->room = Max(sizeof(Chunk) + header.bytes, CHUNK_BYTES);
		exchange->chunk = MemoryContextAllocHuge(exchange->context, exchange->room);
	}
	*exchange->chunk = header;
	read_bytes(exchange, exchange->chunk + 1, header.bytes);
	if (header.place != exchange->next || !EQ_CRC32C(header.sum, sum_of(exchange->chunk)))
		file_is_damaged(exchange);
	exchange->next = header.before;
	exchange->at = 0;
}

MinimalTuple
exchange_next(Exchange *exchange)
{
	MinimalTuple row;

	while (exchange->chunk == NULL || exchange->at == exchange->chunk->bytes)
	{
		CHECK_FOR_INTERRUPTS();
		if (exchange->next != NOWHERE)
			read_chunk(exchange);
		else if (++exchange->from < exchange->shared->participants)
			exchange->next = *last_chunk(exchange, exchange->from, exchange->part);
		else
			return NULL;
	}
	row = (MinimalTuple) ((char *) (exchange->chunk + 1) + exchange->at);
	exchange->at += (uint32) MAXALIGN(row->t_len);
	return row;
}
