/*
 * select_loops.h: masks and packing for one instruction set.  Included by select.c: plain, for AVX2 and for AVX-512.
 * Items are handled in groups of 64: the caller's rule gives a mask of 64 bits, and the items of set bits are packed to
 * the front of the output.  Both steps read ahead of what they write, so output may overlap input.
 */

/* ---- masks */

/* Bit i: byte i is not 0. */
TARGET static uint64_t
NAME(mask_bytes)(const uint8_t *p)
{
#if defined(AVX512)
	return _mm512_test_epi8_mask(_mm512_loadu_si512(p), _mm512_loadu_si512(p));
#elif defined(AVX2)
	const __m256i zero = _mm256_setzero_si256();
	__m256i low = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *) p), zero);
	__m256i high = _mm256_cmpeq_epi8(_mm256_loadu_si256((const __m256i *) p + 1), zero);

	return ~((uint64_t) (uint32_t) _mm256_movemask_epi8(high) << 32 | (uint32_t) _mm256_movemask_epi8(low));
#else
	uint64_t m = 0;

	for (int i = 0; i < 64; i += 8)
	{
		uint64_t x;

		memcpy(&x, p + i, 8);
		x = ((x & 0x7f7f7f7f7f7f7f7full) + 0x7f7f7f7f7f7f7f7full) | x;
		m |= ((x & 0x8080808080808080ull) * 0x0002040810204081ull >> 56) << i;
	}
	return m;
#endif
}

