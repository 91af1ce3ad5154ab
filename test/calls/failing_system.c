/*
 * failing_system.c: system calls of failing_calls.c.
 *
 * Those that a signal can interrupt fail with EINTR where a test wants that, the others then do not.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "failing_calls.h"

#define CALLER __builtin_return_address(0)

/* the error of a call that a signal may interrupt, and which is then made again */
#define OR_INTERRUPTED(error) (interrupted() ? EINTR : (error))

/* Does one of gpusort's own calls fail? */
#define OURS_FAILS(name, error) (ours(CALLER) && call_fails(CALL_SYSTEM, name, error, CALLER))

/* Does a call on a file fail? */
static bool
file_fails(int file, const char *name, int error, const void *caller, bool writes)
{
	if (writes && temporary(file, false) && call_fails(CALL_WRITE, name, error, caller))
		return true;
	return (ours(caller) || temporary(file, true)) && call_fails(CALL_SYSTEM, name, error, caller);
}

int
open(const char *path, int flags, ...)
{
	va_list		more;
	int			mode;

	va_start(more, flags);
	mode = va_arg(more, int);
	va_end(more);
	if ((ours(CALLER) || strstr(path, "pgsql_tmp")) && call_fails(CALL_SYSTEM, "open", EMFILE, CALLER))
		return -1;
	return (int) syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int
shm_open(const char *path, int flags, mode_t mode)
{
	typedef int (*opener) (const char *, int, mode_t);

	return call_fails(CALL_SYSTEM, "shm_open", EMFILE, CALLER) ? -1 :
		((opener) dlsym(RTLD_NEXT, "shm_open")) (path, flags, mode);
}

int
memfd_create(const char *name, unsigned int flags)
{
	return OURS_FAILS("memfd_create", EMFILE) ? -1 : (int) syscall(SYS_memfd_create, name, flags);
}

int
socket(int domain, int type, int protocol)
{
	return OURS_FAILS("socket", EMFILE) ? -1 : (int) syscall(SYS_socket, domain, type, protocol);
}

int
connect(int fd, const struct sockaddr *address, socklen_t bytes)
{
	return OURS_FAILS("connect", OR_INTERRUPTED(ECONNREFUSED)) ? -1 : (int) syscall(SYS_connect, fd, address, bytes);
}

int
accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict bytes, int flags)
{
	return OURS_FAILS("accept4", OR_INTERRUPTED(EMFILE)) ? -1 : (int) syscall(SYS_accept4, fd, address, bytes, flags);
}

ssize_t
sendmsg(int fd, const struct msghdr *message, int flags)
{
	return OURS_FAILS("sendmsg", OR_INTERRUPTED(ENOBUFS)) ? -1 : syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t
recvmsg(int fd, struct msghdr *message, int flags)
{
	return OURS_FAILS("recvmsg", OR_INTERRUPTED(ENOBUFS)) ? -1 : syscall(SYS_recvmsg, fd, message, flags);
}

ssize_t
recv(int fd, void *to, size_t bytes, int flags)
{
	return OURS_FAILS("recv", OR_INTERRUPTED(ENOBUFS)) ? -1 : syscall(SYS_recvfrom, fd, to, bytes, flags, NULL, NULL);
}

int
poll(struct pollfd *fds, nfds_t count, int timeout)
{
	return OURS_FAILS("poll", OR_INTERRUPTED(ENOMEM)) ? -1 : (int) syscall(SYS_poll, fds, count, timeout);
}

int
pipe2(int fds[2], int flags)
{
	return OURS_FAILS("pipe2", EMFILE) ? -1 : (int) syscall(SYS_pipe2, fds, flags);
}

int
madvise(void *place, size_t bytes, int advice)
{
	return OURS_FAILS("madvise", EAGAIN) ? -1 : (int) syscall(SYS_madvise, place, bytes, advice);
}

int
fcntl(int fd, int command, ...)
{
	va_list		more;
	void	   *argument;

	va_start(more, command);
	argument = va_arg(more, void *);
	va_end(more);
	/* that of a file in memory cannot fail, and is how one that is none shows itself */
	if (command == F_GET_SEALS)
		return (int) syscall(SYS_fcntl, fd, command, argument);
	return OURS_FAILS("fcntl", ENOLCK) ? -1 : (int) syscall(SYS_fcntl, fd, command, argument);
}

int
pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict options, void *(*start) (void *),
			   void *restrict argument)
{
	typedef int (*creator) (pthread_t *, const pthread_attr_t *, void *(*) (void *), void *);

	return OURS_FAILS("pthread_create", EAGAIN) ? EAGAIN :
		((creator) dlsym(RTLD_NEXT, "pthread_create")) (thread, options, start, argument);
}

