/*
 * link_pool.h: links that this session keeps for its next jobs.
 */
#ifndef GPUSORT_LINK_POOL_H
#define GPUSORT_LINK_POOL_H

#include "link.h"

/* Returns an idle or new link of the current role and database, or NULL and *why.  patient: waits for a start. */
extern ServiceLink *link_open(LinkKind kind, bool patient, EngineFailure *why);

/* Ends the job and keeps the link for the next one.  Does not throw. */
extern void link_park(ServiceLink *link);

#endif
