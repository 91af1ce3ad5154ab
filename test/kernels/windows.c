/*
 * windows.c: lists of steps with windows, against plain C: every function and frame over every type, ties, NULLs, odd
 * doubles, both directions; one partition, partitions of one row, uneven ones; several windows, filters between them;
 * several workers, which do parts of partitions one beside another.
 */
#include "scan_test.h"
#include "steps_table.h"
#include "windows_data.h"
#include "windows_reference.h"

#include "../../kernels/common/steps_row.h"
#include "../../kernels/cpu/cpu.h"

#define MOST_WORKERS 3
#define MOST_FUNCTIONS 5
#define MOST_WINDOWS 3

/* ---- one list */

/* Gives a list all rows: halves of segments, to a device at once. */
static gs_status
give_rows(const table *t, gs_groups *groups, uint32_t workers)
{
	gs_span spans[2 * SEGMENTS];
	gs_held_rows all = {t->types, t->ncolumns, SEGMENTS, t->held, 2 * SEGMENTS, spans};
	gs_status status = GS_OK;

	for (uint32_t i = 0; i < 2 * SEGMENTS; i++)
	{
		const uint32_t rows = t->plain[i / 2].rows, middle = rows / 2;

		spans[i] = (gs_span){i / 2, i % 2 ? middle : 0, i % 2 ? rows - middle : middle};
	}
	if (on_gpu)
		return gs_groups_rows(groups, 0, engine, &all);
	for (uint32_t i = 0; i < 2 * SEGMENTS && status == GS_OK; i++)
	{
		gs_held_rows some = {t->types, t->ncolumns, SEGMENTS, t->held, 1, spans + i};

		status = gs_groups_rows(groups, (i / 2 + i % 2) % workers, engine, &some);
	}
	return status;
}

/* Carries out a list over all segments. */
static gs_status
by_engine(const table *t, const gs_steps *steps, const gs_range *ranges, const gs_held_rows *placed, uint32_t workers,
		  gs_reduced **out, uint64_t *n)
{
	gs_groups *groups;
	uint64_t rows = 0;
	gs_status status;

	*out = NULL;
	for (uint32_t s = 0; s < SEGMENTS; s++)
		rows += t->plain[s].rows;
	status = gs_groups_open(engine, steps, ranges, rows, workers, &groups);
	if (status != GS_OK)
		return status;
	status = placed != NULL ? gs_groups_rows(groups, 0, engine, placed) : give_rows(t, groups, workers);
	if (status == GS_OK)
		status = do_parts(groups, workers);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, n);
	if (status == GS_OK)
	{
		*out = malloc((*n + 1) * gs_steps_result_bytes(steps));
		status = gs_groups_read(groups, engine, 0, *n, *out);
	}
	gs_groups_close(groups, engine);
	return status;
}

static uint64_t lists, answered;

void
windows_list(const table *t, const steps_list *l, const gs_held_rows *placed, const char *what)
{
	static steps_list left;
	plain_segment rows = {0};
	expected_groups *e;
	gs_range ranges[SOURCE];

	for (uint32_t s = 0; s < SEGMENTS; s++)
		windows_append(&l->head, &rows, &t->plain[s], 0, t->plain[s].rows);
	e = expect_windows(l, &rows, &left);
	check(gs_steps_check(&l->head, l->head.bytes) == GS_OK, "%s: the list is right", what);
	for (uint32_t c = 0; c < SOURCE; c++)
		ranges[c] = column_range(t, c);
	ranges[NUMBER].placed = placed != NULL;
	for (uint32_t workers = 1; workers <= (on_gpu ? 1 : MOST_WORKERS); workers += 2)
	{
		gs_reduced *out;
		uint64_t n = 0;
		gs_status status = by_engine(t, &l->head, ranges, placed, workers, &out, &n);
		const char *wrong = status == GS_OK && e != NULL ? groups_wrong(e, out, n) : NULL;
		bool right = status == GS_TOO_BIG || status == (e == NULL ? GS_OVERFLOW : GS_OK) ||
					 (status == GS_OVERFLOW && e != NULL && expect_overflow(e));

		lists++;
		answered += status == GS_OK;
		check(right, "%s, %u workers: %s, not %s", what, workers, gs_status_text(status),
			  e == NULL ? "overflow" : "OK");
		check(wrong == NULL, "%s, %u workers, %llu groups of %u rows: %s", what, workers, (unsigned long long) n,
			  rows.rows, wrong);
		free(out);
	}
	if (e != NULL)
		drop_expected(e);
	windows_drop(&rows);
}

