/*
 * shares.h: which rows of a sort's input are this participant's, where every participant of a parallel plan reads all,
 * or a part and hands rows on to those whose they are.
 */
#ifndef GPUSORT_SHARES_H
#define GPUSORT_SHARES_H

#include "access/htup_details.h"
#include "access/parallel.h"
#include "executor/tuptable.h"
#include "nodes/pg_list.h"

/*
 * Rows fall into so many classes by a hash of the share keys, under an equality operator that holds rows of one group
 * together.  Participants claim ranges of classes.
 */
#define SHARE_PARTITIONS 1024

/* What plan_shares.c puts into the node's PRIVATE_DETAILS, in this order. */
typedef enum SharePrivate
{
	SHARE_ATTNOS,				/* integer list: columns of the rows */
	SHARE_EQUALS,				/* OID list: hashable equality operators */
	SHARE_COLLATIONS,			/* OID list */
	SHARE_EXCHANGE				/* integer list of one: whether rows are handed on */
} SharePrivate;

/* What one participant did. */
typedef struct ShareStats
{
	uint64		seen;			/* rows read, in all batches */
	uint64		kept;
	uint64		batches;		/* how often it read the input */
} ShareStats;

typedef struct Shares Shares;

/* What the node of these rows needs to know its share; in the current memory context. */
extern Shares *shares_open(List *description, TupleDesc rows);

/* Shared memory of a parallel plan: in the leader, before the plan is run again, and in a worker. */
extern Size shares_shared_bytes(const Shares *shares, const ParallelContext *parallel);
extern void shares_init_shared(Shares *shares, ParallelContext *parallel, void *memory);
extern void shares_reset_shared(Shares *shares, ParallelContext *parallel, void *memory);
extern void shares_attach(Shares *shares, void *memory);

/*
 * Claims the next batch of classes for a pass over the input; false if none are left.  Without shared memory the first
 * batch has all.
 */
extern bool shares_claim(Shares *shares);

/* Does the batch have all classes?  Then all rows are kept. */
extern bool shares_keep_all(const Shares *shares);

/* How rows reach their share, in the words of gpusort.parallel_windows. */
extern const char *shares_way(const Shares *shares);

/* Are there others to whom rows are handed on? */
extern bool shares_are_exchanged(const Shares *shares);

/*
 * Before the first batch then: is this participant to bring its rows?  They are brought one by one; the end waits for
 * all participants.
 */
extern bool shares_begin_sending(Shares *shares);
extern void shares_send(Shares *shares, TupleTableSlot *slot);
extern void shares_end_sending(Shares *shares);

/* The next row of the batch that was brought, valid until the next call; NULL at the end. */
extern MinimalTuple shares_next_received(Shares *shares);

/* Is a row of the batch? */
extern bool shares_keep(Shares *shares, TupleTableSlot *slot);

/* In which columns of a table's tuples the share keys are, for shares_keep_tuple. */
extern void shares_locate(Shares *shares, const AttrNumber *attnos);

/* The columns of the rows in which they are; *n is their number. */
extern const AttrNumber *shares_columns(const Shares *shares, int *n);

/* shares_keep, of a table's tuple. */
extern bool shares_keep_tuple(Shares *shares, HeapTuple tuple, TupleDesc desc);

/* Notes how many rows were seen and kept in so many batches, for everybody to see. */
extern void shares_note(Shares *shares, uint64 seen, uint64 kept, uint64 batches);

/* Begins again; what was claimed from shared memory is given back by shares_reset_shared. */
extern void shares_rescan(Shares *shares);

/* Takes leave of shared memory, of which the leader keeps what all participants noted. */
extern void shares_detach(Shares *shares);

/* What all participants together did, and the one that kept the most. */
extern ShareStats shares_stats(const Shares *shares, uint64 *most);

#endif
