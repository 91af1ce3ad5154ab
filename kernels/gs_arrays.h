/*
 * gs_arrays.h: primitives, one operation each on arrays in an engine's memory.  Jobs (gs.h) are built from them; a
 * caller that uses only jobs does not need this header.  gs_library.h has the primitives that no query reaches.
 * Queries reach gs_decode and gs_merge_runs only on the CPU engine and gs_select not at all: doc/kernels.md, "Which
 * query reaches which kernel".
 */
#ifndef GS_ARRAYS_H
#define GS_ARRAYS_H

#include "gs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- memory */

/* Memory that the engine's primitives read and write (device memory on CUDA), aligned to 256 bytes. */
gs_status gs_alloc(gs_engine *engine, size_t bytes, void **block);
void gs_free(gs_engine *engine, void *block);

/* Copies to and from engine memory, and fills it.  Ordered with the primitives; complete for the host after gs_sync. */
gs_status gs_upload(gs_engine *engine, void *to, const void *from, size_t bytes);
gs_status gs_download(gs_engine *engine, void *to, const void *from, size_t bytes);
gs_status gs_fill(gs_engine *engine, void *to, int byte, size_t bytes);
gs_status gs_sync(gs_engine *engine);

/* ---------------------------------------------------------------- row order */

typedef struct gs_plan gs_plan;

/*
 * Plans the stable row order of rows rows by columns, most significant first.  Subtracts minima, drops constant bits
 * and packs all fixed-width columns into as few bits as possible (one code for NULL, complemented for DESC).  Arrays
 * are aligned to their elements, GS_U128 to at least 8 bytes.  May synchronise.  gs_order_run reads the columns again.
 * Free the plan with gs_plan_free.
 */
gs_status gs_order_plan(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, gs_plan **plan);
size_t gs_order_temp_bytes(const gs_plan *plan);
/*
 * Writes rows row numbers to order (engine memory).  facts may be NULL.  On a GPU the call waits only if key and row
 * number do not fit one word, if the plan has deferred the inspection of a column, or if facts are wanted.  Only in
 * these cases can it return GS_NOMEM, if keys need more memory than a sample predicted.
 */
gs_status gs_order_run(gs_engine *engine, const gs_plan *plan, void *temp, size_t temp_bytes, uint32_t *order,
					   gs_order_facts *facts);
void gs_plan_free(gs_engine *engine, gs_plan *plan);

/* ---------------------------------------------------------------- scan family */

/*
 * Single-pass primitives over arrays in the engine's memory.  On a GPU a call enqueues its work in order with uploads
 * and downloads and returns; it neither allocates nor waits unless its comment says so.  Arrays are aligned to their
 * element (GS_U128: to 16 bytes).  temp is engine memory, aligned to 256 bytes, of at least gs_X_temp_bytes() bytes,
 * and must not be reused before the call is complete.  Results that depend on the data, such as how many items were
 * kept, are uint64_t in the engine's memory.  An output array has room for n elements unless stated otherwise.
 *
 * "In place" means that an output is also the input.  Other overlaps return GS_INVALID if they are detected.  Calls
 * that only move and compare items take every type but GS_BYTES.
 */

/*
 * out[i] = op over in[0..i], exclusive: over in[0..i-1], where out[0] is 0 for sums, the identity map for GS_COMPOSE,
 * and for minima (maxima) the greatest (least) value of the type: NaN (-infinity) for floats.  GS_I32, GS_U32, GS_I64,
 * GS_U64, GS_F32, GS_F64.  In place allowed.  The last bits of float sums vary between engines and runs.
 */
size_t gs_scan_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_scan(gs_engine *engine, gs_type type, gs_operation op, bool inclusive, const void *in, void *out,
				  uint64_t n, void *temp, size_t temp_bytes);

typedef enum gs_filter_kind
{
	GS_BY_BYTES,
	GS_BY_BITS, /* item i: bit i % 64 of word i / 64 */
	GS_BY_VALUE
} gs_filter_kind;

/* Items to keep: those whose byte is not 0, whose bit is set, or that compare as given with a constant. */
typedef struct gs_filter
{
	gs_filter_kind by;
	const void *mask; /* uint8_t or uint64_t, in the engine's memory */
	gs_comparison comparison;
	const void *value; /* one element in host memory, read during the call */
	const void *upper; /* GS_BETWEEN: the upper end */
} gs_filter;

