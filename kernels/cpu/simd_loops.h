/*
 * simd_loops.h: the loops of simd.c, included once for each instruction set with TARGET (an attribute) and NAME set.
 * Plain C that compilers turn into vector code; a range is kept in local variables so that they can.
 */

#define ENCODE_LOOP(type, expression)                                                                                  \
	do                                                                                                                 \
	{                                                                                                                  \
		type *out = to;                                                                                                \
		const type *in = from;                                                                                         \
		for (size_t i = 0; i < n; i++)                                                                                 \
		{                                                                                                              \
			type v = in[i];                                                                                            \
			out[i] = (type) (expression);                                                                              \
		}                                                                                                              \
	} while (0)

/*
 * Splits 16-byte values into arrays of upper and lower halves, because each half becomes a field of its own.
 */
TARGET static void
NAME(split)(uint64_t *high, uint64_t *low, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		low[i] = from[2 * i];
		high[i] = from[2 * i + 1];
	}
}

/*
 * Encodes floats: all NaNs become one above infinity, -0 becomes +0, then sign and magnitude become one number.
 */
TARGET static void
NAME(encode_f32)(uint32_t *to, const uint32_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		uint32_t v = from[i];
		uint32_t magnitude = v & 0x7fffffffu;

		v = magnitude > 0x7f800000u ? 0x7fc00000u : v;
		v = magnitude == 0 ? 0 : v;
		to[i] = v ^ ((uint32_t) ((int32_t) v >> 31) | 0x80000000u);
	}
}

/*
 * The same for doubles.
 */
TARGET static void
NAME(encode_f64)(uint64_t *to, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		uint64_t v = from[i];
		uint64_t magnitude = v & 0x7fffffffffffffffu;

		v = magnitude > 0x7ff0000000000000u ? 0x7ff8000000000000u : v;
		v = magnitude == 0 ? 0 : v;
		to[i] = v ^ ((uint64_t) ((int64_t) v >> 63) | 0x8000000000000000u);
	}
}

/*
 * Encodes values of any fixed type, so that later loops know unsigned numbers only.
 */
TARGET static void
NAME(encode)(gs_type type, void *to, void *low, const void *from, size_t n)
{
	switch (type)
	{
		case GS_I16:
			ENCODE_LOOP(uint16_t, v ^ 0x8000u);
			break;
		case GS_I32:
			ENCODE_LOOP(uint32_t, v ^ 0x80000000u);
			break;
		case GS_I64:
			ENCODE_LOOP(uint64_t, v ^ 0x8000000000000000u);
			break;
		case GS_F32:
			NAME(encode_f32)(to, from, n);
			break;
		case GS_F64:
			NAME(encode_f64)(to, from, n);
			break;
		case GS_U128:
			NAME(split)(to, low, from, n);
			break;
		default:
			memcpy(to, from, n * gs_type_width(type));
	}
}

#define RANGE_LOOP(type)                                                                                               \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *in = values;                                                                                       \
		type least = (type) range->min, most = (type) range->max, first = (type) range->first, varying = 0;            \
		for (size_t i = 0; i < n; i++)                                                                                 \
		{                                                                                                              \
			least = in[i] < least ? in[i] : least;                                                                     \
			most = in[i] > most ? in[i] : most;                                                                        \
			varying |= in[i] ^ first;                                                                                  \
		}                                                                                                              \
		range->min = least;                                                                                            \
		range->max = most;                                                                                             \
		range->varying |= varying;                                                                                     \
	} while (0)

/*
 * Extends a range: from it follows how few bits the column needs.
 */
TARGET static void
NAME(range)(size_t width, const void *values, size_t n, gs_range *range)
{
	if (width == 8)
		RANGE_LOOP(uint64_t);
	else if (width == 4)
		RANGE_LOOP(uint32_t);
	else if (width == 2)
		RANGE_LOOP(uint16_t);
	else
		RANGE_LOOP(uint8_t);
}

#define PACK_LOOP(type)                                                                                                \
	do                                                                                                                 \
	{                                                                                                                  \
		const type *in = values;                                                                                       \
		for (size_t i = 0; i < n; i++)                                                                                 \
		{                                                                                                              \
			uint64_t code = ((((uint64_t) in[i] ^ flip) - base) >> shift) + bump;                                      \
			words[i] = words[i] << up << (bits - up) | (code >> drop & mask);                                          \
		}                                                                                                              \
	} while (0)

/*
 * Appends one field's bits to the words.  The shift comes in two halves because it may be by all 64 bits.
 */
TARGET static void
NAME(pack)(size_t width, const void *values, size_t n, const gs_pack *pack, uint64_t *words)
{
	uint64_t flip = pack->flip, base = pack->base, bump = pack->bump, mask = gs_mask(pack->bits);
	uint32_t shift = pack->shift, drop = pack->drop, bits = pack->bits, up = bits / 2;

	if (width == 8)
		PACK_LOOP(uint64_t);
	else if (width == 4)
		PACK_LOOP(uint32_t);
	else if (width == 2)
		PACK_LOOP(uint16_t);
	else
		PACK_LOOP(uint8_t);
}

/*
 * Puts row numbers below the keys, and notes on the way whether the keys rise or fall.
 */
TARGET static int
NAME(number)(uint64_t *words, const uint64_t *keys, size_t n, uint32_t row_bits, uint64_t row)
{
	uint64_t falls = 0, rises = 0;

	for (size_t i = 1; i < n; i++)
	{
		falls |= keys[i] < keys[i - 1];
		rises |= keys[i] >= keys[i - 1];
	}
	for (size_t i = 0; i < n; i++)
		words[i] = keys[i] << row_bits | (row + i);
	return (falls ? GS_FALLS : 0) | (rises ? GS_RISES : 0);
}

/*
 * Takes the row numbers out of sorted words.
 */
TARGET static void
NAME(extract)(uint32_t *out, const uint64_t *words, size_t n, uint64_t mask)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (uint32_t) (words[i] & mask);
}

static const gs_loops NAME(loops) = {NAME(encode), NAME(range), NAME(pack), NAME(number), NAME(extract)};

#undef ENCODE_LOOP
#undef RANGE_LOOP
#undef PACK_LOOP
#undef TARGET
#undef NAME
