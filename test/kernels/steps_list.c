/*
 * steps_list.c: makes lists of steps, for tests.
 */
#include "steps_list.h"

#include <string.h>

void
list_begin(steps_list *l, const gs_type *types, uint32_t ncolumns)
{
	memset(l, 0, sizeof(*l));
	l->head.magic = GS_STEPS_MAGIC;
	l->head.ncolumns = ncolumns;
	for (uint32_t c = 0; c < ncolumns; c++)
		l->head.types[c] = (uint8_t) types[c];
	l->head.first = l->head.bytes = (uint32_t) (sizeof(gs_steps) + ncolumns + 7) / 8 * 8;
}

/* Makes the list longer. */
static void
grow(steps_list *l, uint32_t bytes)
{
	l->head.bytes += bytes;
	((gs_step *) (l->bytes + l->step))->bytes += bytes;
}

static void
begin_step(steps_list *l, gs_step_kind kind, size_t head, size_t items)
{
	l->step = l->head.bytes;
	l->next = l->step + (uint32_t) head;
	l->head.nsteps++;
	((gs_step *) (l->bytes + l->step))->kind = kind;
	grow(l, (uint32_t) (head + items));
}

void
list_filter(steps_list *l, uint32_t nterms)
{
	begin_step(l, GS_STEP_FILTER, sizeof(gs_filter_step), nterms * sizeof(gs_term));
	((gs_filter_step *) (l->bytes + l->step))->nterms = nterms;
}

void
list_group(steps_list *l, uint32_t naggregates)
{
	begin_step(l, GS_STEP_GROUP, sizeof(gs_group_step), naggregates * sizeof(gs_aggregate));
	((gs_group_step *) (l->bytes + l->step))->naggregates = naggregates;
}

/* Adds something behind the step. */
static uint32_t
add(steps_list *l, const void *from, size_t bytes)
{
	uint32_t at = l->head.bytes;

	if (bytes > 0)
		memcpy(l->bytes + at, from, bytes);
	grow(l, (uint32_t) bytes);
	return at;
}

uint32_t
list_integers(steps_list *l, const wide *values, uint32_t n)
{
	return add(l, values, n * sizeof(*values));
}

void
list_compute(steps_list *l, const wide *constants, uint32_t nconstants, gs_instruction *code, uint32_t ncode)
{
	gs_compute_step *step;
	uint32_t at;

	begin_step(l, GS_STEP_COMPUTE, sizeof(gs_compute_step), sizeof(step->columns[0]));
	at = list_integers(l, constants, nconstants);
	for (uint32_t i = 0; i < ncode; i++)
		if (code[i].code == GS_CODE_CONSTANT || (code[i].code >= GS_CODE_QUOTIENT && code[i].code <= GS_CODE_WITHIN))
			code[i].operand = at + code[i].operand * (uint32_t) sizeof(*constants);
	at = add(l, code, ncode * sizeof(*code));
	step = (gs_compute_step *) (l->bytes + l->step);
	step->ncolumns = 1;
	step->columns[0].code = at;
	step->columns[0].ncode = ncode;
}

void
list_choices(steps_list *l, uint32_t n)
{
	gs_compute_step *step;

	begin_step(l, GS_STEP_COMPUTE, sizeof(gs_compute_step) + sizeof(gs_computed), n * sizeof(gs_choice));
	step = (gs_compute_step *) (l->bytes + l->step);
	step->ncolumns = 1;
	step->columns[0] = (gs_computed){.code = l->next, .nchoices = n};
}

void
list_choice(steps_list *l, const gs_term *terms, uint32_t nterms, gs_instruction value)
{
	uint32_t at = nterms > 0 ? add(l, terms, nterms * sizeof(*terms)) : 0;

	*(gs_choice *) (l->bytes + l->next) = (gs_choice){at, nterms, value};
	l->next += (uint32_t) sizeof(gs_choice);
}

