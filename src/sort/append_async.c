/*
 * append_async.c: rows of foreign servers that a GpuMergeAppend asks for before it needs them.
 *
 * The server lets an Append alone fetch from several foreign servers at once; its Merge Append waits for each FETCH in
 * turn, and all other servers wait, too, so that their sorts run one after the other.  Here all are asked at the
 * beginning, by the same interface, and each again when few of its rows are left: these go aside then, as copies,
 * because the scan may reuse their memory.  One request at a time is under way on each connection; which one,
 * and whether it is ours, only the foreign-data wrapper knows, who finds it out in ExecAsyncConfigureWait.
 *
 * Foreign-data wrappers take who asks for an AppendState, whose set of events they fill, so there is one.
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/defrem.h"
#include "executor/execAsync.h"
#include "executor/executor.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/wait_event.h"

#include "append_async.h"
#include "src/compat.h"

/* Rows that a FETCH brings if the wrapper's options do not say, as in postgres_fdw. */
#define USUAL_FETCH 100

/*
 * After so many milliseconds without an answer, sources look again for what they wait for: a query on the same
 * connection that one of them ran, in a function or a parameter, has taken it and left nothing on the socket.
 */
#define LOOK_AGAIN_MS 100

typedef struct AsyncSource
{
	AsyncRequest request;
	bool		used;			/* is it asked so at all? */
	bool		direct;			/* the node gives what has come when it is run, or nothing */
	bool		asked;			/* what was asked for has not been taken */
	bool		ended;
	Oid			server;
	uint32		most;			/* rows of a FETCH that are given out before more are asked for */
	uint32		given;			/* rows of the last one that were given out from where they are */
	TupleTableSlot *ready;		/* the first of them, not given out yet; the rows aside come before it */

	TupleTableSlot *slot;		/* for those */
	MinimalTuple *aside;
	uint32		head;
	uint32		count;
	uint32		room;
} AsyncSource;

struct AsyncSources
{
	AppendState *requestor;
	SubTransactionId subxact;	/* in which it was opened */
	MemoryContext rows;
	uint32		n;
	AsyncSource *sources;
};

/*
 * Does a scan that is asked so give a row that has come when it is run, and an empty slot when there is none?  That of
 * postgres_fdw does, as Append itself goes that way; what others do then is not known.
 */
static bool
gives_directly(const ForeignScanState *scan)
{
	const ForeignServer *server = GetForeignServer(((ForeignScan *) scan->ss.ps.plan)->fs_server);
	char	   *handler = get_func_name(GetForeignDataWrapper(server->fdwid)->fdwhandler);

	return handler != NULL && strcmp(handler, "postgres_fdw_handler") == 0;
}

/* An option of a source's server, or its table if it is one, as a number. */
static int
fetch_rows(const ForeignScanState *scan)
{
	List	   *options = list_copy(GetForeignServer(((ForeignScan *) scan->ss.ps.plan)->fs_server)->options);
	int			rows = USUAL_FETCH;
	ListCell   *lc;

	if (scan->ss.ss_currentRelation)
		options = list_concat(options, GetForeignTable(RelationGetRelid(scan->ss.ss_currentRelation))->options);
	foreach(lc, options)
	{
		DefElem    *option = lfirst_node(DefElem, lc);

		if (strcmp(option->defname, "fetch_size") == 0)
			rows = atoi(defGetString(option));
	}
	return Max(rows, 1);
}

/*
 * Sets how many rows of a FETCH are given out before more are asked for.  What is left has to last while a server sends
 * the next ones of all its sources, about as fast as they are taken here; rows of the other servers are taken, too.
 */
static void
keep_in_hand(AsyncSources *async)
{
	List	   *servers = NIL;
	uint32		parts;

	for (uint32 i = 0; i < async->n; i++)
		if (async->sources[i].used)
			servers = list_append_unique_oid(servers, async->sources[i].server);
	parts = (uint32) Max(list_length(servers), 2);
	for (uint32 i = 0; i < async->n; i++)
		async->sources[i].most -= (async->sources[i].most + parts - 1) / parts;
	list_free(servers);
}

