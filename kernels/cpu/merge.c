/*
 * merge.c: merge sort by comparison on the CPU, and the merge of sorted runs.  Eight items at a time are sorted by
 * counting how many precede each one.  Runs are then merged in pairs, first within pieces that fit the L2 cache.  A
 * merge proceeds from both ends at once, for as many steps as neither run can end in: no branch depends on the data and
 * two chains of loads overlap.  Levels alternate between two pairs of arrays. Inlined functions get sizes of keys and
 * values as constants.
 */
#include "cpu.h"

#include <string.h>

#define SMALL	  8				 /* items sorted by counting */
#define PIECE	  (1 << 13)		 /* items merged within the cache */
#define STEPS	  (1 << 14)		 /* steps between polls */
#define COPY	  ((size_t) 1 << 20) /* bytes copied between polls */
#define ALWAYS	  static inline __attribute__((always_inline))

/* The arrays of items. */
typedef struct items
{
	char *keys, *values;
} items;

/* A specialization of the loops: bytes of a key and of a value. */
typedef struct shape
{
	size_t key, value;
} shape;

/* Compares keys word by word, most significant first.  The size is a constant, so the loop unrolls. */
ALWAYS bool
key_less(shape s, const char *a, const char *b)
{
	if (s.key == 4)
		return *(const uint32_t *) a < *(const uint32_t *) b;
	for (size_t w = 0; w + 8 < s.key; w += 8)
		if (*(const uint64_t *) (a + w) != *(const uint64_t *) (b + w))
			return *(const uint64_t *) (a + w) < *(const uint64_t *) (b + w);
	return *(const uint64_t *) (a + s.key - 8) < *(const uint64_t *) (b + s.key - 8);
}

/* Copies an item, key and value. */
ALWAYS void
put(shape s, items to, uint64_t i, items from, uint64_t j)
{
	memcpy(to.keys + i * s.key, from.keys + j * s.key, s.key);
	if (s.value > 0)
		memcpy(to.values + i * s.value, from.values + j * s.value, s.value);
}

/* Selects one of two positions without a branch. */
ALWAYS uint64_t
choose(bool first, uint64_t a, uint64_t b)
{
	return b ^ ((a ^ b) & -(uint64_t) first);
}

/* Copies items that are already in order. */
static gs_status
copy(gs_work *work, shape s, items to, uint64_t i, items from, uint64_t j, uint64_t n)
{
	for (uint64_t done = 0, here; done < n; done += here)
	{
		here = n - done < COPY / s.key ? n - done : COPY / s.key;
		memcpy(to.keys + (i + done) * s.key, from.keys + (j + done) * s.key, here * s.key);
		if (s.value > 0)
			memcpy(to.values + (i + done) * s.value, from.values + (j + done) * s.value, here * s.value);
		GS_TRY(gs_work_add(work, here));
	}
	return GS_OK;
}

/* Merges from[a..a_end) with from[b..b_end), where a_end = b, into to[a..b_end). */
ALWAYS gs_status
merge(gs_work *work, shape s, items to, items from, uint64_t a, uint64_t b, uint64_t b_end)
{
	uint64_t a_end = b, o = a, o_end = b_end;

	if (a < a_end && b < b_end && !key_less(s, from.keys + b * s.key, from.keys + (a_end - 1) * s.key))
		return copy(work, s, to, o, from, a, o_end - o);
	while (a < a_end && b < b_end)
	{
		uint64_t steps = (a_end - a < b_end - b ? a_end - a : b_end - b) / 2;

		if (steps < 4)
		{
			bool second = key_less(s, from.keys + b * s.key, from.keys + a * s.key);

			put(s, to, o++, from, choose(second, b, a));
			b += second;
			a += !second;
			work->done++;
			continue;
		}
		steps = steps < STEPS ? steps : STEPS;
		for (uint64_t i = 0; i < steps; i++)
		{
			bool second = key_less(s, from.keys + b * s.key, from.keys + a * s.key);
			bool first = key_less(s, from.keys + (b_end - 1) * s.key, from.keys + (a_end - 1) * s.key);

			put(s, to, o++, from, choose(second, b, a));
			b += second;
			a += !second;
			put(s, to, --o_end, from, choose(first, a_end, b_end) - 1);
			a_end -= first;
			b_end -= !first;
		}
		GS_TRY(gs_work_add(work, 4 * steps));
	}
	GS_TRY(copy(work, s, to, o, from, a, a_end - a));
	return copy(work, s, to, o, from, b, b_end - b);
}

