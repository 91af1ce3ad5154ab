/*
 * steps_check.c: lists of steps that are wrong: each rule broken, every byte of valid lists changed, every length.
 */
#include "scan_test.h"

#include "steps_examples.h"
#include "steps_table.h"

#include "kernels/common/steps_row.h"
#include "kernels/gs_groups.h"

static const gs_type types[3] = {GS_I32, GS_F64, GS_U128}; /* of the examples' source */

static bool
valid(const steps_list *l)
{
	return gs_steps_check(&l->head, l->head.bytes <= sizeof(*l) ? l->head.bytes : sizeof(*l)) == GS_OK;
}

/* Carries out a list with groups, of columns that may have all values of their types. */
static gs_status
carry_out_groups(const steps_list *l, const gs_held_rows *rows)
{
	gs_range ranges[3];
	gs_groups *groups;
	uint64_t n;
	gs_status status;

	for (int c = 0; c < 3; c++)
	{
		gs_number number = gs_number_of(rows->types[c]);
		bool real = number == GS_NUMBER_F64;
		gs_wide low = real ? 0 : gs_number_least(number), high = real ? UINT64_MAX : gs_number_greatest(number);

		ranges[c] = (gs_range){.low = {{(uint64_t) low, (uint64_t) (low >> 64)}},
							   .high = {{(uint64_t) high, (uint64_t) (high >> 64)}},
							   .nulls = true};
	}
	status = gs_groups_open(engine, &l->head, ranges, 100, 1, &groups);
	if (status != GS_OK)
		return status;
	status = gs_groups_rows(groups, 0, engine, rows);
	if (status == GS_OK)
		status = do_parts(groups, 1);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, &n);
	gs_groups_close(groups, engine);
	return status;
}

/* What may be carried out: over some rows, so that a checker sees each access. */
static void
carry_out(const steps_list *l)
{
	static uint64_t values[3][256];
	static const uint64_t nulls[2] = {0x5555, 0};
	gs_type as[3];
	gs_held held[3] = {{values[0], nulls}, {values[1], NULL}, {values[2], nulls}};
	gs_span span = {0, 0, 100};
	gs_held_rows rows = {as, 3, 1, held, 1, &span};
	gs_reduced out[GS_STEPS_MAX_AGGREGATES];
	size_t temp;
	gs_status status;

	if (l->head.ncolumns != 3)
		return;
	for (int c = 0; c < 3; c++)
		as[c] = (gs_type) l->head.types[c];
	if (!gs_steps_reduces(&l->head))
	{
		status = carry_out_groups(l, &rows);
		check(status == GS_OK || status == GS_OVERFLOW || status == GS_TOO_BIG,
			  "a list with groups that passes its check can be carried out");
		return;
	}
	temp = gs_reduce_temp_bytes(engine, &rows, &l->head);
	status = gs_reduce_rows(engine, &rows, &l->head, out, temp_of(temp), temp);
	check(status == GS_OK || status == GS_OVERFLOW, "a list that passes its check can be carried out");
}

/* Changes every byte of a valid list. */
static void
mutated(void (*make)(steps_list *))
{
	static steps_list l;
	uint32_t bytes, passed = 0;

	make(&l);
	bytes = l.head.bytes;
	for (uint32_t at = 0; at < bytes; at++)
		for (int turn = 0; turn < (small_only ? 4 : 24); turn++)
		{
			steps_list *copy = malloc(bytes);

			memcpy(copy, &l, bytes);
			copy->bytes[at] = turn < 8 ? l.bytes[at] ^ (uint8_t) (1 << turn) : (uint8_t) rnd();
			if (turn > 16)
				copy->bytes[rnd() % bytes] = (uint8_t) (rnd() % 16);
			if (gs_steps_check(&copy->head, bytes) == GS_OK)
			{
				passed++;
				carry_out(copy);
			}
			free(copy);
		}
	check(passed > 0, "some changed lists are lists");
}

