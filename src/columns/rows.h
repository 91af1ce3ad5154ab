/*
 * rows.h: the held columns of heap tuples, taken out without a slot.
 */
#ifndef GPUSORT_COLUMNS_ROWS_H
#define GPUSORT_COLUMNS_ROWS_H

#include "access/htup_details.h"

#include "codes.h"

/* An attribute up to the last that is held. */
typedef struct RowAttribute
{
	int16		length;			/* attlen */
	int16		column;			/* its index among the held ones, or -1 */
	int32		align;
	int32		offset;			/* in tuples without NULLs, or -1 where it differs from tuple to tuple */
} RowAttribute;

/* A held column whose offset is known. */
typedef struct RowFixed
{
	uint32		offset;			/* in tuples without NULLs */
	uint32		column;			/* its index */
} RowFixed;

/* A held column, and where its values go. */
typedef struct RowColumn
{
	ColumnDescription description;
	Size		width;			/* of a held value */
	char	   *values;
	uint64	   *nulls;
	uint64		null_words;		/* room */
	bool		has_nulls;		/* nulls is filled in */
	bool		missing_null;	/* what rows have that are older than the column */
	bool		missing_bad;	/* it cannot be held */
	char		missing[16];
	/* Of strings: */
	Oid			base;			/* type */
	Datum		missing_string;
	StringCodes *codes;			/* set by whoever reads rows */
	struct RowColumn *again;	/* of these codes, of the same attribute; NULL: there is none */
} RowColumn;

/* A string out of line, which is fetched when its page is no longer locked. */
typedef struct RowLater
{
	uint32		column;
	uint32		row;
	char		pointer[VARHDRSZ + sizeof(struct varatt_external)];
} RowLater;

typedef struct RowReader
{
	int			nattributes;
	int			nfixed;			/* attributes at the start with a known offset */
	int			fixed_end;		/* offset after them */
	RowAttribute *attributes;
	int			nheld;			/* held ones of those */
	RowFixed   *fixed;
	int			ncolumns;
	RowColumn  *columns;
	MemoryContext detoasted;	/* one string at a time */
	bool		locked;			/* pages are: strings out of line are put off */
	int			nlater;
	int			later_room;
	RowLater   *later;
} RowReader;

/*
 * Prepares for a relation's tuples.  Of columns that are given twice, the last is read, whose codes of strings go to
 * all of them.  Allocates in this context.
 */
extern void row_reader_init(RowReader *reader, Relation rel, const ColumnDescription *columns, int ncolumns);

/* Has values written to a chunk that lies in a buffer, without NULLs so far; header is its header, wherever that is. */
extern void row_reader_fill(RowReader *reader, const gs_chunk *header, char *buffer);

/* Writes a tuple's values as row number row.  Returns false if a value cannot be held. */
extern bool row_read(RowReader *reader, HeapTupleHeader tuple, uint32 row);

/*
 * Writes the values of many tuples as rows from first on, column by column in half the time.  Returns false if one has
 * NULLs, is older than a column or has a value that cannot be held: they are then to be read one by one.
 */
extern bool rows_read(RowReader *reader, const HeapTupleHeader *tuples, int count, uint32 first);

/* Writes the strings that were put off.  Needs a snapshot.  Returns false if one cannot be held. */
extern bool rows_put_later(RowReader *reader);

/* Takes back rows from first on, of which some are NULL. */
extern void row_forget(RowReader *reader, uint32 first, uint32 end);

#endif
