/*
 * steps_values.c: the values of an expression for a block of rows, of which no column is NULL: instruction by
 * instruction, each over all rows.
 */
#include "steps.h"

/* The stack of a block's computation.  Results lie in the plan's slots; the spare one takes the next. */
typedef struct stack
{
	gs_steps_plan *plan;
	uint32_t n;
	uint32_t depth;
	gs_values_of_block values[GS_STEPS_MAX_DEPTH];
} stack;

/* Pushes a column as GS_I64, GS_U128 or GS_F64. */
static void
push_column(stack *s, gs_type type, const void *from)
{
	void *to = s->plan->slots[s->depth];
	gs_values_of_block *v = &s->values[s->depth++];
	gs_held_wide *wide = to;

	*v = (gs_values_of_block){type, gs_number_of(type), from};
	switch (type)
	{
		case GS_I64:
		case GS_U128:
		case GS_F64:
			break;
		case GS_U64:
			for (uint32_t i = 0; i < s->n; i++)
				wide[i] = ((const uint64_t *) from)[i];
			*v = (gs_values_of_block){GS_U128, v->number, to};
			break;
		default:
			s->plan->reduce->widen(type, from, s->n, to);
			*v = (gs_values_of_block){type == GS_F32 ? GS_F64 : GS_I64, v->number, to};
	}
}

/* Pushes a constant, once for each row. */
static void
push_constant(stack *s, gs_number number, const gs_constant *constant)
{
	gs_type type = number == GS_NUMBER_F64 ? GS_F64 : number == GS_NUMBER_I128 ? GS_U128 : GS_I64;
	uint64_t *to = s->plan->slots[s->depth];

	if (type == GS_U128)
		for (uint32_t i = 0; i < s->n; i++)
			memcpy(to + 2 * i, constant->half, sizeof(constant->half));
	else
		for (uint32_t i = 0; i < s->n; i++)
			to[i] = constant->half[0];
	s->values[s->depth++] = (gs_values_of_block){type, number, to};
}

/* Computes on operands of which A and B are the types, into 128 bits. */
#define WIDE_LOOP(A, B, FUNCTION)                                                                                      \
	do                                                                                                                 \
	{                                                                                                                  \
		const A *x = a->values;                                                                                        \
		const B *y = b->values;                                                                                        \
		for (uint32_t i = 0; i < n; i++)                                                                               \
		{                                                                                                              \
			gs_wide r;                                                                                                 \
			bad |= FUNCTION((gs_wide) x[i], (gs_wide) y[i], &r);                                                       \
			out[i] = r;                                                                                                \
		}                                                                                                              \
	} while (0)
#define WIDE_LOOPS(FUNCTION)                                                                                           \
	do                                                                                                                 \
	{                                                                                                                  \
		if (a->type == GS_I64 && b->type == GS_I64)                                                                    \
			WIDE_LOOP(int64_t, int64_t, FUNCTION);                                                                     \
		else if (a->type == GS_I64)                                                                                    \
			WIDE_LOOP(int64_t, gs_held_wide, FUNCTION);                                                                \
		else if (b->type == GS_I64)                                                                                    \
			WIDE_LOOP(gs_held_wide, int64_t, FUNCTION);                                                                \
		else                                                                                                           \
			WIDE_LOOP(gs_held_wide, gs_held_wide, FUNCTION);                                                           \
	} while (0)

/* Multiplies two numbers of 64 bits, whose product has 128. */
static inline bool
multiply_exactly(gs_wide a, gs_wide b, gs_wide *product)
{
	*product = a * b;
	return false;
}

/* Computes in 128 bits.  Returns false if some result leaves them. */
static bool
compute_wide(gs_code code, const gs_values_of_block *a, const gs_values_of_block *b, gs_held_wide *out, uint32_t n)
{
	bool bad = false;

	if (code == GS_CODE_ADD)
		WIDE_LOOPS(__builtin_add_overflow);
	else if (code == GS_CODE_SUBTRACT)
		WIDE_LOOPS(__builtin_sub_overflow);
	else if (a->type == GS_I64 && b->type == GS_I64)
		WIDE_LOOP(int64_t, int64_t, multiply_exactly);
	else
		WIDE_LOOPS(__builtin_mul_overflow);
	return !bad;
}

/* Turns integers of 128 bits into 64.  Returns false if some value is not in the range of a number. */
static bool
narrow(gs_number number, gs_held_wide *values, uint32_t n)
{
	int64_t *out = (int64_t *) values;
	bool good = true;

	for (uint32_t i = 0; i < n; i++)
	{
		gs_wide v = values[i];

		good &= gs_number_holds(number, v);
		memcpy(&out[i], &v, sizeof(*out));
	}
	return good;
}

/* Replaces the upper two values by a result.  Returns false on overflow. */
static bool
compute(stack *s, gs_code code, gs_number result)
{
	gs_values_of_block *a = &s->values[s->depth - 2];
	const gs_values_of_block *b = a + 1;
	void **slots = s->plan->slots, *out = slots[s->depth];
	bool wide = result == GS_NUMBER_I128 || a->type == GS_U128 || b->type == GS_U128, good;

	if (wide)
		good = compute_wide(code, a, b, out, s->n);
	else
		good = s->plan->reduce->compute(code, result, a->number <= GS_NUMBER_I32 && b->number <= GS_NUMBER_I32,
										a->values, b->values, out, s->n);
	if (wide && result != GS_NUMBER_I128)
		good &= narrow(result, out, s->n);
	*a = (gs_values_of_block){result == GS_NUMBER_I128 ? GS_U128 : GS_I64, result, out};
	slots[s->depth] = slots[s->depth - 2];
	slots[s->depth - 2] = out;
	s->depth--;
	return good;
}

bool
gs_steps_values(gs_steps_plan *plan, const gs_expression_plan *e, const void *const *columns, uint32_t n,
				gs_values_of_block *out)
{
	stack s = {.plan = plan, .n = n};
	bool good = true;

	for (uint32_t i = 0; i < e->ncode && good; i++)
	{
		const gs_instruction *in = &e->code[i];

		if (in->code == GS_CODE_COLUMN)
			push_column(&s, (gs_type) plan->steps->types[in->operand], columns[in->operand]);
		else if (in->code == GS_CODE_CONSTANT)
			push_constant(&s, (gs_number) in->result, gs_steps_at(plan->steps, in->operand));
		else
			good = compute(&s, (gs_code) in->code, (gs_number) in->result);
	}
	*out = s.values[0];
	return good;
}
