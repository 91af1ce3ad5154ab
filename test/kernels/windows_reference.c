/*
 * windows_reference.c: see windows_reference.h.
 */
#include "windows_reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A partition's rows in order, of all columns. */
typedef struct partition
{
	const gs_steps *steps;
	const plain_segment *s;
	const gs_row_order *orders;
	uint32_t norders;
	const uint32_t *rows;
	int64_t n;
} partition;

static value
value_at(const partition *p, uint32_t column, int64_t i)
{
	return column_value(p->steps, p->s, column, p->rows[i]);
}

/* ---- columns */

static void
put_value(gs_type type, plain_segment *s, uint32_t c, uint32_t row, value v)
{
	size_t width = gs_type_width(type);
	uint8_t *p = s->values[c] + row * width;
	float f = (float) v.d;

	if (v.null)
		s->nulls[c][row / 64] |= (uint64_t) 1 << row % 64;
	memcpy(p, type == GS_F64 ? (void *) &v.d : type == GS_F32 ? (void *) &f : (void *) &v.i, width);
}

/* Makes room for columns. */
static plain_segment
new_columns(const uint8_t *types, uint32_t n, uint32_t rows)
{
	plain_segment s = {.rows = rows};

	for (uint32_t c = 0; c < n; c++)
	{
		s.values[c] = calloc(rows + 1, gs_type_width((gs_type) types[c]));
		s.nulls[c] = calloc(rows / 64 + 1, 8);
	}
	return s;
}

void
windows_drop(plain_segment *rows)
{
	for (uint32_t c = 0; c < MOST_PLAIN; c++)
		free(rows->values[c]), free(rows->nulls[c]);
	*rows = (plain_segment){0};
}

void
windows_append(const gs_steps *steps, plain_segment *to, const plain_segment *from, uint32_t first, uint32_t rows)
{
	plain_segment all = new_columns(steps->types, steps->ncolumns, to->rows + rows);

	for (uint32_t c = 0; c < steps->ncolumns; c++)
	{
		for (uint32_t r = 0; r < to->rows; r++)
			put_value((gs_type) steps->types[c], &all, c, r, column_value(steps, to, c, r));
		for (uint32_t r = 0; r < rows; r++)
			put_value((gs_type) steps->types[c], &all, c, to->rows + r, column_value(steps, from, c, first + r));
	}
	windows_drop(to);
	*to = all;
}

/* ---- order */

static const partition *sorted;

static int
compare_rows(const void *x, const void *y)
{
	uint32_t a = *(const uint32_t *) x, b = *(const uint32_t *) y;

	for (uint32_t i = 0; i < sorted->norders; i++)
	{
		const gs_row_order *o = &sorted->orders[i];
		value v = column_value(sorted->steps, sorted->s, o->column, a);
		value w = column_value(sorted->steps, sorted->s, o->column, b);
		int sign;

		if (v.null != w.null)
			return v.null == (o->nulls_first != 0) ? -1 : 1;
		sign = v.null ? 0 : compare_values(v, w);
		if (sign != 0)
			return o->descending ? -sign : sign;
	}
	return 0;
}

/* True if two rows are equal by the orders from one on. */
static bool
equal_by(const partition *p, uint32_t first, uint32_t norders, int64_t i, int64_t j)
{
	partition some = *p;

	some.orders += first;
	some.norders = norders;
	sorted = &some;
	return compare_rows(&p->rows[i], &p->rows[j]) == 0;
}

/* ---- frames */

/* The last peer of a row; "last" is that of the row before. */
static int64_t
last_peer(const partition *p, int64_t i, int64_t last)
{
	if (i > 0 && last >= i)
		return last;
	for (last = i; last + 1 < p->n && equal_by(p, 0, p->norders, last + 1, i);)
		last++;
	return last;
}

/* The frame of a row: from *a to *b, inclusive; *a > *b: empty.  *b was that of the row before. */
static void
frame_of(const partition *p, const gs_window_function *f, int64_t i, int64_t *a, int64_t *b)
{
	*a = 0;
	*b = f->frame == GS_FRAME_PEERS ? last_peer(p, i, *b) : p->n - 1;
	if (f->frame == GS_FRAME_ROWS && f->from != GS_FRAME_FIRST)
		*a = i + f->from < 0 ? 0 : i + f->from;
	if (f->frame == GS_FRAME_ROWS && f->to != GS_FRAME_LAST)
		*b = i + f->to >= p->n ? p->n - 1 : i + f->to;
}

/* A frame, and an aggregate over it. */
typedef struct framed
{
	int64_t a, b;
	wide count; /* of values that are not NULL */
	value value;
	bool fits; /* it did not leave its range */
} framed;

/* An aggregate over a frame from a to b; *last is that of the row before, whose values come first in this one if it
 * begins where that did. */
