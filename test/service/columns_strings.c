/*
 * columns_strings.c: dictionaries: strings of segments get codes, in a file that nobody else can write.
 */
#define _GNU_SOURCE
#include "columns_peer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRINGS_TABLE (TABLE + 20)
#define STRINGS_RELATION (RELATION + 20)
#define STRINGS_AT (SLOT_BYTES / 2)

/* Makes a table, the first or the second, of a column of codes and one of integers. */
static gs_status
make_strings_table(peer *p, uint32_t number, uint8_t type)
{
	char bytes[sizeof(gsd_table) + 2] __attribute__((aligned(8)));
	gsd_table *m = (gsd_table *) bytes;
	int fd = make_map("map", F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);

	gsd_head(&m->head, GSD_TABLE, sizeof(bytes));
	m->table = STRINGS_TABLE + number;
	m->relation = STRINGS_RELATION + number;
	m->ncolumns = 2;
	strcpy(m->folder, FOLDER);
	m->types[0] = type | GSD_TYPE_CODES;
	m->types[1] = GS_I32;
	(void) gsd_send(p->fd, &m->head, fd);
	close(fd);
	return heard_done(p);
}

/* Writes new strings, n of this length each, from a number on.  Returns their bytes. */
static uint32_t
put_strings(peer *p, uint32_t first, uint32_t n, uint32_t number, uint32_t length)
{
	char *begin = (char *) slot_chunk(p, 0) + STRINGS_AT, *to = begin;
	gsd_strings head = {first, n};

	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	for (uint32_t i = 0; i < n; i++, to += length)
	{
		memcpy(to, &length, sizeof(length));
		to += sizeof(length);
		memset(to, 'x', length);
		for (uint32_t at = 0, left = number + i; at < length && at < 4; at++, left /= 26)
			to[at] = (char) ('a' + left % 26);
	}
	return (uint32_t) (to - begin);
}

/* Stores a page of 10 rows with the first codes, and with strings that lie in the slot. */
static gs_status
store_strings(peer *p, uint32_t number, gs_type type, uint64_t strings_at, uint32_t bytes)
{
	static const gs_column_spec integers = {.type = GS_I32};
	gs_column_spec specs[2] = {{.type = type}, integers};
	gs_chunk *chunk = slot_chunk(p, 0);
	gsd_page page = {1, 10, 0};
	gsd_store m;

	(void) gs_chunk_init(chunk, STRINGS_AT / 2, specs, 2, 64, 0);
	for (uint8_t i = 0; i < 10; i++)
		((uint8_t *) chunk + chunk->columns[0].values)[i] = i;
	chunk->rows = 10;
	gsd_head(&m.head, GSD_STORE, sizeof(m));
	m.table = STRINGS_TABLE + number;
	m.pages_at = (chunk->bytes + 7) / 8 * 8;
	m.npages = 1;
	m.strings_at = strings_at;
	m.strings_bytes = bytes;
	memcpy((char *) chunk + m.pages_at, &page, sizeof(page));
	(void) gsd_send(p->fd, &m.head, -1);
	return heard_done(p);
}

/* Maps the dictionary of a column.  Returns false if there is none. */
static bool
map_dictionary(peer *p, uint32_t column, gsd_entries *entries)
{
	void *file = MAP_FAILED;
	gsd_dictionary_of m;
	struct stat st;
	int fd = -1;

	gsd_head(&m.head, GSD_DICTIONARY, sizeof(m));
	m.table = STRINGS_TABLE;
	m.column = column;
	(void) gsd_send(p->fd, &m.head, -1);
	(void) fcntl(p->fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < 200 && gsd_receive(p->fd, &p->in, false, &fd) == GSD_IO_AGAIN; i++)
		usleep(10000);
	if (p->in.head.type != GSD_MAP_OF || fd < 0)
		return false;
	tap_ok(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED && ftruncate(fd, 0) != 0,
		   "a dictionary is read-only");
	if (fstat(fd, &st) == 0)
		file = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	tap_ok(file != MAP_FAILED && gsd_entries_open(entries, file, (uint64_t) st.st_size), "and as large as it says");
	return true;
}

/* Returns true if the first strings are those that put_strings writes, and the index finds them. */
static bool
strings_right(const gsd_entries *entries, uint32_t n, uint32_t length)
{
	for (uint32_t code = 0; code < n; code++)
	{
		uint32_t bytes;
		const char *string = gsd_entries_string(entries, code, &bytes);

		if (bytes != length || string[0] != (char) ('a' + code % 26) || string[1] != (char) ('a' + code / 26 % 26) ||
			gsd_entries_find(entries, string, bytes) != code)
			return false;
	}
	return gsd_entries_count(entries) == n;
}

