/*
 * groups_reference.c: see groups_reference.h.
 */
#include "groups_reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An aggregate of a group: what it adds up to, or all values. */
typedef struct expected_aggregate
{
	expected sum;
	value *values;
	uint64_t n, room;
	value answer; /* of values: once they are sorted */
	uint64_t count;
	bool zeros;
} expected_aggregate;

typedef struct expected_group
{
	value keys[GS_STEPS_MAX_KEYS];
	bool plus[GS_STEPS_MAX_KEYS], minus[GS_STEPS_MAX_KEYS];
	bool wanted, seen;
	expected_aggregate *aggregates;
} expected_group;

struct expected_groups
{
	const gs_steps *steps;
	const gs_filter_step *filter, *having;
	const gs_group_step *group;
	const gs_top_step *top;
	expected_group *groups;
	uint64_t n, room;
	uint64_t *places, nplaces; /* number of a group and 1, or 0 */
	bool done;
};

static const void *
at(const gs_steps *steps, uint32_t offset)
{
	return (const char *) steps + offset;
}

expected_groups *
expect_groups(const gs_steps *steps)
{
	expected_groups *e = calloc(1, sizeof(*e));
	uint32_t offset = steps->first;

	e->steps = steps;
	for (uint32_t i = 0; i < steps->nsteps; i++)
	{
		const gs_step *step = at(steps, offset);

		if (step->kind == GS_STEP_FILTER)
			e->filter = (const void *) step;
		else if (step->kind == GS_STEP_GROUP)
			e->group = (const void *) step;
		else if (step->kind == GS_STEP_HAVING)
			e->having = (const void *) step;
		else
			e->top = (const void *) step;
		offset += step->bytes;
	}
	e->nplaces = 64;
	e->places = calloc(e->nplaces, sizeof(*e->places));
	return e;
}

/* ---- groups by keys */

