/*
 * sweep.cu: the main kernels in other shapes than the tuning tables have: threads, vectors, stages, blocks per
 * multiprocessor.
 *
 *   sweep [log2 of n] [name...]
 *
 * Prints the median time of each; results are not looked at.
 */
#include "../../kernels/cuda/scan/scan_ops.cuh"
#include "../../kernels/cuda/scan/reduce.cuh"
#include "../../kernels/cuda/arrays/rle.cuh"
#include "../../kernels/cuda/scan/scan.cuh"
#include "../../kernels/cuda/scan/select.cuh"

#include "check.cuh"

static gs_cuda_engine *e;
static u8 *memory[4];
static void *temp;
static u64 n, *count;
static int argc_;
static char **argv_;
static int most_stages = 5, ndelays = 5;
static const int delays[][2] = {{1000, 300}, {1500, 300}, {2000, 300}, {2500, 400}, {3000, 500}};

/* Times a configuration unless it does not fit the device; bytes: what it has to move. */
template <class KERNEL, class ARGS>
static void
go(const char *name, KERNEL kernel, ARGS a, size_t word, u64 tile, int threads, int vectors, size_t pitch, size_t more,
   double bytes)
{
	bool chosen = argc_ < 3;

	for (int i = 2; i < argc_; i++)
		chosen |= strncmp(name, argv_[i], strlen(argv_[i])) == 0;
	if (!chosen)
		return;
	for (int blocks = 1; blocks <= 3; blocks++)
		for (int stages = 3; stages <= 6; stages++)
		{
			size_t shared = stages * pitch + more;
			int fit = 0;
			gs_shape shape = {GS_T_SCAN, 0, 0, threads, vectors, blocks, stages, 0, 0, 0};

			if (shared > 226 * 1024 ||
				cudaFuncSetAttribute((const void *) kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
									 (int) shared) ||
				cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, kernel, threads + GS_SERVICE, shared) ||
				fit < blocks)
			{
				cudaGetLastError();
				continue;
			}
			/* the ring is not worth more than what is in flight */
			if (blocks * stages * pitch < 60000)
				continue;
			e->force_blocks = blocks;
			if (stages > most_stages)
				continue;
			for (int d = 0; d < ndelays; d++)
			{
				shape.delay = shape.light = delays[d][0], shape.pause = delays[d][1];

				float ms = median_of(5, e->stream, [&] {
					gs_cuda_sweep(e, kernel, a, temp, word, (n + tile - 1) / tile, shape, pitch, more, false);
				});

				printf("%-14s threads %3d vectors %d blocks %d stages %d delay %4d pause %3d  %8.4f ms  %5.1f %%\n",
					   name, threads, vectors, blocks, stages, shape.delay, shape.pause, ms, bytes / ms / 4230e6 * 100);
			}
		}
	fflush(stdout);
}

/* Shared memory that run-length encoding takes beside its ring: where runs begin, of tiles of 4-byte items. */
static constexpr size_t
runs_more(int tile)
{
	return (GS_DEPTH + 1) * (size_t) (tile + 8) * sizeof(u16);
}

