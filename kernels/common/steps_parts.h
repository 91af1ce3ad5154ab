/*
 * steps_parts.h: a checked list of steps (gs_steps.h): where its steps are, and what its columns and members are.
 */
#ifndef GS_COMMON_STEPS_PARTS_H
#define GS_COMMON_STEPS_PARTS_H

#include "../gs_steps.h"
#include "both.h"

/* Returns what the values of a column are. */
GS_BOTH gs_number
gs_number_of(gs_type type)
{
	switch (type)
	{
		case GS_I16:
			return GS_NUMBER_I16;
		case GS_U8:
		case GS_U16:
		case GS_I32:
			return GS_NUMBER_I32;
		case GS_U32:
		case GS_I64:
			return GS_NUMBER_I64;
		case GS_F32:
		case GS_F64:
			return GS_NUMBER_F64;
		default:
			return GS_NUMBER_I128;
	}
}

/* Returns the type of the column that a window's function gives. */
GS_BOTH gs_type
gs_window_type(const gs_steps *steps, const gs_window_function *f)
{
	const gs_type argument = f->column == GS_NO_COLUMN ? GS_I64 : (gs_type) steps->types[f->column];

	switch (f->function)
	{
		case GS_WINDOW_PERCENT_RANK:
		case GS_WINDOW_CUME_DIST:
			return GS_F64;
		case GS_WINDOW_LAG:
		case GS_WINDOW_FIRST:
		case GS_WINDOW_LAST:
		case GS_WINDOW_NTH:
		case GS_WINDOW_MIN:
		case GS_WINDOW_MAX:
			return argument;
		case GS_WINDOW_SUM:
			return argument == GS_F64 ? GS_F64 : GS_U128;
		default:
			return GS_I64;
	}
}

/* Returns the part of a list that lies at an offset. */
GS_BOTH const void *
gs_steps_at(const gs_steps *steps, uint32_t offset)
{
	return (const char *) steps + offset;
}

/* Returns the FILTER step of a checked list, or NULL. */
GS_BOTH const gs_filter_step *
gs_steps_filter(const gs_steps *steps)
{
	const gs_step *first = (const gs_step *) gs_steps_at(steps, steps->first);

	return first->kind == GS_STEP_FILTER ? (const gs_filter_step *) first : NULL;
}

/* Returns the step behind one. */
GS_BOTH const gs_step *
gs_step_after(const gs_step *step)
{
	return (const gs_step *) ((const char *) step + step->bytes);
}

/* Returns the step of a checked list that takes the rows, if it is of a kind, or NULL. */
GS_BOTH const gs_step *
gs_steps_taker(const gs_steps *steps, gs_step_kind kind)
{
	const gs_step *first = (const gs_step *) gs_steps_at(steps, steps->first);
	const gs_step *taker = first->kind == GS_STEP_FILTER ? gs_step_after(first) : first;

	return taker->kind == (uint32_t) kind ? taker : NULL;
}

/* Returns the WINDOW step that takes the rows of a checked list, or NULL. */
GS_BOTH const gs_window_step *
gs_steps_window(const gs_steps *steps)
{
	return (const gs_window_step *) gs_steps_taker(steps, GS_STEP_WINDOW);
}

/* Returns the COMPUTE step of a checked list, or NULL. */
GS_BOTH const gs_compute_step *
gs_steps_compute(const gs_steps *steps)
{
	return (const gs_compute_step *) gs_steps_taker(steps, GS_STEP_COMPUTE);
}

/* Returns true if a term of a filter is about the source's columns alone. */
GS_BOTH bool
gs_term_of_source(const gs_steps *steps, const gs_term *term)
{
	return term->column < steps->ncolumns && (term->test < GS_TEST_EQ_COLUMN || term->constants < steps->ncolumns);
}

/* Returns the GROUP step of a checked list, which may follow other steps, or NULL. */
GS_BOTH const gs_group_step *
gs_steps_group(const gs_steps *steps)
{
	const gs_step *step = (const gs_step *) gs_steps_at(steps, steps->first);

	while (step->kind == GS_STEP_FILTER || step->kind == GS_STEP_WINDOW || step->kind == GS_STEP_COMPUTE)
		step = gs_step_after(step);
	return step->kind == GS_STEP_GROUP ? (const gs_group_step *) step : NULL;
}

/* Returns the ROWS step of a checked list, or NULL. */
GS_BOTH const gs_rows_step *
gs_steps_rows(const gs_steps *steps)
{
	return (const gs_rows_step *) gs_steps_taker(steps, GS_STEP_ROWS);
}

/* Returns the step of a kind that follows the GROUP step of a checked list that has one, or NULL. */
GS_BOTH const gs_step *
gs_steps_after_group(const gs_steps *steps, gs_step_kind kind)
{
	const gs_step *step = &gs_steps_group(steps)->step;
	const char *end = (const char *) steps + steps->bytes;

	do
		step = gs_step_after(step);
	while ((const char *) step < end && step->kind != (uint32_t) kind);
	return (const char *) step < end ? step : NULL;
}

/* Returns the column of a GROUP step's key. */
GS_BOTH uint32_t
gs_group_key(const gs_steps *steps, uint32_t key)
{
	return ((const uint32_t *) gs_steps_at(steps, gs_steps_group(steps)->keys))[key];
}

/* Returns what an aggregate's values are. */
GS_BOTH gs_number
gs_aggregate_number(const gs_steps *steps, const gs_aggregate *aggregate)
{
	const gs_instruction *code = (const gs_instruction *) gs_steps_at(steps, aggregate->code);

	return aggregate->ncode == 0 ? GS_NUMBER_I64 : (gs_number) code[aggregate->ncode - 1].result;
}

/* Returns true if what an aggregate gives is a number of rows or values. */
GS_BOTH bool
gs_aggregate_counts(const gs_aggregate *aggregate)
{
	return aggregate->operation == (uint32_t) GS_COUNT || aggregate->operation == (uint32_t) GS_DISTINCT;
}

/* Returns what a member of groups is. */
GS_BOTH gs_number
gs_member_number(const gs_steps *steps, uint32_t member)
{
	const gs_group_step *group = gs_steps_group(steps);
	const gs_aggregate *aggregate;

	if (member < group->nkeys)
		return gs_number_of((gs_type) steps->types[gs_group_key(steps, member)]);
	aggregate = &group->aggregates[member - group->nkeys];
	return gs_aggregate_counts(aggregate) ? GS_NUMBER_I64 : gs_aggregate_number(steps, aggregate);
}

#endif
