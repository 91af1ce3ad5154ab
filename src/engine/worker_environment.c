/*
 * worker_environment.c: the environment and the path of gpusortd.  The environment of the postmaster may
 * contain passwords of libpq or settings of other libraries.  The service inherits only the variables that the CUDA
 * driver and the C library need.
 */
#include "postgres.h"

#include <dlfcn.h>
#include <unistd.h>

#include "miscadmin.h"

#include "worker_environment.h"

extern char **environ;

/* Names, or prefixes if they end in an underscore.  The last few are for sanitizers. */
static const char *const inherited[] = {
	"CUDA_", "NVIDIA_", "LD_LIBRARY_PATH", "PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "LC_", "TZ",
	"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
};

/* Returns true if a "NAME=value" is inherited. */
static bool
is_inherited(const char *setting)
{
	size_t		length = strcspn(setting, "=");

	for (int i = 0; i < (int) lengthof(inherited); i++)
	{
		size_t		wanted = strlen(inherited[i]);
		bool		prefix = inherited[i][wanted - 1] == '_';

		if ((prefix ? length > wanted : length == wanted) && strncmp(setting, inherited[i], wanted) == 0)
			return true;
	}
	return false;
}

char **
service_environment(void)
{
	int			count = 0;
	char	  **result;

	while (environ[count])
		count++;
	result = palloc((count + 1) * sizeof(char *));
	count = 0;
	for (char **setting = environ; *setting; setting++)
		if (is_inherited(*setting))
			result[count++] = *setting;
	result[count] = NULL;
	return result;
}

/* Sets a path that begins in the folder of another file. */
static void
path_near(char path[MAXPGPATH], const char *file, const char *rest)
{
	char	   *slash;

	strlcpy(path, file, MAXPGPATH);
	slash = strrchr(path, '/');
	path[slash ? slash + 1 - path : 0] = '\0';
	strlcat(path, rest, MAXPGPATH);
}

void
service_path(char path[MAXPGPATH])
{
	static const char *const places[] = {"gpusortd", "../bin/gpusortd"};
	Dl_info		library;

	if (dladdr(service_path, &library) != 0 && library.dli_fname != NULL)
		for (size_t i = 0; i < lengthof(places); i++)
		{
			path_near(path, library.dli_fname, places[i]);
			if (access(path, X_OK) == 0)
				return;
		}
	path_near(path, my_exec_path, "gpusortd");
}
