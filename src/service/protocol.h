/*
 * protocol.h: the messages between a backend and gpusortd, which carry jobs of kernels/gs.h.  doc/protocol.md explains
 * the sequence of messages.  A connection is a Unix socket of type SOCK_SEQPACKET: one packet is one message, delivered
 * completely or refused.  It carries one job at a time.  Keys and results do not pass through the socket, but through a
 * ring of shared memory that the client creates, seals and passes once.
 */
#ifndef GPUSORT_PROTOCOL_H
#define GPUSORT_PROTOCOL_H

#include <fcntl.h>

#include "kernels/gs.h"

#include "dictionary.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1; part of the kernel's interface */
#endif

#define GSD_MAGIC 0x64737067u /* "gpsd" */
#define GSD_VERSION 15

/* Files in the server's data directory.  Backups and pg_rewind skip this folder, and names that begin like these. */
#define GSD_FOLDER "pg_stat_tmp"
#define GSD_SOCKET GSD_FOLDER "/pgsql_tmp_gpusort"
#define GSD_LOCK GSD_FOLDER "/pgsql_tmp_gpusort.lock"

#define GSD_MAX_MESSAGE 8192
#define GSD_MAX_SLOTS 64
#define GSD_MAX_COLUMNS 2048
#define GSD_MAX_DEVICES 16
#define GSD_NAME_BYTES 64
#define GSD_TEXT_BYTES 128
#define GSD_PATH_BYTES 64
#define GSD_PAGE 4096u
#define GSD_MAX_RING ((uint64_t) 1 << 32)

/* Exit statuses of gpusortd, for the worker that started it. */
#define GSD_EXIT_USAGE 2
#define GSD_EXIT_NO_DEVICE 3 /* no GPU, no driver, a driver too old, or a build without CUDA: a restart is pointless */
#define GSD_EXIT_STALLED 4	 /* a job made no progress */
#define GSD_EXIT_DEVICE 5	 /* the device failed; its context is unusable */
#define GSD_EXIT_SOCKET 6	 /* the socket could not be made */

typedef enum gsd_type
{
	/* client to service */
	GSD_HELLO = 1, /* gsd_hello: first on every connection */
	GSD_RING,	   /* gsd_ring, with one descriptor */
	GSD_BEGIN,	   /* gsd_begin */
	GSD_ADD,	   /* gsd_slot: a chunk lies in that slot */
	GSD_FINISH,	   /* gsd_count: end of input, with the number of rows */
	GSD_TAKEN,	   /* gsd_slot: that result area may be reused */
	GSD_END,	   /* gsd_job_message: ends the job in any state */
	GSD_PING,	   /* gsd_count: any number */
	GSD_STATUS,	   /* gsd_header alone */

	/* client to service, about resident columns; on a connection without a job */
	GSD_SETTINGS, /* gsd_settings: from the worker; no answer */
	GSD_TABLE,	  /* gsd_table, with the descriptor of its page map: makes a table, or replaces its map; GSD_DONE */
	GSD_DROP,	  /* gsd_number: drops a table; GSD_DONE */
	GSD_KEEP,	  /* gsd_keep: numbers of tables lie in that slot; drops all others; GSD_DONE, number: how many */
	GSD_STORE,	  /* gsd_store: a segment lies in that slot; GSD_DONE, number: the segment's */
	GSD_PUBLISH,  /* gsd_publish: changed pages lie in that slot; with last, they make a version; GSD_DONE */
	GSD_WANTED,	  /* gsd_wanted: GSD_DONE, and the bits of a range of pages in area 0 */
	GSD_MAP,	  /* gsd_number: a relation; GSD_MAP_OF */
	GSD_INFO,	  /* gsd_number: a relation; GSD_TABLE_INFO */
	GSD_NOTE,	  /* gsd_note: a query did not use a table; no answer */
	GSD_CHECK,	  /* gsd_check: GSD_CHECKED; GSD_BUSY before it; GSD_END cancels */
	GSD_DICTIONARY, /* gsd_dictionary_of: GSD_MAP_OF with the descriptor of its file */
	GSD_ASK,	  /* gsd_ask: begins a question; GSD_ADD and GSD_FINISH follow; GSD_END cancels */

	/* service to client */
	GSD_WELCOME = 64, /* gsd_welcome */
	GSD_RING_DONE,	  /* gsd_result; GS_NOMEM: no memory for rings, GS_TOO_BIG: quota exceeded, GS_DEVICE: bad file */
	GSD_BEGUN,		  /* gsd_begun */
	GSD_FREE,		  /* gsd_slot: that slot is free; full: add no more rows to this job */
	GSD_SORTED,		  /* gsd_sorted: the result is complete, parts follow */
	GSD_PART,		  /* gsd_result_part: result elements in that area; 0 elements: the end */
	GSD_ENDED,		  /* gsd_job_message: last message of a job */
	GSD_FAILED,		  /* gsd_result: only GSD_END may follow; GS_TIMEOUT, for any job: the service ends */
	GSD_PONG,		  /* gsd_count: number of the ping */
	GSD_BUSY,		  /* gsd_job_message: still working; about once a second */
	GSD_DEVICES,	  /* gsd_devices */
	GSD_DONE,		  /* gsd_done */
	GSD_MAP_OF,		  /* gsd_map_of, with a descriptor if it is held */
	GSD_TABLE_INFO,	  /* gsd_table_info */
	GSD_CHECKED,	  /* gsd_checked */
	GSD_ANSWERED	  /* gsd_answered: to GSD_FINISH of a question, which is then over, or GSD_PARTs follow */
} gsd_type;

