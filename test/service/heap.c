/*
 * heap.c: says how much memory a program has allocated and not freed, for LD_PRELOAD: in the file GPUSORT_TEST_HEAP, as
 * an unsigned long long, every 20 ms.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static volatile unsigned long long *allocated;

/*
 * Main function of the thread.
 */
static void *
look(void *arg)
{
	for (;;)
	{
		struct mallinfo2 all = mallinfo2();

		*allocated = all.uordblks + all.hblkhd;
		usleep(20000);
	}
	return arg;
}

/*
 * Maps the file and starts the thread, before the program begins.  The program's signals are not the thread's.
 */
static void __attribute__((constructor))
begin(void)
{
	const char *path = getenv("GPUSORT_TEST_HEAP");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *base = fd >= 0 ? mmap(NULL, sizeof(*allocated), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
	sigset_t every, before;
	pthread_t thread;

	if (fd >= 0)
		close(fd);
	if (base == MAP_FAILED)
		return;
	allocated = base;
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	(void) pthread_create(&thread, NULL, look, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
