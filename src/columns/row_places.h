/*
 * row_places.h: the rows that answer a question about rows, as TIDs.
 */
#ifndef GPUSORT_ROW_PLACES_H
#define GPUSORT_ROW_PLACES_H

#include "heap_pages.h"

typedef struct AddedPage
{
	BlockNumber block;
	uint64		first;			/* number of its first row among the added ones */
} AddedPage;

/* Begins as zeros; memory is that of the context in which the question is asked. */
typedef struct RowPlaces
{
	bool		ordered;		/* the service gives them in their order; else they are in that of the table */
	uint64		count;
	uint64	   *tids;			/* block above 16 bits of line pointer */
	/* row_places.c alone */
	uint64		room;
	const PageProof *proof;
	uint64		nadded;			/* rows that were added to the question */
	uint64		added_room;
	uint16	   *lines;			/* of these */
	uint32		npages;
	uint32		pages_room;
	AddedPage  *pages;			/* with added rows */
} RowPlaces;

/* Why columns do not answer: what a query may take for a hash table is not enough. */
extern const char *const row_places_too_many;

/* Returns true if so many rows are within the limit. */
extern bool row_places_fit(double rows);

/* Begins a question, about pages that are proved.  What it gave before is forgotten. */
extern void row_places_begin(RowPlaces *places, const PageProof *proof);

/* Notes a page whose rows are added to the question.  Returns false if they are too many. */
extern bool row_places_note(RowPlaces *places, const HeapPageRows *rows);

/* Takes rows as the service gives them.  Returns NULL, or why that is impossible. */
extern const char *row_places_take(RowPlaces *places, const uint64 *given, uint64 n);

/* Ends the answer.  Returns NULL, or why it is impossible. */
extern const char *row_places_end(RowPlaces *places);

#endif
