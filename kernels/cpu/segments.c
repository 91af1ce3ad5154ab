/*
 * segments.c: sorts segments separately: short ones by insertion on precomputed codes, longer ones as gs_sort does.
 */
#include "cpu.h"

#include <string.h>

#define SHORT 32

/* Returns the temporary memory for one segment of all items, the largest possible. */
size_t
gs_cpu_segments_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n, uint64_t segments)
{
	(void) segments;
	return gs_cpu_sort_keys_temp(engine, key, value_width, n);
}

/*
 * Sorts a short segment.
 */
static void
sort_short(gs_cpu_engine *cpu, gs_type key, bool desc, const gs_sort_items *items)
{
	uint32_t small[SHORT];
	uint64_t codes[SHORT];
	uint8_t order[SHORT];
	size_t n = items->n, width = items->key_bytes, value = items->value_width;

	cpu->loops->encode(key, width == 4 ? (void *) small : (void *) codes, NULL, items->keys, n);
	for (size_t i = 0; i < n; i++)
	{
		uint64_t code = (width == 4 ? small[i] : codes[i]) ^ (desc ? ~(uint64_t) 0 : 0);
		size_t j = i;

		for (; j > 0 && codes[order[j - 1]] > code; j--)
			order[j] = order[j - 1];
		order[j] = (uint8_t) i;
		codes[i] = code;
	}
	for (size_t i = 0; i < n; i++)
	{
		memcpy((char *) items->out_keys + i * width, (const char *) items->keys + order[i] * width, width);
		if (value > 0)
			memcpy((char *) items->out_values + i * value, (const char *) items->values + order[i] * value, value);
	}
}

/* Implements gs_sort_segments, one segment after another. */
gs_status
gs_cpu_segments(gs_engine *engine, gs_type key, bool desc, const gs_sort_items *items, const uint64_t *starts,
				uint64_t segments, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;

	for (uint64_t s = 0; s < segments; s++)
	{
		uint64_t start = starts[s], n = starts[s + 1] - start;
		gs_sort_items part = *items;

		part.n = n;
		part.keys = (const char *) items->keys + start * items->key_bytes;
		part.out_keys = (char *) items->out_keys + start * items->key_bytes;
		if (items->value_width > 0)
		{
			part.values = (const char *) items->values + start * items->value_width;
			part.out_values = (char *) items->out_values + start * items->value_width;
		}
		if (n <= SHORT)
			sort_short(cpu, key, desc, &part);
		else
			GS_TRY(gs_cpu_sort_keys(engine, key, desc, 0, 8 * (uint32_t) items->key_bytes, &part, temp));
		GS_TRY(gs_work_add(&cpu->work, 1 + 4 * (n < SHORT ? n : SHORT)));
	}
	return GS_OK;
}