template <int T, int V>
static void
shapes()
{
	constexpr int B = T * V <= 1920 && T < 640 ? 2 : 1; /* as many as fit; a reduction needs the registers of both */

	for (u32 run : {1u, 5u, 500u})
	{
		char name[64];
		double out = 4.0 * n / run;
		gs_runs_args r = {};
		gs_select_args s = {};
		gs_reduce_args d = {};

		make_runs<<<GRID, 0, e->stream>>>((u32 *) memory[0], n, run);
		r.in = s.in = d.keys = gs_cuda_input(memory[0], n * 4);
		d.values = gs_cuda_input(memory[1], n * 4);
		r.n = s.n = d.n = n;
		r.values = s.out = d.out_keys = memory[2];
		r.lengths = d.out = memory[3];
		r.count = s.count = d.count = count;
		r.words = (u128 *) ((u8 *) temp + GS_TEMP_HEAD);
		s.words = (count_state::words *) r.words;
		d.words = r.words;
		d.out_bytes = 4;
		snprintf(name, sizeof(name), "rle %u", run);
		/* not every shape leaves room for the least stages */
		if constexpr (GS_LEAST_STAGES * (16 + T * V * 16) + runs_more(T * V * 4) < gs_ring_room(227))
			go(name, runs_kernel<4, false, gs_shape_given<T, V, B>>, r, 16, T * V * 4, T, V, 16 + T * V * 16,
			   runs_more(T * V * 4), 4.0 * n + 2 * out);
		snprintf(name, sizeof(name), "unique %u", run);
		go(name, select_kernel<4, GS_KEEP_FIRST, false, gs_shape_given<T, V, B>>, s, 8, T * V * 4, T, V,
		   16 + T * V * 16, 0, 4.0 * n + out);
		if (run == 1)
		{
			s.lo.lo = 0x80000000u, s.span.lo = 0x7fffffffu;
			go("select", select_kernel<4, GS_KEEP_RANGE, false, gs_shape_given<T, V, B>>, s, 8, T * V * 4, T, V,
			   T * V * 16, 0, 6.0 * n);
		}
		if constexpr (T * V <= 2000)
		{
			snprintf(name, sizeof(name), "reduce44 %u", run);
			go(name, reduce_kernel<4, 4, add_u32, gs_shape_given<T, V, 1>>, d, 16, T * V * 4, T, V, 32 + T * V * 32, 0,
			   8.0 * n + 2 * out);
			if (run == 5)
			{
				make_runs<<<GRID, 0, e->stream>>>((u64 *) memory[0], n, run);
				d.keys = gs_cuda_input(memory[0], n * 8);
				d.values = gs_cuda_input(memory[1], n * 8);
				d.out_bytes = 8;
				go("reduce88 5", reduce_kernel<8, 8, add_u64, gs_shape_given<T, V, 1>>, d, 16, T * V * 2, T, V,
				   32 + T * V * 32, 0, 16.0 * n + 4 * out);
			}
		}
	}
	gs_scan_args c = {};

	c.in = gs_cuda_input(memory[0], n * 4);
	c.n = n;
	c.out = memory[2];
	c.words = (u8 *) temp + GS_TEMP_HEAD;
	go("scan32", scan_kernel<add_u32, gs_shape_given<T, V, B>>, c, 8, T * V * 4, T, V, T * V * 16, 0, 8.0 * n);
	c.in = gs_cuda_input(memory[0], n * 8);
	go("scan64", scan_kernel<add_u64, gs_shape_given<T, V, B>>, c, 16, T * V * 2, T, V, T * V * 16, 0, 16.0 * n);
}

int
main(int argc, char **argv)
{
	gs_engine *engine;

	argc_ = argc, argv_ = argv;
	n = (u64) 1 << (argc > 1 ? atoi(argv[1]) : 28);
	if (gs_cuda_open(0, NULL, &engine) != GS_OK)
		return 1;
	e = (gs_cuda_engine *) engine;
	for (u8 *&m : memory)
	{
		CK(cudaMalloc(&m, n * 8));
		CK(cudaMemset(m, 1, n * 8));
	}
	CK(cudaMalloc(&temp, n / 8));
	CK(cudaMalloc(&count, 8));
#ifdef SHAPES
	SHAPES
#else
	shapes<256, 5>();
	shapes<256, 7>();
	shapes<256, 9>();
	shapes<320, 5>();
	shapes<320, 9>();
	shapes<384, 3>();
	shapes<384, 5>();
	shapes<384, 7>();
	shapes<512, 3>();
	shapes<512, 5>();
	shapes<640, 3>();
	shapes<640, 5>();
#endif
	gs_engine_close(engine);
	return 0;
}
