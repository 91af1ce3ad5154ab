/*
 * runs.c: run-length encode and decode on the CPU.  Bitmaps of run starts (select.c) become positions and lengths.
 */
#include "select.h"

#include <string.h>

/* Stores a length or a start, in 4 or 8 bytes. */
static void
put_count(void *to, uint64_t i, uint64_t x, bool wide)
{
	if (wide)
		((uint64_t *) to)[i] = x;
	else
		((uint32_t *) to)[i] = (uint32_t) x;
}

/* Writes lengths and starts of the runs that begin at at[0..n).  The first of these ends the run that began at last. */
static void
put_runs(const gs_runs_request *r, uint64_t runs, const uint32_t *at, uint32_t n, uint64_t base, uint64_t last)
{
	if (r->lengths != NULL)
	{
		if (runs > 0)
			put_count(r->lengths, runs - 1, base + at[0] - last, r->wide);
		if (r->wide)
			for (uint32_t j = 1; j < n; j++)
				((uint64_t *) r->lengths)[runs + j - 1] = at[j] - at[j - 1];
		else
			for (uint32_t j = 1; j < n; j++)
				((uint32_t *) r->lengths)[runs + j - 1] = at[j] - at[j - 1];
	}
	if (r->starts != NULL)
		for (uint32_t j = 0; j < n; j++)
			put_count(r->starts, runs + j, base + at[j], r->wide);
}

/* Runs of two items or more.  A start is held back until its run is known to continue. */
static gs_status
long_runs(gs_cpu_engine *cpu, const gs_runs_request *r)
{
	const gs_select_loops *loops = gs_select_loops_choose(cpu);
	size_t width = gs_type_width(r->type);
	char left[16] = {0};
	uint64_t runs = 0, begin = 0;

	for (uint64_t i = 0; i <= r->n; i += 64)
	{
		uint32_t n = r->n - i < 64 ? (uint32_t) (r->n - i) : 64;
		uint64_t m = n == 0 ? 0 : gs_run_begins(loops, r->type, (const char *) r->in + i * width, n, i == 0, left);

		if (n < 64)
			m |= (uint64_t) 1 << n; /* the end */
		for (; m != 0; m &= m - 1)
		{
			uint64_t at = i + (uint64_t) __builtin_ctzll(m);

			if (at - begin >= 2)
			{
				if (r->values != NULL)
					memcpy((char *) r->values + runs * width, (const char *) r->in + begin * width, width);
				if (r->lengths != NULL)
					put_count(r->lengths, runs, at - begin, r->wide);
				if (r->starts != NULL)
					put_count(r->starts, runs, begin, r->wide);
				runs++;
			}
			begin = at;
		}
		if (i % (1 << 16) == 0)
			GS_TRY(gs_work_add(&cpu->work, 1 << 16));
	}
	*r->count = runs;
	return GS_OK;
}

/* Implements gs_runs, 64 items at a time.  Values are packed by mask, which works in place. */
gs_status
gs_cpu_runs(gs_engine *engine, const gs_runs_request *r, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const gs_select_loops *loops = gs_select_loops_choose(cpu);
	size_t width = gs_type_width(r->type);
	uint64_t (*pack)(void *, const void *, uint64_t) = loops->pack[gs_log_width(r->type)];
	char left[16] = {0};
	uint64_t runs = 0, last = 0;

	(void) temp;
	if (r->only_long)
		return long_runs(cpu, r);
	for (uint64_t i = 0; i < r->n; i += 64)
	{
		uint32_t n = r->n - i < 64 ? (uint32_t) (r->n - i) : 64, at[64 + 16], found;
		const char *from = (const char *) r->in + i * width;
		uint64_t m = gs_run_begins(loops, r->type, from, n, i == 0, left);

		if (m != 0)
		{
			if (r->values != NULL)
			{
				char *to = (char *) r->values + runs * width;

				if (m == ~(uint64_t) 0)
					memmove(to, from, 64 * width);
				else if (n == 64)
					pack(to, from, m);
				else
					for (uint64_t rest = m; rest != 0; rest &= rest - 1, to += width)
						memmove(to, from + (size_t) __builtin_ctzll(rest) * width, width);
			}
			found = (uint32_t) loops->positions(at, 0, m);
			put_runs(r, runs, at, found, i, last);
			runs += found;
			last = i + at[found - 1];
		}
		if (i % (1 << 16) == 0)
			GS_TRY(gs_work_add(&cpu->work, 1 << 16));
	}
	if (r->lengths != NULL)
		put_count(r->lengths, runs - 1, r->n - last, r->wide);
	*r->count = runs;
	return GS_OK;
}

#define FILL(T)                                                                                                        \
	{                                                                                                                  \
		T v, *to = (T *) r->out + done;                                                                                \
		memcpy(&v, (const T *) r->values + i, sizeof(v));                                                              \
		for (uint64_t j = 0; j < n; j++)                                                                               \
			to[j] = v;                                                                                                 \
	}

/* Implements gs_decode run by run, polling in between.  Once the output is full, it only counts. */
gs_status
gs_cpu_decode(gs_engine *engine, const gs_decode_request *r, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const size_t width = gs_type_width(r->type);
	uint64_t total = 0, done = 0;

	(void) temp;
	for (uint64_t i = 0; i < r->runs; i++)
	{
		uint64_t length = r->wide ? ((const uint64_t *) r->lengths)[i] : ((const uint32_t *) r->lengths)[i];

		total += length;
		while (length > 0 && done < r->room)
		{
			uint64_t n = length < 1 << 16 ? length : 1 << 16;

			if (n > r->room - done)
				n = r->room - done;
			GS_BY_WIDTH(width, FILL)
			done += n;
			length -= n;
			GS_TRY(gs_work_add(&cpu->work, n));
		}
	}
	*r->count = total;
	return GS_OK;
}
