/*
 * column.h: what identifies a resident column, and how its values are held.
 *
 * A description is part of the key under which values are held (page_map.h): a column is answered from memory only
 * while the relation still describes it in the same way.
 */
#ifndef GPUSORT_COLUMN_H
#define GPUSORT_COLUMN_H

#include "access/tupdesc.h"
#include "utils/rel.h"

#include "kernels/gs.h"

typedef enum ColumnForm
{
	COLUMN_AS_IS,				/* the datum's bytes, of 1 to 8 bytes by value, or 16 by reference (uuid) */
	COLUMN_SCALED_64,			/* numeric with a typmod: an integer, scaled by the typmod */
	COLUMN_SCALED_128,
	COLUMN_CODES				/* of a dictionary (codes.h); gs is chosen when the column is declared */
} ColumnForm;

/* A column as the catalog describes it, and its form.  Compared bytewise, so padding is zero. */
typedef struct ColumnDescription
{
	AttrNumber	number;
	int16		length;			/* attlen */
	Oid			type;
	int32		typmod;
	Oid			collation;
	uint32		form;			/* ColumnForm */
	uint32		gs;				/* gs_type of the held values */
	uint32		has_missing;	/* rows older than the column have a value that only the catalog knows, */
	uint32		missing_hash;	/* hashed here (hash_bytes over the datum, 0 without one) */
} ColumnDescription;

/*
 * Describes a column.  Returns NULL, or why it cannot be held, as text for users ("type interval is not held").
 * own_changes: also refuses columns whose pg_attribute row is of the current transaction.
 */
extern const char *column_describe(Relation rel, AttrNumber number, bool own_changes, ColumnDescription *column);

/* Describes a column of no table; length 0: by its type and typmod alone. */
extern const char *column_describe_type(Oid type, int32 typmod, ColumnDescription *column);

/* Returns true if two descriptions are the same, but for the width of codes. */
extern bool column_same(const ColumnDescription *a, const ColumnDescription *b);

/* Decimals of a numeric column's held integers; 0 for other types. */
extern int	column_scale(const ColumnDescription *column);

/* Decimal digits that these integers may have. */
extern int	column_digits(const ColumnDescription *column);

/*
 * Converts a datum that is not held by codes to its held form, of gs_type_width(column->gs) bytes at out.  Returns
 * false if the value cannot be held (numeric: NaN, too large, another display scale than the typmod's); its page then
 * comes from the table.
 */
extern bool column_encode(const ColumnDescription *column, Datum value, void *out);

/*
 * Continues a row's hash with a value, as GSD_CHECK does with held ones (kernels/common/check_hash.h).  *low becomes
 * its lowest 64 bits, 0 for NULL.
 */
extern uint64 column_hash(const ColumnDescription *column, Datum value, bool isnull, uint64 hash, uint64 *low);

#endif
