/*
 * windows_values.c: the columns of a window's functions over rows in order: numbers of rows, values by their places;
 * then all columns go to the next question.
 */
#include "windows.h"

/* ---------------------------------------------------------------- numbers of rows */

/* Returns the bucket of a row of a partition of some rows, as PostgreSQL's ntile: the first ones have a row more. */
static int64_t
bucket_of(uint64_t row, uint64_t rows, int64_t buckets)
{
	uint64_t n = (uint64_t) buckets, each = rows / n, larger = rows % n;

	if (row < larger * (each + 1))
		return (int64_t) (row / (each + 1)) + 1;
	return (int64_t) ((row - larger * (each + 1)) / each + larger) + 1;
}

/* Numbers buckets of rows. */
static void
number_buckets(const gs_window_job *j, const gs_window_function *f, int64_t *out)
{
	gs_stretch s;

	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
		for (uint64_t i = s.from; i < s.to; i++)
			out[i - j->from] = bucket_of(i - s.begin, s.end - s.begin, f->number);
}

/* Numbers rows. */
static void
count_rows(const gs_window_job *j, int64_t *out)
{
	int64_t number = j->before != NULL ? (int64_t) (j->from - j->begin) : 0;

	for (uint64_t i = j->from; i < j->to; i++)
		out[i - j->from] = number = (j->rows->marks[i] & GS_MARK_PARTITION ? 0 : number) + 1;
}

/* Ranks rows: peers alike. */
static void
rank_rows(const gs_window_job *j, const gs_window_function *f, uint32_t function, int64_t *out)
{
	const bool dense = f->function == GS_WINDOW_DENSE_RANK;
	gs_stretch s;

	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
	{
		int64_t rank = dense && j->before != NULL ? (int64_t) j->before[function].count : 0;

		for (uint64_t i = s.from; i < s.to; i++)
		{
			if (j->rows->marks[i] & GS_MARK_PEERS)
				rank = dense ? rank + 1 : (int64_t) (i - s.begin) + 1;
			out[i - j->from] = rank;
		}
	}
}

/* Computes ranks as shares of the partition: of the rows before the first peer, or up to the last. */
static void
share_rows(const gs_window_job *j, const gs_window_function *f, double *out)
{
	gs_stretch s;

	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
	{
		gs_window_function peers = {.frame = GS_FRAME_PEERS};
		gs_row_frame r = gs_frame_begin(j, &peers, &s);
		double n = (double) (s.end - s.begin);
		uint64_t first = s.from;

		for (uint64_t i = s.from; i < s.to; i++)
		{
			first = j->rows->marks[i] & GS_MARK_PEERS ? i : first;
			gs_frame_move(&r, i);
			if (f->function == GS_WINDOW_CUME_DIST)
				out[i - j->from] = (double) (r.b - s.begin) / n;
			else
				out[i - j->from] = n > 1 ? (double) (first - s.begin) / (n - 1) : 0;
		}
	}
}

/* Returns true if a value differs from the one before. */
static inline __attribute__((always_inline)) bool
differs(gs_type type, const void *values, const uint8_t *nulls, uint64_t i)
{
	if (nulls != NULL && (nulls[i] || nulls[i - 1]))
		return nulls[i] != nulls[i - 1];
	return gs_code_at(type, values, i) != gs_code_at(type, values, i - 1);
}

/* Numbers runs of equal values.  out NULL: returns how many begin behind the first row. */
static inline __attribute__((always_inline)) uint64_t
number_runs(const gs_window_job *j, const gs_window_function *f, uint32_t function, gs_type type, int64_t *out)
{
	const void *values = j->rows->values[f->column];
	const uint8_t *nulls = j->rows->nulls[f->column];
	int64_t run = 0;
	gs_stretch s;

	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
	{
		run = j->before != NULL ? (int64_t) j->before[function].count : 0;
		if (out != NULL)
			out[s.from - j->from] = run += s.from == s.begin || differs(type, values, nulls, s.from);
		for (uint64_t i = s.from + 1; i < s.to; i++)
		{
			run += differs(type, values, nulls, i);
			if (out != NULL)
				out[i - j->from] = run;
		}
	}
	return (uint64_t) run;
}

