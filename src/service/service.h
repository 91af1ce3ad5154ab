/*
 * service.h: shared by the files of gpusortd.
 */
#ifndef GPUSORT_SERVICE_H
#define GPUSORT_SERVICE_H

#include "protocol.h"
#include "kernels/gs_steps.h"

#include <pthread.h>
#include <stdatomic.h>

#define GSD_RELEASE "1.0.0"

/* Kinds of injected faults. */
typedef enum fault_kind
{
	FAULT_NONE,
	FAULT_CRASH,   /* the process aborts */
	FAULT_HANG,	   /* the job's thread stops */
	FAULT_CORRUPT, /* a result element is duplicated */
	FAULT_KEYS,	   /* all keys are zeros, or empty strings */
	FAULT_ORDER,   /* parts of the result are reversed */
	FAULT_OOM,	   /* out of device memory */
	FAULT_SHORT,   /* the result ends early */
	FAULT_VERSION, /* another protocol version is announced; at stage next only to sessions */
	FAULT_BABBLE,  /* the process writes excessive output, and continues */
	FAULT_DEVICE,  /* the device fails the job, but works otherwise */
	FAULT_DEAD,	   /* the device fails the job, and does not work any more */
	FAULT_SWAP,	   /* two neighbours of the result are swapped */
	FAULT_COUNT,   /* a row of the first group of a result is not counted; at stage next it is counted twice */
	FAULT_NARROW,  /* a device refuses keys; at stage finish it has no room for groups */
	FAULT_WRONG	   /* the engine finds its own answer wrong */
} fault_kind;

typedef enum fault_stage
{
	STAGE_BEGIN,
	STAGE_ADD,
	STAGE_FINISH,
	STAGE_NEXT, /* after a part of the result was sent */
	STAGE_REST	/* in the first thread, when there has been no job for a while */
} fault_stage;

typedef struct gsd_options
{
	bool gpu;
	int threads;			  /* of the CPU engine */
	const char *devices;	  /* comma-separated numbers, NULL: all; for the CPU engine, how many to simulate */
	uint64_t device_memory;	  /* bytes that jobs may reserve per device, 0: most of it */
	uint64_t pinned_memory;	  /* limit of all rings together, in bytes */
	int stall_seconds;		  /* a job without progress for this long ends the service */
	int idle_seconds;		  /* a connection without a job for this long loses its ring */
	const char *socket;
	bool columns;			  /* without a device, stay and hold columns in host memory */
	bool core;				  /* allow core files */
	fault_kind fault;
	fault_stage stage;
	uint64_t fault_rows;	  /* FAULT_SHORT, FAULT_SWAP */
	int fault_every;		  /* only every nth job */
} gsd_options;

extern gsd_options options;

