/*
 * receiver.c: a receiver of rows that stands before printtup's or COPY's, for the time of one ExecutorRun.
 *
 * The server's own describes the rows, and takes those that are too large.  The first row of a COPY is the server's,
 * too: it shows whether COPY counts rows where it is expected to, in a struct that is private to the server.
 */
#include "postgres.h"

#include "commands/progress.h"
#include "utils/backend_progress.h"
#include "utils/backend_status.h"
#include "utils/memutils.h"

#include "client.h"
#include "receiver.h"

/* The buffer's first size, and the most that a session keeps of it: what is held back, and a row. */
#define FIRST_BYTES 8192
#define KEPT_BYTES ((Size) 256 * 1024)


/* What COPY keeps behind its receiver. */
typedef struct CopyReceiver
{
	DestReceiver pub;
	void	   *state;
	uint64		processed;
} CopyReceiver;

struct OutReceiver
{
	DestReceiver pub;
	DestReceiver *server;		/* the server's */
	const int16 *formats;
	const CopyOptions *copy;	/* NULL: not COPY */
	bool		left;			/* all rows are left to the server */
	TupleDesc	desc;			/* that format was opened for */
	int			ncolumns;
	OutFormat  *format;
	MemoryContext cxt;
	uint64		bytes;			/* that COPY has sent, for its progress report */
	int64		server_bytes;	/* of those, as the server has reported its own */
};

/* One client reads one result at a time: one receiver and one buffer are enough, and small results allocate neither. */
static OutReceiver the_receiver;
static OutBuffer buffer;

/* rStartup */
static void
start_up(DestReceiver *self, int operation, TupleDesc desc)
{
	OutReceiver *receiver = (OutReceiver *) self;

	receiver->server->rStartup(receiver->server, operation, desc);
}

/* rShutdown */
static void
shut_down(DestReceiver *self)
{
	OutReceiver *receiver = (OutReceiver *) self;

	receiver->server->rShutdown(receiver->server);
}

/* rDestroy, which nobody calls while the receiver stands there. */
static void
destroy(DestReceiver *self)
{
	OutReceiver *receiver = (OutReceiver *) self;

	receiver->server->rDestroy(receiver->server);
}

/* Are all formats known?  Of others printtup complains. */
static bool
formats_are_known(const int16 *formats, int ncolumns)
{
	for (int i = 0; formats && i < ncolumns; i++)
		if (formats[i] != 0 && formats[i] != 1)
			return false;
	return true;
}

/* Opens the format for a descriptor; false: rows are left to the server. */
static bool
open_format(OutReceiver *receiver, TupleDesc desc)
{
	MemoryContext old = MemoryContextSwitchTo(receiver->cxt);

	receiver->left = !formats_are_known(receiver->formats, desc->natts);
	if (receiver->format)
		out_close(receiver->format);
	receiver->format = NULL;
	receiver->desc = desc;
	receiver->ncolumns = desc->natts;
	if (buffer.data == NULL)
		buffer = (OutBuffer) {.data = MemoryContextAlloc(TopMemoryContext, FIRST_BYTES), .size = FIRST_BYTES};
	buffer.sent = buffer.len = 0;
	if (!receiver->left)
		receiver->format = out_open(desc, receiver->formats, receiver->copy, &buffer);
	MemoryContextSwitchTo(old);
	return !receiver->left;
}

/* Is the format open for a slot's rows?  As printtup does, compares addresses, and numbers of columns. */
static inline bool
format_is_open(OutReceiver *receiver, TupleDesc desc)
{
	if (unlikely(receiver->desc != desc || receiver->ncolumns != desc->natts))
		return open_format(receiver, desc);
	return !receiver->left;
}

/* receiveSlot of a SELECT. */
static bool
receive_row(TupleTableSlot *slot, DestReceiver *self)
{
	OutReceiver *receiver = (OutReceiver *) self;

	if (likely(format_is_open(receiver, slot->tts_tupleDescriptor) && out_slot(receiver->format, slot)))
	{
		client_put_one(&buffer);
		return true;
	}
	return receiver->server->receiveSlot(slot, receiver->server);
}

