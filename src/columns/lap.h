/*
 * lap.h: the time that a part of an answer took.
 */
#ifndef GPUSORT_LAP_H
#define GPUSORT_LAP_H

#include "portability/instr_time.h"

/* Returns milliseconds since a time, which becomes now. */
static inline double
lap_ms(instr_time *since)
{
	instr_time	now;
	instr_time	passed;

	INSTR_TIME_SET_CURRENT(now);
	passed = now;
	INSTR_TIME_SUBTRACT(passed, *since);
	*since = now;
	return INSTR_TIME_GET_MILLISEC(passed);
}

#endif
