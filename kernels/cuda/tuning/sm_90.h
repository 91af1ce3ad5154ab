/*
 * sm_90.h: H100, H200.  227 KB of shared memory per block, 228 per multiprocessor, 2048 threads.  Measured on an H200
 * (doc/kernels.md, doc/sort-kernels.md): `make -C bench/kernels sweep` for the scan family, throw-away sweeps for the
 * others.
 */
#ifndef GS_SM_90_H
#define GS_SM_90_H

#include "shapes.h"

constexpr gs_tuning gs_sm_90 = {
	90,
	227,
	128, /* 32 copies of the digits of 4-byte keys, 16 of 8-byte ones */
	4,
	/*
	 * Single passes of 2^28 in throw-away sweeps: doc/sort-kernels.md, "What was learned" (10 bits 640 x 24 against 512
	 * x 32, 9 bits 896 x 17, 8 bits 640 x 25, keys with values in less shared memory).  Keys of 4 bytes were measured
	 * again, 768 x 31 against three others: "Spilled registers", bench/results/sort_spills-h200.txt.
	 */
	{
		/* bits in value threads items */
		{10, GS_WORDS, 0, 640, 24},
		{10, GS_COLUMN8, 0, 640, 24},
		{10, GS_COLUMN4, 0, 640, 24},
		{9, GS_WORDS, 0, 896, 17},
		{9, GS_COLUMN8, 0, 896, 17},
		{9, GS_COLUMN4, 0, 896, 17},
		{8, GS_WORDS, 0, 640, 25},
		{8, GS_COLUMN8, 0, 640, 25},
		{8, GS_COLUMN4, 0, 640, 35},
		{8, GS_KEYS8, 0, 640, 25},
		{8, GS_KEYS8, 4, 640, 17},
		{8, GS_KEYS8, 8, 768, 13},
		{8, GS_KEYS4, 0, 768, 31},
		{8, GS_KEYS4, 8, 640, 18},
		{8, GS_PAIRS4, 0, 640, 25},
	},
	/*
	 * 2^28 rows 1.56 ms; 512 x 16 and 6144 bins, two blocks 1.62, 10240 bins 0.2 more; 256 x 16, four blocks 1.54 to
	 * 1.57
	 */
	{384, 16, 4608, 3},
	/*
	 * Short buckets: with other shapes, 224 to 512 threads and windows of 10 to 20, segments took up to 6 % more or
	 * less (doc/sort-kernels.md, "Segments").  Long ones were not swept: one block per multiprocessor, with room for
	 * 20480, 15360 and 13824 words; the tables there have their times.
	 */
	{
		/* words large threads window bins blocks */
		{GS_PART_CODES, false, 256, 20, 20, 4},
		{GS_PART_NEAR, false, 256, 20, 20, 3},
		{GS_PART_FAR, false, 256, 18, 12, 3},
		{GS_PART_CODES, true, 1024, 20, 20, 1},
		{GS_PART_NEAR, true, 768, 20, 20, 1},
		{GS_PART_FAR, true, 768, 18, 12, 1},
	},
	/*
	 * bench/results/merge-shapes-h200.txt: pairs of 8-byte keys 22.24 ms at 2^28, 128 to 512 threads with 15 to 31
	 * items 22.6 to 26; keys of 16 bytes 36.17, others 36.4 to 46.5.  Keys of 4, 24 and 32 bytes are not in it; their
	 * shapes derive from these, with no more items for longer keys.
	 */
	{
		/* key threads items blocks */
		{4, 256, 23, 3},
		{8, 256, 19, 3},
		{16, 256, 15, 2},
		{24, 128, 15, 3},
		{32, 128, 15, 2},
	},
	/*
	 * `make -C bench/kernels sweep` tries others; bench/results/kernels.json has the times of these.  One block with
	 * tiles of some 40 KB, four stages and pauses: doc/kernels.md, "What it took to be fast".
	 */
	{
		/* what       item value threads vectors blocks stages delay light pause */
		{GS_T_SCAN,   0,   0,    640,    5,      1,     4,     3000, 3000, 500},
		{GS_T_SELECT, 1,   0,    640,    3,      1,     4,     2000, 2000, 300},
		{GS_T_SELECT, 0,   0,    640,    5,      1,     4,     2500, 2000, 300},
		{GS_T_MASK,   1,   0,    512,    3,      1,     4,     2000, 2000, 300},
		{GS_T_MASK,   0,   0,    512,    5,      1,     4,     2000, 2000, 300},
		{GS_T_RUNS,   1,   0,    512,    3,      1,     3,     2000, 1500, 300},
		{GS_T_RUNS,   2,   0,    512,    3,      1,     4,     2000, 1500, 300},
		{GS_T_RUNS,   0,   0,    512,    5,      1,     4,     2800, 1500, 300},
		{GS_T_LONG,   0,   0,    256,    3,      1,     4,     1500, 1500, 300},
		{GS_T_REDUCE, 4,   4,    512,    3,      1,     4,     2500, 1700, 300},
		{GS_T_REDUCE, 8,   8,    320,    5,      1,     4,     2000, 2000, 300},
		{GS_T_REDUCE, 4,   8,    384,    3,      1,     4,     2000, 1700, 300},
		{GS_T_REDUCE, 8,   16,   320,    3,      1,     4,     2000, 1700, 300},
		{GS_T_REDUCE, 0,   0,    256,    3,      1,     4,     2000, 1700, 300},
		{GS_T_FEW,    8,   8,    448,    5,      1,     3,     0,    0,    0},
	},
};

#endif
