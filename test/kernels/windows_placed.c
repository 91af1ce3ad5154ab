/*
 * windows_placed.c: windows whose rows come in their order, in pieces of all segments, instead of having its column.
 */
#include "windows_data.h"

#include "../../kernels/common/steps_row.h"
#include "scan_test.h"

#define MOST_PIECES 4000
#define GIVEN		3 /* columns of the window: a number of the row, some function, runs */

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

void
windows_placed(void)
{
	static const uint64_t most[] = {40, 300, 1500, 3000}; /* few, as the reference takes long for one partition */
	static table t;

	for (int turn = 0; turn < 12; turn++)
	{
		const gs_type type = (gs_type) (rnd() % GS_BYTES);
		gs_held_rows rows;

		windows_fill(&t, most[turn % 4], 1 + rnd() % 9, type, (gs_type) (rnd() % GS_BYTES), GS_I16,
					 (gs_type) (rnd() % GS_BYTES));
		rows = number_pieces(&t, turn % 3 ? 700 : 20);
		for (int i = 0; i < 5; i++)
			one_list(&t, &rows, "rows in order");
		if (turn == 8)
			refused(&t, &rows);
		drop_table(&t);
	}
}
