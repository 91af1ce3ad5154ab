/*
 * checksum.h: checksums of temporary files, whose rows carry lengths that are trusted when they are read back.
 */
#ifndef GPUSORT_CHECKSUM_H
#define GPUSORT_CHECKSUM_H

#include "port/pg_crc32c.h"

#include "compat.h"

/* Extends a checksum by more bytes.  The checksum of no bytes is 0. */
static inline pg_crc32c
checksum_of(pg_crc32c before, const void *bytes, Size len)
{
	pg_crc32c	sum = before;

	/* applying the final XOR again reverts it */
	FIN_CRC32C(sum);
	COMP_CRC32C(sum, bytes, len);
	FIN_CRC32C(sum);
	return sum;
}

/* Raises the error for a corrupt temporary file. */
pg_noreturn static inline void
checksum_failed(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
			 errmsg("temporary file \"%s\" does not hold what was written to it", name),
			 errhint("The disk or the file system of temporary files may be faulty.")));
}

#endif
