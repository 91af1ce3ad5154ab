/*
 * link_pool.h: links that this session keeps for its next jobs.
 */
#ifndef GPUSORT_LINK_POOL_H
#define GPUSORT_LINK_POOL_H

#include "link.h"

/*
 * Returns an idle or a new link of the current role and database.  NULL: *why has the reason.  patient: waits for a
 * service that is starting.
 */
extern ServiceLink *link_open(LinkKind kind, bool patient, EngineFailure *why);

/* Ends the job and keeps the link for the next one.  Does not throw. */
extern void link_park(ServiceLink *link);

#endif
