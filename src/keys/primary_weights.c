/*
 * level1.c: first-level keys (primary weights) of strings under linguistic collations.
 *
 * A call of strxfrm or ICU takes 300 to 2000 ns.  When a locale is opened, the weights of ASCII characters are learned
 * from it, and keys of ASCII strings are then concatenated from these in a tenth of the time.  Strings with
 * contractions, pairs whose weight differs from that of the two characters (Czech ch, Danish aa), go to the provider.
 * The C library does not list its contractions, so each pair is tested on first use.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "level1_types.h"

/* The key of a longer string is made from a part of it, if that yields enough bytes. */
#define LONG_STRING 1024

/* Bytes searched for a good place to end a part. */
#define SEARCH_BYTES 64

/* Key bytes of a part that suffice: any influence of the part's end lies behind LEVEL1_BYTES. */
#define SURE_BYTES (LEVEL1_BYTES + 128)

StaticAssertDecl(LEVEL1_START_BYTES > LONG_STRING + SEARCH_BYTES, "the first part of a string that goes on");

/* Larger string buffers are freed after use. */
#define LARGE_COPY (1024 * 1024)

static Level1 *opened;

/* Learns the weights of single characters. */
static bool
learn_weights(Level1 *level1)
{
	StringInfoData key;

	initStringInfo(&key);
	for (int c = 1; c < ASCII_CHARACTERS; c++)
	{
		char		string[2] = {(char) c, 0};
		CharacterWeight *weight = &level1->weights[c];

		resetStringInfo(&key);
		level1->provider->key(level1, string, 1, false, &key);
		if (key.len > (int) sizeof(weight->bytes))
			return false;
		memcpy(weight->bytes, key.data, key.len);
		weight->len = (uint8) key.len;
	}
	pfree(key.data);
	memset(level1->pairs[0], PAIR_ADDS_UP, sizeof(level1->pairs[0]));
	return level1->provider->learn_pairs == NULL || level1->provider->learn_pairs(level1);
}

/* Tests a pair on first use. */
static bool
try_pair(Level1 *level1, uint8 a, uint8 b)
{
	const CharacterWeight *first = &level1->weights[a];
	const CharacterWeight *second = &level1->weights[b];
	char		pair[3] = {(char) a, (char) b, 0};
	StringInfoData key;
	bool		adds_up;

	initStringInfo(&key);
	level1->provider->key(level1, pair, 2, false, &key);
	adds_up = key.len == first->len + second->len && memcmp(key.data, first->bytes, first->len) == 0 &&
		memcmp(key.data + first->len, second->bytes, second->len) == 0;
	pfree(key.data);
	level1->pairs[a][b] = adds_up ? PAIR_ADDS_UP : PAIR_CONTRACTS;
	return adds_up;
}

/* Returns true for an ASCII character whose weight does not depend on the one before it (0: start of the string). */
static inline bool
weighs_alone(Level1 *level1, uint8 before, uint8 c)
{
	if (unlikely(c >= ASCII_CHARACTERS))
		return false;
	if (likely(level1->pairs[before][c] == PAIR_ADDS_UP))
		return true;
	return level1->pairs[before][c] == PAIR_UNKNOWN && try_pair(level1, before, c);
}

/* Compares weights as keys. */
static int
compare_weights(const CharacterWeight *a, const CharacterWeight *b)
{
	int			order = memcmp(a->bytes, b->bytes, Min(a->len, b->len));

	return order != 0 ? order : (int) a->len - (int) b->len;
}

/* Returns true if one weight is a prefix of another.  Strings of weights then do not compare as strings of ranks. */
static bool
is_prefix(const CharacterWeight *a, const CharacterWeight *b)
{
	return a->len < b->len && memcmp(a->bytes, b->bytes, a->len) == 0;
}

/*
 * Ranks weights by the number of characters below them.  Returns false if ranks would not order strings as weights do.
 */
static bool
rank_weights(Level1 *level1)
{
	for (int c = 1; c < ASCII_CHARACTERS; c++)
	{
		const CharacterWeight *weight = &level1->weights[c];
		uint8		rank = 1;

		if (weight->len == 0)
			continue;
		for (int d = 1; d < ASCII_CHARACTERS; d++)
		{
			const CharacterWeight *other = &level1->weights[d];

			if (other->len == 0)
				continue;
			if (is_prefix(other, weight))
				return false;
			rank += compare_weights(other, weight) < 0;
		}
		level1->ranks[c] = rank;
	}
	return true;
}

/* Opens a collation's locale.  Remembers if it provides no keys. */
static Level1 *
open_locale(Oid collation)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	Level1	   *level1 = palloc0(sizeof(Level1));
	CollationLocale locale;

	level1->collation = collation;
	level1->refused = true;		/* in case an error is thrown below */
	level1->next = opened;
	opened = level1;
	initStringInfo(&level1->copy);
	collation_locale(collation, &locale);
	if (level1_open_libc(level1, &locale) || level1_open_icu(level1, &locale))
	{
		level1->weights_usable = learn_weights(level1);
		level1->has_short = level1->weights_usable && rank_weights(level1);
		level1->refused = false;
	}
	MemoryContextSwitchTo(old);
	return level1;
}

