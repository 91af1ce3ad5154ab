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
	if (WIFSIGNALED(status))
	{
		snprintf(text, bytes, "was ended by signal %d", WTERMSIG(status));
		return;
	}
	switch (WEXITSTATUS(status))
	{
		case EXIT_NOT_FORKED:
			strlcpy(text, "could not be given a process", bytes);
			break;
		case EXIT_NOT_FOUND:
			strlcpy(text, "could not be found in the server's folder of programs", bytes);
			break;
		case EXIT_NOT_EXECUTED:
			strlcpy(text, "could not be executed", bytes);
			break;
		case GSD_EXIT_NO_DEVICE:
			strlcpy(text, "found no device", bytes);
			break;
		case GSD_EXIT_STALLED:
			strlcpy(text, "ended because a job made no progress", bytes);
			break;
		case GSD_EXIT_DEVICE:
			strlcpy(text, "ended because its device failed", bytes);
			break;
		default:
			snprintf(text, bytes, "ended with status %d", WEXITSTATUS(status));
	}
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
