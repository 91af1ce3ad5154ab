/*
 * check.cuh: what every benchmark of the kernels needs: types, error checks, data, clocks, and the comparison of
 * results.
 *
 * A benchmark is one .cu here.  Its text or JSON begins with what it ran on: device, driver, toolkit, date, and the
 * commit (from the environment, COMMIT, or git).  Ours and CUB's calls are timed by events on the engine's stream,
 * medians count, and results are compared on the device.  Programs named sort_X.cu are run by `make sort`, without
 * arguments, and print text.
 */
#ifndef BENCH_CHECK_CUH
#define BENCH_CHECK_CUH

#include "../../kernels/cuda/base/sort_testing.h"
#include "../../kernels/cuda/base/stall.h"
#include "../../kernels/gs_library.h"

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cub/version.cuh>
#include <cuda_runtime.h>
#include <functional>
#include <string>
#include <vector>

typedef uint64_t u64;
typedef uint32_t u32;
typedef uint8_t u8;

/*
 * A call that failed ends the program, but not while a graph is made of calls: not every one can be part of one.
 */
enum { NOT_CAPTURING, CAPTURING, CAPTURE_FAILED };
static int capture;

static inline void
failed(const char *text, const char *file, int line)
{
	if (capture == NOT_CAPTURING)
	{
		printf("%s at %s:%d\n", text, file, line);
		exit(1);
	}
	capture = CAPTURE_FAILED;
}

#define CK(x)                                                                                                          \
	do                                                                                                                 \
	{                                                                                                                  \
		cudaError_t e_ = (x);                                                                                          \
		if (e_ != cudaSuccess)                                                                                         \
			failed(cudaGetErrorString(e_), __FILE__, __LINE__);                                                        \
	} while (0)
#define GS(x)                                                                                                          \
	do                                                                                                                 \
	{                                                                                                                  \
		gs_status s_ = (x);                                                                                            \
		if (s_ != GS_OK)                                                                                               \
			failed(gs_status_text(s_), __FILE__, __LINE__);                                                            \
	} while (0)

/* A launch of so many threads walks over any number of items. */
#define GRID 2112, 256
#define EACH(i, n)                                                                                                     \
	for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < (n); i += (u64) gridDim.x * blockDim.x)

typedef std::function<void()> call;

/* As printf. */
static inline std::string
text_of(const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return text;
}

/* ---------------------------------------------------------------- where it runs */

/* The first line that a command prints, or "unknown". */
static inline std::string
line_of(const char *command)
{
	char line[128] = "";
	FILE *p = popen(command, "r");

	if (p != NULL)
	{
		if (fgets(line, sizeof(line), p) == NULL)
			line[0] = 0;
		pclose(p);
	}
	line[strcspn(line, "\n")] = 0;
	return line[0] ? line : "unknown";
}

struct bench_host
{
	std::string device, driver, date, commit;
	int multiprocessors;
};

static inline bench_host
host_facts()
{
	bench_host h;
	cudaDeviceProp p;
	time_t now = time(NULL);
	char date[32];
	const char *commit = getenv("COMMIT");

	CK(cudaGetDeviceProperties(&p, 0));
	strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	h.device = p.name;
	h.multiprocessors = p.multiProcessorCount;
	h.driver = line_of("nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null");
	h.date = date;
	h.commit = commit && *commit ? commit : line_of("git rev-parse --short HEAD 2>/dev/null");
	return h;
}

/* First lines of a text; what: what the columns mean. */
static inline void
print_head(const char *what)
{
	bench_host h = host_facts();

	printf("# %s, driver %s, CUDA %d, CUB %d; %s, commit %s\n# %s\n", h.device.c_str(), h.driver.c_str(),
		   CUDART_VERSION, CUB_VERSION, h.date.c_str(), h.commit.c_str(), what);
}

/* Lines of JSON objects, and the head, as one object. */
static inline void
write_json(const char *path, const std::string &more, const std::vector<std::string> &lines)
{
	FILE *f = fopen(path, "w");
	bench_host h = host_facts();

	if (f == NULL)
	{
		printf("%s cannot be written\n", path);
		exit(1);
	}
	fprintf(
		f,
		"{\"device\": \"%s\", \"multiprocessors\": %d, \"driver\": \"%s\", \"cuda\": %d, \"cub\": %d, "
		"\"date\": \"%s\", \"commit\": \"%s\", %s,\n \"results\": [\n",
		h.device.c_str(), h.multiprocessors, h.driver.c_str(), CUDART_VERSION, CUB_VERSION, h.date.c_str(),
		h.commit.c_str(), more.c_str());
	for (size_t i = 0; i < lines.size(); i++)
		fprintf(f, "  %s%s\n", lines[i].c_str(), i + 1 < lines.size() ? "," : "");
	fprintf(f, "]}\n");
	fclose(f);
}

