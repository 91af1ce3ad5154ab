/*
 * rows.h: the operations on rows of columns that an engine fills in; not for callers.
 *
 * rows.c has checked the arguments; n > 0.
 */
#ifndef GS_ROWS_H
#define GS_ROWS_H

#include "scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A column in the engine's memory, as a caller or a job has it.  The type says what the values' bits mean there: a job
 * of the CPU engine keeps columns as unsigned numbers in order.
 */
typedef struct gs_source
{
	gs_type type;
	const void *values; /* GS_BYTES: offsets; NULL: zeros */
	const void *low;	/* GS_U128 in two arrays: the lower halves, values has the upper ones */
	const uint64_t *nulls;
	const uint8_t *heap;
	bool wide; /* offsets have 64 bits */
} gs_source;

/* A comparison with a constant, as an interval or as bytes of the engine's memory. */
typedef struct gs_constant
{
	gs_interval interval;
	gs_comparison comparison;
	const uint8_t *bytes;
	uint64_t length;
} gs_constant;

/* True if a comparison holds for a first value that is less than, equal to or greater than the second. */
static GS_EVERYWHERE bool
gs_holds(gs_comparison comparison, int sign)
{
	switch (comparison)
	{
		case GS_EQ:
			return sign == 0;
		case GS_NE:
			return sign != 0;
		case GS_LT:
			return sign < 0;
		case GS_LE:
			return sign <= 0;
		case GS_GT:
			return sign > 0;
		default:
			return sign >= 0;
	}
}

struct gs_row_ops
{
	/* first: bits are set, else they are added */
	gs_status (*heads)(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, bool first,
					   uint64_t *bits);
	gs_status (*compare)(gs_engine *engine, const gs_source *source, uint64_t n, const gs_constant *constant,
						 uint64_t *bits);
	gs_status (*positions)(gs_engine *engine, const uint64_t *bits, uint64_t n, uint32_t *out, uint64_t *count,
						   void *temp);
	gs_status (*values)(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, gs_type result,
						const void *null_value, void *out);
	size_t (*fixed_temp_bytes)(gs_type type, uint64_t n);
	gs_status (*scan_fixed)(gs_engine *engine, gs_type type, bool inclusive, const void *in, void *out, uint64_t n,
							void *temp);
	gs_status (*overflows)(gs_engine *engine, gs_type type, bool inclusive, const void *in, const void *sums, uint64_t n,
						   uint64_t *count);
};

/* scan.c: a comparison as an interval; false if it is none. */
bool gs_interval_of(gs_type type, const gs_filter *filter, gs_interval *in);

/* The calls of gs_arrays.h on sources. */
gs_status gs_compare_of(gs_engine *engine, const gs_source *source, uint64_t n, gs_comparison comparison,
						const void *value, size_t value_bytes, uint64_t *bits);
gs_status gs_values_of(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, gs_type result,
					   const void *null_value, void *out);

/* The type that GS_SCAN and GS_REDUCE work in: integers widened to 64 bits; and that of reduced values. */
gs_type gs_widened(gs_type type);
gs_type gs_job_reduced_type(const gs_job_spec *spec);

#ifdef __cplusplus
}
#endif

#endif
