/*
 * shares.h: partitions a sort's input among parallel participants, by scanning everything or by exchanging rows.
 */
#ifndef GPUSORT_SHARES_H
#define GPUSORT_SHARES_H

#include "access/htup_details.h"
#include "access/parallel.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"

/* Number of partitions, to which a hash of the share keys assigns rows.  Participants claim ranges of them. */
#define SHARE_PARTITIONS 1024

/* PRIVATE_DETAILS of the node, in this order; plan_share_node.c writes it. */
typedef enum SharePrivate
{
	SHARE_ATTNOS,				/* integer list: columns of the rows */
	SHARE_EQUALS,				/* OID list: hashable equality operators */
	SHARE_COLLATIONS,			/* OID list */
	SHARE_EXCHANGE				/* integer list of one: whether rows are exchanged */
} SharePrivate;

/* Statistics of one participant. */
typedef struct ShareStats
{
	uint64		seen;			/* rows read, in all batches */
	uint64		kept;
	uint64		batches;		/* scans of the input */
} ShareStats;

typedef struct Shares Shares;

/* Opens the shares of a node whose input has these rows, in the current memory context. */
extern Shares *shares_open(List *description, TupleDesc rows);

/* Shared memory of a parallel plan.  The leader initialises it, and resets it before a rescan; workers attach. */
extern Size shares_shared_bytes(const Shares *shares, const ParallelContext *parallel);
extern void shares_init_shared(Shares *shares, ParallelContext *parallel, void *memory);
extern void shares_reset_shared(Shares *shares, ParallelContext *parallel, void *memory);
extern void shares_attach(Shares *shares, void *memory);

/* Claims the next batch of partitions for a scan; false if none is left.  Without shared memory it has all. */
extern bool shares_claim(Shares *shares);

/* Returns true if the batch has all partitions, so that all rows are kept. */
extern bool shares_keep_all(const Shares *shares);

/* Returns how rows reach their share, as a value of gpusort.parallel_windows. */
extern const char *shares_way(const Shares *shares);

/* Returns true if rows are exchanged with other participants. */
extern bool shares_are_exchanged(const Shares *shares);

/* Exchange rows before the first batch: false if this participant sends none; send one; wait for all. */
extern bool shares_begin_sending(Shares *shares);
extern void shares_send(Shares *shares, TupleTableSlot *slot);
extern void shares_end_sending(Shares *shares);

/* Returns the next received row of the batch, valid until the next call, or NULL at the end. */
extern MinimalTuple shares_next_received(Shares *shares);

/* Returns true if a row belongs to the batch. */
extern bool shares_keep(Shares *shares, TupleTableSlot *slot);

/* Sets the columns of the share keys in a table's tuples, for shares_keep_tuple. */
extern void shares_locate(Shares *shares, const AttrNumber *attnos);

/* Returns the columns of the share keys in the rows, and their number. */
extern const AttrNumber *shares_columns(const Shares *shares, int *n);

/* Returns true if a table's tuple belongs to the batch. */
extern bool shares_keep_tuple(Shares *shares, HeapTuple tuple, TupleDesc desc);

/* Adds to this participant's statistics, in shared memory, too. */
extern void shares_note(Shares *shares, uint64 seen, uint64 kept, uint64 batches);

/* Prepares for a rescan.  shares_reset_shared releases the claims in shared memory. */
extern void shares_rescan(Shares *shares);

/* Detaches from shared memory.  The leader keeps a copy of all participants' statistics. */
extern void shares_detach(Shares *shares);

/* Returns the sum of all participants' statistics, and the largest number of rows that one kept. */
extern ShareStats shares_stats(const Shares *shares, uint64 *most);

#endif
