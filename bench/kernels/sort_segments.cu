/*
 * sort_segments.cu: segmented sorts against CUB, on one GPU.
 *
 *   sort_segments [log2 of keys [what]]      what: part of a case's name
 *
 * CUB: DeviceSegmentedSort and DeviceSegmentedRadixSort with DoubleBuffer and memory that is there; both sort by all
 * bits of the key.  Keys of 4 bytes also by one DeviceRadixSort of (segment, key) in 8, by no more bits than segments
 * need: numbering segments (a scan of their begins), packing and unpacking are timed.  x divides by the best of these.
 * Median of 5 runs after one; ours with its waits.  Our result is compared with that of CUB's radix sort, which is
 * stable.
 */
#include "check.cuh"

#include <cub/cub.cuh>

static gs_engine *engine;
static cudaStream_t stream;
static u64 n;
static void *keys, *values, *buffer[4], *out_keys, *out_values, *temp;
static u64 *starts, *bad;
static int *offsets;
static size_t temp_bytes;
static std::string shape;
static const char *want = "";

template <class K>
static __global__ void
make(K *out, u64 n)
{
	EACH(i, n)
		out[i] = (K) (mix(i * 31 + 7) >> (64 - 8 * sizeof(K)));
}

/* Begins of segments: lengths below, cut off at n. */
static int
set_starts(const std::function<u64(u64)> &length)
{
	std::vector<u64> at = {0};
	std::vector<int> small = {0};

	while (at.back() < n)
	{
		u64 next = at.back() + length(at.size());

		at.push_back(next < n ? next : n);
		small.push_back((int) at.back());
	}
	CK(cudaMemcpy(starts, at.data(), at.size() * 8, cudaMemcpyHostToDevice));
	CK(cudaMemcpy(offsets, small.data(), small.size() * 4, cudaMemcpyHostToDevice));
	return (int) at.size() - 1;
}

static void
need(size_t bytes)
{
	if (bytes > temp_bytes)
		exit(printf("temp %zu\n", bytes));
}

static __global__ void
mark_begins(const u64 *starts, u64 segments, u64 n, u32 *marks)
{
	EACH(s, segments)
		if (s > 0 && starts[s] < n)
			atomicAdd(&marks[starts[s]], 1);
}

static __global__ void
pack_segments(const u32 *segment, const u32 *keys, u64 n, u64 *words)
{
	EACH(i, n)
		words[i] = (u64) segment[i] << 32 | keys[i];
}

static __global__ void
unpack_keys(const u64 *words, u64 n, u32 *keys)
{
	EACH(i, n)
		keys[i] = (u32) words[i];
}

/*
 * One sort of (segment, key), keys of 4 bytes; with values of 4 bytes or none.
 */
template <class V>
static timing
one_sort(int segments)
{
	constexpr bool pairs = !std::is_same<V, cub::NullType>::value;
	static u64 *words[2];
	static u32 *marks;
	int bits = 32;

	while ((u64) segments > 1ull << (bits - 32))
		bits++;
	for (int i = 0; i < 2 && words[1] == NULL; i++)
		CK(cudaMalloc(&words[i], n * 8));
	if (marks == NULL)
		CK(cudaMalloc(&marks, n * 4));
	return median_of(5, stream,
					 [&] {
						 cub::DoubleBuffer<u64> k(words[0], words[1]);
						 cub::DoubleBuffer<V> v((V *) buffer[2], (V *) buffer[3]);
						 size_t bytes = temp_bytes;

						 CK(cudaMemsetAsync(marks, 0, n * 4, stream));
						 mark_begins<<<GRID, 0, stream>>>(starts, (u64) segments, n, marks);
						 CK(cub::DeviceScan::InclusiveSum(temp, bytes, marks, marks, (int) n, stream));
						 pack_segments<<<GRID, 0, stream>>>(marks, (const u32 *) keys, n, words[0]);
						 bytes = temp_bytes;
						 if constexpr (pairs)
							 CK(cub::DeviceRadixSort::SortPairs(temp, bytes, k, v, (int) n, 0, bits, stream));
						 else
							 CK(cub::DeviceRadixSort::SortKeys(temp, bytes, k, (int) n, 0, bits, stream));
						 unpack_keys<<<GRID, 0, stream>>>(k.Current(), n, (u32 *) buffer[0]);
					 },
					 [&] {
						 CK(cudaMemcpyAsync(buffer[2], values, pairs ? n * 4 : 0, cudaMemcpyDeviceToDevice, stream));
					 });
}