/* Strings that break the rules. */
static void
test_wrong(peer *p)
{
	uint32_t bytes = put_strings(p, 0, 3, 500, 5), wrong = GSD_DICTIONARY_MOST_BYTES + 1;
	char *at = (char *) slot_chunk(p, 0) + STRINGS_AT;

	tap_ok(store_strings(p, 0, GS_U8, STRINGS_AT, 4) == GS_INVALID, "refused: strings without a head");
	tap_ok(store_strings(p, 0, GS_U8, STRINGS_AT, bytes - 1) == GS_INVALID, "refused: a string cut off");
	tap_ok(store_strings(p, 0, GS_U8, SLOT_BYTES, bytes) == GS_INVALID, "refused: strings beyond the slot");
	tap_ok(store_strings(p, 0, GS_U8, (uint64_t) -8, bytes) == GS_INVALID, "refused: strings at the end of all memory");
	memcpy(at + sizeof(gsd_strings), &wrong, sizeof(wrong));
	tap_ok(store_strings(p, 0, GS_U8, STRINGS_AT, SLOT_BYTES - STRINGS_AT) == GS_INVALID, "refused: a string too long");
	memset(at + 4, 0xff, 4);
	tap_ok(store_strings(p, 0, GS_U8, STRINGS_AT, bytes) == GS_INVALID, "refused: strings that are not there");
}

/*
 * Asks for the least and greatest rank, as values of a type, of the page's codes, in so many lists of ranks; if there
 * is a further table, of its page, too.  at: where the lists lie.
 */
static gs_status
say_ranks(peer *p, gs_type type, char *at, const gsd_asked *further, uint32_t lists)
{
	const gs_type types[2] = {type, GS_I32};
	char bytes[sizeof(gsd_ask) + 2 * sizeof(uint32_t)] __attribute__((aligned(8)));
	gsd_ask *m = (gsd_ask *) bytes;
	steps_list l;

	list_begin(&l, types, 2);
	list_group(&l, 2);
	list_column(&l, GS_MIN, 0, GS_NUMBER_I32);
	list_column(&l, GS_MAX, 0, GS_NUMBER_I32);
	*(uint64_t *) slot_chunk(p, 0) = 2;
	memcpy(slot_chunk(p, 1), &l, l.head.bytes);
	if (further != NULL)
	{
		memcpy(at - gsd_mask_bytes(2), slot_chunk(p, 0), sizeof(uint64_t));
		memcpy((gsd_asked *) slot_chunk(p, 2), further, sizeof(*further));
		((gsd_asked *) slot_chunk(p, 2))->columns[0] = 0;
		((gsd_asked *) slot_chunk(p, 2))->columns[1] = 1;
	}
	gsd_head(&m->head, GSD_ASK, sizeof(bytes));
	m->job = ++p->job;
	m->steps_bytes = l.head.bytes;
	m->table = STRINGS_TABLE;
	m->version = 1;
	m->blocks = 2;
	m->further = further != NULL;
	m->ranked = lists;
	m->ncolumns = 2;
	m->columns[0] = 0;
	m->columns[1] = 1;
	(void) gsd_send(p->fd, &m->head, -1);
	say_count(p, GSD_FINISH, 0);
	return answered(p);
}

/* Writes ranks of 202 codes, which fall. */
static void
put_ranks(char *at, const gsd_ranks *head, uint32_t first)
{
	gsd_ranks *ranks = (gsd_ranks *) at;

	*ranks = *head;
	for (uint32_t code = 0; code < 202; code++)
		ranks->ranks[code] = first - code;
}

/* Asks so, by one list of ranks or, wrongly, two. */
static gs_status
ask_ranks(peer *p, const gsd_ranks *head, uint32_t first, uint32_t lists)
{
	char *at = (char *) slot_chunk(p, 2);

	put_ranks(at, head, first);
	return say_ranks(p, GS_U8, at, NULL, lists);
}

/* Two tables, whose codes have ranks of their own, wider than the codes. */
static void
test_ranks_of_tables(peer *p)
{
	const gs_reduced *r = (const gs_reduced *) (p->ring + SLOTS * SLOT_BYTES);
	const gsd_ranks first = {.column = 0, .count = 202}, second = {.column = 0, .count = 202, .table = 1},
					third = {.column = 0, .count = 202, .table = 2}, odd = {.column = 0, .count = 202, .zero = 1};
	const gsd_asked further = {.table = STRINGS_TABLE + 1, .version = 1, .blocks = 2};
	char *at = (char *) slot_chunk(p, 2) + gsd_asked_bytes(2) + gsd_mask_bytes(2),
		 *behind = at + gsd_ranks_bytes(202);

	tap_ok(make_strings_table(p, 1, GS_U8) == GS_OK &&
			   store_strings(p, 1, GS_U8, STRINGS_AT, put_strings(p, 0, 20, 40, 7)) == GS_OK &&
			   publish(p, STRINGS_TABLE + 1, 1, 1, 1, (uint32_t) p->in.done.number) == GS_OK,
		   "a second table, which has other strings");
	put_ranks(at, &first, 201);
	put_ranks(behind, &second, 1201);
	tap_ok(say_ranks(p, GS_U16, at, &further, 2) == GS_OK && r[0].value[0] == 192 && r[1].value[0] == 1201,
		   "ranks of two tables, wider than codes");
	tap_ok(say_ranks(p, GS_U8, at, &further, 2) == GS_PROTOCOL, "refused: those of the second do not fit");
	tap_ok(say_ranks(p, GS_U16, at, &further, 1) == GS_PROTOCOL, "refused: ranks of the first table alone");
	tap_ok(say_ranks(p, GS_U16, at, &further, 0) == GS_INVALID, "refused: another width without ranks");
	tap_ok(say_ranks(p, GS_I32, at, &further, 2) == GS_INVALID, "refused: numbers for codes");
	put_ranks(behind, &third, 1201);
	tap_ok(say_ranks(p, GS_U16, at, &further, 2) == GS_PROTOCOL, "refused: ranks of a table that is not asked about");
	put_ranks(at, &odd, 201);
	tap_ok(say_ranks(p, GS_U16, at, &further, 2) == GS_PROTOCOL, "refused: ranks with something where nothing is");
	say_number(p, GSD_DROP, STRINGS_TABLE + 1);
	tap_ok(heard_done(p) == GS_OK, "the second table goes");
}

