/*
 * arguments.h: checks of arguments that the families' public calls share.
 */
#ifndef GS_ARGUMENTS_H
#define GS_ARGUMENTS_H

#include "gs.h"

/* True if an array of elements can be worked on: there, and aligned to its elements. */
static inline bool
array_valid(const void *array, size_t width)
{
	return array != NULL && (uintptr_t) array % width == 0;
}

/* True if two arrays share bytes without being one and the same. */
static inline bool
overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
	uintptr_t x = (uintptr_t) a, y = (uintptr_t) b;

	return x != y && a != NULL && b != NULL && x < y + b_bytes && y < x + a_bytes;
}

/* True if temporary memory is enough, and aligned as the layouts in it take for granted. */
static inline bool
temp_valid(const void *temp, size_t have, size_t need)
{
	return need == 0 || (temp != NULL && have >= need && (uintptr_t) temp % 256 == 0);
}

/* Types that arithmetic is done on. */
static inline bool
numeric(gs_type type)
{
	return type == GS_I32 || type == GS_U32 || type == GS_I64 || type == GS_U64 || type == GS_F32 || type == GS_F64;
}

#endif
