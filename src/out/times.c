/*
 * times.c: dates and timestamps of the years 1 to 9999, in ISO style.
 *
 * The offsets of the session's time zone are kept with the times between which they hold.  A zone is known by its
 * address: the server never frees one.
 */
#include "postgres.h"

#include "pgtime.h"
#include "utils/datetime.h"

#include "digits.h"
#include "times.h"

/* Days since 2000-01-01 of 0001-01-01 and 9999-12-31. */
#define FIRST_DAY (-730119)
#define LAST_DAY 2921939

/* Days from 0000-03-01, where the algorithm's years begin, to 2000-01-01. */
#define DAYS_BEFORE_2000 730425

/* Bytes of a date's text. */
#define DATE_BYTES 10

/* Days of 400, 100 and 4 years. */
#define DAYS_400 146097
#define DAYS_100 36524
#define DAYS_4 1460

/* Writes the date of a day in range.  Years begin in March, so that the leap day is the last. */
static void
write_day(char *to, int32 date)
{
	uint32		day = (uint32) (date + DAYS_BEFORE_2000);
	uint32		in_cycle = day % DAYS_400;
	uint32		in_cycle_years = (in_cycle - in_cycle / DAYS_4 + in_cycle / DAYS_100 - in_cycle / (DAYS_400 - 1)) / 365;
	uint32		in_year = in_cycle - (365 * in_cycle_years + in_cycle_years / 4 - in_cycle_years / 100);
	uint32		month = (5 * in_year + 2) / 153;
	uint32		year = in_cycle_years + day / DAYS_400 * 400 + (month >= 10);

	put_four(to, year);
	to[4] = to[7] = '-';
	put_pair(to + 5, month >= 10 ? month - 9 : month + 3);
	put_pair(to + 8, in_year - (153 * month + 2) / 5 + 1);
}

/*
 * The text that was written last of all days with the same remainder: a table has some years' days again and again.
 */
#define KEPT_DAYS 4096

static struct
{
	uint16		round;			/* which of these days, from 1 on; 0: none yet */
	char		text[DATE_BYTES];
}			kept_days[KEPT_DAYS];

/* Writes the date of a day in range, unless its text is there. */
static inline void
put_day(char *to, int32 date)
{
	uint32		day = (uint32) (date - FIRST_DAY);
	uint16		round = (uint16) (day / KEPT_DAYS + 1);

	if (unlikely(kept_days[day % KEPT_DAYS].round != round))
	{
		write_day(kept_days[day % KEPT_DAYS].text, date);
		kept_days[day % KEPT_DAYS].round = round;
	}
	memcpy(to, kept_days[day % KEPT_DAYS].text, DATE_BYTES);
}

char *
put_date(char *to, DateADT date)
{
	if (unlikely(date < FIRST_DAY || date > LAST_DAY))
		return NULL;
	put_day(to, date);
	return to + DATE_BYTES;
}

/* Writes a fraction of a second without trailing zeros, unless it is 0. */
static inline char *
put_fraction(char *to, uint32 microseconds)
{
	uint64		digits = eight_digits(microseconds * 100);

	if (microseconds == 0)
		return to;
	*to = '.';
	store_eight(to + 1, digits | DIGITS_ASCII);
	return to + 2 + pg_leftmost_one_pos64(digits) / 8;
}

char *
put_timestamp(char *to, Timestamp time)
{
	int64		date = time / USECS_PER_DAY;
	int64		rest = time % USECS_PER_DAY;
	uint32		seconds;

	if (rest < 0)
	{
		rest += USECS_PER_DAY;
		date--;
	}
	if (unlikely(date < FIRST_DAY || date > LAST_DAY))
		return NULL;
	put_day(to, (int32) date);
	seconds = (uint32) (rest / USECS_PER_SEC);
	to[10] = ' ';
	put_pair(to + 11, seconds / SECS_PER_HOUR);
	to[13] = ':';
	put_pair(to + 14, seconds / SECS_PER_MINUTE % MINS_PER_HOUR);
	to[16] = ':';
	put_pair(to + 17, seconds % SECS_PER_MINUTE);
	return put_fraction(to + 19, (uint32) (rest % USECS_PER_SEC));
}

