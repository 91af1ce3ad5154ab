/*
 * sort_order.cu: row orders against CUB, on one GPU.
 *
 *   sort_order [log2 of rows,... [what]]      what: part of a case's name, "all"
 *
 * Ours is gs_order_plan and gs_order_run together, the plan's look at the data and its wait included; nothing is known
 * beforehand.  CUB gets preallocated memory, DoubleBuffer, 32-bit counts, the range of the keys for free, and its best
 * way of:
 *   packed   key << log2(n) | row in one 64-bit word, SortKeys above the row bits; the packing is counted, to get row
 *            numbers out again is not.  packed9: the same with CUB retuned to 9-bit digits through its policy hub
 *   leads    longer keys: as packed, of as many leading bits of the key as there is room for, and then rows of equal
 *            words in order by comparison, a thread to each group
 *   pairs    iota, then SortPairs with end_bit; of two columns: packed by hand where 64 bits do, else the key's first
 *            64 bits, and then groups as above
 *   twice    two columns: one stable sort per column from the last, with a gather between
 * Ours: as they come, but never in one launch; all digits: not by leading digits and buckets.
 * Median of 7 runs after one, the least and the greatest; times by events on the stream.  Each order is checked: every
 * row once, ascending, stable.
 */
#include "check.cuh"
#include "hub9.cuh"

/*
 * CLUMPED: 13 rows of each value, on the average; BELL: the mean of four; CROWDED: every 10000th key within 2^-20 of
 * the range; FAR: 27 bits, but for one row; ZIPF: k about as often as 1 / k
 */
enum shape { UNIFORM, SORTED, REVERSED, FEW, EQUAL, SKEWED, REAL, CLUMPED, BELL, CROWDED, FAR, ZIPF };

/* width bytes per element: a value of so many bits of a distribution, plus base */
static __global__ void
make(void *out, u32 n, int width, int bits, shape how, u64 base, u64 seed)
{
	EACH(i, n)
	{
		u64 r = mix(i * 31 + seed), k = bits ? r >> (64 - bits) : 0;

		if (how == SORTED)
			k = i;
		else if (how == REVERSED)
			k = n - 1 - i;
		else if (how == FEW)
			k = mix(r & 15) >> (64 - bits);
		else if (how == EQUAL)
			k = 5;
		else if (how == SKEWED)
			k = (mix(r) >> (64 - bits)) >> (r & 63) % bits;
		else if (how == CLUMPED)
			k = mix(r % (n / 13)) >> (64 - bits);
		else if (how == BELL)
			k = (k + (mix(r) >> (64 - bits)) + (mix(r + 1) >> (64 - bits)) + (mix(r + 2) >> (64 - bits))) / 4;
		else if (how == CROWDED && mix(r) % 10000 == 0)
			k = (1ull << (bits - 2)) + (k >> 20);
		else if (how == FAR)
			k = i == n / 3 ? (1ull << bits) - 1 : r >> (64 - 27);
		else if (how == ZIPF)
			k = zipf(r, bits);
		else if (how == REAL)
		{
			double d = (double) (r >> 11) / 9007199254740992.0 * 1e6;

			k = __double_as_longlong(d);
		}
		if (width == 16)
		{
			((u64 *) out)[2 * i] = mix(r);
			((u64 *) out)[2 * i + 1] = r;
		}
		else if (width == 8)
			((u64 *) out)[i] = k + base;
		else if (width == 4)
			((u32 *) out)[i] = (u32) (k + base);
		else
			((uint16_t *) out)[i] = (uint16_t) (k + base);
	}
}

static __device__ u64
load(const void *p, int width, u64 i, int half)
{
	return width == 16	? ((const u64 *) p)[2 * i + 1 - half]
		   : width == 8 ? ((const u64 *) p)[i] ^ 1ull << 63
		   : width == 4 ? ((const u32 *) p)[i] ^ 1u << 31
						: ((const uint16_t *) p)[i];
}

struct table
{
	const void *column[2];
	int width[2];
	int columns;

	__device__ int
	operator()(u64 a, u64 b) const
	{
		for (int c = 0; c < columns; c++)
			for (int half = 0; half < (width[c] == 16 ? 2 : 1); half++)
			{
				u64 x = load(column[c], width[c], a, half), y = load(column[c], width[c], b, half);

				if (x != y)
					return x < y ? -1 : 1;
			}
		return 0;
	}
};

/* ---------------------------------------------------------------- CUB */

static __global__ void
pack(const u64 *in, u64 *out, u32 n, u64 base, int row_bits)
{
	EACH(i, n)
		out[i] = (in[i] - base) << row_bits | i;
}

