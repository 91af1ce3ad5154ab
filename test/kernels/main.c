/*
 * main.c: tests of the sort family on one engine against plain C; output in TAP.  See engine_test.h for the arguments.
 */
#include "sort_test.h"

int
main(int argc, char **argv)
{
	static const test_group all[] = {{"radix", test_radix, false},
									 {"radix-buckets", test_radix_buckets, false},
									 {"plans", test_plans, false},
									 {"topk", test_topk, false},
									 {"segments", test_segments, false},
									 {"stall", test_radix_stall, false},
									 {"segments-stall", test_segments_stall, false},
									 {"merge", test_merge, false},
									 {"radix-large", test_radix_large, true},
									 {"order-large", test_order_large, true},
									 {"merge-large", test_merge_large, true}};

	return run_groups(argc, argv, all, sizeof(all) / sizeof(all[0]));
}
