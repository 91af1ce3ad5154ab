/*
 * groups.cuh: what kernels over lists of steps read and write.
 *
 * The host plans a list once: how each value is read (gs_reading), terms as intervals of 64-bit codes, aggregates as
 * folds.  A fold adds values to its words in a table of slots, one for each group, by atomic operations.  A thread
 * takes a round of rows at a time: a value is read for all of them before it is used, so that their loads are in flight
 * together.
 */
#ifndef GS_CUDA_SCAN_GROUPS_CUH
#define GS_CUDA_SCAN_GROUPS_CUH

#include "../../groups.h"
#include "../base/compact.cuh"
#include "../base/memory.cuh"
#include "scan_ops.cuh"

#define GS_GROUP_THREADS 256
#define GS_GROUP_WARPS	 (GS_GROUP_THREADS / 32)
#define GS_GROUP_TILE	 8192 /* rows */
#define GS_GROUP_PER_SM	 8	  /* blocks, of kernels without tables in shared memory */
#define GS_MOST_FOLDS	 (GS_STEPS_MAX_AGGREGATES + GS_STEPS_MAX_KEYS + 1)

/* How a value is read. */
struct gs_reading
{
	u32 type; /* gs_type of a plain column; GS_BYTES: an expression */
	u32 column;
	u32 code, ncode; /* in the list */
	u64 columns; /* whose NULL makes the value NULL */
	u32 pair;	 /* GS_I32 or GS_I64: two columns are of it; of an expression, whose difference is the value; else 0 */
	u32 other;	 /* the second one */
	bool real;
};

/* Rows that pass a term. */
enum gs_term_way
{
	GS_TERM_NONE,
	GS_TERM_VALUES,	  /* all that are not NULL */
	GS_TERM_NULLS,	  /* those alone */
	GS_TERM_INTERVAL, /* codes low to low + span; outside: the others */
	GS_TERM_COLUMNS,  /* the value's two columns compare as the bits of low tell: GS_PAIR_ */
	GS_TERM_OTHER	  /* gs_term_passes tells */
};
#define GS_PAIR_LESS	1u
#define GS_PAIR_EQUAL	2u
#define GS_PAIR_GREATER 4u
#define GS_PAIR_NULLS	8u	/* both are NULL */
#define GS_PAIR_NULL	16u /* one is */

struct gs_quick_term
{
	gs_reading value;
	u32 way;
	u32 term; /* offset in the list */
	u64 low, span;
	bool outside;
};

/* What a fold adds up, in so many words and halves (of a word) of a slot. */
enum gs_fold_kind
{
	GS_FOLD_NONE,	  /* nothing: an aggregate of all values, or a number of rows */
	GS_FOLD_COUNT,
	GS_FOLD_SUM_REAL, /* a word */
	GS_FOLD_SUM,	  /* a word: sums of all rows fit 64 bits */
	GS_FOLD_SUM_WIDE, /* two: they fit 128 */
	GS_FOLD_SUM_MOST, /* three */
	GS_FOLD_CODE,	  /* a word: the greatest of 64-bit codes, for a minimum inverted ones */
	GS_FOLD_REAL,	  /* likewise of doubles, and a half: signs of zeros that were there */
	GS_FOLD_WIDE	  /* two words: likewise of 128-bit codes, and a half: a lock */
};

struct gs_fold
{
	gs_wide low; /* subtracted from a value, GS_FOLD_CODE */
	gs_reading value;
	u64 span;	  /* the greatest code */
	u64 flip;	  /* inverts codes */
	u32 kind;
	u32 terms, nterms;
	u32 word;  /* the first of its words */
	u32 count; /* the half that has the number of values; 0: that of rows */
	u32 mark;  /* the half with signs, or the lock */
	bool owns; /* it adds to its count: not every row has a value */
};

/* A list as kernels read it, in device memory. */
struct gs_lists
{
	gs_packed_keys keys;
	gs_reading key_values[GS_STEPS_MAX_KEYS];
	u32 key_folds[GS_STEPS_MAX_KEYS]; /* the minimum of a key that may be a zero, of which it tells the sign; 0: none */
	gs_fold folds[GS_MOST_FOLDS];	  /* the number of rows, aggregates, minima of keys */
	bool real_word[3 * GS_MOST_FOLDS]; /* words that begin as -0 */
	u32 nfolds, words, halves;
	u32 nterms; /* of the filter, the first terms */
	u32 ncolumns, nsegments, nkeys, naggregates;
	const gs_steps *steps;
	const gs_held *columns;
	const u64 *bases; /* numbers of the segments' first rows */
	const gs_quick_term *terms;
	const u64 *places; /* rows before each tile */
	const gs_span *tiles;
};