/* Numbers runs, of any type. */
static uint64_t
number_runs_of(const gs_window_job *j, const gs_window_function *f, uint32_t function, int64_t *out)
{
	uint64_t n = 0;

#define NUMBER(TYPE) n = number_runs(j, f, function, TYPE, out)
	GS_BY_TYPE(j->w->types[f->column], NUMBER)
#undef NUMBER
	return n;
}

/* ---------------------------------------------------------------- values */

/* Finds the rows of frames. */
static void
frame_places(const gs_window_job *j, const gs_window_function *f, uint32_t *places)
{
	const bool last = f->function == GS_WINDOW_LAST;
	const uint64_t number = f->function == GS_WINDOW_NTH ? (uint64_t) f->number - 1 : 0;
	gs_stretch s;

	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
	{
		gs_row_frame r = gs_frame_begin(j, f, &s);

		for (uint64_t i = s.from; i < s.to; i++)
		{
			gs_frame_move(&r, i);
			places[i - j->from] = r.b - r.a <= number ? GS_NO_PLACE : (uint32_t) (last ? r.b - 1 : r.a + number);
		}
	}
}

/* Copies the values of places. */
static void
values_of(const gs_window_job *j, const gs_window_function *f, const uint32_t *places, char *out, uint8_t *out_nulls)
{
	const char *values = j->rows->values[f->column];
	const uint8_t *nulls = j->rows->nulls[f->column];
	const gs_held_wide none = 0;
	uint64_t n = j->to - j->from;

	if (gs_width_of(j->w->types[f->column]) == 16)
		for (uint64_t i = 0; i < n; i++)
			memcpy(out + i * 16, places[i] == GS_NO_PLACE ? (const char *) &none : values + (size_t) places[i] * 16,
				   16);
#define COPY(TYPE)                                                                                                     \
	for (uint64_t i = 0; i < n; i++)                                                                                   \
	((TYPE *) out)[i] = places[i] == GS_NO_PLACE ? 0 : ((const TYPE *) values)[places[i]]
	else
		GS_BY_WIDTH(gs_width_of(j->w->types[f->column]), COPY)
#undef COPY
	for (uint64_t i = 0; i < n; i++)
		out_nulls[i] = places[i] == GS_NO_PLACE || (nulls != NULL && nulls[places[i]]);
}

/* Puts what LAG gives of no row: a constant, or NULL. */
static inline void
put_constant(uint32_t width, gs_wide constant, bool null, uint64_t from, uint64_t to, char *out, uint8_t *nulls)
{
#define PUT(TYPE)                                                                                                      \
	for (uint64_t i = from; i < to; i++)                                                                               \
		((TYPE *) out)[i] = (TYPE) constant, nulls[i] = null
	if (width == 16)
		PUT(gs_held_wide);
	else
		GS_BY_WIDTH(width, PUT)
#undef PUT
}

/* Computes LAG: values that all lie as far from their rows, then those of rows too near to a partition's end. */
static void
lag_values(const gs_window_job *j, const gs_window_function *f, char *out, uint8_t *out_nulls)
{
	const gs_constant none = {{0, 0}}, *other = f->constant != 0 ? gs_steps_at(j->w->head.steps, f->constant) : &none;
	const gs_wide constant = gs_wide_of(other->half[0], other->half[1]);
	const uint32_t width = gs_width_of(j->w->types[f->column]);
	const uint8_t *nulls = j->rows->nulls[f->column];
	const uint64_t apart = f->number < 0 ? -(uint64_t) f->number : (uint64_t) f->number;
	const bool back = f->number >= 0;
	const uint64_t first = j->bounds != NULL ? j->from : j->begin, end = j->bounds != NULL ? j->to : j->end;
	uint64_t low = j->from, high = j->to; /* rows whose values are among those of [first, end) */
	gs_stretch s;

	if (back)
		low = end - first < apart ? high : low - first < apart ? first + apart : low;
	else
		high = end - first < apart ? low : end - high < apart ? end - apart : high;
	if (low < high)
	{
		uint64_t from = back ? low - apart : low + apart;

		memcpy(out + (low - j->from) * width, j->rows->values[f->column] + from * width, (high - low) * width);
		if (nulls != NULL)
			memcpy(out_nulls + (low - j->from), nulls + from, high - low);
		else
			memset(out_nulls + (low - j->from), 0, high - low);
	}
	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
	{
		uint64_t rows = s.end - s.begin < apart ? s.end - s.begin : apart;
		uint64_t a = back ? s.begin : s.end - rows, b = a + rows;

		a = a > s.from ? a : s.from;
		b = b < s.to ? b : s.to;
		if (a < b)
			put_constant(width, constant, f->constant == 0, a - j->from, b - j->from, out, out_nulls);
	}
}