/* Lists that are cut off. */
static void
cut(void (*make)(steps_list *))
{
	static steps_list l;

	make(&l);
	for (uint32_t bytes = 0; bytes < l.head.bytes; bytes++)
	{
		steps_list *copy = malloc(bytes > 0 ? bytes : 1);

		memcpy(copy, &l, bytes);
		check(gs_steps_check(&copy->head, bytes) == GS_INVALID, "cut off after %u bytes", bytes);
		if (bytes >= sizeof(gs_steps))
		{
			copy->head.bytes = bytes;
			check(gs_steps_check(&copy->head, bytes) == GS_INVALID, "of %u bytes", bytes);
		}
		free(copy);
	}
}

/* Makes the n-th wrong list.  Returns NULL after the last, otherwise what is wrong. */
static const char *
wrong_list(steps_list *l, int n)
{
	gs_filter_step *filter;
	gs_group_step *group;
	gs_instruction *code;

	groups_example(l);
	filter = (gs_filter_step *) (l->bytes + l->head.first);
	group = (gs_group_step *) (l->bytes + l->head.first + filter->step.bytes);
	code = (gs_instruction *) (l->bytes + group->aggregates[0].code);
	switch (n)
	{
		case 0: l->head.magic++; return "magic";
		case 1: l->head.bytes = GS_STEPS_MAX_BYTES + 8; return "too long";
		case 2: l->head.ngiven = 1; return "a column of no window";
		case 3: l->head.ncolumns = 0; return "no columns";
		case 4: l->head.ncolumns = GS_STEPS_MAX_COLUMNS + 1; return "too many columns";
		case 5: l->head.types[1] = GS_BYTES; return "strings";
		case 6: l->head.nsteps = 0; return "no steps";
		case 7: l->head.nsteps = 1; return "a filter alone";
		case 8: l->head.nsteps = 3; return "a step more";
		case 9: l->head.first += 4; return "steps that are not aligned";
		case 10: l->head.first = 0xfffffff8; return "steps beyond";
		case 11: l->head.first = 24; return "steps in the types";
		case 12: filter->step.kind = GS_STEP_GROUP; return "two groups";
		case 13: group->step.kind = GS_STEP_FILTER; return "two filters";
		case 14: filter->step.bytes = 0xfffffff8; return "a step beyond";
		case 15: filter->step.bytes = 0; return "a step without bytes";
		case 16: group->step.bytes -= 8; return "bytes behind the last step";
		case 17: filter->nterms = 0xffffffff; return "terms beyond";
		case 18: filter->zero = 1; return "zero of the filter";
		case 19: filter->terms[0].column = 3; return "no such column";
		case 20: filter->terms[2].test = GS_TEST_NEVER + 1; return "no such test";
		case 21: filter->terms[0].constants += 4; return "constants that are not aligned";
		case 22: filter->terms[0].constants = l->head.first; return "constants in the terms";
		case 23: filter->terms[0].nconstants = 0x10000001; return "constants beyond";
		case 24: filter->terms[0].nconstants = 0; return "IN without constants";
		case 25: filter->terms[1].nconstants = 1; return "BETWEEN with one";
		case 26: filter->terms[0].test = GS_TEST_EQ; return "EQ with three";
		case 27: filter->terms[2].nconstants = 1; return "NOT NULL with one";
		case 28: ((gs_constant *) (l->bytes + filter->terms[0].constants))->half[1] = 0; return "descending constants";
		case 29: ((gs_constant *) (l->bytes + filter->terms[1].constants))->half[1] = 1; return "a wide double";
		case 30: filter->terms[1].test = GS_TEST_IN; filter->terms[1].constants = filter->terms[0].constants;
				 filter->terms[1].nconstants = 5; filter->terms[1].column = 0; return "constants of two terms";
		case 31: filter->terms[0].constants = group->aggregates[0].code; return "constants of another step";
		case 32: group->naggregates = 0; return "no aggregates";
		case 33: group->naggregates = GS_STEPS_MAX_AGGREGATES + 1; return "too many aggregates";
		case 34: group->zero = 1; return "zero of the group";
		case 35: group->aggregates[0].operation = GS_COMPOSE; return "no such operation";
		case 36: group->aggregates[0].zero = 1; return "zero of an aggregate";
		case 37: group->aggregates[0].code += 4; return "code that is not aligned";
		case 38: group->aggregates[0].code = l->head.bytes; return "code behind the list";
		case 39: group->aggregates[0].ncode = 0xffffffff; return "code beyond";
		case 40: group->aggregates[0].ncode = 4; return "two values left";
		case 41: group->aggregates[0].ncode = 0; return "a sum of nothing";
		case 42: code[0].code = GS_CODE_ADD; return "operands that are not there";
		case 43: code[0].code = GS_CODE_MULTIPLY + 1; return "no such code";
		case 44: code[0].result = GS_NUMBER_I16; return "a result that does not hold the column";
		case 45: code[0].result = GS_NUMBER_F64; return "an integer as a double";
		case 46: code[0].operand = 1; return "a double as an integer";
		case 47: code[0].operand = 3; return "a column that is none";
		case 48: code[0].zero = 1; return "zero of an instruction";
		case 49: code[1].operand += 4; return "a constant that is not aligned";
		case 50: code[1].operand = filter->terms[0].constants; return "a constant of another step";
		case 51: ((gs_constant *) (l->bytes + code[1].operand))->half[0] = 40000; return "a constant out of range";
		case 52: code[2].operand = 1; return "an operand of a product";
		case 53: code[4].result = GS_NUMBER_F64 + 1; return "no such number";
		case 54: code[4].result = GS_NUMBER_F64; return "arithmetic of doubles";
		case 55: filter->terms[1].test = GS_TEST_IN_BITS; return "bits of doubles";
		case 56: filter->terms[2].test = GS_TEST_IN_BITS; return "bits without constants";
		default: return NULL;
	}
}

