/*
 * gs_arrays.h: primitives, one operation each on arrays that already lie in an engine's memory.
 *
 * Jobs (gs.h) are made of these; a caller that speaks in jobs needs nothing of it.  What no query needs, too, is in
 * gs_library.h.  Of what is here queries reach gs_decode and gs_merge_runs by the CPU engine alone, and gs_select by
 * none: doc/kernels.md, "Which query reaches which kernel".
 */
#ifndef GS_ARRAYS_H
#define GS_ARRAYS_H

#include "gs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------- memory */

/* Memory in which the engine's primitives read and write (device memory on CUDA), aligned to 256 bytes. */
gs_status gs_alloc(gs_engine *engine, size_t bytes, void **block);
void gs_free(gs_engine *engine, void *block);

/* Copies to and from that memory and fills it; in order with the primitives, complete for the host after gs_sync. */
gs_status gs_upload(gs_engine *engine, void *to, const void *from, size_t bytes);
gs_status gs_download(gs_engine *engine, void *to, const void *from, size_t bytes);
gs_status gs_fill(gs_engine *engine, void *to, int byte, size_t bytes);
gs_status gs_sync(gs_engine *engine);

/* ---------------------------------------------------------------- row order */

typedef struct gs_plan gs_plan;

/*
 * Plans the stable row order of rows rows by columns, the first most significant.  Subtracts minima, drops constant
 * bits, packs all fixed-width columns into as few bits as they need (one code for NULL, complemented for DESC). Arrays
 * are aligned to their elements, GS_U128 to 8 bytes at least.  May synchronise.  gs_order_run reads the columns again.
 * Free the plan with gs_plan_free.
 */
gs_status gs_order_plan(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, gs_plan **plan);
size_t gs_order_temp_bytes(const gs_plan *plan);
/*
 * Writes rows row numbers to order (engine memory).  facts may be NULL.  On a GPU it waits only if the key does not fit
 * a word together with the row number, if the plan has left the look at a column to it (until it has looked), or if
 * facts are wanted. GS_NOMEM is possible in that case, where keys are found to need more memory than a sample of them
 * made believe.
 */
gs_status gs_order_run(gs_engine *engine, const gs_plan *plan, void *temp, size_t temp_bytes, uint32_t *order,
					   gs_order_facts *facts);
void gs_plan_free(gs_engine *engine, gs_plan *plan);

/* ---------------------------------------------------------------- scan family */

/*
 * Single-pass primitives over arrays in the engine's memory.  They are enqueued in order with uploads and downloads and
 * return at once on a GPU; nothing is allocated and nothing waits (exceptions are named).  Arrays are aligned to their
 * element, not more (GS_U128: to 16 bytes).  temp is memory of the engine, aligned to 256 bytes, of at least
 * gs_X_temp_bytes() bytes, and must not change hands before the call is complete.  Results that depend on the data,
 * such as how many items were kept, are uint64_t in the engine's memory.  An output array has room for n elements
 * unless said otherwise.
 *
 * "In place" means that an output is the very array that was read.  Other overlaps are GS_INVALID where they are seen.
 * Types: every type but GS_BYTES where the call only moves and compares items.
 */

/*
 * out[i] = op over in[0..i], exclusive: over in[0..i-1], where out[0] is 0 for sums, the identity map for GS_COMPOSE,
 * and for minima (maxima) the greatest (least) value of the type: NaN (-infinity) for floats.  GS_I32, GS_U32, GS_I64,
 * GS_U64, GS_F32, GS_F64.  In place allowed.  Float sums differ from engine to engine and run to run in the last bits.
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

/* Which items to keep: those whose byte is not 0, or whose bit is set, or that compare so with a constant. */
typedef struct gs_filter
{
	gs_filter_kind by;
	const void *mask; /* uint8_t or uint64_t, in the engine's memory */
	gs_comparison comparison;
	const void *value; /* one element in host memory, read during the call */
	const void *upper; /* GS_BETWEEN: the upper end */
} gs_filter;

