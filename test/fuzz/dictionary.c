/*
 * dictionary.c: the file of a dictionary, from a service that may be wrong: what is opened is read without leaving it.
 */
#include "fuzz.h"
#include "src/service/dictionary.h"

/* Looks up strings of an entry's beginning, which are there or not. */
static void
look_up(const gsd_entries *e, const char *string, uint32_t bytes)
{
	for (uint32_t n = 0; n <= bytes && n < 9; n++)
	{
		uint32_t code = gsd_entries_find(e, string, n), there;

		MUST(code == GSD_NO_CODE || code == GSD_DAMAGED || code < e->room);
		if (code < GSD_DAMAGED)
			MUST(gsd_entries_string(e, code, &there) != NULL && there == n);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	/* aligned as a mapping is, and no larger */
	void *file = malloc(n + !n);
	gsd_entries e;

	memcpy(file, bytes, n);
	if (gsd_entries_open(&e, file, n))
	{
		uint64_t sum = 0;

		for (uint32_t code = 0; code < gsd_entries_count(&e); code++)
		{
			uint32_t length;
			const char *string = gsd_entries_string(&e, code, &length);

			for (uint32_t i = 0; string != NULL && i < length; i++)
				sum += (uint8_t) string[i];
			if (string != NULL)
				look_up(&e, string, length);
		}
		MUST(sum <= (uint64_t) e.room * GSD_DICTIONARY_MOST_BYTES * 255);
	}
	free(file);
	return 0;
}
