/*
 * columns_explain.c: what EXPLAIN shows of a GpuColumns node.
 */
#include "postgres.h"

#include "commands/explain.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/core/explain.h"
#include "src/engine/engine.h"
#include "src/nodes/plan_nodes.h"
#include "columns_node.h"

/* Has a value of another node be a number: from 17 on PostgreSQL looks for that node in the plan, and here is none. */
static Node *
name_parameter(Param *from)
{
	Param	   *parameter = copyObject(from);

	parameter->paramkind = PARAM_EXTERN;
	return (Node *) parameter;
}

/* Mutator: has columns of a subquery's table be those of the only one, and window functions be without windows. */
static Node *
name_columns(Node *node, void *context)
{
	Var		   *var;

	if (node == NULL)
		return NULL;
	if (IsA(node, WindowFunc))
		node = make_window_call((const WindowFunc *) node);
	if (IsA(node, Param))
		return name_parameter((Param *) node);
	if (!IsA(node, Var))
		return expression_tree_mutator(node, name_columns, context);
	var = copyObject((Var *) node);
	var->varno = 1;
	var->varnosyn = 0;
	return (Node *) var;
}

/* Appends the keys of a window behind some words. */
static void
append_keys(const GpuColumnsState *node, const QueryOrder *keys, int count, const char *words, StringInfo text)
{
	for (int i = 0; i < count; i++)
	{
		AttrNumber	number = node->query->columns[keys[i].member].number;

		appendStringInfo(text, "%s%s%s%s", i > 0 ? ", " : words,
						 quote_identifier(get_attname(RelationGetRelid(node->table), number, false)),
						 keys[i].descending ? " DESC" : "",
						 keys[i].nulls_first == keys[i].descending ? "" : keys[i].nulls_first ? " NULLS FIRST" :
						 " NULLS LAST");
	}
}

/* Prints the partitions of windows, and the orders of their rows. */
static void
explain_windows(GpuColumnsState *node, ExplainState *es)
{
	List	   *texts = NIL;

	if (node->query == NULL && columns_translate(node) != NULL)
		return;
	for (int i = 0; i < node->query->nwindows; i++)
	{
		const QueryWindow *window = &node->query->windows[i];
		StringInfoData text;

		initStringInfo(&text);
		append_keys(node, window->keys, window->npartition, "PARTITION BY ", &text);
		append_keys(node, window->keys + window->npartition, window->norders,
					window->npartition > 0 ? " ORDER BY " : "ORDER BY ", &text);
		if (window->positions)
			appendStringInfoString(&text, window->npartition > 0 ? " ORDER BY ctid" : "ORDER BY ctid");
		texts = lappend(texts, psprintf("(%s)", text.data));
	}
	if (texts != NIL)
		ExplainPropertyList("Windows", texts, es);
}

/* Prints expressions: ANDed, or one behind another. */
static void
explain_expressions(GpuColumnsState *node, const char *label, List *list, bool anded, List *ancestors, ExplainState *es)
{
	List	   *context;
	List	   *texts = NIL;
	bool		prefix = !node->opened && (explain_rtable_size(es) > 1 || es->verbose);
	ListCell   *lc;

	if (list == NIL)
		return;
	context = node->opened ?
		deparse_context_for(RelationGetRelationName(node->table), RelationGetRelid(node->table)) :
		set_deparse_context_plan(es->deparse_cxt, node->css.ss.ps.plan, ancestors);
	if (node->opened)
		list = (List *) name_columns((Node *) list, NULL);
	else
		list = (List *) name_windows((Node *) list, NULL);
	if (anded)
		list = list_make1(make_ands_explicit(list));
	foreach(lc, list)
		texts = lappend(texts, deparse_expression(lfirst(lc), context, prefix, false));
	if (anded)
		ExplainPropertyText(label, linitial(texts), es);
	else
		ExplainPropertyList(label, texts, es);
}

/* Prints how many groups LIMIT and OFFSET want, as a number if that is known. */
static void
explain_top(GpuColumnsState *node, List *ancestors, ExplainState *es)
{
	int64		wanted = 0;
	ListCell   *lc;

	foreach(lc, node->parts.limits)
	{
		const Const *limit = lfirst(lc);

		if (!IsA(limit, Const) || limit->constisnull)
		{
			explain_expressions(node, "Top", node->parts.limits, false, ancestors, es);
			return;
		}
		wanted += DatumGetInt64(limit->constvalue);
	}
	if (node->parts.limits != NIL)
		ExplainPropertyInteger("Top", NULL, wanted, es);
}

