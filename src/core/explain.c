/*
 * explain.c: what EXPLAIN shows of nodes that sort.  Sort Key and Sort Method read as for PostgreSQL's Sort.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "commands/explain.h"
#include "executor/instrument.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/ruleutils.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/engine/stat.h"
#include "explain.h"
#include "src/nodes/our_node.h"

void
explain_indent(ExplainState *es)
{
	appendStringInfoSpaces(es->str, es->indent * 2);
}

/* Appends what differs from a key's default order: collation, direction, operator, NULLs. */
static void
append_options(StringInfo out, Node *key, Oid sortop, Oid collation, bool nulls_first)
{
	Oid			type = exprType(key);
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_LT_OPR | TYPECACHE_GT_OPR);
	bool		reverse = false;

	if (OidIsValid(collation) && collation != get_typcollation(type))
	{
		char	   *name = get_collation_name(collation);

		if (name == NULL)
			elog(ERROR, "cache lookup failed for collation %u", collation);
		appendStringInfo(out, " COLLATE %s", quote_identifier(name));
	}
	if (sortop == entry->gt_opr)
	{
		appendStringInfoString(out, " DESC");
		reverse = true;
	}
	else if (sortop != entry->lt_opr)
	{
		char	   *name = get_opname(sortop);

		if (name == NULL)
			elog(ERROR, "cache lookup failed for operator %u", sortop);
		appendStringInfo(out, " USING %s", name);
		(void) get_equality_op_for_ordering_op(sortop, &reverse);
	}
	if (nulls_first && !reverse)
		appendStringInfoString(out, " NULLS FIRST");
	else if (!nulls_first && reverse)
		appendStringInfoString(out, " NULLS LAST");
}

/* Returns true if the child's target list has a column: not a GpuMerge's, nor one that plan_junk.c removed. */
static bool
shows_child(const CustomScan *scan, int attno)
{
	return our_node(&scan->scan.plan)->sorts && attno <= list_length(outerPlan(&scan->scan.plan)->targetlist);
}

char *
explain_column(CustomScanState *node, int attno, Node **expr, List *ancestors, ExplainState *es)
{
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	List	   *context = set_deparse_context_plan(es->deparse_cxt, (Plan *) plan, ancestors);
	bool		prefix = explain_rtable_size(es) > 1 || es->verbose;
	TargetEntry *target = get_tle_by_resno(plan->custom_scan_tlist, (AttrNumber) attno);

	if (target == NULL)
		elog(ERROR, "no tlist entry for key %d", attno);
	*expr = (Node *) target->expr;
	*expr = (Node *) makeVar(shows_child(plan, attno) ? OUTER_VAR : INDEX_VAR, attno, exprType(*expr),
							 exprTypmod(*expr), exprCollation(*expr), 0);
	return deparse_expression(*expr, context, prefix, true);
}

/* Returns a sort key's expression, as explain_column. */
static char *
key_text(CustomScanState *node, int key, Node **expr, List *ancestors, ExplainState *es)
{
	List	   *shown = list_nth(((CustomScan *) node->ss.ps.plan)->custom_private, PRIVATE_SHOWN);

	return explain_column(node, list_nth_int(shown, key), expr, ancestors, es);
}

void
explain_keys(CustomScanState *node, const SortColumns *columns, List *ancestors, ExplainState *es)
{
	List	   *keys = NIL;

	for (int i = 0; i < columns->nkeys; i++)
	{
		StringInfoData key;
		Node	   *expr;

		initStringInfo(&key);
		appendStringInfoString(&key, key_text(node, i, &expr, ancestors, es));
		append_options(&key, expr, columns->sortops[i], columns->collations[i],
					   columns->nulls_first[i]);
		keys = lappend(keys, key.data);
	}
	ExplainPropertyList("Sort Key", keys, es);
}

/* A number that EXPLAIN prints. */
typedef struct Figure
{
	const char *text;			/* how a line of text shows it, with one conversion of a double; NULL: not at all */
	const char *property;		/* its name and unit in other formats */
	const char *unit;
	double		value;
	int			digits;			/* behind the point, in other formats */
} Figure;

