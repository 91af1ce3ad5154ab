/*
 * rowgather.h: rows made of some columns of a table's tuples.
 */
#ifndef GPUSORT_ROWGATHER_H
#define GPUSORT_ROWGATHER_H

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "nodes/pg_list.h"

/* How rows are made of a table's tuples. */
typedef struct RowGather
{
	int			nsource;		/* columns of a tuple up to the last one that is wanted */
	int			ncolumns;		/* of a row */
	struct GatherSource *sources;
	struct GatherColumn *columns;
	bool		fixed;			/* all columns have their places in every tuple without NULLs; then: */
	uint16		fixed_natts;	/* that such a tuple has, if it has all columns */
	uint32		fixed_bytes;	/* of a row's data */
	const char **places;		/* of a tuple's columns */
	MinimalTuple row;			/* room for the longest row */
} RowGather;

/*
 * The way to make rows of a scan's target list; NULL if it takes more than copying columns.  In the current memory
 * context.
 */
extern RowGather *rowgather_create(List *targets, TupleDesc source, TupleDesc result);

/*
 * Makes a row of a tuple, as the server's heap_form_minimal_tuple would; valid until the next call.  NULL if the tuple
 * lacks columns, which were added to the table after it was written.
 */
extern MinimalTuple rowgather_form(RowGather *gather, HeapTupleHeader tuple);

/* Copies the columns of fixed place of a tuple without NULLs to a row's data; false if it is no such tuple. */
extern bool rowgather_copy(const RowGather *gather, HeapTupleHeader tuple, char *to);

#endif
