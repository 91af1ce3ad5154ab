/*
 * groups_fold.cuh: sums of folds (groups.cuh), how they are added to tables, and results of tables.
 */
#ifndef GS_CUDA_SCAN_GROUPS_FOLD_CUH
#define GS_CUDA_SCAN_GROUPS_FOLD_CUH

#include "groups_rows.cuh"

typedef unsigned long long word;

/* Sets a place to a row number. */
__device__ __forceinline__ void
place_number(const gs_lists &l, u32 number, gs_places &p, u32 j)
{
	/* segments whose first rows have at most this number, less one */
	const u64 segment = numbers_below(l.bases, l.nsegments, (u64) number + 1) - 1;

	p.columns[j] = l.columns + segment * l.ncolumns;
	p.row[j] = (u32) (number - l.bases[segment]);
}

/* Returns a fold's result in a slot.  good becomes false if a sum leaves 128 bits. */
GS_BOTH gs_reduced
gs_fold_result(const gs_fold *f, const gs_table *t, u64 slot, bool *good)
{
	const u64 *w = t->words + f->word * t->pitch + slot;
	const u32 n = t->halves[f->count * t->pitch + slot];
	gs_reduced r = gs_reduced_none();
	gs_wide x;

	r.count = n;
	if (f->kind <= GS_FOLD_COUNT || n == 0)
		return r;
	switch (f->kind)
	{
		case GS_FOLD_SUM_REAL:
			r.value[0] = w[0];
			return r;
		case GS_FOLD_SUM:
			x = (i64) w[0];
			break;
		case GS_FOLD_SUM_MOST:
			*good = *good && (i64) w[2 * t->pitch] == (i64) w[t->pitch] >> 63;
			x = gs_wide_of(w[0], w[t->pitch]);
			break;
		case GS_FOLD_SUM_WIDE:
			x = gs_wide_of(w[0], w[t->pitch]);
			break;
		case GS_FOLD_CODE:
			x = (gs_wide) ((gs_unsigned_wide) f->low + (w[0] ^ f->flip));
			break;
		case GS_FOLD_WIDE:
			x = gs_wide_of(w[0] ^ f->flip, w[t->pitch] ^ f->flip ^ (u64) 1 << 63);
			break;
		default: /* GS_FOLD_REAL */
		{
			const gs_scalar v = {0, gs_real_of_order(w[0] ^ f->flip)};

			r = gs_reduced_one(GS_MIN, GS_NUMBER_F64, v);
			r.count = n;
			if (v.real == 0 && t->halves[f->mark * t->pitch + slot] == 3)
				r.flags = GS_REDUCED_ZEROS;
			return r;
		}
	}
	r.value[0] = (u64) (gs_unsigned_wide) x;
	r.value[1] = (u64) ((gs_unsigned_wide) x >> 64);
	return r;
}

/* What a launch reads. */
struct fold_args
{
	const gs_lists *lists;
	gs_table table;
	gs_group_state *state;
	u64 from, to; /* tiles, or rounds of sorted rows */
	u64 slots;
	u32 shared;			/* the tables of a block have 1 << copies copies */
	u32 copies;
	const u32 *rows;	/* sorted row numbers */
	const u32 *starts; /* of groups, of which the state has the number */
	u64 n;
	gs_sorted sorted; /* or sorted values */
	gs_packed_key coding;
	u32 *long_groups;
};

/* What a thread has added up. */
struct fold_sum
{
	u64 w[3];
	u32 n, marks;
};

/* Returns the sum of nothing. */
template <int KIND>
__device__ __forceinline__ fold_sum
none()
{
	return {{KIND == GS_FOLD_SUM_REAL ? (u64) 1 << 63 : 0, 0, 0}, 0, 0};
}

