/*
 * scansample.c: rows of a sequential scan ahead of it, of some of its pages: by the access method's own sampling, with
 * a sampling method of the server's kind that chooses the pages, and the scan's conditions and projection.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relscan.h"
#include "access/tableam.h"
#include "access/tsmapi.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "src/base/compat.h"
#include "scansample.h"

/* Which pages are sampled, and where the sample stands; tsm_state of the method. */
typedef struct Sample
{
	double		fraction;
	BlockNumber pages;			/* that were given out */
	OffsetNumber offset;		/* of the last row on the page */
} Sample;

/* NextSampleBlock: the page in the middle of each stretch of the table, all of one length. */
static BlockNumber
next_page(SampleScanState *state, BlockNumber npages)
{
	Sample	   *sample = state->tsm_state;
	double		page = (sample->pages++ + 0.5) / sample->fraction;

	sample->offset = InvalidOffsetNumber;
	return page < npages ? (BlockNumber) page : InvalidBlockNumber;
}

/* NextSampleTuple: all of a page. */
static OffsetNumber
next_row(SampleScanState *state, BlockNumber page, OffsetNumber last)
{
	Sample	   *sample = state->tsm_state;

	return sample->offset < last ? ++sample->offset : InvalidOffsetNumber;
}

/* Returns true if a scan returns the same rows whenever it is asked. */
static bool
is_repeatable(const Plan *plan)
{
	return !contain_volatile_functions((Node *) plan->qual) && !contain_subplans((Node *) plan->qual) &&
		!contain_volatile_functions((Node *) plan->targetlist) && !contain_subplans((Node *) plan->targetlist);
}

/* Returns a row as the scan does, of which the slot has the table's; NULL if it does not pass the conditions. */
static TupleTableSlot *
scanned_row(PlanState *child, TupleTableSlot *slot)
{
	ExprContext *context = child->ps_ExprContext;

	ResetExprContext(context);
	context->ecxt_scantuple = slot;
	if (!ExecQual(child->qual, context))
		return NULL;
	return child->ps_ProjInfo ? ExecProject(child->ps_ProjInfo) : slot;
}

/* Gives out a row.  What takes it may leak, into the context's memory. */
static void
give_out(TupleTableSlot *row, ExprContext *context, SampledRow take, void *arg)
{
	MemoryContext old;

	ResetExprContext(context);
	old = MemoryContextSwitchTo(context->ecxt_per_tuple_memory);
	take(arg, row);
	MemoryContextSwitchTo(old);
}

void
scansample_read(PlanState *child, double fraction, ExprContext *context, SampledRow take, void *arg)
{
	TsmRoutine	method = {.type = T_TsmRoutine, .NextSampleBlock = next_page, .NextSampleTuple = next_row};
	Sample		sample = {.fraction = fraction};
	SampleScanState state = {.tsmroutine = &method, .tsm_state = &sample};
	Relation	rel;
	TableScanDesc scan;
	TupleTableSlot *slot;

	if (!IsA(child, SeqScanState) || child->state->es_epq_active != NULL || !is_repeatable(child->plan))
		return;
	rel = ((SeqScanState *) child)->ss.ss_currentRelation;
	/* other methods may not read samples, or not without the rest of the state */
	if (rel->rd_tableam != GetHeapamTableAmRoutine())
		return;
	scan = rel->rd_tableam->scan_begin(rel, child->state->es_snapshot, 0, NULL, NULL,
									   SO_TYPE_SAMPLESCAN | SO_ALLOW_STRAT | SO_ALLOW_PAGEMODE);
	slot = table_slot_create(rel, NULL);
	while (table_scan_sample_next_block(scan, &state))
	{
		CHECK_FOR_INTERRUPTS();
		while (table_scan_sample_next_tuple(scan, &state, slot))
		{
			TupleTableSlot *row = scanned_row(child, slot);

			if (row)
				give_out(row, context, take, arg);
		}
	}
	ExecDropSingleTupleTableSlot(slot);
	table_endscan(scan);
}
