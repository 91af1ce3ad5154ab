/*
 * string_workers.c: parallel workers that call a function for the strings of a dictionary.
 *
 * Workers and the leader take chunks of codes in turn.  A worker maps the dictionary itself, and leaves its results in
 * shared memory.  What it has not answered, for any reason, the leader does when all have ended: only that knows the
 * strings of rows that are added to the question.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "port/pg_bitutils.h"
#include "storage/lwlock.h"
#include "utils/datum.h"
#include "utils/dsa.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "string_workers.h"

/* Entries of the segment's table of contents. */
#define KEY_SHARED		UINT64CONST(0x6770750000000011)
#define KEY_ARGUMENTS	UINT64CONST(0x6770750000000012)
#define KEY_AREA		UINT64CONST(0x6770750000000013)
#define KEY_POSSIBLE	UINT64CONST(0x6770750000000014)

/* Strings that are taken at a time, and those that pay for a worker's start: 0.1 s of regular expressions. */
#define CHUNK_STRINGS 1024
#define WORKER_STRINGS (8 * CHUNK_STRINGS)

/* The first part of the memory that results lie in. */
#define AREA_BYTES ((Size) 256 * 1024)

/* What all participants see. */
typedef struct Shared
{
	uint64		table;			/* of the dictionary */
	uint32		column;
	uint32		count;			/* strings that workers know */
	uint32		nchunks;
	Oid			type;			/* base type of the strings */
	int32		typmod;
	Oid			function;
	Oid			collation;
	int			nargs;
	bool		text;			/* results are texts */
	pg_atomic_uint32 next;		/* chunk */
	dsa_pointer results[FLEXIBLE_ARRAY_MEMBER]; /* by chunk; InvalidDsaPointer: there are none */
} Shared;

PGDLLEXPORT void gpusort_strings_worker(dsm_segment *segment, shm_toc *toc);

/* Returns where the codes of a chunk end. */
static uint32
chunk_end(const Shared *shared, uint32 chunk)
{
	return Min((chunk + 1) * CHUNK_STRINGS, shared->count);
}

/* ---------------------------------------------------------------- arguments */

/* Writes the arguments behind the string, or, where there is no room, counts their bytes. */
static Size
write_arguments(const StringsJob *job, char *to)
{
	Size		bytes = 0;

	for (int i = 1; i < list_length(job->of->expr->args); i++)
	{
		Oid			type = exprType(list_nth(job->of->expr->args, i));
		Datum		value = job->call->arguments->args[i].value;
		int16		length;
		bool		by_value;

		get_typlenbyval(type, &length, &by_value);
		bytes += datumEstimateSpace(value, false, by_value, length);
		if (to != NULL)
			datumSerialize(value, false, by_value, length, &to);
	}
	return bytes;
}

/* Makes a worker's call. */
static void
begin_call(const Shared *shared, char *arguments, StringCall *call)
{
	fmgr_info(shared->function, &call->function);
	call->arguments = palloc0(SizeForFunctionCallInfo(QUERY_MAX_ARGUMENTS));
	InitFunctionCallInfoData(*call->arguments, &call->function, (short) shared->nargs, shared->collation, NULL, NULL);
	for (int i = 1; i < shared->nargs; i++)
		call->arguments->args[i].value = datumRestore(&arguments, &call->arguments->args[i].isnull);
}

/* ---------------------------------------------------------------- workers */

/* Appends the result for a code.  Returns false if the leader has to call. */
static bool
append_result(const Shared *shared, const StringCodes *codes, StringCall *call, uint32 code, StringInfo out)
{
	Datum		string,
				result;
	const char *text;
	uint32		number;

	if (!codes_datum(codes, shared->type, shared->typmod, code, &string) || string_call(call, string, &result) != NULL)
		return false;
	if (!shared->text)
	{
		number = (uint32) DatumGetInt32(result);
		appendBinaryStringInfo(out, (const char *) &number, sizeof(number));
		return true;
	}
	(void) string_of_datum(TEXTOID, -1, DatumGetPointer(result), &text, &number);
	appendBinaryStringInfo(out, (const char *) &number, sizeof(number));
	appendBinaryStringInfo(out, text, (int) number);
	return true;
}

