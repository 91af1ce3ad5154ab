/*
 * windows.cuh: a list with windows on a device (windows.cu), and how kernels find a row's partition, peers and frame.
 *
 * Rows lie in order, as columns.  Where partitions, peers or runs begin, a bit is set.  With the number of bits before
 * each word, and the places of all set bits, a row finds the stretch that it lies in by two loads, so that functions
 * have no need to look at the rows between.
 */
#ifndef GS_CUDA_SCAN_WINDOWS_CUH
#define GS_CUDA_SCAN_WINDOWS_CUH

#include "groups_state.cuh"

#define GS_NO_PLACE UINT32_MAX
#define GS_LOWER_WORDS 3 /* of orders, at most */

/* Bits of rows, for n + 1 rows at least, and how many are set before each word of 32. */
struct gs_ranked
{
	u32 *bits, *before;
};

/* Stretches of rows: a bit is set where one begins; their places, then the number of rows. */
struct gs_stretches
{
	gs_ranked heads;
	u32 *starts;
};

/* A column of rows in order. */
struct gs_ordered_column
{
	void *values;
	u32 *nulls; /* NULL: there are none */
	gs_type type;
	bool counted; /* there are numbers of NULLs */
	gs_ranked null_counts;
};

/* Rows in order. */
struct gs_ordered
{
	u64 n;
	const u32 *rows; /* their numbers in the source; NULL: keys tell all columns */
	const void *high; /* their keys: the partition's is the upper part, */
	u32 high_bytes;
	u32 order_bits;	/* so many bits are the orders' and what is behind those, */
	u32 beside;		/* and so many what is behind the orders: columns that are told, in no order */
	bool apart;		/* each row is its only peer, which keys do not tell */
	const void *low[GS_LOWER_WORDS]; /* those orders that had no room, where peers are asked for; else NULL */
	u32 low_bytes[GS_LOWER_WORDS];
	gs_stretches partitions, peers;
};

/* Orders that have no room in the words before. */
struct gs_lower_word
{
	gs_lists lists;
	gs_device_lists device;
};

struct cuda_windows
{
	cuda_groups g; /* of the list before: a filter, whose rows are numbered by the keys */
	const gs_steps *steps;
	const gs_window_step *step;
	gs_steps *before_steps, *after_steps;
	gs_range ranges[GS_STEPS_MAX_COLUMNS];
	gs_type types[GS_STEPS_MAX_COLUMNS];
	u64 columns; /* of the source, that are put in order, */
	u64 taken;	 /* and those that steps behind take */
	u64 apart[GS_STEPS_MAX_COLUMNS]; /* how far a column's values are known to be apart, or 1 */
	bool placed;  /* rows come in the only order, of which there is no column */
	bool as_is;	  /* rows lie in the last order as they come */
	u32 unsorted; /* bits at the end of the last word that rows are not sorted by */
	bool told;	  /* one word has all keys, and tells all columns */
	gs_lower_word lower[GS_LOWER_WORDS]; /* most significant first */
	u32 nlower;
	gs_ordered rows;
	gs_ordered_column ordered[GS_STEPS_MAX_COLUMNS];
	u64 longest; /* rows of a partition; 0: not asked yet */
};

/* Returns how many bits are set before a row. */
__device__ __forceinline__ u32
ranked_before(const gs_ranked &r, u64 row)
{
	return r.before[row / 32] + __popc(r.bits[row / 32] & ((1u << row % 32) - 1));
}

/* Returns the number of the stretch that a row lies in. */
__device__ __forceinline__ u32
stretch_of(const gs_ranked &r, u64 row)
{
	return r.before[row / 32] + __popc(r.bits[row / 32] & ((2u << row % 32) - 1)) - 1;
}

/* Rows [begin, end). */
struct gs_rows_between
{
	u64 begin, end;
};

/* Returns the stretch that a row lies in. */
__device__ __forceinline__ gs_rows_between
between(const gs_stretches &s, u64 row)
{
	const u32 k = stretch_of(s.heads, row);

	return {s.starts[k], s.starts[k + 1]};
}

/* A frame as kernels read it. */
struct gs_frame_args
{
	gs_stretches partitions, peers;
	u32 frame;
	i64 from, to;
};

