/*
 * keywriter.c: what all encoders share: writing into a chunk's columns, and the normalised form of a key.
 */
#include "postgres.h"

#include "port/pg_bswap.h"

#include "sortkey.h"

void
keywriter_begin(KeyWriter *writer, gs_chunk *chunk, const SortKey *keys)
{
	writer->chunk = chunk;
	writer->row = 0;
	writer->capacity = chunk->capacity;
	for (uint32 i = 0; i < chunk->ncolumns; i++)
	{
		KeyColumn  *column = &writer->columns[i];
		gs_chunk_column *target = &chunk->columns[i];

		column->values = (char *) chunk + target->values;
		column->nulls = (uint64 *) ((char *) chunk + target->nulls);
		column->nulls_bytes = (chunk->capacity + 63) / 64 * sizeof(uint64);
		column->heap = (uint8 *) chunk + target->heap;
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

KeyResult
sortkey_put_bytes(KeyColumn *column, uint32 row, const void *bytes, Size len)
{
	uint32	   *offsets = (uint32 *) column->values;
	uint32		start = offsets[row];

	if (unlikely(len > column->heap_bytes - start))
	{
		column->wanted = (uint32) len;
		return row == 0 ? KEY_TOO_LARGE : KEY_FULL;
	}
	memcpy(column->heap + start, bytes, len);
	offsets[row + 1] = start + (uint32) len;
	return KEY_OK;
}

void
sortkey_put_null(const SortKey *key, KeyColumn *column, uint32 row)
{
	Size		width = gs_type_width(key->spec.type);

	if (!column->has_nulls)
	{
		memset(column->nulls, 0, column->nulls_bytes);
		column->has_nulls = true;
	}
	column->nulls[row / 64] |= UINT64CONST(1) << (row % 64);
	if (width == 0)
		((uint32 *) column->values)[row + 1] = ((uint32 *) column->values)[row];
	else
		memset(column->values + row * width, 0, width);
}

/* The unsigned integer that sorts like the element: sign bit flipped, floats made canonical. */
static uint64
unsigned_image(gs_type type, const char *element)
{
	switch (type)
	{
		case GS_U8:
			return *(const uint8 *) element;
		case GS_U16:
			return *(const uint16 *) element;
		case GS_U32:
			return *(const uint32 *) element;
		case GS_U64:
			return *(const uint64 *) element;
		case GS_I16:
			return (uint16) (*(const uint16 *) element ^ 0x8000);
		case GS_I32:
			return *(const uint32 *) element ^ 0x80000000u;
		case GS_I64:
			return *(const uint64 *) element ^ (UINT64CONST(1) << 63);
		case GS_F32:
			{
				float		value = *(const float *) element;
				uint32		bits;

				if (value != value)
					return PG_UINT32_MAX;
				value += 0.0f;	/* -0 becomes +0 */
				memcpy(&bits, &value, sizeof(bits));
				return bits & 0x80000000u ? (uint32) ~bits : bits | 0x80000000u;
			}
		case GS_F64:
			{
				double		value = *(const double *) element;
				uint64		bits;

				if (value != value)
					return PG_UINT64_MAX;
				value += 0.0;
				memcpy(&bits, &value, sizeof(bits));
				return bits & (UINT64CONST(1) << 63) ? ~bits : bits | (UINT64CONST(1) << 63);
			}
		case GS_U128:
		case GS_BYTES:
			break;
	}
	elog(ERROR, "sort key type %d has no 64-bit image", (int) type);
}

/* Appends the low bytes of an integer, most significant first. */
static void
append_big_endian(StringInfo out, uint64 image, Size width)
{
	uint64		swapped = pg_hton64(image);

	appendBinaryStringInfo(out, (char *) &swapped + (sizeof(swapped) - width), (int) width);
}

/* Appends a string so that no string is a prefix of another: each zero byte followed by 0xff, two zero bytes at the end. */
static void
append_escaped(StringInfo out, const uint8 *bytes, Size len)
{
	static const char zero[2] = {0, (char) 0xff};
	static const char end[2] = {0, 0};

	while (len > 0)
	{
		const uint8 *stop = memchr(bytes, 0, len);
		Size		piece = stop ? (Size) (stop - bytes) : len;

		appendBinaryStringInfo(out, (const char *) bytes, (int) piece);
		if (stop == NULL)
			break;
		appendBinaryStringInfo(out, zero, sizeof(zero));
		bytes += piece + 1;
		len -= piece + 1;
	}
	appendBinaryStringInfo(out, end, sizeof(end));
}

/* Encodes one value into scratch memory and returns it; *len is its size in bytes. */
static const char *
encode_alone(SortKey *key, Datum value, char *element, StringInfo heap, Size *len)
{
	KeyColumn	column = {0};
	KeyResult	result;
	uint32		offsets[2] = {0, 0};

	column.values = key->spec.type == GS_BYTES ? (char *) offsets : element;
	for (;;)
	{
		column.heap = (uint8 *) heap->data;
		column.heap_bytes = (uint32) heap->maxlen;
		result = key->encode(key, value, &column, 0);
		if (result != KEY_TOO_LARGE)
			break;
		enlargeStringInfo(heap, (int) column.wanted);
	}
	if (result != KEY_OK)
		elog(ERROR, "exact sort key answered %d", (int) result);
	*len = key->spec.type == GS_BYTES ? offsets[1] : gs_type_width(key->spec.type);
	return key->spec.type == GS_BYTES ? heap->data : element;
}

void
sortkey_normalise(SortKey *key, Datum value, bool isnull, StringInfo out)
{
	char		element[16] pg_attribute_aligned(16);
	const char *encoded;
	Size		len;
	int			start;

	appendStringInfoCharMacro(out, isnull == key->spec.nulls_first ? 0 : 1);
	if (isnull)
		return;
	start = out->len;
	encoded = encode_alone(key, value, element, key->scratch, &len);
	if (key->spec.type == GS_BYTES)
		append_escaped(out, (const uint8 *) encoded, len);
	else if (key->spec.type == GS_U128)
	{
		append_big_endian(out, ((const uint64 *) encoded)[1], sizeof(uint64));
		append_big_endian(out, ((const uint64 *) encoded)[0], sizeof(uint64));
	}
	else
		append_big_endian(out, unsigned_image(key->spec.type, encoded), len);
	if (key->spec.desc)
		for (int i = start; i < out->len; i++)
			out->data[i] = (char) ~out->data[i];
}
