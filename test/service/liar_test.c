/*
 * liar_test.c: starts gpusortd and is a client to it that lies: about sizes, slots, counts, about what lies in the ring,
 * and that changes it while it is read.  After each the service must live, sort for an honest client, and hold nothing more.
 */
#define _GNU_SOURCE
#include "src/service/protocol.h"
#include "test/primitives/tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SLOTS 3
#define SLOT_BYTES (16u * GSD_PAGE)
#define AREAS 2
#define AREA_BYTES (4u * GSD_PAGE)
#define RING_BYTES (SLOTS * SLOT_BYTES + AREAS * AREA_BYTES)

static pid_t service;

/* A client with its ring. */
typedef struct peer
{
	int fd;
	char *ring;
	uint32_t job;
	gsd_message in;
} peer;

/*
 * Connects; -1 if that is refused.
 */
static int
dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GSD_SOCKET};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	for (int i = 0; i < 500; i++)
	{
		if (connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0)
			return fd;
		usleep(10000);
	}
	close(fd);
	return -1;
}

/*
 * The next message, 0 when the service has ended the connection or says nothing for two seconds.
 */
static uint32_t
hear(peer *p)
{
	struct pollfd fd = {.fd = p->fd, .events = POLLIN};

	for (;;)
	{
		gsd_io io = gsd_receive(p->fd, &p->in, false, NULL);

		if (io == GSD_IO_OK && p->in.head.type != GSD_BUSY)
			return p->in.head.type;
		if (io == GSD_IO_CLOSED || io == GSD_IO_BAD || (io == GSD_IO_AGAIN && poll(&fd, 1, 2000) <= 0))
			return 0;
	}
}

static void
say_slot(peer *p, gsd_type type, uint32_t slot)
{
	gsd_slot m;

	gsd_head(&m.head, type, sizeof(m));
	m.job = p->job;
	m.slot = slot;
	(void) gsd_send(p->fd, &m.head, -1);
}

static void
say_count(peer *p, gsd_type type, uint64_t count)
{
	gsd_count m;

	gsd_head(&m.head, type, sizeof(m));
	m.job = p->job;
	m.count = count;
	(void) gsd_send(p->fd, &m.head, -1);
}

static void
say_end(peer *p)
{
	gsd_job_message m;

	gsd_head(&m.head, GSD_END, sizeof(m));
	m.job = p->job;
	(void) gsd_send(p->fd, &m.head, -1);
}

static void
say_hello(peer *p)
{
	gsd_hello m;

	gsd_head(&m.head, GSD_HELLO, sizeof(m));
	m.magic = GSD_MAGIC;
	m.version = GSD_VERSION;
	(void) gsd_send(p->fd, &m.head, -1);
}

/*
 * Passes a ring of a file with some size and seals.
 */
static void
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

/*
 * A client that is welcome and has its ring.
 */
static bool
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

static void
leave(peer *p)
{
	if (p->fd >= 0)
		close(p->fd);
	if (p->ring)
		munmap(p->ring, RING_BYTES);
}

static const gs_column_spec specs[2] = {{GS_I32, true, false}, {GS_BYTES, false, true}};

/*
 * Begins a job that makes sense: of one column where the operation takes no more, filtered by a constant that no row is greater
 * than; or, wild, with numbers that mostly make none.
 */
static void
say_begin_as(peer *p, gs_op op, bool wild)
{
	static const int32_t constant = 0;
	char bytes[sizeof(gsd_begin) + 2 * sizeof(gsd_column) + sizeof(constant)] __attribute__((aligned(8)));
	gsd_begin *m = (gsd_begin *) bytes;
	bool filters = op == GS_SELECT || op == GS_PARTITION;
	uint32_t ncolumns = filters || op == GS_SCAN ? 1 : 2;

	if (wild && rnd_below(4) == 0)
		ncolumns = 3 - ncolumns;
	gsd_head(&m->head, GSD_BEGIN, sizeof(*m) + ncolumns * sizeof(gsd_column) + (filters ? sizeof(constant) : 0));
	m->job = ++p->job;
	m->op = op;
	m->limit = 100;
	m->ncolumns = ncolumns;
	m->order_columns = wild ? (uint32_t) rnd_below(3) : op == GS_REDUCE;
	m->key_columns = wild ? (uint32_t) rnd_below(3) : 1;
	m->operation = (uint8_t) (wild ? rnd_below(5) : op == GS_REDUCE ? GS_COUNT : GS_SUM);
	m->comparison = (uint8_t) (wild ? rnd_below(7) : GS_LE);
	m->exclusive = wild && rnd_below(2);
	m->by_flags = wild && rnd_below(8) == 0;
	for (uint32_t i = 0; i < ncolumns; i++)
		m->columns[i] = (gsd_column){(uint8_t) specs[i].type, specs[i].desc, specs[i].nulls_first, 0};
	if (filters)
	{
		m->constant_bytes = sizeof(constant);
		memcpy(&m->columns[ncolumns], &constant, sizeof(constant));
	}
	(void) gsd_send(p->fd, &m->head, -1);
}

