/*
 * gs.h: sorts and compaction of columns, on the CPU or on an NVIDIA GPU: types, chunks, engines, jobs.
 *
 * Knows nothing of PostgreSQL.  Every call returns a gs_status and none throws.  Work comes in two forms:
 *
 *   jobs         whole questions ("in which order do these rows go?"), fed chunk by chunk from host memory;
 *                what ORDER BY, the SQL functions and the GPU service speak; here
 *   primitives   one operation each on arrays that already lie in the engine's memory: gs_arrays.h
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

/* The outcome of a call.  Fallbacks are counted by it. */
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

/* Returns a status as text, for messages. */
const char *gs_status_text(gs_status status);

/*
 * Callbacks of an engine or a job.  alloc returns memory aligned to GS_ALIGN, or NULL.  resize keeps the contents up to
 * the smaller size and may move the block.  poll is called at least every 50 ms of work; a non-zero result ends the
 * call with GS_CANCELLED.  Every callback may leave by longjmp: all memory of an engine comes from alloc, and after a
 * longjmp a job accepts only gs_job_end, or its caller frees all memory at once.
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
 * NaN equals every other and lies above +infinity.  GS_U128 has 16 bytes, least significant first.  GS_BYTES are byte
 * strings that compare as memcmp does, prefixes first.
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

/* One sort key: type and direction. */
typedef struct gs_column_spec
{
	gs_type type;
	bool desc;		  /* descending; independent of nulls_first */
	bool nulls_first; /* NULLs before all values, otherwise after; NULL = NULL */
} gs_column_spec;

/*
 * A column in the engine's memory.  For GS_BYTES, values holds rows + 1 uint32_t offsets into heap.  Bit r of nulls
 * (least significant first in 64-bit words) is set where row r is NULL; its value is ignored.
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
 * A chunk is a position-independent piece of a job's input: this header, then each column's arrays, at offsets from the
 * header that are multiples of GS_ALIGN.  The producer closes a chunk when any column is full.
 */
typedef struct gs_chunk_column
{
	uint64_t values;	 /* elements; for GS_BYTES rows + 1 uint32_t offsets into heap, the first one 0 */
	uint64_t nulls;		 /* null bits, with room for capacity rows */
	uint64_t heap;		 /* GS_BYTES: string data */
	uint64_t heap_bytes; /* GS_BYTES: room for string data */
	uint64_t has_nulls;	 /* 0: no row is NULL and the null bits are not filled in */
} gs_chunk_column;

typedef struct gs_chunk
{
	uint32_t magic; /* GS_CHUNK_MAGIC */
	uint32_t ncolumns;
	uint32_t rows;	   /* rows filled */
	uint32_t capacity; /* rows that fit */
	uint64_t bytes;	   /* total size, including the header */
	gs_chunk_column columns[];
} gs_chunk;

#define GS_CHUNK_MAGIC 0x6b637367u /* "gsck" */

/*
 * Lays out an empty chunk in a buffer, with room for at most max_rows rows (a multiple of 64) and bytes_per_string
 * bytes for each row of a GS_BYTES column.  Returns GS_INVALID if not even 64 rows fit.
 */
gs_status gs_chunk_init(gs_chunk *chunk, size_t buffer_bytes, const gs_column_spec *columns, uint32_t ncolumns,
						uint32_t max_rows, uint32_t bytes_per_string);

/*
 * Builds only the header.  For a producer whose buffer others can write to: it keeps the header in private memory and
 * copies it in when the chunk is closed.  The producer also writes the first offset of each GS_BYTES column.
 */
gs_status gs_chunk_layout(gs_chunk *header, size_t buffer_bytes, const gs_column_spec *columns, uint32_t ncolumns,
						  uint32_t max_rows, uint32_t bytes_per_string);

/* Bytes of the header including its column table. */
uint64_t gs_chunk_header_bytes(uint64_t ncolumns);

/* Bytes that gs_chunk_init needs for a number of rows. */
size_t gs_chunk_bytes(const gs_column_spec *columns, uint32_t ncolumns, uint32_t rows, uint32_t bytes_per_string);

