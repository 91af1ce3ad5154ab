/*
 * vectordirect.h: counts distinct numbers of a vector, and selects by position, without sorting it.
 */
#ifndef GPUSORT_VECTORDIRECT_H
#define GPUSORT_VECTORDIRECT_H

#include "vectorjob.h"

/* Returns true if this applies: plain numbers without NULLs, and the CPU is to do the work. */
extern bool vectordirect_can(const VectorColumn *column);

/* Images made at a time. */
#define VECTORDIRECT_BLOCK 512

/* Writes up to VECTORDIRECT_BLOCK numbers, not NULL, as order-preserving unsigned integers; returns how many. */
extern uint32 vectordirect_images(const Vector *values, gs_type type, uint64 from, uint64 *out);

/* Counts the distinct values.  If kept is not NULL, it receives an array of them. */
extern uint64 vectordirect_distinct(BigMem *mem, const VectorColumn *column, uint64 **kept);

/* Writes count of those values in the form of a vector's data. */
extern void vectordirect_store(const VectorColumn *column, const uint64 *kept, uint64 count, char *to);

/* Finds the rows at a position of the ascending stable order and at the next one.  Without a next, both are equal. */
extern void vectordirect_at(BigMem *mem, const VectorColumn *column, uint64 place, uint32 rows[2]);

#endif
