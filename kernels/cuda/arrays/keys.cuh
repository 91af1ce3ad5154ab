/*
 * keys.cuh: what keys.cu, keys_leading.cu and keys_buckets.cu tell each other.
 */
#ifndef GS_CUDA_ARRAYS_KEYS_CUH
#define GS_CUDA_ARRAYS_KEYS_CUH

#include "../radix/radix.cuh"
#include "sort_ops.cuh"

#define GS_LEADING_LEAST   3				   /* leading digits that may do */
#define GS_LEADING_CHOICES 4				   /* so many, or one more, ... */
#define GS_LEADING_ROWS	   ((u64) 1 << 22) /* fewer are not worth the kernels */
#define GS_SAMPLE		   131072			   /* keys looked at */
#define GS_SAMPLE_BITS	   18				   /* of a slot in the tables that they are noted in */
#define GS_SAMPLE_TABLES   (GS_LEADING_CHOICES * sizeof(u64) << GS_SAMPLE_BITS)

#define GS_BUCKET_DIGITS   2 /* leading digits of keys of 4 bytes, whose buckets are finished in shared memory */
#define GS_BUCKETS_LEAST	   ((u64) 1 << 25) /* fewer gain less than keys that do not spread lose, ... */
#define GS_BUCKETS_FORCED   ((u64) 1 << 19) /* or cannot be looked at */

/* What was found out about the keys, and what is done; on the device, zero at first. */
struct gs_keys_schedule
{
	u32 again;	 /* 1: the result is not in order, everything has to be done again */
	u32 leading; /* only leading digits are sorted by: those from bit `shift` of the code on */
	u32 shift;
	u32 listed;						/* places where the order falls */
	u32 shifts[GS_LEADING_CHOICES]; /* 0: no choice */
	u32 tied[GS_LEADING_CHOICES];	/* pairs of the sample with the same leading digits */

	/* keys of 4 bytes */
	u32 sampled; /* blocks that have looked at their part of the sample */
	u32 crowd;	 /* keys of the sample in one bucket */
	u32 close;	 /* keys of it that come near another one */
	u32 listed_parts[2];
	u32 longest; /* part */
};

/* A key's code is what it is sorted by: the bits from begin on of its order, turned by flip. */
struct gs_keys_plan
{
	u64 n, flip, mask;
	u32 begin, digits;
	bool floats;
	u32 at[GS_PLACES]; /* where digits begin in the code */
	u32 *counts;
	gs_keys_schedule *schedule;
	gs_radix_step *steps;
};

enum gs_schedule_stage
{
	GS_SCHEDULE_ALL,	/* all digits that tell keys apart */
	GS_SCHEDULE_SAMPLE, /* which leading digits a sample should look at */
	GS_SCHEDULE_CHOOSE	/* leading digits, if the sample says so, else all */
};

gs_status gs_leading_sample(gs_cuda_engine *e, const gs_keys_plan &plan, const u64 *keys, u64 *tables);
gs_status gs_leading_finish(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_items *items, u32 *list);
bool gs_keys_buckets_may(const gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_items *items);
size_t gs_keys_buckets_temp(size_t key_bytes, size_t value_width, u64 n);
gs_status gs_keys_buckets_sample(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_items *items, void *tables);
gs_status gs_keys_buckets(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_items *items, const void *in,
						 void *temp);

#endif
