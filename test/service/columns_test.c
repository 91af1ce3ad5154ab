/*
 * columns_test.c: starts gpusortd and is a keeper, a loader and sessions of it: tables, segments, versions, masks,
 * caps, wrong databases, and lies about all of these.  Arguments: the program, cycles, and options of the program.
 */
#define _GNU_SOURCE
#include "columns_peer.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t service;
static volatile uint64_t *heap; /* bytes that the service has allocated; NULL: not known */
static bool on_device; /* columns lie on a device, which may be made up */

/* Bytes that a cycle may leave.  A table's hash of segments, which grows once for all, takes 13 at most. */
#define FLAT_BYTES 50
#define FLAT_CYCLES 10000
#define MANY_SEGMENTS 400
#define LONG_CHECKS 8

static void
test_table(peer *keeper)
{
	peer other, session;
	int fd;

	tap_ok(make_table(keeper, TABLE) == GS_OK, "a table is made");
	tap_ok(make_table(keeper, TABLE) == GS_OK, "and taken over");
	fd = make_map("open", F_SEAL_GROW);
	say_table(keeper, TABLE + 1, fd);
	tap_ok(heard_done(keeper) == GS_INVALID, "a map that can shrink is refused");
	close(fd);
	tap_ok(enter_as(&session, DATABASE, 10), "a session comes");
	say_number(&session, GSD_DROP, TABLE);
	tap_ok(hear(&session) == 0, "a session may not drop a table");
	leave(&session);
	tap_ok(enter_as(&session, DATABASE, 10), "a session comes");
	say_table(&session, TABLE, fd = make_map("map", F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE));
	close(fd);
	tap_ok(hear(&session) == 0, "nor make one");
	leave(&session);
	tap_ok(enter_as(&other, DATABASE + 1, 0), "another database's keeper comes");
	say_number(&other, GSD_DROP, TABLE);
	tap_ok(heard_done(&other) == GS_INVALID, "and does not see the table");
	tap_ok(store(&other, TABLE, 0, 1, 0) == 0, "nor stores into it");
	tap_ok(info(&other) != NULL && other.in.table_info.table == 0, "nor asks about it");
	leave(&other);
}

/* Hears the answer to GSD_MAP with its descriptor. */
static int
heard_map(peer *p)
{
	int fd = -1;

	for (int i = 0; i < 200; i++)
	{
		gsd_io io = gsd_receive(p->fd, &p->in, false, &fd);

		if (io == GSD_IO_OK)
			return p->in.head.type == GSD_MAP_OF ? fd : -2;
		if (io != GSD_IO_AGAIN)
			return -3;
		usleep(10000);
	}
	return -4;
}

static void
test_map(peer *session)
{
	char text[8] = "";
	int fd;

	(void) fcntl(session->fd, F_SETFL, O_NONBLOCK);
	say_number(session, GSD_MAP, RELATION);
	fd = heard_map(session);
	tap_ok(fd >= 0 && session->in.map_of.table == TABLE && pread(fd, text, 3, 0) == 3 && strcmp(text, "map") == 0,
		   "a session gets the map");
	tap_ok(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED, "and cannot write it");
	if (fd >= 0)
		close(fd);
	say_number(session, GSD_MAP, RELATION + 1);
	tap_ok(heard_map(session) == -1 && session->in.map_of.table == 0, "what is not held has none");
}

/* A message of a stranger: one that says another thing after each lie. */
static void
test_lies(peer *keeper)
{
	static const char *const names[] = {"a chunk without its magic",  "rows that pages do not have",
										"an array outside the slot",  "pages that do not ascend",
										"a bitmap with a bit more",	  "a bitmap that ends too early",
										"more lines than the bitmap", "more rows than lines",
										"pages beyond the slot",	  "another number of columns"};

	for (int lie = 0; lie < 10; lie++)
	{
		uint64_t at = fill_segment(keeper, 0, 4, 0);
		gs_chunk *chunk = slot_chunk(keeper, 0);
		gsd_page *pages = (gsd_page *) ((char *) chunk + at);
		uint8_t *bits = (uint8_t *) (pages + 4);

		switch (lie)
		{
			case 0: chunk->magic++; break;
			case 1: chunk->rows++; break;
			case 2: chunk->columns[1].values = SLOT_BYTES; break;
			case 3: pages[2].block = pages[1].block; break;
			case 4: bits[0] = 0xfd; break;
			case 5: pages[1].lines = PAGE_ROWS + 3; break;
			case 6: pages[3].lines = 60000; break;
			case 7: pages[0].lines = PAGE_ROWS - 1; break;
			case 8: at = SLOT_BYTES - 8; break;
			case 9: chunk->ncolumns = 1; break;
		}
		say_store(keeper, TABLE, at, 4);
		tap_ok(heard_done(keeper) == GS_INVALID, "refused: %s", names[lie]);
	}
	say_store(keeper, TABLE, (uint64_t) -8, 4);
	tap_ok(heard_done(keeper) == GS_INVALID, "refused: pages at the end of all memory");
	say_store(keeper, TABLE + 9, fill_segment(keeper, 0, 4, 0), 4);
	tap_ok(heard_done(keeper) == GS_INVALID, "refused: no such table");
}

