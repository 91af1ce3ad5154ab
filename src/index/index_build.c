/*
 * index_build.c: where the build of a btree becomes gpusort's.
 *
 * The table is scanned by PostgreSQL with a callback that collects the rows.  These are sorted and then passed to the
 * callback of PostgreSQL's own build, by their keys and TIDs.  Its sort finds them in order, and only confirms that.
 *
 * Invariant: PostgreSQL sorts, checks and writes all that the index gets.  So a wrong order costs time; a row too many
 * or too few is an error (see replay).
 *
 * The way in: index_build() asks the planner for a number of workers, which calls the hook for planned relations.
 * There the access method of the table's btrees is replaced by one with another ambuild, in this session's cache.  It
 * serves every btree, so it may stay there.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/heapam.h"
#include "access/nbtree.h"
#include "access/tableam.h"
#include "catalog/catalog.h"
#include "catalog/index.h"
#include "catalog/pg_am_d.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "tcop/utility.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "index_build.h"
#include "index_choice.h"
#include "index_rows.h"
#include "index_workers.h"
#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/engine/stat.h"

/* The least maintenance_work_mem of such a build, in kilobytes: that of two sorts and what they need besides. */
#define LEAST_MEMORY 4096

static relation_planned_hook_type prev_relation_planned;
static ProcessUtility_hook_type prev_utility;

/* The session has max_parallel_maintenance_workers = 0, which reads 1 for the utility that runs. */
static bool workers_are_off;

/* A build whose scan has not begun. */
typedef struct Build
{
	IndexForm	form;
	double		rows_expected;
	int			workers;
	int			kilobytes;		/* maintenance_work_mem */
	const TableAmRoutine *access;	/* of the table */
} Build;

static Build *current;
static TableAmRoutine sorting_access;	/* the table's, but for the scan */
static IndexAmRoutine sorting_btree;	/* btree's, but for ambuild */

/* Passes sorted rows to the callback of PostgreSQL's build; returns how many. */
static uint64
replay(Relation index, const IndexForm *form, IndexRowsNext next, void *from, IndexBuildCallback callback, void *state)
{
	TupleTableSlot *slot = MakeSingleTupleTableSlot(form->desc, &TTSOpsMinimalTuple);
	uint64		rows = 0;
	MinimalTuple row;

	while ((row = next(from)) != NULL)
	{
		uint64		number = row_number(row);
		ItemPointerData tid;

		CHECK_FOR_INTERRUPTS();
		ExecStoreMinimalTuple(row, slot, false);
		slot_getallattrs(slot);
		rownumber_tid(number, &tid);
		callback(index, &tid, slot->tts_values + 1, slot->tts_isnull + 1, rownumber_alive(number), state);
		rows++;
	}
	ExecDropSingleTupleTableSlot(slot);
	return rows;
}

/* An error if the index would get more or fewer rows than the scan has found. */
static void
expect_rows(Relation index, uint64 found, uint64 passed)
{
	if (found != passed)
		elog(ERROR, "gpusort: index \"%s\" would get " UINT64_FORMAT " of " UINT64_FORMAT " rows",
			 RelationGetRelationName(index), passed, found);
}

/* Shows that the scan has ended, and the sort begins. */
static void
report_sort(bool progress)
{
	if (progress)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, PROGRESS_BTREE_PHASE_PERFORMSORT_1);
}

/* Scans and sorts in this process. */
static double
scan_alone(Build *build, Relation heap, Relation index, IndexInfo *info, bool progress, IndexBuildCallback callback,
		   void *state)
{
	IndexRows  *rows = indexrows_begin(&build->form, build->rows_expected, build->kilobytes, 1);
	double		tuples;

	/* from the first block on, not where another scan is: rows come in the order of their TIDs */
	tuples = build->access->index_build_range_scan(heap, index, info, false, false, progress, 0, InvalidBlockNumber,
												   indexrows_put, rows, NULL);
	report_sort(progress);
	indexrows_finish(rows);
	expect_rows(index, indexrows_count(rows), replay(index, &build->form, indexrows_next, rows, callback, state));
	stat_count_index(sorter_stats(indexrows_sorter(rows))->kind, indexrows_count(rows));
	indexrows_end(rows);
	return tuples;
}

