/*
 * keeper_window.c: the snapshots that the keeper holds, in one long transaction.
 *
 * The transaction must be in nobody's way.  It has no xid.  PROC_IN_SAFE_IC, as CREATE INDEX CONCURRENTLY sets it, lets
 * WaitForOlderSnapshots (indexcmds.c) pass over it, while ComputeXidHorizons (procarray.c) still counts its xmin.
 * Locks of relations are released at the end of each step.  Who waited for a lock of that moment (WaitForLockers,
 * lmgr.c) waits for the end of the transaction: then the keeper ends it and begins another.
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/lwlock.h"
#include "storage/proc.h"
#include "storage/procarray.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"

#include "src/base/compat.h"
#include "keeper.h"

static Snapshot held;			/* of the current window */
static Snapshot last;			/* of the one before, until it is settled */

/* Makes CREATE INDEX CONCURRENTLY pass over this transaction.  Before it has a snapshot (indexcmds.c). */
static void
pass_by_index_builds(void)
{
	LWLockAcquire(ProcArrayLock, LW_EXCLUSIVE);
	MyProc->statusFlags |= PROC_IN_SAFE_IC;
	ProcGlobal->statusFlags[MyProc->pgxactoff] = MyProc->statusFlags;
	LWLockRelease(ProcArrayLock);
}

/* Takes a snapshot that holds the horizon until it is dropped. */
static Snapshot
take_snapshot(void)
{
	return RegisterSnapshotOnOwner(GetLatestSnapshot(), TopTransactionResourceOwner);
}

/* Returns a serial that no window of any keeper has had. */
static uint32
next_serial(void)
{
	const char *why;
	ColumnsShared *all = columns_shared(&why);
	uint32		serial = 0;

	while (serial == 0)
		serial = pg_atomic_add_fetch_u32(&all->serials, 1);
	return serial;
}

/* Shows the current snapshot as a new window. */
static void
show_window(KeeperWindow *window)
{
	window->xmin = held->xmin;
	pg_write_barrier();
	pg_atomic_write_u32(&window->serial, next_serial());
}

/* Shows no window. */
static void
hide_windows(KeeperWindow *window)
{
	pg_atomic_write_u32(&window->serial, 0);
	pg_atomic_write_u32(&window->previous, 0);
	pg_memory_barrier();
}

void
window_open(KeeperShared *keeper)
{
	KeeperWindow *window = &keeper->window;

	hide_windows(window);		/* before there is an xmin again */
	StartTransactionCommand();
	pass_by_index_builds();
	window->procno = (int) (MyProc - ProcGlobal->allProcs);
	window->pid = MyProcPid;
	held = take_snapshot();
	show_window(window);
}

void
window_next(KeeperShared *keeper)
{
	KeeperWindow *window = &keeper->window;

	InvalidateCatalogSnapshot();
	last = held;
	held = take_snapshot();
	window->previous_xmin = window->xmin;
	pg_write_barrier();
	pg_atomic_write_u32(&window->previous, pg_atomic_read_u32(&window->serial));
	pg_memory_barrier();
	/* no serial beside an xmin that is not its own */
	pg_atomic_write_u32(&window->serial, 0);
	pg_memory_barrier();
	show_window(window);
}

void
window_drop_previous(KeeperShared *keeper)
{
	pg_atomic_write_u32(&keeper->window.previous, 0);
	pg_memory_barrier();		/* nobody relies on it any more */
	UnregisterSnapshotFromOwner(last, TopTransactionResourceOwner);
	last = NULL;
	InvalidateCatalogSnapshot();
	/* nobody sees a long transaction */
	pgstat_report_xact_timestamp(GetCurrentTimestamp());
}

void
window_close(KeeperShared *keeper)
{
	hide_windows(&keeper->window);
	UnregisterSnapshotFromOwner(held, TopTransactionResourceOwner);
	held = NULL;
	CommitTransactionCommand();
}

uint32
window_serial(const KeeperShared *keeper)
{
	return pg_atomic_read_u32((pg_atomic_uint32 *) &keeper->window.serial);
}

/* A waiter moves the lock of the virtual transaction to the shared table (lock.c: VirtualXactLock). */
bool
window_awaited(void)
{
	return !*(volatile bool *) &MyProc->fpVXIDLock;
}

bool
keeper_try(KeeperStep step, void *arg)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	volatile bool done = false;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		step(arg);
		ReleaseCurrentSubTransaction();
		done = true;
	}
	PG_CATCH();
	{
		MemoryContextSwitchTo(context);
		EmitErrorReport();
		FlushErrorState();
		RollbackAndReleaseCurrentSubTransaction();
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	return done;
}
