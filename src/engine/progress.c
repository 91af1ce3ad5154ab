/*
 * progress.c: progress of running sorts, and the function behind gpusort_progress.  Every process has a few slots in
 * shared memory, which only it writes, without a lock.  A slot's change counter is odd while it is written; a reader
 * copies the slot, and repeats if the counter was odd or has changed.  A slot is released with the memory context of
 * its sort, or after an error by a resource owner callback.  If the library was not preloaded there is no shared
 * memory, and a session sees only its own sorts.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "src/base/compat.h"
#include "src/base/shared_struct.h"
#include "engine.h"
#include "progress.h"

PG_FUNCTION_INFO_V1(gpusort_progress_get);

/* A reader skips a slot whose writer has stalled for this many attempts. */
#define MOST_LOOKS 1000

static SharedStruct shared = {
	.name = "gpusort progress",
	.bytes = PROGRESS_SORTS * sizeof(ProgressSlot),
	.by_backend = true,
};
static ProgressSlot own[PROGRESS_SORTS];
static ProgressSlot *slots;		/* of this process, found when a sort first needs one */
static Progress *mine[PROGRESS_SORTS];	/* the owners of these slots */

/* Finds this process's slots and fills in the members common to all its sorts.  Returns false if it has none. */
static pg_noinline bool
find_slots(void)
{
	ProgressSlot *found = own;

	if (MyBEEntry == NULL)
		return false;
	if (shared.place)
	{
		Size		number = MyProc - ProcGlobal->allProcs;

		if (number >= (Size) MaxBackends)
			return false;
		found = (ProgressSlot *) shared.place + number * PROGRESS_SORTS;
	}
	for (int i = 0; i < PROGRESS_SORTS; i++)
	{
		progress_begin_change(&found[i]);
		found[i].taken = false;
		found[i].sort = (ProgressSort) {
			.pid = MyProcPid,
			.leader_pid = IsParallelWorker() && MyProc->lockGroupLeader ? MyProc->lockGroupLeader->pid : 0,
			.database = MyDatabaseId,
			.user = MyBEEntry->st_userid,
		};
		progress_end_change(&found[i]);
	}
	slots = found;
	return true;
}

/* Releases a sort's slot. */
static void
forget(void *arg)
{
	Progress   *progress = arg;

	if (progress->slot == NULL)
		return;
	*progress->place = NULL;
	progress_begin_change(progress->slot);
	progress->slot->taken = false;
	progress_end_change(progress->slot);
	progress->slot = NULL;
}

/* Releases the slots of the current resource owner: an error has ended their sorts. */
static void
forget_failed(ResourceReleasePhase phase, bool commit, bool top, void *arg)
{
	if (commit || phase != RESOURCE_RELEASE_BEFORE_LOCKS)
		return;
	for (int i = 0; i < PROGRESS_SORTS; i++)
		if (mine[i] != NULL && mine[i]->owner == CurrentResourceOwner)
			forget(mine[i]);
}

void
progress_init(void)
{
	shared_struct_init(&shared);
	RegisterResourceReleaseCallback(forget_failed, NULL);
}

ProgressSlot *
progress_begin(Progress *progress, instr_time started)
{
	Progress  **place = mine;
	ProgressSlot *slot;

	progress->slot = NULL;
	if (unlikely(slots == NULL) && !find_slots())
		return NULL;
	while (unlikely(*place != NULL))
		if (++place == mine + PROGRESS_SORTS)
			return NULL;
	*place = progress;
	progress->place = place;
	slot = &slots[place - mine];
	progress->slot = slot;
	progress_begin_change(slot);
	slot->taken = true;
	slot->sort.started = started;
	slot->sort.query_id = (uint64) pgstat_get_my_query_id();
	progress->owner = CurrentResourceOwner;
	progress->forget.func = forget;
	progress->forget.arg = progress;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &progress->forget);
	return slot;
}

/* Copies a slot.  Returns false if it is unused. */
static bool
read_slot(const ProgressSlot *slot, ProgressSlot *copy)
{
	for (int look = 0; look < MOST_LOOKS; look++)
	{
		uint32		before = *(const volatile uint32 *) &slot->changes;

		pg_read_barrier();
		*copy = *slot;
		pg_read_barrier();
		if (before % 2 == 0 && before == *(const volatile uint32 *) &slot->changes)
			return copy->taken;
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/* Converts an instr_time, whose clock all processes share, to a timestamp. */
static TimestampTz
time_of(instr_time then)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, then);
	return GetCurrentTimestamp() - (TimestampTz) INSTR_TIME_GET_MICROSEC(now);
}

#define PROGRESS_COLUMNS 12

/* Fills in the columns with restricted visibility. */
static void
describe(const ProgressSlot *slot, Datum *values, bool *nulls)
{
	static const char *const phases[] = {"reading", "ordering", "writing runs", "merging", "giving rows out"};
	const ProgressFigures *figures = &slot->figures;

	nulls[2] = slot->sort.leader_pid == 0;
	values[2] = Int32GetDatum(slot->sort.leader_pid);
	nulls[3] = slot->sort.query_id == 0;
	values[3] = Int64GetDatum((int64) slot->sort.query_id);
	values[4] = CStringGetTextDatum(phases[figures->phase]);
	values[5] = Int64GetDatum(figures->rows);
	nulls[6] = figures->rows_expected < 0;
	values[6] = Int64GetDatum(figures->rows_expected);
	nulls[7] = nulls[8] = nulls[9] = figures->engine == PROGRESS_CORE;
	values[7] = Int64GetDatum(figures->memory_bytes);
	values[8] = Int64GetDatum(figures->disk_bytes);
	values[9] = Int32GetDatum(figures->runs);
	values[10] = CStringGetTextDatum(figures->engine == PROGRESS_CORE ? "PostgreSQL" :
									 engine_kind_text((EngineKind) figures->engine));
	values[11] = TimestampTzGetDatum(time_of(slot->sort.started));
}

/* Emits a row of gpusort_progress, with few columns for anyone but the role itself and members of pg_read_all_stats. */
static void
put_sort(ReturnSetInfo *result, const ProgressSlot *slot)
{
	Datum		values[PROGRESS_COLUMNS] = {0};
	bool		nulls[PROGRESS_COLUMNS];

	memset(nulls, true, sizeof(nulls));
	nulls[0] = nulls[1] = false;
	values[0] = Int32GetDatum(slot->sort.pid);
	values[1] = ObjectIdGetDatum(slot->sort.database);
	if (has_privs_of_role(GetUserId(), ROLE_PG_READ_ALL_STATS) || has_privs_of_role(GetUserId(), slot->sort.user))
	{
		memset(nulls, false, sizeof(nulls));
		describe(slot, values, nulls);
	}
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

/* gpusort_progress: lists the sorts that are running. */
Datum
gpusort_progress_get(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const ProgressSlot *all = shared.place ? shared.place : own;
	int			count = shared.place ? MaxBackends * PROGRESS_SORTS : PROGRESS_SORTS;
	ProgressSlot slot;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < count; i++)
		if (all[i].taken && read_slot(&all[i], &slot))
			put_sort(result, &slot);
	return (Datum) 0;
}
