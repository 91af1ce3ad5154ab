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
#define GSD_DAMAGED (UINT32_MAX - 1) /* where a code was looked for */

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

/*
 * Ranks of all codes of a column in a question's list, which fit its type there: so many follow.  The codes are those
 * of one of its tables: of the first, or of the further one of this number.
 */
typedef struct gsd_ranks
{
	uint32_t column;
	uint32_t count;
	uint32_t table;
	uint32_t zero;
	uint32_t ranks[];
} gsd_ranks;

/*
 * An index in a GSD_ASK of no column but of where rows are, of GS_I64: their block above GSD_POSITION_BITS of their
 * number in the page.  Chunks have these as well.  Not with further tables, nor where gs_reduce_rows answers.
 */
#define GSD_POSITIONS UINT32_MAX
#define GSD_POSITION_BITS 11

/* Returns the bytes of the ranks of a column, behind which another's may begin. */
static inline uint64_t
gsd_ranks_bytes(uint32_t count)
{
	return sizeof(gsd_ranks) + ((uint64_t) count + 1) / 2 * 2 * sizeof(uint32_t);
}

#define GSD_DICTIONARY_HEADER 64u

/*
 * A mapped file.  Its sizes are a copy, and what lies in the file is looked at where it is read: whoever writes it may
 * be wrong.
 */
typedef struct gsd_entries
{
	gsd_dictionary *file;
	uint64_t *ends;	 /* of strings */
	uint32_t *index; /* codes + 1, or 0 */
	char *strings;
	uint64_t strings_room;
	uint32_t room;
	uint32_t slots;
} gsd_entries;

/* Returns the bytes of a file with such a header. */
static inline uint64_t
gsd_dictionary_bytes(const gsd_dictionary *d)
{
	return GSD_DICTIONARY_HEADER + d->room * (uint64_t) sizeof(uint64_t) + d->slots * (uint64_t) sizeof(uint32_t) +
		d->strings_room;
}

/* Finds the parts of a file of so many bytes.  Returns false if its header does not fit them. */
static inline bool
gsd_entries_open(gsd_entries *e, void *file, uint64_t bytes)
{
	gsd_dictionary head;

	if (bytes < GSD_DICTIONARY_HEADER)
		return false;
	memcpy(&head, file, sizeof(head));
	if (head.magic != GSD_DICTIONARY_MAGIC || head.slots < 2 || (head.slots & (head.slots - 1)) != 0 ||
		head.room > head.slots / 2 || head.strings_room > bytes || gsd_dictionary_bytes(&head) != bytes)
		return false;
	e->file = (gsd_dictionary *) file;
	e->ends = (uint64_t *) ((char *) file + GSD_DICTIONARY_HEADER);
	e->index = (uint32_t *) (e->ends + head.room);
	e->strings = (char *) (e->index + head.slots);
	e->strings_room = head.strings_room;
	e->room = head.room;
	e->slots = head.slots;
	return true;
}

/* Returns the number of entries. */
static inline uint32_t
gsd_entries_count(const gsd_entries *e)
{
	uint32_t count = __atomic_load_n(&e->file->count, __ATOMIC_ACQUIRE);

	return count < e->room ? count : e->room;
}

/* Returns the bytes of the first strings. */
static inline uint64_t
gsd_entries_used(const gsd_entries *e, uint32_t count)
{
	return count > 0 ? __atomic_load_n(&e->ends[count - 1], __ATOMIC_RELAXED) : 0;
}

/* Returns the string of an entry below the number of them, or NULL: where it lies is impossible. */
static inline const char *
gsd_entries_string(const gsd_entries *e, uint32_t code, uint32_t *bytes)
{
	uint64_t begin = gsd_entries_used(e, code), end = gsd_entries_used(e, code + 1);

	*bytes = (uint32_t) (end - begin);
	if (begin > end || end > e->strings_room || end - begin > GSD_DICTIONARY_MOST_BYTES)
		return NULL;
	return e->strings + begin;
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

/* Returns the code of a string, GSD_NO_CODE, or GSD_DAMAGED: the index is impossible. */
static inline uint32_t
gsd_entries_find(const gsd_entries *e, const char *p, uint32_t bytes)
{
	uint32_t mask = e->slots - 1, at = (uint32_t) gsd_string_hash(p, bytes) & mask, code, there;

	/* half of the slots are empty */
	for (uint32_t tried = 0; tried < e->slots; tried++, at = (at + 1) & mask)
	{
		const char *string;

		code = __atomic_load_n(&e->index[at], __ATOMIC_ACQUIRE);
		if (code == 0)
			return GSD_NO_CODE;
		if (code > e->room || (string = gsd_entries_string(e, code - 1, &there)) == NULL)
			return GSD_DAMAGED;
		if (there == bytes && memcmp(string, p, bytes) == 0)
			return code - 1;
	}
	return GSD_DAMAGED;
}

#endif
