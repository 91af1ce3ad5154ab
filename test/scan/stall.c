/*
 * stall.c: tiles that stand still.  Chosen tiles of a call wait, before they publish anything, for a flag that only the
 * call's last tile sets.  The last tile needs what they have to publish, so the call can end only if others reduce the
 * stalled tiles for them.  Without the fallback it would hang: here the stalled tiles give up after a second, and say
 * so.
 */
#include "scan_test.h"

#ifdef WITH_CUDA

#include "../../kernels/cuda/base/stall.h"

#define N 30000000 /* enough tiles that a stalled block holds no ticket of the last one */

static uint32_t fallbacks, timeouts;

static void
stall(const uint32_t *tiles, uint32_t ntiles, uint64_t patience)
{
	ok(gs_cuda_stall(engine, tiles, ntiles, patience), "gs_cuda_stall");
	ok(gs_cuda_stall_counts(engine, &fallbacks, &timeouts), "gs_cuda_stall_counts");
}

static void
report(const char *what, bool fallback)
{
	uint32_t f, t;

	ok(gs_cuda_stall_counts(engine, &f, &t), "gs_cuda_stall_counts");
	f -= fallbacks, t -= timeouts;
	printf("# %s: %u fallbacks, %u tiles gave up\n", what, f, t);
	if (fallback)
		check(f > 0 && t == 0, "%s: ends by fallback: %u fallbacks, %u timeouts", what, f, t);
	else
		check(f == 0 && t > 0, "%s: would hang: %u fallbacks, %u timeouts", what, f, t);
}

void
test_stall(void)
{
	static const uint32_t tiles[] = {0, 3, 4, 40, 41, 42, 200, 1000};
	const uint64_t n = small_only ? 3000000 : N;
	uint32_t *in = malloc(n * 4), *sums = malloc(n * 4), *kept = malloc(n * 4), sum = 0;
	uint64_t nkept = 0, runs = 0;
	array a = make_array(n * 4, 0), b = make_array(n * 4, 0), c = make_array(n * 4, 0), count = make_array(8, 0);
	size_t temp;

	if (!on_gpu)
		return;
	for (uint64_t i = 0; i < n; i++)
	{
		in[i] = (uint32_t) (random64() >> 32) & 0x80000001;
		sums[i] = sum += in[i];
		if (i == 0 || in[i] != in[i - 1])
			kept[nkept++] = in[i];
	}
	runs = nkept;

	group("stalled tiles, with fallback");
	put(&a, in, n * 4);
	temp = gs_scan_temp_bytes(engine, GS_U32, n);
	stall(tiles, 8, 200000);
	ok(gs_scan(engine, GS_U32, GS_SUM, true, a.data, b.data, n, temp_of(temp), temp), "gs_scan");
	check(memcmp(fetch(&b, n * 4, "scan"), sums, n * 4) == 0, "scan with stalled tiles");
	report("scan", true);

	temp = gs_select_temp_bytes(engine, GS_U32, n);
	poison(&b);
	stall(tiles, 8, 200000);
	ok(gs_unique(engine, GS_U32, a.data, n, b.data, count.data, temp_of(temp), temp), "gs_unique");
	check(memcmp(fetch(&b, nkept * 4, "unique"), kept, nkept * 4) == 0, "unique with stalled tiles");
	report("unique", true);

	temp = gs_runs_temp_bytes(engine, GS_U32, n);
	poison(&b);
	stall(tiles, 8, 200000);
	ok(gs_runs(engine, GS_U32, a.data, n, b.data, GS_U32, c.data, NULL, count.data, temp_of(temp), temp), "gs_runs");
	const uint32_t *len = fetch(&c, runs * 4, "lengths");
	uint64_t total = 0;
	for (uint64_t i = 0; i < runs; i++)
		total += len[i];
	check(memcmp(fetch(&b, nkept * 4, "runs"), kept, nkept * 4) == 0 && total == n, "runs with stalled tiles");
	report("runs", true);

	gs_reduction d = {GS_U32, GS_SUM, GS_U32, false};

	temp = gs_reduce_by_key_temp_bytes(engine, GS_U32, &d, n);
	poison(&b), poison(&c);
	stall(tiles, 8, 200000);
	ok(gs_reduce_by_key(engine, GS_U32, a.data, a.data, n, &d, b.data, c.data, count.data, NULL, temp_of(temp), temp),
	   "gs_reduce_by_key");
	const uint32_t *s = fetch(&c, runs * 4, "sums");
	uint32_t all = 0;
	for (uint64_t i = 0; i < runs; i++)
		all += s[i];
	check(memcmp(fetch(&b, nkept * 4, "keys"), kept, nkept * 4) == 0 && all == sum, "reduce with stalled tiles");
	report("reduce", true);

	group("stalled tiles, without fallback: a time limit is all that ends the call");
	temp = gs_scan_temp_bytes(engine, GS_U32, n);
	poison(&b);
	stall(tiles + 2, 1, 0);
	ok(gs_scan(engine, GS_U32, GS_SUM, true, a.data, b.data, n, temp_of(temp), temp), "gs_scan");
	check(memcmp(fetch(&b, n * 4, "scan"), sums, n * 4) == 0, "scan after the time limit");
	report("scan, no fallback", false);
	stall(NULL, 0, 400000);
	drop(&a), drop(&b), drop(&c), drop(&count);
	free(in), free(sums), free(kept);
}

#else

void
test_stall(void)
{
}

#endif
