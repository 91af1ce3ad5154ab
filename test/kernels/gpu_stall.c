/*
 * gpu_stall.c: tiles that stand still.  Chosen tiles of a call wait, before they publish anything, for a flag that only
 * the call's last tile sets.  The last tile needs what they have to publish, so the call can end only if others reduce
 * the stalled tiles for them.  Without the fallback it would hang: here the stalled tiles give up after some seconds,
 * and say so.
 */
#include "scan_test.h"

#define N 30000000 /* enough tiles that a stalled block holds no ticket of the last one */

/* What the calls are given, and what they have to make of it. */
typedef struct
{
	uint64_t n, nkept;
	uint32_t *in, *sums, *kept; /* sums so far; the first item of each run */
	array a, b, c, count;
} stalled;

static stalled
make_stalled(uint64_t n)
{
	stalled s = {.n = n, .in = malloc(n * 4), .sums = malloc(n * 4), .kept = malloc(n * 4)};
	uint32_t sum = 0;

	s.a = make_array(n * 4, 0), s.b = make_array(n * 4, 0), s.c = make_array(n * 4, 0), s.count = make_array(8, 0);
	for (uint64_t i = 0; i < n; i++)
	{
		s.in[i] = (uint32_t) (rnd() >> 32) & 0x80000001;
		s.sums[i] = sum += s.in[i];
		if (i == 0 || s.in[i] != s.in[i - 1])
			s.kept[s.nkept++] = s.in[i];
	}
	put(&s.a, s.in, n * 4);
	return s;
}

static void
drop_stalled(stalled *s)
{
	drop(&s->a), drop(&s->b), drop(&s->c), drop(&s->count);
	free(s->in), free(s->sums), free(s->kept);
}

/* Sum of the second result, which has a number for each run. */
static uint64_t
sum_of_runs(stalled *s, const char *what)
{
	const uint32_t *of = fetch(&s->c, s->nkept * 4, what);
	uint64_t sum = 0;

	for (uint64_t i = 0; i < s->nkept; i++)
		sum += of[i];
	return sum;
}

/* Whether the first result is the first item of each run. */
static bool
kept_is_right(stalled *s, const char *what)
{
	return memcmp(fetch(&s->b, s->nkept * 4, what), s->kept, s->nkept * 4) == 0;
}

static void
scan_call(void *arg)
{
	stalled *s = arg;
	const size_t temp = gs_scan_temp_bytes(engine, GS_U32, s->n);

	poison(&s->b);
	ok(gs_scan(engine, GS_U32, GS_SUM, true, s->a.data, s->b.data, s->n, temp_of(temp), temp), "gs_scan");
	check(memcmp(fetch(&s->b, s->n * 4, "scan"), s->sums, s->n * 4) == 0, "scan with stalled tiles");
}

static void
unique_call(void *arg)
{
	stalled *s = arg;
	const size_t temp = gs_select_temp_bytes(engine, GS_U32, s->n);

	poison(&s->b);
	ok(gs_unique(engine, GS_U32, s->a.data, s->n, s->b.data, s->count.data, temp_of(temp), temp), "gs_unique");
	check(kept_is_right(s, "unique"), "unique with stalled tiles");
}

static void
runs_call(void *arg)
{
	stalled *s = arg;
	const size_t temp = gs_runs_temp_bytes(engine, GS_U32, s->n);

	poison(&s->b), poison(&s->c);
	ok(gs_runs(engine, GS_U32, s->a.data, s->n, s->b.data, GS_U32, s->c.data, NULL, s->count.data, temp_of(temp), temp),
	   "gs_runs");
	check(kept_is_right(s, "runs") && sum_of_runs(s, "lengths") == s->n, "runs with stalled tiles");
}

static void
reduce_call(void *arg)
{
	stalled *s = arg;
	const gs_reduction d = {GS_U32, GS_SUM, GS_U32, false};
	const size_t temp = gs_reduce_by_key_temp_bytes(engine, GS_U32, &d, s->n);

	poison(&s->b), poison(&s->c);
	ok(gs_reduce_by_key(engine, GS_U32, s->a.data, s->a.data, s->n, &d, s->b.data, s->c.data, s->count.data, NULL,
						temp_of(temp), temp),
	   "gs_reduce_by_key");
	check(kept_is_right(s, "keys") && (uint32_t) sum_of_runs(s, "sums") == s->sums[s->n - 1],
		  "reduce with stalled tiles");
}

void
test_scan_stall(void)
{
	static const uint32_t tiles[] = {0, 3, 4, 40, 41, 42, 200, 1000};
	static const struct
	{
		const char *name;
		void (*call)(void *);
	} calls[] = {{"scan", scan_call}, {"unique", unique_call}, {"runs", runs_call}, {"reduce", reduce_call}};
	stalled s;

	s = make_stalled(small_only ? 3000000 : N);
	group("stalled tiles, with fallback");
	for (int i = 0; i < 4; i++)
		stalled_call(tiles, 8, 200000, calls[i].call, &s, calls[i].name);
	group("stalled tiles, without fallback: giving up is all that ends the call");
	hanging_call(4, scan_call, &s, "scan");
	drop_stalled(&s);
}