/* Calls for the strings of a chunk that are possible.  Returns false if the leader has to. */
static bool
call_for_chunk(const Shared *shared, const StringCodes *codes, StringCall *call, uint32 chunk, StringInfo out)
{
	for (uint32 code = chunk * CHUNK_STRINGS; code < chunk_end(shared, chunk); code++)
		if (codes_possible(codes, code) && !append_result(shared, codes, call, code, out))
			return false;
	return true;
}

/* Calls for chunks until there are no more. */
static void
work(Shared *shared, dsa_area *area, const StringCodes *codes, StringCall *call)
{
	MemoryContext datums = AllocSetContextCreate(CurrentMemoryContext, "gpusort strings", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(datums);
	uint32		chunk;

	while ((chunk = pg_atomic_fetch_add_u32(&shared->next, 1)) < shared->nchunks)
	{
		StringInfoData out;

		CHECK_FOR_INTERRUPTS();
		MemoryContextReset(datums);
		initStringInfo(&out);
		if (call_for_chunk(shared, codes, call, chunk, &out))
			shared->results[chunk] = dsa_allocate_extended(area, (Size) Max(out.len, 1),
														   DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
		if (DsaPointerIsValid(shared->results[chunk]))
			memcpy(dsa_get_address(area, shared->results[chunk]), out.data, (Size) out.len);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(datums);
}

/* A parallel worker. */
void
gpusort_strings_worker(dsm_segment *segment, shm_toc *toc)
{
	Shared	   *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	DictionaryMaps maps = {0};
	DictionaryFile *file;
	dsa_area   *area;
	EngineFailure failure;
	ServiceLink *link = store_open(&failure);
	StringCodes codes;
	StringCall	call;

	if (link == NULL)
		return;
	file = dictionary_map(&maps, link, shared->table, shared->column, &failure);
	store_close(link);
	if (file == NULL || dictionary_count(file) < shared->count)
		return;
	area = dsa_attach_in_place(shm_toc_lookup(toc, KEY_AREA, false), segment);
	codes_begin(&codes, file, GS_U32, 0, false);
	codes.possible = shm_toc_lookup(toc, KEY_POSSIBLE, false);
	codes.npossible = shared->count;
	begin_call(shared, shm_toc_lookup(toc, KEY_ARGUMENTS, false), &call);
	work(shared, area, &codes, &call);
	dsa_detach(area);
}

/* ---------------------------------------------------------------- the leader */

/* Returns the bytes of a bit for each string that workers know. */
static Size
possible_bytes(const StringsJob *job)
{
	return ((Size) job->codes->limit + 63) / 64 * sizeof(uint64);
}

/* Returns how many workers to ask for. */
static int
wanted_workers(const StringsJob *job)
{
	uint32		strings = job->codes->limit;

	if (IsParallelWorker())
		return 0;
	if (job->codes->possible != NULL)
		strings = (uint32) pg_popcount((const char *) job->codes->possible, (int) possible_bytes(job));
	return (int) Min((uint32) max_parallel_workers_per_gather, strings / WORKER_STRINGS);
}

/* Returns what all participants see. */
static Shared *
describe(const StringsJob *job, ParallelContext *pcxt)
{
	uint32		nchunks = (job->codes->limit + CHUNK_STRINGS - 1) / CHUNK_STRINGS;
	Shared	   *shared = shm_toc_allocate(pcxt->toc, offsetof(Shared, results) + sizeof(dsa_pointer) * nchunks);
	char	   *arguments = shm_toc_allocate(pcxt->toc, write_arguments(job, NULL) + 1);
	char	   *possible = shm_toc_allocate(pcxt->toc, possible_bytes(job));

	*shared = (Shared) {.count = job->codes->limit, .nchunks = nchunks, .type = getBaseType(job->column->type),
	.typmod = job->column->typmod, .function = job->of->expr->funcid, .collation = job->of->expr->inputcollid,
	.nargs = list_length(job->of->expr->args), .text = job->of->expr->funcresulttype == TEXTOID};
	dictionary_place(job->codes->file, &shared->table, &shared->column);
	pg_atomic_init_u32(&shared->next, 0);
	for (uint32 i = 0; i < nchunks; i++)
		shared->results[i] = InvalidDsaPointer;
	(void) write_arguments(job, arguments);
	memcpy(possible, strings_possible(job->codes), possible_bytes(job));
	shm_toc_insert(pcxt->toc, KEY_SHARED, shared);
	shm_toc_insert(pcxt->toc, KEY_ARGUMENTS, arguments);
	shm_toc_insert(pcxt->toc, KEY_POSSIBLE, possible);
	return shared;
}

/* Makes the segment.  Returns the area of results, or NULL: there is no shared memory. */
static dsa_area *
make_segment(const StringsJob *job, ParallelContext *pcxt, Shared **shared)
{
	uint32		nchunks = (job->codes->limit + CHUNK_STRINGS - 1) / CHUNK_STRINGS;
	dsa_area   *area;
	void	   *place;

	shm_toc_estimate_chunk(&pcxt->estimator, offsetof(Shared, results) + sizeof(dsa_pointer) * nchunks);
	shm_toc_estimate_chunk(&pcxt->estimator, write_arguments(job, NULL) + 1);
	shm_toc_estimate_chunk(&pcxt->estimator, possible_bytes(job));
	shm_toc_estimate_chunk(&pcxt->estimator, AREA_BYTES);
	shm_toc_estimate_keys(&pcxt->estimator, 4);
	InitializeParallelDSM(pcxt);
	if (pcxt->seg == NULL)
		return NULL;
	*shared = describe(job, pcxt);
	place = shm_toc_allocate(pcxt->toc, AREA_BYTES);
	shm_toc_insert(pcxt->toc, KEY_AREA, place);
	area = dsa_create_in_place(place, AREA_BYTES, LWTRANCHE_PARALLEL_QUERY_DSA, pcxt->seg);
	dsa_set_size_limit(area, Max(gpusort_memory_limit(), AREA_BYTES));
	return area;
}

/* Takes a worker's results for a chunk. */
static void
take(const StringsJob *job, const Shared *shared, uint32 chunk, const char *results)
{
	for (uint32 code = chunk * CHUNK_STRINGS; code < chunk_end(shared, chunk); code++)
	{
		uint32		number;

		if (!codes_possible(job->codes, code))
			continue;
		memcpy(&number, results, sizeof(number));
		results += sizeof(number);
		job->there(job->arg, code, shared->text ? results : NULL, number);
		if (shared->text)
			results += number;
	}
}

/* Calls for chunks beside the workers, takes their results, and calls for what is left. */
static void
lead(const StringsJob *job, ParallelContext *pcxt, Shared *shared, dsa_area *area)
{
	bool	   *done = palloc0_array(bool, shared->nchunks);
	uint32		chunk;

	LaunchParallelWorkers(pcxt);
	while ((chunk = pg_atomic_fetch_add_u32(&shared->next, 1)) < shared->nchunks)
	{
		job->here(job->arg, chunk * CHUNK_STRINGS, chunk_end(shared, chunk));
		done[chunk] = true;
	}
	WaitForParallelWorkersToFinish(pcxt);
	for (chunk = 0; chunk < shared->nchunks; chunk++)
	{
		CHECK_FOR_INTERRUPTS();
		if (DsaPointerIsValid(shared->results[chunk]))
			take(job, shared, chunk, dsa_get_address(area, shared->results[chunk]));
		else if (!done[chunk])
			job->here(job->arg, chunk * CHUNK_STRINGS, chunk_end(shared, chunk));
	}
	job->here(job->arg, shared->count, job->codes->limit + job->codes->count);
}

void
string_workers_call(const StringsJob *job)
{
	int			workers = wanted_workers(job);
	ParallelContext *volatile pcxt = NULL;
	dsa_area   *volatile area = NULL;

	if (workers == 0)
	{
		job->here(job->arg, 0, job->codes->limit + job->codes->count);
		return;
	}
	EnterParallelMode();
	PG_TRY();
	{
		Shared	   *shared = NULL;

		pcxt = CreateParallelContext("gpusort", "gpusort_strings_worker", workers);
		area = make_segment(job, pcxt, &shared);
		if (area != NULL)
			lead(job, pcxt, shared, area);
		else
			job->here(job->arg, 0, job->codes->limit + job->codes->count);
	}
	PG_FINALLY();
	{
		if (area != NULL)
			dsa_detach(area);
		if (pcxt != NULL)
			DestroyParallelContext(pcxt);
		ExitParallelMode();
	}
	PG_END_TRY();
}
