/*
 * steps.c: the check of a list of steps that came from elsewhere.
 */
#include "common/steps_row.h"
#include "common/types.h"

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
		case GS_TEST_IN_BITS:
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

/* What terms are about: columns of the source, or members of groups. */
typedef struct subject
{
	const gs_steps *steps;
	uint32_t n;
	bool members;
} subject;

/* Checks a term that compares two columns. */
static bool
columns_valid(const subject *of, const gs_term *term)
{
	const uint8_t *types = of->steps->types;

	return !of->members && term->test <= GS_TEST_SAME_COLUMN && term->column < of->n && term->constants < of->n &&
		   term->nconstants == 0 &&
		   gs_type_is_float((gs_type) types[term->column]) == gs_type_is_float((gs_type) types[term->constants]);
}

/* Checks a term. */
static bool
term_valid(const body *b, const subject *of, const gs_term *term)
{
	const gs_constant *constants;
	gs_number number;

	if (term->test >= GS_TEST_EQ_COLUMN)
		return columns_valid(of, term);
	if (term->column >= of->n || !constants_counted(term->test, term->nconstants))
		return false;
	if (term->nconstants == 0)
		return true;
	if (!inside(b, term->constants, term->nconstants, sizeof(gs_constant)))
		return false;
	constants = gs_steps_at(of->steps, term->constants);
	number = of->members ? gs_member_number(of->steps, term->column)
						 : gs_number_of((gs_type) of->steps->types[term->column]);
	if (term->test == GS_TEST_IN_BITS)
		return number != GS_NUMBER_F64;
	return constants_valid(constants, term->nconstants, number == GS_NUMBER_F64, term->test == GS_TEST_IN);
}

/* Checks terms.  Constants that several of them shared would make a short list long work. */
static bool
terms_valid(const body *b, const subject *of, const gs_term *terms, uint32_t n)
{
	uint64_t constants = 0;

	for (uint32_t t = 0; t < n; t++)
	{
		if (!term_valid(b, of, &terms[t]))
			return false;
		constants += terms[t].nconstants;
	}
	return constants <= (b->to - b->from) / sizeof(gs_constant);
}

/* Checks the terms that an aggregate or a choice has, or not. */
static bool
clause_valid(const body *b, const subject *of, uint32_t terms, uint32_t n)
{
	return n == 0 || (n <= GS_STEPS_MAX_TERMS && inside(b, terms, n, sizeof(gs_term)) &&
					  terms_valid(b, of, gs_steps_at(b->steps, terms), n));
}

/* Checks a FILTER or HAVING step. */
static bool
filter_valid(const gs_steps *steps, uint32_t at, uint32_t bytes, const subject *of)
{
	const gs_filter_step *filter = gs_steps_at(steps, at);
	body b = {steps, 0, at + bytes};

	if (bytes < sizeof(*filter) || filter->zero != 0 || filter->nterms > GS_STEPS_MAX_TERMS ||
		filter->nterms > (bytes - sizeof(*filter)) / sizeof(gs_term))
		return false;
	b.from = at + (uint32_t) (sizeof(*filter) + filter->nterms * sizeof(gs_term));
	return terms_valid(&b, of, filter->terms, filter->nterms);
}

