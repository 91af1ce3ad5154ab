/*
 * windows.cu: lists with windows (gs_steps.h) on a device: rows that pass the filter are put in order, the functions'
 * columns are computed into device memory, and go with the source's to the question of the steps behind.
 */
#include "windows.cuh"

#include <cstring>

/* Plans a word of some orders. */
static gs_status
plan_orders(const cuda_windows *w, const gs_row_order *orders, u32 n, gs_packed_keys *keys)
{
	return gs_packed_orders_make(keys, w->steps, w->g.head.ranges, w->apart, orders, n, GS_GROUPS_KEY_BITS);
}

/* Plans a word of as many orders as it has room for, but at least some, else GS_TOO_BIG. */
static gs_status
plan_word(const cuda_windows *w, const gs_row_order *orders, u32 least, u32 most, gs_packed_keys *keys)
{
	for (u32 n = most; n >= least; n--)
	{
		const gs_status status = plan_orders(w, orders, n, keys);

		if (status != GS_TOO_BIG)
			return status;
		if (n == 0)
			break;
	}
	return GS_TOO_BIG;
}

/* Returns true if a part of a key tells a column's values, of which doubles' zeros have two. */
static bool
can_tell(const cuda_windows *w, u32 column)
{
	return !gs_type_is_float((gs_type) w->steps->types[column]);
}

/* Plans one word of all orders, and behind them the other columns, so that no row is read again; else GS_TOO_BIG. */
static gs_status
plan_telling(cuda_windows *w, const gs_row_order *orders, u32 norders)
{
	gs_packed_keys *keys = &w->g.lists.keys;
	gs_row_order all[GS_STEPS_MAX_KEYS];
	u64 left = w->columns;
	u32 n = norders;

	memcpy(all, orders, norders * sizeof(*orders));
	for (u32 i = 0; i < norders; i++)
		if (can_tell(w, orders[i].column))
			left &= ~((u64) 1 << orders[i].column);
	for (; left != 0; left &= left - 1)
	{
		const u32 column = (u32) __builtin_ctzll(left);

		if (n == GS_STEPS_MAX_KEYS || !can_tell(w, column))
			return GS_TOO_BIG;
		all[n] = {};
		all[n++].column = column;
	}
	GS_TRY(plan_orders(w, all, n, keys));
	w->rows.beside = norders > 0 ? keys->keys[norders - 1].shift : keys->bits;
	return GS_OK;
}

/* Plans words of keys: as many orders as have room beside the partition's key, then the others. */
static gs_status
plan_words(cuda_windows *w, const gs_row_order *orders, u32 norders)
{
	gs_packed_keys *keys = &w->g.lists.keys;
	u32 planned;

	w->rows.beside = 0;
	GS_TRY(plan_word(w, orders, w->step->npartition, norders, keys));
	for (planned = keys->n; planned < norders; planned += keys->n)
	{
		if (w->nlower == GS_LOWER_WORDS)
			return GS_TOO_BIG;
		keys = &w->lower[w->nlower++].lists.keys;
		GS_TRY(plan_word(w, orders + planned, 1, norders - planned, keys));
	}
	return GS_OK;
}

/* Plans a list by keys that are there. */
static gs_status
plan_list(const cuda_windows *w, gs_lists *lists)
{
	const gs_packed_keys keys = lists->keys;

	memset((void *) lists, 0, sizeof(*lists));
	lists->keys = keys;
	return gs_lists_plan(lists, w->before_steps, w->g.head.ranges, w->g.head.rows);
}

/*
 * Plans keys and their lists, by what is known of rows.  Rows that lie in the last order need no sort by it, and have
 * no such key unless peers are asked for.
 */