/* Scans and sorts the leader's part of a table, beside workers. */
static IndexRows *
scan_part(Build *build, IndexWorkers *workers, Relation heap, Relation index, IndexInfo *info, bool progress,
		  double *tuples)
{
	IndexRows  *rows = indexrows_begin(&build->form, build->rows_expected, build->kilobytes, build->workers + 1);

	/* allow_sync, as the workers' scans */
	*tuples = build->access->index_build_range_scan(heap, index, info, true, false, progress, 0, InvalidBlockNumber,
													indexrows_put, rows, indexworkers_scan(workers));
	report_sort(progress);
	indexrows_finish(rows);
	return rows;
}

/* Scans and sorts with workers. */
static double
scan_with_workers(Build *build, IndexWorkers *workers, Relation heap, Relation index, IndexInfo *info, bool progress,
				  IndexBuildCallback callback, void *state)
{
	IndexRows  *rows = NULL;
	double		tuples = 0;
	uint64		found;
	uint64		passed;
	EngineKind	kind;

	if (indexworkers_take_all(workers))
	{
		indexworkers_wait(workers, progress);
		report_sort(progress);
	}
	else
		rows = scan_part(build, workers, heap, index, info, progress, &tuples);
	indexworkers_merge(workers, rows);
	passed = replay(index, &build->form, indexworkers_next, workers, callback, state);
	found = rows ? indexrows_count(rows) : 0;
	kind = indexworkers_end(workers, info, &found, &tuples);
	expect_rows(index, found, passed);
	stat_count_index(kind, found);
	if (rows)
		indexrows_end(rows);
	return tuples;
}

/* The scan of a build: collects all rows, and passes them on in order. */
static double
sorted_scan(Relation heap, Relation index, IndexInfo *info, bool allow_sync, bool anyvisible, bool progress,
			BlockNumber start, BlockNumber count, IndexBuildCallback callback, void *state, TableScanDesc scan)
{
	Build	   *build = current;
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort index", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	IndexWorkers *workers = NULL;
	double		tuples;

	/* before functions of the index run, which may build others */
	current = NULL;
	heap->rd_tableam = build->access;
	maintenance_work_mem = build->kilobytes;
	if (build->workers > 0)
		workers = indexworkers_begin(heap, index, info, &build->form, build->workers + 1);
	if (workers)
		tuples = scan_with_workers(build, workers, heap, index, info, progress, callback, state);
	else
		tuples = scan_alone(build, heap, index, info, progress, callback, state);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
	return tuples;
}

/* Builds an index by btbuild, which is to scan by sorted_scan, and have less memory while it prepares its sort. */
static IndexBuildResult *
build_sorted(Build *build, Relation heap, Relation index, IndexInfo *info)
{
	IndexBuildResult *volatile result = NULL;

	build->workers = info->ii_ParallelWorkers;
	build->kilobytes = maintenance_work_mem;
	build->access = heap->rd_tableam;
	sorting_access = *heap->rd_tableam;
	sorting_access.index_build_range_scan = sorted_scan;
	current = build;
	heap->rd_tableam = &sorting_access;
	maintenance_work_mem = confirming_kilobytes(build->kilobytes);
	info->ii_ParallelWorkers = 0;
	PG_TRY();
	{
		result = btbuild(heap, index, info);
	}
	PG_FINALLY();
	{
		current = NULL;
		heap->rd_tableam = build->access;
		maintenance_work_mem = build->kilobytes;
		info->ii_ParallelWorkers = build->workers;
	}
	PG_END_TRY();
	return result;
}

/* Returns why an index is PostgreSQL's, NULL if it is not. */
static const char *
left_why(Relation heap, Relation index, IndexInfo *info, Build *build)
{
	if (heap->rd_tableam != GetHeapamTableAmRoutine())
		return "the table has another access method";
	if (maintenance_work_mem < LEAST_MEMORY)
		return "maintenance_work_mem is too low";
	/* rows may be in files twice: in sorted runs, and in those of tuplesort */
	if (temp_file_limit >= 0)
		return "temp_file_limit is set";
	if (!indexform_make(index, &build->form))
		return "a column is not stored as its own type";
	build->rows_expected = index_rows_expected(heap);
	return index_left_why(heap, index, info, &build->form, build->rows_expected);
}

