/*
 * windows_placed.c: windows whose rows come in their order, in pieces of all segments, instead of having its column.
 */
#include "windows_data.h"

#include "../../kernels/common/steps_row.h"
#include "scan_test.h"

#define MOST_PIECES 4000
#define GIVEN		3 /* columns of the window: a number of the row, some function, runs */

#define LEAST_PASS 4 /* values that a filter compares are less */

/* The pieces, and the columns of all segments, of which the number's are not there. */
static gs_span pieces[MOST_PIECES];
static gs_held columns[SEGMENTS * SOURCE];

/* Numbers a table's rows in pieces of its segments, which lie one behind another in each.  Returns the rows. */
static gs_held_rows
number_pieces(table *t, uint32_t most)
{
	uint32_t done[SEGMENTS] = {0}, npieces = 0;
	int32_t number = -7;

	for (uint32_t left = SEGMENTS; left > 0;)
	{
		const uint32_t s = (uint32_t) (rnd() % SEGMENTS), rows = t->plain[s].rows - done[s];
		uint32_t n = npieces >= MOST_PIECES - SEGMENTS || rows < most ? rows : (uint32_t) (rnd() % most);

		if (done[s] == UINT32_MAX)
			continue;
		pieces[npieces++] = (gs_span){s, done[s], n};
		for (; n > 0; n--)
			((int32_t *) t->plain[s].values[NUMBER])[done[s]++] = number++;
		if (done[s] == t->plain[s].rows)
		{
			done[s] = UINT32_MAX;
			left--;
		}
	}
	put_table(t);
	memcpy(columns, t->held, sizeof(columns));
	for (uint32_t s = 0; s < SEGMENTS; s++)
		columns[s * SOURCE + NUMBER] = (gs_held){pieces, NULL};
	return (gs_held_rows){t->types, SOURCE, SEGMENTS, columns, npieces, pieces};
}

/* Adds groups behind the window: each row's, with all columns, those of runs, or all rows. */
static void
add_groups(steps_list *l, uint32_t n)
{
	const uint32_t run = SOURCE + 2, kind = (uint32_t) (rnd() % 4);
	const uint32_t keys[2] = {kind < 2 ? SOURCE : run, (uint32_t) (rnd() % NUMBER)};

	list_group(l, kind < 2 ? n - 1 : 2);
	for (uint32_t c = 0; kind < 2 && c < n; c++)
		if (c != NUMBER)
			list_column(l, GS_MIN, c, number_of((gs_type) l->head.types[c]));
	if (kind >= 2)
	{
		list_aggregate(l, GS_COUNT, NULL, 0);
		list_column(l, GS_MAX, kind == 2 ? SOURCE : run, GS_NUMBER_I64);
	}
	if (kind < 3)
		list_keys(l, keys, kind == 2 && rnd() % 2 ? 2 : 1);
}

/* A list over the rows: maybe a filter, the window, maybe another by its number of the row, and groups. */
static void
one_list(const table *t, const gs_held_rows *rows, const char *what)
{
	static steps_list l;
	const gs_row_order order = {NUMBER, 0, rnd() % 2, 0}, further[2] = {{0, 0, 0, 0}, {SOURCE, 1, 0, 0}};
	const gs_window_function count = {.function = GS_WINDOW_COUNT, .column = GS_NO_COLUMN};
	const uint32_t n = SOURCE + GIVEN + (rnd() % 4 == 0);
	gs_window_function functions[GIVEN] = {{.function = GS_WINDOW_ROW_NUMBER, .column = GS_NO_COLUMN}};
	gs_type types[SOURCE + GIVEN + 1];
	uint8_t of[SOURCE];

	for (uint32_t c = 0; c < SOURCE; c++)
		of[c] = (uint8_t) (types[c] = t->types[c]);
	functions[1] = windows_function(of, NUMBER, true);
	functions[2] = (gs_window_function){.function = GS_WINDOW_RUN, .column = (uint32_t) (rnd() % NUMBER)};
	list_begin(&l, types, SOURCE);
	for (uint32_t i = 0; i < GIVEN; i++)
		types[SOURCE + i] = gs_window_type(&l.head, &functions[i]);
	types[SOURCE + GIVEN] = GS_I64;
	list_begin(&l, types, n);
	l.head.ncolumns = SOURCE;
	l.head.ngiven = n - SOURCE;
	if (rnd() % 2)
		windows_filter(&l, NUMBER);
	(void) list_window(&l, functions, GIVEN, &order, 0, 1);
	if (n > SOURCE + GIVEN)
		(void) list_window(&l, &count, 1, further, 1, 1);
	add_groups(&l, n);
	check(gs_groups_placed(&l.head, NUMBER), "%s: its rows may come in order", what);
	check(!gs_groups_placed(&l.head, 0), "%s: not in that of another column", what);
	windows_list(t, &l, rows, what);
}