/* main.c; levels are DEBUG, LOG and WARNING */
void gsd_log(const char *level, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns false if the first thread, which watches the others and accepts clients, has stalled. */
bool gsd_attentive(void);

/* options.c.  Returns an exit status, or -1 to continue. */
int gsd_read_options(int argc, char **argv);

/* fault.c.  Returns true if this job is to fail in this way here; executes crash, hang and babble. */
bool gsd_fault_here(bool chosen, fault_kind kind, fault_stage stage);
bool gsd_fault_choose(void);
/* Returns how this job is to fail here; executes crash, hang and babble. */
gs_status gsd_fault_status(bool chosen, fault_stage stage);
/* Corrupt a valid chunk, or count result elements after the first given, if the job was chosen. */
void gsd_fault_chunk(bool chosen, gs_chunk *chunk, const gs_column_spec *columns);
void gsd_fault_piece(bool chosen, uint64_t given, char *part, uint64_t count, uint64_t bytes);
/* Corrupts the answer to a question, and its results where they fit the room; or count groups after the first given. */
void gsd_fault_answer(bool chosen, char *results, uint64_t room, const gs_steps *steps, gsd_answered *answer);
void gsd_fault_groups(bool chosen, uint64_t given, char *part, uint64_t count, const gs_steps *steps);

/* device.c: devices and the reservations of their memory */
typedef struct device
{
	uint32_t number;		  /* the engine's number */
	char name[GSD_NAME_BYTES];
	uint64_t memory_bytes;
	uint64_t limit_bytes;
	gs_engine *engine;		  /* kept open, so that the device stays warm */
	pthread_mutex_t mutex;	  /* protects the members below */
	uint64_t reserved_bytes;
	uint32_t jobs;
	uint64_t jobs_done;
	uint64_t idle_since;	  /* end of the last job; 0: jobs are running, or memory was trimmed since */
	uint8_t failed[GS_OPS];	  /* consecutive failures of each operation */
} device;

int gsd_devices_open(void);
/* Number of opened devices; the range of gsd_device_at. */
uint32_t gsd_device_count(void);
/* Set of all devices, a bit per number. */
uint32_t gsd_all_devices(void);
device *gsd_device_at(uint32_t index);

/*
 * Reserves bytes on a device not in avoid, and returns it: the one with the fewest jobs, preferring `open` (may be
 * NULL), where the client has its engine.  Returns NULL if none has room.
 */
device *gsd_device_reserve(uint64_t bytes, uint32_t avoid, const device *open);
bool gsd_device_reserve_more(device *d, uint64_t bytes);
void gsd_device_reserve_less(device *d, uint64_t bytes);
/* Ends a job and its reservation. */
void gsd_device_give_back(device *d, uint64_t bytes);
/* Records a job's outcome: GS_OK, or GS_DEVICE on a device that otherwise works. */
void gsd_device_note(device *d, gs_op op, gs_status status);
/* Returns the devices that get no more jobs of this operation after too many failures. */
uint32_t gsd_devices_failing(gs_op op);
/* Trims the pools of devices that have been idle for a while. */
void gsd_devices_rest(void);

/* Opens an engine for a client on a device; on the CPU for tests. */
gs_status gsd_engine_open(const device *d, const gs_host *host, gs_engine **engine);
/* Tests whether a device still works after a failed job. */
bool gsd_device_alive(const device *d);

/* device_cuda.c or device_none.c: calls of the CUDA runtime */
int gsd_cuda_count(const char **why);
bool gsd_cuda_memory(uint32_t number, uint64_t *total, uint64_t *available);
gs_status gsd_cuda_open(uint32_t number, const gs_host *host, gs_engine **engine);
/* Why this thread's last gsd_cuda_count returned 0. */
const char *gsd_cuda_why(void);
void gsd_cuda_trim(uint32_t number);
bool gsd_pin(void *block, size_t bytes);
void gsd_unpin(void *block);

/* limits.c: what this process may use, within its control groups */
int gsd_cores(void);
uint64_t gsd_memory(void);

/* pool.c: sets the number of threads; 0: one for each core */
void gsd_pool_threads(int threads);

/* columns_table.c: frees what resident columns no longer need; called by the first thread */
void gsd_columns_rest(void);

/* client.c: one connection */
typedef struct client
{
	int socket;
	int pid;						/* of the backend */
	_Atomic uint64_t busy_since;	/* time of the last progress inside an engine; 0: not in one */
	_Atomic uint64_t idle_since;	/* since when it has held a ring without a job; 0: has a job, or no ring */
	/* maintained by clients.c */
	uint32_t role;
	uint64_t ring_bytes;			/* size of its ring while pinned; 0: no ring */
	bool leaving;					/* being ended to reclaim its ring */
	struct client *next, *previous;
} client;

void *gsd_client_main(void *arg);

/* clients.c: the connections, and their claims on rings */
#define GSD_MAX_CLIENTS 2048

typedef enum ring_answer
{
	RING_GRANTED,
	RING_SESSION,	/* the session's quota is used up */
	RING_ROLE,		/* the role's is */
	RING_NONE_LEFT	/* all pinned memory is in use */
} ring_answer;

/* Adds a connection.  Returns false if there are too many. */
bool gsd_client_add(client *c);
/* Removes a connection from the list and frees it, just before its thread ends. */
void gsd_client_forget(client *c);
/* Ends the service if a job has made no progress inside the engine for too long. */
void gsd_clients_watch(void);
/* Claims memory for a client's ring.  If there is none, ends idle connections and waits briefly for their rings. */
ring_answer gsd_ring_claim(client *c, uint32_t role, uint64_t bytes);
/* Returns the memory of a ring that was released. */
void gsd_ring_return(client *c);
/* Bytes of all rings. */
uint64_t gsd_pinned_bytes(void);

#endif
