/*
 * cores.c: how many processes of a plan can run simultaneously.  The server costs a parallel plan as if each worker had
 * its own core.  With fewer cores, workers take longer for the work they divide.  Work that each worker repeats, as
 * participants of shares do, also takes time from the others.
 */
#include "postgres.h"

#include <math.h>
#include <sched.h>
#include <unistd.h>

#include "optimizer/optimizer.h"
#include "storage/fd.h"

#include "src/base/guc.h"
#include "cores.h"

/* The mount point of control groups, version 2. */
#define CGROUPS "/sys/fs/cgroup"

/* Sets of 1024 cores.  sched_getaffinity fails if the machine may have more cores than fit. */
#define CPU_SETS 8

/* Returns the number of cores that this process may run on. */
static double
cores_allowed(void)
{
	cpu_set_t	sets[CPU_SETS];

	if (sched_getaffinity(0, sizeof(sets), sets) == 0)
		return CPU_COUNT_S(sizeof(sets), sets);
	/* more cores than the sets can hold */
	return Max(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

/* Reads the first line that starts with a prefix, without its newline.  Returns false if there is none. */
static bool
read_line(const char *path, const char *prefix, char *line, int size)
{
	FILE	   *file = AllocateFile(path, "r");
	bool		found = false;

	if (file == NULL)
		return false;
	while (!found && fgets(line, size, file) != NULL)
		found = strncmp(line, prefix, strlen(prefix)) == 0;
	FreeFile(file);
	if (found)
		line[strcspn(line, "\n")] = '\0';
	return found;
}

/* Returns the CPU quota of a control group, in cores. */
static double
quota_of(const char *group)
{
	char		path[MAXPGPATH];
	char		line[64];
	double		quota;
	double		period;

	snprintf(path, sizeof(path), CGROUPS "%s/cpu.max", group);
	if (!read_line(path, "", line, sizeof(line)) || sscanf(line, "%lf %lf", &quota, &period) != 2)
		return INFINITY;
	/* an invalid quota limits nothing, either */
	if (!(quota > 0 && period > 0))
		return INFINITY;
	return quota / period;
}

/* Returns the lowest quota of this process's group and its ancestors.  In a container, some may be invisible. */
static double
cores_granted(void)
{
	char		line[MAXPGPATH];
	char	   *group = line + strlen("0::");
	double		granted;

	if (!read_line("/proc/self/cgroup", "0::/", line, sizeof(line)))
		return INFINITY;
	granted = quota_of("");
	while (*group != '\0')
	{
		granted = Min(granted, quota_of(group));
		*strrchr(group, '/') = '\0';
	}
	return granted;
}

/* Returns the number of cores available to the processes of a query. */
static double
cores_at_hand(void)
{
	static double granted = 0;	/* 0: not read yet */

	if (gpusort_cores > 0)
		return gpusort_cores;
	if (granted == 0)
		granted = Max(cores_granted(), 1);
	return Min(cores_allowed(), granted);
}

double
divisor_of(int workers)
{
	double		divisor = workers;

	if (parallel_leader_participation)
		divisor += Max(0, 1.0 - 0.3 * workers);
	return divisor;
}

double
crowding(int workers)
{
	return Max(divisor_of(workers) / cores_at_hand(), 1);
}

int
workers_at_once(int workers)
{
	return Min(workers, (int) cores_at_hand() - (parallel_leader_participation ? 1 : 0));
}