/* What an aggregate has: values, and their sum modulo 2^64 or the greatest of their codes (groups_proof.cu). */
struct gs_proved
{
	u64 n, x;
};

/* What kernels report.  Later kernels read the numbers, so that the host does not have to wait for them. */
struct gs_group_state
{
	u32 failed; /* of the two below */
	u32 zero;
	u64 count;	/* of what was found last */
	u64 groups; /* begins as 1 if keys have no bits */
	u64 runs;	/* of equal values */
};
#define GS_FAILED_OVERFLOW 1u
#define GS_FAILED_RANGE	   2u
#define GS_FAILED_PROOF	   4u

/* A table: word w of a slot is words[w * pitch + (slot << copies) + copy], halves likewise. */
struct gs_table
{
	u64 *words;
	u32 *halves;
	u64 pitch;
	u32 copies; /* log2 of how many a slot has */
	u32 copy;	/* the thread's */
	bool alone; /* no other thread has it */
};

/* A list in device memory, and what the host knows of it. */
struct gs_device_lists
{
	const gs_lists *lists;
	gs_lists *host;			/* a copy */
	gs_group_state *state;
	gs_table one; /* a table of one slot, of nothing; behind the state */
	gs_proved *proved; /* zeros: of rows, of groups, then (n) blocks that have added to these */
	const gs_steps *steps; /* the list in host memory */
	u64 ntiles, rows;
	u64 numbers; /* row numbers are less */
	u64 with_nulls; /* columns of which some segment has a bitmap */
	bool plain;		 /* gs_tile_places<false, ...> does for folds, */
	bool plain_terms; /* for all terms */
};

/* Sorted pairs of key and value, packed in one number, or (split) values first and keys second. */
struct gs_sorted
{
	const void *first, *second;
	u32 first_bytes, second_bytes; /* 4 or 8 */
	u32 key_bits, value_bits;
	bool split;
	bool zeros; /* values may be zeros of both signs: */
	u64 minus;	/* the code of -0, of which the next one is +0 */
	u64 n;
};

/* Arrays that sorts need, used by one after another. */
struct gs_sort_arrays
{
	void *first[2], *second[2];
	u64 *bits;	/* heads */
	u8 *passed; /* of each row, where pairs are in_order */
	u32 *starts;
	u32 *runs;
	void *temp;
	size_t temp_bytes;
};

/* What a sort is to order: packed keys with row numbers, or (values) with values of 0 to 64 bits. */
struct gs_sort_plan
{
	bool values, split;
	bool keys_only; /* orders by key alone; values go with them */
	u32 beside;		/* of packed keys, bits at the end that are in no order */
	bool all;		/* every row has a pair, even of NULLs */
	bool plain;	   /* gs_tile_places<false, ...> does */
	bool whole;	   /* there is a pair for each row */
	bool as_is;	   /* pairs stay in the order of rows, all of which have one: equal keys follow each other */
	bool in_order; /* pairs of the rows that pass stay in the order of rows */
	gs_reading value;
	gs_packed_key coding;
	u32 terms, nterms; /* that rows must pass as well */
	u32 key_bits, first_bytes, second_bytes; /* second: 0 if there is none */
};

/* groups_sort.cu */
gs_sort_plan gs_sort_rows_plan(u32 key_bits);
gs_sort_plan gs_sort_values_plan(const gs_reading &value, const gs_packed_key &coding, u32 terms, u32 nterms,
								 u32 key_bits);
gs_status gs_sort_pairs(gs_cuda_engine *e, const gs_device_lists *lists, gs_sort_plan plan,
						const gs_sort_arrays &arrays, gs_group_state *state, gs_sorted *sorted);
/*
 * Finds where keys begin, which have some bits, or (values) where values do.  The device gets their number.  starts
 * NULL: that alone.
 */
gs_status gs_sorted_starts(gs_cuda_engine *e, const gs_sorted &sorted, bool values, const gs_sort_arrays &arrays,
						   u32 *starts, u64 *count);
/* Finds slots in which there are rows, likewise. */
gs_status gs_used_slots(gs_cuda_engine *e, const gs_table &table, const gs_sort_arrays &arrays, u32 *slots,
						u64 *count);

/*
 * groups_values.cu: writes the results of aggregates (bits of a set) that need all values, of which sorted has all.
 * started: arrays.starts are those of the groups, which have values each.  groups: at most; the state has their number.
 */
gs_status gs_values_results(gs_cuda_engine *e, const gs_device_lists *lists, const gs_sorted &sorted,
							const gs_packed_key &coding, u64 set, const gs_sort_arrays &arrays, u64 *best,
							const u64 *keys, u64 groups, bool started, gs_reduced *out, gs_group_state *state);

