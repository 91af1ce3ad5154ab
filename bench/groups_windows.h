/*
 * groups_windows.h: the part of groups.c that asks for windows: runs, islands, running totals, numbers of rows,
 * differences to the row before.  Their rows have five more columns.  Numbers of groups and rows are
 * printed, and not checked: test/kernels/windows.c checks.
 */

enum
{
	TS = COLUMNS, /* below TIMES */
	STATE,		  /* of a time, one of 7 */
	MICROSECONDS, /* of 45 bits */
	SECONDS,	  /* TS in microseconds */
	ID,			  /* a row's number */
	WINDOW		  /* the function's values */
};

#define TIMES		100000000
#define STATE_LASTS 500

static gs_type window_types[WINDOW + 1] = {GS_I32, GS_I32, GS_I32, GS_I64, GS_F64, GS_I64,
										  GS_I32, GS_I64, GS_I64, GS_I64, GS_I64};

/* Puts a column's segments where the engine reads them. */
static void
hold(gs_held *all, uint32_t column, const void *values, size_t width)
{
	for (uint64_t s = 0; s < source.nsegments; s++)
	{
		uint64_t n = rows - s * SEGMENT < SEGMENT ? rows - s * SEGMENT : SEGMENT;
		void *block;

		check(gs_alloc(engine, n * width, &block), "columns");
		check(gs_upload(engine, block, (const char *) values + s * SEGMENT * width, n * width), "columns");
		all[s * WINDOW + column].values = block;
	}
	check(gs_sync(engine), "columns");
}

/* Returns columns with times beside the others. */
static gs_held_rows
with_times(void)
{
	gs_held *all = calloc((size_t) source.nsegments * WINDOW, sizeof(gs_held));
	int64_t *times = malloc(rows * sizeof(int64_t)), *microseconds = malloc(rows * sizeof(int64_t));
	int64_t *seconds = malloc(rows * sizeof(int64_t)), *ids = malloc(rows * sizeof(int64_t));
	int32_t *states = malloc(rows * sizeof(int32_t));

	for (uint64_t i = 0; i < rows; i++)
	{
		times[i] = (int64_t) (mix(i * 13 + 5) % TIMES);
		states[i] = (int32_t) (times[i] / STATE_LASTS % 7);
		microseconds[i] = (int64_t) (mix(i * 17 + 6) >> (64 - 45));
		seconds[i] = times[i] * 1000000;
		ids[i] = (int64_t) i;
	}
	for (uint64_t s = 0; s < source.nsegments; s++)
		memcpy(&all[s * WINDOW], &held[s * COLUMNS], COLUMNS * sizeof(gs_held));
	hold(all, TS, times, sizeof(*times));
	hold(all, STATE, states, sizeof(*states));
	hold(all, MICROSECONDS, microseconds, sizeof(*microseconds));
	hold(all, SECONDS, seconds, sizeof(*seconds));
	hold(all, ID, ids, sizeof(*ids));
	free(times);
	free(states);
	free(microseconds);
	free(seconds);
	free(ids);
	ranges[TS] = (gs_range){.low = {{0, 0}}, .high = {{TIMES - 1, 0}}};
	ranges[STATE] = (gs_range){.low = {{0, 0}}, .high = {{6, 0}}};
	ranges[MICROSECONDS] = (gs_range){.low = {{0, 0}}, .high = {{((uint64_t) 1 << 45) - 1, 0}}};
	ranges[SECONDS] = (gs_range){.low = {{0, 0}}, .high = {{(uint64_t) (TIMES - 1) * 1000000, 0}}, .apart = 1000000};
	ranges[ID] = (gs_range){.low = {{0, 0}}, .high = {{rows - 1, 0}}};
	return (gs_held_rows){window_types, WINDOW, source.nsegments, all, source.nspans, source.spans};
}

/* Begins a list with a function over a window by a column in the order of another one (SECONDS: and ID). */
static void
window(uint32_t function, uint32_t column, gs_type type, uint32_t partition, uint32_t order)
{
	const gs_row_order orders[3] = {{.column = partition}, {.column = order}, {.column = ID}};
	gs_window_function f = {.function = function, .column = column};
	bool parted = partition != COLUMNS;

	window_types[WINDOW] = type;
	list_begin(&list, window_types, WINDOW + 1);
	list.head.ncolumns = WINDOW;
	list.head.ngiven = 1;
	f.number = function == GS_WINDOW_LAG;
	f.frame = function >= GS_WINDOW_FIRST ? GS_FRAME_PEERS : 0;
	(void) list_window(&list, &f, 1, parted ? orders : orders + 1, parted,
					   order == SECONDS ? 2 : 1);
}

