/*
 * sort_small.cu: row orders of few rows against CUB, on one GPU.
 *
 * Ours is gs_order_plan, gs_order_run and gs_plan_free together; nothing is known beforehand.  CUB's best ways are
 * those of sort_order.cu: pairs (iota, SortPairs with end_bit) and packed (one word, SortKeys; getting row numbers out
 * is not counted), the range known for free, memory there.  Two clocks, 41 runs after one: on the stream
 * between events, and on the host from the first call until gs_sync has returned.
 */
#include "check.cuh"

#include <cub/cub.cuh>

#define RUNS 41

static gs_engine *engine;
static cudaStream_t stream;
static void *area[5];
static size_t area_bytes = 32 << 20;
static u32 *order;
static u64 *column, *second;

static __global__ void
make(u64 *out, u32 n, int bits, u64 base, bool skewed)
{
	EACH(i, n)
	{
		u64 r = mix(i * 31 + 7), k = r >> (64 - bits);

		out[i] = (skewed ? k >> (r & 63) % bits : k) + base;
	}
}

static __global__ void
pack(const u64 *in, u64 *out, u32 n, u64 base, int row_bits)
{
	EACH(i, n)
		out[i] = (in[i] - base) << row_bits | i;
}

static __global__ void
less(const u64 *in, u64 *out, u32 n, u64 base)
{
	EACH(i, n)
		out[i] = in[i] - base;
}

/* The same work by both clocks, in microseconds. */
struct clocks
{
	timing device, host;
};

static double
now()
{
	timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static clocks
both(const call &work, const call &before = [] {})
{
	std::vector<float> t;

	for (int i = 0; i <= RUNS; i++)
	{
		before();
		CK(cudaDeviceSynchronize());

		double begin = now();

		work();
		CK(cudaStreamSynchronize(stream));
		if (i > 0)
			t.push_back((float) (now() - begin));
	}

	timing d = median_of(RUNS, stream, work, before);

	return clocks{{d.median * 1000, d.least * 1000, d.most * 1000}, timing_of(t)};
}

static void
cub_pairs(u32 n, int bits)
{
	cub::DoubleBuffer<u64> k((u64 *) area[0], (u64 *) area[1]);
	cub::DoubleBuffer<u32> v((u32 *) area[2], (u32 *) area[3]);
	size_t bytes = area_bytes;

	iota<<<GRID, 0, stream>>>((u32 *) area[2], n);
	CK(cub::DeviceRadixSort::SortPairs(area[4], bytes, k, v, n, 0, bits, stream));
}

static void
cub_packed(u32 n, u64 base, int bits, int row_bits)
{
	cub::DoubleBuffer<u64> k((u64 *) area[0], (u64 *) area[1]);
	size_t bytes = area_bytes;

	pack<<<GRID, 0, stream>>>(column, (u64 *) area[0], n, base, row_bits);
	CK(cub::DeviceRadixSort::SortKeys(area[4], bytes, k, n, row_bits, row_bits + bits, stream));
}

static clocks best;
static std::string shape;
static u32 shape_rows;

static void
line(const char *name, clocks t, const char *verdict)
{
	bool ours = strncmp(name, "ours", 4) == 0;

	printf("    %-14s %7.1f us (%.1f to %.1f)  on the host %7.1f us (%.1f to %.1f)  %s", name, t.device.median,
		   t.device.least, t.device.most, t.host.median, t.host.least, t.host.most, verdict);
	keep(shape, shape_rows, name, {t.device.median / 1000, t.device.least / 1000, t.device.most / 1000}, verdict);
	keep(shape, shape_rows, std::string(name) + ", host",
		 {t.host.median / 1000, t.host.least / 1000, t.host.most / 1000}, verdict);
	if (ours)
		printf("  x %.2f, %.2f", best.device.median / t.device.median, best.host.median / t.host.median);
	else
	{
		best.device = best.device.median == 0 || t.device.median < best.device.median ? t.device : best.device;
		best.host = best.host.median == 0 || t.host.median < best.host.median ? t.host : best.host;
	}
	printf("\n");
	fflush(stdout);
}

struct by_columns
{
	const u64 *a, *b;

	__device__ int
	operator()(u64 x, u64 y) const
	{
		if (a[x] != a[y])
			return (int64_t) a[x] < (int64_t) a[y] ? -1 : 1;
		return b == NULL || b[x] == b[y] ? 0 : (int64_t) b[x] < (int64_t) b[y] ? -1 : 1;
	}
};

static void
ours(const char *name, u32 small, u32 n, bool two)
{
	gs_column columns[2] = {{{GS_I64, false, false}, column, NULL, NULL}, {{GS_I64, false, false}, second, NULL, NULL}};
	size_t room = 64 << 20;
	auto work = [&] {
		gs_plan *plan;

		GS(gs_order_plan(engine, columns, two ? 2 : 1, n, &plan));
		if (gs_order_temp_bytes(plan) > room)
			exit(printf("temp\n"));
		GS(gs_order_run(engine, plan, area[4], room, order, NULL));
		gs_plan_free(engine, plan);
	};

	gs_cuda_sort_force(engine, small, 0);
	CK(cudaMemset(order, 0xff, n * 4ull));

	clocks t = both(work);

	line(name, t, order_verdict(by_columns{column, two ? second : NULL}, order, n));
}

static void
all_ours(u32 n, bool two)
{
	ours("ours", 2, n, two);
	ours("ours, not small", 1, n, two);
}

int
main(void)
{
	/* below zero: skewed */
	static const int logs[] = {10, 11, 12, 13, 14, 15, 16}, widths[] = {20, 27, 36, 48, 64, -27};

	print_head("median of 41 (least to most); x: CUB's best / ours, on the stream and on the host");
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	for (int i = 0; i < 4; i++)
		CK(cudaMalloc(&area[i], 65536 * 8));
	CK(cudaMalloc(&area[4], 64 << 20));
	CK(cudaMalloc(&order, 65536 * 4));
	CK(cudaMalloc(&column, 65536 * 8));
	CK(cudaMalloc(&second, 65536 * 8));
	for (int lg : logs)
		for (int w : widths)
		{
			u32 n = 1u << lg;
			bool skewed = w < 0;
			int bits = skewed ? -w : w;
			u64 base = bits == 64 ? 1ull << 63 : 123456789012ull;

			if (lg < 13 && w != 27 && w != 64)
				continue;
			shape = text_of("bigint %d bits%s", bits, skewed ? ", skewed" : "");
			shape_rows = n;
			printf("%s, 2^%d rows\n", shape.c_str(), lg);
			make<<<GRID>>>(column, n, bits, bits == 64 ? 0 : base, skewed);
			CK(cudaDeviceSynchronize());
			best = {};
			line("CUB pairs",
				 both([&] { cub_pairs(n, bits); }, [&] { less<<<GRID>>>(column, (u64 *) area[0], n, base); }), "");
			if (bits + lg <= 64)
				line("CUB packed", both([&] { cub_packed(n, base, bits, lg); }), "");
			all_ours(n, false);
		}
	for (int lg = 13; lg <= 16; lg += 3)
	{
		u32 n = 1u << lg;

		shape = "two bigints of 10 and 64 bits";
		shape_rows = n;
		printf("%s, 2^%d rows\n", shape.c_str(), lg);
		make<<<GRID>>>(column, n, 10, 0, false);
		make<<<GRID>>>(second, n, 64, 0, false);
		CK(cudaDeviceSynchronize());
		best = {};
		all_ours(n, true);
	}
	gs_engine_close(engine);
	return 0;
}
