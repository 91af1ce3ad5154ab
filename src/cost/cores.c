/*
 * plan_cores.c: how many processes of a plan can run at the same time.
 *
 * The server prices a parallel plan as if each worker had a core of its own.  Where it has none, workers that divide
 * what one process does take longer than that, and those that each do some work once more, as participants of shares
 * do, also take the others' time.
 */
#include "postgres.h"

#include <math.h>
#include <sched.h>
#include <unistd.h>

#include "optimizer/optimizer.h"
#include "storage/fd.h"

#include "src/base/guc.h"
#include "cores.h"

/* Where the second version of control groups is looked for. */
#define CGROUPS "/sys/fs/cgroup"

/* Of 1024 cores each: the system refuses to answer where there is no room for all that the machine could have. */
#define CPU_SETS 8

/* Cores that this process may run on. */
static double
cores_allowed(void)
{
	cpu_set_t	sets[CPU_SETS];

	if (sched_getaffinity(0, sizeof(sets), sets) == 0)
		return CPU_COUNT_S(sizeof(sets), sets);
	/* there are more than the sets have room for */
	return Max(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

/* Reads the first line that begins so, without its end; false if there is none. */
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

/* What the control group of that path may take of the machine's time, in cores. */
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
	/* nor does what is no number limit anything */
	if (!(quota > 0 && period > 0))
		return INFINITY;
	return quota / period;
}

/* The same of this process, whose group is in others; in a container the path may lead past what can be seen. */
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

/* Cores that the processes of a query have. */
static double
cores_at_hand(void)
{
	static double granted = 0;	/* not asked yet */

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
