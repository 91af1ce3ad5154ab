/*
 * columns_questions.c: questions with lists of steps: over pages, over rows that the session adds, over both; questions
 * that are wrong, ended, of versions that are gone; sessions that ask at once.
 */
#define _GNU_SOURCE
#include "columns_peer.h"

#include <pthread.h>
#include <unistd.h>

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

static void
say_ask(peer *p, uint64_t version, uint32_t from, uint32_t to, const steps_list *l)
{
	say_wide_ask(p, version, from, to, l, false);
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
	/* made elsewhere, since somebody may be changing the ring meanwhile */
	static char made[SLOT_BYTES] __attribute__((aligned(64)));
	gs_chunk *chunk = (gs_chunk *) made;

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
	memcpy(slot_chunk(p, slot), made, sizeof(made));
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


/* True if a question is answered as it should be: the connection is good. */
static bool
asks_well(peer *session, uint64_t version)
{
	steps_list l;
	expected e = {0};

	make_steps(&l);
	say_ask(session, version, FIRST_BLOCK + 3, FIRST_BLOCK + 9, &l);
	say_count(session, GSD_FINISH, 0);
	expect_pages(&e, FIRST_BLOCK + 3, FIRST_BLOCK + 9);
	return answered(session) == GS_OK && results_right(session, &e);
}

/* Questions that are answered by a status. */
static void
test_refused(peer *session, uint64_t version)
{
	static const char *const names[] = {"a list that is none",
										"a list of other columns",
										"a list with a column more",
										"a list that is longer than the message says",
										"pages that are not held",
										"a chunk without its magic",
										"a chunk of one column",
										"an array outside the slot",
										"null bits that are not aligned",
										"rows that were not counted",
										"a sum that leaves its range"};
	static const gs_status wanted[] = {GS_PROTOCOL, GS_INVALID,	 GS_PROTOCOL, GS_PROTOCOL, GS_INVALID, GS_PROTOCOL,
									   GS_PROTOCOL, GS_PROTOCOL, GS_PROTOCOL, GS_PROTOCOL, GS_OVERFLOW};
	const gs_instruction product[3] = {{GS_CODE_COLUMN, GS_NUMBER_I32, 0, 0},
									   {GS_CODE_COLUMN, GS_NUMBER_I32, 0, 0},
									   {GS_CODE_MULTIPLY, GS_NUMBER_I32, 0, 0}};
	const gs_type other[3] = {GS_I64, GS_I64, GS_I64}, more[3] = {GS_I32, GS_I64, GS_I64};

	for (int lie = 0; lie < 11; lie++)
	{
		uint32_t rows = 0, from = lie == 4 ? FIRST_BLOCK - 1 : FIRST_BLOCK;
		gs_chunk *chunk = slot_chunk(session, 2);
		expected e = {0};
		steps_list l;

		make_steps(&l);
		if (lie == 0)
			l.head.magic++;
		if (lie == 1 || lie == 2 || lie == 10)
		{
			list_begin(&l, lie == 1 ? other : lie == 2 ? more : types, lie == 2 ? 3 : 2);
			list_group(&l, 1);
			list_aggregate(&l, GS_SUM, product, lie == 10 ? 3 : 0);
			if (lie != 10)
				((gs_group_step *) (l.bytes + l.head.first))->aggregates[0].operation = GS_COUNT;
		}
		if (lie == 3)
			l.head.bytes -= 8;
		say_ask(session, version, from, BLOCKS, &l);
		if (lie == 3)
			((gs_steps *) slot_chunk(session, 1))->bytes += 8; /* too late, or in time: the message says less */
		if (lie >= 5 && lie <= 9)
		{
			say_rows(session, 2, rows = 200, &e);
			(void) hear(session);
			switch (lie)
			{
				case 5: chunk->magic++; break;
				case 6: chunk->ncolumns = 1; break;
				case 7: chunk->columns[1].values = SLOT_BYTES - 64; break;
				case 8: chunk->columns[0].nulls += 8; break;
			}
			if (lie < 9)
				say_slot(session, GSD_ADD, 2);
		}
		say_count(session, GSD_FINISH, rows * (lie >= 5 && lie <= 8 ? 2 : 1) + (lie == 9));
		tap_ok(answered(session) == wanted[lie] && session->in.answered.bytes == 0, "refused: %s", names[lie]);
		tap_ok(asks_well(session, version), "and the next question is answered");
	}
}

/* What ends the connection. */
static void
test_broken(uint64_t version)
{
	for (int lie = 0; lie < 8; lie++)
	{
		steps_list l;
		peer p;

		tap_ok(enter_as(&p, lie == 7 ? 0 : DATABASE, 10), "a session comes");
		make_steps(&l);
		if (lie >= 2 && lie <= 4)
			say_ask(&p, version, FIRST_BLOCK, BLOCKS, &l);
		switch (lie)
		{
			case 0: say_count(&p, GSD_FINISH, 0); break;
			case 1: say_slot(&p, GSD_ADD, 2); break;
			case 2: say_ask(&p, version, FIRST_BLOCK, BLOCKS, &l); break;
			case 3: say_slot(&p, GSD_ADD, SLOTS); break;
			case 4: say_check(&p, TABLE, version, 0, 1, 1); break;
			case 5: /* a list beyond the ring */
			case 6: /* a list without bytes */
			{
				char bytes[sizeof(gsd_ask) + sizeof(uint32_t)] __attribute__((aligned(8)));
				gsd_ask *m = (gsd_ask *) bytes;

				gsd_head(&m->head, GSD_ASK, sizeof(bytes));
				m->job = ++p.job;
				m->table = TABLE;
				m->version = version;
				m->steps_bytes = lie == 5 ? l.head.bytes : 0;
				m->blocks = lie == 5 ? SLOTS * SLOT_BYTES * 8 : 0;
				m->ncolumns = 1;
				(void) gsd_send(p.fd, &m->head, -1);
				break;
			}
			case 7: say_ask(&p, version, FIRST_BLOCK, BLOCKS, &l); break;
		}
		tap_ok(hear(&p) == 0, "the connection ends: lie %d", lie);
		leave(&p);
	}
}

/* The end of a question, or of its session, at every point. */
static void
test_ends(peer *session, uint64_t version)
{
	for (int at = 0; at < 8; at++)
	{
		expected e = {0};
		steps_list l;
		peer p;

		make_steps(&l);
		tap_ok(enter_as(&p, DATABASE, 11), "a session comes");
		say_ask(&p, version, FIRST_BLOCK, BLOCKS, &l);
		if (at % 4 >= 1)
			say_rows(&p, 2, 500, &e);
		if (at % 4 == 1)
			(void) hear(&p);
		if (at % 4 == 3)
			say_count(&p, GSD_FINISH, 500);
		if (at < 4)
		{
			say_end(&p);
			while (hear(&p) == GSD_FREE || p.in.head.type == GSD_ANSWERED)
				;
			tap_ok(p.in.head.type == GSD_ENDED, "a question is ended, at %d", at);
			tap_ok(asks_well(&p, version), "and another is answered");
		}
		leave(&p);
	}
	tap_ok(asks_well(session, version), "others are answered");
}

/* A version that a question has pinned stays; none remains pinned by those that ended. */
static void
test_pinned(peer *keeper, peer *session, uint64_t *version)
{
	steps_list l;
	expected e = {0};
	uint64_t segments = info(keeper)->segments;

	make_steps(&l);
	say_ask(session, *version, FIRST_BLOCK, BLOCKS, &l);
	say_rows(session, 2, 10, &e);
	tap_ok(hear(session) == GSD_FREE, "a question begins");
	++*version;
	tap_ok(publish(keeper, TABLE, *version, FIRST_BLOCK, SEGMENT_PAGES, 0) == GS_OK, "its pages go");
	usleep(2600000);
	tap_ok(info(keeper)->segments == segments, "and are kept as long as it lasts");
	say_count(session, GSD_FINISH, 10);
	expect_pages(&e, FIRST_BLOCK, BLOCKS);
	tap_ok(answered(session) == GS_OK && results_right(session, &e), "it is answered from them");
	for (int i = 0; i < 70 && info(keeper)->segments == segments; i++)
		usleep(100000);
	tap_ok(info(keeper)->segments == segments - 1, "then they are freed");
	say_ask(session, *version - 1, FIRST_BLOCK, BLOCKS, &l);
	say_count(session, GSD_FINISH, 0);
	tap_ok(answered(session) == GS_INVALID, "and another is too late");
}

/* Makes a list that takes much memory: many columns, many constants, and an expression of many values. */
static void
make_large(steps_list *l)
{
	static wide in[3000];
	gs_type all[GS_STEPS_MAX_COLUMNS];
	gs_instruction code[2 * GS_STEPS_MAX_DEPTH];

	for (uint32_t c = 0; c < GS_STEPS_MAX_COLUMNS; c++)
		all[c] = types[c % 2];
	list_begin(l, all, GS_STEPS_MAX_COLUMNS);
	list_filter(l, 1);
	for (int i = 0; i < 3000; i++)
		in[i] = 2 * i;
	list_term(l, 0, GS_TEST_IN, list_integers(l, in, 3000), 3000);
	list_group(l, 1 + GS_STEPS_MAX_COLUMNS / 2);
	for (uint32_t i = 0; i < GS_STEPS_MAX_DEPTH; i++)
	{
		code[i] = (gs_instruction){GS_CODE_COLUMN, GS_NUMBER_I64, 0, 1};
		code[GS_STEPS_MAX_DEPTH + i] = (gs_instruction){GS_CODE_ADD, GS_NUMBER_I128, 0, 0};
	}
	list_aggregate(l, GS_SUM, code, 2 * GS_STEPS_MAX_DEPTH - 1);
	for (uint32_t c = 1; c < GS_STEPS_MAX_COLUMNS; c += 2)
		list_column(l, GS_MAX, c, GS_NUMBER_I64);
}

/* More questions at once than the share of work has memory for. */
static void
test_memory(uint64_t version)
{
	enum
	{
		MANY = 60
	};
	static peer p[MANY];
	static steps_list l;
	int answers = 0, refusals = 0;

	make_large(&l);
	limit(1 << 20, 0, 2); /* the share of work is 16 MB then */
	for (int i = 0; i < MANY; i++)
	{
		if (!enter_as(&p[i], DATABASE, 100 + (uint32_t) i))
			break;
		say_wide_ask(&p[i], version, FIRST_BLOCK, BLOCKS, &l, true);
	}
	usleep(300000);
	for (int i = 0; i < MANY; i++)
	{
		gs_status status;

		say_count(&p[i], GSD_FINISH, 0);
		status = answered(&p[i]);
		answers += status == GS_OK;
		refusals += status == GS_NOMEM;
	}
	tap_ok(answers > 10 && refusals > 10 && answers + refusals == MANY, "%d are answered, %d find no memory", answers,
		   refusals);
	tap_ok(asks_well(&p[0], version) && asks_well(&p[MANY - 1], version), "and all of the next");
	limit(0, 0, 3);
	for (int i = 0; i < MANY; i++)
		leave(&p[i]);
}

/* Writes into a session's chunk while the service reads it. */
static void *
scribble(void *arg)
{
	volatile uint64_t *chunk = arg;

	for (uint64_t n = 1; chunk[0] != 1; n = n * 6364136223846793005u + 1442695040888963407u)
		chunk[sizeof(gs_chunk) / 8 + (n >> 33) % (SLOT_BYTES / 8 - sizeof(gs_chunk) / 8)] = n;
	return NULL;
}

/* Rows that change while they are read are answered somehow, and nothing else happens. */
static void
test_scribbled(peer *session, uint64_t version)
{
	pthread_t thread;
	bool good = true;
	steps_list l;

	make_steps(&l);
	*(volatile uint64_t *) slot_chunk(session, 2) = 0;
	pthread_create(&thread, NULL, scribble, slot_chunk(session, 2));
	for (int i = 0; i < 200; i++)
	{
		expected e = {0};
		gs_status status;

		say_ask(session, version, FIRST_BLOCK, FIRST_BLOCK + 1, &l);
		for (int k = 0; k < 5; k++)
			say_rows(session, 2, 1500, &e);
		say_count(session, GSD_FINISH, 5 * 1500);
		status = answered(session);
		good &= status == GS_OK || status == GS_PROTOCOL || status == GS_OVERFLOW;
	}
	*(volatile uint64_t *) slot_chunk(session, 2) = 1;
	pthread_join(thread, NULL);
	tap_ok(good, "rows that change meanwhile");
	tap_ok(asks_well(session, version), "and then others");
}

/* Sessions that ask at once. */
static void
test_at_once(uint64_t version)
{
	peer p[8];
	bool good = true;
	steps_list l;

	make_steps(&l);
	for (uint32_t i = 0; i < 8; i++)
		good &= enter_as(&p[i], DATABASE, 60 + i);
	for (uint32_t n = 0; n < 30 && good; n++)
	{
		expected e[8] = {0};

		for (uint32_t i = 0; i < 8; i++)
		{
			say_ask(&p[i], version, FIRST_BLOCK + i, BLOCKS - n, &l);
			say_rows(&p[i], 2, 100 * i, &e[i]);
			say_count(&p[i], GSD_FINISH, 100 * i);
			expect_pages(&e[i], FIRST_BLOCK + i, BLOCKS - n);
		}
		for (uint32_t i = 0; i < 8; i++)
			good &= answered(&p[i]) == GS_OK && results_right(&p[i], &e[i]);
	}
	tap_ok(good, "sessions that ask at once are all answered");
	for (uint32_t i = 0; i < 8; i++)
		leave(&p[i]);
}

void
test_questions(peer *keeper)
{
	uint64_t version = info(keeper)->version + 1, queries;
	peer session;

	tap_ok(enter_as(&session, DATABASE, 40) &&
			   publish(keeper, TABLE, version, FIRST_BLOCK, SEGMENT_PAGES,
					   store(keeper, TABLE, FIRST_BLOCK, SEGMENT_PAGES, TURN)) == GS_OK,
		   "pages to ask about");
	queries = info(keeper)->queries;
	test_pages(&session, version);
	test_added(&session, version);
	tap_ok(info(keeper)->queries == queries + 3, "answers are counted");
	session.aside = true;
	test_pages(&session, version);
	session.aside = false;
	tap_ok(info(keeper)->queries == queries + 3, "but for those that help to ask others");
	test_refused(&session, version);
	test_broken(version);
	test_ends(&session, version);
	test_at_once(version);
	test_memory(version);
	test_groups(version);
	test_scribbled(&session, version);
	test_pinned(keeper, &session, &version);
	leave(&session);
}
