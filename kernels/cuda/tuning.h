/*
 * tuning.h: the shapes of all kernels of the scan family, in one table.
 *
 * A row: which primitive, bytes of an item (or key) and of a sum, threads that work (a service warp comes on top), 16-byte vectors
 * per thread (odd: no bank conflicts), blocks per multiprocessor, stages of the ring.
 * items per thread = 16 * vectors / item bytes.  The first row that fits is taken.  arch is the least compute capability
 * that a row's stages are meant for; devices with less shared memory get as many stages as fit, at least three.
 * `make -C bench/kernels sweep` measures other shapes.
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
	GS_T_REDUCE
};

struct gs_shape
{
	gs_tuned what;
	int arch, item, value; /* 0: any */
	int threads, vectors, blocks, stages;
	int delay, light, pause; /* ns, see lookback.cuh */
};

constexpr gs_shape gs_shapes[] = {
	/* what        arch item value threads vectors blocks stages delay light pause */
	{GS_T_SCAN,    90,  0,   0,    640,    5,      1,     4,     3000, 3000, 500},
	{GS_T_SELECT,  90,  1,   0,    640,    3,      1,     4,     2000, 2000, 300},
	{GS_T_SELECT,  90,  0,   0,    640,    5,      1,     4,     2500, 2000, 300},
	{GS_T_MASK,    90,  1,   0,    512,    3,      1,     4,     2000, 2000, 300},
	{GS_T_MASK,    90,  0,   0,    512,    5,      1,     4,     2000, 2000, 300},
	{GS_T_RUNS,    90,  1,   0,    512,    3,      1,     3,     2000, 1500, 300},
	{GS_T_RUNS,    90,  2,   0,    512,    3,      1,     4,     2000, 1500, 300},
	{GS_T_RUNS,    90,  0,   0,    512,    5,      1,     4,     2800, 1500, 300},
	{GS_T_LONG,    90,  0,   0,    256,    3,      1,     4,     1500, 1500, 300},
	{GS_T_REDUCE,  90,  4,   4,    512,    3,      1,     4,     2500, 1700, 300},
	{GS_T_REDUCE,  90,  8,   8,    320,    5,      1,     4,     2000, 2000, 300},
	{GS_T_REDUCE,  90,  4,   8,    384,    3,      1,     4,     2000, 1700, 300},
	{GS_T_REDUCE,  90,  8,   16,   320,    3,      1,     4,     2000, 1700, 300},
	{GS_T_REDUCE,  90,  0,   0,    256,    3,      1,     4,     2000, 1700, 300},
};

constexpr gs_shape
gs_shape_of(gs_tuned what, int item, int value)
{
	for (const gs_shape &s : gs_shapes)
		if (s.what == what && (s.item == 0 || s.item == item) && (s.value == 0 || s.value == value))
			return s;
	return gs_shapes[0];
}

#endif
