/*
 * groups_proof.c: what counts of groups prove about an answer, whoever gave it.
 */
#include "postgres.h"

#include "kernels/common/steps_parts.h"
#include "groups_proof.h"

/* Returns true if a list gives all groups of all rows: no step leaves some out. */
static bool
gives_all(const gs_steps *steps)
{
	const gs_step *step = (const gs_step *) gs_steps_at(steps, steps->first);

	for (uint32 i = 0; i < steps->nsteps; i++)
	{
		if (step->kind == GS_STEP_FILTER || step->kind == GS_STEP_HAVING || step->kind == GS_STEP_TOP)
			return false;
		step = gs_step_after(step);
	}
	return true;
}

void
groupsproof_begin(GroupsProof *proof, const gs_steps *steps, uint64 rows)
{
	const gs_group_step *group = gs_steps_group(steps);

	*proof = (GroupsProof) {.nkeys = group->nkeys, .naggregates = group->naggregates, .counter = -1,
		.all = gives_all(steps), .rows = rows};
	for (uint32 i = 0; i < group->naggregates && proof->counter < 0; i++)
		if (group->aggregates[i].operation == GS_COUNT && group->aggregates[i].ncode == 0 &&
			group->aggregates[i].nterms == 0)
			proof->counter = (int) i;
}

/* Looks at a group, and adds its counts to the totals. */
static bool
take_group(GroupsProof *proof, const gs_reduced *keys)
{
	const gs_reduced *aggregates = keys + proof->nkeys;
	uint64		rows = proof->counter >= 0 ? aggregates[proof->counter].count : proof->rows;
	bool		good = rows > 0 || proof->nkeys == 0;

	for (uint32 i = 0; i < proof->nkeys; i++)
		good &= keys[i].count <= 1;
	for (uint32 i = 0; i < proof->naggregates; i++)
	{
		good &= aggregates[i].count <= rows && aggregates[i].count <= proof->rows - proof->totals[i];
		proof->totals[i] += good ? aggregates[i].count : 0;
	}
	return good;
}

bool
groupsproof_take(GroupsProof *proof, const gs_reduced *groups, uint64 n)
{
	bool		good = true;

	for (uint64 i = 0; i < n && good; i++)
		good = take_group(proof, groups + i * (proof->nkeys + proof->naggregates));
	return good;
}

bool
groupsproof_end(const GroupsProof *proof)
{
	return !proof->all || proof->counter < 0 || proof->totals[proof->counter] == proof->rows;
}
