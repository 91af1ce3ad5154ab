/*
 * worker.c: the background worker that starts gpusortd, looks after it, and ends it.
 *
 * The service is a process of its own, so that no fault of a GPU or its driver can reach the server: the server restarts when a process
 * of its own dies, this worker included, but the worker does nothing that could fail.  It starts the service, asks it for a sign of life
 * every second, kills it if there is none, starts it again with growing delays, and gives up in the end.
 */
#include "postgres.h"

#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/spin.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "src/compat.h"
#include "src/guc.h"
#include "src/service/protocol.h"
#include "stat.h"
#include "worker.h"
#include "worker_environment.h"

PGDLLEXPORT void gpusort_worker_main(Datum arg);

#define HEARTBEAT_MS 1000
#define CONNECT_MS 20
/* A service that opens many devices on a busy machine takes a while. */
#define START_MS 60000
#define FIRST_DELAY_MS 100
/* So many ends in a row, each soon after the start, and no more is tried. */
#define MAX_FAILURES 6
#define GOOD_RUN_MS 10000
/* A service that cannot even be killed, because its driver holds it, is left behind after a while. */
#define KIND_MS 500
#define KILL_MS 5000
/* A demand for a worker that did not come is forgotten; a missing GPU, whose driver may have come up after the server, looked for again. */
#define DEMAND_MS 10000
#define NO_DEVICE_MS 600000
#define MAX_OPTIONS 40
/* Exit statuses beside those of protocol.h: no process could be made; and what the shell means by them. */
#define EXIT_NOT_FORKED 125
#define EXIT_NOT_EXECUTED 126
#define EXIT_NOT_FOUND 127

/* The service under this worker. */
static volatile pid_t service_pid;
static int	service_socket = -1;
static bool service_up;			/* it has said hello since it was started */
static TimestampTz started_at;
static TimestampTz asked_at;	/* for a sign of life */
static bool awaited;			/* none has come since */
static bool killed;				/* nothing but its end is expected of it */
static int	failures;
static char *options_used;

/* ---------------------------------------------------------------- in sessions */

bool
gpu_likely(void)
{
	static int	likely = -1;

	if (likely < 0)
		likely = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/nvidia0", F_OK) == 0 || access("/dev/dxg", F_OK) == 0;
	return likely == 1 || (gpusort_service_options && *gpusort_service_options);
}

/* Fills in what the static and the dynamic worker have in common. */
static void
describe_worker(BackgroundWorker *worker)
{
	memset(worker, 0, sizeof(*worker));
	strlcpy(worker->bgw_name, "gpusort service", BGW_MAXLEN);
	strlcpy(worker->bgw_type, "gpusort service", BGW_MAXLEN);
	strlcpy(worker->bgw_library_name, "gpusort", BGW_MAXLEN);
	strlcpy(worker->bgw_function_name, "gpusort_worker_main", BGW_MAXLEN);
	worker->bgw_flags = BGWORKER_SHMEM_ACCESS;
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
}

void
gpusort_worker_init(void)
{
	BackgroundWorker worker;

	if (!process_shared_preload_libraries_in_progress || gpusort_engine == ENGINE_CHOICE_CPU || !gpu_likely())
		return;
	describe_worker(&worker);
	worker.bgw_restart_time = 5;
	RegisterBackgroundWorker(&worker);
}

/* Is a worker here or on its way?  If not, this session has taken it upon itself to ask for one. */
static bool
claim_demand(void)
{
	GpusortShared *all = gpusort_shared();
	TimestampTz now = GetCurrentTimestamp();
	bool		mine = false;

	SpinLockAcquire(&all->mutex);
	if (all->service.worker_pid == 0 ||
		(all->service.worker_pid < 0 && TimestampDifferenceExceeds(all->service.demanded, now, DEMAND_MS)))
	{
		mine = true;
		all->service.worker_pid = -1;
		all->service.demanded = now;
	}
	SpinLockRelease(&all->mutex);
	return mine;
}

EngineFailure
service_verdict(void)
{
	ServiceShared service = service_state();

	if (service.state == SERVICE_GAVE_UP)
		return ENGINE_GAVE_UP;
	if (service.state == SERVICE_NO_DEVICE && service.since > PgReloadTime &&
		!TimestampDifferenceExceeds(service.since, GetCurrentTimestamp(), NO_DEVICE_MS))
		return ENGINE_NO_DEVICE;
	return ENGINE_OK;
}

EngineFailure
service_demand(void)
{
	GpusortShared *all = gpusort_shared();
	BackgroundWorker worker;
	BackgroundWorkerHandle *handle;

	if (!claim_demand())
		return ENGINE_OK;
	describe_worker(&worker);
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	if (RegisterDynamicBackgroundWorker(&worker, &handle))
		return ENGINE_OK;
	SpinLockAcquire(&all->mutex);
	all->service.worker_pid = 0;
	SpinLockRelease(&all->mutex);
	return ENGINE_NO_WORKER;
}

