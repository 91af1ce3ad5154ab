/*
 * steps_writer.h: writes a list of steps into a block of GS_STEPS_MAX_BYTES, whose address stays.
 */
#ifndef GPUSORT_COLUMNS_STEPS_WRITER_H
#define GPUSORT_COLUMNS_STEPS_WRITER_H

#include "kernels/gs_steps.h"

/* A list that is being written. */
typedef struct StepsWriter
{
	char	   *data;
	Size		bytes;
	bool		full;			/* something had no room; what is written then goes nowhere */
} StepsWriter;

/* Makes room for some bytes, which are 0, and returns their offset. */
extern uint32 steps_reserve(StepsWriter *writer, Size bytes);

/* Writes some bytes and returns their offset. */
extern uint32 steps_put(StepsWriter *writer, const void *data, Size bytes);

/* Begins a step, of which this many bytes come first, and returns its offset. */
extern uint32 steps_begin(StepsWriter *writer, gs_step_kind kind, Size bytes);

/* Ends the step that begins at an offset: all that was written since belongs to it. */
extern void steps_end(StepsWriter *writer, uint32 offset);

#endif
