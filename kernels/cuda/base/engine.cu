/*
 * engine.cu: the CUDA engine: device, stream, memory, copies.
 */
#include "memory.cuh"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <new>

/* The tuning row of the code that the driver has chosen for this device. */
static __device__ int tuned_for = GS_TUNED.arch;

#define KEPT_BYTES ((u64) 1 << 30) /* of freed memory in a device's pool */
#define DEFAULT_PATIENCE 2000000 /* cycles, about a millisecond; a running tile takes a few microseconds */

/* Converts a CUDA error to a status.  Clears the error, which the next call's check would find again. */
gs_status
gs_cuda_status(cudaError_t error)
{
	if (error == cudaSuccess)
		return GS_OK;
	cudaGetLastError();
	return error == cudaErrorMemoryAllocation ? GS_NOMEM : GS_DEVICE;
}

gs_status
gs_cuda_alloc_clean(gs_cuda_engine *e, size_t bytes, void **block)
{
	if (e->unclean)
		return GS_DEVICE;
	return gs_cuda_status(e->pooled ? cudaMallocAsync(block, bytes, e->stream) : cudaMalloc(block, bytes));
}

/* Clears memory before it is released to others.  If that fails, keeps the memory and disables the engine. */
static bool
wiped(gs_cuda_engine *e, void *block, size_t bytes)
{
	if (bytes == 0 || cudaMemsetAsync(block, 0, bytes, e->stream) != cudaSuccess)
	{
		cudaGetLastError();
		e->unclean = true;
	}
	return !e->unclean;
}

void
gs_cuda_free_clean(gs_cuda_engine *e, void *block, size_t bytes)
{
	if (block == NULL)
		return;
	/* of a block from which nothing was taken there is nothing to clear */
	if (bytes != 0 && !wiped(e, block, bytes))
		return;
	if (e->pooled)
		cudaFreeAsync(block, e->stream);
	else
		cudaFree(block);
}

/* Returns the engine that contains this head. */
static gs_cuda_engine *
cuda(gs_engine *engine)
{
	return (gs_cuda_engine *) engine;
}

/* Waits for enqueued work, then releases everything. */
static void
cuda_close(gs_engine *engine)
{
	gs_cuda_engine *e = cuda(engine);
	gs_host host = engine->host;

	cudaSetDevice(e->device);
	if (e->stream != NULL)
	{
		cudaStreamSynchronize(e->stream);
		cudaStreamDestroy(e->stream);
	}
	cudaFree(e->watch);
	gs_sort_close(e);
	gs_staged_close(e);
	host.release(host.arg, e, sizeof(*e));
}

/* Returns the device's name. */
static const char *
cuda_name(const gs_engine *engine)
{
	return ((const gs_cuda_engine *) engine)->properties.name;
}

/* Allocates memory.  Fails on a device that could not clear memory. */
static gs_status
cuda_alloc(gs_engine *engine, size_t bytes, void **block)
{
	cudaSetDevice(cuda(engine)->device);
	return cuda(engine)->unclean ? GS_DEVICE : gs_cuda_status(cudaMalloc(block, bytes == 0 ? 1 : bytes));
}

/* Returns the bytes of a block, as the driver knows them; 0 if unknown. */
static size_t
block_bytes(void *block)
{
	typedef int (*range_function)(u64 *base, size_t *bytes, u64 address);
	cudaDriverEntryPointQueryResult found;
	void *function = NULL;
	u64 base;
	size_t bytes = 0;
#if CUDART_VERSION >= 12050
	cudaError_t error =
		cudaGetDriverEntryPointByVersion("cuMemGetAddressRange", &function, 12000, cudaEnableDefault, &found);
#else
	cudaError_t error = cudaGetDriverEntryPoint("cuMemGetAddressRange", &function, cudaEnableDefault, &found);
#endif

	if (error != cudaSuccess || found != cudaDriverEntryPointSuccess)
		return 0;
	return ((range_function) function)(&base, &bytes, (u64) block) == 0 ? bytes : 0;
}

