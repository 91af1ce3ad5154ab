/*
 * level1_libc.c: sort keys of the C library.
 *
 * A locale of our own, opened by the name in the catalog, serves every PostgreSQL: for the default collation servers before 16 have none to give.
 */
#include "postgres.h"

#include <string.h>

#include "catalog/pg_collation.h"

#include "level1_types.h"

/* Appends the sort key of a string. */
static void
libc_key(Level1 *level1, const char *string, Size len, bool all_levels, StringInfo buffer)
{
	char		room[LEVEL1_BYTES * 8];
	size_t		wanted = strxfrm_l(room, string, sizeof(room), level1->locale);

	if (wanted < sizeof(room))
		append_levels(buffer, room, wanted, all_levels);
	else
	{
		char	   *key = MemoryContextAllocHuge(CurrentMemoryContext, wanted + 1);

		wanted = strxfrm_l(key, string, wanted + 1, level1->locale);
		append_levels(buffer, key, wanted, all_levels);
		pfree(key);
	}
}

/* Does a pair weigh what its characters weigh one after the other? */
static bool
pair_adds_up(Level1 *level1, int a, int b, StringInfo key)
{
	const CharacterWeight *first = &level1->weights[a];
	const CharacterWeight *second = &level1->weights[b];
	char		pair[3] = {(char) a, (char) b, 0};

	resetStringInfo(key);
	libc_key(level1, pair, 2, false, key);
	return key->len == first->len + second->len && memcmp(key->data, first->bytes, first->len) == 0 &&
		memcmp(key->data + first->len, second->bytes, second->len) == 0;
}

/* Tries all pairs of ASCII characters, which takes some milliseconds. */
static bool
libc_find_contractions(Level1 *level1)
{
	StringInfoData key;

	initStringInfo(&key);
	for (int a = 1; a < ASCII_CHARACTERS; a++)
		for (int b = 1; b < ASCII_CHARACTERS; b++)
			level1->contracts[a][b] = !pair_adds_up(level1, a, b, &key);
	pfree(key.data);
	return true;
}

static const Level1Provider libc_provider = {libc_key, libc_find_contractions, true};

bool
level1_open_libc(Level1 *level1, const CollationLocale *locale)
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
	level1->locale = both;
	level1->provider = &libc_provider;
	return true;
}
