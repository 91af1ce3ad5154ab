/*
 * pagescan.c: rows of a sequential scan, a page at a time.  A scan without conditions determines the visible rows of a
 * whole page and then returns them one by one, through four calls each, which is most of the cost of a sort's input.
 *  So only the first row of each page comes through the executor, which chooses the next page, checks visibility and
 * handles interrupts.  The others are copied from the page, and the scan's position is moved past them.  A projection
 * that only picks columns is done by rowgather.c.
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

#include "src/base/compat.h"
#include "pagescan.h"
#include "src/rows/rowgather.h"

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

/* The visible rows of the current page that the scan has not returned yet; NULL if there are none. */
static const OffsetNumber *
rows_to_come(HeapScanDesc scan, uint32 *count)
{
	uint32		first;

	if (scan == NULL || !(scan->rs_base.rs_flags & SO_ALLOW_PAGEMODE) || !BufferIsValid(scan->rs_cbuf))
		return NULL;
	first = (uint32) scan->rs_cindex + 1;
	if (first >= (uint32) scan->rs_ntuples)
		return NULL;
	*count = (uint32) scan->rs_ntuples - first;
	return scan->rs_vistuples + first;
}

/* Moves the scan past rows, as if it had returned them. */
static void
move_past(SeqScanState *node, HeapScanDesc scan, uint32 rows)
{
	Page		page = BufferGetPage(scan->rs_cbuf);
	ItemId		last;

	if (rows == 0)
		return;
	scan->rs_cindex += rows;
	last = PageGetItemId(page, scan->rs_vistuples[scan->rs_cindex]);
	scan->rs_ctup.t_data = (HeapTupleHeader) PageGetItem(page, last);
	scan->rs_ctup.t_len = ItemIdGetLength(last);
	ItemPointerSet(&scan->rs_ctup.t_self, BufferGetBlockNumber(scan->rs_cbuf), scan->rs_vistuples[scan->rs_cindex]);
	count_heap_tuples(scan->rs_base.rs_rd, rows);
	if (node->ss.ps.instrument)
		InstrUpdateTupleCount(node->ss.ps.instrument, rows);
}

void
pagescan_take(PageScan *pages, Sorter *sorter)
{
	HeapScanDesc scan = (HeapScanDesc) pages->scan->ss.ss_currentScanDesc;
	uint32		count;
	const OffsetNumber *items = rows_to_come(scan, &count);

	if (items == NULL)
		return;
	move_past(pages->scan, scan,
			  sorter_put_page(sorter, BufferGetPage(scan->rs_cbuf), items, count, pages->gather));
}

AttrNumber
pagescan_column(const PageScan *pages, AttrNumber attno)
{
	List	   *targets = pages->scan->ss.ps.plan->targetlist;

	return pages->gather ? castNode(Var, list_nth_node(TargetEntry, targets, attno - 1)->expr)->varattno : attno;
}

/* Finds the wanted rows of a page, and the place of each. */
static uint32
find_wanted(HeapScanDesc scan, const OffsetNumber *items, uint32 count, PageFilter wanted, void *arg,
			OffsetNumber *found, uint16 *places)
{
	Page		page = BufferGetPage(scan->rs_cbuf);
	TupleDesc	desc = RelationGetDescr(scan->rs_base.rs_rd);
	uint32		n = 0;
	HeapTupleData tuple;

	tuple.t_tableOid = RelationGetRelid(scan->rs_base.rs_rd);
	ItemPointerSetInvalid(&tuple.t_self);
	for (uint32 i = 0; i < count; i++)
	{
		ItemId		item = PageGetItemId(page, items[i]);

		tuple.t_data = (HeapTupleHeader) PageGetItem(page, item);
		tuple.t_len = ItemIdGetLength(item);
		found[n] = items[i];
		places[n] = (uint16) i;
		n += wanted(arg, &tuple, desc);
	}
	return n;
}

uint32
pagescan_take_some(PageScan *pages, Sorter *sorter, PageFilter wanted, void *arg)
{
	HeapScanDesc scan = (HeapScanDesc) pages->scan->ss.ss_currentScanDesc;
	OffsetNumber kept[MaxHeapTuplesPerPage];
	uint16		places[MaxHeapTuplesPerPage];
	uint32		count;
	const OffsetNumber *items = rows_to_come(scan, &count);
	uint32		found;
	uint32		taken;

	if (items == NULL)
		return 0;
	found = find_wanted(scan, items, count, wanted, arg, kept, places);
	taken = found == 0 ? 0 : sorter_put_page(sorter, BufferGetPage(scan->rs_cbuf), kept, found, pages->gather);
	/* the scan returns what could not be taken */
	if (taken < found)
		count = places[taken];
	move_past(pages->scan, scan, count);
	return count - taken;
}
