/*
 * sort_topk.cu: the first k rows of a column against CUB, on one GPU.
 *
 *   sort_topk [log2 of rows]
 *
 * Ours is gs_top_k, all waits included.  CUB: iota and SortPairs with end_bit, memory there, the range known for free;
 * where key and row fit a word also packed and SortKeys; CUB from 3.2 on also DeviceTopK and a sort of the k that it
 * found, in which equal keys come as they like; told: with the range, so that leading bits are at the top.  7 runs
 * after one, of full sorts 3.  Checked against the begin of our whole order.
 */
#include "check.cuh"

#include <cub/cub.cuh>
#if CUB_VERSION >= 300200
#include <cub/device/device_topk.cuh>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#endif

enum shape { UNIFORM, FEW, EQUAL, SORTED, REVERSED, SKEWED };

static gs_engine *engine;
static cudaStream_t stream;
static u64 n, *column, *words[2];
static u32 *rows[2], *got, *whole;
static void *temp;
static size_t temp_bytes;

static __global__ void
make(u64 *out, u64 n, int bits, shape how)
{
	EACH(i, n)
	{
		u64 r = mix(i * 31 + 7), k = r >> (64 - bits);

		if (how == FEW)
			k = mix(r % 5) >> (64 - bits);
		else if (how == EQUAL)
			k = 5;
		else if (how == SORTED)
			k = i;
		else if (how == REVERSED)
			k = n - i;
		else if (how == SKEWED)
			k >>= (r & 63) % bits;
		out[i] = k;
	}
}

static __global__ void
pack(const u64 *in, u64 *out, u64 n, int row_bits)
{
	EACH(i, n)
		out[i] = in[i] << row_bits | i;
}

/* Full sorts, which serve any k. */
static void
cub_full(contest &c, int bits, int row_bits)
{
	static timing pairs, packed;
	static std::string of;

	if (of != c.which.substr(0, c.which.rfind(',')))
	{
		pairs = median_of(3, stream,
						  [&] {
							  cub::DoubleBuffer<u64> k(words[0], words[1]);
							  cub::DoubleBuffer<u32> v(rows[0], rows[1]);
							  size_t bytes = temp_bytes;

							  iota<<<GRID, 0, stream>>>(rows[0], n);
							  CK(cub::DeviceRadixSort::SortPairs(temp, bytes, k, v, n, 0, bits, stream));
						  },
						  [&] { CK(cudaMemcpyAsync(words[0], column, n * 8, cudaMemcpyDeviceToDevice, stream)); });
		if (bits + row_bits <= 64)
			packed = median_of(3, stream, [&] {
				cub::DoubleBuffer<u64> k(words[0], words[1]);
				size_t bytes = temp_bytes;

				pack<<<GRID, 0, stream>>>(column, words[0], n, row_bits);
				CK(cub::DeviceRadixSort::SortKeys(temp, bytes, k, n, row_bits, row_bits + bits, stream));
			});
		of = c.which.substr(0, c.which.rfind(','));
	}
	c.rival("sort, pairs", pairs);
	if (bits + row_bits <= 64)
		c.rival("sort, packed", packed);
}

static __global__ void
count_other_keys(const u64 *column, const u32 *rows, const u64 *keys, int up, u64 k, u64 *bad)
{
	EACH(i, k)
		if (column[rows[i]] << up != keys[i])
			atomicAdd((unsigned long long *) bad, 1);
}

/* Keys with their leading bits at the top: CUB looks at those first. */
struct shifted_up
{
	int by;
	__host__ __device__ __forceinline__ u64 operator()(u64 key) const { return key << by; }
};

/*
 * CUB's own top-k and a sort of what it found; told the range: of keys shifted up.
 */
