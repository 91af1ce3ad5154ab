/*
 * merge_proof.c: what is said of merged rows that descend.
 */
#include "postgres.h"

#include "merge_proof.h"

void
merge_refuse(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("gpusort found rows in a wrong order while it merged them"),
			 errdetail("Their keys were compared, as \"gpusort.verify\" says."),
			 errhint("Do not use the rows returned so far. Repeat the query with gpusort.engine set to cpu, or "
					 "gpusort.enabled to off.")));
}
