/*
 * primary_weights_libc.c: libc sort keys.  Opens a locale by name: servers before 16 keep no default locale_t.
 */
#include "postgres.h"

#include <string.h>

#include "catalog/pg_collation.h"

#include "primary_weights_types.h"

/* Appends the sort key of a string. */
static void
libc_key(PrimaryWeights *primary, const char *string, Size len, bool all_levels, StringInfo buffer)
{
	char		room[PRIMARY_BYTES * 8];
	size_t		wanted = strxfrm_l(room, string, sizeof(room), primary->locale);

	if (wanted < sizeof(room))
		append_levels(buffer, room, wanted, all_levels);
	else
	{
		char	   *key = MemoryContextAllocHuge(CurrentMemoryContext, wanted + 1);

		wanted = strxfrm_l(key, string, wanted + 1, primary->locale);
		append_levels(buffer, key, wanted, all_levels);
		pfree(key);
	}
}

static const PrimaryProvider libc_provider = {libc_key, NULL, true};

/* Opens a locale for LC_COLLATE and LC_CTYPE, both of which strxfrm_l needs. */
bool
primary_open_libc(PrimaryWeights *primary, const CollationLocale *locale)
{
	locale_t	collate;
	locale_t	both;

	if (locale->provider != COLLPROVIDER_LIBC)
		return false;
	collate = newlocale(LC_COLLATE_MASK, locale->collate, (locale_t) 0);
	if (collate == (locale_t) 0)
		return false;
	both = newlocale(LC_CTYPE_MASK, locale->ctype, collate);
	if (both == (locale_t) 0)
	{
		freelocale(collate);
		return false;
	}
	primary->locale = both;
	primary->provider = &libc_provider;
	return true;
}
