/*
 * gs.h: sort and compaction primitives over columns, on the CPU or on an NVIDIA GPU.
 *
 * Knows nothing of PostgreSQL.  Every call returns a gs_status and none throws.  Work comes in two forms:
 *
 *   jobs         whole questions ("in which order do these rows go?"), fed chunk by chunk from host memory;
 *                what ORDER BY, the SQL functions and the GPU service speak
 *   primitives   one operation each on columns that already lie in the engine's memory
 *
 * Rows are counted in 64 bits; row numbers are 32 bits wide, so one job takes at most GS_MAX_ROWS rows.
 */
#ifndef GS_H
#define GS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX < UINT64_MAX
#error "gpusort needs a 64-bit system"
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GS_MAX_ROWS ((uint64_t) UINT32_MAX - 1)
#define GS_ALIGN 64 /* alignment of every array in a chunk */

/* The outcome of a call, and the reason under which a fallback is counted. */
typedef enum gs_status
{
	GS_OK,
	GS_INVALID,		/* an argument or a chunk breaks this header's rules */
	GS_NOMEM,		/* no host or device memory */
	GS_TOO_BIG,		/* more rows or bytes than one job can take */
	GS_DEVICE,		/* the device or its driver failed */
	GS_CANCELLED,	/* poll() asked to stop */
	GS_TIMEOUT,		/* no answer in time */
	GS_PROTOCOL,	/* the other side of a connection broke the rules */
	GS_OVERFLOW,	/* a sum left its type's range */
	GS_WRONG_ORDER	/* an answer failed its check */
} gs_status;

/* The status in words, for messages. */
const char *gs_status_text(gs_status status);

/*
 * What the caller provides to an engine or job.  alloc returns memory aligned to GS_ALIGN, or NULL; resize keeps the
 * contents up to the smaller size and may move the block.  poll is called at least every 50 ms of work; a non-zero
 * answer ends the call with GS_CANCELLED.  Each may leave by longjmp: an engine keeps no memory but what it got
 * here, and a job left like that accepts only gs_job_end, or its caller frees all memory at once.
 */
typedef struct gs_host
{
	void *(*alloc)(void *arg, size_t bytes);
	void *(*resize)(void *arg, void *block, size_t old_bytes, size_t bytes);
	void (*release)(void *arg, void *block, size_t bytes);
	int (*poll)(void *arg); /* may be NULL */
	void *arg;
} gs_host;

/* ---------------------------------------------------------------- types and columns */

/*
 * Element types.  Unsigned and signed integers compare as numbers.  Floats compare as PostgreSQL does: -0 = +0, every
 * NaN equals every other and lies above +infinity.  GS_U128 is 16 bytes, least significant first.  GS_BYTES are byte
 * strings that compare like memcmp, a prefix before what it begins.
 */
typedef enum gs_type
{
	GS_U8,
	GS_U16,
	GS_U32,
	GS_U64,
	GS_U128,
	GS_I16,
	GS_I32,
	GS_I64,
	GS_F32,
	GS_F64,
	GS_BYTES
} gs_type;

/* Bytes of one element; 0 for GS_BYTES. */
size_t gs_type_width(gs_type type);

/* One sort key: its type and where it goes. */
typedef struct gs_column_spec
{
	gs_type type;
	bool desc;		  /* descending; does not move NULLs */
	bool nulls_first; /* NULLs before all values, else after; NULL = NULL */
} gs_column_spec;

/*
 * A column in the engine's memory.  For GS_BYTES, values holds rows + 1 uint32_t offsets into heap.  Bit r of nulls
 * (least significant first in 64-bit words) is set where row r is NULL; the value there is ignored.
 */
typedef struct gs_column
{
	gs_column_spec spec;
	const void *values;
	const uint64_t *nulls; /* may be NULL: no row is NULL */
	const uint8_t *heap;   /* GS_BYTES only */
} gs_column;

/* ---------------------------------------------------------------- chunks */

/*
 * A chunk is a position-independent piece of a job's input: this header, then for every column its arrays at offsets
 * (from the header's start) that are multiples of GS_ALIGN.  The producer closes it when any column is full.
 */
