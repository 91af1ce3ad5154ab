/*
 * faulty_disk.c: a disk that is full, slow in taking bytes, or broken, for temporary files, for LD_PRELOAD.
 *
 * The file that FAULTY_DISK names says what happens: "short": no call reads or writes more than half of what it was
 * asked for; "full N": N bytes of a file can be written; "broken": reading fails; "cut": a file ends where it is read;
 * "turned": a bit of what is read is another.  With a number, 0 where the fault has none, and a word behind it, only
 * files with that in their names have the fault.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t (*reader)(int, void *, size_t, off_t);
typedef ssize_t (*writer)(int, const void *, size_t, off_t);

/* What happens to a file: a word in fault, and a number behind it, or nothing. */
static long
fault_of(int fd, char fault[16])
{
	const char *control = getenv("FAULTY_DISK");
	char		link[64];
	char		path[4096];
	char		part[64] = "";
	long		number = 0;
	ssize_t		len;
	FILE	   *file;

	*fault = 0;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	if (control == NULL || len < 0)
		return 0;
	path[len] = 0;
	if (strstr(path, "pgsql_tmp") == NULL || (file = fopen(control, "r")) == NULL)
		return 0;
	if (fscanf(file, "%15s %ld %63s", fault, &number, part) < 1 || strstr(path, part) == NULL)
		*fault = 0;
	fclose(file);
	return number;
}

ssize_t
pwrite(int fd, const void *from, size_t bytes, off_t place)
{
	char		fault[16];
	long		number = fault_of(fd, fault);
	writer		real = (writer) dlsym(RTLD_NEXT, "pwrite");

	if (strcmp(fault, "short") == 0)
		bytes = (bytes + 1) / 2;
	if (strcmp(fault, "full") == 0 && place >= number)
	{
		errno = ENOSPC;
		return -1;
	}
	if (strcmp(fault, "full") == 0 && place + (off_t) bytes > number)
		bytes = number - place;
	return real(fd, from, bytes, place);
}

ssize_t
pread(int fd, void *to, size_t bytes, off_t place)
{
	char		fault[16];
	reader		real = (reader) dlsym(RTLD_NEXT, "pread");

	(void) fault_of(fd, fault);
	if (strcmp(fault, "short") == 0)
		bytes = (bytes + 1) / 2;
	if (strcmp(fault, "cut") == 0)
		return 0;
	if (strcmp(fault, "broken") == 0)
	{
		errno = EIO;
		return -1;
	}
	if (strcmp(fault, "turned") == 0)
	{
		ssize_t		got = real(fd, to, bytes, place);

		if (got > 0)
			((char *) to)[got / 2] ^= 0x10;
		return got;
	}
	return real(fd, to, bytes, place);
}

ssize_t
pwrite64(int fd, const void *from, size_t bytes, off64_t place)
{
	return pwrite(fd, from, bytes, place);
}

ssize_t
pread64(int fd, void *to, size_t bytes, off64_t place)
{
	return pread(fd, to, bytes, place);
}
