/*
 * seed.h: what random tests begin with, another number each time.  SEED in the environment repeats a run; it is printed with
 * its first use.
 */
#ifndef GPUSORT_TEST_SEED_H
#define GPUSORT_TEST_SEED_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static inline uint64_t
test_seed(void)
{
	static uint64_t seed = 0;
	const char *given = getenv("SEED");
	struct timespec now;

	if (seed != 0)
		return seed;
	if (given != NULL && *given != '\0')
		seed = strtoull(given, NULL, 10);
	else
	{
		clock_gettime(CLOCK_REALTIME, &now);
		seed = ((uint64_t) now.tv_sec * 1000003 + (uint64_t) now.tv_nsec) % 1000000000;
	}
	if (seed == 0)
		seed = 1;
	printf("# SEED=%llu\n", (unsigned long long) seed);
	return seed;
}

#endif