/*
 * Items kept, in order, and their number.  In place allowed.  No query asks for it: it is what gs_partition and
 * gs_unique are made of, for callers with arrays.
 */
size_t gs_select_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_select(gs_engine *engine, gs_type type, const void *in, uint64_t n, const gs_filter *filter, void *out,
					uint64_t *count, void *temp, size_t temp_bytes);

/* The same, and the others, in order, to rest. */
gs_status gs_partition(gs_engine *engine, gs_type type, const void *in, uint64_t n, const gs_filter *filter, void *out,
					   void *rest, uint64_t *count, void *temp, size_t temp_bytes);

/* The first item of every run of equal neighbours.  In place allowed.  temp as for gs_select. */
gs_status gs_unique(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, uint64_t *count, void *temp,
					size_t temp_bytes);

/*
 * Expands runs: values[r] lengths[r] times.  Writes at most room items; *count is the whole number.  No query reaches
 * it on a GPU.
 */
size_t gs_decode_temp_bytes(const gs_engine *engine, gs_type counts, uint64_t runs, uint64_t room);
gs_status gs_decode(gs_engine *engine, gs_type type, const void *values, gs_type counts, const void *lengths,
					uint64_t runs, void *out, uint64_t room, uint64_t *count, void *temp, size_t temp_bytes);

/*
 * For every run of equal keys (of 4, 8 or 16 bytes) the key and op over its values; keys and results in place allowed
 * where their elements have the size of what was read.
 *
 *   values            op            result
 *   GS_I32, GS_U32    GS_SUM        the same type (wraps, or counted in overflows), or GS_I64 / GS_U64
 *   GS_I64, GS_U64    GS_SUM        the same type (wraps, or counted in overflows), or GS_U128: two's complement
 *   GS_F32, GS_F64    GS_SUM        the same type
 *   all of these      GS_MIN, MAX   the same type
 *   NULL              GS_COUNT      GS_U32, GS_U64 (in place: keys only)
 *
 * overflows (may be NULL: sums wrap) becomes the number of results that do not fit their type; those wrap. fixed_tree
 * (GS_SUM of floats, not in place): results have the same bits on every run and every engine.  The order: positions are
 * grouped by 16, by 256 and by 4096, counted from the array's begin; a run's part in each group of 16 is summed from
 * left to right, then these sums within each group of 256, then within each of 4096, then over all of them.
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

/* out[i] = in[index[i]]; index is GS_U32 or GS_U64, and not checked.  out[i] = start + i * step, integers. */
gs_status gs_gather(gs_engine *engine, gs_type type, const void *in, gs_type index_type, const void *index, uint64_t n,
					void *out);
gs_status gs_sequence(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step);

/*
 * out[0..3] = minimum, maximum, OR and AND of all bits, in one read.  All of 1 to 8 bytes.  n = 0: the greatest and the
 * least value, no bits and all bits.
 */
size_t gs_extent_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_extent(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp,
					size_t temp_bytes);

/* ---------------------------------------------------------------- sort family */

/*
 * Arrays, temp and enqueueing as in the scan family, but nothing is sorted in place: no output may overlap an input or
 * another output.  At most 2^32 items.  All sorts are stable and leave their input as it is.  Keys compare as gs_type
 * says (floats: -0 = +0, every NaN = every other and last); equal keys keep their bits and their order, also when desc
 * asks for the greatest first.  Values go with their keys: value_width is 4 or 8 bytes, or 0 for keys alone (values and
 * out_values NULL). Every engine gives the same bits.  GS_INVALID where an engine does not have the call.
 */
#define GS_MAX_SORT ((uint64_t) 1 << 32)

/*
 * Radix sort.  key is GS_U32, GS_I32, GS_F32, GS_U64, GS_I64 or GS_F64.  Sorts by bits begin_bit to end_bit - 1 of the
 * key as an unsigned number in its type's order: of integers the value (signed ones with the top bit inverted), of
 * floats the bits, all inverted below zero, else the top one.  The CPU engine takes 2^32 - 2 items.
 */
