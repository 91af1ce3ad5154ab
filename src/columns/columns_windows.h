/*
 * columns_windows.h: functions over windows, as columns that WINDOW steps give.
 */
#ifndef GPUSORT_COLUMNS_WINDOWS_H
#define GPUSORT_COLUMNS_WINDOWS_H

#include "query_members.h"
#include "steps_writer.h"

/*
 * What a plan keeps of a WindowClause, as integers of a list: these, then two for each order: whether it descends,
 * whether NULLs are first.  Its keys, columns of the table, stand in a list of expressions: of all windows, one after
 * another, each first those of the partition.
 */
typedef enum WindowSpec
{
	WINDOW_REF,					/* winref */
	WINDOW_PARTITION,			/* number of keys */
	WINDOW_ORDERS,
	WINDOW_FRAME,				/* gs_frame; WINDOW_OTHER_FRAME: one that columns do not have */
	WINDOW_FROM,				/* of GS_FRAME_ROWS; INT_MIN: the first row */
	WINDOW_TO,					/* INT_MAX: the last row */
	WINDOW_NSPEC
} WindowSpec;

#define WINDOW_OTHER_FRAME (-1)

/* Adds the functions over windows that expressions have.  Returns NULL, or why columns do not answer one. */
extern const char *windows_add(ColumnsQuery *query, List *specs, List *keys, List *exprs);

/* Makes an average the last key, its number of values one behind all members.  Returns false if it is no average. */
extern bool windows_add_average(ColumnsQuery *query, const Expr *key);

/* Adds the number of the run that a row belongs to in the order of a gpu_rle. */
extern const char *windows_add_runs(ColumnsQuery *query, const Aggref *aggregate);

/* Returns the number of columns by which terms can be indexed. */
extern int	windows_all_columns(const ColumnsQuery *query);

/* Returns the number that a column has in the list of steps. */
extern uint32 windows_list_column(const ColumnsQuery *query, int column);

/* Writes the types of positions, and of the columns that windows give; returns the number of these. */
extern uint32 windows_put_types(const ColumnsQuery *query, uint8 *types);

/* Writes a WINDOW step for each window. */
extern void windows_put(StepsWriter *writer, const ColumnsQuery *query);

#endif