/* ---- random lists */

/* A window of a list: its functions, and orders. */
typedef struct window
{
	gs_window_function functions[MOST_FUNCTIONS];
	gs_row_order orders[4];
	uint32_t nfunctions, npartition, norders;
	bool total; /* the order has no ties */
} window;

/* A frame; to a function that takes all rows of one anew, a short one. */
static void
some_frame(gs_window_function *f, bool total, bool anew)
{
	int64_t from = (int64_t) (rnd() % 8) - 5, to = from + (int64_t) (rnd() % 7) - 1;

	f->frame = (uint32_t) (rnd() % (total ? 3 : 2));
	if (f->frame != GS_FRAME_ROWS)
		return;
	f->from = rnd() % 3 ? from : GS_FRAME_FIRST;
	f->to = rnd() % 3 || (anew && f->from != GS_FRAME_FIRST) ? to : GS_FRAME_LAST;
	if (rnd() % 8 == 0 && f->from != GS_FRAME_FIRST)
		f->from = -300;
}

gs_window_function
windows_function(const uint8_t *types, uint32_t n, bool total)
{
	static const uint8_t tied[] = {GS_WINDOW_RANK,		GS_WINDOW_DENSE_RANK, GS_WINDOW_PERCENT_RANK,
								   GS_WINDOW_CUME_DIST, GS_WINDOW_COUNT,	  GS_WINDOW_SUM,
								   GS_WINDOW_MIN,		GS_WINDOW_MAX};
	uint32_t c = (uint32_t) (rnd() % n);
	gs_window_function f = {.function = total ? (uint32_t) (rnd() % 15) : tied[rnd() % 8], .column = GS_NO_COLUMN};
	bool real = types[c] == GS_F32 || types[c] == GS_F64;

	if ((f.function == GS_WINDOW_SUM && real && (!total || types[c] == GS_F32)) || (real && !total))
		f.function = GS_WINDOW_COUNT;
	if (f.function >= GS_WINDOW_RUN && (f.function != GS_WINDOW_COUNT || rnd() % 2))
		f.column = c;
	if (f.function == GS_WINDOW_NTILE || f.function == GS_WINDOW_NTH)
		f.number = 1 + (int64_t) (rnd() % (rnd() % 2 ? 4 : 2000));
	if (f.function == GS_WINDOW_LAG)
		f.number = rnd() % 4 ? (int64_t) (rnd() % 5) - 2 : (int64_t) (rnd() % 2000) - 1000;
	if (f.function >= GS_WINDOW_FIRST)
		some_frame(&f, total, f.function >= GS_WINDOW_MIN || (f.function == GS_WINDOW_SUM && real));
	return f;
}

/* A window over n columns, whose functions' types are appended. */
static window
some_window(uint8_t *types, uint32_t n, bool total)
{
	window w = {.total = total, .nfunctions = 1 + (uint32_t) (rnd() % (MOST_FUNCTIONS - 1)),
				.npartition = (uint32_t) (rnd() % 4 != 0), .norders = (uint32_t) (rnd() % 3)};
	uint32_t k = 0;
	gs_steps *steps = calloc(1, sizeof(gs_steps) + GS_STEPS_MAX_COLUMNS);

	memcpy(steps->types, types, n);
	if (w.npartition > 0)
		w.orders[k++].column = 0;
	for (uint32_t i = 0; i < w.norders; i++)
		w.orders[k++] = (gs_row_order){i == 0 ? 1 : (uint32_t) (rnd() % 4), rnd() % 2, rnd() % 2, 0};
	if (total)
	{
		w.orders[k++] = (gs_row_order){NUMBER, rnd() % 2, 0, 0};
		w.norders++;
	}
	for (uint32_t i = 0; i < w.nfunctions; i++)
	{
		w.functions[i] = windows_function(types, n, total);
		if (total && i == 0 && rnd() % 3 == 0)
			w.functions[0] = (gs_window_function){.function = GS_WINDOW_RUN, .column = 1 + (uint32_t) (rnd() % 3)};
		types[n + i] = (uint8_t) gs_window_type(steps, &w.functions[i]);
	}
	free(steps);
	return w;
}

