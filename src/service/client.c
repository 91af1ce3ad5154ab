/*
 * client.c: one connection: reads messages, executes the one job it carries, and answers.  The peer may be faulty or
 * malicious.  Messages, slots and areas are checked before use, and chunks on a private copy of their headers.  A
 * violation ends the connection and affects nothing else.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define HELLO_MS 10000

/* Sends a message.  Few are ever in transit, so only a client that does not read can block it. */
void
gsd_reply(connection *c, const gsd_header *head)
{
	gsd_reply_file(c, head, -1);
}

void
gsd_reply_file(connection *c, const gsd_header *head, int descriptor)
{
	while (!c->closed)
	{
		struct pollfd fd = {.fd = c->base->socket, .events = POLLOUT};
		gsd_io io = gsd_send(c->base->socket, head, descriptor);

		if (io == GSD_IO_OK)
			return;
		if (io == GSD_IO_CLOSED || poll(&fd, 1, HELLO_MS) <= 0)
			c->closed = true;
	}
}

/* Sends a status with a text. */
void
gsd_reply_result(connection *c, gsd_type type, gs_status status, const char *text)
{
	gsd_result m;

	gsd_head(&m.head, type, sizeof(m));
	m.job = c->number;
	m.status = status;
	snprintf(m.text, sizeof(m.text), "%s", text ? text : gs_status_text(status));
	gsd_reply(c, &m.head);
}

/* Sends an answer that only names the connection's job. */
static void
reply_job(connection *c, gsd_type type)
{
	gsd_job_message m;

	gsd_head(&m.head, type, sizeof(m));
	m.job = c->number;
	gsd_reply(c, &m.head);
}

/* Releases the ring: unregisters, unmaps and uncounts it, and frees its pages. */
static void
drop_ring(connection *c)
{
	if (c->ring == NULL)
		return;
	if (!c->layout.plain)
		gsd_unpin(c->ring);
	munmap(c->ring, c->ring_bytes);
	gsd_ring_return(c->base);
	/* an idle client may keep its mapping, and one that reads an answer is to see that it is gone; free the pages */
	(void) shutdown(c->base->socket, SHUT_RDWR);
	(void) fallocate(c->ring_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t) c->ring_bytes);
	close(c->ring_fd);
	c->ring = NULL;
	c->ring_fd = -1;
}

/* Refuses a ring, with the reason. */
static void
refuse_ring(connection *c, ring_answer why)
{
	static const char *const text[] = {
		"the ring could not be mapped",
		"the session has its quota of gpusort.pinned_memory",
		"the role has its quota of gpusort.pinned_memory",
		"gpusort.pinned_memory is used up",
	};
	static const gs_status status[] = {GS_DEVICE, GS_TOO_BIG, GS_TOO_BIG, GS_NOMEM};

	gsd_reply_result(c, GSD_RING_DONE, status[why], text[why]);
}

/* Registers a ring with the device, unless it is a plain one. */
static void
pin_ring(connection *c)
{
	static _Atomic bool complained;

	if (c->layout.plain)
		return;
	gsd_set_busy(c, true);
	if (!gsd_pin(c->ring, c->ring_bytes) && !atomic_exchange(&complained, true))
		gsd_log("WARNING", "memory could not be pinned, copies to the GPU will be slower: raise the server's limit of "
						   "locked memory (ulimit -l, LimitMEMLOCK)");
	gsd_set_busy(c, false);
}

/* Accepts the ring: claims its memory, checks the file, maps and registers it. */
static void
take_ring(connection *c, const gsd_ring *ring, int fd)
{
	uint64_t bytes = gsd_ring_bytes(ring);
	void *base = MAP_FAILED;
	ring_answer answer;

	if (c->ring == NULL && fd < 0)
	{
		refuse_ring(c, RING_GRANTED);
		return;
	}
	if (c->ring != NULL || gsd_ring_check(fd, bytes) != GS_OK)
	{
		gsd_log("WARNING", "process %d passed a ring that breaks the rules", c->base->pid);
		if (fd >= 0)
			close(fd);
		c->closed = true;
		return;
	}
	/* the role is the lower half of the owner */
	answer = ring->plain ? RING_GRANTED : gsd_ring_claim(c->base, (uint32_t) c->owner, bytes);
	if (answer == RING_GRANTED)
	{
		base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (base == MAP_FAILED)
			gsd_ring_return(c->base);
	}
	if (base == MAP_FAILED)
	{
		close(fd);
		refuse_ring(c, answer);
		return;
	}
	(void) madvise(base, bytes, MADV_DONTDUMP);
	c->ring = base;
	c->ring_fd = fd;
	c->ring_bytes = bytes;
	c->layout = *ring;
	pin_ring(c);
	gsd_reply_result(c, GSD_RING_DONE, GS_OK, "");
}

/* GSD_STATUS: all devices. */
static void
on_status(connection *c)
{
	static _Thread_local gsd_message m;
	uint32_t count = gsd_device_count();

	gsd_head(&m.head, GSD_DEVICES, sizeof(gsd_devices) + count * sizeof(gsd_device));
	m.devices.pid = (uint32_t) getpid();
	m.devices.count = count;
	m.devices.pinned_bytes = gsd_pinned_bytes();
	for (uint32_t i = 0; i < count; i++)
	{
		device *d = gsd_device_at(i);
		gsd_device *out = &m.devices.devices[i];

		pthread_mutex_lock(&d->mutex);
		out->device = d->number;
		out->jobs = d->jobs;
		out->jobs_done = d->jobs_done;
		out->memory_bytes = d->memory_bytes;
		out->limit_bytes = d->limit_bytes;
		out->reserved_bytes = d->reserved_bytes;
		pthread_mutex_unlock(&d->mutex);
		memcpy(out->name, d->name, GSD_NAME_BYTES);
	}
	gsd_reply(c, &m.head);
}

