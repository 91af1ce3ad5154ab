/*
 * groups_rows.c: rows of a list with groups become records of parts, block by block: for each stream the rows that
 * count, their packed keys, the values of expressions, each of these word by word to the part's place.  Those of a
 * window's records come from windows_records.c.
 */
#include "groups.h"
#include "lines.h"

/* Returns the plan of a clause. */
static const gs_aggregate *
clause_at(const gs_group_job *j, uint32_t clause)
{
	return &j->w->plan.group->aggregates[clause];
}

gs_ahead
gs_ahead_of(const gs_group_job *j, uint64_t columns, uint32_t n)
{
	const gs_rows_block *b = &j->block;
	uint32_t c;
	size_t width;

	/* no columns: what is there already */
	if (columns == 0)
		return (gs_ahead){(const char *) b, 0};
	c = (uint32_t) __builtin_ctzll(columns);
	width = gs_width_of((gs_type) j->g->head.steps->types[c]);
	return (gs_ahead){(const char *) b->columns[c].values + (b->first + b->n) * width, width * b->n / n};
}

/* ---------------------------------------------------------------- values */

/* Computes the codes of values that are needed all at once.  Returns false if a value is outside of its range. */
static bool
codes_of(const gs_group_job *j, const gs_stream_value *v, const void *values, uint32_t n, uint64_t *codes)
{
	bool good = true;

	if (v->type == GS_F64)
		j->w->loops->order(values, n, false, 0, 0, codes);
	else if (v->type == GS_I64)
	{
		j->w->loops->less(GS_I64, values, n, (uint64_t) v->low, codes);
		good = j->w->loops->most(codes, n) <= v->span;
	}
	else
		for (uint32_t i = 0; i < n; i++)
		{
			gs_unsigned_wide x = (gs_unsigned_wide) ((const gs_held_wide *) values)[i] - (gs_unsigned_wide) v->low;

			good &= x <= v->span;
			codes[v->words * i] = (uint64_t) x;
			if (v->words == 2)
				codes[2 * i + 1] = (uint64_t) (x >> 64);
		}
	return good;
}

/* Counts the cells of values, or puts down the codes of those that are needed. */
static gs_status
add_cells(gs_group_job *j, uint32_t stream, const gs_stream_value *v, const void *values, uint32_t n, gs_ahead ahead)
{
	const gs_cells *cells = &j->g->streams[stream].cells;
	uint64_t codes[GS_STEP_ROWS], needed[GS_STEP_ROWS];
	uint32_t rows[GS_STEP_ROWS];

	if (!cells->even && !codes_of(j, v, values, n, codes))
		return GS_INVALID;
	j->w->loops->cells(cells, cells->even ? values : codes, j->keys, n, j->slots);
	if (!j->again)
	{
		gs_cells_count(j->g, j->w, stream, j->slots, n, ahead);
		return GS_OK;
	}
	n = gs_cells_needed(j->g, stream, j->slots, n, ahead, rows);
	for (uint32_t i = 0; i < n; i++)
	{
		j->slots[i] = j->slots[rows[i]];
		needed[i] = (cells->even ? (const uint64_t *) values : codes)[rows[i]];
	}
	if (cells->even)
		(void) codes_of(j, v, needed, n, codes);
	return gs_cells_collect(j->g, j->w, stream, j->slots, cells->even ? codes : needed, n);
}

/* Writes the codes of values: bits of a bitmap, or of records. */
static gs_status
place_codes(gs_group_job *j, uint32_t stream, const gs_stream_value *v, const void *values, uint32_t n, gs_ahead ahead)
{
	const gs_stream *s = &j->g->streams[stream];
	uint64_t codes[2 * GS_STEP_ROWS], *bitmap = j->w->bitmaps[stream];

	if (j->g->few && gs_has_cells(s))
		return add_cells(j, stream, v, values, n, ahead);
	if (!codes_of(j, v, values, n, codes))
		return GS_INVALID;
	if (s->pairs)
		return gs_pairs_add(j, stream, codes, n, ahead);
	if (s->bits)
	{
		GS_EACH_AHEAD(n, ahead, {
			bitmap[j->keys[i] * s->bit_words + codes[i] / 64] |= (uint64_t) 1 << codes[i] % 64;
		});
		return GS_OK;
	}
	if (s->packed)
	{
		uint64_t packed[GS_STEP_ROWS];

		memcpy(packed, j->keys, n * sizeof(*packed));
		j->w->loops->append(packed, n, s->value_bits, codes);
		return gs_place_first(j, stream, j->keys, j->g->slot_bits, packed, n, ahead);
	}
	for (uint32_t k = 0; k < v->words; k++)
		gs_place_word(j, s, v->word + k, codes + k, v->words, n, ahead);
	return GS_OK;
}

