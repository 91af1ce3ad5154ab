/*
 * columns.h: resident columns, as the files of gpusortd that hold them see them.
 *
 * A table has segments, which never change, and versions of a directory, which says for each page in which segment its
 * rows are.  A version is made whole and never changes; jobs pin it and then read it without a lock.
 */
#ifndef GPUSORT_COLUMNS_H
#define GPUSORT_COLUMNS_H

#include "client.h"
#include "kernels/common/types.h"
#include "kernels/gs_groups.h"

/* ---------------------------------------------------------------- columns_memory.c: where columns lie */

/* Host memory, or a device. */
typedef struct place
{
	device *dev;		   /* NULL: host memory */
	gs_engine *engine;	   /* of the device */
	pthread_mutex_t mutex; /* one thread at a time uses the engine */
	turn_queue turns;	   /* of jobs over columns: the pool's one, or DEVICE_TURNS */
	uint64_t taken;		   /* bytes, protected by a mutex of all places */
} place;

/* Sets the limits. */
void gsd_columns_limits(const gsd_settings *settings);
/* Returns where a table of this size lies: the device with the most room if it suffices, otherwise host memory. */
place *gsd_place_choose(uint64_t bytes);
place *gsd_place_host(void);
/* Returns where a question about columns in a place keeps what it needs beside them: in host memory, of scratch. */
place *gsd_place_scratch(place *p);
/*
 * Counts bytes of directories, masks and jobs' lists in host memory, which have a quota beside that of columns: a limit
 * that columns use up or exceed takes away no answer and no version, which may free some.  Returns false without room.
 */
bool gsd_work_take(uint64_t bytes);
void gsd_work_give(uint64_t bytes);
/* Counts bytes that the caller allocates as columns in host memory.  Returns false without room. */
bool gsd_host_take(uint64_t bytes);
void gsd_host_give(uint64_t bytes);
/* Counts scratch, which has a quota of the limit.  Returns false without room. */
bool gsd_scratch_count(uint64_t bytes);
void gsd_scratch_give(uint64_t bytes);
uint64_t gsd_scratch_quota(void);
/* Allocates by alloc(NULL, bytes); where the system has no more memory, what is kept for later questions goes first. */
void *gsd_host_alloc(void *(*alloc)(void *arg, size_t bytes), size_t bytes);
/* Memory of a place, counted, and cleared when it is freed, as another database may have it next. */
gs_status gsd_place_alloc(place *p, uint64_t bytes, char **block);
void gsd_place_free(place *p, char *block, uint64_t bytes);
/* Copies pieces into a block, or out of one; gsd_place_done waits for the copies. */
gs_status gsd_place_put(place *p, char *to, const char *from, uint64_t bytes);
gs_status gsd_place_get(place *p, char *to, const char *from, uint64_t bytes);
gs_status gsd_place_done(place *p);

/* Returns bytes up to where another array may begin. */
static inline uint64_t
gsd_aligned(uint64_t bytes)
{
	return (bytes + GS_ALIGN - 1) & ~(uint64_t) (GS_ALIGN - 1);
}

/* ---------------------------------------------------------------- columns_scratch.c: what questions work in */

/* Memory of engines for questions with groups, in the connection's own thread or another of the pool. */
gs_host gsd_scratch_host(connection *c, bool own);
/* Frees what is kept from question to question, or waits until another thread has. */
void gsd_scratch_drop(void);
/* Frees it if it has not been used for some seconds. */
void gsd_scratch_rest(void);

/* ---------------------------------------------------------------- columns_segment.c: segments */

typedef struct held_page
{
	uint32_t block;
	uint32_t first; /* row of the segment; its rows end where those of the next page begin */
} held_page;

/* Where the bitmap of a page's line pointers is; lines 0: they are 1 to the page's rows. */
typedef struct held_lines
{
	uint32_t at;
	uint32_t lines;
} held_lines;

/* A copy of a column in host memory; bytes 0: there is none. */
typedef struct column_copy
{
	uint64_t bytes;
	gs_held held;
	uint32_t users; /* questions that read it, or are about to make it */
} column_copy;

/* Those of a segment that lies on a device; all but ncolumns is protected by columns_copies.c's mutex. */
typedef struct segment_copies
{
	struct segment_copies *next, **link; /* of all that may have some; link NULL: it never had one */
	uint32_t ncolumns;
	column_copy columns[];
} segment_copies;

