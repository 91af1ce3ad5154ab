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
	u64 columns;	 /* whose NULL makes the value NULL */
	bool real;
};

/* Rows that pass a term. */
enum gs_term_way
{
	GS_TERM_NONE,
	GS_TERM_VALUES,	  /* all that are not NULL */
	GS_TERM_NULLS,	  /* those alone */
	GS_TERM_INTERVAL, /* codes low to low + span; outside: the others */
	GS_TERM_OTHER	  /* gs_term_passes tells */
};

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
/* Returns true if a value is a plain column of at most 8 bytes. */
static inline bool
gs_plain_value(const gs_reading &r)
{
	return r.type != GS_BYTES && r.type != GS_U128;
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

/* The rows of a thread's round, anywhere. */
struct gs_places
{
	static constexpr u32 ROWS = 4;
	static constexpr bool ANY = true;
	const gs_held *columns[ROWS];
	u32 row[ROWS];

	/* Returns the columns of a row of the round. */
	__device__ __forceinline__ const gs_held *
	columns_of(u32 j) const
	{
		return columns[j];
	}

	__device__ __forceinline__ u32
	row_of(u32 j) const
	{
		return row[j];
	}
};

/*
 * The rows of a thread's round in a tile, whose columns lie in one place.  Not any_value: values are plain columns of
 * at most 8 bytes, terms are intervals of them or tests for NULL, so that there are no calls and no wide values.
 */
template <bool any_value, u32 threads> struct gs_tile_places
{
	static constexpr u32 ROWS = 4, THREADS = threads;
	static constexpr bool ANY = any_value;
	const gs_held *columns;
	u32 first;

	/* Returns the columns, which all rows have. */
	__device__ __forceinline__ const gs_held *
	columns_of(u32) const
	{
		return columns;
	}

	/* in 64 bits, so that rows are at constant distances from the first */
	__device__ __forceinline__ u64
	row_of(u32 j) const
	{
		return (u64) first + j * THREADS;
	}
};

#define GS_EACH_ROW(P, j) _Pragma("unroll") for (u32 j = 0; j < P::ROWS; j++)

/* Clears the bits of rows that are NULL in one of some columns. */
template <class P>
__device__ __forceinline__ u32
rows_not_null(const P &p, u32 mask, u64 columns)
{
	for (; columns != 0; columns &= columns - 1)
	{
		const u32 c = (u32) __ffsll((long long) columns) - 1;

		GS_EACH_ROW(P, j)
			if ((mask >> j & 1) && gs_held_null(p.columns_of(j) + c, p.row_of(j)))
				mask &= ~(1u << j);
	}
	return mask;
}

/* Loads a column's values: integers with their sign, or the bits of doubles. */
template <class T, class P>
__device__ __forceinline__ void
load_rows(const P &p, u32 mask, u32 column, u64 (&lo)[P::ROWS])
{
	T x[P::ROWS];

	GS_EACH_ROW(P, j)
		if (mask >> j & 1)
			x[j] = ((const T *) p.columns_of(j)[column].values)[p.row_of(j)];
	GS_EACH_ROW(P, j)
		if (mask >> j & 1)
			lo[j] = std::is_floating_point<T>::value ? gs_real_bits((double) x[j]) : (u64) (i64) x[j];
}

/* Loads integers of 128 bits, which may be aligned to 8 bytes only. */
template <class P>
__device__ __forceinline__ void
load_wide_rows(const P &p, u32 mask, u32 column, u64 (&lo)[P::ROWS], u64 (&hi)[P::ROWS])
{
	GS_EACH_ROW(P, j)
		if (mask >> j & 1)
		{
			const u64 *x = (const u64 *) p.columns_of(j)[column].values + 2 * (u64) p.row_of(j);

			lo[j] = x[0];
			hi[j] = x[1];
		}
}

/* Computes an expression for a row.  A call, so that the arrays of a round stay in registers. */
__device__ __noinline__ static u128
compute_row(const gs_steps *steps, u32 code, u32 ncode, bool real, const gs_held *columns, u32 row, bool &good)
{
	gs_scalar v = {0, 0};

	good = gs_code_value(steps, (const gs_instruction *) gs_steps_at(steps, code), ncode, columns, row, &v);
	if (real)
		return {gs_real_bits(v.real), 0};
	return {(u64) (gs_unsigned_wide) v.integer, (u64) ((gs_unsigned_wide) v.integer >> 64)};
}

/* Computes an expression for each row.  Clears the bits of rows for which a result leaves its range. */
template <class P>
__device__ __forceinline__ u32
compute_rows(const gs_lists &l, const gs_reading &r, const P &p, u32 mask, u64 (&lo)[P::ROWS],
			 u64 (&hi)[P::ROWS], u32 &failed)
{
	GS_EACH_ROW(P, j)
		if (mask >> j & 1)
		{
			bool good;
			const u128 x = compute_row(l.steps, r.code, r.ncode, r.real, p.columns_of(j), (u32) p.row_of(j), good);

			lo[j] = x.lo;
			hi[j] = x.hi;
			if (!good)
			{
				failed |= GS_FAILED_OVERFLOW;
				mask &= ~(1u << j);
			}
		}
	return mask;
}

/* Returns the upper half of a plain column's value of at most 8 bytes. */
__device__ __forceinline__ u64
upper_half(const gs_reading &r, u64 lo)
{
	return r.real || r.type == GS_U64 ? 0 : (u64) ((i64) lo >> 63);
}

/*
 * Reads the values of rows: integers in two halves, or the bits of doubles.  Returns the rows that have one.  Without
 * P::ANY the upper halves are left to upper_half.
 */
template <class P>
__device__ __forceinline__ u32
read_rows(const gs_lists &l, const gs_reading &r, const P &p, u32 mask, u64 (&lo)[P::ROWS],
		  u64 (&hi)[P::ROWS], u32 &failed)
{
	mask = rows_not_null(p, mask, r.columns);
	switch (r.type)
	{
		case GS_U8:
			load_rows<u8>(p, mask, r.column, lo);
			break;
		case GS_U16:
			load_rows<u16>(p, mask, r.column, lo);
			break;
		case GS_I16:
			load_rows<int16_t>(p, mask, r.column, lo);
			break;
		case GS_U32:
			load_rows<u32>(p, mask, r.column, lo);
			break;
		case GS_I32:
			load_rows<i32>(p, mask, r.column, lo);
			break;
		case GS_I64:
		case GS_U64:
			load_rows<u64>(p, mask, r.column, lo);
			break;
		case GS_F32:
			load_rows<float>(p, mask, r.column, lo);
			break;
		case GS_F64:
			load_rows<double>(p, mask, r.column, lo);
			break;
		case GS_U128:
			if constexpr (P::ANY)
				load_wide_rows(p, mask, r.column, lo, hi);
			return mask;
		default:
			if constexpr (P::ANY)
				return compute_rows(l, r, p, mask, lo, hi, failed);
	}
	if constexpr (P::ANY)
		GS_EACH_ROW(P, j)
			hi[j] = upper_half(r, lo[j]);
	return mask;
}

/* Returns true if a row passes a term of any kind.  A call, as compute_row. */
__device__ __noinline__ static bool
term_passes_row(const gs_steps *steps, u32 term, const gs_held *columns, u32 row)
{
	return gs_term_passes(steps, (const gs_term *) gs_steps_at(steps, term), columns, row);
}

/* Returns the rows that pass terms. */
template <class P>
__device__ __forceinline__ u32
rows_passing(const gs_lists &l, const gs_quick_term *terms, u32 nterms, const P &p, u32 mask)
{
	for (u32 t = 0; t < nterms; t++)
	{
		const gs_quick_term q = terms[t];
		const u32 values = q.way == GS_TERM_OTHER ? 0 : rows_not_null(p, mask, q.value.columns);
		u64 lo[P::ROWS], hi[P::ROWS];
		u32 failed = 0;

		switch (q.way)
		{
			case GS_TERM_NONE:
				mask = 0;
				break;
			case GS_TERM_VALUES:
				mask = values;
				break;
			case GS_TERM_NULLS:
				mask &= ~values;
				break;
			case GS_TERM_INTERVAL:
				mask = read_rows(l, q.value, p, values, lo, hi, failed);
				GS_EACH_ROW(P, j)
				{
					const u64 code = q.value.real ? gs_float_order64(lo[j], true) : lo[j];

					if ((mask >> j & 1) && (code - q.low <= q.span) == q.outside)
						mask &= ~(1u << j);
				}
				break;
			default:
				GS_EACH_ROW(P, j)
					if (P::ANY && (mask >> j & 1) &&
						!term_passes_row(l.steps, q.term, p.columns_of(j), (u32) p.row_of(j)))
						mask &= ~(1u << j);
		}
	}
	return mask;
}

/*
 * Returns a value's part of a packed key.  outside: it is not in its range; multiples of the odd number are those that
 * its inverse makes no greater.  zeros: those are equal.
 */
__device__ __forceinline__ u64
part_of(const gs_packed_key &key, bool real, bool zeros, u64 lo, u64 hi, bool &outside)
{
	const u64 above = (real ? gs_float_order64(lo, zeros) >> key.drop : lo) - (u64) (gs_unsigned_wide) key.low;
	const u64 part = (above >> key.even) * key.inverse;
	const u64 upper = real ? 0 : (u64) ((((gs_unsigned_wide) hi << 64 | lo) - (gs_unsigned_wide) key.low) >> 64);

	outside = upper != 0 || part > key.span;
	return part;
}

/* Packs the keys of rows.  Returns those whose keys are inside their ranges. */
template <class P>
__device__ __forceinline__ u32
pack_rows(const gs_lists &l, const P &p, u32 mask, u64 (&packed)[P::ROWS], u32 &failed)
{
	GS_EACH_ROW(P, j)
		packed[j] = 0;
	for (u32 k = 0; k < l.nkeys; k++)
	{
		const gs_packed_key key = l.keys.keys[k];
		u64 lo[P::ROWS], hi[P::ROWS];
		const u32 values = read_rows(l, l.key_values[k], p, mask, lo, hi, failed);

		GS_EACH_ROW(P, j)
			if (mask >> j & 1)
			{
				const bool null = !(values >> j & 1);
				bool outside = !key.nulls;
				const u64 part = null ? key.null_code
					: gs_packed_key_turn(&key, part_of(key, l.key_values[k].real, true, lo[j],
										 P::ANY ? hi[j] : upper_half(l.key_values[k], lo[j]), outside));

				if (outside)
				{
					failed |= GS_FAILED_RANGE;
					mask &= ~(1u << j);
				}
				else if (key.bits != 0)
					packed[j] |= part << key.shift;
			}
	}
	return mask;
}

/* Sets a round's places to rows of a tile.  Returns the rows that it has. */
template <class P>
__device__ __forceinline__ u32
places_of(const gs_lists &l, const gs_span &tile, u32 from, P &p)
{
	u32 mask = 0;

	p.columns = l.columns + (u64) tile.segment * l.ncolumns;
	p.first = tile.first + from + threadIdx.x;
	GS_EACH_ROW(P, j)
		if (from + j * P::THREADS + threadIdx.x < tile.rows)
			mask |= 1u << j;
	return mask;
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