/* Lies that end the connection. */
static void
test_ended(void)
{
	for (int lie = 0; lie < 6; lie++)
	{
		peer p;

		tap_ok(enter_as(&p, DATABASE, 0), "a keeper comes");
		switch (lie)
		{
			case 0: say_publish(&p, TABLE, 2, SLOT_BYTES / sizeof(gsd_place) + 1, true); break;
			case 1: say_check(&p, TABLE, 1, 0, 1, 8 * SLOT_BYTES * SLOTS); break;
			case 2:
			{
				gsd_wanted m;

				gsd_head(&m.head, GSD_WANTED, sizeof(m));
				m.table = TABLE;
				m.blocks = 8 * AREA_BYTES + 1;
				(void) gsd_send(p.fd, &m.head, -1);
				break;
			}
			case 3:
			{
				gsd_settings m;

				gsd_head(&m.head, GSD_SETTINGS, sizeof(m));
				(void) gsd_send(p.fd, &m.head, -1);
				break;
			}
			case 4: say_table(&p, TABLE, -1); break;
			case 5:
			{
				gsd_keep m;

				gsd_head(&m.head, GSD_KEEP, sizeof(m));
				m.count = SLOT_BYTES / sizeof(uint64_t) + 1;
				(void) gsd_send(p.fd, &m.head, -1);
				break;
			}
		}
		tap_ok(hear(&p) == 0, "the connection ends: lie %d", lie);
		leave(&p);
	}
}

static void
test_versions(peer *keeper, peer *session)
{
	uint32_t first = store(keeper, TABLE, 0, SEGMENT_PAGES, 0), second;

	tap_ok(first != 0, "a segment is stored");
	say_check(session, TABLE, 1, 0, 1, 100);
	tap_ok(checked(session) == GS_INVALID, "no version yet");
	tap_ok(publish(keeper, TABLE, 2, 0, SEGMENT_PAGES, first) == GS_INVALID, "the first version is 1");
	tap_ok(publish(keeper, TABLE, 1, 0, SEGMENT_PAGES + 1, first) == GS_INVALID, "a page that the segment lacks");
	tap_ok(publish(keeper, TABLE, 1, 0, 1, first + 1) == GS_INVALID, "a segment that is none");
	tap_ok(publish(keeper, TABLE, 1, 0, SEGMENT_PAGES, first) == GS_OK, "version 1");
	say_check(session, TABLE, 1, 0, SEGMENT_PAGES, 100);
	tap_ok(checked(session) == GS_OK && sums_right(session, 0, SEGMENT_PAGES, 0), "all pages");
	say_check(session, TABLE, 1, 7, 9, 100);
	tap_ok(checked(session) == GS_OK && sums_right(session, 7, 9, 0), "two of them");
	say_check(session, TABLE, 1, 0, 0, 100);
	tap_ok(checked(session) == GS_OK && sums_right(session, 0, 0, 0), "none");
	say_check(session, TABLE, 1, 0, SEGMENT_PAGES + 1, 100);
	tap_ok(checked(session) == GS_INVALID, "a page that is not held");
	say_end(session);
	tap_ok(hear(session) == GSD_ENDED, "the end of a check that is over is answered");
	second = store(keeper, TABLE, 10, 5, 1);
	tap_ok(publish(keeper, TABLE, 2, 10, 5, second) == GS_OK, "version 2 has other rows of some pages");
	tap_ok(publish(keeper, TABLE, 3, 11, 1, 0) == GS_OK, "version 3 has a page less");
	say_check(session, TABLE, 1, 0, SEGMENT_PAGES, 100);
	tap_ok(checked(session) == GS_OK && sums_right(session, 0, SEGMENT_PAGES, 0), "version 1 can still be asked");
	say_check(session, TABLE, 2, 10, 15, 100);
	tap_ok(checked(session) == GS_OK && sums_right(session, 10, 15, 1), "version 2 has the new rows");
	say_check(session, TABLE, 3, 11, 12, 100);
	tap_ok(checked(session) == GS_INVALID, "version 3 has not the page that went");
	tap_ok(info(session) != NULL && session->in.table_info.version == 3 && session->in.table_info.segments == 2 &&
			   session->in.table_info.rows == (SEGMENT_PAGES - 1) * PAGE_ROWS && session->in.table_info.queries == 5 &&
			   (session->in.table_info.device >= 0) == on_device,
		   "what is told of the table is right");
	usleep(2600000);
	say_check(session, TABLE, 2, 0, 1, 100);
	tap_ok(checked(session) == GS_INVALID, "after two seconds version 2 is gone");
	say_check(session, TABLE, 3, 0, 10, 100);
	tap_ok(checked(session) == GS_OK && sums_right(session, 0, 10, 0), "the current one is not");
	tap_ok(publish(keeper, TABLE, 4, 0, SEGMENT_PAGES, 0) == GS_OK, "version 4 has no pages");
	usleep(2600000);
	tap_ok(info(session) != NULL && session->in.table_info.segments == 0 && session->in.table_info.rows == 0,
		   "segments without pages are freed");
}

