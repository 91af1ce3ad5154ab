/*
 * key_word.c: words of a key's value, which tell neighbours of an order apart.
 */
#include "postgres.h"

#include "access/detoast.h"

#include "key_word.h"
#include "sortkey_types.h"

/* Words of a string, behind which the comparison function decides. */
#define STRING_DEPTHS 8

/* Which words the key has. */
static WordForm
form_of(const SortKey *key)
{
	/* a deferred key of long strings keeps its leading bytes for the time when it is resumed */
	if (key->coarse && (key->leading == 0 || key->empty))
		return WORD_NONE;
	if (key->plain)
		return WORD_PLAIN;
	if (key->encode == encode_uuid)
		return WORD_UUID;
	if (key->width > 0)
		return WORD_ENCODED;
	return is_varlena_key(key) ? WORD_STRING : WORD_BYTES;
}

KeyWord
keyword_of(SortKey *key)
{
	KeyWord		word = {.key = key, .form = form_of(key), .flip = key->spec.desc ? PG_UINT64_MAX : 0};

	word.depths = word.form == WORD_STRING ? STRING_DEPTHS : word.form == WORD_UUID ? 2 : 1;
	word.whole = (word.form == WORD_PLAIN || word.form == WORD_ENCODED) && key->width <= sizeof(uint64);
	return word;
}

bool
keyword_encode(const KeyWord *word, Datum value, uint64 *to)
{
	uint64		element[2] = {0, 0};
	KeyColumn	column = {.values = (char *) element};

	if (word->form == WORD_BYTES)
	{
		char		bytes[1 + sizeof(uint64)] = {0};

		/* the normalised form has the key's direction */
		(void) sortkey_prefix(word->key, value, false, bytes, sizeof(bytes));
		*to = load_big_endian(bytes + 1) ^ word->flip;
		return true;
	}
	if (sortkey_put(word->key, value, false, &column, 0) != KEY_OK)
		return false;
	*to = word->key->width > sizeof(uint64) ? element[1] : element_image(word->key->spec.type, (char *) element);
	return true;
}

uint64
packed_string_word(Datum value, int depth)
{
	struct varlena *string = PG_DETOAST_DATUM_SLICE(value, 0, (depth + 1) * STRING_STEP + 1);
	uint64		word = string_word(PointerGetDatum(string), depth);

	pfree(string);
	return word;
}
