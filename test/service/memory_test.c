/*
 * memory_test.c: where the system gives the service no memory for columns (src/service/columns_memory.c,
 * columns_scratch.c), what is kept for later questions goes back to it: scratch first, then copies of columns.  This
 * stands in the place of main.c; the linker has all others call what is wrapped here.
 */
#include "src/service/columns.h"

#include <stdio.h>
#include <stdlib.h>

#define MEGABYTE ((size_t) 1 << 20)
#define TOO_MUCH (UINT64_C(1) << 60) /* for any address space */

static size_t taken, most = SIZE_MAX; /* of the system's memory */
static size_t copies;				  /* of columns, which count as taken */
static int dropped;					  /* how often they had to go */

const gs_host *__wrap_gs_default_host(void);
void __wrap_gsd_copies_drop(void);

void
gsd_log(const char *level, const char *format, ...)
{
	printf("%s: %s\n", level, format);
}

uint64_t
gsd_uptime_ms(void)
{
	return 0;
}

bool
gsd_attentive(void)
{
	return true;
}

static void *
system_alloc(void *arg, size_t bytes)
{
	(void) arg;
	if (bytes > most - taken || bytes >= TOO_MUCH)
		return NULL;
	taken += bytes;
	return aligned_alloc(GS_HUGE_PAGE, bytes);
}

static void
system_release(void *arg, void *block, size_t bytes)
{
	(void) arg;
	taken -= bytes;
	free(block);
}

const gs_host *
__wrap_gs_default_host(void)
{
	static const gs_host host = {system_alloc, NULL, system_release, NULL, NULL};

	return &host;
}

void
__wrap_gsd_copies_drop(void)
{
	taken -= copies;
	copies = 0;
	dropped++;
}

#define CHECK(what) \
	do \
		if (!(what)) \
		{ \
			printf("line %d: %s\n", __LINE__, #what); \
			return EXIT_FAILURE; \
		} \
	while (0)

int
main(void)
{
	static connection c = {.owner = 1};
	const gsd_settings settings = {.host_bytes = 8 * TOO_MUCH};
	gs_host host;
	char *block;

	gsd_columns_limits(&settings);
	host = gsd_scratch_host(&c, true);
	dropped = 0;

	/* a block that is kept, and is too small for the next */
	host.release(host.arg, host.alloc(host.arg, 4 * MEGABYTE), 4 * MEGABYTE);
	CHECK(taken == 4 * MEGABYTE);
	most = 7 * MEGABYTE;
	block = host.alloc(host.arg, 6 * MEGABYTE);
	CHECK(block != NULL && taken == 6 * MEGABYTE && dropped == 0);
	host.release(host.arg, block, 6 * MEGABYTE);

	/* copies as well */
	copies = 1 * MEGABYTE;
	taken += copies;
	most = 8 * MEGABYTE;
	block = host.alloc(host.arg, 8 * MEGABYTE);
	CHECK(block != NULL && taken == 8 * MEGABYTE && dropped == 1);
	host.release(host.arg, block, 8 * MEGABYTE);

	/* columns, of which nothing is counted that was not there */
	CHECK(gsd_place_alloc(gsd_place_host(), TOO_MUCH, &block) == GS_NOMEM);
	CHECK(taken == 0 && dropped == 2);
	CHECK(gsd_place_alloc(gsd_place_host(), 7 * TOO_MUCH, &block) == GS_NOMEM && dropped == 3);
	CHECK(gsd_place_alloc(gsd_place_host(), MEGABYTE, &block) == GS_OK);
	gsd_place_free(gsd_place_host(), block, MEGABYTE);
	return EXIT_SUCCESS;
}
