/*
 * windows.c: lists of steps with windows, what engines share: which columns steps take, the list of the steps behind a
 * window, and the ranges of the columns that it gives.
 */
#include "groups.h"

/* ---------------------------------------------------------------- columns */

/* Returns a column's bit. */
static uint64_t
bit(uint32_t column)
{
	return (uint64_t) 1 << column;
}

/* Returns the columns that terms take. */
static uint64_t
terms_columns(const gs_term *terms, uint32_t n)
{
	uint64_t columns = 0;

	for (uint32_t i = 0; i < n; i++)
		columns |= bit(terms[i].column) | (terms[i].test >= GS_TEST_EQ_COLUMN ? bit(terms[i].constants) : 0);
	return columns;
}

uint64_t
gs_window_arguments(const gs_window_step *w)
{
	uint64_t columns = 0;

	for (uint32_t i = 0; i < w->nfunctions; i++)
		columns |= w->functions[i].column != GS_NO_COLUMN ? bit(w->functions[i].column) : 0;
	return columns;
}

/* Returns the columns that a window takes. */
static uint64_t
window_columns(const gs_steps *steps, const gs_window_step *w)
{
	const gs_row_order *orders = (const gs_row_order *) gs_steps_at(steps, w->orders);
	uint64_t columns = gs_window_arguments(w);

	for (uint32_t i = 0; i < w->npartition + w->norders; i++)
		columns |= bit(orders[i].column);
	return columns;
}

/* Returns the columns that an aggregate takes. */
static uint64_t
aggregate_columns(const gs_steps *steps, const gs_aggregate *a)
{
	const gs_instruction *code = gs_steps_at(steps, a->code);
	uint64_t columns = terms_columns(gs_steps_at(steps, a->terms), a->nterms);

	for (uint32_t i = 0; i < a->ncode; i++)
		columns |= code[i].code == GS_CODE_COLUMN ? bit(code[i].operand) : 0;
	return columns;
}

/* Returns the columns that groups take. */
static uint64_t
group_columns(const gs_steps *steps, const gs_group_step *group)
{
	uint64_t columns = 0;

	for (uint32_t k = 0; k < group->nkeys; k++)
		columns |= bit(gs_group_key(steps, k));
	for (uint32_t i = 0; i < group->naggregates; i++)
		columns |= aggregate_columns(steps, &group->aggregates[i]);
	return columns;
}

uint64_t
gs_steps_columns(const gs_steps *steps, const gs_step *from)
{
	const gs_step *step = from;
	uint64_t columns = 0;

	for (; step->kind != GS_STEP_GROUP; step = gs_step_after(step))
		if (step->kind == GS_STEP_WINDOW)
			columns |= window_columns(steps, (const gs_window_step *) step);
		else
			columns |= terms_columns(((const gs_filter_step *) step)->terms, ((const gs_filter_step *) step)->nterms);
	return columns | group_columns(steps, (const gs_group_step *) step);
}

bool
gs_groups_placed(const gs_steps *steps, uint32_t column)
{
	const gs_window_step *w = gs_steps_compute(steps) == NULL ? gs_steps_window(steps) : NULL;
	const gs_filter_step *filter = gs_steps_filter(steps);
	const gs_row_order *order;
	uint64_t others;

	if (w == NULL || w->npartition > 0 || w->norders != 1)
		return false;
	order = (const gs_row_order *) gs_steps_at(steps, w->orders);
	others = gs_window_arguments(w) | gs_steps_columns(steps, gs_step_after(&w->step));
	others |= filter != NULL ? terms_columns(filter->terms, filter->nterms) : 0;
	return order->column == column && order->descending == 0 && (others & bit(column)) == 0;
}

bool
gs_window_placed(const gs_groups *head)
{
	const gs_window_step *w = gs_steps_window(head->steps);
	const gs_row_order *orders = (const gs_row_order *) gs_steps_at(head->steps, w->orders);

	return w->npartition == 0 && w->norders == 1 && head->ranges[orders[0].column].placed;
}

/* ---------------------------------------------------------------- groups in order */

/* Returns true if the groups of a list have a column as a key. */
static bool
is_key(const gs_steps *after, uint32_t column)
{
	for (uint32_t k = 0; k < gs_steps_group(after)->nkeys; k++)
		if (gs_group_key(after, k) == column)
			return true;
	return false;
}

/* Returns true if a column is one of a window's partition. */
static bool
in_partition(const gs_steps *steps, const gs_window_step *w, uint32_t column)
{
	const gs_row_order *partition = (const gs_row_order *) gs_steps_at(steps, w->orders);

	for (uint32_t i = 0; i < w->npartition; i++)
		if (partition[i].column == column)
			return true;
	return false;
}

/* Returns true if a column has one value in each run that a function numbers, or (GS_NO_COLUMN) in each partition. */
static bool
same_in_runs(const gs_steps *steps, const gs_window_step *w, uint32_t function, uint32_t column)
{
	if (in_partition(steps, w, column))
		return true;
	return function != GS_NO_COLUMN &&
		   (column == steps->ncolumns + function || column == w->functions[function].column);
}

/* Returns true if the groups are the runs that a function numbers, or (GS_NO_COLUMN) the partitions. */
static bool
groups_are(const gs_steps *steps, const gs_steps *after, uint32_t function)
{
	const gs_window_step *w = gs_steps_window(steps);
	const gs_row_order *partition = (const gs_row_order *) gs_steps_at(steps, w->orders);

	for (uint32_t i = 0; i < w->npartition; i++)
		if (!is_key(after, partition[i].column))
			return false;
	for (uint32_t k = 0; k < gs_steps_group(after)->nkeys; k++)
		if (!same_in_runs(steps, w, function, gs_group_key(after, k)))
			return false;
	return true;
}