static void
aggregate(const partition *p, const gs_window_function *f, int64_t a, int64_t b, framed *last)
{
	value *out = &last->value;

	if (last->count < 0 || a != last->a || b < last->b || last->b < last->a)
		*last = (framed){.a = a, .b = a - 1, .value.null = f->function != GS_WINDOW_COUNT, .fits = true};
	for (int64_t k = last->b + 1; k <= b; k++)
	{
		value v = {0}, old = *out;

		if (f->column != GS_NO_COLUMN)
			v = value_at(p, f->column, k);
		if (v.null)
			continue;
		last->count++;
		if (f->function == GS_WINDOW_COUNT)
			out->i = last->count;
		else if (old.null)
			*out = v;
		else if (f->function == GS_WINDOW_SUM)
		{
			out->d = old.d + v.d;
			last->fits &= v.real ? !(isinf(out->d) && !isinf(old.d) && !isinf(v.d))
								 : !__builtin_add_overflow(old.i, v.i, &out->i);
		}
		else if (f->function == GS_WINDOW_MIN ? compare_values(v, old) <= 0 : compare_values(v, old) >= 0)
			*out = v;
	}
	last->b = b;
}

/* ---- functions */

/* ntile: as equal as possible, larger ones first. */
static wide
bucket(int64_t i, int64_t n, int64_t buckets)
{
	for (int64_t k = 0, at = 0;; k++)
	{
		at += n / buckets + (k < n % buckets);
		if (i < at)
			return k + 1;
	}
}

static value
run_of(const partition *p, uint32_t column, int64_t i, const value *before)
{
	value run = {0};

	if (i == 0)
		return (value){.i = 1};
	run.i = before->i;
	if (value_at(p, column, i).null != value_at(p, column, i - 1).null ||
		(!value_at(p, column, i).null && compare_values(value_at(p, column, i), value_at(p, column, i - 1)) != 0))
		run.i++;
	return run;
}

/* The value of a row; before: that of the row before, as is *last of frames. */
static bool
function_value(const partition *p, const gs_window_function *f, int64_t i, const value *before, framed *last,
			   value *out)
{
	int64_t a, b = last->b, at;
	bool peer = i > 0 && equal_by(p, 0, p->norders, i - 1, i); /* of the row before */

	*out = (value){0};
	switch (f->function)
	{
		case GS_WINDOW_ROW_NUMBER:
			out->i = i + 1;
			return true;
		case GS_WINDOW_RANK:
			out->i = peer ? before->i : i + 1;
			return true;
		case GS_WINDOW_DENSE_RANK:
			out->i = i == 0 ? 1 : before->i + !peer;
			return true;
		case GS_WINDOW_PERCENT_RANK:
			*out = (value){.real = true, .d = p->n == 1 ? 0 : (double) i / (double) (p->n - 1)};
			if (peer)
				*out = *before;
			return true;
		case GS_WINDOW_CUME_DIST:
			last->b = last_peer(p, i, last->b);
			*out = (value){.real = true, .d = (double) (last->b + 1) / (double) p->n};
			return true;
		case GS_WINDOW_NTILE:
			out->i = bucket(i, p->n, f->number);
			return true;
		case GS_WINDOW_RUN:
			*out = run_of(p, f->column, i, before);
			return true;
		case GS_WINDOW_LAG:
			at = i - f->number;
			if (at >= 0 && at < p->n)
				*out = value_at(p, f->column, at);
			else
			{
				*out = (value){.null = f->constant == 0, .real = value_at(p, f->column, 0).real};
				if (f->constant != 0)
				{
					memcpy(&out->i, (const char *) p->steps + f->constant, 16);
					memcpy(&out->d, (const char *) p->steps + f->constant, 8);
				}
			}
			return true;
		default:
			break;
	}
	frame_of(p, f, i, &a, &b);
	if (f->function >= GS_WINDOW_COUNT)
	{
		aggregate(p, f, a, b, last);
		*out = last->value;
		return last->fits;
	}
	last->b = b;
	at = f->function == GS_WINDOW_NTH ? f->number - 1 : f->function == GS_WINDOW_LAST ? b - a : 0;
	if (a > b || at > b - a)
		out->null = true;
	else
		*out = value_at(p, f->column, a + at);
	return true;
}

/* Computes the columns of a partition. */
static bool
do_partition(const partition *p, const gs_window_step *w, const plain_segment *to, uint32_t nsource)
{
	bool fits = true;

	for (uint32_t c = 0; c < w->nfunctions; c++)
	{
		value v = {0}, before = {0};
		framed last = {.b = -1, .count = -1};

		for (int64_t i = 0; i < p->n; i++, before = v)
		{
			fits &= function_value(p, &w->functions[c], i, &before, &last, &v);
			put_value((gs_type) p->steps->types[nsource + c], (plain_segment *) to, nsource + c, p->rows[i], v);
		}
	}
	return fits;
}