typedef struct gsd_header
{
	uint32_t type;
	uint32_t bytes; /* of the whole message */
} gsd_header;

typedef struct gsd_hello
{
	gsd_header head;
	uint32_t magic;
	uint32_t version;
	uint64_t owner; /* owner of the data, database above role; memory is cleared between owners */
} gsd_hello;

typedef struct gsd_welcome
{
	gsd_header head;
	uint32_t magic;
	uint32_t version;
	uint32_t status; /* gs_status */
	uint32_t gpu;	 /* 1: jobs run on a GPU */
	uint32_t columns_only; /* 1: there is no device; GSD_BEGIN is refused */
	uint32_t zero;
} gsd_welcome;

/*
 * Layout of the ring in the file that is passed: slots for chunks, then areas for results, each a multiple of GSD_PAGE.
 * The file has exactly this size, which cannot change (F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_SEAL).
 */
typedef struct gsd_ring
{
	gsd_header head;
	uint32_t slots;
	uint32_t areas;
	uint64_t slot_bytes;
	uint64_t area_bytes;
	uint32_t plain; /* 1: neither pinned nor counted under gpusort.pinned_memory; carries no jobs of GSD_BEGIN */
	uint32_t zero;
} gsd_ring;

typedef struct gsd_column
{
	uint8_t type; /* gs_type */
	uint8_t desc;
	uint8_t nulls_first;
	uint8_t zero;
} gsd_column;

/* Members as in gs_job_spec.  The filter's constant follows the columns. */
typedef struct gsd_begin
{
	gsd_header head;
	uint32_t job; /* counted by the client, to recognize late messages */
	uint32_t op;  /* gs_op */
	uint64_t rows_hint;
	uint64_t limit;
	uint64_t offset;
	uint32_t ncolumns;
	uint32_t order_columns;
	uint32_t key_columns;
	uint32_t constant_bytes;
	uint8_t operation; /* gs_operation */
	uint8_t exclusive;
	uint8_t by_flags;
	uint8_t comparison; /* gs_comparison */
	uint32_t avoid;		/* devices that the job must not use, a bit per number */
	gsd_column columns[];
} gsd_begin;

typedef struct gsd_begun
{
	gsd_header head;
	uint32_t job;
	uint32_t device;
	uint64_t max_rows; /* rows that fit the device memory one job may have */
	char name[GSD_NAME_BYTES];
} gsd_begun;

typedef struct gsd_job_message
{
	gsd_header head;
	uint32_t job;
	uint32_t zero;
} gsd_job_message;

typedef struct gsd_slot
{
	gsd_header head;
	uint32_t job;
	uint32_t slot;
	uint32_t full;
	uint32_t zero;
} gsd_slot;

typedef struct gsd_count
{
	gsd_header head;
	uint32_t job;
	uint32_t zero;
	uint64_t count;
} gsd_count;

typedef struct gsd_sorted
{
	gsd_header head;
	uint32_t job;
	uint32_t key_bits;
	uint32_t words;
	uint32_t passes;
	uint32_t refined;
	uint32_t input;
	uint64_t rows;
	uint64_t results; /* result elements */
	uint64_t selected;
	uint64_t upload_bytes;
	uint64_t upload_ns;
	uint64_t device_ns;
} gsd_sorted;