template <class K, class V>
static void
run(const char *name, gs_type type, int segments)
{
	constexpr bool pairs = !std::is_same<V, cub::NullType>::value;
	const size_t width = pairs ? sizeof(V) : 0;
	cub::DoubleBuffer<K> k;
	cub::DoubleBuffer<V> v;
	size_t bytes;
	u64 answer[2];
	auto fresh = [&] {
		k = cub::DoubleBuffer<K>((K *) buffer[0], (K *) buffer[1]);
		v = cub::DoubleBuffer<V>((V *) buffer[2], (V *) buffer[3]);
		CK(cudaMemcpyAsync(buffer[0], keys, n * sizeof(K), cudaMemcpyDeviceToDevice, stream));
		CK(cudaMemcpyAsync(buffer[2], values, n * width, cudaMemcpyDeviceToDevice, stream));
	};

	timing sort = median_of(5, stream, [&] {
		bytes = temp_bytes;
		if constexpr (pairs)
			CK(cub::DeviceSegmentedSort::SortPairs(temp, bytes, k, v, (int) n, segments, offsets, offsets + 1, stream));
		else
			CK(cub::DeviceSegmentedSort::SortKeys(temp, bytes, k, (int) n, segments, offsets, offsets + 1, stream));
	}, fresh);
	timing radix = median_of(5, stream, [&] {
		bytes = temp_bytes;
		if constexpr (pairs)
			CK(cub::DeviceSegmentedRadixSort::SortPairs(temp, bytes, k, v, (int) n, segments, offsets, offsets + 1, 0,
														(int) sizeof(K) * 8, stream));
		else
			CK(cub::DeviceSegmentedRadixSort::SortKeys(temp, bytes, k, (int) n, segments, offsets, offsets + 1, 0,
													   (int) sizeof(K) * 8, stream));
	}, fresh);

	bytes = gs_sort_segments_temp_bytes(engine, type, width, n, (u64) segments);
	need(bytes);
	CK(cudaMemset(out_keys, 0xff, n * sizeof(K)));
	CK(cudaMemset(out_values, 0xff, n * width));

	timing ours = median_of(5, stream,
							[&]
							{
								gs_sort_request r = {};

								r.key = type, r.keys = keys, r.out_keys = out_keys, r.n = n;
								if (pairs)
									r.value_width = width, r.values = values, r.out_values = out_values;
								r.starts = starts, r.parts = (u64) segments;
								GS(gs_sort_segments(engine, &r, temp, bytes));
							});

	CK(cudaMemset(bad, 0, 16));
	count_differences<<<GRID>>>((const K *) out_keys, k.Current(), n, bad);
	if constexpr (pairs)
		count_differences<<<GRID>>>((const V *) out_values, v.Current(), n, bad + 1);
	CK(cudaMemcpy(answer, bad, 16, cudaMemcpyDeviceToHost));
	answer[0] += answer[1];
	contest c(shape + ", " + name, n);

	c.rival("segmented sort", sort);
	c.rival("segmented radix", radix);
	/* after the comparison: it writes over CUB's result */
	if constexpr (sizeof(K) == 4 && (!pairs || sizeof(V) == 4))
	{
		timing whole = one_sort<V>(segments);

		CK(cudaMemset(bad, 0, 16));
		count_differences<<<GRID>>>((const K *) out_keys, (const K *) buffer[0], n, bad);
		CK(cudaMemcpy(answer + 1, bad, 8, cudaMemcpyDeviceToHost));
		c.rival("one sort", whole, answer[1] ? "DIFFERENT" : "");
	}
	c.ours("", ours, answer[0] ? "WRONG" : "ok", text_of("temp %.1f bytes a key", (double) bytes / n));
}

static void
all(const char *name, const std::function<u64(u64)> &length, bool wide)
{
	if (*want && strstr(name, want) == NULL)
		return;

	int segments = set_starts(length);

	shape = text_of("%s (%d segments)", name, segments);
	make<u32><<<GRID>>>((u32 *) keys, n);
	run<u32, cub::NullType>("u32", GS_U32, segments);
	run<u32, u32>("u32 + u32", GS_U32, segments);
	if (!wide)
		return;
	make<u64><<<GRID>>>((u64 *) keys, n);
	run<u64, cub::NullType>("u64", GS_U64, segments);
	run<u64, u64>("u64 + u64", GS_U64, segments);
}

int
main(int argc, char **argv)
{
	int lg = argc > 1 ? atoi(argv[1]) : 26;

	want = argc > 2 ? argv[2] : "";
	n = 1ull << lg;
	print_head("ms, median of 5 (least to most); x: CUB's best / ours");
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	for (void **p : {&keys, &values, &buffer[0], &buffer[1], &buffer[2], &buffer[3], &out_keys, &out_values})
		CK(cudaMalloc(p, n * 8));
	CK(cudaMalloc(&starts, (n + 1) * 8));
	CK(cudaMalloc(&offsets, (n + 1) * 4));
	CK(cudaMalloc(&bad, 16));
	temp_bytes = n * 32 + (64 << 20);
	CK(cudaMalloc(&temp, temp_bytes));
	iota<<<GRID>>>((u64 *) values, n);
	CK(cudaDeviceSynchronize());
	all("500 to 1500 keys", [](u64 s) { return 500 + mix(s) % 1001; }, true);
	all("1000 keys", [](u64) { return 1000; }, false);
	all("64 segments", [](u64) { return n / 64; }, true);
	all("1 to 20 keys", [](u64 s) { return 1 + mix(s) % 20; }, false);
	all("200 keys", [](u64) { return 200; }, false);
	all("5000 to 15000 keys", [](u64 s) { return 5000 + mix(s) % 10001; }, false);
	all(
		"mixed", [](u64 s) { return s % 1000 == 0 ? 1 + mix(s) % (n / 20)
									: s % 10	  ? mix(s) % 50
												  : mix(s) % 3000; },
		false);
	all("one", [](u64) { return n; }, false);
	gs_engine_close(engine);
	return 0;
}
