/*
 * radix.cu: a radix sort as a sequence of passes: chooses digits, kernels and buffers.  Digits have at most 9 bits, or
 * 10 if that saves a pass, and are as even as possible.  They are counted where the keys are first read, or by a read
 * of their own.  Passes before the last alternate between two buffers.
 */
#include "radix.cuh"

#include <cstring>

/* Returns the widest digits of row orders for which this device has kernels. */
u32
gs_radix_most(const gs_cuda_engine *e)
{
	u32 bits = GS_WIDE_BITS;

	while (gs_radix_shape_of(*e->tuning, (int) bits, GS_WORDS, 0).threads == 0)
		bits--;
	return bits;
}

/* Returns the most tiles of a pass, given by the smallest tile of all shapes for row orders. */
static u64
pass_tiles(const gs_cuda_engine *e, u64 n)
{
	u64 tile = ~0ull;

	for (const gs_radix_shape &s : e->tuning->radix)
		if (s.threads != 0 && (s.in == GS_WORDS || s.in == GS_COLUMN8 || s.in == GS_COLUMN4))
			tile = (u64) s.threads * s.items < tile ? (u64) s.threads * s.items : tile;
	return (n + tile - 1) / tile;
}

/* temp: tickets (64 per pass), counts, bases of parts (64 per sort), status words of each pass */
#define TICKETS (GS_PLACES * 64 * sizeof(u32))
#define COUNTS	(GS_PLACES * GS_PLACE * sizeof(u32))

/* Returns the bytes before the status words.  Parts begin every 2^29 rows. */
static size_t
head_bytes(u64 n)
{
	return TICKETS + COUNTS + (n >> 29) * GS_PLACE * sizeof(u32);
}

/* Returns the temporary memory for a key of this many bits; 64 covers all. */
size_t
gs_radix_temp(const gs_cuda_engine *e, u64 n, u32 bits)
{
	u32 widths[GS_PLACES], digits = gs_radix_digits(bits, gs_radix_most(e), widths);
	u32 place = widths[0] > GS_PLACE_BITS ? GS_WIDE_BITS : GS_PLACE_BITS;

	return gs_round256(head_bytes(n)) + (digits * pass_tiles(e, n) * sizeof(u32) << place);
}

/* Clears memory if a gate is open, which cudaMemsetAsync cannot test. */
static __global__ void
clear_kernel(uint4 *p, u64 n, const u32 *gate, u32 gate_open)
{
	if (*gate == gate_open)
		for (u64 i = blockIdx.x * (u64) blockDim.x + threadIdx.x; i < n; i += (u64) gridDim.x * blockDim.x)
			p[i] = make_uint4(0, 0, 0, 0);
}

/* Clears temporary memory; if there is a gate, only if it is open. */
gs_status
gs_radix_clear(gs_cuda_engine *e, void *p, size_t bytes, const u32 *gate, u32 gate_open)
{
	if (gate == NULL)
		return gs_cuda_status(cudaMemsetAsync(p, 0, bytes, e->stream));
	clear_kernel<<<e->properties.multiProcessorCount * 4, 512, 0, e->stream>>>((uint4 *) p, (bytes + 15) / 16, gate,
																			   gate_open);
	return gs_cuda_status(cudaGetLastError());
}

/* Launches one pass, split where status words' count bits would overflow.  Segments are shorter, and in a table. */
gs_status
gs_radix_launch(gs_cuda_engine *e, const gs_radix_shape &shape, void (*kernel)(const gs_radix_args), gs_radix_args &a)
{
	/* a status word counts to less than 2^30 */
	const u64 tile = (u64) shape.threads * shape.items, most = a.tiles != NULL ? ~0ull : ((1u << 30) - 1) / tile;
	const size_t shared = gs_radix_shared(shape);
	u64 tiles = a.tiles != NULL ? a.sweep.tiles : (a.n + tile - 1) / tile;
	u32 *status = a.status, *ticket = a.sweep.ticket, *next = a.next_bases;
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) kernel, shape.threads, shared, &blocks));
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
		a.status = status + (t << shape.bits);
		a.next_bases = t + here < tiles ? next + part * GS_PLACE : NULL;
		if (e->stall)
			GS_TRY(gs_cuda_status(cudaMemsetAsync(&e->watch->last_done, 0, sizeof(u32), e->stream)));
		GS_TRY(gs_cuda_status(cudaLaunchKernel((const void *) kernel, dim3((u32) (here < (u64) blocks ? here : blocks)),
											   dim3(shape.threads), list, shared, e->stream)));
		a.bases = a.next_bases;
	}
	a.status = status;
	a.sweep.ticket = ticket;
	a.next_bases = next;
	return GS_OK;
}