/* Computes the values of an expression for n rows, and adds or writes them. */
static gs_status
place_value(gs_group_job *j, uint32_t stream, uint32_t value, const uint64_t *mask, uint32_t n)
{
	const gs_stream *s = &j->g->streams[stream];
	const gs_stream_value *v = &j->g->values[value];
	const void *at[GS_STEPS_MAX_COLUMNS];
	gs_ahead ahead = gs_ahead_of(j, v->expression->columns, n);
	gs_values_of_block values;

	gs_block_gather(&j->w->plan, &j->block, v->expression->columns, mask, at);
	if (!gs_steps_values(&j->w->plan, v->expression, at, n, &values))
		return GS_OVERFLOW;
	gs_totals_give(j->w, j->g, value, values.values, n);
	if (j->runs == NULL && (s->whole || s->packed))
		return place_codes(j, stream, v, values.values, n, ahead);
	if (j->g->few || j->runs != NULL)
		return gs_tally_value(j->g, &j->w->few, value, j->slots, values.values, (const uint64_t *) values.values + 1,
							  v->words, n, ahead)
				   ? GS_OK
				   : GS_OVERFLOW;
	for (uint32_t k = 0; k < v->words; k++)
		gs_place_word(j, s, v->word + k, (const uint64_t *) values.values + k, v->words, n, ahead);
	return GS_OK;
}

/* Computes the values of a stream for n rows. */
static gs_status
place_values(gs_group_job *j, uint32_t stream, const uint64_t *mask, uint32_t n)
{
	for (uint32_t v = j->g->streams[stream].first; v != GS_NO_VALUE; v = j->g->values[v].next)
		GS_TRY(place_value(j, stream, v, mask, n));
	return GS_OK;
}

/* ---------------------------------------------------------------- streams */

/* Finds the rows of a block that belong to a stream.  own: room for a mask.  Returns their number. */
static uint32_t
stream_rows(gs_group_job *j, const gs_stream *s, uint64_t *own, const uint64_t **mask)
{
	gs_rows_block *b = &j->block;
	gs_rows_block some = *b;
	uint64_t clause[GS_STEP_WORDS];
	uint32_t n = b->passed;

	if (s->clause != GS_NO_CLAUSE)
	{
		gs_steps_mask(&j->w->plan, j->w->plan.clauses[s->clause], clause_at(j, s->clause)->nterms, b->columns, b->first,
					  b->n, clause);
		n = 0;
		for (uint32_t w = 0; w * 64 < b->n; w++)
		{
			clause[w] &= b->mask != NULL ? b->mask[w] : UINT64_MAX;
			n += (uint32_t) __builtin_popcountll(clause[w]);
		}
		some.mask = clause;
		some.passed = n;
	}
	n = gs_block_valid(&some, s->columns, own, mask);
	if (*mask == clause)
		*mask = memcpy(own, clause, sizeof(clause));
	return n;
}

/* Makes the keys of the n rows of a mask; of wide ones, hashes.  Returns false if a value is outside of its range. */
static bool
make_keys(gs_group_job *j, const uint64_t *mask, uint32_t n)
{
	const gs_packed_keys *keys = &j->g->head.keys;

	if (keys->words > 0)
	{
		if (!gs_pack_wide_keys(keys, j->w->loops, &j->w->plan, &j->block, mask, n, j->w->wide))
			return false;
		gs_hash_words(j->w->wide, keys->words, n, j->keys);
		for (uint32_t i = 0; i < n; i++)
			j->keys[i] &= j->g->mask;
		return true;
	}
	if (!gs_pack_keys(keys, j->w->loops, &j->w->plan, &j->block, mask, n, j->keys))
		return false;
	if (j->g->factor != 1)
		j->w->loops->mix(j->keys, n, j->g->factor, j->g->mask);
	return true;
}

