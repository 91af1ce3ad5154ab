/*
 * liar_test.c: starts gpusortd and is a client to it that lies: about sizes, slots, counts, about what lies in the
 * ring, and that changes it while it is read.  After each the service must live, sort for an honest client, and hold
 * nothing more.
 */
#define _GNU_SOURCE
#include "peer.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pid_t service;

/*
 * True if the service lives and sorts for a new client.
 */
static bool
service_well(void)
{
	peer p;
	bool well = kill(service, 0) == 0 && waitpid(service, NULL, WNOHANG) == 0 && enter(&p) &&
				honest_job(&p, GS_ORDER) && honest_job(&p, GS_ORDER);

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
 * As many as stay when clients have left, of which the service takes leave in its own time.
 */
static int
descriptors_at_rest(void)
{
	int least = service_descriptors();

	for (int same = 0; same < 50; same++)
	{
		int now = service_descriptors();

		if (now != least)
			same = 0;
		if (now < least)
			least = now;
		usleep(10000);
	}
	return least;
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
	say_begin(&p, GS_ORDER, false);
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
		say_begin(&p, GS_ORDER, false);
		(void) hear(&p);
		(void) fill(&p, 0, 0, 2);
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

	for (gs_op op = GS_ORDER; op < GS_OPS; op++)
		tap_ok(good && honest_job(&p, op), "operation %d", op);
	say_begin(&p, GS_OPS, false);
	good = good && hear(&p) == GSD_FAILED && p.in.result.status == GS_INVALID;
	say_end(&p);
	good = good && hear(&p) == GSD_ENDED;
	tap_ok(good, "an unknown operation gets a status");
	tap_ok(honest_job(&p, GS_ORDER), "and the next job is done");
	leave(&p);
}

/*
 * A job that may run on no device gets a status; one that says so of devices which cannot be ends the connection.
 */
static void
test_avoid(void)
{
	peer p;
	bool good = enter(&p);

	p.avoid = 1;
	say_begin(&p, GS_ORDER, false);
	good = good && hear(&p) == GSD_FAILED && p.in.result.status == GS_WRONG_ORDER;
	say_end(&p);
	good = good && hear(&p) == GSD_ENDED;
	tap_ok(good, "a job that may run on no device gets a status");
	p.avoid = 2;
	tap_ok(honest_job(&p, GS_ORDER), "one that may run on another is done");
	p.avoid = (uint32_t) 1 << GSD_MAX_DEVICES;
	say_begin(&p, GS_ORDER, false);
	tap_ok(hear(&p) == 0, "refused: a device that cannot be");
	leave(&p);
}

/*
 * Asks on and on and never listens: the service's answers wait for that client alone.
 */
static void
test_deaf(void)
{
	peer p;
	gsd_header question;
	int asked = 0;

	if (!enter(&p))
		return;
	gsd_head(&question, GSD_STATUS, sizeof(question));
	for (int full = 0; full < 20; full++)
	{
		for (; gsd_send(p.fd, &question, -1) == GSD_IO_OK; asked++)
			full = 0;
		usleep(5000);
	}
	tap_ok(service_well(), "the service is well while a client does not listen to %d answers", asked);
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
		say_begin(&p, GS_ORDER, false);
		(void) hear(&p);
		(void) fill(&p, 0, 0, 2);
		stop_scribbling = false;
		pthread_create(&thread, NULL, scribble, p.ring);
		for (int n = 0; n < 20 && taken; n++)
		{
			rows += fill(&p, 0, 0, 2);
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
				case 0: say_begin(&p, (gs_op) rnd_below(GS_OPS + 1), true); break;
				case 1:
				case 2:
					(void) fill(&p, (uint32_t) rnd_below(SLOTS), 0, 1 + (uint32_t) rnd_below(2));
					say_slot(&p, GSD_ADD, (uint32_t) rnd_below(SLOTS));
					break;
				case 3: say_count(&p, GSD_FINISH, rnd_below(2) ? slot_chunk(&p, 0)->rows : rnd()); break;
				case 4: say_slot(&p, GSD_TAKEN, (uint32_t) rnd_below(AREAS)); break;
				case 5: say_end(&p); break;
				case 6: say_count(&p, GSD_PING, rnd()); break;
				default:
					memset(&m, 0, 64);
					m.head.type = (uint32_t) rnd_below(GSD_CHECK + 2);
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
	rnd_seed(test_seed());
	service = fork();
	if (service == 0)
	{
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void) !freopen("/dev/null", "w", stderr);
		execl(program, program, "--engine=cpu", "--pinned-memory=64", (char *) NULL);
		_exit(127);
	}
	tap_ok(service_well(), "the service sorts");
	before = descriptors_at_rest();
	test_entry();
	test_job();
	test_operations();
	test_avoid();
	test_deaf();
	test_race();
	test_random(seconds);
	for (int i = 0; i < 6000 && service_descriptors() > before; i++)
		usleep(20000);
	tap_ok(service_descriptors() <= before, "the service holds no more descriptors than at the start");
	kill(service, SIGTERM);
	(void) waitpid(service, &status, 0);
	tap_ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "it ends when told");
	tap_ok(access(GSD_SOCKET, F_OK) != 0 && access(GSD_LOCK, F_OK) != 0, "and leaves nothing behind");
	rmdir(GSD_FOLDER);
	(void) !chdir("/");
	rmdir(dir);
	free(program);
	return tap_done();
}
