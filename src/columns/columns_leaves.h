/*
 * columns_leaves.h: the tables that a query over columns reads: one, or the partitions of one.
 */
#ifndef GPUSORT_COLUMNS_LEAVES_H
#define GPUSORT_COLUMNS_LEAVES_H

#include "held_tables.h"
#include "query_members.h"

/* A table without partitions. */
typedef struct Leaf
{
	Relation	rel;
	HeldTable  *held;			/* NULL: its rows come from the table */
	const char *why;			/* it is not held */
	uint32		indexes[GS_STEPS_MAX_COLUMNS];	/* of the list's columns in the held table */
	ColumnDescription columns[GS_STEPS_MAX_COLUMNS];	/* as the relation describes them */
	/* columns_answer.c alone: of the question that is open */
	PageProof	proof;
	StoreQuestion about;
	BlockNumber table_pages;	/* that are read in the table */
	uint64		added;			/* rows of these */
} Leaf;

typedef struct Leaves
{
	Relation	table;			/* whose columns the query names: the only leaf, or the parent */
	int			count;
	Leaf	   *list;
} Leaves;

/* Opens partitions, or the table itself.  Returns NULL, or why one cannot be read. */
extern const char *leaves_open(Leaves *leaves, Relation table, const List *oids);

/* Closes them.  Their locks stay. */
extern void leaves_close(const Leaves *leaves);

/*
 * Finds out which leaves are held with the query's columns; a query without any gets one.  Returns NULL, or why columns
 * cannot answer.
 */
extern const char *leaves_find_held(Leaves *leaves, ServiceLink *link, ColumnsQuery *query);

/* Returns true if a query is about strings. */
extern bool leaves_have_strings(const ColumnsQuery *query);

/*
 * Returns true if a query can be answered for each leaf by itself, whose answers are combined: plain aggregates of all
 * rows, of no string.
 */
extern bool leaves_are_apart(const ColumnsQuery *query);

/* Returns true if nothing impossible has been found in the dictionaries of the query's strings. */
extern bool leaves_codes_sound(const ColumnsQuery *query);

/*
 * Begins the codes of the query's strings, by the dictionaries of a leaf that is held, after its pages are proved: what
 * is not in the dictionary then is in none of them.  Returns NULL, or why a dictionary cannot be read.
 */
extern const char *leaves_begin_codes(const Leaves *leaves, const Leaf *held, ServiceLink *link,
									  ColumnsQuery *query);

/* Ranks those codes that are to be ranked, all of which are known.  Returns NULL, or why they cannot be. */
extern const char *leaves_rank_codes(const Leaf *held, ServiceLink *link, ColumnsQuery *query);

#endif
