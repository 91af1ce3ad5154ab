/*
 * clients.c: the list of connections, their watchdog, and the division of pinned host memory among their rings.  A ring
 * is granted if all rings fit, a session has at most a quarter of pinned memory, and a role at most three times what
 * would remain free.  The last two do not apply to the first two rings, the number that a merge join needs. Before a
 * ring is refused, idle ones are reclaimed: the session's own, then the longest idle.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "service.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A session may have this fraction of the rings, a role this many times what is left free; anyone a few. */
#define SESSION_FRACTION 4
#define ROLE_FACTOR 3
#define LEAST_RINGS 2
#define IDLE_NS 1000000000u /* a ring idle for this long may go to another session */
/* How long to wait for a ring that is being released, or at first for one whose job is just ending. */
#define TURN_MS 2
#define TURNS 200
#define FIRST_TURNS 5

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static client *clients;
static int client_count;

bool
gsd_client_add(client *c)
{
	bool room;

	pthread_mutex_lock(&mutex);
	room = client_count < GSD_MAX_CLIENTS;
	if (room)
	{
		c->next = clients;
		if (clients)
			clients->previous = c;
		clients = c;
		client_count++;
	}
	pthread_mutex_unlock(&mutex);
	return room;
}

void
gsd_client_forget(client *c)
{
	pthread_mutex_lock(&mutex);
	if (c->next)
		c->next->previous = c->previous;
	if (c->previous)
		c->previous->next = c->next;
	else
		clients = c->next;
	client_count--;
	pthread_mutex_unlock(&mutex);
	close(c->socket);
	free(c);
}

/* Tells a client whose job hangs why the service ends, as the connection's own thread will not. */
static void
say_stalled(const client *c)
{
	gsd_result m;

	gsd_log("WARNING", "a job of process %d has made no progress for %d s: ending", c->pid, options.stall_seconds);
	gsd_head(&m.head, GSD_FAILED, sizeof(m));
	m.status = GS_TIMEOUT;
	snprintf(m.text, sizeof(m.text), "%s", gs_status_text(GS_TIMEOUT));
	(void) gsd_send(c->socket, &m.head, -1);
}

void
gsd_clients_watch(void)
{
	uint64_t now = gsd_now_ns();
	bool stalled = false;

	pthread_mutex_lock(&mutex);
	for (client *c = clients; c != NULL; c = c->next)
	{
		uint64_t since = atomic_load(&c->busy_since);

		if (since != 0 && now > since && now - since > (uint64_t) options.stall_seconds * 1000000000u)
		{
			say_stalled(c);
			stalled = true;
		}
	}
	if (stalled)
	{
		(void) unlink(options.socket);
		_exit(GSD_EXIT_STALLED);
	}
	pthread_mutex_unlock(&mutex);
}

uint64_t
gsd_pinned_bytes(void)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&mutex);
	for (client *c = clients; c != NULL; c = c->next)
		bytes += c->ring_bytes;
	pthread_mutex_unlock(&mutex);
	return bytes;
}

/* Decides whether a client may have a ring of this size now. */
static ring_answer
judge_ring(const client *c, uint64_t bytes)
{
	uint64_t all = bytes, session = bytes, role = bytes;
	int session_rings = 0, role_rings = 0;

	for (client *o = clients; o != NULL; o = o->next)
	{
		if (o->ring_bytes == 0)
			continue;
		all += o->ring_bytes;
		if (o->pid == c->pid)
		{
			session += o->ring_bytes;
			session_rings++;
		}
		if (o->role == c->role)
		{
			role += o->ring_bytes;
			role_rings++;
		}
	}
	if (session_rings >= LEAST_RINGS && session > options.pinned_memory / SESSION_FRACTION)
		return RING_SESSION;
	if (all > options.pinned_memory)
		return RING_NONE_LEFT;
	if (role_rings >= LEAST_RINGS && role > ROLE_FACTOR * (options.pinned_memory - all))
		return RING_ROLE;
	return RING_GRANTED;
}

/*
 * Ends a connection in order to reclaim its ring for a client: one of the client's own session or, with of_others, the
 * one that has been idle for longest.  Returns true if some ring will be released, by this or an earlier call.
 */
static bool
take_back(const client *c, bool of_others)
{
	uint64_t latest = gsd_now_ns() - IDLE_NS, oldest = UINT64_MAX;
	client *found = NULL;

	for (client *o = clients; o != NULL; o = o->next)
	{
		uint64_t since = atomic_load(&o->idle_since);
		bool own = o->pid == c->pid;

		if (o->leaving && o->ring_bytes > 0 && (own || of_others))
			return true;
		if (since == 0 || o->leaving || (!own && (!of_others || since > latest)))
			continue;
		if (own)
			since = 0; /* takes precedence over all others */
		if (since < oldest)
		{
			oldest = since;
			found = o;
		}
	}
	/* its thread notices, and its backend connects again when needed */
	if (found != NULL)
	{
		found->leaving = true;
		(void) shutdown(found->socket, SHUT_RDWR);
	}
	return found != NULL;
}

ring_answer
gsd_ring_claim(client *c, uint32_t role, uint64_t bytes)
{
	ring_answer answer = RING_NONE_LEFT;
	bool hope = true;

	for (int turn = 0; turn < TURNS && (hope || turn < FIRST_TURNS); turn++)
	{
		if (turn > 0)
			(void) poll(NULL, 0, TURN_MS);
		pthread_mutex_lock(&mutex);
		c->role = role;
		answer = judge_ring(c, bytes);
		if (answer == RING_GRANTED)
			c->ring_bytes = bytes;
		else
			hope = take_back(c, answer != RING_SESSION);
		pthread_mutex_unlock(&mutex);
		if (answer == RING_GRANTED)
			break;
	}
	return answer;
}

void
gsd_ring_return(client *c)
{
	pthread_mutex_lock(&mutex);
	c->ring_bytes = 0;
	pthread_mutex_unlock(&mutex);
}
