/*
 * groups_rows.h: the part of groups.c that asks for rows: pages in the order of a column, and the rows of a filter.
 */

/* Returns a value of a column as a number in its order. */
static int64_t
value_at(uint32_t c, uint64_t i)
{
	int64_t x;

	if (widths[c] == 4)
		return ((int32_t *) columns[c])[i];
	/* amounts are not negative */
	memcpy(&x, (char *) columns[c] + i * 8, 8);
	return x;
}

/* A page of 50 rows from a place on, in the order of a column. */
static void
page_of(const char *name, uint32_t c, uint64_t offset)
{
	const gs_row_order order = {.column = c};
	int64_t *sorted = malloc(rows * sizeof(int64_t)); /* descending */
	uint64_t n = offset >= rows ? 0 : rows - offset < 50 ? rows - offset : 50;
	bool good = true;

	for (uint64_t i = 0; i < rows; i++)
		sorted[i] = value_at(c, i);
	qsort(sorted, rows, sizeof(int64_t), compare_down);
	list_begin(&list, types, COLUMNS);
	list_rows(&list, offset, 50, &order, 1);
	run(name);
	for (uint64_t r = 0; r < nresult && r < n; r++)
	{
		const gs_row *row = (const gs_row *) result + r;

		good = good && value_at(c, row->segment * SEGMENT + row->row) == sorted[rows - 1 - offset - r];
	}
	verdict(good && nresult == n);
	free(sorted);
}

/* The rows that the filter passes. */
static void
rows_of_filter(void)
{
	uint64_t n = 0, places = 0, found = 0;

	for (uint64_t i = 0; i < rows; i++)
		if (value_at(QUANTITY, i) < 60 && value_at(PRICE, i) >= 0 && value_at(SHOP, i) < 40)
			n++, places += i;
	list_begin(&list, types, COLUMNS);
	filter();
	list_rows(&list, 0, 0, NULL, 0);
	run("filter of three, rows");
	for (uint64_t r = 0; r < nresult; r++)
		found += ((const gs_row *) result)[r].segment * SEGMENT + ((const gs_row *) result)[r].row;
	verdict(nresult == n && found == places);
}

static void
pages_of_rows(void)
{
	page_of("page of 50 by int4, from 0", CUSTOMER, 0);
	page_of("page of 50 by int4, from 1 M", CUSTOMER, 1000000);
	page_of("page of 50 by int8, from 1 M", PRICE, 1000000);
	page_of("page of 50 by float8, from 1 M", AMOUNT, 1000000);
	page_of("page of 50 by int4 of 50 values, from 1 M", SHOP, 1000000);
	rows_of_filter();
}
