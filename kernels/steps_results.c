/*
 * steps_results.c: the results of lists of steps: their size, and those of several parts as one.
 */
#include "common/steps_row.h"

size_t
gs_steps_result_bytes(const gs_steps *steps)
{
	const gs_group_step *group = gs_steps_group(steps);

	if (group == NULL)
		return sizeof(gs_row);
	return (group->nkeys + group->naggregates) * sizeof(gs_reduced);
}

bool
gs_steps_reduces(const gs_steps *steps)
{
	const gs_group_step *group = gs_steps_group(steps);

	if (group == NULL)
		return false;
	for (uint32_t i = 0; i < group->naggregates; i++)
		if (group->aggregates[i].operation > (uint32_t) GS_COUNT || group->aggregates[i].nterms > 0)
			return false;
	return group->nkeys == 0 && gs_steps_window(steps) == NULL && gs_steps_compute(steps) == NULL;
}

gs_status
gs_reduced_combine(const gs_steps *steps, gs_reduced *into, const gs_reduced *from)
{
	const gs_group_step *group = gs_steps_group(steps);

	for (uint32_t i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *a = &group->aggregates[i];

		if (!gs_reduced_merge((gs_operation) a->operation, gs_aggregate_number(steps, a), &into[i], &from[i]))
			return GS_OVERFLOW;
	}
	return GS_OK;
}
