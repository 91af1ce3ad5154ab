/*
 * sort_keys.cu: gs_sort: keys, and keys with values, by digits of 8 bits.
 *
 * One read counts all digits.  A kernel of one block then looks which digits tell keys apart at all, and lays the passes' road: input,
 * temporary memory and output in turns, so that the last pass that does anything ends in the output.  The host enqueues every
 * pass; those that have nothing to do return at once.  The input is only read.
 *
 * Ranking is by ballots.  Integers of 4 bytes, alone and by all their bits, are ranked by the order of returning atomics where the device's
 * test allows it: equal ones are alike, so stability cannot show; the last pass compares neighbours, and if any are out of order
 * everything is sorted again, by ballots.
 *
 * Bytes per item: a key read for the counts; per pass key and value read and written.  See radix.cuh.
 */
#include "sort.cuh"

#include <cstring>

#define KEY_BITS 8 /* of a digit at most */

/* Temporary memory, in this order; what is zeroed before a sort, and before it is done again, lies side by side. */
struct keys_layout
{
	size_t counts, flags, tickets, status, bases, steps, keys, values, bytes;
};

static u64
tiles_of(gs_radix_io in, size_t value_width, u64 n)
{
	u64 tile = ~0ull;

	for (const gs_radix_shape &s : gs_radix_shapes)
		if (s.in == in && s.value == (int) value_width)
			tile = (u64) s.threads * s.items < tile ? (u64) s.threads * s.items : tile;
	return (n + tile - 1) / tile;
}

static gs_radix_io
io_of(size_t key_bytes)
{
	return key_bytes == 4 ? GS_KEYS4 : GS_KEYS8;
}

static keys_layout
layout_of(size_t key_bytes, size_t value_width, u64 n)
{
	u64 passes = key_bytes * 8 / KEY_BITS, at = 0;
	keys_layout l;
	auto take = [&](u64 bytes) {
		u64 here = at;

		at += gs_round256(bytes);
		return here;
	};

	l.counts = take(passes * GS_PLACE * sizeof(u32));
	l.flags = take(sizeof(u32));
	l.tickets = take(passes * 64 * sizeof(u32));
	l.status = take((passes * tiles_of(io_of(key_bytes), value_width, n) << KEY_BITS) * sizeof(u32));
	l.bases = take((n >> 29) * GS_PLACE * sizeof(u32));
	l.steps = take(GS_PLACES * sizeof(gs_radix_step));
	l.keys = take(n * key_bytes);
	l.values = take(n * value_width);
	l.bytes = at;
	return l;
}

size_t
gs_cuda_sort_keys_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n)
{
	(void) engine;
	return layout_of(gs_type_width(key), value_width, n).bytes;
}

/*
 * Which passes there are to do, and from where to where: every other one into the output, the last one too.
 */
static __global__ void __launch_bounds__(GS_PLACE)
road_kernel(const u32 *counts, u64 n, u32 digits, gs_radix_step *steps, const u32 *gate)
{
	__shared__ u32 active[GS_PLACES];
	bool open = gate == NULL || *gate != 0;
	u32 todo = 0;

	for (u32 p = 0; p < digits; p++)
	{
		/* 2^32 of one digit would be counted as none */
		bool all = __syncthreads_or(n < 1ull << 32 && counts[p * GS_PLACE + threadIdx.x] == (u32) n);

		if (threadIdx.x == 0)
			active[p] = open && !all;
		todo += open && !all;
	}
	if (threadIdx.x != 0)
		return;
	if (open && todo == 0)
		todo = active[0] = 1;
	for (u32 p = 0, from = 0; p < digits; p++)
	{
		u32 to = todo & 1 ? 2 : 1;

		steps[p] = {active[p], from, to};
		if (active[p])
		{
			from = to;
			todo--;
		}
	}
}

/* Everything that a sort's passes have in common. */
struct keys_sort
{
	gs_cuda_engine *e;
	const gs_sort_items *items;
	keys_layout at;
	u8 *temp;
	u64 flip; /* of keys: signed numbers, descending */
	u32 begin, digits;
	u32 widths[GS_PLACES];
	bool floats;
};

