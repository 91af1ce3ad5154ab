/*
 * windows_frames.c: what a window's functions tell of frames: counts and sums, which rows enter and leave as the frame
 * moves, and extremes as places of rows.  Sums of doubles are added in order, as PostgreSQL does.
 */
#include "windows.h"

#define POLL_ROWS 1024

/* Counts the work of rows up to one, of which some functions take each frame's rows anew. */
static inline gs_status
count_row(const gs_window_job *j, const gs_window_function *f, bool anew, uint64_t row)
{
	int64_t each = anew && f->to > f->from ? f->to - f->from + 2 : 2;

	return row % POLL_ROWS == 0 ? gs_work_add(&j->cpu->work, POLL_ROWS * (uint64_t) each) : GS_OK;
}

/* ---------------------------------------------------------------- counts and sums of integers */

/* The sum and number of the values of rows [low, high), which may be negative while both move. */
typedef struct moving
{
	const void *values;
	const uint8_t *nulls;
	uint64_t low, high;
	gs_wide sum;
	uint64_t count;
	bool bad; /* it left 128 bits */
} moving;

/* Adds a row, or takes it away.  type: GS_BYTES where values are only counted. */
static inline __attribute__((always_inline)) void
take_in(moving *m, gs_type type, uint64_t i, bool away)
{
	gs_wide v;

	if (m->nulls != NULL && m->nulls[i])
		return;
	m->count += away ? UINT64_MAX : 1;
	if (type == GS_BYTES)
		return;
	v = gs_code_at(type, m->values, i);
	m->bad |= away ? __builtin_sub_overflow(m->sum, v, &m->sum) : __builtin_add_overflow(m->sum, v, &m->sum);
}

/* Moves to a frame. */
static inline __attribute__((always_inline)) void
move_to(moving *m, gs_type type, uint64_t a, uint64_t b)
{
	while (m->high < b)
		take_in(m, type, m->high++, false);
	while (m->high > b)
		take_in(m, type, --m->high, true);
	while (m->low > a)
		take_in(m, type, --m->low, false);
	while (m->low < a)
		take_in(m, type, m->low++, true);
}

/* Begins a stretch, with what is known of its partition's rows before it, and of all. */
static moving
moving_begin(const gs_window_job *j, const gs_window_function *f, uint32_t function, const gs_stretch *s)
{
	const char *values = f->column != GS_NO_COLUMN ? j->rows->values[f->column] : NULL;
	const uint8_t *nulls = f->column != GS_NO_COLUMN ? j->rows->nulls[f->column] : NULL;
	moving m = {.values = values, .nulls = nulls, .low = s->from, .high = s->from};

	if (j->before == NULL)
		return m;
	if (gs_frame_to_last(f))
	{
		m.high = s->end;
		m.sum = j->whole[function].sum;
		m.count = j->whole[function].count;
		m.bad |= __builtin_sub_overflow(m.sum, j->before[function].sum, &m.sum);
		m.count -= j->before[function].count;
	}
	if (gs_frame_from_first(f))
	{
		m.low = s->begin;
		m.bad |= __builtin_add_overflow(m.sum, j->before[function].sum, &m.sum);
		m.count += j->before[function].count;
	}
	return m;
}

/* Computes counts, or sums, of the job's rows. */
static inline __attribute__((always_inline)) gs_status
sum_integers(const gs_window_job *j, const gs_window_function *f, uint32_t function, gs_type type, void *out,
			 uint8_t *nulls)
{
	bool bad = false;
	gs_stretch s;

	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
	{
		gs_row_frame r = gs_frame_begin(j, f, &s);
		moving m = moving_begin(j, f, function, &s);

		for (uint64_t i = s.from; i < s.to; i++)
		{
			GS_TRY(count_row(j, f, false, i));
			gs_frame_move(&r, i);
			move_to(&m, type, r.a, r.b);
			if (type == GS_BYTES)
			{
				((int64_t *) out)[i - j->from] = (int64_t) m.count;
				continue;
			}
			((gs_held_wide *) out)[i - j->from] = m.sum;
			nulls[i - j->from] = m.count == 0;
		}
		bad |= m.bad;
	}
	return bad ? GS_OVERFLOW : GS_OK;
}

