/*
 * link.h: connections of this session to gpusortd, each with its ring of memory.
 */
#ifndef GPUSORT_LINK_H
#define GPUSORT_LINK_H

#include "lib/ilist.h"

#include "engine.h"
#include "src/service/protocol.h"

typedef enum LinkKind
{
	LINK_SORTS,					/* jobs, with a large ring; refused by a service without devices */
	LINK_STORE,					/* segments of columns, with a large ring */
	LINK_COLUMNS,				/* questions about columns, with a small ring that is not pinned */
	LINK_BARE,					/* questions about the service, without a ring */
	LINK_KINDS
} LinkKind;

typedef struct ServiceLink
{
	dlist_node	node;			/* in the list of idle links */
	LinkKind	kind;
	int			socket;			/* -1: none; its descriptor is reserved nevertheless */
	bool		gpu;
	bool		ending;			/* the service has not confirmed the end of a job */
	bool		asking;			/* a question about columns has no answer (store.c) */
	uint64		owner;			/* role and database */
	uint32		job;			/* number of the last job */
	uint32		slot;			/* that is being filled with rows of a question (store.c) */
	uint64		free_slots;		/* others for rows of it, a bit per slot */
	char	   *ring;
	uint64		ring_bytes;
	gsd_ring	layout;
} ServiceLink;

typedef enum LinkWait
{
	LINK_WAIT_START,
	LINK_WAIT_CHUNK,
	LINK_WAIT_SORT,
	LINK_WAIT_ORDER
} LinkWait;

/* Returns the identity of the current role and database.  The service clears memory before another one uses it. */
extern uint64 link_owner(void);

/* Returns true while the circuit breaker is open. */
extern bool link_broken(void);

/* Connects and says hello for an owner, or returns NULL and *why.  patient: waits for a service that is starting. */
extern ServiceLink *link_new(LinkKind kind, uint64 owner, bool patient, EngineFailure *why);

/* Connects anew, with a ring of at least so large slots together.  After false the link can only be closed. */
extern bool link_enlarge(ServiceLink *link, uint64 bytes, EngineFailure *why);

/* Waits for the service to confirm the end of a job.  Returns false if the link is unusable. */
extern bool link_wait_end(ServiceLink *link);

/* Returns true if the service has ended the connection. */
extern bool link_left(const ServiceLink *link);

/* Closes a link.  The service aborts its job. */
extern void link_close(ServiceLink *link);

/* Sends a message, waiting for room in the socket up to the service's timeout.  Returns false with the reason. */
extern bool link_send(ServiceLink *link, const gsd_header *head, EngineFailure *why);

/* The same with a descriptor, which remains the caller's; -1: none. */
extern bool link_send_file(ServiceLink *link, const gsd_header *head, int fd, EngineFailure *why);

/* Returns the next message; with wait, waits for it.  If there is none, returns ENGINE_OK and a message of type 0. */
extern EngineFailure link_receive(ServiceLink *link, gsd_message *message, bool wait, LinkWait what);

/* Waits for the next message of the link's job; those of earlier jobs are late.  Returns false with the reason. */
extern bool link_receive_job(ServiceLink *link, gsd_message *message, LinkWait what, EngineFailure *why);

/* Waits for the next message, which may come with a descriptor; otherwise *fd is -1. */
extern EngineFailure link_receive_file(ServiceLink *link, gsd_message *message, int *fd);

/* Opens a connection without a ring for queries about the service.  NULL on failure.  Close it with link_close. */
extern ServiceLink *link_open_bare(EngineFailure *why);

/* Returns the memory of a slot or area. */
static inline char *
link_slot(const ServiceLink *link, uint32 slot)
{
	return link->ring + slot * link->layout.slot_bytes;
}

/* Returns an area, which holds a part of a result.  Areas follow the slots. */
static inline const char *
link_area(const ServiceLink *link, uint32 area)
{
	return link->ring + link->layout.slots * link->layout.slot_bytes + area * link->layout.area_bytes;
}

/*
 * Copies from an area that no message follows.  Returns false if the service has left meanwhile: it ends the connection
 * before it clears a ring.
 */
extern bool link_take(const ServiceLink *link, const void *from, void *to, Size bytes, EngineFailure *why);

#endif
