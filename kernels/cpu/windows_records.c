/*
 * windows_records.c: records of a window's rows: their plan, and those of a block.
 */
#include "windows.h"

#define PART_BYTES		 ((uint64_t) 256 << 10) /* of a part's records and what its sort takes, for the L2 cache */
#define MOST_PART_BITS	 9
#define MOST_LINE_BITS	 11 /* where records go to memory line by line */
#define PARTS_PER_WORKER 8
#define LEAST_ROWS		 256 /* of a part */
#define FEW_ROWS		 4	 /* of a part that has to tell many bits */
#define MORE_BITS		 4	 /* of a key than of the number of rows, which then differ in most keys */

/* ---------------------------------------------------------------- plan */

/* Finds the part of a packed key that tells a column's values.  Returns false if none does. */
static bool
find_key(gs_window_column *c, const gs_packed_keys *keys, gs_window_source source)
{
	for (uint32_t k = 0; k < keys->n; k++)
		if (keys->keys[k].column == c->column && !gs_type_is_float(keys->keys[k].type))
		{
			c->key = &keys->keys[k];
			c->source = source;
			return true;
		}
	return false;
}

/* Plans a column of records, from a word on. */
static gs_window_column
plan_column(const gs_cpu_windows *w, uint32_t column, uint32_t word)
{
	gs_window_column c = {.column = column, .type = (gs_type) w->head.steps->types[column], .word = word};

	c.nulls = w->head.ranges[column].nulls;
	if (!find_key(&c, &w->records.orders, GS_TOLD_BY_ORDERS) && !find_key(&c, &w->head.keys, GS_TOLD_BY_PARTITION))
		(void) find_key(&c, &w->records.values, GS_TOLD_BY_VALUES);
	c.bit = c.nulls && c.key == NULL;
	return c;
}

/* Plans the words of records.  Returns their number. */
static uint32_t
plan_words(gs_cpu_windows *w)
{
	gs_window_records *r = &w->records;
	uint32_t words;

	r->joined = r->single || w->head.keys.bits + r->orders.bits <= 64;
	words = r->joined ? 1 : 2;
	r->rest_word = words;
	r->behind = !r->single && (r->rest.n > 0 || r->values.n > 0);
	words += r->behind;
	for (uint32_t column = 0; column < GS_STEPS_MAX_COLUMNS; column++)
	{
		gs_window_column *c = &r->columns[r->ncolumns];

		if ((w->columns >> column & 1) == 0)
			continue;
		r->ncolumns++;
		*c = plan_column(w, column, words);
		r->nnulls += c->bit;
		words += c->key != NULL ? 0 : c->type == GS_U128 ? 2 : 1;
	}
	r->nulls_word = words;
	return words + (r->nnulls > 0);
}

/* Chooses the number of parts, of at least some bits where each then has some rows. */
static void
choose_parts(gs_cpu_windows *w, uint32_t words, uint32_t least_bits)
{
	gs_cpu_groups *s = w->scatter;
	const uint32_t bits = w->head.keys.bits + w->records.orders.bits;
	const uint32_t most_bits = gs_records_have_lines(s) ? MOST_LINE_BITS : MOST_PART_BITS;
	uint64_t least = (uint64_t) w->head.workers * PARTS_PER_WORKER, most = w->head.rows / LEAST_ROWS;
	uint64_t parts = w->head.rows * (words + 3) * 8 / PART_BYTES;

	parts = parts > least ? parts : least;
	parts = parts < most ? parts : most;
	s->part_bits = parts > 1 ? gs_bits(parts - 1) : 0;
	if (s->part_bits < least_bits && w->head.rows >> least_bits >= FEW_ROWS)
		s->part_bits = least_bits;
	s->part_bits = s->part_bits < most_bits ? s->part_bits : most_bits;
	s->part_bits = s->part_bits < bits ? s->part_bits : bits;
	w->nparts = 1u << s->part_bits;
	w->split_bits = s->part_bits > w->head.keys.bits ? s->part_bits - w->head.keys.bits : 0;
}