/* Adds the records of a block's rows to a stream. */
static gs_status
add_stream(gs_group_job *j, uint32_t stream)
{
	const gs_stream *s = &j->g->streams[stream];
	const gs_packed_keys *keys = &j->g->head.keys;
	uint64_t own[GS_STEP_WORDS];
	const uint64_t *mask;
	uint32_t n = stream_rows(j, s, own, &mask);
	gs_ahead ahead;

	if (n == 0)
		return GS_OK;
	j->w->given.counts[stream] += s->whole ? 0 : n;
	ahead = gs_ahead_of(j, keys->n > 0 ? (uint64_t) 1 << keys->keys[0].column : 0, n);
	if (j->runs != NULL)
	{
		gs_runs_slots(j, mask, n);
		gs_tally_count(&j->w->few, stream, j->slots, n, ahead);
		return place_values(j, stream, mask, n);
	}
	if (!make_keys(j, mask, n))
		return GS_INVALID;
	if (!j->g->few && !s->packed)
	{
		GS_TRY(gs_place_first(j, stream, j->keys, j->g->slot_bits, j->keys, n, ahead));
		for (uint32_t k = 0; k < keys->words; k++)
			gs_place_word(j, s, 1 + k, j->w->wide + (size_t) k * GS_STEP_ROWS, 1, n, ahead);
	}
	else if (j->g->few && !s->whole)
	{
		for (uint32_t i = 0; i < n; i++)
			j->slots[i] = (uint32_t) j->keys[i];
		gs_tally_count(&j->w->few, stream, j->slots, n, ahead);
	}
	return place_values(j, stream, mask, n);
}

/* Adds a block's rows to all streams. */
static gs_status
add_block(gs_group_job *j)
{
	gs_rows_block *b = &j->block;
	const gs_steps_plan *plan = &j->w->plan;
	uint64_t mask[GS_STEP_WORDS];

	b->passed = b->n;
	if (plan->nterms > 0)
	{
		b->passed = gs_steps_mask(plan, plan->terms, plan->nterms, b->columns, b->first, b->n, mask);
		b->mask = b->passed == b->n ? NULL : mask;
	}
	if (j->g->records != NULL)
		return b->passed > 0 ? gs_window_add(j) : GS_OK;
	if (j->runs != NULL && b->passed > 0)
		GS_TRY(gs_runs_begin_block(j));
	for (uint32_t i = 0; i < j->g->nstreams && b->passed > 0; i++)
		if (!j->again || j->g->streams[i].nparts > 0)
			GS_TRY(add_stream(j, i));
	if (j->runs != NULL)
		return gs_runs_end_block(j);
	return GS_OK;
}

gs_status
gs_groups_add_span(gs_group_job *j, gs_work *work, const gs_span *span, const gs_held *columns)
{
	for (uint32_t done = 0; done < span->rows; done += GS_STEP_ROWS)
	{
		uint32_t n = span->rows - done < GS_STEP_ROWS ? span->rows - done : GS_STEP_ROWS;

		j->block = (gs_rows_block){.columns = columns, .first = (uint64_t) span->first + done, .n = n};
		GS_TRY(add_block(j));
		GS_TRY(gs_work_add(work, (uint64_t) n * (j->w->plan.nterms + 2 * j->g->nstreams + j->g->nvalues)));
	}
	return GS_OK;
}

void
gs_group_job_begin(gs_group_job *j, gs_cpu_groups *g, gs_group_worker *w)
{
	j->g = g;
	j->w = w;
	j->runs = NULL;
	j->again = false;
	if (g->head.keys.n == 0)
		memset(j->keys, 0, sizeof(j->keys));
}

/* Implements gs_groups_rows. */
gs_status
gs_cpu_groups_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	gs_cpu_groups *g = (gs_cpu_groups *) groups;
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	gs_group_job j;

	gs_group_job_begin(&j, g, &g->workers[worker]);
	GS_TRY(gs_group_worker_begin(g, j.w, engine));
	for (uint64_t i = 0; i < rows->nspans; i++)
	{
		const gs_span *span = &rows->spans[i];
		const gs_held *columns = &rows->columns[(uint64_t) span->segment * rows->ncolumns];

		if (!gs_nulls_known(&j.w->plan, g->head.ranges, span, columns))
			return GS_INVALID;
		if (g->ntables > 0)
			GS_TRY(gs_cells_keep(g, j.w, span, columns));
		GS_TRY(gs_groups_add_span(&j, &cpu->work, span, columns));
	}
	gs_lines_end();
	return GS_OK;
}

gs_status
gs_collect_rows(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, const gs_kept_rows *rows)
{
	gs_group_job j;

	gs_group_job_begin(&j, g, w);
	j.again = true;
	return gs_groups_add_span(&j, &cpu->work, &rows->span, rows->columns);
}
