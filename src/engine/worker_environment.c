/*
 * worker_environment.c: what gpusortd inherits of the server's environment.
 *
 * The postmaster may have been started with anything: passwords of libpq, settings of other libraries.  The service
 * gets what tells the CUDA driver and the C library where they are, and nothing else.
 */
#include "postgres.h"

#include "worker_environment.h"

extern char **environ;

/* Names, and beginnings of names where they end in an underscore; the last few are for sanitizers. */
static const char *const inherited[] = {
	"CUDA_", "NVIDIA_", "LD_LIBRARY_PATH", "PATH", "HOME", "TMPDIR", "LANG", "LANGUAGE", "LC_", "TZ",
	"ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS",
};

/* Is this "NAME=value" for the service? */
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