/* Adds a window, and gives some LAGs a value where there is no row. */
static void
add_window(steps_list *l, const window *w)
{
	gs_window_function *f = list_window(l, w->functions, w->nfunctions, w->orders, w->npartition, w->norders);

	for (uint32_t i = 0; i < w->nfunctions; i++)
	{
		uint32_t type = f[i].column != GS_NO_COLUMN ? l->head.types[f[i].column] : GS_BYTES;
		wide seven = 7;
		double some = rnd() % 2 ? 2.5 : -0.0;

		if (f[i].function != GS_WINDOW_LAG || type == GS_F32 || rnd() % 2)
			continue;
		f[i].constant = type == GS_F64 ? list_doubles(l, &some, 1) : list_integers(l, &seven, 1);
	}
}

void
windows_filter(steps_list *l, uint32_t n)
{
	uint32_t a = (uint32_t) (rnd() % n), b = (uint32_t) (rnd() % n);
	bool real = gs_type_is_float((gs_type) l->head.types[a]);
	wide some = (wide) (rnd() % 200);
	double number = (double) (rnd() % 100) / 100;

	list_filter(l, 1);
	if (rnd() % 2 && real == gs_type_is_float((gs_type) l->head.types[b]))
		list_term(l, a, (gs_test) (GS_TEST_EQ_COLUMN + rnd() % 8), b, 0);
	else if (rnd() % 4 == 0)
		list_term(l, a, rnd() % 2 ? GS_TEST_IS_NULL : GS_TEST_NOT_NULL, 0, 0);
	else
		list_term(l, a, (gs_test) (rnd() % GS_TEST_BETWEEN), real ? list_doubles(l, &number, 1)
																	: list_integers(l, &some, 1), 1);
}

/* Adds the groups of runs: some aggregates of each, of rows with a condition as well. */
static void
add_runs(steps_list *l, uint32_t run, uint32_t of, bool partition)
{
	uint32_t keys[3] = {run, rnd() % 3 ? of : 2, 0};
	gs_term term = {3, GS_TEST_NOT_NULL, 0, 0};
	uint32_t c = 1 + (uint32_t) (rnd() % 3);

	list_group(l, 5);
	list_aggregate(l, GS_COUNT, NULL, 0);
	list_refine(l, GS_COUNT, 0, &term, rnd() % 2);
	list_column(l, GS_MIN, c, number_of((gs_type) l->head.types[c]));
	list_column(l, GS_MAX, NUMBER, GS_NUMBER_I32);
	list_column(l, GS_SUM, NUMBER, GS_NUMBER_I32);
	list_column(l, GS_COUNT, 3, number_of((gs_type) l->head.types[3]));
	list_keys(l, keys, partition ? 3 : 2);
	if (rnd() % 2)
	{
		list_having(l, 1);
		list_compare(l, (partition ? 3 : 2) + 3, GS_TEST_GT, 5);
	}
	if (rnd() % 3 == 0)
		list_top(l, 1 + rnd() % 50, &(gs_top_order){(partition ? 3 : 2) + 3, rnd() % 2, 0, 0}, 1);
}

/* Adds aggregates that need all values of a group: of all rows, or by a column; of the last column and the number. */
static void
add_whole(steps_list *l, uint32_t n)
{
	uint32_t key = (uint32_t) (rnd() % n);

	list_group(l, 3);
	list_column(l, GS_COUNT, NUMBER, GS_NUMBER_I32);
	list_refine(l, GS_RANK_FLOOR, 0.5, NULL, 0);
	list_column(l, GS_COUNT, n - 1, number_of((gs_type) l->head.types[n - 1]));
	list_refine(l, GS_RANK_DISC, 0.75, NULL, 0);
	list_column(l, GS_COUNT, n - 1, number_of((gs_type) l->head.types[n - 1]));
	list_refine(l, GS_DISTINCT, 0, NULL, 0);
	if (rnd() % 2)
		list_keys(l, &key, 1);
}

/* Adds groups: each row's, with every column of windows, or by a column of one, or the runs of the last. */
static void
add_groups(steps_list *l, uint32_t n, const window *last)
{
	uint32_t key = rnd() % 3 ? NUMBER : (uint32_t) (rnd() % n);

	if (last->functions[0].function == GS_WINDOW_RUN && rnd() % 4)
	{
		add_runs(l, n - last->nfunctions, last->functions[0].column, last->npartition > 0);
		return;
	}
	if (rnd() % 4 == 0)
	{
		add_whole(l, n);
		return;
	}
	list_group(l, key == NUMBER ? n : 3);
	if (key == NUMBER)
		for (uint32_t c = 0; c < n; c++)
			list_column(l, GS_MIN, c, number_of((gs_type) l->head.types[c]));
	else
	{
		list_aggregate(l, GS_COUNT, NULL, 0);
		list_column(l, GS_COUNT, n - 1, number_of((gs_type) l->head.types[n - 1]));
		list_column(l, GS_SUM, NUMBER, GS_NUMBER_I32);
	}
	list_keys(l, &key, 1);
}