/* ---------------------------------------------------------------- clocks */

/* Device memory of one case. */
struct memory
{
	std::vector<void *> blocks;

	~memory()
	{
		for (void *p : blocks)
			CK(cudaFree(p));
	}
	template <class T>
	T *
	of(u64 n)
	{
		void *p;

		CK(cudaMalloc(&p, n * sizeof(T) + 256));
		blocks.push_back(p);
		return (T *) p;
	}
};

/* Milliseconds that the stream needs for what work enqueues, waits of its own included; before: not timed. */
static inline float
once(cudaStream_t stream, const call &work, const call &before = NULL)
{
	static cudaEvent_t begin, end;
	float ms;

	if (begin == NULL)
	{
		CK(cudaEventCreate(&begin));
		CK(cudaEventCreate(&end));
	}
	if (before)
	{
		before();
		CK(cudaDeviceSynchronize());
	}
	CK(cudaEventRecord(begin, stream));
	work();
	CK(cudaEventRecord(end, stream));
	CK(cudaEventSynchronize(end));
	CK(cudaGetLastError());
	CK(cudaEventElapsedTime(&ms, begin, end));
	return ms;
}

/*
 * Some calls as one CUDA graph, so that launching them does not count; one after the other without a graph where a call
 * waits for the device.
 */
struct batch
{
	cudaStream_t stream;
	call work;
	int calls;
	cudaGraphExec_t graph = NULL;

	batch(cudaStream_t stream, const call &work, int calls) : stream(stream), work(work), calls(calls)
	{
		cudaGraph_t made = NULL;

		CK(cudaStreamSynchronize(stream));
		CK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
		capture = CAPTURING;
		for (int i = 0; i < calls && capture == CAPTURING; i++)
			work();
		if (cudaStreamEndCapture(stream, &made) != cudaSuccess || made == NULL || capture == CAPTURE_FAILED ||
			cudaGraphInstantiate(&graph, made, 0) != cudaSuccess)
			graph = NULL;
		capture = NOT_CAPTURING;
		(void) cudaGetLastError();
		if (made != NULL)
			CK(cudaGraphDestroy(made));
	}

	~batch()
	{
		if (graph != NULL)
			(void) cudaGraphExecDestroy(graph);
	}

	/* Milliseconds of a call. */
	float
	time() const
	{
		return once(stream,
					[&] {
						for (int i = 0; graph == NULL && i < calls; i++)
							work();
						if (graph != NULL)
							CK(cudaGraphLaunch(graph, stream));
					}) /
			   calls;
	}
};

/* Times of one call: the median counts, the least and the greatest are told. */
struct timing
{
	float median, least, most;

	operator float() const { return median; }
};

static inline timing
timing_of(std::vector<float> v)
{
	std::sort(v.begin(), v.end());
	return {v[v.size() / 2], v.front(), v.back()};
}

/* Of so many runs after one that warms up, each on an idle device. */
static inline timing
median_of(int runs, cudaStream_t stream, const call &work, const call &before = NULL)
{
	std::vector<float> t;

	for (int i = 0; i <= runs; i++)
	{
		float ms = once(stream, work, before ? before : [] {});

		if (i > 0)
			t.push_back(ms);
	}
	return timing_of(t);
}

/*
 * A line of JSON in the file that the environment names, JSON; which: the row of a table, way: who and how.
 */
static inline void
keep(const std::string &which, u64 n, const std::string &way, const timing &t, const char *verdict)
{
	static FILE *f;
	static bool asked;
	const char *path = getenv("JSON");

	if (!asked && path != NULL && (f = fopen(path, "a")) == NULL)
		printf("%s cannot be written\n", path);
	if (!asked && f != NULL)
	{
		bench_host h = host_facts();

		fprintf(f,
				"{\"device\": \"%s\", \"driver\": \"%s\", \"cuda\": %d, \"cub\": %d, \"date\": \"%s\", "
				"\"commit\": \"%s\"}\n",
				h.device.c_str(), h.driver.c_str(), CUDART_VERSION, CUB_VERSION, h.date.c_str(), h.commit.c_str());
	}
	asked = true;
	if (f == NULL)
		return;
	fprintf(f,
			"{\"which\": \"%s\", \"n\": %llu, \"way\": \"%s\", \"ms\": %.5f, \"min_ms\": %.5f, \"max_ms\": %.5f, "
			"\"verdict\": \"%s\"}\n",
			which.c_str(), (unsigned long long) n, way.c_str(), t.median, t.least, t.most, verdict);
	fflush(f);
}

/*
 * One row of a table: rivals' ways first, then ours, which are divided by the best of those.
 */