typedef struct segment
{
	struct segment *next; /* in its bucket, or among those to be freed */
	uint32_t number;
	uint32_t npages;
	uint32_t rows;
	bool published; /* some version has referred to it */
	uint64_t refs;	/* places in leaves that refer to it */
	uint64_t stored_ns;
	uint64_t added_before; /* of an added one: rows of those that came before */
	place *own;			/* where this and the arrays behind it lie: in host memory */
	uint64_t own_bytes; /* of these */
	uint64_t bytes;		/* of data */
	char *data;			/* in the table's place */
	held_page *pages;
	held_lines *lines; /* NULL: no page has gaps */
	uint8_t *bitmaps;
	gs_range *ranges; /* of the columns */
	segment_copies *copies;
	gs_held columns[];
} segment;

struct table;

/* The codes of new strings, by their place among them; a segment's values from first on are such places. */
typedef struct new_codes
{
	uint32_t first, count;
	uint32_t *codes;
} new_codes;

/*
 * Reads a segment from a slot, whose owner may be writing to it; added: by column.  *why is the text of a status but
 * GS_OK.
 */
gs_status gsd_segment_make(const struct table *t, char *slot, uint64_t slot_bytes, const gsd_store *m,
						   const new_codes *added, segment **made, const char **why);
/* Makes a segment without pages in a place, of a chunk of some columns. */
gs_status gsd_segment_of_chunk(place *p, const uint8_t *types, uint32_t ncolumns, const char *slot, uint64_t slot_bytes,
							   segment **made);
void gsd_segment_free(place *p, segment *s);
/* Looks up a page of a segment.  Returns false if the segment does not have it. */
bool gsd_segment_page(const segment *s, uint32_t block, uint32_t *first, uint32_t *rows);

/* ---------------------------------------------------------------- columns_range.c: ranges of values */

gs_range gsd_range_of(gs_type type, const void *values, const uint64_t *nulls, uint64_t rows);
void gsd_range_join(gs_range *range, const gs_range *other);
extern const gs_range gsd_no_range;

/* ---------------------------------------------------------------- columns_version.c: directories */

#define LEAF_PAGES 128
#define LEAF_RUNS 8

/* Where a page's rows are: 16 bytes for each page of a table. */
typedef struct page_place
{
	segment *of; /* NULL: not held */
	uint32_t first;
	uint16_t rows;
	uint16_t zero;
} page_place;

/* Pages of a leaf that follow each other in a segment. */
typedef struct page_run
{
	segment *of;
	uint32_t first, rows; /* of the segment */
	uint16_t page, pages; /* of the leaf */
} page_run;

/*
 * The pages of LEAF_PAGES blocks, shared by the versions in which none of them differs.  What reads all pages reads
 * their runs, of which there are few: a tenth of the time.
 */
typedef struct leaf
{
	uint32_t refs;
	uint32_t nruns; /* 0: there are too many, or not all pages are held */
	page_run runs[LEAF_RUNS];
	page_place pages[LEAF_PAGES];
} leaf;

typedef struct version
{
	struct version *older;
	uint64_t number;
	uint64_t rows;
	uint64_t replaced_ns; /* when the next one came; 0: current */
	uint32_t pins;
	uint32_t nleaves;
	leaf *leaves[]; /* NULL: no page is held */
} version;

/* Makes the next version; the table is locked.  Without memory, or with a wrong place, nothing changes. */
gs_status gsd_version_make(struct table *t, const gsd_place *places, uint64_t n, const char **why);
/* Drops versions that nobody may name any more; with all, every one that is not pinned. */
void gsd_versions_expire(struct table *t, bool all);
/* Returns what a version has of a page. */
static inline const page_place *
gsd_version_page(const version *v, uint64_t block)
{
	uint64_t l = block / LEAF_PAGES;

	return l < v->nleaves && v->leaves[l] != NULL ? &v->leaves[l]->pages[block % LEAF_PAGES] : NULL;
}

/* ---------------------------------------------------------------- columns_dictionary.c: dictionaries */

/* A file, and a descriptor that cannot write it. */
typedef struct dictionary
{
	gsd_entries entries; /* its file is NULL: the column has no dictionary */
	uint64_t bytes;
	int fd;
} dictionary;

/* Makes the dictionaries of columns whose types say so.  After any status gsd_dictionaries_free may follow. */
gs_status gsd_dictionaries_make(struct table *t, const uint8_t *types);
void gsd_dictionaries_free(struct table *t);
uint64_t gsd_dictionaries_bytes(struct table *t);
/* Returns a new descriptor of a column's file, or -1. */
int gsd_dictionary_file(struct table *t, uint32_t column);
/*
 * Adds the new strings of a segment to the columns' dictionaries, and says which codes they have.  GS_NOMEM,
 * GS_TOO_BIG: a column's strings, or their codes, are more than it can have.
 */