/*
 * Leading 64 bits in order: of two columns, of a uuid, or of a number of so many bits above its minimum.
 */
static __global__ void
leads(table t, u64 base, int bits, u64 *out, u32 n)
{
	EACH(i, n)
	{
		if (t.columns == 2)
			out[i] = (u64) ((const u32 *) t.column[0])[i] << 54 | load(t.column[1], 8, i, 0) >> 10;
		else
			out[i] = t.width[0] == 16 ? load(t.column[0], 16, i, 0)
									  : (((const u64 *) t.column[0])[i] - base) << (64 - bits);
	}
}

/* Words of the leading bits above the row. */
static __global__ void
pack_leads(const u64 *in, u64 *out, u32 n, int row_bits)
{
	EACH(i, n)
		out[i] = in[i] >> row_bits << row_bits | i;
}

/* Rows of equal leads, a group to a thread; they are in the order in which they came. */
static __global__ void
sort_groups(table t, const u64 *keys, int drop, u32 *rows, u32 n)
{
	EACH(i, n)
	{
		if (i + 1 == n || keys[i] >> drop != keys[i + 1] >> drop || (i > 0 && keys[i - 1] >> drop == keys[i] >> drop))
			continue;
		for (u64 j = i + 1; j < n && keys[j] >> drop == keys[i] >> drop; j++)
		{
			u32 row = rows[j];
			u64 at = j;

			for (; at > i && t(rows[at - 1], row) > 0; at--)
				rows[at] = rows[at - 1];
			rows[at] = row;
		}
	}
}

static __global__ void
unpack(const u64 *in, u32 *out, u32 n)
{
	EACH(i, n)
		out[i] = (u32) in[i] & (n - 1);
}

static __global__ void
pack4(const u32 *in, u64 *out, u32 n, u32 flip)
{
	EACH(i, n)
		out[i] = in[i] ^ flip;
}

template <class K, class A, class B>
static __global__ void
combine(const A *a, const B *b, K *out, u32 n, int bits)
{
	EACH(i, n)
		out[i] = (K) a[i] << bits | (K) b[i];
}

template <class T>
static __global__ void
gather(const T *in, int stride, const u32 *rows, T *out, u32 n)
{
	EACH(i, n)
		out[i] = in[(u64) rows[i] * stride];
}

template <class T>
static __global__ void
spread(const T *in, int stride, T *out, u32 n)
{
	EACH(i, n)
		out[i] = in[i * stride];
}

/* ---------------------------------------------------------------- lines of the table */

static gs_engine *engine;
static cudaStream_t stream;
static void *area[5]; /* CUB's: two of 8 bytes per row, two of 4, temporary */
static size_t area_bytes;
static u32 *order;
static void *temp;
static size_t temp_room;

static const u64 *packed_at;

static void
cub_line(contest &c, const char *name, table t, u32 n, const std::function<u32 *()> &work,
		 const std::function<void()> &before = NULL)
{
	u32 *got = NULL;

	CK(cudaMemset(area[2], 0xff, n * 4ull));
	CK(cudaMemset(area[3], 0xff, n * 4ull));

	timing ms = median_of(7, stream, [&] { got = work(); }, before);

	if (packed_at != NULL)
		unpack<<<GRID, 0, stream>>>(packed_at, got, n);
	CK(cudaStreamSynchronize(stream));
	packed_at = NULL;
	c.rival(name, ms, order_verdict(t, got, n));
}

/* pairs: keys are in place and are overwritten, so they are made again each time */
template <class K>
static u32 *
cub_pairs(u32 *values, u32 n, int end_bit)
{
	cub::DoubleBuffer<K> k((K *) area[0], (K *) area[1]);
	cub::DoubleBuffer<u32> v(values, values == area[2] ? (u32 *) area[3] : (u32 *) area[2]);
	size_t bytes = 0;

	CK(cub::DeviceRadixSort::SortPairs(NULL, bytes, k, v, n, 0, end_bit, stream));
	if (bytes > area_bytes)
		exit(printf("temp %zu\n", bytes));
	CK(cub::DeviceRadixSort::SortPairs(area[4], bytes, k, v, n, 0, end_bit, stream));
	return v.Current();
}

/* As CUB chooses. */
struct own
{
};

