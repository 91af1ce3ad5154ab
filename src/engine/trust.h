/*
 * trust.h: which of the service's devices are believed.
 */
#ifndef GPUSORT_TRUST_H
#define GPUSORT_TRUST_H

#include "stat.h"

/* Notes that a job's answer was wrong, in the server's log too.  The second time its device is set aside. */
extern void trust_lose(const EngineJob *job);

/* The devices that are set aside now, a bit for each. */
extern uint32 trust_aside(void);

/* Since when one is. */
extern TimestampTz trust_aside_since(uint32 device);

#endif
