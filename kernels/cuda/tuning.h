/*
 * tuning.h: the shapes of all kernels of the scan family, in one table.
 *
 * A row: which primitive, bytes of an item (or key) and of a sum, threads that work (a service warp comes on top),
 * 16-byte vectors per thread (odd: no bank conflicts), blocks per multiprocessor, stages of the ring. items per thread
 * = 16 * vectors / item bytes.  The first row that fits is taken.  Rows are for large devices, with 227 KB of shared
 * memory per block (sm_90, sm_100, sm_103), measured on an H200, or for all others: three stages in 64 KB, not
 * measured. A kernel has code only in the builds for its kind of device.  `make -C bench/kernels sweep` measures other
 * shapes.
 */
#ifndef GS_TUNING_H
#define GS_TUNING_H

enum gs_tuned
{
	GS_T_SCAN,
	GS_T_SELECT, /* by comparison, unique */
	GS_T_MASK,	 /* by flags */
	GS_T_RUNS,
	GS_T_LONG, /* runs of two items or more: twice the positions in shared memory */
	GS_T_REDUCE,
	GS_T_FEW /* reductions of so few items that a block has at most two tiles */
};

struct gs_shape
{
	gs_tuned what;
	bool small;
	int item, value; /* 0: any */
	int threads, vectors, blocks, stages;
	int delay, light, pause; /* ns, see lookback.cuh */
};

constexpr gs_shape gs_shapes[] = {
	/* what        small  item value threads vectors blocks stages delay light pause */
	{GS_T_SCAN,    false, 0,   0,    640,    5,      1,     4,     3000, 3000, 500},
	{GS_T_SELECT,  false, 1,   0,    640,    3,      1,     4,     2000, 2000, 300},
	{GS_T_SELECT,  false, 0,   0,    640,    5,      1,     4,     2500, 2000, 300},
	{GS_T_MASK,    false, 1,   0,    512,    3,      1,     4,     2000, 2000, 300},
	{GS_T_MASK,    false, 0,   0,    512,    5,      1,     4,     2000, 2000, 300},
	{GS_T_RUNS,    false, 1,   0,    512,    3,      1,     3,     2000, 1500, 300},
	{GS_T_RUNS,    false, 2,   0,    512,    3,      1,     4,     2000, 1500, 300},
	{GS_T_RUNS,    false, 0,   0,    512,    5,      1,     4,     2800, 1500, 300},
	{GS_T_LONG,    false, 0,   0,    256,    3,      1,     4,     1500, 1500, 300},
	{GS_T_REDUCE,  false, 4,   4,    512,    3,      1,     4,     2500, 1700, 300},
	{GS_T_REDUCE,  false, 8,   8,    320,    5,      1,     4,     2000, 2000, 300},
	{GS_T_REDUCE,  false, 4,   8,    384,    3,      1,     4,     2000, 1700, 300},
	{GS_T_REDUCE,  false, 8,   16,   320,    3,      1,     4,     2000, 1700, 300},
	{GS_T_REDUCE,  false, 0,   0,    256,    3,      1,     4,     2000, 1700, 300},
	{GS_T_FEW,     false, 8,   8,    448,    5,      1,     3,     0,    0,    0},
	{GS_T_SCAN,    true,  0,   0,    256,    5,      1,     3,     1000, 1000, 300},
	{GS_T_SELECT,  true,  1,   0,    256,    3,      1,     3,     1000, 1000, 300},
	{GS_T_SELECT,  true,  0,   0,    256,    5,      1,     3,     1000, 1000, 300},
	{GS_T_MASK,    true,  1,   0,    192,    3,      1,     3,     1000, 1000, 300},
	{GS_T_MASK,    true,  0,   0,    256,    3,      1,     3,     1000, 1000, 300},
	{GS_T_RUNS,    true,  1,   0,    128,    3,      1,     3,     1000, 1000, 300},
	{GS_T_RUNS,    true,  2,   0,    192,    3,      1,     3,     1000, 1000, 300},
	{GS_T_RUNS,    true,  0,   0,    256,    3,      1,     3,     1000, 1000, 300},
	{GS_T_LONG,    true,  1,   0,    64,     3,      1,     3,     1000, 1000, 300},
	{GS_T_LONG,    true,  0,   0,    128,    3,      1,     3,     1000, 1000, 300},
	{GS_T_REDUCE,  true,  4,   4,    192,    3,      1,     3,     1000, 1000, 300},
	{GS_T_REDUCE,  true,  8,   8,    192,    3,      1,     3,     1000, 1000, 300},
	{GS_T_REDUCE,  true,  4,   8,    128,    3,      1,     3,     1000, 1000, 300},
	{GS_T_REDUCE,  true,  8,   16,   128,    3,      1,     3,     1000, 1000, 300},
	{GS_T_REDUCE,  true,  0,   0,    64,     3,      1,     3,     1000, 1000, 300},
};

constexpr gs_shape
gs_shape_of(gs_tuned what, bool small, int item, int value)
{
	for (const gs_shape &s : gs_shapes)
		if (s.what == what && s.small == small && (s.item == 0 || s.item == item) && (s.value == 0 || s.value == value))
			return s;
	return gs_shapes[0];
}

#endif