/* Opens a list of a window by the number, or another order, over a column. */
static gs_status
open_list(const table *t, uint32_t column, gs_row_order order, uint32_t npartition, gs_groups **groups)
{
	static steps_list l;
	const gs_row_order orders[2] = {npartition > 0 ? (gs_row_order){0, 0, 0, 0} : order, order};
	const gs_window_function f = {.function = GS_WINDOW_RUN, .column = column};
	gs_range ranges[SOURCE];
	gs_type types[SOURCE + 1];
	uint64_t rows = 0;

	memcpy(types, t->types, SOURCE * sizeof(*types));
	types[SOURCE] = GS_I64;
	list_begin(&l, types, SOURCE + 1);
	l.head.ncolumns = SOURCE;
	l.head.ngiven = 1;
	(void) list_window(&l, &f, 1, orders, npartition, 1);
	list_group(&l, 1);
	list_column(&l, GS_MAX, SOURCE, GS_NUMBER_I64);
	for (uint32_t c = 0; c < SOURCE; c++)
		ranges[c] = column_range(t, c);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		rows += t->plain[s].rows;
	ranges[NUMBER].placed = true;
	return gs_groups_open(engine, &l.head, ranges, rows, 1, groups);
}

/* What is refused. */
static void
refused(const table *t, const gs_held_rows *rows)
{
	const gs_row_order by_number = {NUMBER, 0, 0, 0}, down = {NUMBER, 1, 0, 0}, other = {1, 0, 0, 0};
	gs_groups *groups;

	check(open_list(t, 1, down, 0, &groups) == GS_INVALID, "rows do not come in the descending order");
	check(open_list(t, 1, other, 0, &groups) == GS_INVALID, "nor in that of a column which is no order");
	check(open_list(t, 1, by_number, 1, &groups) == GS_INVALID, "nor within partitions");
	check(open_list(t, NUMBER, by_number, 0, &groups) == GS_INVALID, "nor where its values are taken");
	check(open_list(t, 1, by_number, 0, &groups) == GS_OK, "a list is opened");
	check(gs_groups_rows(groups, 0, engine, rows) == GS_OK, "rows come");
	check(gs_groups_rows(groups, 0, engine, rows) == GS_INVALID, "they come once");
	gs_groups_close(groups, engine);
}

/* ---- sizes around those of tiles, which the reference takes too long for */

/* Rows of one segment, of which the second half comes first: values in runs, and what a filter compares. */
typedef struct tiled
{
	uint64_t n;
	gs_type type;
	uint8_t pass; /* rows with less */
	double *values;
	uint8_t *compared;
} tiled;

/* A run that passes. */
typedef struct run
{
	double value;
	uint64_t rows;
} run;

/* Makes rows, some of which pass a filter, with runs of some length in the mean. */
static tiled
make_tiled(uint64_t n, gs_type type, uint8_t pass, uint32_t mean)
{
	tiled t = {n, type, pass, malloc((n + 1) * sizeof(double)), malloc(n + 1)};
	double value = 0;

	for (uint64_t r = 0; r < n; r++)
	{
		value = rnd() % mean == 0 ? (double) (rnd() % 100) : value;
		t.values[r] = value;
		t.compared[r] = (uint8_t) (rnd() % LEAST_PASS);
	}
	return t;
}

/* Finds the runs of the rows that pass.  Returns how many there are. */
static uint64_t
runs_of(const tiled *t, run *runs)
{
	const uint64_t half = t->n / 2;
	uint64_t n = 0;

	for (uint64_t i = 0; i < t->n; i++)
	{
		const uint64_t r = i < t->n - half ? half + i : i - (t->n - half);

		if (t->compared[r] >= t->pass)
			continue;
		if (n == 0 || runs[n - 1].value != t->values[r])
			runs[n++] = (run){.value = t->values[r]};
		runs[n - 1].rows++;
	}
	return n;
}

/* Makes the list: a filter, runs of the values by the rows' order, and how many rows and which value each has. */
static void
tiled_list(steps_list *l, const tiled *t)
{
	const gs_type types[4] = {t->type, GS_U8, GS_I64, GS_I64};
	const gs_window_function f = {.function = GS_WINDOW_RUN, .column = 0};
	const gs_row_order order = {2, 0, 0, 0};

	list_begin(l, types, 4);
	l->head.ncolumns = 3;
	l->head.ngiven = 1;
	if (t->pass < LEAST_PASS)
	{
		list_filter(l, 1);
		list_compare(l, 1, GS_TEST_LT, t->pass);
	}
	(void) list_window(l, &f, 1, &order, 0, 1);
	list_group(l, 2);
	list_aggregate(l, GS_COUNT, NULL, 0);
	list_column(l, GS_MIN, 0, number_of(t->type));
	list_keys(l, (uint32_t[]){3}, 1);
}