static void
cub_top_k(contest &c, u64 k, int bits, bool told)
{
#if CUB_VERSION >= 300200
	auto any = cuda::execution::require(cuda::execution::determinism::not_guaranteed,
										cuda::execution::output_ordering::unsorted);
	auto env = cuda::std::execution::env{cuda::stream_ref{stream}, any};
	thrust::counting_iterator<u32> all(0);
	const int up = told ? 64 - bits : 0;
	auto from = thrust::make_transform_iterator((const u64 *) column, shifted_up{up});
	size_t bytes = 0;

	CK(cub::DeviceTopK::MinPairs(NULL, bytes, from, words[0], all, rows[0], n, k, env));
	if (bytes > temp_bytes)
		exit(printf("temp\n"));

	const u64 *found = NULL;
	timing t = median_of(7, stream, [&] {
		cub::DoubleBuffer<u64> keys(words[0], words[1]);
		cub::DoubleBuffer<u32> values(rows[0], rows[1]);
		size_t there = bytes;

		CK(cub::DeviceTopK::MinPairs(temp, there, from, words[0], all, rows[0], n, k, env));
		there = temp_bytes;
		CK(cub::DeviceRadixSort::SortPairs(temp, there, keys, values, k, up, up + bits, stream));
		found = keys.Current();
	});
	u64 *bad = (u64 *) temp, wrong;

	CK(cudaMemset(bad, 0, 8));
	count_other_keys<<<GRID>>>(column, whole, found, up, k, bad);
	CK(cudaMemcpy(&wrong, bad, 8, cudaMemcpyDeviceToHost));
	c.rival(told ? "top-k, told" : "top-k, sorted", t, wrong ? "WRONG KEYS" : "");
#endif
}

static const char *
verdict(u64 k)
{
	return differences(got, whole, k) ? "WRONG" : "ok";
}

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		int bits;
		shape how;
	} cases[] = {{"bigint 64 bits", 63, UNIFORM}, {"bigint 27 bits", 27, UNIFORM}, {"five distinct", 40, FEW},
				 {"all equal", 40, EQUAL},		  {"sorted", 28, SORTED},		   {"reversed", 29, REVERSED},
				 {"skewed", 40, SKEWED}};
	static const u64 ks[] = {1, 100, 10000, 1000000};
	int lg = argc > 1 ? atoi(argv[1]) : 28;

	n = 1ull << lg;
	print_head("ms, median (least to most); x: CUB's best / ours");
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	CK(cudaMalloc(&column, n * 8));
	for (int i = 0; i < 2; i++)
	{
		CK(cudaMalloc(&words[i], n * 8));
		CK(cudaMalloc(&rows[i], n * 4));
	}
	CK(cudaMalloc(&got, n * 4));
	CK(cudaMalloc(&whole, n * 4));
	temp_bytes = n * 40;
	temp_bytes = temp_bytes < (64 << 20) ? 64 << 20 : temp_bytes;
	CK(cudaMalloc(&temp, temp_bytes));
	for (auto &c : cases)
	{
		gs_column column_of = {{GS_I64, false, false}, column, NULL, NULL};
		gs_plan *plan;

		make<<<GRID>>>(column, n, c.bits, c.how);
		CK(cudaDeviceSynchronize());
		GS(gs_order_plan(engine, &column_of, 1, n, &plan));
		if (gs_order_temp_bytes(plan) > temp_bytes)
			exit(printf("temp\n"));
		GS(gs_order_run(engine, plan, temp, temp_bytes, whole, NULL));
		GS(gs_sync(engine));
		gs_plan_free(engine, plan);
		for (u64 k : ks)
		{
			if (gs_top_k_temp_bytes(engine, &column_of, 1, n, k) > temp_bytes)
				exit(printf("temp\n"));
			CK(cudaMemset(got, 0xff, k * 4));

			timing ms = median_of(7, stream, [&] { GS(gs_top_k(engine, &column_of, 1, n, k, got, temp, temp_bytes)); });
			contest line(text_of("%s, top %llu", c.name, (unsigned long long) k), n);

			cub_full(line, c.bits, lg);
			cub_top_k(line, k, c.bits, false);
			if (c.bits < 63)
				cub_top_k(line, k, c.bits, true);
			line.ours("", ms, verdict(k));
		}
	}
	gs_engine_close(engine);
	return 0;
}
