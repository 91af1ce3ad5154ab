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
	dlist_node	node;			/* while it is idle */
	int			socket;
	bool		gpu;
	bool		ending;			/* a job was ended and the service has not confirmed it */
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
 * A link without a job, an idle one or a new one; NULL with the reason.  With patience, waits for a service that is
 * being started.
 */
extern ServiceLink *link_open(bool patient, EngineFailure *why);

/* Ends it at once; whatever the service was doing for it stops. */
extern void link_close(ServiceLink *link);

/* Ends the job and keeps the link for the next one.  Does not throw. */
extern void link_park(ServiceLink *link);

/* Sends a message, waiting for room in the socket as long as the service is given; false with the reason. */
extern bool link_send(ServiceLink *link, const gsd_header *head, EngineFailure *why);

/* The next message, waiting for it if wanted; ENGINE_OK without a message (type 0) if there is none now. */
extern EngineFailure link_receive(ServiceLink *link, gsd_message *message, bool wait, LinkWait what);

/* An unused connection for questions about the service; -1 if there is none.  Close it with link_close. */
extern ServiceLink *link_open_bare(EngineFailure *why);

/* The memory of a slot or area. */
static inline char *
link_slot(const ServiceLink *link, uint32 slot)
{
	return link->ring + slot * link->layout.slot_bytes;
}

/* Areas, which hold parts of results, lie behind all slots. */
static inline const char *
link_area(const ServiceLink *link, uint32 area)
{
	return link->ring + link->layout.slots * link->layout.slot_bytes + area * link->layout.area_bytes;
}

#endif
