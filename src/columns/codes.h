/*
 * codes.h: strings as codes of a column's dictionary, which the service writes and this process maps read-only.
 *
 * Codes keep their meaning for good.  Strings that the dictionary lacks get temporary codes above a limit, which last
 * as long as the StringCodes: those of a segment until it is stored, those of a question until it is answered.
 */
#ifndef GPUSORT_COLUMNS_CODES_H
#define GPUSORT_COLUMNS_CODES_H

#include "page_map.h"
#include "store.h"

/* A mapped dictionary. */
typedef struct DictionaryFile DictionaryFile;

extern uint32 dictionary_count(const DictionaryFile *file);
extern Size dictionary_bytes(const DictionaryFile *file);

/* Sets which column's it is, of which table of the service. */
extern void dictionary_place(const DictionaryFile *file, uint64 *table, uint32 *column);

/* The order of a dictionary's first strings by a collation, as codes, which a session keeps. */
typedef struct StringOrder
{
	Oid			collation;
	uint32		count;
	uint32		codes[FLEXIBLE_ARRAY_MEMBER];
} StringOrder;

/* The mapped dictionaries of a table in the service. */
typedef struct DictionaryMaps
{
	uint64		table;			/* its number; 0: none is mapped */
	DictionaryFile *files[PAGE_MAP_MAX_COLUMNS];
	StringOrder *orders[PAGE_MAP_MAX_COLUMNS];	/* NULL: none is known */
} DictionaryMaps;

/*
 * Maps a column's dictionary, again if there is a larger copy: the smaller one goes when no codes use it.  maps has
 * memory that lasts.  NULL: the service does not give it, or (ENGINE_OK) does not have the table.
 */
extern DictionaryFile *dictionary_map(DictionaryMaps *maps, ServiceLink *link, uint64 table, uint32 column,
									  EngineFailure *why);
extern void dictionary_unmap(DictionaryMaps *maps);

/* A string without a code of the dictionary. */
typedef struct NewString
{
	const char *p;
	uint32		bytes;
} NewString;

/* Ranks of all codes of a StringCodes, which differ, and their codes. */
typedef struct StringRanks
{
	uint32		count;
	uint32	   *ranks;			/* by code */
	uint32	   *codes;			/* by rank */
} StringRanks;

typedef struct StringCodes
{
	DictionaryFile *file;
	uint32		limit;			/* codes from here on are temporary, each a place in this list: */
	uint32		count;
	uint32		room;
	NewString  *strings;
	uint32	   *index;			/* places + 1 by hash, or 0 */
	uint32		most;			/* codes that the column's width holds */
	bool		too_wide;		/* a string found none, */
	bool		full;			/* or no room in what is sent */
	bool		sent;			/* the list is */
	Size		bytes;			/* of the list, as it is sent or lies in memory, */
	Size		most_bytes;		/* which may be this many */
	MemoryContext context;		/* of the list */
	Size		question_bytes; /* of numbers for the open question, within the same limit, */
	MemoryContext question_context; /* and where they are */
	const StringRanks *ranks;	/* the question is about these, and no string is added; NULL: it is about codes */
	/*
	 * A bit for each of so many codes, and one that is not set for each further one: no row that passes the query's
	 * conditions has a code whose bit is not set.  NULL: nothing is known.
	 */
	uint64	   *possible;
	uint32		npossible;
} StringCodes;

/*
 * Begins with the entries that a dictionary has now, which stays mapped as long as the current context is there, or,
 * where there is no file, without any.  sent: whether new strings are sent, and so are no longer than a dictionary's.
 */
extern void codes_begin(StringCodes *codes, DictionaryFile *file, gs_type type, Size most_bytes, bool sent);

/* Returns a string's code, or GSD_NO_CODE: there is no room for another. */
extern uint32 codes_of(StringCodes *codes, const char *p, uint32 bytes);

/*
 * Gives the strings of another dictionary codes, and returns them by that dictionary's codes, *count in number, in the
 * current context.  NULL, with the reason: there is no room for them, or they are impossible.
 */
extern uint32 *codes_of_dictionary(StringCodes *codes, DictionaryFile *file, uint32 *count, const char **why);

/* Begins a question: what numbers the one before had are freed. */
extern void codes_begin_question(StringCodes *codes);

/* Returns memory for so many numbers, until the next question begins; NULL: there is no room. */
extern uint32 *codes_alloc_numbers(StringCodes *codes, uint32 count);

/* Why no answer comes from a dictionary that is not sound: something in it has been found to be impossible. */
extern const char codes_impossible[];

/* Why there is none where strings without a code are too many. */
extern const char codes_no_room[];

extern bool codes_sound(const StringCodes *codes);

/*
 * Returns the string of a code, or NULL: there is no such code, or its string is none in the database's encoding:
 * the dictionary is the service's, and not to be trusted.
 */
extern const char *codes_string(const StringCodes *codes, uint64 code, uint32 *bytes);

/*
 * Makes a datum of a code's string, in the current context.  Returns false if it has none, or one that is none of the
 * type.
 */
extern bool codes_datum(const StringCodes *codes, Oid base, int32 typmod, uint64 code, Datum *value);

/* Returns what a string is known by to the service, its code or its rank; GSD_NO_CODE: no row has it. */
extern uint32 codes_held(StringCodes *codes, const char *p, uint32 bytes);

/* Returns the code of what the service knows by a number, or GSD_NO_CODE: there is none. */
extern uint64 codes_of_held(const StringCodes *codes, uint64 held);

/* Returns false for a code that no row has which passes the query's conditions. */
static inline bool
codes_possible(const StringCodes *codes, uint32 code)
{
	return codes->possible == NULL ||
		(code < codes->npossible && (codes->possible[code / 64] >> (code % 64) & 1) != 0);
}

/* Writes the list of new strings (gsd_strings).  Returns where it ends. */
extern char *codes_write(const StringCodes *codes, char *to);

/*
 * Returns the bytes by which a datum is held, which may be a detoasted copy in the current context: of char(n) without
 * its blanks; a typmod of -1 is that of a value that such strings are compared with.  Returns false if it cannot be
 * held.
 */
extern bool string_of_datum(Oid base, int32 typmod, const char *datum, const char **p, uint32 *bytes);

#endif
