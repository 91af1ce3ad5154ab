/*
 * places_reference.c: see places_reference.h.
 */
#include "places_reference.h"

#include "../../kernels/common/steps_row.h"

/* What qsort's functions look at. */
static const table *data;
static const gs_steps *list;
static value *values[SEGMENTS][MOST_COLUMNS]; /* of the columns in orders */

/* Compares rows by the list's orders. */
static int
by_orders(const void *x, const void *y)
{
	const gs_rows_step *step = gs_steps_rows(list);
	const gs_row *a = x, *b = y;

	for (uint32_t i = 0; i < step->norders; i++)
	{
		const gs_row_order *o = &step->orders[i];
		value v = values[a->segment][o->column][a->row], w = values[b->segment][o->column][b->row];
		int sign = v.null || w.null ? 0 : compare_values(v, w);

		if (v.null != w.null)
			return v.null == (o->nulls_first != 0) ? -1 : 1;
		if (sign != 0)
			return o->descending ? -sign : sign;
	}
	return 0;
}

static int
by_place(const void *x, const void *y)
{
	const gs_row *a = x, *b = y;

	if (a->segment != b->segment)
		return a->segment < b->segment ? -1 : 1;
	return (a->row > b->row) - (a->row < b->row);
}

/* Reads a column, once for all comparisons. */
static void
read_values(uint32_t c)
{
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		free(values[s][c]);
		values[s][c] = malloc(data->plain[s].rows * sizeof(value));
		for (uint32_t r = 0; r < data->plain[s].rows; r++)
			values[s][c][r] = column_value(list, &data->plain[s], c, r);
	}
}

expected_places
expect_places(const gs_steps *steps, const table *t, const gs_span *spans, uint32_t nspans)
{
	const gs_filter_step *filter = gs_steps_filter(steps);
	const gs_rows_step *step = gs_steps_rows(steps);
	expected_places e = {0};
	uint64_t rows = 0;

	data = t;
	list = steps;
	for (uint32_t i = 0; i < step->norders; i++)
		read_values(step->orders[i].column);

	for (uint32_t i = 0; i < nspans; i++)
		rows += spans[i].rows;
	e.in_order = malloc((rows + 1) * sizeof(gs_row));
	e.places = malloc((rows + 1) * sizeof(gs_row));
	for (uint32_t i = 0; i < nspans; i++)
		for (uint32_t r = spans[i].first; r < spans[i].first + spans[i].rows; r++)
			if (filter == NULL || terms_hold(steps, filter->terms, filter->nterms, &t->plain[spans[i].segment], r))
				e.places[e.n++] = (gs_row){spans[i].segment, r};
	qsort(e.places, e.n, sizeof(gs_row), by_place);
	memcpy(e.in_order, e.places, e.n * sizeof(gs_row));
	qsort(e.in_order, e.n, sizeof(gs_row), by_orders);
	return e;
}

void
drop_places(expected_places *e)
{
	free(e->in_order);
	free(e->places);
}

const char *
page_wrong(const expected_places *e, gs_row *out, uint64_t count)
{
	const gs_rows_step *step = gs_steps_rows(list);
	uint64_t first = step->offset < e->n ? step->offset : e->n, right = e->n - first, at = 0;

	if (step->limit > 0 && step->limit < right)
		right = step->limit;
	if (count != right)
		return "the number of rows";
	for (uint64_t i = 0; i < count; i++)
		if (out[i].segment >= SEGMENTS || out[i].row >= data->plain[out[i].segment].rows)
			return "a row that is none";
	for (uint64_t i = 0; i < count; i++)
		if (by_orders(&out[i], &e->in_order[first + i]) != 0)
			return "the order";
	/* each is one that passes, and there as often as that */
	qsort(out, count, sizeof(*out), by_place);
	for (uint64_t i = 0; i < count; i++, at++)
	{
		while (at < e->n && by_place(&e->places[at], &out[i]) < 0)
			at++;
		if (at == e->n || by_place(&e->places[at], &out[i]) != 0)
			return "a row that does not pass, or is there twice";
	}
	return NULL;
}