/* CUB's sort of words by a range of bits. */
template <class HUB>
static void
sort_words(void *with, size_t &bytes, cub::DoubleBuffer<u64> &k, u32 n, int begin_bit, int end_bit)
{
	cub::DoubleBuffer<cub::NullType> v;

	if constexpr (std::is_same<HUB, own>::value)
		CK(cub::DeviceRadixSort::SortKeys(with, bytes, k, n, begin_bit, end_bit, stream));
	else
		CK((cub::DispatchRadixSort<cub::SortOrder::Ascending, u64, cub::NullType, u32,
								   cub::detail::identity_decomposer_t, HUB>::Dispatch(with, bytes, k, v, n, begin_bit,
																					  end_bit, true, stream)));
}

template <class HUB>
static u32 *
cub_packed(const u64 *in, u32 n, u64 base, int bits, int row_bits)
{
	cub::DoubleBuffer<u64> k((u64 *) area[0], (u64 *) area[1]);
	size_t bytes = 0;

	pack<<<GRID, 0, stream>>>(in, (u64 *) area[0], n, base, row_bits);
	sort_words<HUB>(NULL, bytes, k, n, row_bits, row_bits + bits);
	if (bytes > area_bytes)
		exit(printf("temp %zu\n", bytes));
	sort_words<HUB>(area[4], bytes, k, n, row_bits, row_bits + bits);
	packed_at = k.Current();
	return (u32 *) area[2];
}

/*
 * Ways for keys that no word holds beside the row: their leading bits, then groups.
 */
static void
cub_leads(contest &c, table t, u64 base, int bits, u32 n, int lg)
{
	auto words = [&](auto hub) {
		cub::DoubleBuffer<u64> k((u64 *) area[0], (u64 *) area[1]);
		size_t bytes = area_bytes;

		leads<<<GRID, 0, stream>>>(t, base, bits, (u64 *) area[1], n);
		pack_leads<<<GRID, 0, stream>>>((const u64 *) area[1], (u64 *) area[0], n, lg);
		sort_words<decltype(hub)>(area[4], bytes, k, n, lg, 64);
		unpack<<<GRID, 0, stream>>>(k.Current(), (u32 *) area[2], n);
		sort_groups<<<GRID, 0, stream>>>(t, k.Current(), lg, (u32 *) area[2], n);
		return (u32 *) area[2];
	};

	cub_line(c, "leads", t, n, [&] { return words(own()); });
	cub_line(c, "leads9", t, n, [&] { return words(hub9<u64, cub::NullType>()); });
}

/* The first 64 bits of a longer key with rows, then groups. */
static void
cub_first_bits(contest &c, table t, u32 n)
{
	cub_line(c, "pairs", t, n, [&] {
		cub::DoubleBuffer<u64> k((u64 *) area[0], (u64 *) area[1]);
		cub::DoubleBuffer<u32> v((u32 *) area[2], (u32 *) area[3]);
		size_t bytes = area_bytes;

		iota<<<GRID, 0, stream>>>((u32 *) area[2], n);
		leads<<<GRID, 0, stream>>>(t, 0, 64, (u64 *) area[0], n);
		CK(cub::DeviceRadixSort::SortPairs(area[4], bytes, k, v, n, 0, 64, stream));
		sort_groups<<<GRID, 0, stream>>>(t, k.Current(), 0, v.Current(), n);
		return v.Current();
	});
}

static void
ours(contest &c, const char *name, u32 small, u32 finish, table t, const gs_column *columns, u32 n)
{
	gs_order_facts f;
	size_t bytes = 0;
	timing plan_ms, ms;

	gs_cuda_sort_force(engine, small, finish);
	auto work = [&] {
		gs_plan *plan;

		GS(gs_order_plan(engine, columns, t.columns, n, &plan));
		bytes = gs_order_temp_bytes(plan);
		if (bytes > temp_room)
		{
			CK(cudaFree(temp));
			CK(cudaMalloc(&temp, bytes));
			temp_room = bytes;
		}
		GS(gs_order_run(engine, plan, temp, bytes, order, NULL));
		gs_plan_free(engine, plan);
	};

	CK(cudaMemset(order, 0xff, n * 4ull));
	ms = median_of(7, stream, work);

	const char *verdict = order_verdict(t, order, n);
	gs_plan *plan;

	plan_ms = median_of(7, stream, [&] {
		GS(gs_order_plan(engine, columns, t.columns, n, &plan));
		gs_plan_free(engine, plan);
	});
	GS(gs_order_plan(engine, columns, t.columns, n, &plan));
	GS(gs_order_run(engine, plan, temp, bytes, order, &f));
	gs_plan_free(engine, plan);
	/* before others write to the order: they are not on this stream */
	GS(gs_sync(engine));
	c.ours(name, ms, verdict,
		   text_of("plan %.3f; %u bits, %u passes, %u refined, temp %.1f B/row", plan_ms.median, f.key_bits, f.passes,
				   f.refined, (double) bytes / n));
}

