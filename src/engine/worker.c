/*
 * worker.c: the background worker that starts, supervises and stops gpusortd.  The service is a separate process, so
 * that a fault of a GPU or its driver cannot reach the server.  The server restarts when this worker crashes, so it
 * does nothing that could fail.  It pings the service every second, kills it if there is no answer, and restarts it
 * with growing delays.
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
#include "utils/wait_event.h"

#include "src/base/compat.h"
#include "src/base/guc.h"
#include "src/service/protocol.h"
#include "stat.h"
#include "worker.h"
#include "worker_end.h"
#include "worker_environment.h"
#include "worker_log.h"

PGDLLEXPORT void gpusort_worker_main(Datum arg);

#define HEARTBEAT_MS 1000
#define CONNECT_MS 20
/* Opening many devices on a busy machine takes a while. */
#define START_MS 60000
/* A service that ran this long does not count towards consecutive failures. */
#define GOOD_RUN_MS 10000
/* Time to stop before SIGKILL.  A service that cannot be killed, as its driver blocks, is abandoned after a while. */
#define KIND_MS 500
#define KILL_MS 5000
#define MAX_OPTIONS 40

/* The running service. */
static volatile pid_t service_pid;
static int	service_socket = -1;
static bool service_up;			/* it has said hello since its start */
static bool worked;				/* so has an earlier one */
static int64 up_at;		/* time of hello */
static int64 asked_at;	/* time of the last ping */
static bool awaited;			/* a ping is unanswered */
static const char *killed;		/* reason, once the service is only expected to end */
static int	failures;			/* consecutive ends soon after the start */
static char *options_used;

/* Immediate shutdown: leaves no process and no file behind.  Async-signal-safe. */
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

/* Handles SIGCHLD. */
static void
handle_child(SIGNAL_ARGS)
{
	int			save_errno = errno;

	SetLatch(MyLatch);
	errno = save_errno;
}

/* Closes the connection to the service. */
static void
hang_up(void)
{
	if (service_socket >= 0)
		close(service_socket);
	service_socket = -1;
}

/* Sends a signal and waits for the service to end.  Returns false after ms milliseconds. */
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

/* Stops the service: first politely, then by SIGKILL. */
static void
stop_service(void)
{
	pid_t		pid = service_pid;

	hang_up();
	if (pid <= 0)
		return;
	if (!end_service(pid, SIGTERM, KIND_MS) && !end_service(pid, SIGKILL, KILL_MS))
		ereport(LOG, (errmsg("gpusort service (PID %d) was killed but does not end", (int) pid)));
	worker_log_close();
	service_pid = 0;
	unlink(GSD_SOCKET);
	unlink(GSD_LOCK);
}

/* Exit callback of the worker. */
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
		{
			all->service.state = SERVICE_NONE;
			all->service.next_attempt = 0;
			all->service.reason[0] = '\0';
		}
	}
	SpinLockRelease(&all->mutex);
}

/* Builds the command line from the settings.  Options that tests add come last and take precedence. */
static char *
command_options(void)
{
	char		devices[256];
	int			n = 0;

	/* keep "0, 1" a single argument */
	for (const char *c = gpusort_devices; c && *c && n < (int) sizeof(devices) - 1; c++)
		if (!isspace((unsigned char) *c))
			devices[n++] = *c;
	devices[n] = '\0';
	return psprintf("--engine=gpu --devices=%s --max-device-memory=%d --pinned-memory=%d --stall=%d %s",
					devices, gpusort_max_device_memory, gpusort_pinned_memory,
					Max(1, gpusort_timeout / 1000), gpusort_service_options ? gpusort_service_options : "");
}

/* Returns true if the service is to stay without a device, and there was none before that may be back. */
static bool
columns_suffice(void)
{
	return service_state().columns_wanted && !worked;
}

/* Splits the command line into arguments. */
static void
split_options(char *options, char **argv, bool columns)
{
	int			n = 1;

	if (columns)
		argv[n++] = "--columns";
	for (char *word = strtok(options, " "); word && n < MAX_OPTIONS - 1; word = strtok(NULL, " "))
		argv[n++] = word;
	argv[n] = NULL;
}

