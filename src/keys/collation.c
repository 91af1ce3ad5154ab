/*
 * collation.c: which collations order strings by their bytes.
 *
 * Those under which the server itself compares bytes, and libc's C.UTF-8, which the server hands to strcoll: since glibc 2.35
 * it has no collation table at all, so strings are in code point order, which in UTF-8 is byte order.
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

/* Is the C library one whose C.UTF-8 is in code point order? */
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

/* Is this a name of the locale C.UTF-8?  The C library does not care how the codeset is spelled. */
static bool
is_c_utf8(const char *locale)
{
	return strncmp(locale, "C.", 2) == 0 &&
		(pg_strcasecmp(locale + 2, "UTF-8") == 0 || pg_strcasecmp(locale + 2, "UTF8") == 0);
}

/* Reads provider and locale of the database; it cannot change while a session is connected. */
static char
database_locale(const char **locale)
{
	static char provider = 0;
	static const char *name = "";

	if (provider == 0)
	{
		HeapTuple	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
		Datum		collate;
		bool		isnull;

		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for database %u", MyDatabaseId);
		collate = SysCacheGetAttr(DATABASEOID, tuple, Anum_pg_database_datcollate, &isnull);
		if (!isnull)
			name = MemoryContextStrdup(TopMemoryContext, TextDatumGetCString(collate));
		provider = ((Form_pg_database) GETSTRUCT(tuple))->datlocprovider;
		ReleaseSysCache(tuple);
	}
	*locale = name;
	return provider;
}

/* Reads provider and locale of a collation other than the default one; *locale is empty where it has none. */
static char
collation_locale(Oid collation, const char **locale)
{
	HeapTuple	tuple = SearchSysCache1(COLLOID, ObjectIdGetDatum(collation));
	char		provider;
	Datum		collate;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for collation %u", collation);
	provider = ((Form_pg_collation) GETSTRUCT(tuple))->collprovider;
	collate = SysCacheGetAttr(COLLOID, tuple, Anum_pg_collation_collcollate, &isnull);
	*locale = isnull ? "" : TextDatumGetCString(collate);
	ReleaseSysCache(tuple);
	return provider;
}

bool
collation_orders_bytes(Oid collation, const char **why)
{
	const char *locale;
	char		provider;

	if (!OidIsValid(collation))
	{
		*why = "its collation is not determined";
		return false;
	}
	if (collation_is_c(collation))
		return true;
	if (collation == DEFAULT_COLLATION_OID)
		provider = database_locale(&locale);
	else
		provider = collation_locale(collation, &locale);
	if (provider == COLLPROVIDER_LIBC && is_c_utf8(locale) && GetDatabaseEncoding() == PG_UTF8 && libc_has_plain_c_utf8())
		return true;
	if (collation != DEFAULT_COLLATION_OID)
		*why = psprintf("collation \"%s\" has no exact encoding", get_collation_name(collation));
	else if (provider == COLLPROVIDER_LIBC)
		*why = psprintf("the database's collation \"%s\" has no exact encoding", locale);
	else
		*why = "the database's collation has no exact encoding";
	return false;
}
