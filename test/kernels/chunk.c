/*
 * chunk.c: layout of chunks, and that no corrupted one passes gs_chunk_check or harms a job.
 */
#include "table.h"
#include "tests.h"

#include <sys/mman.h>
#include <unistd.h>

static const gs_column_spec specs[3] = {{GS_I64, false, false}, {GS_BYTES, true, false}, {GS_U8, false, true}};

/*
 * A chunk of full capacity whose last byte is followed by an unreadable page.
 */
static gs_chunk *
make_chunk(uint32_t rows, size_t *bytes)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE), room;
	char *base;
	gs_chunk *chunk;

	*bytes = gs_chunk_bytes(specs, 3, rows, 10);
	room = (*bytes + page - 1) / page * page;
	base = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	mprotect(base + room, page, PROT_NONE);
	chunk = (gs_chunk *) (base + room - *bytes);
	if (gs_chunk_init(chunk, *bytes, specs, 3, rows, 10) != GS_OK)
		return NULL;
	for (uint32_t r = 0; r < rows; r++)
	{
		((int64_t *) ((char *) chunk + chunk->columns[0].values))[r] = (int64_t) rnd();
		((uint32_t *) ((char *) chunk + chunk->columns[1].values))[r + 1] = 10 * (r + 1);
	}
	chunk->rows = rows;
	return chunk;
}

/*
 * Gives a chunk to a job and runs that to its end.
 */
static gs_status
run(const gs_chunk *chunk)
{
	gs_job_spec spec = {.op = GS_ORDER, .ncolumns = 3, .columns = specs};
	gs_engine *engine;
	gs_job *job;
	uint32_t rows = chunk->rows;
	gs_status status;

	gs_cpu_open(1, NULL, &engine);
	gs_job_begin(engine, &spec, NULL, &job);
	status = gs_job_add(job, chunk);
	if (status == GS_OK)
		status = gs_job_finish(job, rows);
	gs_job_end(job);
	gs_engine_close(engine);
	return status;
}

/*
 * Sets each 64-bit word of the header to bad values; whatever passes the check must not make a job read outside.
 */
static void
corrupt_headers(gs_chunk *chunk, size_t bytes)
{
	static const uint64_t bad[] = {0,
								   1,
								   63,
								   64,
								   65,
								   1000,
								   4096,
								   65536,
								   UINT32_MAX,
								   (uint64_t) 1 << 32,
								   (uint64_t) 1 << 63,
								   UINT64_MAX - 63,
								   UINT64_MAX};
	uint64_t *words = (uint64_t *) (void *) chunk;
	size_t n = (sizeof(gs_chunk) + 3 * sizeof(gs_chunk_column)) / 8;
	int passed = 0, refused = 0;
	bool agree = true;

	for (size_t i = 0; i < n; i++)
		for (size_t b = 0; b < 2 * sizeof(bad) / sizeof(bad[0]); b++)
		{
			uint64_t saved = words[i];
			gs_status status;

			words[i] = b % 2 ? bad[b / 2] : saved + bad[b / 2];
			status = gs_chunk_check(chunk, bytes, specs, 3);
			passed += status == GS_OK;
			refused += status == GS_INVALID;
			if (chunk->bytes <= bytes && (run(chunk) == GS_OK) != (status == GS_OK))
				agree = false;
			words[i] = saved;
		}
	tap_ok(refused > 100 && passed > 100, "corrupted headers: %d refused, %d harmless", refused, passed);
	tap_ok(agree, "a job takes what the check takes, and nothing else");
}

/*
 * Corrupts offsets.
 */
static void
corrupt_offsets(gs_chunk *chunk, size_t bytes)
{
	uint32_t *offsets = (uint32_t *) ((char *) chunk + chunk->columns[1].values);
	bool refused = true;

	for (uint32_t r = 0; r <= chunk->rows; r += 7)
	{
		uint32_t saved = offsets[r];

		offsets[r] = UINT32_MAX - r;
		refused &= gs_chunk_check(chunk, bytes, specs, 3) == GS_INVALID && run(chunk) == GS_INVALID;
		offsets[r] = r == 0 ? 1 : 0;
		refused &= gs_chunk_check(chunk, bytes, specs, 3) == GS_INVALID && run(chunk) == GS_INVALID;
		offsets[r] = saved;
	}
	tap_ok(refused, "falling offsets and such beyond the heap are refused");
}

/*
 * Sizes: init uses no more than chunk_bytes says, and refuses what cannot be.
 */
static void
sizes(void)
{
	bool good = true;
	char *buffer = aligned_alloc(64, 1 << 20);
	gs_chunk *chunk = (gs_chunk *) (void *) buffer;

	for (uint32_t rows = 64; rows <= 4096; rows += 64)
	{
		size_t bytes = gs_chunk_bytes(specs, 3, rows, 10);

		good &= gs_chunk_init(chunk, bytes, specs, 3, 1 << 20, 10) == GS_OK && chunk->capacity == rows;
		good &= chunk->bytes <= bytes && gs_chunk_check(chunk, bytes, specs, 3) == GS_OK;
		good &= gs_chunk_init(chunk, bytes - 64, specs, 3, 1 << 20, 10) == (rows == 64 ? GS_INVALID : GS_OK);
	}
	tap_ok(good, "init fits exactly into chunk_bytes");
	tap_ok(gs_chunk_init(chunk, 1 << 20, specs, 3, 63, 10) == GS_INVALID, "less than 64 rows are refused");
	tap_ok(gs_chunk_init(chunk, 10, specs, 3, 64, 10) == GS_INVALID, "a buffer too small is refused");
	tap_ok(gs_chunk_init(chunk, 1 << 20, specs, 0, 64, 10) == GS_INVALID, "no columns are refused");
	tap_ok(gs_chunk_bytes(specs, 3, UINT32_MAX, UINT32_MAX) > UINT32_MAX, "great sizes do not wrap");
	free(buffer);
}

void
test_chunk(void)
{
	size_t bytes;
	gs_chunk *chunk = make_chunk(1000 / 64 * 64, &bytes);

	tap_ok(chunk != NULL && gs_chunk_check(chunk, bytes, specs, 3) == GS_OK, "a good chunk passes");
	tap_ok(run(chunk) == GS_OK, "and sorts");
	tap_ok(gs_chunk_check(chunk, chunk->bytes - 1, specs, 3) == GS_INVALID, "less to read than it says is refused");
	tap_ok(gs_chunk_check(chunk, 8, specs, 3) == GS_INVALID, "a header cut off is refused");
	tap_ok(gs_chunk_check(chunk, bytes, specs, 2) == GS_INVALID, "another number of columns is refused");
	corrupt_headers(chunk, bytes);
	corrupt_offsets(chunk, bytes);
	sizes();
	for (gs_type type = GS_U8; type <= GS_BYTES; type++)
		if (gs_type_width(type) > 16)
			tap_ok(false, "width of type %d", type);
	tap_ok(gs_type_width(GS_BYTES) == 0 && gs_type_width((gs_type) 99) == 0, "widths");
	tap_ok(strcmp(gs_status_text(GS_WRONG_ORDER), "wrong order") == 0 && gs_status_text((gs_status) 99) != NULL,
		   "status texts");
}
