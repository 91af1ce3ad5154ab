/*
 * columns_questions.c: questions with lists of steps: over pages, over rows that the session adds, over both; questions
 * that are wrong, ended, of versions that are gone; sessions that ask at once.
 */
#define _GNU_SOURCE
#include "columns_peer.h"

#include "../kernels/steps_list.h"

#include <unistd.h>

#define FIRST_BLOCK 5000 /* of the pages that are asked about */
#define BLOCKS		(FIRST_BLOCK + SEGMENT_PAGES)
#define TURN		4
#define LEAST		5000500 /* rows with less in their first column do not pass */

static const gs_type types[2] = {GS_I32, GS_I64};

/* What a question should give. */
typedef struct expected
{
	uint64_t rows, count;
	int64_t sum, least, both;
} expected;

/* count(*), count, sum and min of the first column, and the sum of both columns, of rows whose first is not too low. */
static void
make_steps(steps_list *l)
{
	const gs_instruction both[3] = {{GS_CODE_COLUMN, GS_NUMBER_I64, 0, 0},
									{GS_CODE_COLUMN, GS_NUMBER_I64, 0, 1},
									{GS_CODE_ADD, GS_NUMBER_I64, 0, 0}};

	list_begin(l, types, 2);
	list_filter(l, 1);
	list_compare(l, 0, GS_TEST_GE, LEAST);
	list_group(l, 5);
	list_aggregate(l, GS_COUNT, NULL, 0);
	list_column(l, GS_COUNT, 0, GS_NUMBER_I32);
	list_column(l, GS_SUM, 0, GS_NUMBER_I32);
	list_column(l, GS_MIN, 0, GS_NUMBER_I32);
	list_aggregate(l, GS_SUM, both, 3);
}

/* Adds a row to what is expected. */
static void
expect_row(expected *e, bool null, int32_t first, int64_t second)
{
	if (null || first < LEAST)
		return;
	e->least = e->count == 0 || first < e->least ? first : e->least;
	e->rows++;
	e->count++;
	e->sum += first;
	e->both += first + second;
}

/* Adds the rows of pages [from, to). */
static void
expect_pages(expected *e, uint32_t from, uint32_t to)
{
	for (uint32_t b = from; b < to; b++)
		for (uint32_t r = 0; r < PAGE_ROWS; r++)
			expect_row(e, null_of(b, r), value_of(b, r, TURN),
					   -(int64_t) ((b - FIRST_BLOCK) * PAGE_ROWS + r));
}

/* Says what is asked, with the mask in slot 0 and the list in slot 1. */
static void
say_ask(peer *p, uint64_t version, uint32_t from, uint32_t to, const steps_list *l)
{
	char bytes[sizeof(gsd_ask) + 2 * sizeof(uint32_t)] __attribute__((aligned(8)));
	gsd_ask *m = (gsd_ask *) bytes;
	uint64_t *mask = (uint64_t *) slot_chunk(p, 0);

	memset(mask, 0, SLOT_BYTES);
	for (uint32_t b = from; b < to; b++)
		mask[b / 64] |= (uint64_t) 1 << b % 64;
	memcpy(slot_chunk(p, 1), l, l->head.bytes);
	gsd_head(&m->head, GSD_ASK, sizeof(bytes));
	m->job = ++p->job;
	m->steps_bytes = l->head.bytes;
	m->table = TABLE;
	m->version = version;
	m->blocks = BLOCKS;
	m->ncolumns = 2;
	m->columns[0] = 0;
	m->columns[1] = 1;
	(void) gsd_send(p->fd, &m->head, -1);
}

/* Hears the answer, and what comes before, and returns its status. */
static gs_status
answered(peer *p)
{
	while (hear(p) == GSD_FREE)
		;
	return p->in.head.type == GSD_ANSWERED && p->in.answered.job == p->job ? (gs_status) p->in.answered.status
																		   : GS_PROTOCOL;
}

