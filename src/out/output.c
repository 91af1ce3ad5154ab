/*
 * output.c: where a query's result goes to the client, rows become messages here instead of in the server's receivers.
 *
 * Which queries: those that a portal runs as its one SELECT, and that of a COPY (query) TO STDOUT in text whose options
 * are all known.  All else (cursors' FETCH, RETURNING, EXPLAIN, functions) has other receivers, which stay.
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "commands/explain.h"
#include "executor/executor.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "tcop/dest.h"
#include "tcop/pquery.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"
#include "utils/portal.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/nodes/our_node.h"
#include "client.h"
#include "direct.h"
#include "output.h"
#include "receiver.h"
#include "values.h"

/* Of ProcessUtility and its hook. */
#define UTILITY_PARAMETERS \
	PlannedStmt *statement, const char *text, bool read_only, ProcessUtilityContext context, ParamListInfo params, \
	QueryEnvironment *environment, DestReceiver *dest, QueryCompletion *completion
#define UTILITY_ARGUMENTS	statement, text, read_only, context, params, environment, dest, completion

static ExecutorRun_hook_type prev_run;
static ProcessUtility_hook_type prev_utility;

/* printtup, by which its receivers are known: another extension's may have their own */
static bool (*printtup_receive) (TupleTableSlot *slot, DestReceiver *self);

/* Of the COPY (query) TO STDOUT that runs, for its query; NULL: none, or one that is left to the server. */
static const CopyOptions *copy_options;

/* Calls the next hook. */
static void
run_next(EXECUTOR_RUN_PARAMETERS)
{
	if (prev_run)
		prev_run(EXECUTOR_RUN_ARGUMENTS);
	else
		standard_ExecutorRun(EXECUTOR_RUN_ARGUMENTS);
}

/* Runs a query whose top node sends its rows itself. */
static void
run_directly(EXECUTOR_RUN_PARAMETERS)
{
	PG_TRY();
	{
		run_next(EXECUTOR_RUN_ARGUMENTS);
	}
	PG_CATCH();
	{
		direct_end(query);
		PG_RE_THROW();
	}
	PG_END_TRY();
	direct_end(query);
}

/* Does a query's result go to the client, as one that can be written here? */
static bool
goes_to_client(const QueryDesc *query)
{
	CommandDest dest = query->dest->mydest;

	if (dest != DestRemote && dest != DestRemoteExecute && dest != DestCopyOut)
		return false;
	if (!gpusort_output || !gpusort_enabled || whereToSendOutput != DestRemote || query->operation != CMD_SELECT)
		return false;
	if (dest == DestCopyOut)
		return copy_options != NULL;
	return query->dest->receiveSlot == printtup_receive && ActivePortal != NULL &&
		ActivePortal->queryDesc == query && ActivePortal->strategy == PORTAL_ONE_SELECT;
}

/*
 * ExecutorRun_hook.  After an error the receiver stays in a query that is never run again, and what it has allocated is
 * freed with the portal's memory.
 */
static void
run_query(EXECUTOR_RUN_PARAMETERS)
{
	bool		copies = query->dest->mydest == DestCopyOut;
	OutReceiver *receiver;

	if (!goes_to_client(query))
	{
		run_next(EXECUTOR_RUN_ARGUMENTS);
		return;
	}
	receiver = receiver_open(query, copies ? NULL : ActivePortal->formats, copies ? copy_options : NULL);
	if (count == 0 && ScanDirectionIsForward(direction) && direct_begin(query, receiver))
		run_directly(EXECUTOR_RUN_ARGUMENTS);
	else
		run_next(EXECUTOR_RUN_ARGUMENTS);
	receiver_close(receiver, query);
}

