/*
 * columns_groups.c: questions with keys, with aggregates of all values, and about rows: over pages and rows that are
 * added, in one area and in parts; ends while parts come; chunks that lie; sessions that ask at once.
 */
#define _GNU_SOURCE
#include "columns_peer.h"

#include <pthread.h>
#include <unistd.h>

#define ADDED_ROWS 900
#define ADDED_KEY 100000000

static const gs_type types[2] = {GS_I32, GS_I64};

/* What groups of the first column should be: of the rows of all pages, and of added ones with keys of their own. */
typedef struct heard
{
	uint32_t groups, nulls, pages, added;
	bool good;
	uint8_t seen[SEGMENT_PAGES * PAGE_ROWS + ADDED_ROWS];
} heard;

/* The sum of the second column by the first. */
static void
make_steps(steps_list *l)
{
	const uint32_t key = 0;

	list_begin(l, types, 2);
	list_group(l, 2);
	list_aggregate(l, GS_COUNT, NULL, 0);
	list_column(l, GS_SUM, 1, GS_NUMBER_I64);
	list_keys(l, &key, 1);
}

/* Looks at a group. */
static void
hear_group(heard *h, const gs_reduced *g)
{
	int64_t key = (int64_t) g[0].value[0], sum = (int64_t) g[2].value[0];
	uint32_t row = key >= ADDED_KEY ? (uint32_t) (key - ADDED_KEY)
									: (uint32_t) ((-sum / PAGE_ROWS) * PAGE_ROWS + (-sum % PAGE_ROWS));
	uint32_t at = key >= ADDED_KEY ? SEGMENT_PAGES * PAGE_ROWS + row : row;

	h->groups++;
	if (g[0].count == 0)
	{
		h->nulls++;
		return;
	}
	h->pages += key < ADDED_KEY;
	h->added += key >= ADDED_KEY;
	h->good &= at < sizeof(h->seen) && !h->seen[at] && g[1].count == 1 && g[2].count == 1;
	if (key < ADDED_KEY)
		h->good &= key == value_of(FIRST_BLOCK + row / PAGE_ROWS, row % PAGE_ROWS, TURN);
	else
		h->good &= sum == 2 * (int64_t) row;
	if (h->good)
		h->seen[at] = 1;
}

/* Looks at the groups in an area. */
static void
hear_area(const peer *p, heard *h, uint32_t area, uint64_t n)
{
	const gs_reduced *g = (const gs_reduced *) (p->ring + SLOTS * SLOT_BYTES + area * AREA_BYTES);

	for (uint64_t i = 0; i < n; i++)
		hear_group(h, g + 3 * i);
}

/* Hears the answer, and the groups that come after it. */
static gs_status
hear_groups(peer *p, heard *h)
{
	gs_status status = answered(p);
	uint64_t groups = p->in.answered.groups;

	*h = (heard){.good = true};
	if (status != GS_OK)
		return status;
	if (p->in.answered.bytes <= AREA_BYTES)
		hear_area(p, h, 0, groups);
	while (h->groups < groups && hear(p) == GSD_PART)
	{
		uint32_t area = p->in.part.area;

		hear_area(p, h, area, p->in.part.rows);
		say_slot(p, GSD_TAKEN, area); /* after the last one, too */
	}
	return h->groups == groups ? GS_OK : GS_PROTOCOL;
}

/* Adds a chunk of rows with keys of their own, in a slot. */
static void
say_rows(peer *p, uint32_t slot, uint32_t from, uint32_t n)
{
	static const gs_column_spec specs[2] = {{GS_I32, false, false}, {GS_I64, false, false}};
	static char made[SLOT_BYTES] __attribute__((aligned(64)));
	gs_chunk *chunk = (gs_chunk *) made;

	(void) gs_chunk_init(chunk, SLOT_BYTES, specs, 2, 4096, 0);
	for (uint32_t r = 0; r < n; r++)
	{
		((int32_t *) (made + chunk->columns[0].values))[r] = (int32_t) (ADDED_KEY + from + r);
		((int64_t *) (made + chunk->columns[1].values))[r] = 2 * (int64_t) (from + r);
	}
	chunk->rows = n;
	memcpy(slot_chunk(p, slot), made, sizeof(made));
	say_slot(p, GSD_ADD, slot);
}

