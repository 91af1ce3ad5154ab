/*
 * segments.cuh: what the .cu files of the segmented sort tell each other.
 *
 *   segments.cu        classes of segments by length, and the call
 *   segments_small.cu  segments of up to 4096 items, in registers
 *   segments_large.cu  larger ones, by digit passes over all of them at once
 *   segments_leading.cu  their leading digits, and what these leave out of order
 *   segments_buckets.cu  the rest of the order in shared memory, where the first of them will do
 */
#ifndef GS_CUDA_ARRAYS_SEGMENTS_CUH
#define GS_CUDA_ARRAYS_SEGMENTS_CUH

#include "../radix/radix.cuh"
#include "sort_ops.cuh"

#define GS_SEG_TINY	   16				/* the first class: found without a list */
#define GS_SEG_SMALL   4096				/* the largest that is sorted in registers */
#define GS_SEG_GIANT   ((u64) 1 << 24)	/* from here on each is a sort of its own */
#define GS_SEG_GIANTS  ((u64) 1 << 8)	/* as many as 2^32 items have */
#define GS_SEG_CLASSES 11

#define GS_SEG_LEADING_LEAST   2				/* leading digits that may do */
#define GS_SEG_LEADING_CHOICES 4				/* so many, or one more, ... */
#define GS_SEG_LEADING_ITEMS   ((u64) 1 << 22)	/* fewer are not worth the kernels */
#define GS_SEG_SAMPLE		   131072			/* keys looked at */

/* Longest segments of the classes before the last two. */
#define GS_SEG_LENGTHS                                   \
	{                                                    \
		GS_SEG_TINY, 32, 64, 128, 256, 512, 1024, 2048, GS_SEG_SMALL \
	}
#define GS_SEG_LARGE_CLASS 9
#define GS_SEG_GIANT_CLASS 10

/* A segment with a class of its own list. */
struct gs_segment
{
	u64 start, n;
	u64 first_tile; /* large ones */
};

/* What the classification leaves; in device memory, zero at first. */
struct gs_segments_found
{
	u32 count[GS_SEG_CLASSES]; /* segments; the first may wrap */
	u32 pad;
	u64 large; /* number of large ones, and above 32 bits of their tiles */
	u64 items;	 /* of large ones */
	u64 varying; /* bits in which some key of a large segment differs from the segment's first */
	u32 tied[GS_SEG_LEADING_CHOICES]; /* pairs of a sample of them with the same leading digits */
	u32 crowded;  /* pairs of it in the same bin of a bucket (segments_buckets.cu) */
	u32 parts[2]; /* of large ones, to be put in order by a block, by a large block */
	u32 longest;  /* bucket or part */
	u32 again;	  /* large ones are not in order, everything has to be done again */
	u32 pad2;
	gs_segment giants[GS_SEG_GIANTS];
};

struct gs_part;

/* The call, as kernels are told of it. */
struct gs_segments_args
{
	const void *keys, *values;
	void *out_keys, *out_values;
	const u64 *starts;
	u64 segments;
	u64 flip;	/* what turns keys into unsigned numbers in order, after float_order() for floats */
	u32 floats;
	u32 key_bytes, value_bytes;
};

gs_status gs_segments_small(gs_cuda_engine *e, const gs_segments_args &a, u32 of_class, const u32 *list, u64 count);

/* Large segments, as kernels are told of them. */
struct gs_segments_work
{
	gs_segments_args a;
	const gs_segment *list;
	gs_segments_found *found;
	u32 segments, tiles;
	u32 tile; /* items of one */
	gs_radix_tile *table;
	u32 *counts; /* per segment and digit place: counts of digits, then where each begins */
	gs_part *parts[2];
};

/* Where the leading digits begin in a key: so many of those in which keys differ; 0 if that leaves none out. */
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
