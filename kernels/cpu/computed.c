/*
 * computed.c: lists with COMPUTE on the CPU: the columns of some rows are computed into a worker's memory, and go with
 * the source's to the question of the steps behind.  Where few rows pass the filter that follows, only these are
 * computed, and go with what else is wanted of them.
 */
#include "../common/steps_computed.h"
#include "groups.h"
#include "steps.h"

#define COMPUTED_ROWS 8192 /* at once: a multiple of 64 */
#define COMPUTED_WORDS (COMPUTED_ROWS / 64 + 1)
#define PACKED_ROWS (COMPUTED_ROWS / 4) /* the most that are packed */
#define PACKED_VALUES ((PACKED_ROWS + 64) * 2) /* room for their values, in words, */
#define PACKED_WORDS (PACKED_ROWS / 64 + 1)	   /* and for their NULLs */

typedef struct gs_computed_worker
{
	bool begun;
	gs_work work; /* whose memory this is */
	gs_block memory;
} gs_computed_worker;

typedef struct gs_cpu_computed
{
	gs_groups head;
	gs_work work;
	size_t bytes;
	const gs_compute_step *step;
	gs_steps *after_steps;
	uint64_t needed; /* columns that are computed, a bit for each */
	uint64_t wanted; /* the source's columns that these, and the steps behind, take */
	gs_steps_plan plan; /* of the filter's terms, and choices' */
	gs_block plan_memory;
	gs_range ranges[GS_STEPS_MAX_COLUMNS]; /* of its columns */
	gs_type types[GS_STEPS_MAX_COLUMNS];
	gs_computed_worker workers[];
} gs_cpu_computed;

/* Some rows of a segment, while columns are computed of them. */
typedef struct rows_of_segment
{
	const gs_steps_plan *plan;
	const gs_held *columns;
	uint64_t first;
	uint32_t n;
	int64_t *slots[GS_STEPS_MAX_DEPTH]; /* room for values of an expression */
} rows_of_segment;

/* Makes values that are NULL, which may be anything, 0. */
static void
clear_nulls(const rows_of_segment *r, const uint64_t *nulls, int64_t *values)
{
	for (uint32_t at = 0; nulls != NULL && at < r->n; at += 64)
	{
		uint64_t some = gs_null_bits(nulls, r->first + at, r->n - at < 64 ? r->n - at : 64);

		for (; some != 0; some &= some - 1)
			values[at + (uint32_t) __builtin_ctzll(some)] = 0;
	}
}

/* Pushes a column's values, of at most 64 bits. */
static void
push_column(const rows_of_segment *r, uint32_t column, int64_t *to)
{
	gs_type type = (gs_type) r->plan->steps->types[column];
	const char *values = (const char *) r->columns[column].values + r->first * gs_width_of(type);

	if (type == GS_I64)
		memcpy(to, values, r->n * sizeof(*to));
	else if (type == GS_U32)
		for (uint32_t i = 0; i < r->n; i++)
			to[i] = ((const uint32_t *) values)[i];
	else
		r->plan->reduce->widen(type, values, r->n, to);
	clear_nulls(r, r->columns[column].nulls, to);
}

/* Pushes a constant. */
static void
push_constant(const rows_of_segment *r, uint32_t at, int64_t *to)
{
	const int64_t x = (int64_t) ((const gs_constant *) gs_steps_at(r->plan->steps, at))->half[0];

	for (uint32_t i = 0; i < r->n; i++)
		to[i] = x;
}

/*
 * Divides by a number greater than 0, rounding down, by multiplication with its inverse.  A quotient of doubles with
 * less than 50 bits is off by less than a half, so that the next integer below is one too small, right, or one too
 * great; what is left is exact, as the words of 64 bits wrap around.
 */
static void
divide(const gs_instruction *in, int64_t divisor, int64_t *x, uint32_t n)
{
	const double inverse = 1 / (double) divisor, most = divisor < (int64_t) 1 << 60 ? 0x1p50 : 0;
	const bool remainder = in->code == GS_CODE_REMAINDER;

	for (uint32_t i = 0; i < n; i++)
	{
		double quotient = (double) x[i] * inverse;
		int64_t q = quotient > -most && quotient < most ? (int64_t) quotient - (quotient < 0)
														: gs_quotient(x[i], divisor);
		int64_t left = (int64_t) ((uint64_t) x[i] - (uint64_t) q * (uint64_t) divisor);

		q += (left >= divisor) - (left < 0);
		left += left < 0 ? divisor : left >= divisor ? -divisor : 0;
		x[i] = remainder ? left : q;
	}
}