/* Keeps the rows that pass a filter, which may be NULL. */
static void
filter_rows(const gs_steps *steps, const gs_filter_step *filter, plain_segment *rows)
{
	plain_segment kept = {0};

	if (filter == NULL)
		return;
	kept = new_columns(steps->types, steps->ncolumns, rows->rows);
	kept.rows = 0;
	for (uint32_t r = 0; r < rows->rows; r++)
	{
		if (!terms_hold(steps, filter->terms, filter->nterms, rows, r))
			continue;
		for (uint32_t c = 0; c < steps->ncolumns; c++)
			put_value((gs_type) steps->types[c], &kept, c, kept.rows, column_value(steps, rows, c, r));
		kept.rows++;
	}
	windows_drop(rows);
	*rows = kept;
}

/* Makes room for columns behind those that there are. */
static void
add_columns(const gs_steps *steps, plain_segment *rows, uint32_t n)
{
	plain_segment all = new_columns(steps->types + steps->ncolumns, n, rows->rows);

	memcpy(rows->values + steps->ncolumns, all.values, n * sizeof(all.values[0]));
	memcpy(rows->nulls + steps->ncolumns, all.nulls, n * sizeof(all.nulls[0]));
}

/* Makes a list of what remains behind its first steps, which give n columns. */
static void
leave(const steps_list *l, steps_list *left, uint32_t steps, uint32_t next, uint32_t n)
{
	memcpy(left, l, sizeof(*l));
	left->head.ncolumns += n;
	left->head.ngiven -= n;
	left->head.nsteps -= steps;
	left->head.first = next;
}

/* Carries out the COMPUTE step that a list begins with. */
static bool
compute_step(const steps_list *l, plain_segment *rows, steps_list *left)
{
	const gs_compute_step *c = (const gs_compute_step *) (l->bytes + l->head.first);
	bool fits = true;

	add_columns(&l->head, rows, c->ncolumns);
	for (uint32_t i = 0; i < c->ncolumns; i++)
		for (uint32_t r = 0; r < rows->rows && fits; r++)
		{
			value v;

			fits = computed_value(&l->head, &c->columns[i], rows, r, &v);
			put_value(GS_I64, rows, l->head.ncolumns + i, r, v);
		}
	leave(l, left, 1, l->head.first + c->step.bytes, c->ncolumns);
	return fits;
}

/* Carries out the WINDOW step that a list begins with, but for a filter: rows that pass get the step's columns. */
static bool
windows_step(const steps_list *l, plain_segment *rows, steps_list *left)
{
	const gs_step *first = (const gs_step *) (l->bytes + l->head.first), *step = first;
	const gs_window_step *w;
	const gs_row_order *orders;
	partition p = {.steps = &l->head};
	uint32_t n = l->head.ncolumns, *order;
	bool fits = true;

	if (first->kind == GS_STEP_FILTER)
	{
		filter_rows(&l->head, (const gs_filter_step *) first, rows);
		step = (const gs_step *) ((const char *) first + first->bytes);
	}
	w = (const gs_window_step *) step;
	orders = (const gs_row_order *) (l->bytes + w->orders);
	add_columns(&l->head, rows, w->nfunctions);
	order = malloc((rows->rows + 1) * sizeof(*order));
	for (uint32_t r = 0; r < rows->rows; r++)
		order[r] = r;
	p.s = rows;
	p.orders = orders;
	p.norders = w->npartition + w->norders;
	p.rows = order;
	sorted = &p;
	qsort(order, rows->rows, sizeof(*order), compare_rows);
	for (uint32_t from = 0, to; from < rows->rows; from = to)
	{
		partition one = p;

		for (to = from + 1; to < rows->rows && equal_by(&p, 0, w->npartition, to - 1, to);)
			to++;
		one.orders += w->npartition;
		one.norders = w->norders;
		one.rows += from;
		one.n = to - from;
		fits &= do_partition(&one, w, rows, n);
	}
	free(order);
	leave(l, left, step == first ? 1 : 2, (uint32_t) ((const char *) step - (const char *) l) + step->bytes,
		  w->nfunctions);
	return fits;
}

expected_groups *
expect_windows(const steps_list *l, plain_segment *rows, steps_list *left)
{
	steps_list *now = malloc(sizeof(*now));
	bool fits = true;
	expected_groups *e = NULL;

	memcpy(left, l, sizeof(*l));
	while (left->head.ngiven > 0 && fits)
	{
		memcpy(now, left, sizeof(*now));
		fits = ((const gs_step *) (now->bytes + now->head.first))->kind == GS_STEP_COMPUTE
				   ? compute_step(now, rows, left)
				   : windows_step(now, rows, left);
	}
	free(now);
	if (fits)
		e = expect_groups(&left->head);
	if (e != NULL && !expect_rows(e, rows, 0, rows->rows))
	{
		drop_expected(e);
		e = NULL;
	}
	return e;
}
