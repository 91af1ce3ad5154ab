/*
 * groups_pairs.c: different values of few groups, counted where a bitmap of all would be too large: records of slot and
 * code go to parts by their leading bits.  A part has a bitmap, or where codes are sparse is sorted, its records then
 * being multiplied so that parts are even.
 */
#include "groups.h"

#define FEW_ROWS	   16384 /* fewer than these have no pairs */
#define PART_ROWS	   4096
#define MOST_PARTS_LOG 9
#define DENSE_BITS	   22  /* of a part's bitmap, which fits the L2 cache */
#define DENSE_ROW_BITS 256 /* of the bitmaps, for each row: more cost more than sorts */
#define MOST_SLOTS	   512
#define FACTOR		   0x9e3779b97f4a7c15u

bool
gs_pairs_fit(const gs_cpu_groups *g, const gs_stream_value *v, uint32_t bits)
{
	return v->type != GS_F64 && !gs_value_wide(v) && g->head.rows >= FEW_ROWS && 1u << bits <= MOST_SLOTS &&
		   bits + gs_bits((uint64_t) v->span) <= 64;
}

void
gs_pairs_plan(gs_cpu_groups *g, gs_stream *s)
{
	uint32_t log = gs_bits(g->head.rows / PART_ROWS);
	uint64_t each;

	s->pairs = true;
	s->words = 1;
	s->value_bits = gs_bits((uint64_t) g->values[s->first].span);
	s->pair_bits = g->slot_bits + s->value_bits;
	g->pairs_log = log < MOST_PARTS_LOG ? log : MOST_PARTS_LOG;
	s->pair_shift = s->pair_bits - g->pairs_log;
	s->factor = s->inverse = 1;
	if (s->pair_shift > DENSE_BITS || ((uint64_t) 1 << s->pair_bits) / DENSE_ROW_BITS > g->head.rows)
	{
		s->factor = FACTOR >> (64 - s->pair_bits) | 1;
		s->inverse = gs_inverse_of(s->factor);
	}
	each = (g->head.rows / g->head.workers >> g->pairs_log) / 4;
	s->room = (uint32_t) (each < 32 ? 32 : each > GS_MOST_ROOM ? GS_MOST_ROOM : each) / 8 * 8;
	s->first_part = g->npairs;
	g->npairs += 1u << g->pairs_log;
	g->nparts = g->npairs;
	g->record_bytes += g->head.rows / g->head.workers * sizeof(uint64_t);
}

gs_status
gs_pairs_add(gs_group_job *j, uint32_t stream, const uint64_t *codes, uint32_t n, gs_ahead ahead)
{
	const gs_stream *s = &j->g->streams[stream];
	uint64_t pairs[GS_STEP_ROWS];

	memcpy(pairs, j->keys, n * sizeof(*pairs));
	j->w->loops->append(pairs, n, s->value_bits, codes);
	if (s->factor != 1)
		j->w->loops->mix(pairs, n, s->factor, gs_mask(s->pair_bits));
	return gs_place_first(j, stream, pairs, s->pair_shift, pairs, n, ahead);
}

/* ---------------------------------------------------------------- a part */

/* A part's work. */
typedef struct job
{
	gs_cpu_groups *g;
	gs_group_worker *w;
	gs_cpu_engine *cpu;
	const gs_stream *s;
	uint32_t part; /* its number in all */
	uint64_t upper; /* bits of its pairs */
	uint64_t counts[MOST_SLOTS];
} job;

/* Returns the slot of a pair. */
static uint32_t
slot_of(const job *j, uint64_t lower)
{
	uint64_t pair = ((j->upper | lower) * j->s->inverse) & gs_mask(j->s->pair_bits);

	return j->s->value_bits < 64 ? (uint32_t) (pair >> j->s->value_bits) : 0;
}

/* Calls something for each piece of the part's records. */
#define EACH_PIECE(j, r, n, STATEMENT)                                                                                 \
	for (uint32_t i = 0; i < (j)->g->head.workers; i++)                                                                \
		for (const gs_records *r = (j)->g->workers[i].has_rows ? (j)->g->workers[i].last[(j)->part] : NULL; r != NULL; \
			 r = r->next)                                                                                              \
		{                                                                                                              \
			uint32_t n = gs_records_number(&(j)->g->workers[i], (j)->part, r);                                         \
			STATEMENT                                                                                                  \
			GS_TRY(gs_work_add(&(j)->cpu->work, 2 * (uint64_t) n));                                                    \
		}

/* Counts pairs by a bitmap of all that the part may have.  Codes have more than 6 bits, so a word is of one slot. */
static gs_status
count_dense(job *j)
{
	uint64_t bytes = ((uint64_t) 1 << j->s->pair_shift) / 8, mask = gs_mask(j->s->pair_shift), *bitmap;

	GS_TRY(gs_block_reserve(&j->w->work, &j->w->values, bytes));
	bitmap = memset(j->w->values.data, 0, bytes);
	EACH_PIECE(j, r, n, {
		for (uint32_t k = 0; k < n; k++)
			bitmap[(r->words[k] & mask) / 64] |= (uint64_t) 1 << r->words[k] % 64;
	})
	for (uint64_t at = 0; at < bytes / 8; at++)
		j->counts[slot_of(j, at * 64)] += (uint64_t) __builtin_popcountll(bitmap[at]);
	return gs_work_add(&j->cpu->work, bytes / 8);
}

/* Sorts pairs and counts those that differ from the one before. */
static gs_status
count_sparse(job *j)
{
	const gs_stream_value sorted = {.words = 1, .span = gs_mask(j->s->pair_shift)};
	uint64_t all = gs_records_count(j->g, j->part), mask = gs_mask(j->s->pair_shift), *to;
	void *pairs;

	if (all == 0)
		return GS_OK;
	GS_TRY(gs_block_reserve(&j->w->work, &j->w->values, all * sizeof(uint64_t)));
	pairs = to = j->w->values.data;
	EACH_PIECE(j, r, n, {
		for (uint32_t k = 0; k < n; k++)
			*to++ = r->words[k] & mask;
	})
	GS_TRY(gs_sort_codes(j->w, j->cpu, &sorted, &pairs, all));
	to = pairs;
	for (uint64_t i = 0; i < all; i++)
		if (i == 0 || to[i] != to[i - 1])
			j->counts[slot_of(j, to[i])]++;
	return gs_work_add(&j->cpu->work, 4 * all);
}

gs_status
gs_pairs_part(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t part)
{
	job j = {.g = g, .w = w, .cpu = cpu, .part = part};
	uint32_t stream = 0;

	while (!g->streams[stream].pairs || part - g->streams[stream].first_part >= 1u << g->pairs_log)
		stream++;
	j.s = &g->streams[stream];
	j.upper = j.s->pair_shift < 64 ? (uint64_t) (part - j.s->first_part) << j.s->pair_shift : 0;
	GS_TRY(j.s->factor == 1 ? count_dense(&j) : count_sparse(&j));
	for (uint32_t i = 0; i < g->nanswers; i++)
		for (uint32_t slot = 0; slot < 1u << g->slot_bits && g->answers[i].stream == stream; slot++)
			if (j.counts[slot] > 0)
				(void) __atomic_add_fetch(&g->few_answers[(size_t) slot * g->nwhole + g->answers[i].whole].count,
										  j.counts[slot], __ATOMIC_RELAXED);
	return GS_OK;
}