/* Gives all rows of equal ones what the last of them has.  The rows begin and end between such. */
#define AS_LAST_PEER(TYPE, out)                                                                                        \
	do                                                                                                                 \
	{                                                                                                                  \
		for (uint64_t i = j->to - 1; i > j->from; i--)                                                                 \
			if ((j->rows->marks[i] & GS_MARK_PEERS) == 0)                                                              \
				((TYPE *) (out))[i - 1 - j->from] = ((TYPE *) (out))[i - j->from];                                     \
	} while (0)

/* Computes running counts, or sums, row by row, whatever partition these belong to. */
static inline __attribute__((always_inline)) gs_status
run_integers(const gs_window_job *j, const gs_window_function *f, uint32_t function, gs_type type, void *out,
			 uint8_t *out_nulls)
{
	const char *values = f->column != GS_NO_COLUMN ? j->rows->values[f->column] : NULL;
	const uint8_t *marks = j->rows->marks, *nulls = f->column != GS_NO_COLUMN ? j->rows->nulls[f->column] : NULL;
	uint64_t count = j->before != NULL ? j->before[function].count : 0;
	gs_wide sum = j->before != NULL ? j->before[function].sum : 0;
	bool bad = false;

	for (uint64_t i = j->from; i < j->to; i++)
	{
		const bool first = marks[i] & GS_MARK_PARTITION, null = nulls != NULL && nulls[i];
		gs_wide v = type == GS_BYTES || null ? 0 : gs_code_at(type, values, i);

		count = (first ? 0 : count) + !null;
		if (type == GS_BYTES)
		{
			((int64_t *) out)[i - j->from] = (int64_t) count;
			continue;
		}
		bad |= __builtin_add_overflow(first ? 0 : sum, v, &sum);
		((gs_held_wide *) out)[i - j->from] = sum;
		out_nulls[i - j->from] = count == 0;
	}
	if (f->frame != GS_FRAME_PEERS)
		return bad ? GS_OVERFLOW : GS_OK;
	if (type == GS_BYTES)
		AS_LAST_PEER(int64_t, out);
	else
	{
		AS_LAST_PEER(gs_held_wide, out);
		AS_LAST_PEER(uint8_t, out_nulls);
	}
	return bad ? GS_OVERFLOW : GS_OK;
}

/* ---------------------------------------------------------------- sums of doubles */

/* A sum of doubles that are added in order. */
typedef struct real_sum
{
	double sum;
	bool some, bad; /* bad: finite values have left the range */
} real_sum;

/* Adds rows. */
static inline void
add_reals(real_sum *x, const double *values, const uint8_t *nulls, uint64_t from, uint64_t to)
{
	for (uint64_t i = from; i < to; i++)
	{
		double before = x->sum, v = values[i];

		if (nulls != NULL && nulls[i])
			continue;
		x->sum = x->some ? before + v : v;
		x->bad |= x->some && __builtin_isinf(x->sum) && !__builtin_isinf(before) && !__builtin_isinf(v);
		x->some = true;
	}
}

