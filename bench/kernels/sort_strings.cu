/*
 * sort_strings.cu: row orders of text against CUB.
 *
 *   sort-strings [log2 of rows]
 *
 * Two kinds of text: 16 random hex characters; addresses with a long common prefix.  CUB gets preallocated memory, is
 * told for nothing what all strings have in common, and its best way of:
 *   prefix   pairs of the next 8 characters and the row, then rows of equal prefixes in order by comparison, a thread
 *            to each group; not where a prefix is that of hundreds of rows
 *   words    a stable sort of pairs for each 8 characters, from the last
 *   merge    a merge sort of row numbers with a comparison that loads eight bytes at a time; one run after one
 * Ours: plan and run.  Five runs after one.  Orders are checked.
 */
#include "check.cuh"

#include <cub/cub.cuh>

/* Strings of a fixed length: 16 hex characters, or https://www.example.org/catalogue/articles/DDD/page-DDDDDDDD.html */
static __global__ void
make(u32 *offsets, u8 *heap, u32 n, bool addresses)
{
	const char *prefix = "https://www.example.org/catalogue/articles/";
	const u32 length = addresses ? 43 + 3 + 6 + 8 + 5 : 16;

	EACH(i, n + 1ull)
	{
		u8 *s = heap + i * length;
		u64 r = mix(i + 17);

		offsets[i] = (u32) (i * length);
		if (i == n)
			break;
		if (!addresses)
		{
			for (int c = 0; c < 16; c++, r >>= 4)
				s[c] = "0123456789abcdef"[r & 15];
			continue;
		}
		u32 at = 0, category = (u32) (r % 400), page = (u32) (r / 400 % 100000000);

		for (; at < 43; at++)
			s[at] = prefix[at];
		for (u32 d = 100; d > 0; d /= 10)
			s[at++] = '0' + category / d % 10;
		for (int c = 0; c < 6; c++)
			s[at++] = "/page-"[c];
		for (u32 d = 10000000; d > 0; d /= 10)
			s[at++] = '0' + page / d % 10;
		for (int c = 0; c < 5; c++)
			s[at++] = ".html"[c];
	}
}

/* Eight bytes, most significant first; the strings are followed by eight bytes of room. */
static __device__ u64
load8(const u8 *s)
{
	u32 off = (u32) ((u64) s & 7);
	const u64 *p = (const u64 *) (s - off);
	u64 w = off ? p[0] >> 8 * off | p[1] << (64 - 8 * off) : p[0];

	return (u64) __byte_perm((u32) w, 0, 0x0123) << 32 | __byte_perm((u32) (w >> 32), 0, 0x0123);
}

struct less
{
	const u32 *offsets;
	const u8 *heap;

	__device__ int
	compare(u32 a, u32 b) const
	{
		u32 x = offsets[a], y = offsets[b], n = offsets[a + 1] - x, m = offsets[b + 1] - y, shorter = n < m ? n : m;

		for (u32 i = 0; i < shorter; i += 8)
		{
			u64 p = load8(heap + x + i), q = load8(heap + y + i);

			if (shorter - i < 8)
			{
				p >>= 64 - 8 * (shorter - i);
				q >>= 64 - 8 * (shorter - i);
			}
			if (p != q)
				return p < q ? -1 : 1;
		}
		return n < m ? -1 : n > m;
	}
	__device__ bool
	operator()(u32 a, u32 b) const
	{
		return compare(a, b) < 0;
	}
};

/* What the order check asks. */
struct three_way
{
	less l;
	__device__ int operator()(u32 a, u32 b) const { return l.compare(a, b); }
};

/* Eight characters from some place on, of the string whose row stands at i. */
static __global__ void
characters(const u32 *offsets, const u8 *heap, const u32 *rows, u32 at, u32 length, u64 *out, u32 n)
{
	EACH(i, n)
	{
		u64 w = load8(heap + offsets[rows[i]] + at);

		out[i] = length - at < 8 ? w & ~0ull << 8 * (8 - (length - at)) : w;
	}
}

/* Rows of equal prefixes, a group to a thread; they are in the order in which they came. */
static __global__ void
sort_groups(less l, const u64 *keys, u32 *rows, u32 n)
{
	EACH(i, n)
	{
		if (i + 1 == n || keys[i] != keys[i + 1] || (i > 0 && keys[i - 1] == keys[i]))
			continue;
		for (u64 j = i + 1; j < n && keys[j] == keys[i]; j++)
		{
			u32 row = rows[j];
			u64 at = j;

			for (; at > i && l.compare(rows[at - 1], row) > 0; at--)
				rows[at] = rows[at - 1];
			rows[at] = row;
		}
	}
}

