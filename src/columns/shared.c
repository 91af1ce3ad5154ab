/*
 * shared.c: what sessions and keepers share about resident columns.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/spin.h"

#include "shared.h"
#include "src/base/background_worker.h"
#include "src/base/shared_struct.h"
#include "store.h"

/* The name changes with the layout, as sessions with another library may be there. */
#define SHARED_NAME "gpusort columns 1"

/* After this time, a request for a keeper that did not start is void. */
#define DEMAND_MS 10000

/* Initializes the structure, which is zeroed.  Without random bytes the generation is 0, and columns are refused. */
static void
init_shared(void *memory)
{
	ColumnsShared *fresh = memory;

	SpinLockInit(&fresh->mutex);
	if (!pg_strong_random(&fresh->generation, sizeof(fresh->generation)))
		fresh->generation = 0;
	pg_atomic_init_u32(&fresh->serials, 0);
	for (int i = 0; i < COLUMNS_DATABASES; i++)
	{
		pg_atomic_init_u64(&fresh->keepers[i].queried_ms, 0);
		pg_atomic_init_u32(&fresh->keepers[i].window.serial, 0);
		pg_atomic_init_u32(&fresh->keepers[i].window.previous, 0);
	}
}

static SharedStruct shared = {.name = SHARED_NAME, .bytes = sizeof(ColumnsShared), .init = init_shared};
static const char *refused;		/* why there is none */

ColumnsShared *
columns_shared(const char **why)
{
	ColumnsShared *all;

	if (shared.place == NULL && refused == NULL && IsUnderPostmaster && !shared_struct_attach_late(&shared))
		refused = "no shared memory: preload gpusort";
	all = shared.place;
	if (all != NULL && all->generation != 0)
		return all;
	*why = refused != NULL ? refused : all != NULL ? "no random numbers" : "no shared memory";
	return NULL;
}

void
columns_shared_init(void)
{
	shared_struct_init(&shared);
}

KeeperShared *
columns_keeper(ColumnsShared *all)
{
	for (int i = 0; i < COLUMNS_DATABASES; i++)
		if (all->keepers[i].database == MyDatabaseId)
			return &all->keepers[i];
	return NULL;
}

/* Returns this database's entry, or takes one that is free, or whose keeper has ended.  Under the mutex. */
static KeeperShared *
take_entry(ColumnsShared *all)
{
	KeeperShared *entry = columns_keeper(all);

	for (int i = 0; entry == NULL && i < COLUMNS_DATABASES; i++)
		if (!OidIsValid(all->keepers[i].database))
			entry = &all->keepers[i];
	for (int i = 0; entry == NULL && i < COLUMNS_DATABASES; i++)
		if (all->keepers[i].pid == 0)
			entry = &all->keepers[i];
	if (entry != NULL && entry->database != MyDatabaseId)
	{
		entry->database = MyDatabaseId;
		entry->pid = 0;
		entry->reason[0] = '\0';
	}
	return entry;
}

/* Registers a worker with the postmaster. */
static bool
register_keeper(void)
{
	BackgroundWorker worker;
	BackgroundWorkerHandle *handle;

	background_worker_describe(&worker, "gpusort columns", "gpusort_keeper_main");
	worker.bgw_flags |= BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_main_arg = ObjectIdGetDatum(MyDatabaseId);
	return RegisterDynamicBackgroundWorker(&worker, &handle);
}

/* Returns true if this session is the one to request the keeper, and claims that. */
static bool
claim(ColumnsShared *all, KeeperShared **entry)
{
	int64		now = gsd_now_ms();
	bool		mine;

	SpinLockAcquire(&all->mutex);
	*entry = take_entry(all);
	mine = *entry != NULL && ((*entry)->pid == 0 || ((*entry)->pid < 0 && now - (*entry)->demanded_ms > DEMAND_MS));
	if (mine)
	{
		(*entry)->pid = -1;
		(*entry)->demanded_ms = now;
	}
	SpinLockRelease(&all->mutex);
	return mine;
}

/* Takes back a claim. */
static void
unclaim(ColumnsShared *all, KeeperShared *entry, const char *reason)
{
	SpinLockAcquire(&all->mutex);
	if (entry->database == MyDatabaseId && entry->pid < 0)
		entry->pid = 0;
	strlcpy(entry->reason, reason, sizeof(entry->reason));
	SpinLockRelease(&all->mutex);
}

const char *
columns_demand(void)
{
	const char *why;
	ColumnsShared *all = columns_shared(&why);
	KeeperShared *entry;

	if (all == NULL)
		return why;
	entry = columns_keeper(all);
	if (entry == NULL || entry->pid <= 0)
	{
		bool		mine = claim(all, &entry);

		if (entry == NULL)
			return "too many databases have columns";
		/* before the keeper looks whether anything was asked */
		pg_atomic_write_u64(&entry->queried_ms, (uint64) gsd_now_ms());
		if (mine && !register_keeper())
		{
			unclaim(all, entry, "no worker slot");
			return "no worker slot";
		}
	}
	pg_atomic_write_u64(&entry->queried_ms, (uint64) gsd_now_ms());
	return NULL;
}

void
columns_hurry(void)
{
	const char *why;
	ColumnsShared *all = columns_shared(&why);
	const KeeperShared *keeper = all != NULL ? columns_keeper(all) : NULL;

	/* another process, if it has ended meanwhile, finds nothing to do */
	if (keeper != NULL && keeper->pid > 0)
		SetLatch(&ProcGlobal->allProcs[keeper->procno].procLatch);
}

/* Returns the xmin of a window's snapshot, or an invalid xid if the keeper does not hold it. */
static TransactionId
window_xmin(const KeeperWindow *shown, uint32 window)
{
	/* volatile: each is read where it stands, as another process writes them */
	volatile KeeperWindow *live = (volatile KeeperWindow *) shown;
	TransactionId xmin = InvalidTransactionId;

	if (pg_atomic_read_u32(&live->serial) == window)
	{
		pg_read_barrier();
		xmin = live->xmin;
		pg_read_barrier();
		if (pg_atomic_read_u32(&live->serial) == window)
			return xmin;
	}
	/* it became the previous one, perhaps just now */
	pg_read_barrier();
	if (pg_atomic_read_u32(&live->previous) != window)
		return InvalidTransactionId;
	pg_read_barrier();
	xmin = live->previous_xmin;
	pg_read_barrier();
	return pg_atomic_read_u32(&live->previous) == window ? xmin : InvalidTransactionId;
}

/*
 * A keeper whose transaction ends, by whatever error, has lost its xmin before anybody can advance the horizon
 * (procarray.c: ProcArrayEndTransaction), and before it could tell anybody.
 */
bool
columns_window_held(const KeeperShared *keeper, uint32 window)
{
	const volatile KeeperWindow *shown = &keeper->window;
	volatile PGPROC *proc;
	bool		is_keeper;
	TransactionId xmin;
	TransactionId held;

	pg_memory_barrier();		/* after whatever the caller has read of the table */
	if (window == 0 || keeper->database != MyDatabaseId)
		return false;
	xmin = window_xmin(&keeper->window, window);
	if (!TransactionIdIsValid(xmin))
		return false;
	proc = &ProcGlobal->allProcs[shown->procno];
	is_keeper = proc->pid == shown->pid;
	held = proc->xmin;
	pg_read_barrier();			/* the window's process is read while it is shown */
	return is_keeper && TransactionIdIsValid(held) && TransactionIdPrecedesOrEquals(held, xmin) &&
		TransactionIdIsValid(window_xmin(&keeper->window, window));
}