/* Sorts up to SMALL items from begin on: each goes to the position of its rank. */
ALWAYS void
sort_small(shape s, items to, items from, uint64_t begin, uint32_t n)
{
	uint32_t rank[SMALL] = {0};

	for (uint32_t i = 1; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
		{
			bool less = key_less(s, from.keys + (begin + i) * s.key, from.keys + (begin + j) * s.key);

			rank[j] += less;
			rank[i] += !less;
		}
	for (uint32_t i = 0; i < n; i++)
		put(s, to, begin + rank[i], from, begin + i);
}

/* Sets *way to 1 if keys ascend, -1 if they strictly descend, 0 otherwise. */
ALWAYS gs_status
check_order(gs_work *work, shape s, const char *keys, uint64_t n, int *way)
{
	bool fall = n > 1 && key_less(s, keys + s.key, keys);

	*way = 0;
	for (uint64_t i = 2; i < n; i++)
	{
		if (key_less(s, keys + i * s.key, keys + (i - 1) * s.key) != fall)
			return GS_OK;
		if (i % STEPS == 0)
			GS_TRY(gs_work_add(work, STEPS));
	}
	*way = fall ? -1 : 1;
	return GS_OK;
}

/* Generates row numbers as values. */
static gs_status
number(gs_work *work, char *to, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
	{
		((uint32_t *) to)[i] = (uint32_t) i;
		if (i % STEPS == 0)
			GS_TRY(gs_work_add(work, STEPS));
	}
	return GS_OK;
}

/* Sorts n items: small groups, pieces in the cache, all.  The number of levels decides in which array to begin. */
ALWAYS gs_status
sort(gs_work *work, shape s, items in, items out, items temp, uint64_t n)
{
	items side[2] = {out, temp}; /* runs of SMALL << l lie in side[(levels - l) % 2] */
	uint32_t levels = 0;
	int way;

	GS_TRY(check_order(work, s, in.keys, n, &way));
	while ((uint64_t) SMALL << levels < n)
		levels++;
	if (s.value > 0 && in.values == NULL)
	{
		/* on the side that is not written while they are read */
		in.values = way != 0 || levels % 2 == 0 ? temp.values : out.values;
		GS_TRY(number(work, in.values, n));
	}
	if (way > 0)
		return copy(work, s, out, 0, in, 0, n);
	if (way < 0)
	{
		for (uint64_t i = 0; i < n; i++)
		{
			put(s, out, i, in, n - 1 - i);
			if (i % STEPS == 0)
				GS_TRY(gs_work_add(work, STEPS));
		}
		return GS_OK;
	}
	for (uint64_t begin = 0; begin < n; begin += PIECE)
	{
		uint64_t end = n - begin < PIECE ? n : begin + PIECE;
		uint32_t l = 0;

		for (uint64_t i = begin; i < end; i += SMALL)
			sort_small(s, side[levels % 2], in, i, end - i < SMALL ? (uint32_t) (end - i) : SMALL);
		for (uint64_t run = SMALL; run < PIECE && l < levels; run *= 2, l++)
			for (uint64_t i = begin; i < end; i += 2 * run)
				GS_TRY(merge(work, s, side[(levels - l - 1) % 2], side[(levels - l) % 2], i,
							 i + run < end ? i + run : end, i + 2 * run < end ? i + 2 * run : end));
		GS_TRY(gs_work_add(work, 8 * (end - begin)));
	}
	for (uint32_t l = gs_bits(PIECE / SMALL) - 1; l < levels; l++)
	{
		uint64_t run = (uint64_t) SMALL << l;

		for (uint64_t i = 0; i < n; i += 2 * run)
			GS_TRY(merge(work, s, side[(levels - l - 1) % 2], side[(levels - l) % 2], i, i + run < n ? i + run : n,
						 i + 2 * run < n ? i + 2 * run : n));
	}
	return GS_OK;
}

/* Merges neighbouring runs until one is left. */
ALWAYS gs_status
merge_all(gs_work *work, shape s, items in, items out, items temp, const uint64_t *starts, uint64_t runs)
{
	items side[2] = {out, temp}, from = in;
	uint32_t levels = gs_bits(runs - 1);

	if (s.value > 0 && in.values == NULL)
	{
		in.values = from.values = levels == 0 ? temp.values : side[levels % 2].values;
		GS_TRY(number(work, in.values, starts[runs]));
	}
	if (levels == 0)
		return copy(work, s, out, 0, in, 0, starts[1]);
	for (uint64_t width = 1; width < runs; width *= 2)
	{
		items to = side[--levels % 2];

		for (uint64_t r = 0; r < runs; r += 2 * width)
			GS_TRY(merge(work, s, to, from, starts[r], starts[r + width < runs ? r + width : runs],
						 starts[r + 2 * width < runs ? r + 2 * width : runs]));
		from = to;
	}
	return GS_OK;
}

/* A request; starts is NULL for a sort. */
typedef struct request
{
	gs_work *work;
	items in, out, temp;
	uint64_t n;
	const uint64_t *starts;
	uint64_t runs;
} request;

/* Dispatches a request, with constant sizes. */
ALWAYS gs_status
run(const request *r, size_t key, size_t value)
{
	shape s = {key, value};

	return r->starts != NULL ? merge_all(r->work, s, r->in, r->out, r->temp, r->starts, r->runs)
							 : sort(r->work, s, r->in, r->out, r->temp, r->n);
}

#define VERSIONS(KEY)                                                                                                  \
	static gs_status run_##KEY(const request *r, size_t value)                                                         \
	{                                                                                                                  \
		return value == 0 ? run(r, KEY, 0) : value == 4 ? run(r, KEY, 4) : run(r, KEY, 8);                             \
	}
VERSIONS(4)
VERSIONS(8)
VERSIONS(16)
VERSIONS(24)
VERSIONS(32)

/* Returns the temporary memory of a sort: a second copy of all items. */
size_t
gs_cpu_merge_sort_temp(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n)
{
	(void) engine;
	return n * key_bytes + 64 + n * value_width;
}

/* Returns the temporary memory of a merge, which does not depend on the number of runs. */
size_t
gs_cpu_merge_runs_temp(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n, uint64_t runs)
{
	(void) runs;
	return gs_cpu_merge_sort_temp(engine, key_bytes, value_width, n);
}

/* Calls the specialization for the sizes at hand, with runs that begin at starts; without runs it sorts. */
static gs_status
start(gs_engine *engine, const gs_sort_request *s, const uint64_t *starts, uint64_t runs, void *temp)
{
	request r = {.work = &((gs_cpu_engine *) engine)->work,
				 .in = {(char *) s->keys, (char *) s->values},
				 .out = {s->out_keys, s->out_values},
				 .temp = {temp, (char *) temp + (s->n * s->key_bytes + 63) / 64 * 64},
				 .n = s->n,
				 .starts = starts,
				 .runs = runs};

	switch (s->key_bytes)
	{
		case 4:
			return run_4(&r, s->value_width);
		case 8:
			return run_8(&r, s->value_width);
		case 16:
			return run_16(&r, s->value_width);
		case 24:
			return run_24(&r, s->value_width);
		default:
			return run_32(&r, s->value_width);
	}
}

/* Implements gs_merge_sort. */
gs_status
gs_cpu_merge_sort(gs_engine *engine, const gs_sort_request *r, void *temp)
{
	return start(engine, r, NULL, 0, temp);
}

/* Implements gs_merge_runs. */
gs_status
gs_cpu_merge_runs(gs_engine *engine, const gs_sort_request *r, void *temp)
{
	return start(engine, r, r->starts, r->parts, temp);
}
