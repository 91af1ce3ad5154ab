/*
 * bench.cu: the scan family against CUB, side by side in one process.
 *
 *   bench [-n log2,...] [-r runs] [-o results.json] [-s stages] [-b blocks] [name...]
 *
 * Ours and CUB's are timed in turn by events on their stream, after a warm-up, small ones many in one CUDA graph, so
 * that launching does not count; the median of a call counts, the least and the greatest are told.  CUB gets
 * preallocated temporary memory, 32-bit counts and, like ours, everything it needs before the clock starts.  Results
 * are compared element by element on the device, those of graphs.  "Roof" is the bytes that the operation must move
 * over the rate of a device-to-device copy measured in the same process.
 */
#include <cub/cub.cuh>
#include <limits>
#include <thrust/execution_policy.h>
#include <thrust/gather.h>
#include <thrust/iterator/constant_iterator.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/sequence.h>

#include "check.cuh"

static gs_engine *engine;
static cudaStream_t stream;
static int runs = 15;
static u32 force_stages, force_blocks;
static double copy_rate; /* bytes per ms */
static std::vector<std::string> wanted, lines;

/* ---------------------------------------------------------------- data, on the device */

template <class T>
__global__ void
make_small(T *p, u64 n)
{
	EACH(i, n)
		p[i] = (T) (mix(i + 77) % 1000);
}

__global__ static void
make_flags(u8 *p, u64 n, u32 percent)
{
	EACH(i, n)
		p[i] = mix(i + 5) % 100 < percent;
}

/* Labels, and places anywhere in the array. */
__global__ static void
make_bytes(u8 *p, u64 n)
{
	EACH(i, n)
		p[i] = (u8) mix(i + 9);
}

__global__ static void
make_places(u32 *p, u64 n)
{
	EACH(i, n)
		p[i] = (u32) (mix(i + 3) % n);
}

/* ---------------------------------------------------------------- timing */

struct output
{
	u8 *ours, *theirs;
	u64 width;
};

static u8 *memory[8];
static u64 *ours_count, *bad_count;
static int *their_count;
static void *temp, *cub_temp;
static size_t temp_bytes, cub_bytes, most_bytes; /* of temp, of cub_temp, of each memory */

/*
 * One line of the table: checks that both give the same, then times them in turn.  bytes(m): what must be moved for m
 * results.
 */
static void
compare(const char *name, u64 n, call ours, call theirs, std::vector<output> outs, u64 fixed_count,
		std::function<double(double)> bytes)
{
	std::vector<float> a, b;
	u64 count = fixed_count, bad = 0;
	char line[640];

	if (!wanted.empty())
	{
		bool found = false;

		for (auto &w : wanted)
			found |= strncmp(name, w.c_str(), w.size()) == 0;
		if (!found)
			return;
	}
	for (auto &o : outs)
	{
		CK(cudaMemsetAsync(o.ours, 0xee, n * o.width, stream));
		CK(cudaMemsetAsync(o.theirs, 0xdd, n * o.width, stream));
	}
	ours();
	theirs();
	CK(cudaStreamSynchronize(stream));
	if (count == 0)
	{
		int c;

		CK(cudaMemcpy(&count, ours_count, 8, cudaMemcpyDeviceToHost));
		CK(cudaMemcpy(&c, their_count, 4, cudaMemcpyDeviceToHost));
		if ((u64) c != count)
			printf("%s: %llu results, CUB has %d\n", name, (unsigned long long) count, c);
		count = c;
	}
	int calls = n <= 1 << 20 ? 64 : n <= 1 << 24 ? 8 : 1;
	batch mine(stream, ours, calls), cubs(stream, theirs, calls);

	for (int i = 0; i < runs + 2; i++)
	{
		float x = mine.time(), y = cubs.time();

		if (i >= 2)
			a.push_back(x), b.push_back(y);
	}
	CK(cudaMemset(bad_count, 0, 8));
	for (auto &o : outs)
		count_differences<<<GRID>>>(o.ours, o.theirs, count * o.width, bad_count);
	CK(cudaMemcpy(&bad, bad_count, 8, cudaMemcpyDeviceToHost));
	timing x = timing_of(a), y = timing_of(b);
	bool graphs = mine.graph != NULL && cubs.graph != NULL;
	double need = bytes((double) count);
	double roof = 100 * need / x / copy_rate, cub_roof = 100 * need / y / copy_rate;

	printf("%-44s 2^%-2d  ours %8.4f ms %5.1f %%   CUB %8.4f ms %5.1f %%   %5.2fx  %s%s\n", name,
		   (int) (63 - __builtin_clzll(n)), x.median, roof, y.median, cub_roof, y / x, bad == 0 ? "equal" : "DIFFERENT",
		   graphs ? "" : ", no graphs");
	fflush(stdout);
	snprintf(line, sizeof(line),
			 "{\"name\": \"%s\", \"n\": %llu, \"ours_ms\": %.5f, \"ours_min_ms\": %.5f, \"ours_max_ms\": %.5f, "
			 "\"cub_ms\": %.5f, \"cub_min_ms\": %.5f, \"cub_max_ms\": %.5f, \"graphs\": %s, "
			 "\"ratio\": %.4f, \"ours_roof_percent\": %.2f, \"cub_roof_percent\": %.2f, \"equal\": %s}",
			 name, (unsigned long long) n, x.median, x.least, x.most, y.median, y.least, y.most,
			 graphs ? "true" : "false", y / x, roof, cub_roof, bad == 0 ? "true" : "false");
	lines.push_back(line);
}

