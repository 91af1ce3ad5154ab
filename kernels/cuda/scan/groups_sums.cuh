/*
 * groups_sums.cuh: adds the rows of a tile to the folds (groups.cuh) of a list of plain values, where each thread has a
 * table of its own: without keys, or of few groups.
 *
 * A thread takes 32 rows through a term or a fold before it goes on to the next one: what is known of a value is looked
 * up once for them, and many loads are in flight.
 */
#ifndef GS_CUDA_SCAN_GROUPS_SUMS_CUH
#define GS_CUDA_SCAN_GROUPS_SUMS_CUH

#include "groups_fold.cuh"

#define GS_SUM_BATCH 8u				  /* loads in flight */
#define GS_SUM_SLOTS 256u			  /* at most: a byte for each row */

/* Some rows of a tile: a thread has those of a mask, THREADS apart. */
template <u32 threads> struct gs_sum_rows
{
	static constexpr u32 THREADS = threads;
	const gs_held *columns;
	u64 first;	/* the thread's */
	u64 *slots; /* the thread's of each batch, THREADS apart; NULL without keys */
};

/* Calls take for each row: its batch, its place there, whether it is in the mask, and if so the value. */
template <class T, class R, class TAKE>
__device__ __forceinline__ void
each_row(const void *column, const R &r, u32 mask, TAKE take)
{
	const T *values = (const T *) column + r.first;

	for (u32 batch = 0; batch < 32 / GS_SUM_BATCH; batch++)
	{
		const u32 from = batch * GS_SUM_BATCH, on = mask >> from;
		T x[GS_SUM_BATCH];

#pragma unroll
		for (u32 j = 0; j < GS_SUM_BATCH; j++)
			if (on >> j & 1)
				x[j] = values[(from + j) * R::THREADS];
#pragma unroll
		for (u32 j = 0; j < GS_SUM_BATCH; j++)
			take(batch, j, (on >> j & 1) != 0,
				 std::is_floating_point<T>::value ? gs_real_bits((double) x[j]) : (u64) (i64) x[j]);
	}
}

/* Likewise with the values of two columns. */
template <class T, class R, class TAKE>
__device__ __forceinline__ void
each_pair_row(const gs_reading &reading, const R &r, u32 mask, TAKE take)
{
	const T *a = (const T *) r.columns[reading.column].values + r.first;
	const T *b = (const T *) r.columns[reading.other].values + r.first;

	for (u32 batch = 0; batch < 32 / GS_SUM_BATCH; batch++)
	{
		const u32 from = batch * GS_SUM_BATCH, on = mask >> from;
		T x[GS_SUM_BATCH], y[GS_SUM_BATCH];

#pragma unroll
		for (u32 j = 0; j < GS_SUM_BATCH; j++)
			if (on >> j & 1)
			{
				x[j] = a[(from + j) * R::THREADS];
				y[j] = b[(from + j) * R::THREADS];
			}
#pragma unroll
		for (u32 j = 0; j < GS_SUM_BATCH; j++)
			take(batch, j, (on >> j & 1) != 0, (u64) (i64) x[j], (u64) (i64) y[j]);
	}
}

/* Likewise, of either type. */
template <class R, class TAKE>
__device__ __forceinline__ void
each_pair(const gs_reading &reading, const R &r, u32 mask, TAKE take)
{
	if (reading.pair == GS_I32)
		each_pair_row<i32>(reading, r, mask, take);
	else
		each_pair_row<i64>(reading, r, mask, take);
}

/*
 * Calls take for each row with the value of a plain column of at most 8 bytes, integers with their sign, or bits of
 * doubles, or with the difference of two.
 */
template <class R, class TAKE>
__device__ __forceinline__ void
each_value(const gs_reading &reading, const R &r, u32 mask, TAKE take)
{
	const void *values = r.columns[reading.column].values;

	if (reading.pair != 0)
	{
		each_pair(reading, r, mask, [&](u32 batch, u32 j, bool on, u64 x, u64 y) { take(batch, j, on, x - y); });
		return;
	}
	switch (reading.type)
	{
		case GS_U8:
			each_row<u8>(values, r, mask, take);
			break;
		case GS_U16:
			each_row<u16>(values, r, mask, take);
			break;
		case GS_I16:
			each_row<int16_t>(values, r, mask, take);
			break;
		case GS_U32:
			each_row<u32>(values, r, mask, take);
			break;
		case GS_I32:
			each_row<i32>(values, r, mask, take);
			break;
		case GS_F32:
			each_row<float>(values, r, mask, take);
			break;
		case GS_F64:
			each_row<double>(values, r, mask, take);
			break;
		default:
			each_row<u64>(values, r, mask, take);
	}
}

