/*
 * engine.h: the interface between the public calls and an engine.  Internal to kernels/.  An engine, a job and a plan
 * each begin with the structure below.  Callers check arguments and the order of calls, so operations trust both.  An
 * engine leaves an operation NULL if it does not support it.
 */
#ifndef GS_ENGINE_H
#define GS_ENGINE_H

#include "gs_arrays.h"

#ifdef __cplusplus
extern "C"
{
#endif

#define GS_MAX_COLUMNS 2048

/* Returns from the calling function if a call failed, passing its status on. */
#define GS_TRY(call)                                                                                                   \
	do                                                                                                                 \
	{                                                                                                                  \
		gs_status try_status = (call);                                                                                 \
		if (try_status != GS_OK)                                                                                       \
			return try_status;                                                                                         \
	} while (0)

struct gs_source; /* rows.h */

/* What an order knows about run boundaries: nothing; that set bits are right; or all of them. */
typedef enum gs_heads_known
{
	GS_HEADS_NONE,
	GS_HEADS_SOME,
	GS_HEADS_ALL
} gs_heads_known;

/* Operations behind the public functions of matching name, which check arguments first. */
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
	 * Jobs.  job_begin allocates through host; job.c fills in the head, with a copy of host.  An engine copies what it
	 * keeps of spec.  job_end is called once and releases everything, including the job.
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
	 * Steps of job_work.c.  job_close (may be NULL) validates the input.  job_order sets *order to NULL if rows were in
	 * order by the first order_columns columns.  It may fill in run heads of key columns, and reports which.
	 */
	gs_status (*job_close)(gs_job *job);
	/* Allocates memory for the steps.  NULL: use alloc and free. */
	gs_status (*job_alloc)(gs_job *job, size_t bytes, void **block);
	void (*job_release)(gs_job *job, void *block, size_t bytes);
	gs_status (*job_order)(gs_job *job, uint64_t *heads, gs_heads_known *known, const uint32_t **order);
	/* Returns a column in the engine's memory: one source, or two for the halves of GS_U128. */
	uint32_t (*job_sources)(gs_job *job, uint32_t c, struct gs_source *sources);
	/* Frees the columns, or everything that job_order made. */
	void (*job_drop_columns)(gs_job *job);
	void (*job_drop_order)(gs_job *job);
	/* Writes elements of the result to host memory. */
	gs_status (*job_emit)(gs_job *job, uint64_t from, uint64_t n, void *out);

	const struct gs_scan_ops *scan; /* scan.h; NULL: none */
	const struct gs_sort_ops *sort; /* sort.h; NULL: none */
	const struct gs_row_ops *rows;	/* rows.h */
	const struct gs_group_ops *groups; /* groups.h; NULL: none */
	const struct gs_group_ops *places; /* of lists with ROWS; NULL: none */
	const struct gs_group_ops *windows; /* of lists with windows; NULL: none */
	const struct gs_group_ops *computed; /* of lists with COMPUTE; NULL: none */
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

/* State of a job.  It is FAILED during a call, so a longjmp out of a callback leaves the job in that state. */
typedef enum gs_job_state
{
	GS_JOB_ADDING,
	GS_JOB_READING,
	GS_JOB_FAILED
} gs_job_state;

/* The result of a job, as arrays in the engine's memory. */
typedef struct gs_results
{
	uint64_t count;
	uint64_t selected;
	const void *first;		/* the first selected elements, */
	const void *second;		/* and the others; or, if both are NULL: */
	const uint32_t *starts; /* where runs start; the last one ends at rows */
	const uint32_t *rows;	/* row number of each run's first row; NULL: equals starts */
	const void *values;		/* of groups, of value_type; NULL: the count */
	gs_type value_type;
	const uint32_t *nulls; /* NULLs in each group, or NULL */
} gs_results;

#define GS_JOB_BLOCKS 12

struct gs_job
{
	const gs_engine_ops *ops;
	gs_engine *engine;
	gs_host host;
	gs_job_state state;
	uint64_t rows; /* added so far; counted by job_add from its single read of the chunk's header */
	uint64_t string_bytes; /* of all columns, as copied by job_add */
	size_t available; /* job_add: readable bytes of the chunk, whatever its header says */
	bool lent;		  /* the caller owns the columns, which are read-only */
	gs_job_spec spec; /* columns and filter.value point to the job's copy */
	void *spec_copy;  /* memory of that copy */
	size_t spec_copy_bytes;
	uint64_t given; /* result elements handed out so far */
	gs_results results;
	struct
	{
		void *data;
		size_t bytes;
	} blocks[GS_JOB_BLOCKS]; /* engine memory, freed with the job */
};

/* job_spec.c */
bool gs_job_spec_valid(const gs_job_spec *spec);
bool gs_job_is_order(const gs_job *job);

/* job_work.c: all operations except GS_ORDER and GS_TOPK, whose result is the row order itself. */
gs_status gs_job_work(gs_job *job);
gs_status gs_job_work_next(gs_job *job, void *out, uint64_t room, uint64_t *got);
void gs_job_work_drop(gs_job *job);

/* Faulting in a huge page costs as much as 50 small ones.  Hosts use huge pages for blocks of an eighth and more. */
#define GS_HUGE_PAGE ((size_t) 2 << 20)

/*
 * The host for callers that pass none: system memory, huge pages for large blocks, no poll.  Blocks of more than half a
 * huge page have whole ones, each of which may be released on its own.
 */
const gs_host *gs_default_host(void);

/* A copy of a chunk's header: checks of it stay valid whoever writes to the chunk.  Offsets are checked as copied. */
typedef struct gs_view
{
	const gs_chunk *chunk;
	uint32_t rows;
	uint64_t header;
	uint64_t bytes;
} gs_view;

gs_status gs_view_open(gs_view *view, const gs_chunk *chunk, size_t available, uint32_t ncolumns);
gs_status gs_view_column(const gs_view *view, uint32_t c, gs_type type, gs_chunk_column *column);

/* Returns GS_OK if columns can be ordered.  Called by gs_order_plan and gs_top_k. */
gs_status gs_columns_check(const gs_column *columns, uint32_t ncolumns, uint64_t rows);

#ifdef __cplusplus
}
#endif

#endif
