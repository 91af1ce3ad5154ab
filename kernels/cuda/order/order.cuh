/*
 * order.cuh: keys of rows on the device: codes of fields, steps, comparison, as in kernels/cpu/fields.c.  A step takes
 * as many bits as fit, from a place of the key on.  Its bits depend on the place alone, except that it ends with a
 * string that may continue.  Rows that are equal in a step are at equal places behind it.
 */
#ifndef GS_CUDA_ORDER_ORDER_CUH
#define GS_CUDA_ORDER_ORDER_CUH

#include "key.cuh"

gs_status gs_order_key_stats(gs_cuda_engine *e, const gs_column *column, u64 n, gs_key_stats *stats, u32 *counts,
						gs_dev_alphabet *alphabets, u32 *marks);
gs_status gs_order_key_stats_strings(gs_cuda_engine *e, const gs_column *column, u64 n, gs_key_stats *stats,
								gs_dev_alphabet *alphabets, u32 *marks);

/* A key, as passed to kernels. */
struct gs_dev_key
{
	const gs_dev_field *fields; /* in device memory */
	u32 nfields;
};

/* Results that kernels leave for the host or for each other. */
struct gs_order_flags
{
	u32 seen;	/* GS_SEEN_ bits of the words */
	u32 wrong;	/* an order's check failed */
	u32 tied;	/* rows in large groups of ties */
	u32 groups; /* such groups */
	u32 listed; /* tied rows in groups of any size */
	u32 pad;
};

#define GS_SMALL_COLUMNS 8 /* limit of columns in a small order */

struct gs_cuda_plan
{
	gs_plan head;
	gs_cuda_engine *engine;
	size_t bytes; /* of this structure with its fields */
	u64 rows;
	u32 row_bits;
	u32 key_bits; /* without strings */
	u32 nfields;
	bool strings;
	bool owns_block; /* otherwise the engine's */
	size_t block_bytes;
	enum
	{
		GS_PLAN_EQUAL,	/* no fields, or rows already in order */
		GS_PLAN_REVERSE,
		GS_PLAN_COLUMN, /* pass 1 makes words of a column */
		GS_PLAN_WORDS,	/* keys are encoded first */
		GS_PLAN_SMALL	/* one launch does everything, statistics included */
	} path;
	bool complete; /* the words contain the complete key */
	u32 bits;	   /* of the key in the words */
	gs_radix_io from;
	const void *values;
	gs_transform t;
	bool counted; /* the statistics have counted the digits */
	u32 rotate_by;	  /* see gs_radix_sort */
	struct
	{
		u32 lead;	   /* leading bits to sort by; 0: use all digits */
		u32 margin;	   /* see gs_buckets_args */
		u32 bits;	   /* of the key in the words */
		bool complete; /* these are all bits */
		bool counted;  /* the statistics have counted the digits */
		u32 rotate_by;
		gs_transform t, whole; /* of a column: to words, and to complete keys */
	} buckets;
	bool maybe_ordered; /* rows are not known to be out of order */
	u8 *block; /* device memory: */
	gs_key_stats *column_stats;
	u32 *counts; /* GS_PLACE per digit */
	gs_order_flags *flags;
	gs_dev_key key;
	u32 ncolumns; /* GS_PLAN_SMALL: the columns */
	gs_column columns[GS_SMALL_COLUMNS];
	gs_dev_field fields[];
};

/* encode.cu */
gs_status gs_order_encode(gs_cuda_engine *e, const gs_cuda_plan *plan, u32 bits, u32 skip, u64 *words, u32 *counts,
						  const u32 *gate);
gs_status gs_order_check(gs_cuda_engine *e, const u64 *words, u64 n, u32 *seen);
gs_status gs_order_check_rows(gs_cuda_engine *e, const gs_cuda_plan *plan, u32 *seen);
gs_status gs_order_sequence(gs_cuda_engine *e, u32 *order, u64 n, bool reverse, const u32 *seen);

