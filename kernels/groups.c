/*
 * groups.c: lists of steps with groups, windows or ROWS: the public calls, which check their arguments, and what
 * engines share: packed keys, HAVING and TOP over groups in host memory.
 */
#include "groups.h"

#include "arguments.h"

/* ---------------------------------------------------------------- public calls */

/* Returns an engine's operations for a list. */
static const struct gs_group_ops *
ops_for(const gs_engine *engine, const gs_steps *steps)
{
	if (gs_steps_compute(steps) != NULL)
		return engine->ops->computed;
	if (gs_steps_window(steps) != NULL)
		return engine->ops->windows;
	return gs_steps_rows(steps) != NULL ? engine->ops->places : engine->ops->groups;
}

/* Returns true if an engine takes the list's rows in the order of each column whose range says so. */
static bool
ranges_taken(const gs_engine *engine, const gs_steps *steps, const gs_range *ranges)
{
	const struct gs_group_ops *ops = ops_for(engine, steps);

	for (uint32_t c = 0; c < steps->ncolumns; c++)
		if (ranges[c].placed && (ops == NULL || !ops->placed || !gs_groups_placed(steps, c)))
			return false;
	return true;
}

gs_status
gs_groups_open(gs_engine *engine, const gs_steps *steps, const gs_range *ranges, uint64_t rows, uint32_t workers,
			   gs_groups **groups)
{
	gs_groups head = {.steps = steps, .ranges = ranges, .rows = rows, .workers = workers};

	if (groups == NULL)
		return GS_INVALID;
	*groups = NULL;
	if (engine == NULL || steps == NULL || ranges == NULL || workers == 0 || !ranges_taken(engine, steps, ranges))
		return GS_INVALID;
	return gs_groups_begin(engine, &head, groups);
}

/* Plans the packed key of a list, of at most some bits, else GS_TOO_BIG.  GS_INVALID: a range of no such type. */
static gs_status
make_packed_keys(gs_packed_keys *keys, const gs_steps *steps, const gs_range *ranges, uint32_t most)
{
	const gs_rows_step *rows = gs_steps_rows(steps);
	const gs_window_step *w = gs_steps_window(steps);
	gs_row_order orders[GS_STEPS_MAX_KEYS] = {{0}};
	uint32_t n;

	*keys = (gs_packed_keys){.n = 0};
	if (gs_steps_compute(steps) != NULL) /* keys are those of the list behind it */
		return GS_OK;
	if (rows != NULL)
		return gs_packed_orders_make(keys, steps, ranges, NULL, rows->orders, rows->norders, most);
	if (w != NULL)
		return gs_packed_orders_make(keys, steps, ranges, NULL,
									 (const gs_row_order *) gs_steps_at(steps, w->orders), w->npartition, most);
	n = gs_steps_group(steps)->nkeys;
	for (uint32_t k = 0; k < n; k++)
		orders[k].column = gs_group_key(steps, k);
	return gs_packed_orders_make(keys, steps, ranges, NULL, orders, n, most);
}

gs_status
gs_groups_begin(gs_engine *engine, gs_groups *head, gs_groups **groups)
{
	head->ops = ops_for(engine, head->steps);
	if (head->ops == NULL)
		return GS_INVALID;
	GS_TRY(make_packed_keys(&head->keys, head->steps, head->ranges,
							head->ops->wide ? GS_GROUPS_WIDE_BITS : GS_GROUPS_KEY_BITS));
	return head->ops->open(engine, head, groups);
}

gs_status
gs_groups_end_after(gs_groups *groups, gs_engine *engine, uint64_t *count)
{
	return groups->after->ops->end(groups->after, engine, count);
}

gs_status
gs_groups_read_after(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out)
{
	return groups->after->ops->read(groups->after, engine, first, n, out);
}

gs_status
gs_groups_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	if (groups == NULL || worker >= groups->workers || engine == NULL ||
		ops_for(engine, groups->steps) != groups->ops || rows == NULL || !gs_held_rows_valid(rows, groups->steps))
		return GS_INVALID;
	return groups->ops->rows(groups, worker, engine, rows);
}

uint32_t
gs_groups_parts(gs_groups *groups)
{
	return groups->ops->parts(groups, groups->round++);
}

gs_status
gs_groups_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part)
{
	if (groups == NULL || worker >= groups->workers || engine == NULL ||
		ops_for(engine, groups->steps) != groups->ops)
		return GS_INVALID;
	return groups->ops->part(groups, worker, engine, part);
}

