/*
 * job.c: the job of a connection: its device memory, its chunks, its result.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "client.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Minimal rows of a reservation, and device memory per row besides the key. */
#define LEAST_ROWS 8192
#define WORK_BYTES 24
#define STRING_GUESS 32

#define BUSY_NS 1000000000u
#define LOOK_NS 20000000u

/* Records progress, or that no work is inside the engine. */
void
gsd_set_busy(connection *c, bool busy)
{
	atomic_store(&c->base->busy_since, busy ? gsd_now_ns() : 0);
}

/* The engine's poll: records progress, stops if the client is gone or done, sends GSD_BUSY to a waiting one. */
int
gsd_poll_client(void *arg)
{
	connection *c = arg;
	uint64_t now = gsd_now_ns();
	struct pollfd fd = {.fd = c->base->socket, .events = POLLRDHUP};
	gsd_header head;

	atomic_store(&c->base->busy_since, now);
	if (now - c->looked_ns < LOOK_NS)
		return 0;
	c->looked_ns = now;
	if (poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR)))
		return 1;
	if (recv(fd.fd, &head, sizeof(head), MSG_PEEK | MSG_DONTWAIT) == (ssize_t) sizeof(head) && head.type == GSD_END)
		return 1;
	if (now - c->busy_sent_ns > BUSY_NS)
	{
		gsd_job_message m;

		gsd_head(&m.head, GSD_BUSY, sizeof(m));
		m.job = c->number;
		(void) gsd_send(fd.fd, &m.head, -1);
		c->busy_sent_ns = now;
	}
	return 0;
}

/* Ends the engine's job, if any. */
static void
end_job(connection *c)
{
	gsd_set_busy(c, true);
	gs_job_end(c->job);
	c->job = NULL;
	gsd_set_busy(c, false);
}

/* Releases everything the job holds. */
void
gsd_job_drop(connection *c)
{
	end_job(c);
	if (c->dev != NULL)
		gsd_device_give_back(c->dev, c->reserved);
	c->dev = NULL;
	c->reserved = 0;
	c->state = NO_JOB;
}

void
gsd_device_judge(connection *c, device *dev, gs_status status)
{
	if (status != GS_DEVICE || dev == NULL)
		return;
	gsd_set_busy(c, true);
	if (!gsd_device_alive(dev))
	{
		gsd_log("WARNING", "device %u failed: ending", dev->number);
		(void) unlink(options.socket);
		_exit(GSD_EXIT_DEVICE);
	}
	gsd_set_busy(c, false);
}

/* Reports a failed job to the client, and judges the device. */
static void
fail_job(connection *c, gs_status status, const char *text)
{
	device *dev = c->dev;

	end_job(c);
	c->state = OVER;
	if (status == GS_CANCELLED)
		return;
	gsd_reply_result(c, GSD_FAILED, status, text);
	gsd_device_judge(c, dev, status);
	if (status == GS_DEVICE && dev != NULL)
		gsd_device_note(dev, c->op, GS_DEVICE);
}

/* Reads a job's specification from its message. */
static void
read_spec(const gsd_begin *m, gs_job_spec *spec, gs_column_spec *columns)
{
	*spec = (gs_job_spec){.op = (gs_op) m->op,
						  .ncolumns = m->ncolumns,
						  .columns = columns,
						  .rows_hint = m->rows_hint,
						  .order_columns = m->order_columns,
						  .key_columns = m->key_columns,
						  .limit = m->limit,
						  .offset = m->offset,
						  .operation = (gs_operation) m->operation,
						  .exclusive = m->exclusive,
						  .filter = {.by_flags = m->by_flags, .comparison = (gs_comparison) m->comparison}};
	spec->filter.value = &m->columns[m->ncolumns];
	spec->filter.value_bytes = m->constant_bytes;
	for (uint32_t i = 0; i < m->ncolumns; i++)
		columns[i] = (gs_column_spec){(gs_type) m->columns[i].type, m->columns[i].desc, m->columns[i].nulls_first};
}

/* Returns the device memory of a row: keys without string data, and working memory. */
static uint64_t
row_bytes(const gs_job_spec *spec)
{
	bool orders = spec->op == GS_ORDER || spec->op == GS_TOPK || (spec->order_columns > 0 && spec->op != GS_VALUES);
	uint64_t bytes = (orders ? WORK_BYTES : 0) + gs_job_work_bytes(spec);

	for (uint32_t i = 0; i < spec->ncolumns; i++)
		bytes += spec->columns[i].type == GS_BYTES ? sizeof(uint32_t) : gs_type_width(spec->columns[i].type);
	return bytes;
}

/* Estimates the string data of a row, before the first chunk. */
static uint64_t
guess_bytes(const gs_job_spec *spec)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < spec->ncolumns; i++)
		bytes += spec->columns[i].type == GS_BYTES ? STRING_GUESS : 0;
	return bytes;
}

