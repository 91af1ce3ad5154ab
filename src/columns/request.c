/*
 * request.c: a session's request to load a table before its choice is committed.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/spin.h"
#include "utils/wait_event.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "request.h"
#include "shared.h"
#include "store.h"

/* Between two looks at the progress, and two messages about it. */
#define LOOK_MS 50
#define TELL_MS 5000

/* The subtransaction of each request that this session has made in its transaction; 0: none. */
static SubTransactionId requested_in[COLUMNS_REQUESTS];
static bool registered;

/* Ends a request, and has the keeper see it. */
static void
end_request(int number, RequestState state)
{
	const char *why;
	ColumnsShared *all = columns_shared(&why);
	KeeperShared *keeper;
	int			procno = -1;

	requested_in[number] = InvalidSubTransactionId;
	SpinLockAcquire(&all->mutex);
	all->requests[number].state = state;
	keeper = columns_keeper(all);
	/* without a keeper, nobody has loaded anything */
	if (keeper == NULL || keeper->pid == 0)
		all->requests[number].state = REQUEST_FREE;
	else if (keeper->pid > 0)
		procno = keeper->procno;
	SpinLockRelease(&all->mutex);
	if (procno >= 0)
		SetLatch(&ProcGlobal->allProcs[procno].procLatch);
}

/* End of a transaction.  The choice is visible to all when the event of its commit comes. */
static void
transaction_ended(XactEvent event, void *arg)
{
	for (int i = 0; i < COLUMNS_REQUESTS; i++)
	{
		if (requested_in[i] == InvalidSubTransactionId)
			continue;
		if (event == XACT_EVENT_COMMIT)
			end_request(i, REQUEST_COMMITTED);
		else if (event == XACT_EVENT_ABORT)
			end_request(i, REQUEST_ABANDONED);
		else if (event == XACT_EVENT_PRE_PREPARE)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("cannot PREPARE a transaction that has executed gpusort_columns_add()")));
	}
}

/* End of a subtransaction. */
static void
subtransaction_ended(SubXactEvent event, SubTransactionId mine, SubTransactionId parent, void *arg)
{
	for (int i = 0; i < COLUMNS_REQUESTS; i++)
	{
		if (requested_in[i] != mine)
			continue;
		if (event == SUBXACT_EVENT_COMMIT_SUB)
			requested_in[i] = parent;
		else if (event == SUBXACT_EVENT_ABORT_SUB)
			end_request(i, REQUEST_ABANDONED);
	}
}

/* Takes a free entry.  Returns its number, or -1. */
static int
take_entry(ColumnsShared *all, Oid relation, const Bitmapset *columns)
{
	int			number = -1;

	SpinLockAcquire(&all->mutex);
	for (int i = 0; number < 0 && i < COLUMNS_REQUESTS; i++)
		if (all->requests[i].state == REQUEST_FREE)
			number = i;
	if (number >= 0)
	{
		ColumnsRequest *request = &all->requests[number];
		int			column = -1;

		memset(request, 0, sizeof(*request));
		request->database = MyDatabaseId;
		request->relation = relation;
		request->pid = MyProcPid;
		while ((column = bms_next_member(columns, column)) >= 0)
			request->columns[(column - 1) / 8] |= (uint8) (1 << ((column - 1) % 8));
		request->state = REQUEST_NEW;
	}
	SpinLockRelease(&all->mutex);
	return number;
}

/* Copies an entry, and why the keeper may have none. */
static ColumnsRequest
look(ColumnsShared *all, int number, char *reason, Size bytes)
{
	ColumnsRequest copy;
	KeeperShared *keeper;

	SpinLockAcquire(&all->mutex);
	copy = all->requests[number];
	keeper = columns_keeper(all);
	strlcpy(reason, keeper != NULL ? keeper->reason : "", bytes);
	SpinLockRelease(&all->mutex);
	return copy;
}

/* Raises the error of a table that is not loaded. */
static void
fail(const char *name, const char *reason)
{
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("columns of \"%s\" cannot be held", name),
					errdetail("Reason: %s.", reason)));
}

/* Has the keeper run. */
static void
demand_keeper(const char *name)
{
	const char *why = columns_demand();

	if (why == NULL)
		return;
	ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					errmsg("columns of \"%s\" cannot be held", name),
					errdetail("Reason: %s.", why),
					strcmp(why, "no worker slot") == 0 ? errhint("Raise max_worker_processes.") : 0));
}

/* Waits until a request is loaded. */
static void
await(ColumnsShared *all, int number, const char *name)
{
	int64		begun = gsd_now_ms();
	int64		told = begun;
	int64		seen = begun;	/* last progress */
	BlockNumber loaded = 0;

	for (;;)
	{
		char		reason[64];
		ColumnsRequest request = look(all, number, reason, sizeof(reason));
		int64		now = gsd_now_ms();

		if (request.state == REQUEST_LOADED)
			return;
		if (request.state == REQUEST_FAILED)
			fail(name, request.reason);
		if (request.loaded != loaded || request.total == 0)
			seen = request.total == 0 ? seen : now;
		loaded = request.loaded;
		if (reason[0] != '\0' && request.total == 0 && now - seen > gpusort_timeout)
			fail(name, reason);
		if (now - told > TELL_MS)
		{
			ereport(NOTICE, (errmsg("gpusort has loaded %u of %u pages of \"%s\"", request.loaded, request.total,
									name)));
			told = now;
		}
		demand_keeper(name);
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, LOOK_MS,
						 compat_wait_event("GpusortColumns"));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

void
request_columns(Oid relation, const char *name, const Bitmapset *columns)
{
	const char *why;
	ColumnsShared *all = columns_shared(&why);
	int			number;

	if (all == NULL)
		fail(name, why);
	if (!registered)
	{
		RegisterXactCallback(transaction_ended, NULL);
		RegisterSubXactCallback(subtransaction_ended, NULL);
		registered = true;
	}
	demand_keeper(name);
	number = take_entry(all, relation, columns);
	if (number < 0)
		ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
						errmsg("too many transactions load columns at the same time")));
	requested_in[number] = GetCurrentSubTransactionId();
	await(all, number, name);
}