int
ftruncate(int fd, off_t bytes)
{
	return file_fails(fd, "ftruncate", OR_INTERRUPTED(ENOSPC), CALLER, false) ? -1 :
		(int) syscall(SYS_ftruncate, fd, bytes);
}

int
posix_fallocate(int fd, off_t from, off_t bytes)
{
	if (file_fails(fd, "posix_fallocate", OR_INTERRUPTED(ENOSPC), CALLER, false))
		return errno;
	return syscall(SYS_fallocate, fd, 0, from, bytes) == 0 ? 0 : errno;
}

int
fallocate(int fd, int mode, off_t from, off_t bytes)
{
	return file_fails(fd, "fallocate", OR_INTERRUPTED(ENOSPC), CALLER, false) ? -1 :
		(int) syscall(SYS_fallocate, fd, mode, from, bytes);
}

ssize_t
read(int fd, void *to, size_t bytes)
{
	return file_fails(fd, "read", OR_INTERRUPTED(EIO), CALLER, false) ? -1 : syscall(SYS_read, fd, to, bytes);
}

ssize_t
write(int fd, const void *from, size_t bytes)
{
	return file_fails(fd, "write", OR_INTERRUPTED(ENOSPC), CALLER, false) ? -1 : syscall(SYS_write, fd, from, bytes);
}

ssize_t
pread(int fd, void *to, size_t bytes, off_t place)
{
	return file_fails(fd, "pread", OR_INTERRUPTED(EIO), CALLER, false) ? -1 :
		syscall(SYS_pread64, fd, to, bytes, place);
}

ssize_t
pwrite(int fd, const void *from, size_t bytes, off_t place)
{
	return file_fails(fd, "pwrite", OR_INTERRUPTED(ENOSPC), CALLER, true) ? -1 :
		syscall(SYS_pwrite64, fd, from, bytes, place);
}

ssize_t
preadv(int fd, const struct iovec *parts, int count, off_t place)
{
	return file_fails(fd, "preadv", OR_INTERRUPTED(EIO), CALLER, false) ? -1 :
		syscall(SYS_preadv, fd, parts, (long) count, (long) place, 0L);
}

ssize_t
pwritev(int fd, const struct iovec *parts, int count, off_t place)
{
	return file_fails(fd, "pwritev", OR_INTERRUPTED(ENOSPC), CALLER, true) ? -1 :
		syscall(SYS_pwritev, fd, parts, (long) count, (long) place, 0L);
}

/* what a program is linked to that asks for files larger than 2 GB */
int			open64(const char *path, int flags, ...) __attribute__((alias("open")));
int			ftruncate64(int fd, off64_t bytes) __attribute__((alias("ftruncate")));
int			fcntl64(int fd, int command, ...) __attribute__((alias("fcntl")));
ssize_t		pread64(int fd, void *to, size_t bytes, off64_t place) __attribute__((alias("pread")));
ssize_t		pwrite64(int fd, const void *from, size_t bytes, off64_t place) __attribute__((alias("pwrite")));
ssize_t		preadv64(int fd, const struct iovec *parts, int count, off64_t place) __attribute__((alias("preadv")));
ssize_t		pwritev64(int fd, const struct iovec *parts, int count, off64_t place) __attribute__((alias("pwritev")));
