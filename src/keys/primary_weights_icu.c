/*
 * primary_weights_icu.c: ICU sort keys.  Looks the ICU functions up in the library that the server has loaded, so
 * gpusort builds without ICU headers, runs with servers of any ICU version or none, and never loads a second ICU.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <link.h>

#include "catalog/pg_collation.h"
#include "mb/pg_wchar.h"

#include "primary_weights_types.h"

typedef uint16 UChar;
typedef int UErrorCode;			/* above 0: an error */
typedef struct UCollator UCollator;
typedef struct UConverter UConverter;
typedef struct USet USet;

#define UCOL_PRIMARY 0
#define UCOL_NUMERIC_COLLATION 7
#define UCOL_ON 17
#define UCOL_DEFAULT_STRENGTH 2
#define UCOL_DEFAULT (-1)

/* ICU functions, as declared in unicode/ucnv.h, ucol.h, uset.h and ustring.h. */
static struct
{
	UCollator  *(*ucol_open) (const char *locale, UErrorCode *status);
	UCollator  *(*ucol_openRules) (const UChar *rules, int32 len, int normalization, int strength, void *error,
								   UErrorCode *status);
	void		(*ucol_close) (UCollator *collator);
	const UChar *(*ucol_getRules) (const UCollator *collator, int32 *len);
	void		(*ucol_setStrength) (UCollator *collator, int strength);
	int			(*ucol_getAttribute) (const UCollator *collator, int attribute, UErrorCode *status);
	int32		(*ucol_getSortKey) (const UCollator *collator, const UChar *string, int32 len, uint8 *key, int32 room);
	void		(*ucol_getContractionsAndExpansions) (const UCollator *collator, USet *contractions, USet *expansions,
													  signed char prefixes, UErrorCode *status);
	USet	   *(*uset_openEmpty) (void);
	int32		(*uset_getItemCount) (const USet *set);
	int32		(*uset_getItem) (const USet *set, int32 i, int32 *start, int32 *end, UChar *string, int32 room,
								 UErrorCode *status);
	void		(*uset_close) (USet *set);
	UChar	   *(*u_strFromUTF8) (UChar *to, int32 room, int32 *len, const char *from, int32 from_len,
								  UErrorCode *status);
	UConverter *(*ucnv_open) (const char *name, UErrorCode *status);
	int32		(*ucnv_toUChars) (UConverter *converter, UChar *to, int32 room, const char *from, int32 from_len,
								  UErrorCode *status);
} icu;

/* Detects ICU's collation library among the loaded objects.  Sets *data to the version in its name. */
static int
find_library(struct dl_phdr_info *info, size_t size, void *data)
{
	const char *found = strstr(info->dlpi_name, "libicui18n.so.");

	if (found == NULL)
		return 0;
	*(int *) data = atoi(found + strlen("libicui18n.so."));
	return 1;
}

/* Looks up a function.  Returns NULL if the server has not loaded it. */
static void *
find_function(const char *name, int version)
{
	return dlsym(RTLD_DEFAULT, psprintf("%s_%d", name, version));
}

/* Looks up all functions, once.  Returns false if one is missing. */
static bool
find_icu(void)
{
	static bool looked = false;
	static bool complete = false;
	int			version = 0;

	if (looked)
		return complete;
	looked = true;
	if (dl_iterate_phdr(find_library, &version) == 0)
		return false;
#define FIND(name) ((icu.name = find_function(#name, version)) != NULL)
	complete = FIND(ucol_open) && FIND(ucol_openRules) && FIND(ucol_close) && FIND(ucol_getRules) &&
		FIND(ucol_setStrength) && FIND(ucol_getAttribute) && FIND(ucol_getSortKey) &&
		FIND(ucol_getContractionsAndExpansions) && FIND(uset_openEmpty) && FIND(uset_getItemCount) &&
		FIND(uset_getItem) && FIND(uset_close) && FIND(u_strFromUTF8) && FIND(ucnv_open) && FIND(ucnv_toUChars);
#undef FIND
	return complete;
}

/* Opens the server's converter to UTF-16, or returns NULL.  Unlike its own conversions it maps every character. */
static UConverter *
database_converter(void)
{
	static UConverter *converter = NULL;
	const char *name = get_encoding_name_for_icu(GetDatabaseEncoding());
	UErrorCode	status = 0;

	if (converter == NULL && name != NULL)
		converter = icu.ucnv_open(name, &status);
	return converter;
}

