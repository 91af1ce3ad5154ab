/*
 * pagescan.c: rows of a sequential scan, a page at a time.
 *
 * A scan without conditions finds the visible rows of a page all at once and then gives them out one by one, through
 * four calls each.  Most of what a sort's input costs goes there.  So the first row of each page comes through the
 * executor, with all that belongs to it: the choice of the next page, its visibility, interrupts.  The others are
 * taken straight from the page, and the scan is told that it has given them out.  Where a projection only picks
 * columns, these are copied likewise.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "catalog/pg_attribute.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "nodes/nodeFuncs.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "src/compat.h"
#include "pagescan.h"
#include "rowgather.h"

struct PageScan
{
	SeqScanState *scan;
	RowGather  *gather;			/* NULL: rows are the table's tuples */
};

PageScan *
pagescan_open(PlanState *child)
{
	SeqScanState *scan = (SeqScanState *) child;
	PageScan   *result;

	if (!IsA(child, SeqScanState) || child->qual != NULL || child->state->es_epq_active != NULL ||
		scan->ss.ss_currentRelation->rd_tableam != GetHeapamTableAmRoutine())
		return NULL;
	result = palloc0(sizeof(PageScan));
	result->scan = scan;
	if (child->ps_ProjInfo == NULL)
		return result;
	result->gather = rowgather_create(child->plan->targetlist, RelationGetDescr(scan->ss.ss_currentRelation),
									  ExecGetResultType(child));
	return result->gather ? result : NULL;
}

void
pagescan_take(PageScan *pages, Sorter *sorter)
{
	SeqScanState *node = pages->scan;
	HeapScanDesc scan = (HeapScanDesc) node->ss.ss_currentScanDesc;
	uint32		first;
	uint32		taken;
	Page		page;
	ItemId		last;

	if (scan == NULL || !(scan->rs_base.rs_flags & SO_ALLOW_PAGEMODE) || !BufferIsValid(scan->rs_cbuf))
		return;
	first = (uint32) scan->rs_cindex + 1;
	if (first >= (uint32) scan->rs_ntuples)
		return;
	page = BufferGetPage(scan->rs_cbuf);
	taken = sorter_put_page(sorter, page, scan->rs_vistuples + first, (uint32) scan->rs_ntuples - first, pages->gather);
	if (taken == 0)
		return;
	scan->rs_cindex += taken;
	last = PageGetItemId(page, scan->rs_vistuples[scan->rs_cindex]);
	scan->rs_ctup.t_data = (HeapTupleHeader) PageGetItem(page, last);
	scan->rs_ctup.t_len = ItemIdGetLength(last);
	ItemPointerSet(&scan->rs_ctup.t_self, BufferGetBlockNumber(scan->rs_cbuf), scan->rs_vistuples[scan->rs_cindex]);
	count_heap_tuples(scan->rs_base.rs_rd, taken);
	if (node->ss.ps.instrument)
		InstrUpdateTupleCount(node->ss.ps.instrument, taken);
}
