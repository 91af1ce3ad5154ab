/*
 * sm_75.h: T4, RTX 20, Quadro RTX.  64 KB of shared memory per block and per multiprocessor, 1024 threads.  Not
 * measured on such a GPU; the rows compiled for an H200 were (doc/sort-kernels.md, "Other GPUs").  A multiprocessor has
 * 5 bytes of memory bandwidth per cycle where an H200's has 18.  Fewer warps therefore suffice, and one block with all
 * shared memory is best: tiles should be as large as possible, since the runs that a pass writes are tile / bins long.
 *  12 warps leave 49 KB for words.  Digits of 9 bits would leave runs of 60 bytes.  Where it causes no spills, passes
 * use at most the registers of two blocks, 85 per thread; an H200 then runs two blocks.  Values are read late: kept in
 * shared memory, they left tiles of 2688 to 3456 items.
 */
#ifndef GS_SM_75_H
#define GS_SM_75_H

#include "shapes.h"

constexpr gs_tuning gs_sm_75 = {
	75,
	64,
	32,
	4,
	/*
	 * Reasons above; measured on an H200 in bench/results/rows.txt (doc/sort-kernels.md, "Other GPUs"), values read
	 * late in bench/results/sort_radix-late-h100.txt.
	 */
	{
		/* bits in value threads items blocks late */
		{8, GS_WORDS, 0, 384, 15, 2},
		{8, GS_COLUMN8, 0, 384, 15, 2},
		{8, GS_COLUMN4, 0, 384, 15, 2},
		{8, GS_KEYS8, 0, 384, 15, 2},
		{8, GS_KEYS8, 4, 352, 13, 2, true},
		{8, GS_KEYS8, 8, 352, 13, 2, true},
		{8, GS_KEYS4, 0, 384, 31, 1},
		{8, GS_KEYS4, 8, 384, 19, 2, true},
		{8, GS_PAIRS4, 0, 384, 15, 2},
	},
	/* on an H200 as fast as the larger one (sm_90.h) */
	{256, 16, 3072, 1},
	/* those of sm_90 for short buckets, of which 64 KB hold one block; in rows.txt with keys and pairs of 4 bytes */
	{
		/* words large threads window bins blocks; all digits sort longer buckets */
		{GS_PART_CODES, false, 256, 20, 20, 1},
		{GS_PART_NEAR, false, 256, 20, 20, 1},
		{GS_PART_FAR, false, 256, 18, 12, 1},
	},
	/* what fits with 8-byte values beside 32-byte keys, for all keys.  Not timed. */
	{
		/* key threads items blocks */
		{4, 128, 11, 4},
		{8, 128, 11, 4},
		{16, 128, 11, 4},
		{24, 128, 11, 4},
		{32, 128, 11, 4},
	},
	/* three stages, the minimum, in 62 KB.  Not timed, nor are the pauses. */
	{
		/* what       item value threads vectors blocks stages delay light pause */
		{GS_T_SCAN,   0,   0,    256,    5,      1,     3,     1000, 1000, 300},
		{GS_T_SELECT, 1,   0,    256,    3,      1,     3,     1000, 1000, 300},
		{GS_T_SELECT, 0,   0,    256,    5,      1,     3,     1000, 1000, 300},
		{GS_T_MASK,   1,   0,    192,    3,      1,     3,     1000, 1000, 300},
		{GS_T_MASK,   0,   0,    256,    3,      1,     3,     1000, 1000, 300},
		{GS_T_RUNS,   1,   0,    128,    3,      1,     3,     1000, 1000, 300},
		{GS_T_RUNS,   2,   0,    192,    3,      1,     3,     1000, 1000, 300},
		{GS_T_RUNS,   0,   0,    256,    3,      1,     3,     1000, 1000, 300},
		{GS_T_LONG,   1,   0,    64,     3,      1,     3,     1000, 1000, 300},
		{GS_T_LONG,   0,   0,    128,    3,      1,     3,     1000, 1000, 300},
		{GS_T_REDUCE, 4,   4,    192,    3,      1,     3,     1000, 1000, 300},
		{GS_T_REDUCE, 8,   8,    192,    3,      1,     3,     1000, 1000, 300},
		{GS_T_REDUCE, 4,   8,    128,    3,      1,     3,     1000, 1000, 300},
		{GS_T_REDUCE, 8,   16,   128,    3,      1,     3,     1000, 1000, 300},
		{GS_T_REDUCE, 0,   0,    64,     3,      1,     3,     1000, 1000, 300},
		{GS_T_FEW,    8,   8,    192,    3,      1,     3,     0,    0,    0},
	},
};

#endif