gs_status
gs_groups_end(gs_groups *groups, gs_engine *engine, uint64_t limit, uint64_t *count)
{
	if (groups == NULL || engine == NULL || count == NULL)
		return GS_INVALID;
	GS_TRY(groups->ops->end(groups, engine, count));
	return limit != 0 && *count > limit ? GS_TOO_BIG : GS_OK;
}

gs_status
gs_groups_read(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out)
{
	if (groups == NULL || engine == NULL || !array_valid(out, gs_steps_rows(groups->steps) != NULL ? 4 : 8))
		return GS_INVALID;
	return groups->ops->read(groups, engine, first, n, out);
}

/* Ends a question in any state. */
void
gs_groups_close(gs_groups *groups, gs_engine *engine)
{
	if (groups != NULL)
		groups->ops->close(groups, engine);
}

/* ---------------------------------------------------------------- packed keys */

/* Returns the part of a key that a zero has, if its type has zeros of two signs. */
static gs_wide
zero_code(const gs_packed_key *key)
{
	return (gs_wide) (gs_float_order64(0, true) >> key->drop);
}

void
gs_packed_key_divide(gs_packed_key *key, uint64_t apart)
{
	key->apart = apart;
	key->even = (uint32_t) __builtin_ctzll(apart);
	key->inverse = gs_inverse_of(apart >> key->even);
	key->span /= apart;
}

/* Plans a key.  An empty range is that of a column without values. */
static gs_status
key_make(gs_packed_key *key, const gs_range *range, uint64_t apart, bool nulls_first)
{
	const bool real = gs_type_is_float(key->type);
	const gs_wide low = gs_constant_scalar(&range->low, false).integer;
	const gs_wide high = gs_constant_scalar(&range->high, false).integer;
	gs_unsigned_wide span, most;

	if (real && low <= high && (low < 0 || high > (gs_wide) UINT64_MAX))
		return GS_INVALID;
	/* a float widened has 29 bits less than a double; in the order of negative ones those are set */
	key->drop = key->type == GS_F32 ? 29 : 0;
	key->low = low <= high ? low >> key->drop : 0;
	span = low <= high ? (gs_unsigned_wide) (high >> key->drop) - (gs_unsigned_wide) key->low : 0;
	key->span = (uint64_t) span;
	key->span_above = (uint64_t) (span >> 64);
	gs_packed_key_divide(key, real || key->span_above != 0 ? 1 : apart);
	span = gs_key_span(key);
	key->nulls = range->nulls;
	most = span + key->nulls;
	if (most < span)
		return GS_TOO_BIG;
	key->bump = key->nulls && nulls_first;
	key->null_code = key->bump ? 0 : key->span + 1;
	key->bits = most > UINT64_MAX ? 64 + gs_bits((uint64_t) (most >> 64)) : gs_bits((uint64_t) most);
	key->zeros = real && low <= high && zero_code(key) >= key->low && zero_code(key) <= high >> key->drop;
	return GS_OK;
}

/* Moves the parts of a wide key upwards, so that its last word is full. */
static void
widen(gs_packed_keys *keys)
{
	keys->words = (keys->bits + 63) / 64;
	for (uint32_t k = 0; k < keys->n; k++)
		keys->keys[k].shift += keys->words * 64 - keys->bits;
}

gs_status
gs_packed_orders_make(gs_packed_keys *keys, const gs_steps *steps, const gs_range *ranges, const uint64_t *apart,
					  const gs_row_order *orders, uint32_t n, uint32_t most)
{
	*keys = (gs_packed_keys){.n = n};
	for (uint32_t k = n; k-- > 0;)
	{
		gs_packed_key *key = &keys->keys[k];

		key->column = orders[k].column;
		key->descending = orders[k].descending;
		key->type = (gs_type) steps->types[key->column];
		GS_TRY(key_make(key, &ranges[key->column], apart != NULL ? apart[key->column] : 1, orders[k].nulls_first));
		key->shift = keys->bits;
		keys->bits += key->bits;
		if (keys->bits > most)
			return GS_TOO_BIG;
	}
	if (keys->bits > GS_GROUPS_KEY_BITS)
		widen(keys);
	return GS_OK;
}

gs_reduced
gs_wide_key_value(const gs_packed_key *key, const uint64_t *words)
{
	const uint32_t at = key->shift % 64;
	gs_unsigned_wide part = 0;

	words += key->shift / 64;
	for (uint32_t below = 0, w = 0; below < at + key->bits; below += 64, w++)
		part |= below < at ? words[w] >> at : (gs_unsigned_wide) words[w] << (below - at);
	if (key->bits < 128)
		part &= ((gs_unsigned_wide) 1 << key->bits) - 1;
	return key->nulls && part == gs_key_null(key) ? gs_reduced_none() : gs_key_part_value(key, part);
}