typedef struct gsd_result_part
{
	gsd_header head;
	uint32_t job;
	uint32_t area;
	uint32_t rows; /* or other result elements */
	uint32_t zero;
} gsd_result_part;

typedef struct gsd_result
{
	gsd_header head;
	uint32_t job;
	uint32_t status; /* gs_status */
	char text[GSD_TEXT_BYTES];
} gsd_result;

typedef struct gsd_device
{
	uint32_t device;		/* its number, below GSD_MAX_DEVICES */
	uint32_t jobs;			/* running */
	uint64_t jobs_done;
	uint64_t memory_bytes;	/* of the device */
	uint64_t limit_bytes;	/* for the reservations of all jobs */
	uint64_t reserved_bytes;
	char name[GSD_NAME_BYTES];
} gsd_device;

typedef struct gsd_devices
{
	gsd_header head;
	uint32_t pid;
	uint32_t count;
	uint64_t pinned_bytes;
	gsd_device devices[];
} gsd_devices;

/* ---------------------------------------------------------------- resident columns */

#define GSD_TABLE_COLUMNS 1600
#define GSD_MAX_THREADS 1024

/* A column's values are codes of a dictionary (dictionary.h), of GS_U8, GS_U16 or GS_U32. */
#define GSD_TYPE_CODES 0x80

/* Limits of resident columns, in bytes, and threads of the pool.  They reach a running service. */
typedef struct gsd_settings
{
	gsd_header head;
	uint64_t host_bytes;	/* columns in host memory, and the scratch of jobs; 0: a quarter of the memory */
	uint64_t device_bytes;	/* columns on each device; 0: half of what jobs may reserve there */
	uint32_t threads;		/* 0: all cores */
	uint32_t zero;
} gsd_settings;

/*
 * A table of the database of the connection's owner.  Its types follow, a byte each.  The service drops the table once
 * the database's folder is gone.
 */
typedef struct gsd_table
{
	gsd_header head;
	uint64_t table;
	uint64_t expected; /* bytes of all its values: a device with this much room takes the table, else host memory */
	uint32_t relation;
	uint32_t ncolumns;
	char folder[GSD_PATH_BYTES]; /* of the database, in the data directory */
	uint8_t types[];			 /* gs_type, fixed-width, maybe with GSD_TYPE_CODES */
} gsd_table;

/* A dictionary of a table. */
typedef struct gsd_dictionary_of
{
	gsd_header head;
	uint64_t table;
	uint32_t column;
	uint32_t zero;
} gsd_dictionary_of;

typedef struct gsd_number
{
	gsd_header head;
	uint64_t number; /* of a table, or a relation */
} gsd_number;

/* The slot has count numbers of tables, of 8 bytes.  The database's other tables are dropped. */
typedef struct gsd_keep
{
	gsd_header head;
	uint32_t slot;
	uint32_t count;
} gsd_keep;

/*
 * A segment in a slot: a gs_chunk of the table's columns at its start; at pages_at npages gsd_page; after them, for
 * each page with lines > 0, a bitmap of (lines + 7) / 8 bytes whose set bits are the line pointers of its rows.  At
 * strings_at, for each column of codes, its new strings (gsd_strings).
 *
 * GSD_DONE: GS_TOO_BIG and GS_NOMEM with a number are about the dictionary of the column before that number.
 */
typedef struct gsd_store
{
	gsd_header head;
	uint64_t table;
	uint64_t pages_at;
	uint64_t strings_at;
	uint32_t npages;
	uint32_t slot;
	uint32_t strings_bytes;
	uint32_t zero;
} gsd_store;

/* Pages of a segment, ascending by block.  The sum of their rows is the chunk's. */
typedef struct gsd_page
{
	uint32_t block;
	uint16_t rows;
	uint16_t lines; /* highest line pointer; 0: the lines are 1 to rows */
} gsd_page;

/* A page whose rows lie in another segment than in the version before, or (0) nowhere. */
typedef struct gsd_place
{
	uint32_t block;
	uint32_t segment;
} gsd_place;

/* The slot has count gsd_place.  Those of all messages up to one with last make the version. */
typedef struct gsd_publish
{
	gsd_header head;
	uint64_t table;
	uint64_t version; /* the current one plus 1 */
	uint32_t slot;
	uint32_t count;
	uint32_t last;
	uint32_t zero;
} gsd_publish;

