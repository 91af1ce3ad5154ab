/*
 * fault.c: failing on purpose, so that tests can see what becomes of it.
 */
#include "service.h"

#include <stdlib.h>
#include <unistd.h>

/*
 * Decides at a job's begin whether it is one of those that fail.
 */
bool
gsd_fault_choose(void)
{
	static _Atomic unsigned jobs;

	return options.fault != FAULT_NONE && atomic_fetch_add(&jobs, 1) % (unsigned) options.fault_every == 0;
}

/*
 * True if a chosen job is to fail in this way at this stage.  A crash or a hang happens here.
 */
bool
gsd_fault_here(bool chosen, fault_kind kind, fault_stage stage)
{
	if (!chosen || options.fault != kind || options.stage != stage)
		return false;
	if (kind == FAULT_CRASH)
	{
		gsd_log("LOG", "crashing on purpose");
		_exit(70);
	}
	while (kind == FAULT_HANG)
		sleep(1);
	return true;
}
