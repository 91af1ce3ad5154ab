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
	uint32_t passes;	/* digit passes over all rows */
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
 * bits, packs all fixed-width columns into as few bits as they need (one code for NULL, complemented for DESC).
 * May synchronise.  Free the plan with gs_plan_free.
 */
gs_status gs_order_plan(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, gs_plan **plan);
size_t gs_order_temp_bytes(const gs_plan *plan);
/* Writes rows row numbers to order (engine memory).  facts may be NULL. */
gs_status gs_order_run(gs_engine *engine, const gs_plan *plan, void *temp, size_t temp_bytes, uint32_t *order,
					   gs_order_facts *facts);
void gs_plan_free(gs_engine *engine, gs_plan *plan);

/* ---------------------------------------------------------------- jobs */

typedef enum gs_op
{
	GS_ORDER,	/* all rows in order: results are row numbers; equal rows in arrival order */
	GS_TOPK,
	GS_SELECT,
	GS_PARTITION,
	GS_RUNS,
	GS_SCAN,
	GS_REDUCE
} gs_op;

typedef struct gs_job_spec
{
	gs_op op;
	uint32_t ncolumns;
	const gs_column_spec *columns; /* copied by gs_job_begin */
	uint64_t rows_hint;			   /* expected rows, 0 = unknown */
} gs_job_spec;

typedef struct gs_job_info
{
	gs_order_facts order;
	uint64_t rows;
	uint64_t host_bytes;   /* host memory held now */
	uint64_t upload_bytes; /* moved to the device */
	uint64_t upload_ns, device_ns, download_ns;
} gs_job_info;

typedef struct gs_job gs_job;

/*
 * begin → add(chunk)… → finish(rows) → next(piece)… → end.  add checks the chunk, of which chunk->bytes bytes must be
 * readable, and has copied what it needs when it returns, so a chunk can be filled again.  finish checks that rows rows came.  next writes up to room results and their number, 0 at the end.  After any
 * status but GS_OK only gs_job_end may follow.  gs_job_end is safe at every moment and on NULL.
 */
gs_status gs_job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job);
gs_status gs_job_add(gs_job *job, const gs_chunk *chunk);
/* The same for a chunk in memory that somebody else can write to: nothing beyond available bytes is read. */
gs_status gs_job_add_within(gs_job *job, const gs_chunk *chunk, size_t available);
gs_status gs_job_finish(gs_job *job, uint64_t rows);
gs_status gs_job_next(gs_job *job, uint32_t *out, uint64_t room, uint64_t *got);
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