Level1 *
level1_open(Oid collation)
{
	Level1	   *level1 = opened;

	while (level1 != NULL && level1->collation != collation)
		level1 = level1->next;
	if (level1 == NULL)
		level1 = open_locale(collation);
	return level1->refused ? NULL : level1;
}

void
level1_refuse(Level1 *level1)
{
	level1->refused = true;
}

bool
level1_has_short(const Level1 *level1)
{
	return level1->has_short;
}

int
level1_short_key(Level1 *level1, const char *string, Size len, uint8 *to, int most)
{
	uint8	   *out = to;
	uint8	   *end = to + most;
	uint8		before = 0;

	for (Size i = 0; i < len && out < end; i++)
	{
		uint8		c = (uint8) string[i];

		if (unlikely(!weighs_alone(level1, before, c)))
			return -1;
		*out = level1->ranks[c];
		out += level1->ranks[c] != 0;
		before = c;
	}
	return (int) (out - to);
}

/*
 * Builds a key from the weights of a string's characters.  Returns false, with nothing appended, for other characters
 * and contractions.
 */
static bool
append_weights(Level1 *level1, const char *string, Size len, StringInfo buffer)
{
	int			start = buffer->len;
	uint8		before = 0;

	enlargeStringInfo(buffer, LEVEL1_BYTES + sizeof(level1->weights[0].bytes));
	for (Size i = 0; i < len && buffer->len - start < LEVEL1_BYTES; i++)
	{
		uint8		c = (uint8) string[i];
		const CharacterWeight *weight = &level1->weights[c % ASCII_CHARACTERS];

		if (unlikely(!weighs_alone(level1, before, c)))
		{
			buffer->len = start;
			return false;
		}
		memcpy(buffer->data + buffer->len, weight->bytes, sizeof(weight->bytes));
		buffer->len += weight->len;
		before = c;
	}
	return true;
}

/*
 * Returns the length of the part of a long string to make a key from: at least the given bytes, ending if possible
 * between two characters that form no contraction.
 */
static Size
part_length(Level1 *level1, const char *string, Size len, Size least)
{
	if (!level1->weights_usable || len <= least + SEARCH_BYTES)
		return len;
	for (Size i = least; i < least + SEARCH_BYTES; i++)
	{
		uint8		before = (uint8) string[i - 1];
		uint8		c = (uint8) string[i];

		if (before < ASCII_CHARACTERS && weighs_alone(level1, before, c))
			return i;
	}
	return pg_mbcliplen(string, (int) (least + SEARCH_BYTES), (int) least);
}

/* Replaces the buffer's contents by the provider's key of the first bytes of a string. */
static void
provider_key(Level1 *level1, const char *string, Size part, bool all_levels, StringInfo buffer)
{
	resetStringInfo(buffer);
	resetStringInfo(&level1->copy);
	appendBinaryStringInfo(&level1->copy, string, (int) part);
	level1->provider->key(level1, level1->copy.data, part, all_levels, buffer);
}

/* Calls the provider, for no more of a string than the key needs. */
static void
key_of_part(Level1 *level1, const char *string, Size len, bool all_levels, StringInfo buffer)
{
	Size		part;

	/* the first level ignores some characters, so the key of a part may be too short */
	for (Size least = LONG_STRING;; least *= 4)
	{
		part = part_length(level1, string, len, least);
		provider_key(level1, string, part, all_levels, buffer);
		if (part == len || all_levels || buffer->len >= SURE_BYTES)
			return;
	}
}

bool
level1_key_of_start(Level1 *level1, const char *start, StringInfo buffer)
{
	bool		enough;

	resetStringInfo(buffer);
	if (!level1->weights_usable)
		return false;
	if (level1->provider->mixes && append_weights(level1, start, LEVEL1_START_BYTES, buffer))
		enough = buffer->len >= LEVEL1_BYTES;
	else
	{
		provider_key(level1, start, part_length(level1, start, LEVEL1_START_BYTES, LONG_STRING), false, buffer);
		enough = buffer->len >= SURE_BYTES;
	}
	buffer->len = Min(buffer->len, LEVEL1_BYTES);
	return enough;
}

void
level1_key(Level1 *level1, const char *string, Size len, bool all_levels, StringInfo buffer)
{
	resetStringInfo(buffer);
	if (all_levels || !level1->weights_usable || !level1->provider->mixes ||
		!append_weights(level1, string, len, buffer))
		key_of_part(level1, string, len, all_levels, buffer);
	if (!all_levels)
		buffer->len = Min(buffer->len, LEVEL1_BYTES);
	if (level1->copy.maxlen > LARGE_COPY)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		pfree(level1->copy.data);
		initStringInfo(&level1->copy);
		MemoryContextSwitchTo(old);
	}
}