/* Clears the bits of rows that are NULL in one of some columns. */
template <class R>
__device__ __forceinline__ u32
sum_not_null(const R &r, u64 set, u32 mask)
{
	for (; set != 0; set &= set - 1)
	{
		const gs_held column = r.columns[__ffsll((long long) set) - 1];

		for (u32 j = 0; column.nulls != NULL && j < 32; j++)
			if ((mask >> j & 1) && gs_held_null(&column, r.first + j * R::THREADS))
				mask &= ~(1u << j);
	}
	return mask;
}

/* Returns the rows whose two columns compare as a term says. */
template <class R>
__device__ __forceinline__ u32
sum_pairs_passing(const gs_quick_term &q, const R &r, u32 mask)
{
	const u32 some = sum_not_null(r, (u64) 1 << q.value.column, mask);
	const u32 others = sum_not_null(r, (u64) 1 << q.value.other, mask);
	u32 pass = nulls_pass(q.low, mask, some, others);

	each_pair(q.value, r, some & others, [&](u32 batch, u32 j, bool on, u64 x, u64 y) {
		if (on && pair_passes(q.low, x, y))
			pass |= 1u << (batch * GS_SUM_BATCH + j);
	});
	return pass;
}

/* Returns the rows that pass terms, none of which is GS_TERM_OTHER. */
template <class R>
__device__ __forceinline__ u32
sum_passing(const gs_quick_term *terms, u32 nterms, const R &r, u32 mask)
{
	for (u32 t = 0; t < nterms; t++)
	{
		const gs_quick_term q = terms[t];

		if (q.way == GS_TERM_COLUMNS)
		{
			mask = sum_pairs_passing(q, r, mask);
			continue;
		}

		const u32 values = sum_not_null(r, q.value.columns, mask);
		u32 out = 0;

		if (q.way == GS_TERM_INTERVAL)
			each_value(q.value, r, values, [&](u32 batch, u32 j, bool on, u64 lo) {
				const u64 code = q.value.real ? gs_float_order64(lo, true) : lo;

				if (on && (code - q.low <= q.span) == q.outside)
					out |= 1u << (batch * GS_SUM_BATCH + j);
			});
		mask = q.way == GS_TERM_NONE ? 0 : q.way == GS_TERM_NULLS ? mask & ~values : values & ~out;
	}
	return mask;
}

/* Writes the slots of rows, which are their packed keys.  Returns the rows whose keys are inside their ranges. */
template <class R>
__device__ __forceinline__ u32
sum_slots(const gs_lists &l, const R &r, u32 mask, u32 &failed)
{
	u64 slots = 0;

	for (u32 batch = 0; batch < 32 / GS_SUM_BATCH; batch++)
		r.slots[batch * R::THREADS] = 0;
	for (u32 k = 0; k < l.nkeys; k++)
	{
		const gs_packed_key &key = l.keys.keys[k];
		const gs_reading &reading = l.key_values[k];
		const u32 values = sum_not_null(r, reading.columns, mask);
		u32 outside = key.nulls ? 0 : mask & ~values;

		each_value(reading, r, values, [&](u32 batch, u32 j, bool on, u64 lo) {
			bool wrong = false;
			const u64 part = on ? part_of(key, reading.real, true, lo, upper_half(reading, lo), wrong) : key.null_code;

			if (j == 0)
				slots = r.slots[batch * R::THREADS];
			if (wrong)
				outside |= 1u << (batch * GS_SUM_BATCH + j);
			else if (key.bits != 0)
				slots |= (part << key.shift & (GS_SUM_SLOTS - 1)) << 8 * j;
			if (j == GS_SUM_BATCH - 1)
				r.slots[batch * R::THREADS] = slots;
		});
		failed |= outside != 0 ? GS_FAILED_RANGE : 0;
		mask &= ~outside;
	}
	return mask;
}