/* Notes how far integers' values are known to be apart: timestamps are often whole seconds. */
static void
find_apart(gs_cpu_windows *w)
{
	for (uint32_t c = 0; c < w->head.steps->ncolumns; c++)
	{
		const uint64_t apart = w->head.ranges[c].apart;

		w->apart[c] = w->head.steps->types[c] == GS_I64 && apart > 1 ? apart : 1;
	}
}

/* Plans the orders: as many as fit a key, at most n, then the rest. */
static gs_status
plan_orders(gs_cpu_windows *w, uint32_t n)
{
	const gs_row_order *orders = gs_steps_at(w->head.steps, w->step->orders);
	gs_window_records *r = &w->records;
	gs_status status;

	orders += w->step->npartition;
	while ((status = gs_packed_orders_make(&r->orders, w->head.steps, w->head.ranges, w->apart, orders, n,
										   GS_GROUPS_KEY_BITS)) == GS_TOO_BIG && n > 1)
		n--;
	GS_TRY(status);
	return gs_packed_orders_make(&r->rest, w->head.steps, w->head.ranges, w->apart, orders + n, w->step->norders - n,
								 GS_GROUPS_KEY_BITS);
}

/*
 * Leaves the last orders to the rest where the key and a row's place do not fit a word, so that parts were sorted
 * twice, and the others have so many values that they tell most rows apart.
 */
static gs_status
shorten_orders(gs_cpu_windows *w)
{
	const gs_packed_keys *orders = &w->records.orders;
	const uint32_t rows = gs_bits(w->head.rows), most = 64 + 2 * w->scatter->part_bits, before = orders->n;
	uint32_t n = before, bits = w->head.keys.bits + orders->bits, fewer;

	for (; n > 1 && w->records.rest.n == 0 && bits + rows > most; n--, bits = fewer)
	{
		fewer = w->head.keys.bits + orders->bits - orders->keys[n - 1].shift - orders->keys[n - 1].bits;
		if (fewer < rows + MORE_BITS)
			break;
	}
	if (n == before)
		return GS_OK;
	return plan_orders(w, n) == GS_OK ? GS_OK : plan_orders(w, before);
}

/* Packs the values that neither partition nor orders tell.  Returns false if they are not all integers that fit. */
static bool
plan_values(gs_cpu_windows *w)
{
	gs_window_records *r = &w->records;
	gs_row_order columns[GS_STEPS_MAX_KEYS] = {{0}};
	uint32_t n = 0;

	for (uint32_t column = 0; column < GS_STEPS_MAX_COLUMNS; column++)
	{
		if ((w->columns >> column & 1) == 0 || plan_column(w, column, 0).key != NULL)
			continue;
		if (n == GS_STEPS_MAX_KEYS || gs_type_is_float((gs_type) w->head.steps->types[column]))
			return false;
		columns[n++].column = column;
	}
	return gs_packed_orders_make(&r->values, w->head.steps, w->head.ranges, w->apart, columns, n,
								 GS_GROUPS_KEY_BITS) == GS_OK;
}

/* Plans single records, if all that they have fits beside what a part's number tells.  Returns the bits of that. */
static uint32_t
plan_single(gs_cpu_windows *w)
{
	gs_window_records *r = &w->records;
	uint32_t all = 0, told;

	/* keys are what lies above the values: none does where these take all bits of a word */
	r->single = r->rest.n == 0 && plan_values(w) && r->values.bits < 64;
	all = w->head.keys.bits + r->orders.bits + r->values.bits;
	told = r->single && all > 64 && all <= 64 + MOST_LINE_BITS ? all - 64 : 0;
	choose_parts(w, 1, told);
	r->single = r->single && all <= 64 + w->scatter->part_bits;
	if (!r->single)
		r->values = (gs_packed_keys){.n = 0};
	return r->single ? told : 0;
}

