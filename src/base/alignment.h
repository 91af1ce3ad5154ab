/*
 * alignment.h: what pg_attribute and pg_type say of alignment, in bytes.
 */
#ifndef GPUSORT_ALIGNMENT_H
#define GPUSORT_ALIGNMENT_H

#include "catalog/pg_type.h"

/* Returns the bytes of an attribute's alignment, by attalign. */
static inline uint8
alignment_bytes(char attalign)
{
	switch (attalign)
	{
		case TYPALIGN_CHAR:
			return 1;
		case TYPALIGN_SHORT:
			return ALIGNOF_SHORT;
		case TYPALIGN_INT:
			return ALIGNOF_INT;
		default:
			return ALIGNOF_DOUBLE;
	}
}

#endif