/* The bits of blocks first (a multiple of 64) and after are moved to area 0, if all fit there. */
typedef struct gsd_wanted
{
	gsd_header head;
	uint64_t table;
	uint32_t first;
	uint32_t blocks;
} gsd_wanted;

typedef struct gsd_note
{
	gsd_header head;
	uint64_t table;
	char reason[GSD_TEXT_BYTES];
} gsd_note;

typedef struct gsd_done
{
	gsd_header head;
	uint32_t status; /* gs_status */
	uint32_t zero;
	uint64_t number;
	char text[GSD_TEXT_BYTES];
} gsd_done;

typedef struct gsd_map_of
{
	gsd_header head;
	uint64_t table; /* 0: not held, and no descriptor */
} gsd_map_of;

typedef struct gsd_table_info
{
	gsd_header head;
	uint64_t table;	  /* 0: not held */
	uint64_t version;
	uint64_t bytes;	  /* of its segments and directory */
	uint64_t rows;	  /* of the current version */
	uint64_t segments;
	uint64_t queries; /* answered */
	uint64_t refused; /* notes */
	int32_t device;	  /* -1: in host memory */
	uint32_t zero;
	char name[GSD_NAME_BYTES];	 /* of the device; "" in host memory */
	char reason[GSD_TEXT_BYTES]; /* last note */
} gsd_table_info;

/*
 * Sums over the rows of the pages whose bits are set (block b: bit b % 64 of word b / 64) in the slots from `slot` on,
 * which are contiguous.  Pages with clear bits are wanted (GSD_WANTED).  Column indexes follow.  GSD_END cancels, and
 * is answered by GSD_ENDED also after GSD_CHECKED.
 */
typedef struct gsd_check
{
	gsd_header head;
	uint32_t job;
	uint32_t slot;
	uint64_t table;
	uint64_t version;
	uint32_t blocks;
	uint32_t ncolumns;
	uint32_t columns[];
} gsd_check;

/*
 * status GS_INVALID: no such version any more, or one that lacks a page of the mask.  The sums are those of
 * kernels/common/check_hash.h; sum is that of the first column.
 */
typedef struct gsd_checked
{
	gsd_header head;
	uint32_t job;
	uint32_t status;
	uint64_t rows;
	uint64_t sum;
	uint64_t hash;
	uint64_t pages;
	uint64_t engine_ns;
} gsd_checked;

/*
 * A list of steps (kernels/gs_steps.h) over the rows of the pages whose bits are set in the mask, which begins in slot
 * 0, and over rows of GSD_ADD, in chunks of the list's columns.  The list begins in the slot after the mask; the slots
 * after it and further tables are free for chunks.  Pages with clear bits are wanted (GSD_WANTED).  Indexes follow.
 *
 * Lists that gs_reduce_rows does not carry out may be about further tables in the same place: so many gsd_asked begin
 * in the slot after the list, each behind the mask of the one before.  Behind these may lie gsd_ranks of some columns
 * (dictionary.h), for all tables: the list is then about ranks, and its types are theirs; chunks have codes, in these
 * types, with the first table's ranks.  The last column may be GSD_POSITIONS (dictionary.h), with no further tables.
 */
typedef struct gsd_ask
{
	gsd_header head;
	uint32_t job;
	uint32_t steps_bytes;
	uint64_t table;
	uint64_t version;
	uint32_t blocks;
	uint32_t further; /* gsd_asked */
	uint32_t ranked;  /* gsd_ranks */
	uint32_t counted; /* 1: groups are only counted, none is sent; else 0 */
	uint32_t aside;	  /* 1: it helps to ask another one, and does not count as a query; else 0 */
	uint32_t ncolumns;
	uint32_t columns[];
} gsd_ask;

/* A further table of a question.  gsd_asked_bytes from its begin on is its mask. */
typedef struct gsd_asked
{
	uint64_t table;
	uint64_t version;
	uint32_t blocks;
	uint32_t zero;
	uint32_t columns[];
} gsd_asked;

/*
 * The results lie in area 0, if they fit there, or are only counted, and the question is over.  Otherwise GSD_PARTs
 * bring all groups, GSD_TAKEN gives an area back, and the question is over with the last group.  GSD_FAILED may come
 * instead of a part.  status GS_INVALID: no such version any more, one that lacks a page of the mask, or other columns;
 * GS_PROTOCOL: the list or a chunk breaks its rules, or other rows came than GSD_FINISH counts; GS_OVERFLOW: a value
 * left its range; GS_TOO_BIG: more than GS_GROUPS_MOST_BYTES of groups, or keys that do not fit together.
 */
