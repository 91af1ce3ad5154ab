/*
 * store.h: the columns that the service holds, as sessions, loaders and keepers see them.  doc/protocol.md has the
 * messages.
 *
 * The service holds tables.  A table has segments, each of which holds the rows of some pages and never changes, and a
 * directory of versions, which says for each page in which segment its rows are.  Loaders store segments; the keeper
 * publishes versions; queries name a version and a mask of pages.  Segments without pages are freed once no version
 * that a job may still name refers to them.
 *
 * Calls return false with the reason; they throw only for cancels, as all of link.h.  After either, a link can be
 * parked or closed.
 */
#ifndef GPUSORT_STORE_H
#define GPUSORT_STORE_H

#include "storage/block.h"

#include "kernels/gs_steps.h"
#include "src/engine/link.h"
#include "groups_proof.h"

/* A page of a segment: rows lie in the order of pages, and in the order of line pointers within a page. */
typedef struct gsd_page StorePage;

/* Segment of a page in a new version; STORE_NO_SEGMENT: the page is no longer held. */
typedef struct gsd_place StorePlace;
#define STORE_NO_SEGMENT 0u

/* A row of an answer that was added to the question: this, and how many were added before. */
#define STORE_ADDED_ROW GSD_ADDED_ROW

/* With the type of a column that has a dictionary. */
#define STORE_CODES GSD_TYPE_CODES

/* The sum over rows of gpusort_columns_check: see there. */
typedef struct gsd_checked StoreChecked;

/* What the service knows about a table, for the view. */
typedef struct gsd_table_info StoreInfo;

/* Connects as a keeper or loader: role 0 of this database.  With a ring whose slots take segments. */
extern ServiceLink *store_open_internal(bool patient, EngineFailure *why);

/* Connects as this session, with a small ring. */
extern ServiceLink *store_open(EngineFailure *why);

/* Closes, or keeps for the session's next query. */
extern void store_close(ServiceLink *link);
extern void store_park(ServiceLink *link);

/* Returns false if a call was left before its answer was there.  All other calls then fail. */
extern bool store_usable(const ServiceLink *link);

/*
 * Makes a table, or takes over one that has this number, whose unpublished segments are freed.  expected: bytes of all
 * its values, which decide whether it lies on a device; types: gs_types, with STORE_CODES if there is a dictionary.
 * map_fd remains the caller's.
 */
extern bool store_table(ServiceLink *link, uint64 table, Oid relation, uint32 ncolumns, const uint8 *types,
						uint64 expected, int map_fd, EngineFailure *why);
extern bool store_drop(ServiceLink *link, uint64 table, EngineFailure *why);

/*
 * Drops all tables of this database but these n: those that were chosen, and those that a request loads.  For a keeper
 * that begins, as choices may have gone while there was none.  Tables of databases that were dropped need no call.
 */
extern bool store_keep(ServiceLink *link, const uint64 *tables, uint32 n, EngineFailure *why);

/*
 * A segment is built in store_buffer(): a gs_chunk at its start, StorePages at pages_at (8-byte aligned), then the line
 * bitmaps of those pages that have gaps; at strings_at, for each column with a dictionary, a gsd_strings.
 */
typedef struct StoreSegment
{
	uint64		table;
	uint64		pages_at;
	uint64		strings_at;
	uint32		strings_bytes;
	uint32		npages;
} StoreSegment;

/*
 * *number becomes the segment's.  GS_NOMEM (no memory within the caps) is ENGINE_NO_MEMORY; that and ENGINE_TOO_BIG,
 * with a number, are about the dictionary of the column before it, whose strings or codes are too many.
 */
extern char *store_buffer(ServiceLink *link, Size *bytes);
extern bool store_segment(ServiceLink *link, const StoreSegment *segment, uint32 *number, EngineFailure *why);

/* Publishes version, the successor of the current one, which differs from it in n pages. */
extern bool store_publish(ServiceLink *link, uint64 table, uint64 version, const StorePlace *places, uint32 n,
						  EngineFailure *why);

/* Fetches and clears which pages queries had to read from the table since the last call: (nblocks + 63) / 64 words. */
extern bool store_wanted(ServiceLink *link, uint64 table, BlockNumber nblocks, uint64 *wanted, EngineFailure *why);

/* Returns a descriptor of the map of a table of this database, or -1 (ENGINE_OK: the service does not hold it). */
extern int	store_map(ServiceLink *link, Oid relation, uint64 *table, EngineFailure *why);

