/*
 * gpusort.c: the library's entry.
 */
#include "postgres.h"

#include "fmgr.h"

#include "src/aggregates/statefile.h"
#include "src/append/append_node.h"
#include "src/base/guc.h"
#include "src/base/keptmem.h"
#include "src/columns/columns_node.h"
#include "src/columns/columns_rows_node.h"
#include "src/columns/shared.h"
#include "src/nodes/limits.h"
#include "src/core/node.h"
#include "src/engine/progress.h"
#include "src/engine/stat.h"
#include "src/engine/worker.h"
#include "src/index/index_build.h"
#include "src/out/output.h"
#include "src/parallel/block_node.h"
#include "src/parallel/merge_node.h"
#include "src/parallel/pack_node.h"
#include "src/plan/plan.h"
#include "src/shares/share_node.h"
#include "src/topn/topn_node.h"
#include "src/totals/first_node.h"
#include "src/totals/total_node.h"

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
	columns_shared_init();
	gpusort_worker_init();
	register_node(&gpusort_node);
	register_node(&block_node);
	register_node(&gpumerge_node);
	register_node(&gpupack_node);
	register_node(&gpuunpack_node);
	register_node(&share_node);
	register_node(&gpumergeappend_node);
	register_node(&gpufirst_node);
	register_node(&gpufirst_combining_node);
	register_node(&gputotal_node);
	register_node(&gputopn_node);
	register_node(&columns_node);
	register_node(&columns_rows_node);
	gpusort_limits_init();
	gpusort_output_init();
	index_build_init();
	gpusort_plan_init();
	statefile_init();
}