/* Turns the forked process into the service, which logs into the pipe and dies with the worker. */
static void
become_service(const char *path, char **argv, char **envp, pid_t worker, int log)
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
	dup2(log, STDOUT_FILENO);
	dup2(log, STDERR_FILENO);
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
	char	   *argv[MAX_OPTIONS];
	char	  **envp;
	MemoryContext old = MemoryContextSwitchTo(TopMemoryContext);
	char	   *options;
	pid_t		worker = getpid();
	pid_t		pid = -1;
	int			log;
	sigset_t	all;
	sigset_t	before;

	service_path(path);
	if (options_used)
		pfree(options_used);
	options_used = command_options();
	options = pstrdup(options_used);
	argv[0] = path;
	split_options(options, argv, columns_suffice());
	envp = service_environment();
	unlink(GSD_SOCKET);			/* nobody shall connect to a stale socket */
	asked_at = gsd_now_ms();
	awaited = true;
	service_up = false;
	killed = NULL;
	fflush(stdout);
	fflush(stderr);
	log = worker_log_open();
	/* no signal until the child's pid is recorded */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	if (log >= 0)
		pid = fork();
	if (pid == 0)
		become_service(path, argv, envp, worker, log);
	service_pid = pid > 0 ? pid : 0;
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		ereport(LOG, (errmsg("gpusort could not start \"%s\": %m", path)));
	if (log >= 0)
		close(log);
	pfree(envp);
	pfree(options);
	MemoryContextSwitchTo(old);
	service_set_state(SERVICE_STARTING, service_pid, NULL, 0);
}

/* Connects and says hello, once the service listens. */
static void
call_service(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GSD_SOCKET};
	gsd_hello	hello;

	service_socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	gsd_head(&hello.head, GSD_HELLO, sizeof(hello));
	hello.magic = GSD_MAGIC;
	hello.version = GSD_VERSION;
	hello.owner = 0;
	if (service_socket < 0 || connect(service_socket, (struct sockaddr *) &address, sizeof(address)) != 0 ||
		gsd_send(service_socket, &hello.head, -1) != GSD_IO_OK)
		hang_up();
}

/* Sends the limits of resident columns, which need no restart. */
static void
send_settings(void)
{
	gsd_settings settings;

	gsd_head(&settings.head, GSD_SETTINGS, sizeof(settings));
	settings.host_bytes = (uint64) gpusort_columns_memory << 20;
	settings.device_bytes = (uint64) gpusort_columns_device_memory << 20;
	settings.threads = gpusort_columns_threads;
	if (service_socket >= 0)
		(void) gsd_send(service_socket, &settings.head, -1);
}

/* Records that the service is there. */
static void
service_came(bool columns_only)
{
	service_up = true;
	worked |= !columns_only;
	up_at = gsd_now_ms();
	pg_atomic_write_u64(&gpusort_shared()->broken_until, 0);
	service_set_state(columns_only ? SERVICE_COLUMNS : SERVICE_RUNNING, service_pid,
					  columns_only ? engine_failure_text(ENGINE_NO_DEVICE) : NULL, 0);
	send_settings();
}

/* Stops a service of another version, as one installed since the server loaded its library. */
static void
dismiss_service(void)
{
	kill(service_pid, SIGKILL);
	killed = "is of another version than the library that the server has loaded: the server has to be restarted";
	failures = VAIN_FAILURES;
	hang_up();
}

/* Reads messages of the service.  Each is a sign of life. */
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
		if (!service_up)
			service_came(message.head.type == GSD_WELCOME && message.welcome.columns_only);
	}
}

/* Pings the service when due, and kills it if it has not answered in time. */
static void
check_pulse(void)
{
	int64		now = gsd_now_ms();
	int			limit = service_up ? gpusort_timeout : Max(START_MS, gpusort_timeout);
	gsd_count	ping;

	if (!killed && awaited && now - asked_at > limit)
	{
		ereport(LOG, (errmsg("gpusort service (PID %d) does not answer and is killed", (int) service_pid)));
		kill(service_pid, SIGKILL);
		killed = "did not answer and was killed";
		return;
	}
	if (awaited || now - asked_at < HEARTBEAT_MS)
		return;
	gsd_head(&ping.head, GSD_PING, sizeof(ping));
	asked_at = now;
	awaited = true;
	if (service_socket >= 0)	/* otherwise hello was repeated, or will be */
		(void) gsd_send(service_socket, &ping.head, -1);
}

/* Counts consecutive failures, starting over after a good run. */
static void
count_end(int status)
{
	if (service_up && gsd_now_ms() - up_at > GOOD_RUN_MS)
		failures = 0;
	failures++;
	if (end_vain(status))
		failures = VAIN_FAILURES;
}

/* Logs that the service has ended and when it will be restarted. */
static void
report_end(int pid, const char *text, long delay)
{
	if (failures < MANY_FAILURES)
		ereport(LOG, (errmsg("gpusort service (PID %d) %s; it is started again in %ld ms", pid, text, delay)));
	else
		ereport(LOG,
				(errmsg("gpusort service (PID %d) %s; it is started again in %ld s", pid, text, delay / 1000),
				 errhint("Sorts run on the CPU until then. Reload the server's configuration to try again at once.")));
}

