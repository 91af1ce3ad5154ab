/*
 * loud.c: an output function of integers that sends other messages to the client in the middle of a row, and texts as
 * no other function makes them.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(loud_out);

/* Raises notices, changes a parameter that the client is told of, fails at 700, takes long from 2000 on. */
Datum
loud_out(PG_FUNCTION_ARGS)
{
	int32		i = PG_GETARG_INT32(0);

	if (i % 10 == 0)
		ereport(NOTICE, (errmsg("value %d", i)));
	if (i % 25 == 0)
		SetConfigOption("application_name", psprintf("value %d", i), PGC_USERSET, PGC_S_SESSION);
	if (i >= 2000)
		pg_usleep(10000);
	if (i == 700)
		ereport(ERROR, (errmsg("value %d", i)));
	PG_RETURN_CSTRING(psprintf("%d", i));
}

PG_FUNCTION_INFO_V1(with_zeros);

/* Returns a text with a zero byte in the place of each '#'. */
Datum
with_zeros(PG_FUNCTION_ARGS)
{
	text	   *result = PG_GETARG_TEXT_P_COPY(0);

	for (int i = 0; i < VARSIZE_ANY_EXHDR(result); i++)
		if (VARDATA_ANY(result)[i] == '#')
			VARDATA_ANY(result)[i] = '\0';
	PG_RETURN_TEXT_P(result);
}
