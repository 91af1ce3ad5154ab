/*
 * proof.c: proves pages of resident columns against the table as it is now.
 *
 * Held pages.  Claim: let a registered snapshot W be held in this database.  If a page's all-visible bit was set in a
 * copy of the visibility map taken under W, and is set now while W is still held, then the page's visible rows are the
 * ones of that time.  Whatever changed it since has an xid at or after W.xmin.  A committed change cannot become
 * all-visible again while W holds the horizon (ComputeXidHorizons, through which GetOldestNonRemovableTransactionId
 * answers vacuum's HeapTupleSatisfiesVacuumHorizon and heap_page_is_all_visible); an aborted one leaves the same rows
 * at the same TIDs.  And what is all-visible now is visible to every snapshot of the database, as index-only scans rely
 * on (nodeIndexonlyscan.c).  The keeper compares copies of the map under each window; queries look at the map now.
 *
 * Young pages.  The map does not show them all-visible.  Every change of a page's tuples stamps its LSN under the
 * page's exclusive lock; so a page with the LSN of its load has the tuples of its load.  Those were LIVE, or dead, by
 * HeapTupleSatisfiesVacuumHorizon, for all but the snapshots that do not see the xids in question as ended.
 *
 * The order is: snapshot, copy of the page map (which pins one version of the rows), number of blocks, visibility map,
 * then the look that W is still held.
 */
#include "postgres.h"

#include <endian.h>

#include "access/heapam.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "access/xact.h"
#include "catalog/catalog.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "storage/predicate.h"
#include "storage/proc.h"
#include "utils/snapmgr.h"

#include "src/base/compat.h"
#include "page_look.h"
#include "proof.h"

/* As in visibilitymap.c: two bits a page. */
#define MAP_BYTES		(BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define MAP_PAGES		(MAP_BYTES * 4)

/* Pages whose bits lie in eight bytes of the visibility map. */
#define PAGES_IN_WORD	32

/* Young pages between two looks for interrupts. */
#define INTERRUPT_PAGES 1024

/* Young pages whose memory is fetched ahead. */
#define PAGES_AHEAD		8

/* A snapshot's running transactions, ascending. */
typedef struct RunningXids
{
	Snapshot	snapshot;
	TransactionId *xids;
	int			count;
} RunningXids;

/* Returns true if this transaction has made or rewritten the relation: nobody else has seen its pages. */
static bool
is_new_here(Relation rel)
{
	return rel->rd_createSubid != InvalidSubTransactionId ||
		relation_new_filenode_subid(rel) != InvalidSubTransactionId ||
		relation_first_filenode_subid(rel) != InvalidSubTransactionId;
}

const char *
proof_refused_relation(Relation rel)
{
	if (rel->rd_rel->relkind != RELKIND_RELATION && rel->rd_rel->relkind != RELKIND_MATVIEW)
		return "it is not a table";
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return "its access method is not heap";
	if (IsCatalogRelation(rel) || IsToastRelation(rel))
		return "it is a system table";
	/* changes that are not logged leave no LSN, and a crash brings old pages back */
	if (!RelationIsPermanent(rel))
		return "its changes are not logged";
	/*
	 * COPY FREEZE twice in one transaction adds rows to an all-visible page, and its bit stays set.  With wal_level =
	 * minimal the changes of that transaction are not logged, either (rel.h: RelationNeedsWAL).
	 */
	if (is_new_here(rel))
		return "it is new in this transaction";
	return NULL;
}

const char *
proof_refused(Relation rel, Snapshot snapshot)
{
	const char *why = proof_refused_relation(rel);

	if (why != NULL)
		return why;
	if (snapshot->snapshot_type != SNAPSHOT_MVCC)
		return "the snapshot is not an MVCC snapshot";
	/* snapshots may then be older than the horizon (snapmgr.c: TransactionIdLimitedForOldSnapshots) */
	if (old_snapshots_possible())
		return "old_snapshot_threshold is set";
	/* reading the heap takes predicate locks that a writer looks for before it clears the page's bit */
	if (IsolationIsSerializable() || CheckForSerializableConflictOutNeeded(rel, snapshot))
		return "the transaction is serializable";
	/* rows that such snapshots see may have been removed (procarray.c: ComputeXidHorizons ignores the process) */
	if (MyProc->statusFlags & PROC_IN_VACUUM)
		return "the process is in a vacuum";
	if (snapshot->takenDuringRecovery || RecoveryInProgress())
		return "the server is a standby";
	return NULL;
}

