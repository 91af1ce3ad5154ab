/*
 * groups_rows.cuh: the rows of a thread's round (groups.cuh): reads their values, finds those that pass terms, and
 * packs their keys.
 */
#ifndef GS_CUDA_SCAN_GROUPS_ROWS_CUH
#define GS_CUDA_SCAN_GROUPS_ROWS_CUH

#include "groups.cuh"

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
 * at most 8 bytes or differences of two, terms are intervals of them, tests for NULL or compare two, so that there are
 * no calls and no wide values.
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

/* Loads the values of two columns. */
template <class P>
__device__ __forceinline__ void
load_pairs(const gs_reading &r, const P &p, u32 mask, u64 (&x)[P::ROWS], u64 (&y)[P::ROWS])
{
	if (r.pair == GS_I32)
	{
		load_rows<i32>(p, mask, r.column, x);
		load_rows<i32>(p, mask, r.other, y);
		return;
	}
	load_rows<u64>(p, mask, r.column, x);
	load_rows<u64>(p, mask, r.other, y);
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
			if (r.pair != 0)
			{
				u64 less[P::ROWS];

				load_pairs(r, p, mask, lo, less);
				GS_EACH_ROW(P, j)
					lo[j] -= less[j];
				break;
			}
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

/* Returns true if two integers compare as bits tell. */
__device__ __forceinline__ bool
pair_passes(u64 bits, u64 x, u64 y)
{
	return (bits & (x == y ? GS_PAIR_EQUAL : (i64) x < (i64) y ? GS_PAIR_LESS : GS_PAIR_GREATER)) != 0;
}

/* Returns, of rows in which some have a value in one column and some in another, those that NULLs make pass. */
__device__ __forceinline__ u32
nulls_pass(u64 bits, u32 mask, u32 x, u32 y)
{
	return (bits & GS_PAIR_NULLS ? mask & ~(x | y) : 0) | (bits & GS_PAIR_NULL ? x ^ y : 0);
}

/* Returns the rows whose two columns compare as a term says. */
template <class P>
__device__ __forceinline__ u32
pairs_passing(const gs_quick_term &q, const P &p, u32 mask)
{
	const u32 some = rows_not_null(p, mask, (u64) 1 << q.value.column);
	const u32 others = rows_not_null(p, mask, (u64) 1 << q.value.other);
	u32 pass = nulls_pass(q.low, mask, some, others);
	u64 x[P::ROWS], y[P::ROWS];

	load_pairs(q.value, p, some & others, x, y);
	GS_EACH_ROW(P, j)
		if ((some & others) >> j & 1)
			pass |= (u32) pair_passes(q.low, x[j], y[j]) << j;
	return pass;
}

/* Returns the rows that pass terms. */
template <class P>
__device__ __forceinline__ u32
rows_passing(const gs_lists &l, const gs_quick_term *terms, u32 nterms, const P &p, u32 mask)
{
	for (u32 t = 0; t < nterms; t++)
	{
		const gs_quick_term q = terms[t];
		const u32 values = q.way >= GS_TERM_COLUMNS ? 0 : rows_not_null(p, mask, q.value.columns);
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
			case GS_TERM_COLUMNS:
				mask = pairs_passing(q, p, mask);
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

#endif
