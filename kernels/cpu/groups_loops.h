/*
 * groups_loops.h: loops over blocks of keys and values.  Included by groups_loops.c once per instruction set, with
 * TARGET (an attribute) and NAME defined.  Plain C that compilers vectorize.
 */

#define LESS_LOW(TYPE, WIDENED)                                                                                        \
	do                                                                                                                 \
	{                                                                                                                  \
		const TYPE *x = values;                                                                                        \
		for (size_t i = 0; i < n; i++)                                                                                 \
			out[i] = (uint64_t) (WIDENED) x[i] - low;                                                                  \
	} while (0)

/* Integers of up to 64 bits, less a number. */
TARGET static void
NAME(less)(gs_type type, const void *values, size_t n, uint64_t low, uint64_t *restrict out)
{
	switch (type)
	{
		case GS_U8:
			LESS_LOW(uint8_t, uint64_t);
			break;
		case GS_U16:
			LESS_LOW(uint16_t, uint64_t);
			break;
		case GS_I16:
			LESS_LOW(int16_t, int64_t);
			break;
		case GS_U32:
			LESS_LOW(uint32_t, uint64_t);
			break;
		case GS_I32:
			LESS_LOW(int32_t, int64_t);
			break;
		default: /* GS_I64, GS_U64 */
			LESS_LOW(uint64_t, uint64_t);
	}
}

/* The order of doubles (gs_float_order64), of which the lowest bits are dropped, less a number. */
TARGET static void
NAME(order)(const uint64_t *values, size_t n, bool zeros, uint32_t drop, uint64_t low, uint64_t *restrict out)
{
	uint64_t equal = zeros ? TOP_BIT : 0;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t v = values[i];

		v = (v & ~TOP_BIT) > 0x7ff0000000000000u ? 0x7ff8000000000000u : v;
		v = v == equal ? 0 : v;
		out[i] = ((v ^ ((uint64_t) ((int64_t) v >> 63) | TOP_BIT)) >> drop) - low;
	}
}

/* The greatest number. */
TARGET static uint64_t
NAME(most)(const uint64_t *values, size_t n)
{
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

/* The sum of every word, or of every second one, modulo 2^64. */
TARGET static uint64_t
NAME(sum)(const uint64_t *words, size_t n, bool second)
{
	uint64_t sum = 0;

	if (second)
		for (size_t i = 0; i < n; i++)
			sum += words[2 * i];
	else
		for (size_t i = 0; i < n; i++)
			sum += words[i];
	return sum;
}

/* Adds a number, or takes each from it. */
TARGET static void
NAME(turn)(uint64_t *part, size_t n, bool from, uint64_t number)
{
	uint64_t flip = from ? UINT64_MAX : 0, base = number + from;

	for (size_t i = 0; i < n; i++)
		part[i] = base + (part[i] ^ flip);
}

/* Divides by an odd number, whose inverse is given, times 2^even: what is no multiple becomes too great. */
TARGET static void
NAME(divide)(uint64_t *part, size_t n, uint64_t inverse, uint32_t even)
{
	for (size_t i = 0; i < n; i++)
		part[i] = gs_quotient_of(part[i], inverse, even);
}

/* Appends bits to words. */
TARGET static void
NAME(append)(uint64_t *restrict words, size_t n, uint32_t bits, const uint64_t *restrict part)
{
	for (size_t i = 0; i < n; i++)
		words[i] = gs_append_bits(words[i], part[i], bits);
}

/* Multiplies words, of which a mask's bits count. */
TARGET static void
NAME(mix)(uint64_t *words, size_t n, uint64_t factor, uint64_t mask)
{
	for (size_t i = 0; i < n; i++)
		words[i] = words[i] * factor & mask;
}

/* The halves of packed records. */
TARGET static void
NAME(unpack)(const uint64_t *words, size_t n, uint32_t bits, uint64_t mask, uint64_t low, uint64_t *restrict keys,
			 uint64_t *restrict values)
{
	uint64_t value_mask = gs_mask(bits);

	for (size_t i = 0; i < n; i++)
	{
		keys[i] = words[i] >> bits & mask;
		values[i] = (words[i] & value_mask) + low;
	}
}

/* The cells of values, below their slots. */
TARGET static void
NAME(cells)(const gs_cells *c, const void *values, const uint64_t *slots, size_t n, uint32_t *restrict out)
{
	const double *x = values, low = c->low, scale = c->scale, last = c->last;
	const uint64_t *codes = values, zeros = c->zeros;
	uint32_t bits = c->bits, shift = c->shift;

	if (c->even)
		for (size_t i = 0; i < n; i++)
		{
			double cell = (x[i] - low) * scale;

			cell = cell > 0 ? cell : 0;
			cell = cell < last ? cell : last;
			out[i] = (uint32_t) slots[i] << bits | (uint32_t) (int32_t) cell;
		}
	else if (bits == 0)
		for (size_t i = 0; i < n; i++)
			out[i] = (uint32_t) slots[i];
	else
		for (size_t i = 0; i < n; i++)
			out[i] = (uint32_t) slots[i] << bits |
					 (uint32_t) ((codes[i] + (zeros & (codes[i] == TOP_BIT - 1))) >> shift);
}

/* Marks words that differ from the one before: by bits of `peers`, 2, and by those of `partition`, 1 more. */
TARGET static void
NAME(mark)(const uint64_t *words, size_t n, uint64_t partition, uint64_t peers, uint8_t *restrict marks)
{
	for (size_t i = 1; i < n; i++)
	{
		uint64_t differ = words[i] ^ words[i - 1];

		marks[i] = (uint8_t) (((differ & peers) != 0) << 1 | ((differ & partition) != 0));
	}
}

static const gs_group_loops NAME(group_loops) = {NAME(less), NAME(order),	NAME(most), NAME(sum),	NAME(turn),
												 NAME(divide), NAME(append), NAME(mix), NAME(unpack), NAME(cells),
												 NAME(mark)};

#undef LESS_LOW
#undef TARGET
#undef NAME