gs_status gsd_strings_add(struct table *t, const char *slot, uint64_t slot_bytes, const gsd_store *m, new_codes *added,
						  uint32_t *column);
void gsd_strings_free(const struct table *t, new_codes *added);
/* Replaces places among new strings by their codes. */
void gsd_strings_to_codes(const new_codes *added, gs_type type, void *values, uint64_t rows);

/* ---------------------------------------------------------------- columns_table.c: tables */

typedef struct table
{
	struct table *next;
	uint32_t database, relation;
	uint64_t number;
	uint32_t users; /* calls that use it; protected by the list's mutex, as dropped is */
	bool dropped;
	place *place;
	uint32_t ncolumns;
	uint8_t *types;
	char folder[GSD_PATH_BYTES]; /* of its database */

	pthread_mutex_t strings; /* protects the dictionaries, by column */
	dictionary *dictionaries;

	pthread_mutex_t mutex; /* protects what follows */
	int map;			   /* descriptor of its page map */
	segment **buckets;
	uint32_t nbuckets, nsegments, last_segment;
	bool dying;			   /* some segment's last reference went */
	uint64_t tidied_ns;
	version *current;
	uint64_t directory_bytes, segment_bytes;
	uint64_t *wanted;	   /* a bit per block */
	uint64_t wanted_words;
	uint64_t queries, refused;
	char reason[GSD_TEXT_BYTES];
} table;

/* Finds a table of a database, by its number or the newest of a relation, and keeps it until gsd_table_leave. */
table *gsd_table_find(uint32_t database, uint64_t number);
table *gsd_table_of(uint32_t database, uint64_t relation);
void gsd_table_leave(table *t);
/* Makes a table or takes one over; the map's descriptor is then the table's. */
gs_status gsd_table_make(uint32_t database, const gsd_table *m, int map, const char **why);
void gsd_table_drop(table *t);
/* Drops the tables of a database whose numbers are not in a list.  Returns their number. */
uint64_t gsd_tables_keep(uint32_t database, const volatile uint64_t *kept, uint64_t count);
/* Adds a segment to a locked table.  Returns false without memory. */
bool gsd_table_add(table *t, segment *s);
segment *gsd_table_segment(const table *t, uint32_t number);
/* Frees what is no longer needed of a table that is not locked. */
void gsd_table_tidy(table *t);
/* Makes room for the wanted bits of blocks.  Returns false without memory. */
bool gsd_table_want_room(table *t, uint64_t blocks);

/* ---------------------------------------------------------------- columns_pages.c: work over the pages of a mask */

typedef struct page_worker page_worker;

/*
 * Work over columns of the pages in a mask.  In host memory unit does the rows of some pages, in several threads at
 * once, with an engine and memory of the worker's own, which begins as zeros; on a device whole does all of them.
 */
typedef struct page_job
{
	connection *c;
	table *t;
	version *v;
	const volatile uint64_t *mask; /* its owner may be writing to it */
	uint32_t blocks, ncolumns;
	const uint32_t *columns; /* of the table */
	const gs_type *types;
	uint64_t *copied; /* the mask, if it is a private copy */
	/*
	 * Work over another table in the same place, whose rows count as well: its members above, of the same types.
	 */
	struct page_job *further;
	segment **added; /* segments of these columns alone, whose rows count as well */
	uint32_t nadded;
	const struct row_segments *named; /* all segments, which spans name by their places there; NULL: a list's own */
	uint32_t named_end;				  /* the place behind this table's segments and those of tables before */
	struct code_ranks *ranks[GS_STEPS_MAX_COLUMNS]; /* of the question's columns; NULL: not of this one */
	uint64_t own_bytes;
	bool positions; /* the last column is of rows' positions, which the table does not have */
	bool placed;	/* and has no values: rows come in its order */
	bool scratch;	/* engines allocate, from scratch */
	bool on_host;	/* done in host memory, wherever the tables lie: gsd_copies_put */
	gs_status (*unit)(void *arg, uint32_t worker, gs_engine *engine, const gs_held_rows *rows);
	gs_status (*whole)(void *arg, const gs_held_rows *rows);
	void *arg;
	uint64_t rows, pages;	 /* done, without the added segments */
	_Atomic uint32_t status; /* of a unit that failed */
	page_worker *workers[GSD_MAX_THREADS];
} page_job;