typedef struct gs_chunk_column
{
	uint64_t values;	 /* elements; for GS_BYTES rows + 1 uint32_t offsets into heap, the first one 0 */
	uint64_t nulls;		 /* null bits, room for all rows */
	uint64_t heap;		 /* GS_BYTES: the bytes */
	uint64_t heap_bytes; /* GS_BYTES: room there */
	uint64_t has_nulls;	 /* 0: the null bits are not filled in, no row is NULL */
} gs_chunk_column;

typedef struct gs_chunk
{
	uint32_t magic; /* GS_CHUNK_MAGIC */
	uint32_t ncolumns;
	uint32_t rows;	   /* rows filled */
	uint32_t capacity; /* rows there is room for */
	uint64_t bytes;	   /* size of everything, header included */
	gs_chunk_column columns[];
} gs_chunk;

#define GS_CHUNK_MAGIC 0x6b637367u /* "gsck" */

/*
 * Lays an empty chunk out in a buffer: room for as many rows as fit, at most max_rows (a multiple of 64), with
 * bytes_per_string bytes for each row of a GS_BYTES column.  GS_INVALID when not even 64 rows fit.
 */
gs_status gs_chunk_init(gs_chunk *chunk, size_t buffer_bytes, const gs_column_spec *columns, uint32_t ncolumns,
						uint32_t max_rows, uint32_t bytes_per_string);

/*
 * Only the header of such a chunk, for a producer that fills a buffer which others can write to: it keeps the header
 * elsewhere and copies it in when the chunk is closed.  The first offset of each GS_BYTES column is its to write.
 */
gs_status gs_chunk_layout(gs_chunk *header, size_t buffer_bytes, const gs_column_spec *columns, uint32_t ncolumns,
						  uint32_t max_rows, uint32_t bytes_per_string);

/* Bytes of the header with its column table. */
uint64_t gs_chunk_header_bytes(uint64_t ncolumns);

/* Bytes that gs_chunk_init needs for a given number of rows. */
size_t gs_chunk_bytes(const gs_column_spec *columns, uint32_t ncolumns, uint32_t rows, uint32_t bytes_per_string);

/* GS_OK if the chunk, of which available bytes can be read, keeps every rule above; never reads beyond them. */
gs_status gs_chunk_check(const gs_chunk *chunk, size_t available, const gs_column_spec *columns, uint32_t ncolumns);

/* ---------------------------------------------------------------- engines */

/* A place where work runs: an operations table with its state.  Used by one thread at a time. */
typedef struct gs_engine gs_engine;

/* Opens the CPU engine.  host may be NULL: malloc, no poll. */
gs_status gs_cpu_open(int threads, const gs_host *host, gs_engine **engine);

/* Opens a CUDA device (only in programs linked with kernels/cuda). */
gs_status gs_cuda_open(int device, const gs_host *host, gs_engine **engine);

/* Why the calling thread's last gs_cuda_open failed, in words; "" if it did not. */
const char *gs_cuda_open_failure(void);

void gs_engine_close(gs_engine *engine);

/* "CPU", or the device's name; lives as long as the engine. */
const char *gs_engine_name(const gs_engine *engine);

/* Memory in which the engine's primitives read and write (device memory on CUDA), aligned to 256 bytes. */
gs_status gs_alloc(gs_engine *engine, size_t bytes, void **block);
void gs_free(gs_engine *engine, void *block);

/* Copies to and from that memory and fills it; in order with the primitives, complete for the host after gs_sync. */
gs_status gs_upload(gs_engine *engine, void *to, const void *from, size_t bytes);
gs_status gs_download(gs_engine *engine, void *to, const void *from, size_t bytes);
gs_status gs_fill(gs_engine *engine, void *to, int byte, size_t bytes);
gs_status gs_sync(gs_engine *engine);

/* ---------------------------------------------------------------- row order */

/* What a look at the data decided: made by gs_order_plan, read by gs_order_run. */
typedef struct gs_order_facts
{
	uint32_t key_bits;	/* bits of one packed key over all columns, strings not counted */
	uint32_t words;		/* 64-bit words in which the first round sorts a row: 1 when key and row number share it */
	uint32_t passes;	/* over all rows: by digits, and a last step in shared memory */
	uint32_t refined;	/* rounds over tied rows */
	enum
	{
		GS_UNORDERED,
		GS_ASCENDING,	/* came in order: nothing was sorted */
		GS_DESCENDING	/* came in strictly reversed order */
	} input;
} gs_order_facts;

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

