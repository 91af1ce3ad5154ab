/*
 * scan.h: operations of the scan family that an engine implements.  Internal to kernels/.  scan.c has checked the
 * arguments; no required array is NULL, n > 0, temp is large enough.
 */
#ifndef GS_SCAN_H
#define GS_SCAN_H

#include "common/float_order.h"
#include "common/types.h"
#include "engine.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum gs_select_mode
{
	GS_MODE_SELECT,
	GS_MODE_PARTITION,
	GS_MODE_UNIQUE
} gs_select_mode;

/* A comparison as an interval: keeps low <= x <= high, or the complement, in the order of map_to_unsigned. */
typedef struct gs_interval
{
	uint64_t low[2], high[2]; /* least significant word first */
	bool outside;
} gs_interval;

typedef struct gs_select_request
{
	gs_select_mode mode;
	gs_type type;
	const void *in;
	uint64_t n;
	const gs_filter *filter;
	gs_interval interval; /* GS_BY_VALUE */
	void *out, *rest;
	uint64_t *count;
	bool in_place;
} gs_select_request;

typedef struct gs_runs_request
{
	gs_type type;
	const void *in;
	uint64_t n;
	void *values, *lengths, *starts;
	bool wide; /* lengths and starts have 8 bytes */
	bool only_long;
	uint64_t *count;
	bool in_place;
} gs_runs_request;

typedef struct gs_reduce_request
{
	gs_type key;
	const void *keys, *values;
	uint64_t n;
	gs_reduction reduction;
	void *out_keys, *out;
	uint64_t *count, *overflows;
	bool in_place;
} gs_reduce_request;

typedef struct gs_decode_request
{
	gs_type type;
	const void *values, *lengths;
	bool wide;
	uint64_t runs, room;
	void *out;
	uint64_t *count;
} gs_decode_request;

/* The operation whose temporary memory is asked for. */
typedef enum gs_primitive
{
	GS_P_SCAN,
	GS_P_SELECT,
	GS_P_SPLIT,
	GS_P_RUNS,
	GS_P_DECODE,
	GS_P_REDUCE,
	GS_P_REDUCE_FIXED,
	GS_P_EXTENT
} gs_primitive;

struct gs_scan_ops
{
	/* bytes: of an item or key.  extra: k of a split, room of a decode, bytes of a reduced value. */
	size_t (*temp_bytes)(const gs_engine *engine, gs_primitive primitive, size_t bytes, uint64_t n, uint64_t extra);
	gs_status (*scan)(gs_engine *engine, gs_type type, gs_operation op, bool inclusive, const void *in, void *out,
					  uint64_t n, void *temp);
	gs_status (*select)(gs_engine *engine, const gs_select_request *r, void *temp);
	gs_status (*split)(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k,
					   void *out, uint64_t *starts, void *temp);
	gs_status (*runs)(gs_engine *engine, const gs_runs_request *r, void *temp);
	gs_status (*decode)(gs_engine *engine, const gs_decode_request *r, void *temp);
	gs_status (*reduce)(gs_engine *engine, const gs_reduce_request *r, void *temp);
	gs_status (*gather)(gs_engine *engine, gs_type type, const void *in, bool wide_index, const void *index, uint64_t n,
						void *out);
	gs_status (*sequence)(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step);
	gs_status (*extent)(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp);
};

#ifdef __cplusplus
}
#endif

#endif
