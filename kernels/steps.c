/*
 * steps.c: lists of steps: the check of a list that came from elsewhere, and what all engines' results have in common.
 */
#include "common/steps_row.h"

/* A part of a list that one step may refer to: the offsets [from, to). */
typedef struct body
{
	const gs_steps *steps;
	uint32_t from, to;
} body;

/* Returns true if items of a size, a multiple of 8, lie in the step's part at an offset. */
static bool
inside(const body *b, uint32_t offset, uint64_t n, size_t size)
{
	return offset % 8 == 0 && offset >= b->from && offset <= b->to && n <= (b->to - offset) / size;
}

/* Returns true if the number of a test's constants is right. */
static bool
constants_counted(uint32_t test, uint32_t n)
{
	switch (test)
	{
		case GS_TEST_IN:
			return n > 0;
		case GS_TEST_BETWEEN:
			return n == 2;
		case GS_TEST_IS_NULL:
		case GS_TEST_NOT_NULL:
		case GS_TEST_NEVER:
			return n == 0;
		default:
			return n == 1 && test < GS_TEST_BETWEEN;
	}
}

/* Returns true if constants are what the column's type asks for, and those of IN ascend. */
static bool
constants_valid(const gs_constant *constants, uint32_t n, bool real, bool ascending)
{
	for (uint32_t i = 0; i < n; i++)
	{
		if (real && constants[i].half[1] != 0)
			return false;
		if (ascending && i > 0 &&
			gs_scalar_code(gs_constant_scalar(&constants[i], real), real) <
				gs_scalar_code(gs_constant_scalar(&constants[i - 1], real), real))
			return false;
	}
	return true;
}

/* Checks a term. */
static bool
term_valid(const body *b, const gs_term *term)
{
	const gs_constant *constants;
	bool real;

	if (term->column >= b->steps->ncolumns || !constants_counted(term->test, term->nconstants))
		return false;
	if (term->nconstants == 0)
		return true;
	if (!inside(b, term->constants, term->nconstants, sizeof(gs_constant)))
		return false;
	constants = gs_steps_at(b->steps, term->constants);
	real = gs_number_of((gs_type) b->steps->types[term->column]) == GS_NUMBER_F64;
	return constants_valid(constants, term->nconstants, real, term->test == GS_TEST_IN);
}

/* Checks a FILTER step.  Constants that several terms shared would make a short list long work. */
static bool
filter_valid(const gs_steps *steps, uint32_t at, uint32_t bytes)
{
	const gs_filter_step *filter = gs_steps_at(steps, at);
	uint64_t constants = 0;
	body b = {steps, 0, at + bytes};

	if (bytes < sizeof(*filter) || filter->zero != 0 || filter->nterms > GS_STEPS_MAX_TERMS ||
		filter->nterms > (bytes - sizeof(*filter)) / sizeof(gs_term))
		return false;
	b.from = at + (uint32_t) (sizeof(*filter) + filter->nterms * sizeof(gs_term));
	for (uint32_t t = 0; t < filter->nterms; t++)
	{
		if (!term_valid(&b, &filter->terms[t]))
			return false;
		constants += filter->terms[t].nconstants;
	}
	return constants <= (b.to - b.from) / sizeof(gs_constant);
}

/* Checks an instruction that pushes a column or a constant. */
static bool
push_valid(const body *b, const gs_instruction *in)
{
	const bool real = in->result == GS_NUMBER_F64;
	const gs_constant *constant;
	gs_number number;

	if (in->code == GS_CODE_COLUMN)
	{
		if (in->operand >= b->steps->ncolumns)
			return false;
		number = gs_number_of((gs_type) b->steps->types[in->operand]);
		return real ? number == GS_NUMBER_F64 : number <= (gs_number) in->result;
	}
	if (!inside(b, in->operand, 1, sizeof(gs_constant)))
		return false;
	constant = gs_steps_at(b->steps, in->operand);
	return real ? constant->half[1] == 0
				: gs_number_holds((gs_number) in->result, gs_constant_scalar(constant, false).integer);
}

