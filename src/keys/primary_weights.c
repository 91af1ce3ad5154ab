/*
 * primary_weights.c: the primary weights of strings under linguistic collations, as keys.  A call of strxfrm or ICU
 * takes 300 to 2000 ns.  When a locale is opened, the weights of ASCII characters are learned from it, and keys of
 * ASCII strings are then concatenated from these in a tenth of the time.  Strings with contractions, pairs whose weight
 * differs from that of the two characters (Czech ch, Danish aa), go to the provider. The C library does not list its
 * contractions, so each pair is tested on first use.
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "utils/memutils.h"

#include "primary_weights_types.h"

/* The key of a longer string is made from a part of it, if that yields enough bytes. */
#define LONG_STRING 1024

/* Bytes searched for a good place to end a part. */
#define SEARCH_BYTES 64

/* Key bytes of a part that suffice: any influence of the part's end lies behind PRIMARY_BYTES. */
#define SURE_BYTES (PRIMARY_BYTES + 128)

StaticAssertDecl(PRIMARY_START_BYTES > LONG_STRING + SEARCH_BYTES, "the first part of a string that goes on");

/* Larger string buffers are freed after use. */
#define LARGE_COPY (1024 * 1024)

static PrimaryWeights *opened;

/* Learns the weights of single characters. */
static bool
learn_weights(PrimaryWeights *primary)
{
	StringInfoData key;

	initStringInfo(&key);
	for (int c = 1; c < ASCII_CHARACTERS; c++)
	{
		char		string[2] = {(char) c, 0};
		CharacterWeight *weight = &primary->weights[c];

		resetStringInfo(&key);
		primary->provider->key(primary, string, 1, false, &key);
		if (key.len > (int) sizeof(weight->bytes))
			return false;
		memcpy(weight->bytes, key.data, key.len);
		weight->len = (uint8) key.len;
	}
	pfree(key.data);
	memset(primary->pairs[0], PAIR_ADDS_UP, sizeof(primary->pairs[0]));
	return primary->provider->learn_pairs == NULL || primary->provider->learn_pairs(primary);
}

/* Tests a pair on first use. */
static bool
try_pair(PrimaryWeights *primary, uint8 a, uint8 b)
{
	const CharacterWeight *first = &primary->weights[a];
	const CharacterWeight *second = &primary->weights[b];
	char		pair[3] = {(char) a, (char) b, 0};
	StringInfoData key;
	bool		adds_up;

	initStringInfo(&key);
	primary->provider->key(primary, pair, 2, false, &key);
	adds_up = key.len == first->len + second->len && memcmp(key.data, first->bytes, first->len) == 0 &&
		memcmp(key.data + first->len, second->bytes, second->len) == 0;
	pfree(key.data);
	primary->pairs[a][b] = adds_up ? PAIR_ADDS_UP : PAIR_CONTRACTS;
	return adds_up;
}

