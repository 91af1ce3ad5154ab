/*
 * rows.h: operations on rows of columns for engines, internal.  rows.c has checked the arguments; n > 0.
 */
#ifndef GS_ROWS_H
#define GS_ROWS_H

#include "gs_columns.h"
#include "scan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A column in the engine's memory, encoded as type says: in a job of the CPU engine as unsigned numbers in order. */
typedef struct gs_source
{
	gs_type type;
	const void *values; /* GS_BYTES: offsets; NULL: all zeros */
	const void *low;	/* GS_U128 in two arrays: the lower halves; values has the upper ones */
	const uint64_t *nulls;
	const uint8_t *heap;
	bool wide; /* offsets have 64 bits */
} gs_source;

struct gs_steps;
struct gs_reduced;

/* A comparison with a constant: an interval, or bytes in the engine's memory. */
typedef struct gs_comparand
{
	gs_interval interval;
	gs_comparison comparison;
	const uint8_t *bytes;
	uint64_t length;
} gs_comparand;

/* Returns true if a comparison holds.  sign is the sign of the first value compared with the second. */
GS_BOTH bool
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
	/* first: overwrites the bitmap; otherwise ORs into it */
	gs_status (*heads)(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, bool first,
					   uint64_t *bits);
	gs_status (*compare)(gs_engine *engine, const gs_source *source, uint64_t n, const gs_comparand *constant,
						 uint64_t *bits);
	gs_status (*positions)(gs_engine *engine, const uint64_t *bits, uint64_t n, uint32_t *out, uint64_t *count,
						   void *temp);
	gs_status (*values)(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, gs_type result,
						const void *null_value, void *out);
	size_t (*fixed_temp_bytes)(gs_type type, uint64_t n);
	gs_status (*scan_fixed)(gs_engine *engine, gs_type type, bool inclusive, const void *in, void *out, uint64_t n,
							void *temp);
	gs_status (*overflows)(gs_engine *engine, gs_type type, bool inclusive, const void *in, const void *sums,
						   uint64_t n, uint64_t *count);
	size_t (*check_temp_bytes)(const gs_held_rows *rows);
	gs_status (*check)(gs_engine *engine, const gs_held_rows *rows, uint64_t *out, void *temp);
	size_t (*reduce_rows_temp_bytes)(const gs_engine *engine, const gs_held_rows *rows,
									 const struct gs_steps *steps);
	gs_status (*reduce_rows)(gs_engine *engine, const gs_held_rows *rows, const struct gs_steps *steps,
							 struct gs_reduced *out, void *temp);
};

/* scan.c: converts a comparison to an interval; returns false if it is not one. */
bool gs_interval_of(gs_type type, const gs_filter *filter, gs_interval *in);

/* gs_compare and gs_values on sources. */
gs_status gs_compare_of(gs_engine *engine, const gs_source *source, uint64_t n, gs_comparison comparison,
						const void *value, size_t value_bytes, uint64_t *bits);
gs_status gs_values_of(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, gs_type result,
					   const void *null_value, void *out);

/* The type that GS_SCAN and GS_REDUCE compute in, with integers widened to 64 bits; and the type of reduced values. */
gs_type gs_widened(gs_type type);
gs_type gs_job_reduced_type(const gs_job_spec *spec);

#ifdef __cplusplus
}
#endif

#endif
