/*
 * keys.cu: gs_sort: sorts keys, with or without values, by digits of 8 bits.
 *
 * One read counts all digits.  A kernel of one block then finds the digits that vary, and schedules the passes between
 * input, temporary memory and output, such that the last one ends in the output.  The host enqueues every pass; those
 * without work return at once.  The input is never written.  Pairs of 4 and 4 bytes travel as one word between the
 * first pass and the last.
 *
 * Large arrays of 4-byte integers, alone or with 4-byte values, are sorted by two leading digits and then in shared
 * memory (keys_buckets.cu), if a sample predicts short buckets.  Large arrays of 8-byte keys are sorted by their
 * leading digits alone if a sample predicts few ties, and groups out of order then one by one (keys_leading.cu).  If
 * the sample turns out wrong, all digits are sorted, by kernels enqueued for that case.
 *
 * Bytes per item: a key, read for the counts; per pass, key and value read and written.  See radix/array_pass.cuh.
 */
#include "keys.cuh"

#include <cstring>

/* Layout of temporary memory.  What is zeroed before a sort, and before it is repeated, is contiguous. */
struct keys_layout
{
	size_t schedule, counts, tickets, status, bases, steps, parts, keys, values, bytes;
};

/* Returns whether pairs are one word between the first pass and the last. */
static bool
one_word(const gs_sort_request *r)
{
	return r->key_bytes == 4 && r->value_width == 4;
}

/* Returns a pass's tiles, for the layout of status words: of the smallest among the kernels for such items. */
static u64
tiles_of(const gs_cuda_engine *e, size_t key_bytes, size_t value_width, u64 n)
{
	u64 tile = ~0ull;

	for (const gs_radix_shape &s : e->tuning->radix)
	{
		bool mine =
			s.bits == GS_KEY_BITS && s.value == (int) value_width && s.in == (key_bytes == 4 ? GS_KEYS4 : GS_KEYS8);

		if (key_bytes == 4 && value_width == 4)
			mine = s.bits == GS_KEY_BITS && s.value == 0 && (s.in == GS_PAIRS4 || s.in == GS_KEYS8);
		if (mine && s.threads != 0 && (u64) s.threads * s.items < tile)
			tile = (u64) s.threads * s.items;
	}
	return (n + tile - 1) / tile;
}

/* Lays out temporary memory, for gs_sort_temp_bytes and the sort alike. */
static keys_layout
layout_of(const gs_cuda_engine *e, size_t key_bytes, size_t value_width, u64 n)
{
	u64 passes = key_bytes * 8 / GS_KEY_BITS, at = 0;
	bool words = key_bytes == 4 && value_width == 4;
	keys_layout l;
	auto take = [&](u64 bytes) {
		u64 here = at;

		at += gs_round256(bytes);
		return here;
	};

	l.schedule = take(sizeof(gs_keys_schedule));
	l.counts = take(passes * GS_PLACE * sizeof(u32));
	l.tickets = take(passes * 64 * sizeof(u32));
	l.status = take((passes * tiles_of(e, key_bytes, value_width, n) << GS_KEY_BITS) * sizeof(u32));
	l.bases = take((n >> 29) * GS_PLACE * sizeof(u32));
	l.steps = take(GS_PLACES * sizeof(gs_radix_step));
	l.parts = take(gs_keys_buckets_temp(key_bytes, value_width, n));
	l.keys = take(n * (words ? 8 : key_bytes));
	l.values = take(n * (words ? 8 : value_width));
	l.bytes = at;
	return l;
}

/* Returns the temporary memory for every method, as the sort may try buckets, leading digits and all digits in turn. */
size_t
gs_cuda_sort_keys_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n)
{
	(void) engine;
	return layout_of((const gs_cuda_engine *) engine, gs_type_width(key), value_width, n).bytes;
}

/* ---------------------------------------------------------------- the schedule */

