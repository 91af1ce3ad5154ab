/*
 * sm_100.h: B200, GB200, B300 (sm_100, sm_103).  227 KB of shared memory per block, as sm_90 has, and the same bulk
 * copies.  Not measured: sm_90's shapes, of the GPU most like it.
 */
#ifndef GS_SM_100_H
#define GS_SM_100_H

#include "sm_90.h"

/* The row, as a copy with what differs. */
constexpr gs_tuning
gs_make_sm_100()
{
	gs_tuning t = gs_sm_90;

	t.arch = 100;
	return t;
}

constexpr gs_tuning gs_sm_100 = gs_make_sm_100();

#endif
