/*
 * worker_environment.h: the environment and the path of gpusortd.
 */
#ifndef GPUSORT_WORKER_ENVIRONMENT_H
#define GPUSORT_WORKER_ENVIRONMENT_H

/* Returns an environment for execve, palloc'd.  The strings belong to the current environment. */
extern char **service_environment(void);

/*
 * Finds gpusortd: with the library, where an image volume has both; in bin beside the library's folder, as a package
 * has it that is tested before it is installed; otherwise with the server's programs.
 */
extern void service_path(char path[MAXPGPATH]);

#endif
