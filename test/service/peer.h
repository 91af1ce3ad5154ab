/*
 * peer.h: a client of gpusortd for tests: what it says, what it hears, and jobs whose results are known.
 */
#ifndef PEER_H
#define PEER_H

#include "src/service/protocol.h"
#include "test/kernels/table.h"

#define SLOTS 3
#define SLOT_BYTES (16u * GSD_PAGE)
#define AREAS 2
#define AREA_BYTES (4u * GSD_PAGE)
#define RING_BYTES (SLOTS * SLOT_BYTES + AREAS * AREA_BYTES)

/* A client with its ring. */
typedef struct peer
{
	int fd;
	char *ring;
	uint32_t job;
	uint32_t busy;	/* times that it heard GSD_BUSY */
	uint32_t avoid; /* devices that its jobs must not run on */
	bool counted;	/* groups of its questions are only counted */
	bool aside;		/* its questions are no queries */
	gsd_message in; /* the last message heard */
} peer;

/* Connects; -1 if that is refused. */
int dial(void);

/* The next message's type; 0 when the service has ended the connection or says nothing for two seconds. */
uint32_t hear(peer *p);

void say_hello(peer *p);
void say_slot(peer *p, gsd_type type, uint32_t slot);
void say_count(peer *p, gsd_type type, uint64_t count);
void say_end(peer *p);

/* Passes a ring of a file with some size and seals. */
void say_ring(peer *p, uint64_t file_bytes, int seals);

/*
 * Begins a job that makes sense: of one column where the operation takes no more, filtered by a constant that no row is
 * greater than; or, wild, with numbers that mostly make none.
 */
void say_begin(peer *p, gs_op op, bool wild);

/* Becomes a client that is welcome and has its ring. */
bool enter(peer *p);
void leave(peer *p);

gs_chunk *slot_chunk(peer *p, uint32_t slot);

/*
 * Fills a chunk with rows whose keys fall, so that the order is easy to know: the rows as they are.  Returns how many.
 */
uint32_t fill(peer *p, uint32_t slot, uint32_t first, uint32_t ncolumns);

/* A whole honest job; true if the result is right. */
bool honest_job(peer *p, gs_op op);

#endif
