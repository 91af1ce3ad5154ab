/*
 * columns_question.h: a question to the service about a table, or partitions of one, and what is known of its answer.
 */
#ifndef GPUSORT_COLUMNS_QUESTION_H
#define GPUSORT_COLUMNS_QUESTION_H

#include "utils/rel.h"
#include "utils/snapshot.h"

#include "columns_steps.h"
#include "row_places.h"
#include "store.h"

/* Where answers came from, and how long that took. */
typedef struct ColumnsFigures
{
	uint64		pages;			/* from columns, of which */
	uint64		young;			/* were proved by their LSN */
	uint64		table_pages;	/* from the table, of which */
	uint64		undecided;		/* are held, but not for the snapshot */
	double		prove_ms;
	double		heap_ms;
	double		engine_ms;		/* with the way there and back */
	uint64		strings;		/* of dictionaries, of which the service was asked which ones occur, */
	uint64		occurring;		/* and those that do */
	char		device[64];		/* on which columns lie, or "CPU"; for EXPLAIN alone */
	bool		copied;			/* the CPU answered about columns that lie on a device */
} ColumnsFigures;

/* Whether a question helps to ask another one.  Then it is neither a query nor a scan that is counted. */
typedef enum QuestionAside
{
	QUESTION_ITSELF,
	QUESTION_ASIDE,				/* about all rows */
	QUESTION_SAMPLE				/* about some of the proved pages */
} QuestionAside;

/* A question. */
typedef struct ColumnsQuestion
{
	Relation	table;			/* whose columns the query names */
	List	   *leaves;			/* OIDs of the partitions to read; NIL: the table itself */
	Snapshot	snapshot;
	ColumnsQuery *query;
	QueryValues values;
	bool		explained;		/* EXPLAIN shows where columns lie */
	ColumnsFigures *figures;	/* to which this answer's are added */
	/*
	 * With keys: takes groups as they come, each keys, then aggregates.  Returns NULL, or why they are impossible.
	 * NULL: they stay where they are, and are counted.
	 */
	const char *(*take) (void *arg, const gs_reduced *groups, uint64 n);
	void	   *arg;
	RowPlaces  *places;			/* of rows: where they go; else NULL */
	QuestionAside aside;
	/* The answer. */
	ColumnsSteps steps;
	gs_reduced	reduced[GS_STEPS_MAX_AGGREGATES];	/* without keys */
	uint64		rows;			/* that were looked at */
	uint64		groups;			/* or rows */
	int			parts;			/* that have been combined, without keys */
	double		share;			/* of the proved pages, in a sample */
	bool		copied;			/* the last one was the CPU's, about columns that lie on a device */
} ColumnsQuestion;

#endif
