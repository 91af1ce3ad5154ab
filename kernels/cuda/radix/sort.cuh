/*
 * sort.cuh: what the .cu files of the sort family tell each other.
 *
 *   sort.cu      the family's table of operations
 *   radix*.cu    digit passes over words or a column, counting of digits
 *   arrays/keys.cu  keys, and keys with values; arrays/keys_leading.cu, arrays/keys_buckets.cu by leading digits
 *   arrays/bucket_sort.cu     buckets of 4-byte keys, put in order in shared memory
 *   order.cu     plans and runs of row orders; order/key_stats.cu what is known of columns; order/encode.cu keys of rows
 *   order/buckets.cu, order/buckets.cuh  leading digits alone, then buckets in shared memory
 *   order/ties.cu  rows that the first 64 - log2(rows) bits of their keys do not separate
 *   merge*.cu    merge sort, and merge of runs
 *   order_small*  a whole row order in one launch
 *   segments*.cu   segments, each for itself (their passes: radix_segments*.cu); topk.cu the first rows of an order
 *   job.cu       jobs
 */
#ifndef GS_CUDA_RADIX_SORT_CUH
#define GS_CUDA_RADIX_SORT_CUH

#include "../base/engine.cuh"
#include "pass.cuh"

/* The sort family's part of an engine; made when first used. */
struct gs_cuda_sort
{
	u8 *host;		   /* pinned: small results */
	u8 *block;		   /* device memory for one plan at a time; made when first used */
	bool block_lent;   /* a plan has it */
	int ranking;	   /* 0: not decided, 1: ballots, 2: atomics passed the self-test */
	int force_ranking; /* benchmark, tests */
	u32 force_small;   /* sort.h */
	u32 force_finish;
	bool small_asked;  /* small_most is known */
	u64 small_most;	   /* rows of an order in one launch */
	void *small_state; /* device memory of such launches */
};

/* Orders of at most so many rows go in one launch (order/small.cu), where they fit. */
#define GS_SMALL_ROWS 65536

#define GS_SORT_HOST  65536
#define GS_SORT_BLOCK (1 << 20)

gs_status gs_sort_state(gs_cuda_engine *e, gs_cuda_sort **sort);
void gs_sort_close(gs_cuda_engine *e);
bool gs_sort_atomics(gs_cuda_engine *e, u64 rows);

static inline size_t
gs_round256(size_t bytes)
{
	return (bytes + 255) & ~(size_t) 255;
}

#define GS_BOTH __host__ __device__ static inline

GS_BOTH u32
gs_bits_of(u64 x)
{
#ifdef __CUDA_ARCH__
	return 64 - (u32) __clzll((long long) x);
#else
	return x == 0 ? 0 : 64 - (u32) __builtin_clzll(x);
#endif
}

GS_BOTH u64
gs_low_mask(u32 bits)
{
	return bits >= 64 ? ~0ull : (1ull << bits) - 1;
}

/* A key as an unsigned number in order; of: says whether keys are floats, and what turns them after float_order(). */
template <class T, class OF>
__device__ __forceinline__ T
gs_key_code(T x, const OF &of)
{
	if (of.floats)
		x = float_order(x, true);
	return x ^ (T) of.flip;
}

