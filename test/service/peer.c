/*
 * peer.c: a client of gpusortd for tests: what it says, what it hears, and jobs whose results are known.
 */
#define _GNU_SOURCE
#include "peer.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int
dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GSD_SOCKET};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	for (int i = 0; i < 12000; i++)
	{
		if (connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0)
			return fd;
		usleep(10000);
	}
	close(fd);
	return -1;
}

uint32_t
hear(peer *p)
{
	struct pollfd fd = {.fd = p->fd, .events = POLLIN};

	for (;;)
	{
		gsd_io io = gsd_receive(p->fd, &p->in, false, NULL);

		p->busy += io == GSD_IO_OK && p->in.head.type == GSD_BUSY;
		if (io == GSD_IO_OK && p->in.head.type != GSD_BUSY)
			return p->in.head.type;
		if (io == GSD_IO_CLOSED || io == GSD_IO_BAD || (io == GSD_IO_AGAIN && poll(&fd, 1, 120000) <= 0))
			return 0;
	}
}

void
say_slot(peer *p, gsd_type type, uint32_t slot)
{
	gsd_slot m;

	gsd_head(&m.head, type, sizeof(m));
	m.job = p->job;
	m.slot = slot;
	(void) gsd_send(p->fd, &m.head, -1);
}

void
say_count(peer *p, gsd_type type, uint64_t count)
{
	gsd_count m;

	gsd_head(&m.head, type, sizeof(m));
	m.job = p->job;
	m.count = count;
	(void) gsd_send(p->fd, &m.head, -1);
}

void
say_end(peer *p)
{
	gsd_job_message m;

	gsd_head(&m.head, GSD_END, sizeof(m));
	m.job = p->job;
	(void) gsd_send(p->fd, &m.head, -1);
}

void
say_hello(peer *p)
{
	gsd_hello m;

	gsd_head(&m.head, GSD_HELLO, sizeof(m));
	m.magic = GSD_MAGIC;
	m.version = GSD_VERSION;
	(void) gsd_send(p->fd, &m.head, -1);
}