uint32_t
gs_window_runs(const gs_steps *steps, const gs_steps *after)
{
	const gs_window_step *w = gs_steps_window(steps);

	if (gs_steps_taker(after, GS_STEP_GROUP) == NULL)
		return GS_NO_COLUMN;
	for (uint32_t i = 0; i < w->nfunctions; i++)
		if (w->functions[i].function == GS_WINDOW_RUN && is_key(after, steps->ncolumns + i) &&
			groups_are(steps, after, i))
			return steps->ncolumns + i;
	return GS_NO_COLUMN;
}

bool
gs_window_partitions(const gs_steps *steps, const gs_steps *after)
{
	return gs_steps_taker(after, GS_STEP_GROUP) != NULL && groups_are(steps, after, GS_NO_COLUMN);
}

/* ---------------------------------------------------------------- ranges */

/* Returns the range of some integers. */
static gs_range
integers(gs_wide low, gs_wide high, bool nulls)
{
	const gs_unsigned_wide a = (gs_unsigned_wide) low, b = (gs_unsigned_wide) high;

	return (gs_range){.low = {{(uint64_t) a, (uint64_t) (a >> 64)}},
					  .high = {{(uint64_t) b, (uint64_t) (b >> 64)}},
					  .nulls = nulls};
}

/* Returns the range of sums of up to some number of values of a range. */
static gs_range
sums(const gs_range *of, uint64_t rows, bool real)
{
	gs_wide low = gs_constant_scalar(&of->low, false).integer, high = gs_constant_scalar(&of->high, false).integer;

	if (low > high)
		return integers(low, high, true);
	if (real)
		return integers(0, UINT64_MAX, true);
	if (low < 0 && !gs_wide_multiply(low, (gs_wide) rows, &low))
		low = gs_number_least(GS_NUMBER_I128);
	if (high > 0 && !gs_wide_multiply(high, (gs_wide) rows, &high))
		high = gs_number_greatest(GS_NUMBER_I128);
	return integers(low, high, true);
}

/* Returns the range of LAG's values. */
static gs_range
lag_range(const gs_steps *steps, const gs_window_function *f, const gs_range *of)
{
	gs_wide low = gs_constant_scalar(&of->low, false).integer, high = gs_constant_scalar(&of->high, false).integer, v;
	const bool real = gs_type_is_float((gs_type) steps->types[f->column]), empty = low > high;

	if (f->constant == 0)
		return (gs_range){.low = of->low, .high = of->high, .nulls = true};
	v = gs_scalar_code(gs_constant_scalar(gs_steps_at(steps, f->constant), real), real);
	return integers(empty || v < low ? v : low, empty || v > high ? v : high, of->nulls);
}

/* Returns the range of a function's values over at most some number of rows. */
static gs_range
function_range(const gs_steps *steps, const gs_window_function *f, const gs_range *ranges, uint64_t rows)
{
	switch (f->function)
	{
		case GS_WINDOW_PERCENT_RANK:
		case GS_WINDOW_CUME_DIST:
			return integers((gs_wide) gs_float_order64(0, true), (gs_wide) gs_float_order64(gs_real_bits(1), true),
							false);
		case GS_WINDOW_NTILE:
			return integers(1, f->number < (int64_t) rows ? f->number : (gs_wide) rows, false);
		case GS_WINDOW_COUNT:
			return integers(0, (gs_wide) rows, false);
		case GS_WINDOW_LAG:
			return lag_range(steps, f, &ranges[f->column]);
		case GS_WINDOW_SUM:
			return sums(&ranges[f->column], rows, steps->types[f->column] == GS_F64);
		case GS_WINDOW_FIRST:
		case GS_WINDOW_LAST:
		case GS_WINDOW_NTH:
		case GS_WINDOW_MIN:
		case GS_WINDOW_MAX:
			return (gs_range){
				.low = ranges[f->column].low,
				.high = ranges[f->column].high,
				.nulls = ranges[f->column].nulls || f->frame == GS_FRAME_ROWS || f->function == GS_WINDOW_NTH};
		default: /* numbers of rows */
			return integers(1, (gs_wide) rows, false);
	}
}

/* ---------------------------------------------------------------- the list behind */

gs_status
gs_window_after(const gs_host *host, const gs_groups *head, gs_range *ranges, gs_steps **made, uint64_t *taken)
{
	const gs_steps *steps = head->steps;
	const gs_window_step *w = gs_steps_window(steps);
	gs_steps *after = (gs_steps *) host->alloc(host->arg, steps->bytes);

	if (after == NULL)
		return GS_NOMEM;
	memcpy(after, steps, steps->bytes);
	memcpy(ranges, head->ranges, steps->ncolumns * sizeof(*ranges));
	for (uint32_t i = 0; i < w->nfunctions; i++)
		ranges[steps->ncolumns + i] = function_range(steps, &w->functions[i], head->ranges, head->rows);
	/* offsets count from the header, so that steps can stay where they are */
	after->ncolumns += w->nfunctions;
	after->ngiven -= w->nfunctions;
	after->nsteps -= gs_steps_filter(steps) != NULL ? 2 : 1;
	after->first = (uint32_t) ((const char *) gs_step_after(&w->step) - (const char *) steps);
	*taken = gs_steps_columns(after, (const gs_step *) gs_steps_at(after, after->first));
	*made = after;
	return GS_OK;
}
