/*
 * link.c: connections to gpusortd, each with its ring of memory, for one job at a time.
 */
#include "postgres.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "link.h"
#include "stat.h"
#include "worker.h"

/* Four chunks: being filled, in transit, being read, spare.  Time per message is negligible at this size. */
#define RING_SLOTS 4
#define SLOT_BYTES ((uint64) 2 * 1024 * 1024)
#define RING_AREAS 4
#define AREA_BYTES ((uint64) 256 * 1024)

/* A ring for resident columns, made in about 0.1 ms, takes the mask of 20 GB.  link_enlarge makes larger ones. */
#define SMALL_SLOTS 8
#define SMALL_AREAS 4
#define SMALL_BYTES ((uint64) 64 * 1024)

#define RETRY_MS 10
#define ENDED_MS 200
#define BREAKER_MS 5000
#define REFUSED_MS 1000

/* No ring is made before this time, as one was refused for this reason, and it takes longer than many sorts. */
static int64 refused_until;
static EngineFailure refused;

/* Returns the wait event shown in pg_stat_activity. */
static uint32
wait_event(LinkWait what)
{
	static const char *const names[] = {"GpusortStart", "GpusortChunk", "GpusortSort", "GpusortOrder"};
	static uint32 events[lengthof(names)];

	if (events[what] == 0)
		events[what] = compat_wait_event(names[what]);
	return events[what];
}

/* Returns the deadline for an answer. */
static int64
patience(void)
{
	return gsd_now_ms() + gpusort_timeout;
}

/* Waits for a socket, serving interrupts.  Returns false after the deadline.  With socket -1, just sleeps. */
static bool
wait_for(int socket, int event, long ms, int64 deadline, LinkWait what)
{
	long		left = (long) (deadline - gsd_now_ms());
	int			events = WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH;

	if (left <= 0)
		return false;
	if (ms > 0)
		left = Min(ms, left);
	if (socket >= 0)
		(void) WaitLatchOrSocket(MyLatch, events | event, socket, left, wait_event(what));
	else
		(void) WaitLatch(MyLatch, events, left, wait_event(what));
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return true;
}

/* Opens the circuit breaker, so that not every session waits for a dead service. */
static void
open_breaker(void)
{
	pg_atomic_write_u64(&gpusort_shared()->broken_until, (uint64) (gsd_now_ms() + BREAKER_MS));
}