/* Computes LAG by a row forth or back, of whole partitions: each row's neighbour, and NULL at partitions' ends. */
static void
next_values(const gs_window_job *j, const gs_window_function *f, char *out, uint8_t *out_nulls)
{
	const uint32_t width = gs_width_of(j->w->types[f->column]);
	const char *values = j->rows->values[f->column] + j->from * width;
	const uint8_t *nulls = j->rows->nulls[f->column], *marks = j->rows->marks + j->from;
	const uint64_t n = j->to - j->from, back = f->number > 0, end = back ? 0 : n - 1;

	memcpy(out + back * width, values + !back * width, (n - 1) * width);
	memset(out + end * width, 0, width);
	if (nulls != NULL)
		memcpy(out_nulls + back, nulls + j->from + !back, n - 1);
	else
		memset(out_nulls, 0, n);
	out_nulls[end] = 1;
	for (uint64_t i = 1; i < n; i++)
		out_nulls[i - !back] |= marks[i] & GS_MARK_PARTITION;
}

/* Returns true if a function over whole partitions needs not know where these begin: marks tell enough. */
static bool
needs_marks_alone(const gs_window_function *f)
{
	return f->function == GS_WINDOW_ROW_NUMBER || gs_window_runs_on(f) ||
		   (f->function == GS_WINDOW_LAG && f->constant == 0 && (f->number == 1 || f->number == -1));
}

/* Computes a function's column. */
static gs_status
compute(const gs_window_job *j, uint32_t function, void *out, uint8_t *nulls)
{
	const gs_window_function *f = &j->w->step->functions[function];
	uint32_t *places = j->w->workers[j->worker].places.data;

	switch (f->function)
	{
		case GS_WINDOW_ROW_NUMBER:
			count_rows(j, out);
			return GS_OK;
		case GS_WINDOW_NTILE:
			number_buckets(j, f, out);
			return GS_OK;
		case GS_WINDOW_RANK:
		case GS_WINDOW_DENSE_RANK:
			rank_rows(j, f, function, out);
			return GS_OK;
		case GS_WINDOW_PERCENT_RANK:
		case GS_WINDOW_CUME_DIST:
			share_rows(j, f, out);
			return GS_OK;
		case GS_WINDOW_RUN:
			(void) number_runs_of(j, f, function, out);
			return GS_OK;
		case GS_WINDOW_COUNT:
		case GS_WINDOW_SUM:
			return gs_window_sums(j, f, function, out, nulls);
		case GS_WINDOW_LAG:
			if (j->before == NULL && needs_marks_alone(f))
				next_values(j, f, out, nulls);
			else
				lag_values(j, f, out, nulls);
			return GS_OK;
		case GS_WINDOW_MIN:
		case GS_WINDOW_MAX:
			GS_TRY(gs_window_extremes(j, f, function, places));
			break;
		default:
			frame_places(j, f, places);
	}
	values_of(j, f, places, out, nulls);
	return GS_OK;
}

/* ---------------------------------------------------------------- the next question's rows */

