/*
 * engine.h: what every engine is made of; not for callers.
 *
 * An engine, a job and a plan each begin with the structure below, and what an engine adds comes after it.  engine.c
 * checks arguments and the order of calls once for all engines, so that an operation may trust both.  A NULL
 * operation is one the engine does not have.
 */
#ifndef GS_ENGINE_H
#define GS_ENGINE_H

#include "gs_arrays.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define GS_MAX_COLUMNS 2048

/* Leaves a function with the status of a call that failed. */
#define GS_TRY(call)                                                                                                   \
	do                                                                                                                 \
	{                                                                                                                  \
		gs_status try_status = (call);                                                                                 \
		if (try_status != GS_OK)                                                                                       \
			return try_status;                                                                                         \
	} while (0)

struct gs_source; /* rows.h */

/* What an order knows of where runs begin: nothing; bits that are set are right; all are. */
typedef enum gs_heads_known
{
	GS_HEADS_NONE,
	GS_HEADS_SOME,
	GS_HEADS_ALL
} gs_heads_known;

/*
 * The public function of the same name checks its arguments and passes them on.
 */
typedef struct gs_engine_ops
{
	void (*close)(gs_engine *engine);
	const char *(*name)(const gs_engine *engine);
	gs_status (*alloc)(gs_engine *engine, size_t bytes, void **block);
	void (*free)(gs_engine *engine, void *block);
	gs_status (*upload)(gs_engine *engine, void *to, const void *from, size_t bytes);
	gs_status (*download)(gs_engine *engine, void *to, const void *from, size_t bytes);
	gs_status (*fill)(gs_engine *engine, void *to, int byte, size_t bytes);
	gs_status (*sync)(gs_engine *engine);

	gs_status (*order_plan)(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows,
							gs_plan **plan);
	size_t (*order_temp_bytes)(const gs_plan *plan);
	gs_status (*order_run)(gs_engine *engine, const gs_plan *plan, void *temp, size_t temp_bytes, uint32_t *order,
						   gs_order_facts *facts);
	void (*plan_free)(gs_engine *engine, gs_plan *plan);

	/*
	 * Jobs.  job_begin allocates the engine's job with host and returns it; job.c fills in the head.  spec and
	 * host are the caller's and must be copied where needed (the head holds a copy of host).  job_end releases
	 * everything, the job itself included, and is called once.
	 */
	gs_status (*job_begin)(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job);
	gs_status (*job_add)(gs_job *job, const gs_chunk *chunk);
	gs_status (*job_lend)(gs_job *job, const gs_column *columns, uint64_t rows); /* may be NULL */
	gs_status (*job_finish)(gs_job *job);
	gs_status (*job_next)(gs_job *job, void *out, uint64_t room, uint64_t *got);
	void (*job_end)(gs_job *job);
	uint64_t (*job_host_bytes)(const gs_job *job);
	void (*job_get_info)(const gs_job *job, gs_job_info *info);

	/*
	 * For the steps of job_work.c.  job_close (may be NULL) checks the input when all of it has come.  job_order puts
	 * the rows in the order of the first order_columns columns; *order is NULL where they came so.  It may fill in
	 * heads of runs of the key columns, and says which it knows.
	 */
	gs_status (*job_close)(gs_job *job);
	/* Memory for the steps; NULL: alloc and free will do. */
	gs_status (*job_alloc)(gs_job *job, size_t bytes, void **block);
	void (*job_release)(gs_job *job, void *block, size_t bytes);
	gs_status (*job_order)(gs_job *job, uint64_t *heads, gs_heads_known *known, const uint32_t **order);
	/* A column as it lies in the engine's memory: one source, or two for the halves of GS_U128. */
	uint32_t (*job_sources)(gs_job *job, uint32_t c, struct gs_source *sources);
	/* The columns are not needed any more, or everything that job_order made. */
	void (*job_drop_columns)(gs_job *job);
	void (*job_drop_order)(gs_job *job);
	/* Writes elements of the result to host memory. */
	gs_status (*job_emit)(gs_job *job, uint64_t from, uint64_t n, void *out);

	const struct gs_scan_ops *scan; /* scan.h; NULL: none */
	const struct gs_sort_ops *sort; /* sort.h; NULL: none */
	const struct gs_row_ops *rows;	/* rows.h */
} gs_engine_ops;