/* Clears and frees a block, as gs_cuda_free_clean does. */
static void
cuda_free(gs_engine *engine, void *block)
{
	cudaSetDevice(cuda(engine)->device);
	if (block != NULL && wiped(cuda(engine), block, block_bytes(block)))
		cudaFree(block);
}

/* Uploads in stream order.  CUDA copies from pageable memory before the call returns. */
static gs_status
cuda_upload(gs_engine *engine, void *to, const void *from, size_t bytes)
{
	cudaSetDevice(cuda(engine)->device);
	return gs_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, cuda(engine)->stream));
}

/* Enqueues a download, which is complete after cuda_sync. */
static gs_status
cuda_download(gs_engine *engine, void *to, const void *from, size_t bytes)
{
	cudaSetDevice(cuda(engine)->device);
	return gs_cuda_status(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, cuda(engine)->stream));
}

/* Fills memory in stream order. */
static gs_status
cuda_fill(gs_engine *engine, void *to, int byte, size_t bytes)
{
	cudaSetDevice(cuda(engine)->device);
	return gs_cuda_status(cudaMemsetAsync(to, byte, bytes, cuda(engine)->stream));
}

/* Waits for the stream and returns errors of its work. */
static gs_status
cuda_sync(gs_engine *engine)
{
	gs_cuda_engine *e = cuda(engine);
	const gs_status status = gs_cuda_status(cudaStreamSynchronize(e->stream));

	if (status == GS_OK)
		e->staged = false;
	return status == GS_OK && e->unclean ? GS_DEVICE : status;
}

static const gs_engine_ops cuda_ops = [] {
	gs_engine_ops ops = {};

	ops.close = cuda_close;
	ops.name = cuda_name;
	ops.alloc = cuda_alloc;
	ops.free = cuda_free;
	ops.upload = cuda_upload;
	ops.download = cuda_download;
	ops.fill = cuda_fill;
	ops.sync = cuda_sync;
	ops.scan = &gs_cuda_scan_ops;
	ops.rows = &gs_cuda_row_ops;
	ops.sort = &gs_cuda_sort_family;
	ops.groups = &gs_cuda_group_ops;
	ops.places = &gs_cuda_place_ops;
	ops.computed = &gs_cuda_computed_ops;
	ops.windows = &gs_cuda_window_ops;
	gs_cuda_sort_ops(&ops);
	return ops;
}();

/* Why the thread's last gs_cuda_open failed. */
static thread_local char failure[160];

extern "C" const char *
gs_cuda_open_failure(void)
{
	return failure;
}

/* Records why a device is not opened. */
__attribute__((format(printf, 2, 3))) static gs_status
refuse(gs_status status, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(failure, sizeof(failure), format, args);
	va_end(args);
	return status;
}

/* Finds the tuning row of the loaded code, which must fit the device: sm_86 loads sm_80's, with less memory. */
static gs_status
find_tuning(gs_cuda_engine *e)
{
	const int capability = 10 * e->properties.major + e->properties.minor;
	int arch = 0;
	const cudaError_t error = cudaMemcpyFromSymbol(&arch, tuned_for, sizeof(arch));

	if (error != cudaSuccess)
		return refuse(
			gs_cuda_status(error), "%.40s: no code for compute capability %d.%d (%.60s); build with CUDA_ARCHS=%d",
			e->properties.name, e->properties.major, e->properties.minor, cudaGetErrorString(error), capability);
	for (const gs_tuning *t : gs_tunings)
		if (t->arch == arch)
			e->tuning = t;
	if (e->tuning == NULL || gs_cuda_shared(e) > e->properties.sharedMemPerBlockOptin)
		return refuse(
			GS_DEVICE,
			"%.40s: the code for compute capability %d.%d wants more shared memory than it has; "
			"build with CUDA_ARCHS=%d",
			e->properties.name, arch / 10, arch % 10, capability);
	return GS_OK;
}

