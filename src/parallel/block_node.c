/*
 * block_node.c: Custom Scan (GpuSort) below a Gather Merge of blocks.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "src/core/node.h"
#include "block_node.h"
#include "blocks.h"

typedef struct BlockNode
{
	SortNode	sort;
	BlockWriter *writer;		/* NULL until the first block is requested */
} BlockNode;

/* Returns the next row for a block. */
static MinimalTuple
next_row(void *sorter)
{
	return sorter_next(sorter);
}

/* Opens the writer of the node's blocks. */
static BlockWriter *
open_writer(SortNode *sort)
{
	const CustomScan *scan = (const CustomScan *) sort->css.ss.ps.plan;
	bool		encoded = linitial_int(list_nth(scan->custom_private, PRIVATE_DETAILS)) != 0;

	return blockwriter_open(&sort->css.ss.ps, &sort->columns, encoded);
}

/* ExecCustomScan: returns the next block. */
static TupleTableSlot *
exec_node(CustomScanState *css)
{
	BlockNode  *node = (BlockNode *) css;

	CHECK_FOR_INTERRUPTS();
	if (node->sort.sorter == NULL)
		sortnode_load(&node->sort, sortnode_read_all);
	if (node->writer == NULL)
		node->writer = open_writer(&node->sort);
	return blockwriter_next(node->writer, next_row, node->sort.sorter);
}

/* Closes the writer, before the sort that owns the rows of its block ends. */
static void
drop_writer(BlockNode *node)
{
	ExecClearTuple(node->sort.css.ss.ps.ps_ResultTupleSlot);
	if (node->writer)
		blockwriter_close(node->writer);
	node->writer = NULL;
}

/* EndCustomScan */
static void
end_node(CustomScanState *css)
{
	drop_writer((BlockNode *) css);
	sortnode_end(css);
}

/* ReScanCustomScan */
static void
rescan_node(CustomScanState *css)
{
	drop_writer((BlockNode *) css);
	sortnode_rescan(css);
}

const OurNode block_node = {
	.scan = &gpusort_scan_methods,
	.variant = BLOCK_VARIANT,
	.exec = {
		.CustomName = GPUSORT_NODE_NAME,
		.BeginCustomScan = sortnode_begin,
		.ExecCustomScan = exec_node,
		.EndCustomScan = end_node,
		.ReScanCustomScan = rescan_node,
		.ExplainCustomScan = sortnode_explain,
	},
	.state_bytes = sizeof(BlockNode),
	.sorts = true,
	.limit = sortnode_limit,
};
