/*
 * dictionary.h: the file of a column's dictionary, which the service writes and everybody else maps read-only.
 *
 *     header | ends of strings | index of codes by hash | strings
 *
 * A code is a string's place in the order in which strings came.  Entries are only ever appended, so a code keeps its
 * meaning for good.  A file that is full is replaced by a larger copy, and says so.
 */
#ifndef GPUSORT_DICTIONARY_FILE_H
#define GPUSORT_DICTIONARY_FILE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define GSD_DICTIONARY_MAGIC 0x69647067u /* "gpdi" */

/* Longer strings are not held: the pages that have them come from the table. */
#define GSD_DICTIONARY_MOST_BYTES 16384u

#define GSD_NO_CODE UINT32_MAX

typedef struct gsd_dictionary
{
	uint32_t magic;
	uint32_t room;		   /* entries */
	uint32_t slots;		   /* of the index: a power of 2, at least 2 * room */
	uint32_t zero;
	uint64_t strings_room; /* bytes */
	/* These change.  Whatever lies before an entry that is counted is written. */
	uint32_t count;
	uint32_t retired; /* there is a larger copy */
} gsd_dictionary;

/* New strings of a column in a segment: so many strings follow, each its length in 4 bytes, then its bytes. */
typedef struct gsd_strings
{
	uint32_t first; /* the segment's codes from here on are places in this list */
	uint32_t count;
} gsd_strings;

/* Ranks of all codes of a column in a question's list, which fit its type: so many follow. */
typedef struct gsd_ranks
{
	uint32_t column;
	uint32_t count;
	uint32_t ranks[];
} gsd_ranks;

/* Returns the bytes of the ranks of a column, behind which another's may begin. */
static inline uint64_t
gsd_ranks_bytes(uint32_t count)
{
	return sizeof(gsd_ranks) + ((uint64_t) count + 1) / 2 * 2 * sizeof(uint32_t);
}

#define GSD_DICTIONARY_HEADER 64u

/* Returns the end of each string. */
static inline uint64_t *
gsd_dictionary_ends(const gsd_dictionary *d)
{
	return (uint64_t *) ((char *) d + GSD_DICTIONARY_HEADER);
}

/* Returns the index: codes + 1, or 0. */
static inline uint32_t *
gsd_dictionary_index(const gsd_dictionary *d)
{
	return (uint32_t *) (gsd_dictionary_ends(d) + d->room);
}

/* Returns the strings. */
static inline char *
gsd_dictionary_strings(const gsd_dictionary *d)
{
	return (char *) (gsd_dictionary_index(d) + d->slots);
}

/* Returns the bytes of a file. */
static inline uint64_t
gsd_dictionary_bytes(const gsd_dictionary *d)
{
	return (uint64_t) (gsd_dictionary_strings(d) - (const char *) d) + d->strings_room;
}

/* Returns the number of entries. */
static inline uint32_t
gsd_dictionary_count(const gsd_dictionary *d)
{
	return __atomic_load_n(&d->count, __ATOMIC_ACQUIRE);
}

/* Returns the bytes of the first strings. */
static inline uint64_t
gsd_dictionary_used(const gsd_dictionary *d, uint32_t count)
{
	return count > 0 ? gsd_dictionary_ends(d)[count - 1] : 0;
}

/* Returns an entry's string. */
static inline const char *
gsd_dictionary_string(const gsd_dictionary *d, uint32_t code, uint32_t *bytes)
{
	uint64_t begin = gsd_dictionary_used(d, code);

	*bytes = (uint32_t) (gsd_dictionary_ends(d)[code] - begin);
	return gsd_dictionary_strings(d) + begin;
}

/* Hashes a string. */
static inline uint64_t
gsd_string_hash(const char *p, uint32_t bytes)
{
	uint64_t h = bytes * UINT64_C(0x9e3779b97f4a7c15), word;

	for (; bytes >= sizeof(word); p += sizeof(word), bytes -= sizeof(word))
	{
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	word = 0;
	memcpy(&word, p, bytes);
	h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 29;
}

/* Returns the code of a string, or GSD_NO_CODE. */
static inline uint32_t
gsd_dictionary_find(const gsd_dictionary *d, const char *p, uint32_t bytes)
{
	const uint32_t *index = gsd_dictionary_index(d);
	uint32_t at = (uint32_t) gsd_string_hash(p, bytes) & (d->slots - 1), code, there;

	/* half of the slots stay empty */
	while ((code = __atomic_load_n(&index[at], __ATOMIC_ACQUIRE)) != 0)
	{
		const char *string = gsd_dictionary_string(d, code - 1, &there);

		if (there == bytes && memcmp(string, p, bytes) == 0)
			return code - 1;
		at = (at + 1) & (d->slots - 1);
	}
	return GSD_NO_CODE;
}

#endif
