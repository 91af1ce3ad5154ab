/*
 * sm_120.h: RTX 50, RTX PRO (sm_120, sm_121), and later GPUs.  99 KB of shared memory per block, as on sm_86, and bulk
 * copies, as on sm_90.  Not measured; the shapes are those of sm_86, the most similar GPUs.
 */
#ifndef GS_SM_120_H
#define GS_SM_120_H

#include "sm_86.h"

constexpr gs_tuning gs_sm_120 = [] {
	gs_tuning t = gs_sm_86;

	t.arch = 120;
	t.loads = 2; /* four 8-byte keys with digits spill 52 bytes; two keep 32 KB in flight */
	return t;
}();

#endif
