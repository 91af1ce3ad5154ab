/*
 * groups_tally.c: what aggregates have of each slot, aggregate by aggregate: records of a stream are added by loops
 * over their slots and one word.
 */
#include "groups.h"

/* Fills an array with what no value changes. */
static void
clear(const gs_tally_plan *t, void *values, uint32_t slots)
{
	bool least = t->operation == GS_MIN;

	if (t->operation == GS_SUM || t->held == GS_U64)
		memset(values, least ? 0xff : 0, (size_t) slots * gs_width_of(t->held));
	else if (t->held == GS_I64)
		for (uint32_t i = 0; i < slots; i++)
			((int64_t *) values)[i] = least ? INT64_MAX : INT64_MIN;
	else
		for (uint32_t i = 0; i < slots; i++)
			((gs_wide *) values)[i] =
				least ? gs_number_greatest(GS_NUMBER_I128) : gs_number_least(GS_NUMBER_I128);
}

/* Lays a tally out in memory, cleared; memory NULL: returns its bytes only. */
size_t
gs_tally_make(const gs_cpu_groups *g, gs_tally *tally, uint32_t slots, char *memory)
{
	size_t used = 0;

	*tally = (gs_tally){.slots = slots};
	for (uint32_t i = 0; i < g->nstreams; i++)
		if (!g->streams[i].whole)
			tally->counts[i] = gs_take(memory, &used, (size_t) slots * sizeof(uint32_t));
	if (memory != NULL)
		memset(memory, 0, used);
	for (uint32_t i = 0; i < g->ntallies; i++)
	{
		tally->values[i] = gs_take(memory, &used, (size_t) slots * gs_width_of(g->tallies[i].held));
		if (memory != NULL)
			clear(&g->tallies[i], tally->values[i], slots);
		if (!g->tallies[i].zeros)
			continue;
		tally->zeros[i] = gs_take(memory, &used, slots);
		if (memory != NULL)
			memset(tally->zeros[i], 0, slots);
	}
	return used;
}

void
gs_tally_restart(const gs_cpu_groups *g, gs_tally *tally, uint32_t slot)
{
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		tally->counts[i][0] = tally->counts[i][slot];
		memset(tally->counts[i] + 1, 0, slot * sizeof(uint32_t));
	}
	for (uint32_t i = 0; i < g->ntallies; i++)
	{
		size_t width = gs_width_of(g->tallies[i].held);
		char *values = tally->values[i];

		memcpy(values, values + slot * width, width);
		clear(&g->tallies[i], values + width, slot);
		if (!g->tallies[i].zeros)
			continue;
		tally->zeros[i][0] = tally->zeros[i][slot];
		memset(tally->zeros[i] + 1, 0, slot);
	}
}

#define EACH(STATEMENT) GS_EACH_AHEAD(n, ahead, STATEMENT);

/* Joins the halves of a record's value. */
static inline gs_wide
wide_at(const uint64_t *low, const uint64_t *high, uint32_t i)
{
	return gs_wide_of(low[i], high[i]);
}

/* Adds values to sums.  Returns false if one leaves 128 bits. */
static bool
add_sums(const gs_tally_plan *t, void *sums, const uint32_t *slots, const uint64_t *x, const uint64_t *high,
		 uint32_t step, uint32_t n, gs_ahead ahead)
{
	bool bad = false;

	if (t->held == GS_F64)
		EACH(((double *) sums)[slots[i]] += gs_bits_real(x[i]);)
	else if (t->held == GS_I64)
		EACH(((uint64_t *) sums)[slots[i]] += x[i];)
	else if (t->type == GS_I64)
		EACH(((gs_wide *) sums)[slots[i]] += (int64_t) x[i];)
	else
		EACH({
			gs_wide *sum = (gs_wide *) sums + slots[i];

			bad |= __builtin_add_overflow(*sum, wide_at(x, high, i * step), sum);
		})
	return !bad;
}