/* ---------------------------------------------------------------- in the worker */

/* Immediate shutdown: leaves no process and no file behind, with calls that a signal handler may make. */
static void
handle_quit(SIGNAL_ARGS)
{
	pid_t		pid = service_pid;

	if (pid > 0)
	{
		kill(pid, SIGKILL);
		(void) waitpid(pid, NULL, 0);
		unlink(GSD_SOCKET);
		unlink(GSD_LOCK);
	}
	_exit(2);
}

/* The service has ended, or is about to. */
static void
handle_child(SIGNAL_ARGS)
{
	int			save_errno = errno;

	SetLatch(MyLatch);
	errno = save_errno;
}

/* Ends the connection to the service. */
static void
hang_up(void)
{
	if (service_socket >= 0)
		close(service_socket);
	service_socket = -1;
}

/* Sends a signal and waits for the service's end; false if that has not come after so many milliseconds. */
static bool
end_service(pid_t pid, int sig, int ms)
{
	kill(pid, sig);
	for (int waited = 0; waitpid(pid, NULL, WNOHANG) == 0; waited += 10)
	{
		if (waited >= ms)
			return false;
		pg_usleep(10000);
	}
	return true;
}

/* Ends the service: kindly, then not. */
static void
stop_service(void)
{
	pid_t		pid = service_pid;

	hang_up();
	if (pid <= 0)
		return;
	if (!end_service(pid, SIGTERM, KIND_MS) && !end_service(pid, SIGKILL, KILL_MS))
		ereport(LOG, (errmsg("gpusort service (PID %d) was killed but does not end", (int) pid)));
	service_pid = 0;
	unlink(GSD_SOCKET);
	unlink(GSD_LOCK);
}

/* The worker's end, however it comes. */
static void
leave(int code, Datum arg)
{
	GpusortShared *all = gpusort_shared();

	stop_service();
	SpinLockAcquire(&all->mutex);
	if (all->service.worker_pid == MyProcPid)
	{
		all->service.worker_pid = 0;
		all->service.service_pid = 0;
		if (all->service.state != SERVICE_NO_DEVICE)
			all->service.state = SERVICE_NONE;
	}
	SpinLockRelease(&all->mutex);
}

/* The command line as one string, from the settings; what tests add comes last and wins. */
static char *
command_options(void)
{
	char		devices[256];
	int			n = 0;

	/* "0, 1" is one argument */
	for (const char *c = gpusort_devices; c && *c && n < (int) sizeof(devices) - 1; c++)
		if (!isspace((unsigned char) *c))
			devices[n++] = *c;
	devices[n] = '\0';
	return psprintf("--engine=gpu --devices=%s --max-device-memory=%d --pinned-memory=%d --stall=%d %s",
					devices, gpusort_max_device_memory, gpusort_pinned_memory,
					Max(1, gpusort_timeout / 1000), gpusort_service_options ? gpusort_service_options : "");
}

/* Splits it into arguments. */
static void
split_options(char *options, char **argv)
{
	int			n = 1;

	for (char *word = strtok(options, " "); word && n < MAX_OPTIONS - 1; word = strtok(NULL, " "))
		argv[n++] = word;
	argv[n] = NULL;
}

/* After fork: leaves all of the server behind and becomes the service.  The kernel kills it when the worker dies. */
static void
become_service(const char *path, char **argv, char **envp, pid_t worker)
{
	sigset_t	none;

	setsid();					/* the postmaster signals whole process groups */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != worker)
		_exit(1);
	for (int sig = 1; sig < NSIG; sig++)
		(void) signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
#ifdef SYS_close_range
	if (syscall(SYS_close_range, 3, ~0U, 0) != 0)
#endif
		for (int fd = 3; fd < (int) sysconf(_SC_OPEN_MAX); fd++)
			close(fd);
	execve(path, argv, envp);
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTED);
}

