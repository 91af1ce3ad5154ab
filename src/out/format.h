/*
 * format.h: rows as messages of the protocol, byte for byte as printtup.c and COPY write them.
 */
#ifndef GPUSORT_FORMAT_H
#define GPUSORT_FORMAT_H

#include "access/htup_details.h"
#include "executor/tuptable.h"

#include "message.h"

/*
 * Prepares for rows of a descriptor.  Formats are a Portal's (NULL: all in text), copy is NULL or COPY's.  In the
 * current memory context.
 */
extern OutFormat *out_open(TupleDesc desc, const int16 *formats, const CopyOptions *copy, OutBuffer *buffer);
extern void out_close(OutFormat *format);

/*
 * Append a row's message to the buffer.  False, with nothing appended: the row is too large, or (out_tuple) it lacks
 * columns that were added to its table later.
 */
extern bool out_values(OutFormat *format, const Datum *values, const bool *nulls);
extern bool out_tuple(OutFormat *format, HeapTupleHeader tuple);

/* As out_values, of a slot, whose tuple is read without taking it apart. */
extern bool out_slot(OutFormat *format, TupleTableSlot *slot);

/* A minimal tuple as a heap tuple, of which only the data and the members that describe them may be read. */
#define HEADER_OF_MINIMAL(tuple) ((HeapTupleHeader) ((char *) (tuple) - MINIMAL_TUPLE_OFFSET))

#endif
