/*
 * vectordirect.h: how many different numbers a vector holds, and which stands at a place of its order, without
 * putting it in order.
 */
#ifndef GPUSORT_VECTORDIRECT_H
#define GPUSORT_VECTORDIRECT_H

#include "vectorjob.h"

/* Can that be done here, that is, are they plain numbers without NULLs, and is the CPU to do it? */
extern bool vectordirect_can(const VectorColumn *column);

/* Images that are made at a time. */
#define VECTORDIRECT_BLOCK 512

/*
 * Up to VECTORDIRECT_BLOCK of a vector's numbers from a row on, of which none is NULL, as unsigned integers that sort
 * like them; returns how many there are.
 */
extern uint32 vectordirect_images(const struct Vector *values, gs_type type, uint64 from, uint64 *out);

/* How many different values there are; if kept is not NULL, it becomes an array of them. */
extern uint64 vectordirect_distinct(BigMem *mem, const VectorColumn *column, uint64 **kept);

/* Writes so many of those values down as they lie in a vector. */
extern void vectordirect_store(const VectorColumn *column, const uint64 *kept, uint64 count, char *to);

/*
 * The rows that stand at a place of the ascending stable order and at the next one.  The second is the first one
 * again where there is no next.
 */
extern void vectordirect_at(BigMem *mem, const VectorColumn *column, uint64 place, uint32 rows[2]);

#endif