/* Converts a string to UTF-16, in the current memory context. */
static UChar *
to_utf16(const char *string, Size len, int32 *units)
{
	UErrorCode	status = 0;
	UChar	   *result = palloc((len + 1) * sizeof(UChar));

	if (GetDatabaseEncoding() == PG_UTF8)
		icu.u_strFromUTF8(result, (int32) len + 1, units, string, (int32) len, &status);
	else
		*units = icu.ucnv_toUChars(database_converter(), result, (int32) len + 1, string, (int32) len, &status);
	if (status > 0)
		*units = 0;				/* invalid text gets an empty key, which ties with others and is compared */
	return result;
}

/* Appends the sort key of a string. */
static void
icu_key(PrimaryWeights *primary, const char *string, Size len, bool all_levels, StringInfo buffer)
{
	UCollator  *collator = all_levels ? primary->collator : primary->first_level;
	int32		units;
	UChar	   *utf16 = to_utf16(string, len, &units);
	uint8		room[PRIMARY_BYTES * 8];
	uint8	   *key = room;
	int32		wanted = icu.ucol_getSortKey(collator, utf16, units, room, sizeof(room));

	if (wanted > (int32) sizeof(room))
	{
		key = palloc(wanted);
		wanted = icu.ucol_getSortKey(collator, utf16, units, key, wanted);
	}
	if (wanted > 0)
		append_levels(buffer, (char *) key, wanted - 1, all_levels);	/* without the terminating zero byte */
	if (key != room)
		pfree(key);
	pfree(utf16);
}

/* Marks a contraction whose first two characters are ASCII. */
static void
mark_contraction(PrimaryWeights *primary, const UChar *string, int32 len)
{
	if (len >= 2 && string[0] < ASCII_CHARACTERS && string[1] < ASCII_CHARACTERS)
		primary->pairs[string[0]][string[1]] = PAIR_CONTRACTS;
}

/* Reads the collator's contractions.  Returns false for numeric ordering, where single characters have no weight. */
static bool
icu_learn_pairs(PrimaryWeights *primary)
{
	UErrorCode	status = 0;
	USet	   *set;

	if (icu.ucol_getAttribute(primary->collator, UCOL_NUMERIC_COLLATION, &status) == UCOL_ON || status > 0)
		return false;
	memset(primary->pairs, PAIR_ADDS_UP, sizeof(primary->pairs));
	set = icu.uset_openEmpty();
	icu.ucol_getContractionsAndExpansions(primary->collator, set, NULL, 0, &status);
	for (int32 i = 0, count = icu.uset_getItemCount(set); i < count && status <= 0; i++)
	{
		UChar		string[32];
		int32		start;
		int32		end;
		int32		len = icu.uset_getItem(set, i, &start, &end, string, lengthof(string), &status);

		mark_contraction(primary, string, len);
	}
	icu.uset_close(set);
	return status <= 0;
}

/* Opens a collator as the server does.  Returns NULL on failure. */
static UCollator *
open_collator(const CollationLocale *locale)
{
	UErrorCode	status = 0;
	UCollator  *collator = icu.ucol_open(locale->icu_locale, &status);
	UCollator  *tailored;
	const UChar *standard;
	UChar	   *own;
	UChar	   *rules;
	int32		standard_len;
	int32		own_len;

	if (status > 0 || locale->icu_rules == NULL)
		return status > 0 ? NULL : collator;
	own = to_utf16(locale->icu_rules, strlen(locale->icu_rules), &own_len);
	standard = icu.ucol_getRules(collator, &standard_len);
	rules = palloc((standard_len + own_len) * sizeof(UChar));
	memcpy(rules, standard, standard_len * sizeof(UChar));
	memcpy(rules + standard_len, own, own_len * sizeof(UChar));
	tailored = icu.ucol_openRules(rules, standard_len + own_len, UCOL_DEFAULT, UCOL_DEFAULT_STRENGTH, NULL, &status);
	icu.ucol_close(collator);
	pfree(rules);
	pfree(own);
	return status > 0 ? NULL : tailored;
}

static const PrimaryProvider icu_provider = {icu_key, icu_learn_pairs, false};

/* Opens two collators: one with the collation's attributes, one for primary weights alone. */
bool
primary_open_icu(PrimaryWeights *primary, const CollationLocale *locale)
{
	if (locale->provider != COLLPROVIDER_ICU || locale->icu_locale == NULL || !find_icu() ||
		database_converter() == NULL)
		return false;
	primary->collator = open_collator(locale);
	primary->first_level = open_collator(locale);
	if (primary->collator == NULL || primary->first_level == NULL)
		return false;
	icu.ucol_setStrength(primary->first_level, UCOL_PRIMARY);
	primary->provider = &icu_provider;
	return true;
}