/* ---------------------------------------------------------------- the primitives */

struct less_than
{
	int limit;
	__host__ __device__ __forceinline__ bool operator()(int x) const { return x < limit; }
};

template <class T>
static void
bench_scan(const char *name, gs_type type, u64 n)
{
	T *in = (T *) memory[0];

	make_small<<<GRID, 0, stream>>>(in, n);
	compare(
		name, n,
		[=] { GS(gs_scan(engine, type, GS_SUM, true, in, memory[2], n, temp, temp_bytes)); },
		[=] {
			size_t b = cub_bytes;
			CK(cub::DeviceScan::InclusiveSum(cub_temp, b, in, (T *) memory[4], (int) n, stream));
		},
		{{memory[2], memory[4], sizeof(T)}}, n, [=](double) { return 2.0 * n * sizeof(T); });
}

static void
bench_select(u64 n)
{
	int *in = (int *) memory[0];
	gs_filter flags = {GS_BY_BYTES, memory[1], GS_EQ, NULL, NULL};

	make_runs<<<GRID, 0, stream>>>((u32 *) in, n, 1);
	CK(cudaStreamSynchronize(stream));
	/* as int, half of the values are negative */
	static int half = 0;
	less_than below = {half};
	gs_filter half_value = {GS_BY_VALUE, NULL, GS_LT, &half, NULL};

	compare(
		"select int32 compare 50%", n,
		[=] { GS(gs_select(engine, GS_I32, in, n, &half_value, memory[2], ours_count, temp, temp_bytes)); },
		[=] {
			size_t b = cub_bytes;
			CK(cub::DeviceSelect::If(cub_temp, b, in, (int *) memory[4], their_count, (int) n, below, stream));
		},
		{{memory[2], memory[4], 4}}, 0, [=](double m) { return 4.0 * n + 4 * m; });
	for (u32 percent : {10u, 50u})
	{
		char name[64];

		snprintf(name, sizeof(name), "select int32 flags %u%%", percent);
		make_flags<<<GRID, 0, stream>>>(memory[1], n, percent);
		compare(
			name, n, [=] { GS(gs_select(engine, GS_I32, in, n, &flags, memory[2], ours_count, temp, temp_bytes)); },
			[=]
			{
				size_t b = cub_bytes;
				CK(cub::DeviceSelect::Flagged(cub_temp, b, in, memory[1], (int *) memory[4], their_count, (int) n,
											  stream));
			},
			{{memory[2], memory[4], 4}}, 0, [=](double m) { return 5.0 * n + 4 * m; });
	}
	compare(
		"partition int32 compare 50%", n,
		[=] {
			GS(gs_partition(engine, GS_I32, in, n, &half_value, memory[2], memory[3], ours_count, temp, temp_bytes));
		},
		[=] {
			size_t b = cub_bytes;
			CK(cub::DevicePartition::If(cub_temp, b, in, (int *) memory[4], their_count, (int) n, below, stream));
		},
		{{memory[2], memory[4], 4}}, 0, [=](double) { return 8.0 * n; });
}

