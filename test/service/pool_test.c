/*
 * pool_test.c: waits of src/service/pool.c while the wall clock is two hours fast for who asks, as if it were set back
 * after that: the client is looked at all the same, while its turn has not come and while other threads work for it.
 */
#define _GNU_SOURCE
#include "src/service/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define FAST_SECONDS 7200
#define MOST_SECONDS 60 /* then a wait has not ended */

static turn_queue turns = {.left = 1};
static connection leaves; /* whose client has left */
static _Atomic int looks, looks_before = -1;
static _Atomic bool helped;

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = (int) syscall(SYS_clock_gettime, clock, now);

	if (clock == CLOCK_REALTIME)
		now->tv_sec += FAST_SECONDS;
	return result;
}

int
gsd_poll_client(void *arg)
{
	atomic_fetch_add(&looks, 1);
	return arg == &leaves;
}

void
gsd_set_busy(connection *c, bool busy)
{
	(void) c, (void) busy;
}

int
gsd_cores(void)
{
	return 2;
}

void
gsd_log(const char *level, const char *format, ...)
{
	printf("%s: %s\n", level, format);
}

/*
 * Waits for a turn that does not come.
 */
static void *
wait_in_vain(void *arg)
{
	return gsd_turn_enter(&leaves, &turns) ? arg : NULL;
}

/*
 * Has the other thread begin; that one works until the client was looked at once more.
 */
static void
work(void *arg, uint32_t worker, uint32_t unit)
{
	(void) arg, (void) unit;
	if (worker != 0)
		atomic_store(&helped, true);
	while (worker == 0 ? !atomic_load(&helped) : looks_before < 0 || looks <= looks_before)
		usleep(1000);
	if (worker == 0)
		atomic_store(&looks_before, looks);
}

int
main(void)
{
	static connection stays;
	pthread_t waiting;
	void *had_turn = &stays;

	alarm(MOST_SECONDS);
	gsd_pool_threads(2);
	if (!gsd_turn_enter(&stays, &turns) || pthread_create(&waiting, NULL, wait_in_vain, &stays) != 0 ||
		pthread_join(waiting, &had_turn) != 0 || had_turn != NULL || turns.first != NULL)
		return EXIT_FAILURE;
	if (!gsd_pool_run(&stays, 2, work, NULL))
		return EXIT_FAILURE;
	gsd_turn_leave(&turns);
	return turns.left == 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
