/*
 * client.h: a connection, as client.c and job.c see it.
 */
#ifndef GPUSORT_CLIENT_H
#define GPUSORT_CLIENT_H

#include "service.h"
#include "kernels/engine.h"

typedef enum job_state
{
	NO_JOB,
	ADDING,
	READING,
	OVER /* failed or complete: only END may follow */
} job_state;

/* A connection that waits for its turn in pool.c, or has it. */
typedef struct pool_turn
{
	struct pool_turn *next;
	pthread_cond_t come;
	bool mine;
	uint32_t threads; /* that it has in the pool, its own included */
} pool_turn;

/* Those that wait for one of some turns, by their order. */
typedef struct turn_queue
{
	pool_turn *first, *last;
	uint32_t left; /* turns that nobody has */
} turn_queue;

typedef struct connection
{
	client *base;
	uint64_t owner;
	char *ring;
	gsd_ring layout;
	uint64_t ring_bytes;
	int ring_fd;

	device *dev;
	gs_engine *engine;
	const device *engine_of;
	gs_host host;
	job_state state;
	gs_job *job;
	uint32_t number;
	uint64_t row_bytes;	   /* device memory of a row, without string data */
	uint64_t guess_bytes;  /* estimate of string data, used until the first chunk */
	uint64_t chunk_bytes;  /* largest device memory of a chunk so far */
	uint64_t result_bytes; /* of a result element */
	uint64_t reserved;
	uint64_t areas_free; /* a bit per area */
	uint32_t parts;
	uint64_t given;
	gs_op op; /* of the job */
	bool chosen; /* this job is to fail, for a test */
	uint64_t looked_ns, busy_sent_ns;
	gsd_place *places; /* of a version that is being published */
	uint64_t nplaces;
	uint64_t publishing; /* its table */
	bool asking;		 /* the job is a question about columns */
	struct question *question; /* NULL: it has failed */
	gs_status refused;		   /* why */
	pool_turn turn;
	_Atomic bool cancelled; /* threads that work for it should stop */
	bool closed;
} connection;

/* client.c */
void gsd_reply(connection *c, const gsd_header *head);
/* The same with a descriptor, which remains the caller's; -1: none. */
void gsd_reply_file(connection *c, const gsd_header *head, int fd);
void gsd_reply_result(connection *c, gsd_type type, gs_status status, const char *text);

/* job.c */
void gsd_set_busy(connection *c, bool busy);
int gsd_poll_client(void *arg);
void gsd_job_drop(connection *c);
/* Opens an engine on a device, which the connection keeps for its next jobs there. */
gs_status gsd_open_engine(connection *c, device *d);
void gsd_on_begin(connection *c, const gsd_begin *m);
void gsd_on_add(connection *c, const gsd_slot *m);
void gsd_on_finish(connection *c, const gsd_count *m);
void gsd_send_parts(connection *c);
/* After a failure of a device, if it is one: if the device no longer works, ends the whole service. */
void gsd_device_judge(connection *c, device *dev, gs_status status);

/* columns.c.  Returns true if a message about resident columns may come from this connection now. */
bool gsd_columns_expected(const connection *c, const gsd_message *m);
/* Handles it.  A descriptor is the callee's. */
void gsd_columns_handle(connection *c, const gsd_message *m, int fd);
/* Frees what a connection has left. */
void gsd_columns_leave(connection *c);

/* columns_ask.c: the messages of a question after GSD_ASK, and its end in any state. */
void gsd_ask_add(connection *c, const gsd_slot *m);
void gsd_ask_finish(connection *c, const gsd_count *m);
void gsd_ask_send_parts(connection *c);
void gsd_ask_drop(connection *c);

/* pool.c.  Waits for the connection's turn.  Returns false if the client has cancelled or left. */
bool gsd_turn_enter(connection *c, turn_queue *queue);
void gsd_turn_leave(turn_queue *queue);
/*
 * In its turn, which no other has, does units of work in all threads.  Units that a worker does come one after
 * another; workers have numbers below turn.threads, and the connection's own thread is number 0.  Returns false if the
 * client has cancelled or left; some units were then not done.
 */
typedef void pool_work(void *arg, uint32_t worker, uint32_t unit);
bool gsd_pool_run(connection *c, uint32_t units, pool_work *work, void *arg);

#endif