static void
bench_runs(u64 n)
{
	u32 *in = (u32 *) memory[0];

	for (u32 run : {1u, 5u, 500u})
	{
		char name[64];

		make_runs<<<GRID, 0, stream>>>(in, n, run);
		snprintf(name, sizeof(name), "unique int32 runs of %u", run);
		compare(
			name, n, [=] { GS(gs_unique(engine, GS_I32, in, n, memory[2], ours_count, temp, temp_bytes)); },
			[=] {
				size_t b = cub_bytes;
				CK(cub::DeviceSelect::Unique(cub_temp, b, in, (u32 *) memory[4], their_count, (int) n, stream));
			},
			{{memory[2], memory[4], 4}}, 0, [=](double m) { return 4.0 * n + 4 * m; });
		snprintf(name, sizeof(name), "rle int32 runs of %u", run);
		compare(
			name, n,
			[=]
			{ GS(gs_runs(engine, GS_I32, in, n, memory[2], GS_U32, memory[3], NULL, ours_count, temp, temp_bytes)); },
			[=]
			{
				size_t b = cub_bytes;
				CK(cub::DeviceRunLengthEncode::Encode(cub_temp, b, in, (u32 *) memory[4], (int *) memory[5],
													  their_count, (int) n, stream));
			},
			{{memory[2], memory[4], 4}, {memory[3], memory[5], 4}}, 0, [=](double m) { return 4.0 * n + 8 * m; });
	}
}

/* A sum that CUB does not recognise as one, so that it takes its default policy. */
struct own_sum
{
	template <class T>
	__host__ __device__ __forceinline__ T
	operator()(T a, T b) const
	{
		return a + b;
	}
};

template <class T, class SUM>
static void
bench_reduce(const char *what, gs_type type, u64 n, std::vector<u32> all, SUM cub_sum)
{
	T *keys = (T *) memory[0], *values = (T *) memory[1];
	gs_reduction sum = {type, GS_SUM, type, false};

	make_small<<<GRID, 0, stream>>>(values, n);
	for (u32 run : all)
	{
		char name[64];

		make_runs<<<GRID, 0, stream>>>((typename std::make_unsigned<T>::type *) keys, n, run);
		snprintf(name, sizeof(name), "reduce %s runs of %u", what, run);
		compare(
			name, n,
			[=]
			{
				GS(gs_reduce_by_key(engine, type, keys, values, n, &sum, memory[2], memory[3], ours_count, NULL, temp,
									temp_bytes));
			},
			[=]
			{
				size_t b = cub_bytes;
				CK(cub::DeviceReduce::ReduceByKey(cub_temp, b, keys, (T *) memory[4], values, (T *) memory[5],
												  their_count, cub_sum, (int) n, stream));
			},
			{{memory[2], memory[4], sizeof(T)}, {memory[3], memory[5], sizeof(T)}}, 0,
			[=](double m) { return 2.0 * sizeof(T) * (n + m); });
	}
}

/* ----------------------------------------- what has no call of CUB's own, against how it is done with CUB or Thrust */

/* Minimum, maximum, OR and AND at once. */
template <class T>
struct extent
{
	T least, most, any, all;
};

template <class T>
struct widen
{
	__host__ __device__ __forceinline__ extent<T>
	operator()(T x) const
	{
		return {x, x, x, x};
	}
};

