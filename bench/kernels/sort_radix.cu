/*
 * sort_radix.cu: gs_sort against cub::DeviceRadixSort, on one GPU.
 *
 *   sort_radix [log2 of items,... [what]]      what: part of a case's name, "all"
 *
 * Ours reads its input and leaves it as it is.  CUB gets DoubleBuffer (it may overwrite its input, which is made anew
 * before every run, not timed), preallocated memory, 32-bit counts and the range of bits.  cub9: the same with 9-bit
 * digits, through its policy hub.  Rounds of ours and CUB's alternate; of 9 after one.  Results are compared
 * item by item with CUB's, which is stable too.
 */
#include "check.cuh"
#include "hub9.cuh"

enum shape { UNIFORM, FEW, EQUAL, SKEWED, SORTED, REVERSED, SMALL, ZIPF, OUTLIER };

static const char *const shape_name[] = {"uniform", "16 distinct", "equal", "skewed", "sorted", "reversed", "27 bits",
										"Zipf", "27 bits and one far away"};

template <class K>
static __global__ void
make(K *out, u64 n, shape how)
{
	constexpr int BITS = 8 * sizeof(K);

	EACH(i, n)
	{
		u64 r = mix(i), k = r >> (64 - BITS);

		if (how == FEW)
			k = mix(r & 15) >> (64 - BITS);
		else if (how == EQUAL)
			k = 5;
		else if (how == SKEWED)
			k >>= (mix(r) & 63) % BITS;
		else if (how == SORTED)
			k = i;
		else if (how == REVERSED)
			k = n - 1 - i;
		else if (how == SMALL || how == OUTLIER)
			k = how == OUTLIER && i == n / 3 ? (u64) 1 << (BITS - 2) : r >> 37;
		else if (how == ZIPF)
			k = zipf(r, 27);
		out[i] = (K) k;
	}
}

static gs_engine *engine;
static cudaStream_t stream;

/* CUB's call, with DoubleBuffer, and perhaps a policy hub. */
template <class K, class V, class HUB>
struct cub_sort
{
	K *keys[2];
	V *values[2];
	void *temp;
	size_t bytes;
	u32 n;
	int end_bit;
	cub::DoubleBuffer<K> k;
	cub::DoubleBuffer<V> v;

	void
	run(void *with)
	{
		k = cub::DoubleBuffer<K>(keys[0], keys[1]);
		v = cub::DoubleBuffer<V>(values[0], values[1]);
		if constexpr (!std::is_same<HUB, void>::value)
			CK((cub::DispatchRadixSort<cub::SortOrder::Ascending, K, V, u32, cub::detail::identity_decomposer_t,
									   HUB>::Dispatch(with, bytes, k, v, n, 0, end_bit, true, stream)));
		else if constexpr (std::is_same<V, cub::NullType>::value)
			CK(cub::DeviceRadixSort::SortKeys(with, bytes, k, n, 0, end_bit, stream));
		else
			CK(cub::DeviceRadixSort::SortPairs(with, bytes, k, v, n, 0, end_bit, stream));
	}
};

