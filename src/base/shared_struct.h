/*
 * shared_struct.h: structures in the server's shared memory.
 */
#ifndef GPUSORT_SHARED_STRUCT_H
#define GPUSORT_SHARED_STRUCT_H

typedef struct SharedStruct
{
	const char *name;
	Size		bytes;
	bool		by_backend;		/* bytes are those of one backend */
	void		(*init) (void *fresh);	/* initializes the zeroed memory; NULL: zeros will do */
	void	   *place;			/* NULL until attached */
	struct SharedStruct *next;	/* preloaded, too */
} SharedStruct;

/* In _PG_init: if the library is being preloaded, requests the memory, and has the server attach to it. */
extern void shared_struct_init(SharedStruct *one);

/* Attaches without preloading, in the server's spare shared memory.  Returns false if none is left. */
extern bool shared_struct_attach_late(SharedStruct *one);

#endif