bool
link_left(const ServiceLink *link)
{
	struct pollfd fd = {.fd = link->socket, .events = POLLRDHUP};

	return poll(&fd, 1, 0) > 0 && (fd.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

bool
link_take(const ServiceLink *link, const void *from, void *to, Size bytes, EngineFailure *why)
{
	memcpy(to, from, bytes);
	*why = link_left(link) ? ENGINE_LOST : ENGINE_OK;
	return *why == ENGINE_OK;
}

void
link_close(ServiceLink *link)
{
	if (link->socket >= 0)
		close(link->socket);
	ReleaseExternalFD();
	if (link->ring)
		munmap(link->ring, link->ring_bytes);
	pfree(link);
}

/* Returns why the service closed the connection, from the messages it sent before. */
static EngineFailure
last_word(ServiceLink *link)
{
	gsd_message message;
	EngineFailure why;

	do
		why = link_receive(link, &message, false, LINK_WAIT_CHUNK);
	while (why == ENGINE_OK && message.head.type != 0);
	return why == ENGINE_OK ? ENGINE_LOST : why;
}

bool
link_send(ServiceLink *link, const gsd_header *head, EngineFailure *why)
{
	return link_send_file(link, head, -1, why);
}

bool
link_send_file(ServiceLink *link, const gsd_header *head, int fd, EngineFailure *why)
{
	int64		deadline = patience();

	for (;;)
	{
		gsd_io		io = gsd_send(link->socket, head, fd);

		*why = io == GSD_IO_OK || io == GSD_IO_AGAIN ? ENGINE_OK : last_word(link);
		if (io != GSD_IO_AGAIN)
			return io == GSD_IO_OK;
		if (!wait_for(link->socket, WL_SOCKET_WRITEABLE, 0, deadline, LINK_WAIT_CHUNK))
		{
			open_breaker();
			*why = ENGINE_TIMEOUT;
			return false;
		}
	}
}

/* Returns the next message, and a descriptor if fd is not NULL; see link_receive. */
static EngineFailure
receive(ServiceLink *link, gsd_message *message, bool wait, LinkWait what, int *fd)
{
	int64		deadline = 0;

	for (;;)
	{
		gsd_io		io = gsd_receive(link->socket, message, false, fd);

		if (io == GSD_IO_BAD)
			return ENGINE_PROTOCOL;
		if (io == GSD_IO_CLOSED)
			return ENGINE_LOST;
		/* the service ends because this job hangs; it noticed before our own timeout */
		if (io == GSD_IO_OK && message->head.type == GSD_FAILED && message->result.status == GS_TIMEOUT)
			return ENGINE_TIMEOUT;
		if (io == GSD_IO_OK && message->head.type != GSD_BUSY)
			return ENGINE_OK;
		if (io == GSD_IO_OK)
		{
			deadline = 0;		/* a sign of life */
			continue;
		}
		message->head.type = 0;
		if (!wait)
			return ENGINE_OK;
		if (deadline == 0)
			deadline = patience();
		if (!wait_for(link->socket, WL_SOCKET_READABLE, 0, deadline, what))
		{
			open_breaker();
			return ENGINE_TIMEOUT;
		}
	}
}

EngineFailure
link_receive(ServiceLink *link, gsd_message *message, bool wait, LinkWait what)
{
	return receive(link, message, wait, what, NULL);
}

bool
link_receive_job(ServiceLink *link, gsd_message *message, LinkWait what, EngineFailure *why)
{
	do
		*why = link_receive(link, message, true, what);
	while (*why == ENGINE_OK && message->job.job != link->job);
	return *why == ENGINE_OK;
}

EngineFailure
link_receive_file(ServiceLink *link, gsd_message *message, int *fd)
{
	return receive(link, message, true, LINK_WAIT_START, fd);
}

/* Returns true if the peer runs as our own user.  The data directory's permissions should imply it. */
static bool
peer_trusted(int fd)
{
	struct ucred peer;
	socklen_t	length = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 && peer.uid == geteuid();
}

/* Makes one attempt to connect.  Returns -1 with errno on failure. */
static int
connect_once(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GSD_SOCKET};
	int			fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	if (connect(fd, (struct sockaddr *) &address, sizeof(address)) == 0 && peer_trusted(fd))
		return fd;
	close(fd);
	return -1;
}

/* Returns true if a link is for resident columns, which a service without devices holds, too. */
static bool
for_columns(const ServiceLink *link)
{
	return link->kind == LINK_COLUMNS || link->kind == LINK_STORE;
}

/* Asks for a service that is not there.  Returns ENGINE_STARTING if it will come. */
static EngineFailure
demand(const ServiceLink *link)
{
	EngineFailure why = for_columns(link) ? columns_verdict() : service_verdict();

	if (why == ENGINE_OK)
		why = for_columns(link) ? columns_demand_service() : service_demand();
	return why == ENGINE_OK ? ENGINE_STARTING : why;
}

/* Connects.  If the service is not there, asks for it and, if patient, waits for it. */
static bool
link_connect(ServiceLink *link, bool patient, EngineFailure *why)
{
	int64		deadline = patience();

	for (;;)
	{
		link->socket = connect_once();
		if (link->socket >= 0)
			return true;
		*why = ENGINE_DOWN;
		/* EAGAIN: the listen queue is full */
		if (errno != EAGAIN)
		{
			*why = demand(link);
			if (*why != ENGINE_STARTING || !patient)
				return false;
		}
		if (!wait_for(-1, 0, RETRY_MS, deadline, LINK_WAIT_START))
		{
			open_breaker();
			return false;
		}
	}
}

/* Makes the ring's memory: an unlinked file that cannot shrink, with all pages allocated, lest faults be signals. */
static int
make_ring(ServiceLink *link, uint64 slot_bytes)
{
	int			fd = memfd_create("gpusort", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int			result;
	void	   *base;

	gsd_head(&link->layout.head, GSD_RING, sizeof(link->layout));
	link->layout.plain = link->kind == LINK_COLUMNS;
	link->layout.slots = link->layout.plain ? SMALL_SLOTS : RING_SLOTS;
	link->layout.slot_bytes = slot_bytes;
	link->layout.areas = link->layout.plain ? SMALL_AREAS : RING_AREAS;
	link->layout.area_bytes = link->layout.plain ? SMALL_BYTES : AREA_BYTES;
	link->ring_bytes = gsd_ring_bytes(&link->layout);
	if (fd < 0)
		return -1;
	do
		result = posix_fallocate(fd, 0, (off_t) link->ring_bytes);
	while (result == EINTR);
	if (result == 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
	{
		base = mmap(NULL, link->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		if (base != MAP_FAILED)
		{
			/* keep users' rows out of core files */
			(void) madvise(base, link->ring_bytes, MADV_DONTDUMP);
			link->ring = base;
			return fd;
		}
	}
	close(fd);
	return -1;
}

/* Waits for the answer to the last message, which must be of the given type. */
static EngineFailure
await(ServiceLink *link, uint32 type, gsd_message *answer)
{
	EngineFailure why = link_receive(link, answer, true, LINK_WAIT_START);

	if (why != ENGINE_OK)
		return why;
	return answer->head.type == type ? ENGINE_OK : ENGINE_PROTOCOL;
}

/* Warns, once, of a service that was installed before or after this session's library. */
static void
warn_of_version(uint32 version)
{
	static bool told = false;

	if (!told)
		ereport(LOG,
				(errmsg("gpusort sorts on the CPU: the GPU service is of another version than this session's library"),
				 errdetail("The service speaks version %u of the protocol, the library version %u.",
						   version, (uint32) GSD_VERSION),
				 errhint("Restart the server, so that all of it runs what is installed.")));
	told = true;
}

/* Exchanges hello messages. */
static EngineFailure
greet(ServiceLink *link)
{
	gsd_hello	hello;
	gsd_message answer;
	EngineFailure why;

	gsd_head(&hello.head, GSD_HELLO, sizeof(hello));
	hello.magic = GSD_MAGIC;
	hello.version = GSD_VERSION;
	hello.owner = link->owner;
	if (!link_send(link, &hello.head, &why))
		return why;
	why = await(link, GSD_WELCOME, &answer);
	if (why != ENGINE_OK)
		return why;
	if (answer.welcome.magic != GSD_MAGIC)
		return ENGINE_PROTOCOL;
	if (answer.welcome.version != GSD_VERSION || answer.welcome.status != GS_OK)
	{
		warn_of_version(answer.welcome.version);
		return ENGINE_VERSION;
	}
	link->gpu = answer.welcome.gpu != 0;
	return answer.welcome.columns_only && link->kind == LINK_SORTS ? ENGINE_NO_DEVICE : ENGINE_OK;
}

/* Sends the ring's file descriptor. */
static EngineFailure
pass_ring(ServiceLink *link, uint64 slot_bytes)
{
	int			fd = make_ring(link, slot_bytes);
	gsd_message answer;
	gsd_io		io;
	EngineFailure why;

	if (fd < 0)
		return ENGINE_NO_FILE;
	io = gsd_send(link->socket, &link->layout.head, fd);
	close(fd);					/* the mapping and the service keep the memory */
	if (io != GSD_IO_OK)
		return ENGINE_LOST;
	why = await(link, GSD_RING_DONE, &answer);
	if (why == ENGINE_OK && answer.result.status != GS_OK)
	{
		ereport(DEBUG1, (errmsg_internal("gpusort service: %s", answer.result.text)));
		why = answer.result.status == GS_TOO_BIG ? ENGINE_NO_QUOTA :
			answer.result.status == GS_DEVICE ? ENGINE_NO_FILE : ENGINE_NO_RING;
		if (!link->layout.plain)
		{
			refused = why;
			refused_until = gsd_now_ms() + REFUSED_MS;
		}
	}
	return why;
}

/* Reserves a file descriptor for a socket, and makes sure another one is left, which waiting for the socket needs. */
static bool
acquire_socket(void)
{
	if (!AcquireExternalFD())
		return false;
	if (AcquireExternalFD())
	{
		ReleaseExternalFD();
		return true;
	}
	ReleaseExternalFD();
	return false;
}

/* Returns the slots' size of a new ring; 0: a link of this kind has none. */
static uint64
slot_bytes_of(LinkKind kind)
{
	if (kind == LINK_BARE)
		return 0;
	return kind == LINK_COLUMNS ? SMALL_BYTES : SLOT_BYTES;
}

/* Connects, says hello and passes a ring. */
static EngineFailure
establish(ServiceLink *link, bool patient, uint64 slot_bytes)
{
	EngineFailure why;

	if (!link_connect(link, patient, &why))
		return why;
	why = greet(link);
	return why == ENGINE_OK && slot_bytes > 0 ? pass_ring(link, slot_bytes) : why;
}

ServiceLink *
link_new(LinkKind kind, uint64 owner, bool patient, EngineFailure *why)
{
	ServiceLink *link;
	bool		barred = kind == LINK_SORTS && refused_until > gsd_now_ms();

	*why = barred ? refused : ENGINE_NO_FILE;
	if (barred || !acquire_socket())
		return NULL;
	link = MemoryContextAllocZero(TopMemoryContext, sizeof(ServiceLink));
	link->socket = -1;
	link->kind = kind;
	link->owner = owner;
	PG_TRY();
	{
		*why = establish(link, patient, slot_bytes_of(kind));
	}
	PG_CATCH();
	{
		link_close(link);
		PG_RE_THROW();
	}
	PG_END_TRY();
	if (*why == ENGINE_OK)
		return link;
	link_close(link);
	return NULL;
}

bool
link_enlarge(ServiceLink *link, uint64 bytes, EngineFailure *why)
{
	uint64		slot_bytes = link->layout.slot_bytes;

	while (link->layout.slots * slot_bytes < bytes)
		slot_bytes *= 2;
	if (link->ring)
		munmap(link->ring, link->ring_bytes);
	link->ring = NULL;
	close(link->socket);		/* its descriptor remains reserved */
	link->socket = -1;
	link->ending = false;
	link->job = 0;
	*why = establish(link, false, slot_bytes);
	return *why == ENGINE_OK;
}

uint64
link_owner(void)
{
	return (uint64) MyDatabaseId << 32 | GetUserId();
}

bool
link_wait_end(ServiceLink *link)
{
	int64		deadline = gsd_now_ms() + ENDED_MS;
	gsd_message message;

	for (;;)
	{
		gsd_io		io = gsd_receive(link->socket, &message, false, NULL);

		if (io == GSD_IO_AGAIN && !link->ending)
			return true;		/* nothing to read, and the peer is there */
		if (io == GSD_IO_AGAIN)
		{
			if (!wait_for(link->socket, WL_SOCKET_READABLE, 0, deadline, LINK_WAIT_START))
				return false;
		}
		else if (io != GSD_IO_OK)
			return false;
		else if (message.head.type == GSD_ENDED && message.job.job == link->job)
			link->ending = false;
	}
}

bool
link_broken(void)
{
	return pg_atomic_read_u64(&gpusort_shared()->broken_until) > (uint64) gsd_now_ms();
}

ServiceLink *
link_open_bare(EngineFailure *why)
{
	*why = ENGINE_OK;
	if (link_broken() || access(GSD_SOCKET, F_OK) != 0)
	{
		*why = ENGINE_DOWN;
		return NULL;
	}
	return link_new(LINK_BARE, link_owner(), false, why);
}
