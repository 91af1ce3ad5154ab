/*
 * progress.c: what running sorts tell of themselves; the function behind gpusort_progress.
 *
 * Every process has a few slots of its own in shared memory, which it alone writes, without a lock: a counter is odd
 * while it does.  Who reads a slot copies it, and again if the counter was odd or has moved.  A slot is given back with
 * the memory of its sort, and at an error, when that memory may stay until the transaction is rolled back, with the
 * sort's files.  Where the library was not preloaded there is no shared memory, and a session knows of its own sorts
 * only.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "catalog/pg_authid.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/shmem.h"
#include "utils/acl.h"
#include "utils/backend_status.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "src/compat.h"
#include "engine.h"
#include "progress.h"

PG_FUNCTION_INFO_V1(gpusort_progress_get);

/* What does not change while a sort runs. */
typedef struct ProgressSort
{
	int			pid;			/* 0: the slot is free */
	int			leader_pid;		/* of a parallel worker, else 0 */
	Oid			database;
	Oid			user;			/* who logged in: as in pg_stat_activity */
	uint64		query_id;
	instr_time	started;
} ProgressSort;

typedef struct ProgressSlot
{
	uint32		changes;		/* odd: it is being written */
	ProgressSort sort;
	ProgressFigures figures;
} ProgressSlot;

/* A writer that stands still in the midst of writing is passed over after so many looks. */
#define MOST_LOOKS 1000

static ProgressSlot *shared;	/* PROGRESS_SORTS of each process that has a session */
static ProgressSlot own[PROGRESS_SORTS];
static Progress *mine[PROGRESS_SORTS];	/* what the slots of this process belong to */

Size
progress_shared_bytes(void)
{
	return mul_size(mul_size(MaxBackends, PROGRESS_SORTS), sizeof(ProgressSlot));
}

void
progress_attach(void)
{
	bool		found;

	shared = ShmemInitStruct("gpusort progress", progress_shared_bytes(), &found);
	if (!found)
		memset(shared, 0, progress_shared_bytes());
}

/* This process's slots; NULL if it has none. */
static ProgressSlot *
my_slots(void)
{
	Size		number;

	if (shared == NULL)
		return own;
	number = MyProc - ProcGlobal->allProcs;
	return number < (Size) MaxBackends ? &shared[number * PROGRESS_SORTS] : NULL;
}

/* Begins and ends a change of a slot. */
static inline void
change(ProgressSlot *slot)
{
	pg_write_barrier();
	*(volatile uint32 *) &slot->changes += 1;
	pg_write_barrier();
}

/* Gives a sort's slot back. */
static void
forget(void *arg)
{
	Progress   *progress = arg;
	ProgressSlot *slot = progress->slot;

	if (slot == NULL)
		return;
	mine[slot - my_slots()] = NULL;
	progress->slot = NULL;
	change(slot);
	slot->sort.pid = 0;
	change(slot);
}

/* What belongs to the current resource owner is released: after an error its sorts have ended. */
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
	RegisterResourceReleaseCallback(forget_failed, NULL);
}

/* A free slot of this process, NULL if there is none. */
static ProgressSlot *
take_slot(Progress *progress)
{
	ProgressSlot *slots = my_slots();

	if (slots == NULL || MyBEEntry == NULL)
		return NULL;
	for (int i = 0; i < PROGRESS_SORTS; i++)
		if (mine[i] == NULL)
		{
			mine[i] = progress;
			return &slots[i];
		}
	return NULL;
}

void
progress_begin(Progress *progress, instr_time started, const ProgressFigures *figures)
{
	ProgressSlot *slot = take_slot(progress);

	progress->slot = slot;
	if (slot == NULL)
		return;
	change(slot);
	slot->sort = (ProgressSort) {
		.pid = MyProcPid,
		.leader_pid = IsParallelWorker() && MyProc->lockGroupLeader ? MyProc->lockGroupLeader->pid : 0,
		.database = MyDatabaseId,
		.user = MyBEEntry->st_userid,
		.query_id = (uint64) pgstat_get_my_query_id(),
		.started = started,
	};
	slot->figures = *figures;
	change(slot);
	progress->owner = CurrentResourceOwner;
	progress->forget.func = forget;
	progress->forget.arg = progress;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &progress->forget);
}

void
progress_tell(Progress *progress, const ProgressFigures *figures)
{
	ProgressSlot *slot = progress->slot;

	if (slot == NULL)
		return;
	change(slot);
	slot->figures = *figures;
	change(slot);
}

/* Copies a slot in which a sort is; false if there is none. */
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
			return copy->sort.pid != 0;
		CHECK_FOR_INTERRUPTS();
	}
	return false;
}

/* The time of an instant, from the clock that all processes share. */
static TimestampTz
time_of(instr_time then)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, then);
	return GetCurrentTimestamp() - (TimestampTz) INSTR_TIME_GET_MICROSEC(now);
}

#define PROGRESS_COLUMNS 13

/* The columns that not everybody may see. */
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
	values[6] = Int64GetDatum(figures->rows_expected);
	values[7] = Int64GetDatum(figures->memory_bytes);
	values[8] = Int64GetDatum(figures->disk_bytes);
	values[9] = Int32GetDatum(figures->runs);
	nulls[10] = figures->engine < 0;
	if (!nulls[10])
		values[10] = CStringGetTextDatum(figures->engine == PROGRESS_CORE ? "PostgreSQL" :
										 engine_kind_text((EngineKind) figures->engine));
	values[11] = Int32GetDatum(figures->workers);
	values[12] = TimestampTzGetDatum(time_of(slot->sort.started));
	nulls[5] = figures->rows < 0;
	nulls[6] = figures->rows_expected < 0;
	nulls[7] = figures->memory_bytes < 0;
	nulls[8] = figures->disk_bytes < 0;
	nulls[9] = figures->runs < 0;
	nulls[11] = figures->workers < 0;
}

/* One line of gpusort_progress: to others than the role itself and those who may read all statistics little of it. */
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

/* gpusort_progress: sorts that run now. */
Datum
gpusort_progress_get(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const ProgressSlot *slots = shared ? shared : own;
	int			count = shared ? MaxBackends * PROGRESS_SORTS : PROGRESS_SORTS;
	ProgressSlot slot;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; i < count; i++)
		if (slots[i].sort.pid != 0 && read_slot(&slots[i], &slot))
			put_sort(result, &slot);
	return (Datum) 0;
}
