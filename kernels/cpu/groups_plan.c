/*
 * groups_plan.c: the plan of a list with groups: streams of records, what is held of each slot, how answers are made.
 */
#include "groups.h"

/* Returns true if two aggregates have the same terms. */
static bool
same_terms(const gs_steps *steps, const gs_aggregate *a, const gs_aggregate *b)
{
	const gs_term *s = gs_steps_at(steps, a->terms), *t = gs_steps_at(steps, b->terms);

	if (a->nterms != b->nterms)
		return false;
	for (uint32_t i = 0; i < a->nterms; i++)
		if (s[i].column != t[i].column || s[i].test != t[i].test || s[i].nconstants != t[i].nconstants ||
			memcmp(gs_steps_at(steps, s[i].constants), gs_steps_at(steps, t[i].constants),
				   s[i].nconstants * sizeof(gs_constant)) != 0)
			return false;
	return true;
}

/* Returns the first aggregate with the terms of one. */
static uint32_t
clause_of(const gs_steps *steps, const gs_group_step *group, uint32_t aggregate)
{
	uint32_t i = 0;

	if (group->aggregates[aggregate].nterms == 0)
		return GS_NO_CLAUSE;
	while (!same_terms(steps, &group->aggregates[i], &group->aggregates[aggregate]))
		i++;
	return i;
}

/* Returns those of some columns that may be NULL. */
static uint64_t
nullable(const gs_cpu_groups *g, uint64_t columns)
{
	uint64_t found = 0;

	for (; columns != 0; columns &= columns - 1)
		found |= g->head.ranges[__builtin_ctzll(columns)].nulls ? columns & -columns : 0;
	return found;
}

/* Returns the stream of a clause and an expression, NULL for none, which is made if it is not there. */
static uint32_t
stream_of(gs_cpu_groups *g, uint32_t clause, const gs_expression_plan *e, bool whole)
{
	uint64_t columns = e != NULL ? nullable(g, e->columns) : 0;
	uint32_t i = 0;

	for (; i < g->nstreams; i++)
	{
		const gs_stream *s = &g->streams[i];
		if (s->clause != clause || s->whole != whole)
			continue;
		if (whole ? g->values[s->first].expression == e : s->columns == columns)
			return i;
	}
	g->streams[g->nstreams++] =
		(gs_stream){.clause = clause, .columns = columns, .whole = whole, .first = GS_NO_VALUE,
			.words = 1 + g->head.keys.words};
	return i;
}

/* Returns the type in which gs_steps_values gives an expression. */
static gs_type
type_of(const gs_steps *steps, const gs_expression_plan *e)
{
	const gs_instruction *last = &e->code[e->ncode - 1];
	gs_number number = e->number;

	if (last->code == GS_CODE_COLUMN)
		number = gs_number_of((gs_type) steps->types[last->operand]);
	return number == GS_NUMBER_F64 ? GS_F64 : number == GS_NUMBER_I128 ? GS_U128 : GS_I64;
}

/* Returns the range of an expression that is a column whose range is known, or NULL. */
static const gs_range *
known_range(const gs_cpu_groups *g, const gs_expression_plan *e)
{
	const gs_range *range = &g->head.ranges[e->code[0].operand];

	if (e->ncode != 1 || e->code[0].code != GS_CODE_COLUMN ||
		gs_constant_scalar(&range->low, false).integer > gs_constant_scalar(&range->high, false).integer)
		return NULL;
	return range;
}

/* Finds the codes of values that are needed all at once. */
static void
plan_codes(const gs_cpu_groups *g, gs_stream_value *v)
{
	const gs_range *range = known_range(g, v->expression);

	v->words = 1;
	v->span = UINT64_MAX;
	if (v->type == GS_F64)
		return;
	v->low = gs_number_least(v->expression->number);
	v->span = (gs_unsigned_wide) gs_number_greatest(v->expression->number) - (gs_unsigned_wide) v->low;
	if (range != NULL)
	{
		v->low = gs_constant_scalar(&range->low, false).integer;
		v->span = (gs_unsigned_wide) gs_constant_scalar(&range->high, false).integer - (gs_unsigned_wide) v->low;
	}
	v->words = v->span > UINT64_MAX ? 2 : 1;
}

/* Returns an expression as a value of a stream, which it becomes if it is none. */
static uint32_t
value_of(gs_cpu_groups *g, uint32_t stream, const gs_expression_plan *e, bool kept)
{
	uint32_t *at = &g->streams[stream].first;
	gs_stream_value *v;

	while (*at != GS_NO_VALUE && g->values[*at].expression != e)
		at = &g->values[*at].next;
	if (*at == GS_NO_VALUE)
	{
		*at = g->nvalues++;
		g->values[*at] = (gs_stream_value){.expression = e, .next = GS_NO_VALUE, .type = type_of(g->head.steps, e)};
		if (g->streams[stream].whole)
			plan_codes(g, &g->values[*at]);
	}
	v = &g->values[*at];
	if (kept && v->words == 0)
		v->words = v->type == GS_U128 ? 2 : 1;
	return *at;
}