template <class T>
struct join
{
	__host__ __device__ __forceinline__ extent<T>
	operator()(const extent<T> &a, const extent<T> &b) const
	{
		return {a.least < b.least ? a.least : b.least, a.most > b.most ? a.most : b.most, (T) (a.any | b.any),
				(T) (a.all & b.all)};
	}
};

template <class T>
static void
bench_extent(const char *name, gs_type type, u64 n)
{
	T *in = (T *) memory[0];
	extent<T> none = {std::numeric_limits<T>::max(), std::numeric_limits<T>::min(), 0, (T) -1};

	make_small<<<GRID, 0, stream>>>(in, n);
	compare(
		name, n, [=] { GS(gs_extent(engine, type, in, n, memory[2], temp, temp_bytes)); },
		[=]
		{
			size_t b = cub_bytes;
			CK(cub::DeviceReduce::TransformReduce(cub_temp, b, in, (extent<T> *) memory[4], (int) n, join<T>(),
												  widen<T>(), none, stream));
		},
		{{memory[2], memory[4], sizeof(T)}}, 4, [=](double) { return 1.0 * sizeof(T) * n; });
}

/* 256 groups: CUB's way is a stable sort by the label's 8 bits. */
static void
bench_split(u64 n)
{
	make_runs<<<GRID, 0, stream>>>((u32 *) memory[0], n, 1);
	make_bytes<<<GRID, 0, stream>>>(memory[1], n);
	compare(
		"split int32, 256 labels", n,
		[=]
		{ GS(gs_split(engine, GS_I32, memory[0], memory[1], n, 256, memory[2], (u64 *) memory[3], temp, temp_bytes)); },
		[=]
		{
			size_t b = cub_bytes;
			CK(cub::DeviceRadixSort::SortPairs(cub_temp, b, memory[1], memory[5], (u32 *) memory[0], (u32 *) memory[4],
											   (int) n, 0, 8, stream));
		},
		{{memory[2], memory[4], 4}}, n, [=](double) { return 9.0 * n; });
}

/* For DeviceCopy::Batched: run r is a constant, its place begins where the lengths before it end. */
struct run_value
{
	const u32 *values;
	__host__ __device__ __forceinline__ auto
	operator()(u32 r) const
	{
		return thrust::make_constant_iterator(values[r]);
	}
};
struct run_place
{
	u32 *out;
	const u32 *starts;
	__host__ __device__ __forceinline__ u32 *
	operator()(u32 r) const
	{
		return out + starts[r];
	}
};

static __global__ void
set_u32(u32 *p, u64 n, u32 value)
{
	EACH(i, n)
		p[i] = value;
}

/* Runs of 8, n items. */
static void
bench_decode(u64 n)
{
	u64 m = n / 8;
	u32 *values = (u32 *) memory[0], *lengths = (u32 *) memory[1], *starts = (u32 *) memory[3],
		*out = (u32 *) memory[4];
	size_t needed = 0;
	auto from = thrust::make_transform_iterator(thrust::make_counting_iterator(0u), run_value{values});
	auto to = thrust::make_transform_iterator(thrust::make_counting_iterator(0u), run_place{out, starts});

	make_runs<<<GRID, 0, stream>>>(values, m, 1);
	set_u32<<<GRID, 0, stream>>>(lengths, m, 8);
	CK(cub::DeviceCopy::Batched(NULL, needed, from, to, lengths, m, stream));
	if (needed > most_bytes)
		return;
	compare(
		"decode int32, runs of 8", n,
		[=] { GS(gs_decode(engine, GS_I32, values, GS_U32, lengths, m, memory[2], n, ours_count, temp, temp_bytes)); },
		[=] {
			size_t b = cub_bytes;
			CK(cub::DeviceScan::ExclusiveSum(cub_temp, b, lengths, starts, (int) m, stream));
			b = most_bytes;
			CK(cub::DeviceCopy::Batched(memory[5], b, from, to, lengths, m, stream));
		},
		{{memory[2], memory[4], 4}}, n, [=](double) { return 4.0 * n + 8 * m; });
}

