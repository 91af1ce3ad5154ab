/*
 * output.h: results leave as messages.
 */
#ifndef GPUSORT_OUTPUT_H
#define GPUSORT_OUTPUT_H

/* In _PG_init: hooks where a query runs, and where a COPY begins. */
extern void gpusort_output_init(void);

#endif