typedef enum gs_operation
{
	GS_SUM,	   /* integers wrap */
	GS_MIN,	   /* floats: NaN is the greatest, and comes out as the one quiet NaN; -0 counts as below +0 */
	GS_MAX,
	GS_COUNT,  /* gs_reduce_by_key only */
	GS_COMPOSE /* gs_scan of GS_U64 only: maps x -> a x + b modulo 2^32, a in the low half, b in the high one */
} gs_operation;

/*
 * out[i] = op over in[0..i], exclusive: over in[0..i-1], where out[0] is 0 for sums, the identity map for GS_COMPOSE,
 * and for minima (maxima) the greatest (least) value of the type: NaN (-infinity) for floats.  GS_I32, GS_U32, GS_I64,
 * GS_U64, GS_F32, GS_F64.  In place allowed.  Float sums differ from engine to engine and run to run in the last bits.
 */
size_t gs_scan_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_scan(gs_engine *engine, gs_type type, gs_operation op, bool inclusive, const void *in, void *out, uint64_t n,
				  void *temp, size_t temp_bytes);

typedef enum gs_comparison
{
	GS_EQ,
	GS_NE,
	GS_LT,
	GS_LE,
	GS_GT,
	GS_GE,
	GS_BETWEEN /* both ends included */
} gs_comparison;

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

/* Items kept, in order, and their number.  In place allowed. */
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
 * Items in groups by label, 0 to k - 1 (k at most 256), in order within each group.  Group g begins at starts[g] and
 * ends at starts[g + 1]; starts has k + 1 elements.  Items with a label of k or more are dropped.
 */
size_t gs_split_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n, uint32_t k);
gs_status gs_split(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k, void *out,
				   uint64_t *starts, void *temp, size_t temp_bytes);

/*
 * Runs of equal neighbours: each one's first item, its length and its first position, any of which may be NULL.  counts
 * (GS_U32 or GS_U64) is the type of lengths and starts; GS_TOO_BIG if n does not fit.  values in place allowed.
 */
size_t gs_runs_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_runs(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *values, gs_type counts, void *lengths,
				  void *starts, uint64_t *count, void *temp, size_t temp_bytes);

/* The same for runs of at least two items.  Not in place. */
gs_status gs_long_runs(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *values, gs_type counts,
					   void *lengths, void *starts, uint64_t *count, void *temp, size_t temp_bytes);

/*
 * Expands runs: values[r] lengths[r] times.  Writes at most room items; *count is the whole number.
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
						   const gs_reduction *reduction, void *out_keys, void *out, uint64_t *count, uint64_t *overflows,
						   void *temp, size_t temp_bytes);

/* out[i] = in[index[i]]; index is GS_U32 or GS_U64, and not checked.  out[i] = start + i * step, integers. */
gs_status gs_gather(gs_engine *engine, gs_type type, const void *in, gs_type index_type, const void *index, uint64_t n,
					void *out);
gs_status gs_sequence(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step);

/*
 * out[0..3] = minimum, maximum, OR and AND of all bits, in one read.  All of 1 to 8 bytes.  n = 0: the greatest and the
 * least value, no bits and all bits.
 */
size_t gs_extent_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n);
gs_status gs_extent(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp, size_t temp_bytes);

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
 * floats the bits, all inverted below zero, else the top one.  The CPU engine takes 2^32 - 2 items.  On a GPU an
 * engine's first large call waits for a test of the device.
 */
size_t gs_sort_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n);
gs_status gs_sort(gs_engine *engine, gs_type key, bool desc, uint32_t begin_bit, uint32_t end_bit, const void *keys,
				  void *out_keys, size_t value_width, const void *values, void *out_values, uint64_t n, void *temp,
				  size_t temp_bytes);

/*
 * Merge sort, by comparison.  A key is an unsigned number of key_bytes bytes: 4, or 8, 16, 24 or 32: words of 64 bits,
 * the first most significant.  values NULL with value_width 4: row numbers 0 to n - 1.  Input that is in order, or of
 * which each key is less than the one before, costs little more than a copy.
 */
size_t gs_merge_sort_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n);
gs_status gs_merge_sort(gs_engine *engine, size_t key_bytes, const void *keys, void *out_keys, size_t value_width,
						const void *values, void *out_values, uint64_t n, void *temp, size_t temp_bytes);