AsyncSources *
async_open(PlanState **sources, uint32 n, EState *estate)
{
	AsyncSources *async = NULL;
	AppendState *requestor;

	for (uint32 i = 0; i < n; i++)
	{
		AsyncSource *source;

		/* not in a fresh copy of the plan for one row */
		if (!sources[i]->async_capable)
			continue;
		if (async == NULL)
		{
			async = palloc0(sizeof(AsyncSources));
			async->n = n;
			async->subxact = GetCurrentSubTransactionId();
			async->sources = palloc0(sizeof(AsyncSource) * n);
			async->rows = GenerationContextCreate(CurrentMemoryContext, "gpusort rows of foreign servers",
												  ALLOCSET_DEFAULT_SIZES);
			async->requestor = requestor = makeNode(AppendState);
			requestor->ps.state = estate;
			requestor->as_asyncresults = palloc0(sizeof(TupleTableSlot *) * n);
		}
		source = &async->sources[i];
		source->used = true;
		source->server = ((ForeignScan *) sources[i]->plan)->fs_server;
		source->direct = gives_directly((ForeignScanState *) sources[i]);
		source->most = (uint32) fetch_rows((ForeignScanState *) sources[i]);
		source->slot = ExecInitExtraTupleSlot(estate, ExecGetResultType(sources[i]), &TTSOpsMinimalTuple);
		source->request.requestor = (PlanState *) async->requestor;
		source->request.requestee = sources[i];
		source->request.request_index = (int) i;
		async->requestor->as_asyncplans = bms_add_member(async->requestor->as_asyncplans, (int) i);
		async->requestor->as_nasyncplans++;
	}
	if (async)
		keep_in_hand(async);
	return async;
}

bool
async_has(const AsyncSources *async, uint32 source)
{
	return async != NULL && async->sources[source].used;
}

/* Forgets what the requestor was told: the requests say it, too. */
static inline void
forget_results(AppendState *requestor)
{
	requestor->as_nasyncresults = 0;
	if (requestor->as_needrequest)
	{
		bms_free(requestor->as_needrequest);
		requestor->as_needrequest = NULL;
	}
}

/* Asks a source for its next row, which it may have. */
static inline void
ask(AsyncSources *async, AsyncSource *source)
{
	source->asked = true;
	ExecAsyncRequest(&source->request);
	forget_results(async->requestor);
}

/* Puts a row aside. */
static void
put_aside(AsyncSources *async, AsyncSource *source, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(async->rows);

	if (source->head + source->count == source->room)
	{
		if (source->head > source->count)
		{
			memmove(source->aside, source->aside + source->head, sizeof(MinimalTuple) * source->count);
			source->head = 0;
		}
		else
		{
			MemoryContextSwitchTo(GetMemoryChunkContext(async->sources));
			source->room = Max(source->room * 2, 64);
			source->aside = source->aside
				? repalloc_huge(source->aside, sizeof(MinimalTuple) * source->room)
				: palloc(sizeof(MinimalTuple) * source->room);
			MemoryContextSwitchTo(async->rows);
		}
	}
	source->aside[source->head + source->count++] = ExecCopySlotMinimalTuple(slot);
	MemoryContextSwitchTo(old);
}

/* Takes what has come of a request: a row, or that there is none. */
static TupleTableSlot *
take(AsyncSource *source)
{
	TupleTableSlot *slot = source->request.result;

	source->asked = false;
	if (!TupIsNull(slot))
		return slot;
	source->ended = true;
	return NULL;
}

/* The next row of a source that has come, without a request if that can be; NULL if there is none now, or at all. */
static inline TupleTableSlot *
take_next(AsyncSources *async, AsyncSource *source)
{
	if (source->direct)
	{
		TupleTableSlot *slot = ExecProcNode(source->request.requestee);

		if (!TupIsNull(slot))
			return slot;
	}
	ask(async, source);
	return source->request.request_complete ? take(source) : NULL;
}

/* Puts all rows aside that a source has, from this one on, and so asks for more. */
static void
put_all_aside(AsyncSources *async, AsyncSource *source, TupleTableSlot *slot)
{
	for (; slot != NULL; slot = take_next(async, source))
		put_aside(async, source, slot);
}

/* After a FETCH the first row of it may be there. */
static void
take_first(AsyncSource *source)
{
	if (!source->asked || !source->request.request_complete)
		return;
	source->ready = take(source);
	source->given = 0;
}

/* Lets the wrapper say what a source waits for, begin its request if the connection is idle, or give its row. */
static void
configure(AsyncSources *async, AsyncSource *source)
{
	if (!source->used || !source->request.callback_pending)
		return;
	ExecAsyncConfigureWait(&source->request);
	forget_results(async->requestor);
	take_first(source);
}