/* Lowers or raises extremes. */
#define EXTREME(TYPE, VALUE)                                                                                           \
	do                                                                                                                 \
	{                                                                                                                  \
		TYPE *most = extremes;                                                                                         \
		if (t->operation == GS_MIN)                                                                                    \
			EACH({                                                                                                     \
				TYPE v = VALUE;                                                                                        \
				most[slots[i]] = v < most[slots[i]] ? v : most[slots[i]];                                              \
			})                                                                                                         \
		else                                                                                                           \
			EACH({                                                                                                     \
				TYPE v = VALUE;                                                                                        \
				most[slots[i]] = v > most[slots[i]] ? v : most[slots[i]];                                              \
			})                                                                                                         \
	} while (0)

/* Adds values to extremes. */
static void
add_extremes(const gs_tally_plan *t, void *extremes, const uint32_t *slots, const uint64_t *x, const uint64_t *high,
			 uint32_t step, uint32_t n, gs_ahead ahead)
{
	if (t->held == GS_U64)
		EXTREME(uint64_t, gs_float_order64(x[i], false));
	else if (t->held == GS_I64)
		EXTREME(int64_t, (int64_t) x[i]);
	else
		EXTREME(gs_wide, wide_at(x, high, i * step));
}

/* Notes the signs of zeros. */
static void
add_zeros(uint8_t *zeros, const uint32_t *slots, const uint64_t *x, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		zeros[slots[i]] |= (uint8_t) ((x[i] == 0) | (x[i] == (uint64_t) 1 << 63) << 1);
}

/* Adds values to the only slot there is, which meanwhile is no memory.  Returns false if a sum leaves 128 bits. */
static bool
add_to_one(const gs_tally_plan *t, void *held, const uint64_t *x, const uint64_t *high, uint32_t step, uint32_t n)
{
	const bool sum = t->operation == GS_SUM, least = t->operation == GS_MIN;
	bool bad = false;

#define ONE(TYPE, STATEMENT)                                                                                           \
	do                                                                                                                 \
	{                                                                                                                  \
		TYPE all = *(TYPE *) held;                                                                                     \
		for (uint32_t i = 0; i < n; i++)                                                                               \
			STATEMENT;                                                                                                 \
		*(TYPE *) held = all;                                                                                          \
	} while (0)
#define ONE_EXTREME(TYPE, VALUE)                                                                                       \
	ONE(TYPE, {                                                                                                        \
		TYPE v = VALUE;                                                                                                \
		all = (least ? v < all : v > all) ? v : all;                                                                   \
	})
	if (sum && t->held == GS_F64)
		ONE(double, all += gs_bits_real(x[i]));
	else if (sum && t->held == GS_I64)
		ONE(uint64_t, all += x[i]);
	else if (sum && t->type == GS_I64)
		ONE(gs_wide, all += (int64_t) x[i]);
	else if (sum)
		ONE(gs_wide, bad |= __builtin_add_overflow(all, wide_at(x, high, i * step), &all));
	else if (t->held == GS_U64)
		ONE_EXTREME(uint64_t, gs_float_order64(x[i], false));
	else if (t->held == GS_I64)
		ONE_EXTREME(int64_t, (int64_t) x[i]);
	else
		ONE_EXTREME(gs_wide, wide_at(x, high, i * step));
#undef ONE_EXTREME
#undef ONE
	return !bad;
}

void
gs_tally_count(gs_tally *tally, uint32_t stream, const uint32_t *slots, uint32_t n, gs_ahead ahead)
{
	uint32_t *counts = tally->counts[stream];

	if (tally->slots == 1)
		counts[0] += n;
	else
		EACH(counts[slots[i]]++;)
}