/* Returns the number of columns that there are behind all steps that give some. */
static uint32_t
all_columns(const gs_steps *steps)
{
	return steps->ncolumns + steps->ngiven;
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
		if (in->operand >= all_columns(b->steps))
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

/* Checks an instruction of COMPUTE that takes one value, the one before it on the stack. */
static bool
single_valid(const body *b, const gs_instruction *in, uint32_t depth)
{
	const gs_constant *constant = gs_steps_at(b->steps, in->operand);

	if (depth == 0 || in[-1].result > GS_NUMBER_I64)
		return false;
	if (in->code > GS_CODE_WITHIN)
		return in->operand == 0 && in->code <= GS_CODE_DAY_OF_YEAR;
	if (!inside(b, in->operand, in->code == GS_CODE_WITHIN ? 2 : 1, sizeof(gs_constant)))
		return false;
	if (in->code == GS_CODE_WITHIN)
		return gs_number_holds(GS_NUMBER_I64, gs_constant_scalar(&constant[0], false).integer) &&
			   gs_number_holds(GS_NUMBER_I64, gs_constant_scalar(&constant[1], false).integer);
	return constant->half[0] > 0 && constant->half[0] <= INT64_MAX && constant->half[1] == 0;
}

/* Follows the stack through an expression, which leaves one value there. */
static bool
code_valid(const body *b, const gs_instruction *code, uint32_t n, bool computes)
{
	uint32_t depth = 0;
	bool real = false; /* some value is a double, and so is the only one */

	for (uint32_t i = 0; i < n; i++)
	{
		const gs_instruction *in = &code[i];

		if ((in->code > GS_CODE_MULTIPLY && in->code < GS_CODE_QUOTIENT) || in->zero != 0 ||
			in->result > (computes ? GS_NUMBER_I64 : GS_NUMBER_F64))
			return false;
		real |= in->result == GS_NUMBER_F64;
		if (in->code >= GS_CODE_QUOTIENT)
		{
			if (!computes || !single_valid(b, in, depth))
				return false;
		}
		else if (in->code <= GS_CODE_CONSTANT)
		{
			if (!push_valid(b, in) || ++depth > GS_STEPS_MAX_DEPTH)
				return false;
		}
		else if (in->operand != 0 || depth-- < 2)
			return false;
	}
	return depth == 1 && (!real || n == 1);
}

/* Checks the operation of an aggregate. */
static bool
operation_valid(const gs_aggregate *a)
{
	bool rank = a->operation >= GS_RANK_DISC && a->operation <= GS_RANK_CEIL;

	if (a->operation > (uint32_t) GS_COUNT && (a->operation < GS_DISTINCT || a->operation > GS_RANK_CEIL))
		return false;
	return rank ? a->fraction >= 0 && a->fraction <= 1 : a->fraction == 0;
}

/* Checks an aggregate. */
static bool
aggregate_valid(const body *b, const gs_aggregate *a)
{
	const subject columns = {b->steps, all_columns(b->steps), false};

	if (!operation_valid(a) || a->zero != 0 || a->ncode > GS_STEPS_MAX_CODE ||
		!clause_valid(b, &columns, a->terms, a->nterms))
		return false;
	if (a->ncode == 0)
		return a->operation == (uint32_t) GS_COUNT;
	return inside(b, a->code, a->ncode, sizeof(gs_instruction)) &&
		   code_valid(b, gs_steps_at(b->steps, a->code), a->ncode, false);
}

/* Checks the keys of a GROUP step, each a column. */
static bool
keys_valid(const body *b, const gs_group_step *group)
{
	const uint32_t *keys = gs_steps_at(b->steps, group->keys);

	if (group->nkeys == 0)
		return group->keys == 0;
	if (group->nkeys > GS_STEPS_MAX_KEYS || !inside(b, group->keys, group->nkeys, sizeof(uint32_t)))
		return false;
	for (uint32_t i = 0; i < group->nkeys; i++)
		if (keys[i] >= all_columns(b->steps))
			return false;
	return true;
}

/* Checks a GROUP step. */
static bool
group_valid(const gs_steps *steps, uint32_t at, uint32_t bytes)
{
	const gs_group_step *group = gs_steps_at(steps, at);
	body b = {steps, 0, at + bytes};

	if (bytes < sizeof(*group) || group->zero != 0 || (group->naggregates == 0 && group->nkeys == 0) ||
		group->naggregates > GS_STEPS_MAX_AGGREGATES ||
		group->naggregates > (bytes - sizeof(*group)) / sizeof(gs_aggregate))
		return false;
	b.from = at + (uint32_t) (sizeof(*group) + group->naggregates * sizeof(gs_aggregate));
	for (uint32_t i = 0; i < group->naggregates; i++)
		if (!aggregate_valid(&b, &group->aggregates[i]))
			return false;
	return keys_valid(&b, group);
}

/* Checks a TOP step. */
static bool
top_valid(const gs_steps *steps, uint32_t at, uint32_t bytes, const gs_group_step *group)
{
	const gs_top_step *top = gs_steps_at(steps, at);

	if (bytes < sizeof(*top) || top->zero != 0 || top->limit == 0 || top->norders == 0 ||
		top->norders > GS_STEPS_MAX_KEYS || top->norders > (bytes - sizeof(*top)) / sizeof(gs_top_order))
		return false;
	for (uint32_t i = 0; i < top->norders; i++)
	{
		const gs_top_order *o = &top->orders[i];

		if (o->member >= group->nkeys + group->naggregates || o->descending > 1 || o->nulls_first > 1 || o->zero != 0)
			return false;
		if (o->member >= group->nkeys && gs_member_number(steps, o->member) == GS_NUMBER_F64 &&
			group->aggregates[o->member - group->nkeys].operation == (uint32_t) GS_SUM)
			return false;
	}
	return true;
}

/* Checks a ROWS step, which has nothing behind its orders. */
static bool
rows_valid(const gs_steps *steps, uint32_t at, uint32_t bytes)
{
	const gs_rows_step *rows = gs_steps_at(steps, at);

	if (steps->ngiven > 0 || bytes < sizeof(*rows) || rows->zero != 0 || rows->norders > GS_STEPS_MAX_KEYS ||
		bytes != sizeof(*rows) + rows->norders * sizeof(gs_row_order))
		return false;
	for (uint32_t i = 0; i < rows->norders; i++)
	{
		const gs_row_order *o = &rows->orders[i];

		if (o->column >= steps->ncolumns || o->descending > 1 || o->nulls_first > 1 || o->zero != 0)
			return false;
	}
	return rows->norders > 0 || (rows->offset == 0 && rows->limit == 0);
}

/* Checks a frame. */
static bool
frame_valid(const gs_window_function *f)
{
	const int64_t far = UINT32_MAX;

	if (f->function < GS_WINDOW_FIRST || f->frame != GS_FRAME_ROWS)
		return f->from == 0 && f->to == 0 && f->frame <= (f->function < GS_WINDOW_FIRST ? 0 : GS_FRAME_PEERS);
	return (f->from == GS_FRAME_FIRST || (f->from >= -far && f->from <= far)) &&
		   (f->to == GS_FRAME_LAST || (f->to >= -far && f->to <= far));
}

/* Returns true if a function that takes a frame's values one by one anew for each row has few of them. */
static bool
frame_short(const gs_window_function *f, gs_type type)
{
	if (f->frame != GS_FRAME_ROWS || f->from == GS_FRAME_FIRST || f->function < GS_WINDOW_SUM ||
		(f->function == GS_WINDOW_SUM && type != GS_F64))
		return true;
	return f->to != GS_FRAME_LAST && f->to - f->from < GS_FRAME_MOST_ROWS;
}

/* Checks the number that belongs to a function. */
static bool
number_valid(const gs_window_function *f)
{
	switch (f->function)
	{
		case GS_WINDOW_NTILE:
		case GS_WINDOW_NTH:
			return f->number > 0;
		case GS_WINDOW_LAG:
			return f->number >= -(int64_t) UINT32_MAX && f->number <= (int64_t) UINT32_MAX;
		default:
			return f->number == 0;
	}
}

/* Checks the value that LAG gives where there is no row: one that a column of the type can hold. */
static bool
default_valid(const body *b, const gs_window_function *f, gs_type type)
{
	gs_wide v;

	if (f->constant == 0 || f->function != GS_WINDOW_LAG)
		return f->constant == 0;
	if (type == GS_F32 || !inside(b, f->constant, 1, sizeof(gs_constant)))
		return false;
	if (type == GS_F64)
		return constants_valid(gs_steps_at(b->steps, f->constant), 1, true, false);
	v = gs_constant_scalar(gs_steps_at(b->steps, f->constant), false).integer;
	if (type <= GS_U64)
		return v >= 0 && v <= (gs_wide) gs_mask(8 * gs_width_of(type));
	return gs_number_holds(gs_number_of(type), v);
}

/* Checks a function.  n: the number of columns that its step can refer to. */
static bool
function_valid(const body *b, const gs_window_function *f, uint32_t n)
{
	const bool may = f->function >= GS_WINDOW_RUN, must = may && f->function != GS_WINDOW_COUNT;

	if (f->function > GS_WINDOW_MAX || (f->column == GS_NO_COLUMN ? must : !may || f->column >= n) ||
		!frame_valid(f) || !number_valid(f))
		return false;
	if (f->column == GS_NO_COLUMN)
		return f->constant == 0;
	return default_valid(b, f, (gs_type) b->steps->types[f->column]) &&
		   frame_short(f, (gs_type) b->steps->types[f->column]) &&
		   !(f->function == GS_WINDOW_SUM && b->steps->types[f->column] == GS_F32);
}

/* Checks the partition columns and the orders of a WINDOW step. */
static bool
orders_valid(const body *b, const gs_window_step *w, uint32_t n)
{
	const gs_row_order *orders = gs_steps_at(b->steps, w->orders);

	if (w->npartition > GS_STEPS_MAX_KEYS || w->norders > GS_STEPS_MAX_KEYS - w->npartition ||
		!inside(b, w->orders, w->npartition + w->norders, sizeof(gs_row_order)))
		return false;
	for (uint32_t i = 0; i < w->npartition + w->norders; i++)
		if (orders[i].column >= n || orders[i].zero != 0 || orders[i].descending > (i >= w->npartition) ||
			orders[i].nulls_first > (i >= w->npartition))
			return false;
	return true;
}

/* Checks a WINDOW step, which can refer to *n columns, and counts those that it gives. */
static bool
window_valid(const gs_steps *steps, uint32_t at, uint32_t bytes, uint32_t *n)
{
	const gs_window_step *w = gs_steps_at(steps, at);
	body b = {steps, 0, at + bytes};

	if (bytes < sizeof(*w) || w->nfunctions == 0 || w->nfunctions > all_columns(steps) - *n ||
		w->nfunctions > (bytes - sizeof(*w)) / sizeof(gs_window_function))
		return false;
	b.from = at + (uint32_t) (sizeof(*w) + w->nfunctions * sizeof(gs_window_function));
	if (!orders_valid(&b, w, *n))
		return false;
	for (uint32_t i = 0; i < w->nfunctions; i++)
		if (!function_valid(&b, &w->functions[i], *n) ||
			steps->types[*n + i] != gs_window_type(steps, &w->functions[i]))
			return false;
	*n += w->nfunctions;
	return true;
}

/* Checks the code of a computed column. */
static bool
expression_valid(const body *b, const gs_computed *c)
{
	const gs_instruction *code = gs_steps_at(b->steps, c->code);

	if (c->ncode > GS_STEPS_MAX_CODE || !inside(b, c->code, c->ncode, sizeof(gs_instruction)) ||
		!code_valid(b, code, c->ncode, true))
		return false;
	for (uint32_t i = 0; i < c->ncode; i++)
		if (code[i].code == GS_CODE_COLUMN && code[i].operand >= b->steps->ncolumns)
			return false;
	return true;
}

/* Checks the value of a choice. */
static bool
chosen_valid(const body *b, const gs_instruction *value)
{
	if (value->code > GS_CODE_CONSTANT || value->result > GS_NUMBER_I64 || value->zero != 0)
		return false;
	if (value->code == GS_CODE_CONSTANT && value->operand == 0)
		return true;
	return push_valid(b, value) && (value->code == GS_CODE_CONSTANT || value->operand < b->steps->ncolumns);
}

/* Checks the choices of a computed column. */
static bool
choices_valid(const body *b, const gs_computed *c)
{
	const gs_choice *choices = gs_steps_at(b->steps, c->code);
	const subject columns = {b->steps, b->steps->ncolumns, false};

	if (c->ncode != 0 || c->nchoices > GS_STEPS_MAX_CHOICES || !inside(b, c->code, c->nchoices, sizeof(gs_choice)))
		return false;
	for (uint32_t i = 0; i < c->nchoices; i++)
		if (!clause_valid(b, &columns, choices[i].terms, choices[i].nterms) || !chosen_valid(b, &choices[i].value))
			return false;
	return true;
}

/* Returns the bytes of the choices of a computed column with their terms and the constants of these, or of its code. */
static uint64_t
computed_bytes(const gs_steps *steps, const gs_computed *c)
{
	const gs_choice *choices = gs_steps_at(steps, c->code);
	uint64_t bytes = c->ncode * sizeof(gs_instruction) + c->nchoices * sizeof(gs_choice);

	for (uint32_t i = 0; i < c->nchoices; i++)
	{
		const gs_term *terms = gs_steps_at(steps, choices[i].terms);

		for (uint32_t t = 0; t < choices[i].nterms; t++)
			bytes += sizeof(gs_term) + terms[t].nconstants * sizeof(gs_constant);
	}
	return bytes;
}

/* Checks a COMPUTE step, which refers to the source's columns, and counts those that it gives. */
static bool
compute_valid(const gs_steps *steps, uint32_t at, uint32_t bytes, uint32_t *n)
{
	const gs_compute_step *c = gs_steps_at(steps, at);
	body b = {steps, 0, at + bytes};
	uint64_t used = 0;

	if (bytes < sizeof(*c) || c->zero != 0 || c->ncolumns == 0 || c->ncolumns > steps->ngiven ||
		c->ncolumns > (bytes - sizeof(*c)) / sizeof(c->columns[0]))
		return false;
	b.from = at + (uint32_t) (sizeof(*c) + c->ncolumns * sizeof(c->columns[0]));
	for (uint32_t i = 0; i < c->ncolumns; i++)
	{
		if (steps->types[*n + i] != GS_I64 || c->columns[i].zero != 0 ||
			!(c->columns[i].nchoices > 0 ? choices_valid(&b, &c->columns[i]) : expression_valid(&b, &c->columns[i])))
			return false;
		used += computed_bytes(steps, &c->columns[i]);
		if (used > b.to - b.from)
			return false;
	}
	*n += c->ncolumns;
	return true;
}

/* What is known of a list by the steps that have been checked. */
typedef struct known
{
	uint32_t before;			/* the kind of the last one */
	uint32_t n;					/* columns that there are */
	const gs_group_step *group; /* NULL before the GROUP step */
} known;

/* Checks a step behind GROUP. */
static bool
late_step_valid(const gs_steps *steps, uint32_t at, uint32_t bytes, const known *k)
{
	const gs_step *step = gs_steps_at(steps, at);
	const subject of = {steps, k->group->nkeys + k->group->naggregates, true};

	if (k->group->nkeys == 0 || step->kind <= k->before)
		return false;
	if (step->kind == GS_STEP_HAVING)
		return filter_valid(steps, at, bytes, &of);
	return step->kind == GS_STEP_TOP && top_valid(steps, at, bytes, k->group);
}

/* Checks a step. */
static bool
step_valid(const gs_steps *steps, uint32_t at, uint32_t bytes, known *k)
{
	const gs_step *step = gs_steps_at(steps, at);
	const subject of = {steps, k->n, false};

	if (k->before == GS_STEP_ROWS)
		return false;
	if (k->group != NULL)
		return late_step_valid(steps, at, bytes, k);
	switch (step->kind)
	{
		case GS_STEP_FILTER:
			return k->before != GS_STEP_FILTER && filter_valid(steps, at, bytes, &of);
		case GS_STEP_COMPUTE:
			return k->before == 0 && compute_valid(steps, at, bytes, &k->n);
		case GS_STEP_WINDOW:
			return window_valid(steps, at, bytes, &k->n);
		case GS_STEP_GROUP:
			k->group = (const gs_group_step *) step;
			return k->n == all_columns(steps) && group_valid(steps, at, bytes);
		default:
			return step->kind == GS_STEP_ROWS && rows_valid(steps, at, bytes);
	}
}

/* Checks the header and the types. */
static bool
header_valid(const gs_steps *steps, size_t available)
{
	if (steps == NULL || (uintptr_t) steps % 8 != 0 || available < sizeof(*steps) || steps->magic != GS_STEPS_MAGIC ||
		steps->bytes < sizeof(*steps) || steps->bytes > available || steps->bytes > GS_STEPS_MAX_BYTES ||
		steps->bytes % 8 != 0)
		return false;
	if (steps->ncolumns == 0 || steps->ncolumns > GS_STEPS_MAX_COLUMNS ||
		steps->ngiven > GS_STEPS_MAX_COLUMNS - steps->ncolumns || steps->nsteps == 0 ||
		steps->nsteps > GS_STEPS_MAX_STEPS || steps->first % 8 != 0 || steps->first > steps->bytes ||
		steps->first < sizeof(*steps) + all_columns(steps))
		return false;
	for (uint32_t c = 0; c < all_columns(steps); c++)
		if (steps->types[c] >= GS_BYTES)
			return false;
	return true;
}

gs_status
gs_steps_check(const gs_steps *steps, size_t available)
{
	known k = {0, 0, NULL};
	uint32_t at;

	if (!header_valid(steps, available))
		return GS_INVALID;
	k.n = steps->ncolumns;
	at = steps->first;
	for (uint32_t i = 0; i < steps->nsteps; i++)
	{
		const gs_step *step = gs_steps_at(steps, at);

		if (steps->bytes - at < sizeof(*step) || step->bytes > steps->bytes - at || step->bytes % 8 != 0 ||
			!step_valid(steps, at, step->bytes, &k))
			return GS_INVALID;
		k.before = step->kind;
		at += step->bytes;
	}
	return k.before >= GS_STEP_GROUP && k.before < GS_STEP_COMPUTE && at == steps->bytes ? GS_OK : GS_INVALID;
}
