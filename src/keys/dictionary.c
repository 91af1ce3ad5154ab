/*
 * dictionary.c: numbers few distinct values of any type in their order.  A hash table maps a value's bytes to its
 * entry, and an array holds the entries in order.  A new value finds its place by binary search: d values cost d log d
 * comparisons, and any two neighbours have been compared.  It gets the middle between its neighbours' numbers; if there
 * is none, all numbers are spread evenly again.
 */
#include "postgres.h"

#include <math.h>

#include "access/tupmacs.h"
#include "utils/memutils.h"

#include "dictionary.h"
#include "sortkey_types.h"
#include "src/base/guc.h"

/* Upper limit of memory, besides the one relative to the sort's memory.  Values that need more are not few. */
#define MAX_BYTES ((Size) 5 * 1024 * 1024)
#define MEMORY_FRACTION 8

/* First number, and step between values that arrive in order, for all of which numbers suffice. */
#define FIRST_NUMBER 0x80000000u
#define NUMBER_STEP (FIRST_NUMBER / DICTIONARY_VALUES)

/* Limit of renumberings. */
#define MAX_RENUMBERINGS 8

/*
 * The number of look-ups is noted at this many distinct values, and at each doubling.  What they grow by tells how many
 * are still to come from GROWTH_NOTE noted values on, or once so many look-ups found each of fewer.
 */
#define FIRST_NOTE 16
#define GROWTH_NOTE 64
#define GROWTH_LOOKUPS 8

/* Below FEW_VALUES expected, repeats alone tell, from FEW_NOTE distinct ones on: a hundred cost a tenth of a sort. */
#define FEW_VALUES 4096
#define FEW_NOTE 32

/* Inserting a value into an array of this many costs as much as a comparison. */
#define MOVED_VALUES 4096

/* If the number of values is unknown, or exceeds what was expected, this multiple of it is assumed. */
#define HORIZON 64

/* Look-ups of a value are counted up to this. */
#define OFTEN 3

/* Values are told apart by their first bytes if these are alike in one of so many. */
#define ALIKE_FRACTION 4

typedef struct Entry
{
	Datum		value;
	const char *bytes;
	uint32		len;
	uint32		hash;
	uint32		number;
	uint32		pass:30;		/* pass that saw it last */
	uint32		times:2;		/* look-ups in that pass, at most OFTEN */
} Entry;

struct Dictionary
{
	SortSupport ssup;
	int16		typlen;
	bool		typbyval;
	MemoryContext context;		/* memory of the dictionary */
	Entry	   *entries;
	uint32		nentries;
	uint32		room;			/* entries allocated */
	uint32	   *slots;			/* hash table of entry numbers + 1, 0: empty; at least twice the entries */
	uint32	   *ordered;		/* entries with distinct numbers, in order */
	uint32		nordered;
	Size		most_bytes;
	int			renumberings;
	uint32		last;			/* entry found last */
	uint32		pass;			/* pass over the rows, started by dictionary_restart */
	uint64		asked;			/* values in this pass */
	uint64		lookups;		/* the same without repeats of the previous value */
	uint64		different;		/* distinct values among them */
	uint32		seen[OFTEN + 1];	/* number of values looked up once, twice, and more often; [0] is meaningless */
	struct
	{
		uint64		lookups;
		uint64		different;
	}			noted;			/* both at the last doubling of different; 0: none yet */
	double		expected;		/* values in a pass; 0: unknown */
	DictionaryWorth worth;
	bool		ascii;			/* all values are ASCII */
};

