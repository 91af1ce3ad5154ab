/*
 * chunk.c: a chunk as a stranger may leave it in shared memory, checked and sorted.  The first byte says how many
 * columns, then a byte for each says its type; the rest is the chunk, in memory of just its size.  What the check lets
 * through the engine must sort, and bring every row out once.
 */
#include "fuzz.h"
#include "kernels/cpu/cpu.h"

#include <string.h>

#define MOST_COLUMNS 3
#define MOST_ROWS	 20000

/* Takes all positions out of a job that is finished. */
static void
take_positions(gs_job *job, uint64_t rows)
{
	uint8_t *seen = calloc(rows + 1, 1);
	uint32_t out[1000];
	uint64_t got, all = 0;

	do
	{
		MUST(gs_job_next(job, out, 1000, &got) == GS_OK);
		for (uint64_t i = 0; i < got; i++)
		{
			MUST(out[i] < rows && !seen[out[i]]);
			seen[out[i]] = 1;
		}
		all += got;
	} while (got > 0);
	MUST(all == rows);
	free(seen);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	gs_column_spec columns[MOST_COLUMNS] = {{0}};
	uint32_t ncolumns = n > 0 ? 1 + bytes[0] % MOST_COLUMNS : 0;
	gs_job_spec spec = {.op = GS_ORDER, .columns = columns, .ncolumns = ncolumns};
	gs_chunk *chunk;
	gs_engine *engine;
	gs_job *job = NULL;

	if (n < 1 + ncolumns + sizeof(gs_chunk))
		return 0;
	for (uint32_t c = 0; c < ncolumns; c++)
		columns[c] = (gs_column_spec){(gs_type) (bytes[1 + c] % (GS_BYTES + 1)), bytes[1 + c] >> 6 & 1, bytes[1 + c] >> 7};
	bytes += 1 + ncolumns;
	n -= 1 + ncolumns;
	chunk = malloc(n);
	memcpy(chunk, bytes, n);
	if (gs_chunk_check(chunk, n, columns, ncolumns) == GS_OK && chunk->rows <= MOST_ROWS)
	{
		MUST(chunk->bytes <= n);
		MUST(gs_cpu_open(1, NULL, &engine) == GS_OK);
		MUST(gs_job_begin(engine, &spec, NULL, &job) == GS_OK);
		MUST(gs_job_add_within(job, chunk, n) == GS_OK);
		MUST(gs_job_finish(job, chunk->rows) == GS_OK);
		take_positions(job, chunk->rows);
		gs_job_end(job);
		gs_engine_close(engine);
	}
	free(chunk);
	return 0;
}
