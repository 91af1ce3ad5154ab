/*
 * columns_check.c: GSD_CHECK: sums over the pages of a mask.
 */
#include "columns.h"

#include <stdlib.h>

/* What one worker has summed up. */
typedef struct sums
{
	uint64_t sum, hash;
} sums;

typedef struct check
{
	page_job pages;
	gs_type types[GSD_TABLE_COLUMNS];
	sums all;
} check;

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
	status = gsd_pages_in_turn(&k->pages, gsd_pages_run);
	answer->engine_ns = gsd_now_ns() - answer->engine_ns;
	collect(k);
	gsd_pages_leave(&k->pages, status == GS_OK);
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
