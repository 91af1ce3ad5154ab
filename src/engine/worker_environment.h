/*
 * worker_environment.h: the environment of gpusortd.
 */
#ifndef GPUSORT_WORKER_ENVIRONMENT_H
#define GPUSORT_WORKER_ENVIRONMENT_H

/* Returns an environment for execve, palloc'd.  The strings belong to the current environment. */
extern char **service_environment(void);

#endif
