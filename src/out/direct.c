/*
 * direct.c: the node at the top of a plan sends its rows itself, as messages, without a slot for each.
 *
 * The executor asks the node for its first row, and is told that there is none: by then all rows have been sent, and
 * counted as the executor counts them.  Only the node's own method is exchanged, which nobody but the server calls.
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"

#include "src/nodes/our_node.h"
#include "client.h"
#include "direct.h"

/* The query that runs so; there is one client, so there is one at most. */
static struct
{
	OutReceiver *receiver;		/* NULL: none */
	MinimalTuple (*next_row) (CustomScanState *state);
	const CustomExecMethods *own;	/* the node's methods */
	CustomExecMethods methods;	/* instead of them */
} direct;

/* Sends a row that has to be taken apart. */
static void
send_slot(CustomScanState *css, MinimalTuple row)
{
	TupleTableSlot *slot = ExecStoreMinimalTuple(row, css->ss.ps.ps_ResultTupleSlot, false);

	if (css->ss.ps.state->es_junkFilter)
		slot = ExecFilterJunk(css->ss.ps.state->es_junkFilter, slot);
	receiver_leave(direct.receiver, slot);
	ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
}

/* ExecCustomScan: sends all rows. */
static TupleTableSlot *
send_rows(CustomScanState *css)
{
	MinimalTuple row;

	while ((row = direct.next_row(css)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (unlikely(!receiver_take(direct.receiver, HEADER_OF_MINIMAL(row))))
			send_slot(css, row);
		css->ss.ps.state->es_processed++;
	}
	return ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
}

/* Are the columns that a query returns the first ones of its rows, in their order? */
static bool
returns_first_columns(const JunkFilter *junk)
{
	if (junk == NULL)
		return true;
	for (int i = 0; i < junk->jf_cleanTupType->natts; i++)
		if (junk->jf_cleanMap[i] != i + 1)
			return false;
	return true;
}

bool
direct_begin(QueryDesc *query, OutReceiver *receiver)
{
	PlanState  *top = query->planstate;
	const OurNode *node = our_node(top->plan);
	const int	backward = EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK;

	if (node == NULL || node->next_row == NULL || direct.receiver != NULL || top->instrument != NULL ||
		(query->estate->es_top_eflags & backward) != 0 || !returns_first_columns(query->estate->es_junkFilter) ||
		!receiver_hold(receiver, query->tupDesc))
		return false;
	direct.receiver = receiver;
	direct.next_row = node->next_row;
	direct.own = ((CustomScanState *) top)->methods;
	direct.methods = *direct.own;
	direct.methods.ExecCustomScan = send_rows;
	((CustomScanState *) top)->methods = &direct.methods;
	return true;
}

void
direct_end(QueryDesc *query)
{
	((CustomScanState *) query->planstate)->methods = direct.own;
	direct.receiver = NULL;
	client_release();
}