/* Asks for the groups of pages, which are this many rows. */
static void
say_pages(peer *p, uint64_t version, uint32_t from, uint32_t to)
{
	steps_list l;

	make_steps(&l);
	say_wide_ask(p, version, from, to, &l, false);
}

/* True if the groups of some pages are heard: in one area if they are few. */
static bool
groups_well(peer *p, uint64_t version, uint32_t npages)
{
	heard h;

	say_pages(p, version, FIRST_BLOCK, FIRST_BLOCK + npages);
	say_count(p, GSD_FINISH, 0);
	return hear_groups(p, &h) == GS_OK && h.good && h.nulls == 1 && h.pages == npages * PAGE_ROWS * 4 / 5 &&
		   h.groups == h.pages + 1;
}

static void
test_pages(peer *p, uint64_t version)
{
	heard h;

	tap_ok(groups_well(p, version, 5), "groups of some pages come with the answer");
	tap_ok(groups_well(p, version, SEGMENT_PAGES), "groups of all come in parts");
	tap_ok(groups_well(p, version, 5), "and then some again");
	p->counted = true;
	say_pages(p, version, FIRST_BLOCK, FIRST_BLOCK + SEGMENT_PAGES);
	say_count(p, GSD_FINISH, 0);
	tap_ok(answered(p) == GS_OK && p->in.answered.groups == SEGMENT_PAGES * PAGE_ROWS * 4 / 5 + 1,
		   "groups of all are only counted");
	p->counted = false;
	tap_ok(groups_well(p, version, 5), "and none of them comes before other groups");
	say_pages(p, version, 0, 0);
	say_count(p, GSD_FINISH, 0);
	tap_ok(hear_groups(p, &h) == GS_OK && h.groups == 0, "no rows have no groups");
	say_pages(p, version, FIRST_BLOCK - 1, BLOCKS);
	say_count(p, GSD_FINISH, 0);
	tap_ok(hear_groups(p, &h) == GS_INVALID, "a page that is not held");
}

static void
test_added(peer *p, uint64_t version)
{
	heard h;

	say_pages(p, version, FIRST_BLOCK, BLOCKS);
	for (uint32_t from = 0; from < ADDED_ROWS; from += 300)
	{
		say_rows(p, 2, from, 300);
		tap_ok(hear(p) == GSD_FREE && p->in.slot.slot == 2, "rows are taken");
	}
	say_count(p, GSD_FINISH, ADDED_ROWS);
	tap_ok(hear_groups(p, &h) == GS_OK && h.good && h.nulls == 1 && h.pages == SEGMENT_PAGES * PAGE_ROWS * 4 / 5 &&
			   h.added == ADDED_ROWS && h.groups == h.pages + h.added + 1,
		   "groups of pages and rows");
	tap_ok(p->in.part.job == p->job, "in parts");
	say_pages(p, version, 0, 0);
	say_rows(p, 2, 0, 100);
	say_count(p, GSD_FINISH, 100);
	tap_ok(hear_groups(p, &h) == GS_OK && h.good && h.groups == 100 && h.added == 100, "groups of rows alone");
}

/* Asks for the groups of pages, of which those from one on are said to be another table's. */
static void
say_tables(peer *p, uint64_t version, uint32_t from, const gsd_asked *asked, uint32_t column, uint32_t further)
{
	char *at = (char *) slot_chunk(p, 2);
	uint64_t *mask = (uint64_t *) (at + gsd_asked_bytes(2));
	const uint32_t columns[2] = {0, column};
	steps_list l;

	memset(at, 0, SLOT_BYTES);
	memcpy(at, asked, sizeof(*asked));
	memcpy(at + sizeof(*asked), columns, sizeof(columns));
	for (uint32_t b = from; b < BLOCKS; b++)
		mask[b / 64] |= (uint64_t) 1 << b % 64;
	make_steps(&l);
	say_further_ask(p, version, FIRST_BLOCK, from, &l, false, further);
}

