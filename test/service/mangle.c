/*
 * mangle.c: stands between backends and gpusortd and changes what the service says: the parser of the backend's end has
 * to bear it.  mangle LISTEN SERVICE ONE_IN SEED: one message in so many is changed, doubled, dropped or made up; none
 * if that is 0. With JOBS behind it a connection ends when one more job than that begins on it, as an idle one does at
 * any moment; with "scribble" the ring is written to all the time; with "users" those that have no role, the worker and
 * keepers of columns, are told the truth; with a kind of damage (see damage) all messages are true, and users get
 * copies of dictionaries that have it.
 */
#define _GNU_SOURCE
#include "src/service/dictionary.h"
#include "src/service/protocol.h"

#include <poll.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned one_in, jobs;
static bool scribbles, to_users;
static const char *damaged = "";

/*
 * A socket of the right kind, listening or connected.
 */
static int
endpoint(const char *path, bool listening)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (listening && (bind(fd, (struct sockaddr *) &address, sizeof(address)) != 0 || listen(fd, 128) != 0))
		exit(1);
	if (!listening && connect(fd, (struct sockaddr *) &address, sizeof(address)) != 0)
		exit(1);
	return fd;
}

/*
 * Sends bytes as they are, with a descriptor if there is one.
 */
static void
pass(int to, const void *bytes, size_t size, int fd)
{
	gsd_message m;

	if (fd >= 0)
	{
		memcpy(&m, bytes, size);
		(void) gsd_send(to, &m.head, fd);
		close(fd);
	}
	else
		(void) send(to, bytes, size, MSG_NOSIGNAL);
}

/* A ring that is being scribbled on. */
static gsd_ring layout;
static char *ring;

/*
 * Writes at random to where chunks begin: to their headers, first values and offsets.
 */
static void *
scribble(void *arg)
{
	uint64_t x = 88172645463325252u;

	(void) arg;
	for (;;)
	{
		char *slot = ring + x % layout.slots * layout.slot_bytes;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		*(volatile uint32_t *) (slot + (x >> 8) % (x & 64 ? 256 : 65536) / 4 * 4) =
			(uint32_t) (x >> (x & 128 ? 32 : 56));
	}
	return NULL;
}

/*
 * Begins to scribble on a ring that is passed.
 */
