/*
 * proof.h: which pages of a table a query may answer from resident columns.
 *
 * The claim, and why it holds, stands in proof.c.  A proof is made anew for each snapshot, and nothing of it is kept.
 */
#ifndef GPUSORT_PROOF_H
#define GPUSORT_PROOF_H

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "page_map.h"
#include "shared.h"

typedef struct PageProof
{
	uint64		version;		/* of the rows in the service */
	BlockNumber nblocks;		/* of the table now */
	uint64	   *proved;			/* a bit per page, (nblocks + 63) / 64 words; the others come from the table */
	BlockNumber pages;			/* proved, of which */
	BlockNumber young;			/* by their LSN */
	BlockNumber undecided;		/* held young, unchanged, but not for this snapshot */
} PageProof;

/*
 * Returns NULL, or why a relation cannot be answered from columns in this transaction, whatever is held.  Runs in the
 * session itself: parallel workers do not see what the transaction has changed.
 */
extern const char *proof_refused(Relation rel, Snapshot snapshot);

/* The part of that which depends on the relation alone. */
extern const char *proof_refused_relation(Relation rel);

/*
 * Proves pages for a snapshot that was taken before.  Returns false if the keeper's window ended meanwhile; the map may
 * have a newer one.  The memory of a proof is the current context's.
 */
extern bool prove_pages(Relation rel, Snapshot snapshot, const PageMap *map, const KeeperShared *keeper,
						PageProof *proof);

/* Returns some of the proved pages, one in so many, or more of a small table, with memory of the current context. */
#define PROOF_SAMPLE 16
extern PageProof proof_sample(const PageProof *proof);

/*
 * Copies the all-visible bits of the first nblocks pages, each page of the visibility map at one moment: a bit per
 * page, (nblocks + 63) / 64 words.
 */
extern void copy_all_visible(Relation rel, BlockNumber nblocks, uint64 *visible);

#endif
