/*
 * groups_keys.h: the part of groups.c that asks for the first of many groups, of keys of several kinds.
 */

/* Gives rows other customers: so many, even, or with a few that are frequent, or that lie apart. */
static void
make_customers(uint64_t number, bool frequent, uint64_t multiple)
{
	int32_t *values = columns[CUSTOMER];

	for (uint64_t i = 0; i < rows; i++)
	{
		double u = (double) (mix(i) >> 11) / 9007199254740992.0;

		values[i] = (int32_t) ((uint64_t) ((frequent ? u * u * u * u : u) * (double) number) * multiple);
	}
	customers = number;
	apart = multiple;
	ranges[CUSTOMER] = (gs_range){.low = {{0, 0}}, .high = {{(number - 1) * multiple, 0}}};
	for (uint32_t s = 0; s < source.nsegments; s++)
		check(gs_upload(engine, (void *) held[(size_t) s * COLUMNS + CUSTOMER].values,
						(char *) columns[CUSTOMER] + s * SEGMENT * widths[CUSTOMER],
						spans[s].rows * widths[CUSTOMER]), "columns");
	check(gs_sync(engine), "columns");
}

/* Groups of 1000 to most customers. */
static void
groups_of_keys(uint64_t most)
{
	for (uint64_t number = 1000; number <= most; number *= 10)
		for (int kind = 0; kind < 3; kind++)
		{
			static const char *const kinds[] = {"even", "uneven", "sparse"};
			char name[80];

			make_customers(number, kind == 1, kind == 2 ? INT32_MAX / number : 1);
			snprintf(name, sizeof(name), "%llu groups, %s, top 10", (unsigned long long) number, kinds[kind]);
			groups_of_many(name);
		}
}