/* Takes an option of COPY; false: it is not known, or changes more than what stands between values. */
static bool
take_option(CopyOptions *options, DefElem *option)
{
	if (strcmp(option->defname, "format") == 0)
		return strcmp(defGetString(option), "text") == 0;
	if (strcmp(option->defname, "null") == 0)
	{
		options->null_text = defGetString(option);
		return true;
	}
	if (strcmp(option->defname, "delimiter") == 0)
	{
		const char *delimiter = defGetString(option);

		options->delimiter = delimiter[0];
		return strlen(delimiter) == 1 && strchr("\t,|;", delimiter[0]) != NULL;
	}
	return false;
}

/*
 * Fills in the options of a statement; false: it is not a COPY whose lines can be written here.  Options that the
 * server rejects make no query run.  Where an encoding's characters contain ASCII bytes, escapes depend on the
 * characters.
 */
static bool
read_options(CopyOptions *options, const Node *statement)
{
	const CopyStmt *copy = (const CopyStmt *) statement;
	ListCell   *lc;

	if (!gpusort_output || copy->is_from || copy->query == NULL || copy->filename != NULL || copy->is_program)
		return false;
	*options = (CopyOptions) {.delimiter = '\t', .null_text = "\\N", .encoding = pg_get_client_encoding()};
	if (PG_ENCODING_IS_CLIENT_ONLY(options->encoding))
		return false;
	foreach(lc, copy->options)
		if (!take_option(options, lfirst_node(DefElem, lc)))
			return false;
	return true;
}

/* Calls the next hook. */
static void
process_next(UTILITY_PARAMETERS)
{
	if (prev_utility)
		prev_utility(UTILITY_ARGUMENTS);
	else
		standard_ProcessUtility(UTILITY_ARGUMENTS);
}

/* Runs a statement with options for the queries in it. */
static void
process_with_options(const CopyOptions *options, UTILITY_PARAMETERS)
{
	const CopyOptions *outer = copy_options;

	copy_options = options;
	PG_TRY();
	{
		process_next(UTILITY_ARGUMENTS);
	}
	PG_FINALLY();
	{
		copy_options = outer;
	}
	PG_END_TRY();
}

/* ProcessUtility_hook: reads the options of a COPY by the client.  One in a function has none. */
static void
process_utility(UTILITY_PARAMETERS)
{
	CopyOptions options;

	if (likely(!IsA(statement->utilityStmt, CopyStmt)))
		process_next(UTILITY_ARGUMENTS);
	else if (context == PROCESS_UTILITY_TOPLEVEL && read_options(&options, statement->utilityStmt))
		process_with_options(&options, UTILITY_ARGUMENTS);
	else
		process_with_options(NULL, UTILITY_ARGUMENTS);
}

/* The columns of a plan that are written here, in text, and all that it returns. */
static int
own_columns(const Plan *plan, int *all)
{
	int			own = 0;
	ListCell   *lc;

	*all = 0;
	foreach(lc, plan->targetlist)
	{
		TargetEntry *entry = lfirst_node(TargetEntry, lc);
		Oid			function;
		bool		varlena;

		if (entry->resjunk)
			continue;
		getTypeOutputInfo(exprType((Node *) entry->expr), &function, &varlena);
		own += value_kind(function) != NULL;
		++*all;
	}
	return own;
}

void
explain_output(CustomScanState *css, ExplainState *es)
{
	const Plan *plan = css->ss.ps.plan;
	int			all;
	int			own;

	if (!es->verbose || !gpusort_output || !gpusort_enabled || es->pstmt->planTree != plan ||
		our_node(plan)->next_row == NULL)
		return;
	own = own_columns(plan, &all);
	ExplainPropertyText("Client Rows", psprintf("written from memory, %d of %d columns by gpusort", own, all), es);
}

void
gpusort_output_init(void)
{
	DestReceiver *printtup = CreateDestReceiver(DestRemote);

	printtup_receive = printtup->receiveSlot;
	printtup->rDestroy(printtup);
	client_init();
	prev_run = ExecutorRun_hook;
	ExecutorRun_hook = run_query;
	prev_utility = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
}
