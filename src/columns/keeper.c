/*
 * keeper.c: the keeper of a database, a background worker that holds snapshots and keeps page maps true.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_database.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/guc.h"
#include "utils/inval.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "keeper.h"

PGDLLEXPORT void gpusort_keeper_main(Datum arg);

/* Between two attempts to reach the service. */
#define CALL_MS 1000
/* Part of the time that is for rolls, and part of it that is for reading pages. */
#define ROLL_FRACTION 10
#define READ_FRACTION 10
/* Time for that in a roll while a first load is under way.  Who waits for a table's lock waits as long. */
#define LOAD_US 50000

static ColumnsShared *all;
static KeeperShared *keeper;
static ServiceLink *service_link;
static int64 called_ms;			/* last attempt to reach the service */
static int64 rolled_ms;			/* when the last roll began */
static int64 roll_took_ms;		/* until its end */
static uint64 rolls;

/*
 * Returns the time between two rolls when queries had to read pages from the table: rolls take a tenth of it, within
 * bounds.
 */
static int64
hurry_ms(void)
{
	return Min(Max(roll_took_ms * ROLL_FRACTION, gpusort_columns_roll / 10), (int64) gpusort_columns_roll * 2 / 5);
}

/* Exit callback.  Loaders end, too, as nobody would publish what they store. */
static void
leave(int code, Datum arg)
{
	dlist_iter	iter;

	dlist_foreach(iter, &kept_tables)
		load_job_stop(dlist_container(KeptTable, node, iter.cur));
	SpinLockAcquire(&all->mutex);
	if (keeper->pid == MyProcPid)
		keeper->pid = 0;
	SpinLockRelease(&all->mutex);
	ereport(DEBUG1, (errmsg_internal("gpusort keeper ends after " UINT64_FORMAT " rolls", rolls)));
}

/* Takes over the claim of the session that requested the keeper.  Returns false if there is one. */
static bool
take_office(void)
{
	const char *why;
	bool		alone;

	all = columns_shared(&why);
	if (all == NULL)
		return false;
	SpinLockAcquire(&all->mutex);
	keeper = columns_keeper(all);
	alone = keeper != NULL && keeper->pid <= 0;
	if (alone)
	{
		keeper->pid = MyProcPid;
		keeper->procno = (int) (MyProc - ProcGlobal->allProcs);
		keeper->reason[0] = '\0';
	}
	SpinLockRelease(&all->mutex);
	return alone;
}