/* Moves the even bits of a word together: those of VISIBILITYMAP_ALL_VISIBLE. */
static inline uint32
even_bits(uint64 word)
{
	word &= UINT64CONST(0x5555555555555555);
	word = (word | (word >> 1)) & UINT64CONST(0x3333333333333333);
	word = (word | (word >> 2)) & UINT64CONST(0x0F0F0F0F0F0F0F0F);
	word = (word | (word >> 4)) & UINT64CONST(0x00FF00FF00FF00FF);
	word = (word | (word >> 8)) & UINT64CONST(0x0000FFFF0000FFFF);
	return (uint32) (word | (word >> 16));
}

/*
 * Copies one page of the visibility map under its share lock: the server sets and clears bits under its exclusive one.
 * The lock is released before any heap page is touched, since the server locks heap pages first.  Returns false if the
 * map does not reach that far.
 */
static bool
copy_map_page(Relation rel, BlockNumber first, Buffer *buffer, char *bits)
{
	(void) visibilitymap_get_status(rel, first, buffer);
	if (!BufferIsValid(*buffer))
		return false;
	LockBuffer(*buffer, BUFFER_LOCK_SHARE);
	memcpy(bits, PageGetContents(BufferGetPage(*buffer)), MAP_BYTES);
	LockBuffer(*buffer, BUFFER_LOCK_UNLOCK);
	return true;
}