/* A number that looks random. */
static __device__ __forceinline__ u64
gs_scramble(u64 z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* ---------------------------------------------------------------- radix.cu */

/* One stable sort by bits of a key: digits from the lowest bit on, as few as possible and as even as possible. */
struct gs_radix_sort
{
	u64 n;
	gs_radix_io from;	 /* GS_COLUMN8, GS_COLUMN4: words are made of in; else words are read */
	const void *in;
	gs_transform t;		 /* from a column */
	u32 bits;			 /* of the key */
	u32 skip;			 /* its lowest bits that are not sorted by */
	u32 shift;			 /* words: where the key begins in them */
	u32 row_bits;		 /* bits of row number below the key; also of words */
	bool rows;			 /* the last pass writes row numbers to order, else words */
	const u32 *counts;	 /* GS_PLACE for each digit, or NULL: to be counted.  Digits as gs_radix_digits cuts them */
	u32 turn;			 /* rows that come first by the key, but are last */
	u64 *a, *b;			 /* words; if words are read, they lie in one of these */
	u32 *order;
	const u32 *gate;	 /* device: do nothing unless it has this value */
	u32 gate_open;
	u32 *wrong;			 /* device; NULL: ballots only */
	void *temp;			 /* gs_radix_temp() bytes */
	u64 *result;		 /* out: where the words are */
	u32 passes;			 /* out */
};

/*
 * Cuts a key into digits of at most so many bits, the widest first; returns their number.  Digits of more than
 * GS_PLACE_BITS only where they save one.
 */
__host__ __device__ static inline u32
gs_radix_digits(u32 bits, u32 most, u32 *widths)
{
	const u32 usual = most < GS_PLACE_BITS ? most : GS_PLACE_BITS, wide = (bits + most - 1) / most;
	u32 digits = bits == 0 ? 1 : (bits + usual - 1) / usual;

	if (wide < digits && wide != 0 && wide <= GS_WIDE_DIGITS)
		digits = wide;
	for (u32 p = 0; p < digits; p++)
		widths[p] = bits == 0 ? 1 : (bits + digits - 1 - p) / digits;
	return digits;
}

/*
 * Leading bits of a key by which digit passes put rows in order for buckets of some 1000 (order/buckets.cu); 0: that
 * does not pay.  way: see gs_finish_way.
 */
__host__ __device__ static inline u32
gs_finish_lead(u32 bits, u64 n, u32 most, u32 way)
{
	u32 widths[GS_PLACES], lead = gs_bits_of((n - 1) / 1280);

	bits = bits < 64 ? bits : 64;
	if (way == 0 || lead == 0)
		return 0;
	if (lead == most + 1)
		lead = most; /* buckets twice as long cost less than a pass */
	if (lead >= bits)
		return 0;

	const u32 some = gs_radix_digits(lead, most, widths), all = gs_radix_digits(bits, most, widths);

	/* the last step takes a quarter longer than a pass, unless the digits are wide */
	return way >= 2 || all >= some + 2 || (all > some && widths[0] > GS_PLACE_BITS) ? lead : 0;
}

/* All digits of a sort, counted in one read. */
struct gs_radix_counting
{
	const void *in;
	u64 n;
	gs_transform t; /* columns */
	u32 shift, digits;
	u32 widths[GS_PLACES];
	u32 *counts; /* GS_PLACE per digit, zero at first */
	const u32 *gate;
	u32 gate_open;
};

u32 gs_radix_most(const gs_cuda_engine *e);
gs_status gs_radix_count(gs_cuda_engine *e, gs_radix_io from, const gs_radix_counting &a);
gs_status gs_radix_count_keys(gs_cuda_engine *e, size_t key_bytes, bool floats, const gs_radix_counting &a);
size_t gs_radix_temp(const gs_cuda_engine *e, u64 n, u32 bits);
gs_status gs_radix_clear(gs_cuda_engine *e, void *p, size_t bytes, const u32 *gate, u32 gate_open);
gs_status gs_radix_run(gs_cuda_engine *e, gs_radix_sort *s);
gs_status gs_radix_pass_ballots(gs_cuda_engine *e, int bits, gs_radix_io in, gs_radix_io out, gs_radix_args &a);
gs_status gs_radix_pass_atomics(gs_cuda_engine *e, int bits, gs_radix_io in, gs_radix_io out, gs_radix_args &a);
gs_status gs_radix_pass_wide(gs_cuda_engine *e, bool atomics, gs_radix_io in, gs_radix_io out, gs_radix_args &a);
gs_status gs_radix_pass_keys(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats, bool atomics,
							 gs_radix_args &a);
gs_status gs_radix_pass_floats(gs_cuda_engine *e, size_t key_bytes, size_t value_width, gs_radix_args &a);
gs_status gs_radix_pass_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a);
gs_status gs_radix_pass_float_pairs(gs_cuda_engine *e, bool first, bool last, gs_radix_args &a);
gs_status gs_radix_pass_segments(gs_cuda_engine *e, size_t key_bytes, size_t value_width, bool floats, bool atomics,
								 gs_radix_args &a);