/* Bit i: (item i ^ flip) - low, as unsigned numbers, is at most span. */
#define RANGE(T, BYTES, SET1, LOADU, XOR, SUB, CMPLE)                                                                  \
	TARGET static uint64_t NAME(mask_range##BYTES)(const void *from, const gs_select_rule *r)                          \
	{                                                                                                                  \
		uint64_t m = 0;                                                                                                \
		RANGE_BODY(T, BYTES, SET1, SUB, CMPLE)                                                                         \
		return m;                                                                                                      \
	}

#ifdef AVX512
#define RANGE_BODY(T, BYTES, SET1, SUB, CMPLE)                                                                         \
	__m512i low = SET1((long long) (r->low ^ r->flip)), span = SET1((long long) r->span);                              \
	for (int i = 0; i < BYTES; i++)                                                                                    \
	{                                                                                                                  \
		__m512i x = _mm512_loadu_si512((const char *) from + 64 * i);                                                  \
		m |= (uint64_t) CMPLE(SUB(x, low), span) << (64 / BYTES * i % 64);                                             \
	}
#else
#define RANGE_BODY(T, BYTES, SET1, SUB, CMPLE)                                                                         \
	const T *x = from;                                                                                                 \
	T low = (T) (r->low ^ r->flip), span = (T) r->span;                                                                \
	uint8_t flags[64];                                                                                                 \
	for (int i = 0; i < 64; i++)                                                                                       \
		flags[i] = (T) (x[i] - low) <= span;                                                                           \
	m = NAME(mask_bytes)(flags);
#endif
RANGE(uint8_t, 1, _mm512_set1_epi8, , , _mm512_sub_epi8, _mm512_cmple_epu8_mask)
RANGE(uint16_t, 2, _mm512_set1_epi16, , , _mm512_sub_epi16, _mm512_cmple_epu16_mask)
RANGE(uint32_t, 4, _mm512_set1_epi32, , , _mm512_sub_epi32, _mm512_cmple_epu32_mask)
RANGE(uint64_t, 8, _mm512_set1_epi64, , , _mm512_sub_epi64, _mm512_cmple_epu64_mask)
#undef RANGE
#undef RANGE_BODY

/* Bit i: item i differs from its predecessor; before is that of the group, whose memory may be overwritten. */
#ifdef AVX512
#define DIFFER(T, BYTES, CMPNEQ)                                                                                       \
	TARGET static uint64_t NAME(mask_differ##BYTES)(const void *from, T before)                                        \
	{                                                                                                                  \
		const T *x = from;                                                                                             \
		uint64_t m = 0;                                                                                                \
		for (int i = 0; i < BYTES; i++)                                                                                \
		{                                                                                                              \
			__m512i a = _mm512_loadu_si512(x + 64 / BYTES * i);                                                        \
			__m512i b = _mm512_loadu_si512(x + 64 / BYTES * i - 1);                                                    \
			m |= (uint64_t) CMPNEQ(a, b) << (64 / BYTES * i % 64);                                                     \
		}                                                                                                              \
		return (m & ~(uint64_t) 1) | (x[0] != before);                                                                 \
	}
DIFFER(uint8_t, 1, _mm512_cmpneq_epi8_mask)
DIFFER(uint16_t, 2, _mm512_cmpneq_epi16_mask)
DIFFER(uint32_t, 4, _mm512_cmpneq_epi32_mask)
DIFFER(uint64_t, 8, _mm512_cmpneq_epi64_mask)
#else
#define DIFFER(T, BYTES, CMPNEQ)                                                                                       \
	TARGET static uint64_t NAME(mask_differ##BYTES)(const void *from, T before)                                        \
	{                                                                                                                  \
		const T *x = from;                                                                                             \
		uint64_t m = x[0] != before;                                                                                   \
		for (int i = 1; i < 64; i++)                                                                                   \
			m |= (uint64_t) (x[i] != x[i - 1]) << i;                                                                   \
		return m;                                                                                                      \
	}
DIFFER(uint8_t, 1, )
DIFFER(uint16_t, 2, )
DIFFER(uint32_t, 4, )
DIFFER(uint64_t, 8, )
#endif
#undef DIFFER

/* ---- packing: the items of 64 whose bit is set; room for all 64 is not needed behind the last group's */

#ifdef AVX512
#define PACK(T, BYTES, COMPRESS)                                                                                       \
	TARGET static uint64_t NAME(pack##BYTES)(void *to, const void *from, uint64_t mask)                                \
	{                                                                                                                  \
		T *out = to;                                                                                                   \
		__m512i v[BYTES];                                                                                              \
		for (int i = 0; i < BYTES; i++)                                                                                \
			v[i] = _mm512_loadu_si512((const T *) from + 64 / BYTES * i);                                              \
		for (int i = 0; i < BYTES; i++)                                                                                \
		{                                                                                                              \
			uint64_t m = BYTES == 1 ? mask : mask >> (64 / BYTES * i % 64) & (~0ull >> (64 - 64 / BYTES));             \
			int n = __builtin_popcountll(m);                                                                           \
			COMPRESS                                                                                                   \
			out += n;                                                                                                  \
		}                                                                                                              \
		return (uint64_t) (out - (T *) to);                                                                            \
	}
PACK(uint8_t, 1,
	 _mm512_mask_storeu_epi8(out, n == 64 ? ~0ull : ((1ull << n) - 1), _mm512_maskz_compress_epi8(m, v[i]));)
PACK(uint16_t, 2,
	 _mm512_mask_storeu_epi16(out, (__mmask32) ((1ull << n) - 1), _mm512_maskz_compress_epi16((__mmask32) m, v[i]));)
PACK(uint32_t, 4,
	 _mm512_mask_storeu_epi32(out, (__mmask16) ((1u << n) - 1), _mm512_maskz_compress_epi32((__mmask16) m, v[i]));)
PACK(uint64_t, 8,
	 _mm512_mask_storeu_epi64(out, (__mmask8) ((1u << n) - 1), _mm512_maskz_compress_epi64((__mmask8) m, v[i]));)
#else
#define PACK(T, BYTES)                                                                                                 \
	TARGET static uint64_t NAME(pack##BYTES)(void *to, const void *from, uint64_t mask)                                \
	{                                                                                                                  \
		T *out = to;                                                                                                   \
		const T *x = from;                                                                                             \
		if (mask == ~0ull)                                                                                             \
		{                                                                                                              \
			memmove(to, from, 64 * sizeof(T));                                                                         \
			return 64;                                                                                                 \
		}                                                                                                              \
		for (; mask != 0; mask &= mask - 1)                                                                            \
			*out++ = x[__builtin_ctzll(mask)];                                                                         \
		return (uint64_t) (out - (T *) to);                                                                            \
	}
PACK(uint8_t, 1)
PACK(uint16_t, 2)
PACK(uint32_t, 4)
PACK(uint64_t, 8)
#endif
#undef PACK

/* Packs items of 16 bytes one by one, since no instruction does it. */
TARGET static uint64_t
NAME(pack16)(void *to, const void *from, uint64_t mask)
{
	unsigned __int128 *out = to;
	const unsigned __int128 *x = from;

	for (; mask != 0; mask &= mask - 1)
		*out++ = x[__builtin_ctzll(mask)];
	return (uint64_t) (out - (unsigned __int128 *) to);
}

/* Writes the 32-bit positions of the set bits, counted from base. */
TARGET static uint64_t
NAME(positions)(uint32_t *to, uint32_t base, uint64_t mask)
{
#ifdef AVX512
	__m512i at = _mm512_add_epi32(_mm512_set1_epi32((int) base),
								  _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
	uint32_t *out = to;

	for (int i = 0; i < 4; i++, mask >>= 16)
	{
		__mmask16 m = (__mmask16) mask;

		_mm512_storeu_si512(out, _mm512_maskz_compress_epi32(m, at)); /* out has room for 16 more */
		out += __builtin_popcount(m);
		at = _mm512_add_epi32(at, _mm512_set1_epi32(16));
	}
	return (uint64_t) (out - to);
#else
	uint32_t *out = to;

	for (; mask != 0; mask &= mask - 1)
		*out++ = base + (uint32_t) __builtin_ctzll(mask);
	return (uint64_t) (out - to);
#endif
}

static const gs_select_loops NAME(select_loops) = {
	NAME(mask_bytes),
	{NAME(mask_range1), NAME(mask_range2), NAME(mask_range4), NAME(mask_range8)},
	NAME(mask_differ1),
	NAME(mask_differ2),
	NAME(mask_differ4),
	NAME(mask_differ8),
	{NAME(pack1), NAME(pack2), NAME(pack4), NAME(pack8), NAME(pack16)},
	NAME(positions),
};

#undef TARGET
#undef NAME
#undef AVX2
#undef AVX512