/* Returns where work is done. */
static inline place *
gsd_pages_place(const page_job *j)
{
	return j->on_host ? gsd_place_host() : j->t->place;
}
/* Returns true if the columns are the table's, of these types; if there are ranks, codes may have another width. */
bool gsd_pages_have_columns(const page_job *j, bool ranked);
/* Copies the mask, so that it does not change.  Returns false without memory. */
bool gsd_pages_copy_mask(page_job *j);
/* Pins a version, and notes the pages that the query has to read elsewhere.  GS_INVALID: no such version. */
gs_status gsd_pages_pin(page_job *j, uint64_t version);
/* Returns the turns of work in that place. */
static inline turn_queue *
gsd_pages_turns(const page_job *j)
{
	return &gsd_pages_place(j)->turns;
}
/* Does work while the connection has a turn.  GS_CANCELLED: it came to none. */
gs_status gsd_pages_in_turn(page_job *j, turn_queue *turns, gs_status (*work)(page_job *j));
/* Does all pages, in turn.  GS_INVALID: the version lacks one; GS_CANCELLED: some were not done. */
gs_status gsd_pages_run(page_job *j);
/* Returns a worker's engine, which is made with memory of its own if need be; NULL: no memory. */
gs_engine *gsd_pages_engine(page_job *j, uint32_t worker);
/* Returns a worker's memory; NULL: it had nothing to do. */
void *gsd_pages_own(const page_job *j, uint32_t worker);
/*
 * Calls a function for the runs and single pages that the mask's words from word to end consist of, by their order.  It
 * ends with the first status that is not GS_OK.  GS_INVALID: the version lacks a page.
 */
gs_status gsd_pages_runs(const page_job *j, uint64_t word, uint64_t end,
						 gs_status (*take)(void *arg, const page_run *run), void *arg);
/* Counts an answer of the tables. */
void gsd_pages_answered(const page_job *j);
/* Forgets the work that was done. */
void gsd_pages_restart(page_job *j);
/* Frees the workers' memory and a copied mask, and lets the version go. */
void gsd_pages_leave(page_job *j);

/* ---------------------------------------------------------------- columns_rows.c: rows as results */

/* The segments of a question about rows, each once, in host memory: those of pages first, then those that are added. */
typedef struct row_segments
{
	const segment **of;
	gs_held *columns; /* of the question, for each segment */
	uint32_t *index;  /* by a hash of a page's segment: its place + 1, or 0 */
	uint64_t room, index_room, bytes;
	uint32_t held, n; /* held: those of pages */
	/* the page of the row before */
	const segment *last;
	uint32_t page;
} row_segments;

/* Adds a segment of pages, unless it is there.  Returns false without memory. */
bool gsd_rows_add(row_segments *r, const page_job *j, const segment *s);
/* Adds the added segments, when those of all pages are there.  Returns false without memory. */
bool gsd_rows_add_added(row_segments *r, const page_job *j);
/* Returns the place of a segment of pages. */
uint32_t gsd_rows_place(const row_segments *r, const segment *s);
/* Returns the page of a segment's row. */
uint32_t gsd_rows_page(const segment *s, uint32_t row);
/*
 * Says where rows are: the block above 16 bits of line pointer, or, of added rows, GSD_ADDED_ROW and how many rows came
 * before.  GS_PROTOCOL: there is no such row.
 */
gs_status gsd_rows_tids(row_segments *r, const gs_row *rows, uint64_t n, uint64_t *tids);
void gsd_rows_free(row_segments *r);

/* ---------------------------------------------------------------- columns_groups.c: questions with groups, or rows */

/* The ranks of a column's codes. */
typedef struct code_ranks
{
	uint64_t bytes;
	uint32_t count, highest;
	uint32_t of[];
} code_ranks;

