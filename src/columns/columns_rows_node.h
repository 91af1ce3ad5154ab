/*
 * columns_rows_node.h: Custom Scan (GpuColumns) that finds rows of a table by its resident columns.
 */
#ifndef GPUSORT_COLUMNS_ROWS_NODE_H
#define GPUSORT_COLUMNS_ROWS_NODE_H

#include "columns_node.h"

#define COLUMNS_ROWS_VARIANT "rows"

/* The members of a plan's custom_private, before its variant.  Its expressions are the conditions, then the order. */
typedef enum ColumnsRowsPrivate
{
	COLUMNS_ROWS_CONDITIONS,	/* int list: how many */
	COLUMNS_ROWS_ORDERS			/* int list: ColumnsParts' */
} ColumnsRowsPrivate;

extern const OurNode columns_rows_node;

#endif
