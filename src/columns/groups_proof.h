/*
 * groups_proof.h: what counts of groups prove about an answer, whoever gave it.
 *
 * No value counts more often than its group has rows, and all groups together have no more rows than were looked at;
 * exactly these where none was left out.  So a row that is lost, or counted twice, is found where rows are counted.
 */
#ifndef GPUSORT_GROUPS_PROOF_H
#define GPUSORT_GROUPS_PROOF_H

#include "kernels/gs_steps.h"

typedef struct GroupsProof
{
	uint32		nkeys;
	uint32		naggregates;
	int			counter;		/* the aggregate that counts rows; -1: none */
	bool		all;			/* each row is in one of the groups that come */
	uint64		rows;			/* that were looked at */
	uint64		totals[GS_STEPS_MAX_AGGREGATES];	/* of the aggregates' counts so far */
} GroupsProof;

/* Begins with an answer of groups by a checked list, of so many rows. */
extern void groupsproof_begin(GroupsProof *proof, const gs_steps *steps, uint64 rows);

/* Takes some of the groups.  Returns false if they are wrong. */
extern bool groupsproof_take(GroupsProof *proof, const gs_reduced *groups, uint64 n);

/* Ends the answer.  Returns false if it is wrong. */
extern bool groupsproof_end(const GroupsProof *proof);

#endif
