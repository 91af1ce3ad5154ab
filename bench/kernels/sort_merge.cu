/*
 * sort_merge.cu: gs_merge_sort and gs_merge_runs against cub::DeviceMergeSort and cub::DeviceMerge, on one GPU.
 *
 *   sort_merge [log2 of items,... [what]]      what: part of a case's name, "all"
 *
 * Ours reads its input and leaves it as it is.  CUB sorts in place, its input made anew before every run, not timed;
 * preallocated memory, 32-bit counts.  tuned: the better of two larger tiles, 512 * 11 and 256 * 15 items (of 8 bytes),
 * through CUB's policy hub; its own choice is 256 * 8.  Keys of several words have a comparison of their own there.
 * Row numbers: CUB's are made by a kernel, timed.  Runs alternate; 7 after one.  Results are compared item
 * by item with CUB's, which is stable too.
 */
#include "check.cuh"

#include <cub/cub.cuh>

enum shape { UNIFORM, FEW, SORTED, REVERSED, DISPLACED, SAWTOOTH, TIES };

static const char *const shape_name[] = {"uniform",		 "16 distinct",			  "sorted", "reversed", "1 % displaced",
										 "runs of 2^20", "first word 16 distinct"};

/* A key of some words, the first most significant. */
template <int WORDS>
struct wide_key
{
	u64 w[WORDS];
};

template <int WORDS>
__host__ __device__ bool
operator!=(const wide_key<WORDS> &a, const wide_key<WORDS> &b)
{
	for (int i = 0; i < WORDS; i++)
		if (a.w[i] != b.w[i])
			return true;
	return false;
}

struct less_than
{
	__device__ bool operator()(u32 a, u32 b) const { return a < b; }
	__device__ bool operator()(u64 a, u64 b) const { return a < b; }
	template <int WORDS>
	__device__ bool
	operator()(const wide_key<WORDS> &a, const wide_key<WORDS> &b) const
	{
#pragma unroll
		for (int i = 0; i < WORDS - 1; i++)
			if (a.w[i] != b.w[i])
				return a.w[i] < b.w[i];
		return a.w[WORDS - 1] < b.w[WORDS - 1];
	}
};

template <class K>
static __global__ void
make(K *out, u64 n, shape how)
{
	EACH(i, n)
	{
		u64 r = mix(i), k = r;

		if (how == FEW)
			k = mix(r & 15);
		else if (how == SORTED)
			k = i;
		else if (how == REVERSED)
			k = n - 1 - i;
		else if (how == DISPLACED)
			k = r % 100 ? i : mix(r) % n;
		else if (how == SAWTOOTH)
			k = i & 0xfffff;
		if constexpr (sizeof(K) <= 8)
			out[i] = (K) (sizeof(K) == 4 && how == UNIFORM ? k >> 32 : k);
		else
			for (u32 w = 0; w < sizeof(K) / 8; w++)
				out[i].w[w] = w == 0 ? (how == TIES ? r & 15 : k) : mix(k + w);
	}
}

static gs_engine *engine;
static cudaStream_t stream;

/* CUB's merge sort as it chooses, and with a tile of its own. */
struct own
{
};

template <int THREADS, int ITEMS>
struct tuned_hub
{
	struct Policy600 : cub::ChainedPolicy<600, Policy600, Policy600>
	{
		using MergeSortPolicy = cub::AgentMergeSortPolicy<THREADS, ITEMS, cub::BLOCK_LOAD_WARP_TRANSPOSE,
														  cub::LOAD_DEFAULT, cub::BLOCK_STORE_WARP_TRANSPOSE>;
	};
	using MaxPolicy = Policy600;
};

template <class K, class V, class HUB>
static void
cub_sort(void *temp, size_t &bytes, K *keys, V *values, u64 n)
{
	if constexpr (!std::is_same<HUB, own>::value)
		CK((cub::DispatchMergeSort<K *, V *, K *, V *, u32, less_than, HUB>::Dispatch(
			temp, bytes, keys, values, keys, values, (u32) n, less_than(), stream)));
	else if constexpr (std::is_same<V, cub::NullType>::value)
		CK(cub::DeviceMergeSort::StableSortKeys(temp, bytes, keys, (u32) n, less_than(), stream));
	else
		CK(cub::DeviceMergeSort::StableSortPairs(temp, bytes, keys, values, (u32) n, less_than(), stream));
}

