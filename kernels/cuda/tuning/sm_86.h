/*
 * sm_86.h: A10, A40, L4, L40, RTX 30 and 40 (sm_86, sm_89).  99 KB of shared memory per block, 100 per multiprocessor,
 * 1536 threads.  Not measured on such a GPU; the rows compiled for an H200 were (doc/sort-kernels.md, "Other GPUs").
 *  These GPUs have 4 to 8 bytes of memory bandwidth per multiprocessor and cycle where an H200 has 18, so bytes count,
 * not instructions. Hence one block with all shared memory, and digits of 9 bits for row orders, two per thread: a
 * saved pass is worth more than runs of 300 bytes instead of 126.  Registers of two blocks where that causes no spills,
 * as in sm_75.h.
 */
#ifndef GS_SM_86_H
#define GS_SM_86_H

#include "sm_75.h"

/* The row.  A function, since it copies a block of another row. */
constexpr gs_tuning
gs_make_sm_86()
{
	gs_tuning t = {
		86,
		99,
		64,
		4,
		/*
		 * Reasons above; measured on an H200 in bench/results/rows.txt and sort_sample-h200.txt, keys and pairs in
		 * other shapes in sort_spills-h200.txt (doc/sort-kernels.md, "Other GPUs" and "Spilled registers").
		 */
		{
			/* bits in value threads items blocks */
			{9, GS_WORDS, 0, 384, 21, 2},
			{9, GS_COLUMN8, 0, 384, 21, 2},
			{9, GS_COLUMN4, 0, 384, 21, 2},
			{8, GS_WORDS, 0, 384, 25, 2},
			{8, GS_COLUMN8, 0, 384, 21, 2},
			{8, GS_COLUMN4, 0, 384, 25, 2},
			{8, GS_KEYS8, 0, 384, 19, 2}, /* 2^28 8.22 ms; 384 x 21 8.74, one block 9.43 */
			{8, GS_KEYS8, 4, 384, 15, 2},
			{8, GS_KEYS8, 8, 384, 11, 2},
			{8, GS_KEYS4, 0, 384, 35, 1},
			{8, GS_KEYS4, 8, 384, 15, 2}, /* 2^28 10.22 ms; 512 x 11 10.20, 256 x 23 10.10 */
			{8, GS_PAIRS4, 0, 384, 19, 2},
		},
		/* two blocks in 100 KB; on an H200 as fast as the larger one (sm_90.h) */
		{256, 16, 3072, 2},
		/*
		 * Short buckets: those of sm_90, with as many blocks as 100 KB hold; long ones: as many threads as have room
		 * for their windows, one block.  In rows.txt with keys and pairs of 4 bytes.
		 */
		{
			/* words large threads window bins blocks */
			{GS_PART_CODES, false, 256, 20, 20, 2},
			{GS_PART_NEAR, false, 256, 20, 20, 2},
			{GS_PART_FAR, false, 256, 18, 12, 1},
			{GS_PART_CODES, true, 512, 20, 20, 1},
			{GS_PART_NEAR, true, 512, 20, 20, 1},
			{GS_PART_FAR, true, 384, 18, 12, 1},
		},
		/* those of sm_90 with one block; keys of 16 bytes with values of 8 would take 100 KB there.  Not timed. */
		{
			/* key threads items blocks */
			{4, 256, 23, 1},
			{8, 256, 19, 1},
			{16, 256, 13, 1},
			{24, 128, 15, 1},
			{32, 128, 15, 1},
		},
		{},
	};

	/* those of sm_75: the scan family is bound by memory, and these keep 20 KB in flight.  Not timed. */
	for (int i = 0; i < GS_SCAN_SHAPES; i++)
		t.scan[i] = gs_sm_75.scan[i];
	return t;
}

constexpr gs_tuning gs_sm_86 = gs_make_sm_86();

#endif
