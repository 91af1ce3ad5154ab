/*
 * rivals_cpu.c: row orders of the CPU engine beside x86-simd-sort and vqsort, one thread.
 *
 *   rivals-cpu-bench [-n rows] [-r rounds] [-w part of workloads' names] [-m fresh|warm]
 *
 * All begin with columns and end with row numbers, equal rows in the order in which they came.  The engine is fed chunk
 * by chunk, as in a server, so it copies what the rivals read where it lies: "copy" is that part of its time.  The
 * rivals make of a row what a good engineer would, of the first 64 bits of its key:
 *
 *   words   one number: as many leading bits of (key - minimum) as there is room for above the row number
 *   pairs   the 64 bits and the row number: two arrays (x86-simd-sort), or one of 16-byte numbers (vqsort)
 *
 * and sort by comparison what is equal then.  Strings begin behind what all have in common, which they are told for
 * nothing.  Words are not tried where they would leave most rows equal, pairs not where words hold the whole key.
 *
 * fresh: all memory but the columns and the result comes from the kernel, untouched, and goes back.  warm: it was
 * written before, by the same way: each runs twice in a row, and the second time counts, so that none finds in the
 * cache what another left there.  Processor time; the rounds take turns, and the least of each counts, the greatest
 * is told.
 */
#define _GNU_SOURCE
#include "../workloads.h"

#include <sys/mman.h>
#include <unistd.h>

#include "rivals.h"

#define WAYS	   5
#define POOL	   64
#define MOST_EQUAL 12 /* bits of a key that may be missing in words, and words still tell most rows apart */

static const char *const way_names[WAYS] = {"ours", "simd words", "vq words", "simd pairs", "vq pairs"};

/* ---------------------------------------------------------------- memory */

/* Memory of one size, handed out again and again; a block can grow to all of it without moving. */
typedef struct pool
{
	size_t bytes;
	void *blocks[POOL];
	int n;
} pool;

static void *
map_block(size_t bytes)
{
	void *block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (block == MAP_FAILED)
		abort();
	(void) madvise(block, bytes, MADV_HUGEPAGE);
	return block;
}

static void *
pool_alloc(void *arg, size_t bytes)
{
	pool *p = arg;

	if (bytes > p->bytes)
		return NULL;
	return p->n > 0 ? p->blocks[--p->n] : map_block(p->bytes);
}

static void
pool_release(void *arg, void *block, size_t bytes)
{
	pool *p = arg;

	(void) bytes;
	if (block == NULL)
		return;
	if (p->n == POOL)
		abort();
	p->blocks[p->n++] = block;
}

static void *
pool_resize(void *arg, void *block, size_t old_bytes, size_t bytes)
{
	(void) old_bytes;
	return bytes <= ((pool *) arg)->bytes ? block : NULL;
}

/* ---------------------------------------------------------------- rivals */

static uint64_t
encode_float(uint64_t v)
{
	v = (v & ~(uint64_t) 0 >> 1) > 0x7ff0000000000000u ? 0x7ff8000000000000u : v;
	v = (v & ~(uint64_t) 0 >> 1) == 0 ? 0 : v;
	return v ^ ((uint64_t) ((int64_t) v >> 63) | (uint64_t) 1 << 63);
}

/* Eight characters from some depth on. */
static uint64_t
encode_string(const workload *w, uint64_t row, uint64_t depth)
{
	uint64_t begin = w->values[0][row] + depth, end = w->values[0][row + 1], word = 0;

	if (begin >= end)
		return 0;
	memcpy(&word, w->heap + begin, 8);
	word = __builtin_bswap64(word);
	return end - begin < 8 ? word & ~(~(uint64_t) 0 >> 8 * (end - begin)) : word;
}

#define EACH_ROW(lead)                                                                                                 \
	for (uint64_t row = 0; row < w->rows; row++)                                                                       \
	{                                                                                                                  \
		uint64_t v = (lead);                                                                                           \
		to[row] = v;                                                                                                   \
		least = v < least ? v : least;                                                                                 \
		most = v > most ? v : most;                                                                                    \
	}

