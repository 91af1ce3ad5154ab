/*
 * keptmem.h: memory that a session keeps for its next sort.
 */
#ifndef GPUSORT_KEPTMEM_H
#define GPUSORT_KEPTMEM_H

/* Size of the kernel's huge pages.  Pieces from this size on are multiples of it, and aligned. */
#define HUGE_PAGE ((Size) 2 * 1024 * 1024)

/* Takes over a mapping and keeps what gpusort.kept_memory allows.  One that has grown was written from its start. */
extern void keptmem_put(void *base, Size bytes, bool grown);

/* Returns a kept mapping of at least *bytes (grows: the largest) and its size, or NULL.  Its contents are undefined. */
extern void *keptmem_take(Size *bytes, bool grows);

/* Releases all kept memory.  Returns false if there was none. */
extern bool keptmem_drop(void);

/* Sets the limit in kilobytes. */
extern void keptmem_limit(int kilobytes);

/* Registers the timeout that releases unused memory, in _PG_init. */
extern void keptmem_init(void);

#endif
