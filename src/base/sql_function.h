/*
 * sql_function.h: SQL functions that are one call.
 */
#ifndef GPUSORT_SQL_FUNCTION_H
#define GPUSORT_SQL_FUNCTION_H

#include "fmgr.h"

/* Defines the SQL function `name` and its record, with a call that returns its Datum and may use fcinfo. */
#define SQL_FUNCTION(name, call) \
	PG_FUNCTION_INFO_V1(name); \
	Datum \
	name(PG_FUNCTION_ARGS) \
	{ \
		return call; \
	} \
	extern int no_such_variable

#endif
