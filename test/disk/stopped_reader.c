/*
 * stopped_reader.c: stops a process in the midst of reading a table, for LD_PRELOAD.
 *
 * The file that STOPPED_READER names, if it is there, has a word, a path's end and two numbers of blocks.  A process
 * with that word in its title sleeps for a tenth of a second before it reads the first of these blocks from a file with
 * that path's end.  Before the second one it removes STOPPED_READER's file and stops itself.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define BLOCK 8192

/* Returns true if this process has a word in its title. */
static int
has_title(const char *word)
{
	char		title[256] = "";
	FILE	   *file = fopen("/proc/self/cmdline", "r");

	if (file == NULL)
		return 0;
	title[fread(title, 1, sizeof(title) - 1, file)] = 0;
	fclose(file);
	return strstr(title, word) != NULL;
}

/* Returns true if a descriptor's path ends in a text. */
static int
has_end(int fd, const char *end)
{
	char		link[64];
	char		path[4096];
	ssize_t		len;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	len = readlink(link, path, sizeof(path) - 1);
	return len >= (ssize_t) strlen(end) && memcmp(path + len - strlen(end), end, strlen(end)) == 0;
}

/* Sleeps for a tenth of a second, whatever signals come. */
static void
pause_reader(void)
{
	struct timespec left = {0, 100000000};

	while (nanosleep(&left, &left) != 0)
		;
}

/* Sleeps or stops before a block is read. */
static void
before(int fd, off_t place)
{
	const char *control = getenv("STOPPED_READER");
	char		word[64];
	char		end[128];
	long		sleep_at;
	long		stop_at;
	FILE	   *file = control != NULL ? fopen(control, "r") : NULL;
	int			found = 0;

	if (file == NULL)
		return;
	found = fscanf(file, "%63s %127s %ld %ld", word, end, &sleep_at, &stop_at);
	fclose(file);
	if (found != 4 || !has_end(fd, end) || !has_title(word))
		return;
	if (place / BLOCK == sleep_at)
		pause_reader();
	if (place / BLOCK == stop_at)
	{
		unlink(control);
		raise(SIGSTOP);
	}
}

typedef ssize_t (*reader)(int, void *, size_t, off_t);
typedef ssize_t (*vector_reader)(int, const struct iovec *, int, off_t);

ssize_t
pread(int fd, void *to, size_t bytes, off_t place)
{
	reader		real = (reader) dlsym(RTLD_NEXT, "pread");

	before(fd, place);
	return real(fd, to, bytes, place);
}

ssize_t
pread64(int fd, void *to, size_t bytes, off_t place)
{
	return pread(fd, to, bytes, place);
}

ssize_t
preadv(int fd, const struct iovec *to, int n, off_t place)
{
	vector_reader real = (vector_reader) dlsym(RTLD_NEXT, "preadv");

	before(fd, place);
	return real(fd, to, n, place);
}

ssize_t
preadv64(int fd, const struct iovec *to, int n, off_t place)
{
	return preadv(fd, to, n, place);
}