/*
 * The first 64 bits of all keys as numbers in order; *least, *most: their range.
 */
static void
make_leads(const workload *w, uint64_t depth, uint64_t *restrict to, uint64_t *least_lead, uint64_t *most_lead)
{
	const uint64_t *first = w->values[0], *second = w->values[1];
	uint64_t least = UINT64_MAX, most = 0;

	if (w->string != NULL)
		EACH_ROW(encode_string(w, row, depth))
	else if (w->specs[0].type == GS_F64)
		EACH_ROW(encode_float(first[row]))
	else if (w->ncolumns == 2)
		EACH_ROW(first[row] << 54 | (second[row] ^ ~(uint64_t) 0 >> 1) >> 10)
	else if (w->specs[0].type == GS_U128)
		EACH_ROW(first[row])
	else
		EACH_ROW(first[row] ^ (uint64_t) 1 << 63)
	*least_lead = least;
	*most_lead = most;
}

static const workload *sorted_workload;

/*
 * Compares rows by their whole keys, and then by their numbers.
 */
static int
compare_rows(const void *a, const void *b)
{
	const workload *w = sorted_workload;
	uint64_t x = *(const uint32_t *) a, y = *(const uint32_t *) b, p, q;

	if (w->string != NULL)
	{
		const uint64_t *o = w->values[0];
		uint64_t m = o[x + 1] - o[x], n = o[y + 1] - o[y];
		int result = memcmp(w->heap + o[x], w->heap + o[y], m < n ? m : n);

		if (result != 0 || m != n)
			return result != 0 ? result : m < n ? -1 : 1;
	}
	else
		for (int c = 0; c < 2; c++)
		{
			p = w->values[c][x], q = w->values[c][y];
			if (w->specs[0].type == GS_F64)
				p = encode_float(p), q = encode_float(q);
			else if (w->ncolumns == 2 && c == 1)
				p ^= ~(uint64_t) 0 >> 1, q ^= ~(uint64_t) 0 >> 1;
			if (p != q)
				return p < q ? -1 : 1;
			if (w->ncolumns == 1 && w->specs[0].type != GS_U128)
				break;
		}
	return x < y ? -1 : x > y;
}

/*
 * Sorts rows of equal leads; a few by insertion.
 */
static void
sort_ties(uint32_t *rows, size_t n)
{
	if (n > 24)
	{
		qsort(rows, n, sizeof(*rows), compare_rows);
		return;
	}
	for (size_t i = 1; i < n; i++)
	{
		uint32_t row = rows[i];
		size_t j = i;

		for (; j > 0 && compare_rows(&rows[j - 1], &row) > 0; j--)
			rows[j] = rows[j - 1];
		rows[j] = row;
	}
}

#define SORT_TIES(equal)                                                                                               \
	for (uint64_t i = 0, end; i < n; i = end)                                                                          \
	{                                                                                                                  \
		for (end = i + 1; end < n && (equal); end++)                                                                   \
			;                                                                                                          \
		if (end - i > 1)                                                                                               \
			sort_ties(out + i, end - i);                                                                               \
	}

/*
 * The order by words.
 */
static void
by_words(const workload *w, uint64_t depth, bool whole, void (*sort)(uint64_t *, size_t), uint64_t *restrict words,
		 uint32_t *restrict out)
{
	uint64_t n = w->rows, least, most;
	uint32_t row_bits = gs_bits(n - 1), bits, drop;

	make_leads(w, depth, words, &least, &most);
	bits = gs_bits(most - least);
	drop = bits + row_bits > 64 ? bits + row_bits - 64 : 0;
	for (uint64_t i = 0; i < n; i++)
		words[i] = (words[i] - least) >> drop << row_bits | i;
	sort(words, n);
	for (uint64_t i = 0; i < n; i++)
		out[i] = (uint32_t) (words[i] & gs_mask(row_bits));
	if (drop > 0 || !whole)
		SORT_TIES((words[i] ^ words[end]) >> row_bits == 0)
}