static void
random_list(const table *t, const char *what)
{
	static steps_list l;
	gs_type types[GS_STEPS_MAX_COLUMNS];
	uint8_t of[GS_STEPS_MAX_COLUMNS];
	window windows[MOST_WINDOWS];
	uint32_t nwindows = 1 + (uint32_t) (rnd() % MOST_WINDOWS), n = SOURCE;

	for (uint32_t c = 0; c < SOURCE; c++)
		of[c] = (uint8_t) t->types[c];
	for (uint32_t i = 0; i < nwindows; i++)
	{
		windows[i] = some_window(of, n, rnd() % 4 != 0);
		n += windows[i].nfunctions;
	}
	for (uint32_t c = 0; c < n; c++)
		types[c] = (gs_type) of[c];
	list_begin(&l, types, n);
	l.head.ncolumns = SOURCE;
	l.head.ngiven = n - SOURCE;
	n = SOURCE;
	for (uint32_t i = 0; i < nwindows; i++)
	{
		if (rnd() % 3 == 0)
			windows_filter(&l, n);
		add_window(&l, &windows[i]);
		n += windows[i].nfunctions;
	}
	if (rnd() % 3 == 0)
		windows_filter(&l, n);
	add_groups(&l, n, &windows[nwindows - 1]);
	windows_list(t, &l, NULL, what);
}

/* Differences of a column, if it is of integers of 8 bytes, or of numbers, to the row before: sums, extremes. */
static void
differences(const table *t, const char *what)
{
	static steps_list l;
	const uint32_t column = t->types[1] == GS_I64 ? 1 : NUMBER;
	const gs_number number = number_of(t->types[column]);
	const gs_row_order orders[2] = {{0, 0, 0, 0}, {NUMBER, rnd() % 2, 0, 0}};
	const gs_window_function f = {.function = GS_WINDOW_LAG, .column = column, .number = 1};
	const gs_instruction code[3] = {
		{GS_CODE_COLUMN, number, 0, column}, {GS_CODE_COLUMN, number, 0, SOURCE}, {GS_CODE_SUBTRACT, number, 0, 0}};
	gs_type types[SOURCE + 1];

	memcpy(types, t->types, SOURCE * sizeof(*types));
	types[SOURCE] = types[column];
	list_begin(&l, types, SOURCE + 1);
	l.head.ncolumns = SOURCE;
	l.head.ngiven = 1;
	(void) list_window(&l, &f, 1, orders, 1, 1);
	if (rnd() % 2)
	{
		list_filter(&l, 1);
		list_term(&l, column, (gs_test) (GS_TEST_EQ_COLUMN + rnd() % 8), SOURCE, 0);
	}
	list_group(&l, 4);
	list_aggregate(&l, GS_SUM, code, 3);
	list_aggregate(&l, GS_MIN, code, 3);
	list_aggregate(&l, GS_COUNT, code, 3);
	list_aggregate(&l, GS_COUNT, code, 3);
	list_refine(&l, GS_DISTINCT, 0, NULL, 0);
	if (rnd() % 2)
		list_keys(&l, (uint32_t[]){rnd() % 3}, 1);
	windows_list(t, &l, NULL, what);
}

/* Random lists over a table. */
static void
random_lists(uint64_t most, uint64_t partitions)
{
	static table t;
	char what[64];
	gs_type types[4];

	for (int i = 0; i < 4; i++)
		types[i] = i == 1 && rnd() % 4 == 0 ? GS_I64 : (gs_type) (rnd() % GS_BYTES);
	snprintf(what, sizeof(what), "%llu partitions, %s, %s, %s", (unsigned long long) partitions, type_name(types[0]),
			 type_name(types[1]), type_name(types[2]));
	windows_rows(&t, most, partitions, types[0], types[1], types[2], types[3]);
	for (int turn = 0; turn < 6; turn++)
		random_list(&t, what);
	differences(&t, what);
	drop_table(&t);
}

