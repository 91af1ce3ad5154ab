/*
 * keywriter.c: writes keys into the columns of a chunk, and builds their normalised form.
 */
#include "postgres.h"

#include "port/pg_bswap.h"

#include "key_word.h"
#include "sortkey_types.h"

void
keywriter_begin(KeyWriter *writer, gs_chunk *chunk, char *memory, const SortKey *keys)
{
	writer->chunk = chunk;
	writer->row = 0;
	writer->capacity = chunk->capacity;
	for (uint32 i = 0; i < chunk->ncolumns; i++)
	{
		KeyColumn  *column = &writer->columns[i];
		gs_chunk_column *target = &chunk->columns[i];

		column->values = memory + target->values;
		column->nulls = (uint64 *) (memory + target->nulls);
		column->nulls_bytes = (chunk->capacity + 63) / 64 * sizeof(uint64);
		column->heap = (uint8 *) memory + target->heap;
		column->heap_bytes = (uint32) target->heap_bytes;
		column->has_nulls = false;
		if (keys[i].spec.type == GS_BYTES)
			((uint32 *) column->values)[0] = 0;
	}
}

void
keywriter_close(KeyWriter *writer)
{
	writer->chunk->rows = writer->row;
	for (uint32 i = 0; i < writer->chunk->ncolumns; i++)
		writer->chunk->columns[i].has_nulls = writer->columns[i].has_nulls;
}

void
sortkey_put_null(const SortKey *key, KeyColumn *column, uint32 row)
{
	if (!column->has_nulls)
	{
		memset(column->nulls, 0, column->nulls_bytes);
		column->has_nulls = true;
	}
	column->nulls[row / 64] |= UINT64CONST(1) << (row % 64);
	if (key->width == 0)
		((uint32 *) column->values)[row + 1] = ((uint32 *) column->values)[row];
	else
		memset(column->values + (Size) row * key->width, 0, key->width);
}

/* Strings up to this length are escaped byte by byte, without a search for the next zero byte. */
#define SHORT_STRING 64

/* Appends a short string, with 0xff after each zero byte. */
static void
append_escaped_short(StringInfo out, const uint8 *bytes, Size len)
{
	char	   *to;

	enlargeStringInfo(out, 2 * SHORT_STRING + 1);
	to = out->data + out->len;
	for (Size i = 0; i < len; i++)
	{
		to[0] = (char) bytes[i];
		to[1] = (char) 0xff;
		to += 1 + (bytes[i] == 0);
	}
	out->len = (int) (to - out->data);
}

/* Appends a string, with 0xff after each zero byte. */
static void
append_escaped_long(StringInfo out, const uint8 *bytes, Size len)
{
	static const char zero[2] = {0, (char) 0xff};
	const uint8 *stop;

	while ((stop = memchr(bytes, 0, len)) != NULL)
	{
		Size		piece = (Size) (stop - bytes);

		appendBinaryStringInfo(out, (const char *) bytes, (int) piece);
		appendBinaryStringInfo(out, zero, sizeof(zero));
		bytes += piece + 1;
		len -= piece + 1;
	}
	appendBinaryStringInfo(out, (const char *) bytes, (int) len);
}

/* Appends a string such that no string is a prefix of another: zero bytes escaped, two of them at the end. */
static void
append_escaped(StringInfo out, const uint8 *bytes, Size len)
{
	static const char end[2] = {0, 0};

	if (len <= SHORT_STRING)
		append_escaped_short(out, bytes, len);
	else
		append_escaped_long(out, bytes, len);
	appendBinaryStringInfo(out, end, sizeof(end));
}

/* Encodes a value of a GS_BYTES key.  The bytes remain valid until the next call. */
static const uint8 *
encode_bytes(SortKey *key, Datum value, Size *len)
{
	KeyColumn	column = {0};
	uint32		offsets[2] = {0, 0};
	KeyResult	result;

	column.values = (char *) offsets;
	for (;;)
	{
		column.heap = (uint8 *) key->scratch->data;
		column.heap_bytes = (uint32) key->scratch->maxlen;
		result = key->encode(key, value, &column, 0);
		if (result != KEY_TOO_LARGE)
			break;
		enlargeStringInfo(key->scratch, (int) column.wanted);
	}
	if (result != KEY_OK)
		elog(ERROR, "exact sort key answered %d", (int) result);
	*len = offsets[1];
	return column.heap;
}