/*
 * Merges sorted runs, equal keys from earlier runs first.  Run r is items starts[r] to starts[r + 1] - 1; starts has
 * runs + 1 elements, the first 0, the last n, and lies in host memory, read during the call.  Keys and values as for
 * gs_merge_sort.
 */
size_t gs_merge_runs_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n, uint64_t runs);
gs_status gs_merge_runs(gs_engine *engine, size_t key_bytes, const void *keys, void *out_keys, size_t value_width,
						const void *values, void *out_values, const uint64_t *starts, uint64_t runs, uint64_t n,
						void *temp, size_t temp_bytes);

/*
 * Sorts segments, each for itself: segment s is items starts[s] to starts[s + 1] - 1.  starts has segments + 1 elements
 * in the engine's memory, never falling; items outside of all segments are not written.  Keys and values as for
 * gs_sort.  May wait.
 */
size_t gs_sort_segments_temp_bytes(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n, uint64_t segments);
gs_status gs_sort_segments(gs_engine *engine, gs_type key, bool desc, const void *keys, void *out_keys, size_t value_width,
						   const void *values, void *out_values, uint64_t n, const uint64_t *starts, uint64_t segments,
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
gs_status gs_compare(gs_engine *engine, const gs_column *column, uint64_t n, gs_comparison comparison, const void *value,
					 size_t value_bytes, uint64_t *bits);

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
gs_status gs_scan_fixed(gs_engine *engine, gs_type type, bool inclusive, const void *in, void *out, uint64_t n, void *temp,
						size_t temp_bytes);

/*
 * After a gs_scan of sums of GS_I64 or GS_U64, not in place: *count becomes 1 if a result left the type's range, else
 * 0.
 */
gs_status gs_scan_overflows(gs_engine *engine, gs_type type, bool inclusive, const void *in, const void *sums, uint64_t n,
							uint64_t *count);

/* ---------------------------------------------------------------- jobs */

/*
 * Rows are numbered in the order of their arrival.  Equality is that of the types above; NULL equals NULL.
 *
 *   op             result, an array of                what is asked
 *   GS_ORDER       uint32_t                           all rows in order; equal rows in arrival order
 *   GS_TOPK        uint32_t                           the first limit rows of that order
 *   GS_SELECT      uint32_t                           rows that filter keeps, in arrival order
 *   GS_PARTITION   uint32_t                           the same, then all others: gs_job_info.selected tells where these begin
 *   GS_RUNS        gs_run                             runs of equal rows
 *   GS_SCAN        int64_t, uint64_t, double, float   operation over each row's value and all before it
 *   GS_REDUCE      gs_group                           operation over the values of each run of equal keys
 *   GS_VALUES      elements of the column             its values themselves, in order, each once, or both
 *
 * SELECT, PARTITION and SCAN take one column, and so does VALUES: of integers or floats of 4 or 8 bytes, none NULL, whose
 * bits come out as they went in.  VALUES puts them in stable order if order_columns is 1, and of each run of equal
 * neighbours keeps the first one if key_columns is 1; of what that leaves the result is limit elements from offset on.  RUNS and REDUCE first put the rows into the stable order of the first
 * order_columns columns (0: arrival order) and compare neighbours in key_columns columns: RUNS in the last ones, REDUCE
 * in those that end before the last column, which is the value.  The two sets may overlap: the distinct values of one
 * column are the runs with ncolumns, order_columns and key_columns 1.
 */
typedef enum gs_op
{
	GS_ORDER,
	GS_TOPK,
	GS_SELECT,
	GS_PARTITION,
	GS_RUNS,
	GS_SCAN,
	GS_REDUCE,
	GS_VALUES
} gs_op;

#define GS_OPS (GS_VALUES + 1)

/*
 * A run of equal rows: the number of its first one, and how many they are.  Its position follows from the lengths
 * before it.
 */
typedef struct gs_run
{
	uint32_t row;
	uint32_t length;
} gs_run;

/*
 * The reduced values of a run.  Rows whose value is NULL are skipped; with valid = 0 there is no value.  In value:
 *   GS_SUM            of integers, 128 bits, two's complement, least significant first; of floats, in the type itself, by the fixed
 *                     tree of gs_reduce_by_key over positions in the order
 *   GS_MIN, GS_MAX    an integer widened to 64 bits, or the float itself; -0 counts as below +0
 *   GS_COUNT          valid
 */
typedef struct gs_group
{
	uint64_t value[2];
	uint32_t row;
	uint32_t length;
	uint32_t valid;
	uint32_t zero;
} gs_group;

/*
 * Which rows SELECT and PARTITION keep: those whose value compares so with a constant, or, by_flags, whose value (a
 * GS_U8) is not 0.  NULL is never kept.  GS_BETWEEN is not known here.
 */
typedef struct gs_job_filter
{
	bool by_flags;
	gs_comparison comparison;
	const void *value; /* an element of the column's type; the bytes of a GS_BYTES value */
	size_t value_bytes;
} gs_job_filter;

typedef struct gs_job_spec
{
	gs_op op;
	uint32_t ncolumns;
	const gs_column_spec *columns; /* copied by gs_job_begin, and so is filter.value */
	uint64_t rows_hint;			   /* expected rows, 0 = unknown */
	uint32_t order_columns;		   /* RUNS, REDUCE, VALUES */
	uint32_t key_columns;		   /* RUNS, REDUCE, VALUES */
	uint64_t limit;				   /* TOPK; VALUES: 0 = all */
	uint64_t offset;			   /* VALUES */
	gs_operation operation;		   /* SCAN: SUM, MIN, MAX; REDUCE: COUNT too, whose value column may have any type */
	bool exclusive;				   /* SCAN: over the values before each row */
	gs_job_filter filter;		   /* SELECT, PARTITION */
} gs_job_spec;

/*
 * SCAN widens integers to 64 bits; a sum that leaves them is GS_OVERFLOW.  Floats keep their type, and their sums are
 * those of gs_scan_fixed.  A NULL adds nothing; a row with nothing to add up gets what gs_scan says.
 */

/* Bytes of one element of a job's result. */
size_t gs_job_result_bytes(const gs_job_spec *spec);

/* Bytes of the engine's memory that a job takes for each row, at most, beside its columns and the ordering of rows. */
size_t gs_job_work_bytes(const gs_job_spec *spec);

typedef struct gs_job_info
{
	gs_order_facts order;
	uint64_t rows;
	uint64_t results;	   /* once finished: elements of the result */
	uint64_t selected;	   /* PARTITION */
	uint64_t host_bytes;   /* host memory held now */
	uint64_t upload_bytes; /* moved to the device */
	uint64_t upload_ns, device_ns, download_ns;
} gs_job_info;

typedef struct gs_job gs_job;

/*
 * begin → add(chunk)… → finish(rows) → next(piece)… → end.  add checks the chunk, of which chunk->bytes bytes must be
 * readable, and has copied what it needs when it returns, so a chunk can be filled again.  finish checks that rows rows
 * came. next writes up to room elements of the result and their number, 0 at the end.  After any status but GS_OK only
 * gs_job_end may follow.  gs_job_end is safe at every moment and on NULL.
 */
gs_status gs_job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job);
gs_status gs_job_add(gs_job *job, const gs_chunk *chunk);
/* The same for a chunk in memory that somebody else can write to: nothing beyond available bytes is read. */
gs_status gs_job_add_within(gs_job *job, const gs_chunk *chunk, size_t available);
/*
 * In place of all chunks: the whole input in arrays of the host, aligned to their elements, which stay as they are
 * until gs_job_finish has returned.  For engines that read the host's memory, and columns other than GS_BYTES; else
 * GS_INVALID, and chunks may follow.
 */
gs_status gs_job_lend(gs_job *job, const gs_column *columns, uint64_t rows);
gs_status gs_job_finish(gs_job *job, uint64_t rows);
gs_status gs_job_next(gs_job *job, void *out, uint64_t room, uint64_t *got);
void gs_job_end(gs_job *job);

/*
 * Host memory that the job will hold at most if gs_job_finish comes now: what it has taken, and what it still will.  Of
 * arrays that grow with the input only what was written to counts, not the room for more.
 */
uint64_t gs_job_host_bytes(const gs_job *job);
void gs_job_get_info(const gs_job *job, gs_job_info *info);

#ifdef __cplusplus
}
#endif

#endif
