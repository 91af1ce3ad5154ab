/*
 * types.h: properties of types, and helpers for bits, on the host and in kernels.
 */
#ifndef GS_COMMON_TYPES_H
#define GS_COMMON_TYPES_H

#include "../gs.h"
#include "both.h"

/* Returns the number of significant bits. */
GS_BOTH uint32_t
gs_bits(uint64_t value)
{
#ifdef __CUDA_ARCH__
	return 64 - (uint32_t) __clzll((long long) value);
#else
	return value == 0 ? 0 : 64 - (uint32_t) __builtin_clzll(value);
#endif
}

/* Returns a mask of the lowest bits; bits may be 64. */
GS_BOTH uint64_t
gs_mask(uint32_t bits)
{
	return bits >= 64 ? ~(uint64_t) 0 : ((uint64_t) 1 << bits) - 1;
}

/* Returns the bits of a row number. */
GS_BOTH uint32_t
gs_row_bits(uint64_t rows)
{
	return rows > 1 ? gs_bits(rows - 1) : 1;
}

/* Returns the bytes of one element, or 0 for GS_BYTES. */
GS_BOTH uint32_t
gs_width_of(gs_type type)
{
	switch (type)
	{
		case GS_U8:
			return 1;
		case GS_U16:
		case GS_I16:
			return 2;
		case GS_U32:
		case GS_I32:
		case GS_F32:
			return 4;
		case GS_U128:
			return 16;
		case GS_BYTES:
			return 0;
		default:
			return 8;
	}
}

/* Returns true for types whose order is not that of their bits. */
GS_BOTH bool
gs_type_is_float(gs_type type)
{
	return type == GS_F32 || type == GS_F64;
}

/* Returns true for types whose sign bit is inverted to order their bits. */
GS_BOTH bool
gs_type_is_signed(gs_type type)
{
	return type == GS_I16 || type == GS_I32 || type == GS_I64;
}

/*
 * Returns the mask whose XOR turns values, floats as the numbers of float_order.h, into unsigned numbers in the
 * column's order.
 */
GS_BOTH uint64_t
gs_order_flip(const gs_column_spec *spec)
{
	uint32_t width = gs_width_of(spec->type);
	uint64_t all = gs_mask(width >= 8 ? 64 : 8 * width), flip = 0;

	if (gs_type_is_signed(spec->type))
		flip = all ^ all >> 1;
	return spec->desc ? flip ^ all : flip;
}

#endif