/* Fills in the arguments common to all passes of a sort. */
static gs_radix_args
common_args(const gs_radix_sort *s, u32 *bases)
{
	gs_radix_args a = {};

	a.n = s->n;
	a.row_bits = s->row_bits;
	a.row_mask = (u32) gs_mask(s->row_bits);
	a.t = s->t;
	a.rotate_by = s->rotate_by;
	a.next_bases = bases;
	a.gate = s->gate;
	a.gate_open = s->gate_open;
	return a;
}

/* Clears the head of temporary memory and all passes' status words.  Counts digits unless the caller has. */
static gs_status
prepare(gs_cuda_engine *e, const gs_radix_sort *s, const u32 *widths, u32 digits, u32 at, u32 *counts)
{
	u64 status_words = 0;

	for (u32 p = 0; p < digits; p++)
		status_words += pass_tiles(e, s->n) << gs_radix_kernel_bits(widths[p]);
	GS_TRY(gs_radix_clear(e, s->temp, gs_round256(head_bytes(s->n)) + status_words * sizeof(u32), s->gate,
						  s->gate_open));
	if (s->counts != NULL)
		return GS_OK;

	gs_radix_counting c = {s->in, s->n, s->t, at, digits, {}, counts, s->gate, s->gate_open};

	memcpy(c.widths, widths, sizeof(c.widths));
	return gs_radix_count(e, s->from, c);
}

/* Enqueues a sort, without waiting. */
gs_status
gs_radix_run(gs_cuda_engine *e, gs_radix_sort *s)
{
	u32 widths[GS_PLACES] = {}, digits = gs_radix_digits(s->bits - s->skip, gs_radix_most(e), widths);
	bool column = s->from != GS_WORDS;
	u32 *tickets = (u32 *) s->temp, *counts = tickets + TICKETS / sizeof(u32);
	u32 *bases = counts + COUNTS / sizeof(u32);
	u32 *status = (u32 *) ((u8 *) s->temp + gs_round256(head_bytes(s->n)));
	const void *in = s->in;
	u32 at = (column ? 0 : s->shift) + s->skip;
	u64 *to = in == s->a ? s->b : s->a;

	if (s->n == 0)
		return GS_OK;

	GS_TRY(prepare(e, s, widths, digits, at, counts));
	s->passes = digits;
	for (u32 p = 0; p < digits; p++)
	{
		bool first = p == 0 && column, last = p == digits - 1 && s->rows;
		int bits = gs_radix_kernel_bits(widths[p]);
		gs_radix_io from = first ? s->from : GS_WORDS, into = last ? GS_ROWS : GS_WORDS;
		gs_radix_args a = common_args(s, bases);

		a.in = in;
		a.out = last ? (void *) s->order : to;
		a.shift = at;
		a.mask = (1u << widths[p]) - 1;
		a.prefetch = ((uintptr_t) in & 15) == 0 && e->properties.major >= 9;
		a.counts = (s->counts != NULL ? s->counts : counts) + p * GS_PLACE;
		a.status = status;
		a.sweep.ticket = tickets + 64 * p;
		if (first && s->bits + s->row_bits > 64)
			a.drop = widths[0];
		at += !first ? widths[p] : a.drop ? s->row_bits : s->row_bits + widths[0];
		GS_TRY(gs_radix_pass_order(e, bits, from, into, a));
		status += pass_tiles(e, s->n) << bits;
		s->result = to;
		in = to;
		to = to == s->a ? s->b : s->a;
	}
	return GS_OK;
}
