/*
 * string_ranks.h: ranks of strings by a collation, for min, max, percentiles and orders.
 */
#ifndef GPUSORT_COLUMNS_STRING_RANKS_H
#define GPUSORT_COLUMNS_STRING_RANKS_H

#include "codes.h"

/*
 * Ranks all strings of a column as PostgreSQL's comparison by a deterministic collation does, in the current context,
 * and sets codes->ranks.  *kept is the order of a part of the dictionary, or NULL, and may become a greater one, in
 * memory that lasts.  Returns NULL, or why it cannot be done.
 */
extern const char *ranks_make(StringCodes *codes, const ColumnDescription *column, Oid collation, StringOrder **kept);

#endif
