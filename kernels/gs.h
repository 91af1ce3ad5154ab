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

/* ---------------------------------------------------------------- jobs */

/*
 * Rows are numbered in the order of their arrival.  Equality is that of the types above; NULL equals NULL.
 *
 *   op             result, an array of                what is asked
 *   GS_ORDER       uint32_t                           all rows in order; equal rows in arrival order
 *   GS_TOPK        uint32_t                           the first limit rows of that order
 *   GS_SELECT      uint32_t                           rows that filter keeps, in arrival order
 *   GS_PARTITION   uint32_t                           the same, then all others: gs_job_info.selected tells where these
 *                                                     begin
 *   GS_RUNS        gs_run                             runs of equal rows
 *   GS_SCAN        int64_t, uint64_t, double, float   operation over each row's value and all before it
 *   GS_REDUCE      gs_group                           operation over the values of each run of equal keys
 *   GS_VALUES      elements of the column             its values themselves, in order, each once, or both
 *
 * SELECT, PARTITION and SCAN take one column, and so does VALUES: of integers or floats of 4 or 8 bytes without null
 * bits, which come out bit by bit as they went in.  VALUES puts them in stable order if order_columns is 1, and of each
 * run of equal neighbours keeps the first one if key_columns is 1; of what that leaves the result is limit elements
 * from offset on.  RUNS and REDUCE first put the rows into the stable order of the first order_columns columns (0:
 * arrival order) and compare neighbours in key_columns columns: RUNS in the last ones, REDUCE in those that end before
 * the last column, which is the value.  The two sets may overlap: the distinct values of one column are the runs with
 * ncolumns, order_columns and key_columns 1.
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

/* What SCAN and REDUCE do with values, and the primitives of the same names. */
typedef enum gs_operation
{
	GS_SUM,	   /* integers wrap */
	GS_MIN,	   /* floats: NaN is the greatest, and comes out as the one quiet NaN; -0 counts as below +0 */
	GS_MAX,
	GS_COUNT,  /* reductions only */
	GS_COMPOSE /* gs_scan of GS_U64 only: maps x -> a x + b modulo 2^32, a in the low half, b in the high one */
} gs_operation;

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

/* What a look at the data decided: the plan of a row order and how it went. */
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