/* Has the server write a row of COPY, whose report of bytes it then corrects by the rows written here. */
static bool
receive_by_server(OutReceiver *receiver, TupleTableSlot *slot)
{
	CopyReceiver *copy = (CopyReceiver *) receiver->server;
	uint64		processed = copy->processed;
	bool		result = receiver->server->receiveSlot(slot, receiver->server);

	if (copy->processed != processed + 1)
		receiver->left = true;
	if (MyBEEntry && pgstat_track_activities && !receiver->left)
	{
		int64		reported = MyBEEntry->st_progress_param[PROGRESS_COPY_BYTES_PROCESSED];

		receiver->bytes += (uint64) (reported - receiver->server_bytes);
		receiver->server_bytes = reported;
		pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, (int64) receiver->bytes);
	}
	return result;
}

/* Reports what COPY has sent. */
static void
report_progress(const OutReceiver *receiver)
{
	pgstat_progress_update_param(PROGRESS_COPY_BYTES_PROCESSED, (int64) receiver->bytes);
	pgstat_progress_update_param(PROGRESS_COPY_TUPLES_PROCESSED,
								 (int64) ((const CopyReceiver *) receiver->server)->processed);
}

/* receiveSlot of a COPY. */
static bool
receive_line(TupleTableSlot *slot, DestReceiver *self)
{
	OutReceiver *receiver = (OutReceiver *) self;
	CopyReceiver *copy = (CopyReceiver *) receiver->server;

	if (unlikely(copy->processed == 0) || !format_is_open(receiver, slot->tts_tupleDescriptor) ||
		!out_slot(receiver->format, slot))
		return receive_by_server(receiver, slot);
	receiver->bytes += buffer.len - MESSAGE_HEADER;
	client_put_one(&buffer);
	copy->processed++;
	report_progress(receiver);
	return true;
}

bool
receiver_hold(OutReceiver *receiver, TupleDesc desc)
{
	if (!format_is_open(receiver, desc))
		return false;
	client_hold(&buffer);
	return true;
}

/* Counts a message of COPY, the last one of the buffer. */
static inline void
count_line(OutReceiver *receiver, Size bytes)
{
	receiver->bytes += bytes - MESSAGE_HEADER;
	((CopyReceiver *) receiver->server)->processed++;
}

bool
receiver_take(OutReceiver *receiver, HeapTupleHeader row)
{
	Size		before = buffer.len;

	if (receiver->copy && unlikely(((CopyReceiver *) receiver->server)->processed == 0 || receiver->left))
		return false;
	if (unlikely(!out_tuple(receiver->format, row)))
		return false;
	if (receiver->copy)
		count_line(receiver, buffer.len - before);
	if (client_appended(&buffer) && receiver->copy)
		report_progress(receiver);
	return true;
}

void
receiver_leave(OutReceiver *receiver, TupleTableSlot *slot)
{
	if (receiver->copy)
		(void) receive_by_server(receiver, slot);
	else
		(void) receiver->server->receiveSlot(slot, receiver->server);
}

OutReceiver *
receiver_open(QueryDesc *query, const int16 *formats, const CopyOptions *copy)
{
	OutReceiver *receiver = &the_receiver;

	/* an error may have left something */
	*receiver = (OutReceiver) {.server = query->dest, .formats = formats, .copy = copy, .cxt = CurrentMemoryContext};
	receiver->pub.receiveSlot = copy ? receive_line : receive_row;
	receiver->pub.rStartup = start_up;
	receiver->pub.rShutdown = shut_down;
	receiver->pub.rDestroy = destroy;
	receiver->pub.mydest = query->dest->mydest;
	query->dest = &receiver->pub;
	return receiver;
}

void
receiver_close(OutReceiver *receiver, QueryDesc *query)
{
	query->dest = receiver->server;
	if (receiver->format)
		out_close(receiver->format);
	if (unlikely(buffer.size > KEPT_BYTES))
	{
		pfree(buffer.data);
		buffer.data = NULL;
	}
}
