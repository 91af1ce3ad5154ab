/*
 * arguments.h: argument checks shared by the public calls of all primitive families.
 */
#ifndef GS_ARGUMENTS_H
#define GS_ARGUMENTS_H

#include "gs.h"

/* Returns true if an array is present and aligned to its element width. */
static inline bool
array_valid(const void *array, size_t width)
{
	return array != NULL && (uintptr_t) array % width == 0;
}

/* Returns true if two arrays overlap without being identical. */
static inline bool
overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
	uintptr_t x = (uintptr_t) a, y = (uintptr_t) b;

	return x != y && a != NULL && b != NULL && x < y + b_bytes && y < x + a_bytes;
}

/* Returns true if temporary memory is large enough and has the alignment that the layouts inside it assume. */
static inline bool
temp_valid(const void *temp, size_t have, size_t need)
{
	return need == 0 || (temp != NULL && have >= need && (uintptr_t) temp % 256 == 0);
}

/* Returns true for the types that support arithmetic. */
static inline bool
numeric(gs_type type)
{
	return type == GS_I32 || type == GS_U32 || type == GS_I64 || type == GS_U64 || type == GS_F32 || type == GS_F64;
}

#endif