/* A version in several messages, and one whose keeper went before the last. */
static void
test_parts(peer *keeper, peer *session)
{
	gsd_place *places = (gsd_place *) slot_chunk(keeper, 1);
	uint32_t number = store(keeper, TABLE, 200, 2, 3);
	peer other;

	places[0] = (gsd_place){200, number};
	say_publish(keeper, TABLE, 5, 1, false);
	tap_ok(heard_done(keeper) == GS_OK, "a part of version 5");
	tap_ok(enter_as(&other, DATABASE, 0), "another keeper comes");
	tap_ok(publish(&other, TABLE, 5, 0, 0, 0) == GS_OK, "and publishes version 5");
	leave(&other);
	places[0] = (gsd_place){201, number};
	say_publish(keeper, TABLE, 5, 1, true);
	tap_ok(heard_done(keeper) == GS_INVALID, "the first one's is late");
	tap_ok(publish(keeper, TABLE, 6, 201, 1, number) == GS_OK, "version 6");
	say_check(session, TABLE, 6, 200, 201, 300);
	tap_ok(checked(session) == GS_INVALID, "has nothing of the parts that came to nothing");
	say_check(session, TABLE, 6, 201, 202, 300);
	tap_ok(checked(session) == GS_OK && sums_right(session, 201, 202, 3), "and its page");
}

static void
test_wanted(peer *keeper, peer *session)
{
	const uint64_t *area;
	gsd_wanted m;
	bool right = true;

	gsd_head(&m.head, GSD_WANTED, sizeof(m));
	m.table = TABLE;
	m.blocks = 1000;
	(void) gsd_send(keeper->fd, &m.head, -1);
	tap_ok(heard_done(keeper) == GS_OK, "wanted pages are told");
	say_check(session, TABLE, 6, 201, 202, 300);
	(void) checked(session);
	(void) gsd_send(keeper->fd, &m.head, -1);
	tap_ok(heard_done(keeper) == GS_OK, "again");
	area = (const uint64_t *) (keeper->ring + SLOTS * SLOT_BYTES);
	for (uint32_t b = 0; b < 1000; b++)
		right &= (area[b / 64] >> b % 64 & 1) == (b < 300 && b != 201);
	tap_ok(right, "all that the query did not find");
	(void) gsd_send(keeper->fd, &m.head, -1);
	tap_ok(heard_done(keeper) == GS_OK && area[0] == 0, "and then none");
}

static void
test_note(peer *session)
{
	gsd_note m;

	gsd_head(&m.head, GSD_NOTE, sizeof(m));
	m.table = TABLE;
	strcpy(m.reason, "a reason");
	(void) gsd_send(session->fd, &m.head, -1);
	tap_ok(info(session) != NULL && session->in.table_info.refused == 1 &&
			   strcmp(session->in.table_info.reason, "a reason") == 0,
		   "a note is counted");
}