/* Sums of floats in a fixed order; the values are small whole numbers, so that every order gives the same. */
static void
bench_fixed(u64 n)
{
	float *values = (float *) memory[1];
	gs_reduction sum = {GS_F32, GS_SUM, GS_F32, true};

	make_small<<<GRID, 0, stream>>>(values, n);
	make_runs<<<GRID, 0, stream>>>((u32 *) memory[0], n, 5);
	compare(
		"reduce int32+float fixed tree, runs of 5", n,
		[=]
		{
			GS(gs_reduce_by_key(engine, GS_I32, memory[0], values, n, &sum, memory[2], memory[3], ours_count, NULL,
								temp, temp_bytes));
		},
		[=]
		{
			size_t b = cub_bytes;
			CK(cub::DeviceReduce::ReduceByKey(cub_temp, b, (int *) memory[0], (int *) memory[4], values,
											  (float *) memory[5], their_count, ::cuda::std::plus<>(), (int) n,
											  stream));
		},
		{{memory[2], memory[4], 4}, {memory[3], memory[5], 4}}, 0, [=](double m) { return 8.0 * (n + m); });
}

static void
bench_rest(u64 n)
{
	u32 *in = (u32 *) memory[0], *index = (u32 *) memory[1];

	bench_extent<int32_t>("extent int32", GS_I32, n);
	bench_extent<int64_t>("extent int64", GS_I64, n);
	compare(
		"sequence int32", n, [=] { GS(gs_sequence(engine, GS_I32, memory[2], n, 5, 1)); },
		[=] { thrust::sequence(thrust::cuda::par_nosync.on(stream), (int *) memory[4], (int *) memory[4] + n, 5); },
		{{memory[2], memory[4], 4}}, n, [=](double) { return 4.0 * n; });
	make_runs<<<GRID, 0, stream>>>(in, n, 1);
	make_places<<<GRID, 0, stream>>>(index, n);
	compare(
		"gather int32, anywhere", n, [=] { GS(gs_gather(engine, GS_I32, in, GS_U32, index, n, memory[2])); },
		[=] { thrust::gather(thrust::cuda::par_nosync.on(stream), index, index + n, in, (u32 *) memory[4]); },
		{{memory[2], memory[4], 4}}, n, [=](double) { return 12.0 * n; });
	bench_split(n);
	bench_decode(n);
	bench_fixed(n);
}

/* The largest temporary memory that any of CUB's calls here asks for. */
static size_t
cub_temp_bytes(u64 n)
{
	size_t most = 0, b;
	int *i = NULL;
	int64_t *l = NULL;
	u8 *f = NULL;

#define ASK(call)                                                                                                      \
	b = 0;                                                                                                             \
	CK(call);                                                                                                        \
	most = std::max(most, b)
	ASK(cub::DeviceScan::InclusiveSum(NULL, b, i, i, (int) n));
	ASK(cub::DeviceScan::InclusiveSum(NULL, b, l, l, (int) n));
	ASK(cub::DeviceSelect::If(NULL, b, i, i, i, (int) n, less_than{0}));
	ASK(cub::DeviceSelect::Flagged(NULL, b, i, f, i, i, (int) n));
	ASK(cub::DevicePartition::If(NULL, b, i, i, i, (int) n, less_than{0}));
	ASK(cub::DeviceSelect::Unique(NULL, b, i, i, i, (int) n));
	ASK(cub::DeviceRunLengthEncode::Encode(NULL, b, i, i, i, i, (int) n));
	ASK(cub::DeviceReduce::ReduceByKey(NULL, b, i, i, i, i, i, ::cuda::std::plus<>(), (int) n));
	ASK(cub::DeviceReduce::ReduceByKey(NULL, b, l, l, l, l, i, ::cuda::std::plus<>(), (int) n));
	ASK(cub::DeviceReduce::ReduceByKey(NULL, b, i, i, i, i, i, own_sum(), (int) n));
	ASK(cub::DeviceReduce::ReduceByKey(NULL, b, l, l, l, l, i, own_sum(), (int) n));
	ASK(cub::DeviceReduce::ReduceByKey(NULL, b, i, i, (float *) NULL, (float *) NULL, i, ::cuda::std::plus<>(),
									   (int) n));
	ASK(cub::DeviceReduce::TransformReduce(NULL, b, l, (extent<int64_t> *) NULL, (int) n, join<int64_t>(),
										   widen<int64_t>(), extent<int64_t>()));
	ASK(cub::DeviceRadixSort::SortPairs(NULL, b, f, f, (u32 *) NULL, (u32 *) NULL, (int) n, 0, 8));
	return most + 256;
}