/* Handles a service without a device.  If there never was one, the worker exits and returns on demand. */
static void
lose_device(const char *reason)
{
	if (!worked)
	{
		service_set_state(SERVICE_NO_DEVICE, 0, reason, NO_DEVICE_MS);
		proc_exit(0);
	}
	failures = Max(failures, MANY_FAILURES);
}

/* Checks whether the service has ended.  Returns the delay before its restart, or -1 if it lives. */
static long
check_end(void)
{
	char		text[SERVICE_REASON_BYTES];
	const char *reason;
	int			status;
	long		delay;
	pid_t		old = service_pid;
	bool		no_device;

	if (old > 0 && waitpid(old, &status, WNOHANG) != old)
		return -1;
	if (old <= 0)
		status = EXIT_NOT_FORKED << 8;
	service_pid = 0;
	hang_up();
	worker_log_close();
	unlink(GSD_SOCKET);
	unlink(GSD_LOCK);
	if (killed)
		strlcpy(text, killed, sizeof(text));
	else
		end_text(status, text, sizeof(text));
	reason = !killed && end_explained(status) && *worker_log_last() ? worker_log_last() : text;
	count_end(status);
	no_device = WIFEXITED(status) && WEXITSTATUS(status) == GSD_EXIT_NO_DEVICE;
	if (no_device)
		lose_device(reason);
	delay = restart_delay(failures);
	report_end(old, text, delay);
	service_set_state(no_device ? SERVICE_NO_DEVICE : failures < MANY_FAILURES ? SERVICE_WAITING : SERVICE_GAVE_UP, 0,
					  reason, delay);
	return delay;
}

/* Reloads the configuration.  Returns true if the service must be restarted. */
static bool
reload(void)
{
	char	   *options;
	bool		changed;

	ConfigReloadPending = false;
	failures = 0;				/* a reload means to try again */
	ProcessConfigFile(PGC_SIGHUP);
	options = command_options();
	changed = options_used == NULL || strcmp(options, options_used) != 0;
	pfree(options);
	if (!changed && service_up)
		send_settings();
	return changed || service_pid == 0;
}

/* Sleeps until an event, here or on the service's connection.  Returns false if the postmaster is gone. */
static bool
doze(long ms)
{
	WaitEventSet *set = compat_wait_event_set(4);
	WaitEvent	event = {0};

	AddWaitEventToSet(set, WL_POSTMASTER_DEATH, PGINVALID_SOCKET, NULL, NULL);
	AddWaitEventToSet(set, WL_LATCH_SET, PGINVALID_SOCKET, MyLatch, NULL);
	if (service_socket >= 0)
		AddWaitEventToSet(set, WL_SOCKET_READABLE, service_socket, NULL, NULL);
	if (worker_log_fd() >= 0)
		AddWaitEventToSet(set, WL_SOCKET_READABLE, worker_log_fd(), NULL, NULL);
	(void) WaitEventSetWait(set, ms, &event, 1, compat_wait_event("GpusortWorker"));
	FreeWaitEventSet(set);
	ResetLatch(MyLatch);
	return event.events != WL_POSTMASTER_DEATH;
}

/* Counts a restart. */
static void
count_restart(void)
{
	GpusortShared *all = gpusort_shared();

	SpinLockAcquire(&all->mutex);
	all->service.restarts++;
	SpinLockRelease(&all->mutex);
}

/* Runs until the service has ended or must be restarted.  Returns the delay before that. */
static long
attend(void)
{
	while (!ShutdownRequestPending)
	{
		long		delay;

		if (!doze(service_up && service_socket >= 0 ? HEARTBEAT_MS : CONNECT_MS))
			proc_exit(1);
		if (ConfigReloadPending && reload())
		{
			stop_service();
			return 0;
		}
		worker_log_relay();
		delay = check_end();
		if (delay >= 0)
			return delay;
		if (service_socket < 0 && !killed)
			call_service();
		listen_to_service();
		check_pulse();
	}
	return 0;
}

/* Waits for a delay.  A reload ends it. */
static void
rest(long delay)
{
	int64		until = gsd_now_ms() + delay;

	while (!ShutdownRequestPending && !ConfigReloadPending)
	{
		long		left = (long) (until - gsd_now_ms());

		if (left <= 0)
			return;
		if (!doze(left))
			proc_exit(1);
	}
	if (ConfigReloadPending)
		(void) reload();
}

/* Supervises the service until shutdown. */
static void
supervise(void)
{
	for (bool first = true; !ShutdownRequestPending; first = false)
	{
		if (!first)
			count_restart();
		start_service();
		rest(attend());
	}
}

/* Returns true if this is the only worker.  Takes over the claim of the session that requested it. */
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

/* Main function of the worker. */
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
