/*
 * columns_added.h: rows of pages that columns do not have, sent along with a question.
 */
#ifndef GPUSORT_COLUMNS_ADDED_H
#define GPUSORT_COLUMNS_ADDED_H

#include "query_members.h"
#include "row_places.h"
#include "rows.h"
#include "store.h"

/* Rows that are added to a question. */
typedef struct AddedRows
{
	ServiceLink *link;
	const ColumnsQuery *query;
	Snapshot	snapshot;
	RowPlaces  *places;			/* to which their TIDs are told; may be NULL */
	uint64		count;			/* of those that were sent */
	const char *why;			/* it failed */
	EngineFailure failure;		/* of the service, if it was that */
	/* columns_added.c alone */
	RowReader	reader;
	gs_chunk   *chunk;			/* its header; NULL: no slot is at hand */
	char	   *slot;
} AddedRows;

/*
 * Sends the rows of a relation's pages that are not proved, of columns that it describes like this.  map: where pages
 * were seen last, or NULL.  Returns the number of pages.
 */
extern BlockNumber added_rows_send(AddedRows *added, Relation rel, const ColumnDescription *columns,
								   const PageProof *proof, const PageMap *map);

/*
 * Gives codes to the strings of these rows, so that they are known before the question is asked.  Returns NULL, or why
 * that is impossible.
 */
extern const char *added_rows_note(const ColumnsQuery *query, Snapshot snapshot, Relation rel,
								   const ColumnDescription *columns, const PageProof *proof, const PageMap *map);

#endif