/* Computes sums of doubles of the job's rows, which are whole partitions. */
static gs_status
sum_reals(const gs_window_job *j, const gs_window_function *f, double *out, uint8_t *out_nulls)
{
	const double *values = (const double *) j->rows->values[f->column];
	const uint8_t *nulls = j->rows->nulls[f->column];
	bool bad = false;
	gs_stretch s;

	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
	{
		gs_row_frame r = gs_frame_begin(j, f, &s);
		real_sum x = {0};
		uint64_t done = s.begin;

		for (uint64_t i = s.from; i < s.to; i++)
		{
			GS_TRY(count_row(j, f, !gs_frame_from_first(f), i));
			gs_frame_move(&r, i);
			if (!gs_frame_from_first(f))
			{
				x = (real_sum){.bad = x.bad};
				done = r.a;
			}
			add_reals(&x, values, nulls, done, r.b);
			done = r.b > done ? r.b : done;
			out[i - j->from] = x.sum;
			out_nulls[i - j->from] = !x.some;
		}
		bad |= x.bad;
	}
	return bad ? GS_OVERFLOW : GS_OK;
}

/* Computes running sums of doubles, of rows that are whole partitions. */
static inline __attribute__((always_inline)) gs_status
run_reals(const gs_window_job *j, const gs_window_function *f, bool some_null, double *out, uint8_t *out_nulls)
{
	const double *values = (const double *) j->rows->values[f->column];
	const uint8_t *marks = j->rows->marks, *nulls = j->rows->nulls[f->column];
	bool some = false, bad = false;
	double sum = 0;

	for (uint64_t i = j->from; i < j->to; i++)
	{
		const bool first = marks[i] & GS_MARK_PARTITION, null = some_null && nulls[i];
		const double v = values[i], before = sum, more = sum + v;

		some = some && !first;
		bad |= some && !null && __builtin_isinf(more) && !__builtin_isinf(before) && !__builtin_isinf(v);
		sum = null ? some ? before : 0 : some ? more : v;
		some = some || !null;
		out[i - j->from] = sum;
		out_nulls[i - j->from] = !some;
	}
	if (f->frame == GS_FRAME_PEERS)
	{
		AS_LAST_PEER(double, out);
		AS_LAST_PEER(uint8_t, out_nulls);
	}
	return bad ? GS_OVERFLOW : GS_OK;
}

bool
gs_window_runs_on(const gs_window_function *f)
{
	return (f->function == GS_WINDOW_COUNT || f->function == GS_WINDOW_SUM) &&
		   (f->frame == GS_FRAME_PEERS ||
			(f->frame == GS_FRAME_ROWS && f->from == GS_FRAME_FIRST && f->to == 0));
}

/* Computes counts, or running sums. */
static gs_status
run_sums(const gs_window_job *j, const gs_window_function *f, uint32_t function, void *out, uint8_t *nulls)
{
	gs_type type = f->column != GS_NO_COLUMN ? j->w->types[f->column] : GS_BYTES;
	gs_status status = GS_OK;

	GS_TRY(gs_work_add(&j->cpu->work, 2 * (j->to - j->from)));
	if (f->function == GS_WINDOW_COUNT)
		return run_integers(j, f, function, GS_BYTES, out, NULL);
	if (type == GS_F64)
		return j->rows->nulls[f->column] != NULL ? run_reals(j, f, true, out, nulls)
												 : run_reals(j, f, false, out, nulls);
#define RUN(TYPE) status = run_integers(j, f, function, TYPE, out, nulls)
	GS_BY_TYPE(type, RUN)
#undef RUN
	return status;
}

gs_status
gs_window_sums(const gs_window_job *j, const gs_window_function *f, uint32_t function, void *out, uint8_t *nulls)
{
	gs_type type = f->column != GS_NO_COLUMN ? j->w->types[f->column] : GS_BYTES;
	gs_status status = GS_OK;

	if (gs_window_runs_on(f))
		return run_sums(j, f, function, out, nulls);
	if (f->function == GS_WINDOW_COUNT)
		return sum_integers(j, f, function, GS_BYTES, out, NULL);
	if (type == GS_F64)
		return sum_reals(j, f, out, nulls);
#define SUM(TYPE) status = sum_integers(j, f, function, TYPE, out, nulls)
	GS_BY_TYPE(type, SUM)
#undef SUM
	return status;
}

/* ---------------------------------------------------------------- extremes */