/* Reserves device memory for a job, on a device not in avoid, for the expected rows, or for fewer without room. */
static bool
reserve(connection *c, const gs_job_spec *spec, uint32_t avoid)
{
	uint64_t rows = spec->rows_hint > LEAST_ROWS ? spec->rows_hint : LEAST_ROWS;

	c->row_bytes = row_bytes(spec);
	c->guess_bytes = guess_bytes(spec);
	for (; rows >= LEAST_ROWS; rows /= 2)
	{
		c->reserved = rows * (c->row_bytes + c->guess_bytes);
		c->dev = gsd_device_reserve(c->reserved, avoid, c->engine != NULL ? c->engine_of : NULL);
		if (c->dev != NULL)
			return true;
	}
	c->reserved = 0;
	return false;
}

gs_status
gsd_open_engine(connection *c, device *d)
{
	gs_status status;

	if (c->engine != NULL && c->engine_of == d)
		return GS_OK;
	gs_engine_close(c->engine);
	c->engine = NULL;
	status = gsd_engine_open(d, &c->host, &c->engine);
	c->engine_of = d;
	return status;
}

/* Begins the engine's job. */
static gs_status
begin_job(connection *c, const gs_job_spec *spec)
{
	gs_status status;

	gsd_set_busy(c, true);
	status = gsd_fault_status(c->chosen, STAGE_BEGIN);
	if (status == GS_OK)
		status = gsd_open_engine(c, c->dev);
	if (status == GS_OK)
		status = gs_job_begin(c->engine, spec, &c->host, &c->job);
	gsd_set_busy(c, false);
	return status;
}

/* GSD_BEGIN. */
void
gsd_on_begin(connection *c, const gsd_begin *m)
{
	gs_column_spec columns[GSD_MAX_COLUMNS];
	gs_job_spec spec;
	uint32_t failing;
	gsd_begun answer;
	gs_status status;

	c->number = m->job;
	c->state = OVER; /* until all steps have succeeded */
	c->given = c->chunk_bytes = 0;
	c->parts = 0;
	c->areas_free = ~(uint64_t) 0;
	c->busy_sent_ns = gsd_now_ns();
	c->chosen = gsd_fault_choose();
	read_spec(m, &spec, columns);
	if (gsd_device_count() == 0)
	{
		gsd_reply_result(c, GSD_FAILED, GS_DEVICE, "no device");
		return;
	}
	if ((m->avoid & gsd_all_devices()) == gsd_all_devices())
	{
		gsd_reply_result(c, GSD_FAILED, GS_WRONG_ORDER, "no device that the client believes");
		return;
	}
	c->op = spec.op;
	failing = gsd_devices_failing(spec.op);
	if (((m->avoid | failing) & gsd_all_devices()) == gsd_all_devices())
	{
		gsd_reply_result(c, GSD_FAILED, GS_DEVICE, "no device that has not failed such jobs");
		return;
	}
	c->result_bytes = gs_job_result_bytes(&spec);
	if (!reserve(c, &spec, m->avoid | failing))
	{
		gsd_reply_result(c, GSD_FAILED, GS_NOMEM, "no device memory free");
		return;
	}
	status = begin_job(c, &spec);
	if (status != GS_OK)
	{
		fail_job(c, status, NULL);
		return;
	}
	c->state = ADDING;
	gsd_head(&answer.head, GSD_BEGUN, sizeof(answer));
	answer.job = c->number;
	answer.device = c->dev->number;
	answer.max_rows = c->dev->limit_bytes / (c->row_bytes + c->guess_bytes);
	snprintf(answer.name, sizeof(answer.name), "%s", c->dev->name);
	gsd_reply(c, &answer.head);
}

/* Returns the device memory that the rows so far need. */
static uint64_t
bytes_needed(const connection *c)
{
	return c->job->rows * c->row_bytes + c->job->string_bytes;
}

/* Extends the reservation to cover the rows so far plus `coming` bytes.  Returns false if that is impossible. */
static bool
cover(connection *c, uint64_t coming)
{
	uint64_t needed = bytes_needed(c) + coming;

	if (needed <= c->reserved)
		return true;
	/* reserve ahead, so that this is rare */
	if (gsd_device_reserve_more(c->dev, needed / 2 * 3 - c->reserved))
		c->reserved = needed / 2 * 3;
	else if (gsd_device_reserve_more(c->dev, needed - c->reserved))
		c->reserved = needed;
	else
		return false;
	return true;
}