/* The source on a server that has fewest rows left of those that wait for more; NULL if there is none. */
static AsyncSource *
find_neediest(AsyncSources *async, Oid server)
{
	AsyncSource *neediest = NULL;

	for (uint32 i = 0; i < async->n; i++)
	{
		AsyncSource *source = &async->sources[i];

		if (source->used && source->request.callback_pending && source->server == server &&
			(neediest == NULL || source->count < neediest->count))
			neediest = source;
	}
	return neediest;
}

/* Begins a request if the connection is idle. */
static void
begin_request(AsyncSources *async, AsyncSource *source)
{
	if (source == NULL)
		return;
	async->requestor->as_eventset = compat_wait_event_set(2);
	PG_TRY();
	{
		AddWaitEventToSet(async->requestor->as_eventset, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
		configure(async, source);
	}
	PG_FINALLY();
	{
		FreeWaitEventSet(async->requestor->as_eventset);
		async->requestor->as_eventset = NULL;
	}
	PG_END_TRY();
}

/*
 * Waits until something has come for some source, but not for long; the one that is needed is the first to be asked
 * for.
 */
static int
wait_events(AsyncSources *async, AsyncSource *needed, WaitEvent *events, int most)
{
	WaitEventSet *set = compat_wait_event_set(async->requestor->as_nasyncplans + 2);
	volatile int occurred = 0;

	async->requestor->as_eventset = set;
	PG_TRY();
	{
		AddWaitEventToSet(set, WL_EXIT_ON_PM_DEATH, PGINVALID_SOCKET, NULL, NULL);
		configure(async, needed);
		for (uint32 i = 0; i < async->n && !needed->ready && !needed->ended; i++)
			if (&async->sources[i] != needed)
				configure(async, &async->sources[i]);
		if (!needed->ready && !needed->ended)
		{
			AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
			occurred = WaitEventSetWait(set, LOOK_AGAIN_MS, events, most, WAIT_EVENT_APPEND_READY);
		}
	}
	PG_FINALLY();
	{
		FreeWaitEventSet(set);
		async->requestor->as_eventset = NULL;
	}
	PG_END_TRY();
	return occurred;
}

/* Waits, and takes what has come. */
static void
wait_for(AsyncSources *async, AsyncSource *needed)
{
	WaitEvent	events[16];
	int			occurred = wait_events(async, needed, events, lengthof(events));

	for (int i = 0; i < occurred; i++)
	{
		AsyncRequest *request = events[i].user_data;

		if ((events[i].events & WL_SOCKET_READABLE) && request->callback_pending)
		{
			AsyncSource *source = &async->sources[request->request_index];

			request->callback_pending = false;
			ExecAsyncNotify(request);
			forget_results(async->requestor);
			take_first(source);
			begin_request(async, find_neediest(async, source->server));
		}
		if (events[i].events & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
	}
}

void
async_begin(AsyncSources *async)
{
	for (uint32 i = 0; i < async->n; i++)
	{
		AsyncSource *source = &async->sources[i];

		if (!source->used)
			continue;
		ask(async, source);
		take_first(source);
	}
}

TupleTableSlot *
async_next(AsyncSources *async, uint32 i)
{
	AsyncSource *source = &async->sources[i];
	TupleTableSlot *slot;

	while (source->count == 0)
	{
		/* another node may have had to take what came, if it was the end */
		if (source->asked && source->request.request_complete)
			take_first(source);
		if ((slot = source->ready) != NULL)
		{
			source->ready = NULL;
			source->given = 1;
			return slot;
		}
		if (source->ended)
			return NULL;
		if (source->asked)
		{
			wait_for(async, source);
			continue;
		}
		slot = take_next(async, source);
		if (slot != NULL && ++source->given <= source->most)
			return slot;
		put_all_aside(async, source, slot);
	}
	source->count--;
	return ExecStoreMinimalTuple(source->aside[source->head++], source->slot, true);
}

void
async_settle(AsyncSources *async)
{
	if (likely(GetCurrentSubTransactionId() == async->subxact))
		return;
	for (uint32 i = 0; i < async->n; i++)
	{
		AsyncSource *source = &async->sources[i];

		while (source->asked && !source->request.request_complete)
			wait_for(async, source);
	}
}

void
async_rescan(AsyncSources *async)
{
	for (uint32 i = 0; i < async->n; i++)
	{
		AsyncSource *source = &async->sources[i];

		if (!source->used)
			continue;
		ExecClearTuple(source->slot);
		source->request.callback_pending = false;
		source->request.request_complete = false;
		source->request.result = NULL;
		source->asked = source->ended = false;
		source->ready = NULL;
		source->given = source->head = source->count = 0;
	}
	forget_results(async->requestor);
	MemoryContextReset(async->rows);
}