/* Returns true if a MIN or MAX may be a zero. */
static bool
may_be_zero(const gs_cpu_groups *g, const gs_expression_plan *e)
{
	const gs_range *range = known_range(g, e);
	const gs_wide zero = (gs_wide) gs_float_order64(0, true);

	return range == NULL || (gs_constant_scalar(&range->low, false).integer <= zero &&
							 gs_constant_scalar(&range->high, false).integer >= zero);
}

/* Returns true if sums of some rows fit 64 bits. */
static bool
sums_fit(const gs_cpu_groups *g, const gs_expression_plan *e)
{
	const gs_range *range = known_range(g, e);
	gs_wide low = gs_number_least(e->number), high = gs_number_greatest(e->number);

	if (e->number == GS_NUMBER_I128)
		return false;
	if (range != NULL)
	{
		low = gs_constant_scalar(&range->low, false).integer;
		high = gs_constant_scalar(&range->high, false).integer;
	}
	return low * (gs_wide) g->head.rows >= INT64_MIN && high * (gs_wide) g->head.rows <= INT64_MAX;
}

/* Plans what is held for an aggregate that takes value by value. */
static uint32_t
plan_tally(gs_cpu_groups *g, uint32_t stream, const gs_expression_plan *e, gs_operation operation)
{
	uint32_t value = value_of(g, stream, e, true);
	gs_tally_plan *t = &g->tallies[g->ntallies];

	*t = (gs_tally_plan){.stream = stream, .value = value, .operation = operation};
	t->type = t->held = g->values[value].type;
	g->values[value].summed |= operation == GS_SUM && t->type != GS_F64;
	if (operation == GS_SUM && t->type == GS_I64 && !sums_fit(g, e))
		t->held = GS_U128;
	if (operation != GS_SUM && t->type == GS_F64)
	{
		t->held = GS_U64;
		t->zeros = may_be_zero(g, e);
	}
	return g->ntallies++;
}

/* Plans an answer. */
static uint32_t
plan_answer(gs_cpu_groups *g, uint32_t clause, const gs_expression_plan *e, uint32_t operation, double fraction)
{
	bool whole = operation > (uint32_t) GS_COUNT;
	gs_answer_plan *a = &g->answers[g->nanswers];

	*a = (gs_answer_plan){.operation = (gs_aggregation) operation, .fraction = fraction, .tally = GS_NO_TALLY};
	a->stream = stream_of(g, clause, e, whole);
	if (whole)
	{
		(void) value_of(g, a->stream, e, true);
		a->whole = g->nwhole++;
	}
	else if (operation != (uint32_t) GS_COUNT)
		a->tally = plan_tally(g, a->stream, e, (gs_operation) operation);
	else if (e != NULL && e->computed)
		(void) value_of(g, a->stream, e, false);
	return g->nanswers++;
}

/* Plans the sign of keys that may be zero: the least of a group's, whose flag tells whether there are both. */
static void
plan_hidden(gs_cpu_groups *g)
{
	const gs_packed_keys *keys = &g->head.keys;

	for (uint32_t k = 0; k < keys->n; k++)
		if (keys->keys[k].zeros)
		{
			uint32_t c = keys->keys[k].column;

			g->hidden_code[k] = (gs_instruction){GS_CODE_COLUMN, GS_NUMBER_F64, 0, c};
			g->hidden[k] = (gs_expression_plan){&g->hidden_code[k], 1, GS_NUMBER_F64, (uint64_t) 1 << c, true};
			g->hidden_answer[k] = plan_answer(g, GS_NO_CLAUSE, &g->hidden[k], GS_MIN, 0);
		}
}

/* Gives each value its place in a record. */
static void
place_words(gs_cpu_groups *g)
{
	for (uint32_t i = 0; i < g->nstreams; i++)
		for (uint32_t v = g->streams[i].first; v != GS_NO_VALUE; v = g->values[v].next)
		{
			g->values[v].word = g->streams[i].words;
			g->streams[i].words += g->values[v].words;
		}
}

void
gs_records_plan(gs_cpu_groups *g)
{
	for (uint32_t i = 0; i < g->nstreams; i++)
	{
		gs_stream *s = &g->streams[i];
		gs_stream_value *v = s->first != GS_NO_VALUE ? &g->values[s->first] : NULL;
		uint32_t bits;

		if (v == NULL || s->words != 2 || v->next != GS_NO_VALUE || v->type == GS_F64)
			continue;
		plan_codes(g, v);
		bits = gs_bits((uint64_t) v->span);
		s->packed = v->words == 1 && bits < 64 && bits + g->slot_bits <= 64;
		s->value_bits = bits;
		s->words = s->packed ? 1 : 2;
		v->words = 1;
	}
}

void
gs_groups_plan(gs_cpu_groups *g)
{
	const gs_group_step *group = gs_steps_group(g->head.steps);

	(void) stream_of(g, GS_NO_CLAUSE, NULL, false); /* all rows: a group is one that has some */
	for (uint32_t i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *a = &group->aggregates[i];
		uint32_t e = g->plan.expression_of[i];

		(void) plan_answer(g, clause_of(g->head.steps, group, i),
						   e == GS_NO_EXPRESSION ? NULL : &g->plan.expressions[e], a->operation, a->fraction);
	}
	plan_hidden(g);
	place_words(g);
}