/* Groups of the rows of several tables, and what is wrong about them. */
static void
test_tables(peer *p, uint64_t version)
{
	const gsd_asked right = {.table = TABLE, .version = version, .blocks = BLOCKS};
	heard h;

	for (uint32_t from = FIRST_BLOCK; from <= BLOCKS; from += SEGMENT_PAGES / 4)
	{
		say_tables(p, version, from, &right, 1, 1);
		say_count(p, GSD_FINISH, 0);
		tap_ok(hear_groups(p, &h) == GS_OK && h.good && h.nulls == 1 && h.pages == SEGMENT_PAGES * PAGE_ROWS * 4 / 5,
			   "groups of two tables' rows, the second from page %u on", from);
	}
	for (int lie = 0; lie < 7; lie++)
	{
		static const gs_status wrong[] = {GS_INVALID, GS_INVALID, GS_PROTOCOL, GS_PROTOCOL, GS_PROTOCOL, GS_INVALID,
										  GS_PROTOCOL};
		gsd_asked asked = right;

		switch (lie)
		{
			case 0: asked.table += 1000; break;
			case 1: asked.version += 1000; break;
			case 2: asked.blocks = UINT32_MAX; break;
			case 3: asked.zero = 1; break;
			case 4: asked.table = 0; break;
		}
		say_tables(p, version, FIRST_BLOCK + 5, &asked, lie == 5 ? 0 : 1, lie == 6 ? 1000000 : 1);
		say_count(p, GSD_FINISH, 0);
		tap_ok(hear_groups(p, &h) == wrong[lie], "a further table that is wrong: lie %d", lie);
		tap_ok(groups_well(p, version, 3), "and the next question is answered");
	}
}

/* A list that adds up as rows come has no further tables. */
static void
test_plain_tables(peer *p, uint64_t version)
{
	steps_list l;

	list_begin(&l, types, 2);
	list_group(&l, 1);
	list_aggregate(&l, GS_COUNT, NULL, 0);
	say_further_ask(p, version, FIRST_BLOCK, BLOCKS, &l, false, 1);
	say_count(p, GSD_FINISH, 0);
	tap_ok(answered(p) == GS_PROTOCOL, "a sum over several tables");
}

/* Asks for the first column by where rows are, or, plain, for the number of rows. */
static gs_status
ask_positions(peer *p, uint64_t version, const gs_type *two, const uint32_t *columns, bool plain, uint32_t further)
{
	const uint32_t key = 1;
	steps_list l;

	list_begin(&l, two, 2);
	list_group(&l, plain ? 1 : 2);
	list_aggregate(&l, GS_COUNT, NULL, 0);
	if (!plain)
	{
		list_column(&l, GS_MIN, 0, GS_NUMBER_I32);
		list_keys(&l, &key, 1);
	}
	say_columns_ask(p, version, FIRST_BLOCK + 1, FIRST_BLOCK + 5, &l, columns, 2, further);
	say_count(p, GSD_FINISH, 0);
	return answered(p);
}

/* Where rows are, and what may not be asked about that. */
static void
test_positions(peer *p, uint64_t version)
{
	static const uint32_t columns[] = {0, GSD_POSITIONS}, turned[] = {GSD_POSITIONS, 1};
	static const gs_type narrow[] = {GS_I32, GS_I32};
	const gs_reduced *r = (const gs_reduced *) (p->ring + SLOTS * SLOT_BYTES);
	bool good = ask_positions(p, version, types, columns, false, 0) == GS_OK &&
		p->in.answered.groups == 4 * PAGE_ROWS;

	for (uint32_t i = 0; i < 4 * PAGE_ROWS && good; i++, r += 3)
	{
		uint32_t block = (uint32_t) (r->value[0] >> GSD_POSITION_BITS);
		uint32_t row = (uint32_t) r->value[0] & ((1 << GSD_POSITION_BITS) - 1);

		good = block > FIRST_BLOCK && block < FIRST_BLOCK + 5 && row < PAGE_ROWS && r[1].count == 1 &&
			r[2].count == !null_of(block, row) &&
			(r[2].count == 0 || (int32_t) r[2].value[0] == value_of(block, row, TURN));
	}
	tap_ok(good, "each row is where it is");
	tap_ok(ask_positions(p, version, types, columns, true, 0) == GS_PROTOCOL, "positions of rows that are added up");
	tap_ok(ask_positions(p, version, types, columns, false, 1) == GS_PROTOCOL, "positions in two tables");
	tap_ok(ask_positions(p, version, narrow, columns, false, 0) == GS_INVALID, "positions of another type");
	tap_ok(ask_positions(p, version, types, turned, false, 0) == GS_INVALID, "positions that are not the last column");
}