/* Allocates entries, and a hash table of at least twice as many slots. */
static void
set_room(Dictionary *dictionary, uint32 room)
{
	uint32		mask = room * 2 - 1;

	if (dictionary->entries == NULL)
	{
		dictionary->entries = palloc(room * sizeof(Entry));
		dictionary->ordered = palloc(room * sizeof(uint32));
	}
	else
	{
		dictionary->entries = repalloc(dictionary->entries, room * sizeof(Entry));
		dictionary->ordered = repalloc(dictionary->ordered, room * sizeof(uint32));
		pfree(dictionary->slots);
	}
	dictionary->room = room;
	dictionary->slots = MemoryContextAllocZero(dictionary->context, room * 2 * sizeof(uint32));
	for (uint32 i = 0; i < dictionary->nentries; i++)
	{
		uint32		slot = dictionary->entries[i].hash & mask;

		while (dictionary->slots[slot] != 0)
			slot = (slot + 1) & mask;
		dictionary->slots[slot] = i + 1;
	}
}

Dictionary *
dictionary_create(SortSupport ssup, int16 typlen, bool typbyval)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort dictionary", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	Dictionary *dictionary = palloc0(sizeof(Dictionary));

	dictionary->ssup = ssup;
	dictionary->typlen = typlen;
	dictionary->typbyval = typbyval;
	dictionary->context = context;
	dictionary->most_bytes = Min(MAX_BYTES, gpusort_memory_limit() / MEMORY_FRACTION);
	dictionary->worth = (DictionaryWorth) {DICTIONARY_VALUES, DICTIONARY_VALUES};
	dictionary->ascii = true;
	set_room(dictionary, 64);
	MemoryContextSwitchTo(old);
	return dictionary;
}

void
dictionary_expect(Dictionary *dictionary, double values, DictionaryWorth worth)
{
	dictionary->expected = values;
	dictionary->worth = worth;
}

void
dictionary_restart(Dictionary *dictionary)
{
	dictionary->pass++;
	dictionary->asked = 0;
	dictionary->lookups = 0;
	dictionary->different = 0;
	memset(dictionary->seen, 0, sizeof(dictionary->seen));
	memset(&dictionary->noted, 0, sizeof(dictionary->noted));
}

void
dictionary_free(Dictionary *dictionary)
{
	MemoryContextDelete(dictionary->context);
}

/* Loads up to eight bytes as a number. */
static inline uint64
load_word(const char *bytes, Size len)
{
	uint64		word = 0;

	if (likely(len >= sizeof(word)))
		memcpy(&word, bytes, sizeof(word));
	else
		for (Size i = 0; i < len; i++)
			word = word << 8 | (uint8) bytes[i];
	return word;
}

/* Loads the last eight bytes, which may overlap those loaded before. */
static inline uint64
last_word(const char *bytes, Size len)
{
	return len < sizeof(uint64) ? load_word(bytes, len) : load_word(bytes + len - sizeof(uint64), sizeof(uint64));
}

/* Hashes bytes.  Inlined, as most values are short and the call would dominate. */
static inline uint32
hash_value(const char *bytes, Size len)
{
	const uint64 factor = UINT64CONST(0x9e3779b97f4a7c15);	/* 2^64 / golden ratio */
	uint64		hash = len;

	for (Size i = 0; i + sizeof(uint64) < len; i += sizeof(uint64))
	{
		hash = (hash ^ load_word(bytes + i, sizeof(uint64))) * factor;
		hash ^= hash >> 32;
	}
	/* differences may be in the high bytes only, and multiplication does not carry those down */
	hash ^= last_word(bytes, len);
	hash = (hash ^ hash >> 32) * factor;
	return (uint32) (hash >> 32);
}

/* Returns true if this entry has these bytes. */
static inline bool
is_entry(const Entry *entry, const char *bytes, Size len)
{
	if (entry->len != len || last_word(entry->bytes, len) != last_word(bytes, len))
		return false;
	return len <= sizeof(uint64) || memcmp(entry->bytes, bytes, len - sizeof(uint64)) == 0;
}

/* Returns the slot of these bytes, or the empty slot for them. */
static uint32
find_slot(const Dictionary *dictionary, uint32 hash, const char *bytes, Size len)
{
	uint32		mask = dictionary->room * 2 - 1;
	uint32		slot = hash & mask;

	for (; dictionary->slots[slot] != 0; slot = (slot + 1) & mask)
	{
		const Entry *entry = &dictionary->entries[dictionary->slots[slot] - 1];

		if (entry->hash == hash && is_entry(entry, bytes, len))
			break;
	}
	return slot;
}