struct contest
{
	std::string which;
	u64 n;
	timing best = {0, 0, 0};

	contest(const std::string &which, u64 n) : which(which), n(n)
	{
		printf("%s, %s%llu\n", which.c_str(), (n & (n - 1)) == 0 ? "2^" : "",
			   (unsigned long long) ((n & (n - 1)) == 0 ? 63 - __builtin_clzll(n) : n));
	}

	void
	rival(const std::string &way, const timing &t, const char *verdict = "")
	{
		printf("    CUB  %-15s %9.4f  (%.4f to %.4f)  %s\n", way.c_str(), t.median, t.least, t.most, verdict);
		fflush(stdout);
		keep(which, n, "CUB " + way, t, verdict);
		if (best.median == 0 || t.median < best.median)
			best = t;
	}

	void
	ours(const std::string &way, const timing &t, const char *verdict, const std::string &more = "")
	{
		printf("    ours %-15s %9.4f  (%.4f to %.4f)  %s  x %.2f", way.c_str(), t.median, t.least, t.most, verdict,
			   best.median / t.median);
		printf(more.empty() ? "\n" : "  (%s)\n", more.c_str());
		fflush(stdout);
		keep(which, n, way.empty() ? "ours" : "ours " + way, t, verdict);
	}
};

/* ---------------------------------------------------------------- data and comparison */

static inline __host__ __device__ u64
mix(u64 z)
{
	z += 0x9e3779b97f4a7c15ull;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Of a random number one below 2^bits by Zipf's law, exponent 1: k about as often as 1 / k. */
static inline __device__ u64
zipf(u64 random, int bits)
{
	return (u64) exp2((double) (random >> 11) / 9007199254740992.0 * bits) - 1;
}

/* template: no warning where it is not used */
template <class T>
static __global__ void
iota(T *p, u64 n)
{
	EACH(i, n)
		p[i] = (T) i;
}

/* Random items in runs of exactly `run`, but of 1 to 9, 5 in the mean, for 5. */
template <class T>
static __global__ void
make_runs(T *p, u64 n, u32 run)
{
	EACH(i, n)
	{
		u64 r = run == 1 ? i : i / run, g = i / 10;

		/* groups of 10 items in two runs of random length */
		if (run == 5)
			r = 2 * g + (i % 10 >= 1 + mix(g) % 9);
		p[i] = (T) (mix(r) >> 20);
	}
}

/* Items of a that are not the same in b, added to *bad. */
template <class T>
static __global__ void
count_differences(const T *a, const T *b, u64 n, u64 *bad)
{
	u64 d = 0;

	EACH(i, n)
		d += a[i] != b[i];
	if (d)
		atomicAdd((unsigned long long *) bad, (unsigned long long) d);
}

template <class T>
static u64
differences(const T *a, const T *b, u64 n)
{
	static u64 *found;
	u64 answer;

	if (found == NULL)
		CK(cudaMalloc(&found, 8));
	CK(cudaMemset(found, 0, 8));
	count_differences<<<GRID>>>(a, b, n, found);
	CK(cudaMemcpy(&answer, found, 8, cudaMemcpyDeviceToHost));
	return answer;
}

/*
 * out: sum and hash sum of the rows less those of 0 to n - 1; neighbours out of order, or equal and not in arrival
 * order
 */
template <class COMPARE>
static __global__ void
check_order(COMPARE compare, const u32 *order, u64 n, u64 *out)
{
	u64 sum = 0, hash = 0, bad = 0;

	EACH(i, n)
	{
		u32 r = order[i];

		sum += r - i;
		hash += mix(r) - mix(i);
		if (r >= n)
			bad++;
		else if (i > 0 && order[i - 1] < n)
		{
			int c = compare(order[i - 1], r);

			bad += c > 0 || (c == 0 && order[i - 1] >= r);
		}
	}
	atomicAdd((unsigned long long *) out, sum);
	atomicAdd((unsigned long long *) out + 1, hash);
	atomicAdd((unsigned long long *) out + 2, bad);
}

/* What is wrong with an order, or "ok"; compare(a, b): < 0, 0, > 0 for two rows, on the device. */
template <class COMPARE>
static const char *
order_verdict(COMPARE compare, const u32 *order, u64 n)
{
	static u64 *answer;
	u64 a[3];

	if (answer == NULL)
		CK(cudaMalloc(&answer, 24));
	CK(cudaMemset(answer, 0, 24));
	check_order<<<1056, 256>>>(compare, order, n, answer);
	CK(cudaMemcpy(a, answer, 24, cudaMemcpyDeviceToHost));
	return a[0] == 0 && a[1] == 0 && a[2] == 0 ? "ok" : a[2] ? "WRONG ORDER" : "NO PERMUTATION";
}

#endif