/* Returns a read-only descriptor of the file of a column's dictionary, or -1 (ENGINE_OK: there is no such table). */
extern int	store_dictionary(ServiceLink *link, uint64 table, uint32 column, EngineFailure *why);
extern bool store_info(ServiceLink *link, Oid relation, StoreInfo *info, EngineFailure *why);

/* Counts a query that did not use a table's columns, with the reason. */
extern void store_note(ServiceLink *link, uint64 table, const char *reason);

/*
 * Answers count, sum and xor of hashes of columns (indexes into the table's) over the pages in mask, of a version.
 * *stale: the service no longer has that version; read the map again.
 */
extern bool store_check(ServiceLink *link, uint64 table, uint64 version, const uint64 *mask, BlockNumber nblocks,
						const uint32 *columns, uint32 ncolumns, StoreChecked *result, bool *stale, EngineFailure *why);

/* A list of steps over pages of a table's version and, maybe, rows of other pages. */
typedef struct StoreQuestion
{
	uint64		table;
	uint64		version;
	const uint64 *mask;			/* of nblocks pages */
	BlockNumber nblocks;
	const uint32 *columns;		/* of the table: the source's */
	uint32		ncolumns;
	const gs_steps *steps;
	/*
	 * By column, for all tables or for none: ranks of codes, which the list is then about, and their number; NULL: it
	 * is about values.  Codes of rows that are added have those of the first table.
	 */
	const uint32 *ranks[GS_STEPS_MAX_COLUMNS];
	uint32		nranks[GS_STEPS_MAX_COLUMNS];
	/* About another table as well, by its members above; for lists with keys, or aggregates of all values. */
	const struct StoreQuestion *further;
	bool		counted;		/* groups are only counted, and none is sent */
	bool		aside;			/* it helps to ask another one, and is no query that is answered */
} StoreQuestion;

/* Returns true if store_answer has the answer to a question, false if store_answer_groups has it. */
extern bool store_reduces(const StoreQuestion *question);

/* What was looked at in columns, and how long that took. */
typedef struct StoreAnswer
{
	uint64		rows;
	uint64		pages;
	uint64		engine_ns;
	bool		on_host;		/* by the CPU, though the columns lie on a device */
} StoreAnswer;

/* Begins a question; rows of pages that are not in the mask may follow. */
extern bool store_ask(ServiceLink *link, const StoreQuestion *question, EngineFailure *why);

/*
 * Returns a free slot for a chunk of the question's columns (gs_chunk_layout; header written last), waiting for one. It
 * has room for at least 64 rows.  NULL: failed.
 */
extern char *store_rows_buffer(ServiceLink *link, Size *bytes, EngineFailure *why);

/* Sends the chunk that lies in that slot. */
extern bool store_rows_send(ServiceLink *link, EngineFailure *why);

/*
 * Ends the input of rows, of which there were added, waits, and copies the results of the question's list.  After
 * false, *stale as in store_check, or *overflow: an engine met what would be an error (GS_OVERFLOW).
 */
extern bool store_answer(ServiceLink *link, const StoreQuestion *question, uint64 added, void *results,
						 StoreAnswer *answer, bool *stale, bool *overflow, EngineFailure *why);

/* Groups of an answer, or rows as TIDs, as they come. */
typedef struct StoreGroups
{
	uint64		count;			/* of all */
	uint64		left;			/* that have not been copied yet */
	/* store_ask.c alone */
	ServiceLink *link;
	const gs_steps *steps;
	Size		bytes;			/* of a group */
	uint64		rows;			/* that were looked at, added ones included */
	const char *here;			/* groups that lie in an area */
	uint32		nhere;
	uint32		area;
	bool		lent;			/* the service waits for that area */
	uint64	   *seen;			/* fingerprints of keys, or rows; NULL: not looked at */
	uint64		nseen;			/* a power of 2 */
	gs_reduced *last;			/* the group before, with TOP */
	GroupsProof proof;			/* not of rows */
} StoreGroups;

/*
 * As store_answer, of the question that store_ask began: for lists with keys, aggregates of all values, or ROWS.
 * *too_many: there are more groups than the service gives, or keys are too wide.  After
 * true, store_groups gives all of them before the link takes another question; whoever stops before may park it.
 * groups has memory of the current context until its end.
 */
extern bool store_answer_groups(ServiceLink *link, const StoreQuestion *question, uint64 added, StoreAnswer *answer,
								StoreGroups *groups, bool *stale, bool *overflow, bool *too_many,
								EngineFailure *why);

/*
 * Copies groups, as many as have come and there is room for, of gs_steps_result_bytes each; waits for some.  0 groups,
 * without a failure: all have been copied.
 */
extern uint64 store_groups(StoreGroups *groups, void *out, uint64 room, EngineFailure *why);

#endif