/*
 * The order by two arrays.
 */
static void
by_two_arrays(const workload *w, uint64_t depth, uint64_t *restrict keys, uint64_t *restrict rows,
			  uint32_t *restrict out)
{
	uint64_t n = w->rows, least, most;

	make_leads(w, depth, keys, &least, &most);
	for (uint64_t i = 0; i < n; i++)
		rows[i] = i;
	simd_pairs(keys, rows, n);
	for (uint64_t i = 0; i < n; i++)
		out[i] = (uint32_t) rows[i];
	/* it is not stable */
	SORT_TIES(keys[i] == keys[end])
}

/*
 * The order by numbers of 16 bytes; leads lies behind them.
 */
static void
by_wide_numbers(const workload *w, uint64_t depth, bool whole, uint64_t *restrict pairs, uint64_t *restrict leads,
				uint32_t *restrict out)
{
	uint64_t n = w->rows, least, most;

	make_leads(w, depth, leads, &least, &most);
	for (uint64_t i = 0; i < n; i++)
	{
		pairs[2 * i] = i;
		pairs[2 * i + 1] = leads[i];
	}
	vq_pairs(pairs, n);
	for (uint64_t i = 0; i < n; i++)
		out[i] = (uint32_t) pairs[2 * i];
	if (!whole)
		SORT_TIES(pairs[2 * i + 1] == pairs[2 * end + 1])
}

/* ---------------------------------------------------------------- the table */

/* What is known of a workload before it is sorted. */
typedef struct shape
{
	uint64_t depth; /* of strings: what all have in common */
	bool whole;		/* 64 bits are the whole key */
	bool words, pairs;
} shape;

/*
 * Finds the ways that a good engineer would try.
 */
static shape
look(const workload *w, uint64_t *memory)
{
	shape s = {.depth = 0, .whole = w->string == NULL && w->ncolumns == 1 && w->specs[0].type != GS_U128};
	const uint64_t *o = w->values[0];
	uint32_t row_bits = gs_bits(w->rows - 1), bits;
	uint64_t least, most;

	if (w->string != NULL)
		s.depth = o[1] - o[0];
	for (uint64_t r = 1; w->string != NULL && r < w->rows; r++)
	{
		uint64_t length = o[r + 1] - o[r], d = 0;

		while (d < s.depth && d < length && w->heap[o[r] + d] == w->heap[o[0] + d])
			d++;
		s.depth = d;
	}
	make_leads(w, s.depth, memory, &least, &most);
	bits = gs_bits(most - least);
	s.pairs = !s.whole || bits + row_bits > 64;
	s.words = w->make != make_outlier || bits + row_bits <= 64 + MOST_EQUAL;
	return s;
}

/*
 * One way's time; *copy: that of the engine's copying.
 */
static double
run_way(int way, gs_engine *engine, const gs_host *host, const workload *w, const shape *s, uint64_t *warm,
		uint32_t *out, double *copy)
{
	size_t bytes = (w->rows * 24 + (2 << 20)) >> 21 << 21;
	uint64_t *memory = warm;
	gs_job_info info;
	double start = now();

	if (way == 0)
	{
		times t = run_engine(engine, host, w, out, &info);

		*copy = t.add;
		return t.total;
	}
	if (warm == NULL)
		memory = map_block(bytes);
	if (way <= 2)
		by_words(w, s->depth, s->whole, way == 1 ? simd_words : vq_words, memory, out);
	else if (way == 3)
		by_two_arrays(w, s->depth, memory, memory + w->rows, out);
	else
		by_wide_numbers(w, s->depth, s->whole, memory, memory + 2 * w->rows, out);
	if (warm == NULL)
		munmap(memory, bytes);
	return now() - start;
}

/*
 * One line: the least time of each way, and the greatest of ours and of the best rival.
 */