static void
say_begin(peer *p, gs_op op)
{
	say_begin_as(p, op, false);
}

static gs_chunk *
slot_chunk(peer *p, uint32_t slot)
{
	return (gs_chunk *) (p->ring + slot * SLOT_BYTES);
}

/*
 * Fills a chunk with rows whose keys fall, so that the order is easy to know: the rows as they are.
 */
static uint32_t
fill_columns(peer *p, uint32_t slot, uint32_t first, uint32_t ncolumns)
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

static uint32_t
fill(peer *p, uint32_t slot, uint32_t first)
{
	return fill_columns(p, slot, first, 2);
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
		default:
			return ((const uint32_t *) area)[i] == at;
	}
}

/*
 * A whole honest job; true if the result is right.
 */
static bool
honest_job_of(peer *p, gs_op op)
{
	static const size_t widths[] = {4, 4, 4, 4, sizeof(gs_run), 8, sizeof(gs_group)};
	uint64_t rows = 0, at = 0, results;
	bool right = true;

	say_begin(p, op);
	if (hear(p) != GSD_BEGUN)
		return false;
	for (uint32_t i = 0; i < 7; i++)
	{
		bool one = op == GS_SELECT || op == GS_PARTITION || op == GS_SCAN;

		rows += fill_columns(p, i % SLOTS, (uint32_t) rows, one ? 1 : 2);
		say_slot(p, GSD_ADD, i % SLOTS);
		if (hear(p) != GSD_FREE)
			return false;
	}
	say_count(p, GSD_FINISH, rows);
	if (hear(p) != GSD_SORTED || p->in.sorted.rows != rows)
		return false;
	results = op == GS_TOPK ? 100 : op == GS_RUNS ? 1 : op == GS_REDUCE ? (rows + 2) / 3 : rows;
	if (p->in.sorted.results != results || (op == GS_PARTITION && p->in.sorted.selected != rows))
		return false;
	while (at < results)
	{
		const char *area;
		gsd_piece piece;

		if (hear(p) != GSD_PIECE || p->in.piece.area >= AREAS || p->in.piece.rows > AREA_BYTES / widths[op])
			return false;
		piece = p->in.piece;
		area = p->ring + SLOTS * SLOT_BYTES + piece.area * AREA_BYTES;
		for (uint32_t r = 0; r < piece.rows; r++)
			right &= element_right(op, area, r, at++, rows);
		if (piece.rows == 0)
			return false;
		say_slot(p, GSD_TAKEN, piece.area);
	}
	say_end(p);
	while (hear(p) == GSD_PIECE)
		;
	return right && p->in.head.type == GSD_ENDED;
}

static bool
honest_job(peer *p)
{
	return honest_job_of(p, GS_ORDER);
}

/*
 * True if the service lives and sorts for a new client.
 */
static bool
service_well(void)
{
	peer p;
	bool well = kill(service, 0) == 0 && waitpid(service, NULL, WNOHANG) == 0 && enter(&p) && honest_job(&p) && honest_job(&p);

	if (well)
		leave(&p);
	return well;
}

/*
 * Descriptors of the service.
 */
static int
service_descriptors(void)
{
	char path[64];
	DIR *dir;
	int n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int) service);
	dir = opendir(path);
	if (dir == NULL)
		return -1;
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/*
 * Lies in the handshake.
 */
