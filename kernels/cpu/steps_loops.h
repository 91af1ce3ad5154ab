/*
 * steps_loops.h: reductions and arithmetic over arrays.  Included by steps_loops.c once per instruction set, with
 * TARGET (an attribute) and NAME defined.  Plain C that compilers vectorize.
 */

/* The sum of integers of at most 32 bits: at most GS_PLAIN_ROWS of them. */
#define SUM_NARROW(TYPE)                                                                                               \
	do                                                                                                                 \
	{                                                                                                                  \
		const TYPE *x = values;                                                                                        \
		int64_t sum = 0;                                                                                               \
		for (size_t i = 0; i < n; i++)                                                                                 \
			sum += x[i];                                                                                               \
		return sum;                                                                                                    \
	} while (0)

/* The sum of 64-bit numbers without a sign, as the sums of their halves. */
TARGET static gs_wide
NAME(sum_halves)(const uint64_t *x, size_t n, uint64_t flip)
{
	uint64_t low = 0, high = 0;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t v = x[i] ^ flip;

		low += v & UINT32_MAX;
		high += v >> 32;
	}
	return ((gs_wide) high << 32) + low;
}

/* The sum of integers of any type up to 64 bits. */
TARGET static gs_wide
NAME(sum)(gs_type type, const void *values, size_t n)
{
	switch (type)
	{
		case GS_U8:
			SUM_NARROW(uint8_t);
		case GS_U16:
			SUM_NARROW(uint16_t);
		case GS_I16:
			SUM_NARROW(int16_t);
		case GS_U32:
			SUM_NARROW(uint32_t);
		case GS_I32:
			SUM_NARROW(int32_t);
		case GS_I64: /* with the sign bit inverted, each is greater by 2^63 */
			return NAME(sum_halves)(values, n, TOP_BIT) - ((gs_wide) n << 63);
		default:
			return NAME(sum_halves)(values, n, 0);
	}
}

/* The sum of doubles, in LANES sums that vectors hold. */
TARGET static double
NAME(sum_real)(const double *x, size_t n)
{
	double sums[LANES] = {0};
	size_t i = 0;

	for (; i + LANES <= n; i += LANES)
		for (int k = 0; k < LANES; k++)
			sums[k] += x[i + k];
	for (; i < n; i++)
		sums[0] += x[i];
	for (int k = 1; k < LANES; k++)
		sums[0] += sums[k];
	return sums[0];
}

#define EXTREME(TYPE)                                                                                                  \
	do                                                                                                                 \
	{                                                                                                                  \
		const TYPE *x = values;                                                                                        \
		TYPE most = x[0];                                                                                              \
		if (greatest)                                                                                                  \
			for (size_t i = 1; i < n; i++)                                                                             \
				most = x[i] > most ? x[i] : most;                                                                      \
		else                                                                                                           \
			for (size_t i = 1; i < n; i++)                                                                             \
				most = x[i] < most ? x[i] : most;                                                                      \
		return most;                                                                                                   \
	} while (0)

/* The least or greatest of integers of any type up to 64 bits. */
TARGET static gs_wide
NAME(extreme)(gs_type type, const void *values, size_t n, bool greatest)
{
	switch (type)
	{
		case GS_U8:
			EXTREME(uint8_t);
		case GS_U16:
			EXTREME(uint16_t);
		case GS_I16:
			EXTREME(int16_t);
		case GS_U32:
			EXTREME(uint32_t);
		case GS_I32:
			EXTREME(int32_t);
		case GS_I64:
			EXTREME(int64_t);
		default:
			EXTREME(uint64_t);
	}
}

/* The least or greatest of doubles, in their order without equal zeros.  *zeros: bit 0 for +0, bit 1 for -0. */
TARGET static uint64_t
NAME(extreme_real)(const uint64_t *x, size_t n, bool greatest, uint32_t *zeros)
{
	uint64_t most = greatest ? 0 : UINT64_MAX, flip = greatest ? 0 : UINT64_MAX, plus = 0, minus = 0;

	most ^= flip;
	for (size_t i = 0; i < n; i++)
	{
		uint64_t v = x[i], magnitude = v & ~TOP_BIT;
		uint64_t key;

		v = magnitude > 0x7ff0000000000000u ? 0x7ff8000000000000u : v;
		key = v ^ ((uint64_t) ((int64_t) v >> 63) | TOP_BIT) ^ flip;
		most = key > most ? key : most;
		plus |= v == 0;
		minus |= v == TOP_BIT;
	}
	*zeros = (uint32_t) (plus | minus << 1);
	return most ^ flip;
}

#define WIDEN(FROM, TO)                                                                                                \
	do                                                                                                                 \
	{                                                                                                                  \
		const FROM *x = values;                                                                                        \
		TO *out = to;                                                                                                  \
		for (size_t i = 0; i < n; i++)                                                                                 \
			out[i] = (TO) x[i];                                                                                        \
	} while (0)

/* Widens integers of up to 32 bits to 64, and floats to doubles. */
TARGET static void
NAME(widen)(gs_type type, const void *values, size_t n, void *to)
{
	switch (type)
	{
		case GS_U8:
			WIDEN(uint8_t, int64_t);
			break;
		case GS_U16:
			WIDEN(uint16_t, int64_t);
			break;
		case GS_I16:
			WIDEN(int16_t, int64_t);
			break;
		case GS_U32:
			WIDEN(uint32_t, int64_t);
			break;
		case GS_I32:
			WIDEN(int32_t, int64_t);
			break;
		default: /* GS_F32 */
			WIDEN(float, double);
	}
}

/* Results, of which bad is negative once one has left 64 bits, within the range of a number. */
#define COMPUTE(EXPRESSION, WRONG)                                                                                     \
	for (size_t i = 0; i < n; i++)                                                                                     \
	{                                                                                                                  \
		uint64_t x = (uint64_t) a[i], y = (uint64_t) b[i], r = EXPRESSION;                                             \
		bad |= WRONG;                                                                                                  \
		outside |= r - least > span;                                                                                   \
		out[i] = (int64_t) r;                                                                                          \
	}

/* narrow: the operands have at most 32 bits. */
TARGET static bool
NAME(compute)(gs_code code, gs_number result, bool narrow, const int64_t *restrict a, const int64_t *restrict b,
			  int64_t *restrict out, size_t n)
{
	uint64_t least = (uint64_t) gs_number_least(result), span = (uint64_t) gs_number_greatest(result) - least;
	uint64_t bad = 0, outside = 0;

	if (code == GS_CODE_ADD)
		COMPUTE(x + y, (x ^ r) & (y ^ r))
	else if (code == GS_CODE_SUBTRACT)
		COMPUTE(x - y, (x ^ y) & (x ^ r))
	else if (narrow)
		COMPUTE(x * y, 0)
	else
		for (size_t i = 0; i < n; i++)
		{
			bad |= (uint64_t) __builtin_mul_overflow(a[i], b[i], &out[i]) << 63;
			outside |= (uint64_t) out[i] - least > span;
		}
	return bad >> 63 == 0 && outside == 0;
}

static const gs_step_loops NAME(step_loops) = {NAME(sum),		   NAME(sum_real), NAME(extreme),
											   NAME(extreme_real), NAME(widen),	   NAME(compute)};

#undef SUM_NARROW
#undef EXTREME
#undef WIDEN
#undef COMPUTE
#undef TARGET
#undef NAME
