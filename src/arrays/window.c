/*
 * window.c: gpu_run_id, which numbers runs of equal values.
 */
#include "postgres.h"

#include "nodes/supportnodes.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "windowapi.h"

#include "equality.h"
#include "src/base/compat.h"

/* State shared by all partitions. */
typedef struct RunIdCall
{
	Equality	equality;
	int16		len;
	bool		byval;
} RunIdCall;

/* State of one partition, initially zeros. */
typedef struct RunId
{
	int64		id;				/* of the run; 0 before the first row */
	Datum		head;			/* its value, a copy */
	bool		isnull;
} RunId;

PG_FUNCTION_INFO_V1(gpu_run_id);
PG_FUNCTION_INFO_V1(gpusort_run_id_support);

/* Looks up the type once. */
static RunIdCall *
get_call(FunctionCallInfo fcinfo)
{
	RunIdCall  *call = fcinfo->flinfo->fn_extra;
	Oid			type;

	if (call)
		return call;
	type = get_fn_expr_argtype(fcinfo->flinfo, 0);
	if (!OidIsValid(type))
		elog(ERROR, "could not determine the type of gpu_run_id's argument");
	call = MemoryContextAlloc(fcinfo->flinfo->fn_mcxt, sizeof(RunIdCall));
	equality_open(&call->equality, type, PG_GET_COLLATION());
	get_typlenbyval(type, &call->len, &call->byval);
	fcinfo->flinfo->fn_extra = call;
	return call;
}

/* Starts a run.  Copies its value, as the row is not kept. */
static void
begin_run(RunId *run, const RunIdCall *call, Datum value, bool isnull)
{
	MemoryContext old;

	if (!isnull && call->len == -1)
		value = PointerGetDatum(PG_DETOAST_DATUM_PACKED(value));
	old = MemoryContextSwitchTo(GetMemoryChunkContext(run));
	if (run->id > 0 && !run->isnull && !call->byval)
		pfree(DatumGetPointer(run->head));
	run->head = isnull ? (Datum) 0 : datumCopy(value, call->byval, call->len);
	run->isnull = isnull;
	run->id++;
	MemoryContextSwitchTo(old);
}

/* gpu_run_id(value) OVER (… ORDER BY …): numbers the partition's runs of equal values from 1.  NULL equals NULL. */
Datum
gpu_run_id(PG_FUNCTION_ARGS)
{
	WindowObject window = PG_WINDOW_OBJECT();
	RunIdCall  *call = get_call(fcinfo);
	RunId	   *run = WinGetPartitionLocalMemory(window, sizeof(RunId));
	bool		isnull;
	Datum		value = WinGetFuncArgCurrent(window, 0, &isnull);

	refuse_null_treatment(window, fcinfo);
	/* earlier rows are not needed again */
	WinSetMarkPosition(window, WinGetCurrentPosition(window));
	if (run->id == 0 || run->isnull != isnull || (!isnull && !equality_holds(&call->equality, run->head, value)))
		begin_run(run, call, value, isnull);
	PG_RETURN_INT64(run->id);
}

/* Tells the planner that the numbers never decrease, so that "WHERE run <= 3" can stop a scan. */
Datum
gpusort_run_id_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (!IsA(request, SupportRequestWFuncMonotonic))
		PG_RETURN_POINTER(NULL);
	((SupportRequestWFuncMonotonic *) request)->monotonic = MONOTONICFUNC_INCREASING;
	PG_RETURN_POINTER(request);
}
