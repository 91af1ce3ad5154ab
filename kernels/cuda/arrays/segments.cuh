/*
 * segments.cuh: shared by the .cu files of the segmented sort (README.md).
 */
#ifndef GS_CUDA_ARRAYS_SEGMENTS_CUH
#define GS_CUDA_ARRAYS_SEGMENTS_CUH

#include "../radix/radix.cuh"
#include "sort_ops.cuh"

#define GS_SEG_TINY	   16				/* the first class: found without a list */
#define GS_SEG_SMALL   4096				/* limit of sorting in registers */
#define GS_SEG_GIANT   ((u64) 1 << 24)	/* from here on, each is sorted on its own */
#define GS_SEG_GIANTS  ((u64) 1 << 8)	/* limit of their number in 2^32 items */
#define GS_SEG_CLASSES 11

#define GS_SEG_LEADING_LEAST   2				/* least number of leading digits considered */
#define GS_SEG_LEADING_CHOICES 4				/* numbers of digits considered */
#define GS_SEG_LEADING_ITEMS   ((u64) 1 << 22)	/* fewer do not repay the kernels */
#define GS_SEG_SAMPLE		   131072			/* keys sampled */

/* Limits of segment length of all classes but the last two. */
#define GS_SEG_LENGTHS                                   \
	{                                                    \
		GS_SEG_TINY, 32, 64, 128, 256, 512, 1024, 2048, GS_SEG_SMALL \
	}
#define GS_SEG_LARGE_CLASS 9
#define GS_SEG_GIANT_CLASS 10

/* An entry in a class's list. */
struct gs_segment
{
	u64 start, n;
	u64 first_tile; /* of large ones */
};

/* Results of the classification, in device memory, initially zero. */
struct gs_segments_found
{
	u32 count[GS_SEG_CLASSES]; /* segments per class; the first may wrap */
	u32 pad;
	u64 large; /* number of large ones; in the upper 32 bits, of their tiles */
	u64 items;	 /* of large ones */
	u64 varying; /* bits that are not constant within every large segment */
	u32 tied[GS_SEG_LEADING_CHOICES]; /* pairs of sampled keys with equal leading digits */
	u32 crowded;  /* pairs of sampled keys in one bin of a bucket (segments_buckets.cu) */
	u32 parts[2]; /* parts of large segments, for a block and for a large block */
	u32 longest;  /* of the buckets or parts */
	u32 again;	  /* large ones are out of order; sort everything again */
	u32 pad2;
	gs_segment giants[GS_SEG_GIANTS];
};

struct gs_part;

/* Arguments of the call, for kernels. */
struct gs_segments_args
{
	const void *keys, *values;
	void *out_keys, *out_values;
	const u64 *starts;
	u64 segments;
	u64 flip;	/* maps keys to order-preserving unsigned numbers, after float_order() for floats */
	u32 floats;
	u32 key_bytes, value_bytes;
};

gs_status gs_segments_small(gs_cuda_engine *e, const gs_segments_args &a, u32 of_class, const u32 *list, u64 count);

/* Large segments, for kernels. */
struct gs_segments_work
{
	gs_segments_args a;
	const gs_segment *list;
	gs_segments_found *found;
	u32 segments, tiles;
	u32 tile; /* items per tile */
	gs_radix_tile *table;
	u32 *counts; /* per segment and digit place: counts of digits, then their starts */
	gs_part *parts[2];
};

/* Returns the position of the leading `digits` digits that vary; 0 if that leaves none out. */
GS_BOTH u32
gs_leading_shift(u64 varying, u32 digits)
{
	u32 shift = 64;

	while (digits > 0 && shift > 0)
	{
		shift -= 8;
		digits -= (varying >> shift & 255) != 0;
	}
	return varying & ((1ull << shift) - 1) ? shift : 0;
}

u32 gs_segments_tile(const gs_cuda_engine *e, size_t key_bytes, size_t value_width);
size_t gs_segments_large_temp(const gs_cuda_engine *e, size_t key_bytes, size_t value_width, u64 n);
gs_status gs_segments_large(gs_cuda_engine *e, const gs_segments_args &a, u64 n, const gs_segment *list,
							gs_segments_found *known, gs_segments_found *found, void *temp);
gs_status gs_segments_sample(gs_cuda_engine *e, const gs_segments_work &w, void *tables);
u32 gs_segments_leading(const gs_segments_found *known);
gs_status gs_segments_ties(gs_cuda_engine *e, const gs_segments_work &w, u32 shift);
size_t gs_segments_parts_bytes(size_t key_bytes, size_t value_width, u64 n);
void gs_segments_parts_at(gs_segments_work *w, void *memory, u64 n);
gs_status gs_segments_parts(gs_cuda_engine *e, const gs_segments_work &w);
bool gs_segments_buckets_pay(const gs_cuda_engine *e, const gs_segments_work &w, const gs_segments_found *known);
gs_status gs_segments_buckets(gs_cuda_engine *e, const gs_segments_work &w, const gs_segments_found *known,
							 const void *in);

#endif
