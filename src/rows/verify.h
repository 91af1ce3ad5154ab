/*
 * verify.h: checks an order with the types' own comparison functions.
 */
#ifndef GPUSORT_VERIFY_H
#define GPUSORT_VERIFY_H

#include "rowcompare.h"
#include "src/engine/engine.h"
#include "src/base/guc.h"

/* A sample has one pair of neighbours in this number of rows. */
#define VERIFY_SAMPLE_ROWS 1024

/* Rows of an order that are sampled before the first one is returned.  An area of a link, which comes whole. */
#define VERIFY_FIRST_ROWS 65536

typedef struct Verifier Verifier;

/* How much of an answer of an engine is checked, by gpusort.verify. */
extern GpusortVerify verify_how(EngineKind kind);

/* Picks the first row of a pair to compare from the rows from from to before count, which are at least two. */
extern uint64 verify_sample(uint64 from, uint64 count);

/* Memory comes from the current context. */
extern Verifier *verify_open(RowComparer *comparer);

/*
 * Returns true if every row of a part of an order, or with VERIFY_SAMPLE of a sample, sorts before its successor; equal
 * rows in order of arrival.  The first row is always compared with the row before the part, unless that is -1.
 */
extern bool verify_part(Verifier *verifier, GpusortVerify how, int64 before, const uint32 *part, uint64 count);

#endif
