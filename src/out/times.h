/*
 * times.h: dates and timestamps of the years 1 to 9999, in ISO style.
 */
#ifndef GPUSORT_TIMES_H
#define GPUSORT_TIMES_H

#include "datatype/timestamp.h"
#include "utils/date.h"

/* Bytes that may be written: the longest text and what whole words need besides. */
#define TIME_BYTES 48

/*
 * Write a value as the type's output function does with DateStyle ISO, and return the end; NULL, and anything written,
 * for values outside those years, infinities among them.
 */
extern char *put_date(char *to, DateADT date);
extern char *put_timestamp(char *to, Timestamp time);
extern char *put_timestamptz(char *to, TimestampTz time);

#endif