/* Adds two sums. */
template <int KIND>
__device__ __forceinline__ void
merge(fold_sum &a, const fold_sum &b)
{
	a.n += b.n;
	if (KIND == GS_FOLD_SUM_REAL)
		a.w[0] = gs_real_bits(gs_bits_real(a.w[0]) + gs_bits_real(b.w[0]));
	else if (KIND == GS_FOLD_SUM)
		a.w[0] += b.w[0];
	else if (KIND == GS_FOLD_SUM_WIDE || KIND == GS_FOLD_SUM_MOST)
	{
		const gs_unsigned_wide low = (gs_unsigned_wide) a.w[0] + b.w[0];
		const gs_unsigned_wide high = (gs_unsigned_wide) a.w[1] + b.w[1] + (u64) (low >> 64);

		a.w[0] = (u64) low;
		a.w[1] = (u64) high;
		if (KIND == GS_FOLD_SUM_MOST)
			a.w[2] += b.w[2] + (u64) (high >> 64);
	}
	else if (KIND == GS_FOLD_CODE || KIND == GS_FOLD_REAL)
	{
		a.w[0] = a.w[0] > b.w[0] ? a.w[0] : b.w[0];
		a.marks |= b.marks;
	}
	else if (KIND == GS_FOLD_WIDE && (b.w[1] > a.w[1] || (b.w[1] == a.w[1] && b.w[0] > a.w[0])))
	{
		a.w[0] = b.w[0];
		a.w[1] = b.w[1];
	}
}

/* Returns the sum of a value. */
template <int KIND>
__device__ __forceinline__ fold_sum
sum_of(const gs_fold &f, u64 lo, u64 hi, u32 &failed)
{
	fold_sum s = {{lo, hi, (u64) ((i64) hi >> 63)}, 1, 0};

	if (KIND == GS_FOLD_CODE)
	{
		const gs_unsigned_wide code = ((gs_unsigned_wide) hi << 64 | lo) - (gs_unsigned_wide) f.low;

		if (code > f.span)
			failed |= GS_FAILED_RANGE;
		s.w[0] = (u64) code ^ f.flip;
	}
	else if (KIND == GS_FOLD_REAL)
	{
		s.w[0] = gs_float_order64(lo, false) ^ f.flip;
		s.marks = lo << 1 != 0 ? 0 : lo == 0 ? 1 : 2;
	}
	else if (KIND == GS_FOLD_WIDE)
	{
		s.w[0] = lo ^ f.flip;
		s.w[1] = hi ^ (u64) 1 << 63 ^ f.flip;
	}
	return s;
}

/* Takes over the greater of two codes of 128 bits.  The upper half never becomes less, so that one may look first. */
__device__ __forceinline__ void
put_wide(u64 *w, u64 pitch, u32 *lock, const fold_sum &s)
{
	volatile u64 *lo = w, *hi = w + pitch;

	if (s.w[1] < *hi)
		return;
	for (bool done = false; !done;)
		if (atomicCAS(lock, 0, 1) == 0)
		{
			__threadfence();
			if (s.w[1] > *hi || (s.w[1] == *hi && s.w[0] > *lo))
			{
				*lo = s.w[0];
				*hi = s.w[1];
			}
			__threadfence();
			atomicExch(lock, 0);
			done = true;
		}
}

/* Adds a sum of 128 or 192 bits, carrying from word to word: each wrap of a word is one carry. */
template <int KIND>
__device__ __forceinline__ void
put_sum(u64 *w, u64 pitch, const fold_sum &s)
{
	u64 carry = s.w[0] != 0 && atomicAdd((word *) w, (word) s.w[0]) > ~s.w[0];
	const u64 high = s.w[1] + carry;

	carry = high < carry;
	if (high != 0)
		carry += atomicAdd((word *) (w + pitch), (word) high) > ~high;
	if (KIND == GS_FOLD_SUM_MOST && s.w[2] + carry != 0)
		atomicAdd((word *) (w + 2 * pitch), (word) (s.w[2] + carry));
}

/* Reads a sum in a table. */
template <int KIND>
__device__ __forceinline__ fold_sum
load_sum(const gs_fold &f, const gs_table &t, u64 at)
{
	const u64 *w = t.words + f.word * t.pitch + at;
	fold_sum s = {{0, 0, 0}, t.halves[f.count * t.pitch + at], 0};

	if (KIND > GS_FOLD_COUNT)
		s.w[0] = w[0];
	if (KIND == GS_FOLD_SUM_WIDE || KIND == GS_FOLD_SUM_MOST || KIND == GS_FOLD_WIDE)
		s.w[1] = w[t.pitch];
	if (KIND == GS_FOLD_SUM_MOST)
		s.w[2] = w[2 * t.pitch];
	if (KIND == GS_FOLD_REAL)
		s.marks = t.halves[f.mark * t.pitch + at];
	return s;
}

