/*
 * slots.c: balances buckets where leading bits fall unevenly: floats, values of all magnitudes, outliers.  The leading
 * bits of a sample are counted in slots.  A slot with many words is divided by further bits; neighbouring slots with
 * few words share a bucket.  Buckets are in order whatever the sample: it affects only their balance.
 */
#include "cpu.h"

#include <string.h>

#define SAMPLE	 16384 /* at most; one word of SHARE */
#define SHARE	 64
#define LOOK	 512 /* words that show whether digits fall unevenly */
#define CROWDED	 (LOOK / 16) /* of them in one digit: a crowded digit */
#define UNEVEN	 (LOOK / 3 * 2) /* of them in crowded digits: uneven */
#define FEW_BITS 2	 /* fewer remaining bits are not worth it */

/* Returns the digit width to partition n words that differ in some bits, for buckets of the tuning's size. */
uint32_t
gs_partition_width(const gs_cpu_tuning *tuning, uint64_t n, uint32_t bits)
{
	uint32_t rows = gs_bits(n - 1), goal = tuning->bucket_log;
	uint32_t width = rows > goal + 8 ? rows - goal : 8;

	width = width < GS_MAX_DIGIT ? width : GS_MAX_DIGIT;
	return width < bits ? width : bits;
}

/* Returns true if a few digits hold most words, which further bits divide, to save another partition. */
bool
gs_uneven(const uint64_t *words, size_t n, uint32_t high, uint32_t low, uint32_t width)
{
	uint16_t counts[1 << GS_MAX_DIGIT];
	uint32_t shift = high - width, crowd = 0, crowded = 0;
	uint64_t differ = 0, first = 0;

	if (high - low < width + FEW_BITS)
		return false;
	memset(counts, 0, sizeof(counts[0]) << width);
	for (size_t i = 0; i < LOOK; i++)
		counts[words[n / LOOK * i] >> shift & gs_mask(width)]++;
	for (uint32_t d = 0; d < 1u << width; d++)
	{
		crowd += counts[d] > CROWDED ? counts[d] : 0;
		crowded = counts[d] > counts[crowded] ? d : crowded;
	}
	if (crowd < UNEVEN)
		return false;
	for (size_t i = 0; i < LOOK; i++)
	{
		uint64_t word = words[n / LOOK * i];

		if ((word >> shift & gs_mask(width)) != crowded)
			continue;
		differ |= first != 0 ? word ^ first : 0;
		first = word;
	}
	return (differ & gs_mask(shift)) >> low != 0;
}

/*
 * Makes slots for words that differ in bits [low, high), for about 2^width buckets; returns the buckets.  Bits from
 * *shift on are a word's slot.  highs: for each bucket, the bit (at most high) from which on its words agree.
 */
uint32_t
gs_slots_make(const uint64_t *words, size_t n, uint32_t high, uint32_t low, uint32_t width, uint64_t *slots,
			  uint8_t *highs, uint32_t *shift)
{
	const uint32_t sample = n / SHARE < SAMPLE ? (uint32_t) (n / SHARE) : SAMPLE;
	const uint32_t most = (sample >> width) + 1, limit = 1 << GS_MAX_DIGIT, top = gs_bits(GS_SLOTS - 1);
	uint16_t counts[GS_SLOTS] = {0};
	uint32_t left = high - low > top ? high - low - top : 0, buckets = 0, share = 0;
	bool open = false;

	*shift = low + left;
	for (size_t i = 0; i < sample; i++)
		counts[words[n / sample * i] >> *shift & (GS_SLOTS - 1)]++;
	for (uint32_t at = 0; at < GS_SLOTS; at++)
	{
		uint32_t divide = counts[at] > most ? gs_bits(counts[at] / most) - 1 : 0;

		/* if many words share their leading bits, further bits rarely fall evenly */
		divide += counts[at] > sample / 8 && width < GS_MAX_DIGIT - 1 ? 2 : 0;
		divide = divide < left ? divide : left;
		while (divide > 0 && buckets + (1u << divide) > limit)
			divide--;
		if (buckets == limit || (divide == 0 && open && share + counts[at] <= most))
		{
			/* joins the bucket before */
			share += counts[at];
			slots[at] = buckets - 1;
			highs[buckets - 1] = (uint8_t) high;
			continue;
		}
		slots[at] = gs_mask(divide) << 32 | (uint64_t) (*shift - divide) << 16 | buckets;
		for (uint32_t d = 0; d < 1u << divide; d++)
			highs[buckets++] = (uint8_t) (*shift - divide);
		open = divide == 0;
		share = counts[at];
	}
	return buckets;
}
