/*
 * guc.h: the settings.
 */
#ifndef GPUSORT_GUC_H
#define GPUSORT_GUC_H

/* Settings; guc.c says what each means. */
extern bool gpusort_enabled;
extern int	gpusort_min_rows;
extern int	gpusort_work_mem;
extern int	gpusort_kept_memory;
extern int	gpusort_verify;
extern bool gpusort_explain_machine;
extern bool gpusort_parallel_blocks;
extern bool gpusort_aggregates;
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

typedef enum EngineChoice
{
	ENGINE_CHOICE_AUTO,
	ENGINE_CHOICE_GPU,
	ENGINE_CHOICE_CPU
} EngineChoice;

typedef enum GpusortVerify
{
	VERIFY_AUTO,				/* a sample of what a GPU answers */
	VERIFY_OFF,
	VERIFY_SAMPLE,
	VERIFY_FULL
} GpusortVerify;

/* How rows reach the participant whose share they are, from gpusort.parallel_windows. */
typedef enum GpusortShares
{
	SHARES_OFF,					/* there are no shares */
	SHARES_AUTO,				/* the cheaper way */
	SHARES_SCAN,				/* each participant reads all */
	SHARES_EXCHANGE				/* each reads a part, and hands rows on */
} GpusortShares;

/* Bytes that one sort may hold, from gpusort.work_mem. */
extern Size gpusort_memory_limit(void);

/* In _PG_init: defines them. */
extern void gpusort_guc_init(void);

#endif
