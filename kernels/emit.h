/*
 * emit.h: assembles an element of a job's result from its arrays, on the CPU and in CUDA kernels.
 */
#ifndef GS_EMIT_H
#define GS_EMIT_H

#include "common/both.h"
#include "engine.h"

/* Returns run i of rows rows. */
GS_BOTH gs_run
gs_emit_run(const gs_results *r, uint64_t rows, uint64_t i)
{
	uint32_t start = r->starts[i];
	gs_run run;

	run.row = r->rows != NULL ? r->rows[i] : start;
	run.length = (uint32_t) ((i + 1 < r->count ? r->starts[i + 1] : rows) - start);
	return run;
}

/* Returns group i.  NaNs are normalized, so that their bits do not depend on the engine. */
GS_BOTH gs_group
gs_emit_group(const gs_results *r, uint64_t rows, uint64_t i)
{
	gs_run run = gs_emit_run(r, rows, i);
	gs_group group;

	group.row = run.row;
	group.length = run.length;
	group.valid = run.length - (r->nulls != NULL ? r->nulls[i] : 0);
	group.zero = 0;
	group.value[0] = group.valid;
	group.value[1] = 0;
	if (r->values == NULL)
		return group;
	switch (r->value_type)
	{
		case GS_F32:
			group.value[0] = ((const uint32_t *) r->values)[i];
			if ((group.value[0] & 0x7fffffffu) > 0x7f800000u)
				group.value[0] = 0x7fc00000u;
			break;
		case GS_F64:
			group.value[0] = ((const uint64_t *) r->values)[i];
			if ((group.value[0] & 0x7fffffffffffffffull) > 0x7ff0000000000000ull)
				group.value[0] = 0x7ff8000000000000ull;
			break;
		case GS_U128:
			group.value[0] = ((const uint64_t *) r->values)[2 * i];
			group.value[1] = ((const uint64_t *) r->values)[2 * i + 1];
			break;
		default:
			group.value[0] = ((const uint64_t *) r->values)[i];
			if (r->value_type == GS_I64 && group.value[0] >> 63)
				group.value[1] = ~(uint64_t) 0;
	}
	return group;
}

#endif
