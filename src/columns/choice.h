/*
 * choice.h: which tables and columns users have chosen: rows of gpusort_columns_choice.
 */
#ifndef GPUSORT_COLUMNS_CHOICE_H
#define GPUSORT_COLUMNS_CHOICE_H

#include "nodes/pg_list.h"

#include "column.h"

#define CHOICE_TABLE "gpusort_columns_choice"

typedef struct ColumnsChoice
{
	Oid			relation;		/* a table, a materialised view, or a partitioned parent */
	bool		all;			/* all columns that can be held, else names */
	List	   *names;			/* of String */
} ColumnsChoice;

/* Returns the table of choices, or InvalidOid if this database has no extension, or an older version of it. */
extern Oid	choice_table(void);

/* Reads the committed choices.  The caller has locked the table. */
extern List *choice_read(Oid table);

/* Returns the tables whose pages a choice holds: itself, or the leaves of a partitioned parent. */
extern List *choice_leaves(Oid relation);

/* Describes the chosen columns of a relation, in the order of its attributes.  Leaves out what cannot be held. */
extern int	choice_columns(Relation rel, const ColumnsChoice *choice, ColumnDescription **columns);

/* Returns NULL, or why no column of a relation can be held. */
extern const char *choice_refused(Relation rel);

#endif