gs_status gs_radix_pass_segments_pairs(gs_cuda_engine *e, bool floats, bool first, bool last, gs_radix_args &a);
gs_status gs_radix_pass_segments_floats(gs_cuda_engine *e, size_t key_bytes, size_t value_width, gs_radix_args &a);
gs_status gs_radix_pass_segments_float_pairs(gs_cuda_engine *e, bool first, bool last, gs_radix_args &a);
gs_status gs_lane_order_test(gs_cuda_engine *e, bool *in_order);

/*
 * Launches one pass; tiles are cut here, and launches where the count bits of status words would not do.  Of segments,
 * which are shorter than that, tiles are told, and their number.
 */
template <int BITS, gs_radix_io IN, gs_radix_io OUT, bool ATOMICS, int VALUE = 0, int FLOATS = 0, bool SEGMENTS = false>
gs_status
gs_radix_launch(gs_cuda_engine *e, gs_radix_args &a)
{
	const gs_radix_shape s = gs_radix_shape_of(*e->tuning, BITS, ATOMICS, IN, VALUE);
	/* a status word counts to less than 2^30 */
	const u64 tile = (u64) s.threads * s.items, most = SEGMENTS ? ~0ull : ((1u << 30) - 1) / tile;
	const size_t shared = gs_radix_shared(s);
	void (*kernel)(const gs_radix_args) = radix_pass<BITS, IN, OUT, ATOMICS, VALUE, FLOATS, SEGMENTS>;
	u64 tiles = SEGMENTS ? a.sweep.tiles : (a.n + tile - 1) / tile;
	u32 *status = a.status, *ticket = a.sweep.ticket, *next = a.next_bases;
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) kernel, s.threads, shared, &blocks));
	a.sweep.watch = e->watch;
	a.sweep.patience = e->patience;
	a.sweep.stall = e->stall;
	a.bases = NULL;
	for (u64 t = 0, part = 0; t < tiles; t += most, part++)
	{
		u64 here = tiles - t < most ? tiles - t : most;
		void *list[] = {&a};

		a.first = (u32) t;
		a.sweep.tiles = (u32) here;
		a.sweep.ticket = ticket + part;
		a.status = status + (t << BITS);
		a.next_bases = t + here < tiles ? next + part * GS_PLACE : NULL;
		if (e->stall)
			GS_TRY(gs_cuda_status(cudaMemsetAsync(&e->watch->last_done, 0, sizeof(u32), e->stream)));
		GS_TRY(gs_cuda_status(cudaLaunchKernel((const void *) kernel, dim3((u32) (here < (u64) blocks ? here : blocks)),
											   dim3(s.threads), list, shared, e->stream)));
		a.bases = a.next_bases;
	}
	a.status = status;
	a.sweep.ticket = ticket;
	a.next_bases = next;
	return GS_OK;
}

/* ---------------------------------------------------------------- arrays/keys.cu */

size_t gs_cuda_sort_keys_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n);
gs_status gs_cuda_sort_keys(gs_engine *engine, gs_type key, bool desc, uint32_t begin_bit, uint32_t end_bit,
							const gs_sort_items *items, void *temp);

/* segments.cu */
size_t gs_cuda_segments_temp(const gs_engine *engine, gs_type key, size_t value_width, u64 n, u64 segments);
gs_status gs_cuda_segments(gs_engine *engine, gs_type key, bool desc, const gs_sort_items *items, const u64 *starts,
						   u64 segments, void *temp);

