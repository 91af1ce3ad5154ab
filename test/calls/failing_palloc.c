/*
 * failing_palloc.c: allocations of the server that gpusort.so calls for, of failing_calls.c.
 *
 * They are the program's own functions, which no library can take the place of; but gpusort.so finds them through a
 * table of addresses, and these are changed when it has been loaded.  They fail as the server's do, by an error.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "failing_calls.h"

typedef struct MemoryContextData *MemoryContext;
typedef size_t Size;

/* of PostgreSQL 15 and later */
#define PG_ERROR 21
#define OUT_OF_MEMORY (('5' - '0') | ('3' - '0') << 6 | ('2' - '0') << 12)
#define NO_OOM 0x02

/* Ends in an error like that of a server without memory. */
static void
raise(void)
{
	bool		(*errstart) (int, const char *) = (bool (*) (int, const char *)) dlsym(RTLD_DEFAULT, "errstart");
	int			(*errcode) (int) = (int (*) (int)) dlsym(RTLD_DEFAULT, "errcode");
	int			(*errmsg) (const char *, ...) = (int (*) (const char *, ...)) dlsym(RTLD_DEFAULT, "errmsg");
	void		(*errfinish) (const char *, int, const char *) =
		(void (*) (const char *, int, const char *)) dlsym(RTLD_DEFAULT, "errfinish");

	errstart(PG_ERROR, NULL);
	errcode(OUT_OF_MEMORY);
	errmsg("out of memory");
	errfinish(__FILE__, __LINE__, __func__);
}

/* NAME(PARAMETERS) takes the place of the server's function of this name. */
#define REPLACED(name, parameters, arguments, may_fail) \
	static void *(*real_##name) parameters; \
	static void *my_##name parameters \
	{ \
		if (call_fails(CALL_PALLOC, #name, ENOMEM, __builtin_return_address(0))) \
		{ \
			if (may_fail) \
				return NULL; \
			raise(); \
		} \
		return real_##name arguments; \
	}

REPLACED(palloc, (Size bytes), (bytes), false)
REPLACED(palloc0, (Size bytes), (bytes), false)
REPLACED(palloc_extended, (Size bytes, int flags), (bytes, flags), flags & NO_OOM)
REPLACED(repalloc, (void *old, Size bytes), (old, bytes), false)
REPLACED(repalloc_huge, (void *old, Size bytes), (old, bytes), false)
REPLACED(pstrdup, (const char *text), (text), false)
REPLACED(MemoryContextAlloc, (MemoryContext place, Size bytes), (place, bytes), false)
REPLACED(MemoryContextAllocZero, (MemoryContext place, Size bytes), (place, bytes), false)
REPLACED(MemoryContextAllocZeroAligned, (MemoryContext place, Size bytes), (place, bytes), false)
REPLACED(MemoryContextAllocHuge, (MemoryContext place, Size bytes), (place, bytes), false)
REPLACED(MemoryContextAllocExtended, (MemoryContext place, Size bytes, int flags), (place, bytes, flags),
		 flags & NO_OOM)
REPLACED(AllocSetContextCreateInternal, (MemoryContext parent, const char *name, Size least, Size first, Size most),
		 (parent, name, least, first, most), false)
REPLACED(lappend, (void *list, void *member), (list, member), false)
REPLACED(ExecFetchSlotMinimalTuple, (void *slot, bool *owned), (slot, owned), false)

static const struct
{
	const char *name;
	void	   *mine;
	void	  **real;
}			replaced[] = {
#define LINE(name) {#name, (void *) my_##name, (void **) &real_##name}
	LINE(palloc), LINE(palloc0), LINE(palloc_extended), LINE(repalloc), LINE(repalloc_huge), LINE(pstrdup),
	LINE(MemoryContextAlloc), LINE(MemoryContextAllocZero), LINE(MemoryContextAllocZeroAligned),
	LINE(MemoryContextAllocHuge), LINE(MemoryContextAllocExtended), LINE(AllocSetContextCreateInternal),
	LINE(lappend), LINE(ExecFetchSlotMinimalTuple)
};

/* Changes the address of a function in a library's table. */
static void
change(ElfW(Addr) *entry, const char *name)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < sizeof(replaced) / sizeof(*replaced); i++)
		if (strcmp(name, replaced[i].name) == 0 && (void *) *entry != replaced[i].mine)
		{
			*replaced[i].real = dlsym(RTLD_DEFAULT, name);
			mprotect((void *) ((size_t) entry & ~(page - 1)), page, PROT_READ | PROT_WRITE);
			*entry = (ElfW(Addr)) replaced[i].mine;
		}
}

/* The relocations of a table, if they name functions. */
static void
change_all(const struct link_map *library, const ElfW(Rela) *table, size_t bytes, const ElfW(Sym) *symbols,
		   const char *names)
{
	for (size_t i = 0; table && i < bytes / sizeof(*table); i++)
	{
		const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(table[i].r_info)];

		if (symbol->st_name != 0 && symbol->st_shndx == SHN_UNDEF)
			change((ElfW(Addr) *) (library->l_addr + table[i].r_offset), names + symbol->st_name);
	}
}

/* Finds gpusort.so's tables. */
static void
loaded(const struct link_map *library)
{
	const ElfW(Sym) *symbols = NULL;
	const char *names = NULL;
	const ElfW(Rela) *calls = NULL;
	const ElfW(Rela) *others = NULL;
	size_t		calls_bytes = 0;
	size_t		others_bytes = 0;

	for (const ElfW(Dyn) *part = library->l_ld; part->d_tag != DT_NULL; part++)
		switch (part->d_tag)
		{
			case DT_SYMTAB: symbols = (const void *) part->d_un.d_ptr; break;
			case DT_STRTAB: names = (const void *) part->d_un.d_ptr; break;
			case DT_JMPREL: calls = (const void *) part->d_un.d_ptr; break;
			case DT_PLTRELSZ: calls_bytes = part->d_un.d_val; break;
			case DT_RELA: others = (const void *) part->d_un.d_ptr; break;
			case DT_RELASZ: others_bytes = part->d_un.d_val; break;
		}
	change_all(library, calls, calls_bytes, symbols, names);
	change_all(library, others, others_bytes, symbols, names);
}

/* Notes where gpusort.so lies. */
static int
find_code(struct dl_phdr_info *info, size_t bytes, void *address)
{
	(void) bytes;
	if (info->dlpi_addr != *(ElfW(Addr) *) address)
		return 0;
	gpusort_begin = (const char *) info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_LOAD)
			gpusort_end = gpusort_begin + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
	return 1;
}

void *
dlopen(const char *path, int mode)
{
	void	   *(*real) (const char *, int) = (void *(*) (const char *, int)) dlsym(RTLD_NEXT, "dlopen");
	struct link_map *library = real(path, mode);

	if (library && path && strstr(path, "/gpusort.so"))
	{
		loaded(library);
		dl_iterate_phdr(find_code, &library->l_addr);
	}
	return library;
}