/* Aggregates of all values, without keys, and the first of many groups. */
static void
test_lists(peer *p, uint64_t version)
{
	const gs_reduced *r = (const gs_reduced *) (p->ring + SLOTS * SLOT_BYTES);
	const gs_top_order order = {.member = 0, .descending = 1, .nulls_first = 1};
	const uint32_t nonnull = SEGMENT_PAGES * PAGE_ROWS * 4 / 5;
	bool falling = true;
	steps_list l;

	list_begin(&l, types, 2);
	list_group(&l, 2);
	list_column(&l, GS_COUNT, 0, GS_NUMBER_I32);
	list_refine(&l, GS_DISTINCT, 0, NULL, 0);
	list_column(&l, GS_COUNT, 1, GS_NUMBER_I64);
	list_refine(&l, GS_RANK_DISC, 0.5, NULL, 0);
	say_wide_ask(p, version, FIRST_BLOCK, BLOCKS, &l, false);
	say_count(p, GSD_FINISH, 0);
	tap_ok(answered(p) == GS_OK && p->in.answered.groups == 1 && p->in.answered.bytes == 2 * sizeof(*r) &&
			   r[0].count == nonnull && (int64_t) r[1].value[0] == -SEGMENT_PAGES * PAGE_ROWS / 2,
		   "different values, and a median");
	make_steps(&l);
	list_top(&l, 20, &order, 1);
	say_wide_ask(p, version, FIRST_BLOCK, BLOCKS, &l, false);
	say_count(p, GSD_FINISH, 0);
	tap_ok(answered(p) == GS_OK && p->in.answered.groups == 20, "the first groups of an order");
	for (int i = 2; i < 20; i++)
		falling &= r[3 * i].value[0] < r[3 * i - 3].value[0];
	tap_ok(falling && r[0].count == 0, "are in that order, NULL first");
}

/* The place of a page's row, counted from the first page: every other page has no lines 1 and 2. */
static uint64_t
place_of(uint32_t row)
{
	uint32_t page = row / PAGE_ROWS;

	return (uint64_t) (FIRST_BLOCK + page) << 16 | (row % PAGE_ROWS + (page % 2 ? 3 : 1));
}

/* Looks at the rows in an area: in any order, each once. */
static void
hear_places(const peer *p, heard *h, uint32_t area, uint64_t n)
{
	const uint64_t *places = (const uint64_t *) (p->ring + SLOTS * SLOT_BYTES + area * AREA_BYTES);

	for (uint64_t i = 0; i < n; i++, h->groups++)
	{
		bool added = places[i] & GSD_ADDED_ROW;
		uint64_t page = (places[i] >> 16) - FIRST_BLOCK, line = places[i] & 0xffff;
		uint64_t row = added ? places[i] & ~GSD_ADDED_ROW : page * PAGE_ROWS + line - (page % 2 ? 3 : 1);
		uint64_t at = added ? SEGMENT_PAGES * PAGE_ROWS + row : row;

		h->good &= at < sizeof(h->seen) && !h->seen[at] && (added || places[i] == place_of((uint32_t) row));
		h->added += added;
		if (h->good)
			h->seen[at] = 1;
	}
}

/* Hears the answer about rows, and the parts that come after it. */
static bool
rows_well(peer *p, uint32_t nrows, uint32_t nadded)
{
	heard h = {.good = true};

	if (answered(p) != GS_OK || p->in.answered.groups != nrows || p->in.answered.bytes != nrows * sizeof(uint64_t))
		return false;
	if (p->in.answered.bytes <= AREA_BYTES)
		hear_places(p, &h, 0, nrows);
	while (h.groups < nrows && hear(p) == GSD_PART)
	{
		uint32_t area = p->in.part.area;

		hear_places(p, &h, area, p->in.part.rows);
		say_slot(p, GSD_TAKEN, area);
	}
	return h.good && h.groups == nrows && h.added == nadded;
}