int
main(int argc, char **argv)
{
	std::vector<int> logs = {16, 20, 24, 28};
	const char *json = NULL;

	for (int i = 1; i < argc; i++)
	{
		if (argv[i][0] != '-' || i + 1 == argc)
		{
			wanted.push_back(argv[i]);
			continue;
		}
		char option = argv[i++][1];

		if (option == 'n')
		{
			logs.clear();
			for (char *p = strtok(argv[i], ","); p; p = strtok(NULL, ","))
				logs.push_back(atoi(p));
		}
		else if (option == 'r')
			runs = atoi(argv[i]);
		else if (option == 'o')
			json = argv[i];
		else if (option == 's')
			force_stages = atoi(argv[i]);
		else if (option == 'b')
			force_blocks = atoi(argv[i]);
	}
	u64 most = (u64) 1 << *std::max_element(logs.begin(), logs.end());

	GS(gs_cuda_open(0, NULL, &engine));
	gs_cuda_force(engine, force_stages, force_blocks);
	most_bytes = most * 8 + 4096;
	stream = (cudaStream_t) gs_cuda_stream(engine);
	for (int i = 0; i < 6; i++)
		CK(cudaMalloc(&memory[i], most_bytes));
	temp_bytes = std::max({most + (1 << 20), (u64) gs_split_temp_bytes(engine, GS_I32, most, 256),
						   (u64) gs_decode_temp_bytes(engine, GS_U32, most / 8, most)});
	CK(cudaMalloc(&temp, temp_bytes));
	cub_bytes = cub_temp_bytes(most);
	CK(cudaMalloc(&cub_temp, cub_bytes));
	CK(cudaMalloc(&ours_count, 8));
	CK(cudaMalloc(&their_count, 8));
	CK(cudaMalloc(&bad_count, 8));

	u64 bytes = (u64) 1 << 30;

	if (bytes > most * 8)
		bytes = most * 8;
	copy_rate = 2.0 * bytes /
				median_of(10, stream,
						  [=] { CK(cudaMemcpyAsync(memory[0], memory[2], bytes, cudaMemcpyDeviceToDevice, stream)); });
	printf("%s, copy %.0f GB/s\n", gs_engine_name(engine), copy_rate / 1e6);
	for (int log : logs)
	{
		u64 n = (u64) 1 << log;

		bench_scan<int32_t>("scan int32", GS_I32, n);
		bench_scan<int64_t>("scan int64", GS_I64, n);
		bench_select(n);
		bench_runs(n);
		bench_reduce<int32_t>("int32+int32", GS_I32, n, {1, 5, 500}, ::cuda::std::plus<>());
		bench_reduce<int64_t>("int64+int64", GS_I64, n, {1, 5, 500}, ::cuda::std::plus<>());
		bench_reduce<int32_t>("int32+int32 (own functor)", GS_I32, n, {1, 5, 500}, own_sum());
		bench_reduce<int64_t>("int64+int64 (own functor)", GS_I64, n, {5}, own_sum());
		bench_rest(n);
	}
	if (json)
	{
		char more[128];

		snprintf(more, sizeof(more), "\"runs\": %d, \"statistic\": \"median\", \"copy_gb_per_s\": %.1f", runs,
				 copy_rate / 1e6);
		write_json(json, more, lines);
	}
	gs_engine_close(engine);
	return 0;
}
