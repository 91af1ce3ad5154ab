/*
 * collect.c: the state of aggregates that need all values of a group.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/datum.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "collect.h"
#include "src/base/compat.h"
#include "src/keys/sortkey.h"

/* Bytes of a state.  The memory context rounds up to this in any case. */
#define STATE_BYTES(ncolumns) ((Size) ((ncolumns) == 1 ? 128 : 240))

/* Fraction of the limit for vectors, since a job over them also needs keys and row numbers. */
#define VECTORS_FRACTION 4

/* Returns the operator that sorts a type.  Raises PostgreSQL's errors if there is none, or none for this collation. */
static Oid
sort_operator(Oid type, Oid collation)
{
	TypeCacheEntry *entry = lookup_type_cache(type, TYPECACHE_LT_OPR);

	if (!OidIsValid(entry->lt_opr))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("could not identify an ordering operator for type %s", format_type_be(type)),
				 errhint("Only types with a default btree operator class can be ordered.")));
	if (OidIsValid(get_typcollation(type)) && !OidIsValid(collation))
		ereport(ERROR,
				(errcode(ERRCODE_INDETERMINATE_COLLATION),
				 errmsg("could not determine which collation to use for string comparison"),
				 errhint("Use the COLLATE clause to set the collation explicitly.")));
	return entry->lt_opr;
}

/* Returns the cheapest collation for equality: under deterministic ones, texts are equal if their bytes are. */
static Oid
equal_collation(Oid type, Oid collation)
{
	bool		by_bytes = OidIsValid(collation) && get_collation_isdeterministic(collation) &&
		lookup_type_cache(type, TYPECACHE_EQ_OPR)->eq_opr == TextEqualOperator;

	return by_bytes ? C_COLLATION_OID : collation;
}

/* Returns an aggregate's combine function. */
static Oid
combine_function(Oid aggregate)
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Oid			function;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	function = ((Form_pg_aggregate) GETSTRUCT(tuple))->aggcombinefn;
	ReleaseSysCache(tuple);
	return function;
}

/* Returns the type of an aggregate's argument.  For a combine function, looks at the call of its aggregate. */
static Oid
argument_type(FunctionCallInfo fcinfo, int argument)
{
	Oid			type = get_fn_expr_argtype(fcinfo->flinfo, 1 + argument);
	Aggref	   *aggref;

	if (OidIsValid(type) && type != INTERNALOID)
		return type;
	aggref = AggGetAggref(fcinfo);
	if (aggref == NULL || argument >= list_length(aggref->aggargtypes) ||
		combine_function(aggref->aggfnoid) != fcinfo->flinfo->fn_oid)
		elog(ERROR, "could not determine the type of an aggregate's argument");
	return list_nth_oid(aggref->aggargtypes, argument);
}

/* Initializes the state that a call's groups share, from its argument types. */
static CollectCall *
open_call(FunctionCallInfo fcinfo, int ncolumns, int key, bool may_spill, int flags)
{
	CollectCall *call = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(CollectCall));

	call->ncolumns = ncolumns;
	call->may_spill = may_spill;
	call->flags = flags;
	call->collation = PG_GET_COLLATION();
	for (int i = 0; i < ncolumns; i++)
	{
		/* the sort column comes first */
		int			argument = i == 0 ? key : (i <= key ? i - 1 : i);

		vector_type(&call->types[i], argument == 0 && (flags & COLLECT_DOUBLES) != 0 ? FLOAT8OID :
					argument_type(fcinfo, argument));
		call->types[i].limit /= VECTORS_FRACTION * ncolumns;
	}
	call->sortop = sort_operator(call->types[0].type, call->collation);
	equality_open(&call->equality, call->types[ncolumns - 1].type,
				  equal_collation(call->types[ncolumns - 1].type, call->collation));
	call->equal_collation = equal_collation(call->types[0].type, call->collation);
	smallorder_open(&call->small, call->sortop, call->collation, fcinfo->flinfo->fn_mcxt);
	smallorder_open(&call->small_equal, call->sortop, call->equal_collation, fcinfo->flinfo->fn_mcxt);
	fcinfo->flinfo->fn_extra = call;
	return call;
}