/* Computes an instruction that takes one value.  Returns false if some result leaves its range. */
static bool
compute_single(const rows_of_segment *r, const gs_instruction *in, int64_t *x)
{
	const gs_constant *constant = gs_steps_at(r->plan->steps, in->operand);
	int64_t least = (int64_t) gs_number_least((gs_number) in->result);
	int64_t greatest = (int64_t) gs_number_greatest((gs_number) in->result);
	bool bad = false;

	if (in->code <= GS_CODE_REMAINDER)
		divide(in, (int64_t) constant->half[0], x, r->n);
	else if (in->code != GS_CODE_WITHIN)
		for (uint32_t i = 0; i < r->n; i++)
			x[i] = gs_part_of_date(in->code, x[i]);
	else
	{
		least = (int64_t) constant[0].half[0] > least ? (int64_t) constant[0].half[0] : least;
		greatest = (int64_t) constant[1].half[0] < greatest ? (int64_t) constant[1].half[0] : greatest;
	}
	for (uint32_t i = 0; i < r->n; i++)
		bad |= x[i] < least || x[i] > greatest;
	return !bad;
}

/* Computes a column's values.  Those that are NULL are of zeros. */
static gs_status
compute_values(const rows_of_segment *r, const gs_instruction *code, uint32_t ncode, int64_t *out)
{
	uint32_t depth = 0;

	for (const gs_instruction *in = code; in < code + ncode; in++)
	{
		if (in->code == GS_CODE_COLUMN)
			push_column(r, in->operand, r->slots[depth++]);
		else if (in->code == GS_CODE_CONSTANT)
			push_constant(r, in->operand, r->slots[depth++]);
		else if (in->code >= GS_CODE_QUOTIENT)
		{
			if (!compute_single(r, in, r->slots[depth - 1]))
				return GS_OVERFLOW;
		}
		else
		{
			/* the loops write nowhere that they read */
			int64_t *left = r->slots[depth - 2];

			depth--;
			if (!r->plan->reduce->compute((gs_code) in->code, (gs_number) in->result, false, left, r->slots[depth], out,
								   r->n))
				return GS_OVERFLOW;
			memcpy(left, out, r->n * sizeof(*out));
		}
	}
	memcpy(out, r->slots[0], r->n * sizeof(*out));
	return GS_OK;
}

/* Joins the NULLs of an expression's columns.  Returns false if there are none. */
static bool
join_nulls(const gs_instruction *code, uint32_t ncode, const gs_held *columns, uint32_t words, uint64_t *out)
{
	bool some = false;

	memset(out, 0, words * sizeof(*out));
	for (uint32_t i = 0; i < ncode; i++)
	{
		const uint64_t *nulls = code[i].code == GS_CODE_COLUMN ? columns[code[i].operand].nulls : NULL;

		some |= nulls != NULL;
		for (uint32_t w = 0; nulls != NULL && w < words; w++)
			out[w] |= nulls[w];
	}
	return some;
}

/* Gives the rows of a mask values, each its own. */
static void
take_values(const uint64_t *mask, uint32_t n, const int64_t *from, int64_t *values)
{
	for (uint32_t at = 0; at < n; at += 64)
		for (uint32_t i = at; mask[at / 64] != 0 && i < n && i < at + 64; i++)
			values[i] = mask[at / 64] >> i % 64 & 1 ? from[i] : values[i];
}

/* Gives the rows of a mask the value of a choice.  Those that are not NULL then are no longer in nulls. */
static void
take_choice(const rows_of_segment *r, const gs_instruction *value, const uint64_t *mask, int64_t *values,
			uint64_t *nulls)
{
	const uint64_t *null = value->code == GS_CODE_COLUMN ? r->columns[value->operand].nulls : NULL;

	if (value->code == GS_CODE_COLUMN)
		push_column(r, value->operand, r->slots[0]);
	else if (value->operand == 0)
		return;
	else
		push_constant(r, value->operand, r->slots[0]);
	take_values(mask, r->n, r->slots[0], values);
	for (uint32_t w = 0; w * 64 < r->n; w++)
		nulls[w] &= ~mask[w] | (null != NULL ? null[w] : 0);
}

