/*
 * simd_loops.h: simd.c's loops.  Included once per instruction set, with TARGET (an attribute) and NAME defined.
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

/* Splits 16-byte values into arrays of upper and lower halves, which become separate fields. */
TARGET static void
NAME(split)(uint64_t *high, uint64_t *low, const uint64_t *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
	{
		low[i] = from[2 * i];
		high[i] = from[2 * i + 1];
	}
}

/* Encodes floats: all NaNs become one above infinity, -0 becomes +0, and sign and magnitude become one number. */
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

/* Encodes doubles likewise. */
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

/* Encodes values of any fixed-width type as unsigned numbers. */
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

/* Rebases and widens offsets. */
TARGET static void
NAME(widen)(uint64_t *to, const uint32_t *from, size_t n, uint64_t base)
{
	for (size_t i = 0; i < n; i++)
		to[i] = base + from[i];
}

/* Extends the range of string lengths. */
TARGET static void
NAME(lengths)(const uint64_t *offsets, size_t n, gs_lengths *lengths)
{
	uint64_t least = lengths->least, most = lengths->most;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t length = offsets[i + 1] - offsets[i];

		least = length < least ? length : least;
		most = length > most ? length : most;
	}
	*lengths = (gs_lengths){least, most};
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

/* Extends the range of values, which determines how few bits the column needs. */
TARGET static void
NAME(range)(size_t width, const void *values, size_t n, gs_value_range *range)
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

/* Appends one field's bits to the words.  The shift is split in two because it may be by 64 bits. */
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

/* Puts row numbers below the keys, and finds out whether keys ascend or descend. */
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

/* Extracts the row numbers of sorted words. */
TARGET static void
NAME(extract)(uint32_t *out, const uint64_t *words, size_t n, uint64_t mask)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (uint32_t) (words[i] & mask);
}

/* Examines whole blocks, so that single words rarely need a look. */
TARGET static size_t
NAME(untied)(const uint64_t *words, size_t n, uint64_t mask)
{
	size_t at = 0;

	for (; at + GS_TIE_WORDS < n; at += GS_TIE_WORDS)
	{
		uint64_t tied = 0;

		/* sets the highest bit if only row numbers differ */
		for (size_t i = at; i < at + GS_TIE_WORDS; i++)
			tied |= ((words[i] ^ words[i + 1]) - (mask + 1)) & ~(words[i] ^ words[i + 1]);
		if (tied >> 63)
			break;
	}
	return at;
}

#ifdef VECTORS
/* Computes distances of eight characters of four strings at a time, packed by multiplications.  Returns the strings. */
TARGET static size_t
NAME(eight)(const gs_alphabet *alphabet, const uint8_t *heap, const uint64_t *offsets, size_t n, uint32_t bits,
			uint64_t xor_mask, uint64_t *words, __m256i *seen)
{
	const uint32_t width = alphabet->width;
	const __m256i from = _mm256_broadcastq_epi64(_mm_loadu_si128((const __m128i *) alphabet->least));
	const __m256i above = _mm256_broadcastq_epi64(_mm_loadu_si128((const __m128i *) alphabet->above));
	const __m256i gap = _mm256_set1_epi8((char) alphabet->gap), flip = _mm256_set1_epi64x((long long) xor_mask);
	const __m256i pairs = _mm256_set1_epi16((short) (1 << width | 1 << 8));
	const __m256i fours = _mm256_set1_epi32(1 << 2 * width | 1 << 16), low = _mm256_set1_epi64x(UINT32_MAX);
	const __m128i four = _mm_cvtsi32_si128((int) (4 * width)), less = _mm_cvtsi32_si128((int) (8 * width - bits));
	const __m128i room = _mm_cvtsi32_si128((int) bits);
	size_t i = 0;

	for (; i + 4 <= n; i += 4)
	{
		__m256i *to = (__m256i *) (words + i), c, beyond;
		long long s[4];

		for (int j = 0; j < 4; j++)
			memcpy(&s[j], heap + offsets[i + (size_t) j], 8);
		c = _mm256_sub_epi8(_mm256_set_epi64x(s[3], s[2], s[1], s[0]), from);
		beyond = _mm256_cmpgt_epi8(_mm256_setzero_si256(), _mm256_add_epi8(c, above));
		c = _mm256_sub_epi8(c, _mm256_and_si256(beyond, gap));
		*seen = _mm256_or_si256(*seen, c);
		c = _mm256_madd_epi16(_mm256_maddubs_epi16(pairs, c), fours);
		c = _mm256_or_si256(_mm256_sll_epi64(_mm256_and_si256(c, low), four), _mm256_srli_epi64(c, 32));
		c = _mm256_xor_si256(_mm256_srl_epi64(c, less), flip);
		_mm256_storeu_si256(to, _mm256_or_si256(_mm256_sll_epi64(_mm256_loadu_si256(to), room), c));
	}
	return i;
}
#endif