/* Plans records of more words: the rest of the orders and values in one of them, if they fit. */
static gs_status
plan_behind(gs_cpu_windows *w)
{
	gs_window_records *r = &w->records;

	GS_TRY(shorten_orders(w));
	if (!plan_values(w) || r->values.bits == 64 || r->rest.bits + r->values.bits > 64)
		r->values = (gs_packed_keys){.n = 0};
	return GS_OK;
}

gs_status
gs_window_plan(gs_cpu_windows *w, gs_engine *engine)
{
	gs_cpu_groups *s;
	uint32_t words, told;

	find_apart(w);
	GS_TRY(plan_orders(w, w->step->norders));
	GS_TRY(gs_groups_make(engine, &w->head, &w->scatter));
	told = plan_single(w);
	if (!w->records.single)
		GS_TRY(plan_behind(w));
	words = plan_words(w);
	s = w->scatter;
	s->nstreams = 1;
	s->streams[0] = (gs_stream){.clause = GS_NO_CLAUSE, .first = GS_NO_VALUE, .words = words};
	s->records = &w->records;
	gs_groups_choose_factor(s);
	choose_parts(w, words, told);
	gs_groups_choose_room(s);
	gs_records_lines(s);
	return GS_OK;
}

/* ---------------------------------------------------------------- rows */

/* Returns the next block's values of the first of the window's keys. */
static gs_ahead
ahead_of_keys(const gs_group_job *j, const gs_window_records *r, uint32_t n)
{
	const gs_packed_keys *keys = j->g->head.keys.n > 0 ? &j->g->head.keys : &r->orders;

	return gs_ahead_of(j, keys->n > 0 ? (uint64_t) 1 << keys->keys[0].column : 0, n);
}

/* Computes the numbers of the parts of keys that orders have a share in. */
static void
split_parts(const gs_group_job *j, const gs_window_records *r, const uint64_t *orders, uint32_t n, uint64_t *parts)
{
	const uint32_t more = j->g->part_bits - j->g->head.keys.bits;

	for (uint32_t i = 0; i < n; i++)
		parts[i] = gs_append_bits(j->keys[i], orders[i] >> (r->orders.bits - more), more);
}

/* Writes single records: what has no room above is told by the number of the part. */
static gs_status
place_single(gs_group_job *j, const gs_window_records *r, const uint64_t *mask, const uint64_t *orders, uint32_t n)
{
	gs_cpu_groups *g = j->g;
	uint32_t bits = g->head.keys.bits;
	uint64_t parts[GS_STEP_ROWS], values[GS_STEP_ROWS];
	gs_ahead ahead = ahead_of_keys(j, r, n);

	if (!gs_pack_keys(&r->values, j->w->loops, &j->w->plan, &j->block, mask, n, values))
		return GS_INVALID;
	if (g->part_bits <= bits)
		memcpy(parts, j->keys, n * sizeof(*parts));
	else
		split_parts(j, r, orders, n, parts);
	j->w->loops->append(j->keys, n, r->orders.bits, orders);
	j->w->loops->append(j->keys, n, r->values.bits, values);
	return gs_place_first(j, 0, parts, g->part_bits <= bits ? bits - g->part_bits : 0, j->keys, n, ahead);
}

/* Writes the first words of records to the places of their parts, and the second ones, of orders. */
static gs_status
place_keys(gs_group_job *j, const gs_window_records *r, const uint64_t *orders, uint32_t n)
{
	gs_cpu_groups *g = j->g;
	uint32_t bits = g->head.keys.bits;
	uint64_t parts[GS_STEP_ROWS];
	gs_ahead ahead = ahead_of_keys(j, r, n);

	if (r->joined)
	{
		j->w->loops->append(j->keys, n, r->orders.bits, orders);
		return gs_place_first(j, 0, j->keys, bits + r->orders.bits - g->part_bits, j->keys, n, ahead);
	}
	if (g->part_bits <= bits)
		GS_TRY(gs_place_first(j, 0, j->keys, bits - g->part_bits, j->keys, n, ahead));
	else
	{
		split_parts(j, r, orders, n, parts);
		GS_TRY(gs_place_first(j, 0, parts, 0, j->keys, n, ahead));
	}
	gs_place_word(j, &g->streams[0], 1, orders, 1, n, ahead);
	return GS_OK;
}