/* Makes the n-th wrong list with ROWS.  Returns NULL after the last, otherwise what is wrong. */
static const char *
wrong_rows(steps_list *l, int n)
{
	static const gs_row_order many[GS_STEPS_MAX_KEYS + 1];
	gs_filter_step *filter;
	gs_rows_step *rows;

	rows_example(l);
	filter = (gs_filter_step *) (l->bytes + l->head.first);
	rows = (gs_rows_step *) (l->bytes + l->head.first + filter->step.bytes);
	switch (n)
	{
		case 0: rows->zero = 1; return "zero of the rows";
		case 1: rows->norders = 3; return "orders beyond";
		case 2: rows->norders = 1; return "an order too much";
		case 3: rows->norders = 0xffffffff; return "orders far beyond";
		case 4: rows->orders[1].column = 3; return "an order by a column that is none";
		case 5: rows->orders[0].descending = 2; return "no such direction";
		case 6: rows->orders[0].nulls_first = 2; return "no such place of NULLs";
		case 7: rows->orders[0].zero = 1; return "zero of an order";
		case 8: list_begin(l, types, 3); list_rows(l, 1, 0, many, 0); return "an offset without orders";
		case 9: list_begin(l, types, 3); list_rows(l, 0, 1, many, 0); return "a limit without orders";
		case 10: list_begin(l, types, 3); list_rows(l, 0, 1, many, GS_STEPS_MAX_KEYS + 1); return "too many orders";
		case 11: list_rows(l, 0, 1, many, 1); return "two of ROWS";
		case 12: list_top(l, 1, &(gs_top_order){0, 0, 0, 0}, 1); return "TOP behind ROWS";
		case 13: list_having(l, 0); return "HAVING behind ROWS";
		case 14: list_filter(l, 0); return "a filter behind ROWS";
		case 15: list_group(l, 1); list_aggregate(l, GS_COUNT, NULL, 0); return "groups behind ROWS";
		case 16: groups_example(l); list_rows(l, 0, 1, many, 1); return "ROWS behind groups";
		case 17: rows->step.kind = GS_STEP_ROWS + 1; return "no such step";
		case 18: rows->step.kind = GS_STEP_TOP; return "TOP without groups";
		case 19: rows->step.bytes = 24; return "a step that is cut off";
		default: return NULL;
	}
}