void
copy_all_visible(Relation rel, BlockNumber nblocks, uint64 *visible)
{
	Buffer		buffer = InvalidBuffer;
	char		bits[MAP_BYTES];

	memset(visible, 0, ((Size) nblocks + 63) / 64 * sizeof(uint64));
	for (BlockNumber first = 0; first < nblocks; first += MAP_PAGES)
	{
		BlockNumber pages = Min(nblocks - first, MAP_PAGES);

		if (!copy_map_page(rel, first, &buffer, bits))
			break;
		for (BlockNumber p = 0; p < pages; p += PAGES_IN_WORD)
		{
			uint64		word;

			memcpy(&word, bits + p / 4, sizeof(word));
			visible[(first + p) / 64] |= (uint64) even_bits(le64toh(word)) << (first + p) % 64;
		}
		if (nblocks - first <= MAP_PAGES)
			break;				/* first would overflow */
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
	if (nblocks % 64 != 0)
		visible[nblocks / 64] &= (UINT64CONST(1) << nblocks % 64) - 1;
}

/* Orders xids that lie within 2^31 of each other, as those of one snapshot do. */
static int
compare_xids(const void *a, const void *b)
{
	TransactionId x = *(const TransactionId *) a;
	TransactionId y = *(const TransactionId *) b;

	return x == y ? 0 : TransactionIdPrecedes(x, y) ? -1 : 1;
}

/* Collects and sorts a snapshot's running transactions and subtransactions. */
static void
collect_running(RunningXids *running, Snapshot snapshot)
{
	int			subxids = snapshot->suboverflowed ? 0 : Max(snapshot->subxcnt, 0);

	running->snapshot = snapshot;
	running->count = (int) snapshot->xcnt + subxids;
	running->xids = palloc(sizeof(TransactionId) * (running->count + 1));
	/* arrays of no transactions may be NULL */
	if (snapshot->xcnt > 0)
		memcpy(running->xids, snapshot->xip, snapshot->xcnt * sizeof(TransactionId));
	if (subxids > 0)
		memcpy(running->xids + snapshot->xcnt, snapshot->subxip, subxids * sizeof(TransactionId));
	qsort(running->xids, running->count, sizeof(TransactionId), compare_xids);
}

/* Returns true if one of the running xids lies between two xids, inclusive. */
static bool
any_running_between(const RunningXids *running, TransactionId oldest, TransactionId newest)
{
	int			low = 0;
	int			high = running->count;

	while (low < high)
	{
		int			middle = (low + high) / 2;

		if (TransactionIdPrecedes(running->xids[middle], oldest))
			low = middle + 1;
		else
			high = middle;
	}
	return low < running->count && TransactionIdPrecedesOrEquals(running->xids[low], newest);
}

/*
 * Returns true if a snapshot sees every xid of a young page as ended, as the keeper did when it loaded the page.  With
 * overflowed subtransactions the snapshot does not list all that run (procarray.c: GetSnapshotData), so only xids
 * before its xmin are known to have ended.
 */
static bool
sees_all_ended(const RunningXids *running, const YoungPage *page)
{
	Snapshot	snapshot = running->snapshot;

	if (!TransactionIdIsValid(page->newest) || TransactionIdPrecedes(page->newest, snapshot->xmin))
		return true;
	return !snapshot->suboverflowed && TransactionIdPrecedes(page->newest, snapshot->xmax) &&
		!any_running_between(running, page->oldest, page->newest);
}

/* Proves young pages, each by its own LSN and xids. */
static void
prove_young(Relation rel, Snapshot snapshot, const PageMap *map, const PageMapCopy *copy, PageProof *proof)
{
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	RunningXids running;

	collect_running(&running, snapshot);
	for (uint32 i = 0; i < copy->nyoung; i++)
	{
		const YoungPage *page = &copy->young[i];

		if (i % INTERRUPT_PAGES == 0)
			CHECK_FOR_INTERRUPTS();
		if (i + PAGES_AHEAD < copy->nyoung)
			page_look_ahead(page_map_buffer(map, page[PAGES_AHEAD].block));
		if (page->block >= proof->nblocks || XLogRecPtrIsInvalid(page->lsn))
			continue;
		if (!sees_all_ended(&running, page))
			proof->undecided++;
		else if (page_look(rel, page->block, page_map_buffer(map, page->block), strategy).lsn == page->lsn)
		{
			proof->proved[page->block / 64] |= UINT64CONST(1) << page->block % 64;
			proof->young++;
		}
	}
	pfree(running.xids);
	FreeAccessStrategy(strategy);
}

bool
prove_pages(Relation rel, Snapshot snapshot, const PageMap *map, const KeeperShared *keeper, PageProof *proof)
{
	PageMapCopy copy;
	Size		words;
	Size		held_words;

	memset(proof, 0, sizeof(*proof));
	if (!page_map_read(map, &copy))
		return false;
	proof->version = copy.version;
	proof->nblocks = RelationGetNumberOfBlocks(rel);
	words = ((Size) proof->nblocks + 63) / 64;
	held_words = ((Size) Min(copy.nblocks, proof->nblocks) + 63) / 64;
	proof->proved = palloc_extended((words + 1) * sizeof(uint64), MCXT_ALLOC_HUGE);
	copy_all_visible(rel, proof->nblocks, proof->proved);
	for (Size w = 0; w < words; w++)
		proof->proved[w] &= w < held_words ? copy.held[w] : 0;
	if (!columns_window_held(keeper, copy.window))
	{
		page_map_free_copy(&copy);
		return false;
	}
	proof->pages = (BlockNumber) pg_popcount((const char *) proof->proved, (int) (words * sizeof(uint64)));
	prove_young(rel, snapshot, map, &copy, proof);
	proof->pages += proof->young;
	page_map_free_copy(&copy);
	return true;
}

PageProof
proof_sample(const PageProof *proof)
{
	Size		words = ((Size) proof->nblocks + 63) / 64;
	PageProof	sample = *proof;

	sample.proved = palloc0((words + 1) * sizeof(uint64));
	for (Size word = 0; word < words; word += PROOF_SAMPLE)
		sample.proved[word] = proof->proved[word];
	sample.pages = (BlockNumber) pg_popcount((const char *) sample.proved, (int) (words * sizeof(uint64)));
	return sample;
}