static bool
wanted(const char *name, const char *want)
{
	return strcmp(want, "all") == 0 || strstr(name, want) != NULL;
}

static void
all_ours(contest &c, table t, const gs_column *columns, u32 n)
{
	ours(c, "passes", 1, 0, t, columns, n);
	ours(c, "all digits", 1, 1, t, columns, n);
	if (n <= 1 << 18)
		ours(c, "default", 0, 0, t, columns, n);
}

/* keys of CUB's: less their minimum, in area[0], for nothing */
static __global__ void
less(const u64 *in, u64 *out, u32 n, u64 base)
{
	EACH(i, n)
		out[i] = in[i] - base;
}

/* One column of 8 or 4 bytes. */
static void
single(const char *name, const char *want, int lg, int width, int bits, shape how)
{
	u32 n = 1u << lg;
	void *values;
	u64 base = width == 8 && bits < 60 ? 123456789012ull : 0;

	if (!wanted(name, want))
		return;
	CK(cudaMalloc(&values, (size_t) n * width));
	make<<<GRID>>>(values, n, width, bits, how, base, 7);
	CK(cudaDeviceSynchronize());

	table t = {{values, NULL}, {width, 0}, 1};
	gs_column column = {{how == REAL ? GS_F64 : width == 8 ? GS_I64 : GS_I32, false, false}, values, NULL, NULL};

	contest c(name, n);
	if (width == 8)
	{
		/* order of signed 64-bit numbers as one of unsigned ones: the top bit turned, also for nothing */
		cub_line(c, "pairs", t, n,
				 [&] {
					 iota<<<GRID, 0, stream>>>((u32 *) area[2], n);
					 return cub_pairs<u64>((u32 *) area[2], n, bits);
				 },
				 [&] { less<<<GRID>>>((const u64 *) values, (u64 *) area[0], n, bits == 64 ? 1ull << 63 : base); });
		if (bits + lg <= 64)
		{
			cub_line(c, "packed", t, n, [&] { return cub_packed<own>((const u64 *) values, n, base, bits, lg); });
			cub_line(c, "packed9", t, n,
					 [&] { return cub_packed<hub9<u64, cub::NullType>>((const u64 *) values, n, base, bits, lg); });
		}
		else
			cub_leads(c, t, bits == 64 ? 1ull << 63 : base, bits, n, lg);
	}
	else
	{
		cub_line(c, "pairs", t, n,
				 [&] {
					 cub::DoubleBuffer<int32_t> k((int32_t *) area[0], (int32_t *) area[1]);
					 cub::DoubleBuffer<u32> v((u32 *) area[2], (u32 *) area[3]);
					 size_t bytes = area_bytes;

					 iota<<<GRID, 0, stream>>>((u32 *) area[2], n);
					 CK(cub::DeviceRadixSort::SortPairs(area[4], bytes, k, v, n, 0, bits, stream));
					 return v.Current();
				 },
				 [&] { CK(cudaMemcpy(area[0], values, n * 4ull, cudaMemcpyDeviceToDevice)); });
		cub_line(c, "packed", t, n, [&] {
			pack4<<<GRID, 0, stream>>>((const u32 *) values, (u64 *) area[1], n, bits == 32 ? 1u << 31 : 0);
			return cub_packed<own>((const u64 *) area[1], n, 0, bits, lg);
		});
		cub_line(c, "packed9", t, n, [&] {
			pack4<<<GRID, 0, stream>>>((const u32 *) values, (u64 *) area[1], n, bits == 32 ? 1u << 31 : 0);
			return cub_packed<hub9<u64, cub::NullType>>((const u64 *) area[1], n, 0, bits, lg);
		});
	}
	all_ours(c, t, &column, n);
	CK(cudaFree(values));
}