/* Makes the n-th wrong list with windows.  Returns NULL after the last, otherwise what is wrong. */
static const char *
wrong_window(steps_list *l, int n)
{
	gs_window_step *w;
	gs_window_function *f;
	gs_row_order *o;
	gs_filter_step *filter;

	windows_example(l);
	w = (gs_window_step *) (l->bytes + l->head.first);
	f = w->functions;
	o = (gs_row_order *) (l->bytes + w->orders);
	filter = (gs_filter_step *) ((char *) w + w->step.bytes);
	switch (n)
	{
		case 0: l->head.ngiven = 5; return "a column too few";
		case 1: l->head.ngiven = 7; return "a column too many";
		case 2: l->head.ngiven = GS_STEPS_MAX_COLUMNS; return "too many columns";
		case 3: l->head.types[4] = GS_I64; return "the type of a lag";
		case 4: l->head.types[6] = GS_I64; return "the type of an extreme";
		case 5: w->nfunctions = 0; return "no functions";
		case 6: w->nfunctions = 0xffffffff; return "functions beyond";
		case 7: w->npartition = GS_STEPS_MAX_KEYS; return "too many orders";
		case 8: w->norders = 0xffffffff; return "orders beyond";
		case 9: w->orders += 4; return "orders that are not aligned";
		case 10: w->orders = l->head.first; return "orders in the functions";
		case 11: o[0].descending = 1; return "a direction of a partition";
		case 12: o[0].nulls_first = 1; return "NULLs of a partition";
		case 13: o[1].descending = 2; return "no such direction";
		case 14: o[1].nulls_first = 2; return "no such place of NULLs";
		case 15: o[2].zero = 1; return "zero of an order";
		case 16: o[2].column = 3; return "an order by a column of the step";
		case 17: f[0].function = GS_WINDOW_MAX + 1; return "no such function";
		case 18: f[0].column = 0; return "an argument too many";
		case 19: f[1].column = GS_NO_COLUMN; return "an argument too few";
		case 20: f[3].column = 6; return "its own column";
		case 21: f[0].number = 0; return "no buckets";
		case 22: f[1].number = (int64_t) 1 << 33; return "a row too far away";
		case 23: f[2].number = 1; return "a number of no meaning";
		case 24: f[1].constant += 4; return "a constant that is not aligned";
		case 25: f[1].constant = w->orders - 8; return "a constant in the functions";
		case 26: f[0].constant = f[1].constant; return "a constant of no meaning";
		case 27: ((gs_constant *) (l->bytes + f[1].constant))->half[0] = (uint64_t) 1 << 31; return "too large";
		case 28: f[0].frame = GS_FRAME_PEERS; return "a frame of no meaning";
		case 29: f[2].frame = GS_FRAME_ROWS + 1; return "no such frame";
		case 30: f[3].from = 1; return "rows of another frame";
		case 31: f[2].from = GS_FRAME_LAST; return "from the last row";
		case 32: f[2].to = GS_FRAME_FIRST; return "to the first row";
		case 33: f[2].to++; return "too many rows of doubles";
		case 34: f[2].to = GS_FRAME_LAST; return "any number of rows of doubles";
		case 35: filter->terms[0].constants = 7; return "a column of a later step";
		case 36: filter->terms[0].constants = 5; return "a double and an integer";
		case 37: filter->terms[0].nconstants = 1; return "constants of a column";
		case 38: filter->terms[0].test = GS_TEST_SAME_COLUMN + 1; return "no such test of columns";
		case 39: filter->step.kind = GS_STEP_ROWS; return "rows between windows";
		default: return NULL;
	}
}

