/*
 * engine_service.c: executes jobs in gpusortd, with chunks in a ring of shared memory and messages on a socket.  Keys
 * are written straight into a slot of the ring, which a message then hands to the service.  Results return through
 * areas of the ring and are copied before they are examined.  Any failure becomes a status, and the job starts again on
 * the CPU.  A cancelled query leaves by longjmp, and the memory context ends the job.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "portability/instr_time.h"
#include "utils/memutils.h"

#include "engine.h"
#include "src/base/guc.h"
#include "link_pool.h"
#include "trust.h"

/* Limits a chunk to this fraction of the memory limit, which is then checked often enough, and of a job's capacity. */
#define CHUNK_FRACTION 16
#define LEAST_CHUNK_ROWS 1024
#define BYTES_PER_STRING 32
/* The CPU engine's working memory per row, besides keys, which a replay on the CPU needs. */
#define REPLAY_WORK_BYTES 16
/* Fewer rows than this are not worth a job. */
#define LEAST_JOB_ROWS 4096

typedef struct ServiceJob
{
	EngineJob	base;
	MemoryContextCallback callback;
	ServiceLink *link;			/* NULL once released */
	gs_column_spec *columns;
	uint32		ncolumns;
	uint64		row_bytes;		/* of keys, without strings */
	uint32		chunk_rows;

	uint64		free_slots;		/* a bit per slot */
	int			slot;			/* being filled; -1: none */
	gs_chunk   *header;			/* header of that chunk until sent: private, as the service can write to the ring */
	uint64		rows;			/* rows sent */
	uint64		string_bytes;

	gs_op		op;
	uint64		limit;
	Size		result_bytes;	/* of a result element */
	Size		work_bytes;		/* per row of the CPU engine, besides keys */
	bool		finished;		/* all rows were sent */
	bool		sorted;
	bool		overflow;		/* a sum overflowed, which is a result and not a failure */
	gs_job_info info;
	gsd_result_part	parts[GSD_MAX_SLOTS];	/* received parts, oldest first */
	uint32		first_part;
	uint32		nparts;
	uint32		taken;			/* elements of the oldest part already returned */
	uint64		given;
} ServiceJob;

/* The reason of the last failure, more detailed than its status, until service_why has returned it. */
static EngineFailure last_failure;

/* Names of the devices that executed jobs.  They are kept forever, as EXPLAIN may refer to them. */
static char device_names[GSD_MAX_DEVICES][GSD_NAME_BYTES];

/* Records why a call fails and returns the status for it. */
static gs_status
failed(EngineFailure why)
{
	last_failure = why;
	switch (why)
	{
		case ENGINE_OK:
			return GS_OK;
		case ENGINE_TIMEOUT:
			return GS_TIMEOUT;
		case ENGINE_PROTOCOL:
			return GS_PROTOCOL;
		case ENGINE_NO_RING:
		case ENGINE_NO_QUOTA:
		case ENGINE_NO_FILE:
		case ENGINE_NO_MEMORY:
			return GS_NOMEM;
		case ENGINE_TOO_BIG:
			return GS_TOO_BIG;
		case ENGINE_WRONG_ORDER:
			return GS_WRONG_ORDER;
		case ENGINE_INVALID:
			return GS_INVALID;
		default:
			return GS_DEVICE;
	}
}

/* Returns the reason of a status, which came from this file or from a consumer of the result. */
static EngineFailure
service_why(gs_status status)
{
	EngineFailure why = last_failure;

	last_failure = ENGINE_OK;
	if (status == GS_WRONG_ORDER)
		return ENGINE_WRONG_ORDER;
	/* no call failed: out of the backend's own memory */
	if (status == GS_NOMEM && why == ENGINE_OK)
		return ENGINE_NO_MEMORY;
	return why != ENGINE_OK ? why : ENGINE_PROTOCOL;
}

/* Releases the link for the next job, also after an error.  The service understands the end of a job at any time. */
static void
give_link_back(void *arg)
{
	ServiceJob *job = arg;

	if (job->link)
		link_park(job->link);
	job->link = NULL;
}

/* Ends the job.  Discards whatever is still to come. */
static void
service_end(EngineJob *base)
{
	give_link_back(base);
}