static void
scribble_on(const gsd_ring *m, int fd)
{
	pthread_t thread;

	layout = *m;
	ring = mmap(NULL, gsd_ring_bytes(m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring != MAP_FAILED)
		pthread_create(&thread, NULL, scribble, NULL);
}

/*
 * Puts another file in the place of a descriptor: an empty one, or one of zeros.
 */
static int
other_file(int fd)
{
	int other = memfd_create("zeros", 0);

	if (other >= 0 && random() % 2 && ftruncate(other, 1 << 24) != 0)
		exit(1);
	close(fd);
	return other;
}

/*
 * Changes one message on its way to the backend.
 */
static void
mangle(int to, gsd_message *m, size_t size)
{
	switch (random() % 6)
	{
		case 0: /* a bit */
			m->bytes[random() % size] ^= (char) (1 << random() % 8);
			pass(to, m, size, -1);
			break;
		case 1: /* a word that is as likely as not allowed there */
			((uint32_t *) m->bytes)[2 + random() % (size / 4 - 2)] =
				(uint32_t) (random() % 2 ? random() % 10 : random());
			pass(to, m, size, -1);
			break;
		case 2: /* cut short */
			pass(to, m, (size_t) random() % size, -1);
			break;
		case 3: /* twice */
			pass(to, m, size, -1);
			pass(to, m, size, -1);
			break;
		case 4: /* of another kind */
			m->head.type = (uint32_t) (random() % 2 ? 64 + random() % 16 : random());
			pass(to, m, size, -1);
			break;
		default: /* a failure out of the blue, for the right job */
		{
			gsd_result failure;

			gsd_head(&failure.head, GSD_FAILED, sizeof(failure));
			failure.job = m->job.job;
			failure.status = (uint32_t) (random() % 12);
			pass(to, m, size, -1);
			pass(to, &failure, sizeof(failure), -1);
		}
	}
}

/*
 * Returns true for the kind of damage that is wanted.
 */
static bool
wanted(const char *kind)
{
	return strcmp(damaged, kind) == 0;
}

/*
 * Damages a dictionary.
 */
static void
damage(const gsd_entries *e)
{
	const uint32_t count = gsd_entries_count(e);

	if (wanted("sizes"))
		e->file->room = UINT32_MAX / 2;
	if (wanted("slots"))
		e->file->slots -= 1;
	if (wanted("room"))
		e->file->strings_room = UINT64_MAX - 4000;
	if (wanted("count"))
		e->file->count = UINT32_MAX;
	for (uint32_t code = 0; code < e->room && (wanted("ends") || wanted("count")); code++)
		e->ends[code] = code % 2 ? UINT64_MAX / 2 : e->strings_room + 1;
	for (uint32_t code = 0; code < count && wanted("back"); code++)
		e->ends[code] = (count - code) * UINT64_C(2);
	for (uint32_t code = 0; code < count && wanted("long"); code++)
		e->ends[code] = 0x7fffffff;
	for (uint32_t code = 0; code < count && wanted("wide"); code++)
		e->ends[code] = code * UINT64_C(70) < e->strings_room ? code * UINT64_C(70) : e->strings_room;
	for (uint32_t at = 0; at < e->slots && (wanted("index") || wanted("full")); at++)
		e->index[at] = wanted("full") ? 1 : UINT32_MAX;
	if (wanted("bytes"))
		memset(e->strings, 0xf0, e->strings_room);
}

/*
 * Puts a damaged copy in the place of a dictionary's descriptor; other files stay as they are.
 */
static int
damaged_file(int fd)
{
	int copy = memfd_create("damaged", MFD_ALLOW_SEALING);
	gsd_entries e;
	struct stat st;
	char *from, *to;

	if (fstat(fd, &st) != 0 || ftruncate(copy, st.st_size) != 0)
		exit(1);
	from = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	to = mmap(NULL, (size_t) st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, copy, 0);
	if (from == MAP_FAILED || to == MAP_FAILED || !gsd_entries_open(&e, from, (uint64_t) st.st_size))
	{
		close(copy);
		return fd;
	}
	memcpy(to, from, (size_t) st.st_size);
	if (!gsd_entries_open(&e, to, (uint64_t) st.st_size) || fcntl(copy, F_ADD_SEALS, F_SEAL_SHRINK) != 0)
		exit(1);
	damage(&e);
	close(fd);
	return copy;
}

/*
 * Carries a message of the client to the service.  Returns false when the connection ends.
 */
static bool
from_client(int client, int service, unsigned *begun, bool *lies)
{
	gsd_message m;
	int fd = -1;

	if (gsd_receive(client, &m, true, &fd) != GSD_IO_OK)
		return false;
	if (m.head.type == GSD_BEGIN && jobs > 0 && ++*begun > jobs)
		return false;
	if (m.head.type == GSD_HELLO && (to_users || *damaged))
		*lies = (uint32_t) m.hello.owner != 0;
	if (scribbles && m.head.type == GSD_RING)
		scribble_on(&m.ring, fd);
	pass(service, &m, m.head.bytes, fd);
	return true;
}

/*
 * Carries a message of the service to the client, or another one.  Returns false when the connection ends.
 */
static bool
from_service(int service, int client, bool lies)
{
	gsd_message m;
	int fd = -1;

	if (gsd_receive(service, &m, false, &fd) != GSD_IO_OK)
		return false;
	if (lies && *damaged && fd >= 0)
		fd = damaged_file(fd);
	lies = lies && one_in > 0 && random() % one_in == 0;
	if (lies && fd >= 0)
		fd = other_file(fd);
	else if (lies)
	{
		mangle(client, &m, m.head.bytes);
		return true;
	}
	pass(client, &m, m.head.bytes, fd);
	return true;
}

/*
 * Carries one connection until either end closes it.
 */
static void
carry(int client, int service)
{
	struct pollfd fds[2] = {{.fd = client, .events = POLLIN}, {.fd = service, .events = POLLIN}};
	unsigned begun = 0;
	bool lies = true;

	for (;;)
	{
		if (poll(fds, 2, -1) < 0)
			return;
		if (fds[0].revents && !from_client(client, service, &begun, &lies))
			return;
		if (fds[1].revents && !from_service(service, client, lies))
			return;
	}
}

int
main(int argc, char **argv)
{
	int listener;
	unsigned seed;

	if (argc < 5)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	one_in = (unsigned) atoi(argv[3]);
	jobs = argc > 5 ? (unsigned) atoi(argv[5]) : 0;
	scribbles = argc > 5 && strcmp(argv[5], "scribble") == 0;
	to_users = argc > 5 && strcmp(argv[5], "users") == 0;
	if (argc > 5 && jobs == 0 && !scribbles && !to_users)
		damaged = argv[5];
	seed = (unsigned) atoi(argv[4]);
	listener = endpoint(argv[1], true);
	for (;;)
	{
		int client = accept(listener, NULL, NULL);

		seed++;
		if (client >= 0 && fork() == 0)
		{
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			srandom(seed);
			carry(client, endpoint(argv[2], false));
			_exit(0);
		}
		close(client);
	}
}