typedef struct gsd_answered
{
	gsd_header head;
	uint32_t job;
	uint32_t status; /* gs_status */
	uint64_t rows;	 /* of the pages */
	uint64_t pages;
	uint64_t engine_ns;
	uint64_t groups; /* or rows, in the results; 0 unless GS_OK */
	uint64_t bytes;	 /* of the results, gs_steps_result_bytes for each group, or row */
	uint32_t on_host, copied; /* 1: the CPU answered, from copies of a device's columns; how many it made for this */
} gsd_answered;

/*
 * A row in the results of a list with ROWS, 8 bytes: of a page, its block above 16 bits of line pointer; of a chunk,
 * this bit and the number of rows that were added before.
 */
#define GSD_ADDED_ROW ((uint64_t) 1 << 63)

/* Returns the first slot behind some bytes that begin in a slot. */
static inline uint64_t
gsd_slots_end(const gsd_ring *ring, uint64_t slot, uint64_t bytes)
{
	return slot + (bytes + ring->slot_bytes - 1) / ring->slot_bytes;
}

/* Returns the bytes of a mask of blocks. */
static inline uint64_t
gsd_mask_bytes(uint64_t blocks)
{
	return (blocks + 63) / 64 * sizeof(uint64_t);
}

/* Returns the bytes of a further table of a question, without its mask. */
static inline uint64_t
gsd_asked_bytes(uint32_t ncolumns)
{
	return sizeof(gsd_asked) + (ncolumns + 1) / 2 * 2 * sizeof(uint32_t);
}

/* Any message. */
typedef union gsd_message
{
	gsd_header head;
	gsd_hello hello;
	gsd_welcome welcome;
	gsd_ring ring;
	gsd_begin begin;
	gsd_begun begun;
	gsd_job_message job;
	gsd_slot slot;
	gsd_count count;
	gsd_sorted sorted;
	gsd_result_part part;
	gsd_result result;
	gsd_devices devices;
	gsd_settings settings;
	gsd_table table;
	gsd_number number;
	gsd_dictionary_of dictionary_of;
	gsd_keep keep;
	gsd_store store;
	gsd_publish publish;
	gsd_wanted wanted;
	gsd_note note;
	gsd_done done;
	gsd_map_of map_of;
	gsd_table_info table_info;
	gsd_check check;
	gsd_checked checked;
	gsd_ask ask;
	gsd_answered answered;
	char bytes[GSD_MAX_MESSAGE];
} gsd_message;

/*
 * Returns true if a packet is a message that this side may receive: known type, exact length, all numbers in range.
 * The reader checks what depends on the connection's state.
 */
bool gsd_message_valid(const gsd_message *message, size_t bytes, bool from_client);

/* Returns the bytes of a ring, or 0 if it is invalid. */
uint64_t gsd_ring_bytes(const gsd_ring *ring);

/* Returns GS_OK if a page map's file cannot shrink, and cannot be written by whoever receives it. */
gs_status gsd_map_check(int fd);

/* Returns GS_OK if the file has exactly this size and its owner cannot shrink it. */
gs_status gsd_ring_check(int fd, uint64_t bytes);

/* Returns true if a relative path stays inside its directory. */
bool gsd_path_inside(const char *path, size_t bytes);

/* Returns a monotonic time, common to all processes.  Used for all deadlines. */
uint64_t gsd_now_ns(void);

/* Returns that time in milliseconds, as poll() takes them. */
static inline int64_t
gsd_now_ms(void)
{
	return (int64_t) (gsd_now_ns() / 1000000);
}

/* Fills in a message's header. */
void gsd_head(gsd_header *head, gsd_type type, size_t bytes);

typedef enum gsd_io
{
	GSD_IO_OK,
	GSD_IO_AGAIN,  /* would block */
	GSD_IO_CLOSED, /* the peer is gone */
	GSD_IO_BAD	   /* an invalid message */
} gsd_io;

/* Sends a message without blocking, with a descriptor unless fd is -1. */
gsd_io gsd_send(int socket, const gsd_header *head, int fd);

/*
 * Receives and validates a message without blocking.  A descriptor goes to *fd, otherwise -1, also if no more files may
 * be opened.  If fd is NULL or the message takes no descriptor, it is closed and the message is refused.
 */
gsd_io gsd_receive(int socket, gsd_message *message, bool from_client, int *fd);

#endif