/* GSD_ADD: adds a chunk. */
void
gsd_on_add(connection *c, const gsd_slot *m)
{
	gs_chunk *chunk = (gs_chunk *) (c->ring + m->slot * c->layout.slot_bytes);
	uint64_t before = bytes_needed(c), chunk_bytes;
	gs_status status;
	gsd_slot answer;

	gsd_set_busy(c, true);
	status = gsd_fault_status(c->chosen, STAGE_ADD);
	gsd_fault_chunk(c->chosen, chunk, c->job->spec.columns);
	if (status == GS_OK)
		status = gs_job_add_within(c->job, chunk, c->layout.slot_bytes);
	gsd_set_busy(c, false);
	/* what has arrived must fit the reservation, whatever the client was told */
	if (status == GS_OK && !cover(c, 0))
		status = GS_NOMEM;
	if (status != GS_OK)
	{
		fail_job(c, status, NULL);
		return;
	}
	gsd_head(&answer.head, GSD_FREE, sizeof(answer));
	answer.job = c->number;
	answer.slot = m->slot;
	/* chunks that the client may send before it reads this: one per slot, and the one it is about to begin */
	chunk_bytes = bytes_needed(c) - before;
	if (chunk_bytes > c->chunk_bytes)
		c->chunk_bytes = chunk_bytes;
	answer.full = !cover(c, (c->layout.slots + 1) * c->chunk_bytes);
	gsd_reply(c, &answer.head);
}

/* Fills free areas with result elements and sends them, until the end. */
void
gsd_send_parts(connection *c)
{
	uint64_t room = c->layout.area_bytes / c->result_bytes;

	for (uint32_t area = 0; area < c->layout.areas && c->state == READING && !c->closed; area++)
	{
		char *out = c->ring + c->layout.slots * c->layout.slot_bytes + area * c->layout.area_bytes;
		uint64_t got = 0;
		gsd_result_part m;
		gs_status status;

		if (!(c->areas_free >> area & 1))
			continue;
		gsd_set_busy(c, true);
		if (c->parts > 0)
		{
			(void) gsd_fault_here(c->chosen, FAULT_CRASH, STAGE_NEXT);
			(void) gsd_fault_here(c->chosen, FAULT_HANG, STAGE_NEXT);
		}
		status = gs_job_next(c->job, out, room, &got);
		if (status == GS_OK && c->parts > 0 && gsd_fault_here(c->chosen, FAULT_OOM, STAGE_NEXT))
			status = GS_NOMEM;
		gsd_set_busy(c, false);
		if (status != GS_OK)
		{
			fail_job(c, status, NULL);
			return;
		}
		gsd_fault_piece(c->chosen, c->given, out, got, c->result_bytes);
		if (gsd_fault_here(c->chosen, FAULT_SHORT, STAGE_NEXT) && c->given + got > options.fault_rows)
			got = options.fault_rows - c->given;
		gsd_head(&m.head, GSD_PART, sizeof(m));
		m.job = c->number;
		m.area = area;
		m.rows = (uint32_t) got;
		c->areas_free &= ~((uint64_t) 1 << area);
		c->given += got;
		c->parts++;
		if (got == 0)
			c->state = OVER;
		gsd_reply(c, &m.head);
	}
}

/* Reduces the reservation to the row numbers, which a cursor may need for a long time. */
static void
reserve_less(connection *c)
{
	uint64_t kept = c->job->rows * sizeof(uint32_t);

	if (!gs_job_is_order(c->job) || kept >= c->reserved)
		return;
	gsd_device_reserve_less(c->dev, c->reserved - kept);
	c->reserved = kept;
}

/* GSD_FINISH: executes the job, reports statistics, and starts to send the result. */
void
gsd_on_finish(connection *c, const gsd_count *m)
{
	uint64_t began = gsd_now_ns();
	gs_status status;
	gs_job_info info;
	gsd_sorted answer;

	gsd_set_busy(c, true);
	status = gsd_fault_status(c->chosen, STAGE_FINISH);
	if (status == GS_OK)
		status = gs_job_finish(c->job, m->count);
	gsd_set_busy(c, false);
	if (status != GS_OK)
	{
		fail_job(c, status, NULL);
		return;
	}
	gsd_device_note(c->dev, c->op, GS_OK);
	reserve_less(c);
	gs_job_get_info(c->job, &info);
	gsd_head(&answer.head, GSD_SORTED, sizeof(answer));
	answer.job = c->number;
	answer.key_bits = info.order.key_bits;
	answer.words = info.order.words;
	answer.passes = info.order.passes;
	answer.refined = info.order.refined;
	answer.input = info.order.input;
	answer.rows = info.rows;
	answer.results = info.results;
	answer.selected = info.selected;
	answer.upload_bytes = info.upload_bytes;
	answer.upload_ns = info.upload_ns;
	answer.device_ns = info.device_ns != 0 ? info.device_ns : gsd_now_ns() - began;
	c->state = READING;
	gsd_reply(c, &answer.head);
	gsd_send_parts(c);
}