/* Appends the normalised form of a value of a GS_BYTES key. */
static void
normalise_bytes(SortKey *key, Datum value, StringInfo out)
{
	int			start = out->len;
	Size		len;
	const uint8 *bytes = encode_bytes(key, value, &len);

	append_escaped(out, bytes, len);
	if (key->spec.desc)
		for (int i = start; i < out->len; i++)
			out->data[i] = (char) ~out->data[i];
}

/* Writes the normalised form of a fixed-width value, most significant byte first.  Returns its end. */
static char *
write_fixed(SortKey *key, Datum value, char *to)
{
	char		element[16] pg_attribute_aligned(16);
	KeyColumn	column = {.values = element};
	uint64		flip = key->spec.desc ? PG_UINT64_MAX : 0;
	uint64		words[2];

	(void) sortkey_put(key, value, false, &column, 0);
	if (key->spec.type == GS_U128)
	{
		memcpy(words, element, sizeof(words));
		words[1] = pg_hton64(words[1] ^ flip);
		words[0] = pg_hton64(words[0] ^ flip);
		memcpy(to, &words[1], sizeof(uint64));
		memcpy(to + sizeof(uint64), &words[0], sizeof(uint64));
	}
	else
	{
		words[0] = (element_image(key->spec.type, element) ^ flip) << (64 - 8 * key->width);
		words[0] = pg_hton64(words[0]);
		memcpy(to, &words[0], sizeof(uint64));
	}
	return to + key->width;
}

uint64
sortkey_word(SortKey *key, Datum value)
{
	char		element[sizeof(uint64)] pg_attribute_aligned(8);
	KeyColumn	column = {.values = element};

	(void) sortkey_put(key, value, false, &column, 0);
	return element_image(key->spec.type, element) ^ (key->spec.desc ? PG_UINT64_MAX : 0);
}

char *
sortkey_write(SortKey *key, Datum value, bool isnull, char *to)
{
	*to++ = isnull == key->spec.nulls_first ? 0 : 1;
	return isnull || key->width == 0 ? to : write_fixed(key, value, to);
}

void
sortkey_normalise(SortKey *key, Datum value, bool isnull, StringInfo out)
{
	enlargeStringInfo(out, SORTKEY_WRITTEN);
	out->len = (int) (sortkey_write(key, value, isnull, out->data + out->len) - out->data);
	if (!isnull && key->width == 0)
		normalise_bytes(key, value, out);
}

/* Writes the first bytes of what append_escaped appends; returns how many, or more than room if there are more. */
static Size
prefix_escaped(const uint8 *bytes, Size len, char *out, Size room)
{
	Size		at = Min(len, room);

	if (memchr(bytes, 0, at) == NULL)
		memcpy(out, bytes, at);
	else
	{
		at = 0;
		for (Size i = 0; i < len && at < room; i++)
		{
			out[at++] = (char) bytes[i];
			if (bytes[i] == 0 && at == room)
				return room + 1;
			if (bytes[i] == 0)
				out[at++] = (char) 0xff;
		}
	}
	/* the two bytes that terminate it */
	for (int i = 0; i < 2; i++)
	{
		if (at == room)
			return room + 1;
		out[at++] = 0;
	}
	return at;
}

/* Writes the first bytes of the normalised form of a value of a GS_BYTES key.  See sortkey_prefix. */
static Size
prefix_bytes(SortKey *key, Datum value, char *out, Size room)
{
	Size		len;
	const uint8 *bytes;
	Size		n;

	/* fetch no more of a compressed or external string than is needed */
	if (key->encode == encode_varlena && VARATT_IS_EXTENDED(DatumGetPointer(value)) &&
		!VARATT_IS_SHORT(DatumGetPointer(value)))
		value = PointerGetDatum(PG_DETOAST_DATUM_SLICE(value, 0, room));
	bytes = encode_bytes(key, value, &len);
	n = prefix_escaped(bytes, len, out, room);
	if (key->spec.desc)
		for (Size i = 0; i < Min(n, room); i++)
			out[i] = (char) ~out[i];
	return n;
}

Size
sortkey_prefix(SortKey *key, Datum value, bool isnull, char *out, Size room)
{
	char		fixed[1 + 2 * sizeof(uint64)];
	Size		bytes;

	if (room == 0)
		return 1;
	*out = isnull == key->spec.nulls_first ? 0 : 1;
	if (isnull)
		return 1;
	if (key->width == 0)
		return 1 + prefix_bytes(key, value, out + 1, room - 1);
	bytes = (Size) (write_fixed(key, value, fixed + 1) - fixed);
	memcpy(out + 1, fixed + 1, Min(bytes, room) - 1);
	return bytes;
}