/* Returns true if groups are these runs, in any order. */
static bool
are_runs(const gs_reduced *groups, uint64_t n, const run *runs, gs_type type)
{
	bool right = true;

	for (uint64_t i = 0; i < n && right; i++)
	{
		const gs_reduced *g = groups + 3 * i;
		const run *r = &runs[g[0].value[0] - 1];
		double value;

		memcpy(&value, &g[2].value[0], sizeof(value));
		right = g[0].value[0] >= 1 && g[0].value[0] <= n && g[1].count == r->rows &&
			(type == GS_F64 ? value : (double) (int64_t) g[2].value[0]) == r->value;
	}
	return right;
}

/* Puts the rows where the engine reads them. */
static gs_held
put_values(const tiled *t, array *to)
{
	int32_t *narrow = malloc((t->n + 1) * sizeof(int32_t));

	for (uint64_t r = 0; r < t->n; r++)
		narrow[r] = (int32_t) t->values[r];
	*to = make_array(t->n * gs_type_width(t->type), 0);
	put(to, t->type == GS_F64 ? (void *) t->values : narrow, t->n * gs_type_width(t->type));
	free(narrow);
	return (gs_held){to->data, NULL};
}

/* Asks the engine. */
static void
ask_tiled(const tiled *t, const run *runs, uint64_t nruns, uint32_t workers)
{
	static steps_list l;
	array memory[2] = {{0}, make_array(t->n, 0)};
	const gs_held held[3] = {put_values(t, &memory[0]), {memory[1].data, NULL}, {t, NULL}};
	const uint32_t half = (uint32_t) (t->n / 2);
	const gs_span spans[2] = {{0, half, (uint32_t) t->n - half}, {0, 0, half}};
	const gs_held_rows rows = {(gs_type[]){t->type, GS_U8, GS_I64}, 3, 1, held, half > 0 ? 2 : 1, spans};
	const uint64_t most = t->type == GS_F64 ? gs_float_order64(gs_real_bits(100), true) : 100;
	const uint64_t least = t->type == GS_F64 ? gs_float_order64(0, true) : 0;
	const gs_range ranges[3] = {{.low = {{least}}, .high = {{most}}},
								{.high = {{LEAST_PASS}}},
								{.high = {{t->n}}, .placed = true}};
	gs_reduced *out = calloc(3 * (nruns + 1), sizeof(*out));
	gs_groups *groups = NULL;
	uint64_t n = 0;
	gs_status status;

	put(&memory[1], t->compared, t->n);
	tiled_list(&l, t);
	status = gs_groups_open(engine, &l.head, ranges, t->n, workers, &groups);
	if (status == GS_OK)
		status = gs_groups_rows(groups, 0, engine, &rows);
	if (status == GS_OK)
		status = do_parts(groups, workers);
	if (status == GS_OK)
		status = gs_groups_end(groups, engine, 0, &n);
	if (status == GS_OK && n == nruns)
		status = gs_groups_read(groups, engine, 0, n, out);
	check(status == GS_OK && n == nruns && are_runs(out, n, runs, t->type), "%llu rows: %s, %llu runs, not %llu",
		  (unsigned long long) t->n, gs_status_text(status), (unsigned long long) n, (unsigned long long) nruns);
	gs_groups_close(groups, engine);
	drop(&memory[0]);
	drop(&memory[1]);
	free(out);
}

/* Rows of each size, of integers, which keys tell, and doubles, of which rows are numbered: none, few or all pass. */
static void
tiles(void)
{
	static const uint32_t means[] = {1, 3, 500};

	for (int i = 0; i < nsizes && sizes[i] <= (small_only ? 12289 : 300000); i++)
	{
		const gs_type type = i % 2 ? GS_I32 : GS_F64;
		const uint8_t pass = (uint8_t) (rnd() % 8 == 0 ? 0 : 1 + rnd() % LEAST_PASS);
		tiled t = make_tiled(sizes[i], type, pass, means[rnd() % 3]);
		run *runs = malloc((sizes[i] + 1) * sizeof(*runs));

		if (sizes[i] > 0 && !skipped())
			ask_tiled(&t, runs, runs_of(&t, runs), on_gpu ? 1 : 3);
		free(runs);
		free(t.values);
		free(t.compared);
	}
}

void
windows_placed(void)
{
	static const uint64_t most[] = {40, 300, 1500, 3000}; /* few, as the reference takes long for one partition */
	static table t;

	tiles();
	/* a GPU waits for the reference */
	for (int turn = 0; turn < (on_gpu ? 6 : 12); turn++)
	{
		const gs_type type = (gs_type) (rnd() % GS_BYTES);
		gs_held_rows rows;

		windows_fill(&t, most[turn % 4], 1 + rnd() % 9, type, (gs_type) (rnd() % GS_BYTES), GS_I16,
					 (gs_type) (rnd() % GS_BYTES));
		rows = number_pieces(&t, turn % 3 ? 700 : 20);
		for (int i = 0; i < 5; i++)
			one_list(&t, &rows, "rows in order");
		if (turn == 4)
			refused(&t, &rows);
		drop_table(&t);
	}
}
