/*
 * worker_end.h: what an end of gpusortd means: in words, and for the next start.
 */
#ifndef GPUSORT_WORKER_END_H
#define GPUSORT_WORKER_END_H

/* So many ends in a row, each soon after the start, and the service counts as one that failed: attempts become few. */
#define MANY_FAILURES 6
/* Counts for an end that the next start would only repeat, until somebody changes what is installed. */
#define VAIN_FAILURES 100

/* Exit statuses beside those of protocol.h: no process could be made; and what the shell means by them. */
#define EXIT_NOT_FORKED 125
#define EXIT_NOT_EXECUTED 126
#define EXIT_NOT_FOUND 127

/* Puts an end into words that follow a name. */
extern void end_text(int status, char *text, Size bytes);

/* True if the service ended by its own will, and has said why. */
extern bool end_explained(int status);

/* True if only another installation or configuration can help. */
extern bool end_vain(int status);

/* In how many milliseconds a service is started again that has failed so often in a row. */
extern long restart_delay(int failures);

#endif