/* Returns GS_OK if the chunk follows every rule above.  Reads at most available bytes. */
gs_status gs_chunk_check(const gs_chunk *chunk, size_t available, const gs_column_spec *columns, uint32_t ncolumns);

/* ---------------------------------------------------------------- engines */

/* An engine: a place where work runs.  Used by one thread at a time. */
typedef struct gs_engine gs_engine;

/* Opens the CPU engine.  host may be NULL: malloc, no poll. */
gs_status gs_cpu_open(int threads, const gs_host *host, gs_engine **engine);

/* Opens a CUDA device.  Only in programs linked with kernels/cuda. */
gs_status gs_cuda_open(int device, const gs_host *host, gs_engine **engine);

/* Why the calling thread's last gs_cuda_open failed, as text; "" if it succeeded. */
const char *gs_cuda_open_failure(void);

void gs_engine_close(gs_engine *engine);

/* "CPU" or the device's name.  Valid as long as the engine. */
const char *gs_engine_name(const gs_engine *engine);

/* ---------------------------------------------------------------- jobs */

/*
 * Rows are numbered in the order of their arrival.  Equality is that of the types above; NULL equals NULL.
 *
 *   op             result, an array of                what is asked
 *   GS_ORDER       uint32_t                           all rows in order; equal rows in arrival order
 *   GS_TOPK        uint32_t                           the first limit rows of that order
 *   GS_SELECT      uint32_t                           rows that filter keeps, in arrival order
 *   GS_PARTITION   uint32_t                           those, then all others, from gs_job_info.selected on
 *   GS_RUNS        gs_run                             runs of equal rows
 *   GS_SCAN        int64_t, uint64_t, double, float   operation over each row's value and all before it
 *   GS_REDUCE      gs_group                           operation over the values of each run of equal keys
 *   GS_VALUES      elements of the column             its values themselves, in order, each once, or both
 *
 * SELECT, PARTITION, SCAN and VALUES take one column.  That of VALUES has integers or floats of 4 or 8 bytes and no
 * null bits; its values keep their bits.  VALUES sorts them stably if order_columns is 1, then keeps the first of each
 * run of equal neighbours if key_columns is 1, then returns limit elements from offset on.  RUNS and REDUCE sort the
 * rows stably by the first order_columns columns (0: arrival order), then compare neighbours in key_columns columns:
 * RUNS in the last ones, REDUCE in those before the last column, which is the value.  The two sets may overlap: the
 * distinct values of one column are the runs with ncolumns, order_columns and key_columns 1.
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

/* Operations of SCAN, REDUCE and the scan and reduce primitives. */
typedef enum gs_operation
{
	GS_SUM,	   /* integers wrap */
	GS_MIN,	   /* floats: NaN is greatest and returned as the canonical quiet NaN; -0 < +0 */
	GS_MAX,
	GS_COUNT,  /* reductions only */
	GS_COMPOSE /* gs_scan of GS_U64 only: maps x -> a x + b modulo 2^32, a in the low half, b in the high half */
} gs_operation;

typedef enum gs_comparison
{
	GS_EQ,
	GS_NE,
	GS_LT,
	GS_LE,
	GS_GT,
	GS_GE,
	GS_BETWEEN /* inclusive */
} gs_comparison;

/* A run of equal rows: its first row's number and its length.  Its position is the sum of the lengths before it. */
typedef struct gs_run
{
	uint32_t row;
	uint32_t length;
} gs_run;

