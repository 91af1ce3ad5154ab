/*
 * columns_terms.h: columns, values and members of groups in the expressions of a query.
 */
#ifndef GPUSORT_COLUMNS_TERMS_H
#define GPUSORT_COLUMNS_TERMS_H

#include "query_members.h"

/* Removes casts that keep every value: widening ones, a domain's to its base type, and varchar's to text. */
extern Expr *terms_without_casts(Expr *expr);

/* Returns true for types of strings, which are held as codes. */
extern bool terms_is_string(Oid type);

/* Returns true if strings that are equal by a collation have equal bytes. */
extern bool terms_is_bytewise(Oid collation);

/* Returns true for integers and numerics, which can be added and multiplied. */
extern bool terms_is_number(Oid type);

/* Returns true if an expression has one value for a scan. */
extern bool terms_is_value(Expr *expr);

/* Returns the index of a value, a new one if necessary. */
extern int	terms_value(ColumnsQuery *query, Expr *expr);

/* Returns true if an expression is a column of the table, or one that a window gives. */
extern bool terms_is_column(const Expr *expr);

/* Finds such a column, a new one of the table if necessary.  Returns NULL, or why it cannot be one. */
extern const char *terms_column(ColumnsQuery *query, const Expr *expr, int *index);

/* Adds a column of the table, which may be there already.  Returns NULL, or why it cannot be one. */
extern const char *terms_new_column(ColumnsQuery *query, const Var *var, int *index);

/* Returns true if values of a column's type have the order of what is held of them. */
extern bool terms_is_ordered(const ColumnsQuery *query, int column);

/*
 * Has a column be known in the order of its values: strings by their ranks, where equal ones have equal bytes.  Returns
 * false if it cannot be.
 */
extern bool terms_order(ColumnsQuery *query, int column, Oid collation);

/* Returns the base type of a column. */
extern Oid	terms_column_type(const ColumnsQuery *query, int column);

/*
 * Returns the index of the key that an expression is, or, behind the keys, of the request that answers it: what orders
 * of groups and HAVING can name.  -1: it is none.
 */
extern int	terms_member(const ColumnsQuery *query, const Expr *expr);

#endif
