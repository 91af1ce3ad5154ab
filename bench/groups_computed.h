/*
 * groups_computed.h: the part of groups.c that asks for groups by computed keys: of all rows, and of those that a
 * filter passes, one in 140, with the same groups by plain columns beside them.  Segments are as short as the service
 * names them of a table with wide rows, whose pages several loaders have read.
 */

#define SMALL_SEGMENT (device ? 4096 : 8192) /* of rows, of which a segment of source has a multiple */
#define COMPUTED	  COLUMNS /* the computed column */
#define MINUTE		  60	  /* that prices are divided by */

/* Returns true if the filter passes a row. */
static bool
passes_few(uint64_t i)
{
	return ((int32_t *) columns[SHOP])[i] < 1 && ((int32_t *) columns[QUANTITY])[i] < 36 &&
		((int64_t *) columns[PRICE])[i] >= -1000;
}

/* Adds that filter. */
static void
few_rows(void)
{
	list_filter(&list, 3);
	list_compare(&list, SHOP, GS_TEST_LT, 1);
	list_compare(&list, QUANTITY, GS_TEST_LT, 36);
	list_compare(&list, PRICE, GS_TEST_GE, -1000);
}

/* Begins a list that has a column more. */
static void
begin_computed(void)
{
	gs_type all[COLUMNS + 1];

	memcpy(all, types, sizeof(types));
	all[COMPUTED] = GS_I64;
	list_begin(&list, all, COLUMNS + 1);
	list.head.ncolumns--;
	list.head.ngiven = 1;
}

/* Computes prices in whole minutes, as date_trunc is asked for. */
static void
compute_minutes(void)
{
	const wide constants[] = {-1000, 1000000, MINUTE};
	gs_instruction code[] = {{GS_CODE_COLUMN, GS_NUMBER_I64, 0, PRICE},
							 {GS_CODE_WITHIN, GS_NUMBER_I64, 0, 0},
							 {GS_CODE_QUOTIENT, GS_NUMBER_I64, 0, 2},
							 {GS_CODE_CONSTANT, GS_NUMBER_I64, 0, 2},
							 {GS_CODE_MULTIPLY, GS_NUMBER_I64, 0, 0}};

	begin_computed();
	list_compute(&list, constants, 3, code, 5);
}

/* Chooses a customer where the quantity is below 18, else -1. */
static void
choose_customers(void)
{
	const wide most = 18, other = -1;
	gs_term term = {QUANTITY, GS_TEST_LT, 0, 1};

	begin_computed();
	list_choices(&list, 2);
	term.constants = list_integers(&list, &most, 1);
	list_choice(&list, &term, 1, (gs_instruction){GS_CODE_COLUMN, GS_NUMBER_I32, 0, CUSTOMER});
	list_choice(&list, NULL, 0, (gs_instruction){GS_CODE_CONSTANT, GS_NUMBER_I64, 0, list_integers(&list, &other, 1)});
}

/* Counts the rows of groups by some keys. */
static void
count_groups(const char *name, bool few, uint32_t nkeys, const uint32_t *keys)
{
	uint64_t n = 0, all = 0;

	if (few)
		few_rows();
	list_group(&list, 1);
	list_aggregate(&list, GS_COUNT, NULL, 0);
	list_keys(&list, keys, nkeys);
	run(name);
	for (uint64_t r = 0; r < nresult; r++)
		all += result[(nkeys + 1) * r + nkeys].count;
	for (uint64_t i = 0; i < rows; i++)
		n += !few || passes_few(i);
	verdict(all == n);
}

/* Groups of all rows by minutes, as plain C counts them. */
static void
check_minutes(void)
{
	const int64_t first = -17, end = 999000 / MINUTE + 1;
	uint64_t *n = calloc((size_t) (end - first), sizeof(*n));
	bool good = true;

	for (uint64_t i = 0; i < rows; i++)
		if (passes_few(i))
		{
			const int64_t x = ((int64_t *) columns[PRICE])[i];

			n[x / MINUTE - (x % MINUTE < 0) - first]++;
		}
	for (uint64_t r = 0; r < nresult; r++)
		good = good && result[2 * r + 1].count == n[(int64_t) result[2 * r].value[0] / MINUTE - first];
	free(n);
	printf("%-42s %9llu groups", "  each of them", (unsigned long long) nresult);
	verdict(good);
}

/* Asks these questions of the same columns in small segments. */
static void
computed_keys(void)
{
	const gs_held_rows before = source;
	const uint32_t n = (uint32_t) ((rows + SMALL_SEGMENT - 1) / SMALL_SEGMENT);
	const uint32_t plain[] = {PRICE}, minute[] = {COMPUTED}, four[] = {SHOP, QUANTITY, CUSTOMER, COMPUTED};
	gs_held *small = calloc((size_t) n * COLUMNS, sizeof(gs_held));
	gs_span *all = calloc(n, sizeof(gs_span));

	for (uint32_t s = 0; s < n; s++)
	{
		const uint64_t first = (uint64_t) s * SMALL_SEGMENT, left = rows - first;

		all[s] = (gs_span){s, 0, (uint32_t) (left < SMALL_SEGMENT ? left : SMALL_SEGMENT)};
		for (uint32_t c = 0; c < COLUMNS; c++)
			small[(size_t) s * COLUMNS + c].values =
				(const char *) held[first / SEGMENT * COLUMNS + c].values + first % SEGMENT * widths[c];
	}
	source = (gs_held_rows){types, COLUMNS, n, small, n, all};
	segment = unit_rows = SMALL_SEGMENT;
	printf("%u segments\n", n);
	list_begin(&list, types, COLUMNS);
	count_groups("one row in 140, groups by int8", true, 1, plain);
	compute_minutes();
	count_groups("one row in 140, groups by date_trunc", true, 1, minute);
	check_minutes();
	choose_customers();
	count_groups("one row in 140, groups by 3 and CASE", true, 4, four);
	list_begin(&list, types, COLUMNS);
	count_groups("one row in 140, groups by 3", true, 3, four);
	list_begin(&list, types, COLUMNS);
	count_groups("groups by int8", false, 1, plain);
	compute_minutes();
	count_groups("groups by date_trunc", false, 1, minute);
	choose_customers();
	count_groups("groups by CASE", false, 1, minute);
	source = before;
	segment = SEGMENT;
	unit_rows = UNIT;
	free(small);
	free(all);
}
