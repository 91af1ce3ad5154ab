/*
 * columns_peer.c: what keepers, loaders and sessions say to gpusortd about columns, with rows that are known.
 */
#define _GNU_SOURCE
#include "columns_peer.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static const gs_column_spec specs[2] = {{GS_I32, false, false}, {GS_I64, false, false}};

bool
enter_as(peer *p, uint32_t database, uint32_t role)
{
	gsd_hello m;

	memset(p, 0, sizeof(*p));
	p->fd = dial();
	gsd_head(&m.head, GSD_HELLO, sizeof(m));
	m.magic = GSD_MAGIC;
	m.version = GSD_VERSION;
	m.owner = (uint64_t) database << 32 | role;
	(void) gsd_send(p->fd, &m.head, -1);
	if (hear(p) != GSD_WELCOME)
		return false;
	say_ring(p, RING_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return hear(p) == GSD_RING_DONE && p->in.result.status == GS_OK;
}

int
make_map(const char *text, int seals)
{
	int fd = memfd_create("map", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	(void) !write(fd, text, strlen(text));
	(void) fcntl(fd, F_ADD_SEALS, seals);
	return fd;
}

gs_status
heard_done(peer *p)
{
	return hear(p) == GSD_DONE ? (gs_status) p->in.done.status : GS_PROTOCOL;
}

void
say_table(peer *p, uint64_t number, int fd)
{
	char bytes[sizeof(gsd_table) + 2] __attribute__((aligned(8)));
	gsd_table *m = (gsd_table *) bytes;

	gsd_head(&m->head, GSD_TABLE, sizeof(bytes));
	m->table = number;
	m->relation = RELATION;
	m->ncolumns = 2;
	snprintf(m->folder, sizeof(m->folder), "%s", FOLDER);
	m->types[0] = GS_I32;
	m->types[1] = GS_I64;
	(void) gsd_send(p->fd, &m->head, fd);
}

gs_status
make_table(peer *p, uint64_t number)
{
	int fd = make_map("map", F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE);

	say_table(p, number, fd);
	close(fd);
	return heard_done(p);
}

int32_t
value_of(uint32_t block, uint32_t row, uint32_t turn)
{
	return (int32_t) (block * 1000 + row) - (int32_t) turn * 7;
}

bool
null_of(uint32_t block, uint32_t row)
{
	return (block + row) % 5 == 0;
}

uint64_t
fill_segment(peer *p, uint32_t block, uint32_t npages, uint32_t turn)
{
	static char made[SLOT_BYTES] __attribute__((aligned(64)));
	gs_chunk *chunk = (gs_chunk *) made;
	uint64_t at;
	gsd_page *pages;

	memset(made, 0, sizeof(made));
	(void) gs_chunk_init(chunk, SLOT_BYTES / 2, specs, 2, 1024, 0);
	chunk->columns[0].has_nulls = 1;
	for (uint32_t r = 0; r < npages * PAGE_ROWS; r++)
	{
		uint32_t b = block + r / PAGE_ROWS, row = r % PAGE_ROWS;

		((int32_t *) (made + chunk->columns[0].values))[r] = value_of(b, row, turn);
		((int64_t *) (made + chunk->columns[1].values))[r] = -(int64_t) r;
		if (null_of(b, row))
			((uint64_t *) (made + chunk->columns[0].nulls))[r / 64] |= (uint64_t) 1 << r % 64;
	}
	chunk->rows = npages * PAGE_ROWS;
	at = (chunk->bytes + 7) / 8 * 8;
	pages = (gsd_page *) (made + at);
	for (uint32_t i = 0; i < npages; i++)
		pages[i] = (gsd_page){block + i, PAGE_ROWS, i % 2 ? PAGE_ROWS + 2 : 0};
	for (uint32_t i = 0, n = 0; i < npages; i++)
		if (pages[i].lines > 0)
		{
			uint8_t *bits = (uint8_t *) (pages + npages) + 2 * n++;

			bits[0] = 0xfc; /* lines 3 to 12 */
			bits[1] = 0x0f;
		}
	memcpy(slot_chunk(p, 0), made, sizeof(made));
	return at;
}

void
say_store(peer *p, uint64_t table, uint64_t at, uint32_t npages)
{
	gsd_store m;

	gsd_head(&m.head, GSD_STORE, sizeof(m));
	m.table = table;
	m.pages_at = at;
	m.npages = npages;
	(void) gsd_send(p->fd, &m.head, -1);
}

uint32_t
store(peer *p, uint64_t table, uint32_t block, uint32_t npages, uint32_t turn)
{
	say_store(p, table, fill_segment(p, block, npages, turn), npages);
	return heard_done(p) == GS_OK ? (uint32_t) p->in.done.number : 0;
}

void
say_publish(peer *p, uint64_t table, uint64_t version, uint32_t count, bool last)
{
	gsd_publish m;

	gsd_head(&m.head, GSD_PUBLISH, sizeof(m));
	m.table = table;
	m.version = version;
	m.slot = 1;
	m.count = count;
	m.last = last;
	(void) gsd_send(p->fd, &m.head, -1);
}

gs_status
publish(peer *p, uint64_t table, uint64_t version, uint32_t block, uint32_t npages, uint32_t number)
{
	gsd_place *places = (gsd_place *) slot_chunk(p, 1);

	for (uint32_t i = 0; i < npages; i++)
		places[i] = (gsd_place){block + i, number};
	say_publish(p, table, version, npages, true);
	return heard_done(p);
}

void
say_check(peer *p, uint64_t table, uint64_t version, uint32_t from, uint32_t to, uint32_t blocks)
{
	char bytes[sizeof(gsd_check) + 2 * sizeof(uint32_t)] __attribute__((aligned(8)));
	gsd_check *m = (gsd_check *) bytes;
	uint64_t *mask = (uint64_t *) slot_chunk(p, 1);

	memset(mask, 0, SLOT_BYTES);
	for (uint32_t b = from; b < to; b++)
		mask[b / 64] |= (uint64_t) 1 << b % 64;
	gsd_head(&m->head, GSD_CHECK, sizeof(bytes));
	m->job = ++p->job;
	m->slot = 1;
	m->table = table;
	m->version = version;
	m->blocks = blocks;
	m->ncolumns = 2;
	m->columns[0] = 0;
	m->columns[1] = 1;
	(void) gsd_send(p->fd, &m->head, -1);
}

bool
sums_right(const peer *p, uint32_t from, uint32_t to, uint32_t turn)
{
	uint64_t sum = 0;

	for (uint32_t b = from; b < to; b++)
		for (uint32_t r = 0; r < PAGE_ROWS; r++)
			sum += null_of(b, r) ? 0 : (uint64_t) (int64_t) value_of(b, r, turn);
	return p->in.checked.rows == (uint64_t) (to - from) * PAGE_ROWS && p->in.checked.pages == to - from &&
		   p->in.checked.sum == sum && (to == from) == (p->in.checked.hash == 0);
}

void
say_number(peer *p, gsd_type type, uint64_t number)
{
	gsd_number m;

	gsd_head(&m.head, type, sizeof(m));
	m.number = number;
	(void) gsd_send(p->fd, &m.head, -1);
}

void
say_keep(peer *p, const uint64_t *tables, uint32_t n)
{
	gsd_keep m;

	if (n > 0)
		memcpy(slot_chunk(p, 1), tables, n * sizeof(*tables));
	gsd_head(&m.head, GSD_KEEP, sizeof(m));
	m.slot = 1;
	m.count = n;
	(void) gsd_send(p->fd, &m.head, -1);
}

const gsd_table_info *
info(peer *p)
{
	say_number(p, GSD_INFO, RELATION);
	return hear(p) == GSD_TABLE_INFO ? &p->in.table_info : NULL;
}

void
say_wide_ask(peer *p, uint64_t version, uint32_t from, uint32_t to, const steps_list *l, bool wide)
{
	say_further_ask(p, version, from, to, l, wide, 0);
}

void
say_further_ask(peer *p, uint64_t version, uint32_t from, uint32_t to, const steps_list *l, bool wide, uint32_t further)
{
	uint32_t columns[GS_STEPS_MAX_COLUMNS];

	for (uint32_t c = 0; c < GS_STEPS_MAX_COLUMNS; c++)
		columns[c] = c % 2;
	say_columns_ask(p, version, from, to, l, columns, wide ? l->head.ncolumns : 2, further);
}

void
say_columns_ask(peer *p, uint64_t version, uint32_t from, uint32_t to, const steps_list *l, const uint32_t *columns,
				uint32_t ncolumns, uint32_t further)
{
	char bytes[sizeof(gsd_ask) + GS_STEPS_MAX_COLUMNS * sizeof(uint32_t)] __attribute__((aligned(8)));
	gsd_ask *m = (gsd_ask *) bytes;
	uint64_t *mask = (uint64_t *) slot_chunk(p, 0);

	memset(mask, 0, SLOT_BYTES);
	for (uint32_t b = from; b < to; b++)
		mask[b / 64] |= (uint64_t) 1 << b % 64;
	memcpy(slot_chunk(p, 1), l, l->head.bytes);
	gsd_head(&m->head, GSD_ASK, sizeof(*m) + ncolumns * sizeof(uint32_t));
	m->job = ++p->job;
	m->steps_bytes = l->head.bytes;
	m->table = TABLE;
	m->version = version;
	m->blocks = BLOCKS;
	m->further = further;
	m->counted = p->counted;
	m->aside = p->aside;
	m->ncolumns = ncolumns;
	memcpy(m->columns, columns, ncolumns * sizeof(*columns));
	(void) gsd_send(p->fd, &m->head, -1);
}

gs_status
answered(peer *p)
{
	while (hear(p) == GSD_FREE)
		;
	return p->in.head.type == GSD_ANSWERED && p->in.answered.job == p->job ? (gs_status) p->in.answered.status
																		   : GS_PROTOCOL;
}

gs_status
checked(peer *p)
{
	return hear(p) == GSD_CHECKED ? (gs_status) p->in.checked.status : GS_PROTOCOL;
}

void
limit(uint64_t host_bytes, uint64_t device_bytes, uint32_t threads)
{
	peer p = {.fd = dial()};
	gsd_settings m;

	say_hello(&p);
	(void) hear(&p);
	gsd_head(&m.head, GSD_SETTINGS, sizeof(m));
	m.host_bytes = host_bytes;
	m.device_bytes = device_bytes;
	m.threads = threads;
	(void) gsd_send(p.fd, &m.head, -1);
	say_count(&p, GSD_PING, 1);
	tap_ok(hear(&p) == GSD_PONG, "limits are taken");
	leave(&p);
}
