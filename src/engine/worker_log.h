/*
 * worker_log.h: what gpusortd writes to its standard output and error, for the server's log.
 */
#ifndef GPUSORT_WORKER_LOG_H
#define GPUSORT_WORKER_LOG_H

/* Makes a new pipe and returns its writing end, to be closed here once the service has it; -1 with errno. */
extern int	worker_log_open(void);

/* The reading end, to be waited for; -1: there is none, or nobody can write to it any more. */
extern int	worker_log_fd(void);

/* Logs the lines that have come.  Takes no more at once than a pipe holds, so that whoever writes on and on holds
 * nobody up. */
extern void worker_log_relay(void);

/* The service has ended: logs the rest, and closes the pipe. */
extern void worker_log_close(void);

/* The last line with a level that came through the pipe that was opened last; "" if none did. */
extern const char *worker_log_last(void);

#endif