/* numbers: values are row numbers, which ours are not given. */
template <class K, class V>
static void
sort_case(const char *name, const char *want, int lg, shape how, bool numbers)
{
	constexpr bool PAIRS = !std::is_same<V, cub::NullType>::value;
	typedef typename std::conditional<PAIRS, V, u32>::type W;
	typedef tuned_hub<512, sizeof(K) < 8 ? 23 : 88 / sizeof(K)> large;
	typedef tuned_hub<256, sizeof(K) < 8 ? 31 : 120 / sizeof(K)> larger;
	const u64 n = 1ull << lg, m = PAIRS ? n : 0;
	const size_t width = PAIRS ? sizeof(V) : 0;
	char title[128];
	memory space;

	snprintf(title, sizeof(title), "%s, %s, 2^%d", name, shape_name[how], lg);
	if (strcmp(want, "all") != 0 && strstr(title, want) == NULL)
		return;

	K *keys = space.of<K>(n), *out = space.of<K>(n), *their = space.of<K>(n);
	W *values = space.of<W>(m), *out_values = space.of<W>(m), *their_values = space.of<W>(m);
	size_t bytes = gs_merge_sort_temp_bytes(engine, sizeof(K), width, n), cub_bytes = 0, more = 0;
	void *temp = space.of<u8>(bytes), *cub_temp;

	cub_sort<K, V, own>(NULL, cub_bytes, their, (V *) their_values, n);
	cub_sort<K, V, large>(NULL, more, their, (V *) their_values, n);
	cub_bytes = std::max(cub_bytes, more);
	cub_sort<K, V, larger>(NULL, more, their, (V *) their_values, n);
	cub_bytes = std::max(cub_bytes, more);
	cub_temp = space.of<u8>(cub_bytes);
	make<<<GRID>>>(keys, n, how);
	if (PAIRS)
		iota<<<GRID>>>(values, n);
	CK(cudaDeviceSynchronize());

	auto fresh = [&] {
		CK(cudaMemcpy(their, keys, n * sizeof(K), cudaMemcpyDeviceToDevice));
		if (PAIRS)
			CK(cudaMemcpy(their_values, values, n * width, cudaMemcpyDeviceToDevice));
	};
	auto number = [&] {
		if (numbers)
			iota<<<GRID, 0, stream>>>(their_values, n);
	};
	std::vector<float> ours, cub, cub_large, cub_larger;

	for (int round = 0; round < 8; round++)
	{
		auto note = [&](std::vector<float> &times, float ms) {
			if (round > 0)
				times.push_back(ms);
		};

		CK(cudaMemset(out, 0xa5, n * sizeof(K)));
		CK(cudaMemset(out_values, 0xa5, m * sizeof(W)));
		note(ours, once(
					   stream,
					   [&]
					   {
						   gs_sort_request r = {};

						   r.key_bytes = sizeof(K), r.keys = keys, r.out_keys = out, r.n = n;
						   if (PAIRS)
							   r.value_width = width, r.values = numbers ? NULL : values, r.out_values = out_values;
						   GS(gs_merge_sort(engine, &r, temp, bytes));
					   },
					   [] {}));
		note(cub_large,
			 once(
				 stream, [&] { number(), cub_sort<K, V, large>(cub_temp, cub_bytes, their, (V *) their_values, n); },
				 fresh));
		note(cub_larger,
			 once(
				 stream, [&] { number(), cub_sort<K, V, larger>(cub_temp, cub_bytes, their, (V *) their_values, n); },
				 fresh));
		note(cub, once(
					  stream, [&] { number(), cub_sort<K, V, own>(cub_temp, cub_bytes, their, (V *) their_values, n); },
					  fresh));
	}

	u64 wrong = differences(out, their, n) + (PAIRS ? differences(out_values, their_values, n) : 0);
	const char *verdict = wrong == 0 ? "same as CUB's" : "DIFFERENT";
	contest c(text_of("%s, %s", name, shape_name[how]), n);

	c.rival("", timing_of(cub));
	c.rival("tuned, 512", timing_of(cub_large));
	c.rival("tuned, 256", timing_of(cub_larger));
	c.ours("", timing_of(ours), verdict);
}