/* buckets.cu */
u32 gs_buckets_way(const gs_cuda_engine *e, u64 rows);
size_t gs_buckets_cells(const gs_cuda_engine *e, u32 ncolumns, u64 rows);
gs_status gs_buckets_estimate(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows,
							  const gs_key_stats *column_stats, const gs_dev_alphabet *alphabets, gs_spread *spread,
							  u32 *cells);
u32 gs_buckets_margin(const gs_cuda_engine *e, u64 rows, u32 lead, u32 way, const gs_spread *spread);
size_t gs_buckets_temp(const gs_cuda_plan *plan);
gs_status gs_buckets_run(gs_cuda_engine *e, const gs_cuda_plan *plan, const gs_radix_sort *sorted, void *temp,
						u32 *order);

/* small.cu */
bool gs_small_fits(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows);
size_t gs_small_temp(u64 rows);
gs_status gs_small_run(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, void *temp, u32 *order,
					   gs_order_facts *facts);

/* What kernels of a job find in its input, and in its order. */
struct gs_found
{
	u32 invalid; /* some offsets are invalid */
	u32 wrong;	 /* some row does not come before the next one */
	u64 first;	 /* rows that do not come behind the last one of those wanted, if these are not all */
};

/* proof.cu */
gs_status gs_order_prove(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, u32 *order, u64 n,
						 gs_found *found);

void gs_cuda_job_ops(gs_engine_ops *ops);

/* ties.cu */
size_t gs_ties_temp(u64 n);
gs_status gs_ties_run(gs_cuda_engine *e, const gs_cuda_plan *plan, u64 *words, u64 *other, void *temp, void *radix_temp,
					  u32 *order, u32 *rounds);

#define GS_MARKS ((GS_POSITIONS + 1) * 256 + GS_POSITIONS + 1)

/* Loads up to eight bytes of a string, most significant first, padded with zeros.  Reads no byte behind the string. */
__device__ __forceinline__ u64
gs_load8(const u8 *s, u64 left)
{
	u64 w = 0;

	if (left >= 8)
	{
		u32 off = (u32) ((u64) s & 7);
		const u64 *p = (const u64 *) (s - off);

		if (off == 0)
			w = *p;
		else if (left >= 16 - off)
			w = *p >> (8 * off) | p[1] << (64 - 8 * off);
		else
		{
#pragma unroll
			for (int i = 0; i < 8; i++)
				w |= (u64) s[i] << (8 * i);
		}
	}
	else
		for (u32 i = 0; i < left; i++)
			w |= (u64) s[i] << (8 * i);
	return (u64) __byte_perm((u32) w, 0, 0x0123) << 32 | __byte_perm((u32) (w >> 32), 0, 0x0123);
}

/* Returns the length of the common prefix of two strings, up to limit. */
__device__ __forceinline__ u32
gs_common(const u8 *a, const u8 *b, u32 limit)
{
	u32 at = 0;

	while (at < limit)
	{
		u64 x = gs_load8(a + at, limit - at) ^ gs_load8(b + at, limit - at);

		if (x != 0)
			return min(limit, at + __clzll(x) / 8);
		at += 8;
	}
	return limit;
}

/* Returns whether a row's value is NULL. */
__device__ __forceinline__ bool
gs_field_null(const gs_dev_field &f, u32 row)
{
	return f.nulls != NULL && (f.nulls[row / 64] >> (row % 64) & 1);
}

/* Returns the code of a field that is not a string. */
__device__ __forceinline__ u64
gs_field_code(const gs_dev_field &f, u32 row)
{
	u64 x;

	if (f.nulls != NULL && gs_field_null(f, row))
		return f.null_code;
	if (f.kind == GS_DEV_NULL)
		return !f.null_code;
	const u8 *p = f.values + (u64) row * f.stride;

	switch (f.width)
	{
		case 1:
			x = *p;
			break;
		case 2:
			x = *(const u16 *) p;
			break;
		case 4:
			x = *(const u32 *) p;
			if (f.floats)
				x = float_order((u32) x, true);
			break;
		default:
			x = *(const u64 *) p;
			if (f.floats)
				x = float_order(x, true);
			break;
	}
	return (((x ^ f.flip) - f.base) >> f.shift) + f.bump;
}