/* The ambuild of btrees. */
static IndexBuildResult *
build_index(Relation heap, Relation index, IndexInfo *info)
{
	Build		build = {0};
	const char *why;

	if (!gpusort_enabled || gpusort_index_builds == INDEX_BUILDS_OFF || IsCatalogRelation(heap) ||
		IsToastRelation(heap))
		return btbuild(heap, index, info);
	why = left_why(heap, index, info, &build);
	if (why == NULL)
		return build_sorted(&build, heap, index, info);
	ereport(DEBUG1, (errmsg_internal("gpusort leaves the build of index \"%s\" to PostgreSQL: %s",
									 RelationGetRelationName(index), why)));
	return btbuild(heap, index, info);
}

/* Replaces the access method of an open btree. */
static void
take_over(Relation index)
{
	if (index->rd_rel->relam != BTREE_AM_OID || index->rd_indam == NULL || index->rd_indam->ambuild != btbuild)
		return;
	sorting_btree = *index->rd_indam;
	sorting_btree.ambuild = build_index;
	index->rd_indam = &sorting_btree;
}

/* Replaces it for the btrees of a table that this session has open, one of which is about to be built. */
static void
take_over_all(Oid table)
{
	Relation	heap = RelationIdGetRelation(table);
	List	   *indexes;
	ListCell   *lc;

	if (heap == NULL)
		return;
	indexes = RelationGetIndexList(heap);
	foreach(lc, indexes)
	{
		Relation	index = RelationIdGetRelation(lfirst_oid(lc));

		if (index == NULL)
			continue;
		if (index->rd_refcnt > 1)
			take_over(index);
		RelationClose(index);
	}
	list_free(indexes);
	RelationClose(heap);
}

/* The hook for planned relations. */
static void
relation_planned(RELATION_PLANNED_PARAMETERS)
{
	if (prev_relation_planned)
		prev_relation_planned(RELATION_PLANNED_ARGUMENTS);
	/* a query without a FROM clause that plans a relation is that of plan_create_index_workers */
	if (root->parse->jointree != NULL || !RELATION_PLANNED_INHERITS)
		return;
	if (workers_are_off)
		rel->rel_parallel_workers = 0;
	if (gpusort_enabled && gpusort_index_builds != INDEX_BUILDS_OFF && RELATION_PLANNED_OID >= FirstNormalObjectId)
		take_over_all(RELATION_PLANNED_OID);
}

/* Does a statement build indexes, while the planner would not be asked for workers? */
static bool
asks_nobody(const Node *statement)
{
	return max_parallel_maintenance_workers == 0 && gpusort_enabled && gpusort_index_builds != INDEX_BUILDS_OFF &&
		(IsA(statement, IndexStmt) || IsA(statement, ReindexStmt) || IsA(statement, AlterTableStmt));
}

/* ProcessUtility_hook: has the planner asked for workers where there are to be none, and none comes (see above). */
static void
process_utility(PlannedStmt *statement, const char *text, bool read_only, ProcessUtilityContext context,
				ParamListInfo params, QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion)
{
	if (!asks_nobody(statement->utilityStmt))
	{
		prev_utility(statement, text, read_only, context, params, environment, dest, completion);
		return;
	}
	workers_are_off = true;
	max_parallel_maintenance_workers = 1;
	PG_TRY();
	{
		prev_utility(statement, text, read_only, context, params, environment, dest, completion);
	}
	PG_FINALLY();
	{
		workers_are_off = false;
		max_parallel_maintenance_workers = 0;
	}
	PG_END_TRY();
}

void
index_build_init(void)
{
	prev_relation_planned = relation_planned_hook;
	relation_planned_hook = relation_planned;
	prev_utility = ProcessUtility_hook ? ProcessUtility_hook : standard_ProcessUtility;
	ProcessUtility_hook = process_utility;
}