/* Writes the kept items, in order, and their number.  In place allowed. */
size_t gs_select_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_select(gs_engine *engine, gs_type type, const void *in, uint64_t n, const gs_filter *filter, void *out,
					uint64_t *count, void *temp, size_t temp_bytes);

/* Writes the kept items to out and the others to rest, each in order. */
gs_status gs_partition(gs_engine *engine, gs_type type, const void *in, uint64_t n, const gs_filter *filter, void *out,
					   void *rest, uint64_t *count, void *temp, size_t temp_bytes);

/* The first item of every run of equal neighbours.  In place allowed.  temp as for gs_select. */
gs_status gs_unique(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, uint64_t *count, void *temp,
					size_t temp_bytes);

/*
 * Expands runs: repeats values[r] lengths[r] times.  Writes at most room items; *count is the untruncated number.  No
 * query reaches it on a GPU.
 */
size_t gs_decode_temp_bytes(const gs_engine *engine, gs_type counts, uint64_t runs, uint64_t room);
gs_status gs_decode(gs_engine *engine, gs_type type, const void *values, gs_type counts, const void *lengths,
					uint64_t runs, void *out, uint64_t room, uint64_t *count, void *temp, size_t temp_bytes);

/*
 * For every run of equal keys (of 4, 8 or 16 bytes) writes the key and op over the run's values.  Keys and results may
 * be in place if element sizes match.
 *
 *   values            op            result
 *   GS_I32, GS_U32    GS_SUM        the same type (wraps, or counted in overflows), or GS_I64 / GS_U64
 *   GS_I64, GS_U64    GS_SUM        the same type (wraps, or counted in overflows), or GS_U128: two's complement
 *   GS_F32, GS_F64    GS_SUM        the same type
 *   all of these      GS_MIN, MAX   the same type
 *   NULL              GS_COUNT      GS_U32, GS_U64 (in place: keys only)
 *
 * overflows (may be NULL: sums wrap) becomes the number of results that do not fit their type; those wrap. fixed_tree
 * (GS_SUM of floats, not in place): results are bitwise reproducible across runs and engines.  Positions are grouped by
 * 16, 256 and 4096, counted from the start of the array.  The part of a run in each group of 16 is summed from left to
 * right, then these sums within each group of 256, then within each of 4096, then over all of them.
 */
typedef struct gs_reduction
{
	gs_type values;
	gs_operation op;
	gs_type result;
	bool fixed_tree;
} gs_reduction;

size_t gs_reduce_by_key_temp_bytes(const gs_engine *engine, gs_type key, const gs_reduction *reduction, uint64_t n);
gs_status gs_reduce_by_key(gs_engine *engine, gs_type key, const void *keys, const void *values, uint64_t n,
						   const gs_reduction *reduction, void *out_keys, void *out, uint64_t *count,
						   uint64_t *overflows, void *temp, size_t temp_bytes);

/* out[i] = in[index[i]]; index is GS_U32 or GS_U64 and is not checked.  out[i] = start + i * step, for integers. */
gs_status gs_gather(gs_engine *engine, gs_type type, const void *in, gs_type index_type, const void *index, uint64_t n,
					void *out);
gs_status gs_sequence(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step);

/*
 * out[0..3] = minimum, maximum, OR and AND of all bits, in one pass.  Types of 1 to 8 bytes.  n = 0 gives the greatest
 * and the least value, no bits and all bits.
 */
size_t gs_extent_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_extent(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp,
					size_t temp_bytes);

/* ---------------------------------------------------------------- sort family */

/*
 * The rules of the scan family hold, except that nothing is sorted in place: no output may overlap an input or another
 * output.  At most 2^32 items.  All sorts are stable and do not change their input.  Keys compare as gs_type says
 * (floats: -0 = +0, every NaN = every other and last); equal keys keep their bits and their order, with desc as well.
 * Values go with their keys: value_width is 4 or 8 bytes, or 0 for keys alone (values and out_values NULL).  All
 * engines give identical bits.  A call returns GS_INVALID if the engine does not support it.
 */
#define GS_MAX_SORT ((uint64_t) 1 << 32)

	/* What a call of the sort family sorts.  A member that is not named is 0; a call ignores those of other calls. */
	typedef struct gs_sort_request
	{
		gs_type key;		/* gs_sort, gs_sort_segments: the keys' type */
		size_t key_bytes;	/* gs_merge_runs, gs_merge_sort: the keys' width */
		bool desc;			/* gs_sort, gs_sort_segments */
		uint32_t begin_bit; /* gs_sort: the first bit to sort by, */
		uint32_t end_bit;	/* and the bit after the last one; 0: all bits from begin_bit on */
		size_t value_width;
		uint64_t n;
		const void *keys, *values;
		void *out_keys, *out_values;
		const uint64_t *starts; /* gs_merge_runs, gs_sort_segments: parts + 1 elements */
		uint64_t parts;			/* runs, or segments */
	} gs_sort_request;