/* Makes the n-th wrong list with a computed column. */
static const char *
wrong_computed(steps_list *l, int n)
{
	gs_compute_step *c;
	gs_instruction *code;
	gs_constant *constants;

	computed_example(l);
	c = (gs_compute_step *) (l->bytes + l->head.first);
	code = (gs_instruction *) (l->bytes + c->columns[0].code);
	constants = (gs_constant *) (l->bytes + code[2].operand);
	switch (n)
	{
		case 0: c->ncolumns = 0; return "no columns";
		case 1: c->ncolumns = 2; return "more columns than there are";
		case 2: c->zero = 1; return "zero of the step";
		case 3: l->head.types[3] = GS_I32; return "another type";
		case 4: c->columns[0].code += 4; return "code that is not aligned";
		case 5: c->columns[0].ncode = 0; return "no code";
		case 6: c->columns[0].ncode = GS_STEPS_MAX_CODE + 1; return "too much code";
		case 7: code[0].operand = 3; return "its own column";
		case 8: code[0].operand = 2; return "a column of 128 bits";
		case 9: code[4].result = GS_NUMBER_I128; return "a value of 128 bits";
		case 10: code[6].operand = 8; return "an operand of a date";
		case 11: code[6].code = GS_CODE_DAY_OF_YEAR + 1; return "no such instruction";
		case 12: code[6].code = GS_CODE_MULTIPLY + 1; return "none between them";
		case 13: code[1].operand = l->head.first; return "a divisor elsewhere";
		case 14: constants[1].half[0] = 0; return "a divisor of 0";
		case 15: constants[1].half[1] = 1; return "a divisor of 128 bits";
		case 16: constants[0].half[1] = 0; return "a range of 128 bits";
		case 17: code[0] = code[6]; return "nothing on the stack";
		case 18: /* its place is that of the first constant */
			l->head.ngiven = c->ncolumns = 2;
			l->head.types[4] = GS_I64;
			c->columns[1] = c->columns[0];
			code[2].operand += (uint32_t) sizeof(*constants);
			return "code that columns share";
		default: return NULL;
	}
}

/* Makes the n-th wrong list with a column of choices. */
static const char *
wrong_choices(steps_list *l, int n)
{
	gs_computed *c;
	gs_choice *choices;
	gs_term *terms;

	choices_example(l);
	c = ((gs_compute_step *) (l->bytes + l->head.first))->columns;
	choices = (gs_choice *) (l->bytes + c->code);
	terms = (gs_term *) (l->bytes + choices[0].terms);
	switch (n)
	{
		case 0: c->ncode = 1; return "code and choices";
		case 1: c->zero = 1; return "zero of the column";
		case 2: c->nchoices = 0; return "no choices";
		case 3: c->nchoices = GS_STEPS_MAX_CHOICES + 1; return "too many choices";
		case 4: c->code = l->head.first; return "choices elsewhere";
		case 5: l->head.types[3] = GS_I32; return "choices of another type";
		case 6: choices[0].nterms = GS_STEPS_MAX_TERMS + 1; return "too many terms of a choice";
		case 7: choices[0].terms = l->head.first; return "terms elsewhere";
		case 8: terms[0].column = 3; return "a term of the column itself";
		case 9: terms[1].test = GS_TEST_IN_BITS; return "bits of a double";
		case 10: choices[0].value.code = GS_CODE_ADD; return "a value that is computed";
		case 11: choices[0].value.operand = l->head.first; return "a constant elsewhere";
		case 12: choices[0].value.result = GS_NUMBER_I32; return "a constant that is too large";
		case 13: choices[1].value.result = GS_NUMBER_I128; return "NULL of 128 bits";
		case 14: choices[1].value.zero = 1; return "zero of a value";
		case 15: choices[2].value.operand = 1; return "a double that is chosen";
		case 16: choices[2].value.operand = 2; return "a column of 128 bits that is chosen";
		case 17: choices[2].value.operand = 3; return "the column itself";
		case 18: choices[2].value.result = GS_NUMBER_I16; return "a column that is too wide";
		case 19: choices[1].terms = choices[0].terms; choices[1].nterms = 2; return "terms that choices share";
		case 20: terms[0].test = GS_TEST_IN; terms[0].nconstants = 3; return "constants that terms share";
		default: return NULL;
	}
}

/* Lists with ROWS that are right at the limits. */
static void
right_rows(void)
{
	static steps_list l;
	static const gs_row_order many[GS_STEPS_MAX_KEYS];

	rows_example(&l);
	check(valid(&l), "a page");
	check(!gs_steps_reduces(&l.head), "a page is no reduction");
	check(gs_steps_result_bytes(&l.head) == sizeof(gs_row), "a page has places");
	carry_out(&l);
	list_begin(&l, types, 3);
	list_rows(&l, 0, 0, many, 0);
	check(valid(&l), "all rows");
	carry_out(&l);
	list_begin(&l, types, 3);
	list_rows(&l, UINT64_MAX, UINT64_MAX, many, GS_STEPS_MAX_KEYS);
	check(valid(&l), "many orders");
}