/* Closes the link after a failure that leaves it in an unknown state. */
static gs_status
lost(ServiceJob *job, EngineFailure why)
{
	link_close(job->link);
	job->link = NULL;
	return failed(why);
}

/* Returns true if this can be the number of results. */
static bool
count_good(const ServiceJob *job, uint64 results)
{
	switch (job->op)
	{
		case GS_TOPK:
			return results == Min(job->limit, job->rows);
		case GS_SELECT:
		case GS_VALUES:
			return results <= job->rows;
		case GS_RUNS:
		case GS_REDUCE:
			return results <= job->rows && (results > 0) == (job->rows > 0);
		default:
			return results == job->rows;
	}
}

/* Handles a message for this job.  Checks all of its contents against what was sent. */
static EngineFailure
take_message(ServiceJob *job, const gsd_message *m)
{
	ServiceLink *link = job->link;

	if (m->job.job != link->job)
		return ENGINE_OK;		/* late message for an earlier job */
	switch (m->head.type)
	{
		case GSD_FREE:
			if (m->slot.slot >= link->layout.slots || (job->free_slots >> m->slot.slot & 1) ||
				(int) m->slot.slot == job->slot || job->sorted)
				return ENGINE_PROTOCOL;
			job->free_slots |= UINT64CONST(1) << m->slot.slot;
			if (m->slot.full)
				job->base.max_rows = Min(job->base.max_rows, job->rows);
			return ENGINE_OK;
		case GSD_SORTED:
			if (job->sorted || m->sorted.rows != job->rows || !count_good(job, m->sorted.results))
				return ENGINE_PROTOCOL;
			job->sorted = true;
			job->info.order = (gs_order_facts){m->sorted.key_bits, m->sorted.words, m->sorted.passes,
				m->sorted.refined, m->sorted.input};
			job->info.rows = m->sorted.rows;
			job->info.results = m->sorted.results;
			job->info.selected = m->sorted.selected;
			job->info.upload_bytes = m->sorted.upload_bytes;
			job->info.upload_ns = m->sorted.upload_ns;
			job->info.device_ns = m->sorted.device_ns;
			return ENGINE_OK;
		case GSD_PART:
			if (!job->sorted || m->part.area >= link->layout.areas || job->nparts >= link->layout.areas ||
				m->part.rows > link->layout.area_bytes / job->result_bytes)
				return ENGINE_PROTOCOL;
			job->parts[(job->first_part + job->nparts++) % GSD_MAX_SLOTS] = m->part;
			return ENGINE_OK;
		case GSD_FAILED:
			ereport(DEBUG1, (errmsg_internal("gpusort service: %s", m->result.text)));
			if (m->result.status == GS_OVERFLOW && job->op == GS_SCAN && job->finished && !job->sorted)
			{
				job->overflow = true;
				return ENGINE_OK;
			}
			return engine_failure_of((gs_status) m->result.status);
		default:
			return ENGINE_PROTOCOL;
	}
}

/* Handles all messages that have arrived.  With wait, waits for the first. */
static EngineFailure
take_messages(ServiceJob *job, bool wait, LinkWait what)
{
	gsd_message message;

	for (;;)
	{
		EngineFailure why = link_receive(job->link, &message, wait, what);

		if (why == ENGINE_OK && message.head.type == 0)
			return ENGINE_OK;
		if (why == ENGINE_OK)
			why = take_message(job, &message);
		if (why != ENGINE_OK)
			return why;
		wait = false;
	}
}

/* Waits for messages and adds the time to *waited. */
static EngineFailure
wait_messages(ServiceJob *job, LinkWait what, double *waited)
{
	instr_time	start;
	instr_time	end;
	EngineFailure why;

	INSTR_TIME_SET_CURRENT(start);
	why = take_messages(job, true, what);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	*waited += INSTR_TIME_GET_MILLISEC(end);
	return why;
}

/* Returns true if the job compares with a constant. */
static bool
filters(const gs_job_spec *spec)
{
	return spec->op == GS_SELECT || spec->op == GS_PARTITION;
}