/* Starts the service. */
static void
start_service(void)
{
	char		path[MAXPGPATH];
	char	   *slash;
	char	   *argv[MAX_OPTIONS];
	char	  **envp;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	char	   *options;
	pid_t		worker = getpid();
	pid_t		pid;
	sigset_t	all;
	sigset_t	before;

	strlcpy(path, my_exec_path, sizeof(path));
	slash = strrchr(path, '/');
	strlcpy(slash ? slash + 1 : path, "gpusortd", sizeof(path) - (slash ? slash + 1 - path : 0));
	if (options_used)
		pfree(options_used);
	options_used = command_options();
	options = pstrdup(options_used);
	argv[0] = path;
	split_options(options, argv);
	envp = service_environment();
	unlink(GSD_SOCKET);			/* nobody shall knock at an old door */
	started_at = asked_at = GetCurrentTimestamp();
	awaited = true;
	service_up = killed = false;
	fflush(stdout);
	fflush(stderr);
	/* nothing may happen between fork and knowing the child */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid = fork();
	if (pid == 0)
		become_service(path, argv, envp, worker);
	service_pid = pid > 0 ? pid : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	pfree(envp);
	pfree(options);
	MemoryContextSwitchTo(old);
	if (pid < 0)
		ereport(LOG, (errmsg("gpusort could not start \"%s\": %m", path)));
	service_set_state(SERVICE_STARTING, service_pid);
}

/* Connects and says hello, as soon as the service listens. */
static void
call_service(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GSD_SOCKET};
	gsd_hello	hello;

	service_socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	gsd_head(&hello.head, GSD_HELLO, sizeof(hello));
	hello.magic = GSD_MAGIC;
	hello.version = GSD_VERSION;
	if (service_socket < 0 || connect(service_socket, (struct sockaddr *) &address, sizeof(address)) != 0 ||
		gsd_send(service_socket, &hello.head, -1) != GSD_IO_OK)
		hang_up();
}

/* Ends a service that speaks another version, as one does that was installed since the server loaded its library; trying again is vain. */
static void
dismiss_service(void)
{
	ereport(LOG,
			(errmsg("gpusort service (PID %d) is of another version than the library that the server has loaded", (int) service_pid),
			 errhint("Restart the server.")));
	kill(service_pid, SIGKILL);
	killed = true;
	failures = MAX_FAILURES;
	hang_up();
}

/* Takes what the service says; any of it is a sign of life. */
static void
listen_to_service(void)
{
	gsd_message message;

	while (service_socket >= 0)
	{
		gsd_io		io = gsd_receive(service_socket, &message, false, NULL);

		if (io == GSD_IO_AGAIN)
			return;
		if (io != GSD_IO_OK)
		{
			hang_up();
			return;
		}
		if (message.head.type == GSD_WELCOME && message.welcome.status != GS_OK)
		{
			dismiss_service();
			return;
		}
		awaited = false;
		if (service_up)
			continue;
		service_up = true;
		pg_atomic_write_u64(&gpusort_shared()->broken_until, 0);
		service_set_state(SERVICE_RUNNING, service_pid);
	}
}

/* Asks for a sign of life when it is time, and kills the service that has given none for too long. */
static void
check_pulse(void)
{
	TimestampTz now = GetCurrentTimestamp();
	int			limit = service_up ? gpusort_timeout : Max(START_MS, gpusort_timeout);
	gsd_count	ping;

	if (!killed && awaited && TimestampDifferenceExceeds(asked_at, now, limit))
	{
		ereport(LOG, (errmsg("gpusort service (PID %d) does not answer and is killed", (int) service_pid)));
		kill(service_pid, SIGKILL);
		killed = true;			/* the rest is told by its end */
		return;
	}
	if (awaited || !TimestampDifferenceExceeds(asked_at, now, HEARTBEAT_MS))
		return;
	gsd_head(&ping.head, GSD_PING, sizeof(ping));
	asked_at = now;
	awaited = true;
	if (service_socket >= 0)	/* else hello has been said again, or will be */
		(void) gsd_send(service_socket, &ping.head, -1);
}

/* In how many milliseconds a service that ended is started again; 0 never. */
static int
next_delay(int status)
{
	int			code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	if (TimestampDifferenceExceeds(started_at, GetCurrentTimestamp(), GOOD_RUN_MS))
		failures = 0;
	failures++;
	if (code == GSD_EXIT_USAGE || code == EXIT_NOT_EXECUTED || code == EXIT_NOT_FOUND || failures >= MAX_FAILURES)
		return 0;
	return FIRST_DELAY_MS << (failures - 1);
}

/* Puts the service's end into words. */
static const char *
end_text(int status)
{
	if (WIFSIGNALED(status))
		return psprintf("was ended by signal %d", WTERMSIG(status));
	switch (WEXITSTATUS(status))
	{
		case EXIT_NOT_FORKED:
			return "could not be given a process";
		case EXIT_NOT_FOUND:
			return "could not be found in the server's folder of programs";
		case EXIT_NOT_EXECUTED:
			return "could not be executed";
		case GSD_EXIT_STALLED:
			return "ended because a job made no progress";
		case GSD_EXIT_DEVICE:
			return "ended because its device failed";
		default:
			return psprintf("ended with status %d", WEXITSTATUS(status));
	}
}

