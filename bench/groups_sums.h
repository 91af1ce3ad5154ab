/*
 * groups_sums.h: the part of groups.c that asks for sums and for numbers of different values.
 */

static void
sums(void)
{
	const wanted one[] = {{GS_SUM, QUANTITY, 0}}, real[] = {{GS_SUM, AMOUNT, 0}};
	int64_t sum = 0;
	double reals = 0;

	for (uint64_t i = 0; i < rows; i++)
	{
		sum += ((int32_t *) columns[QUANTITY])[i];
		if (((int32_t *) columns[QUANTITY])[i] < 60 && ((int64_t *) columns[PRICE])[i] >= 0 &&
			((int32_t *) columns[SHOP])[i] < 40)
			reals += ((double *) columns[AMOUNT])[i];
	}
	list_begin(&list, types, COLUMNS);
	group(COLUMNS, 1, one);
	run("sum int4");
	verdict((int64_t) result[0].value[0] == sum && result[0].count == rows);
	list_begin(&list, types, COLUMNS);
	filter();
	group(COLUMNS, 1, real);
	run("filter of three, sum float8");
	verdict(near(real_of(&result[0]), reals));
}

static void
distinct(void)
{
	const wanted one[] = {{GS_DISTINCT, CUSTOMER, 0}};
	uint8_t *seen = calloc(customers, 1);
	uint64_t n = 0;

	for (uint64_t i = 0; i < rows; i++)
	{
		n += !seen[((int32_t *) columns[CUSTOMER])[i]];
		seen[((int32_t *) columns[CUSTOMER])[i]] = 1;
	}
	free(seen);
	list_begin(&list, types, COLUMNS);
	group(COLUMNS, 1, one);
	run("count(DISTINCT int4)");
	verdict(result[0].count == n);
}

static void
distinct_of_50(void)
{
	const wanted one[] = {{GS_DISTINCT, CUSTOMER, 0}};
	uint8_t(*seen)[SHOPS] = calloc(customers, SHOPS);
	uint64_t n[SHOPS] = {0};
	bool good = true;

	for (uint64_t i = 0; i < rows; i++)
		seen[((int32_t *) columns[CUSTOMER])[i]][((int32_t *) columns[SHOP])[i]] = 1;
	for (uint64_t i = 0; i < customers * SHOPS; i++)
		n[i % SHOPS] += seen[i / SHOPS][i % SHOPS];
	free(seen);
	list_begin(&list, types, COLUMNS);
	group(SHOP, 1, one);
	run("count(DISTINCT int4) of 50 groups");
	for (uint64_t r = 0; r < nresult; r++)
		good = good && result[2 * r + 1].count == n[result[2 * r].value[0]];
	verdict(good && nresult == (rows < SHOPS ? nresult : SHOPS));
}
