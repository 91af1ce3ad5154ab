/*
 * link.h: connections of this session to gpusortd, each with its ring of memory.
 */
#ifndef GPUSORT_LINK_H
#define GPUSORT_LINK_H

#include "lib/ilist.h"

#include "engine.h"
#include "src/service/protocol.h"

typedef struct ServiceLink
{
	dlist_node	node;			/* in the list of idle links */
	int			socket;
	bool		gpu;
	bool		ending;			/* the service has not confirmed the end of a job */
	uint64		owner;			/* role and database */
	uint32		job;			/* number of the last job */
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

/*
 * Returns an idle or a new link.  NULL: *why has the reason.  patient: waits for a service that is starting.
 */
extern ServiceLink *link_open(bool patient, EngineFailure *why);

/* Closes a link.  The service aborts its job. */
extern void link_close(ServiceLink *link);

/* Ends the job and keeps the link for the next one.  Does not throw. */
extern void link_park(ServiceLink *link);

/* Sends a message, waiting for room in the socket up to the service's timeout.  Returns false with the reason. */
extern bool link_send(ServiceLink *link, const gsd_header *head, EngineFailure *why);

/* Returns the next message; with wait, waits for it.  If there is none, returns ENGINE_OK and a message of type 0. */
extern EngineFailure link_receive(ServiceLink *link, gsd_message *message, bool wait, LinkWait what);

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

#endif
