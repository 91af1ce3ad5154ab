/*
 * keptmem.h: memory that a session keeps of one sort for the next.
 */
#ifndef GPUSORT_KEPTMEM_H
#define GPUSORT_KEPTMEM_H

/* The unit in which the kernel hands out memory at best; pieces from this size on are multiples of it, and aligned. */
#define HUGE_PAGE ((Size) 2 * 1024 * 1024)

/*
 * Keeps a mapping, or a part of it, or none, as gpusort.kept_memory says; it is no longer the caller's.  One that has
 * grown was written from its beginning on, and need not have been to its end.
 */
extern void keptmem_put(void *base, Size bytes, bool grown);

/*
 * A mapping of at least so many bytes out of those that are kept, *bytes: how many; NULL if there is none that suits.
 * One that grows gets the largest.  It holds anything.
 */
extern void *keptmem_take(Size *bytes, bool grows);

/* Gives all that is kept back; false if nothing was. */
extern bool keptmem_drop(void);

/* Keeps no more than so many kilobytes from now on. */
extern void keptmem_limit(int kilobytes);

/* In _PG_init: what is kept goes when nobody has used it for a while. */
extern void keptmem_init(void);

#endif
