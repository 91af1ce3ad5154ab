/*
 * collation.c: catalog data of collations, and which of them order strings bytewise.  Those under which the server
 * compares bytes do, and libc's C.UTF-8: since glibc 2.35 it has no collation table, and code point order is byte order
 * in UTF-8.
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include "access/htup_details.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_database.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "sortkey_types.h"

/* Returns true if the C library orders C.UTF-8 by code point. */
static bool
libc_has_plain_c_utf8(void)
{
#ifdef __GLIBC__
	char	   *rest;
	long		major = strtol(gnu_get_libc_version(), &rest, 10);
	long		minor = *rest == '.' ? strtol(rest + 1, NULL, 10) : 0;

	return major > 2 || (major == 2 && minor >= 35);
#else
	return false;
#endif
}

/* Returns true if this is a name of the locale C.UTF-8.  The C library accepts any spelling of the codeset. */
static bool
is_c_utf8(const char *locale)
{
	return strncmp(locale, "C.", 2) == 0 &&
		(pg_strcasecmp(locale + 2, "UTF-8") == 0 || pg_strcasecmp(locale + 2, "UTF8") == 0);
}

/* Returns a text attribute of a catalog row, or NULL.  Attribute 0 stands for one that this server version lacks. */
static const char *
text_attribute(int cache, HeapTuple tuple, AttrNumber attribute)
{
	bool		isnull = true;
	Datum		value = 0;

	if (attribute != 0)
		value = SysCacheGetAttr(cache, tuple, attribute, &isnull);
	return isnull ? NULL : TextDatumGetCString(value);
}

/* Reads the database's locale, which cannot change during a session. */
static void
database_locale(CollationLocale *locale)
{
	static CollationLocale known;

	if (known.provider == 0)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
		HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
		known.collate = text_attribute(DATABASEOID, tuple, Anum_pg_database_datcollate);
		known.ctype = text_attribute(DATABASEOID, tuple, Anum_pg_database_datctype);
		known.icu_locale = text_attribute(DATABASEOID, tuple, ATTRIBUTE_OF_DATABASE_ICU_LOCALE);
		known.icu_rules = text_attribute(DATABASEOID, tuple, ATTRIBUTE_OF_DATABASE_ICU_RULES);
		known.provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
		ReleaseSysCache(tuple);
		MemoryContextSwitchTo(old);
	}
	*locale = known;
}

void
collation_locale(Oid collation, CollationLocale *locale)
{
	HeapTuple	tuple;

	if (collation == DEFAULT_COLLATION_OID)
	{
		database_locale(locale);
		return;
	}
	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	locale->collate = text_attribute(COLLOID, tuple, Anum_pg_collation_collcollate);
	locale->ctype = text_attribute(COLLOID, tuple, Anum_pg_collation_collctype);
	locale->icu_locale = text_attribute(COLLOID, tuple, ATTRIBUTE_OF_COLLATION_ICU_LOCALE);
	locale->icu_rules = text_attribute(COLLOID, tuple, ATTRIBUTE_OF_COLLATION_ICU_RULES);
	locale->provider = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	ReleaseSysCache(tuple);
}

/* Returns true if the server compares bytes under this locale, as for all locales of the builtin provider. */
static bool
compares_bytes(const CollationLocale *locale)
{
	if (locale->provider == COLLPROVIDER_BUILTIN)
		return true;
	return locale->provider == COLLPROVIDER_LIBC &&
		(strcmp(locale->collate, "C") == 0 || strcmp(locale->collate, "POSIX") == 0);
}

bool
collation_orders_bytes(Oid collation)
{
	CollationLocale locale;

	/* it is not determined */
	if (!OidIsValid(collation))
		return false;
	collation_locale(collation, &locale);
	return compares_bytes(&locale) ||
		(locale.provider == COLLPROVIDER_LIBC && is_c_utf8(locale.collate) && GetDatabaseEncoding() == PG_UTF8 &&
		 libc_has_plain_c_utf8());
}
