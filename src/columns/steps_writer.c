/*
 * steps_writer.c: writes a list of steps.
 */
#include "postgres.h"

#include "steps_writer.h"

uint32
steps_reserve(StepsWriter *writer, Size bytes)
{
	Size		offset = writer->bytes;

	bytes = TYPEALIGN(8, bytes);
	if (bytes > GS_STEPS_MAX_BYTES - offset)
	{
		writer->full = true;
		return 0;
	}
	memset(writer->data + offset, 0, bytes);
	writer->bytes += bytes;
	return (uint32) offset;
}

uint32
steps_put(StepsWriter *writer, const void *data, Size bytes)
{
	uint32		offset = steps_reserve(writer, bytes);

	if (!writer->full)
		memcpy(writer->data + offset, data, bytes);
	return offset;
}

uint32
steps_begin(StepsWriter *writer, gs_step_kind kind, Size bytes)
{
	uint32		offset = steps_reserve(writer, bytes);

	if (!writer->full)
		((gs_step *) (writer->data + offset))->kind = kind;
	return offset;
}

void
steps_end(StepsWriter *writer, uint32 offset)
{
	gs_steps   *steps = (gs_steps *) writer->data;

	if (writer->full)
		return;
	((gs_step *) (writer->data + offset))->bytes = (uint32) (writer->bytes - offset);
	steps->nsteps++;
}
