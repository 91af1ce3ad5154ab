/*
 * worker_end.c: interprets the exit status of gpusortd, for the log and for the next start.
 */
#include "postgres.h"

#include <sys/wait.h>

#include "src/service/protocol.h"
#include "worker_end.h"

/* Delays double with each failure, from the first to the last. */
#define FIRST_DELAY_MS 100
#define LONG_DELAY_MS 10000
#define LONGEST_DELAY_MS 600000

void
end_text(int status, char *text, Size bytes)
{
	static const struct
	{
		int			status;
		const char *text;
	}			ends[] = {
		{EXIT_NOT_FORKED, "could not be given a process"},
		{EXIT_NOT_FOUND, "could not be found with the library or the server's programs"},
		{EXIT_NOT_EXECUTED, "could not be executed"},
		{GSD_EXIT_NO_DEVICE, "found no device"},
		{GSD_EXIT_STALLED, "ended because a job made no progress"},
		{GSD_EXIT_DEVICE, "ended because its device failed"},
	};

	if (WIFSIGNALED(status))
	{
		snprintf(text, bytes, "was ended by signal %d", WTERMSIG(status));
		return;
	}
	snprintf(text, bytes, "ended with status %d", WEXITSTATUS(status));
	for (size_t i = 0; i < lengthof(ends); i++)
		if (ends[i].status == WEXITSTATUS(status))
			strlcpy(text, ends[i].text, bytes);
}

bool
end_explained(int status)
{
	return WIFEXITED(status) && WEXITSTATUS(status) >= GSD_EXIT_USAGE && WEXITSTATUS(status) <= GSD_EXIT_SOCKET;
}

bool
end_vain(int status)
{
	int			code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;

	return code == GSD_EXIT_USAGE || code == EXIT_NOT_EXECUTED || code == EXIT_NOT_FOUND;
}

long
restart_delay(int failures)
{
	long		delay = failures < MANY_FAILURES ? FIRST_DELAY_MS : LONG_DELAY_MS;

	for (int n = failures < MANY_FAILURES ? 1 : MANY_FAILURES; n < failures && delay < LONGEST_DELAY_MS; n++)
		delay *= 2;
	return Min(delay, LONGEST_DELAY_MS);
}