/*
 * Computes a column of choices, whose terms are planned, in some rows of a segment, of which the first is that of a
 * word of NULLs, until each row has one.  *some becomes false if none is NULL.
 */
static gs_status
choose_values(const rows_of_segment *r, gs_work *work, const gs_computed *column, gs_term_plan *const *terms,
			  int64_t *values, uint64_t *nulls, bool *some)
{
	const gs_choice *choices = gs_steps_at(r->plan->steps, column->code);
	const uint32_t words = (r->n + 63) / 64;
	uint64_t left[COMPUTED_WORDS], mask[COMPUTED_WORDS], open = 1;

	*some = false;
	(void) gs_steps_mask(r->plan, NULL, 0, r->columns, 0, r->n, left);
	memcpy(nulls, left, words * sizeof(*nulls));
	memset(values, 0, r->n * sizeof(*values));
	for (uint32_t i = 0; i < column->nchoices && open != 0; i++)
	{
		uint64_t taken = 0;

		open = 0;
		GS_TRY(gs_work_add(work, (uint64_t) r->n * (1 + choices[i].nterms)));
		(void) gs_steps_mask(r->plan, terms[i], choices[i].nterms, r->columns, 0, r->n, mask);
		for (uint32_t w = 0; w < words; w++)
		{
			mask[w] &= left[w];
			left[w] &= ~mask[w];
			taken |= mask[w];
			open |= left[w];
		}
		if (taken != 0)
			take_choice(r, &choices[i].value, mask, values, nulls);
	}
	for (uint32_t w = 0; w < words; w++)
		*some |= nulls[w] != 0;
	return GS_OK;
}

/* Returns the memory of a worker: for each column values and NULLs, then the slots. */
static size_t
worker_bytes(const gs_cpu_computed *c)
{
	uint32_t packed = c->plan.nterms > 0 ? (uint32_t) __builtin_popcountll(c->wanted) : 0;

	return (c->step->ncolumns * (COMPUTED_ROWS + COMPUTED_WORDS) + GS_STEPS_MAX_DEPTH * COMPUTED_ROWS +
			packed * (PACKED_VALUES + PACKED_WORDS)) * sizeof(int64_t);
}

/* Packs the NULLs of a mask's rows. */
static void
pack_nulls(const uint64_t *nulls, const uint64_t *mask, uint32_t n, uint64_t *to)
{
	uint32_t at = 0;

	memset(to, 0, PACKED_WORDS * sizeof(*to));
	for (uint32_t w = 0; w * 64 < n; w++)
		for (uint64_t left = mask[w]; left != 0; left &= left - 1, at++)
			to[at / 64] |= (nulls[w] >> __builtin_ctzll(left) & 1) << at % 64;
}

/*
 * Has the wanted columns be those of a span's rows that pass the filter, if they are few: packed into some memory.
 * Changes the span to these rows.
 */
static void
pack_rows(const gs_cpu_computed *c, gs_held *columns, gs_span *span, int64_t *memory)
{
	const uint32_t n = span->first + span->rows;
	uint64_t mask[COMPUTED_WORDS];
	uint32_t passed = 0;

	if (c->plan.nterms == 0)
		return;
	(void) gs_steps_mask(&c->plan, c->plan.terms, c->plan.nterms, columns, 0, n, mask);
	mask[0] &= ~gs_mask(span->first);
	for (uint32_t w = 0; w * 64 < n; w++)
		passed += (uint32_t) __builtin_popcountll(mask[w]);
	if (passed > PACKED_ROWS || passed > span->rows / 4)
		return;
	for (uint64_t left = c->wanted; left != 0; left &= left - 1, memory += PACKED_VALUES + PACKED_WORDS)
	{
		gs_held *column = &columns[__builtin_ctzll(left)];
		uint64_t *nulls = (uint64_t *) memory + PACKED_VALUES;

		gs_block_pack(&c->plan, c->types[__builtin_ctzll(left)], column->values, mask, n, (char *) memory);
		if (column->nulls != NULL)
			pack_nulls(column->nulls, mask, n, nulls);
		*column = (gs_held){memory, column->nulls != NULL ? nulls : NULL};
	}
	*span = (gs_span){0, 0, passed};
}