/* Expressions of many values, and lists of many terms. */
static void
deep(void)
{
	static steps_list l;
	gs_instruction code[GS_STEPS_MAX_CODE + 2];

	for (uint32_t depth = GS_STEPS_MAX_DEPTH; depth <= GS_STEPS_MAX_DEPTH + 1; depth++)
	{
		for (uint32_t i = 0; i < depth; i++)
		{
			code[i] = (gs_instruction){GS_CODE_COLUMN, GS_NUMBER_I32, 0, 0};
			code[depth + i] = (gs_instruction){GS_CODE_ADD, GS_NUMBER_I64, 0, 0};
		}
		list_begin(&l, types, 3);
		list_group(&l, 1);
		list_aggregate(&l, GS_SUM, code, 2 * depth - 1);
		check(valid(&l) == (depth <= GS_STEPS_MAX_DEPTH), "%u values on the stack", depth);
		if (valid(&l))
			carry_out(&l);
	}
	for (uint32_t n = GS_STEPS_MAX_CODE - 1; n <= GS_STEPS_MAX_CODE + 1; n += 2)
	{
		for (uint32_t i = 0; i < n; i++)
			code[i] = i % 2 || i == 0 ? (gs_instruction){GS_CODE_COLUMN, GS_NUMBER_I32, 0, 0}
									  : (gs_instruction){GS_CODE_ADD, GS_NUMBER_I64, 0, 0};
		list_begin(&l, types, 3);
		list_group(&l, 1);
		list_aggregate(&l, GS_SUM, code, n);
		check(valid(&l) == (n <= GS_STEPS_MAX_CODE), "%u instructions", n);
	}
	for (uint32_t n = GS_STEPS_MAX_TERMS; n <= GS_STEPS_MAX_TERMS + 1; n++)
	{
		list_begin(&l, types, 3);
		list_filter(&l, n);
		for (uint32_t i = 0; i < n; i++)
			list_term(&l, 0, GS_TEST_NOT_NULL, 0, 0);
		list_group(&l, 1);
		list_aggregate(&l, GS_COUNT, NULL, 0);
		check(valid(&l) == (n <= GS_STEPS_MAX_TERMS), "%u terms", n);
	}
}

void
test_steps_check(void)
{
	static steps_list l;
	const char *what;

	group("lists of steps that are wrong");
	rnd_seed(815);
	groups_example(&l);
	check(valid(&l), "the list is right");
	carry_out(&l);
	check(gs_steps_check(NULL, 0) == GS_INVALID, "no list");
	check(gs_steps_check((const gs_steps *) (l.bytes + 1), 1000) == GS_INVALID, "not aligned");
	for (int n = 0; (what = wrong_list(&l, n)) != NULL; n++)
		check(!valid(&l), "refused: %s", what);
	right_rows();
	for (int n = 0; (what = wrong_rows(&l, n)) != NULL; n++)
		check(!valid(&l), "refused: %s", what);
	windows_example(&l);
	check(valid(&l), "the list with windows is right");
	carry_out(&l);
	for (int n = 0; (what = wrong_window(&l, n)) != NULL; n++)
		check(!valid(&l), "refused: %s", what);
	computed_example(&l);
	check(valid(&l), "the list with a computed column is right");
	carry_out(&l);
	for (int n = 0; (what = wrong_computed(&l, n)) != NULL; n++)
		check(!valid(&l), "refused: %s", what);
	deep();
	cut(computed_example);
	mutated(computed_example);
	choices_example(&l);
	check(valid(&l), "the list with a column of choices is right");
	carry_out(&l);
	for (int n = 0; (what = wrong_choices(&l, n)) != NULL; n++)
		check(!valid(&l), "refused: %s", what);
	cut(choices_example);
	mutated(choices_example);
	cut(groups_example);
	cut(rows_example);
	cut(windows_example);
	mutated(groups_example);
	mutated(rows_example);
	mutated(windows_example);
}