/* Has the device's pool keep what jobs have freed, and wiped, for the next ones. */
static void
keep_freed(const gs_cuda_engine *e)
{
	cudaMemPool_t pool;
	u64 bytes = KEPT_BYTES;

	if (!e->pooled || cudaDeviceGetDefaultMemPool(&pool, e->device) != cudaSuccess ||
		cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &bytes) != cudaSuccess)
		cudaGetLastError();
}

/* Checks and configures the device. */
static gs_status
prepare_device(gs_cuda_engine *e)
{
	int pools = 0;

	e->pooled = cudaDeviceGetAttribute(&pools, cudaDevAttrMemoryPoolsSupported, e->device) == cudaSuccess && pools != 0;
	GS_TRY(gs_cuda_status(cudaSetDevice(e->device)));
	keep_freed(e);
	GS_TRY(gs_cuda_status(cudaGetDeviceProperties(&e->properties, e->device)));
	GS_TRY(find_tuning(e));
	GS_TRY(gs_cuda_status(cudaStreamCreateWithFlags(&e->stream, cudaStreamNonBlocking)));
	GS_TRY(gs_cuda_status(cudaMalloc(&e->watch, sizeof(gs_watch))));
	return gs_cuda_status(cudaMemsetAsync(e->watch, 0, sizeof(gs_watch), e->stream));
}

/* Opens a device.  Everything that may fail without a usable device fails here. */
extern "C" gs_status
gs_cuda_open(int device, const gs_host *host, gs_engine **engine)
{
	gs_cuda_engine *e;
	gs_status status;
	cudaError_t error;
	int devices = 0;

	failure[0] = '\0';
	if (engine == NULL)
		return refuse(GS_INVALID, "no place for an engine");
	*engine = NULL;
	error = cudaGetDeviceCount(&devices);
	if (error != cudaSuccess)
		return refuse(gs_cuda_status(error), "%.150s", cudaGetErrorString(error));
	if (device < 0 || device >= devices)
		return refuse(GS_INVALID, "there is no such device");
	if (host == NULL)
		host = gs_default_host();
	e = (gs_cuda_engine *) host->alloc(host->arg, sizeof(*e));
	if (e == NULL)
		return refuse(GS_NOMEM, "no memory");
	memset((void *) e, 0, sizeof(*e));
	e->head.ops = &cuda_ops;
	e->head.host = *host;
	e->device = device;
	e->patience = DEFAULT_PATIENCE;
	status = prepare_device(e);
	if (status == GS_OK)
		*engine = &e->head;
	else
	{
		if (failure[0] == '\0')
			(void) refuse(status, "%.40s: %s", e->properties.name, gs_status_text(status));
		cuda_close(&e->head);
	}
	return status;
}

/* Returns how many blocks of a kernel the device holds at once.  Asks only once per kernel. */
gs_status
gs_cuda_blocks(gs_cuda_engine *e, const void *function, int threads, size_t shared, int *blocks)
{
	int per_sm = 0;
	gs_status status;

	for (int i = 0; i < e->nkernels; i++)
		if (e->kernels[i].function == function && e->kernels[i].shared == shared)
		{
			*blocks = e->kernels[i].blocks;
			return GS_OK;
		}
	status = gs_cuda_status(
		cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, (int) shared));
	if (status == GS_OK)
		status = gs_cuda_status(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, function, threads, shared));
	if (status != GS_OK)
		return status;
	if (per_sm == 0)
		return GS_DEVICE;
	*blocks = per_sm * e->properties.multiProcessorCount;
	if (e->nkernels < GS_KERNELS)
		e->kernels[e->nkernels++] = {function, shared, *blocks};
	return GS_OK;
}

