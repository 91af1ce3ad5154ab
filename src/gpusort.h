/*
 * gpusort.h: settings and what the extension's files share.
 */
#ifndef GPUSORT_H
#define GPUSORT_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

#include "sorter.h"

#define GPUSORT_NODE_NAME "GpuSort"

/* Settings; gpusort.c says what each means. */
extern bool gpusort_enabled;
extern int	gpusort_min_rows;
extern int	gpusort_work_mem;
extern int	gpusort_verify;
extern bool gpusort_explain_machine;
extern double gpusort_cpu_row_cost;
extern double gpusort_cpu_key_cost;
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

/* Bytes that one sort may hold, from gpusort.work_mem. */
extern Size gpusort_memory_limit(void);

/* Why a sort went to PostgreSQL's own, as EXPLAIN prints it. */
extern const char *sorter_fallback_text(SorterFallback fallback);

/* node.c: the methods a CustomScan made by plan.c points to. */
extern const CustomScanMethods gpusort_scan_methods;
extern void gpusort_node_init(void);

/* What plan.c puts into CustomScan.custom_private, in this order: all must survive copyObject and nodeToString. */
typedef enum GpusortPrivate
{
	PRIVATE_ATTNOS,				/* integer list */
	PRIVATE_SORTOPS,			/* OID list */
	PRIVATE_COLLATIONS,			/* OID list */
	PRIVATE_NULLS_FIRST,		/* integer list of booleans */
	PRIVATE_SHOWN				/* integer list: the keys in custom_scan_tlist, for EXPLAIN */
} GpusortPrivate;

/* A bound under this share of the rows is left to PostgreSQL's top-N heap sort. */
#define GPUSORT_BOUND_FRACTION 0.1

/* plan.c */
extern void gpusort_plan_init(void);

/* explain.c: ExplainCustomScan of the node, whose sorter is NULL if it has not run */
extern void gpusort_explain(CustomScanState *node, const SortColumns *columns, Sorter *sorter, List *ancestors,
							struct ExplainState *es);

#endif