/* topk.cu */
size_t gs_cuda_top_k_temp(gs_engine *engine, const gs_column *columns, u32 ncolumns, u64 rows, u64 k);
gs_status gs_cuda_top_k(gs_engine *engine, const gs_column *columns, u32 ncolumns, u64 rows, u64 k, u32 *out, void *temp,
						size_t temp_bytes);

/* ---------------------------------------------------------------- fields of a key */

enum gs_dev_kind
{
	GS_DEV_NULL,  /* one bit: is the column NULL? */
	GS_DEV_VALUE, /* up to 64 bits */
	GS_DEV_BYTES  /* a string; NULL counts as empty, a GS_DEV_NULL came before */
};

#define GS_POSITIONS 12 /* characters behind the common prefix that have an alphabet of their own */

/*
 * Characters in use, numbered in order; 0 is the end of a string where some string ends.  One per position, one for the
 * rest.
 */
struct gs_dev_alphabet
{
	u32 bits;
	u32 pad[3];
	u16 rank[256];
};

struct gs_dev_field
{
	const u8 *values; /* GS_DEV_BYTES: 32-bit offsets */
	const u64 *nulls; /* NULL: no row is NULL */
	const u8 *heap;
	const gs_dev_alphabet *alphabets; /* GS_POSITIONS + 1 */
	u64 flip, base, bump, null_code;
	u32 kind, bits, shift;
	u32 width, stride; /* bytes read, bytes from row to row */
	u32 floats;
	u32 prefix, longest; /* of strings */
	u32 desc;
	u32 pad;
};

/* How far into the key rows are sorted: a field, and bits (of strings: bytes) of it. */
struct gs_dev_place
{
	u32 field, at;
};

/* What is known of a column, or of one half of it; all zero at first. */
struct gs_look
{
	u64 not_min, max;	 /* of values as unsigned numbers in order */
	u64 ones, zeros;	 /* bits that some value has set, clear */
	u32 valid, nulls;	 /* rows (may wrap: only "any" counts) */
	u32 seen;			 /* 1: a value is less than the one before; 2: one is not */
	u32 longest, not_shortest, prefix; /* strings */
	u64 first_string;	 /* row + 1, complemented: of the first that is not NULL */
	/* digits counted while looking: of the guess_bits bits above guess_shift; none if guess_bits is 0 */
	u32 guess_shift, guess_bits;
	u32 guess_lead; /* of only so many leading ones, if not 0 */
	u32 pad;
	u64 odd; /* values whose bit above those is set */
};

/* How rows spread over the leading bits of their keys: order/buckets.cu. */
struct gs_spread
{
	u64 alike;	  /* rows that found one with the same bits, and 10 more, at its hash */
	u32 crowd;	  /* rows in the fullest cell */
	u32 pad;
	u32 top[512]; /* rows in cells by the first 9 bits */
};

/*
 * Keys are values modulo a power of 2, whose least is min: the rows of the order by keys that come first, but are last.
 * odd: values with the bit above the keys, which is at so many (64: none): if that is the lower one of two neighbouring
 * multiples, it is the others that come first.
 */
GS_BOTH u32
gs_turn(u64 odd, u64 min, u32 above, u64 rows)
{
	return (u32) (above < 64 && (min >> above & 1) != 0 ? rows - odd : odd);
}

#define GS_SEEN_FALL 1u
#define GS_SEEN_RISE 2u

/* ---------------------------------------------------------------- merge.cu */

size_t gs_cuda_merge_sort_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n);
gs_status gs_cuda_merge_sort(gs_engine *engine, const gs_sort_items *items, void *temp);
size_t gs_cuda_merge_runs_temp_bytes(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n,
									 uint64_t runs);
gs_status gs_cuda_merge_runs(gs_engine *engine, const gs_sort_items *items, const uint64_t *starts, uint64_t runs,
							 void *temp);

#endif
