/*
 * ties.cu: orders rows that tie in the bits sorted so far.
 *
 * The sorted words have bits of the key above a number that identifies the row.  A row without ties goes to its place.
 * Small groups are sorted by comparing the rest of their keys: each row counts those before it.  Rows of larger groups
 * are compacted (row, position, group) and sorted by (group, next bits of the key), repeatedly, until no group is large
 * or the keys have ended.  Before each round, strings advance past the common prefix of their group.
 *
 * Bytes per row: 8 read, 4 written; per tied row and round about 40, its key, and the passes over its word.  Source:
 * cpu/refine.c; prefix words and tie segments after the string sorts in doc/kernels.md.
 */
#include "ties.cuh"

/* Returns the most groups for a next round, each of more than SMALL_GROUP rows. */
static u64
most_groups(u64 n)
{
	return n / (SMALL_GROUP + 1) + 1;
}

/* two lists of rows and positions, groups; two lists of places, common, differ; counts of tiles */
size_t
gs_ties_temp(u64 n)
{
	return 5 * gs_round256(n * 4) + 2 * gs_round256(most_groups(n) * sizeof(gs_dev_place)) +
		   2 * gs_round256(most_groups(n) * 4) + gs_round256((n / TIE_TILE + 1) * sizeof(u64));
}

/* Waits for the number of tied rows, which decides whether there is another round. */
static gs_status
get_flags(gs_cuda_engine *e, const gs_order_flags *from, gs_order_flags *to)
{
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(to, from, sizeof(*to), cudaMemcpyDeviceToHost, e->stream)));
	return gs_cuda_status(cudaStreamSynchronize(e->stream));
}

/* Memory of the rounds.  Lists alternate: one is read while the next is written. */
struct ties_lists
{
	u32 *rows[2], *positions[2], *groups;
	gs_dev_place *places[2];
};

/* Initializes the arguments common to all rounds, and lays out the lists. */
static ties_lists
begin_ties(const gs_cuda_plan *plan, u64 *words, void *temp, u32 *order, ties_args *a)
{
	const u64 n = plan->rows;
	u8 *at = (u8 *) temp;
	auto take = [&](size_t bytes) -> void * {
		void *p = at;

		at += gs_round256(bytes);
		return p;
	};
	ties_lists l;

	for (u32 *&p : l.rows)
		p = (u32 *) take(n * 4);
	for (u32 *&p : l.positions)
		p = (u32 *) take(n * 4);
	l.groups = (u32 *) take(n * 4);
	for (gs_dev_place *&p : l.places)
		p = (gs_dev_place *) take(most_groups(n) * sizeof(gs_dev_place));
	a->key = plan->key;
	a->words = words;
	a->n = n;
	a->low = plan->row_bits;
	a->room = plan->bits;
	a->order = order;
	a->pairs = ((uintptr_t) order & 7) == 0;
	a->flags = plan->flags;
	a->common = (u32 *) take(most_groups(n) * 4);
	a->differ = (u32 *) take(most_groups(n) * 4);
	a->list = l.groups; /* until a round numbers its groups */
	a->counts = (u64 *) take((n / TIE_TILE + 1) * sizeof(u64));
	return l;
}

/* Sends rows of small groups to their places, and reads how many rows and groups remain. */
static gs_status
place_groups(gs_cuda_engine *e, const gs_cuda_plan *plan, ties_args *a, gs_order_flags *flags)
{
	a->tiles = (u32) ((a->n + TIE_TILE - 1) / TIE_TILE);
	GS_TRY(gs_cuda_status(cudaMemsetAsync(plan->flags, 0, sizeof(gs_order_flags), e->stream)));
	GS_TRY(gs_cuda_status(cudaMemsetAsync(a->counts, 0, a->tiles * sizeof(u64), e->stream)));
	place_kernel<<<gs_cuda_grid(e, a->n, TIE_THREADS, 8), TIE_THREADS, 0, e->stream>>>(*a);
	listed_kernel<<<gs_cuda_grid(e, a->n, TIE_THREADS, 8), TIE_THREADS, 0, e->stream>>>(*a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(get_flags(e, plan->flags, flags));
	if (flags->wrong || flags->tied == 0)
		return flags->wrong ? GS_WRONG_ORDER : GS_OK;
	offsets_kernel<<<1, 1024, 0, e->stream>>>(a->counts, a->tiles, plan->flags);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	return get_flags(e, plan->flags, flags);
}

/* Makes and sorts words of group, next bits of the key and list position, for m rows of g groups. */
static gs_status
sort_next_bits(gs_cuda_engine *e, const gs_cuda_plan *plan, ties_args *a, u32 m, u32 g, gs_radix_sort *s)
{
	const u32 number_bits = gs_bits(m - 1), group_bits = g > 1 ? gs_bits(g - 1) : 0;
	const u32 left = 64 - number_bits - group_bits, room = left < MOST_BITS ? left : MOST_BITS;

	if (left < 9)
		return GS_TOO_BIG; /* not even one character fits */
	a->total = (u64) g << 32 | m;
	compact_kernel<<<gs_cuda_grid(e, a->n, TIE_THREADS, 8), TIE_THREADS, 0, e->stream>>>(*a);
	if (plan->strings)
	{
		common_kernel<<<gs_cuda_grid(e, m, TIE_THREADS, 8), TIE_THREADS, 0, e->stream>>>(*a, m);
		skip_kernel<<<gs_cuda_grid(e, g, TIE_THREADS, 8), TIE_THREADS, 0, e->stream>>>(*a, g);
	}
	next_words_kernel<<<gs_cuda_grid(e, m, TIE_THREADS, 8), TIE_THREADS, 0, e->stream>>>(*a, m, room, number_bits,
																						 s->a);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	s->n = m;
	s->from = GS_WORDS;
	s->in = s->a;
	s->bits = room + group_bits;
	s->shift = number_bits;
	a->low = number_bits;
	a->room = room;
	return gs_radix_run(e, s);
}

/* Writes the order of rows with sorted words.  other is as large as words; radix is memory for gs_radix_run. */
gs_status
gs_ties_run(gs_cuda_engine *e, const gs_cuda_plan *plan, u64 *words, u64 *other, void *temp, void *radix, u32 *order,
			u32 *rounds)
{
	const gs_host *host = &e->head.host;
	ties_args a = {};
	const ties_lists lists = begin_ties(plan, words, temp, order, &a);
	gs_cuda_sort *sort;

	GS_TRY(gs_sort_state(e, &sort));
	for (u32 round = 0;; round++)
	{
		gs_order_flags *flags = (gs_order_flags *) sort->host;
		gs_radix_sort s = {};
		u32 m;

		*rounds = round;
		GS_TRY(place_groups(e, plan, &a, flags));
		m = flags->tied;
		if (m == 0)
			return GS_OK;
		if (host->poll != NULL && host->poll(host->arg))
			return GS_CANCELLED;
		a.next_rows = lists.rows[round & 1];
		a.next_positions = lists.positions[round & 1];
		a.next_groups = lists.groups;
		a.next_places = lists.places[round & 1];
		s.a = words;
		s.b = other;
		s.temp = radix;
		GS_TRY(sort_next_bits(e, plan, &a, m, flags->groups, &s));
		if (s.result != words)
		{
			other = words;
			words = s.result;
		}
		a.words = words;
		a.n = m;
		a.rows = a.next_rows;
		a.positions = a.next_positions;
		a.pairs = 0;
		a.places = a.next_places;
	}
}
