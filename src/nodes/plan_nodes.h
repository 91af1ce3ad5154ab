/*
 * plan_nodes.h: tools to put nodes into a finished plan.
 */
#ifndef GPUSORT_PLAN_NODES_H
#define GPUSORT_PLAN_NODES_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* Returns an id that no node of the statement has; workers find by it what belongs to a node. */
extern int	new_node_id(const PlannedStmt *stmt);

/* Gives a new node the costs and parameters of a plan, and an id. */
extern void fill_node(Plan *plan, const Plan *like, int id);

/* Makes a CustomScan with the costs and parameters of a plan, an id, and nothing else. */
extern CustomScan *make_custom_scan(const Plan *like, int id, const CustomScanMethods *methods);

/* A column that is another node's, by number. */
extern Expr *make_column(Index varno, AttrNumber attno, const Expr *like);

/* Returns a target list that passes each of the columns through; varno says from where. */
extern List *number_columns(const List *columns, Index varno);

/*
 * Returns a plan's target list with every column resolved down to the range table, as custom_scan_tlist wants it:
 * whoever looks a column up through plans or their states ends there.
 */
extern List *resolve_columns(const PlannedStmt *stmt, const Plan *plan);

/*
 * Appends the columns of a block, as one row for readers of VERBOSE output, to a node's scan columns, and returns the
 * target list entry that refers to it.  The value that travels is a bytea.
 */
extern TargetEntry *make_row_column(List **scan_columns, const List *attnos, int resno, const char *name);

/*
 * Returns true if every target passes on the column of the same number of the node below, whose expressions are given.
 * A constant may stand for a column that is that constant, and the first of two equal columns for the second.
 */
extern bool passes_through(const List *targets, const List *below);

#endif
