/*
 * pagescan.c: rows of a sequential scan, a page at a time.
 *
 * A scan without conditions finds the visible rows of a page all at once and then gives them out one by one, through
 * four calls each.  Most of what a sort's input costs goes there.  So the first row of each page comes through the
 * executor, with all that belongs to it: the choice of the next page, its visibility, interrupts.  The others are taken
 * straight from the page, and the scan is told that it has given them out.  The columns that a projection picks are
 * copied likewise, if they are of fixed width.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "catalog/pg_attribute.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "nodes/nodeFuncs.h"
#include "nodes/primnodes.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "src/compat.h"
#include "pagescan.h"

struct PageScan
{
	SeqScanState *scan;
	RowGather  *gather;			/* NULL: rows are the table's tuples */
};

/* Where a table's column lies in every tuple without NULLs; false if that varies. */
static bool
fixed_place(TupleDesc desc, AttrNumber wanted, RowGather *gather, int n)
{
	int			offset = 0;

	for (int attno = 1; attno <= wanted; attno++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, attno - 1);

		if (attribute->attlen <= 0)
			return false;
		offset = att_align_nominal(offset, attribute->attalign);
		if (attno == wanted)
		{
			gather->columns[n].from = (uint16) offset;
			gather->columns[n].len = (uint16) attribute->attlen;
		}
		offset += attribute->attlen;
	}
	return true;
}

/*
 * The way to make rows of the scan's result from the table's tuples; NULL if it takes more than copying some columns,
 * or if a column that stands in the result many times makes rows longer than a table's can be.
 */
static RowGather *
make_gather(SeqScanState *scan)
{
	List	   *targets = scan->ss.ps.plan->targetlist;
	TupleDesc	source = RelationGetDescr(scan->ss.ss_currentRelation);
	TupleDesc	result = ExecGetResultType(&scan->ss.ps);
	RowGather  *gather = palloc0(offsetof(RowGather, columns) + sizeof(gather->columns[0]) * list_length(targets));
	int			offset = 0;
	ListCell   *lc;

	gather->source_natts = (uint16) source->natts;
	foreach(lc, targets)
	{
		Var		   *var = (Var *) lfirst_node(TargetEntry, lc)->expr;
		Form_pg_attribute attribute = TupleDescAttr(result, gather->ncolumns);

		if (!IsA(var, Var) || var->varattno <= 0 || attribute->attlen <= 0 ||
			!fixed_place(source, var->varattno, gather, gather->ncolumns))
			return NULL;
		offset = att_align_nominal(offset, attribute->attalign);
		if (offset > PG_UINT16_MAX)
			return NULL;
		gather->columns[gather->ncolumns++].to = (uint16) offset;
		offset += attribute->attlen;
	}
	gather->data_len = (uint32) offset;
	return gather;
}

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
	result->gather = make_gather(scan);
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