/* Orders by few values far apart and by a number that grows with the rows, of which one value or pair is not so. */
static void
nearly(void)
{
	static table t;

	for (int turn = 0; turn < 9; turn++, drop_table(&t))
	{
		windows_nearly(&t, turn % 3 == 1, turn % 3 == 2);
		for (int i = 0; i < 8; i++)
			random_list(&t, "nearly in order, or apart");
	}
}

/* Orders by values far apart. */
static void
far_apart(void)
{
	static table t;

	for (uint32_t kind = 0; windows_far_apart(&t, kind); kind++, drop_table(&t))
		for (int i = 0; i < 8; i++)
			random_list(&t, "values far apart");
}

/* Every function and frame over a type, one at a time. */
static void
every_function(gs_type type)
{
	static table t;
	static steps_list l;
	gs_type types[SOURCE + 1];
	gs_row_order orders[3] = {{0, 0, 0, 0}, {1, 1, 1, 0}, {NUMBER, 0, 0, 0}};
	gs_range range, number;
	uint64_t before;
	bool wide; /* the orders may have no room in a word */
	char what[64];

	windows_rows(&t, small_only ? 1000 : 3000, 1 + rnd() % 20, GS_I16, (gs_type) (rnd() % GS_BYTES), type, GS_I32);
	range = column_range(&t, 1);
	number = column_range(&t, NUMBER);
	wide = range_bits(&range, t.types[1]) + range_bits(&number, GS_I32) > 64;
	memcpy(types, t.types, SOURCE * sizeof(*types));
	for (uint32_t function = 0; function <= GS_WINDOW_MAX; function++)
		for (uint32_t frame = 0; frame <= (function >= GS_WINDOW_FIRST ? 2 : 0); frame++)
		{
			gs_window_function f = {function, GS_NO_COLUMN, 0, frame, 0, 0, 0};
			gs_steps *steps = calloc(1, sizeof(gs_steps) + SOURCE);

			for (uint32_t c = 0; c < SOURCE; c++)
				steps->types[c] = (uint8_t) t.types[c];
			f.column = function >= GS_WINDOW_RUN ? 2 : GS_NO_COLUMN;
			f.number = function == GS_WINDOW_NTILE || function == GS_WINDOW_NTH || function == GS_WINDOW_LAG ? 2 : 0;
			f.from = frame == GS_FRAME_ROWS ? -2 : 0;
			f.to = frame == GS_FRAME_ROWS ? 1 : 0;
			types[SOURCE] = gs_window_type(steps, &f);
			free(steps);
			if (function == GS_WINDOW_SUM && type == GS_F32)
				continue;
			list_begin(&l, types, SOURCE + 1);
			l.head.ncolumns = SOURCE;
			l.head.ngiven = 1;
			(void) list_window(&l, &f, 1, orders, 1, 2);
			list_group(&l, 1);
			list_column(&l, GS_MIN, SOURCE, number_of(types[SOURCE]));
			list_keys(&l, (uint32_t[]){NUMBER}, 1);
			snprintf(what, sizeof(what), "function %u, frame %u of %s", function, frame, type_name(type));
			before = answered;
			windows_list(&t, &l, NULL, what);
			/* sums of integers of 128 bits may leave them: not on a GPU */
			check(answered > before || wide || (function == GS_WINDOW_SUM && type == GS_U128), "%s: answered", what);
		}
	drop_table(&t);
}

/* Values that take all bits of a word, beside partitions that the parts of the rows tell: how many rows each has. */
static void
whole_words(void)
{
	static table t;
	static steps_list l;
	const gs_window_function functions[] = {{.function = GS_WINDOW_COUNT, .column = GS_NO_COLUMN},
											{.function = GS_WINDOW_MAX, .column = 1},
											{.function = GS_WINDOW_MAX, .column = 2}};
	const gs_row_order partition = {0, 0, 0, 0};
	const gs_type types[SOURCE + 3] = {GS_I16, GS_I32, GS_I32, GS_I32, GS_I32, GS_I64, GS_I32, GS_I32};

	windows_whole_words(&t);
	list_begin(&l, types, SOURCE + 3);
	l.head.ncolumns = SOURCE;
	l.head.ngiven = 3;
	(void) list_window(&l, functions, 3, &partition, 1, 0);
	list_group(&l, 3);
	list_column(&l, GS_MIN, SOURCE, GS_NUMBER_I64);
	list_column(&l, GS_MIN, SOURCE + 1, GS_NUMBER_I32);
	list_column(&l, GS_MIN, SOURCE + 2, GS_NUMBER_I32);
	list_keys(&l, (uint32_t[]){0}, 1);
	windows_list(&t, &l, NULL, "values of 64 bits");
	drop_table(&t);
}

