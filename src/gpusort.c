/*
 * gpusort.c: the library's entry.
 */
#include "postgres.h"

#include "fmgr.h"

#include "src/base/guc.h"
#include "src/base/keptmem.h"
#include "src/engine/progress.h"
#include "src/engine/stat.h"
#include "src/engine/worker.h"
#include "src/aggregates/statefile.h"
#include "src/plan/plan.h"
#include "src/append/append_node.h"
#include "src/core/limits.h"
#include "src/parallel/merge_node.h"
#include "src/core/node.h"
#include "src/parallel/pack_node.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

/* Runs when the library is loaded, by the postmaster or by a session. */
void
_PG_init(void)
{
	gpusort_guc_init();
	keptmem_init();
	gpusort_stat_init();
	progress_init();
	gpusort_worker_init();
	gpusort_node_init();
	gpumerge_node_init();
	gpumergeappend_node_init();
	gpupack_nodes_init();
	gpusort_limits_init();
	gpusort_plan_init();
	statefile_init();
}
