/*
 * verify.h: checks of an order against the types' own comparison functions.
 */
#ifndef GPUSORT_VERIFY_H
#define GPUSORT_VERIFY_H

#include "rowcompare.h"
#include "src/engine/engine.h"
#include "src/base/guc.h"

/* A sample looks at one pair of neighbours in so many rows. */
#define VERIFY_SAMPLE_ROWS 1024

/* So many rows of an order, or all, are sampled before the first one leaves: an area of a link, which comes whole. */
#define VERIFY_FIRST_ROWS 65536

typedef struct Verifier Verifier;

/* How much of an answer that comes from there is checked, by gpusort.verify. */
extern GpusortVerify verify_how(EngineKind kind);

/* The first of the pair that a sample takes of rows that begin at from and end before count, at least two. */
extern uint64 verify_sample(uint64 from, uint64 count);

/* Memory comes from the current context. */
extern Verifier *verify_open(RowComparer *comparer);

/*
 * Is every row of a part of an order (VERIFY_SAMPLE: of a sample) before its successor, equal rows in arrival order?
 * The first one is always compared with the row before the part, unless there is none (-1).
 */
extern bool verify_part(Verifier *verifier, GpusortVerify how, int64 before, const uint32 *part, uint64 count);

#endif
