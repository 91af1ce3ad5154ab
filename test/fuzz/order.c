/*
 * order.c: tables, limits of the engine and sizes of chunks that the input's bytes choose, against a plain comparison.
 */
#include "fuzz.h"
#include "test/kernels/random_table.h"

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	gs_engine *engine;
	gs_cpu_tuning tuning;
	table t;

	rnd_from(bytes, n);
	tuning = random_tuning();
	MUST(gs_cpu_open(1, NULL, &engine) == GS_OK);
	gs_cpu_tune(engine, &tuning);
	random_table(&t, 400);
	MUST(order_job_right(engine, &t, 1 + (uint32_t) random_size(500), 1 + random_size(500), NULL));
	table_free(&t);
	gs_engine_close(engine);
	rnd_from(NULL, 0);
	return 0;
}