/* Tables that the keeper does not name go; those of other databases stay. */
static void
test_keep(peer *keeper)
{
	const uint64_t kept[2] = {TABLE, TABLE + 5};
	peer other, session;

	tap_ok(enter_as(&other, DATABASE + 1, 0) && make_table(&other, TABLE + 2) == GS_OK, "another database's table");
	tap_ok(make_table(keeper, TABLE + 3) == GS_OK && make_table(keeper, TABLE + 4) == GS_OK, "two more tables");
	say_keep(keeper, kept, 2);
	tap_ok(heard_done(keeper) == GS_OK && keeper->in.done.number == 2, "two tables are no longer chosen");
	tap_ok(info(keeper)->table == TABLE, "one is");
	tap_ok(info(&other)->table == TABLE + 2, "another database's remains");
	say_keep(&other, NULL, 0);
	tap_ok(heard_done(&other) == GS_OK && info(&other)->table == 0, "until its keeper names none");
	leave(&other);
	tap_ok(enter_as(&session, DATABASE, 10), "a session comes");
	say_keep(&session, NULL, 0);
	tap_ok(hear(&session) == 0, "and may not say so");
	leave(&session);
}

/* Without a keeper, a database's tables go with its folder. */
static void
test_dropped_database(peer *session)
{
	peer keeper;

	tap_ok(enter_as(&keeper, DATABASE, 0) && make_table(&keeper, TABLE) == GS_OK &&
			   publish(&keeper, TABLE, 1, 0, SEGMENT_PAGES, store(&keeper, TABLE, 0, SEGMENT_PAGES, 0)) == GS_OK,
		   "a table with rows");
	leave(&keeper);
	usleep(6000000);
	tap_ok(info(session)->table == TABLE, "stays while the database's folder is there");
	rmdir(FOLDER);
	for (int i = 0; i < 70 && info(session)->table != 0; i++)
		usleep(100000);
	tap_ok(info(session)->table == 0, "and goes with it");
}

static void
test_caps(peer *keeper)
{
	uint64_t held = info(keeper)->bytes;
	int stored = 0;

	limit(on_device ? 0 : held + 60000, on_device ? held + 40000 : 0, 1);
	while (store(keeper, TABLE, 1000, SEGMENT_PAGES, 0) != 0)
		stored++;
	tap_ok(stored > 2 && stored < 20 && keeper->in.done.status == GS_NOMEM &&
			   strstr(keeper->in.done.text, on_device ? "device_memory" : "columns_memory") != NULL,
		   "memory ends after %d segments: %s", stored, keeper->in.done.text);
	tap_ok(make_table(keeper, TABLE) == GS_OK, "a keeper that takes over frees what was never published");
	tap_ok(store(keeper, TABLE, 1000, SEGMENT_PAGES, 0) != 0, "and there is room again");
	limit(0, 0, 2);
}

/* Waits until the versions before the last have been dropped, and returns what the service has allocated. */
static uint64_t
allocated_at_rest(void)
{
	usleep(2700000);
	return heap != NULL ? *heap : 0;
}

/* Stores and publishes on and on: each page again and again, in the memory of what is freed. */
static void
test_flat(peer *keeper, peer *session, int cycles)
{
	uint64_t version = info(keeper)->version, before = 0, after;
	bool good = true;

	for (int i = 0; i < cycles && good; i++)
	{
		uint32_t block = (uint32_t) i % 500, number = store(keeper, TABLE, block, 2, (uint32_t) i);

		good = number != 0 && publish(keeper, TABLE, ++version, block, 2, number) == GS_OK;
		if (i % 100 == 0)
		{
			say_check(session, TABLE, version, block, block + 2, 600);
			good &= checked(session) == GS_OK && sums_right(session, block, block + 2, (uint32_t) i);
		}
		if (i == cycles / 5)
			before = allocated_at_rest();
	}
	after = allocated_at_rest();
	tap_ok(good, "%d segments are stored and published", cycles);
	(void) info(keeper);
	tap_ok(keeper->in.table_info.segments <= 501, "%d segments remain", (int) keeper->in.table_info.segments);
	if (heap != NULL && cycles >= FLAT_CYCLES)
		tap_ok(before > 0 && after < before + FLAT_BYTES * ((uint64_t) cycles * 4 / 5),
		   "memory is flat: %llu bytes, then %llu",
			   (unsigned long long) before, (unsigned long long) after);
}

