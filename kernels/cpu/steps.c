/*
 * steps.c: lists of steps over columns in segments on the CPU.
 */
#include "../common/steps_row.h"
#include "select.h"

/* Takes a row that passed the filter into all results. */
static gs_status
reduce_row(const gs_steps *steps, const gs_group_step *group, const gs_held *columns, uint64_t row, gs_reduced *out)
{
	for (uint32_t i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *a = &group->aggregates[i];
		const gs_instruction *code = gs_steps_at(steps, a->code);
		gs_number number = gs_aggregate_number(steps, a);
		gs_scalar v = {0, 0};
		gs_reduced one;

		if (gs_code_null(code, a->ncode, columns, row))
			continue;
		if (a->ncode > 0 && !gs_code_value(steps, code, a->ncode, columns, row, &v))
			return GS_OVERFLOW;
		one = gs_reduced_one((gs_operation) a->operation, number, v);
		if (!gs_reduced_merge((gs_operation) a->operation, number, &out[i], &one))
			return GS_OVERFLOW;
	}
	return GS_OK;
}

gs_status
gs_cpu_reduce_rows(gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps, gs_reduced *out, void *temp)
{
	gs_work *work = &((gs_cpu_engine *) engine)->work;
	const gs_filter_step *filter = gs_steps_filter(steps);
	const gs_group_step *group = gs_steps_group(steps);

	(void) temp;
	for (uint32_t i = 0; i < group->naggregates; i++)
		out[i] = gs_reduced_none();
	for (uint64_t i = 0; i < rows->nspans; i++)
	{
		const gs_span *span = &rows->spans[i];
		const gs_held *columns = &rows->columns[(uint64_t) span->segment * rows->ncolumns];

		for (uint32_t r = span->first; r < span->first + span->rows; r++)
			if (gs_filter_passes(steps, filter, columns, r))
				GS_TRY(reduce_row(steps, group, columns, r, out));
		GS_TRY(gs_work_add(work, (uint64_t) span->rows * rows->ncolumns));
	}
	return GS_OK;
}

size_t
gs_cpu_reduce_rows_temp_bytes(const gs_held_rows *rows, const gs_steps *steps)
{
	(void) rows;
	(void) steps;
	return 0;
}