size_t gs_sort_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n);
gs_status gs_sort(gs_engine *engine, gs_type key, bool desc, uint32_t begin_bit, uint32_t end_bit, const void *keys,
				  void *out_keys, size_t value_width, const void *values, void *out_values, uint64_t n, void *temp,
				  size_t temp_bytes);

/*
 * Merges sorted runs by comparison, equal keys from earlier runs first.  Run r is items starts[r] to starts[r + 1] - 1;
 * starts has runs + 1 elements, the first 0, the last n, and lies in host memory, read during the call.  A key is an
 * unsigned number of key_bytes bytes: 4, or 8, 16, 24 or 32: words of 64 bits, the first most significant.  values NULL
 * with value_width 4: row numbers 0 to n - 1.  No query reaches it on a GPU.
 */
size_t gs_merge_runs_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n,
								uint64_t runs);
gs_status gs_merge_runs(gs_engine *engine, size_t key_bytes, const void *keys, void *out_keys, size_t value_width,
						const void *values, void *out_values, const uint64_t *starts, uint64_t runs, uint64_t n,
						void *temp, size_t temp_bytes);

/*
 * The first k rows (all, if there are fewer) of the order that gs_order_plan and gs_order_run give: row numbers, in
 * order.  May wait.
 */
size_t gs_top_k_temp_bytes(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k);
gs_status gs_top_k(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k,
				   uint32_t *order, void *temp, size_t temp_bytes);

/* ---------------------------------------------------------------- rows of columns */

/*
 * Columns as they come, of every type, strings and NULLs included: looked at row by row.  What is said about the scan
 * family holds here too.  order (may be NULL: row i at position i) has n row numbers.  Bits lie in (n + 63) / 64 words,
 * the first one least significant, those from n on 0.
 */

/* Bit i: position i begins a run, that is, its row differs in some column from the one before it, or i = 0. */
gs_status gs_heads(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, const uint32_t *order, uint64_t n,
				   uint64_t *bits);

/*
 * Bit i: row i is not NULL, and compares so with a constant: an element in host memory, read during the call, or for
 * GS_BYTES value_bytes bytes in the engine's memory.  Not GS_BETWEEN.
 */
gs_status gs_compare(gs_engine *engine, const gs_column *column, uint64_t n, gs_comparison comparison,
					 const void *value, size_t value_bytes, uint64_t *bits);

/*
 * Positions of the bits that are set, and how many they are; n at most GS_MAX_ROWS.  temp as for gs_select of n GS_U32.
 */
gs_status gs_positions(gs_engine *engine, const uint64_t *bits, uint64_t n, uint32_t *out, uint64_t *count, void *temp,
					   size_t temp_bytes);

/*
 * out[i] = the value at position i, and where it is NULL, *null_value (of type result, in host memory).  result is the
 * column's type, or GS_I64 for the narrower signed and GS_U64 for the narrower unsigned ones.  A column without values
 * has zeros.
 */
gs_status gs_values(gs_engine *engine, const gs_column *column, const uint32_t *order, uint64_t n, gs_type result,
					const void *null_value, void *out);

/*
 * Sums of floats (GS_F32, GS_F64) with the same bits on every run and every engine: positions are grouped by 16, by 256
 * and by 4096; out[i] = ((sum of the groups of 4096 before + of the groups of 256 since) + of the groups of 16 since) +
 * of the values since, each from left to right.  A zero is +0, a NaN the one quiet NaN.  Exclusive: out[0] = 0.  In
 * place allowed.
 */
size_t gs_scan_fixed_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_scan_fixed(gs_engine *engine, gs_type type, bool inclusive, const void *in, void *out, uint64_t n,
						void *temp, size_t temp_bytes);

/*
 * After a gs_scan of sums of GS_I64 or GS_U64, not in place: *count becomes 1 if a result left the type's range, else
 * 0.
 */
gs_status gs_scan_overflows(gs_engine *engine, gs_type type, bool inclusive, const void *in, const void *sums,
							uint64_t n, uint64_t *count);

#ifdef __cplusplus
}
#endif

#endif