/* Sessions that ask at once about more rows than one thread takes; one leaves, one ends its check. */
static void
test_many(peer *keeper)
{
	const uint32_t segments = MANY_SEGMENTS, blocks = segments * SEGMENT_PAGES;
	uint64_t version = info(keeper)->version;
	bool good = true;
	peer p[6];

	for (uint32_t s = 0; s < segments && good; s++)
		good = publish(keeper, TABLE, ++version, s * SEGMENT_PAGES, SEGMENT_PAGES,
					   store(keeper, TABLE, s * SEGMENT_PAGES, SEGMENT_PAGES, 9)) == GS_OK;
	tap_ok(good, "a table of %u rows", blocks * PAGE_ROWS);
	for (int i = 0; i < 6; i++)
		good &= enter_as(&p[i], DATABASE, 20 + (uint32_t) i);
	say_check(&p[0], TABLE, version, 0, blocks, blocks);
	leave(&p[0]);
	for (int n = 0; n < 20; n++)
	{
		for (int i = 1; i < 6; i++)
			say_check(&p[i], TABLE, version, (uint32_t) i, blocks - (uint32_t) n, blocks);
		for (int i = 1; i < 6; i++)
			good &= checked(&p[i]) == GS_OK && sums_right(&p[i], (uint32_t) i, blocks - (uint32_t) n, 9);
	}
	tap_ok(good, "sessions are answered in turn");
	say_check(&p[1], TABLE, version, 0, blocks, blocks);
	say_end(&p[1]);
	while (hear(&p[1]) == GSD_CHECKED)
		;
	tap_ok(p[1].in.head.type == GSD_ENDED, "a check is ended");
	for (int i = 1; i < 6; i++)
		leave(&p[i]);
}

/* Asks for the sums of as many columns as a message can name, over all pages of the table of test_many. */
static void
say_long_check(peer *p, uint64_t version, uint32_t blocks)
{
	char bytes[sizeof(gsd_check) + GSD_TABLE_COLUMNS * sizeof(uint32_t)] __attribute__((aligned(8)));
	gsd_check *m = (gsd_check *) bytes;

	memset(slot_chunk(p, 1), 0xff, SLOT_BYTES);
	gsd_head(&m->head, GSD_CHECK, sizeof(bytes));
	m->job = ++p->job;
	m->slot = 1;
	m->table = TABLE;
	m->version = version;
	m->blocks = blocks;
	m->ncolumns = GSD_TABLE_COLUMNS;
	for (uint32_t c = 0; c < GSD_TABLE_COLUMNS; c++)
		m->columns[c] = c % 2;
	(void) gsd_send(p->fd, &m->head, -1);
}

/* Who waits for the pool hears so, and can leave the queue; limits change meanwhile. */
static void
test_queue(peer *keeper)
{
	const uint32_t blocks = MANY_SEGMENTS * SEGMENT_PAGES;
	uint64_t version = info(keeper)->version, begun, waited;
	bool good = true;
	peer p[LONG_CHECKS], one, other;

	limit(0, 0, 1);
	good &= enter_as(&one, DATABASE, 20) && enter_as(&other, DATABASE, 21);
	for (int i = 0; i < LONG_CHECKS; i++)
	{
		good &= enter_as(&p[i], DATABASE, 22 + (uint32_t) i);
		say_long_check(&p[i], version, blocks);
	}
	/* until the last one hears that it waits, in the queue */
	(void) poll(&(struct pollfd) {.fd = p[LONG_CHECKS - 1].fd, .events = POLLIN}, 1, 120000);
	begun = gsd_now_ns();
	say_check(&one, TABLE, version, 0, 1, blocks);
	say_end(&one);
	tap_ok(hear(&one) == GSD_ENDED && gsd_now_ns() - begun < 500000000, "a check that waits is cancelled");
	begun = gsd_now_ns();
	say_check(&other, TABLE, version, 0, 1, blocks);
	limit((uint64_t) 1 << 40, 0, 1);
	tap_ok(checked(&other) == GS_OK && sums_right(&other, 0, 1, 9), "another has its turn");
	waited = (gsd_now_ns() - begun) / 1000000000;
	tap_ok(other.busy * 5 / 4 + 1 >= waited && other.busy <= waited + 1, "it heard %u times in %u s that it waits",
		   other.busy,
		   (unsigned) waited);
	for (int i = 0; i < LONG_CHECKS; i++)
		good &= checked(&p[i]) == GS_OK;
	tap_ok(good, "all are answered");
	for (int i = 0; i < LONG_CHECKS; i++)
		leave(&p[i]);
	leave(&one);
	leave(&other);
	limit(0, 0, 2);
}

