/*
 * clean_test.c: device memory that a job gives back holds nothing of what it sorted.
 *
 * After jobs whose keys are one pattern, all memory that the device's pool keeps is taken and searched for it.  That
 * the search would find it is shown first, with memory that was given back as it was.  Where memory cannot be cleared
 * it is not given back.  Speaks TAP.
 */
#include "kernels/engine.h"
#include "test/kernels/tap.h"

#include <cuda_runtime_api.h>

#define PATTERN		0x5ec2e7c0de5ec2e7u
#define ROWS		300000u
#define CHUNK_BYTES ((size_t) 8 << 20)
#define BLOCK_BYTES ((size_t) 1 << 20)
#define MOST_BLOCKS 512

static bool broken; /* nothing can be cleared */

/* The engine's calls lead here: Makefile. */
cudaError_t __real_cudaMemsetAsync(void *block, int byte, size_t bytes, cudaStream_t stream);
cudaError_t __wrap_cudaMemsetAsync(void *block, int byte, size_t bytes, cudaStream_t stream);

cudaError_t
__wrap_cudaMemsetAsync(void *block, int byte, size_t bytes, cudaStream_t stream)
{
	return broken ? cudaErrorUnknown : __real_cudaMemsetAsync(block, byte, bytes, stream);
}

/*
 * Bytes that the device's pool keeps.
 */
static uint64_t
kept(cudaMemPool_t pool)
{
	uint64_t bytes = 0;

	cudaMemPoolGetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &bytes);
	return bytes;
}

/*
 * Takes all that the pool keeps, and counts the words of it that are the pattern.
 */
static uint64_t
search(cudaMemPool_t pool)
{
	static void *blocks[MOST_BLOCKS];
	uint64_t *host = malloc(BLOCK_BYTES), found = 0, had = kept(pool);
	int n = 0;

	while (n < MOST_BLOCKS && cudaMallocAsync(&blocks[n], BLOCK_BYTES, 0) == cudaSuccess)
	{
		n++;
		cudaStreamSynchronize(0);
		if (kept(pool) > had)
			break; /* this one is new */
	}
	for (int i = 0; i < n; i++)
	{
		cudaMemcpy(host, blocks[i], BLOCK_BYTES, cudaMemcpyDeviceToHost);
		for (size_t w = 0; w < BLOCK_BYTES / sizeof(uint64_t); w++)
			found += host[w] == PATTERN;
		cudaFreeAsync(blocks[i], 0);
	}
	cudaStreamSynchronize(0);
	free(host);
	printf("# %d MB searched of %llu kept\n", n, (unsigned long long) (had >> 20));
	return found;
}

/*
 * Gives back memory full of the pattern, as it is.
 */
static void
soil(void)
{
	uint64_t *host = malloc(BLOCK_BYTES);
	void *block;

	for (size_t w = 0; w < BLOCK_BYTES / sizeof(uint64_t); w++)
		host[w] = PATTERN;
	cudaMallocAsync(&block, BLOCK_BYTES, 0);
	cudaMemcpy(block, host, BLOCK_BYTES, cudaMemcpyHostToDevice);
	cudaFreeAsync(block, 0);
	cudaStreamSynchronize(0);
	free(host);
}

/*
 * Sorts rows whose key, a number or a string of it twice, is the pattern but for one row in a thousand; ends the job at
 * a stage.
 */
static gs_status
job(gs_engine *engine, bool strings, bool finish)
{
	gs_column_spec spec = {strings ? GS_BYTES : GS_U64, false, false};
	gs_job_spec order = {.op = GS_ORDER, .ncolumns = 1, .columns = &spec};
	gs_chunk *chunk = aligned_alloc(GS_ALIGN, CHUNK_BYTES);
	gs_job *j = NULL;
	gs_status status = gs_job_begin(engine, &order, gs_default_host(), &j);
	uint32_t out[1024], rows = ROWS / 4;
	uint64_t got = 0, pattern = PATTERN;

	for (int part = 0; part < 4 && status == GS_OK; part++)
	{
		status = gs_chunk_init(chunk, CHUNK_BYTES, &spec, 1, (rows + 63) / 64 * 64, 16);
		if (status != GS_OK)
			break;
		char *values = (char *) chunk + chunk->columns[0].values, *heap = (char *) chunk + chunk->columns[0].heap;

		for (uint32_t i = 0; i < rows; i++)
		{
			uint64_t word = i % 1000 == 0 ? i * 7919u : pattern;

			if (!strings)
				((uint64_t *) values)[i] = word;
			else
			{
				memcpy(heap + 16 * i, &pattern, 8);
				memcpy(heap + 16 * i + 8, &word, 8);
				((uint32_t *) values)[i] = 16 * i;
			}
		}
		if (strings)
			((uint32_t *) values)[rows] = 16 * rows;
		chunk->rows = rows;
		status = gs_job_add(j, chunk);
	}
	if (status == GS_OK && finish)
		status = gs_job_finish(j, ROWS);
	if (status == GS_OK && finish)
		status = gs_job_next(j, out, 1024, &got);
	gs_job_end(j);
	free(chunk);
	return status;
}

