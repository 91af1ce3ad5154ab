/*
 * sort_strings.cu: row orders of text against CUB's stable merge sort of row numbers with a string comparator.
 *
 *   sort-strings [log2 of rows]
 *
 * Two kinds of text: 16 random hex characters; addresses with a long common prefix.  The comparator loads eight bytes at a time.
 * CUB's memory is preallocated; one run after one.  Ours: plan and run, median of 5 after one.  Orders are checked.
 */
#include "../../kernels/cuda/sort.h"
#include "../../kernels/cuda/stall.h"
#include "../../kernels/gs.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cub/cub.cuh>
#include <functional>
#include <vector>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

#define CK(x)                                                                    \
	do                                                                           \
	{                                                                            \
		cudaError_t e_ = (x);                                                    \
		if (e_ != cudaSuccess)                                                   \
		{                                                                        \
			printf("%s at %s:%d\n", cudaGetErrorString(e_), __FILE__, __LINE__); \
			exit(1);                                                             \
		}                                                                        \
	} while (0)
#define GS(x)                                                                    \
	do                                                                           \
	{                                                                            \
		gs_status s_ = (x);                                                      \
		if (s_ != GS_OK)                                                         \
		{                                                                        \
			printf("%s at %s:%d\n", gs_status_text(s_), __FILE__, __LINE__);     \
			exit(1);                                                             \
		}                                                                        \
	} while (0)

static __device__ u64
mix(u64 z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Strings of a fixed length: 16 hex characters, or https://www.example.org/catalogue/articles/DDD/page-DDDDDDDD.html */
static __global__ void
make(u32 *offsets, u8 *heap, u32 n, bool addresses)
{
	const char *prefix = "https://www.example.org/catalogue/articles/";
	const u32 length = addresses ? 43 + 3 + 6 + 8 + 5 : 16;

	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i <= n; i += (u64) gridDim.x * blockDim.x)
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

static __global__ void
iota(u32 *p, u32 n)
{
	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < n; i += (u64) gridDim.x * blockDim.x)
		p[i] = (u32) i;
}

static __global__ void
check_kernel(less l, const u32 *order, u32 n, u64 *out)
{
	u64 sum = 0, hash = 0, bad = 0;

	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < n; i += (u64) gridDim.x * blockDim.x)
	{
		u32 r = order[i];

		sum += r - i;
		hash += mix(r) - mix(i);
		if (r >= n)
			bad++;
		else if (i > 0 && order[i - 1] < n)
		{
			int c = l.compare(order[i - 1], r);

			bad += c > 0 || (c == 0 && order[i - 1] >= r);
		}
	}
	atomicAdd((unsigned long long *) out, sum);
	atomicAdd((unsigned long long *) out + 1, hash);
	atomicAdd((unsigned long long *) out + 2, bad);
}

static cudaStream_t stream;

static float
timed(int runs, const std::function<void()> &before, const std::function<void()> &work)
{
	std::vector<float> t;
	cudaEvent_t a, b;

	CK(cudaEventCreate(&a));
	CK(cudaEventCreate(&b));
	for (int r = 0; r <= runs; r++)
	{
		float ms;

		before();
		CK(cudaDeviceSynchronize());
		CK(cudaEventRecord(a, stream));
		work();
		CK(cudaEventRecord(b, stream));
		CK(cudaEventSynchronize(b));
		CK(cudaEventElapsedTime(&ms, a, b));
		if (r > 0)
			t.push_back(ms);
	}
	std::sort(t.begin(), t.end());
	return t[t.size() / 2];
}

int
main(int argc, char **argv)
{
	int lg = argc > 1 ? atoi(argv[1]) : 26;
	u32 n = 1u << lg;
	u32 *offsets, *order;
	u8 *heap;
	u64 *answer;
	void *temp = NULL;
	size_t room = 0;
	gs_engine *engine;
	cudaDeviceProp p;

	CK(cudaGetDeviceProperties(&p, 0));
	printf("# %s, CUDA %d, CUB %d; ms\n", p.name, CUDART_VERSION, CUB_VERSION);
	GS(gs_cuda_open(0, NULL, &engine));
	stream = (cudaStream_t) gs_cuda_stream(engine);
	CK(cudaMalloc(&offsets, (n + 1ull) * 4));
	CK(cudaMalloc(&order, n * 4ull));
	CK(cudaMalloc(&answer, 24));
	for (int addresses = 0; addresses < 2; addresses++)
	{
		u32 length = addresses ? 65 : 16;

		if ((u64) n * length > UINT32_MAX)
			n /= 2;
		CK(cudaMalloc(&heap, (u64) n * length + 16));
		make<<<2112, 256>>>(offsets, heap, n, addresses);
		CK(cudaDeviceSynchronize());

		less l = {offsets, heap};
		auto verdict = [&] {
			u64 a[3];

			CK(cudaMemset(answer, 0, 24));
			check_kernel<<<1056, 256>>>(l, order, n, answer);
			CK(cudaMemcpy(a, answer, 24, cudaMemcpyDeviceToHost));
			return a[0] == 0 && a[1] == 0 && a[2] == 0 ? "ok" : "WRONG";
		};
		size_t bytes = 0;

		printf("%s, %u rows\n", addresses ? "addresses of 65 characters, 43 in common" : "16 hex characters", n);
		CK(cub::DeviceMergeSort::StableSortKeys(NULL, bytes, order, n, l, stream));
		CK(cudaFree(temp));
		CK(cudaMalloc(&temp, room = bytes));

		float cub_ms = timed(1, [&] { iota<<<2112, 256>>>(order, n); },
							 [&] { CK(cub::DeviceMergeSort::StableSortKeys(temp, bytes, order, n, l, stream)); });

		printf("    CUB merge sort  %9.3f  %s\n", cub_ms, verdict());
		for (int ranking = 1; ranking <= 2; ranking++)
		{
			gs_column column = {{GS_BYTES, false, false}, offsets, NULL, heap};
			gs_order_facts f;

			gs_cuda_sort_force(engine, ranking, 1);
			float ms = timed(5, [&] { CK(cudaMemset(order, 0xff, n * 4ull)); }, [&] {
				gs_plan *plan;

				GS(gs_order_plan(engine, &column, 1, n, &plan));
				if (gs_order_temp_bytes(plan) > room)
				{
					room = gs_order_temp_bytes(plan);
					CK(cudaFree(temp));
					CK(cudaMalloc(&temp, room));
				}
				GS(gs_order_run(engine, plan, temp, room, order, &f));
				gs_plan_free(engine, plan);
			});

			printf("    ours %-10s %9.3f  %s  x %.1f  (%u passes, %u refined)\n", ranking == 1 ? "ballots" : "atomics", ms, verdict(),
				   cub_ms / ms, f.passes, f.refined);
			fflush(stdout);
		}
		CK(cudaFree(heap));
	}
	gs_engine_close(engine);
	return 0;
}