/* Looks whether the service has ended, and when to start it again; returns the delay, 0 never, -1 it lives. */
static int
check_end(void)
{
	int			status;
	int			delay;
	pid_t		old = service_pid;
	MemoryContext scratch;

	if (old > 0 && waitpid(old, &status, WNOHANG) != old)
		return -1;
	if (old <= 0)
		status = EXIT_NOT_FORKED << 8;
	service_pid = 0;
	hang_up();
	unlink(GSD_SOCKET);
	unlink(GSD_LOCK);
	if (WIFEXITED(status) && WEXITSTATUS(status) == GSD_EXIT_NO_DEVICE)
	{
		service_set_state(SERVICE_NO_DEVICE, 0);
		proc_exit(0);
	}
	delay = next_delay(status);
	scratch = CurrentMemoryContext;
	if (delay > 0)
		ereport(LOG, (errmsg("gpusort service (PID %d) %s; it is started again in %d ms", (int) old, end_text(status), delay)));
	else
		ereport(LOG,
				(errmsg("gpusort service (PID %d) %s; no more attempts are made", (int) old, end_text(status)),
				 errhint("Sorts run on the CPU. Reload the server's configuration to try again.")));
	MemoryContextSwitchTo(scratch);
	service_set_state(delay > 0 ? SERVICE_WAITING : SERVICE_GAVE_UP, 0);
	return delay;
}

/* Reads the configuration again; true if the service must be started with it. */
static bool
reload(void)
{
	char	   *options;
	bool		changed;

	ConfigReloadPending = false;
	failures = 0;				/* whoever reloads means to try again */
	ProcessConfigFile(PGC_SIGHUP);
	options = command_options();
	changed = options_used == NULL || strcmp(options, options_used) != 0;
	pfree(options);
	return changed || service_pid == 0;
}

/* Sleeps until something happens; false if the postmaster is gone. */
static bool
doze(long ms)
{
	int			events = WL_LATCH_SET | WL_TIMEOUT | WL_POSTMASTER_DEATH;
	int			what;

	if (service_socket >= 0)
		what = WaitLatchOrSocket(MyLatch, events | WL_SOCKET_READABLE, service_socket, ms, compat_wait_event("GpusortWorker"));
	else
		what = WaitLatch(MyLatch, events, ms, compat_wait_event("GpusortWorker"));
	ResetLatch(MyLatch);
	return !(what & WL_POSTMASTER_DEATH);
}

/* Counts a start that is not the first. */
static void
count_restart(void)
{
	GpusortShared *all = gpusort_shared();

	SpinLockAcquire(&all->mutex);
	all->service.restarts++;
	SpinLockRelease(&all->mutex);
}

/* Runs until the service has ended or must be started anew; returns the delay before that, 0: wait for a reload, -1: none. */
static int
attend(void)
{
	while (!ShutdownRequestPending)
	{
		int			delay;

		if (!doze(service_up && service_socket >= 0 ? HEARTBEAT_MS : CONNECT_MS))
			proc_exit(1);
		if (ConfigReloadPending && reload())
		{
			stop_service();
			return -1;
		}
		delay = check_end();
		if (delay >= 0)
			return delay;
		if (service_socket < 0 && !killed)
			call_service();
		listen_to_service();
		check_pulse();
	}
	return -1;
}

/* Lets a delay pass; a reload ends it, and is all that ends one of 0. */
static void
rest(int delay)
{
	TimestampTz until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(), delay);

	while (!ShutdownRequestPending && !ConfigReloadPending)
	{
		long		left = delay > 0 ? TimestampDifferenceMilliseconds(GetCurrentTimestamp(), until) : 3600 * 1000L;

		if (left <= 0)
			return;
		if (!doze(left))
			proc_exit(1);
	}
	if (ConfigReloadPending)
		(void) reload();
}

/* Looks after the service until told to end. */
static void
supervise(void)
{
	for (bool first = true; !ShutdownRequestPending; first = false)
	{
		int			delay;

		if (!first)
			count_restart();
		start_service();
		delay = attend();
		if (delay >= 0)
			rest(delay);
	}
}

/* Is this the only worker?  The claim of whoever asked for it becomes its own. */
static bool
take_office(void)
{
	GpusortShared *all = gpusort_shared();
	bool		alone;

	SpinLockAcquire(&all->mutex);
	alone = all->service.worker_pid <= 0;
	if (alone)
		all->service.worker_pid = MyProcPid;
	SpinLockRelease(&all->mutex);
	return alone;
}

/* The worker's life. */
void
gpusort_worker_main(Datum arg)
{
	pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGQUIT, handle_quit);
	pqsignal(SIGCHLD, handle_child);
	BackgroundWorkerUnblockSignals();
	if (!take_office())
		proc_exit(0);
	before_shmem_exit(leave, (Datum) 0);
	supervise();
	proc_exit(0);
}
