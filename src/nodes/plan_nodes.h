/*
 * plan_nodes.h: tools to put nodes into a finished plan.
 */
#ifndef GPUSORT_PLAN_NODES_H
#define GPUSORT_PLAN_NODES_H

#include "nodes/extensible.h"
#include "nodes/plannodes.h"

/* Returns a node id that is unused in the statement; workers find a node's shared state by its id. */
extern int	new_node_id(const PlannedStmt *stmt);

/* Gives a new node the costs and parameters of a plan, and an id. */
extern void fill_node(Plan *plan, const Plan *like, int id);

/* Makes a CustomScan with the costs and parameters of a plan, an id, and nothing else. */
extern CustomScan *make_custom_scan(const Plan *like, int id, const CustomScanMethods *methods);

/* Makes a CustomScan that takes the place of a plan, whose id, parameters, InitPlans, costs and columns it has. */
extern CustomScan *make_replacement(const PlannedStmt *stmt, const Plan *plan, const CustomScanMethods *methods);

/* Makes a CustomScan over a child, with a target list and scan columns, in a PlanCustomPath: costs are set there. */
extern CustomScan *make_scan_over(List *targets, List *columns, Plan *child, const CustomScanMethods *methods);

/* Makes a Var for a column of another node. */
extern Expr *make_column(int varno, AttrNumber attno, const Expr *like);

/* Returns a target list that passes all columns of a list through, without a projection; varno says from where. */
extern List *number_columns(const List *columns, int varno);

/* Returns the aggregate that has the result of an aggregate over a window if this is all rows. */
extern Aggref *aggregate_of_window(const WindowFunc *function);

/*
 * Returns a window function as a call without its window: from 18 on EXPLAIN finds windows only in their own nodes.  An
 * aggregate is one still, as EXPLAIN looks for one below a constructor of JSON.
 */
extern Node *make_window_call(const WindowFunc *function);

/* Mutator: has the window functions in an expression be such calls. */
extern Node *name_windows(Node *node, void *context);

/* Returns a plan's target list with columns resolved down to the range table, as custom_scan_tlist needs it. */
extern List *resolve_columns(const PlannedStmt *stmt, const Plan *plan);

/* Appends a block's column (EXPLAIN: a row of the sort's, in fact bytea) to scan columns; returns its target entry. */
extern TargetEntry *make_row_column(List **scan_columns, const List *attnos, int resno, const char *name);

/* Returns true if targets pass on below's columns unchanged, but for constants and equal columns in their place. */
extern bool passes_through(const List *targets, const List *below);

#endif
