/*
 * columns_check.c: GSD_CHECK: sums over the pages of a mask.  Codes of strings count as the hashes of these, which are
 * the same in every dictionary.
 */
#include "columns.h"

#include <stdlib.h>

#include "kernels/common/check_hash.h"

/* What one worker has summed up. */
typedef struct sums
{
	uint64_t sum, hash;
} sums;

typedef struct check
{
	page_job pages;
	gs_type types[GSD_TABLE_COLUMNS];
	uint64_t *hashes[GSD_TABLE_COLUMNS]; /* by code; NULL: the column is none of strings */
	uint32_t counts[GSD_TABLE_COLUMNS];
	uint64_t bytes; /* of all hashes */
	bool strings;	/* there are some */
	sums all;
} check;

/*
 * Returns what a row's value counts as.
 */
static uint64_t
value_of(const check *k, const gs_held *column, uint32_t c, uint64_t row, int half)
{
	uint64_t value = gs_check_value(k->types[c], column->values, row, half);

	if (k->hashes[c] == NULL)
		return value;
	return value < k->counts[c] ? k->hashes[c][value] : 0;
}

/*
 * Adds a row of a segment.
 */
static void
add_row(const check *k, const gs_held *columns, uint64_t row, sums *mine)
{
	uint64_t hash = 0;

	for (uint32_t c = 0; c < k->pages.ncolumns; c++)
	{
		const uint64_t *nulls = columns[c].nulls;
		const bool null = nulls != NULL && (nulls[row / 64] >> row % 64 & 1) != 0;

		for (int half = 0; half < (k->types[c] == GS_U128 ? 2 : 1); half++)
		{
			uint64_t value = null ? 0 : value_of(k, &columns[c], c, row, half);

			hash = gs_check_mix(hash, value, null);
			mine->sum += c == 0 && half == 0 ? value : 0;
		}
	}
	mine->hash ^= hash;
}

/*
 * Does a unit with strings on the CPU: what gs_check does, a row at a time.
 */
static gs_status
check_strings_unit(void *arg, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	const check *k = arg;
	sums *mine = gsd_pages_own(&k->pages, worker);

	(void) engine;
	for (uint64_t i = 0; i < rows->nspans; i++)
	{
		const gs_span *span = &rows->spans[i];

		for (uint64_t row = span->first; row < (uint64_t) span->first + span->rows; row++)
			add_row(k, &rows->columns[(uint64_t) span->segment * rows->ncolumns], row, mine);
	}
	return GS_OK;
}

/*
 * Does a unit on the CPU.
 */
static gs_status
check_unit(void *arg, uint32_t worker, gs_engine *engine, const gs_held_rows *rows)
{
	const check *k = arg;
	sums *mine = gsd_pages_own(&k->pages, worker);
	uint64_t some[2];

	GS_TRY(gs_check(engine, rows, some, NULL, 0));
	mine->sum += some[0];
	mine->hash ^= some[1];
	return GS_OK;
}

/*
 * Does all on a device, with the connection's engine and scratch there.
 */
static gs_status
check_whole(void *arg, const gs_held_rows *rows)
{
	check *k = arg;
	gs_engine *engine = k->pages.c->engine;
	place *p = k->pages.t->place;
	uint64_t bytes = 256 + gs_check_temp_bytes(engine, rows);
	char *scratch;
	gs_status status;

	GS_TRY(gsd_place_alloc(p, bytes, &scratch));
	status = gs_check(engine, rows, (uint64_t *) scratch, scratch + 256, bytes - 256);
	if (status == GS_OK)
		status = gs_download(engine, &k->all, scratch, sizeof(k->all));
	if (status == GS_OK)
		status = gs_sync(engine);
	gsd_place_free(p, scratch, bytes);
	return status;
}

/*
 * Adds up what the workers have.
 */
static void
collect(check *k)
{
	for (uint32_t i = 0; i < GSD_MAX_THREADS; i++)
	{
		const sums *s = gsd_pages_own(&k->pages, i);

		k->all.sum += s != NULL ? s->sum : 0;
		k->all.hash ^= s != NULL ? s->hash : 0;
	}
}

/*
 * Hashes the strings of a dictionary.
 */
