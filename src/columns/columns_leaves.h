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
	/*
	 * By column, where several leaves' strings share codes: those by the codes of this leaf's dictionary, so many; NULL
	 * in the leaf whose codes they are.
	 */
	uint32	   *shared[GS_STEPS_MAX_COLUMNS];
	uint32		nshared[GS_STEPS_MAX_COLUMNS];
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

/* Finds out for EXPLAIN where the columns lie. */
extern void leaves_find_engine(const Leaves *leaves, ServiceLink *link, char *name, Size room);

/* Returns true if columns lie on one of these devices (bits), which get no more jobs, as their answers were wrong. */
extern bool leaves_lie_aside(const Leaves *leaves, ServiceLink *link, uint32 aside);

/* Returns true if a query is about strings. */
extern bool leaves_have_strings(const ColumnsQuery *query);

/*
 * Returns true if a query can be answered for each leaf by itself, whose answers are combined: plain aggregates of all
 * rows, of no string.
 */
extern bool leaves_are_apart(const ColumnsQuery *query);

/* Returns true if nothing impossible has been found in the dictionaries of the query's strings. */
extern bool leaves_codes_sound(const ColumnsQuery *query);

/* The leaves that a question is about. */
typedef struct AskedLeaves
{
	Leaf	   *list;
	int			count;
	const Leaf *held;			/* the first that is held, by whose dictionaries strings have codes */
	bool		shared;			/* further ones are: their strings get codes there */
} AskedLeaves;

/* Finds out which of so many leaves are held. */
extern AskedLeaves leaves_asked(Leaf *list, int count);

/*
 * Begins the codes of the query's strings, after the pages of the leaves are proved: what is not in the dictionaries
 * then is in none of these.  Returns NULL, or why a dictionary cannot be read.
 */
extern const char *leaves_begin_codes(const AskedLeaves *asked, ServiceLink *link, ColumnsQuery *query);

/* Ranks those codes that are to be ranked, all of which are known.  Returns NULL, or why they cannot be. */
extern const char *leaves_rank_codes(const Leaf *held, ColumnsQuery *query);

/* Begins a question about the query's columns, or about such conditions of it as are known by now. */
extern void leaves_begin_question(const ColumnsQuery *query);

/*
 * Has the question about a leaf be about ranks of strings that are ranked, about results of functions of strings, and
 * about codes that are shared.  Returns NULL, or why it cannot be.
 */
extern const char *leaves_put_ranks(const AskedLeaves *asked, const Leaf *leaf, const ColumnsQuery *query,
									StoreQuestion *about);

#endif
