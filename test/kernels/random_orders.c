/*
 * random_orders.c: random tables of random columns, with random sizes of the engine's limits; whole orders, and the
 * first rows of them.  Takes rounds=N and rows=N, the most of a table.  A failure names its seed, which, as SEED and
 * with rounds=1, repeats it.
 */
#include "engine.h"
#include "random_table.h"
#include "tests.h"

void
test_random_orders(void)
{
	uint64_t from = test_seed(), rounds = option("rounds", 1500), rows = option("rows", 20000), bad = 0;

	for (uint64_t round = 0; round < rounds && bad == 0; round++)
	{
		table t;
		gs_cpu_tuning tuning;
		uint32_t chunk_rows;

		rnd_seed((from + round) * 0x9e3779b97f4a7c15u);
		random_table(&t, rows);
		tuning = random_tuning();
		gs_cpu_tune(engine, &tuning);
		chunk_rows = 1 + (uint32_t) random_size(5000);
		if (!order_job_right(engine, &t, chunk_rows, 1 + random_size(5000), NULL) ||
			!top_job_right(engine, &t, 1 + random_size(t.rows / 4), chunk_rows, 1 + random_size(5000)))
			bad = from + round;
		table_free(&t);
	}
	tap_ok(bad == 0, "%lu random tables from seed %lu; bad seed %lu", (unsigned long) rounds, (unsigned long) from,
		   (unsigned long) bad);
}