/* Returns true if a message fits the connection's state.  Messages for a failed job are late, not wrong. */
static bool
message_expected(const connection *c, const gsd_message *m)
{
	bool mine = c->state != NO_JOB && m->slot.job == c->number;
	/* a check or question is over when it is answered, and what the client said before may be on its way */
	bool late = c->state == NO_JOB && m->slot.job == c->number;

	switch (m->head.type)
	{
		case GSD_RING:
			return c->state == NO_JOB && c->ring == NULL;
		case GSD_BEGIN:
			return c->state == NO_JOB && c->ring != NULL && !c->layout.plain;
		case GSD_ADD:
			return mine && (c->state == ADDING || c->state == OVER) && m->slot.slot < c->layout.slots;
		case GSD_FINISH:
			return mine && (c->state == ADDING || c->state == OVER);
		case GSD_TAKEN:
			if (m->slot.slot >= c->layout.areas)
				return false;
			return late || (mine && c->state != ADDING && !(c->areas_free >> m->slot.slot & 1));
		case GSD_END:
			return mine || late;
		case GSD_PING:
		case GSD_STATUS:
			return true;
		default:
			return gsd_columns_expected(c, m);
	}
}

/* Handles one message. */
static void
handle(connection *c, const gsd_message *m, int fd)
{
	gsd_count pong;

	if (!message_expected(c, m))
	{
		gsd_log("WARNING", "process %d sent message %u out of order", c->base->pid, m->head.type);
		if (fd >= 0)
			close(fd);
		c->closed = true;
		return;
	}
	switch (m->head.type)
	{
		case GSD_RING:
			take_ring(c, &m->ring, fd);
			break;
		case GSD_BEGIN:
			gsd_on_begin(c, &m->begin);
			break;
		case GSD_ADD:
			if (c->state == ADDING)
				(c->asking ? gsd_ask_add : gsd_on_add)(c, &m->slot);
			break;
		case GSD_FINISH:
			if (c->state == ADDING)
				(c->asking ? gsd_ask_finish : gsd_on_finish)(c, &m->count);
			break;
		case GSD_TAKEN:
			c->areas_free |= (uint64_t) 1 << m->slot.slot;
			if (c->state == READING)
				(c->asking ? gsd_ask_send_parts : gsd_send_parts)(c);
			break;
		case GSD_END:
			gsd_ask_drop(c);
			gsd_job_drop(c);
			reply_job(c, GSD_ENDED);
			break;
		case GSD_PING: /* without an answer the worker kills the service */
			if (!gsd_attentive())
				break;
			gsd_head(&pong.head, GSD_PONG, sizeof(pong));
			pong.count = m->count.count;
			gsd_reply(c, &pong.head);
			break;
		case GSD_STATUS:
			on_status(c);
			break;
		default:
			gsd_columns_handle(c, m, fd);
	}
}

/* Answers the first message.  Returns false if the peer speaks another protocol. */
static bool
greet(connection *c, const gsd_message *m)
{
	gsd_welcome answer;
	/* at stage next, only to sessions, which have owners */
	bool lies = options.fault == FAULT_VERSION && (options.stage != STAGE_NEXT || m->hello.owner != 0);
	uint32_t version = lies ? GSD_VERSION - 1 : GSD_VERSION;

	if (m->head.type != GSD_HELLO || m->hello.magic != GSD_MAGIC)
		return false;
	gsd_head(&answer.head, GSD_WELCOME, sizeof(answer));
	answer.magic = GSD_MAGIC;
	answer.version = version;
	answer.gpu = options.gpu;
	answer.columns_only = gsd_device_count() == 0;
	answer.status = m->hello.version == version ? GS_OK : GS_PROTOCOL;
	c->owner = m->hello.owner;
	gsd_reply(c, &answer.head);
	return answer.status == GS_OK;
}

/* Reads messages until the client leaves, breaks the rules, or has been idle for so long that its ring is reclaimed. */
static void
converse(connection *c)
{
	bool greeted = false;

	while (!c->closed)
	{
		struct pollfd fd = {.fd = c->base->socket, .events = POLLIN};
		static _Thread_local gsd_message m;
		bool idle = c->state == NO_JOB && c->ring != NULL;
		int wait_ms = !greeted ? HELLO_MS : idle ? options.idle_seconds * 1000 : -1;
		int descriptor;
		gsd_io io = gsd_receive(c->base->socket, &m, true, &descriptor);

		if (io == GSD_IO_AGAIN)
		{
			atomic_store(&c->base->idle_since, idle && !c->layout.plain ? gsd_now_ns() : 0);
			if (poll(&fd, 1, wait_ms) == 0)
				return;
			atomic_store(&c->base->idle_since, 0);
			continue;
		}
		if (io == GSD_IO_BAD)
			gsd_log("WARNING", "process %d sent a message that is none", c->base->pid);
		if (io != GSD_IO_OK)
			return;
		if (greeted)
			handle(c, &m, descriptor);
		else
		{
			greeted = greet(c, &m);
			if (!greeted)
			{
				if (descriptor >= 0)
					close(descriptor);
				return;
			}
		}
	}
}

/* Main function of a connection's thread. */
void *
gsd_client_main(void *arg)
{
	connection c = {.base = arg, .ring_fd = -1};

	c.host = *gs_default_host();
	c.host.poll = gsd_poll_client;
	c.host.arg = &c;
	converse(&c);
	gsd_ask_drop(&c);
	gsd_job_drop(&c);
	gsd_columns_leave(&c);
	gsd_set_busy(&c, true);
	gs_engine_close(c.engine);
	drop_ring(&c);
	gsd_client_forget(c.base);
	return NULL;
}
