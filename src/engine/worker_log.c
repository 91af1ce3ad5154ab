/*
 * worker_log.c: what gpusortd writes to its standard output and error, for the server's log.
 *
 * The service writes into a pipe, and the worker says in its own name what comes out of it: in every format and to
 * every place that the server logs to, with a level.  Lines of the service's own begin with "LEVEL:  "; what libraries
 * say has no level and goes as LOG.  Neither side waits for the other: the service's end does not block, and this end
 * reads what there is.  Too many lines are counted, not logged.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "portability/instr_time.h"

#include "worker_log.h"

/* Longer lines are cut. */
#define LINE_BYTES 1024
/* At most so many lines in so long a time; the service's own are counted apart, so that no library can drown them. */
#define LINES_PER_PERIOD 100
#define PERIOD_MS 10000
/* What a pipe holds unless told otherwise, in pieces. */
#define READ_BYTES 4096
#define READS 16

static int	pipe_end = -1;
static char line[LINE_BYTES];
static int	line_bytes;			/* of a line whose end has not come */
static bool skipping;			/* that line is too long: what is left of it is not wanted */
static char last[LINE_BYTES];

static instr_time period_start;
static bool in_period;			/* lines have been logged since then */
static int	period_lines[2];	/* of libraries, and of the service's own */
static uint64 left_out;			/* lines that were too many */

int
worker_log_open(void)
{
	int			ends[2];

	worker_log_close();
	last[0] = '\0';
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
		return -1;
	pipe_end = ends[0];
	return ends[1];
}

int
worker_log_fd(void)
{
	return pipe_end;
}

const char *
worker_log_last(void)
{
	return last;
}

/* Logs how many lines were too many. */
static void
report_left_out(void)
{
	if (left_out > 0)
		ereport(LOG, (errmsg("gpusortd: %llu more lines were left out", (unsigned long long) left_out)));
	left_out = 0;
}

/* Begins a new period when the old one is over, or its rest does not matter any more. */
static void
turn_period(bool now)
{
	instr_time	passed;

	INSTR_TIME_SET_CURRENT(passed);
	INSTR_TIME_SUBTRACT(passed, period_start);
	if (in_period && (now || INSTR_TIME_GET_MILLISEC(passed) > PERIOD_MS))
	{
		report_left_out();
		in_period = false;
		period_lines[0] = period_lines[1] = 0;
	}
}

/* Takes the level off a line; false if there is none. */
static bool
split_level(char **text, int *level)
{
	static const struct
	{
		const char *prefix;
		int			level;
	}			levels[] = {{"DEBUG:  ", DEBUG1}, {"LOG:  ", LOG}, {"WARNING:  ", WARNING}};

	for (int i = 0; i < (int) lengthof(levels); i++)
	{
		size_t		length = strlen(levels[i].prefix);

		if (strncmp(*text, levels[i].prefix, length) != 0)
			continue;
		*text += length;
		strlcpy(last, *text, sizeof(last));
		*level = levels[i].level;
		return true;
	}
	*level = LOG;
	return false;
}

/* Logs the line that is complete, or as much of it as was kept. */
static void
log_line(void)
{
	char	   *text = line;
	int			level;
	int		   *lines;

	line[line_bytes] = '\0';
	if (line_bytes == 0)
		return;
	line_bytes = 0;
	lines = &period_lines[split_level(&text, &level)];
	if (!in_period)
		INSTR_TIME_SET_CURRENT(period_start);
	in_period = true;
	if (*lines >= LINES_PER_PERIOD)
	{
		left_out++;
		return;
	}
	(*lines)++;
	ereport(level, (errmsg("gpusortd: %s", text)));
}

/* Takes bytes into the line.  This process knows no encoding: what is not printable ASCII becomes a question mark. */
static void
take_bytes(const char *bytes, ssize_t count)
{
	for (ssize_t i = 0; i < count; i++)
	{
		char		c = bytes[i];

		if (c == '\n')
		{
			log_line();
			skipping = false;
		}
		else if (!skipping)
			line[line_bytes++] = c >= ' ' && c <= '~' ? c : c == '\t' ? ' ' : '?';
		if (line_bytes == LINE_BYTES - 1)
		{
			log_line();
			skipping = true;
		}
	}
}

void
worker_log_relay(void)
{
	char		bytes[READ_BYTES];
	ssize_t		got = -1;

	turn_period(false);
	for (int i = 0; i < READS && pipe_end >= 0; i++)
	{
		do
			got = read(pipe_end, bytes, sizeof(bytes));
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return;
		if (got == 0)
		{
			close(pipe_end);
			pipe_end = -1;
		}
		take_bytes(bytes, got);
	}
}

void
worker_log_close(void)
{
	worker_log_relay();
	log_line();
	skipping = false;
	turn_period(true);
	if (pipe_end >= 0)
		close(pipe_end);
	pipe_end = -1;
}
