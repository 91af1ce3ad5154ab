/*
 * other_machine.c: a machine with other cores, and other control groups, for LD_PRELOAD.
 *
 * In the folder that OTHER_MACHINE names the file "cores" says how many of 2048 cores a process may run on; "cgroup" is
 * what /proc/self/cgroup is to be, and "groups" what /sys/fs/cgroup is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Cores of the machine, and the first one that a process may run on. */
#define CORES 2048
#define FIRST 1500

typedef FILE *(*open_call)(const char *path, const char *mode);

/* The path in the folder that stands for one of the system, which begins with the given text. */
static const char *
other_path(const char *path, const char *begin, const char *name, char *to, size_t size)
{
	const char *folder = getenv("OTHER_MACHINE");

	if (folder == NULL || strncmp(path, begin, strlen(begin)) != 0)
		return path;
	snprintf(to, size, "%s/%s%s", folder, name, path + strlen(begin));
	return to;
}

/* Opens a file, or the one that stands for it. */
static FILE *
open_other(const char *path, const char *mode)
{
	open_call	real = (open_call) dlsym(RTLD_NEXT, "fopen");
	char		place[4096];

	path = other_path(path, "/proc/self/cgroup", "cgroup", place, sizeof(place));
	return real(other_path(path, "/sys/fs/cgroup", "groups", place, sizeof(place)), mode);
}

FILE *
fopen(const char *path, const char *mode)
{
	return open_other(path, mode);
}

/* What fopen is where offsets are declared to have 64 bits. */
FILE *
fopen64(const char *path, const char *mode)
{
	return open_other(path, mode);
}

/* As the system does, gives no answer where there is no room for all cores. */
int
sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
	char		path[4096];
	FILE	   *file;
	int			count = 1;

	(void) process;
	if (size < CORES / 8)
	{
		errno = EINVAL;
		return -1;
	}
	file = fopen(other_path("cores", "", "", path, sizeof(path)), "r");
	if (file != NULL && fscanf(file, "%d", &count) != 1)
		count = 1;
	if (file != NULL)
		fclose(file);
	memset(set, 0, size);
	for (int i = 0; i < count; i++)
		CPU_SET_S((size_t) (FIRST + i), size, set);
	return 0;
}