/*
 * Computes the columns of some rows of a segment, fewer than COMPUTED_ROWS, and passes them on with the source's.
 * first, in the segment, is that of a word of NULLs.
 */
static gs_status
pass_rows(gs_cpu_computed *c, uint32_t worker, gs_engine *engine, const gs_held *columns, uint64_t base, gs_span span)
{
	const uint32_t nsource = c->head.steps->ncolumns;
	gs_held all[GS_STEPS_MAX_COLUMNS];
	gs_held_rows rows = {c->types, c->after_steps->ncolumns, 1, all, 1, &span};
	int64_t *memory = c->workers[worker].memory.data;
	rows_of_segment r = {.plan = &c->plan, .columns = all}, whole = r;
	gs_work *work = &((gs_cpu_engine *) engine)->work;
	uint32_t words;
	gs_term_plan *const *clauses = c->plan.clauses;

	for (uint32_t i = 0; i < nsource; i++)
		all[i] = (gs_held){(const char *) columns[i].values + base * gs_width_of(c->types[i]),
						   columns[i].nulls != NULL ? columns[i].nulls + base / 64 : NULL};
	memory += c->step->ncolumns * (COMPUTED_ROWS + COMPUTED_WORDS);
	for (uint32_t i = 0; i < GS_STEPS_MAX_DEPTH; i++, memory += COMPUTED_ROWS)
		r.slots[i] = whole.slots[i] = memory;
	pack_rows(c, all, &span, memory);
	if (span.rows == 0)
		return GS_OK;
	r.first = span.first;
	r.n = span.rows;
	whole.n = span.first + span.rows;
	words = (whole.n + 63) / 64;
	for (uint32_t i = 0; i < c->step->ncolumns; i++)
	{
		const gs_computed *column = &c->step->columns[i];
		const gs_instruction *code = gs_steps_at(c->head.steps, column->code);
		int64_t *values = (int64_t *) c->workers[worker].memory.data + i * (COMPUTED_ROWS + COMPUTED_WORDS);
		uint64_t *nulls = (uint64_t *) values + COMPUTED_ROWS;
		bool some = false;

		if (c->needed >> i & 1 && column->nchoices > 0)
			GS_TRY(choose_values(&whole, work, column, clauses, values, nulls, &some));
		else if (c->needed >> i & 1)
		{
			GS_TRY(gs_work_add(work, (uint64_t) r.n * column->ncode));
			GS_TRY(compute_values(&r, code, column->ncode, values + span.first));
			some = join_nulls(code, column->ncode, all, words, nulls);
		}
		all[nsource + i] = (gs_held){values, some ? nulls : NULL};
		clauses += column->nchoices;
	}
	return c->head.after->ops->rows(c->head.after, worker, engine, &rows);
}

/* Implements gs_groups_rows. */
static gs_status
computed_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	gs_cpu_computed *c = (gs_cpu_computed *) groups;
	gs_computed_worker *w = &c->workers[worker];

	if (!w->begun)
		w->work = (gs_work){engine->host, 0};
	w->begun = true;
	GS_TRY(gs_block_reserve(&w->work, &w->memory, worker_bytes(c)));
	for (uint64_t i = 0; i < rows->nspans; i++)
	{
		const gs_span *span = &rows->spans[i];
		const gs_held *columns = &rows->columns[(uint64_t) span->segment * rows->ncolumns];

		for (uint64_t at = span->first, end = (uint64_t) span->first + span->rows; at < end;)
		{
			uint64_t base = at & ~(uint64_t) 63, to = base + COMPUTED_ROWS < end ? base + COMPUTED_ROWS : end;

			GS_TRY(pass_rows(c, worker, engine, columns, base,
							 (gs_span){0, (uint32_t) (at - base), (uint32_t) (to - at)}));
			at = to;
		}
	}
	return GS_OK;
}