/* Prints the order of rows. */
static void
explain_order(GpuColumnsState *node, List *ancestors, ExplainState *es)
{
	List	   *context = set_deparse_context_plan(es->deparse_cxt, node->css.ss.ps.plan, ancestors);
	bool		prefix = explain_rtable_size(es) > 1 || es->verbose;
	List	   *texts = NIL;
	ListCell   *lc;

	foreach(lc, node->parts.sorted)
	{
		bool		descending = list_nth_int(node->parts.orders, 3 * foreach_current_index(lc) + 1) != 0;
		bool		nulls_first = list_nth_int(node->parts.orders, 3 * foreach_current_index(lc) + 2) != 0;

		texts = lappend(texts, psprintf("%s%s%s", deparse_expression(lfirst(lc), context, prefix, false),
										descending ? " DESC" : "",
										nulls_first == descending ? "" : nulls_first ? " NULLS FIRST" :
										" NULLS LAST"));
	}
	if (texts != NIL)
		ExplainPropertyList("Order", texts, es);
}

/* Prints where pages came from, on average per scan, in a text as one line. */
static void
explain_pages(const GpuColumnsState *node, ExplainState *es)
{
	const ColumnsFigures *figures = &node->figures;
	int64		scans = (int64) node->scans;
	int64		pages = (int64) figures->pages / scans;
	int64		young = (int64) figures->young / scans;
	int64		table = (int64) figures->table_pages / scans;
	int64		undecided = (int64) figures->undecided / scans;

	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyInteger("Pages From Columns", NULL, pages, es);
		ExplainPropertyInteger("Young Pages", NULL, young, es);
		ExplainPropertyInteger("Pages From Table", NULL, table, es);
		ExplainPropertyInteger("Undecided Pages", NULL, undecided, es);
		return;
	}
	explain_indent(es);
	appendStringInfo(es->str, "Pages: " INT64_FORMAT " from columns", pages);
	if (young > 0)
		appendStringInfo(es->str, " (" INT64_FORMAT " young)", young);
	appendStringInfo(es->str, ", " INT64_FORMAT " from the table", table);
	if (table > 0)
		appendStringInfo(es->str, " (" INT64_FORMAT " changed, " INT64_FORMAT " undecided)", table - undecided,
						 undecided);
	appendStringInfoChar(es->str, '\n');
}

/* Prints how many strings of dictionaries occur, where the service was asked, on average per scan. */
static void
explain_strings(const GpuColumnsState *node, ExplainState *es)
{
	int64		strings = (int64) (node->figures.strings / node->scans);
	int64		occurring = (int64) (node->figures.occurring / node->scans);

	if (strings == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
		ExplainPropertyText("Strings", psprintf(INT64_FORMAT " of " INT64_FORMAT " occur", occurring, strings), es);
	else
	{
		ExplainPropertyInteger("Strings", NULL, strings, es);
		ExplainPropertyInteger("Strings Occurring", NULL, occurring, es);
	}
}

/* Prints how long the stages took, on average per scan. */
static void
explain_stages(const GpuColumnsState *node, ExplainState *es)
{
	const ColumnsFigures *figures = &node->figures;
	double		scans = (double) node->scans;

	if (es->format != EXPLAIN_FORMAT_TEXT)
	{
		ExplainPropertyFloat("Prove Time", "ms", figures->prove_ms / scans, 3, es);
		ExplainPropertyFloat("Heap Time", "ms", figures->heap_ms / scans, 3, es);
		ExplainPropertyFloat("Engine Time", "ms", figures->engine_ms / scans, 3, es);
		return;
	}
	explain_indent(es);
	appendStringInfo(es->str, "Stages: prove %.1f ms  heap %.1f ms  engine %.1f ms\n", figures->prove_ms / scans,
					 figures->heap_ms / scans, figures->engine_ms / scans);
}

void
columns_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	GpuColumnsState *node = (GpuColumnsState *) css;

	explain_expressions(node, "Column Filter", node->parts.conditions, true, ancestors, es);
	explain_windows(node, es);
	explain_expressions(node, "Window Filter", node->parts.above, true, ancestors, es);
	explain_expressions(node, node->repeated ? "Window Rows" : "Group Key", node->parts.keys, false, ancestors, es);
	explain_expressions(node, "Group Filter", node->parts.having, true, ancestors, es);
	explain_top(node, ancestors, es);
	explain_order(node, ancestors, es);
	if (!es->analyze)
		return;
	if (node->scans > 0)
	{
		explain_pages(node, es);
		ExplainPropertyText("Engine", node->figures.copied ?
							psprintf("CPU, columns copied from %s", node->figures.device) : node->figures.device, es);
		if (node->parts.rows || node->repeated)
			ExplainPropertyInteger("Rows", NULL, (int64) (node->ngroups / node->scans), es);
		else if (node->parts.keys != NIL)
			ExplainPropertyInteger("Groups", NULL, (int64) (node->ngroups / node->scans), es);
		explain_strings(node, es);
		if (gpusort_explain_machine)
			explain_stages(node, es);
	}
	if (node->why != NULL)
		ExplainPropertyText("Columns", psprintf("not used (%s)", node->why), es);
}
