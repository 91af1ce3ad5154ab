/*
 * main.c: gpusortd, the process that owns the GPUs: socket, connections, watchdog.  Each connection has a thread that
 * does its work.  The first thread accepts connections and watches for jobs that make no progress.  Since a stuck
 * device cannot be freed otherwise, such a job ends the whole service.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "service.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define BACKLOG 1024
#define TICK_MS 250
#define THREAD_STACK ((size_t) 512 * 1024)

static _Atomic uint64_t ticked_ns; /* time of the first thread's last iteration */

/* Writes a line for the worker (worker_log.c).  Never blocks: if the pipe is full, the next line counts those lost. */
void
gsd_log(const char *level, const char *format, ...)
{
	static _Atomic unsigned lost;
	unsigned before = atomic_exchange(&lost, 0);
	char text[600];
	int length = 0, end;
	va_list args;

	if (before > 0)
		length = snprintf(text, sizeof(text), "WARNING:  %u lines were lost\n", before);
	length += snprintf(text + length, sizeof(text) - (size_t) length, "%s:  ", level);
	va_start(args, format);
	end = length + vsnprintf(text + length, sizeof(text) - (size_t) length - 1, format, args);
	va_end(args);
	length = end < (int) sizeof(text) - 1 ? end : (int) sizeof(text) - 2;
	text[length++] = '\n';
	if (write(STDERR_FILENO, text, (size_t) length) < 0)
		atomic_fetch_add(&lost, before + 1);
}

bool
gsd_attentive(void)
{
	return gsd_now_ns() - atomic_load(&ticked_ns) < (uint64_t) options.stall_seconds * 1000000000u;
}

/*
 * Takes the lock that makes this the only service of the data directory.  A predecessor may have removed the file
 * between open and lock, so it is checked again.  Creates the folder, which a restored backup may lack.
 */
static bool
take_lock(const char *path)
{
	(void) mkdir(GSD_FOLDER, 0700);
	for (int attempt = 0; attempt < 10; attempt++)
	{
		int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
		struct stat mine, there;

		if (fd < 0)
		{
			gsd_log("LOG", "could not open \"%s\": %s", path, strerror(errno));
			return false;
		}
		if (flock(fd, LOCK_EX | LOCK_NB) != 0)
		{
			gsd_log("LOG", "another gpusortd serves this directory");
			close(fd);
			return false;
		}
		if (fstat(fd, &mine) == 0 && stat(path, &there) == 0 && mine.st_ino == there.st_ino)
			return true; /* held until the process ends */
		close(fd);
	}
	return false;
}

/* Makes the socket.  The lock is held, so an existing file of that name is stale. */
static int
make_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (strlen(path) < sizeof(address.sun_path))
	{
		strcpy(address.sun_path, path);
		(void) unlink(path);
		/* chmod before bind, which creates the file with the socket's mode; unlike umask, it affects no other thread */
		if (fchmod(fd, 0600) == 0 && bind(fd, (struct sockaddr *) &address, sizeof(address)) == 0 &&
			listen(fd, BACKLOG) == 0)
			return fd;
	}
	else
		errno = ENAMETOOLONG;
	gsd_log("LOG", "could not make socket \"%s\": %s", path, strerror(errno));
	close(fd);
	return -1;
}

/* Rejects peers of other users.  SO_PEERCRED cannot be forged. */
static bool
peer_allowed(int fd, int *pid)
{
	struct ucred peer;
	socklen_t length = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
		return false;
	*pid = (int) peer.pid;
	if (peer.uid == geteuid())
		return true;
	gsd_log("WARNING", "refused a connection of process %d, user %u", (int) peer.pid, (unsigned) peer.uid);
	return false;
}

/* Starts a thread for a new connection. */
static void
welcome_client(int fd)
{
	static bool complained;
	pthread_attr_t attributes;
	pthread_t thread;
	client *c = NULL;
	int pid = 0, error;

	if (peer_allowed(fd, &pid))
		c = calloc(1, sizeof(*c));
	if (c != NULL)
	{
		c->socket = fd;
		c->pid = pid;
	}
	if (c == NULL || !gsd_client_add(c))
	{
		free(c);
		close(fd);
		return;
	}
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, THREAD_STACK);
	error = pthread_create(&thread, &attributes, gsd_client_main, c);
	if (error != 0)
	{
		if (!complained)
			gsd_log("WARNING", "could not start a thread: %s", strerror(error));
		complained = true;
		gsd_client_forget(c);
	}
	pthread_attr_destroy(&attributes);
}

/* Accepts connections until shutdown. */
static void
serve(int listener, int signals)
{
	struct pollfd fds[2] = {{.fd = listener, .events = POLLIN}, {.fd = signals, .events = POLLIN}};

	for (;;)
	{
		atomic_store(&ticked_ns, gsd_now_ns());
		(void) poll(fds, 2, TICK_MS);
		if (fds[1].revents & POLLIN)
			return;
		if (fds[0].revents & POLLIN)
		{
			int fd;

			while ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0)
				welcome_client(fd);
			if (errno == EMFILE || errno == ENFILE)
				(void) poll(NULL, 0, 20);
		}
		gsd_clients_watch();
		gsd_devices_rest();
		gsd_columns_rest();
	}
}

/* Blocks the signals that end the service, in all threads, and returns a descriptor for them. */
static int
block_signals(void)
{
	sigset_t set;

	signal(SIGPIPE, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* Raises the limit of descriptors, as every connection takes two. */
static void
raise_limits(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max)
	{
		limit.rlim_cur = limit.rlim_max;
		(void) setrlimit(RLIMIT_NOFILE, &limit);
	}
}

/* Keeps users' rows out of core files.  Unlike 0, a limit of 1 byte also holds where they are piped to a program. */
static void
forbid_cores(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur > 1)
	{
		limit.rlim_cur = 1;
		(void) setrlimit(RLIMIT_CORE, &limit);
	}
}

/* Opens the devices before the socket, so that a client that can connect finds a working service. */
int
main(int argc, char **argv)
{
	int status = gsd_read_options(argc, argv);
	int signals, listener;

	if (status >= 0)
		return status;
	signals = block_signals();
	raise_limits();
	if (!options.core)
		forbid_cores();
	if (!take_lock(GSD_LOCK))
		return GSD_EXIT_SOCKET;
	/* 0.1.0 had them in the data directory itself, where leftovers of a killed server confuse pg_rewind */
	(void) unlink("pgsql_tmp_gpusort");
	(void) unlink("pgsql_tmp_gpusort.lock");
	status = gsd_devices_open();
	if (status != 0 && options.columns)
		options.gpu = false;
	else if (status != 0)
	{
		(void) unlink(GSD_LOCK);
		return status;
	}
	listener = make_socket(options.socket);
	if (listener < 0 || signals < 0)
		return GSD_EXIT_SOCKET;
	gsd_log("LOG", "ready, %s",
			options.gpu	  ? "sorting on the GPU"
			: status == 0 ? "sorting on the CPU, for tests"
						  : "holding columns");
	serve(listener, signals);
	gsd_log("LOG", "ending");
	(void) unlink(options.socket);
	(void) unlink(GSD_LOCK);
	_exit(0); /* threads may be in the middle of jobs; the kernel frees everything */
}
