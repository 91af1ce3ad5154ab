/*
 * sm_100.h: B200, GB200, B300 (sm_100, sm_103), with sm_90's memory and bulk copies.  Not measured; sm_90's shapes.
 */
#ifndef GS_SM_100_H
#define GS_SM_100_H

#include "sm_90.h"

constexpr gs_tuning gs_sm_100 = [] {
	gs_tuning t = gs_sm_90;

	t.arch = 100;
	return t;
}();

#endif