static void
test_entry(void)
{
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct
	{
		uint64_t bytes;
		int seals;
		const char *name;
	} lies[] = {
		{RING_BYTES - GSD_PAGE, seals, "a file smaller than said"},
		{RING_BYTES + GSD_PAGE, seals, "a file larger than said"},
		{RING_BYTES, F_SEAL_SHRINK, "seals that can be taken away"},
		{RING_BYTES, F_SEAL_GROW | F_SEAL_SEAL, "a file that can shrink"},
	};
	peer p = {0};
	gsd_hello hello;

	for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++)
	{
		memset(&p, 0, sizeof(p));
		p.fd = dial();
		say_hello(&p);
		(void) hear(&p);
		say_ring(&p, lies[i].bytes, lies[i].seals);
		tap_ok(hear(&p) == 0, "refused: %s", lies[i].name);
		leave(&p);
	}
	memset(&p, 0, sizeof(p));
	p.fd = dial();
	gsd_head(&hello.head, GSD_HELLO, sizeof(hello));
	hello.magic = GSD_MAGIC;
	hello.version = GSD_VERSION + 1;
	(void) gsd_send(p.fd, &hello.head, -1);
	tap_ok(hear(&p) == GSD_WELCOME && p.in.welcome.status == GS_PROTOCOL && p.in.welcome.version == GSD_VERSION,
		   "another version is told which one is spoken");
	leave(&p);
	memset(&p, 0, sizeof(p));
	p.fd = dial();
	say_begin(&p, GS_ORDER);
	tap_ok(hear(&p) == 0, "refused: a job without hello");
	leave(&p);
	tap_ok(service_well(), "the service is well");
}

/*
 * Lies about a job.
 */
