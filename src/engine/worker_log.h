/*
 * worker_log.h: copies standard output and error of gpusortd to the server's log.
 */
#ifndef GPUSORT_WORKER_LOG_H
#define GPUSORT_WORKER_LOG_H

/* Opens a new pipe and returns its writing end, which the caller closes; -1 with errno on failure. */
extern int	worker_log_open(void);

/* Returns the reading end, to wait for; -1 if there is none or no writer is left. */
extern int	worker_log_fd(void);

/* Logs the lines that have arrived.  Reads at most the capacity of a pipe, so that a busy writer delays nobody. */
extern void worker_log_relay(void);

/* Logs the rest and closes the pipe, after the service has ended. */
extern void worker_log_close(void);

/* Returns the last line with a level from the current or last pipe, or "". */
extern const char *worker_log_last(void);

#endif