static gs_status
hash_strings(check *k, uint32_t c, const gsd_entries *e)
{
	const uint32_t count = gsd_entries_count(e);
	const uint64_t bytes = ((uint64_t) count + 1) * sizeof(uint64_t);

	if (!gsd_work_take(bytes))
		return GS_NOMEM;
	k->bytes += bytes;
	k->hashes[c] = malloc(bytes);
	if (k->hashes[c] == NULL)
		return GS_NOMEM;
	k->counts[c] = count;
	for (uint32_t code = 0; code < count; code++)
	{
		uint32_t length;
		const char *string = gsd_entries_string(e, code, &length);

		k->hashes[c][code] = string != NULL ? gsd_string_hash(string, length) : 0;
	}
	return GS_OK;
}

/*
 * Hashes the strings of all columns, once the version is pinned: its codes are there then.  A device does not reach
 * them.
 */
static gs_status
hash_all_strings(check *k, const gsd_check *m)
{
	table *t = k->pages.t;
	gs_status status = GS_OK;

	pthread_mutex_lock(&t->strings);
	for (uint32_t i = 0; i < m->ncolumns && status == GS_OK; i++)
	{
		const dictionary *d = &t->dictionaries[m->columns[i]];

		if (d->entries.file == NULL)
			continue;
		k->strings = true;
		status = t->place->dev != NULL ? GS_TOO_BIG : hash_strings(k, i, &d->entries);
	}
	pthread_mutex_unlock(&t->strings);
	if (k->strings)
		k->pages.unit = check_strings_unit;
	return status;
}

/*
 * Answers for a table.
 */
static gs_status
check_table(check *k, const gsd_check *m, gsd_checked *answer)
{
	gs_status status;

	for (uint32_t i = 0; i < m->ncolumns; i++)
	{
		if (m->columns[i] >= k->pages.t->ncolumns)
			return GS_INVALID;
		k->types[i] = (gs_type) k->pages.t->types[m->columns[i]];
	}
	GS_TRY(gsd_pages_pin(&k->pages, m->version));
	answer->engine_ns = gsd_now_ns();
	status = hash_all_strings(k, m);
	if (status == GS_OK)
		status = gsd_pages_in_turn(&k->pages, gsd_pages_turns(&k->pages), gsd_pages_run);
	answer->engine_ns = gsd_now_ns() - answer->engine_ns;
	collect(k);
	if (status == GS_OK)
		gsd_pages_answered(&k->pages);
	gsd_pages_leave(&k->pages);
	answer->rows = k->pages.rows;
	answer->pages = k->pages.pages;
	answer->sum = k->all.sum;
	answer->hash = k->all.hash;
	return status;
}

/*
 * Makes the work of a check and does it.
 */
static gs_status
check_with_memory(connection *c, table *t, const gsd_check *m, gsd_checked *answer)
{
	check *k = calloc(1, sizeof(*k));
	gs_status status;

	if (k == NULL)
		return GS_NOMEM;
	k->pages = (page_job){.c = c,
						  .t = t,
						  .mask = (const volatile uint64_t *) (c->ring + m->slot * c->layout.slot_bytes),
						  .blocks = m->blocks,
						  .ncolumns = m->ncolumns,
						  .columns = m->columns,
						  .types = k->types,
						  .own_bytes = sizeof(sums),
						  .unit = check_unit,
						  .whole = check_whole,
						  .arg = k};
	status = check_table(k, m, answer);
	for (uint32_t i = 0; i < m->ncolumns; i++)
		free(k->hashes[i]);
	gsd_work_give(k->bytes);
	free(k);
	return status;
}

void
gsd_on_check(connection *c, const gsd_check *m)
{
	table *t = gsd_table_find(gsd_database(c), m->table);
	gs_status status = GS_INVALID;
	device *dev = NULL;
	gsd_checked answer;

	gsd_head(&answer.head, GSD_CHECKED, sizeof(answer));
	c->number = answer.job = m->job;
	c->busy_sent_ns = gsd_now_ns();
	if (t != NULL)
	{
		dev = t->place->dev;
		status = check_with_memory(c, t, m, &answer);
		gsd_table_leave(t);
	}
	answer.status = status;
	if (status != GS_CANCELLED)
		gsd_reply(c, &answer.head);
	gsd_device_judge(c, dev, status);
}
