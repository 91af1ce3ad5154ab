/*
 * sortkey_fixed.c: fixed-width types that need conversion: tid, uuid, macaddr, macaddr8, timetz, interval.
 */
#include "postgres.h"

#include "common/int.h"
#include "datatype/timestamp.h"
#include "port/pg_bswap.h"
#include "storage/itemptr.h"
#include "utils/date.h"
#include "utils/inet.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "sortkey_types.h"

/* Loads eight bytes, most significant first. */
static inline uint64
big_endian64(const void *bytes)
{
	uint64		word;

	memcpy(&word, bytes, sizeof(word));
	return pg_ntoh64(word);
}

/* tid: block, then offset. */
KeyResult
encode_tid(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	ItemPointer tid = (ItemPointer) DatumGetPointer(value);

	((uint64 *) column->values)[row] = (uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16 |
		ItemPointerGetOffsetNumberNoCheck(tid);
	return KEY_OK;
}

/* uuid: 16 bytes as one number. */
KeyResult
encode_uuid(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	const char *bytes = DatumGetPointer(value);

	put_uint128(column, row, big_endian64(bytes), big_endian64(bytes + sizeof(uint64)));
	return KEY_OK;
}

/* macaddr: six bytes as one number. */
KeyResult
encode_macaddr(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	uint64		word = 0;

	StaticAssertStmt(sizeof(macaddr) == 6, "a macaddr has six bytes");
	memcpy(&word, DatumGetPointer(value), sizeof(macaddr));
	((uint64 *) column->values)[row] = pg_ntoh64(word) >> 16;
	return KEY_OK;
}

/* macaddr8: eight bytes as one number. */
KeyResult
encode_macaddr8(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	((uint64 *) column->values)[row] = big_endian64(DatumGetPointer(value));
	return KEY_OK;
}

/* timetz: the instant, then the zone.  AT TIME ZONE yields arbitrary zones, so both do not fit 64 bits. */
KeyResult
encode_timetz(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	const TimeTzADT *time = DatumGetTimeTzADTP(value);
	uint64		instant = (uint64) (time->time + time->zone * USECS_PER_SEC) + (UINT64CONST(1) << 62);
	uint32		zone = (uint32) time->zone ^ 0x80000000u;

	put_uint128(column, row, instant >> 32, instant << 32 | zone);
	return KEY_OK;
}

/* Returns days, with months of 30 days, as interval_cmp does. */
static inline int64
interval_days(const Interval *interval)
{
	return interval->month * INT64CONST(30) + interval->day;
}

/* Encodes any interval: microseconds in 128 bits, offset to be positive. */
static KeyResult
encode_interval_wide(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	const Interval *interval = DatumGetIntervalP(value);
	int128		span = (int128) interval_days(interval) * USECS_PER_DAY + interval->time;

	put_uint128(column, row, (uint64) (span >> 64) ^ (UINT64CONST(1) << 63), (uint64) span);
	return KEY_OK;
}

/* Encodes intervals below some 292,000 years: microseconds. */
static KeyResult
encode_interval(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	const Interval *interval = DatumGetIntervalP(value);
	int64		span;

	if (unlikely(pg_mul_s64_overflow(interval_days(interval), USECS_PER_DAY, &span) ||
				 pg_add_s64_overflow(span, interval->time, &span)))
		return widen(key, GS_U128, encode_interval_wide);
	((int64 *) column->values)[row] = span;
	return KEY_OK;
}

/* Opens the form of 64-bit microseconds, which widens when a value does not fit. */
void
open_interval(SortKey *key)
{
	if (key->exact)
		set_form(key, GS_U128, encode_interval_wide);
	else
		set_form(key, GS_I64, encode_interval);
}