/* Schedules passes, to end in the output; none if the gate is closed.  Before a sample, chooses leading digits. */
static __global__ void __launch_bounds__(1 << GS_KEY_BITS)
schedule_kernel(gs_keys_plan plan, gs_schedule_stage stage, const u32 *gate)
{
	__shared__ u32 active[GS_PLACES];
	gs_keys_schedule *schedule = plan.schedule;
	bool open = gate == NULL || *gate != 0;
	u32 todo = 0, leading = 0;

	for (u32 p = 0; p < plan.digits; p++)
	{
		/* 2^32 of one digit would be counted as none */
		bool all = __syncthreads_or(plan.n < 1ull << 32 && plan.counts[p * GS_PLACE + threadIdx.x] == (u32) plan.n);

		if (threadIdx.x == 0)
			active[p] = open && !all;
		todo += open && !all;
	}
	if (threadIdx.x != 0)
		return;
	if (stage == GS_SCHEDULE_SAMPLE)
	{
		for (u32 p = plan.digits, seen = 0; p-- > 0;)
			if (active[p] && ++seen >= GS_LEADING_LEAST && seen < GS_LEADING_LEAST + GS_LEADING_CHOICES &&
				seen + 1 < todo)
				schedule->shifts[seen - GS_LEADING_LEAST] = plan.at[p];
		return;
	}
	if (stage == GS_SCHEDULE_CHOOSE)
		for (u32 c = GS_LEADING_CHOICES; c-- > 0;)
			if (schedule->shifts[c] != 0 && schedule->tied[c] * 16ull * plan.n <= (u64) GS_SAMPLE * GS_SAMPLE)
				leading = GS_LEADING_LEAST + c;
	if (leading != 0)
	{
		schedule->leading = 1;
		schedule->shift = schedule->shifts[leading - GS_LEADING_LEAST];
		for (u32 p = 0; p < plan.digits && todo > leading; p++)
		{
			todo -= active[p];
			active[p] = 0;
		}
	}
	if (open && todo == 0)
		todo = active[0] = 1;
	for (u32 p = 0, from = 0; p < plan.digits; p++)
	{
		u32 to = todo & 1 ? 2 : 1;

		plan.steps[p] = {active[p], from, to};
		if (active[p])
		{
			from = to;
			todo--;
		}
	}
}

/* ---------------------------------------------------------------- passes */

/* What all passes of a sort share. */
struct keys_sort
{
	gs_cuda_engine *e;
	const gs_sort_request *r;
	keys_layout at;
	u8 *temp;
	gs_keys_plan plan;
	u32 begin;
	u32 widths[GS_PLACES];
};

/* Returns whether both arrays are aligned to 16 bytes. */
static bool
aligned(const void *a, const void *b)
{
	return (((uintptr_t) a | (uintptr_t) b) & 15) == 0;
}

/* Returns a pass's arguments, except where it reads and writes. */
static gs_radix_args
pass_args(const keys_sort *s, u32 p)
{
	const gs_sort_request *r = s->r;
	u64 tiles = tiles_of(s->e, r->key_bytes, r->value_width, r->n);
	gs_radix_args a = {};

	a.n = r->n;
	a.shift = s->begin + s->plan.at[p];
	a.mask = (1u << s->widths[p]) - 1;
	a.flip = (u32) (s->plan.flip >> a.shift) & a.mask;
	a.key_flip = s->plan.flip;
	a.prefetch = s->e->properties.major >= 9 && aligned(r->keys, r->out_keys);
	a.prefetch_values = s->e->properties.major >= 9 && aligned(r->values, r->out_values);
	a.counts = s->plan.counts + p * GS_PLACE;
	a.next_bases = (u32 *) (s->temp + s->at.bases);
	a.status = (u32 *) (s->temp + s->at.status) + (p * tiles << GS_KEY_BITS);
	a.sweep.ticket = (u32 *) (s->temp + s->at.tickets) + 64 * p;
	return a;
}

/* Counts all digits, or the leading ones.  gate: see gs_radix_counting. */
static gs_status
count_digits(const keys_sort *s, u32 first, const u32 *gate, u32 gate_open)
{
	const u32 digits = s->plan.digits - first;
	gs_radix_counting c = {
		s->r->keys, s->r->n,  {}, s->begin + s->plan.at[first], digits, {}, s->plan.counts + first * GS_PLACE,
		gate,		gate_open};

	memcpy(c.widths, s->widths + first, digits * sizeof(u32));
	return gs_radix_count_keys(s->e, s->r->key_bytes, s->plan.floats, c);
}

/* Makes the schedule and enqueues the passes.  gate: skipped while it is 0. */
static gs_status
run_passes(const keys_sort *s, gs_schedule_stage stage, const u32 *gate)
{
	const gs_sort_request *r = s->r;

	schedule_kernel<<<1, 1 << GS_KEY_BITS, 0, s->e->stream>>>(s->plan, stage, gate);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	for (u32 p = 0; p < s->plan.digits; p++)
	{
		gs_radix_args a = pass_args(s, p);

		a.step = s->plan.steps + p;
		a.keys_at[0] = (void *) r->keys;
		a.keys_at[1] = s->temp + s->at.keys;
		a.keys_at[2] = r->out_keys;
		a.values_at[0] = (void *) r->values;
		a.values_at[1] = s->temp + s->at.values;
		a.values_at[2] = r->out_values;
		GS_TRY(gs_radix_pass_keys(s->e, r->key_bytes, r->value_width, s->plan.floats, a));
	}
	return GS_OK;
}