/* Appends the leading bits of characters' distances, with vectors two strings of up to sixteen at a time. */
TARGET static bool
NAME(distances)(const gs_alphabet *alphabet, const uint8_t *heap, const uint64_t *offsets, size_t n, uint32_t bits,
				uint64_t xor_mask, uint64_t *words)
{
	const uint32_t width = alphabet->width;
	uint64_t seen = 0;
	size_t i = 0;
#ifdef VECTORS
	const uint32_t half = 8 * width;
	__m256i all = _mm256_setzero_si256();
	const long long up = bits > half ? bits - half : 0, less = bits < half ? half - bits : 0;
	const __m256i left = _mm256_set_epi64x(0, up, 0, up);
	const __m256i rest = _mm256_set1_epi64x(bits > half ? 2 * half - bits : 64);
	const __m256i right = _mm256_blend_epi32(_mm256_set1_epi64x(less), rest, 0xcc);
	const __m256i from = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) alphabet->least));
	const __m256i above = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *) alphabet->above));
	const __m256i ours = _mm256_broadcastsi128_si256(
		_mm_cmplt_epi8(_mm_set_epi8(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
					   _mm_set1_epi8((char) alphabet->chars)));
	const __m256i gap = _mm256_set1_epi8((char) alphabet->gap);
	const __m256i pairs = _mm256_set1_epi16((short) (1 << width | 1 << 8));
	const __m256i fours = _mm256_set1_epi32(1 << 2 * width | 1 << 16), low = _mm256_set1_epi64x(UINT32_MAX);
	const __m128i four = _mm_cvtsi32_si128((int) (4 * width)), room = _mm_cvtsi32_si128((int) bits);

	if (width < 8 && bits <= half)
		i = NAME(eight)(alphabet, heap, offsets, n, bits, xor_mask, words, &all);
	for (; width < 8 && i + 2 <= n; i += 2)
	{
		__m128i a = _mm_loadu_si128((const __m128i *) (heap + offsets[i])), *to = (__m128i *) (words + i);
		__m128i b = _mm_loadu_si128((const __m128i *) (heap + offsets[i + 1]));
		__m256i c = _mm256_sub_epi8(_mm256_set_m128i(b, a), from);
		__m256i beyond = _mm256_cmpgt_epi8(_mm256_setzero_si256(), _mm256_add_epi8(c, above));

		c = _mm256_and_si256(_mm256_sub_epi8(c, _mm256_and_si256(beyond, gap)), ours);
		all = _mm256_or_si256(all, c);
		c = _mm256_madd_epi16(_mm256_maddubs_epi16(pairs, c), fours);
		c = _mm256_or_si256(_mm256_sll_epi64(_mm256_and_si256(c, low), four), _mm256_srli_epi64(c, 32));
		c = _mm256_srlv_epi64(_mm256_sllv_epi64(c, left), right);
		c = _mm256_permute4x64_epi64(_mm256_or_si256(c, _mm256_shuffle_epi32(c, 0x4e)), 8);
		a = _mm_xor_si128(_mm256_castsi256_si128(c), _mm_set1_epi64x((long long) xor_mask));
		_mm_storeu_si128(to, _mm_or_si128(_mm_sll_epi64(_mm_loadu_si128(to), room), a));
	}
	all = _mm256_or_si256(all, _mm256_permute4x64_epi64(all, 0x4e));
	seen = (uint64_t) (_mm256_extract_epi64(all, 0) | _mm256_extract_epi64(all, 1));
#endif
	for (; i < n; i++)
		words[i] = gs_append_bits(words[i], distance_code(alphabet, heap + offsets[i], bits, &seen) ^ xor_mask, bits);
	return (seen & ~(gs_mask(width) * 0x0101010101010101)) == 0;
}

static const gs_loops NAME(loops) = {NAME(encode), NAME(widen),	NAME(lengths), NAME(range),	 NAME(pack),
									 NAME(number), NAME(extract), NAME(untied), NAME(distances)};

#undef ENCODE_LOOP
#undef RANGE_LOOP
#undef PACK_LOOP
#undef TARGET
#undef NAME