/* (10 bits in 2 or 4 bytes, 31 or 64 bits), or a uuid as two words */
static void
several(const char *name, const char *want, int lg, int second_bits)
{
	u32 n = 1u << lg;
	void *a, *b = NULL;
	bool uuid = second_bits == 0;

	if (!wanted(name, want))
		return;
	contest c(name, n);
	CK(cudaMalloc(&a, (size_t) n * (uuid ? 16 : 4)));
	make<<<GRID>>>(a, n, uuid ? 16 : 4, uuid ? 64 : 10, UNIFORM, 0, 3);
	if (!uuid)
	{
		CK(cudaMalloc(&b, (size_t) n * 8));
		make<<<GRID>>>(b, n, second_bits == 31 ? 4 : 8, second_bits, UNIFORM, 0, 5);
	}
	CK(cudaDeviceSynchronize());

	table t = {{a, b}, {uuid ? 16 : 4, second_bits == 31 ? 4 : 8}, uuid ? 1 : 2};
	gs_column columns[2] = {{{uuid ? GS_U128 : GS_I32, false, false}, a, NULL, NULL},
							{{second_bits == 31 ? GS_I32 : GS_I64, false, false}, b, NULL, NULL}};

	if (second_bits == 31)
	{
		cub_line(c, "packed", t, n, [&] {
			combine<u64, u32, u32><<<GRID, 0, stream>>>((const u32 *) a, (const u32 *) b, (u64 *) area[0], n, 31);
			iota<<<GRID, 0, stream>>>((u32 *) area[2], n);
			return cub_pairs<u64>((u32 *) area[2], n, 41);
		});
	}
	else
	{
		cub_line(c, "twice", t, n,
				 [&] {
					 u32 *v;

					 iota<<<GRID, 0, stream>>>((u32 *) area[2], n);
					 v = cub_pairs<u64>((u32 *) area[2], n, 64);
					 if (uuid)
					 {
						 gather<<<GRID, 0, stream>>>((const u64 *) a + 1, 2, v, (u64 *) area[0], n);
						 return cub_pairs<u64>(v, n, 64);
					 }
					 gather<<<GRID, 0, stream>>>((const u32 *) a, 1, v, (u32 *) area[0], n);
					 return cub_pairs<u32>(v, n, 10);
				 },
				 [&] {
					 if (uuid)
						 spread<<<GRID>>>((const u64 *) a, 2, (u64 *) area[0], n);
					 else
						 less<<<GRID>>>((const u64 *) b, (u64 *) area[0], n, 1ull << 63);
				 });
		cub_first_bits(c, t, n);
		cub_leads(c, t, 0, 64, n, lg);
	}
	all_ours(c, t, columns, n);
	CK(cudaFree(a));
	CK(cudaFree(b));
}

/* All cases of one size. */
static void
size(int lg, const char *want)
{
	u64 n = 1ull << lg;

	area_bytes = ((size_t) 64 << 20) + n / 4;
	for (int i = 0; i < 5; i++)
		CK(cudaMalloc(&area[i], i == 4 ? area_bytes : n * (i < 2 ? 8 : 4) + 256));
	CK(cudaMalloc(&order, n * 4 + 256));
	single("bigint 20 bits", want, lg, 8, 20, UNIFORM);
	single("bigint 27 bits", want, lg, 8, 27, UNIFORM);
	single("bigint 30 bits", want, lg, 8, 30, UNIFORM);
	single("bigint 36 bits", want, lg, 8, 36, UNIFORM);
	single("bigint 45 bits", want, lg, 8, 45, UNIFORM);
	single("bigint 64 bits", want, lg, 8, 64, UNIFORM);
	single("int4 32 bits", want, lg, 4, 32, UNIFORM);
	single("int4 27 bits", want, lg, 4, 27, UNIFORM);
	several("two columns 10 31", want, lg, 31);
	several("two columns 10 64", want, lg, 64);
	several("uuid", want, lg, 0);
	single("bigint sorted", want, lg, 8, lg, SORTED);
	single("bigint reversed", want, lg, 8, lg, REVERSED);
	single("bigint few 27", want, lg, 8, 27, FEW);
	single("bigint skewed 27", want, lg, 8, 27, SKEWED);
	single("bigint clumped 36", want, lg, 8, 36, CLUMPED);
	single("bigint bell 36", want, lg, 8, 36, BELL);
	single("bigint crowded 36", want, lg, 8, 36, CROWDED);
	single("bigint 27 bits, one of 36", want, lg, 8, 36, FAR);
	single("bigint Zipf 27", want, lg, 8, 27, ZIPF);
	for (void *a : area)
		CK(cudaFree(a));
	CK(cudaFree(order));
}

int
main(int argc, char **argv)
{
	const char *sizes = argc > 1 ? argv[1] : "28,26,24,20";
	const char *want = argc > 2 ? argv[2] : "all";

	print_head("ms, median of 7 (least to most); x: CUB's best / ours");
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	for (const char *p = sizes; p != NULL; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
		size(atoi(p), want);
	gs_engine_close(engine);
	return 0;
}