/* ---------------------------------------------------------------- HAVING and TOP */

/* Makes an empty list. */
void
gs_group_list_init(gs_group_list *list, const gs_steps *steps, const gs_host *host)
{
	const gs_group_step *group = gs_steps_group(steps);

	*list = (gs_group_list){.steps = steps, .host = *host, .members = group->nkeys + group->naggregates};
	list->having = (const gs_filter_step *) gs_steps_after_group(steps, GS_STEP_HAVING);
	list->top = (const gs_top_step *) gs_steps_after_group(steps, GS_STEP_TOP);
	gs_member_kinds(steps, list->kinds);
}

/* Returns a group of the list. */
static gs_reduced *
group_at(const gs_group_list *list, uint64_t i)
{
	return list->groups + i * list->members;
}

/* Puts a group into the heap of n groups, of which none comes behind the one above it, downwards from a free place. */
static void
sift_down(gs_group_list *list, uint64_t at, uint64_t n, const gs_reduced *group)
{
	const size_t bytes = list->members * sizeof(gs_reduced);

	for (uint64_t child; (child = 2 * at + 1) < n; at = child)
	{
		if (child + 1 < n && gs_top_before(list->top, list->kinds, group_at(list, child), group_at(list, child + 1)))
			child++;
		if (!gs_top_before(list->top, list->kinds, group, group_at(list, child)))
			break;
		memcpy(group_at(list, at), group_at(list, child), bytes);
	}
	memcpy(group_at(list, at), group, bytes);
}

/* Puts a group into the heap upwards from its end. */
static void
sift_up(gs_group_list *list, uint64_t at, const gs_reduced *group)
{
	const size_t bytes = list->members * sizeof(gs_reduced);

	for (uint64_t parent; at > 0; at = parent)
	{
		parent = (at - 1) / 2;
		if (!gs_top_before(list->top, list->kinds, group_at(list, parent), group))
			break;
		memcpy(group_at(list, at), group_at(list, parent), bytes);
	}
	memcpy(group_at(list, at), group, bytes);
}

/* Makes room for another group. */
static gs_status
make_room(gs_group_list *list)
{
	const size_t bytes = list->members * sizeof(gs_reduced);
	const uint64_t room = list->room < 64 ? 64 : 2 * list->room;
	void *groups;

	if (list->n < list->room)
		return GS_OK;
	if (list->groups == NULL)
		groups = list->host.alloc(list->host.arg, room * bytes);
	else
		groups = list->host.resize(list->host.arg, list->groups, list->room * bytes, room * bytes);
	if (groups == NULL)
		return GS_NOMEM;
	list->groups = (gs_reduced *) groups;
	list->room = room;
	return GS_OK;
}

gs_status
gs_group_list_put(gs_group_list *list, const gs_reduced *group)
{
	if (list->top != NULL && list->n == list->top->limit)
	{
		if (gs_top_before(list->top, list->kinds, group, list->groups))
			sift_down(list, 0, list->n, group);
		return GS_OK;
	}
	GS_TRY(make_room(list));
	list->n++;
	if (list->top != NULL)
		sift_up(list, list->n - 1, group);
	else
		memcpy(group_at(list, list->n - 1), group, list->members * sizeof(gs_reduced));
	return GS_OK;
}

gs_status
gs_group_list_add(gs_group_list *list, const gs_reduced *group)
{
	const bool passes = gs_having_passes(list->steps, list->having, list->kinds, group);

	return passes ? gs_group_list_put(list, group) : GS_OK;
}

gs_status
gs_group_list_join(gs_group_list *list, const gs_group_list *from)
{
	for (uint64_t i = 0; i < from->n; i++)
		GS_TRY(gs_group_list_put(list, group_at(from, i)));
	return GS_OK;
}

/* Takes the last group of the heap again and again: each is the next one from behind. */
void
gs_group_list_finish(gs_group_list *list)
{
	gs_reduced last[GS_STEPS_MAX_KEYS + GS_STEPS_MAX_AGGREGATES];
	const size_t bytes = list->members * sizeof(gs_reduced);

	for (uint64_t n = list->top != NULL ? list->n : 0; n > 1; n--)
	{
		memcpy(last, group_at(list, n - 1), bytes);
		memcpy(group_at(list, n - 1), list->groups, bytes);
		sift_down(list, 0, n - 1, last);
	}
}

void
gs_group_list_release(gs_group_list *list)
{
	if (list->groups != NULL)
		list->host.release(list->host.arg, list->groups, list->room * list->members * sizeof(gs_reduced));
	list->groups = NULL;
	list->n = list->room = 0;
}
