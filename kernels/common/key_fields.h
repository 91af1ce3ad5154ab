/*
 * key_fields.h: packs a column's values into a key field of the fewest bits, on the CPU and for the GPU: subtracts the
 * minimum and drops constant trailing bits.
 */
#ifndef GS_COMMON_KEY_FIELDS_H
#define GS_COMMON_KEY_FIELDS_H

#include "types.h"

/* Returns the number of constant trailing bits.  varying has a bit set where values differ. */
GS_BOTH uint32_t
gs_field_shift(uint64_t varying)
{
	return varying ? gs_bits(varying & (0 - varying)) - 1 : 0;
}

/* Returns the code of NULL among codes 0 to span: below or above all others. */
GS_BOTH uint64_t
gs_null_code(bool nulls_first, uint64_t span)
{
	return nulls_first ? 0 : span + 1;
}

/* Returns the offset added to all other codes to make room for NULL's. */
GS_BOTH uint64_t
gs_null_bump(bool nulls_first)
{
	return nulls_first ? 1 : 0;
}

/* Returns true if NULL's code still fits 64 bits. */
GS_BOTH bool
gs_null_fits(uint64_t span)
{
	return span < UINT64_MAX;
}

#endif
