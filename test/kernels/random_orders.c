/*
 * fuzz_test.c: random tables of random columns, with random sizes of the engine's limits; whole orders, and the first
 * rows of them.
 *
 *   fuzz_test [seed [rounds [most rows]]]
 *
 * A failure names its seed, which repeats it.
 */
#include "random_table.h"

int
main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : test_seed(),
			 rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1500,
			 rows = argc > 3 ? strtoull(argv[3], NULL, 10) : 20000;
	uint64_t bad = 0;
	gs_engine *engine;

	gs_cpu_open(1, NULL, &engine);
	for (uint64_t round = 0; round < rounds && bad == 0; round++)
	{
		table t;
		gs_cpu_tuning tuning;
		uint32_t chunk_rows;

		rnd_seed((seed + round) * 0x9e3779b97f4a7c15u);
		random_table(&t, rows);
		tuning = random_tuning();
		gs_cpu_tune(engine, &tuning);
		chunk_rows = 1 + (uint32_t) random_size(5000);
		if (!order_job_right(engine, &t, chunk_rows, 1 + random_size(5000), NULL) ||
			!top_job_right(engine, &t, 1 + random_size(t.rows / 4), chunk_rows, 1 + random_size(5000)))
			bad = seed + round;
		table_free(&t);
	}
	tap_ok(bad == 0, "%lu random tables from seed %lu; bad seed %lu", (unsigned long) rounds, (unsigned long) seed,
		   (unsigned long) bad);
	gs_engine_close(engine);
	return tap_done();
}