/* Settings that would end the transaction, or keep it from taking new snapshots. */
static void
set_options(void)
{
	static const char *const timeouts[] = {"statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout",
	"transaction_timeout"};

	for (int i = 0; i < (int) lengthof(timeouts); i++)
		if (GetConfigOption(timeouts[i], true, false) != NULL)
			SetConfigOption(timeouts[i], "0", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_isolation", "read committed", PGC_SUSET, PGC_S_OVERRIDE);
	SetConfigOption("default_transaction_deferrable", "off", PGC_SUSET, PGC_S_OVERRIDE);
}

/*
 * Returns false if somebody is dropping, renaming or copying the database.  They lock it, and then wait for other
 * processes to leave (dbcommands.c; procarray.c: CountOtherDBBackends).
 */
static bool
database_is_free(void)
{
	LOCKTAG		tag;

	SET_LOCKTAG_OBJECT(tag, InvalidOid, DatabaseRelationId, MyDatabaseId, 0);
	if (LockAcquire(&tag, RowExclusiveLock, false, true) == LOCKACQUIRE_NOT_AVAIL)
		return false;
	LockRelease(&tag, RowExclusiveLock, false);
	return true;
}

/* Returns true if a request waits for its tables. */
static bool
any_request(void)
{
	bool		found = false;

	SpinLockAcquire(&all->mutex);
	for (int i = 0; i < COLUMNS_REQUESTS; i++)
		found = found || (all->requests[i].state != REQUEST_FREE && all->requests[i].database == MyDatabaseId);
	SpinLockRelease(&all->mutex);
	return found;
}

/* Returns true if nothing has been asked for a while. */
static bool
is_quiet(void)
{
	return gsd_now_ms() - (int64) pg_atomic_read_u64(&keeper->queried_ms) > gpusort_columns_quiet && !any_request();
}

/* Closes the connection to the service.  What it held is declared again. */
static void
lose_service(void)
{
	if (service_link != NULL)
		store_close(service_link);
	service_link = NULL;
	keeper_forget_service();
}

/* Connects to the service, if it is time to try. */
static void
call_service(void)
{
	EngineFailure why;
	int64		now = gsd_now_ms();

	if (service_link != NULL || now - called_ms < CALL_MS)
		return;
	called_ms = now;
	service_link = store_open_internal(false, &why);
	if (service_link != NULL)
	{
		keeper_forget_service();
		return;
	}
	SpinLockAcquire(&all->mutex);
	strlcpy(keeper->reason, engine_failure_text(why), sizeof(keeper->reason));
	SpinLockRelease(&all->mutex);
}

/* Returns the number of tables that are declared, and whether a first load is under way. */
static int
count_tables(bool *loading)
{
	dlist_iter	iter;
	int			count = 0;

	*loading = false;
	dlist_foreach(iter, &kept_tables)
	{
		KeptTable  *table = dlist_container(KeptTable, node, iter.cur);

		count += table->number != 0;
		*loading = *loading || (table->number != 0 && table->loading && table->job == NULL && table->full_ms == 0);
	}
	return count;
}

/* Returns the time for reading pages, in microseconds, and begins a roll. */
static int64
take_budget(bool loading)
{
	int64		now = gsd_now_ms();
	int64		passed = Min(Max(now - rolled_ms, hurry_ms()), gpusort_columns_roll);

	rolled_ms = now;
	return loading ? LOAD_US : passed * 1000 / READ_FRACTION;
}

/* Rolls all tables.  Returns true if a first load goes on. */
static bool
roll_tables(void)
{
	dlist_iter	iter;
	bool		loading;
	int			count = count_tables(&loading);
	int64		budget = take_budget(loading);

	rolls++;
	window_next(keeper);
	dlist_foreach(iter, &kept_tables)
	{
		KeptTable  *table = dlist_container(KeptTable, node, iter.cur);
		TableRoll	roll = {.table = table, .link = service_link, .window = window_serial(keeper)};

		if (table->number == 0 || table->gone)
			continue;
		roll.budget_us = budget / count;
		if (!keeper_try(kept_table_roll, &roll))
			table->unbroken = false;
		if (roll.why != ENGINE_OK)
		{
			window_drop_previous(keeper);
			lose_service();
			return false;
		}
	}
	window_drop_previous(keeper);
	return loading;
}

/* One roll.  Returns false if the keeper is to end; *busy: the next one follows at once. */
static bool
roll(bool *busy)
{
	*busy = false;
	if (ConfigReloadPending)
	{
		ConfigReloadPending = false;
		ProcessConfigFile(PGC_SIGHUP);
	}
	if (!database_is_free())
		return false;
	AcceptInvalidationMessages();
	call_service();
	if (!keeper_choose(service_link, all) && !any_request())
		return false;
	/* it failed, or an error came, while a table was declared or in the roll before */
	if (service_link != NULL && !store_usable(service_link))
		lose_service();
	/* without a service, too: a window that stays keeps writers from pruning */
	*busy = roll_tables();
	roll_took_ms = gsd_now_ms() - rolled_ms;
	keeper_report(all);
	return !is_quiet();
}

/* Waits for some time, or until somebody sets the latch. */
static void
doze(int64 ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, (long) Max(ms, 1),
					 compat_wait_event("GpusortKeeper"));
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Waits for the next roll, which comes sooner if a query wants pages. */
static void
rest(bool busy)
{
	int64		until;

	doze(busy ? 1 : gpusort_columns_roll);
	while (!busy && (until = rolled_ms + hurry_ms() - gsd_now_ms()) > 0)
		doze(until);
}

/* Main function of the worker. */
void
gpusort_keeper_main(Datum arg)
{
	MemoryContext context;
	bool		goes_on = true;
	bool		busy;

	pqsignal(SIGTERM, die);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	BackgroundWorkerUnblockSignals();
	BackgroundWorkerInitializeConnectionByOid(DatumGetObjectId(arg), InvalidOid, 0);
	set_options();
	if (!take_office())
		proc_exit(0);
	before_shmem_exit(leave, (Datum) 0);
	keeper_choice_init();
	pgstat_report_activity(STATE_IDLE, NULL);
	context = AllocSetContextCreate(TopMemoryContext, "gpusort keeper", ALLOCSET_DEFAULT_SIZES);
	while (goes_on)
	{
		window_open(keeper);
		do
		{
			MemoryContextReset(context);
			MemoryContextSwitchTo(context);
			goes_on = roll(&busy);
			if (goes_on)
				rest(busy);
		} while (goes_on && !window_awaited());
		window_close(keeper);
		for (dlist_node *n = kept_tables.head.next; n != NULL && n != &kept_tables.head; n = n->next)
			dlist_container(KeptTable, node, n)->unbroken = false;
	}
	if (service_link != NULL)
		store_close(service_link);
	proc_exit(0);
}
