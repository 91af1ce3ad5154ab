/*
 * string_bytes.c: LIKE and length from bytes.
 */
#include "postgres.h"

#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "port/pg_bitutils.h"
#include "utils/lsyscache.h"

#include "src/base/compat.h"
#include "string_bytes.h"

/* Bytes that are looked at together. */
typedef unsigned char Block __attribute__((vector_size(16)));

/* A block as two numbers, of which one in memory's order comes first. */
#define HALF ((uint32) sizeof(uint64))

bool
bytes_are_characters(void)
{
	return GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1;
}

const char *
bytes_of_pattern(Datum pattern, Oid collation, uint32 *count)
{
	const struct varlena *text = pg_detoast_datum_packed((struct varlena *) DatumGetPointer(pattern));
	const char *p = VARDATA_ANY(text);
	uint32		bytes = (uint32) VARSIZE_ANY_EXHDR(text);

	if (!bytes_are_characters() || bytes < 3 || p[0] != '%' || p[bytes - 1] != '%' || !OidIsValid(collation) ||
		!get_collation_isdeterministic(collation))
		return NULL;
	*count = bytes - 2;
	for (uint32 i = 1; i <= *count; i++)
		if (p[i] == '%' || p[i] == '_' || p[i] == '\\')
			return NULL;
	return p + 1;
}

/* Returns true if a part begins at one of these places, whose bytes are set. */
static bool
begins_at(uint64 places, const char *p, const char *part, uint32 count)
{
	for (; places != 0; places &= ~(UINT64CONST(0xff) << pg_rightmost_one_pos64(places) / 8 * 8))
	{
#ifdef WORDS_BIGENDIAN
		int			place = (int) HALF - 1 - pg_rightmost_one_pos64(places) / 8;
#else
		int			place = pg_rightmost_one_pos64(places) / 8;
#endif

		if (memcmp(p + place, part, count) == 0)
			return true;
	}
	return false;
}

bool
bytes_contain(const char *p, uint32 bytes, const char *part, uint32 count)
{
	const Block zero = {0};
	Block		first = zero + (unsigned char) part[0];
	Block		last = zero + (unsigned char) part[count - 1];
	uint32		places = bytes >= count ? bytes - count + 1 : 0;	/* where it may begin */

	if (places < sizeof(Block))
	{
		for (uint32 at = 0; at < places; at++)
			if (p[at] == part[0] && memcmp(p + at, part, count) == 0)
				return true;
		return false;
	}
	/* where both its first byte and its last one stand; the last block begins within the one before */
	for (uint32 at = 0; at < places; at += sizeof(Block))
	{
		const char *from = p + Min(at, places - (uint32) sizeof(Block));
		Block		begins,
					ends;
		uint64		both[2];

		memcpy(&begins, from, sizeof(begins));
		memcpy(&ends, from + count - 1, sizeof(ends));
		begins = (Block) (begins == first) & (Block) (ends == last);
		memcpy(both, &begins, sizeof(both));
		if ((both[0] | both[1]) != 0 &&
			(begins_at(both[0], from, part, count) || begins_at(both[1], from + HALF, part, count)))
			return true;
	}
	return false;
}

uint32
bytes_length(const char *p, uint32 bytes)
{
	uint32		length = bytes;
	uint32		at = 0;

	if (GetDatabaseEncoding() != PG_UTF8)
		return bytes;
	/* without those that go on with a character: 10xxxxxx */
	for (; bytes - at >= HALF; at += HALF)
	{
		uint64		some;

		memcpy(&some, p + at, sizeof(some));
		length -= (uint32) pg_popcount64(some >> 7 & ~(some >> 6) & UINT64CONST(0x0101010101010101));
	}
	for (; at < bytes; at++)
		length -= (p[at] & 0xc0) == 0x80;
	return length;
}