template <class K, class V>
static void
sort_case(const char *name, const char *want, int lg, shape how, int end_bit)
{
	constexpr bool PAIRS = !std::is_same<V, cub::NullType>::value;
	typedef typename std::conditional<PAIRS, V, u32>::type W;
	const size_t width = PAIRS ? sizeof(V) : 0;
	const gs_type type = sizeof(K) == 8 ? GS_U64 : GS_U32;
	const u64 n = 1ull << lg, m = PAIRS ? n : 0;
	char title[128];
	memory space;

	snprintf(title, sizeof(title), "%s, %s, %d bits, 2^%d", name, shape_name[how], end_bit, lg);
	if (strcmp(want, "all") != 0 && strstr(title, want) == NULL)
		return;

	K *keys = space.of<K>(n), *out = space.of<K>(n);
	W *values = space.of<W>(m), *out_values = space.of<W>(m);
	cub_sort<K, V, void> a = {
		{space.of<K>(n), space.of<K>(n)}, {(V *) space.of<W>(m), (V *) space.of<W>(m)}, NULL, 0, (u32) n, end_bit};
	cub_sort<K, V, hub9<K, V>> b = {{a.keys[0], a.keys[1]}, {a.values[0], a.values[1]}, NULL, 0, (u32) n, end_bit};
	size_t bytes = gs_sort_temp_bytes(engine, type, width, n);
	void *temp = space.of<u8>(bytes);

	a.run(NULL);
	b.run(NULL);
	a.temp = space.of<u8>(a.bytes);
	b.temp = space.of<u8>(b.bytes);
	make<<<GRID>>>(keys, n, how);
	if (PAIRS)
		iota<<<GRID>>>(values, n);
	CK(cudaDeviceSynchronize());

	auto fresh = [&] {
		CK(cudaMemcpy(a.keys[0], keys, n * sizeof(K), cudaMemcpyDeviceToDevice));
		if (PAIRS)
			CK(cudaMemcpy(a.values[0], values, n * width, cudaMemcpyDeviceToDevice));
	};
	auto poison = [&] {
		CK(cudaMemset(out, 0xa5, n * sizeof(K)));
		CK(cudaMemset(out_values, 0xa5, m * sizeof(W)));
	};
	auto ours = [&]
	{
		gs_sort_request r = {};

		r.key = type, r.end_bit = (u32) end_bit;
		r.keys = keys, r.out_keys = out, r.n = n;
		if (PAIRS)
			r.value_width = width, r.values = values, r.out_values = out_values;
		GS(gs_sort(engine, &r, temp, bytes));
	};
	std::vector<float> cub8, cub9, own;
	u64 wrong = 0;

	for (int round = 0; round < 10; round++)
	{
		auto note = [&](std::vector<float> &times, float ms) {
			if (round > 0)
				times.push_back(ms);
		};

		note(cub8, once(stream, [&] { a.run(a.temp); }, fresh));
		note(own, once(stream, ours, poison));
		if (round == 0)
		{
			wrong = differences(out, a.k.Current(), n);
			if (PAIRS)
				wrong += differences(out_values, (W *) a.v.Current(), n);
		}
		note(cub9, once(stream, [&] { b.run(b.temp); }, fresh));
	}

	contest c(text_of("%s, %s, %d bits", name, shape_name[how], end_bit), n);

	c.rival("", timing_of(cub8));
	c.rival("9 bits", timing_of(cub9));
	c.ours("", timing_of(own), wrong == 0 ? "same as CUB's" : "DIFFERENT",
		   text_of("temp %.1f bytes an item", (double) bytes / n));
}

static void
all_cases(int lg, const char *want)
{
	sort_case<u64, cub::NullType>("keys u64", want, lg, UNIFORM, 64);
	sort_case<u32, cub::NullType>("keys u32", want, lg, UNIFORM, 32);
	sort_case<u32, u32>("pairs u32+u32", want, lg, UNIFORM, 32);
	sort_case<u64, u32>("pairs u64+u32", want, lg, UNIFORM, 64);
	sort_case<u32, u64>("pairs u32+u64", want, lg, UNIFORM, 32);
	sort_case<u64, u64>("pairs u64+u64", want, lg, UNIFORM, 64);
	sort_case<u64, cub::NullType>("keys u64", want, lg, SMALL, 27);
	sort_case<u64, cub::NullType>("keys u64", want, lg, SMALL, 64);
	sort_case<u64, u32>("pairs u64+u32", want, lg, SMALL, 27);
	for (shape how : {FEW, EQUAL, SKEWED, ZIPF, OUTLIER, SORTED, REVERSED})
	{
		sort_case<u64, u32>("pairs u64+u32", want, lg, how, 64);
		sort_case<u32, cub::NullType>("keys u32", want, lg, how, 32);
	}
}

int
main(int argc, char **argv)
{
	const char *sizes = argc > 1 ? argv[1] : "28,26", *want = argc > 2 ? argv[2] : "all";

	print_head("sort_radix: ms, median of 9 (least to most); x: CUB's best / ours");
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	for (; sizes != NULL; sizes = strchr(sizes, ',') ? strchr(sizes, ',') + 1 : NULL)
		all_cases(atoi(sizes), want);
	gs_engine_close(engine);
	return 0;
}