/*
 * Words of the pattern in a block that was given back full of it and taken again at once; -1 if another one came.
 */
static int64_t
again(gs_engine *engine, bool clean)
{
	uint64_t *host = malloc(BLOCK_BYTES);
	void *block = NULL, *next = NULL;
	int64_t found = 0;

	for (size_t w = 0; w < BLOCK_BYTES / sizeof(uint64_t); w++)
		host[w] = PATTERN;
	if (gs_alloc(engine, BLOCK_BYTES, &block) != GS_OK)
		return -1;
	cudaMemcpy(block, host, BLOCK_BYTES, cudaMemcpyHostToDevice);
	if (clean)
		gs_free(engine, block);
	else
		cudaFree(block);
	cudaMalloc(&next, BLOCK_BYTES);
	cudaMemcpy(host, next, BLOCK_BYTES, cudaMemcpyDeviceToHost);
	for (size_t w = 0; w < BLOCK_BYTES / sizeof(uint64_t); w++)
		found += host[w] == PATTERN;
	cudaFree(next);
	free(host);
	return next == block ? found : -1;
}

/*
 * The same until a block does come again, as it was if it is not cleared: other programs on the GPU may get the memory
 * in between, or make the driver clear it.
 */
static int64_t
again_often(gs_engine *engine, bool clean)
{
	int64_t found = -1;

	for (int i = 0; i < 100 && (clean ? found < 0 : found <= 0); i++)
		found = again(engine, clean);
	return found;
}

/*
 * An engine that could not clear a block keeps it, and does no more work; another one does.
 */
static void
fail_to_clear(void)
{
	gs_engine *engine;
	void *block = NULL, *next = NULL;
	bool good = gs_cuda_open(0, gs_default_host(), &engine) == GS_OK && gs_alloc(engine, BLOCK_BYTES, &block) == GS_OK;

	broken = true;
	gs_free(engine, block);
	broken = false;
	tap_ok(good && gs_sync(engine) == GS_DEVICE, "a block that cannot be cleared is an engine's failure");
	tap_ok(gs_alloc(engine, BLOCK_BYTES, &next) == GS_DEVICE && job(engine, false, true) == GS_DEVICE,
		   "which gets no more memory, and no job");
	tap_ok(cudaFree(block) == cudaSuccess, "the block was not given back");
	gs_engine_close(engine);
	good = gs_cuda_open(0, gs_default_host(), &engine) == GS_OK;
	tap_ok(good && job(engine, false, true) == GS_OK, "the next engine works");
	if (good)
		gs_engine_close(engine);
}

int
main(void)
{
	uint64_t all = UINT64_MAX;
	cudaMemPool_t pool;
	gs_engine *engine;

	if (gs_cuda_open(0, gs_default_host(), &engine) != GS_OK || cudaDeviceGetDefaultMemPool(&pool, 0) != cudaSuccess)
	{
		printf("1..0 # SKIP no GPU, or one without memory pools\n");
		return 0;
	}
	cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all);
	soil();
	tap_ok(search(pool) > 0, "what is given back as it was is found again");
	cudaMemPoolTrimTo(pool, 0);
	for (int strings = 0; strings < 2; strings++)
		for (int finish = 0; finish < 2; finish++)
		{
			char name[100];

			snprintf(name, sizeof(name), "a job of %s %s", strings ? "strings" : "numbers",
					 finish ? "in the middle of its order" : "that ended early");
			tap_ok(job(engine, strings, finish) == GS_OK && kept(pool) > 0, "%s", name);
			tap_ok(search(pool) == 0, "leaves nothing");
		}
	if (again_often(engine, false) > 0)
		tap_ok(again_often(engine, true) == 0,
			   "a freed block comes back as it was, one that the engine frees does not");
	else
		tap_skip("a freed block comes back as it was: not while others use the GPU");
	gs_engine_close(engine);
	fail_to_clear();
	cudaMemPoolTrimTo(pool, 0);
	tap_ok(kept(pool) == 0, "the pool gives all back when asked");
	return tap_done();
}