/* groups_plan.cu */
gs_status gs_lists_plan(gs_lists *lists, const gs_steps *steps, const gs_range *ranges, u64 rows);
gs_status gs_value_coding(const gs_steps *steps, const gs_aggregate *aggregate, const gs_range *ranges,
						  gs_packed_key *coding);
gs_reading gs_reading_of(const gs_steps *steps, u32 code, u32 ncode);
/* Returns true if a value is a plain column of at most 8 bytes, or the difference of two that cannot overflow. */
static inline bool
gs_plain_value(const gs_reading &r)
{
	return (r.type != GS_BYTES || r.pair != 0) && r.type != GS_U128;
}
size_t gs_lists_bytes(const gs_lists *lists, const gs_steps *steps, const gs_held_rows *rows);
/* Uploads a planned list, its rows, a state and a table of one slot. */
gs_status gs_lists_upload(gs_cuda_engine *e, gs_lists *lists, const gs_steps *steps, const gs_held_rows *rows,
						  void *memory, gs_device_lists *out);

/* groups_fold.cu */
size_t gs_table_bytes(const gs_lists *lists, u64 slots);
gs_table gs_table_at(const gs_lists *lists, u64 slots, void *memory);
u64 gs_fold_shared_slots(const gs_cuda_engine *e, const gs_lists *lists);
gs_status gs_fold_clear(gs_cuda_engine *e, const gs_device_lists *lists, const gs_table &table);
gs_status gs_fold_tiles(gs_cuda_engine *e, const gs_device_lists *lists, const gs_table &table, bool shared,
						gs_group_state *state);
gs_status gs_fold_sorted(gs_cuda_engine *e, const gs_device_lists *lists, const gs_table &table, const u32 *rows,
						 const u32 *starts, u64 n, gs_group_state *state);
/*
 * Adds up sorted values, as coded.  room: gs_fold_long_groups(n) numbers.  groups: at most; the state has their number.
 */
gs_status gs_fold_carried(gs_cuda_engine *e, const gs_device_lists *lists, const gs_table &table,
						  const gs_sorted &sorted, const gs_packed_key &coding, const u32 *starts, u64 groups,
						  u32 *room, gs_group_state *state);
u64 gs_fold_long_groups(u64 n);

/* Numbers that gs_device_lists.proved has for each aggregate, or for row numbers. */
#define GS_PROVED(aggregates) (2 * ((aggregates) + 1) + 1)

/* Runs of cancels: waits, then asks the host. */
static inline gs_status
gs_group_poll(gs_cuda_engine *e)
{
	const gs_host *host = &e->head.host;

	GS_TRY(gs_sync(&e->head));
	return host->poll != NULL && host->poll(host->arg) ? GS_CANCELLED : GS_OK;
}

/* Waits for what kernels report. */
static inline gs_status
gs_group_found(gs_cuda_engine *e, const gs_group_state *state, gs_group_state *found)
{
	void *pinned = gs_staged_answer(e, NULL);

	GS_TRY(gs_download(&e->head, pinned != NULL ? pinned : found, state, sizeof(*found)));
	GS_TRY(gs_group_poll(e));
	if (pinned != NULL)
		*found = *(const gs_group_state *) pinned;
	return GS_OK;
}

/* Returns how many of n ascending numbers are less than x. */
template <class T>
__device__ __forceinline__ u64
numbers_below(const T *numbers, u64 n, u64 x)
{
	u64 low = 0;

	while (low < n)
	{
		const u64 middle = low + (n - low) / 2;

		if (numbers[middle] < x)
			low = middle + 1;
		else
			n = middle;
	}
	return low;
}

/* Returns the number at a place of an array of 4 or 8 bytes each. */
__device__ __forceinline__ u64
number_at(const void *numbers, u32 bytes, u64 i)
{
	return bytes == 4 ? ((const u32 *) numbers)[i] : ((const u64 *) numbers)[i];
}

/* Returns the key of a pair. */
__device__ __forceinline__ u64
key_at(const gs_sorted &s, u64 i)
{
	if (s.split)
		return number_at(s.second, s.second_bytes, i);
	return s.value_bits >= 64 ? 0 : number_at(s.first, s.first_bytes, i) >> s.value_bits;
}

/* Returns the value of a pair. */
__device__ __forceinline__ u64
value_at(const gs_sorted &s, u64 i)
{
	const u64 x = number_at(s.first, s.first_bytes, i);

	return s.split ? x : x & gs_mask(s.value_bits);
}

#endif
