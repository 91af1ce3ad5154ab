/*
 * faulty_memory.c: a kernel that has no memory, or moves it as kernels before 6.17 do, for LD_PRELOAD.
 *
 * The file that FAULTY_MEMORY names says what happens to memory of the process's own: "old": no more than one area of
 * it is moved at a time; "fixed": none is; either takes the new place away first.  "none N": no mapping of more than N
 * kB.
 * "all N": no more than N kB of mappings of 256 kB and more at any time.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LARGE ((size_t) 256 * 1024)

/* The word that says what happens, and the number behind it; nothing happens to gpusortd. */
static unsigned long
fault_now(char *fault, size_t room)
{
	const char *control = strcmp(program_invocation_short_name, "gpusortd") == 0 ? NULL : getenv("FAULTY_MEMORY");
	char		line[64];
	unsigned long number = 0;
	FILE	   *file = control ? fopen(control, "r") : NULL;

	*fault = 0;
	if (file == NULL)
		return 0;
	if (fgets(line, sizeof(line), file))
	{
		snprintf(fault, room, "%.*s", (int) strcspn(line, " \n"), line);
		number = strchr(line, ' ') ? strtoul(strchr(line, ' '), NULL, 10) : 0;
	}
	fclose(file);
	return number * 1024;
}

/* Does one area hold all of a range?  *total: kB of all large ones. */
static bool
one_area(unsigned long start, unsigned long end, size_t *total)
{
	FILE	   *file = fopen("/proc/self/maps", "r");
	char		line[4096];
	bool		found = false;

	*total = 0;
	while (file && fgets(line, sizeof(line), file))
	{
		unsigned long from;
		unsigned long to;
		char		mode[8];
		unsigned long inode;

		if (sscanf(line, "%lx-%lx %7s %*s %*s %lu", &from, &to, mode, &inode) != 4)
			continue;
		found |= from <= start && end <= to;
		if (inode == 0 && mode[3] == 'p' && to - from >= LARGE && strchr(line, '[') == NULL)
			*total += to - from;
	}
	if (file)
		fclose(file);
	return found;
}

void *
mmap(void *place, size_t bytes, int protection, int flags, int file, off_t offset)
{
	char		fault[16];
	unsigned long limit;
	size_t		total;

	if ((flags & MAP_ANONYMOUS) && (flags & MAP_PRIVATE) && bytes >= LARGE)
	{
		limit = fault_now(fault, sizeof(fault));
		if ((strcmp(fault, "none") == 0 && bytes > limit) ||
			(strcmp(fault, "all") == 0 && (one_area(0, 0, &total), total + bytes > limit)))
		{
			errno = ENOMEM;
			return MAP_FAILED;
		}
	}
	return (void *) syscall(SYS_mmap, place, bytes, protection, flags, file, offset);
}

void *
mremap(void *from, size_t bytes, size_t larger, int flags, ...)
{
	char		fault[16];
	void	   *place = NULL;
	size_t		total;
	va_list		more;

	va_start(more, flags);
	if (flags & MREMAP_FIXED)
		place = va_arg(more, void *);
	va_end(more);
	fault_now(fault, sizeof(fault));
	if (strcmp(fault, "fixed") == 0 ||
		(strcmp(fault, "old") == 0 && !one_area((unsigned long) from, (unsigned long) from + bytes, &total)))
	{
		if (place)
			munmap(place, larger);
		errno = EFAULT;
		return MAP_FAILED;
	}
	return (void *) syscall(SYS_mremap, from, bytes, larger, flags, place);
}
