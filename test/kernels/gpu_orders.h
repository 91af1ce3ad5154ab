/*
 * gpu_orders.h: tables whose orders are compared, between gpu_orders.c and gpu_order_keys.c.
 */
#ifndef GPUSORT_TEST_GPU_ORDERS_H
#define GPUSORT_TEST_GPU_ORDERS_H

#include "sort_test.h"

typedef struct column
{
	gs_column host, device;
	size_t values_bytes, nulls_bytes, heap_bytes;
	char text[128];
} column;

extern char now[1024]; /* the table at work */

uint32_t *order_on(gs_engine *engine, column *c, uint32_t n, uint64_t rows, gs_order_facts *facts);
int compare(gs_engine *cpu, gs_engine *gpu, column *c, uint32_t n, uint64_t rows, const char *what);
int narrow_keys(gs_engine *cpu, gs_engine *gpu, uint64_t most, int each);
int bucket_keys(gs_engine *cpu, gs_engine *gpu, uint64_t most, int each);
int sampled_keys(gs_engine *cpu, gs_engine *gpu, uint64_t most, int each);

#endif