bool
gs_tally_value(const gs_cpu_groups *g, gs_tally *tally, uint32_t value, const uint32_t *slots, const uint64_t *x,
			   const uint64_t *high, uint32_t step, uint32_t n, gs_ahead ahead)
{
	bool good = true;

	for (uint32_t k = 0; k < g->ntallies; k++)
	{
		const gs_tally_plan *t = &g->tallies[k];

		if (t->value != value)
			continue;
		if (tally->slots == 1)
			good &= add_to_one(t, tally->values[k], x, high, step, n);
		else if (t->operation == GS_SUM)
			good &= add_sums(t, tally->values[k], slots, x, high, step, n, ahead);
		else
			add_extremes(t, tally->values[k], slots, x, high, step, n, ahead);
		if (t->zeros)
			add_zeros(tally->zeros[k], slots, x, n);
	}
	return good;
}

/* Adds what is held of a slot elsewhere. */
static bool
join_held(const gs_tally_plan *t, void *into, const void *from, uint32_t slot)
{
	bool least = t->operation == GS_MIN;

	if (t->held == GS_F64)
		((double *) into)[slot] += ((const double *) from)[slot];
	else if (t->held == GS_I64 && t->operation == GS_SUM)
		((uint64_t *) into)[slot] += ((const uint64_t *) from)[slot];
	else if (t->held == GS_I64)
	{
		int64_t a = ((int64_t *) into)[slot], b = ((const int64_t *) from)[slot];

		((int64_t *) into)[slot] = (least ? b < a : b > a) ? b : a;
	}
	else if (t->held == GS_U64)
	{
		uint64_t a = ((uint64_t *) into)[slot], b = ((const uint64_t *) from)[slot];

		((uint64_t *) into)[slot] = (least ? b < a : b > a) ? b : a;
	}
	else
	{
		gs_wide *a = (gs_wide *) into + slot, b = ((const gs_wide *) from)[slot];

		if (t->operation == GS_SUM)
			return !__builtin_add_overflow(*a, b, a);
		*a = (least ? b < *a : b > *a) ? b : *a;
	}
	return true;
}

bool
gs_tally_join(const gs_cpu_groups *g, gs_tally *into, const gs_tally *from)
{
	bool good = true;

	for (uint32_t i = 0; i < g->nstreams; i++)
		for (uint32_t s = 0; s < into->slots && into->counts[i] != NULL; s++)
			into->counts[i][s] += from->counts[i][s];
	for (uint32_t k = 0; k < g->ntallies; k++)
		for (uint32_t s = 0; s < into->slots; s++)
		{
			good &= join_held(&g->tallies[k], into->values[k], from->values[k], s);
			if (g->tallies[k].zeros)
				into->zeros[k][s] |= from->zeros[k][s];
		}
	return good;
}

/* Returns what is held of a slot as a value. */
static gs_scalar
held_value(const gs_tally_plan *t, const void *values, uint32_t slot)
{
	gs_scalar v = {0, 0};
	uint64_t order;

	switch (t->held)
	{
		case GS_F64:
			v.real = ((const double *) values)[slot];
			break;
		case GS_U64:
			order = ((const uint64_t *) values)[slot];
			v.real = gs_bits_real(order >> 63 ? order ^ (uint64_t) 1 << 63 : ~order);
			break;
		case GS_I64:
			v.integer = ((const int64_t *) values)[slot];
			break;
		default:
			v.integer = ((const gs_wide *) values)[slot];
	}
	return v;
}

gs_reduced
gs_tally_answer(const gs_cpu_groups *g, const gs_tally *tally, const gs_answer_plan *a, uint32_t slot)
{
	gs_reduced r = gs_reduced_none();
	uint64_t count = tally->counts[a->stream][slot];
	const gs_tally_plan *t;

	if (a->tally != GS_NO_TALLY && count > 0)
	{
		t = &g->tallies[a->tally];
		r = gs_reduced_one(t->operation, t->type == GS_F64 ? GS_NUMBER_F64 : GS_NUMBER_I128,
						   held_value(t, tally->values[a->tally], slot));
		if (t->zeros && tally->zeros[a->tally][slot] == 3 && r.value[0] << 1 == 0)
			r.flags = GS_REDUCED_ZEROS;
	}
	r.count = count;
	return r;
}
