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

/* Rows of an order that are checked before the first one is returned.  An area of a link, which comes whole. */
#define VERIFY_FIRST_ROWS 65536

typedef struct Verifier Verifier;

/* How much of an engine's order of rows is checked, by gpusort.verify.  cheap: a check by words hardly takes time. */
extern GpusortVerify verify_order_how(EngineKind kind, bool cheap);

/* How much of another answer, of which there is no check by words. */
extern GpusortVerify verify_answer_how(EngineKind kind);

/* Picks the first row of a pair to compare from the rows from from to before count, which are at least two. */
extern uint64 verify_sample(uint64 from, uint64 count);

/* Opens the check of orders of a comparer's rows, whose keys a sort has encoded; in the current memory context. */
extern Verifier *verify_open(RowComparer *comparer, SortKey *keys);

/*
 * Returns true if every row of a part of an order, or with VERIFY_SAMPLE of a sample, sorts before its successor; equal
 * rows in order of arrival.  The first two rows are always compared.  Keys must have their final form.
 */
extern bool verify_part(Verifier *verifier, GpusortVerify how, const uint32 *part, uint64 count);

/* Does a row, the last one wanted, sort before all rows that are not marked as seen? */
extern bool verify_rest(Verifier *verifier, uint32 row, const uint64 *seen);

#endif
