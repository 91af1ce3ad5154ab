/*
 * key_fields.h: how the values of a column become a field of a key, of as few bits as they need: less their minimum,
 * and without the trailing bits in which none of them differ.  The CPU engine makes fields so (cpu/fields.c), the host
 * for a GPU (cuda/order/fields.cuh), and a kernel for itself where orders are small.
 */
#ifndef GS_COMMON_KEY_FIELDS_H
#define GS_COMMON_KEY_FIELDS_H

#include "types.h"

/* Trailing bits in which no values differ; varying: the bits in which some do. */
GS_BOTH uint32_t
gs_field_shift(uint64_t varying)
{
	return varying ? gs_bits(varying & (0 - varying)) - 1 : 0;
}

/* The code of NULL among codes of 0 to span: the least or the greatest of all. */
GS_BOTH uint64_t
gs_null_code(bool nulls_first, uint64_t span)
{
	return nulls_first ? 0 : span + 1;
}

/* What the others are raised by to make room for it. */
GS_BOTH uint64_t
gs_null_bump(bool nulls_first)
{
	return nulls_first ? 1 : 0;
}

/* True if 64 bits have room for one more code. */
GS_BOTH bool
gs_null_fits(uint64_t span)
{
	return span < UINT64_MAX;
}

#endif