static void
line(gs_engine *engine, workload *w, uint64_t rows, int rounds, bool fresh)
{
	uint32_t *want = malloc(rows * 4), *out = malloc(rows * 4);
	uint64_t *memory = map_block((rows * 24 + (2 << 20)) >> 21 << 21);
	double least[WAYS] = {0}, most[WAYS] = {0}, copy = 0, least_copy = 1e300;
	pool p = {.bytes = (rows * 200 + (16 << 20)) >> 21 << 21};
	gs_host host = {pool_alloc, pool_resize, pool_release, NULL, &p};
	const char *wrong = "";
	int best = 0;
	shape s;

	generate(w, rows);
	sorted_workload = w;
	memset(memory, 1, rows * 24);
	memset(out, 1, rows * 4);
	s = look(w, memory);
	for (int r = 0; r <= rounds; r++)
		for (int way = 0; way < WAYS; way++)
		{
			double t = 0;

			if ((way > 0 && way <= 2 && !s.words) || (way > 2 && !s.pairs))
				continue;
			for (int again = 0; again <= !fresh; again++)
				t = run_way(way, engine, fresh ? NULL : &host, w, &s, fresh ? NULL : memory, way == 0 ? want : out,
							&copy);
			if (r == 0)
			{
				/* the first round is to warm up, and for the results */
				least[way] = 1e300;
				if (way > 0 && memcmp(want, out, rows * 4) != 0)
					wrong = " WRONG ORDER";
				continue;
			}
			least[way] = t < least[way] ? t : least[way];
			most[way] = t > most[way] ? t : most[way];
			least_copy = copy < least_copy ? copy : least_copy;
		}
	for (int way = 1; way < WAYS; way++)
		if (least[way] > 0 && (best == 0 || least[way] < least[best]))
			best = way;
	printf("| %-23s | %9lu | %-5s |", w->name, (unsigned long) rows, fresh ? "fresh" : "warm");
	for (int way = 0; way < WAYS; way++)
		if (least[way] > 0)
			printf(" %6.1f |", least[way] / (double) rows);
		else
			printf("      - |");
	printf(" %4.1f | %6.1f | %6.1f | %5.2f |%s\n", least_copy / (double) rows, most[0] / (double) rows,
		   most[best] / (double) rows, least[best] / least[0], wrong);
	fflush(stdout);
	while (p.n > 0)
		munmap(p.blocks[--p.n], p.bytes);
	munmap(memory, (rows * 24 + (2 << 20)) >> 21 << 21);
	discard(w);
	free(want), free(out);
}

int
main(int argc, char **argv)
{
	uint64_t rows = 10000000;
	int rounds = 5, option;
	const char *only = "", *mode = "";
	gs_engine *engine;

	while ((option = getopt(argc, argv, "n:r:w:m:")) != -1)
		switch (option)
		{
			case 'n':
				rows = strtoull(optarg, NULL, 10);
				break;
			case 'r':
				rounds = atoi(optarg);
				break;
			case 'w':
				only = optarg;
				break;
			case 'm':
				mode = optarg;
				break;
			default:
				return 1;
		}
	if (rows < 2 || rows > 200000000 || rounds < 1 || gs_cpu_open(1, NULL, &engine) != GS_OK)
		return 1;
	printf("ns of processor time per row, least of %d rounds; x: the best rival / ours\n\n", rounds);
	printf("| %-23s | %9s | %-5s |", "keys", "rows", "mem.");
	for (int way = 0; way < WAYS; way++)
		printf(" %s |", way_names[way]);
	printf(" copy | most: ours | best rival | x |\n|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof(workloads) / sizeof(workloads[0]); i++)
		for (int fresh = 0; fresh < 2 && strstr(workloads[i].name, only) != NULL; fresh++)
			if (*mode == 0 || (*mode == 'f') == (fresh == 1))
				line(engine, &workloads[i], rows, rounds, fresh == 1);
	gs_engine_close(engine);
	return 0;
}