/* Runs of a state, counted: rows whose state is not that of the row before. */
static void
runs_of(const char *name, uint32_t partition, uint32_t order)
{
	window(GS_WINDOW_LAG, STATE, GS_I32, partition, order);
	list_filter(&list, 1);
	list_term(&list, WINDOW, GS_TEST_DISTINCT_COLUMN, STATE, 0);
	list_group(&list, 1);
	list_aggregate(&list, GS_COUNT, NULL, 0);
	run(name);
	printf("  %llu\n", (unsigned long long) result[0].count);
}

/* Islands: runs as groups with their first and last time; those of more than some rows. */
static void
islands(const char *name, uint32_t partition, uint32_t order, int64_t least)
{
	const uint32_t keys[3] = {WINDOW, STATE, partition};
	uint32_t nkeys = partition == COLUMNS ? 2 : 3;

	window(GS_WINDOW_RUN, STATE, GS_I64, partition, order);
	list_group(&list, 3);
	list_aggregate(&list, GS_COUNT, NULL, 0);
	list_column(&list, GS_MIN, order, GS_NUMBER_I64);
	list_column(&list, GS_MAX, order, GS_NUMBER_I64);
	list_keys(&list, keys, nkeys);
	list_having(&list, 1);
	list_compare(&list, nkeys, GS_TEST_GT, least);
	run(name);
	printf("  %llu\n", (unsigned long long) nresult);
}

/* The highest of a function's values. */
static void
highest(const char *name, uint32_t column, gs_type type, gs_number number, uint32_t order)
{
	window(GS_WINDOW_SUM, column, type, CUSTOMER, order);
	list_group(&list, 1);
	list_column(&list, GS_MAX, WINDOW, number);
	run(name);
	printf("  %llx\n", (unsigned long long) result[0].value[0]);
}

/* Rows of the lowest numbers among their customer's. */
static void
first_rows(const char *name, int64_t most)
{
	window(GS_WINDOW_ROW_NUMBER, GS_NO_COLUMN, GS_I64, CUSTOMER, TS);
	list_filter(&list, 1);
	list_compare(&list, WINDOW, GS_TEST_LE, most);
	list_group(&list, 1);
	list_aggregate(&list, GS_COUNT, NULL, 0);
	run(name);
	printf("  %llu\n", (unsigned long long) result[0].count);
}

/* The sum of times less those of the rows before. */
static void
differences(const char *name, uint32_t order)
{
	const gs_instruction code[3] = {{GS_CODE_COLUMN, GS_NUMBER_I64, 0, order},
									{GS_CODE_COLUMN, GS_NUMBER_I64, 0, WINDOW},
									{GS_CODE_SUBTRACT, GS_NUMBER_I64, 0, 0}};

	window(GS_WINDOW_LAG, order, GS_I64, CUSTOMER, order);
	list_group(&list, 1);
	list_aggregate(&list, GS_SUM, code, 3);
	run(name);
	printf("  %llu\n", (unsigned long long) result[0].value[0]);
}

static void
windows(void)
{
	const gs_held_rows before = source;

	source = with_times();
	runs_of("runs of state by time: lag", COLUMNS, TS);
	runs_of("runs by seconds, id", COLUMNS, SECONDS);
	runs_of("runs by microseconds", COLUMNS, MICROSECONDS);
	runs_of("runs by shop", SHOP, TS);
	runs_of("runs by shop, seconds, id", SHOP, SECONDS);
	islands("islands by run", COLUMNS, TS, 1000000);
	islands("islands by run, seconds, id, all", COLUMNS, SECONDS, 0);
	islands("islands by shop", SHOP, TS, 1000000);
	highest("running total of float8", AMOUNT, GS_F64, GS_NUMBER_F64, TS);
	highest("running total of int8", PRICE, GS_U128, GS_NUMBER_I128, TS);
	highest("running total of int8 by seconds", PRICE, GS_U128, GS_NUMBER_I128, SECONDS);
	first_rows("row_number() <= 3", 3);
	differences("time - lag(time), sum", TS);
	differences("the same in microseconds", MICROSECONDS);
	differences("the same in seconds", SECONDS);
	source = before;
}
