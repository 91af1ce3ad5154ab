/*
 * worker_log.c: copies standard output and error of gpusortd to the server's log.  The worker reads a pipe and logs
 * each line under its own name.  Lines of the service begin with "LEVEL:  "; lines of libraries have no level and are
 * logged as LOG.  Neither side blocks the other.  Excess lines are counted.
 */
#include "postgres.h"

#include <fcntl.h>
#include <unistd.h>

#include "portability/instr_time.h"

#include "worker_log.h"

/* Longer lines are truncated. */
#define LINE_BYTES 1024
/* Limit of lines per period.  Lines of the service are counted separately, so that no library can crowd them out. */
#define LINES_PER_PERIOD 100
#define PERIOD_MS 10000
/* Default capacity of a pipe, in pieces. */
#define READ_BYTES 4096
#define READS 16

static int	pipe_end = -1;
static char line[LINE_BYTES];
static int	line_bytes;			/* of an incomplete line */
static bool skipping;			/* discarding the rest of an overlong line */
static char last[LINE_BYTES];

static instr_time period_start;
static bool in_period;			/* lines have been logged in this period */
static int	period_lines[2];	/* of libraries, and of the service itself */
static uint64 left_out;			/* lines not logged */

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

/* Logs the number of lines left out. */
static void
report_left_out(void)
{
	if (left_out > 0)
		ereport(LOG, (errmsg("gpusortd: %llu more lines were left out", (unsigned long long) left_out)));
	left_out = 0;
}

/* Starts a new period if the current one is over, or at once if `now`. */
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

/* Strips the level from a line.  Returns false if there is none. */
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

/* Logs the current line, possibly truncated. */
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

/* Appends bytes to the line.  Those other than printable ASCII have no encoding and become question marks. */
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
