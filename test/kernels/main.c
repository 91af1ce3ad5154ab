/*
 * main.c: the tests of the kernels, against plain C; output in TAP.  See engine.h for the arguments.
 */
#include "engine.h"
#include "tests.h"

int
main(int argc, char **argv)
{
	static const test all[] = {
		{"orders", "chunk", test_chunk, CPU_ONLY, USUAL},
		{"orders", "vectors", test_vectors, CPU_ONLY, USUAL},
		{"orders", "fixed-width", test_orders, CPU_ONLY, USUAL},
		{"orders", "strings", test_strings, CPU_ONLY, USUAL},
		{"orders", "random", test_random_orders, CPU_ONLY, USUAL},
		{"orders", "host", test_host, CPU_ONLY, USUAL},
		{"scans", "scan", test_scan, ANYWHERE, USUAL},
		{"scans", "select", test_select, ANYWHERE, USUAL},
		{"scans", "runs", test_runs, ANYWHERE, USUAL},
		{"scans", "reduce", test_reduce, ANYWHERE, USUAL},
		{"scans", "others", test_others, ANYWHERE, USUAL},
		{"scans", "rows", test_rows, ANYWHERE, USUAL},
		{"scans", "check", test_check, ANYWHERE, USUAL},
		{"scans", "steps", test_steps, ANYWHERE, USUAL},
		{"scans", "choices", test_choices, ANYWHERE, USUAL},
		{"scans", "groups", test_groups, ANYWHERE, USUAL},
		{"scans", "groups-proof", test_groups_proof, ANYWHERE, USUAL},
		{"scans", "places", test_places, ANYWHERE, USUAL},
		{"scans", "windows", test_windows, ANYWHERE, USUAL},
		{"scans", "divisors", test_divisors, CPU_ONLY, USUAL},
		{"scans", "steps-check", test_steps_check, CPU_ONLY, USUAL},
		{"scans", "scan-large", test_scan_large, ANYWHERE, LARGE},
		{"sorts", "radix", test_radix, ANYWHERE, USUAL},
		{"sorts", "plans", test_plans, ANYWHERE, USUAL},
		{"sorts", "topk", test_topk, ANYWHERE, USUAL},
		{"sorts", "segments", test_segments, ANYWHERE, USUAL},
		{"sorts", "merge", test_merge, ANYWHERE, USUAL},
		{"sorts", "radix-large", test_radix_large, ANYWHERE, LARGE},
		{"sorts", "order-large", test_order_large, ANYWHERE, LARGE},
		{"sorts", "merge-large", test_merge_large, ANYWHERE, LARGE},
#ifdef WITH_CUDA
		{"scans", "scan-stall", test_scan_stall, GPU_ONLY, USUAL},
		{"sorts", "radix-buckets", test_radix_buckets, GPU_ONLY, USUAL},
		{"sorts", "radix-stall", test_radix_stall, GPU_ONLY, USUAL},
		{"sorts", "segments-stall", test_segments_stall, GPU_ONLY, USUAL},
		{"sorts", "order-proof", test_order_proof, GPU_ONLY, USUAL},
		{"sorts", "gpu-orders", test_gpu_orders, GPU_ONLY, BY_NAME},
#endif
		{"jobs", "jobs", test_jobs, ANYWHERE, USUAL},
	};

	(void) argc;
	return run_tests(argv, all, sizeof(all) / sizeof(all[0]));
}
