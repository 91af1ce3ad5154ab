/*
 * sort_strings.cu: row orders of text against CUB's stable merge sort of row numbers with a string comparator.
 *
 *   sort-strings [log2 of rows]
 *
 * Two kinds of text: 16 random hex characters; addresses with a long common prefix.  The comparator loads eight bytes
 * at a time.  CUB's memory is preallocated; one run after one.  Ours: plan and run, median of 5 after one.  Orders are
 * checked.
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

static gs_engine *engine;
static cudaStream_t stream;
static u32 *offsets, *order;
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

	printf("%s, %u rows\n", addresses ? "addresses of 65 characters, 43 in common" : "16 hex characters", n);
	CK(cub::DeviceMergeSort::StableSortKeys(NULL, bytes, order, n, l, stream));
	need(bytes);

	float cub_ms = median_of(
		1, stream, [&] { CK(cub::DeviceMergeSort::StableSortKeys(temp, bytes, order, n, l, stream)); },
		[&] { iota<<<GRID>>>(order, n); });

	printf("    CUB merge sort  %9.3f  %s\n", cub_ms, order_verdict(three_way{l}, order, n));
	gs_cuda_sort_force(engine, 1, 0);

	float ms = median_of(5, stream,
						 [&] {
							 gs_plan *plan;

							 GS(gs_order_plan(engine, &column, 1, n, &plan));
							 need(gs_order_temp_bytes(plan));
							 GS(gs_order_run(engine, plan, temp, room, order, &f));
							 gs_plan_free(engine, plan);
						 },
						 [&] { CK(cudaMemset(order, 0xff, n * 4ull)); });

	printf("    ours            %9.3f  %s  x %.1f  (%u passes, %u refined)\n", ms,
		   order_verdict(three_way{l}, order, n), cub_ms / ms, f.passes, f.refined);
	fflush(stdout);
	CK(cudaFree(heap));
}

int
main(int argc, char **argv)
{
	int lg = argc > 1 ? atoi(argv[1]) : 26;
	u32 n = 1u << lg;

	print_head("ms");
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	CK(cudaMalloc(&offsets, (n + 1ull) * 4));
	CK(cudaMalloc(&order, n * 4ull));
	text(n, false);
	/* offsets have 32 bits */
	text(n * 65ull > UINT32_MAX ? n / 2 : n, true);
	gs_engine_close(engine);
	return 0;
}
