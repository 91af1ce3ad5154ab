/*
 * groups_values.c: aggregates that need all values of a slot at once: numbers of different values, modes, ranks.
 * Values are codes in order; of doubles, those of -0 and +0 follow each other and are equal.
 */
#include "groups.h"

#define PLUS_ZERO ((uint64_t) 1 << 63)

/* Sorted codes. */
typedef struct codes
{
	const void *values;
	uint64_t n;
	bool wide, real;
} codes;

/* Returns a code; of doubles one for both zeros. */
static inline __attribute__((always_inline)) gs_unsigned_wide
code_at(const codes *c, uint64_t i, bool wide, bool real)
{
	uint64_t code;

	if (wide)
		return ((const gs_unsigned_wide *) c->values)[i];
	code = ((const uint64_t *) c->values)[i];
	return real && code == PLUS_ZERO - 1 ? PLUS_ZERO : code;
}

/* Finds the number of different codes, and the first of the most frequent ones.  Returns how many of those. */
static inline __attribute__((always_inline)) uint64_t
find_runs(const codes *c, bool wide, bool real, uint64_t *runs, uint64_t *mode)
{
	uint64_t begin = 0, longest = 0;

	*runs = 0;
	for (uint64_t i = 1; i <= c->n; i++)
	{
		if (i < c->n && code_at(c, i, wide, real) == code_at(c, i - 1, wide, real))
			continue;
		++*runs;
		if (i - begin > longest)
		{
			longest = i - begin;
			*mode = begin;
		}
		begin = i;
	}
	return longest;
}

/* Returns where the first of codes that are not less than one is. */
static uint64_t
first_from(const codes *c, uint64_t code)
{
	uint64_t low = 0, high = c->n;

	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (((const uint64_t *) c->values)[middle] < code)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns true if there are zeros of both signs. */
static bool
both_zeros(const codes *c)
{
	uint64_t minus = first_from(c, PLUS_ZERO - 1), plus = first_from(c, PLUS_ZERO);

	return minus < plus && plus < c->n && ((const uint64_t *) c->values)[plus] == PLUS_ZERO;
}

/* Returns the value of a code, which others follow. */
static gs_reduced
value_at(const gs_stream_value *v, const codes *c, uint64_t i)
{
	gs_scalar s = {0, 0};
	gs_reduced r;

	if (c->real)
	{
		uint64_t order = ((const uint64_t *) c->values)[i];

		s.real = gs_bits_real(order >> 63 ? order ^ (uint64_t) 1 << 63 : ~order);
	}
	else
		s.integer = (gs_wide) ((gs_unsigned_wide) v->low + code_at(c, i, c->wide, false));
	r = gs_reduced_one(GS_MIN, c->real ? GS_NUMBER_F64 : GS_NUMBER_I128, s);
	if (c->real && s.real == 0 && both_zeros(c))
		r.flags = GS_REDUCED_ZEROS;
	r.count = c->n;
	return r;
}

/* Returns which of n values in order is that of a rank. */
static uint64_t
rank_of(const gs_answer_plan *a, uint64_t n)
{
	double exact = a->fraction * (double) (a->operation == GS_RANK_DISC ? n : n - 1);
	uint64_t rank = (uint64_t) exact;

	if (a->operation != GS_RANK_FLOOR && (double) rank < exact)
		rank++;
	if (a->operation == GS_RANK_DISC)
		rank = rank > 0 ? rank - 1 : 0;
	return rank < n ? rank : n - 1;
}

/* Answers an aggregate from sorted codes. */
static gs_reduced
answer(const gs_answer_plan *a, const gs_stream_value *v, const codes *c, uint64_t runs, uint64_t mode)
{
	gs_reduced r = gs_reduced_none();

	if (c->n == 0)
		return r;
	r.count = runs;
	if (a->operation == GS_DISTINCT)
		return r;
	return value_at(v, c, a->operation == GS_MODE ? mode : rank_of(a, c->n));
}

/* Sorts codes of 128 bits: a heap of n of them, the greatest on top. */
static gs_status
sort_wide(gs_work *work, gs_unsigned_wide *x, uint64_t n)
{
	uint64_t top = n / 2, last = n;

	while (last > 1)
	{
		gs_unsigned_wide v;
		uint64_t at;

		if (top > 0)
			v = x[at = --top];
		else
		{
			v = x[--last];
			x[last] = x[at = 0];
		}
		for (uint64_t child; (child = 2 * at + 1) < last; at = child)
		{
			child += child + 1 < last && x[child + 1] > x[child];
			if (x[child] <= v)
				break;
			x[at] = x[child];
		}
		x[at] = v;
		GS_TRY(gs_work_add(work, 8));
	}
	return GS_OK;
}

gs_status
gs_sort_codes(gs_group_worker *w, const gs_cpu_engine *cpu, const gs_stream_value *v, void **values,
			  uint64_t n)
{
	gs_sorter sorter = {.work = (gs_work *) &cpu->work, .tuning = &cpu->tuning};
	uint64_t *other;

	if (gs_value_wide(v))
		return sort_wide(sorter.work, *values, n);
	GS_TRY(gs_block_reserve(&w->work, &w->sorted, n * sizeof(uint64_t)));
	if (gs_sorter_bytes(n, &cpu->tuning) > 0)
	{
		GS_TRY(gs_block_reserve(&w->work, &w->scratch, gs_sorter_bytes(n, &cpu->tuning)));
		sorter.scratch = w->scratch.data;
	}
	other = w->sorted.data;
	return gs_sort_words(&sorter, (uint64_t **) values, &other, n, 0, gs_bits((uint64_t) v->span), true);
}

gs_status
gs_whole_answer(const gs_cpu_groups *g, gs_group_worker *w, const gs_cpu_engine *cpu, uint32_t stream, void *values,
				uint64_t n, gs_reduced *answers)
{
	const gs_stream_value *v = &g->values[g->streams[stream].first];
	codes c = {values, n, gs_value_wide(v), v->type == GS_F64};
	uint64_t runs = 0, mode = 0;

	if (n > 1)
		GS_TRY(gs_sort_codes(w, cpu, v, &values, n));
	c.values = values;
	if (c.wide)
		find_runs(&c, true, false, &runs, &mode);
	else if (c.real)
		find_runs(&c, false, true, &runs, &mode);
	else
		find_runs(&c, false, false, &runs, &mode);
	for (uint32_t i = 0; i < g->nanswers; i++)
		if (g->answers[i].stream == stream)
			answers[g->answers[i].whole] = answer(&g->answers[i], v, &c, runs, mode);
	return gs_work_add((gs_work *) &cpu->work, n);
}

uint32_t
gs_ranks_asked(const gs_cpu_groups *g, uint32_t stream, uint64_t n, uint64_t *ranks)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < g->nanswers; i++)
	{
		const gs_answer_plan *a = &g->answers[i];

		if (a->stream != stream)
			continue;
		if (a->operation == GS_DISTINCT || a->operation == GS_MODE)
			return GS_ALL_ASKED;
		ranks[number++] = rank_of(a, n);
	}
	return number;
}