/* Writes a sum to a table, in which no other thread has the place. */
template <int KIND>
__device__ __forceinline__ void
store_sum(const gs_fold &f, const gs_table &t, u64 at, const fold_sum &s)
{
	u64 *w = t.words + f.word * t.pitch + at;

	if (f.owns)
		t.halves[f.count * t.pitch + at] = s.n;
	if (KIND > GS_FOLD_COUNT)
		w[0] = s.w[0];
	if (KIND == GS_FOLD_SUM_WIDE || KIND == GS_FOLD_SUM_MOST || KIND == GS_FOLD_WIDE)
		w[t.pitch] = s.w[1];
	if (KIND == GS_FOLD_SUM_MOST)
		w[2 * t.pitch] = s.w[2];
	if (KIND == GS_FOLD_REAL)
		t.halves[f.mark * t.pitch + at] = s.marks;
}

/* Adds a sum to a slot. */
template <int KIND>
__device__ __forceinline__ void
put(const gs_fold &f, const gs_table &t, u32 slot, const fold_sum &s)
{
	const u64 at = ((u64) slot << t.copies) + t.copy;
	u64 *w = t.words + f.word * t.pitch + at;
	u32 *mark = t.halves + f.mark * t.pitch + at;

	if (t.alone)
	{
		fold_sum all = load_sum<KIND>(f, t, at);

		merge<KIND>(all, s);
		store_sum<KIND>(f, t, at, all);
		return;
	}
	if (f.owns)
		atomicAdd(t.halves + f.count * t.pitch + at, s.n);
	if (KIND == GS_FOLD_SUM_REAL)
		atomicAdd((double *) w, gs_bits_real(s.w[0]));
	else if (KIND == GS_FOLD_SUM)
		atomicAdd((word *) w, (word) s.w[0]);
	else if (KIND == GS_FOLD_SUM_WIDE || KIND == GS_FOLD_SUM_MOST)
		put_sum<KIND>(w, t.pitch, s);
	else if (KIND == GS_FOLD_WIDE)
		put_wide(w, t.pitch, mark, s);
	else if (KIND == GS_FOLD_CODE || KIND == GS_FOLD_REAL)
	{
		if (s.w[0] > *(volatile u64 *) w)
			atomicMax((word *) w, (word) s.w[0]);
		if (KIND == GS_FOLD_REAL && (s.marks & ~*(volatile u32 *) mark) != 0)
			atomicOr(mark, s.marks);
	}
}

/* Calls a template for a fold's kind. */
#define EACH_KIND(kind, CALL)                                                                                          \
	switch (kind)                                                                                                      \
	{                                                                                                                  \
		case GS_FOLD_COUNT:                                                                                            \
			CALL(GS_FOLD_COUNT);                                                                                       \
			break;                                                                                                     \
		case GS_FOLD_SUM_REAL:                                                                                         \
			CALL(GS_FOLD_SUM_REAL);                                                                                    \
			break;                                                                                                     \
		case GS_FOLD_SUM:                                                                                              \
			CALL(GS_FOLD_SUM);                                                                                         \
			break;                                                                                                     \
		case GS_FOLD_SUM_WIDE:                                                                                         \
			CALL(GS_FOLD_SUM_WIDE);                                                                                    \
			break;                                                                                                     \
		case GS_FOLD_SUM_MOST:                                                                                         \
			CALL(GS_FOLD_SUM_MOST);                                                                                    \
			break;                                                                                                     \
		case GS_FOLD_CODE:                                                                                             \
			CALL(GS_FOLD_CODE);                                                                                        \
			break;                                                                                                     \
		case GS_FOLD_REAL:                                                                                             \
			CALL(GS_FOLD_REAL);                                                                                        \
			break;                                                                                                     \
		case GS_FOLD_WIDE:                                                                                             \
			CALL(GS_FOLD_WIDE);                                                                                        \
	}

#endif
