/*
 * bigmem.h: large blocks that grow without being copied.
 */
#ifndef GPUSORT_BIGMEM_H
#define GPUSORT_BIGMEM_H

#include "kernels/gs.h"

/* A set of blocks owned by a memory context.  All are released when it is reset or deleted. */
typedef struct BigMem BigMem;

/* Creates an empty set owned by a memory context; returns that context. */
extern BigMem *bigmem_create(MemoryContext cxt);
extern MemoryContext bigmem_context(BigMem *mem);

/* Allocates a block aligned to GS_ALIGN.  Returns NULL if there is no memory. */
extern void *bigmem_alloc(BigMem *mem, Size bytes);

/* Enlarges a block to at least this size, possibly moving it.  Without memory returns NULL, the block unchanged. */
extern void *bigmem_resize(BigMem *mem, void *memory, Size bytes);

/* Shrinks a block that has grown to its final size, releasing the rest. */
extern void bigmem_trim(void *memory, Size bytes);

/* Releases a block, or keeps it for reuse after bigmem_hold. */
extern void bigmem_free(BigMem *mem, void *memory);

/* With hold, keeps released blocks for later allocations, as faulting in memory costs more.  Without, releases them. */
extern void bigmem_hold(BigMem *mem, bool hold);

/* Returns callbacks for an engine.  poll serves the backend's interrupts. */
extern gs_host bigmem_host(BigMem *mem);

#endif
