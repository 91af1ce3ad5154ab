/*
 * minimal_row.h: forms minimal tuples from a slot's values, at a place of the caller's.
 */
#ifndef GPUSORT_MINIMAL_ROW_H
#define GPUSORT_MINIMAL_ROW_H

#include "access/htup_details.h"
#include "executor/tuptable.h"

typedef struct MinimalRow
{
	Size		head;			/* bytes before the values */
	Size		bytes;			/* of all */
	bool		has_nulls;
} MinimalRow;

/* Measures the row of a slot whose values have been deformed. */
static inline MinimalRow
minimal_row_of(const TupleTableSlot *slot)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;
	MinimalRow	form = {.head = SizeofMinimalTupleHeader};

	for (int i = 0; i < desc->natts && !form.has_nulls; i++)
		form.has_nulls = slot->tts_isnull[i];
	if (form.has_nulls)
		form.head += BITMAPLEN(desc->natts);
	form.head = MAXALIGN(form.head);
	form.bytes = form.head + heap_compute_data_size(desc, slot->tts_values, slot->tts_isnull);
	return form;
}

/* Writes it to form->bytes bytes. */
static inline void
minimal_row_fill(const MinimalRow *form, const TupleTableSlot *slot, MinimalTuple row)
{
	TupleDesc	desc = slot->tts_tupleDescriptor;

	memset(row, 0, form->bytes);
	row->t_len = (uint32) form->bytes;
	HeapTupleHeaderSetNatts(row, desc->natts);
	row->t_hoff = (uint8) (form->head + MINIMAL_TUPLE_OFFSET);
	heap_fill_tuple(desc, slot->tts_values, slot->tts_isnull, (char *) row + form->head, form->bytes - form->head,
					&row->t_infomask, form->has_nulls ? row->t_bits : NULL);
}

/* Measures and writes a row, of any size, in a memory context. */
static inline MinimalTuple
minimal_row_form(const TupleTableSlot *slot, MemoryContext cxt)
{
	MinimalRow	form = minimal_row_of(slot);
	MinimalTuple row = MemoryContextAllocHuge(cxt, form.bytes);

	minimal_row_fill(&form, slot, row);
	return row;
}

#endif