static gs_status
plan_keys(cuda_windows *w)
{
	const gs_row_order *orders = (const gs_row_order *) gs_steps_at(w->steps, w->step->orders);
	const u32 all = w->step->npartition + w->step->norders;
	const bool kept = w->as_is && !w->placed && gs_windows_peers(w);
	const u32 norders = w->as_is && !kept ? all - 1 : all;
	const gs_packed_keys *first = &w->g.lists.keys, *last;
	gs_status status;

	w->nlower = 0;
	status = plan_telling(w, orders, norders);
	w->told = status == GS_OK;
	if (status == GS_TOO_BIG)
		status = plan_words(w, orders, norders);
	GS_TRY(status);
	w->rows.order_bits = w->step->npartition > 0 ? first->keys[w->step->npartition - 1].shift : first->bits;
	last = w->nlower > 0 ? &w->lower[w->nlower - 1].lists.keys : first;
	w->unsorted = w->rows.beside;
	if (kept)
		w->unsorted += last->keys[(w->told ? norders : last->n) - 1].bits;
	GS_TRY(plan_list(w, &w->g.lists));
	for (u32 i = 0; i < w->nlower; i++)
		GS_TRY(plan_list(w, &w->lower[i].lists));
	return GS_OK;
}

/* Returns true if no sum of integers can leave 128 bits. */
static bool
sums_fit(const cuda_windows *w)
{
	for (u32 i = 0; i < w->step->nfunctions; i++)
	{
		const gs_range *range = &w->ranges[w->steps->ncolumns + i];

		if (w->step->functions[i].function == GS_WINDOW_SUM &&
			(gs_constant_scalar(&range->low, false).integer == gs_number_least(GS_NUMBER_I128) ||
			 gs_constant_scalar(&range->high, false).integer == gs_number_greatest(GS_NUMBER_I128)))
			return false;
	}
	return true;
}

/* Has sums be of 64 bits that all fit these, where the rows go to no other window, which copies them as they were. */
static void
narrow_sums(cuda_windows *w)
{
	for (u32 i = 0; gs_steps_window(w->after_steps) == NULL && i < w->step->nfunctions; i++)
	{
		const u32 c = w->steps->ncolumns + i;
		const gs_wide low = gs_constant_scalar(&w->ranges[c].low, false).integer;
		const gs_wide high = gs_constant_scalar(&w->ranges[c].high, false).integer;

		if (w->after_steps->types[c] == GS_U128 && w->step->functions[i].function == GS_WINDOW_SUM &&
			low >= gs_number_least(GS_NUMBER_I64) && high <= gs_number_greatest(GS_NUMBER_I64))
			w->after_steps->types[c] = GS_I64;
	}
}

/* Makes the list of the steps before the window: as it is, with all rows in the window's place. */
static gs_status
make_before(cuda_windows *w, const gs_host *host)
{
	gs_steps *before = (gs_steps *) host->alloc(host->arg, w->steps->bytes);
	gs_rows_step *rows;

	if (before == NULL)
		return GS_NOMEM;
	memcpy(before, w->steps, w->steps->bytes);
	w->before_steps = before;
	rows = (gs_rows_step *) gs_steps_window(before);
	*rows = {{GS_STEP_ROWS, rows->step.bytes}, 0, 0, 0, 0};
	before->nsteps = gs_steps_filter(before) != NULL ? 2 : 1;
	before->ngiven = 0;
	return GS_OK;
}

/* Returns the columns that some function which is needed takes. */
static u64
arguments(const cuda_windows *w)
{
	u64 columns = 0;

	for (u32 i = 0; i < w->step->nfunctions; i++)
		if (w->step->functions[i].column != GS_NO_COLUMN && (w->taken >> (w->steps->ncolumns + i) & 1))
			columns |= (u64) 1 << w->step->functions[i].column;
	return columns;
}

