/*
 * output.h: results leave as messages.
 */
#ifndef GPUSORT_OUTPUT_H
#define GPUSORT_OUTPUT_H

#include "nodes/execnodes.h"

struct ExplainState;

/* EXPLAIN (VERBOSE): how the rows of a node at the top of a plan go to the client. */
extern void explain_output(CustomScanState *css, struct ExplainState *es);

/* In _PG_init: hooks where a query runs, and where a COPY begins. */
extern void gpusort_output_init(void);

#endif
