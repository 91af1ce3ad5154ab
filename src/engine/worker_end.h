/*
 * worker_end.h: interprets the exit status of gpusortd, for the log and for the next start.
 */
#ifndef GPUSORT_WORKER_END_H
#define GPUSORT_WORKER_END_H

/* After this many failures in a row, soon after starts, the service is reported as failed and restarts are rare. */
#define MANY_FAILURES 6
/* Failures counted for an end that a restart would only repeat until the installation changes. */
#define VAIN_FAILURES 100

/* Exit statuses beyond those of protocol.h: fork failed, and the shell's conventions. */
#define EXIT_NOT_FORKED 125
#define EXIT_NOT_EXECUTED 126
#define EXIT_NOT_FOUND 127

/* Describes an exit status, as text that follows a name. */
extern void end_text(int status, char *text, Size bytes);

/* Returns true if the service ended by itself and has logged why. */
extern bool end_explained(int status);

/* Returns true if only another installation or configuration can help. */
extern bool end_vain(int status);

/* Returns the delay in milliseconds before a restart after this many consecutive failures. */
extern long restart_delay(int failures);

#endif