/* Makes the lists before and behind the window, and the question of the one behind. */
static gs_status
prepare(cuda_windows *w, gs_engine *engine)
{
	gs_groups after = {};

	GS_TRY(make_before(w, &engine->host));
	GS_TRY(gs_window_after(&engine->host, &w->g.head, w->ranges, &w->after_steps, &w->taken));
	if (!sums_fit(w))
		return GS_TOO_BIG;
	narrow_sums(w);
	for (u32 c = 0; c < w->after_steps->ncolumns; c++)
	{
		w->types[c] = (gs_type) w->after_steps->types[c];
		w->apart[c] = 1;
	}
	w->columns = (w->taken & gs_mask(w->steps->ncolumns)) | arguments(w);
	w->placed = w->as_is = w->rows.apart = gs_window_placed(&w->g.head);
	GS_TRY(plan_keys(w));
	after.steps = w->after_steps;
	after.ranges = w->ranges;
	after.rows = w->g.head.rows;
	after.workers = w->g.head.workers;
	after.followed = gs_window_runs(w->steps, w->after_steps) != GS_NO_COLUMN ||
		gs_window_partitions(w->steps, w->after_steps);
	return gs_groups_begin(engine, &after, &w->g.head.after);
}

/* Implements gs_groups_close. */
static void
windows_close(gs_groups *groups, gs_engine *engine)
{
	cuda_windows *w = (cuda_windows *) groups;
	const gs_host *host = &engine->host;

	gs_groups_close(w->g.head.after, engine);
	gs_groups_release(&w->g);
	if (w->before_steps != NULL)
		host->release(host->arg, w->before_steps, w->steps->bytes);
	if (w->after_steps != NULL)
		host->release(host->arg, w->after_steps, w->steps->bytes);
	host->release(host->arg, w, sizeof(*w));
}

/* Implements gs_groups_open. */
static gs_status
windows_open(gs_engine *engine, const gs_groups *head, gs_groups **groups)
{
	cuda_windows *w = (cuda_windows *) gs_cuda_groups_new(engine, head, sizeof(cuda_windows));
	gs_status status;

	if (w == NULL)
		return GS_NOMEM;
	w->steps = head->steps;
	w->step = gs_steps_window(head->steps);
	status = prepare(w, engine);
	if (status != GS_OK)
		windows_close(&w->g.head, engine);
	else
		*groups = &w->g.head;
	return status;
}

/* Gives the rows in order, with the functions' columns, to the steps behind. */
static gs_status
give(cuda_windows *w, u32 worker, gs_engine *engine)
{
	gs_held columns[GS_STEPS_MAX_COLUMNS] = {};
	const gs_span span = {0, 0, (u32) w->rows.n};
	const gs_held_rows rows = {w->types, w->after_steps->ncolumns, 1, columns, 1, &span};

	for (u32 c = 0; c < w->after_steps->ncolumns; c++)
		columns[c] = {w->ordered[c].values, (const u64 *) w->ordered[c].nulls};
	return w->g.head.after->ops->rows(w->g.head.after, worker, engine, &rows);
}

/* Implements gs_groups_rows, which comes once. */
static gs_status
windows_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	cuda_windows *w = (cuda_windows *) groups;
	bool found = false;

	if (w->g.head.rows > GS_MAX_ROWS)
		return GS_TOO_BIG;
	GS_TRY(gs_groups_upload(&w->g, w->before_steps, rows));
	if (w->g.device.rows == 0)
		return GS_OK;
	if (w->g.device.numbers > UINT32_MAX)
		return GS_TOO_BIG;
	if (!w->placed)
		GS_TRY(gs_windows_look(w, &found));
	if (found)
	{
		GS_TRY(plan_keys(w));
		GS_TRY(gs_groups_upload(&w->g, w->before_steps, rows));
	}
	w->g.came = true;
	GS_TRY(gs_windows_measure(w));
	GS_TRY(gs_windows_order(w, rows));
	for (u32 i = 0; i < w->step->nfunctions && w->rows.n > 0; i++)
		if (w->taken >> (w->steps->ncolumns + i) & 1)
			GS_TRY(gs_windows_compute(w, i));
	GS_TRY(gs_groups_finish(&w->g, NULL, 0));
	return w->rows.n > 0 ? give(w, worker, engine) : GS_OK;
}

const gs_group_ops gs_cuda_window_ops = {windows_open,		windows_rows,		 gs_groups_no_parts,
										 gs_groups_no_part, gs_groups_end_after, gs_groups_read_after,
										 windows_close,		false,				 true};