static gs_engine *engine;
static cudaStream_t stream;
static u32 *offsets, *order, *rows[2];
static u64 *words[2];
static void *temp;
static size_t room;

/* At least so much temporary memory. */
static void
need(size_t bytes)
{
	if (bytes <= room)
		return;
	CK(cudaFree(temp));
	CK(cudaMalloc(&temp, room = bytes));
}

/* Ours against CUB's sort, one kind of text. */
static void
text(u32 n, bool addresses)
{
	gs_column column = {{GS_BYTES, false, false}, offsets, NULL, NULL};
	gs_order_facts f;
	size_t bytes = 0;
	u8 *heap;

	CK(cudaMalloc(&heap, (u64) n * (addresses ? 65 : 16) + 16));
	make<<<GRID>>>(offsets, heap, n, addresses);
	CK(cudaDeviceSynchronize());
	column.heap = heap;

	less l = {offsets, heap};

	contest c(addresses ? "addresses of 65 characters, 43 in common" : "16 hex characters", n);
	const u32 length = addresses ? 65 : 16, common = addresses ? 43 : 0, last = common + (length - common - 1) / 8 * 8;
	const u32 *got = NULL;

	CK(cub::DeviceMergeSort::StableSortKeys(NULL, bytes, order, n, l, stream));
	need(bytes);
	/* from word `at` to the first one, each by a stable sort */
	auto by_words = [&](u32 at, bool groups) {
		cub::DoubleBuffer<u64> k(words[0], words[1]);
		cub::DoubleBuffer<u32> v(rows[0], rows[1]);
		size_t there = room;

		iota<<<GRID, 0, stream>>>(rows[0], n);
		for (;; at -= 8)
		{
			characters<<<GRID, 0, stream>>>(offsets, heap, v.Current(), at, length, k.Current(), n);
			CK(cub::DeviceRadixSort::SortPairs(temp, there, k, v, n, 0, 64, stream));
			if (at == common)
				break;
		}
		if (groups)
			sort_groups<<<GRID, 0, stream>>>(l, k.Current(), v.Current(), n);
		got = v.Current();
	};

	need(n / 4ull + (64 << 20));
	if (!addresses)
	{
		timing t = median_of(5, stream, [&] { by_words(common, true); });

		c.rival("prefix", t, order_verdict(three_way{l}, got, n));
	}
	timing t = median_of(5, stream, [&] { by_words(last, false); });

	c.rival("words", t, order_verdict(three_way{l}, got, n));
	t = median_of(
		1, stream, [&] { CK(cub::DeviceMergeSort::StableSortKeys(temp, bytes, order, n, l, stream)); },
		[&] { iota<<<GRID>>>(order, n); });
	c.rival("merge", t, order_verdict(three_way{l}, order, n));
	gs_cuda_sort_force(engine, 1, 0);
	t = median_of(5, stream,
				  [&] {
					  gs_plan *plan;

					  GS(gs_order_plan(engine, &column, 1, n, &plan));
					  need(gs_order_temp_bytes(plan));
					  GS(gs_order_run(engine, plan, temp, room, order, &f));
					  gs_plan_free(engine, plan);
				  },
				  [&] { CK(cudaMemset(order, 0xff, n * 4ull)); });
	c.ours("", t, order_verdict(three_way{l}, order, n), text_of("%u passes, %u refined", f.passes, f.refined));
	CK(cudaFree(heap));
}

int
main(int argc, char **argv)
{
	int lg = argc > 1 ? atoi(argv[1]) : 26;
	u32 n = 1u << lg;

	print_head("ms, median of 5 (least to most); x: CUB's best / ours");
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	CK(cudaMalloc(&offsets, (n + 1ull) * 4));
	CK(cudaMalloc(&order, n * 4ull));
	for (int i = 0; i < 2; i++)
	{
		CK(cudaMalloc(&words[i], n * 8ull));
		CK(cudaMalloc(&rows[i], n * 4ull));
	}
	text(n, false);
	/* offsets have 32 bits */
	text(n * 65ull > UINT32_MAX ? n / 2 : n, true);
	gs_engine_close(engine);
	return 0;
}