/* Enqueues a pass over pairs that are words between first and last, in two arrays.  done: passes before. */
static gs_status
run_pairs(const keys_sort *s, u32 p, u32 done, bool last, const u32 *gate, u32 gate_open)
{
	const gs_sort_request *r = s->r;
	void *words[2] = {s->temp + s->at.keys, s->temp + s->at.values};
	gs_radix_args a = pass_args(s, p);

	if (!s->plan.floats)
		a.shift += 32;
	a.key_flip <<= 32;
	a.in = done == 0 ? r->keys : words[(done + 1) & 1];
	a.values = r->values;
	a.out = last ? r->out_keys : words[done & 1];
	a.out_values = r->out_values;
	a.gate = gate;
	a.gate_open = gate_open;
	if (done != 0)
		a.prefetch = s->e->properties.major >= 9;
	return gs_radix_pass_pairs(s->e, s->plan.floats, done == 0, last, a);
}

/* Sorts 4-byte integers by leading digits, then in shared memory.  schedule->again: another method must sort. */
static gs_status
run_buckets(const keys_sort *s)
{
	const gs_sort_request *r = s->r;
	const u32 first = s->plan.digits - GS_BUCKET_DIGITS;
	u32 *again = &s->plan.schedule->again;

	GS_TRY(gs_keys_buckets_sample(s->e, s->plan, r, s->temp + s->at.keys));
	GS_TRY(count_digits(s, first, again, 0));
	for (u32 p = first; p < s->plan.digits; p++)
	{
		gs_radix_args a = pass_args(s, p);

		if (one_word(r))
		{
			GS_TRY(run_pairs(s, p, p - first, false, again, 0));
			continue;
		}
		a.in = p == first ? r->keys : r->out_keys;
		a.out = p == first ? r->out_keys : s->temp + s->at.keys;
		a.gate = again;
		GS_TRY(gs_radix_pass_keys(s->e, 4, 0, false, a));
	}
	GS_TRY(
		gs_keys_buckets(s->e, s->plan, r, s->temp + (one_word(r) ? s->at.values : s->at.keys), s->temp + s->at.parts));
	return gs_radix_clear(s->e, s->temp + s->at.counts, s->at.bases - s->at.counts, again, 1);
}

/* Implements gs_sort.  Enqueues everything: the device decides, and passes not needed return at once (gate). */
gs_status
gs_cuda_sort_keys(gs_engine *engine, const gs_sort_request *r, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	keys_sort s = {e, r, layout_of(e, r->key_bytes, r->value_width, r->n), (u8 *) temp};
	const gs_column_spec spec = {r->key, r->desc};
	u32 *gate = NULL; /* all digits are sorted only if this is set */
	bool leading;

	cudaSetDevice(e->device);
	s.begin = r->begin_bit;
	s.plan.n = r->n;
	s.plan.counts = (u32 *) (s.temp + s.at.counts);
	s.plan.schedule = (gs_keys_schedule *) (s.temp + s.at.schedule);
	s.plan.steps = (gs_radix_step *) (s.temp + s.at.steps);
	s.plan.floats = gs_type_is_float(r->key);
	s.plan.flip = gs_order_flip(&spec);
	s.plan.begin = r->begin_bit;
	s.plan.mask = gs_mask(r->end_bit - r->begin_bit);
	s.plan.digits = gs_radix_digits(r->end_bit - r->begin_bit, GS_KEY_BITS, s.widths);
	for (u32 p = 1; p < s.plan.digits; p++)
		s.plan.at[p] = s.plan.at[p - 1] + s.widths[p - 1];
	leading = r->key_bytes == 8 && r->n >= GS_LEADING_ROWS && s.plan.digits > GS_LEADING_LEAST + 1;

	GS_TRY(gs_cuda_status(cudaMemsetAsync(s.temp, 0, s.at.bases, e->stream)));
	if (gs_keys_buckets_may(e, s.plan, r))
	{
		GS_TRY(run_buckets(&s));
		gate = &s.plan.schedule->again;
	}
	GS_TRY(count_digits(&s, 0, gate, 1));
	if (one_word(r))
	{
		for (u32 p = 0; p < s.plan.digits; p++)
			GS_TRY(run_pairs(&s, p, p, p + 1 == s.plan.digits, gate, 1));
		return GS_OK;
	}
	if (leading)
	{
		void *tables = s.temp + s.at.keys;

		GS_TRY(gs_cuda_status(cudaMemsetAsync(tables, 0, GS_SAMPLE_TABLES, e->stream)));
		schedule_kernel<<<1, 1 << GS_KEY_BITS, 0, e->stream>>>(s.plan, GS_SCHEDULE_SAMPLE, NULL);
		GS_TRY(gs_leading_sample(e, s.plan, (const u64 *) r->keys, (u64 *) tables));
	}
	GS_TRY(run_passes(&s, leading ? GS_SCHEDULE_CHOOSE : GS_SCHEDULE_ALL, gate));
	if (!leading)
		return GS_OK;
	GS_TRY(gs_leading_finish(e, s.plan, r, (u32 *) (s.temp + s.at.keys)));
	gate = &s.plan.schedule->again;
	GS_TRY(gs_radix_clear(e, s.temp + s.at.tickets, s.at.bases - s.at.tickets, gate, 1));
	return run_passes(&s, GS_SCHEDULE_ALL, gate);
}