/* Times from "from" to before "to" at which the zone has one offset from UTC. */
typedef struct ZoneSpan
{
	pg_time_t	from;
	pg_time_t	to;
	long		offset;			/* seconds */
	char		text[16];
	int			bytes;
} ZoneSpan;

/* More than the changes of most zones in a lifetime. */
#define MAX_SPANS 64

static ZoneSpan spans[MAX_SPANS];
static int	nspans;
static const ZoneSpan *last_span = spans;
static const pg_tz *spans_zone;

/* Writes a span's offset as EncodeTimezone does in ISO style. */
static void
write_offset(ZoneSpan *span)
{
	uint32		seconds = (uint32) labs(span->offset);

	span->text[0] = span->offset >= 0 ? '+' : '-';
	put_pair(span->text + 1, seconds / SECS_PER_HOUR);
	span->text[3] = span->text[6] = ':';
	put_pair(span->text + 4, seconds / SECS_PER_MINUTE % MINS_PER_HOUR);
	put_pair(span->text + 7, seconds % SECS_PER_MINUTE);
	span->bytes = seconds % SECS_PER_MINUTE != 0 ? 9 : seconds % SECS_PER_HOUR != 0 ? 6 : 3;
}

/* Does the session's zone have an offset at a time? */
static bool
has_offset(pg_time_t time, long offset)
{
	const struct pg_tm *tm = pg_localtime(&time, session_timezone);

	return tm != NULL && tm->tm_gmtoff == offset;
}

/* Asks the zone for the span that begins with a time or includes it; false: the zone says nothing consistent. */
static bool
ask_zone(pg_time_t time, ZoneSpan *span)
{
	long		after;
	int			is_dst;
	int			found = pg_next_dst_boundary(&time, &span->offset, &is_dst, &span->to, &after, &is_dst,
										 session_timezone);

	span->from = time;
	if (found == 0)
		span->to = PG_INT64_MAX;
	return found >= 0 && span->to > time && has_offset(time, span->offset) &&
		(found == 0 || has_offset(span->to - 1, span->offset));
}

/* Returns the known span that a time is in, or that an answer of the zone shows to begin earlier; NULL: none. */
static ZoneSpan *
known_span(pg_time_t time, const ZoneSpan *answer)
{
	for (int i = 0; i < nspans; i++)
		if (answer ? spans[i].to == answer->to && spans[i].offset == answer->offset :
			time >= spans[i].from && time < spans[i].to)
			return &spans[i];
	return NULL;
}

/* Returns the span of a time, or NULL. */
static const ZoneSpan *
find_span(pg_time_t time)
{
	ZoneSpan	answer;
	ZoneSpan   *span;

	if (spans_zone != session_timezone)
		nspans = 0;
	spans_zone = session_timezone;
	span = known_span(time, NULL);
	if (span != NULL)
		return last_span = span;
	if (!ask_zone(time, &answer))
		return NULL;
	span = known_span(time, &answer);
	if (span == NULL)
	{
		if (nspans == MAX_SPANS)
			nspans = 0;
		write_offset(&answer);
		span = &spans[nspans++];
		*span = answer;
	}
	span->from = answer.from;
	return last_span = span;
}

char *
put_timestamptz(char *to, TimestampTz time)
{
	const ZoneSpan *span = last_span;
	pg_time_t	seconds = time / USECS_PER_SEC - (time % USECS_PER_SEC < 0);

	/* also keeps arithmetic in range, and asks no zone about times that are extrapolated otherwise */
	if (unlikely(seconds < (int64) FIRST_DAY * SECS_PER_DAY || seconds >= (int64) (LAST_DAY + 1) * SECS_PER_DAY))
		return NULL;
	seconds += (int64) (POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	if (unlikely(nspans == 0 || spans_zone != session_timezone || seconds < span->from || seconds >= span->to))
	{
		span = find_span(seconds);
		if (span == NULL)
			return NULL;
	}
	to = put_timestamp(to, time + span->offset * USECS_PER_SEC);
	if (unlikely(to == NULL))
		return NULL;
	memcpy(to, span->text, sizeof(span->text));
	return to + span->bytes;
}