/* Returns a place in a partition that is some rows from one, or its end. */
__device__ __forceinline__ u64
frame_place(const gs_rows_between &p, u64 row, i64 rows)
{
	const i64 at = (i64) row + rows;

	return at < (i64) p.begin ? p.begin : at > (i64) p.end ? p.end : (u64) at;
}

/* Returns the frame of a row. */
__device__ __forceinline__ gs_rows_between
frame_of(const gs_frame_args &f, u64 row)
{
	gs_rows_between p = between(f.partitions, row);

	if (f.frame == GS_FRAME_PEERS)
		p.end = between(f.peers, row).end;
	if (f.frame != GS_FRAME_ROWS)
		return p;

	const u64 a = f.from == GS_FRAME_FIRST ? p.begin : frame_place(p, row, f.from);
	const u64 b = f.to == GS_FRAME_LAST ? p.end : frame_place(p, row, f.to + 1);

	return {a, b < a ? a : b};
}

/* Returns true if all frames of a partition begin with its first row. */
static inline bool
gs_from_first(const gs_window_function *f)
{
	return f->frame != GS_FRAME_ROWS || f->from == GS_FRAME_FIRST;
}

/* Returns a value's code. */
__device__ __forceinline__ gs_wide
code_at(const gs_ordered_column &c, u64 row)
{
	return gs_scalar_code(gs_column_scalar(c.type, c.values, row), gs_type_is_float(c.type));
}

/* Returns true if a row is NULL. */
__device__ __forceinline__ bool
null_at(const gs_ordered_column &c, u64 row)
{
	return c.nulls != NULL && (c.nulls[row / 32] >> row % 32 & 1);
}

/* Writes a bit for each row of a warp, which has 32 neighbouring ones. */
__device__ __forceinline__ void
put_row_bits(u32 *bits, u64 row, bool set)
{
	const u32 word = __ballot_sync(GS_ALL_LANES, set);

	if (lane_id() == 0)
		bits[row / 32] = word;
}

/* Returns the rows, in whole words, of arrays of bits that have a bit behind the last row. */
GS_BOTH u64
gs_bit_rows(u64 n)
{
	return (n / 32 + 1) * 32;
}

/* Returns the bytes of an array of bits, of whole 64-bit words. */
static inline u64
gs_bit_bytes(u64 n)
{
	return (n / 64 + 1) * 8;
}

#define GS_EACH_ORDERED(row, end)                                                                                      \
	for (u64 row = blockIdx.x * (u64) blockDim.x + threadIdx.x; row < (end); row += (u64) gridDim.x * blockDim.x)

/* Returns the grid of a kernel that takes a row a thread. */
static inline u32
gs_rows_grid(const cuda_windows *w)
{
	return gs_cuda_grid(w->g.e, gs_bit_rows(w->rows.n), GS_GROUP_THREADS, GS_GROUP_PER_SM);
}

/* windows_facts.cu: looks at rows for what their keys can do without.  found: there is something. */
gs_status gs_windows_look(cuda_windows *w, bool *found);

/* windows_order.cu: returns true if some function has to know peers. */
bool gs_windows_peers(const cuda_windows *w);
/* Measures the arrays that all takes together, at most. */
gs_status gs_windows_measure(cuda_windows *w);
/* Puts rows in order, finds where partitions and peers begin, and puts columns in order. */
gs_status gs_windows_order(cuda_windows *w, const gs_held_rows *rows);

/* windows_stretches.cu: finds partitions, and peers if some function has to know them. */
gs_status gs_windows_stretches(cuda_windows *w);
/* Counts the bits before each word. */
gs_status gs_windows_rank(cuda_windows *w, gs_ranked *r);
/* Finds how many rows the longest partition has. */
gs_status gs_windows_longest(cuda_windows *w);

/* windows_values.cu: computes a function's column. */
gs_status gs_windows_compute(cuda_windows *w, u32 function);

/* windows_sums.cu: computes sums, and finds the places of extremes for frames that begin with the partition. */
gs_status gs_windows_sums(cuda_windows *w, u32 function);
gs_status gs_windows_extremes(cuda_windows *w, const gs_window_function *f, u32 **places);

/* windows_values.cu: what a function's frame is for kernels. */
gs_frame_args gs_windows_frame(const cuda_windows *w, const gs_window_function *f);
/* Has the NULLs of a column counted before each word. */
gs_status gs_windows_count_nulls(cuda_windows *w, u32 column);

#endif