/* Estimates the number of values in this pass, repeats included. */
static double
values_expected(const Dictionary *dictionary)
{
	double		asked = (double) dictionary->asked;

	return dictionary->expected > asked ? dictionary->expected : asked * HORIZON;
}

/* Estimates the new values of further look-ups in random order, by Chao from those seen once and twice. */
static double
new_by_chance(const Dictionary *dictionary, double lookups)
{
	double		ones = dictionary->seen[1] + 1;
	double		twos = dictionary->seen[2];
	double		unseen = ones * ones / (2 * (twos + sqrt(twos) + 1));

	return unseen * (1 - exp(-lookups * ones / ((double) dictionary->lookups * unseen + ones)));
}

/* Estimates the same from new values around the last doubling, which decay exponentially if equally likely. */
static double
new_by_growth(const Dictionary *dictionary, double lookups)
{
	double		first = (double) dictionary->noted.lookups;
	double		second = (double) (dictionary->lookups - dictionary->noted.lookups);
	double		found = (double) (dictionary->different - dictionary->noted.different);
	double		rate;
	double		share;

	/* repeats may have been missed by chance */
	second += sqrt(second - found + 1);
	share = found / second;
	rate = log(Max((double) dictionary->noted.different / first / share, 1)) / ((first + second) / 2);
	share *= exp(-rate * second / 2);
	return rate * lookups > 0.001 ? share / rate * (1 - exp(-rate * lookups)) : share * lookups;
}

/* Is what was noted enough for an estimate from growth? */
static inline bool
growth_tells(const Dictionary *dictionary)
{
	uint64		noted = dictionary->noted.different;

	return noted >= GROWTH_NOTE || (noted > 0 && dictionary->noted.lookups >= noted * GROWTH_LOOKUPS);
}

/* Returns true if the values to come fit, and inserting them costs less than the next form of key. */
static bool
is_worthwhile(const Dictionary *dictionary)
{
	double		expected = values_expected(dictionary);
	double		lookups = (expected / (double) dictionary->asked - 1) * (double) dictionary->lookups;
	double		growth = growth_tells(dictionary) ? new_by_growth(dictionary, lookups) : 0;
	double		more = Max(new_by_chance(dictionary, lookups), growth);
	double		values = dictionary->nentries + more;
	double		worth = dictionary->ascii ? dictionary->worth.ascii : dictionary->worth.other;
	return values <= DICTIONARY_VALUES && more * (log2(values) + values / MOVED_VALUES) <= expected * worth;
}

/* Returns true if there are too many distinct values, or probably will be. */
static bool
too_many(Dictionary *dictionary)
{
	bool		few;
	bool		worthwhile;

	if (dictionary->nentries >= DICTIONARY_VALUES ||
		MemoryContextMemAllocated(dictionary->context, false) > dictionary->most_bytes)
		return true;
	if (dictionary->different < Max(2 * dictionary->noted.different, FIRST_NOTE))
		return false;
	few = dictionary->expected > 0 && dictionary->expected < FEW_VALUES && dictionary->different >= FEW_NOTE;
	worthwhile = (!few && !growth_tells(dictionary)) || is_worthwhile(dictionary);
	dictionary->noted.lookups = dictionary->lookups;
	dictionary->noted.different = dictionary->different;
	return !worthwhile;
}

/* Spreads the numbers evenly. */
static void
renumber(Dictionary *dictionary)
{
	uint64		step = (UINT64CONST(1) << 32) / (dictionary->nordered + 1);
	uint32	   *old_numbers = palloc(dictionary->nordered * sizeof(uint32));

	for (uint32 i = 0; i < dictionary->nordered; i++)
		old_numbers[i] = dictionary->entries[dictionary->ordered[i]].number;
	for (uint32 e = 0; e < dictionary->nentries; e++)
	{
		uint32		low = 0;
		uint32		high = dictionary->nordered;

		/* find the position of its old number, which equal values share */
		while (high - low > 1)
		{
			uint32		middle = (low + high) / 2;

			if (old_numbers[middle] <= dictionary->entries[e].number)
				low = middle;
			else
				high = middle;
		}
		dictionary->entries[e].number = (uint32) ((low + 1) * step);
	}
	pfree(old_numbers);
}