struct gs_engine
{
	const gs_engine_ops *ops;
	gs_host host;
};

struct gs_plan
{
	const gs_engine_ops *ops; /* set by order_plan */
};

/* Where a job stands.  It is FAILED while a call runs, so that a longjmp out of a callback leaves it so. */
typedef enum gs_job_state
{
	GS_JOB_ADDING,
	GS_JOB_READING,
	GS_JOB_FAILED
} gs_job_state;

/* The result of a job as arrays of the engine's memory. */
typedef struct gs_results
{
	uint64_t count;
	uint64_t selected;
	const void *first;		/* elements as they are, selected of them, */
	const void *second;		/* and the rest; or, both NULL: */
	const uint32_t *starts; /* of runs; the last one ends at rows */
	const uint32_t *rows;	/* the numbers of the rows there; NULL: starts */
	const void *values;		/* of groups, of value_type; NULL: what is counted */
	gs_type value_type;
	const uint32_t *nulls; /* NULLs in each group; NULL: none */
} gs_results;

#define GS_JOB_BLOCKS 12

struct gs_job
{
	const gs_engine_ops *ops;
	gs_engine *engine;
	gs_host host;
	gs_job_state state;
	uint64_t rows; /* added so far: job_add counts them, from the one time that it reads the chunk's header */
	uint64_t string_bytes; /* of all columns: job_add counts what it has copied */
	size_t available; /* job_add: bytes of the chunk that can be read, whatever its header says */
	bool lent;		  /* the columns are the caller's, not to be written to */
	gs_job_spec spec; /* columns and filter.value are the job's own */
	void *spec_copy;  /* where these lie */
	size_t spec_copy_bytes;
	uint64_t given; /* elements of the result handed out */
	gs_results results;
	struct
	{
		void *data;
		size_t bytes;
	} blocks[GS_JOB_BLOCKS]; /* of the engine's memory, given back with the job */
};

/* job_spec.c */
bool gs_job_spec_valid(const gs_job_spec *spec);
bool gs_job_is_order(const gs_job *job);

/* job_work.c: all operations but GS_ORDER and GS_TOPK, whose results are the order itself. */
gs_status gs_job_work(gs_job *job);
gs_status gs_job_work_next(gs_job *job, void *out, uint64_t room, uint64_t *got);
void gs_job_work_drop(gs_job *job);

/* One is touched for the price of some 50 of the usual pages; hosts take them for blocks from an eighth of it on. */
#define GS_HUGE_PAGE ((size_t) 2 << 20)

/* The host of callers that pass none: memory from the system, large blocks on huge pages, no poll. */
const gs_host *gs_default_host(void);

/*
 * A chunk's header, copied out of memory that another process may change under the reader: what was checked on the
 * copy stays true.  Values, null bits and strings can still change; offsets have to be checked while they are
 * copied.
 */
typedef struct gs_view
{
	const gs_chunk *chunk;
	uint32_t rows;
	uint64_t header;
	uint64_t bytes;
} gs_view;

gs_status gs_view_open(gs_view *view, const gs_chunk *chunk, size_t available, uint32_t ncolumns);
gs_status gs_view_column(const gs_view *view, uint32_t c, gs_type type, gs_chunk_column *column);

/* GS_OK if columns can be ordered: what gs_order_plan and gs_top_k check. */
gs_status gs_columns_check(const gs_column *columns, uint32_t ncolumns, uint64_t rows);

/* gs_chunk_check on one column's offsets: first 0, never falling, at most heap_bytes. */
bool gs_offsets_valid(const uint32_t *offsets, uint32_t rows, uint64_t heap_bytes);

#ifdef __cplusplus
}
#endif

#endif