/* Prints figures, in a text as one line. */
static void
explain_figures(const Figure *figures, size_t count, ExplainState *es)
{
	bool		text = es->format == EXPLAIN_FORMAT_TEXT;

	if (text)
		explain_indent(es);
	for (size_t i = 0; i < count; i++)
		if (!text)
			ExplainPropertyFloat(figures[i].property, figures[i].unit, figures[i].value, figures[i].digits, es);
		else if (figures[i].text)
			appendStringInfo(es->str, figures[i].text, figures[i].value);
	if (text)
		appendStringInfoChar(es->str, '\n');
}

/* Prints the forms of keys that have no exact encoding, and what was left to comparisons. */
static void
explain_forms(CustomScanState *node, int nkeys, Sorter *sorter, const TiedStats *tied, List *ancestors,
			  ExplainState *es)
{
	Figure		figures[] = {
		{"Rows Compared: %.0f", "Rows Compared", NULL, (double) tied->compared, 0},
		{"  Tied Runs: %.0f", "Tied Runs", NULL, (double) tied->runs, 0},
		{"  Tied Rows: %.0f", "Tied Rows", NULL, (double) tied->rows, 0}};
	List	   *forms = NIL;
	Node	   *expr;

	for (int i = 0; i < nkeys; i++)
		if (sorter_key_form(sorter, i) != NULL)
			forms = lappend(forms, psprintf("%s: %s", key_text(node, i, &expr, ancestors, es),
											sorter_key_form(sorter, i)));
	if (forms == NIL)
		return;
	ExplainPropertyList("Key Forms", forms, es);
	if (tied->compared > 0)
		explain_figures(figures, lengthof(figures), es);
}

/* What a sort has taken. */
static SortSpace
sort_space(const SorterStats *stats)
{
	return (SortSpace) {.memory = (int64) (stats->memory_bytes + 1023) / 1024,
						.disk = (int64) (stats->disk_bytes + 1023) / 1024};
}

/* Prints method and space in PostgreSQL's words. */
static void
explain_method(const char *method, SortSpace space, ExplainState *es)
{
	const char *space_type = space.disk > 0 ? "Disk" : "Memory";
	int64		kilobytes = space.disk > 0 ? space.disk : space.memory;

	if (es->format == EXPLAIN_FORMAT_TEXT)
	{
		explain_indent(es);
		appendStringInfo(es->str, "Sort Method: %s", method);
		if (gpusort_explain_machine)
			appendStringInfo(es->str, "  %s: " INT64_FORMAT "kB", space_type, kilobytes);
		appendStringInfoChar(es->str, '\n');
		return;
	}
	ExplainPropertyText("Sort Method", method, es);
	if (gpusort_explain_machine)
	{
		ExplainPropertyInteger("Sort Space Used", "kB", kilobytes, es);
		ExplainPropertyText("Sort Space Type", space_type, es);
	}
}

/* What tuplesort or the engine did, in a few words. */
static const char *
method_name(const SorterStats *stats)
{
	if (stats->tuplesort)
		return stats->tuplesort;
	if (stats->runs > 0)
		return "external radix merge";
	/* the engine had nothing to sort by that it did not find in order */
	if (stats->tied.runs > 0 && stats->job.order.passes == 0)
		return "comparison";
	switch (stats->job.order.input)
	{
		case GS_ASCENDING:
			return "already ordered";
		case GS_DESCENDING:
			return "reversed";
		default:
			return stats->top ? "radix top-N" : "radix";
	}
}

/* Prints how wide the keys were and how many passes over the rows it took. */
static void
explain_work(const SorterStats *stats, ExplainState *es)
{
	const gs_order_facts *facts = &stats->job.order;
	bool		bits = facts->key_bits > 0 || stats->strings == 0;
	char	   *strings = psprintf("%s%%.0f string%s", bits ? " and " : "", stats->strings > 1 ? "s" : "");
	Figure		figures[] = {
		{bits ? "Keys: %.0f bits" : "Keys: ", "Key Bits", NULL, facts->key_bits, 0},
		{stats->strings > 0 ? strings : NULL, "Key Strings", NULL, stats->strings, 0},
		{NULL, "Key Words", NULL, facts->words, 0},
		{"  Passes: %.0f", "Passes", NULL, facts->passes, 0},
		{facts->refined > 0 ? "  Refined: %.0f" : NULL, "Refined", NULL, facts->refined, 0},
		{stats->runs > 0 ? "  Runs: %.0f" : NULL, "Runs", NULL, stats->runs, 0}};

	explain_figures(figures, lengthof(figures), es);
}