/* Gathers bytes into bits. */
static const uint64_t *
bits_of(const uint8_t *bytes, uint64_t n, uint64_t *bits)
{
	for (uint64_t w = 0; w * 64 < n; w++)
	{
		uint64_t some = n - w * 64 < 64 ? n - w * 64 : 64, word = 0;

		for (uint64_t i = 0; i + 8 <= some; i += 8)
		{
			uint64_t eight;

			/* byte k's lowest bit goes to bit 56 + k, and no two products meet */
			memcpy(&eight, bytes + w * 64 + i, 8);
			word |= (eight * 0x0102040810204080u >> 56) << i;
		}
		for (uint64_t i = some & ~(uint64_t) 7; i < some; i++)
			word |= (uint64_t) bytes[w * 64 + i] << i;
		bits[w] = word;
	}
	return bits;
}

/* Returns a column of rows in order that the next question takes. */
static gs_held
source_column(const gs_window_job *j, uint32_t column, uint64_t *bits)
{
	const uint8_t *nulls = j->rows->nulls[column];

	return (gs_held){j->rows->values[column] + j->from * gs_width_of(j->w->types[column]),
					 nulls != NULL ? bits_of(nulls + j->from, j->to - j->from, bits) : NULL};
}

/* Computes all columns in memory of the worker. */
static gs_status
make_columns(gs_window_job *j, gs_held *columns)
{
	gs_cpu_windows *w = j->w;
	gs_window_worker *k = &w->workers[j->worker];
	uint64_t n = j->to - j->from, words = (n + 63) / 64;
	size_t each = ((size_t) n * 17 + 2 * GS_ALIGN) / GS_ALIGN * GS_ALIGN;
	uint32_t nsource = w->head.steps->ncolumns;

	GS_TRY(gs_block_reserve(&k->work, &k->places, n * sizeof(uint32_t)));
	GS_TRY(gs_block_reserve(&k->work, &k->columns, each * w->step->nfunctions));
	GS_TRY(gs_block_reserve(&k->work, &k->nulls, words * 8 * w->after_steps->ncolumns));
	for (uint32_t c = 0; c < nsource; c++)
		if (w->taken >> c & 1)
			columns[c] = source_column(j, c, (uint64_t *) k->nulls.data + c * words);
	for (uint32_t i = 0; i < w->step->nfunctions; i++)
	{
		uint32_t c = nsource + i;
		char *values = (char *) k->columns.data + i * each;
		uint8_t *nulls = (uint8_t *) values + (n * 16 + GS_ALIGN - 1) / GS_ALIGN * GS_ALIGN;

		if (!(w->taken >> c & 1))
			continue;
		GS_TRY(compute(j, i, values, nulls));
		columns[c] = (gs_held){values, NULL};
		if (w->ranges[c].nulls)
			columns[c].nulls = bits_of(nulls, n, (uint64_t *) k->nulls.data + c * words);
		GS_TRY(gs_work_add(&j->cpu->work, n * 4));
	}
	return GS_OK;
}

/* Finds the partitions of rows that are whole ones, if some function asks for them. */
static gs_status
find_bounds(gs_window_job *j)
{
	gs_window_worker *k = &j->w->workers[j->worker];
	const gs_window_step *step = j->w->step;
	uint32_t *bounds, n = 0, i = 0;

	while (i < step->nfunctions && needs_marks_alone(&step->functions[i]))
		i++;
	if (i == step->nfunctions)
		return GS_OK;
	GS_TRY(gs_block_reserve(&k->work, &k->bounds, (j->to - j->from + 1) * sizeof(uint32_t)));
	bounds = k->bounds.data;
	for (uint64_t row = j->from; row < j->to; row++)
	{
		bounds[n] = (uint32_t) row;
		n += j->rows->marks[row] & GS_MARK_PARTITION;
	}
	bounds[n] = (uint32_t) j->to;
	j->bounds = bounds;
	j->npartitions = n;
	return GS_OK;
}

/*
 * Gives rows whose groups are runs.  Those of the first and last run of a part of a partition may go on in the parts
 * beside it, and take the way of any rows.
 */