/* Rows: all of them, and those of a page in the order of the second column, which falls in pages and then rises. */
static void
test_rows(peer *p, uint64_t version)
{
	const uint64_t *places = (const uint64_t *) (p->ring + SLOTS * SLOT_BYTES);
	const gs_row_order order = {.column = 1};
	bool good = true;
	steps_list l;

	list_begin(&l, types, 2);
	list_rows(&l, 0, 0, NULL, 0);
	say_wide_ask(p, version, FIRST_BLOCK, FIRST_BLOCK + 5, &l, false);
	say_count(p, GSD_FINISH, 0);
	tap_ok(rows_well(p, 5 * PAGE_ROWS, 0), "rows of some pages come with the answer");
	say_wide_ask(p, version, FIRST_BLOCK, BLOCKS, &l, false);
	for (uint32_t from = 0; from < ADDED_ROWS; from += 300)
	{
		say_rows(p, 2, from, 300);
		good &= hear(p) == GSD_FREE;
	}
	say_count(p, GSD_FINISH, ADDED_ROWS);
	tap_ok(rows_well(p, SEGMENT_PAGES * PAGE_ROWS + ADDED_ROWS, ADDED_ROWS) && good,
		   "rows of all, and added ones, in parts");
	list_begin(&l, types, 2);
	list_rows(&l, SEGMENT_PAGES * PAGE_ROWS - 10, 20, &order, 1);
	say_wide_ask(p, version, FIRST_BLOCK, BLOCKS, &l, false);
	say_rows(p, 2, 1, 300);
	say_count(p, GSD_FINISH, 300);
	tap_ok(answered(p) == GS_OK && p->in.answered.groups == 20, "a page of an order");
	for (uint32_t i = 0; i < 20; i++)
		good &= places[i] == (i < 10 ? place_of(9 - i) : GSD_ADDED_ROW | (i - 10));
	tap_ok(good, "has its rows");
	list_begin(&l, types, 2);
	list_rows(&l, SEGMENT_PAGES * PAGE_ROWS, 20, &order, 1);
	say_wide_ask(p, version, FIRST_BLOCK, BLOCKS, &l, false);
	say_count(p, GSD_FINISH, 0);
	tap_ok(rows_well(p, 0, 0), "a page behind the end");
	say_wide_ask(p, version, FIRST_BLOCK - 1, BLOCKS, &l, false);
	say_count(p, GSD_FINISH, 0);
	tap_ok(answered(p) == GS_INVALID, "a page of the table that is not held");
}

/* The end of a question, or of its session, before its rows have come, and while parts do. */
static void
test_ends(peer *session, uint64_t version)
{
	for (int at = 0; at < 8; at++)
	{
		peer p;

		tap_ok(enter_as(&p, DATABASE, 11), "a session comes");
		say_pages(&p, version, FIRST_BLOCK, BLOCKS);
		say_rows(&p, 2, 0, 900);
		if (at % 4 >= 1)
			say_count(&p, GSD_FINISH, 900);
		if (at % 4 >= 2)
			while (hear(&p) != GSD_PART)
				;
		if (at % 4 == 3)
			say_slot(&p, GSD_TAKEN, p.in.part.area);
		if (at < 4)
		{
			say_end(&p);
			while (hear(&p) == GSD_FREE || p.in.head.type == GSD_ANSWERED || p.in.head.type == GSD_PART)
				;
			tap_ok(p.in.head.type == GSD_ENDED, "groups are ended, at %d", at);
			tap_ok(groups_well(&p, version, SEGMENT_PAGES), "and others come");
		}
		leave(&p);
	}
	tap_ok(groups_well(session, version, SEGMENT_PAGES), "others are answered");
}

/* What ends the connection. */
static void
test_broken(uint64_t version)
{
	for (int lie = 0; lie < 4; lie++)
	{
		uint32_t type;
		peer p;

		tap_ok(enter_as(&p, DATABASE, 10), "a session comes");
		say_pages(&p, version, FIRST_BLOCK, BLOCKS);
		if (lie == 0)
			say_slot(&p, GSD_TAKEN, 0);
		else
		{
			say_count(&p, GSD_FINISH, 0);
			(void) hear(&p);
			switch (lie)
			{
				case 1: say_slot(&p, GSD_TAKEN, AREAS); break;
				case 2: say_count(&p, GSD_FINISH, 0); break;
				case 3: say_slot(&p, GSD_ADD, 2); break;
			}
		}
		do
			type = hear(&p);
		while (type == GSD_PART);
		tap_ok(type == 0, "the connection ends: lie %d", lie);
		leave(&p);
	}
}