/*
 * Radix sort.  key is GS_U32, GS_I32, GS_F32, GS_U64, GS_I64 or GS_F64.  Sorts by bits begin_bit to end_bit - 1 of the
 * key as an unsigned number in its type's order: integers as their value (signed ones with the top bit inverted),
 * floats as their bits (all inverted if negative, otherwise the top one).  The CPU engine takes 2^32 - 2 items.
 */
size_t gs_sort_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n);
gs_status gs_sort(gs_engine *engine, const gs_sort_request *request, void *temp, size_t temp_bytes);

/*
 * Merges sorted runs by comparison, equal keys from earlier runs first.  Run r is items starts[r] to starts[r + 1] - 1;
 * starts begins with 0, ends with n, and lies in host memory, read during the call.  A key is an unsigned number of
 * key_bytes bytes: 4, or 8, 16, 24 or 32: words of 64 bits, the first most significant.  values NULL with value_width
 * 4: row numbers 0 to n - 1.  No query reaches it on a GPU.
 */
size_t gs_merge_runs_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n,
								uint64_t runs);
gs_status gs_merge_runs(gs_engine *engine, const gs_sort_request *request, void *temp, size_t temp_bytes);

/*
 * The first k rows (all, if there are fewer) of the order that gs_order_plan and gs_order_run define, as row numbers.
 * May wait.
 */
size_t gs_top_k_temp_bytes(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k);
gs_status gs_top_k(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k,
				   uint32_t *order, void *temp, size_t temp_bytes);

/* ---------------------------------------------------------------- rows of columns */

/*
 * Operations on columns of every type, with strings and NULLs.  The rules of the scan family hold.  order has n row
 * numbers and may be NULL (row i at position i).  Bitmaps have (n + 63) / 64 words, least significant bit first; bits
 * from n on are 0.
 */

/* Bit i: a run begins at position i, that is, i = 0 or its row differs in some column from the row before it. */
gs_status gs_heads(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, const uint32_t *order, uint64_t n,
				   uint64_t *bits);

/*
 * Bit i: row i is not NULL and compares as given with a constant.  The constant is an element in host memory, read
 * during the call, or for GS_BYTES value_bytes bytes in the engine's memory.  GS_BETWEEN is not supported.
 */
gs_status gs_compare(gs_engine *engine, const gs_column *column, uint64_t n, gs_comparison comparison,
					 const void *value, size_t value_bytes, uint64_t *bits);

/* Positions of the set bits and their number; n is at most GS_MAX_ROWS.  temp as for gs_select of n GS_U32. */
gs_status gs_positions(gs_engine *engine, const uint64_t *bits, uint64_t n, uint32_t *out, uint64_t *count, void *temp,
					   size_t temp_bytes);

/*
 * out[i] = the value at position i, or *null_value (of type result, in host memory) if it is NULL.  result is the
 * column's type, or GS_I64 for narrower signed and GS_U64 for narrower unsigned types.  A column without values reads
 * as zeros.
 */
gs_status gs_values(gs_engine *engine, const gs_column *column, const uint32_t *order, uint64_t n, gs_type result,
					const void *null_value, void *out);

/*
 * Prefix sums of floats (GS_F32, GS_F64), bitwise reproducible across runs and engines: positions are grouped by 16, by
 * 256 and by 4096; out[i] = ((sum of the groups of 4096 before + of the groups of 256 since) + of the groups of 16
 * since) + of the values since, each from left to right.  Zeros are +0, NaNs the canonical quiet NaN.  Exclusive:
 * out[0] = 0.  In place allowed.
 */
size_t gs_scan_fixed_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_scan_fixed(gs_engine *engine, gs_type type, bool inclusive, const void *in, void *out, uint64_t n,
						void *temp, size_t temp_bytes);

/* Checks a gs_scan of GS_I64 or GS_U64 sums, not in place: *count becomes 1 if a result overflowed, otherwise 0. */
gs_status gs_scan_overflows(gs_engine *engine, gs_type type, bool inclusive, const void *in, const void *sums,
							uint64_t n, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
