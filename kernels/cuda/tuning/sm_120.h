/*
 * sm_120.h: RTX 50, RTX PRO (sm_120, sm_121), and whatever comes after it.  99 KB of shared memory per block, as sm_86
 * has, and sm_90's bulk copies.  Not measured: sm_86's shapes, of the GPUs most like these.
 */
#ifndef GS_SM_120_H
#define GS_SM_120_H

#include "sm_86.h"

/* The row, as a copy with what differs. */
constexpr gs_tuning
gs_make_sm_120()
{
	gs_tuning t = gs_sm_86;

	t.arch = 120;
	t.loads = 2; /* four of 8-byte keys, and digits to count, spill 52 bytes; two keep 32 KB under way */
	return t;
}

constexpr gs_tuning gs_sm_120 = gs_make_sm_120();

#endif
