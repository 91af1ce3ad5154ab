/*
 * failing_calls.c: calls that fail at their n-th time, for LD_PRELOAD into any server and its gpusortd.
 *
 * The file that GPUSORT_TEST_CALLS names is a struct control, which test/perl/GpuSortCalls.pm writes: which kind of
 * call is counted, in which process, and from which to which number they fail.  What is counted there tells the test
 * how many there are.
 *
 *   memory   malloc and its like, mappings of no file; of everything in the process
 *   palloc   the server's allocations, as far as gpusort itself calls for them
 *   system   system calls by gpusort itself or by gpusortd, and the server's on temporary files and shared memory
 *   write    the server's writing of temporary files
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "failing_calls.h"

/* glibc's own, behind what is replaced here */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static volatile struct control *control;
static char preloaded[4096 + 16];
static char named[4096 + 32];
static bool service;

/* Where the code of gpusort.so lies. */
const char *gpusort_begin;
const char *gpusort_end;

/* Maps the file, before the program begins. */
static void __attribute__((constructor))
begin(void)
{
	const char *path = getenv("GPUSORT_TEST_CALLS");
	int			file = path && strlen(path) < 4096 ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void	   *base;

	if (file < 0)
		return;
	strcat(strcpy(named, "GPUSORT_TEST_CALLS="), path);
	base = mmap(NULL, sizeof(*control), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	service = strcmp(program_invocation_short_name, "gpusortd") == 0;
	if (base != MAP_FAILED)
		control = base;
}

bool
call_fails(int kind, const char *name, int error, const void *caller)
{
	int64_t		number;

	if (control == NULL || control->kind != kind || (control->pid != 0 && control->pid != getpid()))
		return false;
	if (control->error == EINTR && error != EINTR)
		return false;
	number = __atomic_add_fetch(&control->count, 1, __ATOMIC_SEQ_CST);
	if (number < control->first || number > control->last)
		return false;
	if (__atomic_add_fetch(&control->failed, 1, __ATOMIC_SEQ_CST) == 1)
	{
		strncpy((char *) control->name, name, sizeof(control->name) - 1);
		control->place = (const char *) caller - gpusort_begin;
	}
	errno = control->error ? control->error : error;
	return true;
}

/* Is EINTR what the test wants? */
bool
interrupted(void)
{
	return control && control->error == EINTR;
}

bool
ours(const void *caller)
{
	return service || ((const char *) caller >= gpusort_begin && (const char *) caller < gpusort_end);
}

/* Is this a temporary file, or also shared memory? */
bool
temporary(int file, bool shared)
{
	char		link[64] = "/proc/self/fd/";
	char		path[4096];
	char		digits[16];
	int			at = 15;
	ssize_t		len;

	/* without the server's own snprintf, and without memory */
	if (control == NULL || control->kind == 0 || file < 0)
		return false;
	digits[at] = '\0';
	do
		digits[--at] = (char) ('0' + file % 10);
	while ((file /= 10) > 0);
	strcat(link, digits + at);
	len = readlink(link, path, sizeof(path) - 1);
	if (len < 0)
		return false;
	path[len] = '\0';
	return strstr(path, "pgsql_tmp") || (shared && (strstr(path, "/dev/shm/") || strstr(path, "memfd:")));
}

void *
malloc(size_t bytes)
{
	return call_fails(CALL_MEMORY, "malloc", ENOMEM, __builtin_return_address(0)) ? NULL : __libc_malloc(bytes);
}

void *
calloc(size_t count, size_t bytes)
{
	return call_fails(CALL_MEMORY, "calloc", ENOMEM, __builtin_return_address(0)) ? NULL : __libc_calloc(count, bytes);
}

void *
realloc(void *old, size_t bytes)
{
	return call_fails(CALL_MEMORY, "realloc", ENOMEM, __builtin_return_address(0)) ? NULL : __libc_realloc(old, bytes);
}

int
posix_memalign(void **result, size_t alignment, size_t bytes)
{
	if (call_fails(CALL_MEMORY, "posix_memalign", ENOMEM, __builtin_return_address(0)))
		return ENOMEM;
	*result = __libc_memalign(alignment, bytes);
	return *result ? 0 : ENOMEM;
}

void *
aligned_alloc(size_t alignment, size_t bytes)
{
	return call_fails(CALL_MEMORY, "aligned_alloc", ENOMEM, __builtin_return_address(0)) ? NULL :
		__libc_memalign(alignment, bytes);
}

void *
mmap(void *place, size_t bytes, int protection, int flags, int file, off_t offset)
{
	const void *caller = __builtin_return_address(0);

	if ((flags & MAP_ANONYMOUS) ? call_fails(CALL_MEMORY, "mmap", ENOMEM, caller) :
		((ours(caller) || temporary(file, true)) && call_fails(CALL_SYSTEM, "mmap", ENOMEM, caller)))
		return MAP_FAILED;
	return (void *) syscall(SYS_mmap, place, bytes, protection, flags, file, offset);
}

void *
mremap(void *from, size_t bytes, size_t larger, int flags, ...)
{
	void	   *place = NULL;
	va_list		more;

	va_start(more, flags);
	if (flags & MREMAP_FIXED)
		place = va_arg(more, void *);
	va_end(more);
	if (call_fails(CALL_MEMORY, "mremap", ENOMEM, __builtin_return_address(0)))
		return MAP_FAILED;
	return (void *) syscall(SYS_mremap, from, bytes, larger, flags, place);
}

/* gpusortd gets little of the server's environment; here it gets this library, too. */
int
execve(const char *path, char *const argv[], char *const envp[])
{
	static char *more[1024];
	const char *library = getenv("LD_PRELOAD");
	int			count = 0;

	while (envp[count] && count < 1000)
	{
		more[count] = envp[count];
		count++;
	}
	if (library && control && strlen(library) < 4096)
	{
		strcat(strcpy(preloaded, "LD_PRELOAD="), library);
		more[count++] = preloaded;
		more[count++] = named;
	}
	more[count] = NULL;
	return (int) syscall(SYS_execve, path, argv, more);
}