static uint64_t
hash_keys(const value *keys, uint32_t n)
{
	uint64_t h = 1;

	for (uint32_t k = 0; k < n; k++)
	{
		double d = isnan(keys[k].d) ? (double) NAN : keys[k].d == 0 ? 0.0 : keys[k].d;
		uint64_t bits;

		memcpy(&bits, &d, 8);
		h = (h ^ (keys[k].null ? 77 : keys[k].real ? bits : (uint64_t) keys[k].i ^ (uint64_t) (keys[k].i >> 64))) *
			0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

static bool
keys_equal(const value *a, const value *b, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++)
		if (a[k].null != b[k].null || (!a[k].null && compare_values(a[k], b[k]) != 0))
			return false;
	return true;
}

static uint64_t
place_of(const expected_groups *e, const value *keys)
{
	uint64_t p = hash_keys(keys, e->group->nkeys) % e->nplaces;

	while (e->places[p] != 0 && !keys_equal(e->groups[e->places[p] - 1].keys, keys, e->group->nkeys))
		p = (p + 1) % e->nplaces;
	return p;
}

static void
more_places(expected_groups *e)
{
	e->nplaces *= 4;
	free(e->places);
	e->places = calloc(e->nplaces, sizeof(*e->places));
	for (uint64_t i = 0; i < e->n; i++)
		e->places[place_of(e, e->groups[i].keys)] = i + 1;
}

static expected_group *
group_of(expected_groups *e, const value *keys)
{
	uint64_t p = place_of(e, keys);
	expected_group *g;

	if (e->places[p] != 0)
		return &e->groups[e->places[p] - 1];
	if (e->n == e->room)
	{
		e->room = e->room == 0 ? 16 : 2 * e->room;
		e->groups = realloc(e->groups, e->room * sizeof(*e->groups));
	}
	g = &e->groups[e->n++];
	memset(g, 0, sizeof(*g));
	if (e->group->nkeys > 0)
		memcpy(g->keys, keys, e->group->nkeys * sizeof(*keys));
	g->aggregates = calloc(e->group->naggregates + 1, sizeof(*g->aggregates));
	e->places[p] = e->n;
	if (e->n > e->nplaces / 2)
		more_places(e);
	return g;
}

/* ---- rows */

static bool
add_value(expected_groups *e, const gs_aggregate *a, expected_aggregate *to, const plain_segment *s, uint32_t row)
{
	value v;

	if (!terms_hold(e->steps, at(e->steps, a->terms), a->nterms, s, row))
		return true;
	if (a->ncode == 0)
	{
		to->sum.count++;
		return true;
	}
	if (!expression(e->steps, a, s, row, &v))
		return false;
	if (v.null)
		return true;
	if (a->operation < GS_DISTINCT)
	{
		take((gs_operation) a->operation, &to->sum, v);
		return true;
	}
	if (to->n == to->room)
	{
		to->room = to->room == 0 ? 4 : 2 * to->room;
		to->values = realloc(to->values, to->room * sizeof(value));
	}
	to->values[to->n++] = v;
	return true;
}

bool
expect_rows(expected_groups *e, const plain_segment *s, uint32_t first, uint32_t rows)
{
	const uint32_t *columns = at(e->steps, e->group->keys);
	value keys[GS_STEPS_MAX_KEYS];

	for (uint32_t r = first; r < first + rows; r++)
	{
		expected_group *g;

		if (e->filter != NULL && !terms_hold(e->steps, e->filter->terms, e->filter->nterms, s, r))
			continue;
		for (uint32_t k = 0; k < e->group->nkeys; k++)
			keys[k] = column_value(e->steps, s, columns[k], r);
		g = group_of(e, keys);
		for (uint32_t k = 0; k < e->group->nkeys; k++)
		{
			g->plus[k] |= !keys[k].null && keys[k].real && keys[k].d == 0 && !signbit(keys[k].d);
			g->minus[k] |= !keys[k].null && keys[k].real && keys[k].d == 0 && signbit(keys[k].d);
		}
		for (uint32_t i = 0; i < e->group->naggregates; i++)
			if (!add_value(e, &e->group->aggregates[i], &g->aggregates[i], s, r))
				return false;
	}
	return true;
}

/* ---- answers */

static int
value_order(const void *a, const void *b)
{
	return compare_values(*(const value *) a, *(const value *) b);
}

/* Answers an aggregate that needs all values. */
static void
finish_values(const gs_aggregate *a, expected_aggregate *x)
{
	uint64_t longest = 0, chosen = 0, runs = 0;
	double f = a->fraction, n = (double) x->n;
	bool plus = false, minus = false;

	if (x->n == 0)
		return;
	qsort(x->values, x->n, sizeof(value), value_order);
	for (uint64_t i = 0, j; i < x->n; i = j, runs++)
	{
		for (j = i; j < x->n && compare_values(x->values[i], x->values[j]) == 0;)
			j++;
		if (j - i > longest)
		{
			longest = j - i;
			chosen = i;
		}
	}
	if (a->operation == GS_RANK_DISC)
		chosen = (uint64_t) fmax(ceil(f * n), 1) - 1;
	else if (a->operation == GS_RANK_FLOOR)
		chosen = (uint64_t) floor(f * (n - 1));
	else if (a->operation == GS_RANK_CEIL)
		chosen = (uint64_t) ceil(f * (n - 1));
	x->count = a->operation == GS_DISTINCT ? runs : x->n;
	x->answer = x->values[chosen];
	for (uint64_t i = 0; i < x->n; i++)
	{
		plus |= x->values[i].d == 0 && !signbit(x->values[i].d);
		minus |= x->values[i].d == 0 && signbit(x->values[i].d);
	}
	x->zeros = x->answer.real && x->answer.d == 0 && plus && minus;
}

/* A member as HAVING and TOP see it. */
static value
member_value(const expected_groups *e, const expected_group *g, uint32_t m)
{
	const gs_aggregate *a;
	const expected_aggregate *x;
	value v = {0};

	if (m < e->group->nkeys)
		return g->keys[m];
	a = &e->group->aggregates[m - e->group->nkeys];
	x = &g->aggregates[m - e->group->nkeys];
	if (a->operation == GS_COUNT || a->operation == GS_DISTINCT)
		v.i = a->operation == GS_COUNT ? x->sum.count : x->count;
	else if (a->operation > GS_DISTINCT)
	{
		v = x->answer;
		v.null = x->count == 0;
	}
	else
		v = (value){x->sum.count == 0, x->sum.real_numbers, x->sum.integer, x->sum.real};
	return v;
}

static void
finish(expected_groups *e)
{
	if (e->done)
		return;
	e->done = true;
	if (e->group->nkeys == 0)
		(void) group_of(e, NULL);
	for (uint64_t i = 0; i < e->n; i++)
	{
		expected_group *g = &e->groups[i];

		for (uint32_t a = 0; a < e->group->naggregates; a++)
			if (e->group->aggregates[a].operation >= GS_DISTINCT)
				finish_values(&e->group->aggregates[a], &g->aggregates[a]);
		g->wanted = true;
		for (uint32_t t = 0; e->having != NULL && t < e->having->nterms; t++)
			g->wanted &= term_holds(e->steps, &e->having->terms[t], member_value(e, g, e->having->terms[t].column));
	}
}

bool
expect_overflow(expected_groups *e)
{
	bool far = false;

	for (uint64_t i = 0; i < e->n; i++)
		for (uint32_t a = 0; a < e->group->naggregates; a++)
			far |= e->groups[i].aggregates[a].sum.far;
	return far;
}

/* ---- comparisons */

/* True if a value is the expected one.  zeros: of both signs. */
static bool
value_agrees(value v, uint64_t count, bool zeros, const gs_reduced *r)
{
	double d;

	if (r->count != count || r->zero != 0 || r->flags != (zeros ? GS_REDUCED_ZEROS : 0))
		return false;
	if (count == 0)
		return r->value[0] == 0 && r->value[1] == 0;
	if (!v.real)
		return ((unsigned __int128) r->value[1] << 64 | r->value[0]) == (unsigned __int128) v.i;
	memcpy(&d, &r->value[0], sizeof(d));
	if (isnan(d) && r->value[0] != 0x7ff8000000000000u)
		return false;
	return r->value[1] == 0 && compare_doubles(d, v.d) == 0 && (d != 0 || zeros || signbit(d) == signbit(v.d));
}

static bool
aggregate_agrees(const gs_aggregate *a, const expected_aggregate *x, const gs_reduced *r)
{
	if (a->operation < GS_DISTINCT)
		return reference_agrees((gs_operation) a->operation, &x->sum, r);
	if (a->operation == GS_DISTINCT)
		return r->count == x->count && r->value[0] == 0 && r->value[1] == 0 && r->flags == 0 && r->zero == 0;
	return value_agrees(x->answer, x->count, x->zeros, r);
}

/* Reads a key of a result. */
static value
result_key(const gs_steps *steps, uint32_t column, const gs_reduced *r)
{
	value v = {.null = r->count == 0, .real = steps->types[column] == GS_F32 || steps->types[column] == GS_F64};

	if (v.real)
		memcpy(&v.d, &r->value[0], sizeof(v.d));
	else
		v.i = (wide) ((unsigned __int128) r->value[1] << 64 | r->value[0]);
	return v;
}

/* Whether a group comes before another one in TOP's order. */
static bool
before(const expected_groups *e, const expected_group *a, const expected_group *b)
{
	for (uint32_t i = 0; i < e->top->norders; i++)
	{
		const gs_top_order *o = &e->top->orders[i];
		value x = member_value(e, a, o->member), y = member_value(e, b, o->member);
		int sign;

		if (x.null != y.null)
			return x.null == (o->nulls_first != 0);
		sign = x.null ? 0 : compare_values(x, y);
		if (sign != 0)
			return (sign < 0) != (o->descending != 0);
	}
	return false;
}

/* Compares a group of a result; *found becomes the expected one. */
static const char *
group_wrong(expected_groups *e, const gs_reduced *r, expected_group **found)
{
	const uint32_t *columns = at(e->steps, e->group->keys);
	static char text[80];
	value keys[GS_STEPS_MAX_KEYS];
	expected_group *g;
	uint64_t p;

	for (uint32_t k = 0; k < e->group->nkeys; k++)
		keys[k] = result_key(e->steps, columns[k], &r[k]);
	p = place_of(e, keys);
	if (e->places[p] == 0)
		return "a group that should not be there";
	g = *found = &e->groups[e->places[p] - 1];
	if (!g->wanted)
		return "a group that HAVING refuses";
	if (g->seen)
		return "a group twice";
	g->seen = true;
	for (uint32_t k = 0; k < e->group->nkeys; k++)
	{
		value v = g->keys[k];

		if (!value_agrees(v, !v.null, g->plus[k] && g->minus[k], &r[k]))
			return "a key";
	}
	for (uint32_t i = 0; i < e->group->naggregates; i++)
		if (!aggregate_agrees(&e->group->aggregates[i], &g->aggregates[i], &r[e->group->nkeys + i]))
		{
			snprintf(text, sizeof(text), "aggregate %u (operation %u)", i, e->group->aggregates[i].operation);
			return text;
		}
	return NULL;
}

const char *
groups_wrong(expected_groups *e, const gs_reduced *groups, uint64_t n)
{
	uint32_t members = e->group->nkeys + e->group->naggregates;
	expected_group *last = NULL, *next;
	uint64_t wanted = 0;

	finish(e);
	for (uint64_t i = 0; i < e->n; i++)
	{
		wanted += e->groups[i].wanted;
		e->groups[i].seen = false;
	}
	if (n != (e->top != NULL && e->top->limit < wanted ? e->top->limit : wanted))
		return "the number of groups";
	for (uint64_t i = 0; i < n; i++, last = next)
	{
		const char *wrong = group_wrong(e, groups + i * members, &next);

		if (wrong != NULL)
			return wrong;
		if (e->top != NULL && last != NULL && before(e, next, last))
			return "TOP's order";
	}
	for (uint64_t i = 0; i < e->n; i++)
		if (e->groups[i].wanted && !e->groups[i].seen && n > 0 && before(e, &e->groups[i], last))
			return "TOP's choice";
	return NULL;
}

uint64_t
expected_number(const expected_groups *e)
{
	return e->n;
}

void
drop_expected(expected_groups *e)
{
	for (uint64_t i = 0; i < e->n; i++)
	{
		for (uint32_t a = 0; a < e->group->naggregates; a++)
			free(e->groups[i].aggregates[a].values);
		free(e->groups[i].aggregates);
	}
	free(e->groups);
	free(e->places);
	free(e);
}