static gs_status
give_runs(gs_window_job *j, gs_held_rows *rows)
{
	gs_groups *after = j->w->after;
	const int64_t *runs = rows->columns[j->w->runs].values;
	uint32_t n = rows->spans->rows, first = 0, last = n;
	gs_span whole, ends[2];

	while (j->before != NULL && first < n && runs[first] == runs[0])
		first++;
	while (j->before != NULL && last > first && runs[last - 1] == runs[n - 1])
		last--;
	whole = (gs_span){0, first, last - first};
	ends[0] = (gs_span){0, 0, first};
	ends[1] = (gs_span){0, last, n - last};
	rows->spans = &whole;
	GS_TRY(gs_groups_runs((gs_cpu_groups *) after, j->worker, &j->cpu->head, rows));
	rows->spans = ends;
	rows->nspans = 2;
	return after->ops->rows(after, j->worker, &j->cpu->head, rows);
}

gs_status
gs_window_give(gs_window_job *j)
{
	gs_cpu_windows *w = j->w;
	gs_held columns[GS_STEPS_MAX_COLUMNS] = {{NULL, NULL}};
	gs_span span = {0, 0, (uint32_t) (j->to - j->from)};
	gs_held_rows rows = {w->types, w->after_steps->ncolumns, 1, columns, 1, &span};

	if (j->before == NULL)
		GS_TRY(find_bounds(j));
	GS_TRY(make_columns(j, columns));
	if (w->runs != GS_NO_COLUMN)
		return give_runs(j, &rows);
	return w->after->ops->rows(w->after, j->worker, &j->cpu->head, &rows);
}

/* ---------------------------------------------------------------- parts of partitions */

bool
gs_window_splits(const gs_cpu_windows *w)
{
	for (uint32_t i = 0; i < w->step->nfunctions; i++)
	{
		const gs_window_function *f = &w->step->functions[i];

		if (f->function == GS_WINDOW_SUM && w->types[f->column] == GS_F64)
			return false;
		if (f->function >= GS_WINDOW_MIN && f->frame == GS_FRAME_ROWS && f->to < 0)
			return false;
	}
	return true;
}

gs_status
gs_window_summarize(const gs_window_job *j, uint32_t function, gs_window_carry *carry)
{
	const gs_window_function *f = &j->w->step->functions[function];

	GS_TRY(gs_window_carry_of(j, function, carry));
	if (f->function == GS_WINDOW_RUN)
		carry->count = number_runs_of(j, f, function, NULL);
	for (uint64_t i = j->from; i < j->to && f->function == GS_WINDOW_DENSE_RANK; i++)
		carry->count += (j->rows->marks[i] & GS_MARK_PEERS) != 0;
	return gs_work_add(&j->cpu->work, j->to - j->from);
}

/* Returns true if the extreme of the later rows is taken over. */
static inline __attribute__((always_inline)) bool
not_worse(gs_type type, const void *values, uint32_t before, uint32_t later, bool least)
{
	gs_wide a = gs_code_at(type, values, before), b = gs_code_at(type, values, later);

	return least ? b <= a : b >= a;
}

gs_status
gs_window_join(const gs_cpu_windows *w, uint32_t function, gs_window_carry *into, const gs_window_carry *from,
			   uint64_t at, bool first)
{
	const gs_window_function *f = &w->step->functions[function];
	const void *values = f->column != GS_NO_COLUMN ? w->rows.values[f->column] : NULL;
	const uint8_t *nulls = f->column != GS_NO_COLUMN ? w->rows.nulls[f->column] : NULL;
	bool taken = true, another = true;

	if (f->function == GS_WINDOW_RUN && !first)
#define DIFFERS(TYPE) another = differs(TYPE, values, nulls, at)
		GS_BY_TYPE(w->types[f->column], DIFFERS)
#undef DIFFERS
	into->count += from->count + (f->function == GS_WINDOW_RUN && another);
	if (into->place != GS_NO_PLACE && from->place != GS_NO_PLACE)
#define NOT_WORSE(TYPE) \
	taken = not_worse(TYPE, values, into->place, from->place, f->function == GS_WINDOW_MIN)
		GS_BY_TYPE(w->types[f->column], NOT_WORSE)
#undef NOT_WORSE
	if (taken && from->place != GS_NO_PLACE)
		into->place = from->place;
	return __builtin_add_overflow(into->sum, from->sum, &into->sum) ? GS_OVERFLOW : GS_OK;
}
