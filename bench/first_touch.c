/*
 * first_touch.c: what the kernel takes to give a process memory, by size of page; cc -O2 first_touch.c && ./a.out
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BYTES ((size_t) 1 << 30)
#define HUGE_PAGE ((size_t) 2 << 20)

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec * 1e3 + (double) t.tv_nsec / 1e6;
}

int
main(void)
{
	for (int huge = 0; huge < 2; huge++)
		for (int i = 0; i < 3; i++)
		{
			char *block = mmap(NULL, BYTES + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			char *memory = (char *) (((uintptr_t) block + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);
			double start, touched, written;

			if (huge)
				madvise(memory, BYTES, MADV_HUGEPAGE);
			start = now();
			for (size_t at = 0; at < BYTES; at += 4096)
				memory[at] = 1;
			touched = now();
			memset(memory, 2, BYTES);
			written = now();
			printf("%s first touch of 1 GiB %.0f ms, memset again %.0f ms\n", huge ? "huge" : "4k", touched - start,
				   written - touched);
			munmap(block, BYTES + HUGE_PAGE);
		}
	return 0;
}