/* True if the answer that was heard last is right. */
static bool
results_right(const peer *p, const expected *e)
{
	const gs_reduced *r = (const gs_reduced *) (p->ring + SLOTS * SLOT_BYTES);

	return p->in.answered.bytes == 5 * sizeof(gs_reduced) && r[0].count == e->rows && r[1].count == e->count &&
		   r[2].count == e->count && (int64_t) r[2].value[0] == e->sum && (int64_t) r[3].value[0] == e->least &&
		   (int64_t) r[4].value[0] == e->both && r[4].value[1] == (e->both < 0 ? ~(uint64_t) 0 : 0);
}

static void
test_pages(peer *session, uint64_t version)
{
	steps_list l;
	expected e = {0};

	make_steps(&l);
	say_ask(session, version, FIRST_BLOCK, BLOCKS, &l);
	say_count(session, GSD_FINISH, 0);
	expect_pages(&e, FIRST_BLOCK, BLOCKS);
	tap_ok(answered(session) == GS_OK && results_right(session, &e) && e.rows > 100 &&
			   session->in.answered.rows == SEGMENT_PAGES * PAGE_ROWS && session->in.answered.pages == SEGMENT_PAGES,
		   "all pages are answered");
	say_ask(session, version, 0, 0, &l);
	say_count(session, GSD_FINISH, 0);
	e = (expected){0};
	tap_ok(answered(session) == GS_OK && results_right(session, &e), "no pages");
	say_ask(session, version + 1, FIRST_BLOCK, BLOCKS, &l);
	say_count(session, GSD_FINISH, 0);
	tap_ok(answered(session) == GS_INVALID && session->in.answered.bytes == 0, "a version that is none");
}

/* Adds a chunk of rows of the session's own, in a slot. */
static void
say_rows(peer *p, uint32_t slot, uint32_t n, expected *e)
{
	static const gs_column_spec specs[2] = {{GS_I32, false, false}, {GS_I64, false, false}};
	gs_chunk *chunk = slot_chunk(p, slot);

	(void) gs_chunk_init(chunk, SLOT_BYTES, specs, 2, 4096, 0);
	chunk->columns[0].has_nulls = 1;
	memset((char *) chunk + chunk->columns[0].nulls, 0, (n + 63) / 64 * 8);
	for (uint32_t r = 0; r < n; r++)
	{
		int32_t first = LEAST - 100 + (int32_t) r;
		bool null = r % 7 == 0;

		((int32_t *) ((char *) chunk + chunk->columns[0].values))[r] = first;
		((int64_t *) ((char *) chunk + chunk->columns[1].values))[r] = r;
		((uint64_t *) ((char *) chunk + chunk->columns[0].nulls))[r / 64] |= (uint64_t) null << r % 64;
		expect_row(e, null, first, r);
	}
	chunk->rows = n;
	say_slot(p, GSD_ADD, slot);
}

static void
test_added(peer *session, uint64_t version)
{
	steps_list l;
	expected e = {0};

	make_steps(&l);
	say_ask(session, version, FIRST_BLOCK + 1, BLOCKS, &l);
	expect_pages(&e, FIRST_BLOCK + 1, BLOCKS);
	for (int i = 0; i < 5; i++)
	{
		say_rows(session, 2, 100 + 13 * (uint32_t) i, &e);
		tap_ok(hear(session) == GSD_FREE && session->in.slot.slot == 2, "rows are taken");
	}
	say_count(session, GSD_FINISH, 100 * 5 + 13 * 10);
	tap_ok(answered(session) == GS_OK && results_right(session, &e), "pages and rows are answered together");
}

void
test_questions(peer *keeper)
{
	uint64_t version = info(keeper)->version + 1;
	peer session;

	tap_ok(enter_as(&session, DATABASE, 40) &&
			   publish(keeper, TABLE, version, FIRST_BLOCK, SEGMENT_PAGES,
					   store(keeper, TABLE, FIRST_BLOCK, SEGMENT_PAGES, TURN)) == GS_OK,
		   "pages to ask about");
	test_pages(&session, version);
	test_added(&session, version);
	leave(&session);
}
