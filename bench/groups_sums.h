/*
 * groups_sums.h: the part of groups.c that asks for sums and for numbers of different values.
 */

/* Returns true if the filter passes a row. */
static bool
passes(uint64_t i)
{
	return ((int32_t *) columns[QUANTITY])[i] < 60 && ((int64_t *) columns[PRICE])[i] >= 0 &&
		((int32_t *) columns[SHOP])[i] < 40;
}

static void
sums(void)
{
	const wanted one[] = {{GS_SUM, QUANTITY, 0}}, real[] = {{GS_SUM, AMOUNT, 0}};
	int64_t sum = 0;
	double reals = 0;

	for (uint64_t i = 0; i < rows; i++)
	{
		sum += ((int32_t *) columns[QUANTITY])[i];
		if (passes(i))
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

/* Integers of 50 groups, or of the 40 that the filter passes. */
static void
integers_of_50(const char *name, bool filtered, uint32_t n)
{
	const wanted wants[] = {{GS_SUM, PRICE, 0}, {GS_MIN, PRICE, 0}, {GS_MAX, PRICE, 0}};
	int64_t sum[SHOPS] = {0}, least[SHOPS], most[SHOPS];
	bool good = true;

	for (uint32_t s = 0; s < SHOPS; s++)
		least[s] = INT64_MAX, most[s] = INT64_MIN;
	for (uint64_t i = 0; i < rows; i++)
	{
		const int64_t x = ((int64_t *) columns[PRICE])[i];
		const int32_t s = ((int32_t *) columns[SHOP])[i];

		if (filtered && !passes(i))
			continue;
		sum[s] += x;
		least[s] = x < least[s] ? x : least[s];
		most[s] = x > most[s] ? x : most[s];
	}
	list_begin(&list, types, COLUMNS);
	if (filtered)
		filter();
	group(SHOP, n, wants);
	run(name);
	for (uint64_t r = 0; r < nresult; r++)
	{
		const gs_reduced *g = &result[(n + 1) * r];
		const int64_t expected[] = {sum[g->value[0]], least[g->value[0]], most[g->value[0]]};

		for (uint32_t i = 0; i < n; i++)
			good = good && (int64_t) g[1 + i].value[0] == expected[i];
	}
	verdict(good && nresult > 0);
}