/* Shares a file with the library that is preloaded, if it was built. */
static void
watch_heap(const char *program)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%.*s/heap.so", (int) (strrchr(program, '/') - program), program);
	if (access(path, R_OK) != 0)
		return;
	fd = open("heap", O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, sizeof(*heap)) != 0)
		return;
	heap = mmap(NULL, sizeof(*heap), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	setenv("GPUSORT_TEST_HEAP", "heap", 1);
	setenv("LD_PRELOAD", path, 1);
}

/* A device that fails a question for good ends the service. */
static void
test_failure(peer *keeper, peer *session)
{
	const gs_type types[2] = {GS_I32, GS_I64};
	steps_list l;
	int status = 0;

	tap_ok(make_table(keeper, TABLE) == GS_OK &&
			   publish(keeper, TABLE, 1, 0, SEGMENT_PAGES, store(keeper, TABLE, 0, SEGMENT_PAGES, 0)) == GS_OK &&
			   info(keeper)->device >= 0,
		   "a table on a device");
	tap_ok(keeper->in.table_info.name[0] != '\0', "which has a name");
	list_begin(&l, types, 2);
	list_group(&l, 1);
	list_aggregate(&l, GS_COUNT, NULL, 0);
	say_wide_ask(session, 1, 0, 0, &l, false);
	say_count(session, GSD_FINISH, 0);
	while (hear(session) != 0)
		;
	(void) waitpid(service, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == GSD_EXIT_DEVICE,
		   "a device that fails ends the service (status %d)",
		   status);
}

static void
leave_folder(const char *dir)
{
	unlink("heap");
	unlink(GSD_LOCK);
	rmdir(GSD_FOLDER);
	rmdir(FOLDER);
	(void) !chdir("/");
	rmdir(dir);
}

int
main(int argc, char **argv)
{
	char dir[] = "/tmp/gpusort-columns.XXXXXX";
	char *program = argc > 1 ? realpath(argv[1], NULL) : NULL;
	int cycles = argc > 2 ? atoi(argv[2]) : 20000;
	int status = 0;
	peer keeper, session;

	if (program == NULL || mkdtemp(dir) == NULL || chdir(dir) != 0)
		return 2;
	if (mkdir(FOLDER, 0700) != 0)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	rnd_seed(test_seed());
	on_device = argc > 4 || (argc > 3 && strcmp(argv[3], "--engine=gpu") == 0);
	watch_heap(program);
	service = fork();
	if (service == 0)
	{
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) !freopen("/dev/null", "w", stderr);
		execl(program, program, "--pinned-memory=64", "--idle=600", argc > 3 ? argv[3] : "--engine=cpu",
			  argc > 4 ? argv[4] : NULL, argc > 5 ? argv[5] : NULL, (char *) NULL);
		_exit(127);
	}
	tap_ok(enter_as(&keeper, DATABASE, 0) && enter_as(&session, DATABASE, 10), "a keeper and a session come");
	limit(0, 0, 3);
	if (argc > 5)
	{
		test_failure(&keeper, &session);
		leave_folder(dir);
		free(program);
		return tap_done();
	}
	test_table(&keeper);
	test_map(&session);
	test_lies(&keeper);
	test_strings(&keeper);
	test_ended();
	test_versions(&keeper, &session);
	test_parts(&keeper, &session);
	test_wanted(&keeper, &session);
	test_note(&session);
	test_keep(&keeper);
	test_caps(&keeper);
	test_flat(&keeper, &session, cycles);
	test_questions(&keeper);
	test_many(&keeper);
	if (!on_device)
		test_queue(&keeper);
	say_number(&keeper, GSD_DROP, TABLE);
	tap_ok(heard_done(&keeper) == GS_OK && info(&keeper)->table == 0, "the table is dropped");
	leave(&keeper);
	test_dropped_database(&session);
	leave(&session);
	kill(service, SIGTERM);
	(void) waitpid(service, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the service ends when told (status %d)", status);
	leave_folder(dir);
	free(program);
	return tap_done();
}
