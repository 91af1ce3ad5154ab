/*
 * tests.h: every test of this folder, each by what its file is called; main.c tells when which runs.
 */
#ifndef GPUSORT_TEST_TESTS_H
#define GPUSORT_TEST_TESTS_H

void test_chunk(void);
void test_host(void);
void test_orders(void);
void test_random_orders(void);
void test_strings(void);
void test_vectors(void);

void test_scan(void);
void test_select(void);
void test_runs(void);
void test_reduce(void);
void test_others(void);
void test_rows(void);
void test_check(void);
void test_steps(void);
void test_choices(void);
void test_groups(void);
void test_groups_proof(void);
void test_places(void);
void test_windows(void);
void test_divisors(void);
void test_steps_check(void);
void test_scan_stall(void);
void test_scan_large(void);

void test_radix(void);
void test_radix_buckets(void);
void test_plans(void);
void test_topk(void);
void test_segments(void);
void test_merge(void);
void test_radix_stall(void);
void test_segments_stall(void);
void test_gpu_orders(void);
void test_order_proof(void);
void test_radix_large(void);
void test_order_large(void);
void test_merge_large(void);

void test_jobs(void);

#endif
