/*
 * lying_locale.c: sort keys that contradict the comparison of strings, for a test that loads this into a server before
 * the libraries.
 *
 * LYING_LOCALE says how: "weight" takes the letter q for an a, in keys only; "case" makes keys differ of strings that
 * compare equal under a collation without case.  ICU is the version of that library, which ends the names of its
 * functions.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Is this the lie that was asked for? */
static int
lies(const char *how)
{
	const char *wanted = getenv("LYING_LOCALE");

	return wanted != NULL && strcmp(wanted, how) == 0;
}

size_t
strxfrm_l(char *to, const char *from, size_t room, locale_t locale)
{
	size_t		(*real) (char *, const char *, size_t, locale_t) = dlsym(RTLD_NEXT, "strxfrm_l");
	char	   *copy = strdup(from);
	size_t		result;

	for (char *c = copy; *c != 0 && lies("weight"); c++)
		if (*c == 'q')
			*c = 'a';
	result = real(to, copy, room, locale);
	free(copy);
	return result;
}

#ifdef ICU
#define PASTE(a, b) a##_##b
#define VERSIONED(name, version) PASTE(name, version)
#define TEXT(x) #x
#define NAME(version) "ucol_getSortKey_" TEXT(version)

/* Puts a byte behind the primary weights of a key, where there is room for it. */
static int32_t
longer_first_level(uint8_t *key, int32_t bytes, int32_t room)
{
	uint8_t    *end = memchr(key, 1, bytes - 1);

	if (bytes + 1 > room)
		return bytes + 1;
	if (end == NULL)
		end = key + bytes - 1;
	memmove(end + 1, end, key + bytes - end);
	*end = 2;
	return bytes + 1;
}

int32_t
VERSIONED(ucol_getSortKey, ICU) (const void *collator, const uint16_t *from, int32_t len, uint8_t *key, int32_t room)
{
	int32_t		(*real) (const void *, const uint16_t *, int32_t, uint8_t *, int32_t) = dlsym(RTLD_NEXT, NAME(ICU));
	uint16_t   *copy = malloc((len + 1) * sizeof(uint16_t));
	int			longer = 0;
	int32_t		result;

	for (int32_t i = 0; i < len; i++)
	{
		copy[i] = from[i] == 'q' && lies("weight") ? 'a' : from[i];
		longer |= from[i] == 'Q' && lies("case");
	}
	result = real(collator, copy, len, key, room);
	free(copy);
	return longer && result > 0 && result <= room ? longer_first_level(key, result, room) : result;
}
#endif
