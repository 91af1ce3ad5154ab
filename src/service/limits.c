/*
 * limits.c: the memory and the cores that this process may use: the machine's, within its control groups.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "service.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The mount point of control groups, version 2. */
#define CGROUPS "/sys/fs/cgroup"
#define PATH_BYTES 4096

/* Reads the first line of a file of a control group.  Returns false if there is none, as in some containers. */
static bool
read_limit(const char *group, const char *file, char *line, int bytes)
{
	char path[PATH_BYTES + 64];
	FILE *in;
	bool found;

	snprintf(path, sizeof(path), CGROUPS "%s/%s", group, file);
	in = fopen(path, "re");
	if (in == NULL)
		return false;
	found = fgets(line, bytes, in) != NULL;
	fclose(in);
	return found;
}

/* Returns this process's control group, "" for the root or if it is unknown. */
static void
own_group(char *group)
{
	FILE *in = fopen("/proc/self/cgroup", "re");
	char line[PATH_BYTES];

	group[0] = '\0';
	while (in != NULL && fgets(line, sizeof(line), in) != NULL)
		if (strncmp(line, "0::/", 4) == 0)
			strcpy(group, line + 3);
	if (in != NULL)
		fclose(in);
	group[strcspn(group, "\n")] = '\0';
}

/* Calls a function with a file's line of this process's group and of all above it. */
static void
each_group(const char *file, void (*take)(const char *line, double *limit), double *limit)
{
	char group[PATH_BYTES], line[128];

	own_group(group);
	for (;;)
	{
		char *last = strrchr(group, '/');

		if (read_limit(group, file, line, sizeof(line)))
			take(line, limit);
		if (last == NULL)
			return;
		*last = '\0';
	}
}

/* Lowers a number of cores to a group's quota, "max" or two times in microseconds. */
static void
take_quota(const char *line, double *cores)
{
	double quota, period;

	if (sscanf(line, "%lf %lf", &quota, &period) == 2 && quota > 0 && period > 0 && quota / period < *cores)
		*cores = quota / period;
}

/* Lowers bytes to a group's limit, "max" or bytes. */
static void
take_memory(const char *line, double *bytes)
{
	double limit;

	if (sscanf(line, "%lf", &limit) == 1 && limit > 0 && limit < *bytes)
		*bytes = limit;
}

int
gsd_cores(void)
{
	cpu_set_t set;
	double cores = (double) sysconf(_SC_NPROCESSORS_ONLN);

	if (sched_getaffinity(0, sizeof(set), &set) == 0)
		cores = CPU_COUNT(&set);
	each_group("cpu.max", take_quota, &cores);
	return cores < 1 ? 1 : cores > GSD_MAX_THREADS ? GSD_MAX_THREADS : (int) cores;
}

uint64_t
gsd_memory(void)
{
	double bytes = (double) sysconf(_SC_PHYS_PAGES) * (double) sysconf(_SC_PAGESIZE);

	each_group("memory.max", take_memory, &bytes);
	return (uint64_t) bytes;
}