/* Writes the orders that the key has no room for, and values below them. */
static gs_status
place_behind(gs_group_job *j, const gs_window_records *r, const uint64_t *mask, uint32_t n)
{
	uint64_t rest[GS_STEP_ROWS], values[GS_STEP_ROWS];

	if (!gs_pack_keys(&r->rest, j->w->loops, &j->w->plan, &j->block, mask, n, rest) ||
		!gs_pack_keys(&r->values, j->w->loops, &j->w->plan, &j->block, mask, n, values))
		return GS_INVALID;
	j->w->loops->append(rest, n, r->values.bits, values);
	gs_place_word(j, &j->g->streams[0], r->rest_word, rest, 1, n, ahead_of_keys(j, r, n));
	return GS_OK;
}

/* Writes a column's values. */
static void
place_column(gs_group_job *j, const gs_window_column *c, const uint64_t *mask, uint32_t n)
{
	const gs_stream *s = &j->g->streams[0];
	const void *at[GS_STEPS_MAX_COLUMNS];
	gs_ahead ahead = gs_ahead_of(j, (uint64_t) 1 << c->column, n);
	uint64_t room[GS_STEP_ROWS];

	gs_block_gather(&j->w->plan, &j->block, (uint64_t) 1 << c->column, mask, at);
	if (gs_width_of(c->type) >= 8)
	{
		for (uint32_t k = 0; k < gs_width_of(c->type) / 8; k++)
			gs_place_word(j, s, c->word + k, (const uint64_t *) at[c->column] + k, gs_width_of(c->type) / 8, n, ahead);
		return;
	}
	j->w->loops->less(c->type == GS_F32 ? GS_U32 : c->type, at[c->column], n, 0, room);
	gs_place_word(j, s, c->word, room, 1, n, ahead);
}

/* Writes the bits of NULLs. */
static void
place_nulls(gs_group_job *j, const gs_window_records *r, const uint64_t *mask, uint32_t n)
{
	uint64_t bits[GS_STEP_ROWS] = {0}, of[GS_STEP_ROWS];

	for (uint32_t c = 0; c < r->ncolumns; c++)
	{
		const gs_held *column = &j->block.columns[r->columns[c].column];

		if (!r->columns[c].bit)
			continue;
		memset(of, 0, n * sizeof(*of));
		if (column->nulls != NULL)
			gs_put_nulls(&j->block, column, mask, of, 1);
		j->w->loops->append(bits, n, 1, of);
	}
	gs_place_word(j, &j->g->streams[0], r->nulls_word, bits, 1, n, ahead_of_keys(j, r, n));
}

gs_status
gs_window_add(gs_group_job *j)
{
	const gs_window_records *r = j->g->records;
	const uint64_t *mask = j->block.mask;
	uint32_t n = j->block.passed;
	uint64_t orders[GS_STEP_ROWS];

	/* without columns, packed keys stay what they are */
	if (j->g->head.keys.n == 0)
		memset(j->keys, 0, n * sizeof(*j->keys));
	if (r->orders.n == 0)
		memset(orders, 0, n * sizeof(*orders));
	if (!gs_pack_keys(&j->g->head.keys, j->w->loops, &j->w->plan, &j->block, mask, n, j->keys) ||
		!gs_pack_keys(&r->orders, j->w->loops, &j->w->plan, &j->block, mask, n, orders))
		return GS_INVALID;
	if (j->g->factor != 1)
		j->w->loops->mix(j->keys, n, j->g->factor, j->g->mask);
	if (r->single)
		return place_single(j, r, mask, orders, n);
	GS_TRY(place_keys(j, r, orders, n));
	if (r->behind)
		GS_TRY(place_behind(j, r, mask, n));
	for (uint32_t c = 0; c < r->ncolumns; c++)
		if (r->columns[c].key == NULL)
			place_column(j, &r->columns[c], mask, n);
	if (r->nnulls > 0)
		place_nulls(j, r, mask, n);
	return GS_OK;
}
