/*
 * job_spec.c: validates job specifications, and computes result sizes and memory needs.
 */
#include "rows.h"

/* Returns true for jobs whose result is row numbers.  Engines execute these without job_work.c. */
bool
gs_job_is_order(const gs_job *job)
{
	return job->spec.op == GS_ORDER || job->spec.op == GS_TOPK;
}

/* Returns true for the types of SCAN, and of REDUCE unless it counts. */
static bool
is_number(gs_type type)
{
	return type != GS_U128 && type != GS_BYTES;
}

/* Returns true if the column list is valid by itself. */
static bool
columns_valid(const gs_column_spec *columns, uint32_t ncolumns)
{
	if (columns == NULL || ncolumns == 0 || ncolumns > GS_MAX_COLUMNS)
		return false;
	for (uint32_t c = 0; c < ncolumns; c++)
		if ((unsigned) columns[c].type > GS_BYTES)
			return false;
	return true;
}

/* Returns true if a job's columns and operation fit together. */
bool
gs_job_spec_valid(const gs_job_spec *spec)
{
	const gs_job_filter *filter = &spec->filter;
	gs_type last;

	if (!columns_valid(spec->columns, spec->ncolumns))
		return false;
	last = spec->columns[spec->ncolumns - 1].type;
	switch (spec->op)
	{
		case GS_ORDER:
		case GS_TOPK:
			return true;
		case GS_SELECT:
		case GS_PARTITION:
			if (spec->ncolumns != 1)
				return false;
			if (filter->by_flags)
				return last == GS_U8;
			return (unsigned) filter->comparison < GS_BETWEEN && (filter->value != NULL || filter->value_bytes == 0) &&
				   (last == GS_BYTES || filter->value_bytes == gs_type_width(last));
		case GS_RUNS:
			return spec->order_columns <= spec->ncolumns && spec->key_columns > 0 &&
				   spec->key_columns <= spec->ncolumns;
		case GS_SCAN:
			return spec->ncolumns == 1 && is_number(last) &&
				   (spec->operation == GS_SUM || spec->operation == GS_MIN || spec->operation == GS_MAX);
		case GS_VALUES:
			return spec->ncolumns == 1 && spec->order_columns + spec->key_columns > 0 && spec->order_columns <= 1 &&
				   spec->key_columns <= 1 && is_number(last) && gs_type_width(last) >= 4;
		case GS_REDUCE:
			/* The value column is not part of the order; engines store it unencoded. */
			if (spec->order_columns >= spec->ncolumns || spec->key_columns == 0 || spec->key_columns >= spec->ncolumns)
				return false;
			return spec->operation == GS_COUNT ||
				   (is_number(last) &&
					(spec->operation == GS_SUM || spec->operation == GS_MIN || spec->operation == GS_MAX));
		default:
			return false;
	}
}

size_t
gs_job_result_bytes(const gs_job_spec *spec)
{
	switch (spec->op)
	{
		case GS_RUNS:
			return sizeof(gs_run);
		case GS_REDUCE:
			return sizeof(gs_group);
		case GS_SCAN:
			return spec->columns[0].type == GS_F32 ? sizeof(float) : sizeof(uint64_t);
		case GS_VALUES:
			return gs_type_width(spec->columns[0].type);
		default:
			return sizeof(uint32_t);
	}
}

/* Returns the bytes of a value of REDUCE or SCAN. */
static size_t
value_bytes(const gs_job_spec *spec)
{
	return gs_type_width(gs_widened(spec->columns[spec->ncolumns - 1].type));
}

/* Returns the type of a reduced value.  Sums of 64-bit integers have 128 bits; sums of narrower ones fit 64. */
gs_type
gs_job_reduced_type(const gs_job_spec *spec)
{
	gs_type type = spec->columns[spec->ncolumns - 1].type, wide = gs_widened(type);

	return spec->operation == GS_SUM && type == wide && !gs_type_is_float(type) ? GS_U128 : wide;
}

/* Returns the peak memory of job_work.c's steps, per row, with a byte for a bit to cover temporary memory. */
size_t
gs_job_work_bytes(const gs_job_spec *spec)
{
	bool order = spec->order_columns > 0;
	size_t bytes = 1, values;

	switch (spec->op)
	{
		case GS_SELECT:
			return bytes + 4;
		case GS_PARTITION:
			return bytes + 12;
		case GS_RUNS:
			return bytes + 4 + (order ? 4 : 0);
		case GS_SCAN:
			return bytes + 2 * value_bytes(spec);
		case GS_VALUES:
			/* the sorted values and the sort's memory: two words on the CPU, a copy on a GPU */
			return bytes + gs_type_width(spec->columns[0].type) + (order ? 16 : 0);
		case GS_REDUCE:
			bytes += 12 + (order ? 4 : 0) + 4; /* run numbers, starts, reduction keys, rows, NULLs */
			if (spec->operation == GS_COUNT)
				return bytes + 4;
			values = value_bytes(spec);
			return bytes + (values < 4 ? 4 : values) + gs_type_width(gs_job_reduced_type(spec));
		default:
			return 0;
	}
}