/* Why the service did not sort; on a machine without a usable GPU, what the service found there. */
static const char *
left_text(EngineFailure left)
{
	ServiceShared service = service_state();

	if (left == ENGINE_NO_DEVICE && gpusort_explain_machine && service.state == SERVICE_NO_DEVICE &&
		service.reason[0] != '\0')
		return pstrdup(service.reason);
	return engine_failure_text(left);
}

/* Prints which engine sorted: the device if explain_machine is on, else the kind. */
static void
explain_engine(const SorterStats *stats, ExplainState *es)
{
	const char *name = engine_kind_text(stats->kind);

	if (gpusort_explain_machine && stats->kind == ENGINE_GPU)
		name = stats->engine;
	ExplainPropertyText("Engine", name, es);
	if (stats->left != ENGINE_OK)
		ExplainPropertyText("Fallback", left_text(stats->left), es);
}

/* The percentage of the upload's time in which this process did not wait for it. */
static double
overlap(const SorterStages *stages)
{
	double		upload_ms = stages->upload_ns / 1e6;

	return upload_ms > 0 ? 100.0 * Max(0.0, 1.0 - stages->wait_in_ms / upload_ms) : 100.0;
}

/* Prints what went to the device and what that cost, per loop. */
static void
explain_transfer(const SorterStages *stages, double loops, ExplainState *es)
{
	double		kilobytes = (double) ((int64) (stages->upload_bytes / loops + 1023) / 1024);
	Figure		figures[] = {
		{"Transfer: %.0fkB", "Transfer", "kB", kilobytes, 0},
		{"  Overlap: %.0f%%", "Overlap", "%", overlap(stages), 1},
		{"  Waited: in %.1f ms", "Input Wait", "ms", stages->wait_in_ms / loops, 3},
		{"  sort %.1f ms", "Sort Wait", "ms", stages->wait_sort_ms / loops, 3},
		{"  out %.1f ms", "Output Wait", "ms", stages->wait_out_ms / loops, 3}};
	Figure		device = {"Device Time: %.3f ms", "Device Time", "ms", stages->device_ns / 1e6 / loops, 3};

	explain_figures(figures, lengthof(figures), es);
	explain_figures(&device, 1, es);
}

/* A node's loops in this process, without those of workers, and the milliseconds that they took if timed. */
static double
own_loops(PlanState *node, double *ms)
{
	double		loops;

	InstrEndLoop(node->instrument);
	loops = node->instrument->nloops;
	*ms = instrument_ms(node->instrument);
	for (int i = 0; node->worker_instrument && i < node->worker_instrument->num_workers; i++)
	{
		loops -= node->worker_instrument->instrument[i].nloops;
		*ms -= instrument_ms(&node->worker_instrument->instrument[i]);
	}
	return Max(loops, 1.0);
}

/* Prints how long the stages took, per loop.  Input and output are known only if the executor times every call. */
static void
explain_stages(const SorterStages *stages, PlanState *node, ExplainState *es)
{
	double		total_ms;
	double		child_ms;
	double		loops = own_loops(node, &total_ms);
	double		input_ms = stages->in_ms / loops;
	double		sort_ms = stages->sort_ms / loops;
	Figure		untimed[] = {
		{"Stages: child and in %.1f ms", "Child and In Time", "ms", input_ms, 3},
		{"  sort %.1f ms", "Sort Time", "ms", sort_ms, 3}};

	if (!es->timing || !instrument_timed(node->instrument))
	{
		explain_figures(untimed, lengthof(untimed), es);
		return;
	}
	/* clocks were read at different places: a difference may be just below zero */
	(void) own_loops(outerPlanState(node), &child_ms);
	child_ms = Min(child_ms / loops, input_ms);
	explain_figures((Figure[]) {
		{"Stages: child %.1f ms", "Child Time", "ms", child_ms, 3},
		{"  in %.1f ms", "In Time", "ms", input_ms - child_ms, 3},
		{"  sort %.1f ms", "Sort Time", "ms", sort_ms, 3},
		{"  out %.1f ms", "Out Time", "ms", Max(total_ms / loops - input_ms - sort_ms, 0.0), 3}}, 4, es);
}