/* Chunks that lie are refused, and the next question is answered. */
static void
test_refused(peer *p, uint64_t version)
{
	for (int lie = 0; lie < 3; lie++)
	{
		gs_chunk *chunk = slot_chunk(p, 2);
		heard h;

		say_pages(p, version, FIRST_BLOCK, BLOCKS);
		say_rows(p, 2, 0, 100);
		(void) hear(p);
		switch (lie)
		{
			case 0: chunk->magic++; break;
			case 1: chunk->columns[1].values = SLOT_BYTES - 64; break;
			case 2: chunk->ncolumns = 1; break;
		}
		say_slot(p, GSD_ADD, 2);
		say_count(p, GSD_FINISH, 200);
		tap_ok(hear_groups(p, &h) == GS_PROTOCOL, "a chunk that lies is refused: %d", lie);
		tap_ok(groups_well(p, version, 3), "and the next question is answered");
	}
}

/* Writes into the mask and a chunk while the service reads them. */
static void *
scribble(void *arg)
{
	peer *p = arg;
	volatile uint64_t *mask = (volatile uint64_t *) slot_chunk(p, 0), *chunk = (volatile uint64_t *) slot_chunk(p, 2);

	for (uint64_t n = 1; chunk[0] != 1; n = n * 6364136223846793005u + 1442695040888963407u)
	{
		chunk[sizeof(gs_chunk) / 8 + (n >> 33) % (SLOT_BYTES / 8 - sizeof(gs_chunk) / 8)] = n;
		mask[FIRST_BLOCK / 64] = n;
	}
	return NULL;
}

/* Rows and pages that change while they are read are answered somehow, and nothing else happens. */
static void
test_scribbled(peer *p, uint64_t version)
{
	pthread_t thread;
	bool good = true;

	*(volatile uint64_t *) slot_chunk(p, 2) = 0;
	pthread_create(&thread, NULL, scribble, p);
	for (int i = 0; i < 100; i++)
	{
		gs_status status;
		heard h;

		say_pages(p, version, FIRST_BLOCK, FIRST_BLOCK + 20);
		for (int k = 0; k < 3; k++)
			say_rows(p, 2, 0, 900);
		say_count(p, GSD_FINISH, 3 * 900);
		status = hear_groups(p, &h);
		good &= status == GS_OK || status == GS_PROTOCOL || status == GS_OVERFLOW || status == GS_INVALID;
	}
	*(volatile uint64_t *) slot_chunk(p, 2) = 1;
	pthread_join(thread, NULL);
	tap_ok(good, "rows and pages that change meanwhile");
	tap_ok(groups_well(p, version, SEGMENT_PAGES), "and then others");
}

/* Sessions that ask at once. */
static void
test_at_once(uint64_t version)
{
	peer p[6];
	bool good = true;

	for (uint32_t i = 0; i < 6; i++)
		good &= enter_as(&p[i], DATABASE, 60 + i);
	for (uint32_t n = 0; n < 20 && good; n++)
	{
		heard h;

		for (uint32_t i = 0; i < 6; i++)
		{
			say_pages(&p[i], version, FIRST_BLOCK, BLOCKS);
			say_rows(&p[i], 2, 0, 100 * i);
			say_count(&p[i], GSD_FINISH, 100 * i);
		}
		for (uint32_t i = 0; i < 6; i++)
			good &= hear_groups(&p[i], &h) == GS_OK && h.good && h.added == 100 * i && h.nulls == 1;
	}
	tap_ok(good, "sessions that ask at once are all answered");
	for (uint32_t i = 0; i < 6; i++)
		leave(&p[i]);
}

void
test_groups(uint64_t version)
{
	peer session;

	tap_ok(enter_as(&session, DATABASE, 41), "a session asks for groups");
	test_pages(&session, version);
	test_added(&session, version);
	test_tables(&session, version);
	test_plain_tables(&session, version);
	test_positions(&session, version);
	test_lists(&session, version);
	test_rows(&session, version);
	test_refused(&session, version);
	test_broken(version);
	test_ends(&session, version);
	test_at_once(version);
	test_scribbled(&session, version);
	leave(&session);
}