/* Follows the stack through an expression, which leaves one value there. */
static bool
code_valid(const body *b, const gs_instruction *code, uint32_t n)
{
	uint32_t depth = 0;
	bool real = false; /* some value is a double, and so is the only one */

	for (uint32_t i = 0; i < n; i++)
	{
		const gs_instruction *in = &code[i];

		if (in->code > GS_CODE_MULTIPLY || in->result > GS_NUMBER_F64 || in->zero != 0)
			return false;
		real |= in->result == GS_NUMBER_F64;
		if (in->code <= GS_CODE_CONSTANT)
		{
			if (!push_valid(b, in) || ++depth > GS_STEPS_MAX_DEPTH)
				return false;
		}
		else if (in->operand != 0 || depth-- < 2)
			return false;
	}
	return depth == 1 && (!real || n == 1);
}

/* Checks an aggregate. */
static bool
aggregate_valid(const body *b, const gs_aggregate *a)
{
	if (a->operation > GS_COUNT || a->zero != 0 || a->ncode > GS_STEPS_MAX_CODE)
		return false;
	if (a->ncode == 0)
		return a->operation == GS_COUNT;
	return inside(b, a->code, a->ncode, sizeof(gs_instruction)) &&
		   code_valid(b, gs_steps_at(b->steps, a->code), a->ncode);
}

/* Checks a GROUP step. */
static bool
group_valid(const gs_steps *steps, uint32_t at, uint32_t bytes)
{
	const gs_group_step *group = gs_steps_at(steps, at);
	body b = {steps, 0, at + bytes};

	if (bytes < sizeof(*group) || group->zero != 0 || group->naggregates == 0 ||
		group->naggregates > GS_STEPS_MAX_AGGREGATES ||
		group->naggregates > (bytes - sizeof(*group)) / sizeof(gs_aggregate))
		return false;
	b.from = at + (uint32_t) (sizeof(*group) + group->naggregates * sizeof(gs_aggregate));
	for (uint32_t i = 0; i < group->naggregates; i++)
		if (!aggregate_valid(&b, &group->aggregates[i]))
			return false;
	return true;
}

/* Checks the header and the types. */
static bool
header_valid(const gs_steps *steps, size_t available)
{
	if (steps == NULL || (uintptr_t) steps % 8 != 0 || available < sizeof(*steps) || steps->magic != GS_STEPS_MAGIC ||
		steps->bytes < sizeof(*steps) || steps->bytes > available || steps->bytes > GS_STEPS_MAX_BYTES ||
		steps->bytes % 8 != 0 || steps->zero != 0)
		return false;
	if (steps->ncolumns == 0 || steps->ncolumns > GS_STEPS_MAX_COLUMNS || steps->nsteps == 0 || steps->nsteps > 2 ||
		steps->first % 8 != 0 || steps->first > steps->bytes || steps->first < sizeof(*steps) + steps->ncolumns)
		return false;
	for (uint32_t c = 0; c < steps->ncolumns; c++)
		if (steps->types[c] >= GS_BYTES)
			return false;
	return true;
}

gs_status
gs_steps_check(const gs_steps *steps, size_t available)
{
	uint32_t at;

	if (!header_valid(steps, available))
		return GS_INVALID;
	at = steps->first;
	for (uint32_t i = 0; i < steps->nsteps; i++)
	{
		const gs_step *step = gs_steps_at(steps, at);
		bool last = i + 1 == steps->nsteps;

		if (steps->bytes - at < sizeof(*step) || step->bytes > steps->bytes - at || step->bytes % 8 != 0 ||
			step->kind != (last ? GS_STEP_GROUP : GS_STEP_FILTER) ||
			!(last ? group_valid : filter_valid)(steps, at, step->bytes))
			return GS_INVALID;
		at += step->bytes;
	}
	return at == steps->bytes ? GS_OK : GS_INVALID;
}

size_t
gs_steps_result_bytes(const gs_steps *steps)
{
	return gs_steps_group(steps)->naggregates * sizeof(gs_reduced);
}

gs_status
gs_reduced_combine(const gs_steps *steps, gs_reduced *into, const gs_reduced *from)
{
	const gs_group_step *group = gs_steps_group(steps);

	for (uint32_t i = 0; i < group->naggregates; i++)
	{
		const gs_aggregate *a = &group->aggregates[i];

		if (!gs_reduced_merge((gs_operation) a->operation, gs_aggregate_number(steps, a), &into[i], &from[i]))
			return GS_OVERFLOW;
	}
	return GS_OK;
}