/* Returns a row's string; NULL is empty. */
__device__ __forceinline__ const u8 *
gs_field_string(const gs_dev_field &f, u32 row, u32 &length)
{
	const u32 *offsets = (const u32 *) f.values;
	u32 at = offsets[row];

	length = gs_field_null(f, row) ? 0 : offsets[row + 1] - at;
	return f.heap + at;
}

/* Appends bits to a word.  Shifts by 64 are undefined and need the test. */
__device__ __forceinline__ u64
gs_append(u64 word, u64 code, u32 bits)
{
	return bits >= 64 ? code : word << bits | code;
}

/* Returns up to room bits of a row's key from a place on, at the top, and advances it.  A string may end a step. */
__device__ __forceinline__ u64
gs_step(const gs_dev_key &key, gs_dev_place &place, u32 room, u32 row)
{
	u64 word = 0;
	u32 used = 0;

	while (place.field < key.nfields && used < room)
	{
		const gs_dev_field &f = key.fields[place.field];

		if (f.kind != GS_DEV_BYTES)
		{
			u32 left = f.bits - place.at, take = min(left, room - used);
			u64 code = gs_field_code(f, row) >> (left - take);

			if (take < 64)
				code &= (1ull << take) - 1;
			word = gs_append(word, code, take);
			used += take;
			place.at += take;
			if (place.at == f.bits)
				place = gs_dev_place{place.field + 1, 0};
			continue;
		}

		u32 length, depth = max(place.at, f.prefix), chars = 0, bits = 0;
		const u8 *s = gs_field_string(f, row, length);
		u64 code = 0;

		for (;;)
		{
			const gs_dev_alphabet &alphabet = f.alphabets[min(depth + chars - f.prefix, (u32) GS_POSITIONS)];
			u32 b = alphabet.bits;

			if (used + bits + b > room)
				break;
			code = code << b | (depth + chars < length ? alphabet.rank[s[depth + chars]] : 0);
			bits += b;
			chars++;
			if (depth + chars > f.longest)
				break;
		}
		if (chars == 0 && depth <= f.longest)
			break; /* not even one character fits: the next step starts here */
		if (f.desc && bits != 0)
			code ^= ~0ull >> (64 - bits);
		word = gs_append(word, code, bits);
		used += bits;
		if (length < depth + chars || f.longest < depth + chars)
			place = gs_dev_place{place.field + 1, 0};
		else
			place.at = depth + chars;
		if (f.longest >= depth + chars)
			break; /* other rows' strings may continue where this one has ended */
	}
	return word << (room - used);
}

/* Compares two rows from a place on.  Returns a negative number, zero, or a positive number. */
__device__ __forceinline__ int
gs_compare(const gs_dev_key &key, gs_dev_place place, u32 a, u32 b)
{
	for (; place.field < key.nfields; place = gs_dev_place{place.field + 1, 0})
	{
		const gs_dev_field &f = key.fields[place.field];

		if (f.kind != GS_DEV_BYTES)
		{
			u64 x = gs_field_code(f, a), y = gs_field_code(f, b);

			if (x != y)
				return x < y ? -1 : 1;
			continue;
		}

		u32 depth = max(place.at, f.prefix), length_a, length_b;
		const u8 *s = gs_field_string(f, a, length_a), *t = gs_field_string(f, b, length_b);
		u32 shorter = min(length_a, length_b);
		int result = 0;

		for (u32 at = depth; at < shorter; at += 8)
		{
			u64 x = gs_load8(s + at, shorter - at), y = gs_load8(t + at, shorter - at);

			if (x != y)
			{
				result = x < y ? -1 : 1;
				break;
			}
		}
		if (result == 0)
			result = length_a < length_b ? -1 : length_a > length_b;
		if (result != 0)
			return f.desc ? -result : result;
	}
	return 0;
}

#endif
