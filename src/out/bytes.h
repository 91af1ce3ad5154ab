/*
 * bytes.h: strings are copied to a message, in words and blocks that overlap at the end; in a line of COPY with what is
 * escaped.
 */
#ifndef GPUSORT_BYTES_H
#define GPUSORT_BYTES_H

/* Copies bytes, mostly few, in words that overlap. */
static inline char *
put_bytes(char *to, const char *from, Size bytes)
{
	if (bytes > 32 || bytes < 4)
		memcpy(to, from, bytes);
	else if (bytes >= 16)
	{
		memcpy(to, from, 16);
		memcpy(to + bytes - 16, from + bytes - 16, 16);
	}
	else if (bytes >= 8)
	{
		memcpy(to, from, 8);
		memcpy(to + bytes - 8, from + bytes - 8, 8);
	}
	else
	{
		memcpy(to, from, 4);
		memcpy(to + bytes - 4, from + bytes - 4, 4);
	}
	return to + bytes;
}

/* A word of eight bytes that are all c. */
#define EIGHT(c) (UINT64CONST(0x0101010101010101) * (unsigned char) (c))

/*
 * Does a word have a zero byte or, in a line of COPY, one below 32, a backslash or a delimiter?  The highest bits of
 * differences tell.
 */
static inline bool
word_is_special(uint64 word, char delimiter, bool in_line)
{
	uint64		backslash = word ^ EIGHT('\\');
	uint64		other = word ^ EIGHT(delimiter);

	if (!in_line)
		return ((word - EIGHT(1)) & ~word & EIGHT(0x80)) != 0;
	return ((((word - EIGHT(0x20)) & ~word) | ((backslash - EIGHT(1)) & ~backslash) |
			 ((other - EIGHT(1)) & ~other)) & EIGHT(0x80)) != 0;
}

/* Sixteen bytes, of which the compiler makes a vector. */
typedef uint8 Bytes16 __attribute__((vector_size(16)));

/* As word_is_special, of sixteen bytes. */
static inline bool
block_is_special(Bytes16 block, char delimiter, bool in_line)
{
	uint64		words[2];

	if (in_line)
		block = (Bytes16) (block < 0x20) | (Bytes16) (block == '\\') | (Bytes16) (block == (uint8) delimiter);
	else
		block = (Bytes16) (block == 0);
	memcpy(words, &block, sizeof(words));
	return (words[0] | words[1]) != 0;
}

/* Writes a byte. */
static inline char *
put_byte(char *to, char c)
{
	*to = c;
	return to + 1;
}

/* Writes a byte as CopyAttributeOutText does. */
static inline char *
put_escaped_byte(char *to, char c, char delimiter)
{
	static const char letters[] = "btnvfr";

	if (c >= '\b' && c <= '\r')
	{
		*to++ = '\\';
		c = letters[c - '\b'];
	}
	else if (c == '\\' || c == delimiter)
		*to++ = '\\';
	*to++ = c;
	return to;
}

/* Writes a string's bytes one by one. */
static pg_noinline char *
put_string_bytes(char *to, const char *from, Size bytes, char delimiter, bool in_line)
{
	if (!in_line)
		return (char *) memcpy(to, from, bytes) + bytes;
	for (Size i = 0; i < bytes; i++)
		to = put_escaped_byte(to, from[i], delimiter);
	return to;
}

/* Writes fewer than 16 bytes up to a zero: two words that overlap, unless something in them is special. */
static inline char *
put_string_end(char *to, const char *from, Size bytes, char delimiter, bool in_line)
{
	uint64		words[2];
	uint32		halves[2];

	if (bytes >= 8)
	{
		memcpy(&words[0], from, 8);
		memcpy(&words[1], from + bytes - 8, 8);
		if (likely(!word_is_special(words[0], delimiter, in_line) && !word_is_special(words[1], delimiter, in_line)))
		{
			memcpy(to, &words[0], 8);
			return (char *) memcpy(to + bytes - 8, &words[1], 8) + 8;
		}
	}
	else if (bytes >= 4)
	{
		memcpy(&halves[0], from, 4);
		memcpy(&halves[1], from + bytes - 4, 4);
		memcpy(&words[0], halves, 8);
		if (likely(!word_is_special(words[0], delimiter, in_line)))
		{
			memcpy(to, &halves[0], 4);
			return (char *) memcpy(to + bytes - 4, &halves[1], 4) + 4;
		}
	}
	else
	{
		/* a flag, mostly */
		for (Size i = 0; i < bytes && from[i] != '\0'; i++)
			to = in_line ? put_escaped_byte(to, from[i], delimiter) : put_byte(to, from[i]);
		return to;
	}
	return put_string_bytes(to, from, strnlen(from, bytes), delimiter, in_line);
}

/*
 * Writes a string up to a zero byte, which only functions in C put into a text, and where the server's own string ends;
 * in a line of COPY with what is escaped, for which there is room for twice its bytes.
 */
static pg_attribute_always_inline char *
put_string(char *to, const char *from, Size bytes, char delimiter, bool in_line)
{
	for (; bytes >= sizeof(Bytes16); from += sizeof(Bytes16), bytes -= sizeof(Bytes16))
	{
		Bytes16		block;

		memcpy(&block, from, sizeof(block));
		if (likely(!block_is_special(block, delimiter, in_line)))
			to = (char *) memcpy(to, &block, sizeof(block)) + sizeof(block);
		else
		{
			Size		length = strnlen(from, sizeof(block));

			to = put_string_bytes(to, from, length, delimiter, in_line);
			if (length < sizeof(block))
				return to;
		}
	}
	return bytes > 0 ? put_string_end(to, from, bytes, delimiter, in_line) : to;
}

#endif
