/*
 * trust.h: excludes devices that give wrong answers.
 */
#ifndef GPUSORT_TRUST_H
#define GPUSORT_TRUST_H

#include "stat.h"

/* Records a device's wrong answer and logs it.  The second one excludes the device. */
extern void trust_lose(uint32 device, const char *name);

/* Returns the excluded devices, a bit each. */
extern uint32 trust_aside(void);

/* Returns when a device was excluded. */
extern TimestampTz trust_aside_since(uint32 device);

#endif