/* Returns the bytes of a filter's constant, which follows the columns in GSD_BEGIN. */
static Size
constant_bytes(const gs_job_spec *spec)
{
	return filters(spec) && !spec->filter.by_flags ? spec->filter.value_bytes : 0;
}

/* Returns the bytes of the message that begins the job. */
static Size
begin_bytes(const gs_job_spec *spec)
{
	return sizeof(gsd_begin) + spec->ncolumns * sizeof(gsd_column) + constant_bytes(spec);
}

/* Sends GSD_BEGIN and handles the answer. */
static EngineFailure
begin(ServiceJob *job, const gs_job_spec *spec)
{
	ServiceLink *link = job->link;
	Size		constant = constant_bytes(spec);
	gsd_message message;
	EngineFailure why;

	gsd_head(&message.head, GSD_BEGIN, begin_bytes(spec));
	message.begin.job = ++link->job;
	message.begin.op = spec->op;
	message.begin.rows_hint = spec->rows_hint;
	message.begin.limit = spec->limit;
	message.begin.offset = spec->offset;
	message.begin.ncolumns = spec->ncolumns;
	message.begin.order_columns = spec->order_columns;
	message.begin.key_columns = spec->key_columns;
	message.begin.constant_bytes = constant;
	message.begin.operation = spec->operation;
	message.begin.exclusive = spec->exclusive;
	message.begin.by_flags = filters(spec) && spec->filter.by_flags;
	message.begin.avoid = trust_aside();
	message.begin.comparison = filters(spec) ? spec->filter.comparison : 0;
	if (constant > 0)
		memcpy(&message.begin.columns[spec->ncolumns], spec->filter.value, constant);
	for (uint32 i = 0; i < spec->ncolumns; i++)
		message.begin.columns[i] =
			(gsd_column){spec->columns[i].type, spec->columns[i].desc, spec->columns[i].nulls_first, 0};
	if (!link_send(link, &message.head, &why))
		return why;
	do
		why = link_receive(link, &message, true, LINK_WAIT_START);
	while (why == ENGINE_OK && message.job.job != link->job);
	if (why != ENGINE_OK)
		return why;
	if (message.head.type == GSD_FAILED)
	{
		gs_status	status = (gs_status) message.result.status;

		return status == GS_WRONG_ORDER ? ENGINE_SET_ASIDE : engine_failure_of(status);
	}
	if (message.head.type != GSD_BEGUN)
		return ENGINE_PROTOCOL;
	job->base.max_rows = Min(message.begun.max_rows, GS_MAX_ROWS);
	strlcpy(device_names[message.begun.device], message.begun.name, GSD_NAME_BYTES);
	job->base.name = device_names[message.begun.device];
	job->base.device = message.begun.device;
	return job->base.max_rows < LEAST_JOB_ROWS ? ENGINE_NO_MEMORY : ENGINE_OK;
}

/* Begins the job on a link.  If the service has just closed it for being idle, tries a new one. */
static EngineFailure
begin_on_link(ServiceJob *job, const gs_job_spec *spec)
{
	for (;;)
	{
		EngineFailure why;
		bool		reused;

		job->link = link_open(LINK_SORTS, gpusort_engine == ENGINE_CHOICE_GPU, &why);
		if (job->link == NULL)
			return why;
		reused = job->link->job > 0;
		why = begin(job, spec);
		if (why != ENGINE_LOST || !reused)
			return why;
		link_close(job->link);
		job->link = NULL;
	}
}

/* Returns the rows per chunk: those that fit a slot, within the memory limits. */
static uint32
full_chunk_rows(ServiceJob *job)
{
	Size		room = Min(gpusort_memory_limit() / CHUNK_FRACTION, job->link->layout.slot_bytes);
	uint32		rows = 64 * 1024 * 1024 / 64;

	rows = (uint32) Min((uint64) rows, job->base.max_rows / CHUNK_FRACTION / 64 * 64);
	while (rows > LEAST_CHUNK_ROWS && gs_chunk_bytes(job->columns, job->ncolumns, rows, BYTES_PER_STRING) > room)
		rows = rows / 2 / 64 * 64;
	return Max(rows, 64);
}