/* Returns the first code of which, with those before, there are more than a number. */
static uint64_t
code_of_rank(const uint32_t *counts, uint64_t rank)
{
	uint64_t code = 0;

	for (; counts[code] <= rank; code++)
		rank -= counts[code];
	return code;
}

void
gs_counts_answer(const gs_cpu_groups *g, uint32_t stream, const uint32_t *counts, uint32_t n, gs_reduced *answers)
{
	const gs_stream_value *v = &g->values[g->streams[stream].first];
	uint64_t all = 0, runs = 0, mode = 0, code;
	codes c = {&code, 1, false, false};

	for (uint32_t i = 0; i < n; i++)
	{
		all += counts[i];
		runs += counts[i] > 0;
		mode = counts[i] > counts[mode] ? i : mode;
	}
	for (uint32_t i = 0; i < g->nanswers && all > 0; i++)
	{
		const gs_answer_plan *a = &g->answers[i];
		gs_reduced *to = &answers[a->whole];

		if (a->stream != stream)
			continue;
		if (a->operation != GS_DISTINCT)
		{
			code = a->operation == GS_MODE ? mode : code_of_rank(counts, rank_of(a, all));
			*to = value_at(v, &c, 0);
		}
		to->count = a->operation == GS_DISTINCT ? runs : all;
	}
}

gs_status
gs_cell_answer(const gs_cpu_groups *g, gs_group_worker *w, const gs_cpu_engine *cpu, uint32_t stream, void *values,
			   uint64_t n, uint64_t before, uint64_t all, gs_reduced *answers, gs_reduced *mode)
{
	const gs_stream_value *v = &g->values[g->streams[stream].first];
	codes c = {values, n, false, v->type == GS_F64};
	uint64_t runs, first = 0, longest, rank;

	if (n > 1)
		GS_TRY(gs_sort_codes(w, cpu, v, &values, n));
	c.values = values;
	longest = c.real ? find_runs(&c, false, true, &runs, &first) : find_runs(&c, false, false, &runs, &first);
	*mode = value_at(v, &c, first);
	mode->count = longest;
	for (uint32_t i = 0; i < g->nanswers; i++)
	{
		const gs_answer_plan *a = &g->answers[i];
		gs_reduced *to = &answers[a->whole];

		if (a->stream != stream || a->operation == GS_MODE)
			continue;
		if (a->operation == GS_DISTINCT)
		{
			(void) __atomic_add_fetch(&to->count, runs, __ATOMIC_RELAXED);
			continue;
		}
		rank = rank_of(a, all);
		if (rank < before || rank - before >= n)
			continue;
		*to = value_at(v, &c, rank - before);
		to->count = all;
	}
	return gs_work_add((gs_work *) &cpu->work, n);
}
