/*
 * columns_conditions.h: conditions of a query as tests of columns, or of members of groups.
 */
#ifndef GPUSORT_COLUMNS_CONDITIONS_H
#define GPUSORT_COLUMNS_CONDITIONS_H

#include "query_members.h"

/*
 * Adds conditions, which are ANDed, as tests of columns, or, for HAVING, of keys and requests.  Returns NULL, or why
 * that cannot be done.
 */
extern const char *conditions_add(ColumnsQuery *query, List *conditions, bool having, QueryTerms *terms);

#endif