/* Adds the values of rows that have one. */
template <int KIND, class R>
__device__ __forceinline__ void
sum_values(const gs_fold &f, const gs_table &t, const R &r, u32 mask, u32 &failed)
{
	fold_sum s = none<KIND>();

	each_value(f.value, r, mask, [&](u32, u32, bool on, u64 lo) {
		if (on)
			merge<KIND>(s, sum_of<KIND>(f, lo, upper_half(f.value, lo), failed));
	});
	if (s.n != 0)
		put<KIND>(f, t, 0, s);
}

/* Adds them to the rows' slots. */
template <int KIND, class R>
__device__ __forceinline__ void
sum_keyed(const gs_fold &f, const gs_table &t, const R &r, u32 mask, u32 &failed)
{
	u64 slots = 0;

	each_value(f.value, r, mask, [&](u32 batch, u32 j, bool on, u64 lo) {
		if (j == 0)
			slots = r.slots[batch * R::THREADS];
		if (on)
			put<KIND>(f, t, slots >> 8 * j & (GS_SUM_SLOTS - 1), sum_of<KIND>(f, lo, upper_half(f.value, lo), failed));
	});
}

/* Counts rows. */
template <class R>
__device__ __forceinline__ void
sum_counts(const gs_fold &f, const gs_table &t, const R &r, u32 mask)
{
	fold_sum s = none<GS_FOLD_COUNT>();

	s.n = r.slots != NULL ? 1 : __popc(mask);
	if (r.slots == NULL && s.n != 0)
		put<GS_FOLD_COUNT>(f, t, 0, s);
	for (u32 batch = 0; r.slots != NULL && batch < 32 / GS_SUM_BATCH; batch++)
	{
		const u64 slots = r.slots[batch * R::THREADS];

#pragma unroll
		for (u32 j = 0; j < GS_SUM_BATCH; j++)
			if (mask >> (batch * GS_SUM_BATCH + j) & 1)
				put<GS_FOLD_COUNT>(f, t, slots >> 8 * j & (GS_SUM_SLOTS - 1), s);
	}
}

/* Adds rows to all folds. */
template <bool KEYED, class R>
__device__ __forceinline__ void
sum_folds(const gs_lists &l, const gs_table &t, const R &r, u32 mask, u32 &failed)
{
	for (u32 i = 0; i < l.nfolds; i++)
	{
		const gs_fold &f = l.folds[i];
		u32 some;

		if (f.kind == GS_FOLD_NONE)
			continue;
		some = sum_not_null(r, f.value.columns, sum_passing(l.terms + f.terms, f.nterms, r, mask));
		if (f.kind == GS_FOLD_COUNT)
		{
			sum_counts(f, t, r, some);
			continue;
		}
#define SUM_VALUES(KIND)                                                                                               \
	if constexpr (KIND != GS_FOLD_COUNT && KIND != GS_FOLD_SUM_MOST && KIND != GS_FOLD_WIDE)                           \
	(KEYED ? sum_keyed<KIND, R> : sum_values<KIND, R>) (f, t, r, some, failed)
		EACH_KIND(f.kind, SUM_VALUES)
	}
}

/* Adds the rows of a tile.  slots: room in shared memory. */
template <bool KEYED, u32 THREADS>
__device__ __forceinline__ void
sum_tile(const gs_lists &l, const gs_table &t, const gs_span &tile, u64 *slots, u32 &failed)
{
	for (u32 from = threadIdx.x; from < tile.rows; from += 32 * THREADS)
	{
		const u32 rows = (tile.rows - from + THREADS - 1) / THREADS;
		const gs_sum_rows<THREADS> r = {l.columns + (u64) tile.segment * l.ncolumns, (u64) tile.first + from,
										KEYED ? slots + threadIdx.x : NULL};
		u32 mask = sum_passing(l.terms, l.nterms, r, rows < 32 ? (1u << rows) - 1 : ~0u);

		if (KEYED)
			mask = sum_slots(l, r, mask, failed);
		sum_folds<KEYED>(l, t, r, mask, failed);
	}
}

#endif
