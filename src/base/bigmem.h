/*
 * bigmem.h: large blocks that grow without being copied.
 */
#ifndef GPUSORT_BIGMEM_H
#define GPUSORT_BIGMEM_H

#include "kernels/gs.h"

/* Blocks owned by a memory context; all are given back when it is reset or deleted. */
typedef struct BigMem BigMem;

/* Begins without blocks; and the context given. */
extern BigMem *bigmem_create(MemoryContext cxt);
extern MemoryContext bigmem_context(BigMem *mem);

/* A block aligned to GS_ALIGN, or NULL when there is no memory. */
extern void *bigmem_alloc(BigMem *mem, Size bytes);

/* Makes a block as large as that, if it is smaller; it may move.  NULL, with the block untouched: no memory. */
extern void *bigmem_resize(BigMem *mem, void *memory, Size bytes);

/* Gives back what a block that has grown has beyond so many bytes, which is all that it will hold. */
extern void bigmem_trim(void *memory, Size bytes);

/* Gives a block back at once, or keeps it as bigmem_hold says. */
extern void bigmem_free(BigMem *mem, void *memory);

/*
 * With hold, blocks that are given back wait for the next ones that fit into them, since memory that is touched anew
 * costs more than it takes to look for them; without, those that wait are given back.
 */
extern void bigmem_hold(BigMem *mem, bool hold);

/* The same as callbacks for an engine, whose poll serves the backend's interrupts. */
extern gs_host bigmem_host(BigMem *mem);

#endif