/* Implements gs_groups_close. */
static void
computed_close(gs_groups *groups, gs_engine *engine)
{
	gs_cpu_computed *c = (gs_cpu_computed *) groups;
	gs_work work = c->work;

	for (uint32_t i = 0; i < c->head.workers; i++)
		if (c->workers[i].begun)
			gs_block_release(&c->workers[i].work, &c->workers[i].memory);
	gs_groups_close(c->head.after, engine);
	gs_block_release(&work, &c->plan_memory);
	if (c->after_steps != NULL)
		work.host.release(work.host.arg, c->after_steps, c->head.steps->bytes);
	work.host.release(work.host.arg, c, c->bytes);
}

/* Returns the columns of some terms, a bit for each. */
static uint64_t
columns_of_terms(const gs_term *terms, uint32_t n)
{
	uint64_t columns = 0;

	for (uint32_t i = 0; i < n; i++)
		columns |= (uint64_t) 1 << terms[i].column |
				   (terms[i].test >= GS_TEST_EQ_COLUMN ? (uint64_t) 1 << terms[i].constants : 0);
	return columns;
}

/* Returns the columns of the source that computed ones, and the steps behind, take. */
static uint64_t
wanted_columns(const gs_cpu_computed *c)
{
	const gs_steps *steps = c->head.steps;
	uint64_t columns = gs_steps_columns(c->after_steps, gs_steps_at(c->after_steps, c->after_steps->first));

	for (uint32_t i = 0; i < c->step->ncolumns; i++)
	{
		const gs_instruction *code = gs_steps_at(steps, c->step->columns[i].code);
		const gs_choice *choices = gs_steps_at(steps, c->step->columns[i].code);

		for (uint32_t j = 0; j < c->step->columns[i].ncode; j++)
			columns |= code[j].code == GS_CODE_COLUMN ? (uint64_t) 1 << code[j].operand : 0;
		for (uint32_t j = 0; j < c->step->columns[i].nchoices; j++)
			columns |= columns_of_terms(gs_steps_at(steps, choices[j].terms), choices[j].nterms) |
					   (choices[j].value.code == GS_CODE_COLUMN ? (uint64_t) 1 << choices[j].value.operand : 0);
	}
	return columns & gs_mask(steps->ncolumns);
}

/* Makes the list and the question of the steps behind. */
static gs_status
prepare(gs_cpu_computed *c, gs_engine *engine)
{
	gs_groups after;

	GS_TRY(gs_make_plan(&c->work, (gs_cpu_engine *) engine, c->head.steps, &c->plan, &c->plan_memory));
	GS_TRY(gs_computed_after(&engine->host, &c->head, c->ranges, &c->after_steps, &c->needed));
	c->wanted = wanted_columns(c);
	for (uint32_t i = 0; i < c->after_steps->ncolumns; i++)
		c->types[i] = (gs_type) c->after_steps->types[i];
	after = (gs_groups){.steps = c->after_steps, .ranges = c->ranges, .rows = c->head.rows, .workers = c->head.workers};
	/* the rows given lie in memory that the next ones take */
	after.passing = true;
	return gs_groups_begin(engine, &after, &c->head.after);
}

/* Implements gs_groups_open. */
static gs_status
computed_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	size_t bytes = sizeof(gs_cpu_computed) + head->workers * sizeof(gs_computed_worker);
	gs_cpu_computed *c = engine->host.alloc(engine->host.arg, bytes);
	gs_status status;

	if (c == NULL)
		return GS_NOMEM;
	memset(c, 0, bytes);
	c->head = *head;
	c->work = (gs_work){engine->host, 0};
	c->bytes = bytes;
	c->step = gs_steps_compute(head->steps);
	status = prepare(c, engine);
	if (status != GS_OK)
		computed_close(&c->head, engine);
	else
		*groups = &c->head;
	return status;
}

/* Implements gs_groups_parts. */
static uint32_t
computed_parts(gs_groups *groups, uint32_t round)
{
	return groups->after->ops->parts(groups->after, round);
}

/* Implements gs_groups_part. */
static gs_status
computed_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part)
{
	return groups->after->ops->part(groups->after, worker, engine, part);
}

const struct gs_group_ops gs_cpu_computed_ops = {
	.open = computed_open,
	.rows = computed_rows,
	.parts = computed_parts,
	.part = computed_part,
	.end = gs_groups_end_after,
	.read = gs_groups_read_after,
	.close = computed_close,
};