typedef struct grouping
{
	page_job *pages;
	const gs_steps *steps;
	gs_engine *engine;	/* of the connection's own thread, or the device */
	gs_groups *groups;
	gs_range ranges[GS_STEPS_MAX_COLUMNS];
	uint64_t rows;		/* of the masks' pages and the added chunks */
	uint64_t added_room; /* of the list of added chunks */
	uint64_t reserved;	/* on the device */
	uint64_t bytes;		/* of a group, or a row */
	row_segments rows_of; /* of a question about rows, or ranks */
	bool ended;			  /* all rows have been taken */
	place *added_at;	  /* where added rows lie, which a question that goes to the host later leaves there */
	uint64_t copied;	  /* the first columns, of all segments, whose copies are in use */
	uint32_t copies;	  /* of columns, that were made for this question */
	bool ranked;		  /* some column has ranks */
	char *ranked_values;  /* of all segments */
	uint64_t ranked_bytes;
	char *positions;	  /* of the rows of all segments of pages */
	uint64_t positions_bytes;
	uint64_t count, given;
	_Atomic uint32_t status; /* of a part that failed */
} grouping;

/* Makes the work over pages one that groups.  After any status gsd_grouping_free may follow, before gsd_pages_leave. */
gs_status gsd_grouping_begin(grouping *g, page_job *j, const gs_steps *steps);
/*
 * Adds the further tables of a question, which lie behind its list in the ring, whose owner may be writing to it.  *at
 * becomes where they end.
 */
gs_status gsd_grouping_tables(grouping *g, const gsd_ask *m, uint64_t *at);
/* Returns where in the ring that begins which lies behind a question's list. */
static inline uint64_t
gsd_behind_list(const connection *c, const gsd_ask *m)
{
	return gsd_slots_end(&c->layout, gsd_slots_end(&c->layout, 0, gsd_mask_bytes(m->blocks)), m->steps_bytes) *
		   c->layout.slot_bytes;
}
/* Keeps a chunk, whose owner may be writing to it.  rows becomes the number of its rows. */
gs_status gsd_grouping_add(grouping *g, const char *slot, uint64_t slot_bytes, uint64_t *rows);
/* Makes the groups; what a device refuses, on the CPU.  GS_TOO_BIG: too many. */
gs_status gsd_grouping_do(grouping *g);
/* Copies the next groups, or TIDs, as many as there is room for.  Returns how many in *n. */
gs_status gsd_grouping_read(grouping *g, char *out, uint64_t room_bytes, uint64_t *n);
void gsd_grouping_free(grouping *g);

/* ---------------------------------------------------------------- columns_ranks.c: codes of strings as ranks */

/* Returns true for the types of codes. */
static inline bool
gsd_is_code(gs_type type)
{
	return type == GS_U8 || type == GS_U16 || type == GS_U32;
}
/* Copies the ranks of a question, which begin there in the ring, whose owner may be writing to it. */
gs_status gsd_ranks_read(grouping *g, const gsd_ask *m, uint64_t at);
/* Gives the columns of all segments, which are named, ranks instead of codes, and the ranges of these. */
gs_status gsd_ranks_put(grouping *g);
void gsd_ranks_free(grouping *g);

/* ---------------------------------------------------------------- columns_copies.c: columns of devices, on the host */

/* Gives all segments, which are named, copies of the question's columns that lie on a device. */
gs_status gsd_copies_put(grouping *g);
/* The question reads them no more. */
void gsd_copies_leave(grouping *g);
/* Frees a segment's copies, or all that no question reads. */
void gsd_copies_free(segment *s);
void gsd_copies_drop(void);
/* Returns the table that a named segment is of; of an added one, the first, by whose codes it is. */
static inline const page_job *
gsd_table_with(const grouping *g, uint32_t index)
{
	const page_job *j = g->pages;

	while (index < g->rows_of.held && index >= j->named_end)
		j = j->further;
	return j;
}

/* ---------------------------------------------------------------- columns_positions.c: where rows are */

/*
 * Gives all segments of pages, which are named, the column of positions, or none if rows can come in its order, and
 * its range.
 */
gs_status gsd_positions_put(grouping *g);
void gsd_positions_free(grouping *g);

/* ---------------------------------------------------------------- columns_placed.c: rows in the table's order */

/* Gives all rows to the groups in that order. */
gs_status gsd_placed_run(grouping *g);

/* ---------------------------------------------------------------- columns_check.c, columns_ask.c */

/* Answers GSD_CHECK. */
void gsd_on_check(connection *c, const gsd_check *m);
/* Begins a question. */
void gsd_on_ask(connection *c, const gsd_ask *m);

/* Returns the database of a connection. */
static inline uint32_t
gsd_database(const connection *c)
{
	return (uint32_t) (c->owner >> 32);
}

/* Returns true if a connection is a keeper's or a loader's, which have role 0. */
static inline bool
gsd_internal(const connection *c)
{
	return gsd_database(c) != 0 && (uint32_t) c->owner == 0;
}

#endif