/* Ranks of codes, and what is wrong about them. */
static void
test_ranks(peer *p, uint32_t segment)
{
	const gs_reduced *r = (const gs_reduced *) (p->ring + SLOTS * SLOT_BYTES);
	const gsd_ranks right = {.column = 0, .count = 202}, none = {.column = 2, .count = 202},
					other = {.column = 1, .count = 202}, large = {.column = 0, .count = UINT32_MAX};

	tap_ok(publish(p, STRINGS_TABLE, 1, 1, 1, segment) == GS_OK, "the page is published");
	tap_ok(ask_ranks(p, &right, 0, 0) == GS_OK && r[0].value[0] == 0 && r[1].value[0] == 9, "codes without ranks");
	tap_ok(ask_ranks(p, &right, 201, 1) == GS_OK && r[0].value[0] == 192 && r[1].value[0] == 201, "ranks of codes");
	tap_ok(p->in.answered.copied == 2 * p->in.answered.on_host, "of copies, where the columns lie on a device");
	tap_ok(ask_ranks(p, &right, 400, 1) == GS_PROTOCOL, "refused: ranks that the width does not hold");
	tap_ok(ask_ranks(p, &none, 201, 1) == GS_PROTOCOL, "refused: ranks of no column");
	tap_ok(ask_ranks(p, &other, 201, 1) == GS_PROTOCOL, "refused: ranks of numbers");
	tap_ok(ask_ranks(p, &large, 201, 1) == GS_PROTOCOL, "refused: ranks beyond the ring");
	tap_ok(ask_ranks(p, &right, 201, 2) == GS_PROTOCOL, "refused: ranks that are not there");
	tap_ok(ask_ranks(p, &right, 201, 1) == GS_OK && r[0].value[0] == 192, "and then right ones");
	tap_ok(p->in.answered.copied == 0, "of the same copies");
	test_ranks_of_tables(p);
}

void
test_strings(peer *p)
{
	gsd_entries small, large;
	uint32_t segment;

	tap_ok(make_strings_table(p, 0, GS_U8) == GS_OK, "a table with a dictionary is made");
	tap_ok(make_strings_table(p, 0, GS_U8) == GS_OK && make_strings_table(p, 0, GS_U16) == GS_INVALID,
		   "and taken over as it is");
	tap_ok(store_strings(p, 0, GS_U8, STRINGS_AT, put_strings(p, 0, 100, 0, 40)) == GS_OK,
		   "strings come with a segment");
	segment = (uint32_t) p->in.done.number;
	tap_ok(map_dictionary(p, 0, &small) && strings_right(&small, 100, 40), "and get codes in their order");
	tap_ok(store_strings(p, 0, GS_U8, STRINGS_AT, put_strings(p, 100, 60, 90, 40)) == GS_OK &&
			   strings_right(&small, 150, 40), "those that were there keep theirs");
	tap_ok(!map_dictionary(p, 1, &large), "another column has none");
	test_wrong(p);
	tap_ok(store_strings(p, 0, GS_U8, STRINGS_AT, put_strings(p, 152, 50, 1000, 600)) == GS_OK, "long ones come");
	tap_ok(map_dictionary(p, 0, &large) && small.file->retired && !large.file->retired &&
			   gsd_entries_count(&large) == 202 && gsd_entries_find(&large, small.strings, 40) == 0,
		   "in a larger copy");
	tap_ok(store_strings(p, 0, GS_U8, STRINGS_AT, put_strings(p, 202, 100, 2000, 8)) == GS_TOO_BIG &&
			   p->in.done.number == 1,
		   "more codes than the width has");
	test_ranks(p, segment);
	say_number(p, GSD_DROP, STRINGS_TABLE);
	tap_ok(heard_done(p) == GS_OK, "the table goes");
}