Collected *
collect_begin(FunctionCallInfo fcinfo, int ncolumns, int key, int flags)
{
	MemoryContext context;
	MemoryContext old;
	int			kind = AggCheckCallContext(fcinfo, &context);
	CollectCall *call = fcinfo->flinfo->fn_extra;
	Size		head = offsetof(Collected, columns) + ncolumns * sizeof(Vector);
	Size		room = TYPEALIGN_DOWN(MAXIMUM_ALIGNOF, (STATE_BYTES(ncolumns) - head) / ncolumns);
	Collected  *state;

	if (kind == 0)
		elog(ERROR, "aggregate function called in non-aggregate context");
	if (call == NULL)
		call = open_call(fcinfo, ncolumns, key, kind == AGG_CONTEXT_AGGREGATE, flags);
	old = MemoryContextSwitchTo(context);
	state = palloc(STATE_BYTES(ncolumns));
	state->call = call;
	state->spill = NULL;
	state->fraction = 0;
	for (int i = 0; i < ncolumns; i++)
		vector_init(&state->columns[i], &call->types[i], (char *) state + head + i * room, room);
	MemoryContextSwitchTo(old);
	return state;
}

/* Closes temporary files when the group is finished or the query ends early without an error. */
static void
end_spill(Datum argument)
{
	vectorsort_end((VectorSort *) DatumGetPointer(argument));
}

/* Moves the rows to a sort by the first column, which may write temporary files. */
static void
spill_rows(FunctionCallInfo fcinfo, Collected *state)
{
	MemoryContext old = MemoryContextSwitchTo(state->columns[0].context);
	const CollectCall *call = state->call;
	VectorColumn columns[COLLECT_MAX_COLUMNS];
	/* a sort that PostgreSQL may finish is not stable; that is more likely for keys without an exact encoding */
	bool		numbered = (call->flags & COLLECT_STABLE) != 0 && !sortkey_is_exact(call->sortop, call->collation);

	for (int i = 0; i < call->ncolumns; i++)
		columns[i] = collect_column(state, i);
	state->spill = vectorsort_begin(columns, call->ncolumns, &call->sortop, 1, numbered, true,
									4.0 * state->columns[0].rows);
	AggRegisterCallback(fcinfo, end_spill, PointerGetDatum(state->spill));
	vectorsort_put_vectors(state->spill, columns);
	for (int i = 0; i < call->ncolumns; i++)
		vector_free(&state->columns[i]);
	MemoryContextSwitchTo(old);
}

void
collect_put_slow(FunctionCallInfo fcinfo, Collected *state, const NullableDatum *row)
{
	int			ncolumns = state->call->ncolumns;

	if (state->spill == NULL)
	{
		int			done = 0;

		while (done < ncolumns && vector_append(&state->columns[done], row[done].value, row[done].isnull))
			done++;
		if (done == ncolumns)
			return;
		if (!state->call->may_spill)
			vector_limit_error(&state->columns[done]);
		while (done > 0)
			vector_drop_last(&state->columns[--done]);
		spill_rows(fcinfo, state);
	}
	vectorsort_put(state->spill, row);
}

double
collect_checked_fraction(Datum value)
{
	double		fraction = DatumGetFloat8(value);

	if (fraction < 0 || fraction > 1 || isnan(fraction))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("percentile value %g is not between 0 and 1", fraction)));
	return fraction;
}

void
collect_set_fraction(Collected *state, double fraction, bool first)
{
	if (first)
		state->fraction = fraction;
	else if (fraction != state->fraction && !(isnan(fraction) && isnan(state->fraction)))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("percentile value must be the same in all rows of a group"),
				 errdetail("It was %g and is %g.", state->fraction, fraction)));
}

uint64
collect_rows(const Collected *state)
{
	return state->spill ? state->spill->rows : state->columns[0].rows;
}

void
collect_distinct_begin(CollectDistinct *distinct, Collected *state)
{
	distinct->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort comparisons", ALLOCSET_SMALL_SIZES);
	distinct->any = false;
	distinct->read = 0;
	vectorsort_rewind(state->spill);
}

