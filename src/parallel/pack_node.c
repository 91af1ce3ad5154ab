/*
 * pack_node.c: Custom Scans (GpuPack) and (GpuUnpack), which send rows through a Gather in blocks.  Rows are returned
 * from where they lie: in a worker's queue, or in the memory of this process's GpuPack.  A block is valid until the
 * Gather is asked for the next one.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/extensible.h"

#include "src/base/compat.h"
#include "src/rows/minimal_row.h"
#include "src/core/node.h"
#include "blocks.h"
#include "pack_node.h"

typedef struct GpuPackState
{
	CustomScanState css;
	BlockWriter *writer;		/* NULL until the first block is requested */
	MinimalTuple row;			/* buffer for forming a row */
	Size		room;
} GpuPackState;

typedef struct GpuUnpackState
{
	CustomScanState css;
	const char *rows;			/* of the current block */
	const uint32 *offsets;		/* NULL if rows are bare */
	uint32		at;
	uint32		count;
	uint32		stride;
	MinimalTuple bare;			/* the header of bare rows, and room for one row */
	int64		blocks;			/* read so far, for EXPLAIN */
} GpuUnpackState;

/* BeginCustomScan of a GpuPack, and part of a GpuUnpack's */
static void
begin_node(CustomScanState *css, EState *estate, int eflags)
{
	eflags &= ~(EXEC_FLAG_REWIND | EXEC_FLAG_BACKWARD | EXEC_FLAG_MARK);
	outerPlanState(css) = ExecInitNode(outerPlan(css->ss.ps.plan), estate, eflags);
	ExecInitResultTupleSlotTL(&css->ss.ps, &TTSOpsMinimalTuple);
	css->ss.ps.ps_ProjInfo = NULL;
}

/* BeginCustomScan of a GpuUnpack */
static void
begin_unpack(CustomScanState *css, EState *estate, int eflags)
{
	begin_node(css, estate, eflags);
	((GpuUnpackState *) css)->bare = palloc0(ROW_HEADER_BYTES + BARE_BYTES);
}

/* Forms a row of a slot's values, in a buffer that the next row reuses. */
static MinimalTuple
form_row(GpuPackState *node, TupleTableSlot *slot)
{
	MinimalRow	form;

	slot_getallattrs(slot);
	form = minimal_row_of(slot);
	if (form.bytes > node->room)
	{
		if (node->row)
			pfree(node->row);
		node->row = NULL;
		node->room = 0;
		node->row = MemoryContextAlloc(node->css.ss.ps.state->es_query_cxt, form.bytes);
		node->room = form.bytes;
	}
	minimal_row_fill(&form, slot, node->row);
	return node->row;
}

/* Returns the next row for a block. */
static MinimalTuple
next_row(void *arg)
{
	GpuPackState *node = arg;
	TupleTableSlot *slot = ExecProcNode(outerPlanState(node));

	if (TupIsNull(slot))
		return NULL;
	if (TTS_IS_MINIMALTUPLE(slot) && ((MinimalTupleTableSlot *) slot)->mintuple != NULL)
		return ((MinimalTupleTableSlot *) slot)->mintuple;
	return form_row(node, slot);
}

/* ExecCustomScan of a GpuPack: returns the next block. */
static TupleTableSlot *
exec_pack(CustomScanState *css)
{
	static const SortColumns no_order = {0};
	GpuPackState *node = (GpuPackState *) css;

	CHECK_FOR_INTERRUPTS();
	if (node->writer == NULL)
		node->writer = blockwriter_open(&css->ss.ps, &no_order, false);
	return blockwriter_next(node->writer, next_row, node);
}

/* Drops the current block. */
static void
reset_pack(GpuPackState *node)
{
	ExecClearTuple(node->css.ss.ps.ps_ResultTupleSlot);
	if (node->writer)
		blockwriter_close(node->writer);
	node->writer = NULL;
}

/* EndCustomScan of a GpuPack */
static void
end_pack(CustomScanState *css)
{
	reset_pack((GpuPackState *) css);
	ExecEndNode(outerPlanState(css));
}