/* Runs of all lengths, which end anywhere in blocks of rows and go on in the next ones: how many rows and values each
   has, its sum, and the least of doubles that are zeros of either sign.  A sum of doubles keeps all rows together. */
static void
runs_over_blocks(void)
{
	static const uint32_t lengths[] = {700, 3, 40, 300};
	static table t;
	static steps_list l;
	const gs_window_function functions[] = {{.function = GS_WINDOW_RUN, .column = 1},
											{.function = GS_WINDOW_SUM, .column = 2}};
	const gs_row_order order = {NUMBER, 0, 0, 0};
	gs_type types[SOURCE + 2];
	uint32_t of = 0, at = 0;
	double zero = 0.0;

	windows_rows(&t, 9000, 1, GS_I16, GS_I32, GS_F64, GS_F64);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t r = 0; r < t.plain[s].rows; r++)
		{
			of += rnd() % lengths[at++ / 1500 % 4] == 0;
			zero = rnd() % 300 == 0 ? -zero : zero;
			((int32_t *) t.plain[s].values[1])[r] = (int32_t) (of % 50);
			((double *) t.plain[s].values[2])[r] = zero;
		}
	put_table(&t);
	memcpy(types, t.types, SOURCE * sizeof(*types));
	types[SOURCE] = GS_I64;
	types[SOURCE + 1] = GS_F64;
	list_begin(&l, types, SOURCE + 2);
	l.head.ncolumns = SOURCE;
	l.head.ngiven = 2;
	(void) list_window(&l, functions, 2, &order, 0, 1);
	list_group(&l, 4);
	list_aggregate(&l, GS_COUNT, NULL, 0);
	list_column(&l, GS_COUNT, 3, GS_NUMBER_F64);
	list_column(&l, GS_SUM, NUMBER, GS_NUMBER_I32);
	list_column(&l, GS_MIN, 2, GS_NUMBER_F64);
	list_keys(&l, (uint32_t[]){SOURCE, 1}, 2);
	windows_list(&t, &l, NULL, "runs over blocks");
	drop_table(&t);
}

void
test_windows(void)
{
	/* rows, and partitions of them: with few rows one, else so many that none is long for the reference */
	static const struct
	{
		uint64_t most, partitions;
	} kinds[] = {{300, 1},	   {1500, 1},		{2500, 3},					 {9000, 40},
				 {9000, 1000}, {90000, 100000}, {20000, (uint64_t) 1 << 40}};
	gs_cpu_tuning normal = gs_cpu_tuning_default();

	rnd_seed(4343);
	for (int vector = GS_AVX512; vector >= (on_gpu ? GS_AVX512 : GS_NO_VECTORS); vector -= 2)
	{
		gs_cpu_tuning tuning = normal;

		group(vector == GS_AVX512 ? "windows" : "windows, plain");
		tuning.vector = (gs_vectors) vector;
		if (vector == GS_AVX512) /* lines of records */
			tuning.combine_rows = 64;
		if (!on_gpu)
			gs_cpu_tune(engine, &tuning);
		for (int type = 0; type < GS_BYTES; type++)
			if (!skipped())
				every_function((gs_type) type);
		for (int turn = 0; turn < 4; turn++)
			if (!skipped())
				runs_over_blocks();
		for (int turn = 0; turn < 8; turn++)
			if (!skipped())
				whole_words();
		if (!skipped())
			windows_placed();
		if (!skipped())
			nearly(), far_apart();
		for (int turn = 0; turn < (small_only ? 14 : 28); turn++)
			if (!skipped())
				random_lists(small_only && kinds[turn % 7].most > 9000 ? 9000 : kinds[turn % 7].most,
							 kinds[turn % 7].partitions);
		if (!on_gpu)
			gs_cpu_tune(engine, &normal);
	}
	/* the others have orders of more bits than twice 64, on a GPU four times, or partitions, groups' keys, than 64 */
	check(answered * 10 >= lists * (on_gpu ? 7 : 9), "most lists were answered: %llu of %llu",
		  (unsigned long long) answered, (unsigned long long) lists);
}
