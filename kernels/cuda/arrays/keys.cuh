/*
 * keys.cuh: shared by keys.cu, keys_leading.cu and keys_buckets.cu.
 */
#ifndef GS_CUDA_ARRAYS_KEYS_CUH
#define GS_CUDA_ARRAYS_KEYS_CUH

#include "../radix/radix.cuh"
#include "sort_ops.cuh"

#define GS_LEADING_LEAST   3				   /* least number of leading digits considered */
#define GS_LEADING_CHOICES 4				   /* numbers of digits considered */
#define GS_LEADING_ROWS	   ((u64) 1 << 22) /* fewer do not repay the kernels */
#define GS_SAMPLE		   131072			   /* keys sampled */
#define GS_SAMPLE_BITS	   18				   /* of a slot in the tables of the sample */
#define GS_SAMPLE_TABLES   (GS_LEADING_CHOICES * sizeof(u64) << GS_SAMPLE_BITS)

#define GS_BUCKET_DIGITS   2 /* leading digits of 4-byte keys whose buckets are finished in shared memory */
#define GS_BUCKETS_LEAST	   ((u64) 1 << 25) /* with fewer, even keys gain less than uneven ones lose, ... */
#define GS_BUCKETS_FORCED   ((u64) 1 << 19) /* or the sample is impossible */

/* What is known about the keys, and decided; on the device, initially zero. */
struct gs_keys_schedule
{
	u32 again;	 /* 1: the result is out of order, sort everything again */
	u32 leading; /* sorts only by leading digits: from bit `shift` of the code on */
	u32 shift;
	u32 listed;						/* positions where the order descends */
	u32 shifts[GS_LEADING_CHOICES]; /* 0: not considered */
	u32 tied[GS_LEADING_CHOICES];	/* pairs of the sample with equal leading digits */

	/* keys of 4 bytes */
	u32 sampled; /* blocks that have finished their part of the sample */
	u32 crowd;	 /* sampled keys in one bucket */
	u32 close;	 /* sampled keys close to another one */
	u32 listed_parts[2];
	u32 longest; /* of the parts */
};

/* A key's code is what it is sorted by: bits of its order from begin on, XOR flip. */
struct gs_keys_plan
{
	u64 n, flip, mask;
	u32 begin, digits;
	bool floats;
	u32 at[GS_PLACES]; /* positions of digits in the code */
	u32 *counts;
	gs_keys_schedule *schedule;
	gs_radix_step *steps;
};

enum gs_schedule_stage
{
	GS_SCHEDULE_ALL,	/* all digits that vary */
	GS_SCHEDULE_SAMPLE, /* the leading digits that a sample should examine */
	GS_SCHEDULE_CHOOSE	/* leading digits if the sample allows it, otherwise all */
};

gs_status gs_leading_sample(gs_cuda_engine *e, const gs_keys_plan &plan, const u64 *keys, u64 *tables);
gs_status gs_leading_finish(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_request *r, u32 *list);
bool gs_keys_buckets_may(const gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_request *r);
size_t gs_keys_buckets_temp(size_t key_bytes, size_t value_width, u64 n);
gs_status gs_keys_buckets_sample(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_request *r, void *tables);
gs_status gs_keys_buckets(gs_cuda_engine *e, const gs_keys_plan &plan, const gs_sort_request *r, const void *in,
						  void *temp);

#endif
