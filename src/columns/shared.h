/*
 * shared.h: what sessions and keepers share about resident columns, in at most 16 kB of the server's shared memory.
 */
#ifndef GPUSORT_COLUMNS_SHARED_H
#define GPUSORT_COLUMNS_SHARED_H

#include "port/atomics.h"
#include "storage/s_lock.h"
#include "utils/timestamp.h"

#include "page_map.h"

#define COLUMNS_DATABASES 32	/* with a keeper at one time */
#define COLUMNS_REQUESTS 16		/* of gpusort_columns_add at one time */

/*
 * The windows of a database: snapshots that its keeper holds.  While serial (or previous) is the one of a map, and the
 * keeper's PGPROC still has an xmin at or before its window's, no page that was changed since can have become
 * all-visible again.  The keeper sets serial before it writes a map of that window, and clears previous before it
 * drops that snapshot; it clears both before it takes its first snapshot in a new transaction.
 */
typedef struct KeeperWindow
{
	pg_atomic_uint32 serial;	/* 0: none */
	pg_atomic_uint32 previous;	/* 0: none */
	TransactionId xmin;			/* of serial, and of previous; valid while that is set */
	TransactionId previous_xmin;
	int			procno;			/* the keeper's index in ProcGlobal->allProcs */
	int			pid;
} KeeperWindow;

typedef struct KeeperShared
{
	Oid			database;		/* InvalidOid: free */
	int			pid;			/* of the keeper; 0: none; -1: requested */
	int			procno;			/* to set its latch */
	int64		demanded_ms;	/* when it was requested (gsd_now_ms) */
	pg_atomic_uint64 queried_ms;	/* time of the last query */
	KeeperWindow window;
	char		reason[64];		/* why there is no keeper */
} KeeperShared;

typedef enum RequestState
{
	REQUEST_FREE,
	REQUEST_NEW,				/* the keeper has not seen it */
	REQUEST_LOADING,
	REQUEST_LOADED,				/* the requester may commit */
	REQUEST_FAILED,				/* reason has why */
	REQUEST_COMMITTED,			/* the requester has; the keeper frees the entry */
	REQUEST_ABANDONED			/* rolled back; the keeper frees what it loaded, and the entry */
} RequestState;

/* A table to load for a transaction that is not committed yet. */
typedef struct ColumnsRequest
{
	RequestState state;
	Oid			database;
	Oid			relation;
	int			pid;			/* the requester */
	BlockNumber loaded;			/* progress, of total pages */
	BlockNumber total;
	uint8		columns[(MaxHeapAttributeNumber + 7) / 8];	/* a bit per attribute number - 1 */
	char		reason[128];
} ColumnsRequest;

typedef struct ColumnsShared
{
	slock_t		mutex;
	uint64		generation;		/* random; the key of all maps of this life of the server */
	pg_atomic_uint32 serials;	/* of windows; no two keepers use one */
	KeeperShared keepers[COLUMNS_DATABASES];
	ColumnsRequest requests[COLUMNS_REQUESTS];
} ColumnsShared;

StaticAssertDecl(sizeof(ColumnsShared) <= 16384, "shared memory must fit the server's spare memory");

/* Requests shared memory, in _PG_init. */
extern void columns_shared_init(void);

/* Returns the shared state, or NULL with a reason if there is no shared memory for it. */
extern ColumnsShared *columns_shared(const char **why);

/* Returns this database's keeper, or NULL if it has none. */
extern KeeperShared *columns_keeper(ColumnsShared *all);

/*
 * Requests this database's keeper if it does not run, and records that a query came.  Returns NULL, or why there is
 * none ("no worker slot").
 */
extern const char *columns_demand(void);

/* Tells the keeper that a query had to read pages from the table. */
extern void columns_hurry(void);

/* Returns true if the keeper still holds the snapshot of a map's window. */
extern bool columns_window_held(const KeeperShared *keeper, uint32 window);

#endif