/* Chooses grid and ring of a sweep, fills in the common arguments and resets the status words. */
gs_status
gs_cuda_prepare(gs_cuda_engine *e, gs_sweep *sweep, void *temp, size_t word_bytes, u64 tiles, const void *function,
				const gs_shape &shape, size_t stage_bytes, size_t more_bytes, bool in_place, int *grid, size_t *shared)
{
	gs_status status;
	int blocks, stages = shape.stages;

	if (tiles >= GS_EDGES - 1)
		return GS_TOO_BIG;
	if (e->force_stages != 0)
		stages = (int) e->force_stages;
	/* the kernel and the system use about 1 KB */
	while (stages > GS_LEAST_STAGES && stages * stage_bytes + more_bytes + 2048 > gs_cuda_shared(e))
		stages--;
	*shared = stages * stage_bytes + more_bytes;
	cudaSetDevice(e->device);
	status = gs_cuda_blocks(e, function, shape.threads + GS_SERVICE, *shared, &blocks);
	if (status != GS_OK)
		return status;
	if (e->force_blocks != 0 && (u32) blocks > e->force_blocks * e->properties.multiProcessorCount)
		blocks = e->force_blocks * e->properties.multiProcessorCount;
	*grid = (u64) blocks < tiles ? blocks : (int) tiles;
	sweep->ticket = (u32 *) temp;
	sweep->watch = e->watch;
	sweep->tiles = (u32) tiles;
	sweep->stages = (u32) stages;
	sweep->rounds = (u32) ((tiles + *grid - 1) / *grid);
	sweep->stall = e->stall;
	sweep->in_place = in_place;
	/* with a few tiles per block there is no congestion, and a delay only costs time */
	sweep->delay = sweep->rounds > 4 ? (u32) shape.delay : 0;
	sweep->light = (u32) shape.light;
	sweep->pause = sweep->rounds > 4 ? (u32) shape.pause : 0;
	sweep->patience = in_place ? 0 : e->patience;
	return gs_cuda_status(cudaMemsetAsync(temp, 0, gs_cuda_temp(tiles, word_bytes), e->stream));
}

extern "C" gs_status
gs_cuda_stall(gs_engine *engine, const uint32_t *tiles, uint32_t ntiles, uint64_t patience)
{
	gs_cuda_engine *e = cuda(engine);
	gs_watch w;
	gs_status status;

	if (ntiles > sizeof(w.stalled) / sizeof(w.stalled[0]))
		return GS_INVALID;
	status = gs_cuda_status(cudaStreamSynchronize(e->stream));
	if (status == GS_OK)
		status = gs_cuda_status(cudaMemcpy(&w, e->watch, sizeof(w), cudaMemcpyDeviceToHost));
	w.last_done = 0;
	w.nstalled = ntiles;
	for (uint32_t i = 0; i < ntiles; i++)
		w.stalled[i] = tiles[i];
	if (status == GS_OK)
		status = gs_cuda_status(cudaMemcpy(e->watch, &w, sizeof(w), cudaMemcpyHostToDevice));
	e->stall = ntiles;
	e->patience = patience;
	return status;
}

extern "C" gs_status
gs_cuda_stall_counts(gs_engine *engine, uint32_t *fallbacks, uint32_t *timeouts)
{
	gs_cuda_engine *e = cuda(engine);
	gs_watch w;
	gs_status status = gs_cuda_status(cudaStreamSynchronize(e->stream));

	if (status == GS_OK)
		status = gs_cuda_status(cudaMemcpy(&w, e->watch, sizeof(w), cudaMemcpyDeviceToHost));
	if (status == GS_OK)
	{
		*fallbacks = w.fallbacks;
		*timeouts = w.timeouts;
	}
	return status;
}

extern "C" void
gs_cuda_force(gs_engine *engine, uint32_t stages, uint32_t blocks)
{
	cuda(engine)->force_stages = stages > GS_MAX_STAGES ? GS_MAX_STAGES : stages;
	cuda(engine)->force_blocks = blocks;
}

extern "C" void *
gs_cuda_stream(gs_engine *engine)
{
	return cuda(engine)->stream;
}
