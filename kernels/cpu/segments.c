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

/* Sorts a short segment. */
static void
sort_short(gs_cpu_engine *cpu, const gs_sort_request *r)
{
	uint32_t small[SHORT];
	uint64_t codes[SHORT];
	uint8_t order[SHORT];
	size_t n = r->n, width = r->key_bytes, value = r->value_width;

	cpu->loops->encode(r->key, width == 4 ? (void *) small : (void *) codes, NULL, r->keys, n);
	for (size_t i = 0; i < n; i++)
	{
		uint64_t code = (width == 4 ? small[i] : codes[i]) ^ (r->desc ? ~(uint64_t) 0 : 0);
		size_t j = i;

		for (; j > 0 && codes[order[j - 1]] > code; j--)
			order[j] = order[j - 1];
		order[j] = (uint8_t) i;
		codes[i] = code;
	}
	for (size_t i = 0; i < n; i++)
	{
		memcpy((char *) r->out_keys + i * width, (const char *) r->keys + order[i] * width, width);
		if (value > 0)
			memcpy((char *) r->out_values + i * value, (const char *) r->values + order[i] * value, value);
	}
}

/* Implements gs_sort_segments, one segment after another. */
gs_status
gs_cpu_segments(gs_engine *engine, const gs_sort_request *r, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;

	for (uint64_t s = 0; s < r->parts; s++)
	{
		uint64_t start = r->starts[s], n = r->starts[s + 1] - start;
		gs_sort_request part = *r;

		part.n = n;
		part.keys = (const char *) r->keys + start * r->key_bytes;
		part.out_keys = (char *) r->out_keys + start * r->key_bytes;
		if (r->value_width > 0)
		{
			part.values = (const char *) r->values + start * r->value_width;
			part.out_values = (char *) r->out_values + start * r->value_width;
		}
		if (n <= SHORT)
			sort_short(cpu, &part);
		else
			GS_TRY(gs_cpu_sort_keys(engine, &part, temp));
		GS_TRY(gs_work_add(&cpu->work, 1 + 4 * (n < SHORT ? n : SHORT)));
	}
	return GS_OK;
}