static void
test_job(void)
{
	static const char *const names[] = {
		"a slot that is none", "a wrong number of rows", "a chunk without its magic", "more rows than its capacity",
		"a size larger than the slot", "an array outside the slot", "falling offsets", "strings beyond their room",
		"an order never asked for", "an area never given", "a second ring", "another job's number",
	};

	for (int lie = 0; lie < 12; lie++)
	{
		peer p;
		gs_chunk *chunk;
		uint32_t answer;

		if (!enter(&p))
			break;
		say_begin(&p, GS_ORDER);
		(void) hear(&p);
		(void) fill(&p, 0, 0);
		chunk = slot_chunk(&p, 0);
		switch (lie)
		{
			case 2: chunk->magic++; break;
			case 3: chunk->rows = chunk->capacity + 1000000; break;
			case 4: chunk->bytes = (uint64_t) 1 << 40; chunk->rows = 100000; chunk->capacity = 100000; break;
			case 5: chunk->columns[0].values = SLOT_BYTES - 64; break;
			case 6: ((uint32_t *) ((char *) chunk + chunk->columns[1].values))[5] = 4000000000u; break;
			case 7: chunk->columns[1].heap_bytes = (uint64_t) 1 << 33; break;
			case 11: p.job++; break;
			default: break;
		}
		if (lie == 9)
			say_slot(&p, GSD_TAKEN, 1);
		else if (lie == 10)
			say_ring(&p, RING_BYTES, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
		else if (lie != 8)
			say_slot(&p, GSD_ADD, lie == 0 ? SLOTS : 0);
		if (lie == 1)
		{
			(void) hear(&p);
			say_count(&p, GSD_FINISH, 17);
		}
		if (lie == 8)
			say_slot(&p, GSD_TAKEN, 0);
		answer = hear(&p);
		tap_ok(answer == 0 || answer == GSD_FAILED, "refused: %s (%u)", names[lie], answer);
		leave(&p);
	}
	tap_ok(service_well(), "the service is well");
}

/*
 * Every operation; one that this service does not know gets a status, and the connection can go on.
 */
static void
test_operations(void)
{
	peer p;
	bool good = enter(&p);

	for (gs_op op = GS_ORDER; op <= GS_REDUCE; op++)
		tap_ok(good && honest_job_of(&p, op), "operation %d", op);
	say_begin(&p, GS_REDUCE + 1);
	good = good && hear(&p) == GSD_FAILED && p.in.result.status == GS_INVALID;
	say_end(&p);
	good = good && hear(&p) == GSD_ENDED;
	tap_ok(good, "an unknown operation gets a status");
	tap_ok(honest_job(&p), "and the next job is done");
	leave(&p);
}

static _Atomic bool stop_scribbling;

/*
 * Changes a ring at random, for as long as it is wanted.
 */
static void *
scribble(void *arg)
{
	char *ring = arg;
	uint64_t x = 88172645463325252u;

	while (!stop_scribbling)
	{
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		/* mostly headers, which decide what is read where */
		if (x % 3)
			ring[(x >> 8) % 160] = (char) (x >> 32);
		else
			((uint32_t *) ring)[(x >> 8) % (SLOT_BYTES / 4)] = (uint32_t) (x >> 32);
	}
	return NULL;
}

/*
 * Changes the ring while the service reads it.
 */
static void
test_race(void)
{
	for (int i = 0; i < 300; i++)
	{
		peer p;
		pthread_t thread;
		uint64_t rows = 0;
		bool taken = true;

		if (!enter(&p))
			break;
		say_begin(&p, GS_ORDER);
		(void) hear(&p);
		(void) fill(&p, 0, 0);
		stop_scribbling = false;
		pthread_create(&thread, NULL, scribble, p.ring);
		for (int n = 0; n < 20 && taken; n++)
		{
			rows += fill(&p, 0, 0);
			say_slot(&p, GSD_ADD, 0);
			taken = hear(&p) == GSD_FREE;
		}
		if (taken)
		{
			say_count(&p, GSD_FINISH, rows);
			(void) hear(&p);
		}
		stop_scribbling = true;
		pthread_join(thread, NULL);
		leave(&p);
	}
	tap_ok(service_well(), "the service is well after rings that changed while they were read");
}

/*
 * Messages at random, most of them valid as such, many clients after each other.
 */
static void
test_random(int seconds)
{
	time_t end = time(NULL) + seconds;
	uint64_t sent = 0;

	while (time(NULL) < end)
	{
		peer p;

		if (!enter(&p))
			break;
		for (int n = 0; n < 40; n++)
		{
			gsd_message m;
			struct pollfd fd = {.fd = p.fd, .events = POLLIN};

			switch (rnd_below(8))
			{
				case 0: say_begin_as(&p, (gs_op) rnd_below(8), true); break;
				case 1:
				case 2: (void) fill_columns(&p, (uint32_t) rnd_below(SLOTS), 0, 1 + (uint32_t) rnd_below(2)); say_slot(&p, GSD_ADD, (uint32_t) rnd_below(SLOTS)); break;
				case 3: say_count(&p, GSD_FINISH, rnd_below(2) ? slot_chunk(&p, 0)->rows : rnd()); break;
				case 4: say_slot(&p, GSD_TAKEN, (uint32_t) rnd_below(AREAS)); break;
				case 5: say_end(&p); break;
				case 6: say_count(&p, GSD_PING, rnd()); break;
				default:
					memset(&m, 0, 64);
					m.head.type = (uint32_t) rnd_below(12);
					m.head.bytes = (uint32_t) (8 + 8 * rnd_below(6));
					for (int i = 8; i < 56; i++)
						m.bytes[i] = rnd_below(4) ? 0 : (char) rnd();
					(void) gsd_send(p.fd, &m.head, -1);
			}
			sent++;
			while (poll(&fd, 1, 0) > 0 && gsd_receive(p.fd, &p.in, false, NULL) == GSD_IO_OK)
				;
			if (fd.revents & (POLLHUP | POLLERR))
				break;
		}
		leave(&p);
	}
	tap_ok(service_well(), "the service is well after %d random messages", (int) sent);
}

int
main(int argc, char **argv)
{
	char dir[] = "/tmp/gpusort-liar.XXXXXX";
	char *program = argc > 1 ? realpath(argv[1], NULL) : NULL;
	int seconds = argc > 2 ? atoi(argv[2]) : 4;
	int before = 0, status = 0;

	if (program == NULL || mkdtemp(dir) == NULL || chdir(dir) != 0)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	rnd_seed(7);
	service = fork();
	if (service == 0)
	{
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) !freopen("/dev/null", "w", stderr);
		execl(program, program, "--engine=cpu", "--pinned-memory=64", (char *) NULL);
		_exit(127);
	}
	tap_ok(service_well(), "the service sorts");
	usleep(100000);
	before = service_descriptors();
	test_entry();
	test_job();
	test_operations();
	test_race();
	test_random(seconds);
	for (int i = 0; i < 100 && service_descriptors() != before; i++)
		usleep(20000);
	tap_ok(service_descriptors() == before, "the service holds no more descriptors than at the start");
	kill(service, SIGTERM);
	(void) waitpid(service, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ends when told");
	tap_ok(access(GSD_SOCKET, F_OK) != 0 && access(GSD_LOCK, F_OK) != 0, "and leaves nothing behind");
	(void) !chdir("/");
	rmdir(dir);
	free(program);
	return tap_done();
}