/*
 * The reduced values of a run.  Rows whose value is NULL are skipped; with valid = 0 there is no value.  Contents of
 * value:
 *   GS_SUM            of integers, 128 bits, two's complement, least significant first; of floats, in the type itself,
 *                     by the fixed tree of gs_reduce_by_key (gs_arrays.h) over positions in the order
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
 * Rows that SELECT and PARTITION keep: those whose value compares as given with a constant or, with by_flags, whose
 * value (a GS_U8) is not 0.  A NULL is never kept.  GS_BETWEEN is not supported.
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
	const gs_column_spec *columns; /* copied by gs_job_begin, as filter.value is */
	uint64_t rows_hint;			   /* expected rows; 0: unknown */
	uint32_t order_columns;		   /* RUNS, REDUCE, VALUES */
	uint32_t key_columns;		   /* RUNS, REDUCE, VALUES */
	uint64_t limit;				   /* TOPK; VALUES, where 0 means all */
	uint64_t offset;			   /* VALUES */
	gs_operation operation;		   /* SCAN: SUM, MIN, MAX; REDUCE: also COUNT, of a value column of any type */
	bool exclusive;				   /* SCAN: the row's own value is left out */
	gs_job_filter filter;		   /* SELECT, PARTITION */
} gs_job_spec;

/*
 * SCAN widens integers to 64 bits and returns GS_OVERFLOW if a sum does not fit.  Floats keep their type; their sums
 * are those of gs_scan_fixed.  A NULL adds nothing.  A row without preceding values gets the initial value of gs_scan.
 */

/* Bytes of one result element. */
size_t gs_job_result_bytes(const gs_job_spec *spec);

/* The most engine memory a job needs per row, without its columns and the row order. */
size_t gs_job_work_bytes(const gs_job_spec *spec);

/* Statistics of a row order: its plan and its execution. */
typedef struct gs_order_facts
{
	uint32_t key_bits;	/* bits of a packed key over all columns except strings */
	uint32_t words;		/* 64-bit words per row in the first round; 1 if key and row number share a word */
	uint32_t passes;	/* passes over all rows: digits, and a last step in shared memory */
	uint32_t refined;	/* rounds over tied rows */
	enum
	{
		GS_UNORDERED,
		GS_ASCENDING,	/* input was in order; nothing was sorted */
		GS_DESCENDING	/* input was in strictly descending order */
	} input;
} gs_order_facts;

typedef struct gs_job_info
{
	gs_order_facts order;
	uint64_t rows;
	uint64_t results;	   /* result elements, once finished */
	uint64_t selected;	   /* PARTITION */
	uint64_t host_bytes;   /* host memory in use */
	uint64_t upload_bytes; /* bytes copied to the device */
	uint64_t upload_ns, device_ns, download_ns;
} gs_job_info;

typedef struct gs_job gs_job;

/*
 * begin → add(chunk)… → finish(rows) → next(piece)… → end.  add validates the chunk, whose chunk->bytes bytes must be
 * readable, and copies what it needs, so the caller may refill the chunk.  finish checks that rows rows arrived.  next
 * writes up to room result elements and their number, which is 0 at the end.  After any status but GS_OK only
 * gs_job_end may follow.  gs_job_end is always safe, even on NULL.  finish on a GPU proves the order of rows, if there
 * is one (kernels/cuda/order/proof.cu), and returns GS_WRONG_ORDER for another one.
 */
gs_status gs_job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job);
gs_status gs_job_add(gs_job *job, const gs_chunk *chunk);
/* Adds a chunk in memory that another process can write to.  Reads at most available bytes. */
gs_status gs_job_add_within(gs_job *job, const gs_chunk *chunk, size_t available);
/*
 * Replaces all chunks: the whole input as host arrays, aligned to their elements and unchanged until gs_job_finish has
 * returned.  Returns GS_INVALID for engines that do not read host memory and for GS_BYTES columns; chunks may then
 * follow.
 */
gs_status gs_job_lend(gs_job *job, const gs_column *columns, uint64_t rows);
gs_status gs_job_finish(gs_job *job, uint64_t rows);
gs_status gs_job_next(gs_job *job, void *out, uint64_t room, uint64_t *got);
void gs_job_end(gs_job *job);

/* The most host memory of the job if gs_job_finish comes next.  Of arrays that grow, the written part counts. */
uint64_t gs_job_host_bytes(const gs_job *job);
void gs_job_get_info(const gs_job *job, gs_job_info *info);

#ifdef __cplusplus
}
#endif

#endif
