/*
 * merge_proof.h: proves that merged rows ascend, by the words of their keys, before they are given out.
 *
 * Words are made of the rows, and rows that a source gives in a wrong order descend somewhere in what is merged of it.
 * Rows with equal words are not compared.
 */
#ifndef GPUSORT_MERGE_PROOF_H
#define GPUSORT_MERGE_PROOF_H

#include "src/base/compat.h"
#include "src/base/guc.h"

/* Are merges of rows that gpusort has sorted proved? */
static inline bool
merge_is_proved(void)
{
	return gpusort_verify != VERIFY_OFF;
}

/* Ends the query, whose merged rows descend. */
pg_noreturn extern void merge_refuse(void);

/* What was given out last of rows whose prefix is a word. */
typedef struct MergeProof
{
	int			rank;			/* of its first key; -1: nothing */
	uint64		word;
} MergeProof;

/* Goes on to rows of a rank, whose words begin anew if it is another one. */
static inline void
mergeproof_enter(MergeProof *proof, int rank)
{
	if (rank == proof->rank)
		return;
	if (rank < proof->rank && merge_is_proved())
		merge_refuse();
	proof->rank = rank;
	proof->word = 0;
}

/* Goes on to the last of some rows.  descends: one of them, or the first behind the one before, does. */
static inline void
mergeproof_leave(MergeProof *proof, uint64 word, bool descends)
{
	if (unlikely(descends) && merge_is_proved())
		merge_refuse();
	proof->word = word;
}

/* Proves rows by their words. */
static inline void
mergeproof_words(MergeProof *proof, const uint64 *words, uint32 count)
{
	bool		descends = proof->word > words[0];

	for (uint32 i = 1; i < count; i++)
		descends |= words[i - 1] > words[i];
	mergeproof_leave(proof, words[count - 1], descends);
}

#endif