/* Takes a link and begins a job on it.  A refusal leaves the link usable; any other failure closes it. */
static gs_status
service_begin(const gs_job_spec *spec, BigMem *mem, EngineJob **result)
{
	MemoryContext cxt = bigmem_context(mem);
	ServiceJob *job;
	EngineFailure why = ENGINE_TOO_BIG;

	*result = NULL;
	if (begin_bytes(spec) > GSD_MAX_MESSAGE)
		return failed(why);
	job = MemoryContextAllocZero(cxt, sizeof(ServiceJob));
	job->columns = MemoryContextAlloc(cxt, spec->ncolumns * sizeof(gs_column_spec));
	memcpy(job->columns, spec->columns, spec->ncolumns * sizeof(gs_column_spec));
	job->ncolumns = spec->ncolumns;
	job->header = MemoryContextAlloc(cxt, gs_chunk_header_bytes(spec->ncolumns));
	for (uint32 i = 0; i < spec->ncolumns; i++)
		job->row_bytes += spec->columns[i].type == GS_BYTES ? sizeof(uint32) : gs_type_width(spec->columns[i].type);
	job->op = spec->op;
	job->limit = spec->limit;
	job->result_bytes = gs_job_result_bytes(spec);
	job->work_bytes = gs_job_work_bytes(spec);
	job->base.ops = &engine_service;
	job->slot = -1;
	job->callback.func = give_link_back;
	job->callback.arg = job;
	MemoryContextRegisterResetCallback(cxt, &job->callback);
	why = begin_on_link(job, spec);
	if (job->link == NULL)
		return failed(why);
	job->base.kind = job->link->gpu ? ENGINE_GPU : ENGINE_CPU_SERVICE;
	job->free_slots = (UINT64CONST(1) << job->link->layout.slots) - 1;
	if (why == ENGINE_NO_MEMORY || why == ENGINE_INVALID || why == ENGINE_TOO_BIG || why == ENGINE_SET_ASIDE)
	{
		service_end(&job->base);	/* the link is good; only this job is refused */
		return failed(why);
	}
	if (why != ENGINE_OK)
		return lost(job, why);
	job->chunk_rows = full_chunk_rows(job);
	*result = &job->base;
	return GS_OK;
}

/* Lays out a chunk in a free slot. */
static gs_status
service_chunk(EngineJob *base, Size heap_bytes, gs_chunk **header, char **memory)
{
	ServiceJob *job = (ServiceJob *) base;
	Size		slot_bytes = job->link->layout.slot_bytes;
	uint32		rows = job->chunk_rows;
	uint32		per_string = BYTES_PER_STRING;

	if (heap_bytes > (Size) rows * per_string)
	{
		rows = 64;
		per_string = (uint32) ((heap_bytes + rows - 1) / rows);
	}
	if (gs_chunk_bytes(job->columns, job->ncolumns, 64, per_string) > slot_bytes)
		return failed(ENGINE_TOO_BIG);
	while (job->slot < 0)
	{
		EngineFailure why;

		if (job->free_slots != 0)
		{
			job->slot = pg_rightmost_one_pos64(job->free_slots);
			job->free_slots &= ~(UINT64CONST(1) << job->slot);
			break;
		}
		why = wait_messages(job, LINK_WAIT_CHUNK, &job->base.wait_in_ms);
		if (why != ENGINE_OK)
			return lost(job, why);
	}
	*header = job->header;
	*memory = link_slot(job->link, job->slot);
	if (gs_chunk_layout(job->header, slot_bytes, job->columns, job->ncolumns, rows, per_string) != GS_OK)
		return failed(ENGINE_TOO_BIG);
	return GS_OK;
}

/* Sends the chunk and handles messages that have arrived. */
static gs_status
service_add(EngineJob *base)
{
	ServiceJob *job = (ServiceJob *) base;
	const gs_chunk *header = job->header;
	char	   *memory = link_slot(job->link, job->slot);
	gsd_slot	message;
	EngineFailure why;

	memcpy(memory, header, gs_chunk_header_bytes(job->ncolumns));

	gsd_head(&message.head, GSD_ADD, sizeof(message));
	message.job = job->link->job;
	message.slot = (uint32) job->slot;
	job->slot = -1;
	job->rows += header->rows;
	for (uint32 i = 0; i < job->ncolumns; i++)
		if (job->columns[i].type == GS_BYTES)
			job->string_bytes += ((const uint32 *) (memory + header->columns[i].values))[header->rows];
	if (link_send(job->link, &message.head, &why))
		why = take_messages(job, false, LINK_WAIT_CHUNK);
	return why == ENGINE_OK ? GS_OK : lost(job, why);
}

