/*
 * string_workers.h: parallel workers that call a function for the strings of a dictionary, which is long for regular
 * expressions.
 */
#ifndef GPUSORT_COLUMNS_STRING_WORKERS_H
#define GPUSORT_COLUMNS_STRING_WORKERS_H

#include "columns_strings.h"

/* Strings that are called for, by their codes: those that are possible. */
typedef struct StringsJob
{
	const StringCodes *codes;
	const ColumnDescription *column;
	const QueryCall *of;
	const StringCall *call;		/* of this process */
	/* Calls for the codes from one up to another, in this process. */
	void		(*here) (void *arg, uint32 from, uint32 to);
	/* Takes a worker's result: an integer, or a text with its bytes. */
	void		(*there) (void *arg, uint32 code, const char *text, uint32 number);
	void	   *arg;
} StringsJob;

/*
 * Calls for all of them, in workers, too, where settings allow some and there are enough strings.  An error of a worker
 * is raised here.
 */
extern void string_workers_call(const StringsJob *job);

#endif