/* Enqueues the passes; wrong: rank by atomics, and where to say that it failed.  gate: only if it is not 0. */
static gs_status
run_passes(const keys_sort *s, u32 *wrong, const u32 *gate)
{
	const gs_sort_items *t = s->items;
	gs_radix_step *steps = (gs_radix_step *) (s->temp + s->at.steps);
	u32 *counts = (u32 *) (s->temp + s->at.counts), *status = (u32 *) (s->temp + s->at.status);
	u64 tiles = tiles_of(io_of(t->key_bytes), t->value_width, t->n);
	bool aligned = s->e->properties.major >= 9 && ((uintptr_t) t->keys & 15) == 0 && ((uintptr_t) t->out_keys & 15) == 0;
	bool values_aligned = ((uintptr_t) t->values & 15) == 0 && ((uintptr_t) t->out_values & 15) == 0;
	u32 at = s->begin;

	road_kernel<<<1, GS_PLACE, 0, s->e->stream>>>(counts, t->n, s->digits, steps, gate);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	for (u32 p = 0; p < s->digits; p++)
	{
		gs_radix_args a = {};

		a.n = t->n;
		a.shift = at;
		a.mask = (1u << s->widths[p]) - 1;
		a.flip = (u32) (s->flip >> at) & a.mask;
		a.key_flip = s->flip;
		a.prefetch = aligned;
		a.prefetch_values = aligned && values_aligned;
		a.counts = counts + p * GS_PLACE;
		a.next_bases = (u32 *) (s->temp + s->at.bases);
		a.status = status + (p * tiles << KEY_BITS);
		a.sweep.ticket = (u32 *) (s->temp + s->at.tickets) + 64 * p;
		a.wrong = p + 1 == s->digits ? wrong : NULL;
		a.step = steps + p;
		a.keys_at[0] = (void *) t->keys;
		a.keys_at[1] = s->temp + s->at.keys;
		a.keys_at[2] = t->out_keys;
		a.values_at[0] = (void *) t->values;
		a.values_at[1] = s->temp + s->at.values;
		a.values_at[2] = t->out_values;
		GS_TRY(gs_radix_pass_keys(s->e, t->key_bytes, t->value_width, s->floats, wrong != NULL, a));
		at += s->widths[p];
	}
	return GS_OK;
}

gs_status
gs_cuda_sort_keys(gs_engine *engine, gs_type key, bool desc, uint32_t begin_bit, uint32_t end_bit, const gs_sort_items *items, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	keys_sort s = {e, items, layout_of(items->key_bytes, items->value_width, items->n), (u8 *) temp};
	u32 bits = 8 * (u32) items->key_bytes, *flags = (u32 *) (s.temp + s.at.flags);
	size_t zero = s.at.bases - s.at.tickets;
	bool atomics;

	cudaSetDevice(e->device);
	s.floats = gs_type_is_float(key);
	s.flip = (gs_type_is_signed(key) ? 1ull << (bits - 1) : 0) ^ (desc ? gs_low_mask(bits) : 0);
	s.begin = begin_bit;
	s.digits = gs_radix_digits(end_bit - begin_bit, KEY_BITS, s.widths);
	atomics = items->key_bytes == 4 && items->value_width == 0 && !s.floats && begin_bit == 0 && end_bit == bits &&
			  gs_sort_atomics(e, items->n);

	gs_radix_counting c = {items->keys, items->n, {}, begin_bit, s.digits, {}, (u32 *) (s.temp + s.at.counts), NULL, 0};

	memcpy(c.widths, s.widths, s.digits * sizeof(u32));
	GS_TRY(gs_cuda_status(cudaMemsetAsync(s.temp, 0, s.at.bases, e->stream)));
	GS_TRY(gs_radix_count(e, io_of(items->key_bytes), s.floats, c));
	GS_TRY(run_passes(&s, atomics ? flags : NULL, NULL));
	if (!atomics)
		return GS_OK;
	GS_TRY(gs_radix_clear(e, s.temp + s.at.tickets, zero, flags, 1));
	return run_passes(&s, NULL, flags);
}