/* Ends the input and waits for the service to execute the job. */
static gs_status
service_finish(EngineJob *base, uint64 rows)
{
	ServiceJob *job = (ServiceJob *) base;
	gsd_count	message;
	EngineFailure why;

	gsd_head(&message.head, GSD_FINISH, sizeof(message));
	message.job = job->link->job;
	message.count = rows;
	/* a slot prepared for rows that did not come is free again */
	job->slot = -1;
	job->finished = true;
	if (link_send(job->link, &message.head, &why))
		while (why == ENGINE_OK && !job->sorted && !job->overflow)
			why = wait_messages(job, LINK_WAIT_SORT, &job->base.wait_sort_ms);
	if (why == ENGINE_OK)
		return job->overflow ? GS_OVERFLOW : GS_OK;
	return lost(job, why);
}

/* Returns an area to the service for more results. */
static bool
return_area(ServiceJob *job, uint32 area, EngineFailure *why)
{
	gsd_slot	message;

	gsd_head(&message.head, GSD_TAKEN, sizeof(message));
	message.job = job->link->job;
	message.slot = area;
	return link_send(job->link, &message.head, why);
}

/* Copies elements of the oldest part.  Returns its area when it is used up. */
static gs_status
service_next(EngineJob *base, void *out, uint64 room, uint64 *got)
{
	ServiceJob *job = (ServiceJob *) base;
	EngineFailure why = ENGINE_OK;
	gsd_result_part  *part;
	uint32		count;

	*got = 0;
	if (job->given == job->info.results)
		return GS_OK;
	while (job->nparts == 0)
	{
		why = wait_messages(job, LINK_WAIT_ORDER, &job->base.wait_out_ms);
		if (why != ENGINE_OK)
			return lost(job, why);
	}
	part = &job->parts[job->first_part];
	if (part->rows == 0 || part->rows > job->info.results - job->given + job->taken)
		return lost(job, ENGINE_PROTOCOL);	/* a premature end, or too many elements */
	count = (uint32) Min(room, (uint64) (part->rows - job->taken));
	memcpy(out, link_area(job->link, part->area) + job->taken * job->result_bytes, count * job->result_bytes);
	job->taken += count;
	job->given += count;
	*got = count;
	if (job->given == job->info.results)
		service_end(base);		/* complete: the link is free for another job */
	else if (job->taken == part->rows)
	{
		job->first_part = (job->first_part + 1) % GSD_MAX_SLOTS;
		job->nparts--;
		job->taken = 0;
		if (!return_area(job, part->area, &why))
			return lost(job, why);
	}
	return GS_OK;
}

/* Returns the memory for a replay on the CPU.  gpusort.pinned_memory accounts for the ring. */
static uint64
service_host_bytes(const EngineJob *base)
{
	const ServiceJob *job = (const ServiceJob *) base;

	return job->rows * (job->row_bytes + REPLAY_WORK_BYTES + job->work_bytes) + job->string_bytes;
}

/* Reports the service's statistics.  Without a device upload, counts the bytes that went through the ring. */
static void
service_info(const EngineJob *base, gs_job_info *info)
{
	const ServiceJob *job = (const ServiceJob *) base;

	*info = job->info;
	if (info->upload_bytes == 0)
		info->upload_bytes = job->rows * job->row_bytes + job->string_bytes;
}

const EngineOps engine_service = {
	.name = "GPU",
	.begin = service_begin,
	.chunk = service_chunk,
	.add = service_add,
	.finish = service_finish,
	.next = service_next,
	.host_bytes = service_host_bytes,
	.info = service_info,
	.end = service_end,
	.fallback = &engine_cpu,
	.why = service_why,
};
