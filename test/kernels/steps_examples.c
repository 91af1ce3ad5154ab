/*
 * steps_examples.c: see steps_examples.h.
 */
#include "steps_examples.h"

#include <math.h>

static const gs_type types[3] = {GS_I32, GS_F64, GS_U128};

void
groups_example(steps_list *l)
{
	const wide in[3] = {-5, 7, 7};
	const double between[2] = {-1.5, INFINITY};
	gs_instruction code[5] = {{GS_CODE_COLUMN, GS_NUMBER_I64, 0, 0},
							  {GS_CODE_CONSTANT, GS_NUMBER_I16, 0, 0},
							  {GS_CODE_MULTIPLY, GS_NUMBER_I64, 0, 0},
							  {GS_CODE_COLUMN, GS_NUMBER_I128, 0, 2},
							  {GS_CODE_SUBTRACT, GS_NUMBER_I128, 0, 0}};
	wide hundred = 100;

	list_begin(l, types, 3);
	list_filter(l, 3);
	list_term(l, 0, GS_TEST_IN, list_integers(l, in, 3), 3);
	list_term(l, 1, GS_TEST_BETWEEN, list_doubles(l, between, 2), 2);
	list_term(l, 2, GS_TEST_NOT_NULL, 0, 0);
	list_group(l, 4);
	code[1].operand = list_integers(l, &hundred, 1);
	list_aggregate(l, GS_SUM, code, 5);
	list_aggregate(l, GS_COUNT, NULL, 0);
	list_column(l, GS_MIN, 1, GS_NUMBER_F64);
	list_column(l, GS_MAX, 0, GS_NUMBER_I32);
}

void
rows_example(steps_list *l)
{
	const gs_row_order orders[2] = {{0, 1, 0, 0}, {1, 0, 1, 0}};

	list_begin(l, types, 3);
	list_filter(l, 1);
	list_term(l, 2, GS_TEST_NOT_NULL, 0, 0);
	list_rows(l, 10, 20, orders, 2);
}

void
windows_example(steps_list *l)
{
	const gs_type all[9] = {GS_I32, GS_F64, GS_U128, GS_I64, GS_I32, GS_F64, GS_U128, GS_F64, GS_I64};
	const gs_row_order orders[3] = {{0, 0, 0, 0}, {1, 1, 0, 0}, {2, 0, 1, 0}};
	const gs_window_function functions[4] = {{GS_WINDOW_NTILE, GS_NO_COLUMN, 0, 0, 3, 0, 0},
											 {GS_WINDOW_LAG, 0, 0, 0, -1, 0, 0},
											 {GS_WINDOW_SUM, 1, 0, GS_FRAME_ROWS, 0, -5, GS_FRAME_MOST_ROWS - 6},
											 {GS_WINDOW_MAX, 2, 0, GS_FRAME_PEERS, 0, 0, 0}};
	const gs_window_function more[2] = {{GS_WINDOW_CUME_DIST, GS_NO_COLUMN, 0, 0, 0, 0, 0},
										{GS_WINDOW_RUN, 6, 0, 0, 0, 0, 0}};
	wide seven = 7;
	gs_window_function *f;

	list_begin(l, all, 9);
	l->head.ncolumns = 3;
	l->head.ngiven = 6;
	f = list_window(l, functions, 4, orders, 1, 2);
	f[1].constant = list_integers(l, &seven, 1);
	list_filter(l, 2);
	list_term(l, 4, GS_TEST_DISTINCT_COLUMN, 0, 0);
	list_term(l, 5, GS_TEST_GE_COLUMN, 1, 0);
	(void) list_window(l, more, 2, orders, 0, 1);
	list_group(l, 1);
	list_column(l, GS_MAX, 7, GS_NUMBER_F64);
	list_keys(l, (uint32_t[]){8}, 1);
}

void
computed_example(steps_list *l)
{
	const gs_type all[4] = {GS_I32, GS_F64, GS_U128, GS_I64};
	const wide constants[3] = {-1000, 1000, 7};
	gs_instruction code[14] = {{GS_CODE_COLUMN, GS_NUMBER_I32, 0, 0}, {GS_CODE_REMAINDER, GS_NUMBER_I32, 0, 1},
							   {GS_CODE_WITHIN, GS_NUMBER_I32, 0, 0}, {GS_CODE_CONSTANT, GS_NUMBER_I16, 0, 2},
							   {GS_CODE_MULTIPLY, GS_NUMBER_I64, 0, 0}, {GS_CODE_QUOTIENT, GS_NUMBER_I64, 0, 2},
							   {GS_CODE_YEAR, GS_NUMBER_I64, 0, 0}, {GS_CODE_DAY, GS_NUMBER_I32, 0, 0},
							   {GS_CODE_COLUMN, GS_NUMBER_I64, 0, 0}, {GS_CODE_MONTH, GS_NUMBER_I64, 0, 0},
							   {GS_CODE_ADD, GS_NUMBER_I64, 0, 0}, {GS_CODE_DAY_OF_YEAR, GS_NUMBER_I16, 0, 0},
							   {GS_CODE_CONSTANT, GS_NUMBER_I64, 0, 1}, {GS_CODE_SUBTRACT, GS_NUMBER_I64, 0, 0}};

	list_begin(l, all, 4);
	l->head.ncolumns = 3;
	l->head.ngiven = 1;
	list_compute(l, constants, 3, code, 14);
	list_filter(l, 1);
	list_compare(l, 3, GS_TEST_LT, 0);
	list_group(l, 1);
	list_column(l, GS_MAX, 3, GS_NUMBER_I64);
	list_keys(l, (uint32_t[]){3}, 1);
}

void
choices_example(steps_list *l)
{
	const gs_type all[4] = {GS_I32, GS_F64, GS_U128, GS_I64};
	const wide numbers[2] = {-5, (wide) 1 << 40};
	gs_term terms[2];
	uint32_t at;

	list_begin(l, all, 4);
	l->head.ncolumns = 3;
	l->head.ngiven = 1;
	list_choices(l, 3);
	at = list_integers(l, numbers, 2);
	terms[0] = (gs_term){0, GS_TEST_LT, at, 1};
	terms[1] = (gs_term){1, GS_TEST_GE, list_doubles(l, &(double){0.5}, 1), 1};
	list_choice(l, terms, 2, (gs_instruction){GS_CODE_CONSTANT, GS_NUMBER_I64, 0, at + (uint32_t) sizeof(wide)});
	list_choice(l, terms, 1, (gs_instruction){GS_CODE_CONSTANT, GS_NUMBER_I16, 0, 0});
	list_choice(l, NULL, 0, (gs_instruction){GS_CODE_COLUMN, GS_NUMBER_I32, 0, 0});
	list_group(l, 1);
	list_column(l, GS_MAX, 3, GS_NUMBER_I64);
	list_keys(l, (uint32_t[]){3}, 1);
}