/* The row with the least or greatest of some values, of equal ones the last. */
typedef struct extreme
{
	uint32_t place;
	gs_wide code;
} extreme;

/* Takes a row over, if it is not worse. */
static inline __attribute__((always_inline)) void
take_over(extreme *e, gs_type type, const void *values, const uint8_t *nulls, uint64_t i, bool least)
{
	gs_wide code;

	if (nulls != NULL && nulls[i])
		return;
	code = gs_code_at(type, values, i);
	if (e->place != GS_NO_PLACE && (least ? code > e->code : code < e->code))
		return;
	*e = (extreme){(uint32_t) i, code};
}

/* Finds the extremes of the job's rows. */
static inline __attribute__((always_inline)) gs_status
find_extremes(const gs_window_job *j, const gs_window_function *f, uint32_t function, gs_type type, uint32_t *places)
{
	const void *values = j->rows->values[f->column];
	const uint8_t *nulls = j->rows->nulls[f->column];
	const bool least = f->function == GS_WINDOW_MIN, first = gs_frame_from_first(f), last = gs_frame_to_last(f);
	gs_stretch s;

	for (uint32_t k = 0; gs_next_stretch(j, k, &s); k++)
	{
		const gs_window_carry *known = j->before == NULL || !first ? NULL : last ? j->whole : j->before;
		gs_row_frame r = gs_frame_begin(j, f, &s);
		extreme e = {GS_NO_PLACE, 0};
		uint64_t done = known == NULL ? s.begin : last ? s.end : s.from;

		if (known != NULL && known[function].place != GS_NO_PLACE)
			take_over(&e, type, values, nulls, known[function].place, least);
		for (uint64_t i = s.from; i < s.to; i++)
		{
			GS_TRY(count_row(j, f, !first, i));
			gs_frame_move(&r, i);
			if (!first)
			{
				e.place = GS_NO_PLACE;
				done = r.a;
			}
			for (; done < r.b; done++)
				take_over(&e, type, values, nulls, done, least);
			places[i - j->from] = e.place;
		}
	}
	return GS_OK;
}

gs_status
gs_window_extremes(const gs_window_job *j, const gs_window_function *f, uint32_t function, uint32_t *places)
{
	gs_status status = GS_OK;

#define FIND(TYPE) status = find_extremes(j, f, function, TYPE, places)
	GS_BY_TYPE(j->w->types[f->column], FIND)
#undef FIND
	return status;
}

/* ---------------------------------------------------------------- what is carried over */

gs_status
gs_window_carry_of(const gs_window_job *j, uint32_t function, gs_window_carry *carry)
{
	const gs_window_function *f = &j->w->step->functions[function];
	gs_window_function all = *f;
	gs_window_job rows = *j;
	gs_stretch s = {j->from, j->to, j->from, j->to};
	moving m;

	*carry = (gs_window_carry){.place = GS_NO_PLACE};
	all.frame = GS_FRAME_PARTITION;
	rows.before = rows.whole = NULL;
	rows.begin = j->from;
	rows.end = j->to;
	if (f->function == GS_WINDOW_MIN || f->function == GS_WINDOW_MAX)
	{
		/* the frame of the last row is that of all */
		rows.from = j->to - 1;
		return gs_window_extremes(&rows, &all, function, &carry->place);
	}
	if (f->function != GS_WINDOW_COUNT && f->function != GS_WINDOW_SUM)
		return GS_OK;
	m = moving_begin(&rows, &all, function, &s);
#define ADD(TYPE) move_to(&m, TYPE, s.begin, s.end)
	if (f->function == GS_WINDOW_COUNT)
		ADD(GS_BYTES);
	else
		GS_BY_TYPE(j->w->types[f->column], ADD)
#undef ADD
	carry->sum = m.sum;
	carry->count = m.count;
	return m.bad ? GS_OVERFLOW : GS_OK;
}
