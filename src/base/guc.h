/*
 * guc.h: the settings.
 */
#ifndef GPUSORT_GUC_H
#define GPUSORT_GUC_H

/* Settings, described in guc.c. */
extern bool gpusort_enabled;
extern int	gpusort_min_rows;
extern int	gpusort_work_mem;
extern int	gpusort_kept_memory;
extern int	gpusort_verify;
extern bool gpusort_explain_machine;
extern bool gpusort_parallel_blocks;
extern bool gpusort_aggregates;
extern bool gpusort_output;
extern int	gpusort_index_builds;
extern int gpusort_parallel_windows;
extern int	gpusort_cores;
extern double gpusort_cpu_row_cost;
extern int	gpusort_engine;
extern int	gpusort_gpu_min_rows;
extern char *gpusort_devices;
extern int	gpusort_max_device_memory;
extern int	gpusort_pinned_memory;
extern int	gpusort_timeout;
extern char *gpusort_service_options;
extern int	gpusort_columns;
extern int	gpusort_columns_memory;
extern int	gpusort_columns_device_memory;
extern int	gpusort_columns_threads;
extern bool gpusort_columns_float_sums;
extern int	gpusort_columns_roll;
extern int	gpusort_columns_quiet;

typedef enum EngineChoice
{
	ENGINE_CHOICE_AUTO,
	ENGINE_CHOICE_GPU,
	ENGINE_CHOICE_CPU
} EngineChoice;

typedef enum GpusortVerify
{
	VERIFY_AUTO,				/* as VERIFY_WORDS where that is cheap; else of what a GPU answers a sample */
	VERIFY_OFF,
	VERIFY_SAMPLE,
	VERIFY_WORDS,				/* all neighbours of orders as rows are given out, by words where these decide */
	VERIFY_FULL					/* everything, by comparison functions, before the first row is given out */
} GpusortVerify;

typedef enum GpusortColumns
{
	COLUMNS_ON,
	COLUMNS_OFF,
	COLUMNS_FORCE				/* an error instead of another plan, for tests */
} GpusortColumns;

typedef enum GpusortIndexBuilds
{
	INDEX_BUILDS_ON,			/* where they pay */
	INDEX_BUILDS_OFF,
	INDEX_BUILDS_FORCE			/* all that gpusort can sort, for tests */
} GpusortIndexBuilds;

/* How rows reach the participant that owns their partition; gpusort.parallel_windows. */
typedef enum GpusortShares
{
	SHARES_OFF,					/* no partitioning */
	SHARES_AUTO,				/* the cheaper method */
	SHARES_SCAN,				/* each participant scans everything */
	SHARES_EXCHANGE				/* each scans a part and sends rows on */
} GpusortShares;

/* Returns the memory limit of one sort, from gpusort.work_mem. */
extern Size gpusort_memory_limit(void);

/* Defines the settings, in _PG_init. */
extern void gpusort_guc_init(void);

#endif