/* Returns true for an ASCII character whose weight does not depend on the one before it (0: start of the string). */
static inline bool
weighs_alone(PrimaryWeights *primary, uint8 before, uint8 c)
{
	if (unlikely(c >= ASCII_CHARACTERS))
		return false;
	if (likely(primary->pairs[before][c] == PAIR_ADDS_UP))
		return true;
	return primary->pairs[before][c] == PAIR_UNKNOWN && try_pair(primary, before, c);
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

/* Ranks weights by the number of characters below them; false if ranks would not order strings as weights do. */
static bool
rank_weights(PrimaryWeights *primary)
{
	for (int c = 1; c < ASCII_CHARACTERS; c++)
	{
		const CharacterWeight *weight = &primary->weights[c];
		uint8		rank = 1;

		if (weight->len == 0)
			continue;
		for (int d = 1; d < ASCII_CHARACTERS; d++)
		{
			const CharacterWeight *other = &primary->weights[d];

			if (other->len == 0)
				continue;
			if (is_prefix(other, weight))
				return false;
			rank += compare_weights(other, weight) < 0;
		}
		primary->ranks[c] = rank;
	}
	return true;
}

/* Opens a collation's locale.  Remembers if it provides no keys. */
static PrimaryWeights *
open_locale(Oid collation)
{
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	PrimaryWeights *primary = palloc0(sizeof(PrimaryWeights));
	CollationLocale locale;

	primary->collation = collation;
	primary->refused = true;		/* in case an error is thrown below */
	primary->next = opened;
	opened = primary;
	initStringInfo(&primary->copy);
	collation_locale(collation, &locale);
	if (primary_open_libc(primary, &locale) || primary_open_icu(primary, &locale))
	{
		primary->weights_usable = learn_weights(primary);
		primary->has_short = primary->weights_usable && rank_weights(primary);
		primary->refused = false;
	}
	MemoryContextSwitchTo(old);
	return primary;
}

PrimaryWeights *
primary_open(Oid collation)
{
	PrimaryWeights *primary = opened;

	while (primary != NULL && primary->collation != collation)
		primary = primary->next;
	if (primary == NULL)
		primary = open_locale(collation);
	return primary->refused ? NULL : primary;
}

void
primary_refuse(PrimaryWeights *primary)
{
	primary->refused = true;
}

bool
primary_has_short(const PrimaryWeights *primary)
{
	return primary->has_short;
}

int
primary_short_key(PrimaryWeights *primary, const char *string, Size len, uint8 *to, int most)
{
	uint8	   *out = to;
	uint8	   *end = to + most;
	uint8		before = 0;

	for (Size i = 0; i < len && out < end; i++)
	{
		uint8		c = (uint8) string[i];

		if (unlikely(!weighs_alone(primary, before, c)))
			return -1;
		*out = primary->ranks[c];
		out += primary->ranks[c] != 0;
		before = c;
	}
	return (int) (out - to);
}

/* Builds a key from the weights of a string's characters; false, with nothing appended, for others and contractions. */
static bool
append_weights(PrimaryWeights *primary, const char *string, Size len, StringInfo buffer)
{
	int			start = buffer->len;
	uint8		before = 0;

	enlargeStringInfo(buffer, PRIMARY_BYTES + sizeof(primary->weights[0].bytes));
	for (Size i = 0; i < len && buffer->len - start < PRIMARY_BYTES; i++)
	{
		uint8		c = (uint8) string[i];
		const CharacterWeight *weight = &primary->weights[c % ASCII_CHARACTERS];

		if (unlikely(!weighs_alone(primary, before, c)))
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

/* Returns the length of a long string's part for a key: at least bytes, if possible not within a contraction. */
static Size
part_length(PrimaryWeights *primary, const char *string, Size len, Size least)
{
	if (!primary->weights_usable || len <= least + SEARCH_BYTES)
		return len;
	for (Size i = least; i < least + SEARCH_BYTES; i++)
	{
		uint8		before = (uint8) string[i - 1];
		uint8		c = (uint8) string[i];

		if (before < ASCII_CHARACTERS && weighs_alone(primary, before, c))
			return i;
	}
	return pg_mbcliplen(string, (int) (least + SEARCH_BYTES), (int) least);
}

/* Replaces the buffer's contents by the provider's key of the first bytes of a string. */
static void
provider_key(PrimaryWeights *primary, const char *string, Size part, bool all_levels, StringInfo buffer)
{
	resetStringInfo(buffer);
	resetStringInfo(&primary->copy);
	appendBinaryStringInfo(&primary->copy, string, (int) part);
	primary->provider->key(primary, primary->copy.data, part, all_levels, buffer);
}

/* Calls the provider, for no more of a string than the key needs. */
static void
key_of_part(PrimaryWeights *primary, const char *string, Size len, bool all_levels, StringInfo buffer)
{
	Size		part;

	/* some characters have no primary weight, so the key of a part may be too short */
	for (Size least = LONG_STRING;; least *= 4)
	{
		part = part_length(primary, string, len, least);
		provider_key(primary, string, part, all_levels, buffer);
		if (part == len || all_levels || buffer->len >= SURE_BYTES)
			return;
	}
}

bool
primary_key_of_start(PrimaryWeights *primary, const char *start, StringInfo buffer)
{
	bool		enough;

	resetStringInfo(buffer);
	if (!primary->weights_usable)
		return false;
	if (primary->provider->mixes && append_weights(primary, start, PRIMARY_START_BYTES, buffer))
		enough = buffer->len >= PRIMARY_BYTES;
	else
	{
		provider_key(primary, start, part_length(primary, start, PRIMARY_START_BYTES, LONG_STRING), false, buffer);
		enough = buffer->len >= SURE_BYTES;
	}
	buffer->len = Min(buffer->len, PRIMARY_BYTES);
	return enough;
}

void
primary_key(PrimaryWeights *primary, const char *string, Size len, bool all_levels, StringInfo buffer)
{
	resetStringInfo(buffer);
	if (all_levels || !primary->weights_usable || !primary->provider->mixes ||
		!append_weights(primary, string, len, buffer))
		key_of_part(primary, string, len, all_levels, buffer);
	if (!all_levels)
		buffer->len = Min(buffer->len, PRIMARY_BYTES);
	if (primary->copy.maxlen > LARGE_COPY)
	{
		MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);

		pfree(primary->copy.data);
		initStringInfo(&primary->copy);
		MemoryContextSwitchTo(old);
	}
}