/* ReScanCustomScan of a GpuPack */
static void
rescan_pack(CustomScanState *css)
{
	reset_pack((GpuPackState *) css);
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

/* Reads the next block; returns false at the end. */
static bool
read_block(GpuUnpackState *node)
{
	TupleTableSlot *slot = ExecProcNode(outerPlanState(node));
	const BlockHeader *header;
	bool		isnull;

	node->at = node->count = 0;
	if (TupIsNull(slot))
		return false;
	header = block_header(slot_getattr(slot, 1, &isnull));
	if (header->keys != BLOCK_UNORDERED || header->rows == 0)
		elog(ERROR, "unexpected block of rows");
	node->count = header->rows;
	node->stride = header->stride;
	node->rows = (const char *) (header + 1);
	node->offsets = (const uint32 *) (node->rows + header->rows_bytes);
	if (header->stride > 0)
		memcpy(node->bare, &header->uniform, ROW_HEADER_BYTES);
	node->blocks++;
	return true;
}

/* ExecCustomScan of a GpuUnpack: returns the next row. */
static TupleTableSlot *
exec_unpack(CustomScanState *css)
{
	GpuUnpackState *node = (GpuUnpackState *) css;
	TupleTableSlot *slot = css->ss.ps.ps_ResultTupleSlot;
	MinimalTuple row = node->bare;

	if (unlikely(node->at == node->count))
	{
		/* reading may free the last row with its block */
		ExecClearTuple(slot);
		if (!read_block(node))
			return slot;
	}
	if (node->stride > 0)
		rowstore_copy_bare((char *) row + ROW_HEADER_BYTES, node->rows + (Size) node->at * node->stride, node->stride);
	else
		row = (MinimalTuple) (node->rows + node->offsets[node->at]);
	node->at++;
	return ExecStoreMinimalTuple(row, slot, false);
}

/* EndCustomScan of a GpuUnpack */
static void
end_unpack(CustomScanState *css)
{
	ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
	ExecEndNode(outerPlanState(css));
}

/* ReScanCustomScan of a GpuUnpack.  Like ExecReScanGather, leaves the child alone if its parameters have changed. */
static void
rescan_unpack(CustomScanState *css)
{
	GpuUnpackState *node = (GpuUnpackState *) css;

	ExecClearTuple(css->ss.ps.ps_ResultTupleSlot);
	node->at = node->count = 0;
	if (outerPlanState(css)->chgParam == NULL)
		ExecReScan(outerPlanState(css));
}

/* ExplainCustomScan of a GpuUnpack: reports the rows of the Gather below. */
static void
explain_unpack(CustomScanState *css, List *ancestors, ExplainState *es)
{
	(void) ancestors;
	if (es->analyze)
		ExplainPropertyInteger("Blocks", NULL, ((GpuUnpackState *) css)->blocks, es);
}

const CustomScanMethods gpupack_scan_methods = {
	.CustomName = GPUPACK_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gpupack_node = {
	.scan = &gpupack_scan_methods,
	.exec = {
		.CustomName = GPUPACK_NODE_NAME,
		.BeginCustomScan = begin_node,
		.ExecCustomScan = exec_pack,
		.EndCustomScan = end_pack,
		.ReScanCustomScan = rescan_pack,
	},
	.state_bytes = sizeof(GpuPackState),
};

const CustomScanMethods gpuunpack_scan_methods = {
	.CustomName = GPUUNPACK_NODE_NAME,
	.CreateCustomScanState = create_node_state,
};

const OurNode gpuunpack_node = {
	.scan = &gpuunpack_scan_methods,
	.exec = {
		.CustomName = GPUUNPACK_NODE_NAME,
		.BeginCustomScan = begin_unpack,
		.ExecCustomScan = exec_unpack,
		.EndCustomScan = end_unpack,
		.ReScanCustomScan = rescan_unpack,
		.ExplainCustomScan = explain_unpack,
	},
	.state_bytes = sizeof(GpuUnpackState),
};