/* Compares two values.  Memory that the type's function leaks, for ranges a copy of each, is freed with scratch. */
static bool
equal_in(MemoryContext scratch, const Equality *equality, Datum a, Datum b)
{
	MemoryContext old = MemoryContextSwitchTo(scratch);
	bool		equal = equality_holds(equality, a, b);

	MemoryContextSwitchTo(old);
	MemoryContextReset(scratch);
	return equal;
}

bool
collect_distinct_next(CollectDistinct *distinct, Collected *state)
{
	const VectorType *vtype = &state->call->types[0];
	TupleTableSlot *slot;

	while (slot = vectorsort_next(state->spill), !TupIsNull(slot))
	{
		bool		isnull;
		Datum		value = slot_getattr(slot, 1, &isnull);

		distinct->read++;
		if (distinct->any && equal_in(distinct->scratch, &state->call->equality, distinct->last, value))
			continue;
		if (distinct->any && !vtype->byval)
			pfree(DatumGetPointer(distinct->last));
		distinct->last = datumCopy(value, vtype->byval, vtype->len);
		distinct->any = true;
		return true;
	}
	MemoryContextDelete(distinct->scratch);
	return false;
}

bool
collect_small_order(const Collected *state, uint32 order[COLLECT_SMALL])
{
	VectorColumn column = collect_column(state, 0);

	if (state->spill || column.values->rows > COLLECT_SMALL)
		return false;
	smallorder_of(&state->call->small, &column, order);
	return true;
}

/* Finds the runs among few rows in a known order. */
static uint64
small_runs(const Collected *state, const uint32 *order, gs_run *runs)
{
	const Vector *values = &state->columns[state->call->ncolumns - 1];
	uint64		count = 0;
	Datum		last = 0;
	bool		last_null = false;

	for (uint32 i = 0; i < values->rows; i++)
	{
		bool		isnull;
		Datum		value = vector_get(values, order[i], &isnull);

		if (count > 0 && isnull == last_null && (isnull || equality_holds(&state->call->equality, last, value)))
			runs[count - 1].length++;
		else
			runs[count++] = (gs_run) {order[i], 1};
		last = value;
		last_null = isnull;
	}
	return count;
}

void
collect_runs_begin(CollectRuns *found, const Collected *state, bool any_order)
{
	CollectCall *call = state->call;
	VectorColumn columns[COLLECT_MAX_COLUMNS];
	uint32		order[COLLECT_SMALL];

	for (int i = 0; i < call->ncolumns; i++)
		columns[i] = collect_column(state, i);
	if (any_order)
		columns[0] = collect_equal_column(state);
	found->mem = NULL;
	found->runs = found->small;
	if (columns[0].values->rows <= COLLECT_SMALL)
	{
		smallorder_of(any_order ? &call->small_equal : &call->small, &columns[0], order);
		found->count = small_runs(state, order, found->small);
		return;
	}
	found->mem = collect_begin_work();
	found->runs = vectorjob_runs(found->mem, columns, call->ncolumns, true, &found->count);
}

void
collect_runs_end(CollectRuns *found)
{
	if (found->mem)
		collect_end_work(found->mem);
}

VectorColumn
collect_equal_column(const Collected *state)
{
	VectorColumn result = {.values = &state->columns[0], .collation = state->call->equal_collation};

	return result;
}

VectorColumn
collect_column(const Collected *state, int column)
{
	VectorColumn result = {.values = &state->columns[column], .collation = state->call->collation};

	return result;
}

Collected *
collect_final(FunctionCallInfo fcinfo)
{
	Collected  *state = PG_ARGISNULL(0) ? NULL : (Collected *) PG_GETARG_POINTER(0);

	return state && collect_rows(state) > 0 ? state : NULL;
}

BigMem *
collect_begin_work(void)
{
	return bigmem_create(AllocSetContextCreate(CurrentMemoryContext, "gpusort aggregate", ALLOCSET_SMALL_SIZES));
}

void
collect_end_work(BigMem *mem)
{
	MemoryContextDelete(bigmem_context(mem));
}
