/*
 * worker_environment.h: what gpusortd inherits of the server's environment.
 */
#ifndef GPUSORT_WORKER_ENVIRONMENT_H
#define GPUSORT_WORKER_ENVIRONMENT_H

/* The settings for execve, in palloc'd memory; the texts are the environment's own. */
extern char **service_environment(void);

#endif