/* Finds a number for a value at a position in the order.  Returns false if its neighbours leave none. */
static bool
number_between(const Dictionary *dictionary, uint32 place, uint32 *number)
{
	uint64		below = 0;
	uint64		above = UINT64CONST(1) << 32;

	if (dictionary->nordered == 0)
	{
		*number = FIRST_NUMBER;
		return true;
	}
	if (place > 0)
		below = dictionary->entries[dictionary->ordered[place - 1]].number;
	if (place < dictionary->nordered)
		above = dictionary->entries[dictionary->ordered[place]].number;
	if (above - below < 2)
		return false;
	*number = (uint32) ((below + above) / 2);
	/* values that arrive in order must not halve the remaining range each time */
	if (place == dictionary->nordered && above - below > NUMBER_STEP)
		*number = (uint32) (below + NUMBER_STEP);
	else if (place == 0 && above - below > NUMBER_STEP)
		*number = (uint32) (above - NUMBER_STEP);
	return true;
}

/* Finds the position of a value in the order.  Returns true if an equal value is there. */
static bool
find_place(const Dictionary *dictionary, Datum value, uint32 *place)
{
	uint32		low = 0;
	uint32		high = dictionary->nordered;

	while (low < high)
	{
		uint32		middle = (low + high) / 2;
		Datum		other = dictionary->entries[dictionary->ordered[middle]].value;
		int			order = dictionary->ssup->comparator(value, other, dictionary->ssup);

		if (order == 0)
		{
			*place = middle;
			return true;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	*place = low;
	return false;
}

/* Returns true if all bytes are ASCII. */
static inline bool
is_ascii(const char *bytes, Size len)
{
	uint64		high = 0;
	Size		i = 0;

	for (; i + sizeof(uint64) <= len; i += sizeof(uint64))
		high |= load_word(bytes + i, sizeof(uint64));
	for (; i < len; i++)
		high |= (uint8) bytes[i];
	return (high & UINT64CONST(0x8080808080808080)) == 0;
}

/* Stores a copy of a value with the bytes it is looked up by. */
static void
keep_value(Dictionary *dictionary, Entry *entry, Datum value, const char *bytes, Size len)
{
	Size		header = dictionary->typlen == -1 ? VARHDRSZ : 0;
	char	   *copy = MemoryContextAlloc(dictionary->context, header + len + 1);

	if (header > 0)
		SET_VARSIZE(copy, header + len);
	memcpy(copy + header, bytes, len);
	copy[header + len] = 0;		/* of a cstring */
	dictionary->ascii &= is_ascii(bytes, len);
	entry->bytes = copy + header;
	entry->len = (uint32) len;
	entry->value = dictionary->typbyval ? value : PointerGetDatum(copy);
}

/* Adds a new value in the given slot.  Its number is that of the last entry then. */
static DictionaryResult
add_value(Dictionary *dictionary, Datum value, const char *bytes, Size len, uint32 hash)
{
	Entry	   *entry;
	uint32		place;
	bool		equal;

	if (too_many(dictionary) || VARHDRSZ + len >= MaxAllocSize)
		return DICTIONARY_FULL;
	equal = find_place(dictionary, value, &place);
	if (dictionary->nentries == dictionary->room)
		set_room(dictionary, dictionary->room * 2);
	entry = &dictionary->entries[dictionary->nentries];
	entry->hash = hash;
	entry->pass = dictionary->pass;
	entry->times = 1;
	if (equal)
		entry->number = dictionary->entries[dictionary->ordered[place]].number;
	else if (!number_between(dictionary, place, &entry->number))
	{
		if (dictionary->renumberings++ == MAX_RENUMBERINGS)
			return DICTIONARY_FULL;
		renumber(dictionary);
		return DICTIONARY_RENUMBERED;
	}
	keep_value(dictionary, entry, value, bytes, len);
	dictionary->last = dictionary->nentries++;
	dictionary->seen[1]++;
	dictionary->slots[find_slot(dictionary, hash, bytes, len)] = dictionary->nentries;
	if (!equal)
	{
		uint32	   *ordered = dictionary->ordered + place;

		memmove(ordered + 1, ordered, (dictionary->nordered++ - place) * sizeof(uint32));
		*ordered = dictionary->last;
	}
	return DICTIONARY_OK;
}

/* Counts a look-up of a known value. */
static inline void
count_entry(Dictionary *dictionary, Entry *entry)
{
	if (entry->pass != dictionary->pass)
	{
		entry->pass = dictionary->pass;
		entry->times = 0;
		dictionary->different++;
	}
	if (entry->times < OFTEN)
	{
		dictionary->seen[entry->times]--;
		dictionary->seen[++entry->times]++;
	}
}

/* Looks up bytes, and adds their value if they are new. */
static DictionaryResult
number_of_bytes(Dictionary *dictionary, Datum value, const char *bytes, Size len, uint32 *number)
{
	DictionaryResult result = DICTIONARY_OK;

	dictionary->asked++;
	if (dictionary->nentries == 0 || !is_entry(&dictionary->entries[dictionary->last], bytes, len))
	{
		uint32		hash = hash_value(bytes, len);
		uint32		found = dictionary->slots[find_slot(dictionary, hash, bytes, len)];

		dictionary->lookups++;
		if (likely(found != 0))
		{
			Entry	   *entry = &dictionary->entries[found - 1];

			count_entry(dictionary, entry);
			dictionary->last = found - 1;
		}
		else
		{
			dictionary->different++;
			result = add_value(dictionary, value, bytes, len, hash);
		}
	}
	if (result == DICTIONARY_OK)
		*number = dictionary->entries[dictionary->last].number;
	return result;
}

bool
dictionary_differs_early(const Dictionary *dictionary, uint32 bytes)
{
	uint32		alike = 0;

	for (uint32 i = 1; i < dictionary->nordered; i++)
	{
		const Entry *a = &dictionary->entries[dictionary->ordered[i - 1]];
		const Entry *b = &dictionary->entries[dictionary->ordered[i]];

		alike += a->len >= bytes && b->len >= bytes && memcmp(a->bytes, b->bytes, bytes) == 0;
	}
	return alike <= dictionary->nordered / ALIKE_FRACTION;
}

bool
dictionary_is_long(const Dictionary *dictionary, uint32 bytes)
{
	uint32		longer = 0;

	for (uint32 i = 0; i < dictionary->nentries; i++)
		longer += dictionary->entries[i].len > bytes;
	return longer > dictionary->nentries / 2;
}

DictionaryResult
dictionary_number(Dictionary *dictionary, Datum value, uint32 *number)
{
	struct varlena *varlena;
	DictionaryResult result;
	char		image[sizeof(Datum)];

	switch (dictionary->typlen)
	{
		case -1:
			varlena = open_varlena(value);
			result = number_of_bytes(dictionary, PointerGetDatum(varlena), VARDATA_ANY(varlena),
									 VARSIZE_ANY_EXHDR(varlena), number);
			close_varlena(value, varlena);
			return result;
		case -2:
			return number_of_bytes(dictionary, value, DatumGetCString(value), strlen(DatumGetCString(value)), number);
		default:
			if (!dictionary->typbyval)
				return number_of_bytes(dictionary, value, DatumGetPointer(value), dictionary->typlen, number);
			/* the Datum's bytes above a narrow value are undefined */
			store_att_byval(image, value, dictionary->typlen);
			return number_of_bytes(dictionary, value, image, dictionary->typlen, number);
	}
}
