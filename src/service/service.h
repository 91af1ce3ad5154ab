/*
 * service.h: what the files of gpusortd share.
 */
#ifndef GPUSORT_SERVICE_H
#define GPUSORT_SERVICE_H

#include "protocol.h"

#include <pthread.h>
#include <stdatomic.h>

#define GSD_RELEASE "0.2.0"

/* Ways to fail on purpose. */
typedef enum fault_kind
{
	FAULT_NONE,
	FAULT_CRASH,   /* the process aborts */
	FAULT_HANG,	   /* the job's thread stops */
	FAULT_CORRUPT, /* an element of the result comes twice */
	FAULT_KEYS,	   /* all keys are zeros, or empty strings */
	FAULT_ORDER,   /* parts of the result have their elements in the reverse order */
	FAULT_OOM,	   /* out of device memory */
	FAULT_SHORT,   /* the result ends too early */
	FAULT_VERSION, /* another version of the protocol is spoken; at stage next only with sessions */
	FAULT_BABBLE,  /* the process says more than anybody wants to read, and goes on */
	FAULT_DEVICE   /* the device fails the job, and works otherwise */
} fault_kind;

typedef enum fault_stage
{
	STAGE_BEGIN,
	STAGE_ADD,
	STAGE_FINISH,
	STAGE_NEXT, /* once a part of the result has been sent */
	STAGE_REST	/* no job has come for a while: it is the first thread that fails */
} fault_stage;

typedef struct gsd_options
{
	bool gpu;
	int threads;			  /* of the CPU engine */
	const char *devices;	  /* comma-separated numbers, NULL: all; the CPU engine: how many to make up */
	uint64_t device_memory;	  /* bytes that jobs may reserve on each device, 0: most of it */
	uint64_t pinned_memory;	  /* bytes of all rings together */
	int stall_seconds;		  /* a job without progress for so long ends the service */
	int idle_seconds;		  /* a connection without a job for so long loses its ring */
	const char *socket;
	bool core;				  /* a crash may leave a core file */
	fault_kind fault;
	fault_stage stage;
	uint64_t fault_rows;	  /* FAULT_SHORT */
	int fault_every;		  /* only every so many jobs */
} gsd_options;

extern gsd_options options;

/* main.c; levels are DEBUG, LOG and WARNING */
void gsd_log(const char *level, const char *format, ...) __attribute__((format(printf, 2, 3)));
uint64_t gsd_uptime_ms(void);
/* False if the first thread, which watches the others and lets clients in, has made no progress for too long. */
bool gsd_attentive(void);

/* options.c: returns an exit status, or -1 to go on */
int gsd_read_options(int argc, char **argv);

/* fault.c: true if this job is to fail in this way here; crash, hang and babble are done at once */
bool gsd_fault_here(bool chosen, fault_kind kind, fault_stage stage);
bool gsd_fault_choose(void);
/*
 * Spoils a chunk whose header is good, or count elements of a result of which given were sent before, if the job is one
 * of those.
 */
void gsd_fault_chunk(bool chosen, gs_chunk *chunk, const gs_column_spec *columns);
void gsd_fault_piece(bool chosen, uint64_t given, char *part, uint64_t count, uint64_t bytes);

/* device.c: the devices, and how much of them is promised to jobs */
typedef struct device
{
	uint32_t number;		  /* as the engine counts */
	char name[GSD_NAME_BYTES];
	uint64_t memory_bytes;
	uint64_t limit_bytes;
	gs_engine *engine;		  /* kept open, so that the device stays warm */
	pthread_mutex_t mutex;	  /* of what follows */
	uint64_t reserved_bytes;
	uint32_t jobs;
	uint64_t jobs_done;
	uint64_t idle_since;	  /* when the last job ended; 0: jobs run, or memory was given back since */
	uint8_t failed[GS_OPS];	  /* jobs of each operation that it failed one after the other */
} device;

int gsd_devices_open(void);
/* Devices that were opened: what gsd_device_at counts. */
uint32_t gsd_device_count(void);
/* A bit for the number of each. */
uint32_t gsd_all_devices(void);
device *gsd_device_at(uint32_t index);

/*
 * Of the devices with room for bytes and no bit in avoid the one with the fewest jobs, with bytes reserved on it; of
 * several the one that is open, which may be NULL: there the client has its engine.  NULL if there is none.
 */
device *gsd_device_reserve(uint64_t bytes, uint32_t avoid, const device *open);
bool gsd_device_reserve_more(device *d, uint64_t bytes);
void gsd_device_reserve_less(device *d, uint64_t bytes);
/* Ends a job that has so much reserved. */
void gsd_device_give_back(device *d, uint64_t bytes);
/* Notes how a job went; status: GS_OK, or GS_DEVICE though the device works otherwise. */
void gsd_device_note(device *d, gs_op op, gs_status status);
/* The devices that have failed so many jobs of this operation that they get no more, a bit for each. */
uint32_t gsd_devices_failing(gs_op op);
/* Gives back the memory that devices keep for their next jobs, where none came for a while. */
void gsd_devices_rest(void);

/* An engine of the client's own on a device: of the GPU, or the CPU's in its place, for tests. */
gs_status gsd_engine_open(const device *d, const gs_host *host, gs_engine **engine);
/* True if the device still works, after a job on it failed. */
bool gsd_device_alive(const device *d);

/* device_cuda.c or device_none.c: what only the CUDA runtime knows */
int gsd_cuda_count(const char **why);
bool gsd_cuda_memory(uint32_t number, uint64_t *total, uint64_t *available);
gs_status gsd_cuda_open(uint32_t number, const gs_host *host, gs_engine **engine);
/* Why this thread's last call of that failed. */
const char *gsd_cuda_why(void);
void gsd_cuda_trim(uint32_t number);
bool gsd_pin(void *block, size_t bytes);
void gsd_unpin(void *block);

/* client.c: one connection */
typedef struct client
{
	int socket;
	int pid;						/* of the backend */
	_Atomic uint64_t busy_since;	/* last sign of progress inside an engine; 0: not in one */
	_Atomic uint64_t idle_since;	/* since when it holds a ring and has no job; 0: it has one, or no ring */
	/* the list's */
	uint32_t role;
	uint64_t ring_bytes;			/* of its ring, as long as that is pinned; 0: it has none */
	bool leaving;					/* its ring is wanted by another */
	struct client *next, *previous;
} client;

void *gsd_client_main(void *arg);

/* clients.c: all connections, and who of them may have a ring */
#define GSD_MAX_CLIENTS 2048

typedef enum ring_answer
{
	RING_GRANTED,
	RING_SESSION,	/* the session has its share */
	RING_ROLE,		/* the role has */
	RING_NONE_LEFT	/* all that may be pinned is in use */
} ring_answer;

/* False if there are too many. */
bool gsd_client_add(client *c);
/* Takes a connection out of the list and frees it; its thread ends after that. */
void gsd_client_forget(client *c);
/* Ends the service if a job has been inside the engine for too long without a sign. */
void gsd_clients_watch(void);
/* Counts a ring for a client of that role; where there is no room, ends idle connections and waits a while for what
 * they held. */
ring_answer gsd_ring_claim(client *c, uint32_t role, uint64_t bytes);
/* The ring is gone. */
void gsd_ring_return(client *c);
/* Bytes of all rings. */
uint64_t gsd_pinned_bytes(void);

#endif