/* What workers report for every node is instrumentation: two counts of filtered rows, of which a sort has none. */
void
explain_report_space(PlanState *node, Sorter *sorter, SortSpace *reported)
{
	SortSpace	space;

	if (!IsParallelWorker() || node->instrument == NULL)
		return;
	space = sort_space(sorter_stats(sorter));
	node->instrument->nfiltered1 += Max(space.memory - reported->memory, 0);
	node->instrument->nfiltered2 += Max(space.disk - reported->disk, 0);
	reported->memory = Max(space.memory, reported->memory);
	reported->disk = Max(space.disk, reported->disk);
}

/* Prints the most memory or disk space that a worker's sort took, on average per loop. */
static void
explain_workers(const PlanState *node, ExplainState *es)
{
	double		memory = 0;
	double		disk = 0;
	bool		some = false;

	for (int i = 0; node->worker_instrument && i < node->worker_instrument->num_workers; i++)
	{
		double		loops = node->worker_instrument->instrument[i].nloops;

		if (loops <= 0)
			continue;
		some = true;
		memory = Max(memory, node->worker_instrument->instrument[i].nfiltered1 / loops);
		disk = Max(disk, node->worker_instrument->instrument[i].nfiltered2 / loops);
	}
	if (!some || !gpusort_explain_machine)
		return;
	if (disk > 0)
		ExplainPropertyInteger("Worker Disk", "kB", (int64) disk, es);
	else
		ExplainPropertyInteger("Worker Memory", "kB", (int64) memory, es);
}

/* Prints the memory limit that would have avoided runs on disk, rounded up to two digits. */
static void
explain_wanted(uint64 bytes, ExplainState *es)
{
	uint64		megabytes = bytes / (1024 * 1024) + 1;
	uint64		unit = 1;
	char	   *setting;

	while (megabytes / unit >= 100)
		unit *= 10;
	megabytes = (megabytes + unit - 1) / unit * unit;
	if (megabytes > MAX_KILOBYTES / 1024)
		return;
	setting = psprintf("gpusort.work_mem = '" UINT64_FORMAT "MB'", megabytes);
	ExplainPropertyText("In Memory With", setting, es);
}

/* Prints what depends on the machine. */
static void
explain_machine(const SorterStats *stats, const SorterStages *before, PlanState *node, ExplainState *es)
{
	SorterStages stages = *before;
	double		ms;

	sorter_add_stages(&stages, &stats->stages);
	if (stats->wanted_bytes > 0)
		explain_wanted(stats->wanted_bytes, es);
	if (node->instrument && stages.upload_bytes > 0)
		explain_transfer(&stages, own_loops(node, &ms), es);
	if (node->instrument)
		explain_stages(&stages, node, es);
}

void
explain_sort(CustomScanState *node, const SortColumns *columns, Sorter *sorter, const SorterStages *before,
			 List *ancestors, ExplainState *es)
{
	const SorterStats *stats = sorter ? sorter_stats(sorter) : NULL;

	explain_keys(node, columns, ancestors, es);
	/* a plan made earlier may be run after gpusort was switched off */
	if (!es->analyze && !gpusort_enabled)
		ExplainPropertyText("Fallback", sorter_fallback_text(SORTER_DISABLED), es);
	if (!es->analyze)
		return;
	if (stats)
		explain_method(method_name(stats), sort_space(stats), es);
	explain_workers(&node->ss.ps, es);
	if (stats == NULL)
		return;
	if (stats->tuplesort)
	{
		ExplainPropertyText("Engine", "PostgreSQL", es);
		ExplainPropertyText("Fallback", sorter_fallback_text(stats->fallback), es);
		return;
	}
	explain_engine(stats, es);
	explain_work(stats, es);
	explain_forms(node, columns->nkeys, sorter, &stats->tied, ancestors, es);
	if (gpusort_explain_machine)
		explain_machine(stats, before, &node->ss.ps, es);
}
