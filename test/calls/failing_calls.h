/*
 * failing_calls.h: what the parts of the library share; failing_calls.c says what it is.
 */
#ifndef FAILING_CALLS_H
#define FAILING_CALLS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum
{
	CALL_MEMORY = 1,
	CALL_PALLOC,
	CALL_SYSTEM,
	CALL_WRITE
};

/* As GpuSortCalls.pm packs it. */
struct control
{
	int32_t		kind;			/* 0: nothing is counted */
	int32_t		pid;			/* 0: every process */
	int64_t		first;			/* number of the first call that fails, from 1 */
	int64_t		last;
	int32_t		error;			/* for errno; 0: what the call usually fails with */
	int32_t		unused;
	int64_t		count;			/* calls so far */
	int64_t		failed;			/* those that failed */
	int64_t		place;			/* where gpusort.so made the first of these */
	char		name[32];
};

extern const char *gpusort_begin;
extern const char *gpusort_end;

/* Counts a call of this kind, and says whether it is to fail; errno is set. */
extern bool call_fails(int kind, const char *name, int error, const void *caller);

/* Does gpusort itself make this call? */
extern bool ours(const void *caller);
extern bool temporary(int file, bool shared);
extern bool interrupted(void);

#endif
