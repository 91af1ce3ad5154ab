/*
 * trust.c: excludes devices that give wrong answers.  After two, to any sessions, a device gets no more jobs for ten
 * minutes, or until the configuration is reloaded: backends name excluded devices with each job.
 */
#include "postgres.h"

#include "storage/spin.h"
#include "utils/timestamp.h"

#include "trust.h"

/* Wrong answers that exclude a device, and for how long. */
#define WRONG_ANSWERS 2
#define ASIDE_MS 600000

/* Returns true if a device is excluded at this time.  A reload clears the record. */
static bool
is_aside(const DeviceRecord *record, TimestampTz now)
{
	return record->wrong >= WRONG_ANSWERS && record->last > PgReloadTime &&
		!TimestampDifferenceExceeds(record->last, now, ASIDE_MS);
}

/* Records a wrong answer.  Returns true if it excludes the device. */
static bool
add_wrong(uint32 device)
{
	GpusortShared *all = gpusort_shared();
	DeviceRecord *record = &all->devices[device];
	TimestampTz now = GetCurrentTimestamp();
	bool		aside = false;

	SpinLockAcquire(&all->mutex);
	if (!is_aside(record, now)) /* otherwise the job began before the exclusion */
	{
		record->wrong = record->wrong >= WRONG_ANSWERS || record->last <= PgReloadTime ? 1 : record->wrong + 1;
		record->last = now;
		aside = record->wrong == WRONG_ANSWERS;
	}
	SpinLockRelease(&all->mutex);
	return aside;
}

void
trust_lose(uint32 device, const char *name)
{
	bool		aside = add_wrong(device);

	ereport(LOG,
			(errmsg("gpusort got a wrong answer from device %u (%s)", device, name),
			 aside ? errdetail("It is the second one: the device is set aside.") : 0,
			 aside ? errhint("It is used again after ten minutes, or once the configuration is reloaded.") : 0));
}

uint32
trust_aside(void)
{
	GpusortShared *all = gpusort_shared();
	TimestampTz now = GetCurrentTimestamp();
	uint32		aside = 0;

	SpinLockAcquire(&all->mutex);
	for (int device = 0; device < GSD_MAX_DEVICES; device++)
		if (is_aside(&all->devices[device], now))
			aside |= (uint32) 1 << device;
	SpinLockRelease(&all->mutex);
	return aside;
}

TimestampTz
trust_aside_since(uint32 device)
{
	GpusortShared *all = gpusort_shared();
	TimestampTz now = GetCurrentTimestamp();
	TimestampTz since = 0;

	SpinLockAcquire(&all->mutex);
	if (is_aside(&all->devices[device], now))
		since = all->devices[device].last;
	SpinLockRelease(&all->mutex);
	return since;
}
