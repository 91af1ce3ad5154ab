/*
 * sm_80.h: A100, A30, Orin (sm_80, sm_87).  163 KB of shared memory per block, 164 per multiprocessor, 2048 threads.
 * Not measured on such a GPU; the rows compiled for an H200 were (doc/sort-kernels.md, "Other GPUs").  An A100 has
 * three quarters of an H200's bandwidth per multiprocessor and cycle, so the shapes are those of sm_90, with fewer
 * items where they do not fit.  Digits of 10 bits would leave room for runs of only 10 words.
 */
#ifndef GS_SM_80_H
#define GS_SM_80_H

#include "sm_75.h"

/* The row.  A function, since it copies a block of another row. */
constexpr gs_tuning
gs_make_sm_80()
{
	gs_tuning t = {
		80,
		163,
		128,
		4,
		/*
		 * those of sm_90 with fewer items or warps where they do not fit; measured on an H200 in
		 * bench/results/rows.txt.  Keys of 4 bytes take 3.60 ms at 2^28; 768 x 31, with 24 bytes spilled, 3.51
		 * (doc/sort-kernels.md, "Spilled registers").
		 */
		{
			/* bits in value threads items */
			{9, GS_WORDS, 0, 768, 17},
			{9, GS_COLUMN8, 0, 768, 17},
			{9, GS_COLUMN4, 0, 768, 17},
			{8, GS_WORDS, 0, 640, 25},
			{8, GS_COLUMN8, 0, 640, 25},
			{8, GS_COLUMN4, 0, 640, 25},
			{8, GS_KEYS8, 0, 640, 25},
			{8, GS_KEYS8, 4, 640, 15},
			{8, GS_KEYS8, 8, 640, 11},
			{8, GS_KEYS4, 0, 640, 31},
			{8, GS_KEYS4, 8, 640, 15},
			{8, GS_PAIRS4, 0, 640, 25},
		},
		{384, 16, 4608, 2}, /* 142 of 164 KB */
		/* those of sm_90, with as many blocks as 164 KB hold; in rows.txt with keys and pairs of 4 bytes */
		{
			/* words large threads window bins blocks */
			{GS_PART_CODES, false, 256, 20, 20, 3},
			{GS_PART_NEAR, false, 256, 20, 20, 3},
			{GS_PART_FAR, false, 256, 18, 12, 2},
			{GS_PART_CODES, true, 1024, 20, 20, 1},
			{GS_PART_NEAR, true, 768, 20, 20, 1},
			{GS_PART_FAR, true, 768, 18, 12, 1},
		},
		/* those of sm_90, with as many blocks as 164 KB hold.  Not timed. */
		{
			/* key threads items blocks */
			{4, 256, 23, 2},
			{8, 256, 19, 2},
			{16, 256, 15, 1},
			{24, 128, 15, 2},
			{32, 128, 15, 2},
		},
		{},
	};

	/*
	 * those of sm_75, of which 164 KB hold two blocks: three stages each, where one block of sm_90 has four.  Not
	 * timed.
	 */
	for (int i = 0; i < GS_SCAN_SHAPES; i++)
		t.scan[i] = gs_sm_75.scan[i];
	return t;
}

constexpr gs_tuning gs_sm_80 = gs_make_sm_80();

#endif