/* Runs of even length, or of lengths from 1 to n / 2; against CUB's merge of two, else its sort of everything. */
static void
runs_case(const char *want, int lg, u64 runs, bool even)
{
	const u64 n = 1ull << lg;
	char title[128];
	memory space;

	snprintf(title, sizeof(title), "%llu runs%s, u64 + u32, 2^%d", (unsigned long long) runs,
			 even ? "" : " of uneven length", lg);
	if (strcmp(want, "all") != 0 && strstr(title, want) == NULL)
		return;

	u64 *raw = space.of<u64>(n), *keys = space.of<u64>(n), *out = space.of<u64>(n), *their = space.of<u64>(n);
	u32 *values = space.of<u32>(n), *sorted = space.of<u32>(n), *out_values = space.of<u32>(n),
		*their_values = space.of<u32>(n);
	size_t bytes = gs_merge_runs_temp_bytes(engine, 8, 4, n, runs),
		   sort_bytes = gs_merge_sort_temp_bytes(engine, 8, 4, n), cub_bytes = 0;
	std::vector<u64> starts(runs + 1);
	std::vector<float> ours, cub;
	void *temp = space.of<u8>(std::max(bytes, sort_bytes)), *cub_temp;

	for (u64 r = 0; r <= runs; r++)
		starts[r] = even || r == 0 || r == runs ? n * r / runs : mix(r) >> (64 - lg + r % lg);
	std::sort(starts.begin(), starts.end());
	make<<<GRID>>>(raw, n, UNIFORM);
	iota<<<GRID>>>(values, n);
	CK(cudaDeviceSynchronize());

	gs_sort_request request = {};

	request.key_bytes = 8, request.value_width = 4;
	for (u64 r = 0; r < runs; r++)
	{
		request.keys = raw + starts[r], request.out_keys = keys + starts[r];
		request.values = values + starts[r], request.out_values = sorted + starts[r];
		request.n = starts[r + 1] - starts[r];
		GS(gs_merge_sort(engine, &request, temp, sort_bytes));
	}
	request.keys = keys, request.out_keys = out;
	request.values = sorted, request.out_values = out_values;
	request.starts = starts.data(), request.parts = runs, request.n = n;
	GS(gs_sync(engine));
	if (runs == 2)
		CK(cub::DeviceMerge::MergePairs(NULL, cub_bytes, keys, sorted, (int64_t) starts[1], keys + starts[1],
										sorted + starts[1], (int64_t) (n - starts[1]), their, their_values, less_than(),
										stream));
	else
		cub_sort<u64, u32, own>(NULL, cub_bytes, their, their_values, n);
	cub_temp = space.of<u8>(cub_bytes);
	for (int round = 0; round < 8; round++)
	{
		CK(cudaMemset(out, 0xa5, n * 8));
		CK(cudaMemset(out_values, 0xa5, n * 4));
		float a = once(
			stream, [&] { GS(gs_merge_runs(engine, &request, temp, bytes)); }, [] {});
		float b = once(
			stream,
			[&] {
				if (runs == 2)
					CK(cub::DeviceMerge::MergePairs(cub_temp, cub_bytes, keys, sorted, (int64_t) starts[1],
													keys + starts[1], sorted + starts[1], (int64_t) (n - starts[1]),
													their, their_values, less_than(), stream));
				else
					cub_sort<u64, u32, own>(cub_temp, cub_bytes, their,
																				   their_values, n);
			},
			[&] {
				CK(cudaMemcpy(their, keys, n * 8, cudaMemcpyDeviceToDevice));
				CK(cudaMemcpy(their_values, sorted, n * 4, cudaMemcpyDeviceToDevice));
			});

		if (round > 0)
		{
			ours.push_back(a);
			cub.push_back(b);
		}
	}

	u64 wrong = differences(out, their, n) + differences(out_values, their_values, n);

	contest c(text_of("%llu runs%s, u64 + u32", (unsigned long long) runs, even ? "" : " of uneven length"), n);

	c.rival(runs == 2 ? "merge" : "", timing_of(cub));
	c.ours("", timing_of(ours), wrong == 0 ? "same as CUB's" : "DIFFERENT");
}

int
main(int argc, char **argv)
{
	const char *logs = argc > 1 ? argv[1] : "28,26,23,22,21,20,16", *want = argc > 2 ? argv[2] : "all";

	print_head("ms, median of 7 (least to most); x: CUB's best / ours");
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	for (const char *p = logs; p != NULL; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
	{
		int lg = atoi(p);

		sort_case<u64, u32>("u64 + u32", want, lg, UNIFORM, false);
		sort_case<u64, u32>("u64, row numbers", want, lg, UNIFORM, true);
		sort_case<u64, cub::NullType>("keys u64", want, lg, UNIFORM, false);
		sort_case<u32, cub::NullType>("keys u32", want, lg, UNIFORM, false);
		sort_case<u32, u32>("u32 + u32", want, lg, UNIFORM, false);
		sort_case<u64, u64>("u64 + u64", want, lg, UNIFORM, false);
		sort_case<wide_key<2>, cub::NullType>("keys of 128 bits", want, lg, UNIFORM, false);
		sort_case<wide_key<2>, u32>("128 bits, row numbers", want, lg, UNIFORM, true);
		if (lg < 26)
			continue;
		sort_case<wide_key<2>, u32>("128 bits, row numbers", want, lg, TIES, true);
		sort_case<wide_key<4>, u32>("256 bits, row numbers", want, lg, UNIFORM, true);
		for (shape how : {FEW, SORTED, REVERSED, DISPLACED, SAWTOOTH})
			sort_case<u64, u32>("u64 + u32", want, lg, how, false);
		for (u64 runs : {2, 3, 16, 17, 1000})
			runs_case(want, lg, runs, true);
		runs_case(want, lg, 1000, false);
	}
	gs_engine_close(engine);
	return 0;
}
