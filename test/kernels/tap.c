/*
 * tap.c: see tap.h.
 */
#include "tap.h"

#include <stdarg.h>
#include <time.h>

static int tests, failed_tests;
static uint64_t state = 88172645463325252u;
static const uint8_t *given;
static size_t ngiven;

/* the group that is open: its name, when it began, and its checks */
static char group_name[128];
static time_t began;
static int cases, failures;

/* Prints the line of the group that is open, if one is. */
static void
end_group(void)
{
	if (group_name[0] == '\0')
		return;
	printf("%sok %d - %s (%d cases, %d s)\n", failures ? "not " : "", ++tests, group_name, cases,
		   (int) (time(NULL) - began));
	fflush(stdout);
	failed_tests += failures != 0;
	group_name[0] = '\0';
}

void
group(const char *name)
{
	end_group();
	failures = cases = 0;
	began = time(NULL);
	snprintf(group_name, sizeof(group_name), "%s", name);
}

void
check(bool good, const char *format, ...)
{
	va_list args;

	cases++;
	if (good || failures++ >= 8)
		return;
	printf("# ");
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void
tap_ok(bool good, const char *format, ...)
{
	va_list args;

	end_group();
	printf("%sok %d - ", good ? "" : "not ", ++tests);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	failed_tests += !good;
}

void
tap_skip(const char *why)
{
	tap_ok(true, "# SKIP %s", why);
}

int
tap_done(void)
{
	end_group();
	printf("1..%d\n", tests);
	return failed_tests > 0;
}

uint64_t
test_seed(void)
{
	static uint64_t begin = 0;
	const char *wanted = getenv("SEED");
	struct timespec now;

	if (begin != 0)
		return begin;
	if (wanted != NULL && *wanted != '\0')
		begin = strtoull(wanted, NULL, 10);
	else
	{
		clock_gettime(CLOCK_REALTIME, &now);
		begin = ((uint64_t) now.tv_sec * 1000003 + (uint64_t) now.tv_nsec) % 1000000000;
	}
	if (begin == 0)
		begin = 1;
	printf("# SEED=%llu\n", (unsigned long long) begin);
	return begin;
}

void
seed(uint64_t s)
{
	state = s + test_seed() * 0xd1342543de82ef95u;
}

void
rnd_seed(uint64_t s)
{
	state = s;
}

void
rnd_from(const uint8_t *bytes, size_t n)
{
	given = bytes;
	ngiven = n;
	state = 1;
}

uint64_t
rnd(void)
{
	uint64_t taken = 0, z;
	size_t n = ngiven < sizeof(taken) ? ngiven : sizeof(taken);

	if (n > 0)
	{
		memcpy(&taken, given, n);
		given += n;
		ngiven -= n;
		return taken;
	}
	z = state += 0x9e3779b97f4a7c15u;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t
rnd_below(uint64_t limit)
{
	return limit ? rnd() % limit : 0;
}
