/*
 * gs_columns.h: primitives over columns that stay in an engine's memory, in segments.  Called, checked and tested as
 * those of gs_arrays.h, on both engines.
 */
#ifndef GS_COLUMNS_H
#define GS_COLUMNS_H

#include "gs_arrays.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A column of a segment, in the engine's memory; nulls as in gs_column. */
typedef struct gs_held
{
	const void *values;
	const uint64_t *nulls;
} gs_held;

/* Some rows of a segment. */
typedef struct gs_span
{
	uint32_t segment;
	uint32_t first;
	uint32_t rows;
} gs_span;

/* Rows of some columns: column c of segment s is columns[s * ncolumns + c]. */
typedef struct gs_held_rows
{
	const gs_type *types; /* not GS_BYTES */
	uint32_t ncolumns;
	uint32_t nsegments;
	const gs_held *columns;
	uint64_t nspans;
	const gs_span *spans;
} gs_held_rows;

/*
 * out[0] = the wrapping sum of the first column, out[1] = the XOR of the rows' hashes, as common/check_hash.h defines
 * them.  The lists lie in host memory and are read during the call; temp has room for them.
 */
size_t gs_check_temp_bytes(const gs_engine *engine, const gs_held_rows *rows);
gs_status gs_check(gs_engine *engine, const gs_held_rows *rows, uint64_t *out, void *temp, size_t temp_bytes);

#ifdef __cplusplus
}
#endif

#endif
