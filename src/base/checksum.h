/*
 * checksum.h: what temporary files are held against when they are read.
 *
 * Who reads a row relies on its lengths, and a disk that gives back other bytes than it took is to end the query, and
 * nothing else.
 */
#ifndef GPUSORT_CHECKSUM_H
#define GPUSORT_CHECKSUM_H

#include "port/pg_crc32c.h"

#include "compat.h"

/* The checksum of some bytes behind those whose checksum is known; that of none is 0. */
static inline pg_crc32c
checksum_of(pg_crc32c before, const void *bytes, Size len)
{
	pg_crc32c	sum = before;

	/* what finishes a checksum takes back that it was finished */
	FIN_CRC32C(sum);
	COMP_CRC32C(sum, bytes, len);
	FIN_CRC32C(sum);
	return sum;
}

/* Ends the query because of a temporary file. */
pg_noreturn static inline void
checksum_failed(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("temporary file \"%s\" does not hold what was written to it", name),
			 errhint("The disk or the file system of temporary files may be faulty.")));
}

#endif