void
say_ring(peer *p, uint64_t file_bytes, int seals)
{
	gsd_ring m;
	int fd = memfd_create("liar", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	gsd_head(&m.head, GSD_RING, sizeof(m));
	m.slots = SLOTS;
	m.slot_bytes = SLOT_BYTES;
	m.areas = AREAS;
	m.area_bytes = AREA_BYTES;
	(void) !ftruncate(fd, (off_t) file_bytes);
	(void) fcntl(fd, F_ADD_SEALS, seals);
	if (file_bytes == RING_BYTES)
	{
		p->ring = mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	}
	(void) gsd_send(p->fd, &m.head, fd);
	close(fd);
}

bool
enter(peer *p)
{
	memset(p, 0, sizeof(*p));
	p->fd = dial();
	if (p->fd < 0)
		return false;
	say_hello(p);
	if (hear(p) != GSD_WELCOME)
		return false;
	say_ring(p, RING_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	return hear(p) == GSD_RING_DONE && p->in.result.status == GS_OK;
}

void
leave(peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->ring)
		munmap(p->ring, RING_BYTES);
}

static const gs_column_spec specs[2] = {{GS_I32, true, false}, {GS_BYTES, false, true}};

void
say_begin(peer *p, gs_op op, bool wild)
{
	static const int32_t constant = 0;
	char bytes[sizeof(gsd_begin) + 2 * sizeof(gsd_column) + sizeof(constant)] __attribute__((aligned(8)));
	gsd_begin *m = (gsd_begin *) bytes;
	bool filters = op == GS_SELECT || op == GS_PARTITION;
	uint32_t ncolumns = filters || op == GS_SCAN || op == GS_VALUES ? 1 : 2;

	if (wild && rnd_below(4) == 0)
		ncolumns = 3 - ncolumns;
	gsd_head(&m->head, GSD_BEGIN, sizeof(*m) + ncolumns * sizeof(gsd_column) + (filters ? sizeof(constant) : 0));
	m->job = ++p->job;
	m->op = op;
	m->limit = wild && rnd_below(2) ? rnd() : 100;
	m->offset = wild && rnd_below(2) ? rnd() : 0;
	m->rows_hint = wild && rnd_below(2) ? rnd_below(GS_MAX_ROWS) : 0;
	m->ncolumns = ncolumns;
	m->order_columns = wild ? (uint32_t) rnd_below(3) : op == GS_REDUCE;
	m->key_columns = wild ? (uint32_t) rnd_below(3) : 1; /* VALUES: of runs, as they came */
	m->operation = (uint8_t) (wild ? rnd_below(5) : op == GS_REDUCE ? GS_COUNT : GS_SUM);
	m->comparison = (uint8_t) (wild ? rnd_below(7) : GS_LE);
	m->exclusive = wild && rnd_below(2);
	m->by_flags = wild && rnd_below(8) == 0;
	m->avoid = wild && rnd_below(8) == 0 ? rnd_below(1 << 17) : p->avoid;
	for (uint32_t i = 0; i < ncolumns; i++)
		m->columns[i] = (gsd_column){(uint8_t) specs[i].type, specs[i].desc, specs[i].nulls_first, 0};
	if (filters)
	{
		m->constant_bytes = sizeof(constant);
		memcpy(&m->columns[ncolumns], &constant, sizeof(constant));
	}
	(void) gsd_send(p->fd, &m->head, -1);
}

gs_chunk *
slot_chunk(peer *p, uint32_t slot)
{
	return (gs_chunk *) (p->ring + slot * SLOT_BYTES);
}

uint32_t
fill(peer *p, uint32_t slot, uint32_t first, uint32_t ncolumns)
{
	/* made elsewhere, since somebody may be changing the ring meanwhile */
	static char made[SLOT_BYTES] __attribute__((aligned(64)));
	gs_chunk *chunk = (gs_chunk *) made;

	(void) gs_chunk_init(chunk, SLOT_BYTES, specs, ncolumns, 2048, 8);
	for (uint32_t r = 0; r < chunk->capacity; r++)
	{
		uint32_t *offsets = (uint32_t *) ((char *) chunk + chunk->columns[1].values);

		((int32_t *) ((char *) chunk + chunk->columns[0].values))[r] = -(int32_t) ((first + r) / 3);
		if (ncolumns == 1)
			continue;
		memset((char *) chunk + chunk->columns[1].heap + offsets[r], 'x', 5);
		offsets[r + 1] = offsets[r] + 5;
	}
	chunk->rows = chunk->capacity;
	memcpy(slot_chunk(p, slot), made, SLOT_BYTES);
	return chunk->rows;
}

/*
 * True if an element of a result is what the rows of fill give; three of them are always equal in the first column.
 */
static bool
element_right(gs_op op, const void *area, uint32_t i, uint64_t at, uint64_t rows)
{
	const gs_run *run = (const gs_run *) area + i;
	const gs_group *group = (const gs_group *) area + i;
	int64_t third = (int64_t) at / 3;

	switch (op)
	{
		case GS_RUNS: /* by the second column, in which all are equal */
			return run->row == 0 && run->length == rows;
		case GS_REDUCE:
			return group->row == 3 * at && group->length == (3 * at + 3 > rows ? rows - 3 * at : 3) &&
				   group->value[0] == group->length && group->valid == group->length;
		case GS_SCAN:
			return ((const int64_t *) area)[i] == -(3 * third * (third - 1) / 2 + third * (int64_t) (at % 3 + 1));
		case GS_VALUES:
			return ((const int32_t *) area)[i] == -(int32_t) at;
		default:
			return ((const uint32_t *) area)[i] == at;
	}
}

bool
honest_job(peer *p, gs_op op)
{
	static const size_t widths[] = {4, 4, 4, 4, sizeof(gs_run), 8, sizeof(gs_group), 4};
	uint64_t rows = 0, at = 0, results;
	bool right = true;

	say_begin(p, op, false);
	if (hear(p) != GSD_BEGUN)
		return false;
	for (uint32_t i = 0; i < 7; i++)
	{
		bool one = op == GS_SELECT || op == GS_PARTITION || op == GS_SCAN || op == GS_VALUES;

		rows += fill(p, i % SLOTS, (uint32_t) rows, one ? 1 : 2);
		say_slot(p, GSD_ADD, i % SLOTS);
		if (hear(p) != GSD_FREE)
			return false;
	}
	say_count(p, GSD_FINISH, rows);
	if (hear(p) != GSD_SORTED || p->in.sorted.rows != rows)
		return false;
	results = op == GS_TOPK || op == GS_VALUES ? 100 : op == GS_RUNS ? 1 : op == GS_REDUCE ? (rows + 2) / 3 : rows;
	if (p->in.sorted.results != results || (op == GS_PARTITION && p->in.sorted.selected != rows))
		return false;
	while (at < results)
	{
		const char *area;
		gsd_result_part part;

		if (hear(p) != GSD_PART || p->in.part.area >= AREAS || p->in.part.rows > AREA_BYTES / widths[op])
			return false;
		part = p->in.part;
		area = p->ring + SLOTS * SLOT_BYTES + part.area * AREA_BYTES;
		for (uint32_t r = 0; r < part.rows; r++)
			right &= element_right(op, area, r, at++, rows);
		if (part.rows == 0)
			return false;
		say_slot(p, GSD_TAKEN, part.area);
	}
	say_end(p);
	while (hear(p) == GSD_PART)
		;
	return right && p->in.head.type == GSD_ENDED;
}