uint32_t
list_doubles(steps_list *l, const double *values, uint32_t n)
{
	uint32_t at = l->head.bytes;

	for (uint32_t i = 0; i < n; i++)
	{
		gs_constant c = {{0, 0}};

		memcpy(&c.half[0], &values[i], sizeof(double));
		(void) add(l, &c, sizeof(c));
	}
	return at;
}

void
list_term(steps_list *l, uint32_t column, gs_test test, uint32_t constants, uint32_t n)
{
	*(gs_term *) (l->bytes + l->next) = (gs_term){column, test, constants, n};
	l->next += (uint32_t) sizeof(gs_term);
}

void
list_compare(steps_list *l, uint32_t column, gs_test test, wide value)
{
	list_term(l, column, test, list_integers(l, &value, 1), 1);
}

void
list_aggregate(steps_list *l, gs_operation operation, const gs_instruction *code, uint32_t ncode)
{
	uint32_t at = ncode > 0 ? add(l, code, ncode * sizeof(*code)) : 0;

	*(gs_aggregate *) (l->bytes + l->next) = (gs_aggregate){.operation = operation, .code = at, .ncode = ncode};
	l->next += (uint32_t) sizeof(gs_aggregate);
}

void
list_column(steps_list *l, gs_operation operation, uint32_t column, gs_number number)
{
	gs_instruction in = {GS_CODE_COLUMN, (uint8_t) number, 0, column};

	list_aggregate(l, operation, &in, 1);
}

void
list_keys(steps_list *l, const uint32_t *keys, uint32_t n)
{
	gs_group_step *group = (gs_group_step *) (l->bytes + l->step);
	uint32_t room[GS_STEPS_MAX_KEYS + 1] = {0};

	memcpy(room, keys, n * sizeof(*keys));
	group->nkeys = n;
	group->keys = n > 0 ? add(l, room, (n + 1) / 2 * 8) : 0;
}

void
list_refine(steps_list *l, uint32_t operation, double fraction, const gs_term *terms, uint32_t n)
{
	gs_aggregate *a = (gs_aggregate *) (l->bytes + l->next) - 1;

	a->operation = operation;
	a->fraction = fraction;
	a->nterms = n;
	a->terms = n > 0 ? add(l, terms, n * sizeof(*terms)) : 0;
}

gs_window_function *
list_window(steps_list *l, const gs_window_function *functions, uint32_t nfunctions, const gs_row_order *orders,
			uint32_t npartition, uint32_t norders)
{
	gs_window_step *w;

	begin_step(l, GS_STEP_WINDOW, sizeof(*w), nfunctions * sizeof(*functions));
	w = (gs_window_step *) (l->bytes + l->step);
	w->nfunctions = nfunctions;
	w->npartition = npartition;
	w->norders = norders;
	memcpy(w->functions, functions, nfunctions * sizeof(*functions));
	w->orders = add(l, orders, (npartition + norders) * sizeof(*orders));
	return w->functions;
}

void
list_having(steps_list *l, uint32_t nterms)
{
	list_filter(l, nterms);
	((gs_step *) (l->bytes + l->step))->kind = GS_STEP_HAVING;
}

void
list_top(steps_list *l, uint64_t limit, const gs_top_order *orders, uint32_t n)
{
	gs_top_step *top;

	begin_step(l, GS_STEP_TOP, sizeof(gs_top_step), n * sizeof(*orders));
	top = (gs_top_step *) (l->bytes + l->step);
	top->limit = limit;
	top->norders = n;
	memcpy(top->orders, orders, n * sizeof(*orders));
}

void
list_rows(steps_list *l, uint64_t offset, uint64_t limit, const gs_row_order *orders, uint32_t n)
{
	gs_rows_step *rows;

	begin_step(l, GS_STEP_ROWS, sizeof(gs_rows_step), n * sizeof(*orders));
	rows = (gs_rows_step *) (l->bytes + l->step);
	rows->offset = offset;
	rows->limit = limit;
	rows->norders = n;
	if (n > 0)
		memcpy(rows->orders, orders, n * sizeof(*orders));
}
